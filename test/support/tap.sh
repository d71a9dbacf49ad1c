# To be sourced: results as TAP, from a shell. The caller has set $out, a folder; what a command printed goes to $out/seen, and
# is shown when the result is bad. $status is 1 once a result was.

status=0

# verdict STATUS TITLE
verdict() {
    [ "$1" -eq 0 ] && echo "ok - $2" && return
    echo "not ok - $2"
    tail -n 30 "$out/seen" | sed 's/^/# /'
    status=1
}

# skip TITLE WHY
skip() { echo "ok - $1 # SKIP $2"; }
