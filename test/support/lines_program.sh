# To be sourced, with $build set and mk/sample.sh read: the program of test/profiler/lines, which prints the lines that the runtime has.

# make_program COMMAND NAME OPTION...: $build/dotnet/lines-NAME
make_program() {
    to=$build/dotnet/lines-$2
    [ ! -f "$to/lines" ] || [ -n "$(find test/profiler/lines -newer "$to/lines" -type f)" ] || return 0
    (
        flock 8
        command=$1
        name=$2
        shift 2
        dotnet "$command" test/profiler/lines -v q "$@" --artifacts-path "$build/dotnet/artifacts-lines-$name" -o "$to" \
            --nodeReuse:false -p:UseSharedCompilation=false >"$to.log" 2>&1 8>&- && touch "$to/lines"
    ) 8>"$build/dotnet/lock-lines"
}
mkdir -p "$build/dotnet"

# make_own NAME OPTION...: with a runtime of its own. False, and a reason: there is none at hand.
make_own() {
    name=$1
    shift
    make_program publish "$name" -c Release -r linux-x64 --self-contained "$@" && return 0
    grep -m 1 -oE 'error [A-Z]+[0-9]+:.*' "$build/dotnet/lines-$name.log"
    return 1
}

# each_own COMMAND: calls it, COMMAND TEXT NAME OPTION..., for each program of which make_own makes one.
each_own() {
    "$1" "precompiled" r2r -p:PublishReadyToRun=true
    "$1" "single file" single -p:PublishSingleFile=true
    "$1" ".NET 9" 9 -p:Net=9
    "$1" ".NET 9, precompiled" 9-r2r -p:Net=9 -p:PublishReadyToRun=true
    "$1" ".NET 8" 8 -p:Net=8
    "$1" ".NET 8, precompiled" 8-r2r -p:Net=8 -p:PublishReadyToRun=true
}

# change_id PDB: it is of another build then. The id begins the stream #Pdb: where that is stands eight bytes in front of its name.
change_id() {
    at=$(od -An -tu4 -j "$(($(grep -abo '#Pdb' "$1" | head -n 1 | cut -d: -f1) - 8))" -N 4 "$1" | tr -d ' ')
    printf '\377\376' | dd of="$1" bs=1 seek="$at" conv=notrunc 2>/dev/null
}
