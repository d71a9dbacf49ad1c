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

flags=
. mk/source_package.sh

command -v $cc >/dev/null 2>&1 || cannot "no $cc command (package gcc-mingw-w64-x86-64)"
[ -r /usr/include/Zycore/Types.h ] || cannot "no Zycore headers (package libzycore-dev)"
need zydis "$zydis" libZydis.a
[ -z "${CMOCKA:-}" ] || need cmocka "$cmocka" libcmocka.a
# In the environment, so that the Makefile adds its own to them.
export CPPFLAGS="-isystem $zydis/include -DZYDIS_STATIC_BUILD -DZYCORE_STATIC_BUILD"
exec flock "$build/lock" make --no-print-directory -j"${JOBS:-$(nproc 2>/dev/null || echo 1)}" BUILD="$build" SW_HOST=windows CC=$cc AR=$ar ASSERTS= \
    LDLIBS="$zydis/libZydis.a -lntdll -static" \
    CFLAGS="${CFLAGS:--O2 -g}" "$@"
