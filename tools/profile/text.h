/* Names as every format may have them: valid UTF-8, no controls, nothing that turns a line's direction. */
#ifndef PROFILE_TEXT_H
#define PROFILE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Puts the text into `to`, which holds `size` bytes, at least 16, with a zero behind it. What may not be shown
 * becomes "\xNN" or "\u{NNNN}". Returns its length. *cut: it was longer, and ends with "...".
 */
size_t sw_profile_text_clean(const char *text, char *to, size_t size, bool *cut);

#endif
