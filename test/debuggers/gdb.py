# What gdb says of all threads: "thread TID", "pc HEX" for each frame that has one on the stack, leaf first: functions that
# were inlined, or that ended by a jump, have none; behind the first function of a thread gdb may show one at 0.
import gdb

for thread in sorted(gdb.selected_inferior().threads(), key=lambda t: t.ptid[1] or t.ptid[0]):
    thread.switch()
    print('thread', thread.ptid[1] or thread.ptid[0])
    frame = gdb.newest_frame()
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME) and frame.pc() != 0:
            print('pc %x' % frame.pc())
        try:
            frame = frame.older()
        except gdb.error:
            break
    print('until guess')
