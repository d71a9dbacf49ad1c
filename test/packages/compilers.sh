#!/bin/sh
# compilers.sh BUILD: the last commit with gcc's and clang's link-time optimisation, with musl and for ARM64: with each a program is built that
# walks to the root. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "$1"
out=$(cd "$1" && pwd)/compilers
rm -rf "$out"
mkdir -p "$out/tree"
. test/support/tap.sh
export NO_DEPS=1
tree=$out/tree
git archive HEAD | tar x -C "$tree"

# walked NAME RUN: the program's walk came to the root; RUN is what starts it, nothing here.
walked() {
    LD_LIBRARY_PATH=$folder $2 "$out/walk" >"$out/seen" 2>&1 && grep -qx 'ended: root' "$out/seen"
    verdict $? "$1"
}

# optimised COMPILER AR FLAGS: archive and shared library, each in a program that is optimised with it
optimised() {
    folder=$out/lto-$1
    make --no-print-directory -C "$tree" -j"$(nproc 2>/dev/null || echo 1)" BUILD="$folder" CC="$1" AR="$2" CFLAGS="-O2 $3" LDFLAGS="$4" \
        archive shared >"$out/seen" 2>&1
    verdict $? "$1 $3: the libraries"
    for library in "$folder/libsnapwalk.a -lZydis -lelf -llzma -lz" "-L$folder -lsnapwalk"; do
        $1 -O2 $3 $4 -I"$PWD/include" examples/walk_self.c $library -o "$out/walk" >"$out/seen" 2>&1
        walked "$1 $3: a program with ${library##*/}, optimised as a whole, walks to the root" ""
    done
}
for file in "gcc gcc-ar -flto" "clang llvm-ar -flto -fuse-ld=lld"; do
    set -- $file
    if command -v "$2" >/dev/null 2>&1 && command -v "$1" >/dev/null 2>&1; then
        optimised "$1" "$2" "$3" "${4:-}"
    else
        skip "$1 $3" "no $1 or $2 command"
    fi
done

# musl: the minimal library; the kernel's headers and the decoder's are those of this system.
musl_libraries() {
    mkdir -p "$out/musl/include"
    for name in Zydis Zycore linux asm-generic "$(gcc -print-multiarch)/asm"; do
        ln -sfn "/usr/include/$name" "$out/musl/include/${name##*/}"
    done
    folder=$out/musl/build
    CC=musl-gcc mk/zydis.sh "$out/musl" >"$out/seen" 2>&1 || return
    make --no-print-directory -C "$tree" -j"$(nproc 2>/dev/null || echo 1)" BUILD="$folder" CC=musl-gcc MINIMAL=1 CFLAGS=-O1 \
        CPPFLAGS="-isystem $out/musl/include" LDFLAGS="-L$out/musl/zydis" archive shared >"$out/seen" 2>&1
}
if command -v musl-gcc >/dev/null 2>&1; then
    musl_libraries
    made=$?
else
    echo "no musl-gcc command (package musl-tools)" >"$out/seen"
    made=77
fi
if [ "$made" -eq 77 ]; then
    skip "musl" "$(tail -n 1 "$out/seen")"
else
    verdict $made "musl: the libraries, without libelf and liblzma"
    for library in "$folder/libsnapwalk.a" "-static $folder/libsnapwalk.a" "-static-pie $folder/libsnapwalk.a" "-L$folder -lsnapwalk"; do
        musl-gcc -O1 -Iinclude -Wl,--eh-frame-hdr examples/walk_self.c $library -L"$out/musl/zydis" -lZydis -o "$out/walk" >"$out/seen" 2>&1
        walked "musl: a program linked with ${library%%/*}${library##*/} walks to the root" ""
    done
fi

folder=$out/arm64/signed
CFLAGS=-O1 mk/arm64.sh "$folder" archive examples >"$out/seen" 2>&1
case $? in
77) skip "ARM64" "$(tail -n 1 "$out/seen")" ;;
*)
    cp "$folder/examples/walk_self" "$out/walk"
    walked "ARM64, by a cross compiler: the example walks to the root under qemu" "qemu-aarch64 -L $out/arm64/sysroot"
    ;;
esac
exit $status
