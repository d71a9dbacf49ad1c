#!/bin/sh
# test_arm64.sh BUILD: .NET for ARM64 as a test, in short.
set -u
cd "$(dirname "$0")/../.."
out=$(test/clr/arm64.sh "${1:-build}" short)
status=$?
echo "$out"
case $out in
*"clr: arm64: skipped: "*) echo "ok - clr-arm64 # SKIP ${out##*skipped: }" ;;
*) [ "$status" -eq 0 ] && echo "ok - clr-arm64" || { echo "not ok - clr-arm64"; exit 1; } ;;
esac
