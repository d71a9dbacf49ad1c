//! Call stacks of this process and of others, by libsnapwalk.
//!
//! ```no_run
//! for frame in &snapwalk::here()?.frames {
//!     println!("{frame}");
//! }
//! let mut process = snapwalk::Process::open(1234)?;
//! for thread in process.capture()? {
//!     println!("{} {:?}", thread.name, thread.stack.stop);
//! }
//! # Ok::<(), snapwalk::Error>(())
//! ```
//!
//! Calls are not safe in signal handlers. The cards of the C headers hold.

pub mod ffi;

use std::ffi::{c_char, c_int, c_void, CStr};
use std::fmt;
use std::ptr::{null, null_mut};

const NAME_SIZE: usize = 512;

/// A call that failed, by the name of its status: `SW_E_GONE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error(pub String);

impl fmt::Display for Error {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// One frame. `pc` is a return address, but where it is `exact`. `name`: of the function around it, if that is known.
#[derive(Debug, Clone)]
pub struct Frame {
    pub pc: u64,
    pub sp: u64,
    pub name: Option<String>,
    pub offset: u64,
    pub source: String,
    pub trust: String,
    pub exact: bool,
}

impl fmt::Display for Frame {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{:#018x} {}+{:#x}", self.pc, self.name.as_deref().unwrap_or("?"), self.offset)
    }
}

/// Frames, leaf first, and why the walk ended.
#[derive(Debug, Clone)]
pub struct Stack {
    pub frames: Vec<Frame>,
    pub stop: String,
}

impl Stack {
    /// Whether the walk came to the root of the stack.
    pub fn is_whole(&self) -> bool {
        self.stop.starts_with("root")
    }
}

#[derive(Debug, Clone)]
pub struct Thread {
    pub tid: u64,
    pub name: String,
    pub stack: Stack,
}

/// The text of a constant string of the library, or of a buffer that it has filled.
unsafe fn text(from: *const c_char) -> String {
    CStr::from_ptr(from).to_string_lossy().into_owned()
}

fn check(status: c_int) -> Result<(), Error> {
    if status == 0 {
        return Ok(());
    }
    Err(Error(unsafe { text(ffi::sw_status_name(status)) }))
}

/// The version of the library that is linked.
pub fn version() -> String {
    unsafe { text(ffi::sw_version()) }
}

fn frame_of(raw: &ffi::Frame, name: Option<String>, offset: u64) -> Frame {
    let (pc, sp) = if raw.regs.machine == 2 { (32, 31) } else { (16, 4) };
    unsafe {
        Frame {
            pc: raw.regs.r[pc],
            sp: raw.regs.r[sp],
            name,
            offset,
            source: text(ffi::sw_source_name(raw.source.into())),
            trust: text(ffi::sw_trust_name(raw.trust.into())),
            exact: raw.exact,
        }
    }
}

unsafe extern "C" fn keep_named(arg: *mut c_void, frame: *const ffi::Frame, name: *const c_char, offset: u64) -> bool {
    let frames = &mut *arg.cast::<Vec<Frame>>();
    let name = Some(text(name)).filter(|name| name != "?");
    frames.push(frame_of(&*frame, name, offset));
    true
}

/// The stack of the calling thread, from the caller on.
#[inline(always)]
pub fn here() -> Result<Stack, Error> {
    let mut frames: Vec<Frame> = Vec::new();
    let mut stop = 0;
    check(unsafe { ffi::sw_here(null(), keep_named, (&mut frames as *mut Vec<Frame>).cast(), &mut stop) })?;
    Ok(Stack { frames, stop: unsafe { text(ffi::sw_stop_name(stop)) } })
}

/// Another process. It stands only while its stacks are copied, in `capture`.
pub struct Process {
    process: *mut ffi::Opaque,
    images: *mut ffi::Opaque,
}

impl Drop for Process {
    fn drop(&mut self) {
        unsafe {
            ffi::sw_images_destroy(self.images);
            ffi::sw_process_close(self.process);
        }
    }
}

/// What one walk adds to.
struct Walk<'a> {
    process: &'a Process,
    frames: Vec<Frame>,
}

unsafe extern "C" fn keep(arg: *mut c_void, frame: *const ffi::Frame) -> bool {
    let walk = &mut *arg.cast::<Walk>();
    let frame = &*frame;
    let (name, offset) = walk.process.name(frame);
    walk.frames.push(frame_of(frame, name, offset));
    true
}

impl Process {
    pub fn open(pid: i32) -> Result<Process, Error> {
        let mut made = Process { process: null_mut(), images: null_mut() };
        check(unsafe { ffi::sw_process_open(null(), pid, &mut made.process) })?;
        check(unsafe { ffi::sw_images_create(null(), &mut made.images) })?;
        Ok(made)
    }

    /// Copies registers and stacks of all threads at one moment, and walks them.
    pub fn capture(&mut self) -> Result<Vec<Thread>, Error> {
        check(unsafe { ffi::sw_process_capture(self.process, 0) })?;
        check(unsafe { ffi::sw_process_add_images(self.process, self.images) })?;
        let count = unsafe { ffi::sw_process_captured(self.process, null_mut(), 0) };
        let mut tids = vec![0; count];
        unsafe { ffi::sw_process_captured(self.process, tids.as_mut_ptr(), count) };
        tids.into_iter().map(|tid| Ok(Thread { tid, name: self.thread_name(tid), stack: self.stack(tid)? })).collect()
    }

    fn thread_name(&self, tid: u64) -> String {
        let mut name = [0; NAME_SIZE];
        match unsafe { ffi::sw_process_thread_name(self.process, tid, name.as_mut_ptr(), NAME_SIZE) } {
            0 => unsafe { text(name.as_ptr()) },
            _ => String::new(),
        }
    }

    fn name(&self, frame: &ffi::Frame) -> (Option<String>, u64) {
        let mut name = [0; NAME_SIZE];
        let mut start = 0;
        let pc = frame.regs.r[if frame.regs.machine == 2 { 32 } else { 16 }];
        match unsafe { ffi::sw_images_name(self.images, frame.lookup, name.as_mut_ptr(), NAME_SIZE, &mut start) } {
            0 => (Some(unsafe { text(name.as_ptr()) }), pc - start),
            _ => (None, 0),
        }
    }

    fn stack(&self, tid: u64) -> Result<Stack, Error> {
        let mut scratch = Box::new(ffi::Scratch { words: [0; 376832 / 8] });
        let mut regs = ffi::Regs { machine: 0, reserved: 0, known: 0, r: [0; 33] };
        let mut walker = ffi::Walker { words: [0; 23] };
        let mut walk = Walk { process: self, frames: Vec::new() };
        check(unsafe {
            ffi::sw_process_captured_walker(self.process, tid, null(), self.images, &mut regs, &mut walker)
        })?;
        let stop =
            unsafe { ffi::sw_walk_all(&walker, &mut *scratch, &regs, keep, (&mut walk as *mut Walk).cast()) };
        Ok(Stack { frames: walk.frames, stop: unsafe { text(ffi::sw_stop_name(stop)) } })
    }
}
