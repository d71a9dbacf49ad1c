#!/bin/sh
# run.sh BUILD: real cores of crash.c, walked by snapstacks on this host: one that the kernel writes, one by gcore, those
# that qemu writes for ARM64 programs, signed return addresses too. Every thread must come out whole, with the functions
# that crash.c calls, in order; frame by frame as eu-stack sees it, or as the living process was seen. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
. test/support/wait.sh
build=${1:?run.sh BUILD}
here=$(pwd)
mkdir -p "$build/test/core"
out=$(cd "$build/test/core" && pwd)
stacks=$(cd "$build/tools/snapstacks" && pwd)/snapstacks
number=0
status=0

say() { # say ok|not ok, TEXT
    number=$((number + 1))
    echo "$1 $number - $2"
    [ "$1" = ok ] || status=1
}

# say_if TITLE FILE...: ok when the last command was; else what is in the files
say_if() {
    if [ "$?" -eq 0 ]; then
        say ok "$1"
    else
        say "not ok" "$1"
        shift
        cat "$@" | head -n 60 | sed 's/^/#   /'
    fi
}

# core_of FOLDER COMMAND...: runs it there until it dies, and prints the path of the core that came of it, if one did. Where
# qemu writes one, the kernel may write another of qemu itself.
core_of() {
    rm -rf "$1"
    mkdir -p "$1"
    (
        cd "$1" || exit
        shift
        ulimit -c unlimited 2>/dev/null || exit
        timeout 300 "$@" >said 2>&1
        :
    ) >/dev/null 2>&1
    find "$1" -name 'qemu_*.core' | grep . || find "$1" -name 'core*' -type f | head -n 1
}

# Every thread whole, and what stands in crash.c in its stack, thread by thread, sorted.
chains() {
    awk '$1 == "thread" { if (list != "") print list; list = "" }
         $1 == "frame" { name = $7; sub(/^.*!/, "", name); sub(/[+].*/, "", name); if (name in wanted) list = list " " name }
         $1 == "stop" { list = $2 ":" list }
         BEGIN { split("sit dive diver fault_here on_signal signal_here crasher wait_for main", w, " "); for (i in w) wanted[w[i]] }
         END { print list }' "$1" | sort
}
cat >"$out/chains" <<'E2'
root: fault_here on_signal signal_here crasher
root: sit dive dive dive dive dive dive diver
root: wait_for main
E2

# walked TITLE CORE [--sysroot DIR]: what stacks sees goes to $out/seen
walked() {
    title=$1
    shift
    "$stacks" --plain --core "$@" >"$out/seen" 2>"$out/complaints" && chains "$out/seen" | cmp -s - "$out/chains" &&
        [ ! -s "$out/complaints" ]
    say_if "$title: three threads, whole, $(grep -c '^frame' "$out/seen") frames" "$out/seen" "$out/complaints"
}

# as_eu_stack TITLE DIFFERENT [ARGUMENT...]: threads as eu-stack sees them, all but DIFFERENT.
as_eu_stack() {
    title=$1
    different=$2
    shift 2
    if ! command -v eu-stack >/dev/null 2>&1; then
        say ok "$title: as eu-stack # SKIP no eu-stack command (package elfutils)"
        return
    fi
    eu-stack -n 0 "$@" >"$out/eu" 2>"$out/eu.err"
    awk -f mk/eu-stack.awk "$out/seen" "$out/eu" >"$out/compared"
    [ "$(grep -c '^[0-9]* equal ' "$out/compared")" = $((3 - different)) ] &&
        [ "$(grep -c '^[0-9]* different ' "$out/compared")" = "$different" ]
    say_if "$title: $((3 - different)) threads frame by frame as eu-stack" "$out/compared" "$out/eu"
}

compile() { # compile COMPILER PROGRAM FLAGS...
    compiler=$1
    program=$2
    shift 2
    "$compiler" -O2 -fomit-frame-pointer -D_GNU_SOURCE -w "$here/test/core/crash.c" -o "$program" -pthread "$@" >"$out/compiler" 2>&1
}

# ---- x64, or what this host is ----
compile "${CC:-gcc}" "$out/crash"
say_if "compiles" "$out/compiler"
core=$(core_of "$out/kernel" "$out/crash")
if [ -z "$core" ]; then
    say ok "kernel # SKIP no core was written (core_pattern $(cat /proc/sys/kernel/core_pattern), limit $(ulimit -H -c))"
else
    walked "kernel" "$core"
    as_eu_stack "kernel" 0 --core "$core" -e "$out/crash"

    # Cut off: the notes stand in front, so do the registers.
    head -c 40000 "$core" >"$out/cut"
    "$stacks" --plain --core "$out/cut" >"$out/seen" 2>"$out/complaints" && [ "$(grep -c '^thread' "$out/seen")" = 3 ] &&
        [ "$(grep -c '^stop' "$out/seen")" = 3 ]
    say_if "cut off: still three threads" "$out/seen" "$out/complaints"

    # Another build of the program in its place: refused by name, and so is what is not there, unless the path fits.
    mkdir -p "$out/other$out"
    compile "${CC:-gcc}" "$out/other$out/crash" -DOTHER -g
    "$stacks" --plain --core "$core" --sysroot "$out/other" >"$out/seen" 2>"$out/complaints" &&
        grep -q "snapstacks: $out/crash is another file than" "$out/complaints" && [ "$(wc -l <"$out/complaints")" = 1 ] &&
        ! grep -q 'crash!' "$out/seen" && grep -q ' libc[.]so[.]6!' "$out/seen"
    say_if "another build is refused by name, libraries found where they are" "$out/seen" "$out/complaints"
    rm -rf "$out/other"
