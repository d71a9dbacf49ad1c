#!/bin/sh
# docs/claims.md: the words of each line stand in README.md, and what shows them is there.
set -u
cd "$(dirname "$0")/../.."
claims=$(mktemp)
trap 'rm -f "$claims"' EXIT
sed -nE 's/^[|] (.*) [|] ([^|]*`[^|]*) [|]$/\1\t\2/p' docs/claims.md >"$claims"
readme=$(tr -s ' \n' '  ' <README.md)
bad=$(while IFS='	' read -r words shown; do
    case $readme in *"$words"*) ;; *) echo "# README.md no longer says: $words" ;; esac
    for file in $(echo "$shown" | grep -oE '`test/[a-z0-9_/.]+`' | tr -d '\140'); do
        [ -f "$file" ] || echo "# there is no $file"
    done
    case $shown in *'`test/'*) ;; *) echo "# nothing shows: $words" ;; esac
done <"$claims")
count=$(wc -l <"$claims")
if [ -z "$bad" ] && [ "$count" -ge 30 ] && [ "$count" -eq "$(grep -c '^| [^R-]' docs/claims.md)" ]; then
    echo "ok - all $count claims of the README have a test or a benchmark"
else
    printf 'not ok - all %s claims of the README have a test or a benchmark\n%s\n' "$count" "$bad"
    exit 1
fi
