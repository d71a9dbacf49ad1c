# To be sourced, with $tool, $out and $build set: starting what is looked at, and verdicts in TAP.
. test/support/wait.sh
status=0
started=
trap 'kill -KILL $started 2>/dev/null' EXIT
trap 'exit 1' HUP INT TERM

# verdict STATUS NAME [FILE]: what was printed, where it failed
verdict() {
    if [ "$1" -eq 0 ]; then
        echo "ok - $2"
    else
        echo "not ok - $2"
        head -n 30 "${3:-$out/seen}" | sed 's/^/# /'
        status=1
    fi
}

# start COMMAND...: its pid in $pid, when it is ready; it is ended with this script. Its standard input stays open.
start() {
    : >"$out/said"
    mk/swept.sh "$@" <&3 >"$out/said" 2>&1 &
    pid=$!
    started="$started $pid"
    until_so is_ready "$out/said" "$pid"
}

# ends CODE NAME PATTERN COMMAND...: with that exit code, and a line of the output or the complaint matches
ends() {
    code=$1
    name=$2
    pattern=$3
    shift 3
    "$@" >"$out/seen" 2>&1
    [ "$?" -eq "$code" ] && grep -qE -- "$pattern" "$out/seen"
    verdict $? "$name"
}

# python_of VERSION: a CPython of that version that runs: the system's, on PATH, or one that pyenv has built.
python_of() {
    for python in /usr/bin/python3 "$(command -v "python$1")" "${PYENV_ROOT:-$HOME/.pyenv}/versions/$1".*/bin/"python$1"; do
        case $("$python" --version 2>&1) in "Python $1."*) echo "$python" && return 0 ;; esac
    done
    return 1
}

# Their standard input: a pipe that nobody writes to.
rm -f "$out/stdin"
mkfifo "$out/stdin"
exec 3<>"$out/stdin"
