#!/bin/sh
# docs/claims.md: the words of each line stand in README.md, or are a line of docs/comparison.md, and what shows them is there; of
# that page no line that says more than "no" is without.
set -u
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v into="$work" '
    /^[|] [a-zA-Z.]+ says [|]/ { page = $2 == "README" ? "readme" : "comparison"; next }
    page && /^[|] .*`/ { sub(/^[|] /, ""); sub(/ [|]$/, ""); cut = match($0, / [|] [^|]*$/); print substr($0, 1, cut - 1) "\t" substr($0, cut + 3) >(into "/" page) }
' docs/claims.md
readme=$(tr -s ' \n' '  ' <README.md)
awk -F ' [|] ' '/^[|] [^|-]/ && $2 !~ /^(no|snapwalk|stack walker, C)$/ { sub(/^[|] /, "", $1); print $1 ": " $2 }' docs/comparison.md >"$work/lines"
# shown WORDS TESTS
shown() {
    for file in $(echo "$2" | grep -oE '`test/[a-z0-9_/.]+`' | tr -d '\140'); do
        [ -f "$file" ] || echo "# there is no $file"
    done
    case $2 in *'`test/'*) ;; *) echo "# nothing shows: $1" ;; esac
}
bad=$(
    while IFS='	' read -r words tests; do
        case $readme in *"$words"*) ;; *) echo "# README.md no longer says: $words" ;; esac
        shown "$words" "$tests"
    done <"$work/readme"
    while IFS='	' read -r words tests; do
        grep -qxF "$words" "$work/lines" || echo "# comparison.md no longer says: $words"
        shown "$words" "$tests"
    done <"$work/comparison"
    cut -f 1 "$work/comparison" | sort >"$work/claimed"
    sort "$work/lines" | comm -23 - "$work/claimed" | sed 's/^/# nothing shows, of comparison.md: /'
)
[ "$(cat "$work/readme" "$work/comparison" | wc -l)" -eq "$(grep '^| [^-]' docs/claims.md | grep -vc ' says |')" ] || bad="$bad
# a line of docs/claims.md is not read"
# told NAME FILE LEAST TITLE
told() {
    count=$(wc -l <"$2")
    if [ -z "$bad" ] && [ "$count" -ge "$3" ]; then
        echo "ok - all $count claims of the $1 have a test or a benchmark"
    else
        printf 'not ok - all %s claims of the %s have a test or a benchmark\n%s\n' "$count" "$1" "$bad"
        failed=1
    fi
}
failed=0
told README "$work/readme" 30
told comparison "$work/comparison" 15
exit $failed
