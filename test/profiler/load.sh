#!/bin/sh
# load.sh BUILD: a web service on ASP.NET under load on the loopback interface, by turns without the profiler and with it at 100 Hz:
# latency, throughput, memory. The load is wrk's (Debian's package): 16 connections, as fast as they are answered.
#
#   SECONDS_EACH  of each turn (default 30), after a fifth of it to warm up
#   ROUNDS        turns of each kind (default 2; 10 with 60 s are the ten minutes that a release asks for; 0: none)
#   PAIRS         pairs of turns of 5 s in one process, whose profiler is told to stop and to start (default 12). Other work on the
#                 machine changes both turns of a pair alike, so these tell what samples cost where rounds cannot; not what the
#                 profiler costs that only is there. Medians of the pairs' ratios, with 95 % intervals. 0: none
#
# The last line is "load: throughput N % of that without, p50 N, p99 N; memory N % in the second half". What cannot be had is
# skipped, and said so.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:?load.sh BUILD}" && pwd)
. mk/sample.sh
. test/profiler/program.sh
seconds=${SECONDS_EACH:-30}
have_dotnet || fail "the .NET SDK 10 is needed"
dotnet --list-runtimes | grep -q '^Microsoft.AspNetCore.App 10' || {
    echo "load: skipped: no shared runtime Microsoft.AspNetCore.App 10"
    exit 77
}
command -v wrk >/dev/null 2>&1 || {
    echo "load: skipped: no wrk command (package wrk)"
    exit 77
}
build_program
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
trap 'exit 1' HUP INT TERM

# Ticks of processor time that the process has used.
ticks() { awk '{ print $14 + $15 }' "/proc/$sample/stat"; }
# Kilobytes that are the process's own.
anonymous() { awk '/RssAnon/ { print $2 }' "/proc/$sample/status"; }

# turn: one server and its load; a line "REQUESTS_A_SECOND P50 P99 KB_IN_THE_MIDDLE KB_AT_THE_END US", latencies in ms; US: of
# processor time for each request, which other work on the machine changes least
turn() (
    start_sample dotnet "$build/dotnet/profiled/profiled.dll" serve
    url=$(awk '/^ready/ { print $3 }' "$work/out")
    wrk -t 1 -c 16 -d $((seconds / 5 + 1))s "$url" >/dev/null
    wrk -t 1 -c 16 -d $((seconds / 2))s "$url" >/dev/null
    middle=$(anonymous)
    begun=$(ticks)
    wrk -t 1 -c 16 -d $((seconds - seconds / 2))s --latency "$url" >"$work/load"
    awk -v middle="$middle" -v end="$(anonymous)" -v used=$(($(ticks) - begun)) -v tick="$(getconf CLK_TCK)" '
        function ms(t) { return t ~ /us$/ ? t / 1000 : t ~ /ms$/ ? t + 0 : t * 1000 }
        $1 == "50%" { p50 = ms($2) } $1 == "99%" { p99 = ms($2) } /^Requests.sec/ { rate = $2 } / requests in / { all = $1 }
        /Non-2xx|Socket errors/ { print "load: " $0 > "/dev/stderr"; bad = 1 }
        END { if (bad || !rate) exit 1; print rate, p50, p99, middle, end, 1e6 * used / tick / all }' "$work/load"
)

# What wrk says of a turn of 5 s, and us of processor time for each request: "REQUESTS_A_SECOND P50 P99 US"
short_turn() {
    begun=$(ticks)
    wrk -t 1 -c 16 -d 5s --latency "$url" >"$work/load"
    awk -v used=$(($(ticks) - begun)) -v tick="$(getconf CLK_TCK)" '
        function ms(t) { return t ~ /us$/ ? t / 1000 : t ~ /ms$/ ? t + 0 : t * 1000 }
        $1 == "50%" { p50 = ms($2) } $1 == "99%" { p99 = ms($2) } /^Requests.sec/ { rate = $2 } / requests in / { all = $1 }
        END { if (!rate) exit 1; print rate, p50, p99, 1e6 * used / tick / all }' "$work/load"
}

# paired: lines of two turns each, without and with samples; the first of a pair is the one and the other in turn
paired() (
    SNAPWALK_HZ=100 under "$kept/paired.pb.gz" start_sample dotnet "$build/dotnet/profiled/profiled.dll" serve
    url=$(awk '/^ready/ { print $3 }' "$work/out")
    tell() { "$build/tools/snapwalk-profiler" "$1" "$sample" >/dev/null || fail "load: $1: the profiler does not listen"; }
    unsampled() {
        tell stop
        without=$(short_turn)
        tell start
    }
    wrk -t 1 -c 16 -d 10s "$url" >/dev/null
    for pair in $(seq "$1"); do
        if [ $((pair % 2)) -eq 0 ]; then
            with=$(short_turn)
            unsampled
        else
            unsampled
            with=$(short_turn)
        fi
        echo "$without $with"
    done
)
ratio() { awk -v c="$1" '{ print $(c + 4) / $c }' "$kept/pairs" | median; }
if [ "${PAIRS:-12}" -gt 0 ]; then
    paired "${PAIRS:-12}" >"$kept/pairs"
    echo "pairs, with samples / stopped, of $(wc -l <"$kept/pairs"): throughput $(ratio 1), p50 $(ratio 2), p99 $(ratio 3)," \
        "processor time for a request $(ratio 4)"
fi

for round in $(seq "${ROUNDS:-2}"); do
    turn >>"$kept/without"
    echo "without: $(tail -n 1 "$kept/without") (requests/s, p50 ms, p99 ms, KB in the middle, at the end, us of processor time each)"
    SNAPWALK_HZ=100 under "$kept/load.pb.gz" turn >>"$kept/with"
    echo "with:    $(tail -n 1 "$kept/with")"
done
[ -s "$kept/with" ] || exit 0
awk 'FNR == 1 { file++ } { n[file]++; for (i = 1; i <= 6; i++) sum[file, i] += $i }
    END { for (i = 1; i <= 3; i++) r[i] = sum[2, i] / n[2] / (sum[1, i] / n[1])
          printf "processor time for a request %.3f of that without\n", sum[2, 6] / n[2] / (sum[1, 6] / n[1])
          printf "load: throughput %.2f %% of that without, p50 %.3f, p99 %.3f; memory %+.2f %% in the second half\n", 100 * r[1], r[2],
              r[3], 100 * (sum[2, 5] / sum[2, 4] - 1) }' "$kept/without" "$kept/with"
