#!/bin/sh
# Every Markdown document that a comment or another document names is there, and so is what is named in it: a section
# ("clr-contract.md sections 2.5 and 4", "contexts.md 2, 4"), a step of a section's table ("section 1, steps 1 and 3"), a
# rule by letter ("section 5, F"), a row by number ("contract-documented.md D9, D12-D14", "D1-D26 of ...").
set -u
cd "$(dirname "$0")/../.."
log=${1:-build}/log
mkdir -p "$log"
status=0

# Documents of other projects, and text that is no document's name.
foreign='^docs/design/|^documentation/|^data_descriptor[.]md$'

documents=$(find . -path ./.git -prune -o -path './build*' -prune -o -name '*.md' -print | sed 's,^[.]/,,' | sort)
texts=$(find include lib src examples test mk .ci Makefile -type f \( -name '*.[chS]' -o -name '*.cc' -o -name '*.cs' -o \
    -name '*.sh' -o -name '*.awk' -o -name '*.txt' -o -name '*.mk' -o -name Makefile \) | grep -vE '^test/(fuzz/corpus/|check/citations[.]sh)' | sort)

# cited FILE...: a line for each thing that is cited, "DOCUMENT ok" or "DOCUMENT bad FILE:LINE: why"
cited() {
    # shellcheck disable=SC2086
    awk -v foreign="$foreign" '
        # What documents hold: headings and paragraphs with a number, rules with a letter, rows.
        what == "document" {
            there[FILENAME] = 1
            if (match($0, /^#* *[0-9]+([.][0-9]+)*[. ]/)) {
                number = substr($0, 1, RLENGTH)
                gsub(/[# ]|[.][ ]*$/, "", number)
                has[FILENAME, number] = 1
                if ($0 ~ /^## /)
                    section = number
            }
            if ($0 ~ /^[A-Z][.] /)
                has[FILENAME, section ":" substr($0, 1, 1)] = 1
            if ($0 ~ /^[|] [A-Z]?[0-9]+[a-z]* [|]/) {
                has[FILENAME, $2 ~ /^[A-Z]/ ? $2 : section ":" $2] = 1
            }
            next
        }
        FNR == 1 { look(); path = FILENAME; lines = 0 }
        {
            sub(/^[ \t]*(\/?[*]+|\/\/+|#+)[ \t]*/, "")
            if (path ~ /[.]md$/)
                gsub(/`[^`]*`/, "`")
            line[++lines] = $0
        }
        END { look() }

        function say(good, why) {
            print base, good ? "ok" : "bad " path ":" at ": " why
        }
        function directory(of) {
            return of ~ /\// ? substr(of, 1, length(of) - length(last(of))) : ""
        }
        function last(of) {
            sub(/.*\//, "", of)
            return of
        }
        function find(name,   beside) {
            if (name in there)
                return name
            beside = directory(path) name
            while (sub(/[^\/]+\/[.][.]\//, "", beside))
                ;
            if (beside in there)
                return beside
            if (("docs/facts/" name) in there)
                return "docs/facts/" name
            return ("docs/" name) in there ? "docs/" name : ""
        }
        # Takes a match of `form` from the front of `rest`: into `taken`.
        function take(form) {
            if (!match(rest, "^(" form ")"))
                return 0
            taken = substr(rest, 1, RLENGTH)
            rest = substr(rest, RLENGTH + 1)
            return 1
        }
        function check(document, key, name) {
            say((document, key) in has, last(document) " has no " name)
        }
        function range(document, from, to, letter,   i) {
            for (i = from + 0; i <= to + 0; i++)
                check(document, letter i, letter ? "row " letter i : "section " i)
        }
        # Rows such as D9 or D12-D14, from the front of `rest`.
        function rows(document,   letter, ends) {
            if (!take("[A-Z][0-9]+(-[A-Z][0-9]+)?"))
                return 0
            letter = substr(taken, 1, 1)
            split(taken, ends, "-")
            range(document, substr(ends[1], 2), substr(2 in ends ? ends[2] : ends[1], 2), letter)
            return 1
        }
        # What stands behind the name of a document.
        function behind(document,   ends, current, seen) {
            take("[ ,]*")
            take("sections? ")
            while (1) {
                if (take("[0-9]+-[0-9]+")) {
                    split(taken, ends, "-")
                    range(document, ends[1], ends[2], "")
                } else if (take("[0-9]+([.][0-9]+)*")) {
                    current = taken
                    check(document, current, "section " current)
                } else if (current != "" && take("steps? [0-9]+[a-z]*( and [0-9]+[a-z]*)*")) {
                    gsub(/steps? |and /, "", taken)
                    seen = split(taken, ends, " ")
                    for (; seen > 0; seen--)
                        check(document, current ":" ends[seen], "step " ends[seen] " in section " current)
                } else if (current != "" && rest ~ /^[A-Z]([.,;) ]|$)/ && take("[A-Z]")) {
                    check(document, current ":" taken, "rule " taken " in section " current)
                } else if (!rows(document))
                    return
                if (!take(", and |, | and "))
                    return
            }
        }
        # Rows in front: "D1-D26 and C1-C9 of NAME.md".
        function before(document, text) {
            if (!match(text, /([A-Z][0-9]+(-[A-Z][0-9]+)?(, | and )?)+ of $/))
                return
            rest = substr(text, RSTART)
            while (rows(document))
                take(", | and ")
        }
        function cite(name, front, after,   document) {
            base = last(name)
            if (name ~ foreign)
                return
            document = find(name)
            say(document != "", "no document " name)
            if (document == "")
                return
            before(document, front)
            rest = after
            behind(document)
        }
        function look(   text, front) {
            for (at = 1; at <= lines; at++) {
                text = line[at]
                front = at > 1 ? line[at - 1] " " : ""
                while (match(text, /[A-Za-z0-9_.\/-]+[.]md/)) {
                    front = front substr(text, 1, RSTART - 1)
                    name = substr(text, RSTART, RLENGTH)
                    text = substr(text, RSTART + RLENGTH)
                    cite(name, front, text (at < lines ? " " line[at + 1] : ""))
                }
            }
            lines = 0
        }' what=document $documents what=text "$@"
}

sample=$log/citations-sample.c
cat >"$sample" <<'SAMPLE'
/* Wrong, each once: nowhere.md section 1; contexts.md section 99, 11; clr-contract.md sections 1 and 2.99; D1-D27 of
 * contract-documented.md; prologue-shapes.md section 5, Z; clr-contract.md section 1, steps 1 and 77; contexts.md
 * 98. Right: contexts.md sections 1-6 and 9, dwarf-cfi.md section 3. */
SAMPLE
caught=$(cited "$sample" | grep -c ' bad ')
if [ "$caught" -eq 8 ]; then
    echo "ok - wrong citations are noticed"
else
    echo "not ok - of 8 wrong citations $caught are noticed"
    status=1
fi

# shellcheck disable=SC2086
cited $texts $documents >"$log/citations.out"
for document in $(cut -d' ' -f1 "$log/citations.out" | sort -u); do
    count=$(grep -c "^$document ok" "$log/citations.out")
    bad=$(sed -n "s,^$document bad ,# ,p" "$log/citations.out")
    if [ -z "$bad" ]; then
        echo "ok - $count citations of $document"
    else
        printf 'not ok - citations of %s\n%s\n' "$document" "$bad"
        status=1
    fi
done
exit $status
