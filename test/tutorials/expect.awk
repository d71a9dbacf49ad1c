# Whether the lines of the first file stand in the second one, in this order. "..." stands for anything.
BEGIN { quote = "[][\\\\.*+?(){}^$|]" }
FNR == NR {
    line = $0
    gsub(/[.][.][.]/, "\001", line)
    out = ""
    while (match(line, quote)) {
        out = out substr(line, 1, RSTART - 1) "\\" substr(line, RSTART, 1)
        line = substr(line, RSTART + 1)
    }
    out = out line
    gsub("\001", ".*", out)
    want[++wanted] = "^" out "$"
    next
}
seen < wanted && $0 ~ want[seen + 1] { seen++ }
END { exit seen < wanted }
