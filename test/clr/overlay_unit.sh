#!/bin/sh
# overlay_unit.sh BUILD: the overlay without a runtime: forwarding of every slot on this machine, on ARM64 and on Windows,
# and what its faces tell whom. Needs BUILD/libsnapwalk.a.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}/clr"
build=$(cd "${1:-build}" && pwd)
out=$build/clr
. test/support/wine.sh
status=0
faces=$(ls examples/clr-overlay/*.c | grep -v /main.c)
export CMOCKA_MESSAGE_OUTPUT=TAP

# test_of NAME RUNNER COMPILER...: compiles to $out/NAME and runs it. Its TAP lines are this test's.
test_of() {
    name=$1
    runner=$2
    shift 2
    if ! "$@" -o "$out/$name" >"$out/$name.log" 2>&1; then
        echo "not ok - build of $name"
        head -n 10 "$out/$name.log" | sed 's/^/# /'
        status=1
    elif ! $runner "$out/$name"; then
        status=1
    fi
}

forward="-std=c++17 -Iinclude -Wall -Wextra -Werror test/clr/overlay_forward.cc examples/clr-overlay/forward.S"
test_of forward-O2 "" ${CXX:-g++} $forward -O2
test_of forward-O0 "" clang++ $forward -O0
if command -v aarch64-linux-gnu-g++ >/dev/null 2>&1 && command -v qemu-aarch64 >/dev/null 2>&1; then
    test_of forward-arm64 qemu-aarch64 aarch64-linux-gnu-g++ $forward -O2 -static
else
    echo "ok - forwarding on ARM64 # SKIP no aarch64-linux-gnu-g++ or qemu-aarch64"
fi
if command -v x86_64-w64-mingw32-g++ >/dev/null 2>&1 && look_for_wine; then
    find_wine && use_wine "$out"
    test_of forward-windows.exe "$wine" x86_64-w64-mingw32-g++ -DSNAPWALK_WITHOUT_WINDOWS_H $forward -O2 -static
    leave_wine
else
    echo "ok - forwarding on Windows # SKIP no x86_64-w64-mingw32-g++ or wine64"
fi

arm64=
if command -v aarch64-linux-gnu-gcc >/dev/null 2>&1; then
    for file in examples/clr-overlay/*.c examples/clr-overlay/forward.S; do
        aarch64-linux-gnu-gcc -std=c11 -D_GNU_SOURCE -Iinclude -Wall -Wextra -Werror -fPIC -O2 -c "$file" -o /dev/null \
            2>"$out/arm64.log" || arm64="$arm64 $file"
    done
    if [ -z "$arm64" ]; then echo "ok - the overlay compiles for ARM64"; else echo "not ok - ARM64:$arm64"; status=1; fi
else
    echo "ok - the overlay compiles for ARM64 # SKIP no aarch64-linux-gnu-gcc"
fi
c="-std=c11 -D_GNU_SOURCE -Iinclude -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror -pthread -g"
files="test/clr/overlay_faces.c $faces examples/clr-overlay/forward.S"
test_of faces "" ${CC:-gcc} $c -O2 $files "$build/libsnapwalk.a" -lcmocka
test_of faces-asan "" clang $c -O1 -fsanitize=address,undefined $files "$build/libsnapwalk.a" -lcmocka
exit $status
