#!/bin/sh
# run.sh BUILD: the installed tool as a user meets it: what it prints, how it groups, how it ends. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}/test/snapstacks"
build=$(cd "${1:-build}" && pwd)
out=$build/test/snapstacks
tool=$build/tools/snapstacks/snapstacks
. test/snapstacks/look.sh

# ---- managed and native frames ----
# From 2.41 on, glibc has functions of its own below those that wait (__syscall_cancel).
start "$build/examples/toyjit" 600
toy=$pid
ends 0 "a process by its id: managed frames with their names" '^  #[0-9]+ .* jit     int Toy[.]pause::dotnet1\(int\)$' "$tool" "$toy"
[ "$(grep -c -- '---- called by managed code ----' "$out/seen")" -ge 3 ] && grep -q -- '---- called by native code ----' "$out/seen"
verdict $? "transitions are marked, both ways"
! grep -q "$(printf '\033')" "$out/seen"
verdict $? "no colours where the output is no terminal"
ends 0 "colours where they are asked for" "$(printf '\033')" "$tool" --color always "$toy"
ends 0 "--verbose says how each frame was found" '^  #[0-9]+ .* native +cfi/exact +toyjit!in_pause\+0x' "$tool" --verbose "$toy"
ends 0 "--plain: words for programs" '^frame [0-9a-f]+ [0-9a-f]+ jit analysis [a-z]+ int Toy[.]pause::frameless2' "$tool" --plain "$toy"
ends 0 "--folded: root first, the number of threads last" '^.*run_thread;int Toy[.]pause.*;in_pause;[_a-z]*pause(;__[a-z_]+)* 1$' "$tool" --folded "$toy"
ends 0 "--speedscope names its schema" 'speedscope[.]app/file-format-schema[.]json' "$tool" --speedscope "$toy"
"$tool" --pprof --output "$out/toy.pb.gz" "$toy" >"$out/seen" 2>&1
if command -v go >/dev/null 2>&1; then
    HOME=$out go tool pprof -top "$out/toy.pb.gz" >"$out/seen" 2>&1 && grep -q 'accounting for 5, 100% of 5 total' "$out/seen"
    verdict $? "--pprof: go tool pprof counts the threads"
else
    echo "ok - --pprof: go tool pprof counts the threads # SKIP no go command"
fi

# ---- a signal ----
cat >"$out/struck.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
static __attribute__((noinline)) void handle(int number) { puts("ready"); fflush(stdout); pause(); (void)number; }
__attribute__((noinline)) int work(volatile int *n) { for (;;) ++*n; }
int main(void) { volatile int n = 0; signal(SIGALRM, handle); alarm(1); return work(&n); }
END
"${CC:-gcc}" -O1 -o "$out/struck" "$out/struck.c" && start "$out/struck"
"$tool" --no-lines "$pid" >"$out/seen" 2>&1
[ "$(grep -c -- '---- interrupted by a signal ----' "$out/seen")" -eq 1 ] &&
    grep -A1 -- '---- interrupted by a signal ----' "$out/seen" | grep -qE '^  #[0-9]+ .* native  struck!work[+]0x'
verdict $? "where a signal has interrupted code, a line says so, and only there"
kill -KILL "$pid"

# ---- samples ----
ends 0 "--watch: processor time by function, its own and its callees'" \
    '^ *(9[0-9][.][0-9]|100[.]0) % +(9[0-9][.][0-9]|100[.]0) % +int Toy[.]spin::frameless0\(int\)$' \
    "$tool" --watch 2 "$toy"
