#!/bin/sh
# run.sh BUILD: builds what scenarios.txt names and runs it, a scenario at a time. What each printed is in BUILD/torture/NAME.
# Last line: torture: N of N held. ONLY=PATTERN: only scenarios whose name has a match of this extended regular expression.
set -eu
cd "$(dirname "$0")/../.."
build=$1
log=$build/torture
export ASAN_OPTIONS=detect_stack_use_after_return=0:allocator_may_return_null=1 TSAN_OPTIONS=halt_on_error=1
rm -rf "$log"
mkdir -p "$log"
table=$log/scenarios
awk -v only="${ONLY:-}" '!/^#/ && NF && $1 ~ only' test/torture/scenarios.txt >"$table"

# made BUILD CLAUSE...: the programs of the rows of a build, and the tool that they look at others with.
made() {
    of=$1
    folder=$2
    shift 2
    programs=$(awk -v of="$of" -v folder="$folder" '($2 == "valgrind" ? "gcc" : $2) == of { print folder "/test/torture/" $4 }' "$table" | sort -u)
    [ -n "$programs" ] || return 0
    # shellcheck disable=SC2086
    make --no-print-directory -j"$(nproc 2>/dev/null || echo 1)" BUILD="$folder" "$@" archive "$folder/tools/snapstacks/snapstacks" $programs >"$log/build-$of" 2>&1 || {
        grep -E 'error|Error|undefined' "$log/build-$of" | head -n 20
        echo "torture: build $of failed, see $log/build-$of"
        exit 1
    }
}

san="-O1 -g -fno-omit-frame-pointer -fno-sanitize-recover=all"
made gcc "$build"
made asan "$build/asan" ASSERTS=1 CC=clang CFLAGS="$san -fsanitize=address,undefined"
made tsan "$build/tsan" ASSERTS=1 CC=clang CFLAGS="$san -fsanitize=thread"
make --no-print-directory BUILD="$build" "$build/test/torture/runner" >/dev/null
exec "$build/test/torture/runner" "$build" "$table" "$log"
