# What every awk can do: busybox'.
function f(n) { return n < 2 ? n : f(n - 1) + f(n - 2) }
BEGIN {
    for (i = 0; i < 1000000; i++) {
        a[i % 999] = a[i % 999] "x" i
        if (i % 50 == 0) gsub(/x1+/, "y", a[i % 999])
        if (i % 7 == 0) { n = split(a[i % 999], part, "x"); s += length(part[n]) + index(a[i % 999], "99") }
        if (i % 3000 == 0) for (k in a) delete a[k]
        s += f(7) + substr(i, 2) + toupper("b" i)
    }
    printf "%d %.3f\n", s, sqrt(s)
}
