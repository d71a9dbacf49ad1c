#!/bin/sh
# found.sh LIBDIR SONAME: after an installation: where glibc's dynamic linker looks in that folder, its cache is renewed (by root); where
# not, it is said what helps. Silent on systems without such a cache.
PATH=$PATH:/usr/sbin:/sbin
ldconfig -p >/dev/null 2>&1 || exit 0
for file in $(ldconfig -p | sed -n "s|.* => \(/.*/$2\)\$|\1|p"); do
    [ "$file" -ef "$1/$2" ] && exit 0
done
for folder in $(ldconfig -v -N -X 2>/dev/null | sed -n 's|^\(/[^:]*\):.*|\1|p'); do
    [ "$folder" -ef "$1" ] || continue
    [ "$(id -u)" = 0 ] && exec ldconfig
    echo "snapwalk: programs find $1/$2 once root has run ldconfig; until then, with LD_LIBRARY_PATH=$1"
    exit 0
done
echo "snapwalk: the dynamic linker does not look in $1: programs find $2 there with LD_LIBRARY_PATH=$1"
