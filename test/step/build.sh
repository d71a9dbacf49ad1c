#!/bin/sh
# build.sh OUT: compiles the programs in programs/ for the single-step test, each in several ways, into OUT as
# PROGRAM-COMPILER-OPTIMISATION-fp|nofp-eh|bare. bare: without unwind tables of its own. FULL=1: every combination; else one
# of the four, in turn, for each program, compiler and optimisation. A program's first line may ask for more flags.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?build.sh OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here/programs"

turn=0
for source in *.c; do
    name=${source%.c}
    extra=$(sed -n '1s,^/\* step: \(.*\) \*/$,\1,p' "$source")
    for cc in ${STEP_COMPILERS:-gcc clang}; do
        command -v "$cc" >/dev/null 2>&1 || continue
        for level in O0 O2 Os O3; do
            turn=$((turn + 1))
            pick=$(((turn + turn / 4 + turn / 8) % 4))
            number=0
            for frame in fp nofp; do
                for tables in eh bare; do
                    wanted=$number
                    number=$((number + 1))
                    [ "${FULL:-0}" = 1 ] || [ "$wanted" = "$pick" ] || continue
                    made=$out/$name-$cc-$level-$frame-$tables
                    [ ! -f "$made" ] || [ "$source" -nt "$made" ] || [ shape.h -nt "$made" ] || continue
                    case $frame in fp) flags=-fno-omit-frame-pointer ;; *) flags=-fomit-frame-pointer ;; esac
                    case $tables in bare) flags="$flags -fno-asynchronous-unwind-tables -fno-unwind-tables" ;; esac
                    # shellcheck disable=SC2086
                    "$cc" -std=c11 -D_GNU_SOURCE -w "-$level" $flags $extra "$source" -o "$made" -lm -Wl,-z,lazy
                done
            done
        done
    done
done
