#!/bin/sh
# others.sh BUILD: programs that were not written for the probe, under it: a web service on ASP.NET, F#, `dotnet build`
# with its compilers. Every walk beside the CLR's own DoStackSnapshot (but of `dotnet build`, which has many processes),
# then timer signals at any instant. And a program that NativeAOT has compiled: each stack that `snapstacks` sees must
# reach its thread's outermost frame, with names as in the source. The last line is "clr: N of N walks identical".
#
#   SECONDS_EACH  of each run (default 10)
#
# What cannot be had is skipped, and said so.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "${1:?others.sh BUILD}"
build=$(cd "$1" && pwd)
. mk/sample.sh
seconds=${SECONDS_EACH:-10}
work=$(mktemp -d)
started=
end() {
    [ -z "$started" ] || kill -KILL "$started" 2>/dev/null || :
    rm -rf "$work"
}
trap end EXIT
trap 'exit 1' HUP INT TERM
status=0

not_ok() {
    echo "not ok: others: $*"
    status=1
}

if ! command -v dotnet >/dev/null 2>&1 || ! have_dotnet; then
    echo "clr: others: skipped: no .NET SDK 10"
    exit 0
fi

# under MODE REPORT COMMAND...: all processes of it write to one report
under() {
    mode=$1
    report=$2
    shift 2
    mkfifo "$work/report"
    cat "$work/report" >"$report" &
    reader=$!
    exec 9>"$work/report"
    code=0
    env CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{846F5F1C-F9AE-4B07-969E-05C26BC060D8}' \
        CORECLR_PROFILER_PATH="$build/test/clr/libclrtest.so" CLRTEST_LIBRARY="$build/test/clr/libclrtest.so" \
        CLRTEST_OUT="$work/report" CLRTEST_MODE="$mode" CLRTEST_HZ=2000 \
        timeout -k 10 600 "$@" >"$work/out" 2>&1 9>&- || code=$?
    exec 9>&-
    wait "$reader"
    rm -f "$work/report"
    [ "$code" -eq 0 ] || {
        not_ok "$1 ended with status $code"
        tail -n 5 "$work/out"
    }
}

# answers NAME COMMAND...
answers() {
    name=$1
    shift
    under compare "$work/answers.$name" "$@"
    printf '%-12s %s\n' "$name" "$(sed -n 's/^clr: //p' "$work/answers.$name")"
    grep -A40 '^difference' "$work/answers.$name" | head -n 60 || :
}

# samples NAME COMMAND...: of all processes; 99.9 % usable. A walk in a handler has a budget, which the first ones through
# much new code use up.
samples() {
    name=$1
    shift
    under sample "$work/samples" "$@"
    awk -v name="$name" '/^samples: / { usable += $2; taken += $4; processes++ } /^  [a-z-]+ +[0-9]+$/ { stops[$1] += $2 }
        END { printf "%-12s %d of %d samples usable, %d processes:", name, usable, taken, processes
              for (why in stops) printf " %s %d", why, stops[why]
              printf "\n"; exit !(taken > 0 && (taken - usable) * 1000 <= taken) }' "$work/samples" ||
        not_ok "$name: samples"
    sed -n '/^cut/,/^  [a-z-]* /p' "$work/samples" | head -n 40
}

dotnet_build test/clr/others/functions functions
answers functions dotnet "$build/dotnet/functions/functions.dll" "$seconds"
samples functions dotnet "$build/dotnet/functions/functions.dll" "$seconds"

if dotnet --list-runtimes | grep -q '^Microsoft.AspNetCore.App 10'; then
    dotnet_build test/clr/others/web web
    answers web dotnet "$build/dotnet/web/web.dll" "$seconds"
    samples web dotnet "$build/dotnet/web/web.dll" "$seconds"
else
    echo "clr: others: web: skipped: no shared runtime Microsoft.AspNetCore.App 10"
fi

cp -r test/clr/others/functions "$work/source"
samples build dotnet build "$work/source" -c Release -v q -o "$work/built" --nodeReuse:false \
    -p:UseSharedCompilation=false

# ---- NativeAOT ----

# The compiler needs clang or gcc and zlib to link with. Published once.
publish_aot() {
    made=$build/dotnet/aot/ahead
    [ ! -f "$made" ] || [ -n "$(find test/clr/others/ahead -type f -newer "$made")" ] || return 0
    dotnet publish test/clr/others/ahead -c Release -r linux-x64 -v q --artifacts-path "$build/dotnet/artifacts-aot" \
        -o "$build/dotnet/aot" --nodeReuse:false -p:UseSharedCompilation=false >"$build/dotnet/aot.log" 2>&1 8>&-
}

# named NAME PATTERN: in the stacks
named() {
    if grep -qE "$2" "$work/stacks"; then echo "aot          $1: named"; else not_ok "aot: $1 is not among the names"; fi
}

if (flock 8; publish_aot) 8>"$build/dotnet/lock-aot"; then
    "$build/dotnet/aot/ahead" >"$work/out" 2>&1 &
    started=$!
    tries=0
    until grep -q '^ready' "$work/out" || [ "$tries" -gt 100 ]; do
        tries=$((tries + 1))
        sleep 0.1
    done
    "$build/tools/snapstacks/snapstacks" --plain "$started" >"$work/stacks" 2>&1 || not_ok "aot: snapstacks"
    cuts=$(grep -c '^ *cut: ' "$work/stacks" || :)
    echo "aot          $(grep -c '^thread\|^[0-9]* threads' "$work/stacks" || :) groups of threads, $cuts cut"
    [ "$cuts" -eq 0 ] || not_ok "aot: a stack is cut"
    named "a method" '[ .!]Ahead[.]Program[.]Wait'
    named "a generic method of a value type" 'Ahead[.]Program[.]Through<'
    named "a boxed value's method" 'Ahead[.]Point[.]CompareTo'
    kill -KILL "$started"
    started=
else
    why=$(grep -m 1 -oE 'error.*' "$build/dotnet/aot.log" | sed 's/ \[.*//')
    echo "clr: others: aot: skipped: ${why:-it cannot be published}"
fi

cat "$work"/answers.* | awk '/^clr: / { same += $2; all += $4 }
    END { printf "clr: %d of %d walks identical\n", same, all; exit !(all > 0 && same == all) }' || status=1
exit $status
