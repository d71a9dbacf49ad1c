#!/bin/sh
# abi.sh BUILD: what make abi says of a tree without a tag, of one like its tag, of one with a function more, of structures that
# have grown, one that programs see and one that they do not, and of one with another soname besides. A copy of the last commit is
# tagged and changed. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "$1"
out=$(cd "$1" && pwd)/abi-test
rm -rf "$out"
mkdir -p "$out"
. test/support/tap.sh
mk/deps.sh abi >"$out/seen" 2>&1 || {
    skip "make abi" "abidiff cannot be installed: $(tail -n 1 "$out/seen")"
    exit 0
}
git clone -q --no-tags . "$out/tree" && cd "$out/tree" || exit 1

# says STATUS LINE: abi.sh ends so, and that is the last thing it says
says() {
    mk/abi.sh "$out/build" >"$out/seen" 2>&1
    [ $? -eq "$1" ] && [ "$(tail -n 1 "$out/seen")" = "$2" ]
}
says 77 "abi: no tag yet, nothing to compare with; BASE=COMMIT names one"
verdict $? "a tree without a tag: why nothing is compared"
git tag then
says 0 "abi: compatible with then"
verdict $? "the tree that has the tag is compatible with it"

sed -i 's/^SW_API const char .sw_status_name(.*/&\nSW_API int sw_one_more(void);/' include/snapwalk/status.h
printf '\nint sw_one_more(void)\n{\n    return 1;\n}\n' >>src/common/status.c
says 0 "abi: compatible with then"
verdict $? "with a function more it is compatible"
sed -i 's/^struct sw_process {/&\n    uint64_t first;/' src/target/linux/process.h
says 0 "abi: compatible with then" && grep -q 'uint64_t first' src/target/linux/process.h
verdict $? "a structure whose members no public header shows may grow"
sed -i '/^struct sw_walker {/,/^}/s/    uint64_t reserved\[1\];/    uint32_t later;\n    uint32_t reserved[1];/' include/snapwalk/walk.h
says 0 "abi: compatible with then" && grep -q 'uint32_t later' include/snapwalk/walk.h
verdict $? "a member may take the place of reserved ones"
cp include/snapwalk/walk.h "$out/walk.h"
sed -i '/^struct sw_walker {/,/^}/s/uint32_t reserved\[1\]/uint32_t reserved[3]/' include/snapwalk/walk.h
says 1 "abi: changed since then, and still libsnapwalk.so.0" && grep -q '^> sw_walker ' "$out/seen"
verdict $? "but not beside them"
cp "$out/walk.h" include/snapwalk/walk.h
sed -i '/^struct sw_walker {/,/^}/{s/ budget;/ kept;/;s/ scratch_bytes;/ budget;/;s/ kept;/ scratch_bytes;/}' include/snapwalk/walk.h
says 1 "abi: changed since then, and still libsnapwalk.so.0" && grep -q '^> sw_walker.budget ' "$out/seen"
verdict $? "and the other members stay"
cp "$out/walk.h" include/snapwalk/walk.h
sed -i 's/^struct sw_walker {/&\n    uint64_t one_more;/' include/snapwalk/walk.h
says 1 "abi: changed since then, and still libsnapwalk.so.0" && grep -q 'one_more' "$out/seen"
verdict $? "a structure that has grown is found, by its member"
sed -i -E 's/^(#define SW_VERSION_ABI) .*/\1 9/' include/snapwalk/status.h
says 0 "abi: changed since then, and libsnapwalk.so.0 is now libsnapwalk.so.9"
verdict $? "another soname says so to programs"
exit $status
