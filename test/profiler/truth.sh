#!/bin/sh
# truth.sh BUILD [KIND...]: self time by method as the profiler says it, beside `perf record` on the same run: both count the same
# processor time at the same rate. perf samples by the clock of the processor (cpu-clock), which virtual machines have; it names JIT code by the runtime's perf map. So all code is compiled (no ReadyToRun), and mapped once (no W^X).
# It samples whole processors (-a), and what is not the program's is left out: for threads alone it starts a timer whenever one of them gets a
# processor, and where they take turns every some 50 us (channels) that counts more of what stands at a turn's begin: libc's share, which
# is waiting, came out as 9.9 to 13.4 % where whole processors had 7.1 and 8.6 and the profiler 7.8 to 9.2, and 7.7 and 7.9.
#
#   SECONDS_EACH  of each kind (default 20)
#
# For each kind the ten hottest of either, and by how many percentage points they differ; native code is one row a library, and
# the profiler's own work is left out of both. Beside each stands the standard error that chance alone gives the difference: both
# count samples, and the kernel looks at the profiler's timers only when its clock ticks, so that it has fewer. On a busy machine
# threads get a processor when the clock ticks, and ticks find them elsewhere than perf does: nothing can be compared there. The last line is
# "truth: N points at most over M kinds"; more than 2 is a failure. Where perf cannot be had: skipped, and said so.
# Of kinds threads and stacks, whose threads live some 10 us, perf's clock sees a quarter of the processor time that the kernel accounts for:
# they cannot be compared.
set -eu
cd "$(dirname "$0")/../.."
build=$(cd "${1:?truth.sh BUILD}" && pwd)
shift
. mk/sample.sh
. test/profiler/program.sh
have_dotnet || fail "the .NET SDK 10 is needed"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

perf record -a -e cpu-clock -g -o "$work/perf" true >"$work/said" 2>&1 || {
    echo "truth: skipped: perf record: $(tail -n 1 "$work/said")"
    exit 77
}
build_program

