#!/bin/sh
# windows.sh BUILD TARGET...: make TARGET... for Windows on x64 in BUILD, with mingw-w64, against Zydis out of Debian's source
# package, which is built beside it, in BUILD/zydis, for nobody else. libelf and liblzma are not needed. Status 77, and why,
# where that cannot be: the compiler is missing, or the package cannot be fetched.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$1
zydis=$(cd "$build" && pwd)/zydis
shift
cc=x86_64-w64-mingw32-gcc
ar=x86_64-w64-mingw32-ar

cannot() {
    echo "$1"
    exit 77
}

# The source package, by apt, from where this machine has its packages from: its own list of sources, read as one of source
# packages. apt checks the signatures, by the keys which that list names. No list of this system is touched. Where one of the
# sources has no source packages the update says so; the package decides.
fetch() {
    state=$zydis/apt
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
    (cd "$zydis" && apt-get "$@" source --download-only zydis) || return 1
    rm -rf "$zydis/source" "$state"
    mkdir "$zydis/source" && tar xf "$zydis"/zydis_*.orig.tar.* -C "$zydis/source" --strip-components=1
}

# The decoder alone. Of Zycore only headers are used, which are the same for all systems.
compile() {
    rm -rf "$zydis/include" "$zydis/objects"
    mkdir "$zydis/include" "$zydis/objects" && cp -R "$zydis/source/include/Zydis" "$zydis/include/" &&
        ln -s /usr/include/Zycore "$zydis/include/Zycore" || return 1
    for file in Decoder DecoderData SharedData Register Utils Mnemonic MetaInfo String Zydis; do
        $cc -O2 -ffunction-sections -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -DZYDIS_DISABLE_FORMATTER -DZYDIS_DISABLE_ENCODER \
            -I"$zydis/include" -I"$zydis/source/src" -c "$zydis/source/src/$file.c" -o "$zydis/objects/$file.o" || return 1
    done
    $ar rcs "$zydis/libZydis.a.new" "$zydis"/objects/*.o && mv "$zydis/libZydis.a.new" "$zydis/libZydis.a"
}

command -v $cc >/dev/null 2>&1 || cannot "no $cc command (package gcc-mingw-w64-x86-64)"
[ -r /usr/include/Zycore/Types.h ] || cannot "no Zycore headers (package libzycore-dev)"
mkdir -p "$zydis"
exec 9>"$zydis/lock"
flock 9
if [ ! -e "$zydis/libZydis.a" ]; then
    command -v apt-get >/dev/null 2>&1 || cannot "Zydis' source package needs apt-get"
    fetch >"$zydis/log" 2>&1 </dev/null || cannot "Zydis' source package cannot be fetched by apt-get, see $zydis/log"
    compile >>"$zydis/log" 2>&1 || { tail -n 20 "$zydis/log" >&2; exit 1; }
fi
exec 9>&-
# In the environment, so that the Makefile adds its own to them.
export CPPFLAGS="-isystem $zydis/include -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD"
exec make --no-print-directory -j"${JOBS:-$(nproc 2>/dev/null || echo 1)}" BUILD="$build" SW_HOST=windows CC=$cc AR=$ar ASSERTS= \
    LDLIBS="$zydis/libZydis.a -lntdll -static" \
    CFLAGS="${CFLAGS:--O2 -g}" "$@"
