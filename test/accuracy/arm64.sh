#!/bin/sh
# arm64.sh BUILD [NAME...]: what `make accuracy-arm64` does: steps real ARM64 programs in qemu-aarch64, by the stub that it has
# for gdb, and compares whole walks with what was really called; README.md says how. All subjects, or those named. About 15
# minutes on two cores; FULL=1: ten times as much of each. What the programs need comes from Debian's arm64 packages, unpacked
# into BUILD; where that or qemu or the cross compilers are not to be had it says so, and fails.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "${1:?arm64.sh BUILD}"
build=$(cd "$1" && pwd)
shift
chosen=" $* "
out=$build/test/accuracy/arm64
programs=$out/programs
root=$build/arm64/sysroot
usual="-t 40 -s 30000 -f 8000 -k 5000"
much="-t 400 -s 400000 -e 29 -f 80000 -k 60000"
mkdir -p "$programs"
. mk/step.sh
. test/accuracy/common.sh

for tool in qemu-aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-g++; do
    command -v "$tool" >/dev/null 2>&1 && continue
    echo "accuracy-arm64: no $tool; please install qemu-user, gcc-aarch64-linux-gnu and g++-aarch64-linux-gnu" >&2
    exit 1
done

# Every second subject is executed by a processor that signs addresses, the others by one that knows nothing of that.
subjects() {
    cat <<END
busybox|dev|$root/bin/busybox|busybox|-w 3||sh $programs/work.sh
dash|dev|$root/bin/dash|dash|-w 3||$programs/work.sh
tcl|dev|$root/usr/bin/tclsh8.6|tcl8.6|-w 3||$programs/work.tcl
mawk|dev|$root/usr/bin/mawk|mawk|-w 3||{s+=\$2} $programs/text
gzip|dev|$root/bin/gzip|gzip|-w 3||-c $programs/text
xz|held|$root/usr/bin/xz|xz-utils|-w 3||-c $programs/text
sqlite3|dev|$root/usr/bin/sqlite3|sqlite3|-w 4||:memory: -init $programs/work.sql .quit
perl|dev|$root/usr/bin/perl|perl|-w 4||$programs/work.pl
python3|dev|$root/usr/bin/python3|python3|-w 4||-S $programs/work.py
gawk|held|$root/usr/bin/gawk|gawk|-w 4||-f $programs/work.awk
lua|held|$root/usr/bin/lua5.4|lua5.4|-w 4||$programs/work.lua
ruby|held|$root/usr/bin/ruby|ruby|-w 4||--disable=gems $programs/work.rb
throws|dev|$programs/throws|libstdc++6|-s 50000||
throws-pac|held|$programs/throws-pac||-s 50000||
static-throws|dev|$programs/static-throws||-s 40000||
handlers|dev|$programs/handlers||-s 40000||
handlers-pac|dev|$programs/handlers-pac||-s 40000||
END
    for kind in joined mixed; do
        for cc in gcc clang; do
            for level in O0 O1 O2 O3 Os; do
                for pac in "" -pac; do
                    case $kind-$level in *-O1 | mixed-O3) set=held ;; *) set=dev ;; esac
                    echo "$kind-$cc-$level$pac|$set|$programs/$kind-$cc-$level$pac||-t 20 -s 16000||"
                done
            done
        done
    done
}

prefix() {
    case $1 in
    *-pac | busybox | xz | perl | lua | static-throws) cpu=max ;;
    *) cpu=cortex-a57 ;;
    esac
    echo "$(command -v qemu-aarch64) -cpu $cpu -L $root"
}

# Every core that may be used, and as many subjects at a time.
cores() {
    last=$(($(nproc 2>/dev/null || echo 1) - 1))
    seq 0 $last
}

cat >"$programs/work.sh" <<'END'
f() { if [ "$1" -lt 2 ]; then r=$1; else f $(($1 - 1)); set -- "$1" "$r"; f $(($1 - 2)); r=$(($r + $2)); fi; }
i=0
while [ $i -lt 2000 ]; do
    f 7
    case $i in *3*) x="$x$i" ;; *) x="${x#?}" ;; esac
    i=$((i + 1))
done
echo "$r $x"
END
write_inputs
# shellcheck disable=SC2046
mk/sysroot.sh arm64 "$root" libc6 libstdc++6 $(subjects | cut -d'|' -f4 | sort -u)
MACHINE=arm64 test/accuracy/build.sh "$programs"
make --no-print-directory BUILD="$build" archive
step_tool arm64 "$out/accuracy" test/accuracy/accuracy.c test/accuracy/findings.c test/accuracy/text_a64.c
# shellcheck disable=SC2046
run_all $(cores)
sum_up
