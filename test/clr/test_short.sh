#!/bin/sh
# test_short.sh NAME BUILD: test/clr/NAME.sh as a test, in short: .NET for ARM64, for Windows.
set -u
cd "$(dirname "$0")/../.."
unset ONLY # of make test: groups; of these scripts: their parts
out=$("test/clr/$1.sh" "${2:-build}" short)
status=$?
echo "$out"
case $out in
*": skipped: "*) echo "ok - clr-$1 # SKIP ${out##*skipped: }" ;;
*) [ "$status" -eq 0 ] && echo "ok - clr-$1" || { echo "not ok - clr-$1"; exit 1; } ;;
esac
