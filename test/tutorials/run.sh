#!/bin/sh
# run.sh BUILD: the files and commands of each tutorial, in a folder of their own, against what `make install` installs.
set -u
cd "$(dirname "$0")/../.."
SNAPWALK=$PWD
build=$(cd "${1:-build}" && pwd)
out=$build/tutorials
root=$out/root
status=0
rm -rf "$out"
mkdir -p "$out"
# test/check/install.sh makes it, too.
flock "$build/shared.lock" make --no-print-directory BUILD="$build" shared >"$out/log" 2>&1 &&
    make --no-print-directory BUILD="$build" PREFIX="$root" install >"$out/log" 2>&1 || {
    echo "not ok - make install"
    sed 's/^/# /' "$out/log" | tail -n 10
    exit 1
}
export SNAPWALK PATH="$root/bin:$PATH" PKG_CONFIG_PATH="$root/lib/pkgconfig" LD_LIBRARY_PATH="$root/lib" PYTHONDONTWRITEBYTECODE=1

# step FOLDER COMMAND: its status is of no account: a tutorial may crash; what it prints is
step() {
    (cd "$1" && ulimit -c 0 && timeout 60 sh -c "$2") >"$1/printed" 2>&1
    awk -f test/tutorials/expect.awk "$1/wanted" "$1/printed" && return
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

for page in docs/tutorials/*.md docs/cost.md; do
    name=$(basename "$page" .md)
    mkdir -p "$out/$name"
    awk -v into="$out/$name" -f test/tutorials/extract.awk "$page" >"$out/$name/steps"
    needs=$(sed -n 's/^<!-- needs: \(.*\) -->$/\1/p' "$page")
    missing=
    for tool in pkg-config $needs; do
        command -v "$tool" >/dev/null 2>&1 || missing="$missing $tool"
    done
    if [ -n "$missing" ]; then
        echo "ok - $page # SKIP no$missing"
    elif play "$out/$name"; then
        echo "ok - $page: $(grep -c '^[$]' "$out/$name/steps") commands do what it says"
    else
        status=1
    fi
done
exit $status
