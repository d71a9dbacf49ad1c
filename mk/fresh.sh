#!/bin/sh
# fresh.sh BUILD TESTS [SYSTEM...]: `make run` and `make TESTS` of the last commit on systems just installed by debootstrap, which have
# nothing but make: as a user (who is told what to install), as root (who installs it), and as a user again. A line for
# each step of each system; its log is in BUILD/fresh. What was downloaded is kept there. Last line: fresh: N of N steps well.
#
#   SYSTEM  a suite that debootstrap knows: bookworm, trixie (Debian 12 and 13), noble (Ubuntu 24.04)
#   USERS   who runs them, "root user": one of them is a piece of its own, on a system of its own
#   SIGNED=no  Ubuntu's archive is believed without its keys: Debian has them from 13 on, in ubuntu-keyring
#
# ARM64 is not among them: qemu-aarch64 has no ptrace, which make run needs. make arm64-test runs tests and examples there.
set -u
cd "$(dirname "$0")/.."
mkdir -p "$1/fresh"
base=$(cd "$1/fresh" && pwd)
tests=$2
shift 2
[ $# -ne 0 ] || set -- bookworm trixie noble

skip() { echo "fresh: $1: skipped: $2"; }
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null 2>&1; then
    skip all "needs root and debootstrap (apt-get install debootstrap)"
    exit 77
fi

# install SUITE: a system of its own in $base/SUITE, of the archive that has that suite
install_system() {
    case $1 in
    noble | jammy) archive=http://archive.ubuntu.com/ubuntu keys=/usr/share/keyrings/ubuntu-archive-keyring.gpg script=jammy components=main,universe ;;
    *) archive=http://deb.debian.org/debian keys=/usr/share/keyrings/debian-archive-keyring.gpg script=$1 components=main ;;
    esac
    trust=--keyring=$keys
    if [ ! -r "$keys" ]; then
        [ "${SIGNED:-}" = no ] || { skip "$1" "no $keys (package ubuntu-keyring, from Debian 13 on; SIGNED=no: believe what is served)"; return 1; }
        trust=--no-check-gpg
    fi
    mkdir -p "$base/cache/$1"
    rm -rf "$base/$1"
    debootstrap --variant=minbase --include=make,ca-certificates --components="$components" --cache-dir="$base/cache/$1" "$trust" "$1" "$base/$1" \
        "$archive" "/usr/share/debootstrap/scripts/$script" >"$base/$1.log" 2>&1 </dev/null && return
    skip "$1" "debootstrap failed: $(tail -n 1 "$base/$1.log")"
    return 1
}

# within SUITE USER COMMAND: in that system, with a /proc and a process namespace of its own, in that user's clone
within() {
    unshare --mount --pid --fork --kill-child sh -c '
        mount --make-rprivate / && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount -t tmpfs tmpfs "$0/tmp" &&
        mount --bind "$1" "$0/var/cache/apt/archives" && exec chroot "$0" su "$2" -c "cd /home/$2/snapwalk && $3"
    ' "$base/$1" "$base/cache/$1" "$2" "$3" >"$base/said" 2>&1 </dev/null
    ended=$?
    { echo "== $2: $3"; cat "$base/said"; } >>"$base/$1.log"
}

# verdict SUITE STATUS STEP
steps=0
well=0
verdict() {
    steps=$((steps + 1))
    [ "$2" -ne 0 ] || well=$((well + 1))
    [ "$2" -eq 0 ] && answer=well || answer=FAILED
    echo "fresh: $1 ($name): $3: $answer"
}

# Managed frames of a thread of the toy, as far as its main.
ran() { grep -qE 'jit .*Toy' "$base/said" && grep -qE '!main' "$base/said" && [ "$ended" -eq 0 ]; }

for suite; do
    install_system "$suite" || continue
    root=$base/$suite
    name=$(. "$root/etc/os-release" && echo "$PRETTY_NAME")
    echo 'APT::Keep-Downloaded-Packages "true";' >"$root/etc/apt/apt.conf.d/keep"
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/fast" # it lives as long as this run
    rm -f "$root/etc/apt/apt.conf.d/docker-clean"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    chroot "$root" useradd -m user
    mkdir -p "$root/home/root"
    for user in root user; do
        git clone -q . "$root/home/$user/snapwalk"
        chroot "$root" chown -R "$user:" "/home/$user/snapwalk"
    done
    within "$suite" user "make run"
    [ "$ended" -ne 0 ] && grep -q 'apt-get install -y .*libzydis-dev' "$base/said"
    verdict "$suite" $? "a user is told what root has to install"
    for user in ${USERS:-root user}; do
        [ "$user" = root ] || within "$suite" root "make deps"
        within "$suite" "$user" "make run"
        ran
        verdict "$suite" $? "$user: make run"
        within "$suite" "$user" "make $tests"
        verdict "$suite" "$ended" "$user: make $tests: $(grep -E '^[0-9]+ passed, ' "$base/said" | tail -n 1)"
    done
done
echo "fresh: $well of $steps steps well"
[ "$steps" -ne 0 ] || exit 77
[ "$well" -eq "$steps" ]
