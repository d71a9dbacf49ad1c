#!/bin/sh
# abi.sh BUILD [BASE]: the shared library of this tree beside that of BASE, a commit, by default the last tag: what a program
# that was linked with the older one meets in the newer (abidiff, package abigail-tools). Both are built in BUILD/abi.
# Status 0: it goes on as it was; 1: an incompatible change under the same soname; 2: one of them cannot be built or read;
# 77, and why: no tag, or no abidiff.
set -eu
cd "$(dirname "$0")/.."
base=${2:-}
[ -n "$base" ] || base=$(git describe --tags --abbrev=0 2>/dev/null) || {
    echo "abi: no tag yet, nothing to compare with; BASE=COMMIT names one"
    exit 77
}
command -v abidiff >/dev/null 2>&1 || { echo "abi: no abidiff command (package abigail-tools)"; exit 77; }
commit=$(git rev-parse --verify --quiet "$base^{commit}") || { echo "abi: no commit $base"; exit 2; }
mkdir -p "$1/abi"
abi=$(cd "$1/abi" && pwd)
rm -rf "$abi/old" "$abi/new" "$abi/tree"
mkdir "$abi/tree"
git archive "$commit" | tar x -C "$abi/tree"

# build TREE FOLDER: how much is optimised makes no difference to what is compared
build() {
    make --no-print-directory -C "$1" -j"$(nproc 2>/dev/null || echo 1)" BUILD="$2" CFLAGS='-O0 -g' shared >"$2.log" 2>&1 || {
        tail -n 10 "$2.log"
        echo "abi: the shared library of $1 cannot be built"
        exit 2
    }
}
soname() {
    readelf -d "$1" | sed -n 's/.*(SONAME).*\[\(.*\)\].*/\1/p'
}
build "$abi/tree" "$abi/old"
build "$PWD" "$abi/new"
old=$abi/old/libsnapwalk.so new=$abi/new/libsnapwalk.so

# What no public header shows may change: abidiff knows headers by their file names alone, and src/ has some of the same name, so
# that the structures that are only named there are listed for it.
structures() {
    cat "$abi"/tree/include/snapwalk/*.h | grep -oE "$1" | sed -E 's/^struct (sw_[a-z0-9_]+).*/\1/' | sort -u
}
structures 'struct sw_[a-z0-9_]+ \{' >"$abi/shown"
opaque=$(structures 'struct sw_[a-z0-9_]+' | comm -23 - "$abi/shown" | paste -sd '|' -)
printf '[suppress_type]\n    type_kind = struct\n    name_regexp = ^(%s)$\n' "$opaque" >"$abi/opaque"

# A later member may take the place of reserved ones: abidiff is told so, and since it then looks no further at that structure, its size
# and the places of all members that the older one has are compared here.
reserving() {
    cat "$abi"/tree/include/snapwalk/*.h |
        awk '/^struct sw_[a-z_]+ \{$/ { name = $2 } /^ *uint64_t reserved\[/ && name { print name } /^}/ { name = "" }'
}
# members STRUCTURE: the names of the older one's, but for the room
members() {
    cat "$abi"/tree/include/snapwalk/*.h | awk -v opening="struct $1 {" '
        $0 == opening { on = 1; next }
        on && /^}/ { exit }
        on && /^    [^ ].*;/ && !/ reserved\[/ {
            sub(/;.*/, ""); sub(/\[.*/, "")
            if (match($0, /\(\*[a-z_]+\)/)) $0 = substr($0, RSTART + 2, RLENGTH - 3)
            sub(/.*[ *]/, ""); print
        }'
}
# places INCLUDES: the size of each, and where its members are
places() {
    {
        printf '#include <snapwalk/snapwalk.h>\n#include <stdio.h>\nint main(void) {\n'
        for name in $(reserving); do
            printf 'printf("%s %%zu\\n", sizeof(struct %s));\n' "$name" "$name"
            for member in $(members "$name"); do
                printf 'printf("%s.%s %%zu %%zu\\n", offsetof(struct %s, %s), sizeof((struct %s *)0)->%s);\n' \
                    "$name" "$member" "$name" "$member" "$name" "$member"
            done
        done
        echo '}'
    } >"$abi/places.c"
    "${CC:-gcc}" -I"$1" "$abi/places.c" -o "$abi/places" 2>&1 && "$abi/places"
}
for name in $(reserving); do
    printf '[suppress_type]\n    type_kind = struct\n    name = %s\n    has_data_member_inserted_between = {offset_of(reserved), end}\n' "$name"
done >>"$abi/opaque"
places "$abi/tree/include" >"$abi/old.places"
places include >"$abi/new.places" || :

# Functions may be added. abidiff's status has bits: 1 and 2 are errors, 4 is a
# change of what was there before, 8 one that it knows to be incompatible. A structure that has grown is only 4, and breaks the programs
# that allocate it.
found=0
abidiff --no-added-syms --suppressions "$abi/opaque" --headers-dir1 "$abi/tree/include" --headers-dir2 include "$old" "$new" || found=$?
[ $((found & 3)) -eq 0 ] || { echo "abi: abidiff failed, status $found"; exit 2; }
diff "$abi/old.places" "$abi/new.places" || found=4
if [ "$found" -eq 0 ]; then
    echo "abi: compatible with $base"
elif [ "$(soname "$old")" != "$(soname "$new")" ]; then
    echo "abi: changed since $base, and $(soname "$old") is now $(soname "$new")"
else
    echo "abi: changed since $base, and still $(soname "$new")"
    exit 1
fi
