#!/bin/sh
# Every function of a public header stands under a card that says where it may be called: Threads and Signals, or "As"
# another card. Functions that follow each other without a blank line share one.
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
exit $status
