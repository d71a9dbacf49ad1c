#!/bin/sh
# accuracy.sh BUILD [NAME...]: what `make accuracy` does: steps real programs and compares whole walks with what was really
# called; README.md says how. All subjects, or those named. About ten minutes; FULL=1: ten times as much of each.
# A subject whose program is missing is installed by root, and skipped by others.
set -eu
cd "$(dirname "$0")/../.."
mkdir -p "${1:?accuracy.sh BUILD}"
build=$(cd "$1" && pwd)
shift
chosen=" $* "
out=$build/test/accuracy
programs=$out/programs
here=$PWD/test/accuracy/programs
mkdir -p "$programs"
. mk/sample.sh

# NAME | dev or held | command | its package | options of accuracy | environment | arguments
# held: held out. Looked at by nobody while the library is changed, and summed up apart.
subjects() {
    agent=
    [ ! -f "$programs/libjvmti_map.so" ] || agent=-agentpath:$programs/libjvmti_map.so
    cat <<END
gzip|dev|gzip|gzip|-w 3||-c $programs/text
xz|held|xz|xz-utils|-w 3||-c $programs/text
sqlite3|dev|sqlite3|sqlite3|-w 6||:memory: -init $programs/work.sql .quit
perl|dev|perl|perl|-w 6||$programs/work.pl
python3|dev|/usr/bin/python3|python3|-w 6||-S $programs/work.py
gawk|held|gawk|gawk|-w 6||-f $programs/work.awk
lua|held|lua5.4|lua5.4|-w 6||$programs/work.lua
ruby|held|ruby|ruby|-w 6||--disable=gems $programs/work.rb
throws|dev|$programs/throws||-s 600000||
handlers|dev|$programs/handlers||||
node|dev|node|nodejs|-a 700 -w 12||--perf-basic-prof $here/work.js
java|dev|java|default-jre-headless|-a 1500 -w 12||$agent -XX:+UseSerialGC -cp $programs Work
dotnet|dev|dotnet||-a 1500 -w 12|DOTNET_PerfMapEnabled=3 DOTNET_EnableDiagnostics=0|$build/dotnet/managed/managed.dll
mono|held|mono|mono-runtime|-a 700 -w 12||$programs/Work.exe
END
    for kind in joined mixed; do
        for cc in gcc clang; do
            for level in O0 O1 O2 O3 Os; do
                case $kind-$level in *-O1 | mixed-O3) set=held ;; *) set=dev ;; esac
                echo "$kind-$cc-$level|$set|$programs/$kind-$cc-$level||-t 7||"
            done
        done
    done
}

# Debian's packages, at once; without them their subjects are skipped.
install_missing() {
    missing=
    for package in $(subjects | cut -d'|' -f4 | sort -u) mono-mcs g++ clang; do
        dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
    done
    # Programs that came some other way will do.
    command -v node >/dev/null 2>&1 && missing=$(echo "$missing" | sed 's/ nodejs//')
    command -v java >/dev/null 2>&1 && missing=$(echo "$missing" | sed 's/ default-jre-headless//')
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
        echo "accuracy: packages are missing and only root can install them:$missing"
        return 0
    fi
    echo "installing:$missing"
    DEBIAN_FRONTEND=noninteractive apt-get update >"$out/install.log" 2>&1 </dev/null || :
    for package in $missing; do
        DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$package" >>"$out/install.log" 2>&1 \
            </dev/null || echo "accuracy: $package cannot be installed"
    done
}

# What the subjects work on.
write_inputs() {
    seq 1 30000 | awk '{ print $1, $1 * 7919 % 10007, "line" $1 % 13 }' >"$programs/text"
    cat >"$programs/work.sql" <<'END'
create table t(a, b);
with recursive c(x) as (select 1 union all select x + 1 from c where x < 60000) insert into t select x, hex(x * 7) from c;
create index i on t(b);
select a % 7, count(*), sum(a) from t where b like '%3%' group by 1 order by 2;
select * from t x join t y on x.a = y.a + 1 where x.b < y.b order by x.b limit 10;
END
    cat >"$programs/work.pl" <<'END'
my %h;
for my $i (1 .. 900000) {
    $h{$i % 1000} .= "x$i";
    $h{$i % 1000} =~ s/x(\d)/$1y/g if $i % 10 == 0;
    eval { die "a\n" } if $i % 100 == 0;
}
print scalar(sort { $h{$a} cmp $h{$b} } keys %h);
END
    cat >"$programs/work.py" <<'END'
import json, re
def f(n): return n if n < 2 else f(n - 1) + f(n - 2)
def g(n):
    for i in range(n): yield i * i
class A:
    def __init__(self, x): self.x = x
    def __lt__(self, o): return self.x < o.x
for i in range(5000):
    f(12); sorted(A(-j) for j in range(50)); json.dumps({"a": [1, 2.5, None, "x" * (i % 90)]})
    re.sub("a+b", lambda m: m.group(0) * 2, "aab" * 20); sum(g(100))
    try: int("x")
    except ValueError: pass
END
    cat >"$programs/work.awk" <<'END'
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }
BEGIN { for (i = 0; i < 200000; i++) { a[i % 999] = a[i % 999] "x" i; if (i % 50 == 0) gsub(/x1+/, "y", a[i % 999]); s += f(7) }
    n = asort(a); printf "%d %d %.3f\n", n, s, sqrt(s) }
