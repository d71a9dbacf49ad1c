#!/bin/sh
# arm64.sh [--own] BUILD [CPU...]: the library, its unit tests and its examples, built for ARM64 and run under qemu-aarch64: on a
# processor that signs return addresses (max) and on one that does not (cortex-a57). TAP on standard output, a line for each
# test with the program's name in front; what each program printed is in BUILD/log/qemu-CPU. Where the tools cannot be had
# it says so and skips. --own: only the programs that look at their own process, which is what processors differ in.
set -u
cd "$(dirname "$0")/.."

# qemu computes the architecture's own signatures so slowly that nothing else is done; those of its own choice are as real.
model() {
    [ "$1" = max ] && echo max,pauth-impdef=on || echo "$1"
}

# one PROGRAM CPU DIRECTORY: runs it; its TAP lines, with its name and, of tests that skip themselves, the reason.
if [ "$1" = --one ]; then
    name=$(basename "$2")
    out=$4/$name
    timeout -k 10 300 qemu-aarch64 -L "$SYSROOT" -cpu "$(model "$3")" "$2" >"$out" 2>&1 </dev/null
    status=$?
    awk -v name="$name" -v status="$status" '
        /^# needs / { reason = substr($0, 3) }
        /^(not )?ok / {
            bad += /^not/ && !/# SKIP/
            if (sub(/# SKIP /, "# SKIP " name ": ") && reason != "") $0 = $0 " (" reason ")"
            else if (!/# SKIP/) sub(/ - /, " - " name ": ")
            reason = ""; tests++; line[++n] = $0; next }
        /^# / && /error|Failure|exception|!=/ { line[++n] = $0 }
        END {
            if (status != 0 && !bad) line[++n] = "not ok - " name " ended with status " status
            else if (!tests) line[++n] = "not ok - " name " ran no test"
            for (i = 1; i <= n; i++) print line[i] }' "$out" >"$out.tap"
    exit 0
fi

chosen=.
if [ "$1" = --own ]; then
    chosen=$(grep -lE 'snapwalk/(self|process)[.]h|sigaction' test/unit/*.c | sed 's|.*/\(.*\)[.]c|/\1$|' | paste -sd '|')
    shift
fi
build=$1
shift
[ $# -gt 0 ] || set -- max cortex-a57
made=$build/arm64/signed
mkdir -p "$build/log"
skip() {
    echo "ok - ARM64 # SKIP $1"
    exit 0
}

command -v qemu-aarch64 >/dev/null 2>&1 || skip "no qemu-aarch64 command (package qemu-user)"
mk/arm64.sh "$made" archive unit examples >"$build/log/build-arm64" 2>&1
case $? in
0) ;;
77) skip "$(tail -n 1 "$build/log/build-arm64")" ;;
*)
    echo "not ok - build for ARM64"
    grep -E 'error|Error|undefined' "$build/log/build-arm64" | head -n 20 | sed 's/^/# /'
    exit 1
    ;;
esac
SYSROOT=$(cd "$build/arm64/sysroot" && pwd)
export SYSROOT CMOCKA_MESSAGE_OUTPUT=TAP
status=0

# example CPU NAME PATTERN PROGRAM [ARGUMENT]: ends with 0, and prints a line that matches
example() {
    cpu=$1
    name=$2
    pattern=$3
    shift 3
    out=$build/log/qemu-$cpu/example
    if timeout 60 qemu-aarch64 -L "$SYSROOT" -cpu "$(model "$cpu")" "$@" >"$out" 2>&1 </dev/null && grep -qE "$pattern" "$out"; then
        echo "ok - examples: $name"
    else
        echo "not ok - examples: $name"
        tail -n 20 "$out" | sed 's/^/# /'
        status=1
    fi
}

for cpu in "$@"; do
    log=$build/log/qemu-$cpu
    rm -rf "$log"
    mkdir -p "$log"
    # the longest first
    find "$made/test/unit" -type f -perm -u+x | grep -E "$chosen" | awk -F/ '{ long = $NF ~ /^(cache|core|x64_quick|images_cfi|kept|walk_pe)$/; print !long, $0 }' |
        sort | cut -d' ' -f2 | xargs -P "$(nproc 2>/dev/null || echo 1)" -I{} "$0" --one {} "$cpu" "$log"
    cat "$log"/*.tap
    grep -q '^not ok' "$log"/*.tap && grep '^not ok' "$log"/*.tap | grep -qv '# SKIP' && status=1
    example "$cpu" "walk_self walks to the root" '^ended: root$' "$made/examples/walk_self"
    example "$cpu" "walk_self names main" ' main\+' "$made/examples/walk_self"
    example "$cpu" "sample_threads: every sample is complete" '^thread 2: ' "$made/examples/sample_threads"
    example "$cpu" "simulated: a native seed is refused, the nearest one named" \
        'answer 0x8013135f, a seed would be at 0x30009' "$made/examples/simulated"
    example "$cpu" "toyjit: its code runs" '^ready [0-9]' "$made/examples/toyjit" 1
    rm -f "/tmp/perf-$(sed -n 's/^ready //p' "$build/log/qemu-$cpu/example").map"
    echo "arm64 $cpu: $(find "$log" -name '*.tap' | wc -l) of $(find "$made/test/unit" -type f -perm -u+x | grep -cE "$chosen") programs run"
done
exit $status
