#!/bin/sh
# arm64.sh BUILD TARGET...: make TARGET... for ARM64 in BUILD, with Debian's cross compiler against Debian's arm64 packages,
# which are unpacked beside it, in BUILD/../sysroot, for nobody else. The code signs its return addresses where the processor
# does that. Status 77, and why, where that cannot be: a compiler or packages are missing. PACKAGES: more of them.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$1
shift
sysroot=$(cd "$build/.." && pwd)/sysroot

if ! command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then
    echo "no aarch64-linux-gnu-gcc command (package gcc-aarch64-linux-gnu)"
    exit 77
fi
mk/sysroot.sh arm64 "$sysroot" libc6-dev libzydis-dev libelf-dev liblzma-dev libcmocka-dev libgcc-s1 ${PACKAGES:-} >"$build/sysroot.log" 2>&1 || {
    tail -n 1 "$build/sysroot.log"
    exit 77
}
exec make --no-print-directory -j"$(nproc 2>/dev/null || echo 1)" BUILD="$build" \
    CC="aarch64-linux-gnu-gcc --sysroot=$sysroot" AR=aarch64-linux-gnu-ar \
    CFLAGS="${CFLAGS:--O2 -g} -mbranch-protection=standard" "$@"
