#!/bin/sh
# test.sh BUILD: make clr as a test, in short.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
unset ONLY # of make test: groups; of mk/clr.sh: its parts
if ! command -v dotnet >/dev/null 2>&1; then
    echo "ok - clr # SKIP no dotnet command"
    exit 0
fi
make --no-print-directory BUILD="$build" clr-libraries && mk/clr.sh "$build" short
if [ $? -eq 0 ]; then echo "ok - clr"; else echo "not ok - clr"; exit 1; fi
