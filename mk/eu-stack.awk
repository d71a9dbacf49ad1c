# eu-stack.awk [-v maps=FILE] OURS EU: compares the output of `snapstacks --plain` with that of eu-stack, thread by thread.
#
# eu-stack reads the same native unwind tables with other code, but knows nothing of JIT or ReadyToRun code: behind the
# first such frame it guesses by frame pointer. So a thread agrees when both lists have the same pcs from the leaf to the
# first managed frame or stub, that one included, or to the end in a thread that has none. A frame of native code that its
# file has no entry for is such a frame, too (untold): the linker's stubs in the runtime's libraries, the system call that
# begins a thread. mk/no_table.sh says so, with maps, a copy of /proc/PID/maps.
# Prints "TID equal|untold|different FRAMES NAME", as the referee of test/clrmd does.

function pc(text) { sub(/^0x/, "", text); sub(/^0+/, "", text); return text }

# Whether no table describes the frame behind which they differ. A return address is looked up at the call in front of it.
function has_no_table(tid, frame) {
    return frame > 0 && maps != "" && system("mk/no_table.sh " maps " " ours[tid, frame] " " (frame > 1)) == 0
}

FNR == 1 { file++ }
file == 1 && $1 == "thread" { tid = $2; order[++threads] = tid; name[tid] = substr($0, length($1 $2) + 3) }
file == 1 && $1 == "frame" && !known[tid] {
    ours[tid, ++count[tid]] = pc($2)
    where[tid, count[tid]] = $7
    known[tid] = $4 != "native"
}
file == 2 && $1 == "TID" { tid = $2 + 0 }
file == 2 && /^#/ { theirs[tid, ++seen[tid]] = pc($2) }

END {
    for (t = 1; t <= threads; t++) {
        tid = order[t]
        for (i = 1; i <= count[tid] && ours[tid, i] == theirs[tid, i]; i++);
        same = i > count[tid] && (known[tid] || seen[tid] == count[tid])
        verdict = same ? "equal" : has_no_table(tid, i - 1) ? "untold" : "different"
        print tid, verdict, verdict == "untold" ? i - 1 : count[tid] + 0, name[tid]
        if (!same)
            printf "    after %d equal frames (%s): eu-stack %s, stacks %s %s\n", i - 1, where[tid, i - 1],
                theirs[tid, i], ours[tid, i], where[tid, i]
    }
}
