#!/bin/sh
# The C++ header: a program that walks by it, compiled by g++ and clang++ without a warning, and run.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
mkdir -p "$build/test/cpp" "$build/log"
status=0
for compiler in g++ clang++; do
    if ! command -v $compiler >/dev/null 2>&1; then
        echo "ok - $compiler # SKIP no $compiler command"
        continue
    fi
    if $compiler -std=c++17 -Wall -Wextra -Wshadow -Werror -O1 -g -Iinclude test/cpp/frames.cc "$build/libsnapwalk.a" \
        -lZydis -lelf -llzma -o "$build/test/cpp/frames" >"$build/log/cpp.out" 2>&1; then
        "$build/test/cpp/frames" | sed "s/\(ok\) - /\1 - $compiler: /" || status=1
    else
        echo "not ok - $compiler takes snapwalk.hpp"
        head -n 10 "$build/log/cpp.out" | sed 's/^/# /'
        status=1
    fi
    # The one indented block of README.md that includes a header, as it is.
    awk '/^    #include <snapwalk/ { on = 1 } on && /^[^ ]/ { exit } on && /^    [^c]|^$/ { sub(/^    /, ""); print }' README.md \
        >"$build/test/cpp/readme.cc"
    $compiler -std=c++11 -Wall -Wextra -Werror -O1 -Iinclude "$build/test/cpp/readme.cc" "$build/libsnapwalk.a" -lZydis -lelf \
        -llzma -o "$build/test/cpp/readme" >"$build/log/cpp.out" 2>&1 &&
        "$build/test/cpp/readme" >>"$build/log/cpp.out" 2>&1 && grep -qxF "ended: root" "$build/log/cpp.out" &&
        grep -q '  seed$' "$build/log/cpp.out"
    if [ $? -eq 0 ]; then
        echo "ok - $compiler: README's program of C is one of C++, too"
    else
        echo "not ok - $compiler: README's program of C is one of C++, too"
        head -n 10 "$build/log/cpp.out" | sed 's/^/# /'
        status=1
    fi
done
exit $status
