#!/bin/sh
# run.sh BUILD: folded stacks become each format, and a reader that is not ours says what is in the file.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
mkdir -p "$build/log/profiles.files/home"
out=$(cd "$build/log/profiles.files" && pwd) || exit 1
convert=$build/tools/snapwalk-profile-convert
status=0

# verdict STATUS NAME FILE: what was printed, where it failed
verdict() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        head -n 20 "$3" | sed 's/^/# /'
        status=1
    fi
}

# reads NAME PATTERN COMMAND...: ends with 0, and prints a line that matches; skipped where the reader is not there
reads() {
    name=$1
    pattern=$2
    shift 2
    if ! command -v "$1" >/dev/null 2>&1; then
        echo "ok - $name # SKIP no $1 command"
        return
    fi
    HOME=$out/home TZ=UTC timeout 600 "$@" >"$out/read" 2>&1 && grep -qE -- "$pattern" "$out/read"
    verdict $? "$name" "$out/read"
}

# Suffixes; blanks and commas in names; a script's end, quotes, a line turned round, a control, no UTF-8; twice the same.
printf '%s\n' 'main;Demo.Run_[j];Json.Parse<int, string>_[j] 30' 'main;Demo.Run_[j] 12' 'main;read_[k] 5' 'main;read_[k] 3' \
    >"$out/in.folded"
printf 'main;</script>"\\ \342\200\256evil\001 \377;leaf 4\n' >>"$out/in.folded"
printf '%s\n' 'main;Demo.Run 12' 'main;Demo.Run;Json.Parse<int, string> 30' 'main;read 8' \
    'main;</script>"\ \u{202e}evil\x01 \xff;leaf 4' >"$out/expected.folded"
"$convert" --value cpu:nanoseconds "$out/in.folded" "$out/a.pb.gz" "$out/a.speedscope.json" "$out/a.folded" "$out/a.otlp" \
    >"$out/said" 2>&1
verdict $? "folded stacks become pprof, speedscope, folded and OTLP" "$out/said"
sort "$out/expected.folded" >"$out/expected.sorted"
sort "$out/a.folded" | diff "$out/expected.sorted" - >"$out/said" 2>&1
verdict $? "folded: suffixes are kinds, hostile names are escaped, equal stacks are one line" "$out/said"

reads "pprof -top: the total" 'accounting for 54ns, 100% of 54ns total' go tool pprof -top "$out/a.pb.gz"
reads "pprof -top: own time by function" '^ *30ns .* Json[.]Parse' go tool pprof -top "$out/a.pb.gz"
reads "pprof -raw: it is read" '^Samples:$' go tool pprof -raw "$out/a.pb.gz"
if command -v go >/dev/null 2>&1; then
    awk -f test/profile/raw.awk "$out/read" >"$out/stacks" && grep -qx '30: Json.Parse Demo.Run main' "$out/stacks"
    verdict $? "pprof -raw: leaf first" "$out/stacks"
fi
reads "pprof -raw: a hostile name is escaped" 'u.202e.evil.x01 .xff' go tool pprof -raw "$out/a.pb.gz"
zcat "$out/a.pb.gz" >"$out/a.pb"
reads "protoc: the wire format" '^6: "Demo[.]Run"$' sh -c 'exec protoc --decode_raw <"$0"' "$out/a.pb"

# What was written is read again, and is the same; go's own reader writes one of its own of it.
"$convert" "$out/a.pb.gz" "$out/again.folded" "$out/again.pb.gz" "$out/again.html" "$out/again.otlp" "$out/again.speedscope.json" \
    >"$out/said" 2>&1 && sort "$out/again.folded" | diff "$out/expected.sorted" - >>"$out/said" 2>&1
verdict $? "pprof becomes all others" "$out/said"
zcat "$out/a.pb.gz" >"$out/first.pb" && zcat "$out/again.pb.gz" | cmp - "$out/first.pb" >"$out/said" 2>&1
verdict $? "pprof, read and written: the same bytes" "$out/said"
if command -v go >/dev/null 2>&1; then
    HOME=$out/home TZ=UTC timeout 60 go tool pprof -symbolize=demangle=none -proto -output "$out/go.pb.gz" "$out/a.pb.gz" >"$out/said" 2>&1 &&
        "$convert" "$out/go.pb.gz" "$out/go.folded" >>"$out/said" 2>&1 &&
        sort "$out/go.folded" | diff "$out/expected.sorted" - >>"$out/said" 2>&1
    verdict $? "pprof as go writes it" "$out/said"
