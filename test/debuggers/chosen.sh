# To be sourced with BUILD [PART...], from the root: $build, $out, $here, $tool, and the parts that are asked for, in $chosen.
mkdir -p "${1:-build}/test/debuggers"
build=$(cd "${1:-build}" && pwd)
[ $# = 0 ] || shift
chosen=" $* "
out=$build/test/debuggers
here=$PWD/test/debuggers
tool=$build/tools/snapstacks/snapstacks
