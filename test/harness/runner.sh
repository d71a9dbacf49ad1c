#!/bin/sh
# runner.sh BUILD: clr-in-a-tube says what happened, and ends accordingly; then all scenarios (mk/tube.sh).
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
runner=$build/examples/clr-in-a-tube/clr-in-a-tube
out=$build/log/runner
PROFILERS=$build/examples/clr-in-a-tube/profilers
export PROFILERS
rm -rf "$out"
mkdir -p "$out"
status=0

verdict() {
    if [ "$1" = 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        sed 's/^/# /' "$out/said"
        status=1
    fi
}

# says NAME EXIT PATTERN OPTION...: it ends with that status, and a line of what it says matches
says() {
    name=$1
    wanted=$2
    pattern=$3
    shift 3
    "$runner" "$@" >"$out/said" 2>&1
    got=$?
    [ "$got" = "$wanted" ] && grep -qE "$pattern" "$out/said"
    verdict $? "$name"
}

begin='start
module Demo.dll
function Demo.dll P Main
thread main
call main P.Main'
script() { printf '%s\n' "$2" >"$out/$1.tube"; }

script good "$begin"
script nonsense 'start
fly me to the moon'
script heading 'flavour vanilla'
script crash "environment MISBEHAVE null
profiler \$PROFILERS/misbehaver.so
$begin"
script other "outcome crash SIGBUS
environment MISBEHAVE null
profiler \$PROFILERS/misbehaver.so
$begin"
script hang "environment MISBEHAVE hang
profiler \$PROFILERS/misbehaver.so
$begin"
script leak "environment RULE leaked-reference
profiler \$PROFILERS/rulebreaker.so
$begin
run main BreakRule
shutdown"
script release "environment RULE late-call-in-release
profiler \$PROFILERS/rulebreaker.so
$begin
shutdown
expect conduct none"
script flavours "$begin
expect stack main E_NOTIMPL"
script longer "$begin
snapshot main"
printf 'start\n\0\n' >"$out/zero.tube"
awk 'BEGIN {
    print "start\nmodule Demo.dll"
    for (i = 0; i < 100000; i++) print "function Demo.dll P" int(i / 100) " F" i
    for (t = 0; t < 1000; t++) print "thread t" t "\ncall t" t " P" t ".F" t * 100
    print "expect stack t999 \"P999.F99900 < [native]\"\nshutdown"
}' >"$out/large.tube"

says "a scenario that is done ends with 0" 0 '^.*good.tube: as expected: done, 5 steps$' "$out/good.tube"
says "a scenario that makes no sense says where" 1 'nonsense.tube:2: fly: there is no such statement' "$out/nonsense.tube"
says "a heading that makes no sense is not played" 2 'heading.tube:1: flavour: takes documented' "$out/heading.tube"
says "a crash is told with its signal" 1 'crash.tube: not as expected: crashed with SIGSEGV' "$out/crash.tube"
says "a crash is told with its step" 1 'in the step .*crash.tube:7: call main P.Main$' "$out/crash.tube"
says "a crash is told with the last callback" 1 'thread main: callback JITCompilationStarted$' "$out/crash.tube"
says "a crash is told with the last call" 1 'last: +thread main: call GetFunctionInfo$' "$out/crash.tube"
says "another crash than expected is told" 1 'it should have crashed SIGBUS' "$out/other.tube"
says "what hangs is ended in time" 1 'hung for 1 s' --timeout 1 "$out/hang.tube"
says "a broken rule is not as expected" 1 'broke leaked-reference: .* times' "$out/leak.tube"
says "a rule that is broken after the last step is told" 1 'broke, at the very end: .*late-call' "$out/release.tube"
says "the flavour can be chosen" 0 'as expected' --flavour coreclr-unix "$out/flavours.tube"
says "another flavour answers otherwise" 1 'frame 0 is P.Main, not E_NOTIMPL' "$out/flavours.tube"
says "a flavour that is none is refused" 2 'there is no flavour vanilla' --flavour vanilla "$out/good.tube"
says "a snapshot is shown" 0 '^    main: P.Main < \[native\]$' "$out/longer.tube"
says "a thousand threads and a hundred thousand functions are a scenario" 0 'done, 102004 steps$' "$out/large.tube"
says "scenarios are counted" 1 '^2 of 3 scenarios as expected$' "$out/good.tube" "$out/crash.tube" "$out/longer.tube"
says "a file with a zero byte is refused" 2 'zero.tube:2: a zero byte' "$out/zero.tube"
says "a file that is not there is refused" 2 'nowhere.tube: No such file' "$out/nowhere.tube"
says "without a script it says how it is used" 2 '^usage: clr-in-a-tube'
says "an unknown option is refused" 2 '^usage: clr-in-a-tube' --fast "$out/good.tube"
says "a recording is of one script" 2 '^usage: clr-in-a-tube' --record "$out/x" "$out/good.tube" "$out/longer.tube"
says "a recording is written" 0 'as expected' --simulated --record "$out/recording" "$out/good.tube"
says "the same again is no difference" 0 'as expected' --simulated --compare "$out/recording" "$out/good.tube"
sed 's/P Main/P Min/' "$out/recording" >"$out/changed"
says "a difference is told" 1 'differs .*: thread conductor, line [0-9]+: function: with was "Demo.dll P Min", is "Demo.dll P Main"' \
    --simulated --compare "$out/changed" "$out/good.tube"
says "an earlier recording that is not there is told" 2 'nowhere: No such file' --compare "$out/nowhere" "$out/good.tube"

# What only answers callbacks calls the same from run to run, on real threads and simulated ones.
OUT=$out
export OUT
for scenario in allocations hooks attach prober; do
    path=examples/clr-in-a-tube/scenarios/$scenario.tube
    says "$scenario is recorded" 0 'as expected' --record "$out/$scenario" "$path"
    says "$scenario calls the same again" 0 'as expected' --compare "$out/$scenario" "$path"
    says "$scenario calls the same on simulated threads" 0 'as expected' --simulated --compare "$out/$scenario" "$path"
done

mk/tube.sh "$build" >"$out/said" 2>&1
verdict $? "all scenarios are as expected: $(tail -n 1 "$out/said")"
exit $status
