# From a tutorial: its files into the folder `into`, and on standard output its commands with what they print, in order:
#   $ COMMAND     > a line that it prints
/^<!-- file: [a-z_.]+ -->$/ { name = $3; next }
/^```console$/ { console = 1; next }
/^```/ && name { file = into "/" name; printf "" >file; name = ""; next }
/^```$/ { if (file) close(file); file = ""; console = 0; next }
file { print >file }
console { print (/^[$] / ? "" : "> ") $0 }
