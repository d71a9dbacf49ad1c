#!/bin/sh
# run.sh BUILD: the archive for Windows on x64, built by mingw-w64: what it holds, this process as a target (self.c), and
# examples/walk_self.c as a program, run by Wine. TAP; last line: windows: N of N walks as expected
set -u
cd "$(dirname "$0")/../.."
. test/support/wine.sh
build=${1:-build}/windows
cc=x86_64-w64-mingw32-gcc
nm=x86_64-w64-mingw32-nm
status=0

skip() {
    echo "ok - $1 # SKIP $2"
    exit $status
}

# verdict NAME FINDINGS: ok when there are none
verdict() {
    if [ -z "$2" ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        echo "$2" | head -n 20 | sed 's/^/# /'
        status=1
    fi
}

# program NAME FLAGS SOURCE: compiles against the archive
program() {
    # shellcheck disable=SC2086
    $cc -std=c11 -O2 -g -Wall -Wextra -Wconversion -Wshadow -Werror $2 -Iinclude "$3" "$lib" "$build/zydis/libZydis.a" \
        -lntdll -static -o "$build/$1.exe" 2>"$build/$1.log" || { verdict "$3 compiles" "$(cat "$build/$1.log")"; exit 1; }
}

mkdir -p "$build"
build=$(cd "$build" && pwd)
lib=$build/libsnapwalk.a
mk/windows.sh "$build" archive >"$build/build.log" 2>&1
case $? in
0) ;;
77) skip "windows" "$(tail -n 1 "$build/build.log")" ;;
*)
    verdict "the archive is built" "$(grep -E 'error|Error' "$build/build.log"; tail -n 1 "$build/build.log")"
    exit 1
    ;;
esac
verdict "the archive is built" ""

# .refptr.NAME: how mingw-w64 reaches NAME.
verdict "every global symbol starts with sw_" "$($nm -g --defined-only "$lib" | awk 'NF == 3 && $3 !~ /^([.]refptr[.])?sw_/')"
verdict "no writable globals, no constructors" "$(
    x86_64-w64-mingw32-size -A "$lib" |
        awk '/\.o / { file = $1 } ($1 ~ /^\.(data|bss|tls|ctors|dtors|CRT)/ && $2 > 0) { print file, $1, $2 }'
)"
# Everything but what is for set-up, ELF files and other processes may be reached from a walk, or while a thread stands
# suspended.
aside='/target/windows/(images|images_self|functions_self|images_process|process|process_threads|process_capture|thread_list|present|alloc_libc)[.]o|/src/clr/(clr|events|windows/host)[.]o'
asked='VirtualQuery(Ex)?|GetCurrentProcess|(Open|Suspend|Resume)Thread|GetThreadContext|WaitForSingleObject|CloseHandle|(Get|Set)LastError'
asked="$asked|GetCurrent(ThreadId|ProcessId|ThreadStackLimits)|GetProcessIdOfThread|SwitchToThread|Sleep"
allowed="^(sw_.*|Zydis.*|mem(chr|cmp|cpy|move|set)|str(chr|rchr|str|cmp|ncmp|len|spn|cspn)|__popcountdi2|___chkstk_ms|NtQueryInformationThread|__imp_($asked))\$"
verdict "the walk's objects need nothing that allocates, locks, prints or loads" "$(
    find "$build/lib" "$build/src" -name '*.o' | grep -vE "$aside" |
        while read -r object; do
            $nm -u "$object" | awk -v ok="$allowed" -v file="$object" '$2 !~ ok && $2 !~ /^[.]refptr[.]sw_/ { print file, $2 }'
        done
)"