awk '/^bottom-up/ { on = 1 } on && /Toy[.]spin::/ { print $3, $4 } ' "$out/seen" | head -n 2 | tr '\n' ' ' >"$out/said"
[ "$(cat "$out/said")" = 'int Toy.spin::frameless0(int) int Toy.spin::dotnet1(int) ' ] && ! grep -q 'Toy[.]pause' "$out/seen"
verdict $? "bottom-up: the function first, then its caller; threads that wait are not there"
cat >"$out/nameless.c" <<'END'
#include <stdio.h>
static __attribute__((noinline)) void down(volatile unsigned *n, int depth) { if (depth) { down(n, depth - 1); ++*n; } for (;!depth;) ++*n; }
int main(void) { volatile unsigned n = 0; puts("ready"); fflush(stdout); down(&n, 5); return 0; }
END
"${CC:-gcc}" -O1 -s -o "$out/nameless" "$out/nameless.c" && start "$out/nameless"
"$tool" --watch 1 "$pid" >"$out/seen" 2>&1
[ "$(sed -n '/^top-down/,/^bottom-up/p' "$out/seen" | grep -c '[[]nameless[]]$')" -eq 2 ] # _start, and all the others
verdict $? "functions of one module without names are one line"
kill -KILL "$pid"
sleep 600 &
pid=$!
started="$started $pid"
until_so sits "$pid"
ends 0 "--watch of a process that waits" '^process [0-9]+, [0-9]+ samples in 1 s, 0[.]00[0-9] s of processor time$' "$tool" --watch 1 "$pid"
ends 2 "--watch without seconds" 'must be a number of seconds' "$tool" --watch soon "$toy"

# ---- a process that changes while it is looked at ----
# Each look ends with stacks, or says that the process is gone; exec and fork find it alive behind that.
"${CC:-gcc}" -O1 -g -pthread -o "$out/restless" test/snapstacks/restless.c || exit 1
for kind in exec fork; do
    start "$out/restless" $kind
    for look in 1 2 3 4 5 6 7 8; do
        timeout 600 "$tool" --plain --no-lines "$pid" >"$out/look" 2>"$out/seen"
        case $? in
            0) grep -q '^frame' "$out/look" || break ;;
            1) [ $kind = exec ] && grep -qE '(no thread could be stopped in time|faster than it is looked at); try again$' "$out/seen" || break ;;
            *) break ;;
        esac
    done
    [ "$look" -eq 8 ] && kill -0 "$pid"
    verdict $? "a process that does $kind all the time: eight looks"
    kill -KILL "$pid"
done
for look in 1 2 3 4 5 6 7 8; do
    "$out/restless" die >"$out/said" &
    timeout 600 "$tool" --plain --no-lines $! >"$out/look" 2>"$out/seen"
    case $? in
        0 | 6) grep -q '^thread' "$out/look" || break ;;
        3) grep -q 'may have ended' "$out/seen" || break ;;
        *) break ;;
    esac
    wait $!
done
[ "$look" -eq 8 ]
verdict $? "a process that ends meanwhile: stacks, or that it is gone"

# A process whose main thread has ended, of which /proc/PID tells no more than its name.
start "$out/restless" alone
until_so grep -q '^State:.Z' "/proc/$pid/status"
until_so grep -q '^State:.S' /proc/"$pid"/task/*/status
ends 0 "a process whose main thread has ended" "^process $pid \"restless\", 1 threads" "$tool" "$pid"
"$tool" --version | grep -q 'with libdw' || echo restless.c: >>"$out/seen"
grep -q 'restless\.c:' "$out/seen"
verdict $? "its files are found all the same"
kill -KILL "$pid"

# A thread that is stopped as it comes back from vfork: the return address is in rdi, and sp is its caller's.
start "$out/restless" vfork
until_so grep -q '^State:.T' "/proc/$pid/status"
ends 0 "behind vfork, its caller" '^frame .* cfi exact .*restless!came_back' "$tool" --plain --no-lines "$pid"
kill -KILL "$pid"

# ---- a library that was replaced since ----
# library ID: libwait.so with that build id, in the place of the old one
library() {
    echo 'int pause(void); int wait_here(void) { return pause() + 1; }' >"$out/wait.c"
    "${CC:-gcc}" -O1 -shared -fPIC "-Wl,--build-id=$1" -o "$out/libwait.new" "$out/wait.c" && mv "$out/libwait.new" "$out/libwait.so"
}
less= # root may open the mapped file
[ "$(id -u)" != 0 ] || less="setpriv --bounding-set -sys_admin,-checkpoint_restore"
echo 'int wait_here(void); int main(void) { return wait_here() + 1; }' >"$out/waits.c"
library 0x01 && "${CC:-gcc}" -O1 -o "$out/waits" "$out/waits.c" "$out/libwait.so"
"$out/waits" &
pid=$!
started="$started $pid"
until_so sits "$pid"
library 0x02
# shellcheck disable=SC2086
ends 0 "a library that was replaced is said, and what to do" \
    "^snapstacks: .*/libwait.so was replaced since $pid mapped it: its tables are not used; run as root" $less "$tool" "$pid"
