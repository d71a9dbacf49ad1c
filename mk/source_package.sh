# To be sourced: libraries built from Debian's source packages, for other systems and for static programs, each beside what
# needs it. The caller has set $cc and $ar, and for ARCHIVE flags $flags. Status 77, and why, where a package cannot be fetched.

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
    rm -rf "$folder/include" "$folder/objects"
    mkdir "$folder/include" "$folder/objects" && cp -R "$folder/source/include/Zydis" "$folder/include/" &&
        ln -s /usr/include/Zycore "$folder/include/Zycore" || return 1
    for file in Decoder DecoderData SharedData Register Utils Mnemonic MetaInfo String Zydis; do
        $cc -O2 $flags -ffunction-sections -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD -DZYDIS_DISABLE_FORMATTER -DZYDIS_DISABLE_ENCODER \
            -I"$folder/include" -I"$folder/source/src" -c "$folder/source/src/$file.c" -o "$folder/objects/$file.o" || return 1
    done
    $ar rcs "$folder/libZydis.a.new" "$folder"/objects/*.o && mv "$folder/libZydis.a.new" "$folder/libZydis.a"
}

# One file; it asks its configuration whether these headers are there. They are, in mingw-w64.
compile_cmocka() {
    mkdir -p "$folder/include"
    : >"$folder/include/config.h"
    cp "$folder"/source/include/*.h "$folder/include/" &&
        $cc -O2 -D__USE_MINGW_ANSI_STDIO=1 -DHAVE_CONFIG_H -DHAVE_INTTYPES_H -DHAVE_STDINT_H -DHAVE_STDIO_H -DHAVE_STDLIB_H -DHAVE_STRING_H \
            -DHAVE_SIGNAL_H -DHAVE_SETJMP_H -DHAVE_TIME_H -DHAVE_STRINGS_H -DHAVE_MALLOC_H -DHAVE_IO_H \
            -I"$folder/include" -c "$folder/source/src/cmocka.c" -o "$folder/cmocka.o" &&
        $ar rcs "$folder/libcmocka.a.new" "$folder/cmocka.o" && mv "$folder/libcmocka.a.new" "$folder/libcmocka.a"
}

# need PACKAGE FOLDER ARCHIVE: is there, or is made; one at a time.
need() {
    mkdir -p "$2"
    exec 9>"$2/lock"
    flock 9
    if [ ! -e "$2/$3" ]; then
        command -v apt-get >/dev/null 2>&1 || cannot "$1's source package needs apt-get"
        fetch "$1" "$2" >"$2/log" 2>&1 </dev/null || cannot "$1's source package cannot be fetched by apt-get, see $2/log"
        folder=$2
        "compile_$1" >>"$2/log" 2>&1 || { tail -n 20 "$2/log" >&2; exit 1; }
    fi
    exec 9>&-
}
