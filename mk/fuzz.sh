#!/bin/sh
# fuzz.sh BUILD SECONDS: builds the fuzz targets with clang and runs each for that long. New inputs stay in BUILD; an
# input that fails is kept there too, its path is printed, and the status is 1.
set -eu
cd "$(dirname "$0")/.."
build=$1
seconds=$2
flags="-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
make --no-print-directory BUILD="$build" ASSERTS=1 CC=clang CFLAGS="$flags -fsanitize=fuzzer-no-link" fuzzers
status=0
for target in "$build"/test/fuzz/fuzz_*; do
    case $target in *.d | *.log) continue ;; esac
    name=$(basename "$target" | sed 's/^fuzz_//')
    mkdir -p "$build/corpus/$name" "$build/findings" "test/fuzz/corpus/$name"
    if "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$build/findings/$name-" "$build/corpus/$name" "test/fuzz/corpus/$name" \
        >"$build/$name.log" 2>&1; then
        echo "fuzz $name: $(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log") runs, nothing found"
    else
        echo "fuzz $name: FAILED, see $build/$name.log"
        status=1
    fi
done
exit $status
