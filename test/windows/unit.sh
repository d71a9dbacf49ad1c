#!/bin/sh
# unit.sh BUILD: the unit tests of the portable part, built by mingw-w64, run by Wine. Which those are the compiler says: a
# test that includes a header which Windows does not have, or calls a function that is not in the archive there, is left
# out, and named. TAP; last line: windows unit tests: N of M programs, K tests; L
# more are of ELF (unit_elf.txt)
set -u
cd "$(dirname "$0")/../.."
. test/support/wine.sh
build=${1:-build}/windows
cc=x86_64-w64-mingw32-gcc
# cmocka's functions for text are those of C, not of Windows.
flags="-DSNAPWALK_WITHOUT_WINDOWS_H -D__printf__=__gnu_printf__ -D__USE_MINGW_ANSI_STDIO=1 -Iinclude -Ilib -Isrc -DNDEBUG -D_GNU_SOURCE -D_WIN32_WINNT=0x0602 -DWIN32_LEAN_AND_MEAN -DZYDIS_STATIC_BUILD
    -DZYCORE_STATIC_BUILD -std=c11 -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror -O1 -g"
status=0

skip() {
    echo "ok - $1 # SKIP $2"
    exit 0
}

bad() {
    echo "not ok - $1"
    tail -n 12 "$2" | sed 's/^/# /'
    status=1
}

# lacks LOG: what Windows or its archive does not have, of all that the compiler says; or nothing.
lacks() {
    sed -n -E 's/.*fatal error: (.*): No such file or directory.*/<\1>/p; s/.*undefined reference to `([^'"'"']*).*/\1/p
        s/.*implicit declaration of function .([a-z_]+).*/\1/p' "$1" |
        sort -u | tr '\n' ' '
}

# How many rows a program was to have, and how many it told of: it came to its end.
planned() { awk -F '[.][.]' '/^1[.][.]/ { sum += $2 } END { print sum + 0 }' "$out/$1.out"; }
told() { grep -cE '^(not )?ok [0-9]' "$out/$1.out"; }

mkdir -p "$build"
build=$(cd "$build" && pwd)
CMOCKA=1 mk/windows.sh "$build" archive >"$build/unit.log" 2>&1
case $? in
0) ;;
77) skip "unit tests for Windows" "$(tail -n 1 "$build/unit.log")" ;;
*) bad "the archive is built" "$build/unit.log"; exit 1 ;;
esac

out=$build/unit
rm -rf "$out"
mkdir -p "$out"
for source in test/support/*.c; do
    object=$out/$(basename "$source" .c).o
    # shellcheck disable=SC2086
    $cc $flags -I"$build/cmocka/include" -isystem "$build/zydis/include" -c "$source" -o "$object" 2>"$object.log"
done
x86_64-w64-mingw32-ar rcs "$out/libsupport.a" "$out"/*.o

# In the environment of the compiler's processes, two at a time.
export build out cc flags
# shellcheck disable=SC2016
find test/unit -name '*.c' | sort | xargs -P 2 -I '{}' sh -c '
    name=$(basename "$1" .c)
    $cc $flags -I"$build/cmocka/include" -isystem "$build/zydis/include" "$1" "$out/row.o" "$out/libsupport.a" \
        "$build/libsnapwalk.a" "$build/zydis/libZydis.a" "$build/cmocka/libcmocka.a" -lntdll -static -o "$out/$name.exe" 2>"$out/$name.log"
' sh '{}'

find_wine || skip "unit tests for Windows" "no wine64 command (package wine64)"
use_wine "$out"
trap leave_wine EXIT
timeout 600 "$wine" cmd /c exit >/dev/null 2>&1 # makes the folder
[ -d "$WINEPREFIX/drive_c" ] || skip "unit tests for Windows" "wine64 runs no program here"

all=0 run=0 tests=0 elf=0
for source in test/unit/*.c; do
    name=$(basename "$source" .c)
    all=$((all + 1))
    if [ ! -x "$out/$name.exe" ]; then
        missing=$(lacks "$out/$name.log")
        if [ -n "$missing" ]; then echo "# left out: $name, without $missing"; else bad "$name compiles" "$out/$name.log"; fi
        continue
    fi
    CMOCKA_MESSAGE_OUTPUT=TAP timeout 300 "$wine" "$out/$name.exe" 2>&1 | tr -d '\r' >"$out/$name.out"
    here=$(grep -c '^ok' "$out/$name.out")
    sed -n 's/^not ok [0-9]* - //p' "$out/$name.out" >"$out/$name.failed"
    sed -n "s/^$name //p" test/windows/unit_elf.txt >"$out/$name.expected"
    if cmp -s "$out/$name.failed" "$out/$name.expected" && [ "$(planned "$name")" = "$(told "$name")" ]; then
        run=$((run + 1)) tests=$((tests + here)) elf=$((elf + $(wc -l <"$out/$name.expected")))
        echo "ok - $name: $here tests"
    else
        diff "$out/$name.expected" "$out/$name.failed" | sed 's/^/# /' | head -n 10
        bad "$name holds but for the rows of ELF" "$out/$name.out"
    fi
done
echo "windows unit tests: $run of $all programs, $tests tests; $elf more are of ELF"
exit $status
