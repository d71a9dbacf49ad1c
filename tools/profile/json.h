/* Strings of JSON that may also stand within HTML. */
#ifndef PROFILE_JSON_H
#define PROFILE_JSON_H

#include <stdio.h>

/* The text in quotes. "<", ">" and "&" are escaped, so that nothing within ends a script element. */
void sw_profile_json_string(FILE *file, const char *text);

/* The same of a text that was not cleaned: a title of a caller's. */
void sw_profile_json_foreign(FILE *file, const char *text);

/* The name and a colon: "name": */
void sw_profile_json_key(FILE *file, const char *name);

#endif
