#!/bin/sh
# cfi.sh BUILD [MOST]: our CFI rules against libdw's, row by row: .eh_frame of libraries of this machine and of Debian's for ARM64,
# and both kinds of tables as both compilers write them in files made here: .debug_frame of each version, with 32-bit and
# 64-bit lengths, compressed too; .eh_frame of ARM64 code that signs its return addresses with either key.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
most=${2:-8} # of this machine's libraries, the largest ones
status=0
clr=$(dirname "$(readlink -f "$(command -v dotnet 2>/dev/null || echo /nowhere)")")/shared/Microsoft.NETCore.App
files=$(ls -S /usr/lib/x86_64-linux-gnu/*.so* 2>/dev/null | xargs -r -n1 readlink -f | awk '!seen[$0]++' | head -n "$most")

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

# whole FILE...: each file's .eh_frame
whole() {
    for file in "$@"; do
        [ -r "$file" ] || continue
        line=$("$build/test/oracle/cfi_libdw" "$file" 2>&1 | tail -n 1)
        case $line in *": 0 of 0 rows equal"*) continue ;; esac # data only, such as libicudata
        verdict "${prefix:-}$(basename "$file")" "$line"
    done
}

# shellcheck disable=SC2046
whole $(find "$clr" -name libcoreclr.so 2>/dev/null) /usr/bin/python3.11 /usr/bin/perl \
    $(readlink -f /lib64/ld-linux-x86-64.so.2) $(readlink -f /lib/x86_64-linux-gnu/libc.so.6) \
    $files

# The same for ARM64: libraries of the Debian packages, where these can be had.
arm64=$build/arm64/sysroot
if mk/sysroot.sh arm64 "$arm64" libc6 libstdc++6 libssl3 >"$build/log/sysroot" 2>&1; then
    prefix="ARM64 "
    for library in libc.so.6 ld-linux-aarch64.so.1 libm.so.6 libgcc_s.so.1 libstdc++.so.6 libcrypto.so.3 libssl.so.3; do
        file=$(find "$arm64/lib" "$arm64/usr/lib" -name "$library" 2>/dev/null | head -n 1)
        if [ -n "$file" ]; then
            whole "$file"
        else
            verdict "ARM64 $library" "no such library in $arm64"
        fi
    done
else
    echo "ok - ARM64 libraries # SKIP $(tail -n 1 "$build/log/sysroot")"
fi

# made NAME SECTION COMPILER FLAGS...: code of this library, with tables of one kind.
made() {
    name="$2 of $1"
    section=$2
    shift 2
    case $section in
    debug_frame) tables="-fno-asynchronous-unwind-tables -fno-unwind-tables" asked=debug_frame ;;
    *) tables=-fasynchronous-unwind-tables asked= ;;
    esac
    command -v "$1" >/dev/null 2>&1 || return 0
    # shellcheck disable=SC2086
    if "$@" -O2 -w -fPIC -shared -nostdlib $tables -Iinclude -Ilib -Isrc \
        lib/cfi/*.c lib/pe/*.c -o "$build/test/oracle/made.so" 2>/dev/null; then
        verdict ".$name" "$("$build/test/oracle/cfi_libdw" "$build/test/oracle/made.so" $asked 2>&1 | tail -n 1)"
    else
        echo "ok - .$name # SKIP $1 does not make it"
    fi
}

debug() {
    who=$1
    shift
    made "$who" debug_frame "$@"
}
debug "gcc, DWARF 2" gcc -gdwarf-2
debug "gcc, DWARF 4" gcc -gdwarf-4
debug "gcc, DWARF 5 with frame pointers" gcc -gdwarf-5 -fno-omit-frame-pointer
debug "gcc, 64-bit DWARF" gcc -gdwarf-5 -gdwarf64
debug "gcc, compressed" gcc -g -gz
debug "clang, DWARF 4" clang -gdwarf-4
debug "clang, DWARF 5" clang -gdwarf-5
debug "gcc for ARM64" aarch64-linux-gnu-gcc -g
for key in standard pac-ret+leaf pac-ret+b-key; do
    for kind in debug_frame eh_frame; do
        made "gcc for ARM64, $key" $kind aarch64-linux-gnu-gcc -g -mbranch-protection=$key
        made "clang for ARM64, $key" $kind clang --target=aarch64-linux-gnu -g -mbranch-protection=$key
    done
done
exit $status