if [ "$less" ] && [ -r "$(find "/proc/$pid/map_files" -name '*-*' | head -n 1)" ]; then
    "$tool" "$pid" >"$out/seen" 2>&1 && ! grep -q 'tables are not used' "$out/seen" && grep -q 'wait_here' "$out/seen"
    verdict $? "where the mapped file can be opened, it is used"
else
    echo "ok - where the mapped file can be opened, it is used # SKIP that needs more rights"
fi

# ---- stubs ----
cat >"$out/stubs.cc" <<'END'
#include <cstdio>
#include <cstring>
#include <string>
int main(int, char **words) { return puts(std::string(words[0]).append(words[0]).c_str()) + strlen(words[0]) > 4; }
END
# at_stubs NAME FLAG...: gdb stops at four stubs that a program comes to; frame #0 has the same name there and here
at_stubs() {
    name=$1
    shift
    "${CXX:-g++}" -O0 -fno-builtin -no-pie "$@" -o "$out/stubs" "$out/stubs.cc" >"$out/seen" 2>&1
    objdump -d --no-show-raw-insn "$out/stubs" | sed -n 's/^0*\([0-9a-f]*\) <[^-+]*@plt>:$/tbreak *0x\1/p' >"$out/stubs.gdb"
    cat >>"$out/stubs.gdb" <<END
run
python
for stop in range(4):
    gdb.execute('generate-core-file $out/stubs.core.%d' % stop)
    print('stub', gdb.newest_frame().name())
    gdb.execute('continue')
end
kill
END
    gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set auto-load safe-path /nowhere' -ex "source $out/stubs.gdb" "$out/stubs" >"$out/gdb-said" 2>&1
    sed -n 's/^stub //p' "$out/gdb-said" | sed 's/(.*)@plt/@plt/' >"$out/theirs"
    for stop in 0 1 2 3; do
        "$tool" --plain --no-lines --core "$out/stubs.core.$stop" 2>/dev/null | sed -n 's/.*stubs!\(.*@plt\)+0x0$/\1/p' | head -n 1
    done | sed 's/(.*)\( const\)*@plt/@plt/' >"$out/ours"
    rm -f "$out"/stubs.core.*
    [ "$(grep -c '@plt$' "$out/theirs")" -eq 4 ] && diff "$out/theirs" "$out/ours" >"$out/seen"
    verdict $? "$name: stubs have the names that gdb gives them" "$out/gdb-said"
}
if command -v gdb >/dev/null 2>&1; then
    at_stubs "a program"
    at_stubs "a program bound at its start" -Wl,-z,now
    at_stubs "a program with marks for indirect branches" -fcf-protection=full -Wl,-z,ibtplt
else
    echo "ok - stubs have the names that gdb gives them # SKIP no gdb"
fi

