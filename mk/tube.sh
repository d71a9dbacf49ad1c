#!/bin/sh
# tube.sh BUILD: plays every scenario, each with the profiler that it names. Last line: tube: N of N scenarios as expected.
set -u
cd "$(dirname "$0")/.."
build=${1:-build}
programs=$build/examples/clr-in-a-tube
OUT=$build/log/tube
export OUT
rm -rf "$OUT"
mkdir -p "$OUT"
good=0
all=0

# play OPTIONS PROFILERS SCRIPT...: what is not as expected is shown.
play() {
    options=$1
    PROFILERS=$2
    export PROFILERS
    shift 2
    for script in "$@"; do
        all=$((all + 1))
        log=$OUT/$(basename "$script").log
        # shellcheck disable=SC2086
        if "$programs/clr-in-a-tube" $options "$script" >"$log" 2>&1; then
            good=$((good + 1))
            head -n 1 "$log"
        else
            grep -v ' scenarios as expected$' "$log"
        fi
    done
}

play "" "$programs/profilers" examples/clr-in-a-tube/scenarios/*.tube test/harness/scenarios/*.tube
play "" "$programs/guide" examples/clr-in-a-tube/guide/*.tube
# The profilers that work do so on simulated threads, too; one script says what differs between flavours.
play --simulated "$programs/profilers" examples/clr-in-a-tube/scenarios/*.tube
for flavour in coreclr-windows coreclr-unix; do
    play "--flavour $flavour" "$programs/profilers" examples/clr-in-a-tube/scenarios/flavours.tube
done

all=$((all + 1))
if "$programs/guide/test" "$programs/guide/profiler.so"; then
    good=$((good + 1))
fi
echo "tube: $good of $all scenarios as expected"
[ "$good" -eq "$all" ]
