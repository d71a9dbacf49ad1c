# Shell functions that accuracy.sh and arm64.sh share: inputs, running the subjects, the sum. The caller sets $programs, a folder
# for inputs; $out, one for results; $chosen, the names to run between blanks; $usual, options of accuracy for all, and $much
# for FULL=1; and defines subjects, which prints a row for each, and prefix NAME: what executes a subject.
#
# NAME | dev or held | command | its package | options of accuracy | environment | arguments
# held: held out. Looked at by nobody while the library is changed, and summed up apart.

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
    cat >"$programs/work.bash" <<'END'
for i in {1..20000}; do x=${i//1/2}; [[ $x =~ ^[0-9]+2$ ]] && y=($x); done
END
    cat >"$programs/work.tcl" <<'END'
proc f {n} { if {$n < 2} { return $n }; expr {[f [expr {$n - 1}]] + [f [expr {$n - 2}]]} }
for {set i 0} {$i < 100} {incr i} { f 15; lsort [split "a b c d $i"]; regsub -all {a+} "aabaa$i" x y; catch {error e} }
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

# run_list LIST TAG CORE: the subjects of a file, one after the other, on one core: a step is a switch between tool and
# program. TAG keeps the files of several lists apart.
run_list() {
    pin=
    ! command -v taskset >/dev/null 2>&1 || pin="taskset -c $3"
    : >"$out/sums$2"
    while IFS='|' read -r number name set command package options environment arguments; do
        [ "$chosen" = "  " ] || case $chosen in *" $name "*) ;; *) continue ;; esac
        path=$(command -v "$command" || :)
        if [ -z "$path" ]; then
            echo "$name: skipped: no $command"
            continue
        fi
        more=
        [ "${FULL:-0}" = 0 ] || more=$much
        [ "${BUDGET:-0}" = 0 ] || more="$more -b"
        : >"$out/found$2"
        # shellcheck disable=SC2046,SC2086
        # There: node leaves a log where it stands.
        (
            cd "$out"
            exec env -i PATH=/usr/bin:/bin HOME="$out" LANG=C $environment $pin "$out/accuracy" -n "$name" \
                -o "$out/found$2" $usual $options $more -- $(prefix "$name") "$path" $arguments
        ) </dev/null >"$out/last$2" 2>&1 || echo "# $name failed" >>"$out/last$2"
        { echo "[$number/$total] $name ($set)" && sed '/^sum /d' "$out/last$2"; } >"$out/shown$2"
        cat "$out/shown$2"
        sed -n "s/^sum /$set /p" "$out/last$2" >>"$out/sums$2"
        findings=$out/findings.txt
        [ "$set" = dev ] || findings=$out/findings-held-out.txt
        cat "$out/found$2" >>"$findings"
    done <"$1"
}

# run_all [CORE...]: on each of these cores one subject at a time.
run_all() {
    rm -f "$out"/findings*.txt "$out"/sums* "$out"/list*
    subjects | grep -n '' | sed 's/:/|/' >"$out/subjects"
    total=$(wc -l <"$out/subjects")
    lists=0
    for core in "$@"; do
        lists=$((lists + 1))
        awk -v turn="$lists" -v of=$# 'NR % of == turn % of' "$out/subjects" >"$out/list$lists"
        run_list "$out/list$lists" "$lists" "$core" &
    done
    wait
    cat "$out"/sums* >"$out/all"
    mv "$out/all" "$out/sums"
}

sum_up() {
    awk '
        { for (s = 1; s <= 2; s++) { key = s == 1 ? $1 : "all"; n[key]++; t[key] += $5; f[key] += $6; r[key] += $7; T[key] += $9; F[key] += $10; R[key] += $11 } s1 += $13; s2 += $14 }
        function percent(a, b) { return b ? 100 * a / b : 100 }
        function row(key, title) {
            if (n[key]) printf "%s: %d subjects; with tables first caller %.4f %%, whole %.4f %% of %d; analysis alone first caller %.4f %%, whole %.4f %% of %d\n",
                title, n[key], percent(f[key], t[key]), percent(r[key], t[key]), t[key], percent(F[key], T[key]), percent(R[key], T[key]), T[key]
        }
        END {
            row("dev", "developed against"); row("held", "held out")
            printf "frames that are wrong and called confirmed or exact: %d with tables, %d by analysis alone\n", s1, s2
            printf "accuracy: %d of %d walks right (%.4f %%), analysis alone %d of %d (%.4f %%)\n",
                r["all"], t["all"], percent(r["all"], t["all"]), R["all"], T["all"], percent(R["all"], T["all"])
        }' "$out/sums"
}
