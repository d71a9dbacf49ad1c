#!/bin/sh
# hostile.sh BUILD: damaged files before the audit and before the step tool. A small ELF file and a small PE file are made
# here, and of each some hundred damaged copies, the same ones each time (damage.c); the audit of each has to end by itself
# in time, with figures or a named error. Then programs whose unwind tables are damaged but which still run are
# single-stepped: walks may be wrong there, but the tool has to come to its sums. With sanitizers where BUILD/asan is
# built. TAP on standard output; last line: hostile: N files, ...
set -u
cd "$(dirname "$0")/../.."
build=${1:?hostile.sh BUILD}
here=$PWD/test/audit
out=$build/test/hostile
rm -rf "$out"
mkdir -p "$out"
out=$(cd "$out" && pwd)
status=0
number=0

say() { # say ok|not ok, TEXT
    number=$((number + 1))
    echo "$1 $number - $2"
    [ "$1" = ok ] || status=1
}

# Errors that the library has names for; SW_E_? is none.
names='SW_E_[A-Z_]+'

plain="${CC:-gcc} -std=c11 -O2 -g"
strict="clang -std=c11 -O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all -fsanitize=address,undefined"
if [ -f "$build/asan/libsnapwalk.a" ] && command -v clang >/dev/null 2>&1; then
    compiler=$strict
    archive=$build/asan/libsnapwalk.a
    with="with sanitizers"
else
    compiler=$plain
    archive=$build/libsnapwalk.a
    with="without sanitizers"
fi
export ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1:detect_leaks=1
export UBSAN_OPTIONS=print_stacktrace=1

. mk/step.sh
build_tools() {
    # shellcheck disable=SC2086
    $plain -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror "$here/damage.c" -o "$out/damage" &&
        $compiler -D_GNU_SOURCE -pthread -Iinclude examples/audit.c "$archive" -lZydis -lelf -llzma -o "$out/audit" &&
        (CC=$compiler && step_tool x64 "$out/step" test/step/step.c &&
            step_tool x64 "$out/accuracy" test/accuracy/accuracy.c test/accuracy/findings.c test/accuracy/text_x64.c) || return
    [ "$compiler" = "$plain" ] ||
        $compiler -fsanitize=fuzzer -Iinclude test/fuzz/fuzz_audit.c "$archive" -lZydis -lelf -llzma -o "$out/in_memory"
}

# Of a file, by the objdump that knows it: OFFSET:SIZE of sections, where damage is most likely to matter.
places() {
    "$1" -h "$2" 2>/dev/null | awk -v wanted=" $3 " '
        function value(hex, i, n) { n = 0; for (i = 1; i <= length(hex); i++) n = 16 * n + index("0123456789abcdef", substr(hex, i, 1)) - 1; return n }
        index(wanted, " " $2 " ") { printf "%d:%d ", value($6), value($3) }'
}

# How an audit ends, N for a number.
sum='by trust right/wrong: likely N/N, guess N/N, none N/N, register lost N, table false N
without functions whose table contradicts itself: N of N instructions equal (N.N %)
audit: N of N instructions equal (N.N %), wrong at full trust N'

# One audit: ends by itself, in time, says what it found or why not.
is_answered() {
    timeout -k 10 200 "$out/audit" "$1" >"$out/said" 2>&1
    code=$?
    case $code in
    0)
        grep -q ': audited$' "$out/said" && [ "$(tail -n 3 "$out/said" | sed 's/[0-9][0-9]*/N/g')" = "$sum" ]
        ;;
    1) head -n 1 "$out/said" | grep -qE ": ($names|cannot be read)\$" ;;
    *) false ;;
    esac
}

# audit_copies TITLE FILE COUNT SEED PLACE...
audit_copies() {
    title=$1
    file=$2
    count=$3
    copies=$out/$title
    mkdir -p "$copies"
    if ! is_answered "$file" || [ "$code" -ne 0 ]; then
        say "not ok" "hostile $title: the file itself is not audited"
        sed 's/^/# /' "$out/said" | head -n 5
        return
    fi
    shift 2
    "$out/damage" "$file" "$copies" "$@" >"$copies.list" || { say "not ok" "hostile $title: no copies"; return; }
    good=0
    refused=0
    bad=
    for copy in $(seq 1 "$count"); do
        if is_answered "$copies/$copy"; then
            good=$((good + 1))
            refused=$((refused + code))
        else
            bad="$bad $copy"
            cp "$out/said" "$copies/$copy.said"
            [ "$bad" != " $copy" ] || { echo "# status $code"; sed 's/^/# /' "$out/said" | head -n 30; }
        fi
    done
    files=$((files + count))
    if [ -z "$bad" ]; then
        say ok "hostile $title: $good copies audited, $refused of them refused by name"
    else
        say "not ok" "hostile $title: copies$bad, see $copies and $copies.list"
    fi
    [ ! -x "$out/in_memory" ] || audit_in_memory
}

