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
# Doxygen finds no page by its link in a folder with a space in its name.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/mk" "$work/made"
cp -R include docs README.md ARCHITECTURE.md "$work/"
cp mk/card.awk "$work/mk/"
cat >"$work/Doxyfile" <<END
PROJECT_NAME = snapwalk
PROJECT_NUMBER = $version
PROJECT_BRIEF = "walks call stacks of managed and native code"
OUTPUT_DIRECTORY = made
INPUT = include/snapwalk docs docs/tutorials README.md ARCHITECTURE.md
EXCLUDE = docs/facts include/snapwalk/corprof.h
FILE_PATTERNS = *.h *.md
USE_MDFILE_AS_MAINPAGE = README.md
FILTER_PATTERNS = "*.h=awk -f mk/card.awk" "*.md=sed 's/](#[^)]*)/]/g'"
OPTIMIZE_OUTPUT_FOR_C = YES
EXTRACT_ALL = YES
EXTRACT_STATIC = YES
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
WARN_LOGFILE = warnings
END
(cd "$work" && doxygen Doxyfile)
[ ! -s "$work/warnings" ] || { head -n 20 "$work/warnings" >&2; echo "docs: $(wc -l <"$work/warnings") warnings" >&2; exit 1; }
mv "$work"/made/* "$out/"

# Pages of man: of headers, by names that no other library has; of functions; of structures that users fill or read.
raw=$out/man/man3
pages=$out/man3
mkdir "$pages"
sed -i "s/^'/\\\\\&'/" "$raw"/*.3 # a line that begins with a quote would be a request of troff's
for header in include/snapwalk/*.h; do
    name=$(basename "$header")
    [ ! -e "$raw/$name.3" ] || awk -v header="$name" -v into="$pages" -f mk/man.awk "$raw/$name.3" >"$pages/snapwalk_$name.3"
done
structures=$(sed -nE 's/^(typedef )?struct (sw_[a-z0-9_]+) \{.*/\2/p' include/snapwalk/*.h | sort -u)
for name in $structures; do
    sed -e 's|#include <|&snapwalk/|' -e '/^\.SH "\(Field Documentation\|Author\)"/,$d' "$raw/$name.3" >"$pages/$name.3"
done
rm -rf "$raw"
mv "$pages" "$raw"
functions=$(sed -nE 's/^(SW_API .*|static inline .*|[a-z].* \**)\b(sw_[a-z0-9_]+)\(.*/\2/p' include/snapwalk/*.h | sort -u)
for name in $functions; do
    grep -q '^\.SH DESCRIPTION' "$raw/$name.3" 2>/dev/null || { echo "docs: no page of $name" >&2; exit 1; }
done
# What man -k, and Debian, ask of each.
nameless=$(grep -L "^[a-z_.]* \\\\- " "$raw"/*.3 || :)
[ -z "$nameless" ] || { echo "docs: these pages do not say what they are about: $nameless" >&2; exit 1; }
echo "docs: $(echo "$functions" | wc -l) functions, a page of man each, and $out/html/index.html"
