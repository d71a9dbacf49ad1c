#!/bin/sh
# runtimes.sh BUILD: the readers of Java's, Node's, Python's, Ruby's, PHP's, Go's and mono's structures, with ASan and UBSan, over memory of living
# processes in which words were changed: each round ends, whatever they read. Java asked for a perf map (--ask-runtime), and
# why not. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}/test/snapstacks-runtimes"
build=$(cd "${1:-build}" && pwd)
out=$build/test/snapstacks-runtimes
programs=test/debuggers/programs
tool=$build/tools/snapstacks/snapstacks
. test/snapstacks/look.sh
"${CC:-gcc}" -std=c11 -D_GNU_SOURCE -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -Iinclude -Itools/runtimes \
    -o "$out/hostile" test/snapstacks/hostile.c tools/runtimes/hotspot*.c tools/runtimes/javascript*.c tools/runtimes/python*.c \
    tools/runtimes/mono*.c tools/runtimes/ruby.c tools/runtimes/functions.c tools/runtimes/php.c tools/runtimes/pclntab.c tools/runtimes/callsite.c tools/runtimes/call.c tools/runtimes/peek.c tools/runtimes/characters.c "$build/libsnapwalk.a" -lZydis -lelf -llzma -pthread >"$out/seen" 2>&1
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
if command -v mcs >/dev/null 2>&1 && mcs -unsafe "-out:$out/Boxes.exe" "$programs/Boxes.cs" 2>"$out/seen"; then
    hostile mono "${ROUNDS:-60}" mono "$out/Boxes.exe"
else
    echo "ok - mono: changed structures # SKIP no mcs"
