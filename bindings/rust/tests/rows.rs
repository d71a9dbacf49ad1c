use std::process::Command;

#[inline(never)]
fn inner() -> snapwalk::Stack {
    snapwalk::here().unwrap()
}

#[test]
fn own_stack_is_whole() {
    let stack = inner();
    let names: Vec<_> = stack.frames.iter().filter_map(|frame| frame.name.as_deref()).collect();
    assert!(stack.is_whole(), "{}", stack.stop);
    assert!(names.iter().any(|name| name.contains("own_stack_is_whole")), "{names:?}");
    assert!(stack.frames.windows(2).all(|pair| pair[0].sp < pair[1].sp));
}

#[test]
fn another_process() {
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    let mut process = snapwalk::Process::open(child.id() as i32).unwrap();
    let threads = process.capture().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(threads.len(), 1);
    assert_eq!(threads[0].tid, u64::from(child.id()));
    assert!(!threads[0].stack.frames.is_empty());
    assert_eq!(process.capture().unwrap_err().0, "SW_E_GONE");
}

#[test]
fn errors_have_names() {
    assert_eq!(snapwalk::Process::open(-1).err().unwrap().0, "SW_E_ARGUMENT");
}
