"""Call stacks of this process and of others, by libsnapwalk.

    import snapwalk

    for frame in snapwalk.here():
        print(frame)

    with snapwalk.Process(pid) as process:
        for thread in process.capture():
            print(thread.name, *thread.stack, sep="\n  ")

The library is libsnapwalk.so.0, where the dynamic linker finds it, or the file that SNAPWALK_LIBRARY names. Calls are
not safe in signal handlers; different threads may make them, each on objects of its own.
"""

import ctypes
from dataclasses import dataclass

from . import _library as c

__all__ = ["Error", "Frame", "Process", "Stack", "Thread", "here", "version"]

_NAME_SIZE = 512


class Error(OSError):
    """A call that failed: .status is its name, "SW_E_GONE"; the message says what to do where that is known."""

    def __init__(self, status, advice=""):
        self.status = c.library.sw_status_name(status).decode()
        super().__init__(self.status + (": " + advice if advice else ""))


def _check(status):
    if status:
        raise Error(status)


@dataclass(frozen=True)
class Frame:
    """One frame. pc is a return address, but where it is exact; name and offset are of the function around it, "?" and 0
    if it is not known. source and trust say how the frame was found, and how sure that is."""
    pc: int
    sp: int
    name: str
    offset: int
    image: str
    source: str
    trust: str
    exact: bool

    def __str__(self):
        return f"{self.pc:#018x} {self.name}+{self.offset:#x}" + (f" ({self.image})" if self.image else "")


class Stack(tuple):
    """Frames, leaf first. stop says why the walk ended: .is_whole is true where that was the root."""

    def __new__(cls, frames, stop):
        made = super().__new__(cls, frames)
        made.stop = stop
        return made

    @property
    def is_whole(self):
        return self.stop.startswith("root")


@dataclass(frozen=True)
class Thread:
    tid: int
    name: str
    stack: Stack


def version():
    return c.library.sw_version().decode()


def _frame(raw, name, offset, image):
    machine = raw.regs.machine
    return Frame(raw.regs.r[c.PC[machine]], raw.regs.r[c.SP[machine]], name, offset, image,
                 c.library.sw_source_name(raw.source).decode(), c.library.sw_trust_name(raw.trust).decode(), raw.exact)


def here():
    """The stack of the calling thread, from the interpreter's call into the library on."""
    frames = []
    stop = ctypes.c_int()

    def sink(_, raw, name, offset):
        frames.append(_frame(raw.contents, name.decode(errors="replace"), offset, ""))
        return True

    _check(c.library.sw_here(None, c.HERE_SINK(sink), None, ctypes.byref(stop)))
    return Stack(frames, c.library.sw_stop_name(stop.value).decode())


class Process:
    """Another process. It stands only while its stacks are copied, in capture. Close it, or use `with`."""

    def __init__(self, pid):
        self._process = ctypes.c_void_p()
        self._images = ctypes.c_void_p()
        self._scratch = c.Scratch()
        status = c.library.sw_process_open(None, pid, ctypes.byref(self._process))
        if status:
            raise Error(status, self._advice(status, pid))
        self.pid = pid
        status = c.library.sw_images_create(None, ctypes.byref(self._images))
        if status:
            self.close()
            raise Error(status)

    @staticmethod
    def _advice(status, pid):
        if c.library.sw_status_name(status) != b"SW_E_PERMISSION":
            return ""
        return c.library.sw_process_obstacle_text(c.library.sw_process_find_obstacle(pid, None)).decode()

    def close(self):
        c.library.sw_images_destroy(self._images)
        c.library.sw_process_close(self._process)
        self._images, self._process = ctypes.c_void_p(), ctypes.c_void_p()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def capture(self, stack_bytes=0):
        """Copies registers and stacks of all threads at one moment, and walks them. stack_bytes: of each stack, at most;
        0: 256 KiB."""
        status = c.library.sw_process_capture(self._process, stack_bytes)
        if status:
            raise Error(status, self._advice(status, self.pid))
        _check(c.library.sw_process_add_images(self._process, self._images))
        count = c.library.sw_process_captured(self._process, None, 0)
        tids = (ctypes.c_uint64 * count)()
        count = min(count, c.library.sw_process_captured(self._process, tids, count))
        return [Thread(tid, self._name(tid), self._stack(tid)) for tid in tids[:count]]

    @property
    def stopped_seconds(self):
        """How long the process stood in the last capture."""
        return c.library.sw_process_stopped_ns(self._process) / 1e9

    def _name(self, tid):
        name = ctypes.create_string_buffer(_NAME_SIZE)
        status = c.library.sw_process_thread_name(self._process, tid, name, _NAME_SIZE)
        return "" if status else name.value.decode(errors="replace")

    def _place(self, address):
        name, start, image = ctypes.create_string_buffer(_NAME_SIZE), ctypes.c_uint64(), c.Image()
        path = ""
        if c.library.sw_images_find(self._images, address, ctypes.byref(image)) == 0:
            path = image.path.decode(errors="replace")
        if c.library.sw_images_name(self._images, address, name, _NAME_SIZE, ctypes.byref(start)):
            return "?", None, path
        return name.value.decode(errors="replace"), start.value, path

    def _stack(self, tid):
        frames, regs, walker = [], c.Regs(), c.Walker()

        def sink(_, raw):
            frame = raw.contents
            name, start, path = self._place(frame.lookup)
            pc = frame.regs.r[c.PC[frame.regs.machine]]
            frames.append(_frame(frame, name, 0 if start is None else pc - start, path))
            return True

        _check(c.library.sw_process_captured_walker(self._process, tid, None, self._images, ctypes.byref(regs),
                                                    ctypes.byref(walker)))
        stop = c.library.sw_walk_all(ctypes.byref(walker), ctypes.byref(self._scratch), ctypes.byref(regs),
                                     c.WALK_SINK(sink), None)
        return Stack(frames, c.library.sw_stop_name(stop).decode())
