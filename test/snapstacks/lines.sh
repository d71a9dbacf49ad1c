#!/bin/sh
# lines.sh BUILD [all]: the lines that snapstacks has of .NET's frames beside those that the runtime has for the same frames
# (StackTrace): of a process, of its cores, and of its capsule; files within a root and a sysroot; PDBs that are not believed.
# all: .NET 8 and 9, precompiled code and a single file too, by packages of NuGet's. TAP on standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}/test"
build=$(cd "${1:-build}" && pwd)
out=$build/test/snapstacks-lines
tool=$build/tools/snapstacks/snapstacks
rm -rf "$out"
mkdir -p "$out"
. mk/sample.sh
. test/support/lines_program.sh
. test/snapstacks/look.sh
if ! have_dotnet; then
    echo "ok - lines of .NET in snapstacks # SKIP no .NET SDK 10"
    exit 0
fi

# A stack is "FILE:LINE ...", the callers of Spin that have lines, innermost first. Of an exception's handler the runtime shows the
# method alone, where it threw; the handler is a frame of its own here, in front of it.
cat >"$out/compare.awk" <<'END'
    FNR == NR { if (/^[0-9]+ /) { sub(/^[0-9]+ /, ""); gsub(/:[0-9]+( |$)/, " "); sub(/ $/, ""); printed[$0] = 1 } next }
    /^thread / { finish(); next }
    begun && place != "" && /^ +and [0-9]+ more at the same pc/ { for (i = 0; i < $2; i++) stack = stack " " place }
    !/^ +#[0-9]+ / { next }
    { name = $0; sub(/^ +#[0-9]+ +[0-9a-f]+ +[a-z]+ +/, "", name); place = ""
      if (name ~ /  [^ ].*[.]cs:[0-9]+$/) { place = name; sub(/.*  /, "", place); sub(/.*\//, "", place); sub(/  [^ ].*/, "", name) }
      if (name ~ /!Lines[.]Spin[(]int[)]$/) { begun = 1; stack = last = ""; next }
      if (!begun || place == "") next
      if (last ~ /!Lines[.]Caught[(]int[)]$/ && name == last) sub(/ ?[^ ]*$/, "", stack)
      last = name
      stack = stack (stack == "" ? "" : " ") place }
    function finish() {
        if (!begun) return
        taken++
        if (stack in printed) seen[stack] = 1; else { wrong++; print "not a stack of the runtime: " stack }
        begun = 0
    }
    END {
        finish()
        for (stack in printed) { kinds++; if (stack in seen) found++; else print "not seen: " stack }
        printf "%d of %d stacks are as the runtime has them; %d of %d were seen\n", taken - wrong, taken, found, kinds
        exit !(taken > 0 && !wrong && found == kinds)
    }
END

# as_printed NAME: what snapstacks said, in $out/seen, beside what the program printed
as_printed() {
    awk -f "$out/compare.awk" "$out/printed" "$out/seen" >"$out/compared"
    verdict $? "lines, $1: $(tail -n 1 "$out/compared")" "$out/compared"
}

# look TEXT TARGET OPTION...: without threads' names, which cores do not have
look() {
    text=$1
    shift
    "$tool" --all "$@" >"$out/seen" 2>"$out/complaints"
    as_printed "$text"
}

# rest COMMAND...: all stacks at once, at rest; $pid
rest() {
    start "$@" 600 rest
    cp "$out/said" "$out/printed"
}

# own TEXT NAME OPTION...: with a runtime of its own
own() {
    text=$1
    name=$2
    shift 2
    why=$(make_own "$name" "$@") || {
        echo "ok - lines, $text # SKIP $why"
        return
    }
    rest "$build/dotnet/lines-$name/lines"
    look "$text" "$pid"
    kill -KILL "$pid"
}

make_program build release -c Release && make_program build debug -c Debug -p:DebugType=embedded ||
    fail "test/profiler/lines could not be built; the whole output is in $build/dotnet/lines-*.log"
release=$build/dotnet/lines-release

rest "$build/dotnet/lines-debug/lines"
look "not optimised, the PDB within the assembly" "$pid"
"$tool" --all --save "$out/capsule" "$pid" >"$out/seen" 2>&1
look "a capsule, the PDB within the assembly's file" "$out/capsule"
kill -KILL "$pid"
rest env DOTNET_TieredCompilation=0 "$release/lines"
look "optimised, the last tier only" "$pid"
kill -KILL "$pid"
rest env DOTNET_ReadyToRun=0 DOTNET_TieredPGO=0 "$release/lines"
look "optimised, nothing precompiled" "$pid"
kill -KILL "$pid"

# ---- process, cores, capsule ----
mkdir "$out/app"
cp "$release"/lines* "$out/app"
rest "$out/app/lines"
look "optimised, the usual tiers" "$pid"
"$tool" --json "$pid" >"$out/seen" 2>&1
grep -qE '"function":"Lines\.Plain\(int\)","offset":"[0-9a-f]*","lines":\[\{"function":"Lines\.Plain\(int\)","file":"[^"]*/Program\.cs","line":36\}\]' "$out/seen"
verdict $? "lines, JSON"
"$tool" --no-lines "$pid" >"$out/seen" 2>&1
grep -q '!Lines[.]Plain(int)$' "$out/seen"
verdict $? "lines, switched off"
"$tool" --all --save "$out/capsule" "$pid" >"$out/seen" 2>&1
look "a capsule" "$out/capsule"
createdump=$(sed -n 's/.* \(\/.*\)\/libcoreclr[.]so$/\1\/createdump/p' "/proc/$pid/maps" | head -n 1)
if "$createdump" -n -f "$out/small" "$pid" >"$out/seen" 2>&1; then
    look "a core of createdump, the smallest kind" "$out/small"
else
    echo "ok - lines, a core of createdump # SKIP $(tail -n 1 "$out/seen")"
fi
if command -v gcore >/dev/null 2>&1 && gcore -o "$out/core" "$pid" >"$out/seen" 2>&1; then
    look "a core of gcore" "$out/core.$pid"
    rm -f "$out/core.$pid"
else
    echo "ok - lines, a core of gcore # SKIP no gcore (package gdb)"
fi
kill -KILL "$pid"

# ---- the files of another machine ----
mkdir -p "$out/machine$out"
mv "$out/app" "$out/machine$out/app"
for folder in bin lib lib64 usr; do ln -s "/$folder" "$out/machine/$folder"; done # the system's files are the same
if [ -f "$out/small" ]; then
    "$tool" --all "$out/small" >"$out/seen" 2>&1
    ! grep -qE '[.]cs:[0-9]' "$out/seen" && grep -q '!Lines[.]Plain(int)$' "$out/seen"
    verdict $? "lines, no files: names alone"
fi
for core in capsule small; do
    [ ! -f "$out/$core" ] || look "a sysroot, $core" --core "$out/$core" --sysroot "$out/machine"
done

# A link of that machine leads within it, wherever it leads to here.
mv "$out/machine$out/app" "$out/machine/real"
ln -s /real "$out/machine$out/app"
[ ! -f "$out/small" ] || look "a sysroot with a link" --core "$out/small" --sysroot "$out/machine"
mv "$out/machine/real" "$out/app"

# A process in a root of its own.
mkdir "$out/root"
if unshare -m sh -c "mount --bind '$out/app' '$out/root'" 2>"$out/seen"; then
    rest unshare -m sh -c "mount --bind '$out/app' '$out/root' && exec '$out/root/lines' \"\$@\"" sh
    look "files that only the process sees" "$pid"
    kill -KILL "$pid"
else
    echo "ok - lines, files that only the process sees # SKIP no right to mount"
fi

# ---- PDBs that are not believed ----
# unbelieved NAME: no frame has a line, and it is said why
unbelieved() {
    "$tool" "$out/capsule" >"$out/seen" 2>"$out/complaints"
    ! grep -qE '[.]cs:[0-9]' "$out/seen" && grep -q '!Lines[.]Plain(int)$' "$out/seen" &&
        grep -qE '^snapstacks: lines[.]pdb of .*/app/lines[.]dll is of another build than its assembly, or broken: not used$' "$out/complaints"
    verdict $? "lines, $1" "$out/complaints"
}
change_id "$out/app/lines.pdb"
unbelieved "a PDB of another build"
printf 'BSJB' >"$out/app/lines.pdb"
unbelieved "a PDB that is cut"
rm "$out/app/lines.pdb"
mkfifo "$out/app/lines.pdb"
"$tool" "$out/capsule" >"$out/seen" 2>"$out/complaints"
! grep -qE '[.]cs:[0-9]' "$out/seen" && [ ! -s "$out/complaints" ]
verdict $? "lines, a PDB that is no file" "$out/complaints"

[ "${2:-}" != all ] || each_own own
exit $status
