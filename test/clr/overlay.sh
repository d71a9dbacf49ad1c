#!/bin/sh
# overlay.sh BUILD: a small profiler, written against the profiling interface only, in a real .NET process, with the
# overlay and without it. What the CLR answers must be answered identically; where it says E_NOTIMPL (another thread, the
# runtime not suspended) the stack must be the one that the CLR gives while the runtime is suspended. Then both sample for
# a while: BUSY_MS milliseconds of work. Needs BUILD/libsnapwalk.a.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "${1:-build}/clr"
build=$(cd "${1:-build}" && pwd)
out=$build/clr
. mk/sample.sh
status=0

ok() { echo "ok - $*"; }
not_ok() {
    echo "not ok - $*"
    status=1
}

warn="-Wall -Wextra -Wshadow -Werror"
build_overlay() {
    ${CC:-gcc} -std=c11 -D_GNU_SOURCE -Iinclude $warn -Wconversion -Wmissing-prototypes -O2 -g -fPIC -fvisibility=hidden \
        -pthread -shared -o "$out/libsnapwalk-overlay.so" examples/clr-overlay/*.c examples/clr-overlay/forward.S \
        "$build/libsnapwalk.a" -lZydis -lelf -llzma -ldl -Wl,-z,now,-z,nodelete,--exclude-libs,ALL,--no-undefined
}
build_vendor() {
    ${CXX:-g++} -std=c++17 $warn -O2 -g -fPIC -fvisibility=hidden -pthread -shared -o "$out/libvendor.so" \
        test/clr/vendor/*.cc
}

# with_profiler LIBRARY OUTPUT: the target under a profiler, loaded at the start or, with ATTACH=1, attached. The CLSID is
# the vendor's.
with_profiler() {
    if [ "${ATTACH:-0}" = 1 ]; then
        load="TARGET_ATTACH=$1"
    else
        load="CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER={5a1d2b3c-0000-4000-8000-000000000077} CORECLR_PROFILER_PATH=$1"
    fi
    env $load VENDOR_LIB="$out/libvendor.so" VENDOR_OUT="$2" \
        timeout -k 10 1200 dotnet "$build/dotnet/target/target.dll" "${BUSY_MS:-2000}" >"$2.stdout" 2>"$2.stderr"
}

# both NAME: both runs, and what differs.
both() {
    rm -f "$out/$1.without" "$out/$1.with" "$out/$1.compared"
    with_profiler "$out/libvendor.so" "$out/$1.without" || {
        not_ok "$1: the run without the overlay, status $?"
        tail -n 5 "$out/$1.without.stdout" "$out/$1.without.stderr" | sed 's/^/# /'
        return
    }
    SNAPWALK_OVERLAY_PROFILER=$out/libvendor.so with_profiler "$out/libsnapwalk-overlay.so" "$out/$1.with" ||
        { not_ok "$1: the run with the overlay ended with $?"; tail -n 3 "$out/$1.with.stderr"; return; }
    awk -f test/clr/vendor/compare.awk -v name="$1" "$out/$1.without" "$out/$1.with" >"$out/$1.compared" || status=1
    cat "$out/$1.compared"
}

# refused NAME MESSAGE: no profiler, a message, and the program runs as if nothing were set.
refused() {
    with_profiler "$out/libsnapwalk-overlay.so" "$out/refused"
    if grep -q '^target: done' "$out/refused.stdout" && grep -q "snapwalk overlay: .*$2" "$out/refused.stderr"; then
        ok "$1"
    else
        not_ok "$1"
        head -n 3 "$out/refused.stderr" | sed 's/^/# /'
    fi
}

if ! have_dotnet; then
    echo "ok - overlay # SKIP no .NET SDK"
    exit 0
fi
build_overlay || { not_ok "build of the overlay"; exit 1; }
build_vendor || { not_ok "build of the vendor's profiler"; exit 1; }
dotnet_build test/clr/vendor/target target

both default
DOTNET_TieredCompilation=0 both optimized
DOTNET_ReadyToRun=0 both jitted
ATTACH=1 both attached

refused "without SNAPWALK_OVERLAY_PROFILER" "SNAPWALK_OVERLAY_PROFILER is not set"
SNAPWALK_OVERLAY_PROFILER=/nonexistent.so refused "a profiler that is not there" "cannot load the profiler: /nonexistent.so"
SNAPWALK_OVERLAY_PROFILER=libm.so.6 refused "a library that is no profiler" "no DllGetClassObject in libm.so.6"
SNAPWALK_OVERLAY_PROFILER=$out/libsnapwalk-overlay.so refused "the overlay named as its own profiler" "names the overlay itself"
SNAPWALK_OVERLAY_PROFILER=$out/libvendor.so
export SNAPWALK_OVERLAY_PROFILER
VENDOR_REFUSES=1 with_profiler "$out/libsnapwalk-overlay.so" "$out/refuses"
if grep -q '^target: done' "$out/refuses.stdout"; then ok "a profiler that refuses"; else not_ok "a profiler that refuses"; fi

cat "$out"/*.compared | awk '/^# answers/ { same += $3; all += $5 } /^# stacks/ { full += $3; stacks += $5 }
    END { printf "overlay: %d of %d answers identical, %d of %d full stacks where the CLR says E_NOTIMPL\n", \
          same, all, full, stacks }'
exit $status
