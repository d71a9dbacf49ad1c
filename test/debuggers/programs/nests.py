# Python: functions, a generator, a method, a callback of a builtin, threads; faulthandler prints all on SIGUSR1.
import faulthandler
import os
import signal
import sys
import threading

there = threading.Barrier(4)
ready, never = os.pipe()


def wait_there():
    there.wait()
    os.read(ready, 1)


class Nest:
    def deeper(self, depth):
        return self.deeper(depth - 1) + 1 if depth else wait_there()


def generate():
    yield 1
    wait_there()


def key(item):
    wait_there()
    return item


faulthandler.register(signal.SIGUSR1, all_threads=True)
for name, body in (('nest', lambda: Nest().deeper(6)), ('generator', lambda: list(generate())),
                   ('sorted', lambda: sorted([3, 1, 2], key=key))):
    threading.Thread(target=body, name=name, daemon=True).start()
there.wait()
print('ready', flush=True)
sys.stdin.read()
