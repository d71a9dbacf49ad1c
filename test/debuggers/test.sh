#!/bin/sh
# test.sh BUILD: make debuggers as a test. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
mkdir -p "$build/test/debuggers"
log=$build/test/debuggers/log
test/debuggers/run.sh "$build" >"$log" 2>&1
status=$?
sed -n 's/^\([a-z0-9.]*: skipped: .*\)/ok - debuggers # SKIP \1/p' "$log"
if [ "$status" -eq 0 ]; then
    echo "ok - $(tail -n 1 "$log")"
else
    echo "not ok - $(tail -n 1 "$log")"
    sed 's/^/# /' "$log" | head -n 60
fi
exit "$status"
