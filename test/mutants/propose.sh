#!/bin/sh
# propose.sh FILE...: one-line changes of these files, by operators, as a table (table.awk) on stdout. What is worth
# keeping goes to mutants.txt by hand.
set -u
cd "$(dirname "$0")/../.."
for file; do
    echo "@ $file:"
    awk '
    function trimmed(s) { gsub(/^[ \t]+|[ \t]+$/, "", s); return s }

    # The line with one occurrence of a text replaced: each in turn.
    function swap(from, to, rest, done) {
        rest = text
        done = ""
        while ((i = index(rest, from)) > 0) {
            put(done substr(rest, 1, i - 1) to substr(rest, i + length(from)))
            done = done substr(rest, 1, i - 1 + length(from))
            rest = substr(rest, i + length(from))
        }
    }
    function put(line) {
        if (line != text && !((NR, line) in known))
            out[NR, ++n[NR]] = line
        known[NR, line] = 1
    }
    function both(a, b) { swap(a, b); swap(b, a) }

    # The condition of an if or while that ends on its line.
    function negate(keyword, depth, k, c, start) {
        start = index(text, keyword " (")
        if (start == 0)
            return
        start += length(keyword) + 2
        depth = 1
        for (k = start; k <= length(text) && depth; k++) {
            c = substr(text, k, 1)
            depth += c == "(" ? 1 : c == ")" ? -1 : 0
        }
        if (depth)
            return
        put(substr(text, 1, start - 1) "!(" substr(text, start, k - start) substr(text, k - 1))
        if (keyword == "if") {
            put(substr(text, 1, start - 1) "0" substr(text, k - 1))
            put(substr(text, 1, start - 1) "1" substr(text, k - 1))
        }
    }

    function other_error(error) { return error == "SW_E_ARGUMENT" ? "SW_E_OS" : "SW_E_ARGUMENT" }

    # A statement that can be left out, and what only looks like one.
    function is_statement() {
        return text ~ /^[a-z_]+(\[.*\]|->|[.]|[(]| [+|&-]?= |[+][+]|--).*;$/ && \
            text !~ /^(return|break|const|struct|enum|union|static|extern)/
    }
    # No preprocessor, declaration, string, brace or enumerator alone; nothing that tests cannot see.
    function is_code() {
        return $0 !~ /^#|assert[(]|prefetch|^[a-z].*[(]|^ *"|__attribute__|^static_assert/ && \
            $0 !~ /^};?$|^ *SW_[A-Z_]*[,;]?$/ && text != ""
    }

    function by_operators() {
        both(" < ", " <= "); both(" > ", " >= "); both(" == ", " != "); both(" && ", " || ")
        swap(" < ", " > "); swap(" << ", " >> "); swap(" >> ", " << ")
        both(" + ", " - "); both(" & ", " | ")
        swap(" + 1", ""); swap(" - 1", ""); swap(" * ", " + "); swap("++", "--"); swap(" += ", " = ")
        swap(" += ", " -= "); swap(" -= ", " += "); swap(" |= ", " = "); swap(" |= ", " &= "); swap("~", "")
        both("true", "false"); swap(" = 0", " = 1"); swap(" = 1;", " = 2;"); swap("return 0;", "return 1;")
        swap("return NULL;", "return (void *)8;")
        swap("SW_OK", "SW_E_OS"); swap("S_OK", "E_FAIL"); swap("E_INVALIDARG", "E_FAIL")
        negate("if"); negate("while")
        if (match(text, /SW_E_[A-Z_]+/))
            put(substr(text, 1, RSTART - 1) other_error(substr(text, RSTART, RLENGTH)) substr(text, RSTART + RLENGTH))
        if (text ~ /^return .*;$/ && text !~ /^return (true|false|NULL|0|SW_[A-Z_]*);$/)
            put("return 0;")
        if (is_statement())
            put(";")
        if (text ~ /^(break|continue);$/)
            put(";")
        if (text ~ /^\(void\)[a-z_]+\(.*;$/)
            put(";")
    }

    { lines[NR] = trimmed($0); seen[lines[NR]]++; ordinal[NR] = seen[lines[NR]] }
    /^[ \t]*\/\*/ { comment = 1 }
    {
        text = lines[NR]
        if (!comment && (is_code() || $0 ~ /^enum|^ *return/))
            by_operators()
    }
    /\*\// { comment = 0 }
    END {
        for (l = 1; l <= NR; l++)
            for (k = 1; k <= n[l]; k++) {
                if (k == 1)
                    printf "-%s %s\n", (seen[lines[l]] > 1 ? ordinal[l] : ""), lines[l]
                print "+ " out[l, k]
            }
    }' "$file"
done
