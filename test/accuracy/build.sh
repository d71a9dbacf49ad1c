#!/bin/sh
# build.sh OUT: compiles what accuracy.sh steps besides installed programs into OUT: throws, handlers, coroutines, a user of musl,
# the work of Pascal's, Go's and OCaml's compilers, Java's agent; and without
# any unwind table of their own, by gcc and clang at five levels, joined-COMPILER-LEVEL (the programs of the single-step test in
# one) and mixed-COMPILER-LEVEL (generated functions of mixed shapes).
#
# MACHINE=arm64: for ARM64, by cross compilers; joined-*-pac and mixed-*-pac with branch protection, static-* without the
# dynamic linker; no agent.
set -eu
machine=${MACHINE:-x64}
prefix=
clang=clang
[ "$machine" = x64 ] || prefix=aarch64-linux-gnu-
[ "$machine" = x64 ] || clang="clang --target=aarch64-linux-gnu -fPIC -pie"
protection="-mbranch-protection=standard"
here=$(cd "$(dirname "$0")" && pwd)
out=${1:?build.sh OUT}
mkdir -p "$out/parts"
out=$(cd "$out" && pwd)
bare="-std=c11 -D_GNU_SOURCE -w -fno-asynchronous-unwind-tables -fno-unwind-tables"

newer() { [ -f "$1" ] && [ -z "$(find "$here" "$here/../step/programs" -type f -newer "$1")" ]; }

# flags SOURCE: what its first line asks for, or for ARM64 another.
flags() {
    if [ "$machine" = x64 ] || ! grep -q '^/\* arm64: ' "$1"; then
        sed -n '1s,^/\* step: \(.*\) \*/$,\1,p' "$1"
    fi
}

compiler() { case $1 in gcc) echo "${prefix}gcc" ;; *) echo "$clang" ;; esac }

# part COMPILER LEVEL SOURCE NAME FLAGS...: one step program whose main is called main_NAME, all else local to it
part() {
    # shellcheck disable=SC2046,SC2086
    $(compiler "$1") $bare "-$2" $(flags "$3") ${5:-} -Dmain="main_$4" -c "$3" -o "$out/parts/$4.o"
    "${prefix}objcopy" --keep-global-symbol="main_$4" "$out/parts/$4.o"
}

# joined COMPILER LEVEL [pac]; mixed likewise.
joined() {
    made=$out/joined-$1-$2${3:+-$3}
    ! newer "$made" || return 0
    : >"$out/parts/calls"
    # noreturn.c ends the program.
    for source in $(ls "$here"/../step/programs/*.c | grep -v noreturn) "$here/../step/programs/noreturn.c"; do
        [ "$machine" = x64 ] || ! grep -q '^/\* arm64: has none' "$source" || continue
        name=$(basename "$source" .c)
        part "$1" "$2" "$source" "$name" "${3:+$protection}"
        echo "$name" >>"$out/parts/calls"
    done
    {
        sed 's/.*/int main_&(void);/' "$out/parts/calls"
        echo 'int main(void) {'
        sed 's/.*/    main_&();/' "$out/parts/calls"
        echo '    return 0; }'
    } >"$out/parts/main.c"
    # shellcheck disable=SC2046,SC2086
    $(compiler "$1") $bare "-$2" ${3:+$protection} "$out/parts/main.c" \
        $(sed "s,.*,$out/parts/&.o," "$out/parts/calls") -o "$made" -lm -Wl,-z,lazy
}

mixed() {
    made=$out/mixed-$1-$2${3:+-$3}
    ! newer "$made" || return 0
    awk -v seed=4 -v count=300 -f "$here/generate.awk" >"$out/parts/mixed.c"
    # shellcheck disable=SC2046,SC2086
    $(compiler "$1") $bare "-$2" ${3:+$protection} "$out/parts/mixed.c" -o "$made" -Wl,-z,lazy
}

for cc in gcc clang; do
    command -v "$(compiler "$cc" | cut -d' ' -f1)" >/dev/null 2>&1 || continue
    for level in O0 O1 O2 O3 Os; do
        joined "$cc" "$level"
        mixed "$cc" "$level"
        [ "$machine" = x64 ] || joined "$cc" "$level" pac
        [ "$machine" = x64 ] || mixed "$cc" "$level" pac
    done
done
plain() { newer "$out/$1" || $2 -D_GNU_SOURCE "$here/programs/$3" -o "$out/$1"; }
plain handlers "${prefix}gcc -O2 -std=c11" handlers.c
! command -v "${prefix}g++" >/dev/null 2>&1 || plain throws "${prefix}g++ -O2 -std=c++17" throws.cc
if [ "$machine" = arm64 ]; then
    plain throws-pac "${prefix}g++ -O2 -std=c++17 $protection" throws.cc
    plain handlers-pac "${prefix}gcc -O2 -std=c11 $protection" handlers.c
    plain static-throws "${prefix}g++ -O2 -std=c++17 -static" throws.cc
    exit 0
fi
plain coroutines "gcc -O2 -std=c11" coroutines.c
have() { command -v "$1" >/dev/null 2>&1 || ! echo "accuracy: no $1: nothing is built by it"; }
if have musl-gcc; then
    plain musl "musl-gcc -O2 -std=c11" libc.c
    plain musl-static "musl-gcc -O2 -std=c11 -static" libc.c
fi
# Compilers that leave files beside their source get a copy.
copy() {
    mkdir -p "$out/$1"
    cp "$here/programs/$2" "$out/$1/$2"
}
if have fpc && ! newer "$out/pascal"; then
    copy fpc Work.pas
    fpc -O2 -v0 -o"$out/pascal" "$out/fpc/Work.pas" >"$out/fpc/messages" || cat "$out/fpc/messages" >&2
fi
if have go && ! newer "$out/go"; then
    GOCACHE="$out/go-cache" GO111MODULE=off CGO_ENABLED=0 go build -o "$out/go" "$here/programs/work.go"
fi
if have ocamlopt && ! newer "$out/ocaml"; then
    copy ocamlopt work.ml
    (cd "$out/ocamlopt" && ocamlopt -O3 work.ml -o "$out/ocaml" 2>/dev/null)
fi
# The agent that gives Java a perf map; without a JDK Java is walked without one.
jdk=$(dirname "$(dirname "$(readlink -f "$(command -v javac || echo /)")")")
if [ -f "$jdk/include/jvmti.h" ]; then
    newer "$out/libjvmti_map.so" || gcc -O2 -std=c11 -D_GNU_SOURCE -Wall -Wextra -fPIC -shared -I"$jdk/include" \
        -I"$jdk/include/linux" "$here/programs/jvmti_map.c" -o "$out/libjvmti_map.so"
else
    echo "accuracy: no jvmti.h: Java without a perf map"
fi
