#!/bin/sh
# clr-overhead.sh BUILD: what sampling at 1 kHz by the profiler costs a .NET program that computes. One process, in
# turns of 20 ms with sampling on and off, so that a pair of turns sees the same machine and the same code; ROUNDS such
# processes of SECONDS_EACH. The interval is that of the median (95 %, by order statistics).
set -eu
build=$(cd "$1" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for round in $(seq "${ROUNDS:-3}"); do
    env -u CLRTEST_LIBRARY CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{846F5F1C-F9AE-4B07-969E-05C26BC060D8}' SNAPWALK_HZ=1000 SNAPWALK_VERBOSE=1 \
        CORECLR_PROFILER_PATH="$build/libsnapwalk-profiler.so" SNAPWALK_OUT="$work/%p.folded" \
        dotnet "$build/dotnet/workload/workload.dll" --overhead "${SECONDS_EACH:-20}" >>"$work/pairs" 2>"$work/report$round" || {
        echo "overhead: the program ended with status $?: $(tail -n 3 "$work/report$round")"
        exit 1
    }
done
samples=$(awk '/^snapwalk-profiler: [0-9]+ samples/ { n += $2 } END { print n + 0 }' "$work"/report*)
awk '$1 == "pair" { print $2 }' "$work/pairs" | sort -n | awk -v samples="$samples" '
    { cost[NR] = 100 * $1 }
    END { if (NR < 20 || samples < NR) { print "overhead: not measured"; exit 1 }
          half = 0.98 * sqrt(NR); low = cost[int(NR / 2 - half)]; high = cost[int(NR / 2 + half) + 1]
          printf "overhead of sampling at 1 kHz: %.2f %% (median of %d pairs of turns; %.2f to %.2f)\n", cost[int((NR + 1) / 2)], NR, low, high }'
