//! stacks [PID]: the stacks of a process, or this program's own.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(pid) = std::env::args().nth(1) else {
        for frame in &snapwalk::here()?.frames {
            println!("{frame}");
        }
        return Ok(());
    };
    for thread in snapwalk::Process::open(pid.parse()?)?.capture()? {
        println!("thread {} \"{}\", {}", thread.tid, thread.name, thread.stack.stop);
        for frame in &thread.stack.frames {
            println!("    {frame}");
        }
    }
    Ok(())
}
