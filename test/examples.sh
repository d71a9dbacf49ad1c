#!/bin/sh
# examples.sh BUILD: every example is run, and what it shows is looked at.
set -u
cd "$(dirname "$0")/.."
build=${1:-build}
out=$build/log/examples.out
status=0

# example NAME PATTERN COMMAND...: ends with 0, and prints a line that matches
example() {
    name=$1
    pattern=$2
    shift 2
    if "$@" >"$out" 2>&1 && grep -qE "$pattern" "$out"; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        tail -n 20 "$out" | sed 's/^/# /'
        status=1
    fi
}

example "walk_self walks to the root" '^ended: root$' "$build/examples/walk_self"
example "walk_self names main" ' main\+' "$build/examples/walk_self"
example "sample_threads: every sample is complete" '^thread 2: ' "$build/examples/sample_threads"
example "simulated: a native seed is refused, the nearest one named" 'answer 0x8013135f, a seed would be at 0x30009' \
    "$build/examples/simulated"
example "jit_unwind walks by a compiler's own tables" '^ended: root$' "$build/examples/jit_unwind"
example "audit: a program's own tables" '^audit: .* wrong at full trust 0$' \
    "$build/examples/audit" "$build/examples/walk_self"

example "make run TARGET=toy: managed frames with names" 'jit .*Toy\.' mk/run.sh "$build" toy
# crash STATUS "HOW" WORDS...: the process dies of its signal; the words stand in the lines in this order, all walks end at a root
crash() {
    wanted=$1
    how=$2
    shift 2
    # A shell of its own, without a core and without its report of the signal
    sh -c 'ulimit -c 0; "$0" $1; exit $?' "$build/examples/crash_handler" "$how" >"$out" 2>&1
    code=$?
    if [ "$code" -eq "$wanted" ] && awk -v want="$*" '
            BEGIN { count = split(want, words) }
            /cannot be stopped/ { bad = 1 }
            index($0, words[seen + 1]) { seen++ }
            /^thread / { threads++ }
            /^  ended: / { ended++; bad = bad || $2 != "root" }
            END { exit bad || seen < count || threads < 3 || ended != threads }' "$out"; then
        echo "ok - crash_handler $how: the stacks of all threads, and the signal it dies of"
    else
        echo "not ok - crash_handler $how: ended with $code"
        head -n 40 "$out" | sed 's/^/# /'
        status=1
    fi
}
crash 139 "null" SIGSEGV call_null+ crash+ main+ spin+ spinner+ sleep_on+ sleeper+
crash 139 "overflow" SIGSEGV recurse+ frames recurse+ overflow+ crash+ main+ spin+ sleep_on+
crash 134 "abort" SIGABRT abort+ give_up+ crash main+ spin+ sleep_on+
crash 139 "overflow worker" recurse+ frames overflow+ crash+ crasher+ main+ spin+ sleep_on+

if command -v dotnet >/dev/null 2>&1; then
    example "make run TARGET=dotnet: precompiled frames with names" 'ngen .*System\.Threading\.Thread\.Sleep' \
        mk/run.sh "$build" dotnet
    if grep -q '^  end: ' "$out" && ! grep '^  end: ' "$out" | grep -qv 'end: root'; then
        echo "ok - every thread of the .NET process is walked to its root"
    else
        echo "not ok - every thread of the .NET process is walked to its root"
        grep '^  end: ' "$out" | sort | uniq -c | sed 's/^/# /'
        status=1
    fi
else
    echo "ok - make run TARGET=dotnet # SKIP no dotnet command"
fi
exit $status
