/*
 * Reads single values out of a JSON text of another program, which may hold anything. Knows no tree of values; refuses
 * to know what they mean. Nothing here allocates; no call reads outside of [at, end).
 */
#ifndef SW_CLR_JSON_H
#define SW_CLR_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A position in a text; at == end after an error. */
struct sw_clr_json {
    const char *at, *end;
};

/* A truncated text may end in the middle of a number, so only an object that ends is believed. At most 16 deep. */
bool sw_clr_json_is_whole(struct sw_clr_json text);

/* Moves behind that character, and blanks in front of it. */
bool sw_clr_json_take(struct sw_clr_json *text, char wanted);

/* The content of a string between its quotes; escapes are not undone. No string: empty. */
struct sw_clr_json sw_clr_json_string(struct sw_clr_json *text);
bool sw_clr_json_equals(struct sw_clr_json word, const char *name);

/* Enters an object: moves behind the colon of that key. */
bool sw_clr_json_enter(struct sw_clr_json *text, const char *key);

/* A number: 8, "0x8", or the first of [8, "type"]. */
bool sw_clr_json_number(struct sw_clr_json text, uint64_t *value);

/* The keys of an object that is asked often: the first ones are read once; what is behind them, each time. */
enum { SW_JSON_KEYS = 192 };
struct sw_clr_json_keys {
    struct sw_clr_json names[SW_JSON_KEYS], rest;
    size_t count;
};

void sw_clr_json_keys(struct sw_clr_json object, struct sw_clr_json_keys *keys);

/* Moves *value behind the colon of that key. */
bool sw_clr_json_key(const struct sw_clr_json_keys *keys, const char *key, struct sw_clr_json *value);

#endif