# ---- threads that are alike ----
"${CC:-gcc}" -O1 -pthread -o "$out/idle" test/snapstacks/idle.c >"$out/seen" 2>&1
verdict $? "idle.c compiles"
start "$out/idle" 1000
idle=$pid
ends 0 "1,000 idle threads are one block" '^1000 threads "idle": [0-9 ]+ and 992 more$' "$tool" "$idle"
[ "$(grep -cE '^(thread|[0-9]+ threads) ' "$out/seen")" -eq 2 ]
verdict $? "and the main thread is the other one"
ends 0 "--all prints each" '^thread ' "$tool" --all "$idle"
[ "$(grep -c '^thread ' "$out/seen")" -eq 1001 ]
verdict $? "1,001 of them"
ends 0 "--folded counts threads" ';[_a-zA-Z;]*read(;__[a-z_]+)* 1000$' "$tool" --folded "$idle"
if command -v python3 >/dev/null 2>&1; then
    "$tool" --json "$idle" >"$out/seen" && python3 -c '
import json, sys
seen = json.load(open(sys.argv[1]))
threads = sorted(len(stack["threads"]) for stack in seen["stacks"])
assert threads == [1, 1000], threads
assert all(stack["whole"] and stack["frames"] for stack in seen["stacks"])
assert len({t["tid"] for stack in seen["stacks"] for t in stack["threads"]}) == 1001
' "$out/seen" 2>"$out/said"
    verdict $? "--json: each thread once, whole stacks" "$out/said"
else
    echo "ok - --json # SKIP no python3 command"
fi
if command -v gcore >/dev/null 2>&1; then
    printf short >"$out/short.data" # as locales have
    { printf '\177ELF\2\1\1' && head -c 9 /dev/zero && printf '\3\0\0\0\1\0\0\0' && head -c 5000 /dev/zero; } >"$out/of-no-machine.go" # as Guile's are
    start "$out/idle" 3 "$PWD/LICENSE" "$out/short.data" "$out/of-no-machine.go"
    until_so sits "$pid"
    gcore -o "$out/core" "$pid" >"$out/said" 2>&1
    frames() { awk '$1 == "frame" { print $2, $3, $7 } $1 == "thread" { print "thread", $2 }'; }
    "$tool" --plain "$pid" | frames >"$out/live"
    "$tool" --plain "$out/core.$pid" 2>"$out/said" | frames | diff "$out/live" - >"$out/seen" 2>&1 && [ "$(wc -l <"$out/live")" -gt 20 ]
    verdict $? "a word that is a file is a core: the frames of the living process"
    [ -s "$out/core.$pid" ] && [ ! -s "$out/said" ]
    verdict $? "nothing is said of data that it had mapped" "$out/said"
    size=$(wc -c <"$out/core.$pid")
    truncate -s $((size - 5000)) "$out/core.$pid"
    ends 0 "a core that was cut off" "core\.$pid: cut off, [0-9]+ KB are missing at its end" "$tool" --core "$out/core.$pid"
    truncate -s 500 "$out/core.$pid"
    ends 5 "one that was cut off at its beginning" "core\.$pid: cut off before its threads$" "$tool" --core "$out/core.$pid"
    rm -f "$out/core.$pid"
else
    echo "ok - a word that is a file is a core # SKIP no gcore command"
fi

