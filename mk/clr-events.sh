#!/bin/sh
# clr-events.sh BUILD: what following a runtime costs a .NET program that makes the runtime report much: microseconds of
# processor time, beside a run without a profiler and beside a profiler that asks for the same events and does nothing.
#
#   turns     in one process, the library's part of the events on and off, PAIRS pairs of turns: a pair sees the same
#             machine and the same code
#   processes beside each other in turn, ROUNDS times: unprofiled, empty, followed
#   events    what the library takes for each, by a clock around it
#   build     `dotnet build` of the workload, BUILDS times each
#   memory    what the process has at the end; anonymous: what is its own
#
# KINDS chooses what is made. Ratios are medians; in brackets their 95 % interval by order statistics.
set -eu
cd "$(dirname "$0")/.."
build=$(cd "$1" && pwd)
. mk/sample.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
library=$build/test/clr/libclrtest.so
kinds=${KINDS:-dynamic expressions methods contexts threads}

# under MODE COMMAND...: unprofiled if it is none
under() {
    mode=$1
    shift
    if [ "$mode" = none ]; then
        "$@"
    else
        env CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{846F5F1C-F9AE-4B07-969E-05C26BC060D8}' \
            CORECLR_PROFILER_PATH="$library" CLRTEST_LIBRARY="$library" CLRTEST_MODE="$mode" \
            CLRTEST_OUT="$work/report.$mode" "$@"
    fi
}

one() {
    under "$1" dotnet "$build/dotnet/workload/workload.dll" --compiling "$2" --pairs "$3"
}

for kind in $kinds; do
    rm -f "$work"/pairs.* "$work"/us.*
    one events "$kind" "${PAIRS:-100}" >"$work/pairs.turns"
    cp "$work/report.events" "$work/events.$kind"
    for round in $(seq "${ROUNDS:-3}"); do
        for mode in none empty events; do
            one "$mode" "$kind" 30 >"$work/pairs.$mode"
            awk '$1 == "pair" { print $3 }' "$work/pairs.$mode" | median | awk '{ print $1 }' >>"$work/us.$mode"
        done
    done
    echo "$kind: turns on / off $(awk '$1 == "pair" && $2 > 0 { print $3 / $2 }' "$work/pairs.turns" | median)"
    echo "  us each: unprofiled $(median <"$work/us.none"), empty $(median <"$work/us.empty"), followed $(median <"$work/us.events")"
    echo "  processes: followed / unprofiled $(paste "$work/us.events" "$work/us.none" | awk '{ print $1 / $2 }' | median)," \
        "followed / empty $(paste "$work/us.events" "$work/us.empty" | awk '{ print $1 / $2 }' | median)," \
        "empty / unprofiled $(paste "$work/us.empty" "$work/us.none" | awk '{ print $1 / $2 }' | median)"
    echo "  memory at the end, KB: unprofiled $(awk '/RssAnon/ { print $3 }' "$work/pairs.none") anonymous," \
        "empty $(awk '/RssAnon/ { print $3 }' "$work/pairs.empty"), followed $(awk '/RssAnon/ { print $3 }' "$work/pairs.events");" \
        "all $(awk '/VmRSS/ { print $3 }' "$work/pairs.none"), $(awk '/VmRSS/ { print $3 }' "$work/pairs.empty"), $(awk '/VmRSS/ { print $3 }' "$work/pairs.events")"
    grep '^event: ' "$work/events.$kind" | sed 's/^/  /'
done

# The processor time of the children, by the shell: "0m1.23s 0m0.45s" in the second line.
build_once() {
    (
        under "$1" dotnet build "$work/source" -c Release -v q --no-restore --no-incremental -o "$work/out" \
            --nodeReuse:false -p:UseSharedCompilation=false >"$work/build.log" 2>&1 || exit 1
        times
    ) | awk 'NR == 2 { for (i = 1; i <= 2; i++) { split($i, t, /[ms]/); sum += 60 * t[1] + t[2] } print sum }'
}

[ "${BUILDS:-3}" -gt 0 ] || exit 0
cp -r test/clr/workload "$work/source"
rm -rf "$work/source/bin" "$work/source/obj"
dotnet build "$work/source" -c Release -v q -o "$work/out" --nodeReuse:false -p:UseSharedCompilation=false \
    >"$work/build.log" 2>&1 || fail "the workload could not be built: $(tail -n 3 "$work/build.log")"
for round in $(seq "${BUILDS:-3}"); do
    for mode in none empty events; do
        build_once "$mode" >>"$work/build.$mode"
    done
done
echo "dotnet build: s of processor time: unprofiled $(median <"$work/build.none"), empty $(median <"$work/build.empty"), followed $(median <"$work/build.events")"
echo "  followed / unprofiled $(paste "$work/build.events" "$work/build.none" | awk '{ print $1 / $2 }' | median)," \
    "followed / empty $(paste "$work/build.events" "$work/build.empty" | awk '{ print $1 / $2 }' | median)," \
    "empty / unprofiled $(paste "$work/build.empty" "$work/build.none" | awk '{ print $1 / $2 }' | median)"
