#!/bin/sh
# fuzz.sh BUILD SECONDS [ONLY]: builds the fuzz targets with clang and runs each for that long, as many at a time as
# there are processors; ONLY: those whose names match. New inputs stay in BUILD; an input that fails is kept there too,
# its path is printed, and the status is 1. The executions are added to those in test/fuzz/executions.txt; the last
# line is the sum of them.
set -eu
cd "$(dirname "$0")/.."
build=$1
seconds=$2
only=${3:-.}
counts=test/fuzz/executions.txt
flags="-O2 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer"
make --no-print-directory BUILD="$build" ASSERTS=1 CC=clang CFLAGS="$flags -fsanitize=fuzzer-no-link" fuzzers
mkdir -p "$build/findings"
rm -f "$build"/*.runs "$build"/*.failed

# one NAME: a target.
cat >"$build/one.sh" <<'END'
name=$1 build=$2 seconds=$3
mkdir -p "$build/corpus/$name" "test/fuzz/corpus/$name"
"$build/test/fuzz/fuzz_$name" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$name-" "$build/corpus/$name" "test/fuzz/corpus/$name" \
    >"$build/$name.log" 2>&1 || : >"$build/$name.failed"
runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/$name.log")
echo "$name ${runs:-0}" >"$build/$name.runs"
if [ -e "$build/$name.failed" ]; then
    echo "fuzz $name: FAILED, see $build/$name.log"
else
    echo "fuzz $name: ${runs:-0} runs, nothing found"
fi
END
for target in test/fuzz/fuzz_*.c; do
    basename "$target" .c | sed 's/^fuzz_//'
done | grep -E "$only" | xargs -P "$(nproc)" -I NAME sh "$build/one.sh" NAME "$build" "$seconds"

touch "$counts"
cat "$counts" "$build"/*.runs | awk '{ sum[$1] += $2 } END { for (name in sum) print name, sum[name] }' |
    LC_ALL=C sort >"$build/executions"
cp "$build/executions" "$counts"
echo "fuzz: $(cat "$build"/*.runs | awk '{ n += $2 } END { print n + 0 }') executions, $(awk '{ n += $2 } END { print n + 0 }' "$counts") in all ($counts)"
! ls "$build"/*.failed >/dev/null 2>&1
