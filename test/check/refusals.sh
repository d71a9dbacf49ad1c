#!/bin/sh
# docs/refusals.md has each check of the ladder once, in its order, with the answers that it gives.
set -u
cd "$(dirname "$0")/../.."
log=${1:-build}/log
mkdir -p "$log"
sed -nE 's/^    \{ "[^"]*", +(CHECK|FOUND)\(([a-z_]+).*\), +\{ *([A-Z_]+), +([A-Z_]+), +([A-Z_]+) *\} \},$/\2 \3 \4 \5/p' src/snapshot/ladder.c |
    sed 's/SKIP/-/g' >"$log/ladder.txt"
sed -nE 's/^[|] `([a-z_]+)` [|] ([A-Z_-]+) [|] ([A-Z_-]+) [|] ([A-Z_-]+) [|] .+ [|]$/\1 \2 \3 \4/p' docs/refusals.md >"$log/refusals.txt"
checks=$(grep -cE '^    \{ "[^"]*", +(CHECK|FOUND)\(' src/snapshot/ladder.c)
if [ "$checks" -gt 20 ] && [ "$(wc -l <"$log/ladder.txt")" -eq "$checks" ] && diff "$log/ladder.txt" "$log/refusals.txt" >"$log/refusals.diff"; then
    echo "ok - docs/refusals.md has all $checks checks of the ladder, with their answers"
else
    echo "not ok - docs/refusals.md has all $checks checks of the ladder, with their answers"
    sed 's/^/# /' "$log/refusals.diff"
    exit 1
fi
