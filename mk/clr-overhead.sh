#!/bin/sh
# clr-overhead.sh BUILD: what sampling every thread at 1 kHz costs a .NET program that computes: work done for each second
# of CPU time, without a profiler and under examples/clr-profiler, in turns. ROUNDS of SECONDS each.
set -eu
build=$(cd "$1" && pwd)
rounds=${ROUNDS:-5}
seconds=${SECONDS_EACH:-8}
workload=$build/dotnet/workload/workload.dll
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# once FILE VARIABLE=VALUE...: appends units of work a second of CPU time
once() {
    file=$1
    shift
    env "$@" dotnet "$workload" --cpu "$seconds" --threads 1 2>/dev/null | awk '/^work / { print $2 / $4 }' >>"$file"
}

for round in $(seq "$rounds"); do
    once "$work/plain" SNAPWALK_ROUND="$round"
    once "$work/sampled" CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{846F5F1C-F9AE-4B07-969E-05C26BC060D8}' \
        CORECLR_PROFILER_PATH="$build/examples/libsnapwalk-profiler.so" SNAPWALK_HZ=1000 SNAPWALK_OUT=/dev/null
done
best() { sort -n "$1" | tail -n 1; }
median() { sort -n "$1" | sed -n "$(((rounds + 1) / 2))p"; }
awk -v a="$(median "$work/plain")" -v b="$(median "$work/sampled")" -v c="$(best "$work/plain")" -v d="$(best "$work/sampled")" \
    'BEGIN { printf "overhead of sampling at 1 kHz: %.2f %% (medians), %.2f %% (best of each)\n", 100 * (a / b - 1), 100 * (c / d - 1) }'
