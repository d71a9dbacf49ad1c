#!/bin/sh
# run.sh LANGUAGES BUILD: the bindings for these (a comma between), on the shared library: their structures' layout, their own stacks, another process's.
set -u
cd "$(dirname "$0")/../.."
wanted=,$1,
build=$(cd "$2" && pwd)
out=$build/bindings
mkdir -p "$out"
. test/support/tap.sh
is_wanted() { case $wanted in *,$1,*) ;; *) return 1 ;; esac; }

# test/check/install.sh makes it, too.
flock "$build/shared.lock" make --no-print-directory BUILD="$build" shared >"$out/seen" 2>&1
verdict $? "the shared library is built"
export LD_LIBRARY_PATH="$build" SNAPWALK_LIB_DIR="$build" SNAPWALK_LIBRARY="$build/libsnapwalk.so.0"
"${CC:-gcc}" -Iinclude bindings/layout.c -o "$out/layout" 2>"$out/seen" && "$out/layout" >"$out/layout.txt"
verdict $? "layout.c says how the compiler lays out structures"

# same_layout NAME FILE: each line of a binding's is one of the compiler's, and there are some
same_layout() {
    [ -s "$2" ] && ! grep -vxF -f "$out/layout.txt" "$2" >"$out/seen"
    verdict $? "$1: its structures have the compiler's layout"
}

# A process whose stack is known: main, outer, inner, pause
cat >"$out/target.c" <<'END'
#include <stdio.h>
#include <unistd.h>
int depth;
__attribute__((noinline)) void inner(void) { puts("ready"); fflush(stdout); for (;;) { pause(); depth++; } }
__attribute__((noinline)) void outer(void) { inner(); depth++; }
int main(void) { outer(); depth++; return depth; }
END
"${CC:-gcc}" -O1 "$out/target.c" -o "$out/target" || exit 1
: >"$out/said"
"$out/target" >"$out/said" &
target=$!
trap 'kill "$target" 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM
until grep -q ready "$out/said"; do sleep 0.05; done

# in_order NAMES...: the lines of $out/seen have these words in this order
in_order() { awk -v want="$*" 'BEGIN { n = split(want, names) } index($0, names[i + 1]) && i < n { i++ } END { exit i < n }' "$out/seen"; }

# installed: pkg-config knows the library as if it were
installed() {
    printf 'libdir=%s\nName: snapwalk\nDescription: -\nVersion: 0\nLibs: -L${libdir} -lsnapwalk -Wl,-z,now\nCflags: -I%s\n' "$build" "$PWD/include" \
        >"$out/snapwalk.pc"
    export PKG_CONFIG_PATH="$out"
}

# ---- Python ----
if ! is_wanted python; then
    :
elif command -v python3 >/dev/null 2>&1; then
    export PYTHONPATH=$PWD/bindings/python PYTHONDONTWRITEBYTECODE=1
    python3 test/bindings/layout.py >"$out/python.txt" 2>"$out/seen" || verdict 1 "python: layout.py"
    same_layout python "$out/python.txt"
    python3 test/bindings/rows.py "$target" >"$out/seen" 2>&1
    verdict $? "python: its own stack, this process's, and errors"
    python3 bindings/python/stacks.py "$target" >"$out/seen" 2>&1 && in_order inner outer main
    verdict $? "python: the example shows another process"
else
    skip "python" "no python3"
fi

# ---- Rust ----
if ! is_wanted rust; then
    :
elif command -v cargo >/dev/null 2>&1; then
    export CARGO_TARGET_DIR="$out/cargo"
    (cd bindings/rust && cargo build --offline --quiet --examples && cargo test --offline --quiet --lib --tests) >"$out/seen" 2>&1
    verdict $? "rust: the crate and its example are built; its tests"
    "$out/cargo/debug/examples/layout" >"$out/rust.txt" 2>"$out/seen"
    same_layout rust "$out/rust.txt"
    "$out/cargo/debug/examples/stacks" "$target" >"$out/seen" 2>&1 && in_order inner outer main
    verdict $? "rust: the example shows another process"
    "$out/cargo/debug/examples/stacks" >"$out/seen" 2>&1 && in_order stacks4main lang_start main _start
    verdict $? "rust: and itself"
    mkdir -p "$out/program/src"
    printf '[package]\nname = "program"\nedition = "2021"\n[dependencies]\nsnapwalk = { path = "%s" }\n' "$PWD/bindings/rust" >"$out/program/Cargo.toml"
    echo 'fn main() { println!("{}", snapwalk::here().unwrap().stop); }' >"$out/program/src/main.rs"
    (unset SNAPWALK_LIB_DIR && installed && cd "$out/program" && cargo run --offline --quiet) >"$out/seen" 2>&1 && grep -qx root "$out/seen"
    verdict $? "rust: a program that depends on the crate finds the library by pkg-config"
else
    skip "rust" "no cargo"
fi

# ---- Go, on the C headers ----
if ! is_wanted go; then
    :
elif command -v go >/dev/null 2>&1; then
    mkdir -p "$out/go" && cp test/bindings/here.go "$out/go/" && installed
    (cd "$out/go" && CGO_LDFLAGS_ALLOW=-Wl,-z,now GOFLAGS=-mod=mod GO111MODULE=off GOCACHE="$out/go/cache" go build -o here here.go && ./here) >"$out/seen" 2>&1 &&
        in_order here_in_go runtime.asmcgocall ended:
    verdict $? "go: a program on the C headers is built by pkg-config, and walks as far as Go switches stacks for C"
else
    skip "go" "no go"
fi

# ---- C# ----
. mk/sample.sh
if ! is_wanted csharp; then
    :
elif have_dotnet; then
    dotnet_build bindings/csharp/example csharp >"$out/seen" 2>&1
    dotnet "$build/dotnet/csharp/example.dll" layout >"$out/csharp.txt" 2>"$out/seen"
    same_layout csharp "$out/csharp.txt"
    timeout 300 dotnet "$build/dotnet/csharp/example.dll" >"$out/seen" 2>&1
    verdict $? "$(tail -n 1 "$out/seen")"
else
    skip "csharp" "no .NET SDK 10"
fi
exit $status
