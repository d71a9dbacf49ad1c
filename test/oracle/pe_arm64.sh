#!/bin/sh
# pe_arm64.sh BUILD: Windows ARM64 unwind data that another compiler and assembler made, packed words among it: this
# library's own portable files as two DLLs, and test/oracle/win_arm64/codes.s. Two judges: what the instructions say (the
# audit), and what llvm-readobj makes of the bytes.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
work=$build/win_arm64
status=0
for tool in clang lld-link llvm-readobj; do
    command -v $tool >/dev/null 2>&1 || { echo "ok - pe_arm64 # SKIP no $tool"; exit 0; }
done
headers=/usr/aarch64-linux-gnu/include
[ -f "$headers/string.h" ] || { echo "ok - pe_arm64 # SKIP no C headers for aarch64"; exit 0; }
rm -rf "$work"
mkdir -p "$work/zydis"
ln -sfn /usr/include/Zydis "$work/zydis/Zydis"
ln -sfn /usr/include/Zycore "$work/zydis/Zycore"
work=$(cd "$work" && pwd)

# library LEVEL: clang takes several files at once only where it names the results itself.
library() {
    mkdir -p "$work/$1"
    root=$PWD
    for room in base analyze cfi pe clr arch/a64 regs; do
        mkdir -p "$work/$1/$room"
        (cd "$work/$1/$room" && clang --target=aarch64-pc-windows-msvc -std=c11 -ffreestanding -funwind-tables "-$1" \
            -I"$root/include" -I"$root/lib" -isystem "$work/zydis" -idirafter "$headers" -c "$root"/lib/$room/*.c) \
            >"$work/$1.log" 2>&1 || return 1
    done
    lld-link /dll /noentry /force:unresolved "/out:$work/library-$1.dll" $(find "$work/$1" -name "*.o") >>"$work/$1.log" 2>&1
}

# judge FILE INSTRUCTIONS: of so many at least, all but 1 in 1,000 have a rule that they agree with, none at full trust
# another. (clang 14 leaves some tail calls in the middle of a function out of its tables.)
judge() {
    name=$(basename "$1" .dll)
    "$build/examples/audit" "$1" >"$work/$name.audit" 2>&1
    if awk -v least="$2" '/^audit: / { good = $NF == 0 && $4 >= least && $2 >= 0.999 * $4 } /no-table/ && !/no-table 0/ { bad = 1 }
            END { exit !good || bad }' "$work/$name.audit"; then
        echo "ok - $name by its instructions: $(sed -n 's/^audit: //p' "$work/$name.audit")"
    else
        echo "not ok - $name by its instructions, see $work/$name.audit"
        status=1
    fi
    llvm-readobj --unwind "$1" >"$work/$name.readobj" 2>&1
    "$build/test/oracle/pe_arm64_readobj" "$1" "$work/$name.readobj" || status=1
}

if clang --target=aarch64-pc-windows-msvc -c test/oracle/win_arm64/codes.s -o "$work/codes.obj" &&
    lld-link /dll /noentry "/out:$work/codes.dll" "$work/codes.obj"; then
    judge "$work/codes.dll" 100
else
    echo "not ok - codes.s"
    status=1
fi
for level in O2 O0; do
    if library $level; then
        judge "$work/library-$level.dll" 15000
    else
        echo "not ok - the library as a DLL, see $work/$level.log"
        status=1
    fi
done
exit $status
