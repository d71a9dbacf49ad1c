#!/bin/sh
# run.sh BUILD [dotnet|toy]: what `make run` does when BUILD/examples is built: starts a process whose threads are deep in
# JIT-compiled code and prints its stacks. Without a second argument: dotnet where that command exists, else toy.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(cd "$1" && pwd)
. mk/sample.sh

target=${2:-}
if [ -z "$target" ]; then
    if have_dotnet; then target=dotnet; else target=toy; fi
fi
case $target in
dotnet)
    have_dotnet || fail "TARGET=dotnet needs the .NET SDK 10 (command dotnet); TARGET=toy does not"
    dotnet_build examples/dotnet sample
    echo "starting examples/dotnet"
    start_sample env DOTNET_PerfMapEnabled=3 dotnet "$build/dotnet/sample/sample.dll" 120
    ;;
toy)
    echo "starting examples/toyjit"
    start_sample "$build/examples/toyjit" 120
    ;;
*)
    fail "no such target: $target (dotnet or toy)"
    ;;
esac
echo "snapstacks --verbose $sample"
echo
"$build/tools/snapstacks/snapstacks" --verbose "$sample"
