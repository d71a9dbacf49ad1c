#!/bin/sh
# clr_images.sh BUILD [live]: ReadyToRun images as the SDK's own ones are not: a composite image of three assemblies, and
# one with hot/cold splitting; for ARM64 the core library for Linux and for Windows, and a composite image. (The compiler
# does not split for ARM64.) The compiler (crossgen2) and what it compiles come from the package registry that dotnet is
# set up for. The ARM64 core library is also audited: its unwind data beside its instructions.
# live: a whole self-contained composite program too (minutes), and the stack of its main thread while it runs.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
live=${2:-}
work=$build/composite
status=0
export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1

skip() {
    echo "ok - clr_images # SKIP $1"
    exit 0
}

command -v dotnet >/dev/null 2>&1 || skip "no dotnet command"
[ "$(uname -m)" = x86_64 ] || skip "x64 only"
mkdir -p "$work"
work=$(cd "$work" && pwd)

cat >"$work/composite.csproj" <<'END'
<Project Sdk="Microsoft.NET.Sdk">
  <PropertyGroup>
    <OutputType>Exe</OutputType>
    <TargetFramework>net10.0</TargetFramework>
    <RuntimeIdentifier>linux-x64</RuntimeIdentifier>
    <SelfContained>true</SelfContained>
    <PublishReadyToRun>true</PublishReadyToRun>
    <PublishReadyToRunComposite>true</PublishReadyToRunComposite>
  </PropertyGroup>
</Project>
END
cat >"$work/Program.cs" <<'END'
using System.Runtime.CompilerServices;
using System.Threading;
class Program
{
    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Deep(int n)
    {
        if (n == 0)
            Thread.Sleep(60000);
        return n == 0 ? 1 : Deep(n - 1) + 1;
    }
    static void Main() { Deep(5); }
}
END
(cd "$work" && timeout 300 dotnet restore -v q >restore.log 2>&1) || skip "dotnet restore did not get crossgen2, see $work/restore.log"
packages=${NUGET_PACKAGES:-$HOME/.nuget/packages}
crossgen=$(ls -d "$packages"/microsoft.netcore.app.crossgen2.linux-x64/*/tools/crossgen2 2>/dev/null | tail -n 1)
library=$(ls -d "$packages"/microsoft.netcore.app.runtime.linux-x64/*/runtimes/linux-x64/lib/net10.0 2>/dev/null | tail -n 1)
[ -x "$crossgen" ] && [ -d "$library" ] || skip "the packages hold no crossgen2"

# generate OUT OS MACHINE ARGUMENTS...
generate() {
    out=$1
    system=$2
    machine=$3
    shift 3
    rm -f "$out"
    timeout 600 "$crossgen" "$@" -r "$library/*.dll" -o:"$out" --targetos:"$system" --targetarch:"$machine" -O \
        >"$out.log" 2>&1 || { echo "not ok - crossgen2 ended with status $?, see $out.log"; status=1; }
}

three="$library/System.Linq.dll $library/System.Collections.dll $library/System.Net.Http.dll"
generate "$work/hot-cold.dll" linux x64 "$library/System.Linq.dll" --hot-cold-splitting
generate "$work/three.r2r.dll" linux x64 $three --composite --inputbubble
generate "$work/three-arm64.r2r.dll" linux arm64 $three --composite --inputbubble
generate "$work/corelib-arm64.dll" linux arm64 "$library/System.Private.CoreLib.dll"
generate "$work/corelib-win-arm64.dll" windows arm64 "$library/System.Private.CoreLib.dll"
images="three.r2r.dll hot-cold.dll three-arm64.r2r.dll corelib-arm64.dll corelib-win-arm64.dll"
(cd "$work" && ls $images >/dev/null) || exit 1
here=$PWD
case $build in /*) bin=$build ;; *) bin=$here/$build ;; esac
(cd "$work" && "$bin/test/oracle/clr_image" $images) | tee "$work/images.out"
# A generator that splits nothing, or makes no composite, would leave nothing to test.
grep -q '^ok - hot-cold[^,]*, [1-9][0-9]* cold parts' "$work/images.out" || { echo "not ok - no cold parts"; status=1; }
[ "$(grep -c '^ok' "$work/images.out")" -eq 5 ] || status=1

for image in corelib-arm64.dll corelib-win-arm64.dll; do
    "$bin/examples/audit" "$work/$image" >"$work/$image.audit"
    if awk '/^audit: / { good = $NF == 0 && $4 > 1000000 && $2 >= 0.999 * $4 } END { exit !good }' "$work/$image.audit"; then
        echo "ok - $image: $(sed -n 's/^audit: //p' "$work/$image.audit")"
    else
        echo "not ok - $image by its instructions, see $work/$image.audit"
        status=1
    fi
done
[ -n "$live" ] || exit $status

(cd "$work" && timeout 1200 dotnet publish -c Release -v q >publish.log 2>&1) || skip "dotnet publish failed, see $work/publish.log"
published=$work/bin/Release/net10.0/linux-x64/publish
"$build/test/oracle/clr_image" "$published/composite.r2r.dll" || status=1
"$published/composite" >/dev/null 2>&1 &
program=$!
sleep 5
"$build/tools/snapstacks/snapstacks" --verbose "$program" >"$work/stacks.out" 2>&1
kill "$program"
wait "$program" 2>/dev/null
# Main, six of Deep, Thread.Sleep: the tool folds frames at the same pc. The thread's walk has to reach _start.
awk '/^thread/ { n++ } n == 1' "$work/stacks.out" >"$work/main.out"
managed=$(grep -c ' ngen ' "$work/main.out")
if [ "$managed" -ge 4 ] && grep -q 'and 4 more at the same pc' "$work/main.out" && grep -q 'end: root' "$work/main.out"; then
    echo "ok - the main thread of a composite program"
else
    echo "not ok - the main thread of a composite program, see $work/main.out"
    status=1
fi
exit $status
