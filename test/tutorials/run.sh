#!/bin/sh
# run.sh BUILD: the files and commands of each tutorial, as a newcomer would take them: from what `make install` has installed, in a
# folder outside the sources, which are hidden meanwhile where that is allowed (root). The last line says how long they took.
set -u
cd "$(dirname "$0")/../.."
sources=$PWD
build=$(cd "${1:-build}" && pwd)
status=0
played=0
slowest=0
# A newcomer's time, and a hang's.
limit_s=300

if [ $# -lt 2 ]; then
    out=$(mktemp -d)
    trap 'rm -rf "$out"' EXIT
    trap 'exit 1' HUP INT TERM
    # test/check/install.sh makes it, too.
    flock "$build/shared.lock" make --no-print-directory BUILD="$build" shared >"$out/log" 2>&1 &&
        make --no-print-directory BUILD="$build" PREFIX="$out/root" install >"$out/log" 2>&1 || {
        echo "not ok - make install"
        sed 's/^/# /' "$out/log" | tail -n 10
        exit 1
    }
    cp test/tutorials/*.awk test/tutorials/run.sh "$out/"
    hidden='mount -t tmpfs none "$1" && shift && exec "$@"'
    if unshare --mount sh -c "$hidden" sh "$sources" true >"$out/log" 2>&1; then
        unshare --mount sh -c "$hidden" sh "$sources" "$out/run.sh" "$build" "$out" hidden
    else
        "$out/run.sh" "$build" "$out" "in reach"
    fi
    exit
fi

# From here on everything is in one folder: what was installed, and what reads the pages.
out=$2
root=$out/root
cd "$root/share/doc/snapwalk" || exit 1
export PATH="$root/bin:$PATH" PKG_CONFIG_PATH="$root/lib/pkgconfig" LD_LIBRARY_PATH="$root/lib" PYTHONDONTWRITEBYTECODE=1

# step FOLDER COMMAND: its status is of no account: a tutorial may crash; what it prints is
step() {
    (cd "$1" && ulimit -c 0 && timeout "$limit_s" sh -c "$2") >"$1/printed" 2>&1
    awk -f "$out/expect.awk" "$1/wanted" "$1/printed" && return
    echo "not ok - $(basename "$1"): $2"
    sed 's/^/# wanted: /' "$1/wanted"
    sed 's/^/# printed: /' "$1/printed" | head -n 20
    return 1
}

# play FOLDER: all steps that are in its file `steps`, each with the lines behind it
play() {
    command=
    : >"$1/wanted"
    while IFS= read -r line || [ -n "$line" ]; do
        case $line in
        '$ '*)
            [ -z "$command" ] || step "$1" "$command" </dev/null || return 1
            command=${line#'$ '}
            : >"$1/wanted"
            ;;
        '> '*) printf '%s\n' "${line#'> '}" >>"$1/wanted" ;;
        esac
    done <"$1/steps"
    [ -n "$command" ] && step "$1" "$command" </dev/null
}

now() { cut -d. -f1 /proc/uptime; }

# newcomer PAGE NAME: plays it, and says how long that took
newcomer() {
    began=$(now)
    play "$out/$2" || return 1
    seconds=$(($(now) - began))
    [ "$seconds" -le "$slowest" ] || slowest=$seconds
    [ "$seconds" -le "$limit_s" ] || { echo "not ok - $1 took $seconds s"; return 1; }
    played=$((played + 1))
    echo "ok - $1: $(grep -c '^[$]' "$out/$2/steps") commands do what it says, in $seconds s"
}

pages=0
for page in docs/tutorials/*.md docs/cost.md docs/harness.md; do
    pages=$((pages + 1))
    name=$(basename "$page" .md)
    mkdir -p "$out/$name"
    awk -v into="$out/$name" -f "$out/extract.awk" "$page" >"$out/$name/steps"
    needs=$(sed -n 's/^<!-- needs: \(.*\) -->$/\1/p' "$page")
    missing=
    for tool in pkg-config $needs; do
        command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
    done
    if [ -n "$missing" ]; then
        echo "ok - $page # SKIP no$missing"
    else
        newcomer "$page" "$name" || status=1
    fi
done
# Only claims and invariants speak of the sources.
missing=
for page in docs/tutorials/*.md docs/which-call.md docs/cost.md docs/harness.md; do
    for name in $(grep -oE '`(examples|docs|tools|test|mk|bindings)/[A-Za-z0-9_./-]+`|\]\([^)#:]+\)' "$page" | tr -d '`()]'); do
        [ -e "$name" ] || [ -e "$(dirname "$page")/$name" ] || missing="$missing $page:$name"
    done
done
if [ -z "$missing" ]; then
    echo "ok - what these pages refer to is installed"
else
    echo "not ok - what these pages refer to is installed: not$missing"
    status=1
fi
echo "newcomers: $played of $pages pages, the slowest in $slowest s, the sources $3"
exit $status
