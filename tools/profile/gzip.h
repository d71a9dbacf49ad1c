/* Compression with gzip as bytes come, into a file; and back. The only room with zlib is gzip.c. */
#ifndef PROFILE_GZIP_H
#define PROFILE_GZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct sw_profile_gzip;

/* NULL: no memory. */
struct sw_profile_gzip *sw_profile_gzip_open(FILE *file);
void sw_profile_gzip_write(struct sw_profile_gzip *gzip, const uint8_t *bytes, size_t count);

/* Writes what is left, and frees. False: zlib failed; whether the file took everything is said by ferror. */
bool sw_profile_gzip_close(struct sw_profile_gzip *gzip);

enum sw_profile_gzip_answer { SW_PROFILE_GZIP_OK, SW_PROFILE_GZIP_BAD, SW_PROFILE_GZIP_LARGE, SW_PROFILE_GZIP_MEMORY };

/* What a file holds, unpacked, in memory that the caller frees. LARGE: more than so many bytes. */
enum sw_profile_gzip_answer sw_profile_gunzip(FILE *file, size_t max_bytes, uint8_t **bytes, size_t *size);

#endif
