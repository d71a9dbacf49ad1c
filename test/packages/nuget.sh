#!/bin/sh
# nuget.sh BUILD: the NuGet packages, as a user would take them: into a new program by `dotnet add package`, from a folder. TAP on
# standard output.
set -u
cd "$(dirname "$0")/../.."
mkdir -p "$1"
build=$(cd "$1" && pwd)
out=$build/nuget/user
rm -rf "$out"
mkdir -p "$out/program"
. test/support/tap.sh
. mk/sample.sh
version=0.0.1-test
mk/nuget.sh "$build" "$version" >"$out/seen" 2>&1
case $? in
77) skip "NuGet packages" "$(tail -n 1 "$out/seen")"; exit 0 ;;
0) ;;
*) verdict 1 "the packages are made"; exit 1 ;;
esac
verdict 0 "the packages are made"

needed=$(for file in "$build"/nuget/native/*.so*; do objdump -p "$file"; done | awk '$1 == "NEEDED" { print $2 }' | sort -u |
    grep -vE '^(libc|libm|libz|libelf|ld-linux-x86-64)[.]so[.0-9]+$')
echo "$needed" >"$out/seen"
[ -z "$needed" ]
verdict $? "their libraries need none that the packages, or the smallest system with .NET, lack"

# A cache of packages of its own: the one of the machine would keep the first of this version for ever.
export NUGET_PACKAGES="$out/packages"
(
    cd "$out/program" && dotnet new console --no-restore --force -n program -o . && cp "$OLDPWD/test/packages/nuget/Program.cs" . &&
        for package in Snapwalk Snapwalk.Profiler Snapwalk.Overlay; do
            dotnet add package "$package" --version "$version" --no-restore || exit 1
        done &&
        dotnet build -c Release -v q -o "$out/made" --nodeReuse:false -p:UseSharedCompilation=false \
            -p:RestoreAdditionalProjectSources="$build/nuget"
) >"$out/seen" 2>&1
verdict $? "a new program takes them by dotnet add package, and is built"

mkdir -p "$out/files"
${CC:-cc} -shared -fPIC -o "$out/files/other.so" test/profiler/programs/other.c || exit 1
timeout 1200 dotnet "$out/made/program.dll" "$out/files" >"$out/seen" 2>&1
verdict $? "it runs"
said() {
    grep -qE -- "$1" "$out/seen"
    verdict $? "$2"
}
said '^started: 1$' "a program that it starts under the profiler ends as without"
said '^overlaid: 2$' "one that it starts with the overlay in front has the overlay"
said '^beside: 1$' "one that has another main profiler ends as without"
said '^other profiler: ended' "and that stays there to the end"
said '^elsewhere: True$' "attach: a relative file is one of the folder of who asks"
said '^refused$' "what is no setting is refused"
said ' Work\.Show$' "its own stack has its methods"
said '^whole: True$' "its own stack is whole"
for name in started overlaid beside attached elsewhere; do
    cat "$out/files/$name"-*.folded >"$out/seen" 2>&1
    said '(;|^)Work\.Spin\(int, int\)(;| )' "$name: the profile has the method that worked"
done
exit $status
