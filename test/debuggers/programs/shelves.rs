// Rust: closures, generics, a trait object, sorting with a comparison that waits; its own backtrace of each thread.
use std::backtrace::Backtrace;
use std::io::Read;
use std::sync::mpsc::{channel, Sender};

trait Shelf {
    fn take(&self, said: &Sender<()>) -> usize;
}
struct Deep(usize);

#[inline(never)]
fn wait_there(said: &Sender<()>) -> usize {
    eprintln!("thread {}\n{}", std::thread::current().name().unwrap_or("?"), Backtrace::force_capture());
    said.send(()).unwrap();
    let mut byte = [0u8; 1];
    std::io::stdin().read(&mut byte).unwrap_or(0)
}

impl Shelf for Deep {
    #[inline(never)]
    fn take(&self, said: &Sender<()>) -> usize {
        if self.0 == 0 { wait_there(said) } else { 1 + Deep(self.0 - 1).take(said) }
    }
}

#[inline(never)]
fn pick<T: Ord + Copy>(list: &mut [T], said: &Sender<()>) {
    list.sort_by(|a, b| {
        wait_there(said);
        a.cmp(b)
    });
}

fn main() {
    let (said, heard) = channel();
    let other = said.clone();
    let deep: Box<dyn Shelf + Send> = Box::new(Deep(5));
    std::thread::Builder::new().name("deep".into()).spawn(move || deep.take(&said)).unwrap();
    std::thread::Builder::new().name("sort".into()).spawn(move || pick(&mut [3, 1, 2], &other)).unwrap();
    heard.recv().unwrap();
    heard.recv().unwrap();
    println!("ready");
    std::thread::sleep(std::time::Duration::from_secs(600));
}
