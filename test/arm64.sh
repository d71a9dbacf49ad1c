#!/bin/sh
# arm64.sh run CPU PROGRAM: a program of BUILD/arm64/signed, in qemu-aarch64 as that processor.
# arm64.sh examples CPU BUILD: the examples there; TAP on standard output.
# Two processors are of interest: max signs return addresses, cortex-a57 does not.
set -u
cd "$(dirname "$0")/.."
# qemu computes the architecture's own signatures so slowly that nothing else is done; those of its own choice are as real.
cpu=$2
[ "$cpu" != max ] || cpu=max,pauth-impdef=on

# qemu FOLDER PROGRAM ARGUMENTS...: FOLDER/../sysroot has what the programs are linked with
qemu() {
    sysroot=$1/../sysroot
    shift
    qemu-aarch64 -L "$sysroot" -cpu "$cpu" "$@"
}

if ! command -v qemu-aarch64 >/dev/null 2>&1; then
    echo "ok - ARM64 # SKIP no qemu-aarch64 command (package qemu-user)"
    exit 0
fi
if [ "$1" = run ]; then
    qemu "${3%/test/*}" "$3"
    exit
fi
made=$3/arm64/signed
out=$3/log/arm64-$2.out
status=0

# example NAME PATTERN PROGRAM [ARGUMENT]: ends with 0, and prints a line that matches
example() {
    name=$1
    pattern=$2
    shift 2
    if qemu "$made" "$@" >"$out" 2>&1 </dev/null && grep -qE "$pattern" "$out"; then
        echo "ok - examples: $name"
    else
        echo "not ok - examples: $name"
        tail -n 20 "$out" | sed 's/^/# /'
        status=1
    fi
}

example "walk_self walks to the root" '^ended: root$' "$made/examples/walk_self"
example "walk_self names main" ' main\+' "$made/examples/walk_self"
example "sample_threads: every sample is complete" '^thread 2: ' "$made/examples/sample_threads"
example "simulated: a native seed is refused, the nearest one named" \
    'answer 0x8013135f, a seed would be at 0x30009' "$made/examples/simulated"
example "jit_unwind walks by a compiler's own tables" '^ended: root$' "$made/examples/jit_unwind"
example "toyjit: its code runs" '^ready [0-9]' "$made/examples/toyjit" 1
rm -f "/tmp/perf-$(sed -n 's/^ready //p' "$out").map"
exit $status