program walk_self -Wl,--export-all-symbols examples/walk_self.c
program stacks "-Iexamples/windows" examples/windows/stacks.c
program sample_threads "" examples/windows/sample_threads.c
program target "" test/windows/target.c
program others "-Isrc" test/windows/others.c
program speed "-D_WIN32_WINNT=0x0602 -DWIN32_LEAN_AND_MEAN" test/windows/speed.c
program hostile "-D_WIN32_WINNT=0x0602 -DWIN32_LEAN_AND_MEAN" test/windows/hostile.c
program dynamic "-D_WIN32_WINNT=0x0602 -DWIN32_LEAN_AND_MEAN" test/windows/dynamic.c
program lives "-D_WIN32_WINNT=0x0602 -DWIN32_LEAN_AND_MEAN" test/windows/lives.c
$cc -std=c11 -O2 -Wall -Wextra -Werror -fno-asynchronous-unwind-tables -shared -nostdlib -Wl,-e,bare_main \
    test/windows/bare.c -o "$build/bare.dll" 2>"$build/bare.log" || verdict "bare.c compiles" "$(cat "$build/bare.log")"
program self "-Isrc -D_WIN32_WINNT=0x0602 -DWIN32_LEAN_AND_MEAN" test/windows/self.c

# Levels of optimisation at which frames.c and its workload are built: all with FULL, else one.
levels=${FULL:+0 1 2} levels="${levels:+$levels }3"
cxx=x86_64-w64-mingw32-g++
if command -v $cxx >/dev/null 2>&1; then
    for level in $levels; do
        {
            $cxx -O"$level" -g -Wall -Wextra -Werror -c test/windows/workload.cc -o "$build/workload.o" &&
                $cc -std=c11 -O"$level" -g -Wall -Wextra -Werror -D_WIN32_WINNT=0x0602 -Iinclude -c test/windows/frames.c \
                    -o "$build/frames.o" &&
                $cxx "$build/frames.o" "$build/workload.o" "$lib" "$build/zydis/libZydis.a" -lntdll -static \
                    -o "$build/frames-$level.exe"
        } >"$build/frames.log" 2>&1 || verdict "frames.c compiles with -O$level" "$(cat "$build/frames.log")"
    done
    for level in 0 1 2 3; do
        {
            $cxx -O"$level" -g -Wall -Wextra -Werror -c test/windows/step_work.cc -o "$build/step_cc.o" &&
                $cc -std=c11 -O"$level" -g -Wall -Wextra -Werror -c test/windows/step_work.c -o "$build/step_c.o" &&
                $cc -std=c11 -O2 -g -Wall -Wextra -Wconversion -Wshadow -Werror -D_WIN32_WINNT=0x0602 -Iinclude \
                    -c test/windows/step.c -o "$build/step.o" &&
                $cxx "$build/step.o" "$build/step_c.o" "$build/step_cc.o" "$lib" "$build/zydis/libZydis.a" -lntdll -static \
                    -o "$build/step-$level.exe"
        } >"$build/step.log" 2>&1 || verdict "step.c compiles with -O$level" "$(cat "$build/step.log")"
    done
else
    echo "ok - frames at random instructions, each instruction # SKIP no $cxx command (package g++-mingw-w64-x86-64)"
    levels=
fi

find_wine || skip "programs for Windows" "no wine64 command (package wine64)"
use_wine "$build"
trap leave_wine EXIT
timeout 600 "$wine" "$build/walk_self.exe" >"$build/walk_self.out" 2>&1 # makes the folder; what that says is of no interest
[ -d "$WINEPREFIX/drive_c" ] || skip "programs for Windows" "wine64 runs no program here, see $build/walk_self.out"

timeout 600 "$wine" "$build/walk_self.exe" >"$build/walk_self.out" 2>&1
verdict "walk_self ends as it should" "$([ $? -eq 0 ] || tail -n 5 "$build/walk_self.out")"
verdict "walk_self walks to the root, by unwind data only" "$(
    awk '/^#/ { frames++; if ($4 != "(seed," && $4 != "(unwind-codes,") print; if (/ main[+]/) main = 1; last = $3 }
         /^ended: root/ { end = 1 }
         END { if (frames < 5 || !main || !end || last !~ /^RtlUserThreadStart[+]/) print frames " frames, last " last }' "$build/walk_self.out"
)"