fi
# mono's own map is the witness: what it calls the methods on the stacks. boxes FILE OPTION...
boxes() {
    names=$1
    shift
    start mono "$@" "$out/Boxes.exe"
    until_so sits "$pid"
    "$tool" --plain --no-lines "$pid" >"$out/boxes" 2>"$out/seen"
    [ $# = 0 ] || [ -s "/tmp/perf-$pid.map" ] || : >"$out/boxes"
    awk '$1 == "frame" && $4 == "jit"' "$out/boxes" | cut -d' ' -f7- | sed 's/^[^ !(]*!//' | sort >"$out/$names"
    kill -KILL "$pid"
    rm -f "/tmp/perf-$pid.map"
}
if [ -e "$out/Boxes.exe" ]; then
    boxes mapped --jitmap
    boxes named
    diff "$out/mapped" "$out/named" >"$out/seen" && [ "$(grep -c 'Box`1<' "$out/named")" -ge 10 ] && grep -q 'Remote:Stay (string)' "$out/named"
    verdict $? "mono: $(wc -l <"$out/named") methods are called as in mono's own map: generic arguments, parameters, another domain"
else
    echo "ok - mono: methods are called as in mono's own map # SKIP no mcs"
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
# As Debian's libnode: what is compiled, and inlined, is another thing each time.
if command -v node >/dev/null 2>&1 && strip -o "$out/node" "$(command -v node)" 2>"$out/seen"; then
    start "$out/node" "$programs/rooms.js"
    until_so sits "$pid"
    "$tool" --plain --no-lines "$pid" >"$out/stripped" 2>"$out/seen"
    kill -KILL "$pid"
    [ "$(grep -cE '(interp|jit) .* rooms[.]js!' "$out/stripped")" -ge 10 ] && ! grep -qE ' guess |^stop [^r]' "$out/stripped"
    verdict $? "node without symbols of its own: functions have names, no frame is a guess" "$out/stripped"
    rm -f "$out/node"
else
    echo "ok - node without symbols of its own # SKIP no node, or no strip"
fi

# pythons: of all that are here, each release has structures of its own
pythons=
for minor in 7 8 9 10 11 12 13 14 15; do
    python=$(python_of "3.$minor") && pythons="$pythons $python"
done
[ -n "$pythons" ] || echo "ok - python # SKIP no CPython 3.7 to 3.15"
for python in $pythons; do
    release=$("$python" --version 2>&1)
    hostile python "${ROUNDS:-60}" "$python" "$programs/nests.py"
    start "$python" "$programs/works.py"
    : >"$out/works"
    for look in $(seq "${LOOKS:-60}"); do
        "$tool" --plain --no-lines "$pid" 2>&1 | grep -cE "^(frame .* interp .* |inlined )(<module>|work|(Work[.])?again)\$" >>"$out/works"
    done
    kill -KILL "$pid"
    ! grep -vx 12 "$out/works" >"$out/seen"
    verdict $? "$release: while it works all its calls are seen, $(grep -c . "$out/works") times"
done
python=$(python_of 3.11 || python_of 3.13)
if [ -z "$python" ]; then
    echo "ok - python in another pid namespace # SKIP no CPython 3.11 or 3.13"
elif unshare --pid --mount --fork --mount-proc true 2>"$out/seen"; then
    start unshare --pid --mount --fork --mount-proc "$python" "$programs/nests.py"
    inner=$(cat "/proc/$pid/task/$pid/children")
    inner=${inner%% *}
    started="$started $inner"
    until_so sits "$inner"
    ends 0 "python in another pid namespace" ' interp  generate  .*/nests[.]py:24$' "$tool" "$inner"
else
    echo "ok - python in another pid namespace # SKIP unshare is not allowed"
fi

# ---- Ruby: beside what it says itself, of which functions of C have no frame of Ruby's ----
# same_ways NAME: the process $pid, its capsule, its core and that one's capsule have the same frames, some of them of functions
same_ways() {
    one_thread='s/^thread \([0-9]*\).*/thread \1/'
    "$tool" --plain --all --no-lines --save "$out/ways.1" "$pid" 2>"$out/seen" | sed "$one_thread" >"$out/ways.live"
    "$tool" --plain --all --no-lines "$out/ways.1" 2>"$out/seen" | sed "$one_thread" >"$out/ways.read"
    diff "$out/ways.live" "$out/ways.read" >"$out/seen" && grep -q ' interp ' "$out/ways.live"
    verdict $? "$1: the capsule has the frames of the process"
    if command -v gcore >/dev/null 2>&1 && gcore -o "$out/ways" "$pid" >"$out/seen" 2>&1; then
        "$tool" --plain --all --no-lines --save "$out/ways.2" "$out/ways.$pid" 2>"$out/seen" | sed "$one_thread" >"$out/ways.core"
        "$tool" --plain --all --no-lines "$out/ways.2" 2>"$out/seen" | sed "$one_thread" >"$out/ways.read"
        { diff "$out/ways.live" "$out/ways.core" && diff "$out/ways.live" "$out/ways.read"; } >"$out/seen"
        verdict $? "$1: so have its core and that one's capsule"
    else
        echo "ok - $1: its core # SKIP no gcore"
    fi
    rm -f "$out"/ways.*
}
# a_ruby COMMAND RELEASE
a_ruby() {
    hostile ruby "${ROUNDS:-60}" "$1" "$programs/works.rb"
    start "$1" "$programs/works.rb"
    until_so sits "$pid"
    "$tool" "$pid" >"$out/ruby" 2>"$out/seen"
    same_ways "$2"
    kill -KILL "$pid"
    # From 3.4 on a label has the class in front, where it is printed.
    sed 's/[A-Z][A-Za-z]*[#.]//' "$out/said" | awk '/^(main|other) / && $3 !~ /^(each|map)$/' >"$out/ruby.said"
    awk '/^thread/ { name = $3 == "\"other\"" ? "other" : "main" }
        / interp / { sub(/.* interp  /, ""); line = label = $0; sub(/.*:/, "", line); sub(/  .*/, "", label)
            if (label != "stay") print name, line, label }' "$out/ruby" >"$out/ruby.seen"
    diff "$out/ruby.said" "$out/ruby.seen" >"$out/seen" && [ "$(grep -c . "$out/ruby.said")" -eq 20 ]
    verdict $? "$2: of both threads, one in a fiber, calls and lines are those that it says itself"
    start "$1" "$programs/works.rb" busy
    : >"$out/works"
    for look in $(seq "${LOOKS:-60}"); do
        "$tool" --plain --no-lines "$pid" 2>&1 | awk '/^thread/ { n = 0 } /^stop/ { print n, substr($2, 1, 4) }
            /^(frame .* interp .* |inlined )((block in )?again|begun|stay|block .*in (<class:Works>|outermost|<main>))$/ { n++ }' >>"$out/works"
    done
    kill -KILL "$pid"
    # A thread of its own that waits for timers runs nothing.
    ! grep -vxE '11 root|0 root' "$out/works" >"$out/seen" && [ "$(grep -c '^11' "$out/works")" -eq $((2 * ${LOOKS:-60})) ]
    verdict $? "$2: while it works all its calls are seen, $(grep -c '^11' "$out/works") times"
}
rubies=
for release in 3.1 3.3 3.4; do
    ruby=$(command -v "ruby$release" || command -v ruby) || continue
    case $("$ruby" --version 2>&1) in "ruby $release."*) rubies="$rubies $release" && a_ruby "$ruby" "ruby $release" ;; esac
