#!/bin/sh
# cfi.sh BUILD: our CFI rules against libdw's, row by row: .eh_frame of this machine's libraries, and .debug_frame as both
# compilers write it in files made here, of each version, with 32-bit and 64-bit lengths, compressed too.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
status=0
clr=$(dirname "$(readlink -f "$(command -v dotnet 2>/dev/null || echo /nowhere)")")/shared/Microsoft.NETCore.App
files=$(ls -S /usr/lib/x86_64-linux-gnu/*.so* 2>/dev/null | xargs -r -n1 readlink -f | awk '!seen[$0]++' | head -n 20)

# verdict NAME LINE
verdict() {
    right=$(echo "$2" | sed -nE 's/.*: ([0-9]+) of ([0-9]+) rows equal.*/\1 \2/p')
    if [ -n "$right" ] && [ "${right% *}" = "${right#* }" ] && [ "${right% *}" != 0 ]; then
        echo "ok - $1: $right rows"
    else
        echo "not ok - $1: $2"
        status=1
    fi
}

for file in $(find "$clr" -name libcoreclr.so 2>/dev/null) /usr/bin/python3.11 /usr/bin/perl \
    $(readlink -f /lib64/ld-linux-x86-64.so.2) $(readlink -f /lib/x86_64-linux-gnu/libc.so.6) \
    $(readlink -f /usr/aarch64-linux-gnu/lib/libc.so.6) $files; do
    [ -r "$file" ] || continue
    line=$("$build/test/oracle/cfi_libdw" "$file" 2>&1 | tail -n 1)
    case $line in *": 0 of 0 rows equal"*) continue ;; esac # data only, such as libicudata
    verdict "$(basename "$file")" "$line"
done

# debug NAME COMPILER FLAGS...: code of this library without .eh_frame.
debug() {
    name=$1
    shift
    command -v "$1" >/dev/null 2>&1 || return 0
    if "$@" -O2 -w -fPIC -shared -nostdlib -fno-asynchronous-unwind-tables -fno-unwind-tables -Iinclude -Ilib -Isrc \
        lib/base/*.c lib/cfi/*.c lib/pe/*.c lib/clr/*.c -o "$build/test/oracle/debug.so" 2>/dev/null; then
        verdict ".debug_frame of $name" "$("$build/test/oracle/cfi_libdw" "$build/test/oracle/debug.so" debug_frame 2>&1 | tail -n 1)"
    else
        echo "ok - .debug_frame of $name # SKIP $1 does not make it"
    fi
}
debug "gcc, DWARF 2" gcc -gdwarf-2
debug "gcc, DWARF 4" gcc -gdwarf-4
debug "gcc, DWARF 5 with frame pointers" gcc -gdwarf-5 -fno-omit-frame-pointer
debug "gcc, 64-bit DWARF" gcc -gdwarf-5 -gdwarf64
debug "gcc, compressed" gcc -g -gz
debug "clang, DWARF 4" clang -gdwarf-4
debug "clang, DWARF 5" clang -gdwarf-5
debug "gcc for ARM64" aarch64-linux-gnu-gcc -g
exit $status
