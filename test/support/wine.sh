# To be sourced: Wine, for tests that run Windows programs, in a folder of their own ($1 of use_wine).

# Sets wine and server. As root a missing Wine is installed. False: there is none.
find_wine() {
    look_for_wine || {
        [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 || return 1
        apt-get install -y --no-install-recommends wine64 >/dev/null 2>&1 ||
            { apt-get update && apt-get install -y --no-install-recommends wine64; } >/dev/null 2>&1
        look_for_wine || return 1
    }
    for server in "$(dirname "$wine")/wineserver" /usr/lib/wine/wineserver; do
        [ ! -x "$server" ] || break
    done
}

look_for_wine() {
    for wine in "$(command -v wine64 2>/dev/null)" /usr/lib/wine/wine64; do
        [ ! -x "$wine" ] || return 0
    done
    return 1
}

# use_wine FOLDER: whatever is run from now on has its Windows there. leave_wine: ends it, and removes that.
use_wine() {
    export WINEPREFIX="$1/prefix" WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
    unset DISPLAY WAYLAND_DISPLAY
}
leave_wine() {
    "$server" -k >/dev/null 2>&1
    rm -rf "$WINEPREFIX"
}
