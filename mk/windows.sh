#!/bin/sh
# windows.sh BUILD TARGET...: make TARGET... for Windows on x64 in BUILD, with mingw-w64, against Zydis out of Debian's source
# package, which is built beside it, in BUILD/zydis, for nobody else. libelf and liblzma are not needed. With CMOCKA=1 cmocka
# is built so too, in BUILD/cmocka, for tests. Status 77, and why, where that cannot be: the compiler is missing, or a
# package cannot be fetched.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$1
zydis=$(cd "$build" && pwd)/zydis
cmocka=$(cd "$build" && pwd)/cmocka
shift
cc=x86_64-w64-mingw32-gcc
ar=x86_64-w64-mingw32-ar

cannot() {
    echo "$1"
    exit 77
}

# fetch PACKAGE FOLDER: the source package, by apt, from where this machine has its packages from: its own list of sources, read as one of source
# packages. apt checks the signatures, by the keys which that list names. No list of this system is touched. Where one of the
# sources has no source packages the update says so; the package decides.
fetch() {
    package=$1 folder=$2 state=$2/apt
    rm -rf "$state"
    mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/parts"
    : >"$state/status"
    : >"$state/sources.list"
    for file in /etc/apt/sources.list /etc/apt/sources.list.d/*.list; do
        [ ! -r "$file" ] || sed -n 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$file" >>"$state/sources.list"
    done
    for file in /etc/apt/sources.list.d/*.sources; do
        [ ! -r "$file" ] || sed 's/^[Tt]ypes:.*/Types: deb-src/' "$file" >"$state/parts/$(basename "$file")"
    done
    set -- -q -o Dir::Etc::sourcelist="$state/sources.list" -o Dir::Etc::sourceparts="$state/parts" -o Dir::State="$state" \
        -o Dir::State::lists="$state/lists" -o Dir::State::status="$state/status" -o Dir::Cache="$state" -o APT::Sandbox::User=
    apt-get "$@" update || echo "not all sources could be read"
    (cd "$folder" && apt-get "$@" source --download-only "$package") || return 1
    rm -rf "$folder/source" "$state"
    mkdir "$folder/source" && tar xf "$folder/$package"_*.orig.tar.?z -C "$folder/source" --strip-components=1
}

# Zydis: the decoder alone. Of Zycore only headers are used, which are the same for all systems.
compile_zydis() {
    rm -rf "$zydis/include" "$zydis/objects"
    mkdir "$zydis/include" "$zydis/objects" && cp -R "$zydis/source/include/Zydis" "$zydis/include/" &&
        ln -s /usr/include/Zycore "$zydis/include/Zycore" || return 1
    for file in Decoder DecoderData SharedData Register Utils Mnemonic MetaInfo String Zydis; do
        $cc -O2 -ffunction-sections -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -DZYDIS_DISABLE_FORMATTER -DZYDIS_DISABLE_ENCODER \
            -I"$zydis/include" -I"$zydis/source/src" -c "$zydis/source/src/$file.c" -o "$zydis/objects/$file.o" || return 1
    done
    $ar rcs "$zydis/libZydis.a.new" "$zydis"/objects/*.o && mv "$zydis/libZydis.a.new" "$zydis/libZydis.a"
}

# One file; it asks its configuration whether these headers are there. They are, in mingw-w64.
compile_cmocka() {
    mkdir -p "$cmocka/include"
    : >"$cmocka/include/config.h"
    cp "$cmocka"/source/include/*.h "$cmocka/include/" &&
        $cc -O2 -D__USE_MINGW_ANSI_STDIO=1 -DHAVE_CONFIG_H -DHAVE_INTTYPES_H -DHAVE_STDINT_H -DHAVE_STDIO_H -DHAVE_STDLIB_H -DHAVE_STRING_H \
            -DHAVE_SIGNAL_H -DHAVE_SETJMP_H -DHAVE_TIME_H -DHAVE_STRINGS_H -DHAVE_MALLOC_H -DHAVE_IO_H \
            -I"$cmocka/include" -c "$cmocka/source/src/cmocka.c" -o "$cmocka/cmocka.o" &&
        $ar rcs "$cmocka/libcmocka.a.new" "$cmocka/cmocka.o" && mv "$cmocka/libcmocka.a.new" "$cmocka/libcmocka.a"
}

# need PACKAGE FOLDER ARCHIVE: is there, or is made; one at a time.
need() {
    mkdir -p "$2"
    exec 9>"$2/lock"
    flock 9
    if [ ! -e "$2/$3" ]; then
        command -v apt-get >/dev/null 2>&1 || cannot "$1's source package needs apt-get"
        fetch "$1" "$2" >"$2/log" 2>&1 </dev/null || cannot "$1's source package cannot be fetched by apt-get, see $2/log"
        "compile_$1" >>"$2/log" 2>&1 || { tail -n 20 "$2/log" >&2; exit 1; }
    fi
    exec 9>&-
}

command -v $cc >/dev/null 2>&1 || cannot "no $cc command (package gcc-mingw-w64-x86-64)"
[ -r /usr/include/Zycore/Types.h ] || cannot "no Zycore headers (package libzycore-dev)"
need zydis "$zydis" libZydis.a
[ -z "${CMOCKA:-}" ] || need cmocka "$cmocka" libcmocka.a
# In the environment, so that the Makefile adds its own to them.
export CPPFLAGS="-isystem $zydis/include -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD"
exec flock "$build/lock" make --no-print-directory -j"${JOBS:-$(nproc 2>/dev/null || echo 1)}" BUILD="$build" SW_HOST=windows CC=$cc AR=$ar ASSERTS= \
    LDLIBS="$zydis/libZydis.a -lntdll -static" \
    CFLAGS="${CFLAGS:--O2 -g}" "$@"
