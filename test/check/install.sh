#!/bin/sh
# make install into a folder of its own; the program in README.md is compiled against that and run.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
root=$(cd "$build" && pwd)/installed
status=0
rm -rf "$root"
mkdir -p "$root" "$build/log"

verdict() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        sed 's/^/# /' "$build/log/install.out" | tail -n 10
        status=1
    fi
}

# test/bindings/run.sh makes it, too.
flock "$build/shared.lock" make --no-print-directory -j"$(nproc)" BUILD="$build" shared >"$build/log/install.out" 2>&1 &&
    make --no-print-directory BUILD="$build" PREFIX=/opt/sw LIBDIR=/opt/sw/lib/some DESTDIR="$root/a folder" install \
    >"$build/log/install.out" 2>&1
verdict $? "make install PREFIX LIBDIR DESTDIR"
rm -rf "$root/sw"
mv "$root/a folder/opt/sw" "$root/sw"
lib=$root/sw/lib/some
[ -f "$lib/libsnapwalk.a" ] && [ -f "$lib/libsnapwalk.so" ] && [ -f "$root/sw/include/snapwalk/walk.h" ] &&
    grep -q '^libdir=/opt/sw/lib/some$' "$lib/pkgconfig/snapwalk.pc"
verdict $? "libraries, headers and snapwalk.pc are where they belong"
"$root/sw/bin/snapstacks" --version >"$build/log/install.out" 2>&1 && grep -q '^snapstacks [0-9]' "$build/log/install.out" &&
    [ -f "$root/sw/share/man/man1/snapstacks.1" ]
verdict $? "snapstacks runs, and has its man page"

printf 'main;read 5\n' | "$root/sw/bin/snapwalk-profile-convert" - "$root/a.pb.gz" >"$build/log/install.out" 2>&1 &&
    "$root/sw/bin/snapwalk-profile-convert" "$root/a.pb.gz" "$root/a.folded" >"$build/log/install.out" 2>&1 &&
    grep -qx 'main;read 5' "$root/a.folded" && [ -f "$root/sw/share/man/man1/snapwalk-profile-convert.1" ]
verdict $? "snapwalk-profile-convert runs, and has its man page"

# flags OPTION... PACKAGE...: what pkg-config says, of where the files are now
flags() {
    PKG_CONFIG_PATH=$lib/pkgconfig pkg-config --define-variable=libdir="$lib" --define-variable=includedir="$root/sw/include" \
        --cflags --libs "$@"
}

# runs PROGRAM LAST-LINE: it ends well, and that is one of its lines
runs() {
    LD_LIBRARY_PATH=$lib "$1" >"$build/log/install.out" 2>&1 && grep -qxF "$2" "$build/log/install.out"
}

# The one indented block of README.md that includes a header, without its indentation.
awk '/^    #include <snapwalk/ { on = 1 } on && /^[^ ]/ { exit } on { sub(/^    /, ""); print }' README.md |
    sed '/^cc walk.c/d' >"$root/walk.c"
lines=$(grep -c . "$root/walk.c")
how="gcc -std=c11 -Wall -Wextra -Werror"
if ! command -v pkg-config >/dev/null 2>&1; then
    echo "ok - programs against what was installed # SKIP no pkg-config command"
    exit $status
fi
$how "$root/walk.c" $(flags snapwalk) -o "$root/walk" >"$build/log/install.out" 2>&1 && runs "$root/walk" "ended: root" &&
    readelf -d "$root/walk" | grep -q 'NEEDED.*libsnapwalk[.]so[.]0'
verdict $? "README's program ($lines lines) compiles against the shared library, and walks to the root"
$how "$root/walk.c" $(flags --static snapwalk | sed 's/-lsnapwalk/-l:libsnapwalk.a/') -o "$root/walk" >"$build/log/install.out" 2>&1 &&
    runs "$root/walk" "ended: root" && ! nm -D --defined-only "$root/walk" | grep -q sw_
verdict $? "and against the archive, of which nothing is visible"
if command -v cmake >/dev/null 2>&1; then
    mkdir -p "$root/cmake"
    cat >"$root/cmake/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.16)
project(by_cmake C)
find_package(snapwalk 0.2 REQUIRED CONFIG)
foreach(target snapwalk static)
    add_executable(by_${target} ../walk.c)
    target_link_libraries(by_${target} PRIVATE snapwalk::${target})
