#!/bin/sh
# Sources are as clang-format leaves them (.clang-format), and no line has more than 120 columns, but for tables of one
# line a row (clang-format off). Says what is not, and how to mend it.
set -u
cd "$(dirname "$0")/../.."
log=${1:-build}/log
mkdir -p "$log"
status=0
sources=$(find include lib src harness examples tools test -type f \( -name '*.c' -o -name '*.h' \) ! -path '*/vendor/*' | sort)
# An ABI's tables, aligned by hand: clang-format would not leave them so.
formatted=$(echo "$sources" | grep -v '/corprof[.]h$')

# verdict NAME FINDINGS HINT
verdict() {
    if [ -z "$2" ]; then
        echo "ok - $1"
        return
    fi
    echo "not ok - $1: $(echo "$2" | wc -l) findings; $3"
    echo "$2" | head -n 12 | sed 's/^/# /'
    status=1
}

# Versions differ in what they leave: Debian 12's is asked.
version=$(clang-format --version 2>/dev/null | sed -nE 's/.*version ([0-9]+).*/\1/p')
if [ "$version" = 14 ]; then
    echo "$formatted" | xargs clang-format --dry-run -Werror >"$log/format.out" 2>&1
    code=$?
    bad=$(sed -nE 's/^([^:]+):[0-9]+:[0-9]+: error:.*/\1/p' "$log/format.out" | sort | uniq -c | awk '{ print $2 ": " $1 }')
    [ "$code" -eq 0 ] || bad=${bad:-$(head -n 5 "$log/format.out")}
    verdict "sources are formatted" "$bad" "clang-format -i FILE"
else
    echo "ok - sources are formatted # SKIP needs clang-format 14 (Debian 12's package clang-format), not ${version:-none}"
fi

# Characters, not bytes: comments hold arrows. A table's lines are blanked, so that numbers stay.
wide() {
    for file in $(echo "$sources" | LC_ALL=C.UTF-8 xargs grep -lE '^.{121}'); do
        sed '/clang-format off/,/clang-format on/s/.*//' "$file" | LC_ALL=C.UTF-8 grep -nE '^.{121}' |
            sed "s,^\([0-9]*\):.*,$file:\1,"
    done
}
wide >"$log/wide.out"
verdict "no line has more than 120 columns" "$(cat "$log/wide.out")" "break it by hand (all: $log/wide.out)"
exit $status
