#!/bin/sh
# untold.sh BUILD: two lists that part behind one and the same frame: different where the frame's file has an entry for it, untold
# where it has none. _init has none in programs of glibc: its two halves come from two objects, written by hand.
set -u
cd "$(dirname "$0")/../.."
program=$(cd "${1:-build}" && pwd)/examples/walk_self
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
base=7f0000000000
failed=0

# Where a section begins, with the file mapped at base.
section() {
    offset=$(readelf -SW "$program" | sed -n "s/^ *\[ *[0-9]*\] $1 *[A-Z]* *[0-9a-f]* \([0-9a-f]*\) .*/\1/p")
    printf '%x' $((0x$base + 0x$offset))
}

# row NAME VERDICT PC...: the last PC is where the lists part.
row() {
    name=$1
    verdict=$2
    shift 2
    {
        echo "thread 7 worker"
        for pc in "$@"; do echo "frame $pc 7ff000 native cfi exact name"; done
        echo "frame 1234 7ff008 native cfi exact name"
        echo "stop root"
    } >"$work/ours"
    {
        echo "TID 7:"
        for pc in "$@"; do echo "#0 0x$pc"; done
        echo "#1 0x5678"
    } >"$work/theirs"
    said=$(awk -v maps="$work/maps" -f mk/eu-stack.awk "$work/ours" "$work/theirs")
    case $said in
    "7 $verdict "*) echo "ok - $name" ;;
    *) echo "not ok - $name" && echo "# $said" && failed=1 ;;
    esac
}

echo "7e0000000000-7e0000001000 r-xp 00000000 00:00 0 $0" >"$work/maps"
echo "$base-7f00000f0000 r-xp 00000000 00:00 0 $program" >>"$work/maps"
text=$(section .text)
init=$(section .init)
row "in _init" untold "$init"
row "in _start" different "$text"
row "returning to _init, which called" untold "$text" "$(printf '%x' $((0x$init + 1)))"
row "called from _start, behind _init" different "$init" "$(printf '%x' $((0x$text + 1)))"
row "in no file" different 7fffffffffff
row "in a file without tables" different 7e0000000010
exit $failed