# The same in blocks of their own size: a mapped file has readable bytes behind its end.
audit_in_memory() {
    if (cd "$copies" && timeout 1200 "$out/in_memory" -timeout=200 -runs=1 $(seq 1 "$count")) >"$out/said" 2>&1; then
        say ok "hostile $title: in memory"
    else
        say "not ok" "hostile $title: in memory"
        tail -n 30 "$out/said" | sed 's/^/# /'
    fi
}

make_elf() {
    "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -w -O2 -g0 test/step/programs/"$1".c -o "$out/$1" -lm 2>/dev/null
}

make_pe() {
    mkdir -p "$out/include"
    echo '#include <malloc.h>' >"$out/include/alloca.h"
    x86_64-w64-mingw32-gcc -w -O2 -I"$out/include" -shared test/step/programs/dynamic.c -o "$out/dynamic.dll" 2>"$out/mingw.log"
}

# ends_in PATTERN COMMAND...: in time, with status 0 or 1, and with a line like that.
ends_in() {
    pattern=$1
    shift
    timeout -k 10 600 "$@" >"$out/said" 2>&1
    code=$?
    [ "$code" -gt 1 ] || ! grep -q "$pattern" "$out/said" || return 0
    echo "# status $code of $*"
    tail -n 30 "$out/said" | sed 's/^/# /'
    return 1
}

# step_program NAME SEED step|accuracy: the tables damaged, nothing else: the program itself does not look at them.
step_program() {
    make_elf "$1" || { say "not ok" "hostile: $1.c does not compile"; return; }
    mkdir -p "$out/step-$1"
    # shellcheck disable=SC2046
    "$out/damage" "$out/$1" "$out/step-$1" 8 "$2" $(places objdump "$out/$1" ".eh_frame .eh_frame_hdr") >"$out/step-$1.list"
    stepped=0
    bad=
    for copy in 1 2 3 4 5 6 8; do # of the tenfold of kinds those that do not cut the file off
        program=$out/step-$1/$copy
        chmod +x "$program"
        "$program" >/dev/null 2>&1 || continue
        files=$((files + 1))
        stepped=$((stepped + 1))
        case $3 in
        step) ends_in "^step: [0-9]* of [1-9]" "$out/step" -s 4096 -l 4001 "$program" ;;
        accuracy) ends_in "^sum [0-9a-z]" "$out/accuracy" -n "$1" -o "$out/findings" -t 1 -s 4000 -f 1000 -- "$program" ;;
        esac || bad="$bad $copy"
    done
    if [ -n "$bad" ]; then
        say "not ok" "hostile: $3 over copies$bad of $1, see $out/step-$1.list"
    elif [ "$stepped" -eq 0 ]; then
        say "not ok" "hostile: no damaged copy of $1 runs"
    else
        say ok "hostile: $3 over $stepped copies of $1 with damaged tables"
    fi
}

files=0
if ! build_tools >"$out/tools.log" 2>&1; then
    say "not ok" "hostile: the tools do not compile, see $out/tools.log"
    exit 1
fi
if make_elf tail; then
    size=$(wc -c <"$out/tail")
    # The headers, the table of sections at the end, and the sections themselves.
    # shellcheck disable=SC2046
    audit_copies elf "$out/tail" 250 1 0:64 64:728 "$((size - 2048)):2048" \
        $(places objdump "$out/tail" ".eh_frame .eh_frame_hdr .text .symtab .strtab")
else
    say "not ok" "hostile elf: test/step/programs/tail.c does not compile"
fi
if ! command -v x86_64-w64-mingw32-gcc >/dev/null 2>&1; then
    echo "ok $((number += 1)) - hostile pe # SKIP no x86_64-w64-mingw32-gcc command (package gcc-mingw-w64-x86-64)"
elif make_pe; then
    # shellcheck disable=SC2046
    audit_copies pe "$out/dynamic.dll" 200 2 0:128 128:264 392:480 \
        $(places x86_64-w64-mingw32-objdump "$out/dynamic.dll" ".pdata .xdata .text .edata")
else
    say "not ok" "hostile pe: test/step/programs/dynamic.c does not compile, see $out/mingw.log"
fi
step_program tail 3 step
step_program dynamic 4 accuracy
echo "hostile: $files files of $number kinds, $with"
exit $status
