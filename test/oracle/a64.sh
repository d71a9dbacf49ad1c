#!/bin/sh
# a64.sh BUILD [MILLIONS]: the A64 decoder beside Capstone, on so many million words; one TAP line, and what was counted.
set -u
cd "$(dirname "$0")/../.."
out=$(mktemp)
trap 'rm -f "$out"' EXIT
"$1/test/oracle/a64_capstone" "${2:-50}" >"$out" && result=ok || result="not ok"
echo "$result - the same words are branches, returns, sp writers and saves as by Capstone"
cat "$out"
