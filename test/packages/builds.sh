#!/bin/sh
# builds.sh BUILD: the last commit, built in a folder with a space in its name and, from another, outside the tree, both with a
# distribution's flags: the same bytes, nothing written beside the sources, and what the flags ask for is in all that
# is installed. Then with link-time optimisation, for musl and for ARM64: each builds a program that walks to the root.
# TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "$1"
out=$(cd "$1" && pwd)/builds
rm -rf "$out"
mkdir -p "$out/a folder" "$out/another/of another length"
. test/support/tap.sh

# What docs/packaging.md tells a packager to type, in these folders
page() { sed -n '/^```sh$/,/^```$/p' docs/packaging.md | sed -e '/^```/d' -e "s|/var/tmp/build|'$out/outside'|" -e "s|/var/tmp/root|'$out/root'|"; }
eval "$(page | grep '^export ')"
made="libsnapwalk.a libsnapwalk.so libsnapwalk-harness.a libsnapwalk-profiler.so tools/snapstacks/snapstacks tools/snapwalk-profiler
    examples/clr-in-a-tube/clr-in-a-tube"

git archive HEAD | tar x -C "$out/a folder" &&
    make --no-print-directory -C "$out/a folder" -j"$(nproc 2>/dev/null || echo 1)" archive harness shared tools tube-programs >"$out/seen" 2>&1
verdict $? "a build in a folder with a space in its name"
page >"$out/page"
git archive HEAD | tar x -C "$out/another/of another length" && (cd "$out/another/of another length" && sh -e "$out/page") >"$out/seen" 2>&1
verdict $? "what docs/packaging.md says, in another folder, outside the tree, does so"
(
    cd "$out/root/usr" && grep -q '^libdir=/usr/lib64$' lib64/pkgconfig/snapwalk.pc && [ -x bin/clr-in-a-tube ] && [ -f share/man/man3/sw_here.3 ] &&
        [ -f share/man/man7/snapwalk.7 ] && [ -f share/doc/snapwalk/html/index.html ] && [ -f lib64/libsnapwalk.so.0 ]
)
verdict $? "and installs what it says"
(cd "$out/another/of another length" && find . -type f | sort) >"$out/after" &&
    git archive HEAD | tar t | grep -v '/$' | sed 's|^|./|' | sort | diff - "$out/after" >"$out/seen" 2>&1
verdict $? "a build outside the tree leaves the tree as it was"
for file in $made; do
    cmp "$out/a folder/build/$file" "$out/outside/$file" >"$out/seen" 2>&1
    verdict $? "$file: the same bytes"
done
for file in libsnapwalk.so libsnapwalk-profiler.so tools/snapstacks/snapstacks tools/snapwalk-profiler examples/clr-in-a-tube/clr-in-a-tube; do
    { readelf -lW "$out/outside/$file" && readelf -dW "$out/outside/$file" && nm -D "$out/outside/$file"; } >"$out/seen" 2>&1
    grep -q GNU_RELRO "$out/seen" && grep -qE 'BIND_NOW|FLAGS_1.*NOW' "$out/seen" && grep -q __stack_chk_fail "$out/seen" &&
        grep -qE ' U __[a-z]+_chk@' "$out/seen" && ! grep -qE 'GNU_STACK.*E ' "$out/seen"
    verdict $? "$file: hardened, as the flags say"
done

# ---- other compilers and systems ----
unset CFLAGS CPPFLAGS LDFLAGS
export NO_DEPS=1
tree="$out/a folder"

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
