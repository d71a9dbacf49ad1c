#!/bin/sh
# corprof.sh BUILD: profilers in C++, with the real corprof.h (a stand-in) and with ours, build against the archive and run;
# the header alone is clean C11 and C++11 at the strictest warnings, also with windows.h before it; and where there is a
# dotnet command, a profiler in C that is built with it is loaded by a real CLR and finds every slot where it calls it.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
mkdir -p "$build/log"
err=$build/log/corprof.err
strict="-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -Iinclude"
status=0

# say NAME COMMAND...
say() {
    name=$1
    shift
    if "$@" >"$err" 2>&1; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        head -n 8 "$err" | sed 's/^/# /'
        status=1
    fi
}

program() { # SOURCE FLAGS...
    source=$1
    shift
    g++ -std=c++11 -Wall -Wextra -Werror "$@" -Iinclude "test/check/corprof/$source.cc" "$build/libsnapwalk.a" \
        -lZydis -lelf -llzma -o "$build/log/corprof-$source" && "$build/log/corprof-$source"
}

echo '#include <snapwalk/corprof.h>' >"$build/log/corprof.c"
cp "$build/log/corprof.c" "$build/log/corprof.cc"
printf '#include <windows.h>\n#include <unknwn.h>\n#include <snapwalk/corprof.h>\n' >"$build/log/corprof-win.c"
printf '#define SNAPWALK_USE_REAL_CORPROF\n#include <snapwalk/corprof.h>\ntypedef float HRESULT, ULONG, GUID, IUnknown;\n' \
    >"$build/log/corprof-none.c"

say "C++ profiler with the real corprof.h" program beside -Itest/check/corprof/standin
say "C++ profiler with our corprof.h" program own
for compiler in gcc clang aarch64-linux-gnu-gcc x86_64-w64-mingw32-gcc; do
    say "corprof.h is strict C11 with $compiler" $compiler -std=c11 $strict -fsyntax-only "$build/log/corprof.c"
done
for compiler in g++ clang++; do
    say "corprof.h is strict C++11 with $compiler" $compiler -std=c++11 $strict -fsyntax-only "$build/log/corprof.cc"
done
say "corprof.h goes behind windows.h" x86_64-w64-mingw32-gcc -std=c11 -Wall -Wextra -Werror -Iinclude -fsyntax-only \
    "$build/log/corprof-win.c"
say "SNAPWALK_USE_REAL_CORPROF leaves everything out" gcc -std=c11 $strict -fsyntax-only "$build/log/corprof-none.c"

live="a real CLR and a profiler built with our corprof.h understand each other"
profiler=$build/log/corprof-live.so
if command -v dotnet >/dev/null 2>&1; then
    loaded() {
        gcc -std=c11 -Wall -Wextra -Werror -shared -fPIC -O1 -Iinclude test/check/corprof/live.c -o "$profiler" || return 1
        CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{5b3c4a40-0d51-4f0e-9c39-1d2f2a6f7e11}' \
            CORECLR_PROFILER_PATH="$(realpath "$profiler")" timeout 1200 dotnet --version >"$build/log/corprof-live" 2>&1
        cat "$build/log/corprof-live"
        # At least one walk and one thread; every managed frame agreed with GetFunctionFromIP; nothing wrong.
        awk '/^live:/ { ok = $3 + 0 >= 8 && $4 > 0 && $6 > 0 && $8 > 0 && $10 > 0 && $13 == $10 && $15 == 0 } END { exit !ok }' \
            "$build/log/corprof-live"
    }
    say "$live" loaded
else
    echo "ok - $live # SKIP no dotnet command"
fi
exit $status
