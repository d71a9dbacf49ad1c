#!/bin/sh
# audit.sh BUILD: the unwind tables of this machine's largest libraries, of CoreCLR and its core library, and of Windows
# DLLs, beside what their instructions say. What each file gave is in BUILD/log/audit; the last line sums up:
# audit: E of T instructions equal (P %), wrong at full trust W
set -eu
cd "$(dirname "$0")/.."
build=$1
log=$build/log/audit
mkdir -p "$log"

libraries=/usr/lib/$(uname -m)-linux-gnu
mingw=/usr/lib/gcc/x86_64-w64-mingw32

# Where the dotnet command's runtime is, if there is one.
runtime() {
    command -v dotnet >/dev/null 2>&1 || return 0
    find "$(dirname "$(readlink -f "$(command -v dotnet)")")/shared/Microsoft.NETCore.App" -name "$1" | sort | tail -n 1
}

# The largest files with code: libraries of data only have no FDE to speak of.
largest() {
    find "$libraries" -maxdepth 1 -name '*.so*' -type f -size +100k -printf '%s %p\n' | sort -rn |
        while read -r _ file; do
            objdump -h "$file" 2>/dev/null | awk '$2 == ".text" { exit ("0x" $3) ~ /^0x0000[0-9a-f]*$/ && $3 < "00010000" }' &&
                echo "$file"
        done | head -n 20
}

# FILE: audits it, keeps the report, prints its figures
audit() {
    report=$log/$(basename "$1").txt
    timeout 1800 "$build/examples/audit" "$1" >"$report" 2>&1 || echo "  failed: $1"
    sed -n 's/^  equal/equal/p' "$report" | sed "s|^|$(printf '%-34s' "$(basename "$1")")|"
}

for file in $(largest) "$libraries/libc.so.6" $(runtime libcoreclr.so) $(runtime System.Private.CoreLib.dll) \
    $(find "$mingw" -path '*-win32/*.dll' -size -2M 2>/dev/null); do
    [ -r "$file" ] && audit "$file"
done
sed -n 's/^audit: \([0-9]*\) of \([0-9]*\) .*trust \([0-9]*\)$/\1 \2 \3/p' "$log"/*.txt |
    awk '{ e += $1; t += $2; w += $3 }
         END { printf "audit: %d of %d instructions equal (%.4f %%), wrong at full trust %d\n", e, t, t ? 100 * e / t : 100, w }'
