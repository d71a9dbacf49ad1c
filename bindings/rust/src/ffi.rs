//! The C calls. Structures are declared as in the headers; the tests compare their layout.

use std::ffi::{c_char, c_int, c_void};

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Regs {
    pub machine: u32,
    pub reserved: u32,
    pub known: u64,
    pub r: [u64; 33],
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Range {
    pub begin: u64,
    pub end: u64,
    pub id: u64,
    pub image: u32,
    pub kind: u8,
    pub unwind: u8,
    pub flags: u16,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct Frame {
    pub regs: Regs,
    pub code: Range,
    pub lookup: u64,
    pub source: u8,
    pub trust: u8,
    pub exact: bool,
}

/// Filled by the library and passed back: its members are not looked at here.
#[repr(C)]
pub struct Walker {
    pub words: [u64; 23],
}

#[repr(C)]
pub struct Scratch {
    pub words: [u64; 376832 / 8],
}

/// What only the library looks into: `struct sw_images`, `struct sw_process`.
#[repr(C)]
pub struct Opaque {
    _private: [u8; 0],
}

pub type HereSink = unsafe extern "C" fn(*mut c_void, *const Frame, *const c_char, u64) -> bool;
pub type WalkSink = unsafe extern "C" fn(*mut c_void, *const Frame) -> bool;

extern "C" {
    pub fn sw_version() -> *const c_char;
    pub fn sw_status_name(status: c_int) -> *const c_char;
    pub fn sw_stop_name(stop: c_int) -> *const c_char;
    pub fn sw_source_name(source: c_int) -> *const c_char;
    pub fn sw_trust_name(trust: c_int) -> *const c_char;
    pub fn sw_here(alloc: *const c_void, sink: HereSink, arg: *mut c_void, stop: *mut c_int) -> c_int;
    pub fn sw_images_create(alloc: *const c_void, images: *mut *mut Opaque) -> c_int;
    pub fn sw_images_destroy(images: *mut Opaque);
    pub fn sw_images_name(images: *const Opaque, address: u64, name: *mut c_char, size: usize, start: *mut u64) -> c_int;
    pub fn sw_process_open(alloc: *const c_void, pid: c_int, process: *mut *mut Opaque) -> c_int;
    pub fn sw_process_close(process: *mut Opaque);
    pub fn sw_process_capture(process: *mut Opaque, stack_bytes: usize) -> c_int;
    pub fn sw_process_captured(process: *const Opaque, tids: *mut u64, capacity: usize) -> usize;
    pub fn sw_process_captured_walker(
        process: *mut Opaque, tid: u64, codemap: *const c_void, images: *const Opaque, regs: *mut Regs, walker: *mut Walker,
    ) -> c_int;
    pub fn sw_process_add_images(process: *mut Opaque, images: *mut Opaque) -> c_int;
    pub fn sw_process_thread_name(process: *mut Opaque, tid: u64, name: *mut c_char, size: usize) -> c_int;
    pub fn sw_walk_all(
        walker: *const Walker, scratch: *mut Scratch, start: *const Regs, sink: WalkSink, arg: *mut c_void,
    ) -> c_int;
}
