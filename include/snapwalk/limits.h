/*
 * What a file may cost. A few bytes can claim to be many: holes of a sparse file, compressed data, lines that
 * replace each other. So what is read, unpacked and kept of a file is limited by what is stored of it.
 */
#ifndef SNAPWALK_LIMITS_H
#define SNAPWALK_LIMITS_H

/*
 * ELF and PE files, in bytes.
 *
 * SW_FILE_COST        A file is read if at least one byte in so many is stored. Of an ELF file, MiniDebugInfo, and
 *                     compressed sections of it and inside it, so many times what is stored is unpacked at most,
 *                     all together, and SW_FILE_FREE besides. Otherwise the answer is SW_E_LIMIT.
 * SW_FILE_HOLES_FREE  A file up to this size is read, however little of it is stored.
 * SW_UNPACK_MEMORY    What unpacking may ask for, for the time being; only as much as the result has is touched.
 */
enum { SW_FILE_COST = 8, SW_FILE_FREE = 1 << 20, SW_FILE_HOLES_FREE = 16 << 20, SW_UNPACK_MEMORY = 96 << 20 };

/*
 * Cores. Their holes are memory that was zero, so only what describes it is limited; what is over a limit is not seen.
 *
 * SW_CORE_HEADERS_MAX  Program headers: mappings of the process.
 * SW_CORE_NOTES_MAX    Notes, in bytes.
 */
enum { SW_CORE_HEADERS_MAX = 1 << 19, SW_CORE_NOTES_MAX = 1 << 30 };

/*
 * Perf maps, in bytes.
 *
 * SW_PERFMAP_LINE_MAX  A longer line is skipped.
 */
enum { SW_PERFMAP_LINE_MAX = 65536 };

#endif
