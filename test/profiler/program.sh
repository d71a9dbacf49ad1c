# Shell functions that the tests and measurements of the profiler share. The caller has read mk/sample.sh and set $build.

build_program() {
    dotnet_build test/profiler/workload profiled
}

program() {
    timeout "${LIMIT_S:-60}" dotnet "$build/dotnet/profiled/profiled.dll" "$@"
}

# under OUT COMMAND...: with the profiler
under() {
    to=$1
    shift
    CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{846F5F1C-F9AE-4B07-969E-05C26BC060D8}' \
        CORECLR_PROFILER_PATH="$build/libsnapwalk-profiler.so" SNAPWALK_OUT="$to" "$@"
}

# profiled OUT KIND SECONDS
profiled() {
    to=$1
    shift
    under "$to" timeout "${LIMIT_S:-60}" dotnet "$build/dotnet/profiled/profiled.dll" "$@"
}

# The median of a column and its interval, "1.05 (1.02 to 1.09)"; few values have no interval.
median() {
    sort -g | awk '{ v[NR] = $1 }
        END { if (NR == 0) { print "not measured"; exit }
              half = 0.98 * sqrt(NR); low = int(NR / 2 - half); high = int(NR / 2 + half) + 1
              printf "%.3f", v[int((NR + 1) / 2)]
              if (low >= 1 && high <= NR) printf " (%.3f to %.3f)", v[low], v[high]
              printf "\n" }'
}
