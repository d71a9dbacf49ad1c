#!/bin/sh
# deps.sh lib|run|tools|docs|debian|abi|debuggers|all: installs the packages that are missing, of Debian 12 or 13 or of Ubuntu; where it cannot,
# says exactly what to install. ONE|OTHER: the first that the system's archive has. ?NAME: tests without it are skipped.
set -euf
[ -z "${NO_DEPS:-}" ] || exit 0 # packages are built with what they say they need

lib="gcc libc6-dev binutils libzydis-dev libelf-dev liblzma-dev"
tools="$lib libdw-dev libiberty-dev libprotobuf-c-dev protobuf-c-compiler zlib1g-dev libcurl4-openssl-dev"
run="$tools"
docs="doxygen"
all="$tools $docs g++ clang clang-format clang-tidy libclang-rt-14-dev|libclang-rt-dev llvm lld libcmocka-dev libcapstone-dev libunwind-dev ?libunwind-14|libunwind-19|libunwind-18 valgrind elfutils xz-utils musl-tools
    gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user gcc-mingw-w64-x86-64 g++-mingw-w64-x86-64 git golang-go protobuf-compiler cmake
    ?chromium fonts-dejavu-core"
case ${1:-all} in
lib) wanted=$lib ;;
run) wanted=$run ;;
tools) wanted=$tools ;;
docs) wanted=$docs ;;
debian) wanted="$tools debhelper lintian pkg-config" ;;
abi) wanted="$lib abigail-tools" ;;
debuggers) wanted="$tools gdb elfutils golang-go fp-compiler mono-runtime mono-mcs" ;; # node, Java, Rust: any that is there
*) wanted=$all ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
    # Another distribution: what is there is tried out.
    missing=
    command -v "${CC:-gcc}" >/dev/null 2>&1 || missing="$missing gcc"
    for header in Zydis/Zydis.h libelf.h lzma.h; do
        echo "#include <$header>" | ${CC:-gcc} -fsyntax-only -xc - 2>/dev/null || missing="$missing $header"
    done
    [ -z "$missing" ] && [ "${1:-all}" != all ] && exit 0
    echo "snapwalk: this is no Debian system: nothing was installed." >&2
    echo "Please install the equivalents of these Debian packages and try again:" >&2
    echo "   " $wanted | sed -e 's/?//g' -e 's/|[^ ]*//g' >&2
    exit 1
fi

is_installed() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }
is_known() { apt-cache show "$1" 2>/dev/null | grep -q '^Package: '; }
# first TEST ONE|OTHER...: prints the first of them that passes the test
first() {
    for package in $(echo "${2#\?}" | tr '|' ' '); do
        "$1" "$package" && echo "$package" && return
    done
    return 1
}
# What is missing: words of the list above; then packages.
words=
for word in $wanted; do
    first is_installed "$word" >/dev/null || words="$words $word"
done
[ -n "$words" ] || exit 0
can_install=
[ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1 || can_install=yes
log=$(mktemp)
trap 'rm -f "$log"' EXIT
case "$words " in
*' '[!?]*) [ -z "$can_install" ] || apt-get update >"$log" 2>&1 </dev/null || tail -n 5 "$log" >&2 ;;
esac
missing= absent=
for word in $words; do
    if package=$(first is_known "$word"); then
        missing="$missing $package"
    elif [ "$word" != "${word#\?}" ]; then
        absent="$absent ${word#\?}"
    else
        missing="$missing ${word%%|*}"
    fi
done
[ -z "$can_install" ] || [ -z "$absent" ] || echo "snapwalk: not in this system's archive, tests that need them are skipped:$absent"
[ -n "$missing" ] || exit 0

if [ -z "$can_install" ]; then
    echo "snapwalk: packages are missing and only root can install them. Please run:" >&2
    echo "    apt-get install -y$missing" >&2
    exit 1
fi
echo "installing:$missing"
export DEBIAN_FRONTEND=noninteractive
apt-get install -y --no-install-recommends $missing >"$log" 2>&1 </dev/null || {
    tail -n 20 "$log" >&2
    echo "snapwalk: installing failed; please run: apt-get install -y$missing" >&2
    exit 1
}
