#!/bin/sh
# zydis.sh BUILD: BUILD/zydis/libZydis.a for this system, out of Debian's source package, which the package libzydis-dev has not:
# for programs that are linked with -static or -static-pie. Status 77, and why, where it cannot be fetched.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
build=$(cd "$1" && pwd)
cc=${CC:-gcc}
ar=${AR:-ar}
flags=-fPIC
. mk/source_package.sh
[ -r /usr/include/Zycore/Types.h ] || cannot "no Zycore headers (package libzycore-dev)"
need zydis "$build/zydis" libZydis.a
