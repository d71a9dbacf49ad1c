/*
 * Core files, written: the ELF header, program headers and notes that the rest of this room reads. Allocates nothing:
 * what does not fit is counted, so that a caller writes twice, once to learn the size. Source: as core.h.
 */
#ifndef SW_CORE_WRITE_H
#define SW_CORE_WRITE_H

#include "core/core.h"

/*
 * Bytes that are put one behind the other.
 *
 * size     Of all, also of what did not fit into `room`.
 * note, data  Where the note that is being written begins, and its data.
 */
struct sw_core_out {
    uint8_t *bytes;
    size_t room;
    size_t size;
    size_t note, data;
};

void sw_core_put(struct sw_core_out *out, const void *bytes, size_t size);
void sw_core_put_u(struct sw_core_out *out, uint64_t value, unsigned size);
void sw_core_put_zeros(struct sw_core_out *out, size_t count);

/* The header of a core with that many program headers, which follow it. */
void sw_core_put_elf_header(struct sw_core_out *out, enum sw_machine machine, unsigned count);
void sw_core_put_program_header(struct sw_core_out *out, const struct sw_core_header *header);

/* Notes of a process and of its threads. name, arguments: cut to what the record has room for. */
void sw_core_put_task(struct sw_core_out *out, uint32_t tid, int32_t signal, const struct sw_regs *regs);
void sw_core_put_fault(struct sw_core_out *out, int32_t signal, int32_t code, uint64_t address);
void sw_core_put_pac_mask(struct sw_core_out *out, uint64_t mask);
void sw_core_put_process(struct sw_core_out *out, uint64_t pid, const char *name, const char *arguments);
void sw_core_put_auxv(struct sw_core_out *out, const void *bytes, size_t size);

/* NT_FILE. Rows' offsets are multiples of the page size. */
enum { SW_CORE_PAGE = 4096 };
void sw_core_put_files(struct sw_core_out *out, const struct sw_core_mapping *rows, size_t count);

/* A code range with its name, as sw_core_ranges_next reads it. */
void sw_core_put_range(struct sw_core_out *out, const struct sw_range *range, const char *name);

#endif
