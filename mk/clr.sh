#!/bin/sh
# clr.sh BUILD [short]: what `make clr` does when libraries and archive are built. A real .NET process runs the workload
# (test/clr/workload) under a profiler that asks the CLR and this library the same questions (test/clr/probe).
#
#   answers   every walk beside the CLR's own DoStackSnapshot, with the runtime's settings each on and off, LAPS through
#             the workload (default 2; 1 and SAMPLES=100000 SAMPLES_EACH=20000: all in some 20 minutes)
#   samples   timer signals at any instant, walks in the handler: SAMPLES of them (default 1,000,000; short: 40,000)
#   cost      nanoseconds a frame beside the CLR's walk, and what sampling every thread at 1 kHz costs a program
#   overlay   a profiler that knows nothing of us, with and without the overlay
#   runtimes  answers and samples on .NET 8, 9 and newer patches, in a single-file program and in a composite image: packages
#             of NuGet's, SAMPLES_EACH samples (default 100,000) on each
#   others    answers and samples in programs of other kinds: ASP.NET, F#, `dotnet build`; NativeAOT (test/clr/others.sh)
#   arm64     answers and samples of the real runtime for ARM64 in qemu-aarch64 (test/clr/arm64.sh)
#
# short: one setting and few samples, of 8 and 9 a part of the workload, for `make test`. STRESS_S: seconds of stress with
# signals (default 0; 1800 is half an hour). A part that fails is named, and the next one begins: all of it is seen in one
# run. ONLY="9.0 arm64": these parts only. The last line is "clr: N of N walks identical over M runtimes".
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(cd "$1" && pwd)
short=${2:-}
. mk/sample.sh

if ! command -v dotnet >/dev/null 2>&1; then
    echo "clr: skipped: no dotnet command"
    exit 0
fi
have_dotnet || fail "the .NET SDK 10 is needed; dotnet --list-sdks names none"
dotnet_build test/clr/workload workload
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
status=0
laps=${LAPS:-2}
begun=$(date +%s)
failed=
export CLRTEST_LIBRARY="$build/test/clr/libclrtest.so"
program="dotnet $build/dotnet/workload/workload.dll"
runtimes=0

# part NAME: what is looked at from here on; false: it is not wanted
part() {
    part=$1
    case " ${ONLY:-$1} " in *" $1 "*) ;; *) return 1 ;; esac
    [ -n "$short" ] || echo "clr: $part, after $(($(date +%s) - begun)) s"
}

not_ok() {
    echo "not ok: $part: $*"
    case " $failed " in *" $part "*) ;; *) failed="$failed $part" ;; esac
    status=1
}

# under LIBRARY REPORT VARIABLE=VALUE... -- ARGUMENTS: the workload under a profiler
under() {
    library=$1
    report=$2
    shift 2
    settings=
    while [ "$1" != -- ]; do
        settings="$settings $1"
        shift
    done
    shift
    for turn in 1 2 3; do
        since=$(cut -d' ' -f1 /proc/uptime)
        run_once "$@" && return 0
        echo "run $turn of the workload ended with status $? ($settings ):"
        head -n 5 "$work/out"
        faults "$since" | tee "$work/faults"
        ! grep -qF "in ${library##*/}" "$work/faults" || break
    done
    not_ok "no run ended well, or one ended in this library"
}

# .NET 10.0.12 loses exceptions (a filter is not heard) and objects (JIT_ClassProfile32 reads one that is gone) when a
# profiler asks for exception events and stops the runtime, more often while assemblies are loaded and collected: seen
# also in runs in which nobody walked a stack. So the answers are compared without --loads, a run that fails is shown,
# and made again, twice at most.
run_once() {
    # shellcheck disable=SC2086
    env CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{846F5F1C-F9AE-4B07-969E-05C26BC060D8}' \
        CORECLR_PROFILER_PATH="$library" CLRTEST_OUT="$report" SNAPWALK_OUT="$report" $settings \
        timeout -k 10 "${LIMIT_S:-1200}" $program "$@" >"$work/out" 2>&1
}

# What the kernel has said of crashes since then, where that can be read.
faults() {
    dmesg 2>/dev/null | awk -v since="$1" '/ segfault at / { sub(/^\[ */, ""); if ($1 + 0 >= since) print }'
}

