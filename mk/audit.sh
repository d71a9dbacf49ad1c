#!/bin/sh
# audit.sh BUILD [FILE...]: unwind tables beside what their instructions say; without files, those of this machine's
# twenty largest libraries, of libc, of CoreCLR and its core library, and of mingw-w64's DLLs; then also what Wine makes of
# Windows unwind data, what the ReadyToRun compiler makes of images that the SDK has none of, and Debian's ARM64 libc6, libstdc++6,
# python3 and libssl3 with an ARM64 core library (WITH=files: without these). What each gave is in BUILD/log/audit; the last lines
# sum up, those of ARM64 first: audit: E of T instructions equal (P %), wrong at full trust W
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

with=${WITH:-files}
if [ $# -eq 0 ]; then
    with=${WITH:-all}
    set -- $(largest) "$libraries/libc.so.6" $(runtime libcoreclr.so) $(runtime System.Private.CoreLib.dll) \
        $(find "$mingw" -path '*-win32/*.dll' 2>/dev/null)
fi

# audit_files LOG FILE...: a line for each as it is done; meanwhile those that take long say how far they are.
audit_files() {
    into=$1
    shift
    mkdir -p "$into"
    echo "audit: $# files"
    printf '%s\n' "$@" | xargs -P "$(nproc)" -I{} sh -c '
        report=$2/$(basename "$3").txt
        timeout 3600 "$1/examples/audit" -p "$3" >"$report" || echo "failed: $3, see $report"
        finished=$(cat "$2"/*.txt | grep -c "^audit: ")
        sed -n "s|^  equal|$(printf "[%d/%d] %-30s" "$finished" "$4" "$(basename "$3")") equal|p" "$report"' audit "$build" "$into" {} $#
}

# other NAME SCRIPT...: another judge; its last line, or why there is none, and what was wrong.
other() {
    name=$1
    shift
    echo "$name: running, see $log/$name"
    "$@" >"$log/$name" 2>&1 || echo "$name: failed, see $log/$name"
    grep '^not ok' "$log/$name" | head -n 5 || :
    if grep -q '# SKIP' "$log/$name"; then
        sed -n "s/^ok.*# SKIP/$name: skipped:/p" "$log/$name"
    fi
    tail -n 1 "$log/$name" | grep -v '# SKIP' || :
}

# The largest first.
audit_files "$log" "$@"
if [ "$with" = all ]; then
    other wine test/oracle/pe_wine.sh "$build" all
    other readytorun test/oracle/clr_images.sh "$build"
    if mk/sysroot.sh arm64 "$build/arm64/sysroot" libc6 libstdc++6 python3.11-minimal libssl3; then
        arm64=$build/arm64/sysroot
        audit_files "$log/arm64" "$arm64"/usr/bin/python3.11 "$arm64"/usr/lib/aarch64-linux-gnu/libcrypto.so.3 \
            "$arm64"/lib/aarch64-linux-gnu/libc.so.6 "$arm64"/usr/lib/aarch64-linux-gnu/libstdc++.so.6
        find "$build/composite" -name corelib-arm64.dll.audit -exec cp {} "$log/arm64/corelib.txt" \;
    fi
fi

# sum_up LOG. Reports end with the same three lines as these: each number is added to the one at its place.
sum_up() {
    cat "$1"/*.txt | awk '
    function percent(part, whole) { return whole ? 100 * part / whole : 100 }
    /^by trust right/ {
        for (i = 4; i <= NF; i++) {
            word = $i
            sub(/,$/, "", word)
            if (word ~ /^[0-9]+[/][0-9]+$/) {
                split(word, n, "/")
                if (!(name in right)) levels[++count] = name
                right[name] += n[1]
                wrong[name] += n[2]
            } else if (word ~ /^[0-9]+$/)
                other[name] += word
            else
                name = word
        }
    }
    /^without functions/ { e += $7; t += $9 }
    /^audit: / { E += $2; T += $4; W += $NF }
    END {
        printf "by trust right/wrong: "
        for (i = 1; i <= count; i++) printf "%s %d/%d, ", levels[i], right[levels[i]], wrong[levels[i]]
        printf "register lost %d, table false %d\n", other["lost"], other["false"]
        printf "without functions whose table contradicts itself: %d of %d instructions equal (%.4f %%)\n", e, t, percent(e, t)
        printf "audit: %d of %d instructions equal (%.4f %%), wrong at full trust %d\n", E, T, percent(E, T), W
    }'
}

if [ -d "$log/arm64" ]; then
    echo "ARM64:"
    sum_up "$log/arm64"
    echo "This machine:"
fi
sum_up "$log"
