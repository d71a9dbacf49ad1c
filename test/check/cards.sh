#!/bin/sh
# Every function of a public header stands under a card that says where it may be called: Threads and Signals, or "As"
# another card. Functions that follow each other without a blank line share one. And snapwalk.h shows all headers.
set -u
cd "$(dirname "$0")/../.."
status=0
for header in include/snapwalk/*.h; do
    [ "$(basename "$header")" = corprof.h ] && continue # pure ABI: one comment with its source
    bad=$(awk '
        /^\/\*/ { card = ""; in_card = 1 }
        in_card { card = card "\n" $0; if ($0 ~ /\*\//) in_card = 0; next }
        /^[[:space:]]*$/ { if (!keep) card = ""; keep = 0; next }
        /sw_[a-z0-9_]+\(/ && /^[a-zS]/ && !/^(#|typedef|return)/ {
            match($0, /sw_[a-z0-9_]+\(/); name = substr($0, RSTART, RLENGTH - 1)
            if (card !~ /Threads/ || card !~ /Signals/) print "#   " name
        }
    ' "$header")
    if [ -z "$bad" ]; then
        echo "ok - cards of $(basename "$header")"
    else
        printf 'not ok - cards of %s lack Threads or Signals\n%s\n' "$(basename "$header")" "$bad"
        status=1
    fi
done
# snapwalk.h includes every other header, each with its line in the comment; its core stays a core.
whole=include/snapwalk/snapwalk.h
bad=$(for header in include/snapwalk/*.h; do
    name=$(basename "$header")
    [ "$name" = snapwalk.h ] && continue
    [ "$(grep -c "^#include <snapwalk/$name>$" "$whole")" = 1 ] && [ "$(grep -cE "^ \*   $name +[a-zA-Z]" "$whole")" = 1 ] || echo "#   $name"
done)
core=$(awk '/^\/\* Core/ { on = 1 } /^\/\* Extra/ { on = 0 } on && /^#include/ { gsub(/.*\/|>/, ""); print "include/snapwalk/" $0 }' "$whole")
functions=$(cat $core | awk '/^\/\*/ { skip = 1 } !skip { print } /\*\// { skip = 0 }' | grep -E '^[a-zS]' | grep -oE '\bsw_[a-z0-9_]+\(' | sort -u | wc -l)
if [ -z "$bad" ] && [ "$functions" -ge 30 ] && [ "$functions" -le 50 ]; then
    echo "ok - snapwalk.h has every header, and a core of $functions functions"
else
    printf 'not ok - snapwalk.h has every header, and a core of 30 to 50 functions: %s\n%s\n' "$functions" "$bad"
    status=1
fi
exit $status
