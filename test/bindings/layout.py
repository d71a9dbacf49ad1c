"""The layout of the structures that the Python binding declares, as bindings/layout.c prints it."""

import ctypes

from snapwalk import _library as c

ROWS = {"sw_regs": (c.Regs, ["known", "r"]), "sw_range": (c.Range, ["id", "image", "kind", "flags"]),
        "sw_frame": (c.Frame, ["code", "lookup", "source", "trust", "exact"]), "sw_walker": (c.Walker, []),
        "sw_scratch": (c.Scratch, []), "sw_image": (c.Image, ["bias", "path"])}

for name, (structure, members) in ROWS.items():
    print(name, ctypes.sizeof(structure))
    for member in members:
        print(f"{name}.{member}", getattr(structure, member).offset)