# answers NAME VARIABLE=VALUE... -- ARGUMENTS
answers() {
    name=$1
    shift
    under "$CLRTEST_LIBRARY" "$work/answers.$name" CLRTEST_MODE=compare "$@"
    printf '%-28s %s; %s; %s\n' "$name" "$(grep '^clr: ' "$work/answers.$name" | sed 's/^clr: //')" \
        "$(grep '^finder: ' "$work/answers.$name")" "$(grep '^entries: ' "$work/answers.$name")"
    awk '/^entries: / { bad = $2 != $4 || $(NF - 1) != 0; n++ } END { exit bad || n != 1 }' "$work/answers.$name" || {
        not_ok "what the runtime has prepared is not what its events told"
    }
    awk '/^clr: / { same = $2; all = $4 } END { exit !(all > 0 && same == all) }' "$work/answers.$name" ||
        not_ok "$name differs"
    grep -A40 '^difference' "$work/answers.$name" | head -n 60 || :
}

# The runtime that the machine has.
answers_here() {
    ran=$(date +%s)
    if [ -n "$short" ]; then
        answers default CLRTEST_EVENTS=suspends -- --rounds 1 --threads 2
        return
    fi
    answers default -- --rounds "$laps" --threads 2
    answers allocations CLRTEST_EVENTS=alloc -- --rounds 1 --threads 2
    answers rejit CLRTEST_EVENTS=rejit -- --rounds 1 --threads 2
    answers suspends CLRTEST_EVENTS=suspends -- --rounds 1 --threads 2
    answers transitions CLRTEST_EVENTS=transitions -- --rounds 1 --threads 2
    answers collections DOTNET_GCgen0size=0x40000 -- --rounds 1 --threads 2
    answers tiered-off DOTNET_TieredCompilation=0 -- --rounds 1 --threads 2
    answers pgo-off DOTNET_TieredPGO=0 -- --rounds 1 --threads 2
    answers r2r-off DOTNET_ReadyToRun=0 -- --rounds 1 --threads 2
    answers tiered-and-r2r-off DOTNET_TieredCompilation=0 DOTNET_ReadyToRun=0 -- --rounds 1 --threads 2
    answers w-xor-x-off DOTNET_EnableWriteXorExecute=0 -- --rounds 1 --threads 2
    echo "answers took $(($(date +%s) - ran)) s"
}

# sampled RATE SECONDS: shows one run, adds to the sums
usable=0
taken=0
tries=0
sampled() {
    tries=$((tries + 1))
    under "$CLRTEST_LIBRARY" "$work/samples" CLRTEST_MODE=sample CLRTEST_HZ="$1" -- --seconds "$2" --threads 2 --loads
    echo "samples at $1 Hz for $2 s:"
    grep -E '^  [a-z-]+ +[0-9]+$|^  (signals|with|chain|beside|cut)|^samples' "$work/samples" || :
    set -- $(sed -n 's/^samples: \([0-9]*\) of \([0-9]*\) usable/\1 \2/p' "$work/samples") 0 0
    usable=$((usable + $1))
    taken=$((taken + $2))
}
# 99.99 %. enough WHAT LEAST
enough() {
    echo "samples${1:+ on $1}: $usable of $taken usable"
    [ "$taken" -ge "$2" ] && [ $(((taken - usable) * 10000)) -le "$taken" ] || not_ok "samples"
}

samples_here() {
    if [ -n "$short" ]; then
        sampled 2000 8
        enough "" 1
        return
    fi
    sampled 1000 20
    sampled 20000 20
    while [ "$taken" -lt "${SAMPLES:-1000000}" ] && [ "$tries" -lt 60 ]; do
        sampled 5000 60
    done
    [ "${STRESS_S:-0}" -eq 0 ] || LIMIT_S=$((STRESS_S + 120)) sampled 2000 "$STRESS_S"
    enough "" "${SAMPLES:-1000000}"
}

if part 10.0; then
    runtimes=1
    answers_here
    samples_here
