#!/bin/sh
# pe_wine.sh BUILD [all | DLL...]: rules of Windows unwind data against Wine's RtlVirtualUnwind, at every instruction of
# every entry of a DLL's exception directory. Without more: a few DLLs of the machine and some compiled here. all: every
# DLL of mingw-w64 and of Wine, every program of test/step by two compilers at four levels, .NET's core library.
# Last line: wine: E of T instructions equal over N files (differences by cause: ...)
set -u
cd "$(dirname "$0")/../.."
. test/support/wait.sh
. test/support/wine.sh
build=${1:-build}
[ $# -eq 0 ] || shift
work=$build/wine
mingw=x86_64-w64-mingw32-gcc
dlls=/usr/lib/gcc/x86_64-w64-mingw32
status=0

skip() {
    echo "ok - pe_wine # SKIP $1"
    exit 0
}

find_wine || skip "no wine64 command (package wine64)"
command -v "$mingw" >/dev/null 2>&1 || skip "no $mingw command (package gcc-mingw-w64-x86-64)"

rm -rf "$work"
mkdir -p "$work/include"
work=$(cd "$work" && pwd)
use_wine "$work"
clean_up() {
    leave_wine
    rm -rf "$work"/questions "$work"/answers
}
trap clean_up EXIT

# compile NAME COMPILER LEVEL: a DLL from a program of test/step, if it can be had.
compile() {
    made=$work/$1-$2-$3
    source=test/step/programs/$1.c
    case $2 in
    gcc) "$mingw" -w -c "-$3" -I"$work/include" "$source" -o "$made.o" 2>"$made.log" || return 0 ;;
    clang)
        command -v clang >/dev/null 2>&1 || return 0
        clang --target=x86_64-w64-mingw32 -w -c "-$3" -I"$work/include" "$source" -o "$made.o" 2>"$made.log" || return 0
        ;;
    esac
    "$mingw" -shared "$made.o" -o "$made.dll" 2>"$made.log" && echo "$made.dll"
}

compile_all() {
    echo '#include <malloc.h>' >"$work/include/alloca.h"
    for name in $1; do
        for level in $2; do
            for compiler in gcc clang; do compile "$name" "$compiler" "$level"; done
        done
    done
}

wine_dlls() {
    find /usr/lib/*/wine/x86_64-windows /usr/lib/wine/x86_64-windows -name '*.dll' 2>/dev/null | sort
}

core_library() {
    command -v dotnet >/dev/null 2>&1 || return 0
    find "$(dirname "$(readlink -f "$(command -v dotnet)")")/shared" -name System.Private.CoreLib.dll | sort | tail -n 1
}

if [ $# -eq 0 ]; then
    set -- "$dlls"/*-win32/libatomic-1.dll "$dlls"/*-win32/libgcc_s_seh-1.dll "$dlls"/*-win32/libobjc-4.dll \
        $(wine_dlls | grep -E '/(kernel32|ntdll)[.]dll$') $(compile_all "dynamic tail" "O0 O2")
elif [ "$1" = all ]; then
    programs=$(ls test/step/programs/*.c | sed 's,.*/,,; s,[.]c$,,')
    set -- $(find "$dlls" -name '*.dll' | sort) $(wine_dlls) $(core_library) $(compile_all "$programs" "O0 O1 O2 Os")
fi

"$mingw" -O2 -Wall -Wextra -Werror -static test/oracle/wine/unwind.c -o "$work/unwind.exe" ||
    { echo "not ok - test/oracle/wine/unwind.c does not compile"; exit 1; }
# The first program makes the prefix; what that says is of no interest.
timeout 1200 "$wine" "$work/unwind.exe" >"$work/first.log" 2>&1
[ $? -eq 2 ] || skip "wine64 runs no program here, see $work/first.log"
"$server" -p >/dev/null 2>&1 # stays until it is told to go: between two DLLs it would just be leaving

answer() {
    timeout 600 "$wine" "$work/unwind.exe" "$1" "$work/questions" "$work/answers" >"$work/last.log" 2>&1
}

# one DLL: prints what the comparison says of it.
compare() {
    "$build/test/oracle/pe_wine" ask "$1" "$work/questions" || return
    # Of some hundred starts of Wine one may fail; the same one does not fail twice.
    answer "$1" || answer "$1" || { echo "$(basename "$1"): wine64 ended with status $?"; return; }
    "$build/test/oracle/pe_wine" compare "$1" "$work/questions" "$work/answers"
}

for dll in "$@"; do
    [ -r "$dll" ] || continue
    said=$(compare "$dll")
    line=$(echo "$said" | tail -n 1)
    case $line in
    *"no exception directory"*) continue ;; # data only
    *unexplained* | *": 0 of 0 "*) good= ;;
    *" instructions equal"*) good=yes ;;
    *) good= ;;
    esac
    echo "$line" >>"$work/summary"
    if [ -n "$good" ]; then
        echo "ok - $line"
    else
        echo "not ok - $line"
        echo "$said" | head -n 20 | sed 's/^/# /'
        status=1
    fi