fi
"$convert" --before "$out/a.pb.gz" "$out/in.folded" "$out/mixed.html" >"$out/said" 2>&1
verdict $? "a profile is compared with one of another format" "$out/said"
# refuses NAME STATUS PATTERN ARGUMENT...: one line on standard error
refuses() {
    name=$1
    code=$2
    pattern=$3
    shift 3
    "$convert" "$@" >"$out/said" 2>&1 </dev/null
    [ $? -eq "$code" ] && [ "$(wc -l <"$out/said")" -eq 1 ] && grep -qE "^snapwalk-profile-convert: $pattern" "$out/said"
    verdict $? "$name" "$out/said"
}
head -c 100 "$out/a.pb.gz" >"$out/cut.pb.gz"
{
    printf '\n\377\377\377\177' | gzip
} >"$out/bad.pb.gz"
head -c 300000000 /dev/zero | gzip >"$out/bomb.pb.gz"
refuses "a file that is cut off" 1 '.*/cut.pb.gz: no profile of pprof, cut off' "$out/cut.pb.gz" "$out/x.folded"
refuses "a file that is none" 1 '.*/bad.pb.gz: no profile of pprof' "$out/bad.pb.gz" "$out/x.folded"
refuses "a file that unpacks to too much" 1 '.*/bomb.pb.gz: .*more than 256 MB' "$out/bomb.pb.gz" "$out/x.folded"
rm -f "$out/bomb.pb.gz"
refuses "a file that is not there" 1 '/nowhere/a: cannot be opened' /nowhere/a "$out/x.folded"
refuses "an ending that is no format's" 2 'a.svg: ends in none of .pb.gz' "$out/a.pb.gz" a.svg
refuses "a column that is not there" 1 'gpu: it has no such column' --column gpu "$out/a.pb.gz" "$out/x.folded"
refuses "a comparison that nobody would see" 2 '--before: only a page' --before "$out/a.pb.gz" "$out/a.pb.gz" "$out/x.folded"
refuses "an option that is not there" 2 '--colour: no such option' --colour "$out/a.pb.gz" "$out/x.folded"
refuses "a value without a unit" 2 'cpu: not TYPE:UNIT' --value cpu "$out/in.folded" "$out/x.folded"
"$convert" --help | sed -n 's/^  \(--[a-z]*\) .*/\1/p' | sort >"$out/options" &&
    sed -n 's/^\.B \\-\\-\([a-z]*\) *.*/--\1/p' docs/man/snapwalk-profile-convert.1 | sort | sed '/--help/d' | diff - "$out/options" >"$out/said" 2>&1
verdict $? "the manual has the options of --help" "$out/said"

