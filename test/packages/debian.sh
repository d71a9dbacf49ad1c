#!/bin/sh
# debian.sh BUILD: the Debian packages of the last commit: built by dpkg-buildpackage, looked at by lintian, unpacked into a folder;
# a program is built against what is there, and the tools run. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "$1"
build=$(cd "$1" && pwd)
out=$build/debian
rm -rf "$out"
mkdir -p "$out/root"
. test/support/tap.sh
command -v dpkg-query >/dev/null 2>&1 || { skip "Debian packages" "no Debian system"; exit 0; }
mk/deps.sh debian >"$out/seen" 2>&1 || {
    skip "Debian packages" "debhelper and lintian cannot be installed: $(tail -n 1 "$out/seen")"
    exit 0
}

mkdir "$out/snapwalk" && git archive HEAD | tar x -C "$out/snapwalk" &&
    (cd "$out/snapwalk" && dpkg-buildpackage -us -uc -b) >"$out/seen" 2>&1
verdict $? "dpkg-buildpackage builds the packages"
[ "$(cd "$out" && ls *.deb | sed 's/_.*//' | grep -v dbgsym | sort | tr '\n' ' ')" = 'libsnapwalk-dev libsnapwalk-doc libsnapwalk0 snapwalk-tools ' ]
verdict $? "they are libsnapwalk0, libsnapwalk-dev, libsnapwalk-doc and snapwalk-tools"
# The project has no mail host of its own: who uploads the packages puts theirs in.
lintian --fail-on error,warning --suppress-tags bogus-mail-host,bogus-mail-host-in-debian-changelog "$out"/*.changes >"$out/seen" 2>&1
verdict $? "lintian finds no error and no warning"

for package in "$out"/*.deb; do
    dpkg-deb -x "$package" "$out/root" || status=1
done
MANPATH=$out/root/usr/share/man MANPAGER=cat man 3 sw_walk_next >"$out/seen" 2>&1 && grep -q 'SYNOPSIS' "$out/seen" &&
    [ -s "$out/root/usr/share/doc/libsnapwalk-doc/html/index.html" ]
verdict $? "man has the page of a function, and the reference is there as HTML"
lib=$(dirname "$(find "$out/root/usr/lib" -name 'libsnapwalk.so.0' | head -n 1)")
cat >"$out/walk.c" <<'END'
#include <snapwalk/snapwalk.h>
#include <stdio.h>
static bool show(void *arg, const struct sw_frame *frame, const char *name, uint64_t offset)
{
    (void)arg, (void)frame, (void)offset;
    return puts(name) >= 0;
}
int main(void)
{
    enum sw_stop stop;
    return sw_here(NULL, show, NULL, &stop) || stop != SW_STOP_ROOT;
}
END
gcc "$out/walk.c" $(PKG_CONFIG_SYSROOT_DIR="$out/root" PKG_CONFIG_PATH="$lib/pkgconfig" pkg-config --cflags --libs snapwalk) \
    -o "$out/walk" >"$out/seen" 2>&1 && LD_LIBRARY_PATH=$lib "$out/walk" >"$out/seen" 2>&1 && grep -qx main "$out/seen"
verdict $? "a program is built by pkg-config, and walks to the root"
"$out/root/usr/bin/snapstacks" --version >"$out/seen" 2>&1 && "$out/root/usr/bin/snapwalk-profiler" --help >>"$out/seen" 2>&1 &&
    "$out/root/usr/bin/snapwalk-profile-convert" --version >>"$out/seen" 2>&1
verdict $? "the tools run"
exit $status
