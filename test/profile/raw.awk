# What `pprof -raw` prints, each stack by its places' names, leaf first: their numbers are pprof's own.
/ M=[0-9]+ / {
    sub(/:/, "", $1)
    name[$1] = $4
}
/^ +[0-9]+:( [0-9]+)+ *$/ { line[++lines] = $0 }
END {
    for (i = 1; i <= lines; i++) {
        words = split(line[i], word, " ")
        printf "%s", word[1]
        for (n = 2; n <= words; n++)
            printf " %s", name[word[n]]
        print ""
    }
}
