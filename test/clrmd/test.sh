#!/bin/sh
# test.sh BUILD: make clrmd as a test.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
if ! command -v dotnet >/dev/null 2>&1; then
    echo "ok - clrmd # SKIP no dotnet command"
    exit 0
fi
mk/clrmd.sh "$build"
if [ $? -eq 0 ]; then echo "ok - clrmd"; else echo "not ok - clrmd"; exit 1; fi
