#!/bin/sh
# bench.sh BUILD: what `make bench` does when its programs are in BUILD. Where there is a .NET SDK, a .NET process is
# started and stopped (it must not take the others' processor), for the rows beside ClrMD.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
. mk/sample.sh

if have_dotnet; then
    dotnet_build examples/dotnet sample
    dotnet_build test/clrmd clrmd
    start_sample env DOTNET_PerfMapEnabled=3 dotnet "$build/dotnet/sample/sample.dll" 3600
    kill -STOP "$sample"
    "$1/test/bench/bench" "$1" "$sample" "dotnet $build/dotnet/clrmd/clrmd.dll"
else
    "$1/test/bench/bench" "$1"
fi
