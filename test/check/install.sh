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

# The harness is found by pkg-config, with all that it needs, and the program of its header's first lines runs.
cat >"$build/installed/tube.c" <<'END'
#include <snapwalk/harness.h>
#include <stdio.h>
int main(void)
{
    char text[256];
    struct sw_tube *tube;
    if (sw_tube_create(NULL, &tube) != SW_OK)
        return 1;
    sw_tube_start(tube);
    struct sw_tube_function *entry = sw_tube_function_add(sw_tube_module_load(tube, "Demo.dll"), "Demo.Program", "Main", 0);
    struct sw_tube_thread *thread = sw_tube_thread_start(tube, "main");
    sw_tube_call(thread, entry);
    sw_tube_stack(thread, text, sizeof text);
    puts(text);
    sw_tube_destroy(tube);
    return 0;
}
END
if command -v pkg-config >/dev/null 2>&1; then
    flags=$(PKG_CONFIG_PATH="$root/opt/sw/lib/pkgconfig" pkg-config --define-variable=prefix="$root/opt/sw" --cflags --libs \
        snapwalk-harness snapwalk 2>"$build/log/install.out")
    gcc -std=c11 -Wall -Wextra -Werror "$build/installed/tube.c" $flags -o "$build/installed/tube" >"$build/log/install.out" 2>&1 &&
        "$build/installed/tube" >"$build/log/install.out" 2>&1 &&
        grep -qxF 'Demo.Program.Main < [native]' "$build/log/install.out"
    verdict $? "a program of the harness is built with pkg-config's flags, and runs"
else
    echo "ok - a program of the harness is built with pkg-config's flags # SKIP no pkg-config command"
fi
exit $status