done
[ -n "$rubies" ] || echo "ok - ruby # SKIP no CRuby 3.1, 3.3 or 3.4"

# ---- PHP: beside what it says itself ----
# a_php COMMAND RELEASE
a_php() {
    hostile zend "${ROUNDS:-60}" "$1" "$programs/works.php"
    start "$1" "$programs/works.php"
    until_so sits "$pid"
    "$tool" "$pid" >"$out/php" 2>"$out/seen"
    same_ways "$2"
    kill -KILL "$pid"
    sed -n 's/^call //p' "$out/said" >"$out/php.said"
    awk '/ interp / { sub(/.* interp  /, ""); line = label = $0; sub(/.*:/, "", line); sub(/  .*/, "", label)
        if (label != "Works::stay") print line, label }' "$out/php" >"$out/php.seen"
    diff "$out/php.said" "$out/php.seen" >"$out/seen" && [ "$(grep -c . "$out/php.said")" -eq 12 ]
    verdict $? "$2: calls and lines are those that it says itself"
    for how in busy "busy fiber"; do
        # shellcheck disable=SC2086 # words
        start "$1" "$programs/works.php" $how
        : >"$out/works"
        for look in $(seq "${LOOKS:-60}"); do
            "$tool" --plain --no-lines "$pid" 2>&1 | awk '/^stop/ { print n + 0, substr($2, 1, 4) }
                /^(frame .* interp .* |inlined )((Works::|class@anonymous::)?(again|begun|generate|begin|stay)|[{]main[}])$/ { n++ }' >>"$out/works"
        done
        kill -KILL "$pid"
        # In a fiber what the file says outside of functions is on another stack.
        [ "$how" = busy ] && calls=10 || calls=9
        ! grep -vx "$calls root" "$out/works" >"$out/seen" && [ -s "$out/works" ]
        verdict $? "$2, $how: while it works all its calls are seen, $(grep -c . "$out/works") times"
    done
}
phps=
for release in 8.2 8.4 8.5 8.6; do
    php=$(command -v "php$release" || command -v php) || continue
    case $("$php" --version 2>&1) in "PHP $release."*) phps="$phps $release" && a_php "$php" "PHP $release" ;; esac
done
[ -n "$phps" ] || echo "ok - php # SKIP no PHP 8.2, 8.4, 8.5 or 8.6"

# ---- asking Java ----

# java_frames FILE: those of methods
java_frames() {
    awk '$1 == "frame" && /Floors[.]|java[.]/' "$1" | cut -d' ' -f4,7-
}
# is_warm: nothing is compiled any more, and the last that the program does is begun: seen in $out/before
is_warm() {
    sits "$pid" && "$tool" --plain --no-lines "$pid" >"$out/before" 2>"$out/seen" && sits "$pid" &&
        grep -qE '(jit|interp) .*java[.]io[.]FileInputStream[.]read' "$out/before"
}
# is_left NAME: as it was: it runs, has said no more than "ready", and nothing of ours lies around
is_left() {
    kill -0 "$pid" && [ "$(grep -c . "$out/said")" -eq 1 ] && [ ! -e "/tmp/.attach_pid$pid" ]
    verdict $? "$1: it is left as it was" "$out/said"
}
# refused NAME WHY OPTION...: started so, it is not asked, but looked at
refused() {
    name=$1
    why=$2
    shift 2
    start java "$@" -cp "$out" Floors
    ends 0 "$name is said" "the runtime of $pid was not asked: $why" "$tool" --plain --no-lines --ask-runtime "$pid"
    is_left "$name"
}

