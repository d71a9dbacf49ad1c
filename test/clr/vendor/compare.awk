# compare.awk -v name=... WITHOUT WITH: the lines of two runs of the vendor-like profiler. Fields: occasion, result,
# frames, registers' context.
BEGIN {
    FS = "\t"
    NOTIMPL = "80004001"
    NOTHING = "80004005" # no managed frame on that thread
    UNSAFE = "80131360"  # another thread walks it just now: the more often the slower the machine
}

function counted(what, number) {
    counts[what] = number
    split(what, how, ": ")
    all[how[1]] += number
    if (what ~ /walked to the base$/) walked[how[1]] += number
    if (what ~ NOTHING "$") nothing[how[1]] += number
    if (what ~ UNSAFE "$") unsafe[how[1]] += number
    if (what ~ /not to the base|behind frames/) cut += number
}

/^count / { if (FILENAME == ARGV[2]) counted(substr($1, 7), $2); next }
FILENAME == ARGV[1] { without[$0] = 1; result_without[$1] = $2 }
FILENAME == ARGV[2] { with[$0] = 1; with_at[$1] = $0 }

function rest(line, found) {
    split(line, found, "\t")
    return found[2] "\t" found[3] "\t" found[4]
}

function complain(which, line) {
    if (complaints++ < 12) printf "# %s: %s\n", which, substr(line, 1, 400)
}

function test(good, what) {
    print (good ? "ok" : "not ok") " - " name ": " what
    if (!good) failed = 1
}

# What the CLR answers. An occasion may come about in several ways, each with a line.
function compare_answers(line, field, answers, same, extra) {
    for (line in without) {
        split(line, field, "\t")
        if (field[2] == NOTIMPL) continue
        answers++
        if (line in with) { same++; continue }
        complain("without", line)
        complain("with   ", with_at[field[1]])
    }
    for (line in with) {
        split(line, field, "\t")
        if (result_without[field[1]] == NOTIMPL || line in without) continue
        extra++
        complain("with only", line)
    }
    printf "# answers %d of %d\n", same, answers
    test(answers > 0 && same == answers && !extra, "what the CLR answers is answered identically")
}

# Where it does not answer: what it says of that thread, suspended, without the overlay.
function compare_stacks(line, field, stacks, full, thread, suspended) {
    for (line in without) {
        split(line, field, "\t")
        if (field[1] ~ /^suspended [0-9]/) suspended[substr(field[1], 11)] = rest(line)
    }
    for (line in with) {
        split(line, field, "\t")
        if (field[1] !~ /^running [0-9]/) continue
        stacks++
        thread = substr(field[1], 9)
        if (result_without[field[1]] == NOTIMPL && rest(line) == suspended[thread]) { full++; continue }
        complain("suspended", thread "\t" suspended[thread])
        complain("running  ", line)
    }
    printf "# stacks %d of %d\n", full, stacks
    test(stacks > 0 && full == stacks, "where the CLR says E_NOTIMPL the stack is the one of the suspended thread")
}

# While the target works: to the base, or nothing managed there, about as often as the CLR finds nothing.
function judge_counts(what, idle, bound) {
    for (what in counts) printf "# %s: %d\n", what, counts[what]
    if (all["running"] && all["suspended"]) {
        idle = nothing["running"] / all["running"]
        bound = nothing["suspended"] / all["suspended"] + 0.05
    }
    test(walked["running"] > 0 && !cut && idle <= bound &&
         walked["running"] + nothing["running"] >= 0.99 * (all["running"] - unsafe["running"]) &&
         unsafe["running"] <= 0.1 * all["running"], "working threads are walked to the base")
}

END {
    compare_answers()
    compare_stacks()
    judge_counts()
    exit failed
}
