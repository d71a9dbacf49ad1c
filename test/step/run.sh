#!/bin/sh
# run.sh BUILD: the single-step test. Compiles the tool against BUILD/libsnapwalk.a and the programs, steps them all, and
# prints TAP; the last line sums up. BUDGET=1: with the default budget, after preparing what it cut. FULL=1: every way of compiling, every instruction each time it is met.
set -eu
cd "$(dirname "$0")/../.."
build=${1:?run.sh BUILD}
. mk/step.sh
step_tool x64 "$build/test/step/step" test/step/step.c
# shellcheck disable=SC2046
set -- $(test/step/build.sh "$build/test/step/programs")
limited=
[ "${BUDGET:-0}" = 0 ] || limited=-b
# shellcheck disable=SC2086
if [ "${FULL:-0}" = 1 ]; then
    exec "$build/test/step/step" $limited -s 1 -l 1 "$@"
fi
# shellcheck disable=SC2086
exec "$build/test/step/step" $limited "$@"
