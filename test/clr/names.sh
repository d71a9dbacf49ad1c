#!/bin/sh
# names.sh BUILD: every method of a .NET program, named out of its memory, beside what its runtime wrote of it (perf map).
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}"
build=$(cd "${1:-build}" && pwd)
. mk/sample.sh
if ! have_dotnet; then
    echo "ok - clr-names # SKIP no .NET SDK 10"
    exit 0
fi
dotnet_build_names() {
    (
        flock 8
        dotnet build test/clr/names -c Release -v q -p:TargetFramework=net10.0 --artifacts-path "$build/dotnet/artifacts" \
            -o "$build/dotnet/names" --nodeReuse:false -p:UseSharedCompilation=false >"$build/dotnet/names.log" 2>&1 8>&-
    ) 8>"$build/dotnet/lock"
}
mkdir -p "$build/dotnet"
dotnet_build_names || fail "test/clr/names could not be built; the whole output is in $build/dotnet/names.log"
start_sample env DOTNET_PerfMapEnabled=1 dotnet "$build/dotnet/names/names.dll" "$build/dotnet/names/names.dll"
# Its JIT compiler goes on for a while. What is compiled meanwhile would be in the map, but not in memory as it was read.
all_stand() { ! cat /proc/"$sample"/task/*/stat 2>/dev/null | sed 's/.*) //' | grep -qv '^[TZX]'; }
kill -STOP "$sample"
until all_stand; do sleep 0.1; done
if "$build/test/oracle/clr_names" "$sample" "/tmp/perf-$sample.map"; then
    echo "ok - clr-names"
else
    echo "not ok - clr-names"
    exit 1
fi
