#!/bin/sh
# dotnet.sh BUILD: .NET programs that know nothing of being looked at: no perf map, no profiler. Methods are named, walks
# come to their roots. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}/test/snapstacks-dotnet"
build=$(cd "${1:-build}" && pwd)
out=$build/test/snapstacks-dotnet
tool=$build/tools/snapstacks/snapstacks
. mk/sample.sh
. test/snapstacks/look.sh
if ! have_dotnet; then
    echo "ok - .NET without a perf map # SKIP no .NET SDK 10"
    exit 0
fi
export DOTNET_PerfMapEnabled=0

# share FILE...: what --plain has said, summed up: "NAMED ALL". A frame in no module and no range counts as managed, but
# for where a thread is: that may be the runtime's own copy of a write barrier, which is in no file.
share() {
    cat "$@" | awk '$1 == "frame" && ($4 == "jit" || $4 == "ngen" || ($7 ~ /^[?][+]0x/ && $5 != "seed")) { all++; named += $7 ~ /!/ && $7 !~ /[+]0x[0-9a-f]+$/ }
                    END { print named + 0, all + 0 }'
}

# named LEAST NAME FILE...: at least that many managed frames, and 99.9 % of them with names
named() {
    least=$1
    name=$2
    shift 2
    read -r with all <<END
$(share "$@")
END
    [ "$all" -ge "$least" ] && [ $((1000 * with)) -ge $((999 * all)) ]
    verdict $? "$name: $with of $all managed frames are named" "$1"
}

# ---- kinds of frames ----
dotnet_build examples/dotnet sample >"$out/said"
start dotnet "$build/dotnet/sample/sample.dll" 600
sample=$pid
ends 0 "a .NET process: its runtime is found" '^process [0-9]+ "dotnet", CLR [0-9]+, ' "$tool" "$sample"
grep -q ' jit     sample!Sample[.]Calls[.]Recurse(int)  .*/Calls[.]cs:[0-9]*$' "$out/seen"
verdict $? "JIT methods are named out of memory, with their lines"
! grep -q '^  cut: ' "$out/seen"
verdict $? "each walk comes to its root"
"$tool" --raw "$sample" >"$out/raw" 2>&1
! grep -q '>d__[0-9]*[.]MoveNext' "$out/seen" && grep -q 'Exceptions[.]AsyncCatch  .*/Exceptions[.]cs:[0-9]*$' "$out/seen" &&
    grep -q 'Exceptions[+]<AsyncCatch>d__[0-9]*[.]MoveNext()  .*/Exceptions[.]cs:[0-9]*$' "$out/raw"
verdict $? "state machines are shown as the methods that were written, and raw on request" "$out/raw"
"$tool" --plain "$sample" >"$out/sample" 2>&1
named 500 "a program in all kinds of frames" "$out/sample"
"$tool" --plain --ask-runtime "$sample" >"$out/asked" 2>"$out/seen"
! grep -q '^snapstacks:' "$out/seen" && [ ! -e "/tmp/perf-$sample.map" ] && kill -0 "$sample"
verdict $? "its runtime is asked for a perf map, which is removed"
named 500 "a program that was asked" "$out/asked"
DOTNET_EnableDiagnostics=0 start dotnet "$build/dotnet/sample/sample.dll" 600
ends 0 "a runtime that cannot be asked is said" "the runtime of $pid was not asked: its diagnostics socket: .*DOTNET_EnableDiagnostics" \
    "$tool" --plain --no-lines --ask-runtime "$pid"
kill -KILL "$pid"

# ---- a program that is never still ----
# It unloads code, so it stands while it is looked at: what is freed between the copy of the stacks and the walk has no name.
dotnet_build test/clr/workload workload >"$out/said"
dotnet "$build/dotnet/workload/workload.dll" --seconds 600 --threads 4 >"$out/said" 2>&1 &
pid=$!
started="$started $pid"
has_started() { [ "$(ls "/proc/$1/task" | wc -l)" -gt 12 ] || ! kill -0 "$1"; }
until_so has_started "$pid"
looks=0
rm -f "$out"/workload.*
while kill -STOP "$pid" && "$tool" --no-lines --plain "$pid" >"$out/workload.$looks" 2>"$out/complaints" && kill -CONT "$pid"; do
    looks=$((looks + 1))
    [ "$looks" -lt 80 ] || break
    sleep 0.05
done
[ "$looks" -eq 80 ]
verdict $? "a .NET program at work, looked at $looks times" "$out/complaints"
named 3000 "at work" "$out"/workload.*
kill -KILL "$pid"

# ---- NativeAOT ----
"${CC:-gcc}" -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=address,undefined -Itools/runtimes -o "$out/aot" test/snapstacks/aot.c tools/runtimes/aot.c -lcmocka >"$out/seen" 2>&1 &&
    "$out/aot" >"$out/seen" 2>&1
verdict $? "NativeAOT's mangled names, and bytes that are none"

# ---- one file ----
mkdir -p "$out/single"
cat >"$out/single/single.csproj" <<'END'
<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
    <RuntimeIdentifier>linux-x64</RuntimeIdentifier>
    <SelfContained>true</SelfContained>
    <PublishSingleFile>true</PublishSingleFile>
    <InvariantGlobalization>true</InvariantGlobalization>
  </PropertyGroup>
</Project>
END
cat >"$out/single/Program.cs" <<'END'
static class Program
{
    static async System.Threading.Tasks.Task Wait()
    {
        await System.Threading.Tasks.Task.Yield();
        new System.Collections.Generic.List<int> { 2, 1 }.Sort((a, b) =>
        {
            System.Console.WriteLine("ready " + System.Environment.ProcessId);
            System.Threading.Thread.Sleep(600000);
            return a - b;
        });
    }
    static void Main() => Wait().Wait();
}
END
if (cd "$out/single" && timeout 300 dotnet publish -c Release -v q -o out --nodeReuse:false -p:UseSharedCompilation=false) >"$out/said" 2>&1; then
    start "$out/single/out/single"
    ends 0 "a single-file program: its runtime is found within" '^process [0-9]+ "single", CLR [0-9]+, ' "$tool" "$pid"
    ! grep -qE '[?][+]0x|^  cut: ' "$out/seen" && grep -q ' ngen    System[.]Private[.]CoreLib!System[.]Threading[.]Thread[.]Sleep(int)$' "$out/seen"
    verdict $? "precompiled code of the images inside it is walked by their tables, and named"
    "$tool" --plain --save "$out/one.capsule" "$pid" >"$out/one" 2>&1
    named 12 "a single-file program" "$out/one"
    "$tool" --plain --core "$out/one.capsule" 2>&1 | grep -v '^thread' >"$out/one.read"
    grep -v '^thread' "$out/one" | diff - "$out/one.read" >"$out/seen"
    verdict $? "a single-file program: its capsule says the same"
else
    echo "ok - a single-file program # SKIP dotnet publish has no runtime pack"
fi
exit $status
