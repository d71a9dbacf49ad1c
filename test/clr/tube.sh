#!/bin/sh
# tube.sh BUILD: the profilers of examples/clr-in-a-tube, unchanged, in a real .NET and in the tube. Each must see the same
# kinds of stacks in both; what asks for answers must get the same ones.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}/tube-real"
build=$(cd "${1:-build}" && pwd)
OUT=$build/tube-real
export OUT
. mk/sample.sh
status=0
if ! have_dotnet; then
    echo "ok - the same profiler in .NET and in the tube # SKIP no dotnet command"
    exit 0
fi
make --no-print-directory BUILD="$build" tube-programs >"$OUT/make.log" 2>&1 || {
    tail -n 3 "$OUT/make.log"
    exit 1
}
dotnet_build test/clr/tube tube
programs=$build/examples/clr-in-a-tube

# run_both NAME: its output in .NET and in the tube, in $OUT/NAME.real and $OUT/NAME.tube. The environment's names that end
# with _OUT are the profilers' own.
run_both() {
    PROFILER=$programs/profilers/$1.so
    export PROFILER
    rm -f "$OUT/$1.real" "$OUT/$1.tube" "$OUT/tube.txt"
    SAMPLER_OUT=$OUT/$1.real ALLOCATIONS_OUT=$OUT/$1.real PROBER_OUT=$OUT/$1.real HOOKS_OUT=$OUT/$1.real CORECLR_ENABLE_PROFILING=1 \
        CORECLR_PROFILER='{846F5F1C-F9AE-4B07-969E-05C26BC060D8}' CORECLR_PROFILER_PATH=$PROFILER \
        timeout -k 5 600 dotnet "$build/dotnet/tube/tube.dll" 500 >"$OUT/$1.real.log" 2>&1
    # Only one of them has a function that managed code calls.
    grep -v "^run $([ "$1" = latemask ] && echo of nothing)" test/clr/tube/same.tube >"$OUT/same.tube"
    "$programs/clr-in-a-tube" "$OUT/same.tube" >"$OUT/$1.tube.log" 2>&1 || cat "$OUT/$1.tube.log"
    mv "$OUT/tube.txt" "$OUT/$1.tube"
}

# both NAME STACK: a line that ends so is in both outputs.
both() {
    for where in real tube; do
        if grep -qF -- "$2" "$OUT/$1.$where" 2>/dev/null; then
            echo "ok - $1 ($where): $2"
        else
            echo "not ok - $1 ($where): $2"
            head -n 5 "$OUT/$1.$where" 2>&1 | sed 's/^/# /'
            status=1
        fi
    done
}

run_both sampler
both sampler '  System.Threading.Thread.Sleep < Demo.Program.Main < [native]'
both sampler '  System.Threading.Thread.Sleep < Demo.Program+Worker.Wait < Demo.Program+Worker.Loop < System.Threading.Thread.StartCallback < [native]'
run_both allocations
both allocations '  System.String < Demo.Program+Worker.Wait < Demo.Program+Worker.Loop < System.Threading.Thread.StartCallback'
run_both latemask
both latemask '  4 frames' # the main thread was there before it wanted threads
run_both hooks # in the tube, as in .NET, a hook with information counts as a callback: names are told there
both hooks '  entered Demo.Program+Worker.Wait'
both hooks '  left Demo.Program+Worker.Wait'
both hooks '  entered System.Threading.Thread.Sleep'
run_both prober
if [ -s "$OUT/prober.real" ] && diff "$OUT/prober.real" "$OUT/prober.tube" >"$OUT/prober.diff"; then
    echo "ok - prober: $(wc -l <"$OUT/prober.real") answers are the same"
else
    echo "not ok - prober: answers differ"
    sed 's/^/# /' "$OUT/prober.diff"
    status=1
fi

# ---- a profiler that is not ours: the engine of Microsoft.CodeCoverage, with a recorder around it (tube/recorder.c) ----

# What it does in each kind of callback, as one line with all calls and answers; each kind once.
groups() {
    awk '/^callback/ { if (group != "") seen[group]; group = $2; next }
         { group = group "; " $2 " " $3 }
         END { seen[group]; for (group in seen) print group }' "$1" | sort
}

# Its library; empty: NuGet does not have the package.
instrumentation_engine() {
    dotnet restore test/clr/tube/engine/engine.csproj --packages "$build/dotnet/packages" \
        -p:BaseIntermediateOutputPath="$build/dotnet/vendor/" >"$OUT/restore.log" 2>&1 &&
        find "$build/dotnet/packages/microsoft.codecoverage" -path '*ubuntu/x64/libInstrumentationEngine.so' | head -n 1
}

engine=$(instrumentation_engine)
if [ -z "$engine" ]; then
    echo "ok - libInstrumentationEngine.so in .NET and in the tube # SKIP NuGet does not give Microsoft.CodeCoverage"
    exit $status
fi
${CC:-gcc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Iinclude -Iharness -O2 -g -fPIC -fvisibility=hidden -pthread -shared \
    -o "$OUT/recorder.so" test/clr/tube/recorder.c -ldl || exit 1
RECORDER_PROFILER=$engine
PROFILER=$OUT/recorder.so
CLSID='{324F817A-7420-4E6D-B3C1-143FBED6D855}'
export RECORDER_PROFILER PROFILER
RECORDER_OUT=$OUT/engine.real CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER=$CLSID CORECLR_PROFILER_PATH=$PROFILER \
    timeout -k 5 600 dotnet "$build/dotnet/tube/tube.dll" 100 >"$OUT/engine.real.log" 2>&1
sed -e "s/^profiler .*/profiler \$PROFILER $CLSID/" -e '/^run /d' test/clr/tube/same.tube >"$OUT/engine.tube"
RECORDER_OUT=$OUT/engine.calls "$programs/clr-in-a-tube" --timeout 600 "$OUT/engine.tube" >"$OUT/engine.tube.log" 2>&1 || {
    cat "$OUT/engine.tube.log"
    status=1
}
groups "$OUT/engine.real" >"$OUT/engine.real.groups"
groups "$OUT/engine.calls" >"$OUT/engine.tube.groups"
calls=$(grep -c '^call' "$OUT/engine.calls")
if [ "$(grep -c '; ' "$OUT/engine.real.groups")" -ge 4 ] && diff "$OUT/engine.real.groups" "$OUT/engine.tube.groups" >"$OUT/engine.diff"; then
    echo "ok - libInstrumentationEngine.so: $calls calls in the tube, in each kind of callback the same as in .NET"
else
    echo "not ok - libInstrumentationEngine.so: calls differ"
    sed 's/^/# /' "$OUT/engine.diff"
    status=1
fi
exit $status
