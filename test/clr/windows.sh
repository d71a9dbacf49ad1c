#!/bin/sh
# windows.sh BUILD [short]: .NET 10, 9 and 8 for Windows on x64, the real runtimes run by Wine, under the probe of
# test/clr/probe: every walk beside the CLR's own DoStackSnapshot. Of each a part with walks of a thread by itself, in
# callbacks and platform invokes, walks of all threads while the runtime stands, and refusals; and a part in which a thread
# that was never managed suspends the others at any instant. Then the example examples/windows/clr_sampler.c must find the
# methods of a loop, and both must do as well behind the overlay (examples/clr-overlay), whose answers the probe compares
# with its own. The last line is "windows: N of N walks identical"; or, where something cannot be had, one line
# "windows: skipped: WHY". short: a part of the workload, in some forty seconds.
#
#   ONLY     "10.0 stopped 9.0 stopped-9.0 8.0 stopped-8.0 cost overlay sampler": these parts only
#   WALKS    of suspended threads at least so many (default 10,000, of .NET 9 and 8 1,000), a slice of the scenarios at a
#            time
#   LIMIT_S  after so many seconds a run is taken for hung (default 150)
#
# Wine needs two repairs, which the probe makes (test/clr/probe/windows/repair.c). What Wine itself cannot run, without any
# profiler, is in wine.list beside this file, by name and reason. W^X is off: the runtime maps code twice, and where such
# code is freed it ends with an internal error in Wine, without any profiler, too. A run that ends otherwise than it should
# is shown and made again, twice at most: Wine loses threads when processors are short (clr-windows-observed.md W15). The
# line "wine:" counts all of these.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "${1:?windows.sh BUILD [short]}/windows"
build=$(cd "$1" && pwd)
short=${2:-}
overlay=
. mk/sample.sh
. test/support/wine.sh
made=$build/windows
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
status=0

skip() {
    echo "windows: skipped: $*"
    exit 0
}

# publish NET: with its runtime, a package of NuGet's. One at a time: they share a folder.
publish() {
    [ ! -f "$program/workload.exe" ] || [ -n "$(find test/clr/workload -type f -newer "$program/workload.exe")" ] || return 0
    mkdir -p "$program"
    dotnet publish test/clr/workload -c Release -r win-x64 --self-contained -v q "-p:Net=$1" --artifacts-path \
        "$build/dotnet/artifacts-windows-$1" -o "$program" --nodeReuse:false -p:UseSharedCompilation=false \
        >"$program.log" 2>&1 8>&- && touch "$program/workload.exe"
}

# publish_for NET: sets program. False: it cannot be had.
publish_for() {
    program=$build/dotnet/workload-windows-$1
    ( flock 8; publish "$1" ) 8>"$build/dotnet/lock-windows"
}

why_not() {
    grep -m 1 -oE 'error [A-Z]+[0-9]+.*' "$program.log" || tail -n 1 "$program.log"
}

# wanted PART
wanted() {
    case " ${ONLY:-$1} " in *" $1 "*) ;; *) return 1 ;; esac
}

# Windows' name of a file.
of_windows() {
    printf 'Z:%s' "$1" | tr / '\\'
}

# profiled LIBRARY ARGUMENTS...: the workload under a profiler, Windows' name of it
profiled() {
    library=$1
    shift
    env CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{846F5F1C-F9AE-4B07-969E-05C26BC060D8}' \
        CORECLR_PROFILER_PATH_64="$library" DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1 DOTNET_EnableWriteXorExecute=0 \
        timeout -k 10 "${LIMIT_S:-150}" "$wine" "$program/workload.exe" "$@" >"$work/out" 2>&1
}

# once MODE REPORT ARGUMENTS...: under the probe
once() {
    mode=$1
    report=$2
    shift 2
    probe=$(of_windows "$made/test/clr/clrtest.dll")
    (
        export CLRTEST_LIBRARY="$probe" CLRTEST_OUT="$(of_windows "$report")" CLRTEST_MODE="$mode"
        SNAPWALK_OVERLAY_PROFILER=$probe profiled "${overlay:-$probe}" "$@"
    )
}

# again STATUS NAME: a run that ended as it should not
again() {
    echo "$2 ended with status $1:"
    head -n 3 "$work/out"
    echo "$2" >>"$work/again"
}