# OTLP, by protoc and the same numbers of fields: tables begin with an empty entry, no text is there twice, the first stack is leaf
# first, and the sum is the same.
otlp() { protoc --decode=otlp.ProfilesData -Itools/profile/proto otlp.proto <"$1"; }
if command -v protoc >/dev/null 2>&1; then
    otlp "$out/a.otlp" >"$out/a.text" 2>&1
    verdict $? "protoc decodes OTLP" "$out/a.text"
    awk '/^  [a-z]+_table( \{|: )/ { if (!($1 in first)) first[$1] = 1 } { line[NR] = $0 }
         END { for (i = 1; i <= NR; i++) if (line[i] ~ /^  [a-z]+_table \{$/ && !(line[i] in seen)) {
                   seen[line[i]] = 1; n++; if (line[i + 1] != "  }") bad = 1 }
               exit bad || n != 6 }' "$out/a.text"
    verdict $? "OTLP: the first entry of each table is empty" "$out/a.text"
    grep '^  string_table' "$out/a.text" | head -n 1 | grep -qx '  string_table: ""' &&
        [ -z "$(grep '^  string_table' "$out/a.text" | sort | uniq -d)" ]
    verdict $? "OTLP: the first text is empty, and none is there twice" "$out/a.text"
    awk '$1 == "values:" { sum += $2 } END { exit sum != 54 }' "$out/a.text"
    verdict $? "OTLP: the sum of all samples" "$out/a.text"
    awk '/^  string_table: / { text[n++] = substr($0, 17) } /^  function_table \{/ { f++ } /name_strindex/ && !/system|file/ { name[f - 1] = $2 }
         /^  location_table \{/ { l++ } /function_index/ { at[l - 1] = $2 } /^  stack_table \{/ { s++ }
         /location_indices/ && s == 3 { found = found text[name[at[$2]]] }
         END { exit found != "\"Json.Parse<int, string>\"\"Demo.Run\"\"main\"" }' "$out/a.text"
    verdict $? "OTLP: a stack, by its numbers, leaf first" "$out/a.text"
else
    echo "ok - OTLP # SKIP no protoc command"
fi

: >"$out/empty.folded"
"$convert" "$out/empty.folded" "$out/empty.pb.gz" "$out/empty.speedscope.json" >"$out/said" 2>&1
verdict $? "an empty profile is written" "$out/said"
reads "pprof takes an empty profile" '^samples/count' go tool pprof -raw "$out/empty.pb.gz"

printf 'a;b 9223372036854775807\na;b 5\nno stack here\n' >"$out/large.folded"
"$convert" "$out/large.folded" "$out/large.pb.gz" "$out/large.folded.txt" >"$out/said" 2>&1
verdict $? "sums that are too large are written" "$out/said"
grep -q '^snapwalk-profile-convert: .*/large.folded: 1 lines or samples are none, and left out$' "$out/said"
verdict $? "lines that are none are counted" "$out/said"
grep -qx 'a;b 9223372036854775807' "$out/large.folded.txt"
verdict $? "a sum that is too large stays at the largest number" "$out/large.folded.txt"
reads "pprof -comments: and that is said" 'sums were larger than 64 bits' go tool pprof -comments "$out/large.pb.gz"

# The page, in a browser: what a person would find there. Names are texts, whatever they hold.
printf '%s\n' 'main;Demo.Run;Json.Parse<int, string> 10' 'main;Demo.Gone 30' >"$out/before.folded"
"$convert" --value cpu:nanoseconds "$out/in.folded" "$out/page.html" >"$out/said" 2>&1 &&
    "$convert" --value cpu:nanoseconds --before "$out/before.folded" "$out/in.folded" "$out/diff.html" >"$out/said" 2>&1
verdict $? "folded stacks become pages" "$out/said"
printf '%s\n' 'main;A.Long.Space.Type<Of.It<int>>.Method<Other+<It>d__4>(string, int)_[j] 1' 'main 9' >"$out/narrow.folded"
"$convert" --value cpu:nanoseconds "$out/narrow.folded" "$out/narrow.html" >"$out/said" 2>&1
verdict $? "and one with a long name" "$out/said"
# shown FILE#STATE: what is in the page once its script has run, an element a line
shown() {
    timeout 600 chromium --headless --no-sandbox --disable-gpu --user-data-dir="$out/browser" --window-size=1000,600 \
        --virtual-time-budget=2000 --dump-dom "file://$out/$1" 2>"$out/browser.said" |
        sed -e '1,/id="graph"/ { /id="graph"/!d }' -e 's/<div/\n<div/g' -e 's/<script.*//' >"$out/dom"
}
if command -v chromium >/dev/null 2>&1; then
    shown page.html
    [ "$(grep -c '<div title=' "$out/dom")" -eq 7 ]
    verdict $? "page: all, and a box for each of six frames" "$out/dom"
    grep 'title="Json.Parse&lt;int, string&gt;: 30 ns, 55.56 %; own 30 ns; managed (JIT)"' "$out/dom" | grep -q 'width: *542'
    verdict $? "page: a frame says what it is, and is as wide as its share of 976" "$out/dom"
    grep -q 'title="&lt;/script&gt;&quot;\\ \\u{202e}evil\\x01 \\xff: 4 ns' "$out/dom"
    verdict $? "page: a hostile name is a text" "$out/dom"
    shown 'page.html#search=parse'
    [ "$(grep -c 'class="found"' "$out/dom")" -eq 1 ] && grep 'class="found"' "$out/dom" | grep -q 'Json.Parse'
    verdict $? "page: search marks what it finds" "$out/dom"
    zoom=$(grep 'title="Demo.Run' "$out/dom" | sed 's/.*data-node="\([0-9]*\)".*/\1/')
    shown "page.html#zoom=$zoom"
    grep 'title="Demo.Run' "$out/dom" | grep -q 'width: *976px' && grep -q 'class="above"' "$out/dom" && ! grep -q 'title="read' "$out/dom"
    verdict $? "page: a frame that is looked into fills the page, below its callers" "$out/dom"
    shown narrow.html
    grep 'title="A.Long.Space' "$out/dom" | grep -q '>Type.Method</div>' && grep 'title="main' "$out/dom" | grep -q '>main</div>'
    verdict $? "page: a narrow box has type and method, without namespace" "$out/dom"
    shown diff.html
    grep 'title="Demo.Gone: 0 nanoseconds, 0.00 %; own 0 nanoseconds; before 30 ns, 75.00 %' "$out/dom" | grep -q 'width: *366px'
    verdict $? "two profiles: what is gone is there, as wide as the mean of its shares" "$out/dom"
else
    echo "ok - the page in a browser # SKIP no chromium command"
fi

# Deeper than the bound: 70,000 frames, of which the innermost 65,535 are kept under a frame that says so.
awk 'BEGIN { for (i = 0; i < 70000; i++) printf "%sf%d", i ? ";" : "", i; print " 7" }' >"$out/deep.folded"
"$convert" "$out/deep.folded" "$out/deep.pb.gz" "$out/deep.txt" >"$out/said" 2>&1 &&
    grep -qE '^\[deeper frames cut\];f4465;.*;f69999 7$' "$out/deep.txt"
verdict $? "of a stack that is too deep the innermost frames are kept" "$out/said"
reads "pprof takes it" 'accounting for 7, 100% of 7 total' go tool pprof -top "$out/deep.pb.gz"
exit $status
