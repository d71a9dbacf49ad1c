#!/bin/sh
# accuracy.sh BUILD [NAME...]: what `make accuracy` does: steps real programs and compares whole walks with what was really
# called; README.md says how. All subjects, or those named. About ten minutes; FULL=1: ten times as much of each.
# A subject whose program is missing is installed by root, and skipped by others.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "${1:?accuracy.sh BUILD}"
build=$(cd "$1" && pwd)
shift
chosen=" $* "
out=$build/test/accuracy
programs=$out/programs
here=$PWD/test/accuracy/programs
mkdir -p "$programs"
. mk/sample.sh
. mk/step.sh
. test/accuracy/common.sh
usual="-t 25"
much="-t 250 -s 3000000 -e 29 -f 200000 -k 200000"

subjects() {
    agent=
    texts=$(for _ in 1 2 3 4 5 6 7 8 9; do printf '%s ' "$programs/text" "$programs/text" "$programs/text"; done)
    scripts=$(printf '%s ' "$PWD"/test/accuracy/*.sh)
    [ ! -f "$programs/libjvmti_map.so" ] || agent=-agentpath:$programs/libjvmti_map.so
    cat <<END
gzip|dev|gzip|gzip|-w 3||-c $programs/text
xz|held|xz|xz-utils|-w 3||-c $programs/text
sqlite3|dev|sqlite3|sqlite3|-w 6||:memory: -init $programs/work.sql .quit
perl|dev|perl|perl|-w 6||$programs/work.pl
python3|dev|/usr/bin/python3|python3|-w 6||-S $programs/work.py
gawk|held|gawk|gawk|-w 6||-f $programs/work.awk
lua|held|lua5.4|lua5.4|-w 6||$programs/work.lua
ruby|held|ruby|ruby|-w 6||--disable=gems $programs/work.rb
php|dev|php|php-cli|-s 100000 -w 12 -k 10000 -r r14,r15||-n $here/work.php
guile|dev|guile|guile-3.0|-a 1500 -w 12|GUILE_AUTO_COMPILE=0 GUILE_JIT_THRESHOLD=-1|$here/work.scm
jq|dev|jq|jq|-w 6||-n [range(200000)]
bash|dev|bash|bash|-w 6||$programs/work.bash
objdump|dev|objdump|binutils|-w 6||-d /bin/ls
busybox|dev|busybox|busybox|-s 100000 -w 12 -k 10000||awk -f $here/work_posix.awk
luajit|dev|luajit|luajit|-s 100000 -w 12 -k 10000||-joff $programs/work.lua
pascal|dev|$programs/pascal|fp-compiler|-w 6||
go|dev|$programs/go|golang-go|-s 100000 -w 12 -k 10000 -r rbx,r12,r13,r14,r15|GODEBUG=asyncpreemptoff=1 GOMAXPROCS=1|
ocaml|dev|$programs/ocaml|ocaml|-w 6 -r rbx,rbp,r12,r13,r14,r15||
rust|dev|rg|ripgrep|-w 6||-j1 -c (\\w+)7[0-9]+.line $texts
haskell|dev|shellcheck|shellcheck|-s 100000 -w 12 -k 10000 -r rbx,rbp,r12,r13,r14,r15||-s sh $scripts
coroutines|dev|$programs/coroutines||-w 2||
musl|dev|$programs/musl|musl-tools|-w 2||
musl-static|dev|$programs/musl-static|musl-tools|-w 2||
throws|dev|$programs/throws||-s 600000||
handlers|dev|$programs/handlers||||
node|dev|node|nodejs|-a 700 -w 12||--perf-basic-prof $here/work.js
java|dev|java|default-jre-headless|-a 1500 -w 12||$agent -XX:+UseSerialGC -cp $programs Work
dotnet|dev|dotnet||-a 1500 -w 12|DOTNET_PerfMapEnabled=3 DOTNET_EnableDiagnostics=0|$build/dotnet/managed/managed.dll
mono|held|mono|mono-runtime|-a 700 -w 12||$programs/Work.exe
END
    for kind in joined mixed; do
        for cc in gcc clang; do
            for level in O0 O1 O2 O3 Os; do
                case $kind-$level in *-O1 | mixed-O3) set=held ;; *) set=dev ;; esac
                echo "$kind-$cc-$level|$set|$programs/$kind-$cc-$level||-t 7||"
            done
        done
    done
}

# Debian's packages, at once; without them their subjects are skipped.
install_missing() {
    missing=
    for package in $(subjects | cut -d'|' -f4 | sort -u) mono-mcs g++ clang; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    # Programs that came some other way will do.
    command -v node >/dev/null 2>&1 && missing=$(echo "$missing" | sed 's/ nodejs//')
    command -v java >/dev/null 2>&1 && missing=$(echo "$missing" | sed 's/ default-jre-headless//')
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "accuracy: packages are missing and only root can install them:$missing"
        return 0
    fi
    echo "installing:$missing"
    DEBIAN_FRONTEND=noninteractive apt-get update >"$out/install.log" 2>&1 </dev/null || :
    for package in $missing; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" >>"$out/install.log" 2>&1 \
            </dev/null || echo "accuracy: $package cannot be installed"
    done
}

build_subjects() {
    test/accuracy/build.sh "$programs"
    ! command -v javac >/dev/null 2>&1 || javac -d "$programs" "$here/Work.java"
    ! command -v mcs >/dev/null 2>&1 || mcs -out:"$programs/Work.exe" "$here/managed/Work.cs"
    ! have_dotnet || dotnet_build test/accuracy/programs/managed managed
}

build_tool() {
    make --no-print-directory BUILD="$build" archive
    step_tool x64 "$out/accuracy" test/accuracy/accuracy.c test/accuracy/findings.c test/accuracy/text_x64.c
}

prefix() { :; }

# One core, one subject at a time: their figures depend on the clock.
cores() {
    if command -v taskset >/dev/null 2>&1; then
        taskset -cp $$ | sed 's/.*[ ,-]//'
    else
        echo 0
    fi
}

install_missing
write_inputs
build_subjects
build_tool
run_all "$(cores)"
sum_up