# The example: what runs must be among what it shows.
sampler() {
    example=$(of_windows "$made/test/clr/clr_sampler.dll")
    for _ in 1 2 3; do
        code=0
        LIMIT_S=60 SNAPWALK_OVERLAY_PROFILER=$example profiled "${overlay:-$example}" --seconds 4 --threads 1 \
            --only loop-of-calls || code=$?
        [ "$code" -ne 0 ] || break
        again "$code" sampler
    done
    echo "sampler${overlay:+ behind the overlay}: $(grep ' samples, ' "$work/out")"
    grep -E ' Workload[.]Loops[.](Small|Calling)' "$work/out" || :
    grep -q ' Workload[.]Loops[.]Small' "$work/out" && grep -q ' Workload[.]Loops[.]Calling' "$work/out" || {
        echo "not ok: the sampler does not show the loop"
        status=1
    }
}

# A profiler that cannot be had: the overlay says so, and the program runs.
overlay_refuses() {
    LIMIT_S=60 SNAPWALK_OVERLAY_PROFILER=$1 profiled "$overlay" --rounds 1 --threads 1 --only pinvoke || :
    grep -q "snapwalk overlay: .*$2" "$work/out" && grep -q '^workload: ' "$work/out" || {
        echo "not ok: the overlay does not say: $2"
        head -n 3 "$work/out"
        status=1
    }
}

# under MODE REPORT ARGUMENTS...: what a run has found counts, however it ended.
under() {
    for _ in 1 2 3; do
        code=0
        once "$@" || code=$?
        [ "$code" -ne 0 ] || return 0
        again "$code" "$1"
        ! grep -q '^difference' "$2" 2>/dev/null || break
    done
    echo "not ok: $1 did not end as it should"
    status=1
}

# part NAME MODE ARGUMENTS...: one run, and what of it is to be seen
part() {
    name=$1
    shift
    mode=$1
    shift
    under "$mode" "$work/answers.$name" "$@"
    [ -f "$work/answers.$name" ] || : >"$work/answers.$name"
    printf '%-24s %s\n' "windows $name" "$(sed -n 's/^clr: //p' "$work/answers.$name")"
    [ -z "$short" ] || grep -E '^  .* walks, .*identical|^documented: |^finder: |^entries: ' "$work/answers.$name" || :
    grep -A40 '^difference' "$work/answers.$name" | head -n 60 || :
    awk '/^documented: / && $2 != $4 { bad = 1 } /^entries: / && ($2 != $4 || $(NF - 1) != 0) { bad = 1 } END { exit bad }' \
        "$work/answers.$name" || {
        echo "not ok: $name: the library's own walks, or its tables of code"
        status=1
    }
}

# walks WHAT: compared in the parts of that name
walks() {
    cat "$work/answers.$1"* 2>/dev/null | awk '/^clr: / { all += $4 } END { print all + 0 }'
}

command -v dotnet >/dev/null 2>&1 || skip "no dotnet command"
have_dotnet || skip "no .NET SDK 10"
mk/windows.sh "$made" clr-probe clr-samplers clr-overlay >"$made/clr.log" 2>&1 || {
    [ $? -ne 77 ] || skip "$(tail -n 1 "$made/clr.log")"
    grep -E 'error|undefined' "$made/clr.log" | head -n 10
    fail "the probe for Windows could not be built; the whole output is in $made/clr.log"
}
find_wine || skip "no wine64 command (package wine64)"
mkdir -p "$build/dotnet"
publish_for 10 || skip "the workload cannot be published for win-x64: $(why_not)"

use_wine "$work"
trap 'leave_wine; rm -rf "$work"' EXIT
timeout 120 "$wine" cmd.exe /c exit >"$work/out" 2>&1 </dev/null || : # makes the folder
[ -d "$WINEPREFIX/drive_c" ] || skip "wine64 runs no program here"
export WINEDLLOVERRIDES=mshtml= # its mscoree is asked for when a .NET library is mapped
all=$(timeout 120 "$wine" "$program/workload.exe" --list 2>/dev/null | tr -d '\r')
[ -n "$all" ] || skip "the workload does not start in Wine"
# choose NET: sets scenarios to those that Wine can run, and slices to them in parts.
choose() {
    scenarios=$(echo "$all" | awk -v net="$1" 'NR == FNR { sub(/#.*/, "")
            if (NF) left[$1] = NF == 1; for (i = 2; i <= NF; i++) if ($i == net) left[$1] = 1; next }
        !left[$1] { all = all (all ? "," : "") $1 } END { print all }' test/clr/wine.list -)
    slices=$(echo "$scenarios" | tr , '\n' | paste -sd ',,,,,,,,,\n')
}
names=$(sed 's/#.*//' test/clr/wine.list | awk 'NF { print $1 }')
choose 10

