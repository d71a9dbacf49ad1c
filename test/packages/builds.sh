#!/bin/sh
# builds.sh BUILD: the last commit, built in a folder with a space in its name and, from another, outside the tree, both with a
# distribution's flags: the same bytes, nothing written beside the sources, and what the flags ask for is in all that
# is installed. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "$1"
out=$(cd "$1" && pwd)/builds
rm -rf "$out"
mkdir -p "$out/a folder" "$out/another/of another length"
. test/support/tap.sh

export CPPFLAGS='-Wdate-time -D_FORTIFY_SOURCE=2' CFLAGS='-g -O2 -fstack-protector-strong -Wformat -Werror=format-security'
export LDFLAGS='-Wl,-z,relro -Wl,-z,now'
made="libsnapwalk.a libsnapwalk.so libsnapwalk-harness.a libsnapwalk-profiler.so tools/snapstacks/snapstacks tools/snapwalk-profiler"

# make_in FOLDER OPTION...
make_in() {
    folder=$1
    shift
    git archive HEAD | tar x -C "$folder" &&
        make --no-print-directory -C "$folder" -j"$(nproc 2>/dev/null || echo 1)" "$@" archive harness shared tools >"$out/seen" 2>&1
}
make_in "$out/a folder"
verdict $? "a build in a folder with a space in its name"
make_in "$out/another/of another length" BUILD="$out/outside" &&
    (cd "$out/another/of another length" && find . -type f | sort) >"$out/after" &&
    git archive HEAD | tar t | grep -v '/$' | sed 's|^|./|' | sort | diff - "$out/after" >"$out/seen" 2>&1
verdict $? "a build outside the tree leaves the tree as it was"
for file in $made; do
    cmp "$out/a folder/build/$file" "$out/outside/$file" >"$out/seen" 2>&1
    verdict $? "$file: the same bytes"
done
for file in libsnapwalk.so libsnapwalk-profiler.so tools/snapstacks/snapstacks tools/snapwalk-profiler; do
    { readelf -lW "$out/outside/$file" && readelf -dW "$out/outside/$file" && nm -D "$out/outside/$file"; } >"$out/seen" 2>&1
    grep -q GNU_RELRO "$out/seen" && grep -qE 'BIND_NOW|FLAGS_1.*NOW' "$out/seen" && grep -q __stack_chk_fail "$out/seen" &&
        grep -qE ' U __[a-z]+_chk@' "$out/seen" && ! grep -qE 'GNU_STACK.*E ' "$out/seen"
    verdict $? "$file: hardened, as the flags say"
done
exit $status
