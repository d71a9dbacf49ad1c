"""rows.py PID: what the Python binding answers of itself, and of a process in pause < inner < outer < main."""

import os
import sys
import unittest

import snapwalk

target = int(sys.argv.pop())


class Rows(unittest.TestCase):
    def test_own_stack_is_whole_and_goes_through_the_interpreter(self):
        stack = snapwalk.here()
        names = [frame.name for frame in stack]
        self.assertTrue(stack.is_whole, stack.stop)
        self.assertIn("ffi_call", names[:4])
        self.assertTrue(any(name.startswith(("PyEval", "_PyEval")) for name in names))
        self.assertTrue(all(a.sp < b.sp for a, b in zip(stack, stack[1:])))

    def test_another_process(self):
        with snapwalk.Process(target) as process:
            threads = process.capture()
            self.assertEqual([thread.tid for thread in threads], [target])
            self.assertEqual(threads[0].name, "target")
            self.assertTrue(threads[0].stack.is_whole)
            names = [frame.name for frame in threads[0].stack]
            self.assertEqual([name for name in names if name in ("inner", "outer", "main")], ["inner", "outer", "main"])
            self.assertTrue(all(frame.image.endswith(("target", "libc.so.6", "libc.so")) for frame in threads[0].stack))
            self.assertTrue(0 < process.stopped_seconds < 10)
            self.assertEqual([t.stack for t in process.capture()], [t.stack for t in threads])

    def test_errors_have_names(self):
        gone = os.fork()
        if gone == 0:
            os._exit(0)
        os.waitpid(gone, 0)
        for pid, status in (gone, "SW_E_GONE"), (-1, "SW_E_ARGUMENT"), (os.getpid(), "SW_E_ARGUMENT"):
            with self.assertRaises(snapwalk.Error) as raised:
                snapwalk.Process(pid)
            self.assertEqual(raised.exception.status, status)

    def test_version(self):
        self.assertRegex(snapwalk.version(), r"^\d+\.\d+\.\d+$")


unittest.main(argv=[sys.argv[0]])
