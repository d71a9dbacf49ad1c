#!/bin/sh
# Everything but the folders of operating systems in src/target and src/clr and lib/elf compiles freestanding: for this
# machine, for aarch64, and with mingw-w64; and each public header compiles alone, as C11, as C99
# with musl's headers, and as C++17, without a shadowed name.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
status=0
mkdir -p "$build/log"
# Cross compilers find Zydis' headers here and no others of this machine's.
mkdir -p "$build/zydis"
ln -sfn /usr/include/Zydis "$build/zydis/Zydis"
ln -sfn /usr/include/Zycore "$build/zydis/Zycore"
files=$(find lib src -name '*.c' | grep -vE '^(src/(target|clr)/(linux|windows)|lib/elf)/')
flags="-std=c11 -ffreestanding -Wall -Wextra -Werror -Iinclude -Ilib -Isrc -isystem $build/zydis"
# Each has only to find its headers here: what the compilers say of the code is seen where it is built.
for compiler in gcc clang aarch64-linux-gnu-gcc x86_64-w64-mingw32-gcc; do
    windows=
    [ "$compiler" != x86_64-w64-mingw32-gcc ] || windows=-DSNAPWALK_WITHOUT_WINDOWS_H
    # shellcheck disable=SC2086
    if $compiler $flags $windows -fsyntax-only $files 2>"$build/log/portable.err"; then
        echo "ok - freestanding with $compiler"
    else
        echo "not ok - freestanding with $compiler"
        head -n 5 "$build/log/portable.err" | sed 's/^/# /'
        status=1
    fi
done
bad=
for file in src/target/linux/*.c src/clr/linux/*.c lib/elf/*.c; do
    aarch64-linux-gnu-gcc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Iinclude -Ilib -Isrc -idirafter /usr/include \
        -fsyntax-only "$file" 2>"$build/log/portable.err" || { echo "# $file"; head -n 5 "$build/log/portable.err" | sed 's/^/# /'; bad=hosted; }
done
if [ "$bad" != hosted ]; then echo "ok - hosted files with aarch64-linux-gnu-gcc"; else echo "not ok - hosted files with aarch64-linux-gnu-gcc"; status=1; fi
# Each header stands alone, in both languages: alone COMPILER LANGUAGE-FLAGS SOURCE-FILE
alone() {
    compiler=$1 language=$2 source=$3
    $compiler $language -Wall -Wextra -Wshadow -Werror -Iinclude -fsyntax-only "$source" 2>"$build/log/header.err"
}
for header in include/snapwalk/*.h; do
    name=$(basename "$header")
    printf '#include <snapwalk/%s>\nint main(void) { return 0; }\n' "$name" >"$build/log/header.c"
    cp "$build/log/header.c" "$build/log/header.cc"
    if alone gcc -std=c11 "$build/log/header.c" && alone g++ -std=c++17 "$build/log/header.cc"; then
        echo "ok - C11 and C++17 take snapwalk/$name alone"
    else
        echo "not ok - C11 and C++17 take snapwalk/$name alone"
        head -n 5 "$build/log/header.err" | sed 's/^/# /'
        status=1
    fi
done
if command -v musl-gcc >/dev/null 2>&1; then
    bad=
    for header in include/snapwalk/*.h; do
        printf '#include <snapwalk/%s>\nint main(void) { return 0; }\n' "$(basename "$header")" >"$build/log/header.c"
        alone musl-gcc "-std=c99 -pedantic" "$build/log/header.c" || bad="$bad $header"
    done
    [ -z "$bad" ] || { echo "not ok - C99 with musl takes each header alone:$bad"; exit 1; }
    echo "ok - C99 with musl takes each header alone"
else
    echo "ok - C99 with musl takes each header alone # SKIP no musl-gcc command (package musl-tools)"
fi
exit $status