END
    cat >"$programs/work.lua" <<'END'
local function f(n) return n < 2 and n or f(n - 1) + f(n - 2) end
local co = coroutine.wrap(function() for i = 1, math.huge do coroutine.yield(i * i) end end)
local sum = 0
for i = 1, 20000 do
    local t = {}
    for j = 1, 30 do t[j] = (j * 7919 + i) % 101 end
    table.sort(t, function(a, b) return a > b end)
    sum = sum + f(10) + #string.gsub("a" .. i, "%d", function(d) return d .. d end) + co()
    pcall(error, "e")
end
print(sum)
END
    cat >"$programs/work.rb" <<'END'
def f(n) = n < 2 ? n : f(n - 1) + f(n - 2)
sum = 0
20000.times do |i|
  sum += f(10) + (1..30).map { |j| (j * 7919 + i) % 101 }.sort { |a, b| b <=> a }.first
  sum += "a#{i}".gsub(/\d/) { |d| d + d }.size
  begin raise ArgumentError, "e" if i % 3 == 0 rescue sum += 1 end
end
puts sum
END
}

build_subjects() {
    test/accuracy/build.sh "$programs"
    ! command -v javac >/dev/null 2>&1 || javac -d "$programs" "$here/Work.java"
    ! command -v mcs >/dev/null 2>&1 || mcs -out:"$programs/Work.exe" "$here/managed/Work.cs"
    ! have_dotnet || dotnet_build test/accuracy/programs/managed managed
}

build_tool() {
    make --no-print-directory BUILD="$build" archive
    "${CC:-gcc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wconversion -Wshadow -Wmissing-prototypes -Werror -O2 -g \
        -Iinclude -Ilib -Isrc -Itest/step test/accuracy/*.c test/step/[!s]*.c test/step/s[!t]*.c \
        "$build/libsnapwalk.a" -lZydis -lelf -llzma -o "$out/accuracy"
}

run_all() {
    rm -f "$out"/findings*.txt "$out/sums"
    number=0
    subjects >"$out/subjects"
    total=$(wc -l <"$out/subjects")
    while IFS='|' read -r name set command package options environment arguments; do
        number=$((number + 1))
        [ "$chosen" = "  " ] || case $chosen in *" $name "*) ;; *) continue ;; esac
        path=$(command -v "$command" || :)
        if [ -z "$path" ]; then
            echo "$name: skipped: no $command"
            continue
        fi
        findings=$out/findings.txt
        [ "$set" = dev ] || findings=$out/findings-held-out.txt
        more=
        [ "${FULL:-0}" = 0 ] || more="-t 250 -s 3000000 -e 29 -f 200000 -k 200000"
        echo "[$number/$total] $name ($set)"
        # shellcheck disable=SC2086
        # There: node leaves a log where it stands.
        (
            cd "$out"
            exec env -i PATH=/usr/bin:/bin HOME="$out" LANG=C $environment $pin "$out/accuracy" -n "$name" -o "$findings" \
                -t 25 $options $more -- "$path" $arguments
        ) </dev/null >"$out/last" 2>&1 || echo "# $name failed"
        sed '/^sum /d' "$out/last"
        sed -n "s/^sum /$set /p" "$out/last" >>"$out/sums"
    done <"$out/subjects"
}

sum_up() {
    awk '
        { for (s = 1; s <= 2; s++) { key = s == 1 ? $1 : "all"; n[key]++; t[key] += $5; f[key] += $6; r[key] += $7; T[key] += $9; F[key] += $10; R[key] += $11 } }
        function percent(a, b) { return b ? 100 * a / b : 100 }
        function row(key, title) {
            if (n[key]) printf "%s: %d subjects; with tables first caller %.4f %%, whole %.4f %% of %d; analysis alone first caller %.4f %%, whole %.4f %% of %d\n",
                title, n[key], percent(f[key], t[key]), percent(r[key], t[key]), t[key], percent(F[key], T[key]), percent(R[key], T[key]), T[key]
        }
        END {
            row("dev", "developed against"); row("held", "held out")
            printf "accuracy: %d of %d walks right (%.4f %%), analysis alone %d of %d (%.4f %%)\n",
                r["all"], t["all"], percent(r["all"], t["all"]), R["all"], T["all"], percent(R["all"], T["all"])
        }' "$out/sums"
}

# One core for tool and program: a step is a switch between the two.
pin=
! command -v taskset >/dev/null 2>&1 || pin="taskset -c $(taskset -cp $$ | sed 's/.*[ ,-]//')"
install_missing
write_inputs
build_subjects
build_tool
touch "$out/sums"
run_all
sum_up
