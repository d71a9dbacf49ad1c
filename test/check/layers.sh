#!/bin/sh
# Who may include whom: layers.txt. A third-party header is included in one room only. Machines' folders are alike.
set -u
cd "$(dirname "$0")/../.."
status=0
grep -v '^#' test/check/layers.txt | while read -r from allowed; do
    files=$(find include lib src harness examples tools -name '*.[ch]' | grep -E "^$from(/|\$)")
    bad=$(grep -HoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*[<"][^>"]+' $files /dev/null | sed -E 's/:[^<"]*[<"]/ /' |
        awk -v ok="$allowed" '$2 !~ ok { print "# " $1 ": may not include " $2 }')
    if [ -z "$files" ]; then
        echo "not ok - layer $from has no file"
    elif [ -z "$bad" ]; then
        echo "ok - layer $from"
    else
        printf 'not ok - layer %s\n%s\n' "$from" "$bad"
    fi
done | tee "${1:-build}/log/layers.out"
! grep -q '^not ok' "${1:-build}/log/layers.out" || status=1
for rule in 'Zydis/:lib/arch/x64/' 'libelf.h|gelf.h:lib/elf/'; do
    header=${rule%%:*}
    room=${rule##*:}
    bad=$(grep -lE "^#include <($header)" $(find include lib src -name '*.[ch]') | grep -v "^$room")
    if [ -z "$bad" ]; then
        echo "ok - $header only in $room"
    else
        echo "not ok - $header also in $bad"
        status=1
    fi
done
# A machine's folder has the same files as the others'; decode_* are its decoder's own.
same=
for room in lib/arch/*/; do
    files=$(ls "$room" | grep -v '^decode_' | tr '\n' ' ')
    [ "$files" = "${same:=$files}" ] || bad_room=$room
done
if [ -z "${bad_room:-}" ]; then
    echo "ok - each folder of lib/arch has $same"
else
    echo "not ok - $bad_room has not $same"
    status=1
fi
exit $status