if [ -e "$out/Floors.class" ]; then
    start java -cp "$out" Floors
    until_so is_warm
    ends 0 "java is asked" '^stop root' "$tool" --plain --no-lines --ask-runtime "$pid"
    cp "$out/seen" "$out/asked"
    ! grep -q '^snapstacks:' "$out/asked" && [ "$(java_frames "$out/before")" = "$(java_frames "$out/asked")" ] && [ ! -e "/tmp/perf-$pid.map" ]
    verdict $? "java: the same methods are seen, and the perf map is removed"
    is_left "java that was asked"
    if command -v jcmd >/dev/null 2>&1 && jcmd "$pid" Compiler.perfmap >"$out/seen" 2>&1; then
        "$tool" --plain --no-lines --ask-runtime "$pid" >"$out/asked" 2>"$out/seen"
        [ "$(java_frames "$out/before")" = "$(java_frames "$out/asked")" ] && [ -e "/tmp/perf-$pid.map" ]
        verdict $? "java: a perf map of its own stays, and changes nothing"
        rm -f "/tmp/perf-$pid.map"
    fi
    kill -STOP "$pid"
    ends 0 "java that is stopped is said" "the runtime of $pid was not asked: it is stopped" "$tool" --plain --no-lines --ask-runtime "$pid"
    kill -CONT "$pid"
    refused "-XX:+DisableAttachMechanism" "it was started with -XX:[+]DisableAttachMechanism" -XX:+DisableAttachMechanism
    sleep 60 &
    pid=$!
    started="$started $pid"
    ends 0 "a program without a runtime is said" "the runtime of $pid was not asked: there is no runtime" "$tool" --plain --ask-runtime "$pid"
    newer=$(ls -d /usr/lib/jvm/*-2[156]-*/bin/java 2>/dev/null | head -n 1)
    if [ -n "$newer" ]; then
        start "$newer" -cp "$out" Floors
        "$tool" --plain --no-lines "$pid" >"$out/asked" 2>"$out/seen"
        [ "$(grep -c '^thread' "$out/asked")" -eq "$(grep -c '^stop root' "$out/asked")" ] &&
            [ "$(grep -c 'Floors[.]compiled(int)' "$out/asked")" -ge 5 ] # more are inlined into these
        verdict $? "a Java of another version: all threads are whole, compiled methods have names" "$out/asked"
    else
        echo "ok - a Java of another version # SKIP there is none below /usr/lib/jvm"
    fi
else
    echo "ok - asking java # SKIP no javac"
fi

