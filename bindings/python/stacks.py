"""stacks.py [PID]: the stacks of a process, or this program's own."""

import sys

import snapwalk

if len(sys.argv) < 2:
    print(*snapwalk.here(), sep="\n")
else:
    with snapwalk.Process(int(sys.argv[1])) as process:
        for thread in process.capture():
            print(f'thread {thread.tid} "{thread.name}", {thread.stack.stop}')
            for frame in thread.stack:
                print("   ", frame)
        print(f"stood for {process.stopped_seconds * 1e3:.2f} ms")