fi
bare="-fno-asynchronous-unwind-tables -fno-unwind-tables"
# shellcheck disable=SC2086
compile "${CC:-gcc}" "$out/bare" $bare
core=$(core_of "$out/kernel" "$out/bare")
[ -z "$core" ] || walked "kernel, without tables" "$core"

# gdb writes cores of its own form. The living process is walked first: no thread moves.
if ! command -v gcore >/dev/null 2>&1; then
    say ok "gcore # SKIP no gcore command (package gdb)"
else
    "$out/crash" wait >"$out/said" 2>&1 &
    pid=$!
    until_so is_ready "$out/said" "$pid" && until_so sits "$pid"
    "$stacks" --plain "$pid" >"$out/alive" 2>&1
    timeout 600 gcore -o "$out/gcore" "$pid" >"$out/gcore.log" 2>&1
    "$stacks" --plain --core "$out/gcore.$pid" >"$out/seen" 2>"$out/complaints"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    grep '^[fs]' "$out/alive" | sed 's/^frame \([^ ]* [^ ]*\) .*/\1/' >"$out/alive.frames"
    grep '^[fs]' "$out/seen" | sed 's/^frame \([^ ]* [^ ]*\) .*/\1/' >"$out/seen.frames"
    [ "$(wc -l <"$out/seen.frames")" -gt 20 ] && cmp -s "$out/alive.frames" "$out/seen.frames"
    say_if "gcore: $(grep -c '^frame' "$out/seen") frames as in the living process" "$out/seen" "$out/complaints" "$out/alive" "$out/gcore.log"
    rm -f "$out/gcore.$pid"
fi

# ---- ARM64 on any host ----
# Where the cross compiler keeps that machine's libraries.
arm64=/usr/aarch64-linux-gnu
standard=-mbranch-protection=standard

# qemu_core NAME CPU OPTION...: makes the core of $out/NAME; false when qemu wrote none
qemu_core() {
    name=$1
    cpu=$2
    shift 2
    core=$(core_of "$out/qemu-$name" qemu-aarch64 -cpu "$cpu" "$@" "$out/$name")
    rm -f "$out/qemu-$name"/core*
    [ -f "$core" ]
}

if ! command -v aarch64-linux-gnu-gcc >/dev/null 2>&1 || ! command -v qemu-aarch64 >/dev/null 2>&1; then
    say ok "ARM64 # SKIP no aarch64-linux-gnu-gcc or qemu-aarch64 command (packages gcc-aarch64-linux-gnu, qemu-user)"
elif ! compile aarch64-linux-gnu-gcc "$out/arm64"; then
    say "not ok" "ARM64 compiles"
    sed 's/^/#   /' "$out/compiler"
elif ! qemu_core arm64 cortex-a57 -L $arm64; then
    say ok "ARM64 # SKIP qemu wrote no core (limit $(ulimit -H -c))"
else
    walked "ARM64, with --sysroot" "$core" --sysroot $arm64

    compile aarch64-linux-gnu-gcc "$out/arm64-signed" $standard && qemu_core arm64-signed max -L $arm64
    walked "ARM64, signed return addresses" "$core" --sysroot $arm64

    # A library that is another one, known by its dynamic section: qemu writes no first pages.
    mkdir -p "$out/other/lib"
    cp $arm64/lib/libm.so.6 "$out/other/lib/libc.so.6"
    cp $arm64/lib/ld-linux-aarch64.so.1 "$out/other/lib/"
    "$stacks" --plain --core "$core" --sysroot "$out/other" >"$out/seen" 2>"$out/complaints"
    [ "$(cut -c1-43 "$out/complaints")" = "snapstacks: /lib/libc.so.6 is another file " ] && grep -q 'arm64-signed!fault_here' "$out/seen"
    say_if "ARM64: another library is refused by name" "$out/seen" "$out/complaints"
    rm -rf "$out/other"

    # Linked so that eu-stack finds the libraries, which has no --sysroot. It knows no trampoline and no signatures.
    paths="-Wl,--dynamic-linker=$arm64/lib/ld-linux-aarch64.so.1,-rpath,$arm64/lib"
    compile aarch64-linux-gnu-gcc "$out/arm64-paths" "$paths" && qemu_core arm64-paths cortex-a57
    walked "ARM64, libraries by their own paths" "$core"
    as_eu_stack "ARM64" 1 --core "$core" -e "$out/arm64-paths"
    compile aarch64-linux-gnu-gcc "$out/arm64-paths-signed" "$paths" $standard && qemu_core arm64-paths-signed max
    walked "ARM64, libraries by their own paths, signed" "$core"
    if command -v eu-stack >/dev/null 2>&1; then
        eu-stack -n 0 --core "$core" -e "$out/arm64-paths-signed" >"$out/eu" 2>"$out/eu.err"
        grep -q '^#[0-9]* *0x00[0-9a-f]*[1-9a-f][0-9a-f]*55000' "$out/eu"
        say_if "ARM64: these return addresses are signed: eu-stack shows so" "$out/eu"
    fi

    # The program's own functions are known by their instructions alone, which only the file holds.
    # shellcheck disable=SC2086
    compile aarch64-linux-gnu-gcc "$out/arm64-bare" $standard $bare && qemu_core arm64-bare max -L $arm64
    walked "ARM64, without tables, signed" "$core" --sysroot $arm64

    # No libraries, no dynamic section: nothing in the core tells whether the file is the right one.
    compile aarch64-linux-gnu-gcc "$out/arm64-static" $standard -static && qemu_core arm64-static max
    walked "ARM64, static, signed" "$core"
fi

rm -rf "$out"/qemu-* "$out/kernel"
echo "1..$number"
exit $status