done

# A program in Wine, walked from outside: the functions of its own image on the stack, leaf first, and a clean end.
walk_live() {
    "$mingw" -O1 -g -Wl,--disable-dynamicbase test/oracle/wine/spin.c -o "$work/spin.exe" || return 1
    timeout 600 "$wine" "$work/spin.exe" >/dev/null 2>&1 &
    launcher=$!
    until_so is_spinning
    "$build/tools/snapstacks/snapstacks" --verbose "$(spinning)" >"$work/spin.out" 2>&1
    kill "$(spinning)" "$launcher" 2>/dev/null
    wait "$launcher" 2>/dev/null
    base=$(x86_64-w64-mingw32-objdump -p "$work/spin.exe" | awk '/^ImageBase/ { print $2 }')
    for offset in $(awk '/^thread/ { n++ } n == 1' "$work/spin.out" | sed -n 's/.*spin[.]exe+0x//p'); do
        printf '0x%x\n' $((0x$base + 0x$offset - 1))
    done | x86_64-w64-mingw32-addr2line -f -e "$work/spin.exe" | sed -n '1~2p' | tr '\n' ' ' >"$work/spin.names"
    case $(cat "$work/spin.names") in
    "inner outer compare main "*) grep -q 'end: root' "$work/spin.out" ;;
    *) false ;;
    esac
}

# Wine takes less of a processor to start a program than two seconds; after that it spins where it should.
is_spinning() {
    pid=$(spinning)
    ! kill -0 "$launcher" 2>/dev/null || { [ -n "$pid" ] && has_used "$pid" 200; }
}

# The process that Wine made of it: its first argument is the program.
spinning() {
    for process in /proc/[0-9]*; do
        first=$({ tr '\0' '\n' <"$process/cmdline" | head -n 1; } 2>/dev/null)
        [ "$first" != "$work/spin.exe" ] || basename "$process"
    done | tail -n 1
}

if [ ! -x "$build/tools/snapstacks/snapstacks" ]; then
    echo "ok - a walk through a program in Wine # SKIP no $build/tools/snapstacks/snapstacks"
elif walk_live; then
    echo "ok - a walk through a program in Wine: $(cat "$work/spin.names" 2>/dev/null)"
else
    echo "not ok - a walk through a program in Wine, see $work/spin.out"
    status=1
fi

awk -F'; ' '
    { split($1, w, ": "); split(w[2], n, " "); equal += n[1]; total += n[3]; files++ }
    { for (i = 2; i <= NF; i++) { k = $i; sub(/ [0-9]+$/, "", k); v = $i; sub(/.* /, "", v); by[k] += v } }
    END {
        for (k in by) causes = causes (causes ? "; " : "") k " " by[k]
        printf "wine: %d of %d instructions equal over %d files (differences by cause: %s)\n", equal, total, files,
            causes ? causes : "none"
    }' "$work/summary"
exit $status