# ---- Go: from one stack to another ----
mkdir -p "$out/calls" "$out/collects"
cp "$programs/calls.go" "$out/calls/main.go"
cp "$programs/collects.go" "$out/collects/main.go"
# go_program NAME FLAG...: is there, of the folder calls; folder=NAME: of another
go_program() {
    name=$1
    shift
    (cd "$out/${folder:-calls}" && HOME=$out GO111MODULE=off go build -o "../$name" "$@") >"$out/seen" 2>&1
}
# functions: those of each stack in one line
functions() {
    awk '/^thread/ { print line; line = "" } /^frame/ { sub(/.*!/, ""); sub(/[+].*/, ""); line = line " " $0 } /^stop/ { line = line " " $2 } END { print line }' "$1"
}
# calls NAME FLAG...: behind a call of C, live and in a capsule; lines are those of the functions; no thread is cut
calls() {
    kind=$1
    shift
    go_program calls-of-c "$@" main.go && start "$out/calls-of-c" || {
        verdict 1 "go, $kind: it is built"
        return
    }
    "$tool" --plain --no-lines --save "$out/calls.capsule" "$pid" | sed 's/^thread \([0-9]*\).*/thread \1/' >"$out/calls.live"
    functions "$out/calls.live" >"$out/seen"
    grep -qE 'runtime[.]asmcgocall[^ ]* runtime[.]cgocall [^ ]*wait_there[^ ]* (main[.]deeper ){5}main[.]main runtime[.]main runtime[.]goexit[^ ]* root' "$out/seen"
    verdict $? "go, $kind: a stack goes on behind a call of C" "$out/calls.live"
    ! grep 'runtime[.]mcall' "$out/seen" | grep -qvE 'runtime[.]mcall runtime[.]mstart0 runtime[.]mstart.* root' && ! grep -q '^stop [^r]' "$out/calls.live"
    verdict $? "go, $kind: a thread that has left its goroutine goes on to its root" "$out/calls.live"
    "$tool" --plain --no-lines --core "$out/calls.capsule" 2>"$out/seen" | sed 's/^thread \([0-9]*\).*/thread \1/' >"$out/calls.read"
    diff "$out/calls.live" "$out/calls.read" >"$out/seen"
    verdict $? "go, $kind: and in the capsule"
    ends 0 "go, $kind: it is known as Go, and functions have their lines" 'process [0-9]+ "calls-of-c", Go, ' "$tool" "$pid"
    [ "$(grep -c 'main[.]deeper.*/main[.]go:[12]' "$out/seen")" -ge 1 ] && ! grep 'main[.]\|runtime[.]' "$out/seen" | grep -q '[.]c:'
    verdict $? "go, $kind: no line of C is a Go function's"
    kill -KILL "$pid"
}
# whole NAME FOLDER GOGC WHILE PATTERN FLAG...: every stack of each look goes on to where its goroutine or its thread begins, and what
# the program of that folder is there for is among them
whole() {
    kind=$1 of=$2 gogc=$3 during=$4 pattern=$5
    shift 5
    folder=$of CGO_ENABLED=0 go_program "$of.program" "$@" main.go && start env "GOGC=$gogc" "$out/$of.program" || {
        verdict 1 "go, $kind: it is built"
        return
    }
    : >"$out/$of.all"
    for look in $(seq "${LOOKS:-60}"); do
        "$tool" --plain --no-lines "$pid" >"$out/$of.look" 2>"$out/seen" && functions "$out/$of.look" >>"$out/$of.all"
    done
    kill -KILL "$pid"
    grep -vE '^$|runtime[.](goexit|clone|rt0_go)[^ ]* root[-a-z]*$' "$out/$of.all" >"$out/seen"
    [ ! -s "$out/seen" ] && grep -q "$pattern" "$out/$of.all"
    verdict $? "go, $kind: stacks are whole while $during, $(grep -c . "$out/$of.all") of them"
}
# collects NAME FLAG...; clocks NAME FLAG...: what asks for the time does so on another stack
collects() {
    kind=$1
    shift
    whole "$kind" collects 20 "garbage is collected" 'runtime[.]systemstack[^ ]* .*runtime[.]goexit' "$@"
}
clocks() {
    kind=$1
    shift
    whole "$kind" clocks 100 "the time is asked for" 'gettime time[.]now .*main[.]ask .*runtime[.]goexit' "$@"
}
# steps NAME FLAG...: at each instruction of what changes stacks, and of a thread's beginning
mkdir -p "$out/switches"
cp "$programs/switches.go" "$out/switches/main.go"
steps() {
    kind=$1
    shift
    folder=switches CGO_ENABLED=0 go_program switcher "$@" main.go || {
        verdict 1 "go, $kind: it is built"
        return
    }
    timeout 400 "$out/go_steps" "$out/switcher" >"$out/seen" 2>&1
    verdict $? "go, $kind: no stack goes on in another's, $(tail -n 1 "$out/seen")"
    # Position-independent code has no g anywhere for an instruction, at which the two guess differently.
    [ "$kind" = static ] || return
    strip -o "$out/switcher.stripped" "$out/switcher"
    timeout 400 "$out/go_steps" "$out/switcher" "$out/switcher.stripped" >"$out/seen" 2>&1
    verdict $? "go, $kind: stripped and not, frames are the same, $(tail -n 1 "$out/seen")"
}
mkdir -p "$out/clocks" "$out/says"
cp "$programs/clocks.go" "$out/clocks/main.go"
cp "$programs/says.go" "$out/says/main.go"
# says NAME FLAG...: names, files, lines and inlined functions are those that Go says itself
says() {
    kind=$1
    shift
    folder=says CGO_ENABLED=0 go_program sayer "$@" main.go && start "$out/sayer" || {
        verdict 1 "go, $kind: it is built"
        return
    }
    "$tool" "$pid" >"$out/says.seen" 2>"$out/seen"
    sed -n '/^ready/q; p' "$out/said" >"$out/says.said"
    sed -n '/sayer!main[.]stay/,/^$/ { s/.* sayer!//; s/+0x[0-9a-f]*//; s/  */ /p }' "$out/says.seen" | sed 1d >"$out/says.own"
    kill -KILL "$pid"
    diff "$out/says.said" "$out/says.own" >"$out/seen" && [ "$(grep -c . "$out/says.said")" -ge 9 ] &&
        [ "$(grep -c '[[]inlined[]].*main[.]' "$out/says.seen")" -ge 2 ]
    verdict $? "go, $kind: functions, files and lines are those that Go says itself, $(grep -c . "$out/says.said") of them"
}
# says_arm64 NAME FLAG...: the same program for ARM64, of which an emulator writes a core when Go ends it
says_arm64() {
    kind=$1
    shift
    rm -rf "$out/arm64"
    mkdir -p "$out/arm64"
    folder=says GOARCH=arm64 CGO_ENABLED=0 go_program arm64/sayer "$@" main.go &&
        start sh -c 'cd "$1" && ulimit -c unlimited && GOTRACEBACK=crash exec qemu-aarch64 "$1/sayer"' sh "$out/arm64" || {
        verdict 1 "go, arm64, $kind: it is built"
        return
    }
    until_so sits "$pid"
    kill -QUIT "$pid"
    wait "$pid" 2>/dev/null
    "$tool" "$out"/arm64/qemu_*.core >"$out/says.seen" 2>"$out/seen"
    sed -n '/^ready/q; p' "$out/said" >"$out/says.said"
    sed -n '/sayer!main[.]stay/,/^$/ { s/.* sayer!//; s/+0x[0-9a-f]*//; s/  */ /p }' "$out/says.seen" | sed 1d >"$out/says.own"
    rm -rf "$out/arm64"
    diff "$out/says.said" "$out/says.own" >"$out/seen" && [ "$(grep -c . "$out/says.said")" -ge 9 ]
    verdict $? "go, arm64, $kind: behind a signal functions, files and lines are those that Go says itself, $(grep -c . "$out/says.said") of them"
}
if command -v go >/dev/null 2>&1 && command -v qemu-aarch64 >/dev/null 2>&1; then
    says_arm64 "with symbols"
    says_arm64 "stripped" -ldflags="-s -w"
