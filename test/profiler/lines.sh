#!/bin/sh
# lines.sh [all] BUILD: the lines of a profile's frames beside those that the runtime has for the same frames (StackTrace). A program
# prints the lines of its callers, and then works: every stack of a sample must be one that was printed, and all that were printed
# must be seen. Portable PDBs beside the assembly and within; optimised and not; code of each tier, and replaced while it ran.
# all: .NET 8 and 9, precompiled code and a single file too, by packages of NuGet's.
set -u
cd "$(dirname "$0")/../.."
[ "${1:-}" != all ] || set -- "${2:-build}" all
mkdir -p "${1:-build}"
build=$(cd "${1:-build}" && pwd)
. mk/sample.sh
. test/profiler/program.sh
. test/support/lines_program.sh
out=$build/log/profiler-lines.files
status=0
rm -rf "$out"
mkdir -p "$out"
export SNAPWALK_HZ=1000

if ! have_dotnet || ! command -v go >/dev/null 2>&1; then
    echo "ok - lines # SKIP no .NET SDK 10, or no go tool pprof"
    exit 0
fi

# A stack is "FILE:LINE ...", the callers of Spin that have lines, innermost first. Of an exception's handler the runtime shows the
# method alone, where it threw; the handler is a frame of its own here, in front of it.
compare='
    FNR == NR { if (/^[0-9]+ /) { sub(/^[0-9]+ /, ""); gsub(/:[0-9]+( |$)/, " "); sub(/ $/, ""); printed[$0] = 1; all++ } next }
    /^Samples:/ { part = 1; next } /^Locations/ { part = 2; next } /^Mappings/ { part = 3; next }
    part == 1 && /^ *[0-9]+ +[0-9]+: / { sub(/^[^:]*: /, ""); stacks[++count] = $0 }
    part == 2 { id = $1; sub(/:$/, "", id); method[id] = $4; place[id] = ""
                for (i = 1; i <= NF; i++) if ($i ~ /\.cs:[0-9]+$/) { place[id] = $i; sub(/.*\//, "", place[id]) } }
    END {
        for (s = 1; s <= count; s++) {
            n = split(stacks[s], at, " "); begun = 0; stack = ""; last = ""
            for (i = n; i > 0; i--) if (method[at[i]] ~ /^Lines\.Spin/) begun = i
            if (!begun || method[at[begun - 1]] !~ /^Lines\.Work/) continue
            taken++
            if (place[at[begun - 1]] !~ /^Program\.cs:2[4-9]$/) { wrong++; print "Work is at " place[at[begun - 1]] }
            for (i = begun + 1; i <= n; i++) {
                if (place[at[i]] == "") continue
                if (last == "Lines.Caught(int)" && method[at[i]] == last) sub(/ ?[^ ]*$/, "", stack)
                last = method[at[i]]
                stack = stack (stack == "" ? "" : " ") place[at[i]]
            }
            if (stack in printed) seen[stack] = 1; else { wrong++; print "not a stack of the runtime: " stack }
        }
        for (stack in printed) { kinds++; if (!(stack in seen)) print "not seen: " stack; else found++ }
        printf "%d of %d stacks of samples are as the runtime has them; %d of %d were seen\n", taken - wrong, taken, found, kinds
        exit !(taken > 0 && !wrong && found == kinds)
    }'

# profiled SECONDS NAME [VARIABLE=VALUE...]: a run in which each stack works that long, compared; false: it did not end well
profiled() {
    seconds=$1
    program=$build/dotnet/lines-$2/lines
    shift 2
    rm -f "$out"/profile-* "$out/compared"
    under "$out/profile.pb.gz" env "$@" timeout 600 "$program" "$seconds" >"$out/printed" 2>"$out/said" || return
    HOME=$out TZ=UTC go tool pprof -raw "$out"/profile-*.pb.gz >"$out/raw" 2>/dev/null
    awk "$compare" "$out/printed" "$out/raw" >"$out/compared"
    compared=$?
}

# check TEXT NAME [VARIABLE=VALUE...]
check() {
    text=$1
    shift
    compared=1
    profiled "${SECONDS_EACH:-0.06}" "$@"
    ended=$?
    # On a busy machine a stack may not have had a processor for as long as a sample takes. Nothing else is tried again.
    if [ "$ended" -eq 0 ] && [ "$compared" -ne 0 ] && ! grep -qvE '^not seen|were seen$' "$out/compared"; then
        profiled 0.5 "$@"
        ended=$?
    fi
    [ "$ended" -eq 0 ] || {
        echo "not ok - $text: the program's status"
        status=1
    }
    if [ "$compared" -eq 0 ]; then
        echo "ok - lines, $text: $(tail -n 1 "$out/compared")"
    else
        echo "not ok - lines, $text"
        cat "$out/compared" "$out/said" 2>/dev/null | sort -u | head -n 12 | sed 's/^/# /'
        status=1
    fi
}

# other TEXT NAME OPTION...: with a runtime of its own
other() {
    text=$1
    name=$2
    shift 2
    why=$(make_own "$name" "$@") || {
        echo "ok - lines, $text # SKIP $why"
        return
    }
    check "$text" "$name"
    check "$text, the last tier only" "$name" DOTNET_TieredCompilation=0
}

make_program build release -c Release && make_program build debug -c Debug -p:DebugType=embedded ||
    fail "test/profiler/lines could not be built; the whole output is in $build/dotnet/lines-*.log"
check "optimised, the usual tiers" release
check "optimised, the last tier only" release DOTNET_TieredCompilation=0
check "optimised, nothing precompiled" release DOTNET_ReadyToRun=0 DOTNET_TieredPGO=0
check "not optimised, the PDB within the assembly" debug

# The other formats: OTLP has the column, too; the runtime printed "Program.cs:36:9". speedscope and the page have the file.
for ending in otlp speedscope.json html; do
    under "$out/other.$ending" timeout 600 "$build/dotnet/lines-release/lines" 0.05 >"$out/printed" 2>"$out/said"
    text=$(ls "$out"/other-*."$ending")
    pattern='"name":"Lines\.Plain\(int\)","file":"[^"]*/Program\.cs"'
    [ $ending != html ] || pattern='/Program\.cs"'
    if [ $ending = otlp ]; then
        command -v protoc >/dev/null 2>&1 || continue
        protoc --decode=otlp.ProfilesData -Itools/profile/proto otlp.proto <"$text" 2>&1 | tr -d '\n' >"$out/decoded"
        text=$out/decoded
        pattern='line: 36 +column: 9 .*"[^"]*/Program\.cs"'
    fi
    if grep -q 'Program\.cs:36:9' "$out/printed" && grep -qE "$pattern" "$text"; then
        echo "ok - lines, .$ending"
    else
        echo "not ok - lines, .$ending"
        status=1
    fi
done

# Frames without lines.
stale=$out/stale
cp -r "$build/dotnet/lines-release" "$stale"
# without NAME PATTERN [VARIABLE=VALUE...]: no frame has a line, and it is said why
without() {
    text=$1
    pattern=$2
    shift 2
    rm -f "$out"/profile-*
    under "$out/profile.pb.gz" env "$@" timeout 600 "$stale/lines" 0.05 >"$out/printed" 2>"$out/said"
    HOME=$out TZ=UTC go tool pprof -raw "$out"/profile-*.pb.gz >"$out/raw" 2>/dev/null
    if grep -qE ' Lines\.Work\(int\) ' "$out/raw" && ! grep -qE '\.cs:[0-9]' "$out/raw" && { [ -z "$pattern" ] || grep -qE "$pattern" "$out/said"; }; then
        echo "ok - lines, $text"
    else
        echo "not ok - lines, $text"
        cut -c1-200 "$out/said" | head -n 5 | sed 's/^/# /'
        status=1
    fi
}
change_id "$stale/lines.pdb"
without "a PDB of another build" 'lines\.pdb is of another build than its assembly'
printf 'BSJB' >"$stale/lines.pdb"
without "a PDB that is cut" 'lines\.pdb is of another build than its assembly, or broken'
rm "$stale/lines.pdb"
without "no PDB" '' SNAPWALK_VERBOSE=1
cp "$build/dotnet/lines-release/lines.pdb" "$stale"
without "switched off" '' SNAPWALK_LINES=0
[ "${2:-}" != all ] || each_own other
exit $status
