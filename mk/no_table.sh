#!/bin/sh
# no_table.sh MAPS PC BACK: succeeds if the file that is mapped BACK bytes in front of PC (hexadecimal), by MAPS, a copy of
# /proc/PID/maps, has no FDE for that address. readelf is asked: neither this library nor the one that is compared with it.
set -eu
at=$((0x$2 - $3))

# The file, and where in it PC is.
in_file() {
    while read -r range _ offset _ _ file; do
        [ "$at" -ge $((0x${range%-*})) ] && [ "$at" -lt $((0x${range#*-})) ] || continue
        echo "$((at - 0x${range%-*} + 0x$offset)) $file"
    done <"$1"
}

# in_file's place as an address of the file's own.
own_address() {
    readelf -lW "$2" 2>/dev/null | while read -r type offset address _ size _; do
        [ "$type" = LOAD ] && [ "$1" -ge $((offset)) ] && [ "$1" -lt $((offset + size)) ] || continue
        printf '%016x\n' $(($1 - offset + address))
    done
}

place=$(in_file "$1")
file=${place#* }
[ -f "$file" ]
address=$(own_address "${place%% *}" "$file")
[ -n "$address" ]
readelf --debug-dump=frames "$file" 2>/dev/null | awk -v address="$address" '
    / FDE .* pc=/ {
        sub(/^.* pc=/, "")
        split($1, of, /\.\./)
        entries++
        if ("x" of[1] <= "x" address && "x" address < "x" of[2]) told = 1
    }
    END { exit !(entries && !told) }'
