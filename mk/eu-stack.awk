# eu-stack.awk OURS EU: compares the output of `snapstacks --plain` with that of eu-stack, thread by thread.
#
# eu-stack reads the same native unwind tables with other code, but knows nothing of JIT or ReadyToRun code: behind the
# first such frame it guesses by frame pointer. So a thread agrees when both lists have the same pcs from the leaf to the
# first managed frame or stub, that one included, or to the end in a thread that has none.
# Prints "TID equal|different FRAMES NAME", as the referee of test/clrmd does.

function pc(text) { sub(/^0x/, "", text); sub(/^0+/, "", text); return text }

FNR == 1 { file++ }
file == 1 && $1 == "thread" { tid = $2; order[++threads] = tid; name[tid] = substr($0, length($1 $2) + 3) }
file == 1 && $1 == "frame" && !known[tid] {
    ours[tid, ++count[tid]] = pc($2)
    known[tid] = $4 != "native"
}
file == 2 && $1 == "TID" { tid = $2 + 0 }
file == 2 && /^#/ { theirs[tid, ++seen[tid]] = pc($2) }

END {
    for (t = 1; t <= threads; t++) {
        tid = order[t]
        for (i = 1; i <= count[tid] && ours[tid, i] == theirs[tid, i]; i++);
        same = i > count[tid] && (known[tid] || seen[tid] == count[tid])
        print tid, same ? "equal" : "different", count[tid] + 0, name[tid]
        if (!same)
            printf "    after %d equal frames: eu-stack %s, stacks %s\n", i - 1, theirs[tid, i], ours[tid, i]
    }
}
