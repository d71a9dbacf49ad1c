#!/bin/sh
# make install into a folder of its own; the program in README.md is compiled against that and run.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
root=$(cd "$build" && pwd)/installed
status=0
rm -rf "$root"

verdict() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        sed 's/^/# /' "$build/log/install.out" | tail -n 10
        status=1
    fi
}

make --no-print-directory BUILD="$build" PREFIX=/opt/sw DESTDIR="$root" install >"$build/log/install.out" 2>&1
verdict $? "make install PREFIX DESTDIR"
[ -f "$root/opt/sw/lib/libsnapwalk.a" ] && [ -f "$root/opt/sw/include/snapwalk/walk.h" ] &&
    grep -q '^prefix=/opt/sw$' "$root/opt/sw/lib/pkgconfig/snapwalk.pc"
verdict $? "archive, headers and snapwalk.pc are where they belong"

# The one indented block of README.md that includes a header, without its indentation.
awk '/^    #include <snapwalk/ { on = 1 } on && /^[^ ]/ { exit } on { sub(/^    /, ""); print }' README.md |
    sed '/^cc walk.c/d' >"$build/installed/walk.c"
lines=$(grep -c . "$build/installed/walk.c")
flags=$(sed -n -e 's/^Libs: //p' -e 's/^Cflags: //p' "$root/opt/sw/lib/pkgconfig/snapwalk.pc" |
    sed -e "s,\${libdir},$root/opt/sw/lib,g" -e "s,\${includedir},$root/opt/sw/include,g")
gcc -std=c11 -Wall -Wextra -Werror "$build/installed/walk.c" $flags -o "$build/installed/walk" >"$build/log/install.out" 2>&1 &&
    "$build/installed/walk" >"$build/log/install.out" 2>&1 && grep -q '^ended: root$' "$build/log/install.out"
verdict $? "README's program ($lines lines) compiles against what was installed, and walks to the root"
exit $status
