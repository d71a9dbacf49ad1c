# Reads tables of mutants and finds their lines: awk -f table.awk TABLE...
# A line for each: number, kind, file, line, tests, text, replacement, reason, with tabs between.
# A pattern that its file does not hold, or holds more than once without an ordinal, is an error: status 1.
#
# A table:
#   @ FILE: TEST...      the unit tests that belong to the file, those that are likely to notice first
#   - TEXT               a line of it, without the blanks around it; -N TEXT: the Nth of several such lines
#   + TEXT               what stands there instead; several are several mutants
#   = REASON             why nobody can notice: the mutant above is equivalent

function trimmed(s) {
    gsub(/^[ \t]+|[ \t]+$/, "", s)
    return s
}

function wrong(what) {
    printf "%s:%d: %s\n", FILENAME, FNR, what >"/dev/stderr"
    bad = 1
}

function load(name, line, n, text) {
    if (name in loaded)
        return
    loaded[name] = 1
    while ((getline line <name) > 0) {
        text = trimmed(line)
        n++
        at[name, text, ++seen[name, text]] = n
    }
    if (n == 0)
        wrong("there is no file " name)
}

function flush_one() {
    if (replacement != "" && place)
        print ++count, (reason == "" ? "mutant" : "equivalent"), file, place, tests, pattern, replacement, reason
    replacement = reason = ""
}

BEGIN { OFS = "\t" }
/^[ \t]*$/ || /^#/ { next }
/^@ / {
    flush_one()
    file = substr($0, 3)
    tests = file
    sub(/:.*/, "", file)
    sub(/^[^:]*:[ \t]*/, "", tests)
    place = 0
    load(file)
    next
}
/^-[0-9]* / {
    flush_one()
    ordinal = substr($1, 2)
    pattern = trimmed(substr($0, length($1) + 2))
    place = at[file, pattern, ordinal == "" ? 1 : ordinal]
    if (!place)
        wrong("not in " file ": " $0)
    else if (ordinal == "" && seen[file, pattern] > 1)
        wrong(seen[file, pattern] " times in " file ", which one: " $0)
    next
}
/^[+] ?/ {
    flush_one()
    replacement = trimmed(substr($0, 3))
    if (replacement == "")
        replacement = ";"
    if (replacement == pattern)
        wrong("the same as the line")
    next
}
/^= / {
    reason = substr($0, 3)
    next
}
{ wrong("not a line of a table: " $0) }
END {
    flush_one()
    exit bad
}
