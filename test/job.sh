#!/bin/sh
# job.sh LOG "NAME GROUP COMMAND...": runs one job of run.sh. What it prints (TAP) goes to LOG/NAME; LOG/jobs/NAME gets a
# line "NAME GROUP passed failed skipped seconds cpu" (seconds of processors, of all that it waited for). A command that
# dies, runs out of time or runs no test is one more failure. What failed is printed, and the end of the job's log, which
# says why: the machine that ran it may be gone when somebody asks.
set -u
log=$1
# shellcheck disable=SC2086
set -- $2
name=$1
group=$2
shift 2
out=$log/$name
# Ten times what the longest job takes on two busy processors: whatever is not done by then hangs.
limit_s=1800

read -r start idle </proc/uptime
timeout -k 10 "$limit_s" "$@" >"$out" 2>&1 </dev/null
status=$?
read -r end idle </proc/uptime
cpu=$(awk '{ print ($16 + $17) / 100 }' "/proc/$$/stat")

# cmocka says "not ok N # SKIP" of a test that skipped itself; why, in a line "# needs ..." before it.
awk -v name="$name" -v group="$group" -v status="$status" -v seconds="$start $end" -v cpu="$cpu" -v out="$out" -v row="${ROW:-}" \
    -v sum="$log/jobs/$name" -v most=30 '
    !/^ok / { end[++told % most] = $0 }
    /^# needs / { reason = " (" substr($0, 3) ")" }
    /^(not )?ok .*# SKIP/ { sub(/^.*# SKIP/, ""); why[++skipped] = name ":" $0 reason; reason = ""; failing = 0; next }
    /^ok / { passed++; reason = ""; failing = 0; next }
    /^not ok / { failed++; failing = 4 }
    /^[a-z].*: .* of .*/ && !failing { last = $0 }
    failing && lines < 20 { shown[++lines] = $0; place[lines] = told; failing-- }
    END {
        if (status != 0 && !failed) { failed = 1; shown[++lines] = "not ok - " name " ended with status " status }
        else if (!passed && !failed && !skipped && row == "") { failed = 1; shown[++lines] = "not ok - " name " ran no test" }
        split(seconds, at, " ")
        printf "%s %s %d %d %d %.2f %.2f\n", name, group, passed, failed, skipped, at[2] - at[1], cpu >sum
        text = sprintf("%-34s %5d passed %3d failed", name, passed, failed)
        if (skipped) text = text sprintf(" %3d skipped", skipped)
        text = text sprintf(" %7.1f s\n", at[2] - at[1])
        if (last != "" && !failed) text = text "    " last "\n"
        for (i = 1; i <= skipped; i++) text = text "    skipped: " why[i] "\n"
        # What is shown at the end is not shown before it.
        for (i = 1; i <= lines; i++) if (!place[i] || place[i] <= told - most) text = text "    " shown[i] "\n"
        if (failed) text = text "    the end of " out ":\n"
        for (i = told > most ? told - most + 1 : 1; failed && i <= told; i++) text = text "    " end[i % most] "\n"
        if (row == "" || passed + failed + skipped) printf "%s", text
    }' "$out" || {
    echo "$name $group 0 1 0 0 0" >"$log/jobs/$name"
    echo "    not ok - $name left nothing to read in $out"
}
exit 0
