#!/bin/sh
# command.sh BUILD: what `snapwalk-profiler` says of ordinary mistakes, and that it, its manual and docs/profiler.md have the same
# options. Without .NET: what a runtime answers is in run.sh.
set -u
cd "$(dirname "$0")/../.."
. test/support/wait.sh
build=$(cd "${1:-build}" && pwd)
command=$build/tools/snapwalk-profiler
out=$build/log/profiler-command.files
status=0
rm -rf "$out"
mkdir -p "$out"
sleep 600 &
other=$!
trap 'kill $other 2>/dev/null' EXIT
until_so grep -q '^sleep$' "/proc/$other/comm" # until then it is this shell
: >"$out/a.dll"

# says NAME STATUS PATTERN COMMAND...: one line on standard error, in one piece with the pattern
says() {
    name=$1
    code=$2
    pattern=$3
    shift 3
    "$@" >"$out/printed" 2>"$out/said" </dev/null
    if [ $? -eq "$code" ] && [ "$(wc -l <"$out/said")" -eq 1 ] && grep -qE "^snapwalk-profiler: $pattern" "$out/said" && [ ! -s "$out/printed" ]; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        cut -c1-200 "$out/said" "$out/printed" | head -n 5 | sed 's/^/# /'
        status=1
    fi
}

says "no such command" 2 'atach: no such command; --help' "$command" atach 1
says "no process is given" 2 'attach: which process\?' "$command" attach
says "no program is given" 2 'run: which program\?' "$command" run
says "options alone" 1 'run: which program\?' "$command" run SNAPWALK_HZ=10
says "too many words" 2 'dump: a process id, and nothing behind it' "$command" dump 1 2
says "no process id" 1 'dotnet: not a process id' "$command" attach dotnet
says "no such process" 1 'process 4194305: there is no such process' "$command" attach 4194305
says "no .NET program" 1 "process $other \(sleep\): nobody listens at /.*-$other-.*: it is no \.NET program, or" "$command" attach $other
named=$out/$(printf 'na\033[31med')
cp "$(command -v sleep)" "$named"
"$named" 600 &
red=$!
trap 'kill $other $red 2>/dev/null' EXIT
until_so grep -q ^na "/proc/$red/comm"
says "what a terminal would obey is escaped" 1 "process $red \(na\\\\x1b\[31med\): it has no profiler" "$command" detach $red
says "detach, and no profiler" 1 "process $other \(sleep\): it has no profiler: attach brings one" "$command" detach $other
says "a wrong mode" 1 'SNAPWALK_MODE=gpu: not a list of cpu, wall' "$command" attach $other SNAPWALK_MODE=gpu
says "a wrong rate" 1 'SNAPWALK_HZ=20000: not a number from 1 to 10000' "$command" attach $other SNAPWALK_HZ=20000
says "a file whose format nobody knows" 1 'SNAPWALK_OUT=a\.svg: ends in none of \.pb\.gz, ' "$command" run SNAPWALK_OUT=a.svg true
says "an assembly as a program" 1 '.*a\.dll: Permission denied: an assembly is run by dotnet: dotnet .*a\.dll$' "$command" run "$out/a.dll"
says "no file, since it is sent" 1 "process $other \(sleep\): nobody listens" "$command" attach $other SNAPWALK_OUT= SNAPWALK_ENDPOINT=http://127.0.0.1:9/
says "an option that is not there" 1 'SNAPWALK_RATE: no such option' "$command" attach $other SNAPWALK_RATE=9
says "the same before a program" 1 'SNAPWALK_HZ=fast: not a number' "$command" run SNAPWALK_HZ=fast true
says "a misspelt variable" 1 'SNAPWALK_RATE=9: no such option' env SNAPWALK_RATE=9 "$command" run true
says "no dotnet" 1 'dotnet: not found in the folders of PATH' env PATH=/nowhere "$command" run dotnet a.dll
says "a runtime without profilers" 0 'DOTNET_EnableDiagnostics=0 keeps .*: there will be no profile' \
    env DOTNET_EnableDiagnostics=0 "$command" run true
printf 'int DotNetRuntimeDebugHeader = 1;\n#include <unistd.h>\nint main(int n, char **w) { (void)w; return n > 1 ? (int)sleep(600) : 0; }\n' >"$out/ahead.c"
${CC:-cc} -rdynamic -o "$out/ahead" "$out/ahead.c" || exit 1
says "a program compiled ahead of time" 0 '.*/ahead: it is compiled ahead of time \(NativeAOT\)' "$command" run "$out/ahead"
says "by its name in PATH" 0 'ahead: it is compiled ahead of time' env PATH="$out:$PATH" "$command" run ahead
"$out/ahead" wait &
ahead=$!
trap 'kill $other $red $ahead 2>/dev/null' EXIT
until_so grep -q '^ahead$' "/proc/$ahead/comm"
says "a process of such a program" 1 "process $ahead \(ahead\): it is compiled ahead of time" "$command" attach $ahead
cp "$command" "$out"
says "no library" 1 'libsnapwalk-profiler\.so: not found beside this program; SNAPWALK_LIBRARY' "$out/snapwalk-profiler" run true
# place NAME LIBRARY COUNT: where the environment names that one as the main profiler, how many variables for one beside it are set.
place() {
    env -u CORECLR_ENABLE_NOTIFICATION_PROFILERS CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER_PATH_64= CORECLR_PROFILER_PATH="$2" \
        SNAPWALK_LIBRARY="$build/libsnapwalk-profiler.so" "$command" run env >"$out/printed" 2>"$out/said" </dev/null
    if [ "$(grep -c '^CORECLR_ENABLE_NOTIFICATION_PROFILERS=1$' "$out/printed")" -eq "$3" ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        grep -h ^CORECLR "$out/printed" "$out/said" | sed 's/^/# /'
        status=1
    fi
}
ln -s "$build/libsnapwalk-profiler.so" "$out/link.so"
place "another main profiler stays" "$out/a.dll" 1
place "its own library is no other, by whatever name" "$out/link.so" 0
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null 2>&1; then
    cp "$command" /tmp/snapwalk-command-$$
    says "another user's process" 1 "process $other \(sleep\): it belongs to user 0: run this as" \
        env SNAPWALK_LIBRARY=/a.so setpriv --reuid=65534 --clear-groups /tmp/snapwalk-command-$$ attach $other
    rm -f /tmp/snapwalk-command-$$
fi

# The same options everywhere.
sed -n 's/^    { "\(SNAPWALK_[A-Z_]*\)".*/\1/p' tools/profiler/options.c | sort >"$out/options"
sed -n 's/^| \(SNAPWALK_[A-Z_]*\) |.*/\1/p' docs/profiler.md | sort >"$out/page"
sed -n 's/^\.B \(SNAPWALK_[A-Z_]*\)$/\1/p' docs/man/snapwalk-profiler.7 | sort >"$out/manual"
"$command" --help | sed -n 's/^  \(SNAPWALK_[A-Z_]*\)=.*/\1/p' | sort >"$out/help"
for place in page manual help; do
    if [ -s "$out/options" ] && cmp -s "$out/options" "$out/$place"; then
        echo "ok - options of the $place"
    else
        echo "not ok - options of the $place"
        diff "$out/options" "$out/$place" | sed 's/^/# /'
        status=1
    fi
done
exit $status
