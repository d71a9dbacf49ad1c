#!/bin/sh
# runtimes.sh BUILD: the readers of Java's, Node's and Python's structures, with ASan and UBSan, over memory of living
# processes in which words were changed: each round ends, whatever they read. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}/test/snapstacks-runtimes"
build=$(cd "${1:-build}" && pwd)
out=$build/test/snapstacks-runtimes
programs=test/debuggers/programs
tool=$build/tools/snapstacks/snapstacks
. test/snapstacks/look.sh
"${CC:-gcc}" -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Iinclude -Itools/runtimes \
    -o "$out/hostile" test/snapstacks/hostile.c tools/runtimes/hotspot*.c tools/runtimes/javascript*.c tools/runtimes/python.c \
    tools/runtimes/peek.c "$build/libsnapwalk.a" -lZydis -lelf -llzma -pthread >"$out/seen" 2>&1
verdict $? "hostile.c compiles"

# hostile KIND ROUNDS COMMAND...: a minute is for a hang
hostile() {
    kind=$1
    rounds=$2
    shift 2
    command -v "$1" >/dev/null 2>&1 || {
        echo "ok - $kind: changed structures # SKIP no $1"
        return
    }
    start "$@"
    until_so sits "$pid"
    timeout 120 "$out/hostile" "$pid" "$kind" "$rounds" >"$out/seen" 2>&1
    verdict $? "$kind: changed structures, $rounds rounds: $(tail -n 1 "$out/seen")"
    kill -KILL "$pid"
}

if command -v javac >/dev/null 2>&1 && javac -d "$out" "$programs/Floors.java" 2>"$out/seen"; then
    hostile java "${ROUNDS:-60}" java -cp "$out" Floors
else
    echo "ok - java: changed structures # SKIP no javac"
fi
hostile node "${ROUNDS:-60}" node "$programs/rooms.js"
if command -v node >/dev/null 2>&1; then
    start node "$programs/clock.js"
    calls_builtin() {
        "$tool" --no-lines "$pid" >"$out/seen" 2>&1
        grep -q 'native  [?]' "$out/seen" || grep -A2 'Builtins_CEntry' "$out/seen" | grep -q 'jit '
    }
    until_so calls_builtin
    ! grep -q 'native  [?]' "$out/seen"
    verdict $? "node: built-in code that compiled code calls has a name"
    kill -KILL "$pid"
else
    echo "ok - node: built-in code that compiled code calls has a name # SKIP no node"
fi
if /usr/bin/python3 --version 2>/dev/null | grep -q '^Python 3[.]11[.]'; then
    hostile python "${ROUNDS:-60}" /usr/bin/python3 "$programs/nests.py"
    if unshare --pid --mount --fork --mount-proc true 2>"$out/seen"; then
        start unshare --pid --mount --fork --mount-proc /usr/bin/python3 "$programs/nests.py"
        inner=$(cat "/proc/$pid/task/$pid/children")
        inner=${inner%% *}
        started="$started $inner"
        until_so sits "$inner"
        ends 0 "python in another pid namespace" ' interp  generate  .*/nests[.]py:24$' "$tool" "$inner"
    else
        echo "ok - python in another pid namespace # SKIP unshare is not allowed"
    fi
else
    echo "ok - python: changed structures # SKIP no CPython 3.11"
fi
exit $status
