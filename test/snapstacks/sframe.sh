#!/bin/sh
# sframe.sh BUILD: a program whose .eh_frame is taken out and whose .sframe is written instead (test/unit/sframe.c) is walked by
# the latter, from its innermost function to the root, callee-saved registers left aside. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
. test/support/wait.sh
build=$(cd "$1" && pwd)
out=$build/sframe
mkdir -p "$out"
. test/support/tap.sh
stacks=$build/tools/snapstacks/snapstacks
[ "$(uname -m)" = x86_64 ] || {
    skip "a program with SFrame only" "x64 only"
    exit 0
}
cat >"$out/deep.c" <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
static volatile long sum;
__attribute__((noinline)) void inner(long n) { char room[300]; sprintf(room, "ready %ld", n); puts(room); fflush(stdout); for (;;) pause(); }
__attribute__((noinline)) void sized(long n) { volatile char some[n * 16 + 16]; some[n] = 1; inner(n); sum += some[n]; }
__attribute__((noinline)) long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
    sized(a + h);
    return a * b + c * d + e * f + g * h + sum;
}
int compare(const void *a, const void *b) { return (int)many(1, 2, 3, 4, 5, 6, 7, 8) + (a < b); }
int main(void) { int four[] = { 4, 3, 2, 1 }; qsort(four, 4, sizeof(int), compare); return four[0]; }
END
make --no-print-directory BUILD="$1" "$1/test/unit/sframe" >"$out/seen" 2>&1
verdict $? "what writes the table is built"
gcc -O1 -no-pie -fomit-frame-pointer "$out/deep.c" -o "$out/whole" && "$build/test/unit/sframe" write "$out/whole" "$out/table" &&
    objcopy -R .eh_frame -R .eh_frame_hdr --add-section .sframe="$out/table" "$out/whole" "$out/deep" >"$out/seen" 2>&1
verdict $? "a program with .sframe instead of .eh_frame is made"

# is_walked PROGRAM TITLE: from its innermost function to the root, by that table. A frame is found by the function that it calls:
# inner's by libc's pause, and so on.
is_walked() {
    : >"$out/said"
    "$1" >"$out/said" &
    pid=$!
    until_so is_ready "$out/said" "$pid"
    "$stacks" --plain --no-lines "$pid" >"$out/seen" 2>&1
    kill "$pid" 2>/dev/null
    chain=$(awk '$1 == "frame" { name = $7; sub(/^.*!/, "", name); sub(/[+].*/, "", name); print name, $5 } $1 == "stop" { print $2 }' "$out/seen" |
        grep -E '^(inner|sized|many|compare|main|root)' | tr '\n' ';')
    [ "$chain" = 'inner cfi;sized sframe;many sframe;compare sframe;main cfi;root;' ]
    verdict $? "$2: $chain"
}
pid=
trap '[ -z "$pid" ] || kill "$pid" 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM
is_walked "$out/deep" "its frames are found by it, in functions of a known size and of one that is not, to the root"

# Tables of this system's assembler and linker: version 2 from binutils 2.41 on, version 3 from 2.46 on.
gcc -O1 -no-pie -fomit-frame-pointer -Wa,--gsframe "$out/deep.c" -o "$out/made" >"$out/seen" 2>&1 &&
    objcopy --dump-section .sframe="$out/made.sframe" "$out/made" "$out/copy" >>"$out/seen" 2>&1
version=$(od -An -tu1 -j2 -N1 "$out/made.sframe" 2>/dev/null | tr -d ' ')
case ${version:-0} in
0 | 1) skip "tables of this system's assembler" "as makes version ${version:-0}, 2 and 3 are read (binutils from 2.41 on)" ;;
*)
    readelf -lW "$out/made" >"$out/seen" && grep -qE 'GNU_SFRAME|6474e554' "$out/seen"
    verdict $? "this system's linker makes a segment of the assembler's table, version $version"
    objcopy -R .eh_frame -R .eh_frame_hdr "$out/made" "$out/deep-made" >"$out/seen" 2>&1
    is_walked "$out/deep-made" "version $version, by its section"
    # Offset, number and names of section headers: none.
    cp "$out/deep-made" "$out/deep-segment" &&
        dd if=/dev/zero of="$out/deep-segment" bs=1 seek=40 count=8 conv=notrunc 2>/dev/null &&
        dd if=/dev/zero of="$out/deep-segment" bs=1 seek=60 count=4 conv=notrunc 2>/dev/null
    "$out/deep-segment" >"$out/said" &
    pid=$!
    until_so is_ready "$out/said" "$pid"
    "$stacks" --plain --no-lines "$pid" >"$out/seen" 2>&1
    kill "$pid" 2>/dev/null
    [ "$(awk '$1 == "frame" && $5 == "sframe"' "$out/seen" | wc -l)" -ge 3 ] && grep -q '^stop root' "$out/seen"
    verdict $? "version $version, by its segment, without section headers"
    ;;
esac
exit $status
