#!/bin/sh
# clrmd.sh BUILD: what `make clrmd` does when BUILD/examples is built. A .NET process is stopped with SIGSTOP, some times
# over; each time `snapstacks`, ClrMD and eu-stack look at the same instant of it. test/clrmd/README.md has the rules.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(cd "$1" && pwd)
. mk/sample.sh
instants=${INSTANTS:-12}

if ! command -v dotnet >/dev/null 2>&1; then
    echo "clrmd: skipped: no dotnet command"
    exit 0
fi
have_dotnet || fail "the .NET SDK 10 is needed; dotnet --list-sdks names none"

# Nothing runs between the stop and the last tool: a thread that ran would show other registers to each of them.
stop_sample() {
    kill -STOP "$sample"
    while grep -h '^State:' /proc/"$sample"/task/*/status | grep -qv 'T (stopped)'; do
        sleep 0.01
    done
}

look() {
    "$build/tools/snapstacks/snapstacks" --plain "$sample" >"$work/ours.$1"
    if command -v eu-stack >/dev/null 2>&1; then
        cp /proc/"$sample"/maps "$work/maps.$1"
        eu-stack -n 0 -p "$sample" >"$work/eu.$1" 2>/dev/null || :
    fi
    dotnet "$build/dotnet/clrmd/clrmd.dll" "$sample" "$work/ours.$1" >"$work/clrmd.$1" || :
    grep -q '^clrmd: ' "$work/clrmd.$1" || fail "the referee failed"
}

dotnet_build examples/dotnet sample
dotnet_build test/clrmd clrmd
start_sample env DOTNET_PerfMapEnabled=3 dotnet "$build/dotnet/sample/sample.dll" 3600

# Whether there is a thread that the referee has seen in no instant: on a busy machine a thread may stand where it stood.
unseen() {
    cat "$work"/clrmd.[0-9]* | awk -f mk/sum.awk -v what=clrmd -v verb=identical | grep -q ' never seen by the referee: '
}

instant=1
while [ "$instant" -le "$instants" ] || { [ "$instant" -le $((10 * instants)) ] && unseen; }; do
    stop_sample
    look "$instant"
    kill -CONT "$sample"
    sleep 0.2
    instant=$((instant + 1))
done

status=0
if command -v eu-stack >/dev/null 2>&1; then
    for i in $(seq $((instant - 1))); do
        awk -v maps="$work/maps.$i" -f mk/eu-stack.awk "$work/ours.$i" "$work/eu.$i"
    done | awk -f mk/sum.awk -v what=eu-stack -v verb=agree || status=1
else
    echo "eu-stack: skipped: no eu-stack command (package elfutils)"
fi
cat "$work"/clrmd.[0-9]* | awk -f mk/sum.awk -v what=clrmd -v verb=identical || status=1
exit $status
