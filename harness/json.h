/*
 * One line of JSON: an object of texts and numbers, built in memory of a fixed size. What does not fit is cut, and the
 * line says so; it is well-formed whatever the texts are.
 */
#ifndef SW_HARNESS_JSON_H
#define SW_HARNESS_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SW_JSON_LINE = 2048, SW_JSON_TEXT = 1500 };

/* All zero is an object without fields. A text takes at most SW_JSON_TEXT bytes, and then "...". */
struct sw_json {
    char text[SW_JSON_LINE];
    size_t length;
    bool is_cut;
};

/* Keys are of letters. A null text is written as "". */
void sw_json_text(struct sw_json *line, const char *key, const char *text);
void sw_json_number(struct sw_json *line, const char *key, uint64_t number);
/* Closes the object. Returns its text. */
const char *sw_json_end(struct sw_json *line);

/* How many bytes the character at `text` has, in UTF-8; 0: none begins there, or the text ends. */
size_t sw_utf8_length(const char *text);

#endif
