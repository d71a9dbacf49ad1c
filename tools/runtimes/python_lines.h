/* Python's tables of lines, which each function has; their bytes are hostile. */
#ifndef RUNTIMES_PYTHON_LINES_H
#define RUNTIMES_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* STEPS: co_lnotab, to 3.9. RANGES: co_linetable of 3.10. LOCATIONS: co_linetable from 3.11 on. */
enum python_lines { PYTHON_LINES_STEPS, PYTHON_LINES_RANGES, PYTHON_LINES_LOCATIONS };

/*
 * place: of the instruction, in bytes from the beginning. first: the line of the function.
 *
 * Returns the line; 0: it has none.
 */
int python_line(enum python_lines form, const uint8_t *table, size_t size, uint64_t place, int first);

#endif
