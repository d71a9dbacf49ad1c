#!/bin/sh
# run.sh BUILD: nested.c as distributions ship programs: linked in several ways with glibc and musl, with .eh_frame, with
# .debug_frame only, stripped with MiniDebugInfo. Each is stopped inside its second signal handler, on its stack and on an
# alternate one, and walked from outside by snapstacks; some walk themselves first. Names, order and end must be right;
# where there are tables, every frame must come from them. musl's own functions have none. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
. test/support/wait.sh
build=${1:?run.sh BUILD}
out=$build/test/system
mkdir -p "$out"
out=$(cd "$out" && pwd)
whole=' report on_fault fault_here on_signal signal_here main'
number=0
status=0

say() { # say ok|not ok, TEXT
    number=$((number + 1))
    echo "$1 $number - $2"
    [ "$1" = ok ] || status=1
}

# Two lines: a walk's end and the functions of nested.c in it, leaf first; frames: no table's, guesses, all.
summary() {
    awk '$1 == "thread" { n++ }
         n != 1 { next }
         $1 == "frame" { name = $7; sub(/^.*!/, "", name); sub(/[+].*/, "", name); if (name in wanted) list = list " " name
                         guesses += $6 == "guess"; others += $5 != "cfi" && $5 != "seed"; frames++ }
         $1 == "stop" { end = $2 }
         BEGIN { split("report on_fault fault_here on_signal signal_here main", w, " "); for (i in w) wanted[w[i]] = 1 }
         END { printf "%s:%s\n", end, list; printf "%d %d %d\n", others, guesses, frames }' "$1"
}

# own WALK OUTSIDE all|signals: the pcs that a program saw of itself from on_fault on are those seen from outside: all of
# them, or at least those up to where the first signal came in.
own() {
    awk -v wanted="$3" '
         FNR == NR { if ($1 == "own") own[++n] = "x" $2; if ($1 == "ended") end = $2; next }
         $1 == "frame" && (found || $7 ~ /!on_fault[+]/) { found = 1; pc[++m] = "x" $2 } # no number: 1e99 is a pc
         END { for (first = 1; first <= n && own[first] != pc[1]; first++) { }
               seen = n - first + 1
               if (m == 0 || (wanted == "all" ? seen != m || end !~ /^root/ : seen < 6)) {
                   print "own walk: " n " frames, ended " end; exit }
               for (i = 1; i <= seen; i++)
                   if (own[first + i - 1] != pc[i]) { print "own frame " i ": " own[first + i - 1] ", from outside " pc[i]; exit } }' \
        "$1" "$2"
}

# check TITLE PROGRAM tables|any all|signals|- [ARGUMENT]: runs it, looks at it, judges.
check() {
    title="$1${5:+, on an alternate stack}"
    : >"$out/said"
    "$2" ${5:-} >"$out/said" 2>&1 &
    pid=$!
    until_so is_ready "$out/said" "$pid"
    "$build/tools/snapstacks/snapstacks" --plain "$pid" >"$out/seen" 2>&1
    kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    summary "$out/seen" >"$out/summary"
    found=$(head -n 1 "$out/summary")
    read -r others guesses frames <<EOF
$(tail -n 1 "$out/summary")
EOF
    case $found in
    "root:$whole" | "root-zero:$whole" | "root-base:$whole") problem= ;;
    *) problem="found $found" ;;
    esac
    [ "$3" = any ] || [ "$others" = 0 ] || problem="$problem; not from tables: $others"
    [ "$4" = - ] || problem="$problem$(own "$out/said" "$out/seen" "$4")"
    if [ -z "$problem" ]; then
        say ok "$title: $frames frames, $guesses of them a guess"
    else
        say "not ok" "$title"
        echo "# $problem"
        sed 's/^/#   /' "$out/seen" "$out/said" | head -n 40
    fi
}

# both FLAGS COMPILER TITLE PROGRAM tables|any all|signals|-: compiled, and looked at on its stack and on another.
both() {
    flags=$1
    compiler=$2
    shift 2
    # shellcheck disable=SC2086
    if $compiler -O2 -fomit-frame-pointer -D_GNU_SOURCE -w test/system/nested.c -o "$2" $flags >"$out/compiler" 2>&1; then
        check "$@"
        check "$@" alt
    else
        say "not ok" "$1: does not compile"
        sed 's/^/# /' "$out/compiler" | head -n 10
    fi
}

own="-DOWN_WALK -Iinclude $build/libsnapwalk.a -lZydis -lelf -llzma -Wl,-z,now"
gcc=${CC:-gcc}

