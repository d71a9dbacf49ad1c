#!/bin/sh
# build.sh OUT: compiles the programs in programs/ for the single-step test, each in several ways, into OUT as
# PROGRAM-COMPILER-OPTIMISATION-fp|nofp-eh|bare, and prints their paths. bare: without unwind tables of its own. FULL=1: every
# combination; else each program and compiler has each of the last four once, at an optimisation level each, in turn. A
# program's first line may ask for more flags, and with "step once" for one build by each compiler in any case; "by
# instructions": its tables say something else on purpose, and step leaves them out by the name's end, untold.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?build.sh OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here/programs"

# compile SOURCE COMPILER LEVEL FRAME TABLES
compile() {
    made=$out/${1%.c}-$2-$3-$4-$5
    echo "$made"
    [ ! -f "$made" ] || [ "$1" -nt "$made" ] || [ shape.h -nt "$made" ] || return 0
    flags=$(sed -n '1s,^/\* step[a-z ]*: \(.*\) \*/$,\1,p' "$1")
    case $4 in fp) flags="$flags -fno-omit-frame-pointer" ;; *) flags="$flags -fomit-frame-pointer" ;; esac
    case $5 in bare) flags="$flags -fno-asynchronous-unwind-tables -fno-unwind-tables" ;; esac
    # shellcheck disable=SC2086
    "$2" -std=c11 -D_GNU_SOURCE -w "-$3" $flags "$1" -o "$made" -lm -Wl,-z,lazy
}

first=0
for source in *.c; do
    if head -n 1 "$source" | grep -q '^/\* step once by instructions:'; then
        ! command -v gcc >/dev/null 2>&1 || compile "$source" gcc O2 nofp untold
        ! command -v clang >/dev/null 2>&1 || compile "$source" clang O2 fp untold
        continue
    fi
    if head -n 1 "$source" | grep -q '^/\* step once:'; then
        ! command -v gcc >/dev/null 2>&1 || compile "$source" gcc O2 nofp eh
        ! command -v clang >/dev/null 2>&1 || compile "$source" clang O2 fp bare
        continue
    fi
    first=$((first + 1))
    for cc in gcc clang; do
        first=$((first + 1))
        command -v "$cc" >/dev/null 2>&1 || continue
        turn=$first
        for level in O0 O2 Os O3; do
            turn=$((turn + 1))
            way=0
            for kind in fp-eh fp-bare nofp-eh nofp-bare; do
                if [ "${FULL:-0}" = 1 ] || [ "$way" -eq $((turn % 4)) ]; then
                    compile "$source" "$cc" "$level" "${kind%-*}" "${kind#*-}"
                fi
                way=$((way + 1))
            done
        done
    done
done
