#!/bin/sh
# minimal.sh BUILD: the library without libelf and liblzma is installed, headers in a folder of their own, and a program is built
# against it. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "$1"
out=$(cd "$1" && pwd)/minimal
rm -rf "$out/root"
mkdir -p "$out"
. test/support/tap.sh
command -v pkg-config >/dev/null 2>&1 || { skip "a minimal build" "no pkg-config command"; exit 0; }

make --no-print-directory -j"$(nproc 2>/dev/null || echo 1)" BUILD="$out/build" MINIMAL=1 CFLAGS=-O0 PREFIX="$out/root" \
    INCLUDEDIR="$out/root/headers" install-lib >"$out/seen" 2>&1
verdict $? "a minimal build is installed"
# shellcheck disable=SC2046
gcc -std=c11 examples/walk_self.c $(PKG_CONFIG_PATH=$out/root/lib/pkgconfig pkg-config --cflags --libs --static snapwalk) \
    -L"$out/root/lib" -l:libsnapwalk.a -o "$out/walk" >"$out/seen" 2>&1 &&
    LD_LIBRARY_PATH=$out/root/lib "$out/walk" >"$out/seen" 2>&1 && grep -qx "ended: root" "$out/seen"
verdict $? "its program walks to the root by the tables that are mapped"
readelf -d "$out/root/lib/libsnapwalk.so" "$out/walk" >"$out/seen" 2>&1 && ! grep -qE 'NEEDED.*(libelf|liblzma)' "$out/seen"
verdict $? "neither the shared library nor the program needs libelf or liblzma"
exit $status
