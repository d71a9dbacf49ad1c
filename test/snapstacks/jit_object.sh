#!/bin/sh
# jit_object.sh BUILD: a program that registers ELF objects for gdb (jit_object.c), seen by snapstacks: the living process, its
# capsule, its core; gdb, which the interface is made for, is the witness. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
. test/support/wait.sh
build=$(cd "$1" && pwd)
out=$build/jit_object
mkdir -p "$out"
stacks=$build/tools/snapstacks/snapstacks
cc=${CC:-gcc}
status=0
verdict() {
    [ "$1" -eq 0 ] && echo "ok - $2" && return
    echo "not ok - $2"
    sed 's/^/# /' "$out/seen" | head -n 20
    status=1
}

# What the compiler would make: frames of two sizes, no frame pointer, no way through without tables from the middle of it.
cat >"$out/jitted.c" <<'END'
static __attribute__((noinline)) int jit_inner(int (*call)(int), int n)
{
    volatile char room[72];
    room[n] = 1;
    return call(n) + room[n];
}
int jit_outer(int (*call)(int), int n)
{
    volatile long some[20 + (n & 1)];
    some[n] = jit_inner(call, n);
    return (int)some[n] + 1;
}
END
"$cc" -O1 -c -fno-stack-protector -fcf-protection=none "$out/jitted.c" -o "$out/jitted.o" &&
    "$cc" -O1 test/snapstacks/jit_object.c -o "$out/jit_object" || exit 1

# chain FILE: the functions of the program, in order, with how they were found
chain() {
    awk '$1 == "frame" { name = $7; sub(/^.*!/, "", name); sub(/[+].*/, "", name); print name, $5, $6 } $1 == "stop" { print $2 }' "$1" |
        grep -E '^(wait_here|jit_|main|root)' | tr '\n' ';'
}
expected='wait_here cfi exact;jit_inner cfi exact;jit_outer cfi exact;main cfi exact;root;'

"$out/jit_object" "$out/jitted.o" >"$out/said" &
pid=$!
trap 'kill "$pid" 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM
until_so is_ready "$out/said" "$pid"
"$stacks" --plain --no-lines "$pid" --save "$out/capsule" >"$out/live" 2>"$out/seen"
chain "$out/live" >>"$out/seen"
[ "$(chain "$out/live")" = "$expected" ]
verdict $? "a process: functions of the object by name, and by its call frame information"
"$stacks" --plain --no-lines "$out/capsule" >"$out/read" 2>"$out/seen"
chain "$out/read" >>"$out/seen"
[ "$(chain "$out/read")" = "$expected" ]
verdict $? "its capsule"
if command -v gcore >/dev/null 2>&1 && gcore -o "$out/core" "$pid" >"$out/seen" 2>&1; then
    "$stacks" --plain --no-lines "$out/core.$pid" >"$out/cored" 2>"$out/seen"
    [ "$(chain "$out/cored")" = "$expected" ]
    verdict $? "its core"
    rm -f "$out/core.$pid"
    gdb -batch -nx -p "$pid" -ex bt >"$out/seen" 2>&1
    [ "$(grep -oE '(wait_here|jit_inner|jit_outer|main) \(' "$out/seen" | tr -d '(\n')" = 'wait_here jit_inner jit_outer main ' ]
    verdict $? "gdb sees the same functions in the same order"
else
    echo "ok - its core, and gdb # SKIP no gdb"
fi
kill "$pid"

# ---- LLVM's own compilers ----
if command -v lli >/dev/null 2>&1 && command -v clang >/dev/null 2>&1; then
    cat >"$out/jitted.c" - <<'END'
int puts(const char *), pause(void), fflush(void *);
static __attribute__((noinline)) int wait_here(int n) { puts("ready"); fflush(0); for (;;) pause(); return n; }
static __attribute__((noinline)) int jit_inner(int n) { volatile char room[72]; room[n] = 1; return wait_here(n) + room[n]; }
__attribute__((noinline)) int jit_outer(int n) { volatile long some[20]; some[n] = jit_inner(n); return (int)some[n] + 1; }
int main(void) { return jit_outer(3); }
END
    clang -O1 -S -emit-llvm "$out/jitted.c" -o "$out/jitted.ll" || exit 1
    for kind in mcjit orc; do
        : >"$out/said"
        lli --jit-kind=$kind "$out/jitted.ll" >"$out/said" 2>"$out/seen" &
        pid=$!
        until_so is_ready "$out/said" "$pid"
        "$stacks" --plain --no-lines "$pid" >"$out/live" 2>>"$out/seen"
        chain "$out/live" >>"$out/seen"
        case "$(chain "$out/live")" in "${expected%main*}main cfi exact;"*"root;") ;; *) false ;; esac
        verdict $? "lli --jit-kind=$kind: LLVM's own objects"
        kill "$pid"
    done
else
    echo "ok - LLVM's own objects # SKIP no lli (package llvm)"
fi
exit $status
