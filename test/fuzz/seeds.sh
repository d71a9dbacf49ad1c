#!/bin/sh
# seeds.sh BUILD [FOLDER]: makes what fuzzing of capsules and jitdump files begins with (seeds/seeds.c), in FOLDER/capsule
# and FOLDER/jitdump; without FOLDER in test/fuzz/corpus, for who changes a format.
set -eu
cd "$(dirname "$0")/../.."
build=$1
folder=${2:-test/fuzz/corpus}
make --no-print-directory BUILD="$build" lib >/dev/null
mkdir -p "$build/test/fuzz" "$folder/capsule" "$folder/jitdump"
"${CC:-gcc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -Iinclude -Ilib -Isrc -o "$build/test/fuzz/seeds" test/fuzz/seeds/seeds.c \
    test/support/jitdump_file.c "$build/libsnapwalk.a" -lcmocka -lZydis -lelf -llzma -pthread
"$build/test/fuzz/seeds" "$folder"