endforeach()
END
    cmake -S "$root/cmake" -B "$root/cmake/build" -DCMAKE_C_COMPILER=gcc -Dsnapwalk_DIR="$lib/cmake/snapwalk" \
        >"$build/log/install.out" 2>&1 && cmake --build "$root/cmake/build" >>"$build/log/install.out" 2>&1
    verdict $? "the CMake package, moved since, builds a program of each library"
    runs "$root/cmake/build/by_snapwalk" "ended: root" && readelf -d "$root/cmake/build/by_snapwalk" | grep -q 'NEEDED.*libsnapwalk[.]so[.]0' &&
        runs "$root/cmake/build/by_static" "ended: root" && ! readelf -d "$root/cmake/build/by_static" | grep -q libsnapwalk
    verdict $? "and both walk to the root"
else
    echo "ok - the CMake package # SKIP no cmake command (package cmake)"
fi

# Public functions: those of the headers, but for the harness, which is an archive of its own.
public=$(cat $(ls "$root"/sw/include/snapwalk/*.h | grep -v /harness.h) | sed -nE 's/^SW_API .*\b(sw_[a-z0-9_]+)\(.*/\1/p' | sort -u)
visible=$(nm -D --defined-only "$lib/libsnapwalk.so" | awk '$2 == "T" { sub(/@@SNAPWALK_0$/, "", $3); print $3 }' | sort -u)
[ -n "$public" ] && [ "$public" = "$visible" ]
verdict $? "the shared library exports the $(echo "$public" | wc -l) public functions, as SNAPWALK_0"

# The harness is found by pkg-config, with all that it needs, and the program of its header's first lines runs.
cat >"$root/tube.c" <<'END'
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
$how "$root/tube.c" $(flags snapwalk-harness snapwalk) -o "$root/tube" >"$build/log/install.out" 2>&1 &&
    runs "$root/tube" 'Demo.Program.Main < [native]'
verdict $? "a program of the harness is built with pkg-config's flags, and runs"

# Where nobody looks for it, that is said.
mk/found.sh "$lib" libsnapwalk.so.0 >"$build/log/install.out" 2>&1 && { ! ldconfig -p >/dev/null 2>&1 || grep -qF "LD_LIBRARY_PATH=$lib" "$build/log/install.out"; }
verdict $? "a folder in which the dynamic linker does not look is said"

# Static programs need an archive of the decoder.
mk/zydis.sh "$build" >"$build/log/install.out" 2>&1
case $? in
77) echo "ok - programs linked with -static and -static-pie # SKIP $(cat "$build/log/install.out")" ;;
0)
    cp "$build/zydis/libZydis.a" "$lib/"
    for how_static in -static -static-pie; do
        $how $how_static "$root/walk.c" $(flags --static snapwalk) -o "$root/static" >"$build/log/install.out" 2>&1 &&
            runs "$root/static" "ended: root" && ! readelf -d "$root/static" 2>/dev/null | grep -q NEEDED
        verdict $? "a program linked with $how_static by pkg-config's flags needs no library, and walks to the root"
    done
    rm "$lib/libZydis.a"
    ;;
*) verdict 1 "the decoder's archive is built" ;;
esac

mv "$root/sw" "$root/a folder/opt/sw"
# A card that Doxygen does not understand, or a public function without a page, ends it.
if command -v doxygen >/dev/null 2>&1; then
    make --no-print-directory BUILD="$build" PREFIX=/opt/sw DESTDIR="$root/a folder" install-docs >"$build/log/install.out" 2>&1 &&
        [ -s "$root/a folder/opt/sw/share/doc/snapwalk/html/index.html" ] &&
        grep -q 'entries' "$root/a folder/opt/sw/share/man/man3/snapwalk_cache.h.3"
    verdict $? "make install-docs: pages of man and HTML"
else
    echo "ok - make install-docs: pages of man and HTML # SKIP no doxygen command"
fi
make --no-print-directory BUILD="$build" PREFIX=/opt/sw LIBDIR=/opt/sw/lib/some DESTDIR="$root/a folder" uninstall \
    >"$build/log/install.out" 2>&1 && [ -z "$(find "$root/a folder" ! -type d | tee -a "$build/log/install.out")" ]
verdict $? "make uninstall leaves nothing"

export XZ_OPT=-1 # soon done; the same for both
make --no-print-directory BUILD="$build" dist >"$build/log/install.out" 2>&1 &&
    cp "$build"/snapwalk-*.tar.xz "$root/first" && export XZ_OPT=-1 # soon done; the same for both
make --no-print-directory BUILD="$build" dist >"$build/log/install.out" 2>&1 &&
    cmp "$build"/snapwalk-*.tar.xz "$root/first" >"$build/log/install.out" 2>&1 && git show HEAD:Makefile >"$root/Makefile" && tar xJOf "$root/first" --wildcards '*/Makefile' |
    cmp - "$root/Makefile" >"$build/log/install.out" 2>&1
verdict $? "make dist gives the same bytes twice"
exit $status
