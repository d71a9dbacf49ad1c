#!/bin/sh
# build.sh OUT: compiles the programs in programs/ for the single-step test, each in several ways, into OUT as
# PROGRAM-COMPILER-OPTIMISATION-fp|nofp-eh|bare, and prints their paths. bare: without unwind tables of its own. FULL=1: every
# combination; else each program and compiler has each of the last four once, at an optimisation level each, in turn. A
# program's first line may ask for more flags, and with "step once" for one build by each compiler in any case; "by
# instructions": its tables say something else on purpose, and step leaves them out by the name's end, untold.
#
# "step outlined": with clang's outliner, by clang alone. clang's tables of outlined helpers are wrong, and are not asked.
#
# At the end of a name, how code is hardened: thunk, inline, retpoline: returns and indirect jumps not to be predicted; loads,
# lvi: loads. Two programs have each, without tables.
#
# MACHINE=arm64: for ARM64, by cross compilers; a line "arm64: FLAGS" stands for those of the first line. -pac at the end of a
# name: with branch protection, return addresses signed.
set -eu
machine=${MACHINE:-x64}
gcc=gcc clang=clang
if [ "$machine" = arm64 ]; then
    gcc=aarch64-linux-gnu-gcc
    clang="clang --target=aarch64-linux-gnu"
fi
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?build.sh OUT}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here/programs"

# clang before 15 describes an ARM64 prologue as a whole at its end, and epilogues not at all: its tables are not asked.
asks_tables() {
    [ "$machine" = x64 ] || [ "$1" != clang ] || [ "$($clang -dumpversion | cut -d. -f1)" -ge 15 ]
}

# The flags of what a name ends with.
hardening() {
    case $1 in
    pac) echo -mbranch-protection=standard ;;
    thunk) echo -fcf-protection=none -mfunction-return=thunk -mindirect-branch=thunk ;;
    inline) echo -fcf-protection=none -mfunction-return=thunk-inline -mindirect-branch=thunk-inline ;;
    retpoline) echo -mretpoline ;;
    loads) echo -mspeculative-load-hardening ;;
    lvi) echo -mlvi-hardening ;;
    esac
}

# compile SOURCE COMPILER LEVEL FRAME TABLES [HARDENING]
compile() {
    [ "$5" != eh ] || asks_tables "$2" || set -- "$1" "$2" "$3" "$4" untold ${6:-}
    made=$out/${1%.c}-$2-$3-$4-$5${6:+-$6}
    echo "$made"
    [ ! -f "$made" ] || [ "$1" -nt "$made" ] || [ shape.h -nt "$made" ] || return 0
    flags=$(sed -n '1s,^/\* step[a-z ]*: \(.*\) \*/$,\1,p' "$1")
    [ "$machine" != arm64 ] || ! grep -q '^/\* arm64: ' "$1" || flags=$(sed -n 's,^/\* arm64: \(.*\) \*/$,\1,p' "$1")
    [ -z "${6:-}" ] || flags="$flags $(hardening "$6")"
    case $2 in gcc) compiler=$gcc ;; *) compiler=$clang ;; esac
    case $4 in fp) flags="$flags -fno-omit-frame-pointer" ;; *) flags="$flags -fomit-frame-pointer" ;; esac
    case $5 in bare*) flags="$flags -fno-asynchronous-unwind-tables -fno-unwind-tables" ;; esac
    # shellcheck disable=SC2086
    $compiler -std=c11 -D_GNU_SOURCE -w "-$3" $flags "$1" -o "$made" -lm -Wl,-z,lazy 2>"$out/messages" || {
        cat "$out/messages" >&2 # without an error: the linker's about files that came without protection
        exit 1
    }
}

have() { command -v "${1%% *}" >/dev/null 2>&1; }

# Every second one.
next_pac() { if [ -n "$pac" ]; then pac=; else pac=pac; fi; }

first=0
pac=
protected=
[ "$machine" != arm64 ] || protected=pac
levels="O0 O2 Os O3"
[ "$machine" != arm64 ] || [ "${FULL:-0}" = 1 ] || levels="O2 Os"
for source in *.c; do
    [ "$machine" != arm64 ] || ! grep -q '^/\* arm64: has none' "$source" || continue
    [ "$machine" = arm64 ] || ! grep -q ' x64: has none[.] ' "$source" || continue
    if head -n 1 "$source" | grep -q '^/\* step outlined:'; then
        if have "$clang"; then
            compile "$source" clang Oz nofp bare-untold
            compile "$source" clang Oz fp bare-untold $protected
            [ "$source" != outlined.c ] || compile "$source" clang O0 nofp bare-untold # what only looks like such parts
        fi
        continue
    fi
    if head -n 1 "$source" | grep -q '^/\* step once by instructions:'; then
        ! have "$gcc" || compile "$source" gcc O2 nofp untold
        ! have "$clang" || compile "$source" clang O2 fp untold
        continue
    fi
    if head -n 1 "$source" | grep -q '^/\* step once:'; then
        ! have "$gcc" || compile "$source" gcc O2 nofp eh
        ! have "$clang" || compile "$source" clang O2 fp bare
        continue
    fi
    first=$((first + 1))
    for cc in gcc clang; do
        first=$((first + 1))
        case $cc in gcc) have "$gcc" || continue ;; *) have "$clang" || continue ;; esac
        turn=$first
        for level in $levels; do
            turn=$((turn + 1))
            way=0
            for kind in fp-eh fp-bare nofp-eh nofp-bare; do
                if [ "${FULL:-0}" = 1 ] || [ "$way" -eq $((turn % 4)) ]; then
                    compile "$source" "$cc" "$level" "${kind%-*}" "${kind#*-}" $pac
                fi
                way=$((way + 1))
            done
            [ "$machine" != arm64 ] || next_pac
        done
    done
done
[ "$machine" = x64 ] || exit 0
for source in callbacks.c switches.c; do
    for how in gcc-thunk gcc-inline clang-retpoline clang-loads clang-lvi; do
        ! have "${how%-*}" || compile "$source" "${how%-*}" O2 nofp bare "${how#*-}"
    done
done
