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

# What docs/packaging.md tells a packager to type, in these folders
page() { sed -n '/^```sh$/,/^```$/p' docs/packaging.md | sed -e '/^```/d' -e "s|/var/tmp/build|'$out/outside'|" -e "s|/var/tmp/root|'$out/root'|"; }
eval "$(page | grep '^export ')"
made="libsnapwalk.a libsnapwalk.so libsnapwalk-harness.a libsnapwalk-profiler.so tools/snapstacks/snapstacks tools/snapwalk-profiler
    tools/snapwalk-profile-convert examples/clr-in-a-tube/clr-in-a-tube"

git archive HEAD | tar x -C "$out/a folder" &&
    make --no-print-directory -C "$out/a folder" -j"$(nproc 2>/dev/null || echo 1)" archive harness shared tools tube-programs >"$out/seen" 2>&1
verdict $? "a build in a folder with a space in its name"
page >"$out/page"
git archive HEAD | tar x -C "$out/another/of another length" && (cd "$out/another/of another length" && sh -e "$out/page") >"$out/seen" 2>&1
verdict $? "what docs/packaging.md says, in another folder, outside the tree, does so"
(
    cd "$out/root/usr" && grep -q '^libdir=/usr/lib64$' lib64/pkgconfig/snapwalk.pc && [ -x bin/clr-in-a-tube ] && [ -f share/man/man3/sw_here.3 ] &&
        [ -f share/man/man7/snapwalk.7 ] && [ -f share/doc/snapwalk/html/index.html ] && [ -f lib64/libsnapwalk.so.0 ]
)
verdict $? "and installs what it says"
(cd "$out/another/of another length" && find . -type f | sort) >"$out/after" &&
    git archive HEAD | tar t | grep -v '/$' | sed 's|^|./|' | sort | diff - "$out/after" >"$out/seen" 2>&1
verdict $? "a build outside the tree leaves the tree as it was"
for file in $made; do
    cmp "$out/a folder/build/$file" "$out/outside/$file" >"$out/seen" 2>&1
    verdict $? "$file: the same bytes"
done
for file in libsnapwalk.so libsnapwalk-profiler.so tools/snapstacks/snapstacks tools/snapwalk-profiler tools/snapwalk-profile-convert \
    examples/clr-in-a-tube/clr-in-a-tube; do
    { readelf -lW "$out/outside/$file" && readelf -dW "$out/outside/$file" && nm -D "$out/outside/$file"; } >"$out/seen" 2>&1
    grep -q GNU_RELRO "$out/seen" && grep -qE 'BIND_NOW|FLAGS_1.*NOW' "$out/seen" && grep -q __stack_chk_fail "$out/seen" &&
        grep -qE ' U __[a-z]+_chk@' "$out/seen" && ! grep -qE 'GNU_STACK.*E ' "$out/seen"
    verdict $? "$file: hardened, as the flags say"
done
exit $status
