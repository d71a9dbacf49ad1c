#!/bin/sh
# run.sh BUILD: builds and runs every test, and counts. Each program prints TAP lines (ok / not ok); what it printed is in
# BUILD/log. A program that dies or runs out of time counts as one more failure. Last line: N passed, N failed.
set -u
cd "$(dirname "$0")/.."
build=$1
log=$build/log
jobs=$(nproc 2>/dev/null || echo 1)
rm -rf "$log"
mkdir -p "$log"
export CMOCKA_MESSAGE_OUTPUT=TAP
passed=0
failed=0
skipped=0

count() { grep -c "$1" "$2" || :; }

# run NAME SECONDS COMMAND...
run() {
    name=$1
    seconds=$2
    shift 2
    out=$log/$name
    timeout -k 10 "$seconds" "$@" >"$out" 2>&1 </dev/null
    status=$?
    # cmocka says "not ok N # SKIP" of a test that skipped itself.
    good=$(grep -v '# SKIP' "$out" | count '^ok ' -)
    skip=$(count '^\(not \)\{0,1\}ok .*# SKIP' "$out")
    bad=$(grep -v '# SKIP' "$out" | count '^not ok ' -)
    if [ "$status" -ne 0 ] && [ "$bad" -eq 0 ]; then
        bad=1
        echo "not ok - $name ended with status $status" >>"$out"
    elif [ "$((good + bad + skip))" -eq 0 ]; then
        bad=1
        echo "not ok - $name ran no test" >>"$out"
    fi
    passed=$((passed + good))
    failed=$((failed + bad))
    skipped=$((skipped + skip))
    printf '%-34s %5d passed %3d failed' "$name" "$good" "$bad"
    [ "$skip" -eq 0 ] || printf ' %3d skipped' "$skip"
    echo
    grep '^[a-z].*: .* of .*' "$out" | tail -n 1 | sed 's/^/    /'
    sed -nE 's/^(not )?ok .*# SKIP/    skipped:/p' "$out"
    [ "$bad" -eq 0 ] || { grep -v '# SKIP' "$out" | grep -A3 '^not ok' | head -n 20 | sed 's/^/    /'; echo "    see $out"; }
}

# build NAME ARGUMENTS...: one configuration of library and test programs
build() {
    name=$1
    shift
    echo "building: $name"
    if ! make -j"$jobs" --no-print-directory "$@" >"$log/build-$name" 2>&1; then
        failed=$((failed + 1))
        echo "not ok - build $name"
        grep -E 'error|Error|undefined' "$log/build-$name" | head -n 20 | sed 's/^/    /'
        return 1
    fi
}

# programs PREFIX SECONDS DIRECTORY...: every program in a directory
programs() {
    prefix=$1
    seconds=$2
    shift 2
    for program in "$@"; do
        [ -x "$program" ] && [ -f "$program" ] && run "$prefix-$(basename "$program")" "$seconds" "$program"
    done
}

san="-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all"
export ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1
export TSAN_OPTIONS=halt_on_error=1

build gcc BUILD="$build" archive unit examples oracle && programs unit 120 "$build"/test/unit/*
build clang BUILD="$build/clang" CC=clang CFLAGS="-O2 -g" archive unit examples &&
    programs clang 120 "$build"/clang/test/unit/*
build asan BUILD="$build/asan" CC=clang CFLAGS="$san -fsanitize=address,undefined" archive unit &&
    programs asan 300 "$build"/asan/test/unit/*
build tsan BUILD="$build/tsan" CC=clang CFLAGS="$san -fsanitize=thread" archive race &&
    programs tsan 300 "$build"/tsan/test/unit/*
build ndebug BUILD="$build/ndebug" CFLAGS="-O2 -DNDEBUG" archive unit && programs ndebug 120 "$build"/ndebug/test/unit/*
build fuzz BUILD="$build/fuzz" CC=clang CFLAGS="$san -fsanitize=address,undefined -fsanitize=fuzzer-no-link" fuzzers &&
    run fuzz-corpus 300 test/fuzz/replay.sh "$build/fuzz"
for check in test/check/*.sh; do
    run "check-$(basename "$check" .sh)" 300 "$check" "$build"
done
run examples 300 test/examples.sh "$build"
run oracle-a64 300 test/oracle/a64.sh "$build"
run oracle-cfi 600 test/oracle/cfi.sh "$build"
run oracle-pe-arm64 300 test/oracle/pe_arm64.sh "$build"
run oracle-wine 300 test/oracle/pe_wine.sh "$build"
run arm64-max 1200 test/arm64.sh "$build" max
run arm64-cortex-a57 1200 test/arm64.sh --own "$build" cortex-a57
run hostile 300 test/audit/hostile.sh "$build"
run system 300 test/system/run.sh "$build"
run core 300 test/core/run.sh "$build"
run step 600 test/step/run.sh "$build"
run step-arm64 600 test/step/arm64.sh "$build"
run clrmd 600 test/clrmd/test.sh "$build"
run clr 600 test/clr/test.sh "$build"
run overlay-unit 300 test/clr/overlay_unit.sh "$build"
run overlay 600 test/clr/overlay.sh "$build"

echo
if [ "$skipped" -eq 0 ]; then
    echo "$passed passed, $failed failed"
else
    echo "$passed passed, $failed failed, $skipped skipped"
fi
[ "$failed" -eq 0 ]
