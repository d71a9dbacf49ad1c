# sum.awk -v what=REFEREE -v verb=VERB: sums up the verdicts on all instants, lines "TID VERDICT FRAMES NAME".
# A thread counts when it was equal at least once and different never. Differences are shown as they came. Equal as far as
# tables tell (untold, eu-stack.awk) is equal: a thread that has just begun may be gone in the next instant.

/^[0-9]+ / {
    tid = $1
    if (!(tid in name)) threads++
    name[tid] = substr($0, length($1 $2 $3) + 4)
    verdicts[tid, $2]++
    if ($2 == "equal" || $2 == "untold") frames += $3
    if ($2 == "unseen") unseen++
    if ($2 == "untold") untold++
    shown = $2 == "different"
}
/^[0-9]+ different/ || (/^    / && shown)

END {
    for (tid in name) {
        good = verdicts[tid, "equal"] + verdicts[tid, "untold"] > 0 && !verdicts[tid, "different"]
        if (!good && !verdicts[tid, "different"]) print tid, "never seen by the referee:", name[tid]
        same += good
    }
    printf "%s: %d frames compared", what, frames
    if (unseen) printf "; %d times a thread was where the referee sees nothing", unseen
    if (untold) printf "; %d times a thread was where no table tells the caller", untold
    printf "\n%s: %d of %d threads %s\n", what, same, threads, verb
    exit !(threads > 0 && same == threads)
}
