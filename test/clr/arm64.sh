#!/bin/sh
# arm64.sh BUILD [short]: .NET for ARM64, the real runtime in qemu-aarch64, under the probe of test/clr/probe: every walk beside
# the CLR's own DoStackSnapshot, then timer signals at any instant, on a processor that signs return addresses and on one that
# does not. The last lines are "samples: N of N usable" and "clr: N of N walks identical"; or, where something cannot be had,
# one line "clr: arm64: skipped: WHY". short: one processor, a part of the workload, in some forty seconds.
#
#   SAMPLES  at least so many samples (default 5,000; short: 2,000)
#
# Dynamic methods whose memory is used again make qemu run stale code while the runtime maps code twice, so W^X is off.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "${1:?arm64.sh BUILD [short]}/arm64"
build=$(cd "$1" && pwd)
short=${2:-}
. mk/sample.sh
made=$build/arm64/signed
root=$build/arm64/sysroot
program=$build/dotnet/workload-arm64
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
status=0

skip() {
    echo "clr: arm64: skipped: $*"
    exit 0
}

# Published for ARM64 with its runtime: a package of NuGet's. One at a time: they share a folder.
publish() {
    [ ! -f "$program/workload" ] || [ -n "$(find test/clr/workload -type f -newer "$program/workload")" ] || return 0
    mkdir -p "$program"
    dotnet publish test/clr/workload -c Release -r linux-arm64 --self-contained -v q --artifacts-path \
        "$build/dotnet/artifacts-arm64" -o "$program" --nodeReuse:false -p:UseSharedCompilation=false \
        >"$program.log" 2>&1 8>&- && touch "$program/workload"
}

# under CPU MODE REPORT ARGUMENTS...: the workload under the probe
under() {
    cpu=$1
    mode=$2
    report=$3
    shift 3
    env CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{846F5F1C-F9AE-4B07-969E-05C26BC060D8}' \
        CORECLR_PROFILER_PATH="$made/test/clr/libclrtest.so" CLRTEST_LIBRARY="$made/test/clr/libclrtest.so" \
        CLRTEST_OUT="$report" CLRTEST_MODE="$mode" DOTNET_EnableWriteXorExecute=0 \
        timeout -k 10 "${LIMIT_S:-1800}" qemu-aarch64 -cpu "$cpu" -L "$root" "$program/workload" "$@" >"$work/out" 2>&1 || {
        echo "not ok: $mode on $cpu ended with status $?"
        tail -n 5 "$work/out"
        status=1
    }
}

answers() {
    under "$1" compare "$work/answers.$1" --rounds 1 --threads 1 $2
    printf '%-28s %s; %s; %s\n' "arm64 $1" "$(sed -n 's/^clr: //p' "$work/answers.$1")" \
        "$(grep '^finder: ' "$work/answers.$1")" "$(grep '^entries: ' "$work/answers.$1")"
    grep -A40 '^difference' "$work/answers.$1" | head -n 60 || :
}

usable=0
taken=0
sampled() {
    under "$1" sample "$work/samples" --seconds "$2" --threads 2 --loads
    grep -E '^  [a-z-]+ +[0-9]+$|^  (signals|with|chain|beside|cut)' "$work/samples" || :
    set -- $(sed -n 's/^samples: \([0-9]*\) of \([0-9]*\) usable/\1 \2/p' "$work/samples") 0 0
    usable=$((usable + $1))
    taken=$((taken + $2))
}

command -v dotnet >/dev/null 2>&1 || skip "no dotnet command"
have_dotnet || skip "no .NET SDK 10"
command -v qemu-aarch64 >/dev/null 2>&1 || skip "no qemu-aarch64 command (package qemu-user)"
mk/arm64.sh "$made" clr-libraries >"$build/arm64/clr.log" 2>&1 || {
    [ $? -ne 77 ] || skip "$(tail -n 1 "$build/arm64/clr.log")"
    grep -E 'error|undefined' "$build/arm64/clr.log" | head -n 10
    fail "the libraries for ARM64 could not be built; the whole output is in $build/arm64/clr.log"
}
mk/sysroot.sh arm64 "$root" libstdc++6 >"$build/arm64/sysroot.log" 2>&1 || skip "no libstdc++6 for ARM64"
mkdir -p "$build/dotnet"
( flock 8; publish ) 8>"$build/dotnet/lock-arm64" ||
    skip "the workload cannot be published for linux-arm64: $(grep -m 1 -oE 'error [A-Z]+[0-9]+.*' "$program.log" || tail -n 1 "$program.log")"

export CLRTEST_HZ=500
least=${SAMPLES:-5000}
if [ -n "$short" ]; then
    least=${SAMPLES:-2000}
    answers cortex-a57 "--only pinvoke,pinvoke-cooperative,callback-filter-inside,filter-null,catch-deep,finally-every-frame"
    sampled max 3
else
    answers cortex-a57 ""
    answers max ""
    while [ "$taken" -lt "$least" ] && [ "$status" -eq 0 ]; do
        sampled cortex-a57 30
        sampled max 30
    done
fi
echo "samples: $usable of $taken usable"
# 99.9 %
[ "$taken" -ge "$least" ] && [ $(((taken - usable) * 1000)) -le "$taken" ] || status=1
cat "$work"/answers.* | awk '/^clr: / { same += $2; all += $4 }
    END { printf "clr: %d of %d walks identical\n", same, all; exit !(all > 0 && same == all) }' || status=1
exit $status
