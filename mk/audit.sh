#!/bin/sh
# audit.sh BUILD [FILE...]: unwind tables beside what their instructions say; without files, those of this machine's
# twenty largest libraries, of libc, of CoreCLR and its core library, and of mingw-w64's DLLs. What each file gave is in
# BUILD/log/audit; the last line sums up: audit: E of T instructions equal (P %), wrong at full trust W
set -eu
cd "$(dirname "$0")/.."
build=$1
shift
log=$build/log/audit
rm -rf "$log"
mkdir -p "$log"

libraries=/usr/lib/$(uname -m)-linux-gnu
mingw=/usr/lib/gcc/x86_64-w64-mingw32

# A file of the newest runtime that the dotnet command has, if there is one.
runtime() {
    command -v dotnet >/dev/null 2>&1 || return 0
    find "$(dirname "$(readlink -f "$(command -v dotnet)")")/shared/Microsoft.NETCore.App" -name "$1" | sort | tail -n 1
}

# The twenty largest files with code; what has data only (libicudata) has next to no unwind tables.
largest() {
    count=0
    find "$libraries" -maxdepth 1 -name '*.so*' -type f -printf '%s %p\n' | sort -rn | while read -r _ file; do
        table=$(objdump -h -j .eh_frame "$file" 2>/dev/null | awk '$2 == ".eh_frame" { print $3 }')
        [ $((0x${table:-0})) -gt 4096 ] || continue
        echo "$file"
        count=$((count + 1))
        [ "$count" -lt 20 ] || break
    done
}

if [ $# -eq 0 ]; then
    set -- $(largest) "$libraries/libc.so.6" $(runtime libcoreclr.so) $(runtime System.Private.CoreLib.dll) \
        $(find "$mingw" -path '*-win32/*.dll' 2>/dev/null)
fi
printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} sh -c '
    report=$2/$(basename "$3").txt
    timeout 3600 "$1/examples/audit" "$3" >"$report" 2>&1 || echo "failed: $3, see $report"
    sed -n "s|^  equal|$(printf "%-30s" "$(basename "$3")") equal|p" "$report"' audit "$build" "$log" {}
sed -n 's/^audit: \([0-9]*\) of \([0-9]*\) .*trust \([0-9]*\)$/\1 \2 \3/p' "$log"/*.txt |
    awk '{ e += $1; t += $2; w += $3 }
         END { printf "audit: %d of %d instructions equal (%.4f %%), wrong at full trust %d\n", e, t, t ? 100 * e / t : 100, w }'
