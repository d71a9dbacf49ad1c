# Shell functions that scripts with .NET programs share: build projects, start a sample process, end it; the median of figures.
# The caller sets $build, the build folder, as an absolute path.

export DOTNET_CLI_TELEMETRY_OPTOUT=1 DOTNET_NOLOGO=1 DOTNET_SKIP_FIRST_TIME_EXPERIENCE=1

fail() {
    echo "$0: $*" >&2
    exit 1
}

# The SDK that the samples are written for, or a later one.
have_dotnet() {
    command -v dotnet >/dev/null 2>&1 && dotnet --list-sdks 2>/dev/null | grep -Eq '^[1-9][0-9]\.'
}

# dotnet_build SOURCE NAME: makes $build/dotnet/NAME/NAME.dll and leaves nothing in SOURCE and no server running. One at a
# time: they share a folder.
dotnet_build() {
    mkdir -p "$build/dotnet"
    (
        flock 8
        dotnet_build_alone "$@"
    ) 8>"$build/dotnet/lock" || exit 1
}

dotnet_build_alone() {
    made=$build/dotnet/$2/$2.dll
    if [ -f "$made" ] && [ -z "$(find "$1" -type f -newer "$made")" ]; then
        return 0
    fi
    echo "building $1"
    dotnet build "$1" -c Release -v q --artifacts-path "$build/dotnet/artifacts" -o "$build/dotnet/$2" \
        --nodeReuse:false -p:UseSharedCompilation=false >"$build/dotnet/$2.log" 2>&1 8>&- && return 0
    grep -E 'error|rror MSB' "$build/dotnet/$2.log" | sort -u >&2
    fail "$1 could not be built; the whole output is in $build/dotnet/$2.log"
}

# start_sample COMMAND...: starts it, waits for its line "ready PID", sets $sample to its pid and $work to a folder for
# files. It is ended, and the folder removed, when this shell exits, however that comes about.
start_sample() {
    work=$(mktemp -d)
    sample=
    trap end_sample EXIT
    trap 'exit 1' HUP INT TERM
    : >"$work/out"
    mkfifo "$work/stdin"
    mk/swept.sh "$@" <"$work/stdin" >"$work/out" 2>"$work/err" &
    sample=$!
    exec 3>"$work/stdin" # as long as this shell holds it open the sample stays
    tries=0
    until grep -q '^ready ' "$work/out"; do
        tries=$((tries + 1))
        if ! kill -0 "$sample" 2>/dev/null || [ "$tries" -gt 6000 ]; then
            cat "$work/err" >&2
            fail "the sample did not get ready: $*"
        fi
        sleep 0.1
    done
}

end_sample() {
    if [ -n "$sample" ]; then
        kill -KILL "$sample" 2>/dev/null || :
        wait "$sample" 2>/dev/null || :
        rm -f "/tmp/perf-$sample.map" "/tmp/dotnet-diagnostic-$sample-"* "/tmp/clr-debug-pipe-$sample-"*
    fi
    rm -rf "$work"
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