else
    echo "ok - go, arm64 # SKIP no go, or no qemu-aarch64"
fi
if command -v go >/dev/null 2>&1; then
    "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -g -O1 -Iinclude -Itools/runtimes -o "$out/go_steps" test/snapstacks/go_steps.c \
        tools/runtimes/go.c tools/runtimes/pclntab.c tools/runtimes/callsite.c tools/runtimes/peek.c "$build/libsnapwalk.a" -lZydis -lelf -llzma -pthread >"$out/seen" 2>&1
    verdict $? "go_steps.c compiles"
    steps "static"
    steps "position-independent" -buildmode=pie
    collects "static"
    collects "position-independent" -buildmode=pie
    collects "stripped" -ldflags="-s -w"
    collects "position-independent, stripped" -buildmode=pie -ldflags="-s -w"
    clocks "static"
    clocks "stripped" -ldflags="-s -w"
    says "static"
    says "stripped" -ldflags="-s -w"
    says "position-independent, stripped" -buildmode=pie -ldflags="-s -w"
    hostile go "${ROUNDS:-60}" "$out/sayer"
else
    echo "ok - go: stacks are whole while garbage is collected # SKIP no go"
fi
if command -v go >/dev/null 2>&1 && CGO_ENABLED=1 go_program calls-of-c main.go; then
    export CGO_ENABLED=1
    calls "linked by gcc"
    calls "linked by gcc, position-independent" -buildmode=pie
    calls "linked by gcc, stripped" -ldflags="-s -w"
else
    echo "ok - go: a stack goes on behind a call of C # SKIP no go, or no cgo"
fi
exit $status
