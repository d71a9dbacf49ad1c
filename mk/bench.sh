#!/bin/sh
# bench.sh BUILD: what `make bench` does when its programs are in BUILD. Where there is a .NET SDK, a .NET process is
# started and stopped (it must not take the others' processor), for the rows beside ClrMD.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
. mk/sample.sh

# What test/bench/sampled.c samples; programs whose compiler is missing are left out, and it says so.
programs=$build/test/bench/programs
work=$PWD/test/accuracy/programs
have() { command -v "$1" >/dev/null 2>&1; }
gcc -O2 -std=c11 -D_GNU_SOURCE "$work/coroutines.c" -o "$programs/coroutines"
! have fpc || fpc -O2 -v0 -dTHREADS -FU"$programs" -o"$programs/pascal" "$work/Work.pas" >"$build/pascal.log" 2>&1 || :
! have javac || javac -d "$programs" "$work/Work.java"
if have ocamlopt; then
    cp "$work/work.ml" "$programs/work.ml"
    (cd "$programs" && ocamlopt -O3 work.ml -o ocaml >/dev/null 2>&1)
fi

if have_dotnet; then
    dotnet_build examples/dotnet sample
    dotnet_build test/clrmd clrmd
    start_sample env DOTNET_PerfMapEnabled=3 dotnet "$build/dotnet/sample/sample.dll" 3600
    kill -STOP "$sample"
    "$1/test/bench/bench" "$1" "$sample" "dotnet $build/dotnet/clrmd/clrmd.dll"
else
    "$1/test/bench/bench" "$1"
fi
