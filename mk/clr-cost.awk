# Sums up the lines "cost: depth D flags F: CLR n ns (a a frame), ours ..." by class of depth: medians.
/^cost: depth/ {
    depth = $3; flags = $5 + 0
    clr = $7
    for (i = 1; i <= NF; i++) { if ($i == "ours") ours = $(i + 1); if ($i == "floor") least = $(i + 1); if ($i == "moved") moved = $(i + 1) }
    class = depth < 25 ? 10 : depth < 100 ? 50 : depth < 500 ? 200 : 1000
    key = class " " flags
    n[key]++
    c[key, n[key]] = clr / depth
    o[key, n[key]] = ours / depth
    l[key, n[key]] = least / depth
    m[key, n[key]] = moved / depth
}
function median(of, key,   i, j, t, v) {
    for (i = 1; i <= n[key]; i++) v[i] = of[key, i]
    for (i = 2; i <= n[key]; i++) { t = v[i]; for (j = i - 1; j > 0 && v[j] > t; j--) v[j + 1] = v[j]; v[j + 1] = t }
    return v[int((n[key] + 1) / 2)]
}
END {
    split("10 50 200 1000", classes, " ")
    print "cost, ns a frame (medians; floor: the callbacks alone; moved: ours, begun elsewhere on the stack than the last one)"
    print "  depth flags   CLR     ours  faster    floor  ours/floor   moved  faster stacks"
    for (k = 1; k <= 4; k++)
        for (f = 0; f < 2; f++) {
            key = classes[k] " " f
            if (n[key]) printf "  %5d %d %8.1f %8.1f %6.1fx %8.1f %9.1fx %7.1f %6.1fx %6d\n", classes[k], f, median(c, key), median(o, key), median(c, key) / median(o, key), median(l, key), median(o, key) / median(l, key), median(m, key), median(c, key) / median(m, key), n[key]
        }
}
