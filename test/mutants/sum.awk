# Results of mutants, one a line: what happened, then the list's fields. A row for each room, then the sum.
function room(file) {
    if (file ~ /fold[.]c$/)
        return "the fold"
    if (file ~ /sim[.]c$/)
        return "the simulation"
    sub(/\/[^\/]*$/, "", file)
    return file
}
tap {
    ok = $1 ~ /^noticed/ ? "ok" : "not ok"
    print ok " " NR " - " $1 ": " $4 ":" $5 ": " $8
}
{
    r = room($4)
    if (!(r in rooms))
        order[++n] = r
    rooms[r] = 1
}
$1 ~ /^does not/ { compile[r]++; next }
$1 == "same object code" { same[r]++; next }
$3 == "equivalent" { equivalent[r]++; if ($1 ~ /^noticed/) wrong++; next }
{ all[r]++; total++ }
$1 ~ /^noticed/ { noticed[r]++; sum++ }
END {
    printf "\n%-20s %8s %8s %11s %12s %12s\n", "room", "mutants", "noticed", "equivalent", "same object", "not compiled"
    for (i = 1; i <= n; i++) {
        r = order[i]
        printf "%-20s %8d %8d %11d %12d %12d\n", r, all[r], noticed[r], equivalent[r], same[r], compile[r]
        e += equivalent[r]
        unfit += same[r] + compile[r]
    }
    printf "all in %d s; %d named as equivalent", took, e
    if (wrong) printf ", %d of them wrongly", wrong
    if (unfit) printf "; %d that are no mutants", unfit
    printf "\nmutants: %d of %d noticed\n", sum, total
    exit !(sum == total && total > 0 && !wrong && !unfit)
}
