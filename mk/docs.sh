#!/bin/sh
# docs.sh BUILD VERSION: the reference, made of the cards in the public headers: BUILD/docs/html, with a search, and
# BUILD/docs/man, a page for each header and one for each function. What Doxygen has to say against a card is an error.
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
out=$(cd "$1" && pwd)/docs
version=$2
command -v doxygen >/dev/null 2>&1 || { echo "docs: no doxygen command (package doxygen)" >&2; exit 77; }
rm -rf "$out"
mkdir -p "$out"
cat >"$out/Doxyfile" <<END
PROJECT_NAME = snapwalk
PROJECT_NUMBER = $version
PROJECT_BRIEF = "walks call stacks of managed and native code"
OUTPUT_DIRECTORY = $out
INPUT = include/snapwalk docs docs/tutorials README.md ARCHITECTURE.md
EXCLUDE = docs/facts include/snapwalk/corprof.h
FILE_PATTERNS = *.h *.md
USE_MDFILE_AS_MAINPAGE = README.md
FILTER_PATTERNS = "*.h=awk -f mk/card.awk" "*.md=sed 's/](#[^)]*)/]/g'"
OPTIMIZE_OUTPUT_FOR_C = YES
EXTRACT_ALL = YES
HIDE_SCOPE_NAMES = YES
JAVADOC_AUTOBRIEF = YES
TYPEDEF_HIDES_STRUCT = YES
FULL_PATH_NAMES = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = SW_API= SW_NODISCARD=
GENERATE_LATEX = NO
GENERATE_MAN = YES
MAN_LINKS = YES
HAVE_DOT = NO
SEARCHENGINE = YES
QUIET = YES
WARN_LOGFILE = $out/warnings
END
doxygen "$out/Doxyfile"
[ ! -s "$out/warnings" ] || { head -n 20 "$out/warnings" >&2; echo "docs: $(wc -l <"$out/warnings") warnings" >&2; exit 1; }

# Pages of man: of headers, by names that no other library has, and of functions, which refer to them.
pages=$out/man/man3
for header in include/snapwalk/*.h; do
    name=$(basename "$header")
    [ ! -e "$pages/$name.3" ] || mv "$pages/$name.3" "$pages/snapwalk_$name.3"
done
functions=$(sed -nE 's/^(SW_API .*|[a-z].* \**)\b(sw_[a-z0-9_]+)\(.*/\2/p' include/snapwalk/*.h | grep -vx "$(
    sed -nE 's/^static inline .*\b(sw_[a-z0-9_]+)\(.*/\1/p' include/snapwalk/*.h)" | sort -u)
for page in "$pages"/*.3; do
    name=$(basename "$page" .3)
    case $name in
    snapwalk_*.h) sed -i '/^\.TH /s/"\([^"]*\)"/"snapwalk_\1"/' "$page" ;;
    *) echo "$functions" | grep -qx "$name" && sed -i 's|^\.so man3/|&snapwalk_|' "$page" || rm "$page" ;;
    esac
done
for name in $functions; do
    [ -e "$pages/$name.3" ] || { echo "docs: no page of $name" >&2; exit 1; }
done
echo "docs: $(echo "$functions" | wc -l) functions, a page of man each, and $out/html/index.html"
