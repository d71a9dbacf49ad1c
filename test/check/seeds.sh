#!/bin/sh
# What fuzzing of capsules and jitdump files begins with is what test/fuzz/seeds.sh makes: a format was not changed without
# it. Inputs that fuzzing has found lie beside.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
made=$build/test/fuzz/made
rm -rf "$made"
status=0
if ! test/fuzz/seeds.sh "$build" "$made" >"$build/log/seeds" 2>&1; then
    echo "not ok - seeds of fuzzing are made"
    sed 's/^/# /' "$build/log/seeds"
    exit 1
fi
for seed in "$made"/*/*; do
    cmp "$seed" "test/fuzz/corpus/${seed#"$made/"}" >>"$build/log/seeds" 2>&1 || status=1
done
if [ "$status" -eq 0 ]; then
    echo "ok - $(find "$made" -type f | wc -l) seeds of fuzzing are as test/fuzz/seeds.sh makes them"
else
    echo "not ok - seeds of fuzzing are as test/fuzz/seeds.sh makes them: run it with the build folder"
    sed 's/^/# /' "$build/log/seeds"
fi
exit $status