# ---- names and lines ----
wait_of='cpp!shop::Cart<std::__cxx11::basic_string<.*>::wait\(std::__cxx11::basic_string<.*\+0x[0-9a-f]+'
# named TITLE PROGRAM [VARIABLE=VALUE]: C++ names, the inlined function, files and lines
named() {
    start "$2"
    ends 0 "$1: C++ is demangled, with file and line" "^  #[0-9]+ .* native  $wait_of  .*/names[.]cc:13\$" env ${3:+"$3"} "$tool" "$pid"
    grep -qE '^       \[inlined\]         native  cpp!shop::Cart<.*>::pay\(.*  .*/names[.]cc:18$' "$out/seen" &&
        grep -qE '^  #[0-9]+ .* native  cpp!main\+0x[0-9a-f]+  .*/names[.]cc:26$' "$out/seen"
    verdict $? "$1: the inlined function stands in front of its caller"
}
mkdir -p "$out/full" "$out/linked" "$out/cached" "$out/cache" "$out/bare"
if command -v "${CXX:-g++}" >/dev/null 2>&1 && "$tool" --version | grep -q 'with libdw'; then
    "${CXX:-g++}" -O2 -g -Wl,--build-id -o "$out/full/cpp" test/snapstacks/names.cc >"$out/seen" 2>&1
    verdict $? "names.cc compiles"
    objcopy --only-keep-debug "$out/full/cpp" "$out/linked/cpp.debug"
    strip -o "$out/bare/cpp" "$out/full/cpp"
    (cd "$out/linked" && objcopy --add-gnu-debuglink=cpp.debug ../bare/cpp cpp)
    cp "$out/bare/cpp" "$out/cached/cpp"
    id=$(readelf -n "$out/full/cpp" | sed -n 's/.*Build ID: //p')
    mkdir -p "$out/cache/$id"
    cp "$out/linked/cpp.debug" "$out/cache/$id/debuginfo"
    if command -v clang++ >/dev/null 2>&1; then
        mkdir -p "$out/clang"
        clang++ -O2 -g -o "$out/clang/cpp" test/snapstacks/names.cc >"$out/seen" 2>&1
        named "clang, whose units have no table of addresses" "$out/clang/cpp"
    else
        echo "ok - clang, whose units have no table of addresses # SKIP no clang++"
    fi
    named "debug information in the file" "$out/full/cpp"
    ends 0 "--no-lines reads none" "^  #[0-9]+ .* native  $wait_of\$" "$tool" --no-lines "$pid"
    ends 0 "--raw: the symbol as it is" 'native  cpp!_ZN4shop4Cart' "$tool" --raw "$pid"
    ends 0 "--json has lines" '"lines":\[[{]"function":"shop::Cart.*::pay\(.*"line":18[}],[{]"function":"main","file":".*names.cc","line":26' \
        "$tool" --json "$pid"
    cp "$out/bare/cpp" "$out/full/cpp.new" && printf x >>"$out/full/cpp.new" && printf '\377' | dd of="$out/full/cpp.new" bs=1 seek=40 conv=notrunc 2>"$out/said"
    mv "$out/full/cpp.new" "$out/full/cpp"
    ends 0 "a file that was replaced is said, and not used" 'cpp: not used: it was replaced since it was mapped' "$tool" "$pid"
    named "a separate file, by .gnu_debuglink" "$out/linked/cpp"
    named "a separate file in debuginfod's cache, by build id" "$out/cached/cpp" "DEBUGINFOD_CACHE_PATH=$out/cache"
    objcopy --compress-debug-sections=zlib "$out/linked/cpp.debug"
    objcopy --compress-debug-sections=zlib "$out/cache/$id/debuginfo"
    named "a separate file beside the program, compressed" "$out/linked/cpp"
    start "$out/cached/cpp"
    ends 0 "of debuginfod's cache, compressed, symbols only are read" "^  #[0-9]+ .* native  $wait_of\$" \
        env "DEBUGINFOD_CACHE_PATH=$out/cache" "$tool" "$pid"
    ends 0 "--all-lines: lines, too" "^  #[0-9]+ .* native  $wait_of  .*/names[.]cc:13\$" \
        env "DEBUGINFOD_CACHE_PATH=$out/cache" "$tool" --all-lines "$pid"
    mkdir -p "$out/contained/usr/lib/debug"
    if "${CXX:-g++}" -O2 -g -static -Wl,--build-id -o "$out/contained/whole" test/snapstacks/names.cc >"$out/seen" 2>&1 &&
        strip -o "$out/contained/cpp" "$out/contained/whole" && unshare -m true 2>"$out/seen"; then
        id=$(readelf -n "$out/contained/whole" | sed -n 's/.*Build ID: //p')
        mkdir -p "$out/contained/usr/lib/debug/.build-id/${id%"${id#??}"}"
        objcopy --only-keep-debug "$out/contained/whole" "$out/contained/usr/lib/debug/.build-id/${id%"${id#??}"}/${id#??}.debug"
        rm "$out/contained/whole"
        printf '#!/bin/sh\nexec unshare -m -R "%s" /cpp\n' "$out/contained" >"$out/contain"
        chmod +x "$out/contain"
        named "a separate file that only the process sees, by build id" "$out/contain"
    else
        echo "ok - a separate file that only the process sees # SKIP no right to mount, or no static libraries"
    fi
    start "$out/bare/cpp"
    ends 0 "without debug information there is the module" '^  #[0-9]+ .* native  cpp[+]0x[0-9a-f]+$' "$tool" "$pid"
else
    echo "ok - names and lines # SKIP no C++ compiler, or built without libdw"
fi

# NativeAOT's, by symbols alone, without debug information; and by a separate file, compressed as its compiler leaves it.
mkdir -p "$out/ahead"
"${CC:-gcc}" -O1 -o "$out/ahead/app" test/snapstacks/ahead.c && start "$out/ahead/app"
ends 0 "NativeAOT: names as they were written, by symbols" '^  #[0-9]+ .* native  app!Shop[.]Cart[.]Pay[+]0x[0-9a-f]+$' "$tool" "$pid"
ends 0 "NativeAOT: --raw, the symbol as it is" '^  #[0-9]+ .* native  app!app_Shop_Cart__Pay[+]0x' "$tool" --raw "$pid"
if "$tool" --version | grep -q 'with libdw'; then
    kill -KILL "$pid"
    rm "$out/ahead/app" # which is mapped
    "${CC:-gcc}" -O1 -g -Wl,--build-id -o "$out/ahead/app" test/snapstacks/ahead.c &&
        objcopy --only-keep-debug --compress-debug-sections=zlib "$out/ahead/app" "$out/ahead/app.dbg" &&
        strip "$out/ahead/app" && (cd "$out/ahead" && objcopy --add-gnu-debuglink=app.dbg app) && start "$out/ahead/app"
    ends 0 "NativeAOT: and lines, by its separate file" \
        '^  #[0-9]+ .* native  app!Shop[.]Cart[.]Pay[+]0x[0-9a-f]+  .*/ahead[.]c:[0-9]+$' "$tool" "$pid"
else
    echo "ok - NativeAOT: and lines, by its separate file # SKIP built without libdw"
fi

# ---- names of processes ----
# Its name would have the terminal turn red.
named=$out/$(printf 'na\033[31med%s' $$)
cp /bin/sleep "$named"
"$named" 600 &
pid=$!
started="$started $pid"
is_named() { grep -q '^Name:.*na.*ed' "/proc/$1/status" && sits "$1"; }
until_so is_named "$pid"
ends 0 "a process by its name; what a terminal would obey is escaped" '^thread .*"na\\x1b\[31med' "$tool" --pid "$(basename "$named")"
! grep -q "$(printf '\033')" "$out/seen"
verdict $? "nothing is printed that a terminal would obey"
is_clean() { ! grep -q "$(printf '\033')" "$out/seen"; }
if command -v gcore >/dev/null 2>&1; then
    gcore -o "$out/core" "$pid" >"$out/said" 2>&1
    mv "$named" "$named.away" # nor is it in complaints: of a file that is not there, of one that is another
    ends 0 "a core whose file is not there: its name is escaped, too" '^snapstacks: .*/na\\x1b\[31med.* is not here$' \
        "$tool" --core "$out/core.$pid"
    is_clean || verdict 1 "and nowhere as it is"
    grep -q '^snapstacks: --sysroot DIR names' "$out/seen"
    verdict $? "and it is said what helps" "$out/seen"
    rm -f "$out/core.$pid"
    mv "$named.away" "$named"
else
    echo "ok - a core whose file is not there # SKIP no gcore command"
fi
if "$tool" --version | grep -q 'with libdw'; then
    cp /bin/cat "$named.new" && mv "$named.new" "$named"
    ends 0 "nor in what is said of a file that was replaced" '^snapstacks: .*/na\\x1b\[31med.*: not used: it was replaced' "$tool" "$pid"
    is_clean || verdict 1 "and nowhere as it is"
else
    echo "ok - nor in what is said of a file that was replaced # SKIP built without libdw"
fi
: >"$out/child"
printf 'sleep 600 & echo $!; wait\n' >"$out/script$$.sh"
/bin/sh "$out/script$$.sh" >"$out/child" &
pid=$!
until_so test -s "$out/child"
started="$started $pid $(cat "$out/child")"
ends 0 "a process by its script, with or without its ending" "^process $pid " "$tool" "script$$"
cp /bin/sleep "$out/twice$$"
for _ in 1 2; do
    "$out/twice$$" 600 &
    pid=$!
    started="$started $pid"
    until_so sits "$pid"
done
ends 3 "several of a name: all are listed" "twice$$: 2 processes have this name; choose one: [0-9]+ [0-9]+\$" "$tool" "twice$$"
rm -f "$named" "$out/twice$$" "$out/script$$.sh"

# ---- ends ----
ends 0 "--help lists the exit codes" '^Exit codes: 0 done, 1 failed' "$tool" --help
ends 1 "an output that is full" '/dev/full: could not be written to its end$' "$tool" --output /dev/full "$toy"
ends 1 "an output that cannot be made" '/nowhere/x: cannot be written; choose another --output$' "$tool" --output /nowhere/x "$toy"
ends 2 "no target" 'a process or a core is needed; snapstacks --help' "$tool"
ends 2 "no such option" "^snapstacks: --nothing: no such option" "$tool" --nothing "$toy"
ends 2 "two targets" "a second target" "$tool" "$toy" "$idle"
ends 2 "--sysroot without a core" "is for cores only" "$tool" --sysroot / "$toy"
ends 3 "no process of that name" 'no process of this name is seen; `ps -e` lists them' "$tool" "nobody-is-called-so"
ends 3 "no process of that id" 'there is no such process; it may have ended$' "$tool" 4194305
ends 5 "a file that is no core" 'not a core file of x64 or ARM64$' "$tool" ./Makefile
for way in zstd lz4 xz gzip; do
    if command -v $way >/dev/null 2>&1; then
        $way -c ./Makefile >"$out/packed"
        ends 5 "a core that $way has compressed: what to do first" "packed: compressed: unpack it first \\($way -d" "$tool" "$out/packed"
    else
        echo "ok - a core that $way has compressed # SKIP no $way command"
    fi
done
rm -f "$out/packed" "$out/pipe"
mkfifo "$out/pipe"
ends 5 "a pipe" 'pipe: a pipe: write it to a file first' timeout 600 "$tool" "$out/pipe"
ends 5 "a word that is a file, where a process may be meant" '^snapstacks: Makefile: not a core file of x64 or ARM64; a process of that name is named by --pid Makefile$' \
    "$tool" Makefile
if [ -r /proc/2/stat ] && [ ! -s /proc/2/maps ]; then
    ends 3 "a thread of the kernel" 'process 2: it is a thread of the kernel: it has no stack of a program$' "$tool" 2
else
    echo "ok - a thread of the kernel # SKIP none is seen here"
fi
ends 5 "a file that is not there" 'no such file$' "$tool" --core ./nothing
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1 && setpriv --reuid=65534 --clear-groups test -x "$tool"; then
    ends 4 "a process of another user" "it is another user's: be that user" setpriv --reuid=65534 --clear-groups "$tool" "$toy"
else
    echo "ok - a process of another user # SKIP not root, no setpriv, or the build cannot be entered by others"
fi
start "$out/idle" vfork
ends 0 "a thread in uninterruptible sleep has its stack, too" '^  #0 .*!(__)?(libc_)?vfork' "$tool" "$pid"
grep -q '^  #1 .*idle!main' "$out/seen"
verdict $? "its caller is where vfork has put the return address, in a register"
child=$(cat "/proc/$pid/task/$pid/children" 2>/dev/null)
started="$started $child"

exit $status
