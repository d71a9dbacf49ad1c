# Pages of man out of Doxygen's page of a header, which has everything in one: a page for each of its functions, in the folder
# `into`, and on standard output what is left, a page with contents. awk -v header=walk.h -v into=FOLDER -f man.awk PAGE

function plain(text) { gsub(/\\f[BCIPR]/, "", text); return text }
# What a quoted argument of a macro says.
function quoted(text) { sub(/^[^"]*"/, "", text); sub(/" *$/, "", text); return text }
function name_of(text) {
    text = plain(text)
    return match(text, /sw_[a-z0-9_]+ \(/) ? substr(text, RSTART, RLENGTH - 2) : ""
}
function first_word_small(text) { return text ~ /^[A-Z][a-z]/ ? tolower(substr(text, 1, 1)) substr(text, 2) : text }
function ended() {
    if (page != "") {
        print ".SH \"SEE ALSO\"\n.BR snapwalk_" header " (3),\n.BR snapwalk (7)" >page
        close(page)
    }
    page = ""
}
function begin(name, brief) {
    ended()
    page = into "/" name ".3"
    brief = first_word_small(says[name])
    sub(/(\\&)?[.](\\&)? *$/, "", brief)
    heading = title
    sub(/"[^"]*"/, "\"" name "\"", heading)
    print heading "\n.ad l\n.nh\n.SH NAME\n" name " \\- " brief "\n.SH SYNOPSIS\n\\fB#include <snapwalk/" header ">\\fP\n.PP" >page
    print call[name] ";\n.SH DESCRIPTION" >page
}

/^\.TH / { title = $0; sub(/"[^"]*"/, "\"snapwalk_" header "\"") }
/^\.SH / { part = quoted($0) }
/^\.SH NAME/ { print; getline; print "snapwalk_" $0; next }
/^\.SH SYNOPSIS/ { print $0 "\n.PP\n\\fB#include <snapwalk/" header ">\\fP"; next }
part ~ /SYNOPSIS/ && /#include/ { getline; next }
/^\.RI/ && part ~ /SYNOPSIS/ {
    text = quoted($0)
    if ((found = name_of(text)) != "")
        call[listed = found] = text
    else if (listed != "") {
        says[listed] = text
        listed = ""
    }
}
# What each function does is on its page.
part == "Function Documentation" {
    if (/^\.SS / && (found = name_of(quoted($0))) != "")
        begin(found)
    else if (page != "" && !/^\.S[HS] /)
        print >page
    next
}
part == "Author" { next }
{ print }
END {
    ended()
    print ".SH \"SEE ALSO\"\n.BR snapwalk (7)\n.br\nEach function and structure has a page of its own."
}
