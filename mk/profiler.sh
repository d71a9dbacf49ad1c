#!/bin/sh
# profiler.sh BUILD: what the profiler costs, and that programs are the same under it.
#
#   turns     in one process, the same work not sampled, with the timer alone (its handler does nothing), and sampled, by
#             turns; the thread's own processor time, and beside it what the profiler's thread takes. SECONDS_EACH a rate.
#             A turn varies by 2 %, many times what a timer costs: so each sum has the interval that drawing the rounds anew a
#             thousand times gives it, and how long samples take is measured in the handler, too
#   signals   what a timer costs is lost in what turns vary by. So the thread sends itself one signal behind each 2 ms of the work, whose
#             sample is taken or not, or none, by turns, and takes its own processor time: this tells the two apart. Beside them
#             stand a handler that stores pc and time alone, and a sample at once behind another one, for which the caches have all.
#             What the kernel's clock does to find that a timer is due is not in it
#   processes with and without the profiler in turn: things that make the runtime tell much, PAIRS turns in each of PROCESSES
#             processes, first the one and then the other; `dotnet build`, ROUNDS times
#   memory    what a small process and one that compiles much have at the end, with and without
#   programs  every kind of test/profiler/workload with the runtime's settings on and off: output and status are compared
#
# Ratios are medians; in brackets their 95 % interval by order statistics, where there are enough. The last line is
# "profiler: overhead N % at 1000 Hz CPU time".
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
. mk/sample.sh
. test/profiler/program.sh
have_dotnet || fail "the .NET SDK 10 is needed"
build_program
dotnet_build test/clr/workload workload
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
status=0

# Of awk: values in order.
sorting='
    function sort(v, count,    i, j, x) {
        for (i = 2; i <= count; i++) {
            x = v[i]
            for (j = i - 1; j > 0 && v[j] > x; j--)
                v[j + 1] = v[j]
            v[j + 1] = x
        }
    }'

# ---- turns ----

# sums FILE: percent over the turns without, with 95 % intervals; how long the handler takes by its own clock, and how many times the
# timer's cost that makes sampling. Where the timer's cost cannot be told from none, that is not known, or has no upper bound.
sums() {
    awk "$sorting"'
        $1 == "turns" { n++; off[n] = $2; timer[n] = $3; on[n] = $4; sampled += $4 }
        $1 == "handler" { samples = $2; ns = $3; interrupted = $4 }
        function draw(again,    i, k, a, b, c) {
            for (i = 1; i <= n; i++) {
                k = again ? int(rand() * n) + 1 : i
                a += off[k]; b += timer[k]; c += on[k]
            }
            alone = 100 * (b / a - 1); all = 100 * (c / a - 1)
        }
        function times(percent) { return percent > 0 ? sprintf("%.2f", 1 + handler / percent) : "not known" }
        END {
            srand(1); draws = 1000; low = int(draws / 40) + 1; high = draws - low + 1
            for (d = 1; d <= draws; d++) { draw(1); x[d] = alone; y[d] = all - alone; z[d] = all }
            sort(x, draws); sort(y, draws); sort(z, draws); draw(0)
            handler = 100 * ns / 1e9 / sampled
            printf "  sums: sampled %.3f %% (%.3f to %.3f), timer alone %.3f %% (%.3f to %.3f), difference %.3f %% (%.3f to %.3f)\n",
                all, z[low], z[high], alone, x[low], x[high], all - alone, y[low], y[high]
            printf "  handler: %.2f us a sample, %.3f %%, of %d samples; %d more were interrupted\n",
                samples ? ns / 1e3 / samples : 0, handler, samples, interrupted
            printf "  sampled, by the handler, is %s times the timer alone (%s to %s)\n", times(alone), times(x[high]), times(x[low])
        }' "$1"
}

# column N: percent over the turns without
column() { awk -v c="$1" '$1 == "turns" { print 100 * ($c / $2 - 1) }' "$work/turns"; }
for hz in 100 1000; do
    SNAPWALK_HZ=$hz SNAPWALK_VERBOSE=1 LIMIT_S=600 under "$work/turns.pb.gz" dotnet "$build/dotnet/profiled/profiled.dll" turns \
        "${SECONDS_EACH:-20}" >"$work/turns" 2>"$work/said" || fail "turns: $(tail -n 3 "$work/said")"
    own=$(awk '$1 == "own" { cpu += $2; ms = $3 } END { printf "%.3f", 100 * cpu / 1e6 / ms }' "$work/turns")
    samples=$(awk '/ samples so far/ { print $2, $6 }' "$work/said")
    echo "turns at $hz Hz: sampled $(column 4 | median) %, timer alone $(column 3 | median) %, of $(grep -c '^turns' "$work/turns") of each"
    echo "  the profiler's thread: $own % of one processor; samples, lost: $samples"
    sums "$work/turns"
    overhead=$(column 4 | median | awk '{ print $1 }' | awk -v own="$own" '{ printf "%.2f", $1 + own }')
done

# ---- signals ----

