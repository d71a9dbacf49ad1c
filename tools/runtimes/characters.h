/* Text of runtimes, which keep characters as numbers of one, two or four bytes, as UTF-8. */
#ifndef RUNTIMES_CHARACTERS_H
#define RUNTIMES_CHARACTERS_H

#include <stddef.h>
#include <stdint.h>

/* Writes a character. Returns how many bytes it takes; 0: there is no room for it, or it is none. */
size_t put_character(char *to, size_t room, uint32_t character);

#endif