fi
if [ -z "$short" ] && part cost; then
    under "$CLRTEST_LIBRARY" "$work/cost" CLRTEST_MODE=cost -- --rounds 2 --threads 1
    awk -f mk/clr-cost.awk "$work/cost" || not_ok "no cost"
    mk/clr-overhead.sh "$build" || not_ok "mk/clr-overhead.sh"
fi
if [ -z "$short" ] && part overlay; then
    test/clr/overlay.sh "$build" >"$work/overlay" || not_ok "test/clr/overlay.sh"
    grep -v '^ok' "$work/overlay" || :
fi

# ---- other runtimes ----

# publish NAME NET VERSION PROPERTIES...: the workload with a runtime of its own, a package of NuGet's. VERSION -: the latest
# that the SDK knows. One at a time: they share a folder.
publish() {
    name=$1
    net=$2
    version=$3
    shift 3
    to=$build/dotnet/workload-$name
    [ ! -f "$to/workload" ] || [ -n "$(find test/clr/workload -type f -newer "$to/workload")" ] || return 0
    [ "$version" = - ] || set -- "$@" "-p:RuntimeFrameworkVersion=$version"
    mkdir -p "$to"
    dotnet publish test/clr/workload -c Release -r linux-x64 --self-contained -v q "-p:Net=$net" "$@" --artifacts-path \
        "$build/dotnet/artifacts-$name" -o "$to" --nodeReuse:false -p:UseSharedCompilation=false >"$to.log" 2>&1 8>&- &&
        cp "$build/dotnet/artifacts-$name/bin/workload/release_linux-x64/workload.dll" "$to" &&
        touch "$to/workload"
}

# runtime NAME NET VERSION PROPERTIES...: answers, then samples at any instant
runtime() {
    part "$1" || return 0
    ( flock 8; publish "$@" ) 8>"$build/dotnet/lock-x64" || {
        why=$(grep -m 1 -oE 'error [A-Z]+[0-9]+:.*' "$build/dotnet/workload-$1.log" | sed 's/ \[.*//')
        echo "clr: $1: skipped: ${why:-the workload cannot be published for it}"
        return 0
    }
    program=$build/dotnet/workload-$1/workload
    runtimes=$((runtimes + 1))
    if [ -n "$short" ]; then
        answers "$1" -- --rounds 1 --threads 1 --only "$few"
        return
    fi
    answers "$1" CLRTEST_EVENTS=suspends -- --rounds $((laps + 1)) --threads 2
    usable=0
    taken=0
    tries=0
    while [ "$taken" -lt "${SAMPLES_EACH:-100000}" ] && [ "$tries" -lt 30 ]; do
        sampled 5000 15
    done
    enough "$1" "${SAMPLES_EACH:-100000}"
}
few=pinvoke,pinvoke-cooperative,callback-filter-inside,filter-null,catch-deep,rethrow-new,finally-every-frame
runtime 9.0 9 -
runtime 8.0 8 -
if [ -z "$short" ]; then
    runtime 9.0.22 9 9.0.22
    runtime 8.0.33 8 8.0.33
    runtime 10.0.14 10 10.0.14
    runtime single-file 10 - -p:PublishSingleFile=true
    runtime composite 10 - -p:PublishReadyToRun=true -p:PublishReadyToRunComposite=true
fi

if [ -z "$short" ] && part others; then
    test/clr/others.sh "$build" >"$work/others" || not_ok "test/clr/others.sh"
    cat "$work/others"
    grep '^clr: [0-9]' "$work/others" >"$work/answers.others" || :
fi
if [ -z "$short" ] && part arm64; then
    SAMPLES='' test/clr/arm64.sh "$build" >"$work/arm64" || not_ok "test/clr/arm64.sh"
    cat "$work/arm64"
    grep '^clr: [0-9]' "$work/arm64" >"$work/answers.arm64" && runtimes=$((runtimes + 1))
fi

[ -z "$failed" ] || echo "clr: not ok:$failed"
cat "$work"/answers.* | awk -v runtimes="$runtimes" '/^clr: / { same += $2; all += $4 } /registers that the CLR/ { own += $NF }
    END { printf "registers that the CLR gives as its own: %d\nclr: %d of %d walks identical over %d runtimes\n", own, same,
        all, runtimes
          exit !(all > 0 && same == all) }' || status=1
exit $status
