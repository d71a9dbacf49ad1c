# Shell functions that the tests and measurements of the profiler share. The caller has read mk/sample.sh and set $build.

build_program() {
    dotnet_build test/profiler/workload profiled
}

program() {
    timeout 600 dotnet "$build/dotnet/profiled/profiled.dll" "$@"
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
    under "$to" timeout 600 dotnet "$build/dotnet/profiled/profiled.dll" "$@"
}
