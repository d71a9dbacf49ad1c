#!/bin/sh
# arm64.sh BUILD [short]: .NET for ARM64, the real runtime in qemu-aarch64, under the probe of test/clr/probe: every walk beside
# the CLR's own DoStackSnapshot, then timer signals at any instant, on a processor that signs return addresses and on one that
# does not; and the profiler and the overlay. The last lines are "samples: N of N usable" and "clr: N of N walks
# identical"; or, where something cannot be had, one line "clr: arm64: skipped: WHY". short: each comparison on one processor,
# a part of the workload, without profiler and overlay.
#
#   SAMPLES   at least so many samples (default 5,000; short: 2,000)
#   ANSWER_S  after so many seconds no more of the workload is compared (default: all of it is, some 125,000 walks)
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

# publish PROJECT FOLDER: for ARM64 with its runtime, a package of NuGet's. One at a time: they share a folder.
publish() {
    name=$(basename "$1")
    [ ! -f "$2/$name" ] || [ -n "$(find "$1" -type f -newer "$2/$name")" ] || return 0
    mkdir -p "$2"
    dotnet publish "$1" -c Release -r linux-arm64 --self-contained -v q --artifacts-path \
        "$build/dotnet/artifacts-$(basename "$2")" -o "$2" --nodeReuse:false -p:UseSharedCompilation=false \
        >"$2.log" 2>&1 8>&- && touch "$2/$name"
}

# loaded CPU LIBRARY CLSID PROGRAM ARGUMENTS...: a program with a profiler
loaded() {
    cpu=$1
    library=$2
    clsid=$3
    shift 3
    env CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER="{$clsid}" CORECLR_PROFILER_PATH="$library" \
        DOTNET_EnableWriteXorExecute=0 timeout -k 10 "${LIMIT_S:-1800}" qemu-aarch64 -cpu "$cpu" -L "$root" "$@" \
        >"$work/out" 2>&1 || {
        echo "not ok: $(basename "$library") on $cpu ended with status $?"
        tail -n 5 "$work/out"
        status=1
    }
}

# under CPU MODE REPORT ARGUMENTS...: the workload under the probe
under() {
    on=$1
    export CLRTEST_LIBRARY="$made/test/clr/libclrtest.so" CLRTEST_OUT="$3" CLRTEST_MODE="$2"
    shift 3
    loaded "$on" "$CLRTEST_LIBRARY" 846F5F1C-F9AE-4B07-969E-05C26BC060D8 "$program/workload" "$@"
}

answers() {
    under "$1" compare "$work/answers.$1" --rounds 1 --threads 1 ${ANSWER_S:+--seconds "$ANSWER_S"} $2
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

# The profiler: nearly all samples whole, methods by name.
profiled() {
    export SNAPWALK_OUT="$work/profile.folded" SNAPWALK_VERBOSE=1
    loaded cortex-a57 "$made/libsnapwalk-profiler.so" 846F5F1C-F9AE-4B07-969E-05C26BC060D8 "$program/workload" \
        --rounds 1 --threads 1 --only pinvoke,catch-deep
    line=$(sed -n 's/^snapwalk-profiler: \([0-9]* samples\)/\1/p' "$work/out" | tail -n 1)
    echo "profiler: $line"
    echo "$line" | awk '{ exit !($1 >= 500 && $6 * 100 <= $1) }' && ! grep 'structures not known' "$work/out" &&
        grep -q 'Program[.]<Main>' "$work"/profile*.folded || status=1
}

# The overlay, over a profiler that asks the CLR: with it and without it the same answers.
overlaid() {
    vendor=$made/libvendor.so
    target=$build/dotnet/target-arm64
    if ! aarch64-linux-gnu-g++ -std=c++17 -O2 -g -fPIC -fvisibility=hidden -pthread -shared -o "$vendor" \
        test/clr/vendor/*.cc >"$work/vendor.log" 2>&1; then
        echo "overlay: skipped: no C++ compiler for ARM64 (package g++-aarch64-linux-gnu)"
        return
    fi
    ( flock 8; publish test/clr/vendor/target "$target" ) 8>"$build/dotnet/lock-arm64" || {
        echo "not ok: the overlay's target could not be published: $target.log"
        status=1
        return
    }
    for how in without with; do
        library=$vendor
        [ "$how" = without ] || library=$made/examples/libsnapwalk-overlay.so
        export VENDOR_LIB="$vendor" VENDOR_OUT="$work/$how" SNAPWALK_OVERLAY_PROFILER="$vendor"
        loaded cortex-a57 "$library" 5a1d2b3c-0000-4000-8000-000000000077 "$target/target" 1000
    done
    awk -f test/clr/vendor/compare.awk -v name=overlay "$work/without" "$work/with" || status=1
}

command -v dotnet >/dev/null 2>&1 || skip "no dotnet command"
have_dotnet || skip "no .NET SDK 10"
command -v qemu-aarch64 >/dev/null 2>&1 || skip "no qemu-aarch64 command (package qemu-user)"
needed=clr-probe
if [ -z "$short" ]; then
    needed=clr-libraries
    export PACKAGES="libprotobuf-c-dev zlib1g-dev libcurl4-openssl-dev" # what the profiler is made of
fi
mk/arm64.sh "$made" $needed >"$build/arm64/clr.log" 2>&1 || {
    [ $? -ne 77 ] || skip "$(tail -n 1 "$build/arm64/clr.log")"
    grep -E 'error|undefined' "$build/arm64/clr.log" | head -n 10
    fail "the libraries for ARM64 could not be built; the whole output is in $build/arm64/clr.log"
}
mk/sysroot.sh arm64 "$root" libstdc++6 >"$build/arm64/sysroot.log" 2>&1 || skip "no libstdc++6 for ARM64"
mkdir -p "$build/dotnet"
( flock 8; publish test/clr/workload "$program" ) 8>"$build/dotnet/lock-arm64" ||
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
    profiled
    overlaid
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
