#!/bin/sh
# Everything but src/target/linux, src/clr and lib/elf compiles freestanding: for this machine, for aarch64, and with mingw-w64; and the
# headers compile as C++.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
status=0
# Cross compilers find Zydis' headers here and no others of this machine's.
mkdir -p "$build/zydis"
ln -sfn /usr/include/Zydis "$build/zydis/Zydis"
ln -sfn /usr/include/Zycore "$build/zydis/Zycore"
files=$(find lib src -name '*.c' | grep -vE '^(src/target/linux|src/clr|lib/elf)/')
flags="-std=c11 -ffreestanding -Wall -Wextra -Werror -Iinclude -Ilib -Isrc -isystem $build/zydis -DSW_VERSION=\"0\""
for compiler in gcc clang aarch64-linux-gnu-gcc x86_64-w64-mingw32-gcc; do
    bad=
    # What is built in whole elsewhere, with more warnings, has only to find its headers here.
    case $compiler in
    x86_64-w64-mingw32-gcc) how="-O1 -c -o /dev/null" ;;
    *) how=-fsyntax-only ;;
    esac
    for file in $files; do
        $compiler $flags $how "$file" 2>"$build/log/portable.err" || bad="$bad $file"
    done
    if [ -z "$bad" ]; then
        echo "ok - freestanding with $compiler"
    else
        echo "not ok - freestanding with $compiler:$bad"
        status=1
    fi
done
for file in src/target/linux/*.c src/clr/*.c lib/elf/*.c; do
    aarch64-linux-gnu-gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude -Ilib -Isrc -idirafter /usr/include \
        -fsyntax-only "$file" 2>"$build/log/portable.err" || { echo "# $file"; head -n 5 "$build/log/portable.err" | sed 's/^/# /'; bad=hosted; }
done
if [ "$bad" != hosted ]; then echo "ok - hosted files with aarch64-linux-gnu-gcc"; else echo "not ok - hosted files with aarch64-linux-gnu-gcc"; status=1; fi
for header in include/snapwalk/*.h; do
    printf '#include <snapwalk/%s>\nint main() { return 0; }\n' "$(basename "$header")" >"$build/log/header.cc"
    if g++ -std=c++17 -Wall -Wextra -Werror -Iinclude -fsyntax-only "$build/log/header.cc" 2>"$build/log/header.err"; then
        echo "ok - C++ takes snapwalk/$(basename "$header")"
    else
        echo "not ok - C++ takes snapwalk/$(basename "$header")"
        head -n 5 "$build/log/header.err" | sed 's/^/# /'
        status=1
    fi
done
exit $status
