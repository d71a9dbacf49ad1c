"""The C calls, as ctypes sees them. Structures are declared as in the headers; the tests compare their layout."""

import ctypes
import ctypes.util
import os
from ctypes import POINTER, Structure, c_bool, c_char_p, c_int, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p

ABI = 0  # the number behind libsnapwalk.so


class Regs(Structure):
    _fields_ = [("machine", c_uint32), ("reserved", c_uint32), ("known", c_uint64), ("r", c_uint64 * 33)]


class Range(Structure):
    _fields_ = [("begin", c_uint64), ("end", c_uint64), ("id", c_uint64), ("image", c_uint32), ("kind", c_uint8),
                ("unwind", c_uint8), ("flags", c_uint16)]


class Frame(Structure):
    _fields_ = [("regs", Regs), ("code", Range), ("lookup", c_uint64), ("source", c_uint8), ("trust", c_uint8),
                ("exact", c_bool)]


class Image(Structure):
    _fields_ = [("begin", c_uint64), ("end", c_uint64), ("bias", c_uint64), ("path", c_char_p), ("machine", c_uint32),
                ("is_pe", c_bool), ("is_ready_to_run", c_bool)]


class Walker(Structure):
    """Filled by the library and passed back: its members are not looked at here."""
    _fields_ = [("words", c_uint64 * 23)]


class Scratch(Structure):
    _fields_ = [("words", c_uint64 * (376832 // 8))]


PC = {1: 16, 2: 32}  # by machine, SW_X64_RIP and SW_ARM64_PC
SP = {1: 4, 2: 31}

HERE_SINK = ctypes.CFUNCTYPE(c_bool, c_void_p, POINTER(Frame), c_char_p, c_uint64)
WALK_SINK = ctypes.CFUNCTYPE(c_bool, c_void_p, POINTER(Frame))

_SIGNATURES = {
    "sw_version": (c_char_p, []),
    "sw_status_name": (c_char_p, [c_int]),
    "sw_stop_name": (c_char_p, [c_int]),
    "sw_source_name": (c_char_p, [c_int]),
    "sw_trust_name": (c_char_p, [c_int]),
    "sw_kind_name": (c_char_p, [c_int]),
    "sw_here": (c_int, [c_void_p, HERE_SINK, c_void_p, POINTER(c_int)]),
    "sw_images_create": (c_int, [c_void_p, POINTER(c_void_p)]),
    "sw_images_destroy": (None, [c_void_p]),
    "sw_images_find": (c_int, [c_void_p, c_uint64, POINTER(Image)]),
    "sw_images_name": (c_int, [c_void_p, c_uint64, c_char_p, c_size_t, POINTER(c_uint64)]),
    "sw_process_open": (c_int, [c_void_p, c_int, POINTER(c_void_p)]),
    "sw_process_close": (None, [c_void_p]),
    "sw_process_find_obstacle": (c_int, [c_int, POINTER(c_int)]),
    "sw_process_obstacle_text": (c_char_p, [c_int]),
    "sw_process_capture": (c_int, [c_void_p, c_size_t]),
    "sw_process_captured": (c_size_t, [c_void_p, POINTER(c_uint64), c_size_t]),
    "sw_process_captured_walker": (c_int, [c_void_p, c_uint64, c_void_p, c_void_p, POINTER(Regs), POINTER(Walker)]),
    "sw_process_add_images": (c_int, [c_void_p, c_void_p]),
    "sw_process_thread_name": (c_int, [c_void_p, c_uint64, c_char_p, c_size_t]),
    "sw_process_stopped_ns": (c_uint64, [c_void_p]),
    "sw_walk_all": (c_int, [POINTER(Walker), POINTER(Scratch), POINTER(Regs), WALK_SINK, c_void_p]),
}


def _load():
    path = os.environ.get("SNAPWALK_LIBRARY") or f"libsnapwalk.so.{ABI}"
    library = ctypes.CDLL(path)
    for name, (result, arguments) in _SIGNATURES.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


library = _load()
