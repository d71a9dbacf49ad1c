# agree.awk -v part=NAME -v witness=NAME OURS THEIRS: whether each frame that a witness sees is in what `snapstacks --plain`
# has printed, in the same order. Prints "PART WITNESS AGREE ALL", and each frame that is not there.
#
# THEIRS: "thread TID", "thread name NAME" or "thread any" (the one that fits best), then its frames, leaf first:
#     pc HEX      at this pc
#     sp HEX      at this stack pointer
#     name TEXT   the function's name: ours without module, parameters and offset
#     same TEXT   the same without module and offset; symbols of the C library have aliases with underscores in front
#     last TEXT   the last part of the function's name
#     mono TEXT   Type.Method; ours is written as mono writes it: in its map of JIT code, or as a symbol
# "until guess" after a thread's frames: the witness reads tables, and guesses behind the first frame that has none.

function hex(text) { text = tolower(text); sub(/^0x/, "", text); sub(/^0+/, "", text); return text }

function bare(label) {
    sub(/[+]0x[0-9a-f]+$/, "", label)
    sub(/^[^!(<]*!/, "", label)
    sub(/ \[clone [^]]*\]$|[.]abi0$/, "", label)
    return label
}
function without_parameters(name) { sub(/ ?\([^()]*\)$/, "", name); return name }
function without_underscores(name) { sub(/^_+/, "", name); return name }
function last_part(name) { name = without_parameters(name); sub(/.*[.:]/, "", name); return name }

function is_mono(ours, theirs,    type, method) {
    method = type = theirs
    sub(/\[[^].]*\]$/, "", method)
    sub(/<[^<>]*>( \(|$)/, " (", ours)
    sub(/.*[.]/, "", method)
    sub(/[.][^.]*$/, "", type)
    gsub(/`.*/, "", type)
    if (ours ~ /:/)
        return index(ours, type) == 1 && last_part(ours) == method
    gsub(/[^A-Za-z0-9]/, "_", type)
    gsub(/[^A-Za-z0-9]/, "_", method)
    return index(ours, type) == 1 && index(ours "_", "_" method "_") > 0
}

function matches(form, text, i) {
    if (form == "pc") return pc[tid, i] == hex(text)
    if (form == "sp") return sp[tid, i] == hex(text)
    if (form == "name") return without_parameters(name[tid, i]) == text
    if (form == "same") return without_underscores(name[tid, i]) == without_underscores(text)
    if (form == "last") return last_part(name[tid, i]) == text
    if (form == "mono") return is_mono(name[tid, i], text)
    return 0
}

FNR == 1 { file++ }
file == 1 && $1 == "thread" {
    tid = $2
    called = substr($0, length($1 $2) + 3)
    of_name[called] = of_name[called] " " tid
    known[tid] = 1
    everyone = everyone " " tid
}
file == 1 && $1 == "frame" {
    i = ++count[tid]
    pc[tid, i] = hex($2)
    sp[tid, i] = hex($3)
    by_table[tid, i] = $5 == "seed" || $5 == "cfi" || $5 == "signal-frame"
    name[tid, i] = bare(substr($0, index($0, $6) + length($6) + 1))
}
file == 1 && $1 == "inlined" { name[tid, ++count[tid]] = bare(substr($0, 9)) }

# Of threads that have one name, that which the frames fit.
function judge(    list, n, i, best, agreed, most) {
    if (!theirs)
        return
    n = split(candidates, list, " ")
    most = -1
    for (i = 1; i <= n; i++) {
        agreed = follow(list[i], 0)
        if (agreed > most) { most = agreed; best = list[i] }
    }
    if (n == 0)
        printf "    %s: %s: no such thread here\n", part, title
    else
        follow(best, 1)
    agree += most > 0 ? most : 0
    all += compared
    theirs = 0
}

# How many of the witness's frames are there, one behind the other.
function follow(of, says,    at, i, j, agreed) {
    tid = of
    at = 1
    compared = theirs
    for (i = 1; i <= theirs; i++) {
        while (until_guess && at <= count[tid] && !((tid, at) in pc))
            at++
        if (until_guess && at <= count[tid] && !by_table[tid, at]) {
            compared = i - 1
            break
        }
        for (j = at; j <= count[tid] && !matches(form[i], text[i], j); j++)
            continue
        if (j <= count[tid]) {
            agreed++
            at = j + 1
        } else if (says)
            printf "    %s: %s: %s has %s %s, which is not there behind #%d\n", part, title, witness, form[i], text[i], at - 2
    }
    return agreed + 0
}

file == 2 && $1 == "thread" {
    judge()
    until_guess = 0
    title = $0
    candidates = $2 == "any" ? everyone : $2 == "name" ? of_name[substr($0, 13)] : known[$2] ? $2 : ""
}
file == 2 && ($1 == "pc" || $1 == "sp" || $1 == "name" || $1 == "same" || $1 == "last" || $1 == "mono") {
    form[++theirs] = $1
    text[theirs] = substr($0, length($1) + 2)
}
file == 2 && $1 == "until" { until_guess = 1 }

END {
    judge()
    print part, witness, agree + 0, all + 0
}
