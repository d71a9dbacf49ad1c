# To be sourced: waiting for a process, without a guess at how long that takes.

# until_so COMMAND...: waits until it succeeds. False: it has not for ten minutes, so something hangs.
until_so() {
    tries=0
    until "$@"; do
        [ "$tries" -lt 6000 ] || return 1
        tries=$((tries + 1))
        sleep 0.1
    done
}

# is_ready FILE PID: the process has said so in the file, or is gone.
is_ready() {
    grep -q '^ready' "$1" || ! kill -0 "$2" 2>/dev/null
}

# sits PID: each thread of it waits for something.
sits() {
    ! sed 's/.*) //' /proc/"$1"/task/*/stat 2>/dev/null | grep -qv '^S'
}

# has_used PID TICKS: it has had that much of a processor, in hundredths of a second, or is gone.
has_used() {
    [ ! -r "/proc/$1/stat" ] || [ "$(sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f12)" -ge "$2" ]
}
