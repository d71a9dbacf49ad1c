#!/bin/sh
# replay.sh TARGET: a fuzz target over its kept corpus, once.
set -u
cd "$(dirname "$0")/../.."
name=$(basename "$1" | sed 's/^fuzz_//')
corpus=test/fuzz/corpus/$name
if [ ! -d "$corpus" ] || [ -z "$(ls "$corpus")" ]; then
    echo "not ok - $name has no corpus"
    exit 1
elif "$1" -runs=0 -timeout=200 "$corpus" >"$1.log" 2>&1; then
    echo "ok - $name, $(ls "$corpus" | wc -l) inputs"
else
    echo "not ok - $name"
    tail -n 15 "$1.log" | sed 's/^/# /'
    exit 1
fi
