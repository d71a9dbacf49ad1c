#!/bin/sh
# What the archive holds: sw_ symbols only, the public ones all defined, no writable globals, no constructors, and nothing
# in the walk's objects that allocates, locks, prints or loads.
set -u
cd "$(dirname "$0")/../.."
build=${1:-build}
lib=$build/libsnapwalk.a
harness=$build/libsnapwalk-harness.a
status=0

# verdict NAME FINDINGS: ok when there are none
verdict() {
    if [ -z "$2" ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        echo "$2" | head -n 20 | sed 's/^/# /'
        status=1
    fi
}

verdict "every global symbol starts with sw_" "$(nm -g --defined-only "$lib" "$harness" | awk 'NF == 3 && $3 !~ /^sw_/ { print $3 }')"

declared=$(cat include/snapwalk/*.h | tr '\n' ' ' | sed 's,/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/, ,g' | tr ';{}' '\n\n\n' |
    grep -oE '\bsw_[a-z0-9_]+\(' | tr -d '(' | sort -u)
inline=$(grep -hoE 'static inline [^(]*\bsw_[a-z0-9_]+\(' include/snapwalk/*.h | grep -oE 'sw_[a-z0-9_]+\(' | tr -d '(' | sort -u)
defined=$(nm -g --defined-only "$lib" "$harness" | awk 'NF == 3 { print $3 }' | sort -u)
verdict "every function of the public headers is in the archives" "$(
    echo "$declared" | grep -vxF -e "$inline" -e "$defined"
)"
marked=$(sed -nE 's/^SW_API .*\b(sw_[a-z0-9_]+)\(.*/\1/p' include/snapwalk/*.h | sort -u)
harness_names=$(nm -g --defined-only "$harness" | awk 'NF == 3 { print $3 }')
verdict "each of them but the harness's says SW_API" "$(
    echo "$declared" | grep -vxF -e "$inline" -e "$marked" -e "$harness_names"
)"
verdict "no writable globals: .data and .bss are empty" "$(
    size -A "$lib" | awk '/\.o / { file = $1 } ($1 ~ /^\.(data|bss|tdata|tbss)(\.|$)/ && $1 !~ /^\.data\.rel\.ro/ && $2 > 0) { print file, $1, $2 }'
)"
verdict "no constructors, no destructors" "$(objdump -h "$lib" | grep -oE '\.(init_array|fini_array|ctors|dtors)' | sort -u)"

# Everything but the rooms for the operating system and for ELF files may be reached from a walk.
walk=$(find "$build/lib" "$build/src" -name '*.o' | grep -vE '/(target/linux|elf)/|/src/clr/((clr|code|events|memory|modules|sweep)|linux/exports|(linux|windows)/host)[.]o')
forbidden='^(malloc|calloc|realloc|free|aligned_alloc|.*printf.*|puts|f(open|read|write|puts)|open|read|write|pthread_.*|dl.*|elf_.*|gelf_.*|getenv|setenv|sem_.*|mtx_.*|sleep|usleep|nanosleep|abort|exit|__assert.*|__errno_location|__tls_get_addr)$'
verdict "nothing in the walk's objects allocates, locks, prints, loads or exits" "$(
    for object in $walk; do
        nm -u "$object" | awk -v ok="$forbidden" -v file="$object" '$2 ~ ok { print file ": " $2 }'
    done
)"

# What a crash handler calls beside: streams and folders of the C library allocate.
verdict "nothing in the objects for a crash handler allocates or locks" "$(
    for object in target/linux/threads_self target/linux/tasks target/linux/suspend; do
        nm -u "$build/src/$object.o" | awk -v file="$object" '
            $2 ~ /^(malloc|calloc|realloc|free|.*printf.*|(f|open|read|close)dir|f(open|read|gets)|pthread_.*|__tls_get_addr)$/ { print file ": " $2 }'
    done
)"

# Files that call each other are hard to read alone. The first of each pair says in its first lines why they do.
circles='lib/elf/section lib/elf/minidebuginfo'
calls=$(cd "$build" && find lib src -name '*.o' -exec nm -gA {} + | awk '
    { sub(/[.]o:.*/, "", $1) }
    $2 == "U" { needs[$1 " " $3]; next }
    { from[$3] = $1 }
    END { for (call in needs) { split(call, of, " ")
          if (of[2] in from && from[of[2]] != of[1]) print of[1], from[of[2]] } }' | sort -u)
verdict "no file is called by one that it calls, but for those that say why" "$(
    echo "$calls" | grep -vxF "$circles" | tsort 2>&1 >/dev/null | sed -n 's/^tsort: \([^-]\)/\1/p'
    echo "$circles" | while read -r call; do
        echo "$calls" | grep -qx "$call" || echo "no longer: $call"
    done
)"
exit $status
