#!/bin/sh
# install.sh BUILD: `make windows-install`, and a program built by its pkg-config file and by its CMake package, run by
# Wine; the public headers and the portable sources as a compiler with Microsoft's ABI sees them. TAP.
set -u
cd "$(dirname "$0")/../.."
. test/support/wine.sh
build=${1:-build}/windows
cc=x86_64-w64-mingw32-gcc
status=0

skip() {
    echo "ok - $1 # SKIP $2"
    exit $status
}

# verdict NAME LOG: ok where the command before was
verdict() {
    if [ $? -eq 0 ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        tail -n 12 "$2" | sed 's/^/# /'
        status=1
    fi
}

mkdir -p "$build"
build=$(cd "$build" && pwd)
at=$build/install log=$build/install.log
rm -rf "$at"
mkdir -p "$at/cmake"
mk/windows.sh "$build" install-for-windows PREFIX=/usr LIBDIR=/usr/lib/some INCLUDEDIR=/usr/headers DESTDIR="$at" >"$log" 2>&1
code=$?
[ $code -ne 77 ] || skip "the installed library for Windows" "$(tail -n 1 "$log")"
[ $code -eq 0 ]
verdict "it is installed" "$log"

# Headers alone: one by one, without any of an operating system. Sources: with mingw-w64's headers for C.
if command -v clang >/dev/null 2>&1; then
    microsoft="clang --target=x86_64-pc-windows-msvc -DSNAPWALK_WITHOUT_WINDOWS_H -fsyntax-only -Iinclude -Ilib -Isrc"
    for header in include/snapwalk/*.h; do
        echo "#include <${header#include/}>" >"$at/one.c"
        $microsoft -ffreestanding -std=c11 -Wall -Wextra -Werror "$at/one.c" &&
            $microsoft -ffreestanding -std=c++17 -Wall -Wextra -Werror -x c++ "$at/one.c" || echo "$header"
    done >"$log" 2>&1
    [ ! -s "$log" ]
    verdict "clang for Microsoft's ABI takes each public header, as C and as C++" "$log"
    find lib src -name '*.c' ! -path '*/linux/*' ! -path '*/windows/*' ! -path 'lib/elf/*' |
        while read -r source; do
            $microsoft -std=c11 -Wall -Wextra -Werror -DNDEBUG -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -isystem "$build/zydis/include" \
                -isystem /usr/share/mingw-w64/include "$source" || echo "$source"
        done >"$log" 2>&1
    [ ! -s "$log" ]
    verdict "and each portable source" "$log"
    # To objects, so that the assembly language in them is assembled for that ABI too. mingw-w64's windows.h is for GNU C
    # only: without a version of it, it defines __attribute__ away, which clang's own intrinsics then lack.
    for source in src/target/windows/*.c src/clr/windows/*.c; do
        ${microsoft%-fsyntax-only*} -fgnuc-version=4.2.1 -std=c11 -Wall -Wextra -Werror -D_WIN32_WINNT=0x0602 -DWIN32_LEAN_AND_MEAN \
            -Iinclude -Ilib -Isrc -isystem /usr/share/mingw-w64/include -c -o "$at/one.o" "$source" || echo "$source"
    done >"$log" 2>&1
    [ ! -s "$log" ]
    verdict "and each source for Windows, to an object" "$log"
fi
for header in windows.h unknwn.h; do
    for order in "$header snapwalk/corprof.h" "snapwalk/corprof.h $header" "snapwalk/snapwalk.h $header"; do
        # shellcheck disable=SC2086
        printf '#include <%s>\n' $order >"$at/one.c"
        printf 'static const HRESULT hr = S_OK;\nint main(void)\n{\n    return hr + (sizeof(IUnknown) != sizeof(void *));\n}\n' >>"$at/one.c"
        $cc -Wall -Wextra -Werror -Iinclude -fsyntax-only "$at/one.c" >"$log" 2>&1 &&
            $cc -Wall -Wextra -Werror -Iinclude -fsyntax-only -x c++ "$at/one.c" >>"$log" 2>&1
        verdict "in the order $order, as C and as C++" "$log"
    done
done

if command -v pkg-config >/dev/null 2>&1; then
    pc="env PKG_CONFIG_PATH= PKG_CONFIG_LIBDIR=$at/usr/lib/some/pkgconfig PKG_CONFIG_SYSROOT_DIR=$at pkg-config"
    # shellcheck disable=SC2046
    $cc -std=c11 $($pc --cflags snapwalk) examples/walk_self.c -Wl,--export-all-symbols $($pc --libs snapwalk) -static \
        -o "$at/by_pc.exe" >"$log" 2>&1
    verdict "a program is built by the pkg-config file" "$log"
fi
if command -v cmake >/dev/null 2>&1; then
    cat >"$at/cmake/CMakeLists.txt" <<EOF
cmake_minimum_required(VERSION 3.16)
project(by_cmake C)
find_package(snapwalk 0.2 REQUIRED CONFIG)
add_executable(by_cmake $PWD/examples/walk_self.c)
target_link_libraries(by_cmake PRIVATE snapwalk::snapwalk)
target_link_options(by_cmake PRIVATE -static -Wl,--export-all-symbols)
EOF
    cmake -S "$at/cmake" -B "$at/cmake/build" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_C_COMPILER=$cc \
        -Dsnapwalk_DIR="$at/usr/lib/some/cmake/snapwalk" >"$log" 2>&1 &&
        cmake --build "$at/cmake/build" >>"$log" 2>&1 && cp "$at/cmake/build/by_cmake.exe" "$at/"
    verdict "a program is built by the CMake package" "$log"
fi

find_wine || skip "the programs run" "no wine64 command (package wine64)"
use_wine "$at"
trap leave_wine EXIT
timeout 600 "$wine" cmd /c exit >/dev/null 2>&1 # makes the folder
[ -d "$WINEPREFIX/drive_c" ] || skip "the programs run" "wine64 runs no program here"
for program in "$at"/*.exe; do
    timeout 600 "$wine" "$program" >"$log" 2>&1 && grep -q '^ended: root' "$log"
    verdict "$(basename "$program") walks to the root" "$log"
done
exit $status