export CLRTEST_HZ=1000
few=pinvoke,pinvoke-cooperative,callback-filter-inside,filter-null,catch-deep,finally-every-frame,dynamic-method-catch

# answers NAME: one round of everything, or of a few; a slice at a time: where Wine loses a thread, one is made again.
answers() {
    if [ -n "$short" ]; then
        part "answers.$1" compare --rounds 1 --threads 1 --only "$few"
        return
    fi
    turn=0
    for some in $slices; do
        turn=$((turn + 1))
        part "answers.$1.$turn" compare --rounds 1 --threads 2 --only "$some"
    done
}

# stopped NAME SECONDS WALKS: at least so many
stopped() {
    if [ -n "$short" ]; then
        part "stopped.$1" sample --seconds 4 --threads 2 --only "$scenarios"
        return
    fi
    turn=0
    while [ "$(walks "stopped.$1")" -lt "$3" ] && [ "$status" -eq 0 ]; do
        for some in $slices; do
            turn=$((turn + 1))
            part "stopped.$1.$turn" sample --seconds "$2" --threads 2 --only "$some"
            [ "$(walks "stopped.$1")" -lt "$3" ] && [ "$status" -eq 0 ] || break
        done
    done
}

! wanted 10.0 || answers 10.0
! wanted stopped || stopped 10.0 10 "${WALKS:-10000}"
for net in 9 8; do
    wanted $net.0 || wanted stopped-$net.0 || continue
    choose $net
    if publish_for $net; then
        ! wanted $net.0 || answers $net.0
        ! wanted stopped-$net.0 || stopped $net.0 5 "${WALKS:-1000}"
    else
        echo "windows $net.0: skipped: the workload cannot be published for win-x64: $(why_not)"
    fi
done
program=$build/dotnet/workload-windows-10
choose 10
# Of .NET 10: nanoseconds a frame of the CLR's walk and ours. Wine's clock has steps of 100 ns.
if [ -z "$short" ] && wanted cost; then
    under cost "$work/cost" --rounds 1 --threads 1 --only pinvoke,pinvoke-deep,filter-deep,filter-very-deep,catch-very-deep
    awk -f mk/clr-cost.awk "$work/cost"
fi
! wanted sampler || sampler
if wanted overlay; then
    overlay=$(of_windows "$made/examples/snapwalk-overlay.dll")
    part answers.overlay compare --rounds 1 --threads 1 --only "$few"
    sampler
    overlay_refuses '' 'SNAPWALK_OVERLAY_PROFILER is not set'
    overlay_refuses 'Z:\nowhere.dll' 'cannot load the profiler: '
    overlay_refuses kernel32.dll 'no DllGetClassObject in kernel32.dll'
    overlay_refuses "$overlay" 'names the overlay itself'
    overlay=
fi
ls "$work"/answers.* >/dev/null 2>&1 || exit $status # no part that compares was wanted
# What Wine does not do as Windows does: the repairs, by number of clr-windows-observed.md, and what cannot be run.
: >>"$work/again"
cat "$work"/answers.* | awk -v left_out="$(echo "$names" | wc -w)" -v again="$(wc -l <"$work/again")" '
    /^repaired: / { contexts += $2; calls += $4; records += $(NF - 2) }
    END { printf "wine: %d contexts repaired (W10-W12), %d of them in a system call (W13); %d dead records of handlers (W19); ", \
        contexts, calls, records
        printf "%d runs made again (W14, W15, W18); ", again
        printf "%d scenarios left out (wine.list)\n", left_out }'
# All occasions of all runs.
cat "$work"/answers.* | awk -F'  +' '/^  .* walks, .*identical/ { walks[$2] += $3; split($0, at, "walks,"); equal[$2] += at[2] }
    END { for (what in walks) printf "  %-26s %8d walks, %8d identical\n", what, walks[what], equal[what] }' | sort
cat "$work"/answers.* | awk '/^documented: / { same += $2; all += $4 }
    END { print "documented: " same + 0 " of " all + 0 " walks hold the frames of the CLR" }'
cat "$work"/answers.* | awk '/^clr: / { same += $2; all += $4 } /registers that the CLR/ { own += $NF }
    END { printf "registers that the CLR gives as its own: %d\nwindows: %d of %d walks identical\n", own, same, all
          exit !(all > 0 && same == all) }' || status=1
exit $status