# costs FILE: microseconds of one signal in the mean, sending nothing subtracted, with and without its sample; how many times the one is
# the other, with the 95 % interval that drawing the rounds anew a thousand times gives it. Rounds with a millisecond in them are left out.
costs() {
    awk "$sorting"'
        $1 == "signal" && $2 < 1e6 && $3 < 1e6 && $4 < 1e6 && $5 < 1e6 && $6 < 1e6 {
            n++; alone[n] = $3 - $2; sampled[n] = $5 - $2; stored += $4 - $2; first += $5; again += $6
        }
        function draw(again,    i, k) {
            a = b = 0
            for (i = 1; i <= n; i++) {
                k = again ? int(rand() * n) + 1 : i
                a += alone[k]; b += sampled[k]
            }
            return b / a
        }
        END {
            if (n == 0) { print "signals: not measured"; exit }
            srand(1); draws = 1000; low = int(draws / 40) + 1
            for (d = 1; d <= draws; d++) drawn[d] = draw(1)
            sort(drawn, draws); ratio = draw(0)
            printf "signals: %.2f us with a sample, %.2f us alone: %.2f times (%.2f to %.2f), of %d each\n",
                b / n / 1e3, a / n / 1e3, ratio, drawn[low], drawn[draws - low + 1], n
            printf "  of that: %.2f us the signal and an empty handler, %.2f us pc and time, %.2f us the walk; %.2f us with the sending, %.2f us at once " \
                "behind another sample\n", a / n / 1e3, (stored - a) / n / 1e3, (b - stored) / n / 1e3, first / n / 1e3, again / n / 1e3
        }' "$1"
}
LIMIT_S=600 under "$work/signals.pb.gz" dotnet "$build/dotnet/profiled/profiled.dll" signals "${SECONDS_EACH:-20}" >"$work/signals" 2>"$work/said" ||
    fail "signals: $(tail -n 3 "$work/said")"
costs "$work/signals"

# ---- processes ----

# Processor seconds of the children, by the shell: "0m1.23s 0m0.45s" in the second line of times.
seconds_of() {
    ("$@" >"$work/process" 2>&1 && times || echo failed) |
        awk '/failed/ { exit 1 } NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } print sum }'
}
compiling() { dotnet "$build/dotnet/workload/workload.dll" --compiling "$1" --pairs "${PAIRS:-12}"; }
building() {
    dotnet build "$work/source" -c Release -v q --no-restore --no-incremental -o "$work/out" --nodeReuse:false \
        -p:UseSharedCompilation=false
}
# beside NAME COMMAND...: each alone and under the profiler, in turn
beside() {
    name=$1
    shift
    : >"$work/ratios"
    for round in $(seq "${ROUNDS:-3}"); do
        without=$(seconds_of "$@") && with=$(seconds_of under "$work/beside.pb.gz" "$@") || {
            echo "$name: failed: $(tail -n 2 "$work/process")"
            status=1
            return
        }
        awk -v a="$with" -v b="$without" 'BEGIN { print a / b }' >>"$work/ratios"
    done
    echo "$name: processor time with / without $(median <"$work/ratios") of $(tr '\n' ' ' <"$work/ratios")"
    rm -f "$work"/beside*.pb.gz
}
# Microseconds of processor time for one thing, when the process has warmed up.
each() { awk '$1 == "pair" { print $3 }' | median | awk '{ print $1 }'; }
for kind in dynamic expressions methods contexts threads; do
    : >"$work/ratios"
    for round in $(seq "${PROCESSES:-9}"); do
        [ $((round % 2)) -eq 0 ] || without=$(compiling $kind | each)
        with=$(under "$work/compiling.pb.gz" compiling $kind | each)
        [ $((round % 2)) -eq 1 ] || without=$(compiling $kind | each)
        awk -v a="$with" -v b="$without" 'BEGIN { print a / b }' >>"$work/ratios"
    done
    echo "$kind: processor time for one, with / without $(median <"$work/ratios") of $(tr '\n' ' ' <"$work/ratios"); $with us, $without us"
    rm -f "$work"/compiling*.pb.gz
done
cp -r test/clr/workload "$work/source"
rm -rf "$work/source/bin" "$work/source/obj"
dotnet build "$work/source" -c Release -v q -o "$work/out" --nodeReuse:false -p:UseSharedCompilation=false >"$work/process" 2>&1 ||
    fail "the workload could not be built: $(tail -n 3 "$work/process")"
beside "dotnet build" building

# ---- memory ----

# The median of three, KB
anonymous() { for i in 1 2 3; do "$@" 2>&1 | awk '/RssAnon/ { print $3 }'; done | sort -n | sed -n 2p; }
for kind in status json; do
    without=$(anonymous program $kind 2 memory)
    with=$(anonymous profiled "$work/memory.pb.gz" $kind 2 memory)
    echo "memory, $kind: $without KB without, $with KB with: $((with - without)) KB more"
done

# ---- programs ----

# same SETTING...: every kind, as without
same() {
    for kind in $(program list | grep -v '^ready$'); do
        env "$@" timeout 120 dotnet "$build/dotnet/profiled/profiled.dll" $kind 0.5 >"$work/without" 2>&1 && code=0 || code=$?
        under "$work/same.pb.gz" env "$@" timeout 120 dotnet "$build/dotnet/profiled/profiled.dll" $kind 0.5 >"$work/with" 2>&1 &&
            code2=0 || code2=$?
        ran=$((ran + 1))
        if [ $code -eq $code2 ] && cmp -s "$work/without" "$work/with"; then
            good=$((good + 1))
        else
            echo "not the same: $kind with $*: $code, $code2: $(tail -n 2 "$work/with")"
            status=1
        fi
    done
    rm -f "$work"/same*
}
ran=0
good=0
export SNAPWALK_HZ=1000
for setting in SNAPWALK_MODE=cpu SNAPWALK_MODE=wall,alloc,exceptions,locks DOTNET_TieredCompilation=0 DOTNET_ReadyToRun=0 DOTNET_TieredPGO=0 \
    DOTNET_gcServer=1; do
    same $setting
done
echo "programs: $good of $ran with the same output and status"
[ $status -eq 0 ] || echo "not ok: see above"
echo "profiler: overhead $overhead % at 1000 Hz CPU time"
exit $status
