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
done
exit $status
