#!/bin/sh
# arm64.sh BUILD: the single-step test of ARM64: the programs compiled by cross compilers and stepped in qemu-aarch64 by its gdb
# stub, those with branch protection on a processor that signs addresses and checks them, the others on one that does not. TAP;
# the last lines sum up. FULL=1: every way of compiling, every instruction each time it is met.
set -eu
cd "$(dirname "$0")/../.."
build=${1:?arm64.sh BUILD}
skip() {
    echo "ok 1 - step arm64 # SKIP $*"
    exit 0
}
for tool in qemu-aarch64 aarch64-linux-gnu-gcc; do
    command -v "$tool" >/dev/null 2>&1 || skip "no $tool"
done
echo '#include <capstone/capstone.h>' | "${CC:-gcc}" -fsyntax-only -xc - 2>/dev/null || skip "no libcapstone-dev"
root=$build/arm64/sysroot
mk/sysroot.sh arm64 "$root" libc6 >&2 || skip "no ARM64 packages"
. mk/step.sh
step_tool arm64 "$build/test/step/arm64/step" test/step/step.c
all=
[ "${FULL:-0}" != 1 ] || all="-s 1 -l 1"
programs=$(MACHINE=arm64 test/step/build.sh "$build/test/step/arm64/programs")
status=0
# shellcheck disable=SC2046,SC2086
"$build/test/step/arm64/step" $all -x "$(command -v qemu-aarch64) -cpu max -L $root" \
    $(echo "$programs" | grep -e '-pac$') || status=1
# shellcheck disable=SC2046,SC2086
"$build/test/step/arm64/step" $all -x "$(command -v qemu-aarch64) -cpu cortex-a57 -L $root" \
    $(echo "$programs" | grep -v -e '-pac$') || status=1
exit $status
