#!/bin/sh
# nuget.sh BUILD VERSION: BUILD/nuget/*.nupkg: Snapwalk, Snapwalk.Profiler, Snapwalk.Overlay, with their libraries for Linux on x64. These need
# glibc, libz and the libelf that comes along, nothing else. Status 77, and why, where they cannot be made.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(cd "$1" && pwd)
out=$build/nuget
. mk/sample.sh
cannot() {
    echo "$*" >&2
    exit 77
}
have_dotnet || cannot "no .NET SDK 10"
[ "$(uname -m)" = x86_64 ] || cannot "only on x64"
mk/deps.sh tools
mk/zydis.sh "$build" >&2

# What comes first on the linker's path is taken; libelf.a is no position independent code.
static=$out/static
mkdir -p "$static" "$out/native"
ln -sf "$build/zydis/libZydis.a" "$static"
for name in lzma protobuf-c z; do
    ln -sf "$("${CC:-gcc}" -print-file-name="lib$name.a")" "$static"
done
# As the Makefile names files: below this folder, where they are.
objects=${out#"$PWD"/}/objects
rm -f "$out"/objects/*.so* "$out/objects/examples/libsnapwalk-overlay.so"
make --no-print-directory -j"$(nproc)" BUILD="$objects" LDFLAGS="-L$static -Wl,-rpath,'\$\$ORIGIN'" \
    "$objects/libsnapwalk-profiler.so" "$objects/examples/libsnapwalk-overlay.so" shared
for file in libsnapwalk-profiler.so examples/libsnapwalk-overlay.so libsnapwalk.so.0; do
    strip --strip-unneeded -o "$out/native/$(basename "$file")" "$out/objects/$file"
done
cp "$("${CC:-gcc}" -print-file-name=libelf.so.1)" "$out/native/libelf.so.1"
cp /usr/share/doc/libelf1*/copyright "$out/native/libelf.txt"

for project in Snapwalk Snapwalk.Profiler Snapwalk.Overlay; do
    dotnet pack "bindings/csharp/$project" -c Release -v q -p:Version="$2" -p:Native="$out/native" --artifacts-path "$out/artifacts" \
        -o "$out" --nodeReuse:false -p:UseSharedCompilation=false
done
ls "$out"/*."$2".nupkg
