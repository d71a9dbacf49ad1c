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
# The first sentence, or the one about this function where several share a card.
function brief_of(name, text) {
    text = says[name]
    if (match(body, "(^|\n|[.] )" name " [a-z]"))
        text = substr(body, RSTART + RLENGTH - 1)
    gsub(/\n/, " ", text)
    sub(/\\&[.].*/, "", text)
    return first_word_small(text)
}
function ended(page) {
    if (name == "")
        return
    page = into "/" name ".3"
    sub(/"[^"]*"/, "\"" name "\"", heading)
    print heading "\n.ad l\n.nh\n.SH NAME\n" name " \\- " brief_of(name) "\n.SH SYNOPSIS\n\\fB#include <snapwalk/" header ">\\fP\n.PP" >page
    print call[name] ";\n.SH DESCRIPTION" body "\n.SH \"SEE ALSO\"\n.BR snapwalk_" header " (3),\n.BR snapwalk (7)" >page
    close(page)
    name = ""
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
    if (/^\.SS / && (found = name_of(quoted($0))) != "") {
        ended()
        name = found
        heading = title
        body = ""
    } else if (name != "" && !/^\.S[HS] /)
        body = body "\n" $0
    next
}
part == "Author" { next }
{ print }
END {
    ended()
    print ".SH \"SEE ALSO\"\n.BR snapwalk (7)\n.br\nEach function and structure has a page of its own."
}
