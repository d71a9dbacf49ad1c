#!/bin/sh
# test_windows.sh BUILD: .NET for Windows as a test, in short.
set -u
cd "$(dirname "$0")/../.."
out=$(test/clr/windows.sh "${1:-build}" short)
status=$?
echo "$out"
case $out in
*"windows: skipped: "*) echo "ok - clr-windows # SKIP ${out##*skipped: }" ;;
*) [ "$status" -eq 0 ] && echo "ok - clr-windows" || { echo "not ok - clr-windows"; exit 1; } ;;
esac