# Both as "SAMPLES NAME". A name is that of type and method: without instantiation, parameters and tier, which both write
# differently.
plain='
    function plain(name) {
        sub(/\[(Optimized|OptimizedTier1|Tier0|Tier1|PreJIT|Instrumented|QuickJitted|MinOptJitted)[^\]]*\]$/, "", name)
        sub(/\(.*/, "", name)
        gsub(/::/, ".", name)
        gsub(/`[0-9]+/, "", name)
        while (sub(/\[[^][]*\]/, "", name) || sub(/<[^<>]*>/, "", name))
            ;
        return name
    }'

# perf: a line a frame, "ADDRESS SYMBOL (FILE)", leaf first. In the kernel a thread counts as where
# it called it from. JIT code: "type [assembly] Type::Method(...)[tier]".
of_perf() {
    program=$(basename "$work"/profile-*.pb.gz .pb.gz)
    perf script -i "$work/perf" --pid "${program#profile-}" -F comm,ip,sym,dso 2>/dev/null | awk "$plain"'
        NF == 0 { next }
        /^[^\t ]/ { taken = /^(snapwalk|perf)/; next } # a sample begins: the name of the thread
        /\(\[vdso\]\)/ { sub(/\(\[vdso\]\)/, "(linux-vdso.so.1)") }
        taken || /\(\[(kernel|guest|[a-z_0-9]+\])/ { next }
        { taken = 1; file = $0; sub(/.* \(/, "", file); sub(/\)$/, "", file); sub(/ \(deleted$/, "", file); sub(/.*\//, "", file) }
        file ~ /^lib(snapwalk-profiler|Zydis|z|elf)\.so/ { next }
        file ~ /^perf-[0-9]+\.map$/ && /\] [^ ]*::/ { match($0, /\] [^ ]*::/); print 1, plain(substr($0, RSTART + 2)); next }
        { print 1, file ~ /\.so|^dotnet$/ ? "(" file ")" : "(stubs)" }' | sum
}

# The profiler by pprof: what a location is in stands in its mapping. One row is how many samples there are.
of_profiler() {
    HOME=$work TZ=UTC go tool pprof -raw "$work"/profile-*.pb.gz 2>/dev/null | awk "$plain"'
        /^Locations/ { part = 2; next } /^Samples:/ { part = 1; next } /^Mappings/ { part = 3; next }
        part == 1 && /^ *[0-9]+ +[0-9]+:/ { split($0, half, ":"); split(half[2], at, " "); split(half[1], value, " "); count[at[1]] += value[2]; samples += value[1] }
        part == 2 { id = $1; sub(/:$/, "", id); name[id] = $0; sub(/^ *[0-9]+: 0x[0-9a-f]+ (M=[0-9]+ )?/, "", name[id])
                    sub(/ [^ ]*:[0-9]+ s=.*/, "", name[id])
                    mapping[id] = match($0, /M=[0-9]+/) ? substr($0, RSTART + 2, RLENGTH - 2) : 0 }
        part == 3 { id = $1; sub(/:$/, "", id); file[id] = $3; sub(/.*\//, "", file[id]) }
        END { print samples, "samples"
              for (id in count) {
                  of = file[mapping[id]]
                  if (of ~ /^lib(snapwalk-profiler|Zydis|z|elf)\.so/)
                      continue
                  native = of !~ /\.dll$/
                  print count[id], native ? (of == "" || of ~ /^\[/ ? "(stubs)" : "(" of ")") : plain(name[id]) } }' | sum
}
sum() { awk '{ n = $1; sub(/^[0-9.e+]+ /, ""); all[$0] += n } END { for (name in all) printf "%.0f %s\n", all[name], name }' | sort -rn; }

worst=0
kinds=0
for kind in ${*:-json regex linq garbage names bursts}; do
    rm -f "$work"/profile-*
    SNAPWALK_HZ=499 SNAPWALK_RAW_NAMES=1 DOTNET_PerfMapEnabled=3 DOTNET_ReadyToRun=0 DOTNET_EnableWriteXorExecute=0 \
        under "$work/profile.pb.gz" perf record -a -e cpu-clock -g -F 499 -o "$work/perf" \
        dotnet "$build/dotnet/profiled/profiled.dll" "$kind" "${SECONDS_EACH:-20}" >"$work/said" 2>&1 ||
        fail "$kind: $(tail -n 3 "$work/said")"
    of_perf >"$work/perf.self"
    of_profiler >"$work/profiler.all"
    samples=$(awk '/ samples$/ { print $1; exit }' "$work/profiler.all")
    grep -v ' samples$' "$work/profiler.all" >"$work/profiler.self"
    awk -v kind="$kind" -v samples="$samples" 'FNR == 1 { file++ }
        { n = $1; sub(/^[0-9]+ /, ""); part[file, $0] = n; all[file] += n; names[$0] = 1; if (FNR <= 10) hot[$0] = 1 }
        END { printf "%s: %d samples of perf, %d of the profiler; percent of the self time by perf, by the profiler, standard error\n",
                  kind, all[1], samples
              if (!(all[1] > 0 && all[2] > 0)) { print 100 > "/dev/stderr"; exit }
              for (name in hot) {
                  a = 100 * part[1, name] / all[1]; b = 100 * part[2, name] / all[2]; d = a > b ? a - b : b - a
                  p = (part[1, name] + samples * b / 100) / (all[1] + samples)
                  error = 100 * sqrt(p * (1 - p) * (1 / all[1] + 1 / samples))
                  if (d > worst) worst = d
                  if (error > 0 && d / error > errors) errors = d / error
                  printf "  %6.2f %6.2f  %5.2f  %s\n", a, b, error, name | "sort -rn"
              }
              close("sort -rn"); printf "%.2f %.1f\n", worst, errors > "/dev/stderr" }' "$work/perf.self" "$work/profiler.self" 2>"$work/worst"
    awk '{ print "  at most " $1 " points, and " $2 " standard errors" }' "$work/worst"
    worst=$(awk -v now="$worst" '{ print ($1 > now ? $1 : now) }' "$work/worst")
    kinds=$((kinds + 1))
done
echo "truth: $worst points at most over $kinds kinds"
awk -v worst="$worst" 'BEGIN { exit !(worst <= 2) }'
