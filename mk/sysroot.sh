#!/bin/sh
# sysroot.sh ARCHITECTURE DIRECTORY PACKAGE...: unpacks Debian packages of another architecture, and all that they need, into
# DIRECTORY. Touches nothing of this system, needs no root; what is there is not fetched again. Fails, saying why, where it cannot.
set -eu
architecture=$1
mkdir -p "$2"
root=$(cd "$2" && pwd)
shift 2
state=$root.apt

# exclusive: two callers at once would unpack over one another
mkdir -p "$state/lists/partial" "$state/archives/partial" "$state/unpacked"
exec 9>"$state/lock"
flock 9
missing=
for package in "$@"; do
    [ -e "$state/unpacked/$package" ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if ! command -v apt-get >/dev/null 2>&1 || ! command -v dpkg-deb >/dev/null 2>&1; then
    echo "sysroot: needs apt-get and dpkg-deb to fetch $architecture packages:$missing" >&2
    exit 1
fi

: >"$state/status"
apt() {
    apt-get -q -o APT::Architecture="$architecture" -o APT::Architectures="$architecture" -o Dir::State="$state" \
        -o Dir::State::lists="$state/lists" -o Dir::State::status="$state/status" -o Dir::Cache="$state" \
        -o Dir::Cache::archives="$state/archives" -o APT::Sandbox::User= -o APT::Get::List-Cleanup=false "$@"
}
{
    [ -e "$state/updated" ] || apt update
    : >"$state/updated"
    # shellcheck disable=SC2086
    apt install -y --no-install-recommends --download-only $missing
} >"$state/log" 2>&1 </dev/null || {
    tail -n 5 "$state/log" >&2
    echo "sysroot: $architecture packages cannot be fetched:$missing" >&2
    exit 1
}
for archive in "$state"/archives/*.deb; do
    package=$(basename "$archive" | sed 's/_.*//')
    [ -e "$state/unpacked/$package" ] || dpkg-deb -x "$archive" "$root"
    : >"$state/unpacked/$package"
done
# Where programs look for their loader. From Debian 13 on packages have nothing in /lib itself, and base-files makes the link.
[ -e "$root/lib" ] || [ ! -d "$root/usr/lib" ] || ln -s usr/lib "$root/lib"