timeout 600 "$wine" "$build/sample_threads.exe" >"$build/sample_threads.out" 2>&1
verdict "sample_threads walks all threads to their roots" "$([ $? -eq 0 ] || tail -n 5 "$build/sample_threads.out")"
sleep 60 | timeout 600 "$wine" "$build/target.exe" >"$build/target.out" 2>&1 &
for _ in $(seq 600); do [ -s "$build/target.out" ] || sleep 0.1; done
timeout 600 "$wine" "$build/stacks.exe" "$(tr -d '\r\n' <"$build/target.out")" >"$build/stacks.out" 2>&1
verdict "stacks shows another process's threads" "$(
    [ $? -eq 0 ] && [ "$(grep -c 'target.exe!target_middle' "$build/stacks.out")" = 6 ] &&
        [ "$(grep -c 'ended: root' "$build/stacks.out")" -ge 2 ] || tail -n 20 "$build/stacks.out"
)"
timeout 600 "$wine" "$build/others.exe" >"$build/others.out" 2>&1
code=$?
grep -E '^(ok|not ok|#)' "$build/others.out"
verdict "others.c ends as its rows say" "$([ $code -eq 0 ] || echo "status $code, see $build/others.out")"
timeout 600 "$wine" "$build/self.exe" >"$build/self.out" 2>&1
code=$?
grep -E '^(ok|not ok|#)' "$build/self.out"
verdict "self.c ends as its rows say" "$([ $code -eq 0 ] || echo "status $code, see $build/self.out")"
timeout 600 "$wine" "$build/hostile.exe" >"$build/hostile.out" 2>&1
code=$?
grep -E '^(ok|not ok|#)' "$build/hostile.out"
verdict "hostile.c ends as its rows say" "$([ $code -eq 0 ] || echo "status $code, see $build/hostile.out")"
timeout 600 "$wine" "$build/dynamic.exe" >"$build/dynamic.out" 2>&1
code=$?
grep -E '^(ok|not ok|#)' "$build/dynamic.out"
verdict "dynamic.c ends as its rows say" "$([ $code -eq 0 ] || echo "status $code, see $build/dynamic.out")"
timeout 600 "$wine" "$build/lives.exe" ${FULL:+5000} >"$build/lives.out" 2>&1
code=$?
grep -E '^(ok|not ok|#)' "$build/lives.out"
verdict "lives.c ends as its rows say" "$([ $code -eq 0 ] || echo "status $code, see $build/lives.out")"
timeout 600 "$wine" "$build/speed.exe" >"$build/speed.out" 2>&1
code=$?
grep -E '^(ok|not ok|#)' "$build/speed.out"
verdict "speed.c ends as its rows say" "$([ $code -eq 0 ] || echo "status $code, see $build/speed.out")"
for level in $levels; do
    timeout 900 "$wine" "$build/frames-$level.exe" ${FULL:+10000 10000} >"$build/frames.out" 2>&1
    code=$?
    sed -n -E "s/^(ok|not ok) - (.*)/\\1 - \\2 (-O$level)/p; /^#/p; /^windows frames:/p" "$build/frames.out"
    verdict "frames.c, -O$level, ends as its rows say" "$([ $code -eq 0 ] || echo "status $code, see $build/frames.out")"
done
for level in ${levels:+0 1 2 3}; do
    timeout 600 "$wine" "$build/step-$level.exe" ${FULL:+200} >"$build/step.out" 2>&1
    code=$?
    sed -n -E "s/^(ok|not ok) - (.*)/\\1 - \\2 (-O$level)/p; /^#/p" "$build/step.out"
    verdict "step.c, -O$level, ends as its rows say" "$([ $code -eq 0 ] || echo "status $code, see $build/step.out")"
done
grep '^windows: ' "$build/self.out" || { echo "not ok - self.c came to its end"; status=1; }
exit $status
