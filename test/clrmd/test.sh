#!/bin/sh
# test.sh BUILD: make clrmd as a test, and its rule of what eu-stack cannot know.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
status=0
if command -v readelf >/dev/null 2>&1; then
    test/clrmd/untold.sh "$build" || status=1
else
    echo "ok - untold # SKIP no readelf command"
fi
if ! command -v dotnet >/dev/null 2>&1; then
    echo "ok - clrmd # SKIP no dotnet command"
    exit $status
fi
mk/clrmd.sh "$build"
if [ $? -eq 0 ]; then echo "ok - clrmd"; else echo "not ok - clrmd" && status=1; fi
exit $status
