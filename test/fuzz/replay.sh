#!/bin/sh
# replay.sh BUILD: every fuzz target over its kept corpus, once.
set -u
cd "$(dirname "$0")/../.."
status=0
for target in "$1"/test/fuzz/fuzz_*; do
    case $target in *.d | *.log) continue ;; esac
    name=$(basename "$target" | sed 's/^fuzz_//')
    corpus=test/fuzz/corpus/$name
    if [ ! -d "$corpus" ] || [ -z "$(ls "$corpus")" ]; then
        echo "not ok - $name has no corpus"
        status=1
    elif "$target" -runs=0 -timeout=20 "$corpus" >"$target.log" 2>&1; then
        echo "ok - $name, $(ls "$corpus" | wc -l) inputs"
    else
        echo "not ok - $name"
        tail -n 15 "$target.log" | sed 's/^/# /'
        status=1
    fi
done
exit $status
