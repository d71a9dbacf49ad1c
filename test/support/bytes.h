/*
 * Bytes as files and targets have them, and whole files.
 */
#ifndef TEST_SUPPORT_BYTES_H
#define TEST_SUPPORT_BYTES_H

#include <stddef.h>
#include <stdint.h>

/* The value in `size` bytes, the lowest first. */
void put_le(void *to, uint64_t value, unsigned size);

/* A file's bytes, to be freed; the test fails where it cannot be read. */
uint8_t *read_whole(const char *path, size_t *size);

#endif
