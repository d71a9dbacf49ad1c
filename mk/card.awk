# A public header as Doxygen reads it: a card becomes a comment of its own kind, its parts become paragraphs with a title,
# and where declarations share a card each gets it. awk -f card.awk HEADER

# The parts of a card that stand in one line, each in a line of its own.
function apart(text) {
    gsub(/[.] (Returns|Memory|Threads|Signals|Source)  /, "&\001", text)
    gsub(/[.] Returns  \001/, ".\nReturns  ", text)
    gsub(/[.] Memory  \001/, ".\nMemory  ", text)
    gsub(/[.] Threads  \001/, ".\nThreads  ", text)
    gsub(/[.] Signals  \001/, ".\nSignals  ", text)
    gsub(/[.] Source  \001/, ".\nSource  ", text)
    return text
}

# One line of a card: "title  text" begins a paragraph; what is indented further goes on with it.
function line_of(text, title) {
    if (match(text, /^[A-Za-z_][A-Za-z_0-9.,>* -]*[^ ]?  +[^ ]/) && match(text, /  +/)) {
        title = substr(text, 1, RSTART - 1)
        return "\n@par " title "\n" substr(text, RSTART + RLENGTH)
    }
    if (text ~ /^     +/ && in_part)
        sub(/^ +/, "", text)
    return text
}

# Doxygen takes as they are what stands between quotes, and code, which is indented.
function escaped(text, parts, n, i) {
    if (text ~ /^    / && !in_part)
        return text
    n = split(text, parts, "\"")
    text = ""
    for (i = 1; i <= n; i++) {
        if (i % 2 || i == n)
            gsub(/[<>@#\\%]/, "\\\\&", parts[i])
        text = text (i > 1 ? "\"" : "") parts[i]
    }
    return text
}

function add(text, lines, n, i) {
    if (text == "") {
        card = card "\n"
        in_part = 0
        return
    }
    n = split(apart(text), lines, "\n")
    for (i = 1; i <= n; i++) {
        text = line_of(escaped(lines[i]))
        if (text ~ /^\n@par/) in_part = 1
        card = card "\n" text
    }
}

/^\/\*/ && !/\*\/./ {
    is_file = NR == 1
    card = in_part = ""
    in_card = 1
    sub(/^\/\*[ ]?/, "")
}
in_card {
    last = sub(/[ ]*\*\/$/, "")
    sub(/^ \*[ ]?/, "")
    add($0)
    if (!last)
        next
    in_card = 0
    if (is_file) {
        print "/** @file" card "\n */"
        card = ""
    }
    next
}
/^[[:space:]]*$/ { if (!fresh) card = ""; fresh = 0; print; next }
/^extern "C"/ || /^#/ { print; next }
card != "" && !inside { print "/**" card "\n */" }
{
    sub(/^SW_API /, "")
    sub(/^SW_NODISCARD /, "")
    # A comment behind a member is the member's.
    if (/[;,] *\/\* .*\*\/$/)
        sub(/\/\* /, "/**< ")
    print
    if (/[{]$/) inside = 2                       # of a struct: to its end
    else if (inside == 2) inside = /^}/ ? 0 : 2
    else inside = !/;( *\/\*.*\*\/)?$/          # of a declaration in several lines
}