# ---- glibc ----
both "$own" "$gcc" "glibc, shared" "$out/glibc" tables all
both -static "$gcc" "glibc, static" "$out/glibc-static" tables -
both -static-pie "$gcc" "glibc, static and position-independent" "$out/glibc-static-pie" tables -
both "$own -Wl,--no-eh-frame-hdr" "$gcc" "glibc, without .eh_frame_hdr" "$out/no-hdr" tables all

# ---- .debug_frame, MiniDebugInfo ----
# mini FROM TO: stripped, with what was stripped in .gnu_debugdata.
mini() {
    objcopy --only-keep-debug "$1" "$out/inside" && objcopy -R .debug_info -R .debug_abbrev -R .debug_line \
        -R .debug_str -R .debug_line_str -R .debug_aranges -R .debug_loclists -R .debug_rnglists -R .debug_loc \
        "$out/inside" "$out/inside.small" &&
        xz -kf "$out/inside.small" && strip "$1" -o "$2" &&
        objcopy --add-section .gnu_debugdata="$out/inside.small.xz" "$2"
}

bare="-g -fno-asynchronous-unwind-tables -fno-unwind-tables"
both "$own $bare" "$gcc" ".debug_frame beside .eh_frame" "$out/debug-frame" tables all
if ! command -v xz >/dev/null 2>&1; then
    say ok "MiniDebugInfo # SKIP no xz command (package xz-utils)"
elif mini "$out/debug-frame" "$out/mini"; then
    check "MiniDebugInfo, stripped" "$out/mini" tables all
    check "MiniDebugInfo, stripped" "$out/mini" tables all alt
    strip "$out/debug-frame" -o "$out/stripped"
    : >"$out/said"
    "$out/stripped" >"$out/said" 2>&1 &
    pid=$!
    until_so is_ready "$out/said" "$pid"
    "$build/tools/snapstacks/snapstacks" --plain "$pid" >"$out/seen" 2>&1
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    case $(summary "$out/seen" | head -n 1)$(grep -c '^frame' "$out/seen") in
    *main* | *:[0-4]) say "not ok" "stripped without MiniDebugInfo there are no names" ;;
    *) say ok "stripped without MiniDebugInfo there are no names" ;;
    esac
else
    say "not ok" "MiniDebugInfo: objcopy, xz or strip failed"
fi

# ---- musl ----
# The library once more, for musl: without libelf and Zydis, which are linked with glibc.
musl_library() {
    rm -rf "$out/musl"
    mkdir -p "$out/musl"
    for file in lib/base/*.c lib/arch/*.c lib/arch/a64/*.c lib/arch/x64/arch.c lib/arch/x64/codec.c lib/arch/x64/code_patterns.c lib/analyze/*.c lib/cfi/*.c lib/regs/*.c lib/clr/*.c lib/pe/*.c lib/sframe/*.c lib/jit/*.c src/common/*.c src/code/*.c src/code/map/*.c \
        src/unwind/*.c src/unwind/*/*.c src/fast/*.c src/walk/*.c src/target/*.c src/target/linux/alloc_libc.c \
        src/target/linux/images*.c src/target/linux/lasting.c src/target/linux/lazy_file.c src/target/linux/map_query.c src/target/linux/maps.c src/target/linux/os.c src/target/linux/present.c src/target/linux/self*.c src/target/linux/tasks.c \
        lib/no_elf/no_elf.c test/system/no_files.c; do
        case $file in *process*) continue ;; esac
        musl-gcc -std=c11 -D_GNU_SOURCE -O2 -g -w -Iinclude -Ilib -Isrc -c "$file" \
            -o "$out/musl/$(echo "$file" | tr / _).o" || return 1
    done
    rm -f "$out/libmusl.a"
    ar rcs "$out/libmusl.a" "$out"/musl/*.o
}

if ! command -v musl-gcc >/dev/null 2>&1; then
    say ok "musl # SKIP no musl-gcc command (package musl-tools)"
elif musl_library; then
    # Headers: without libelf it walks by what is mapped only, and without Zydis not through musl's own functions.
    own="-DOWN_WALK -Iinclude $out/libmusl.a -Wl,--eh-frame-hdr"
    both "" musl-gcc "musl, shared" "$out/musl-shared" any -
    both -static musl-gcc "musl, static" "$out/musl-static" any -
    both "$own" musl-gcc "musl, shared, walks itself" "$out/musl-own" any signals
    both "-static $own" musl-gcc "musl, static, walks itself" "$out/musl-static-own" any signals
else
    say "not ok" "musl: the library does not compile"
fi

echo "1..$number"
exit $status
