/* The layouts that headers.c and notes.c read, and a note of our own. Refuses to know what is worth keeping. */
#include "core/write.h"

#include "core/layout.h"

#include <snapwalk/context.h>

#include <string.h>

enum { EM_X64 = 62, EM_ARM64 = 183, PROGRAM_HEADER_BYTES = 56, NOTE_ALIGN = 4 };
void sw_core_put(struct sw_core_out *out, const void *bytes, size_t size)
{
    if (size && out->size <= out->room && size <= out->room - out->size)
        memcpy(out->bytes + out->size, bytes, size);
    out->size += size;
}

void sw_core_put_u(struct sw_core_out *out, uint64_t value, unsigned size)
{
    uint8_t bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    sw_core_put(out, bytes, size);
}

void sw_core_put_zeros(struct sw_core_out *out, size_t count)
{
    static const uint8_t zeros[64];
    for (size_t part; count; count -= part) {
        part = count < sizeof zeros ? count : sizeof zeros;
        sw_core_put(out, zeros, part);
    }
}

/* ---- headers ---- */

void sw_core_put_elf_header(struct sw_core_out *out, enum sw_machine machine, unsigned count)
{
    static const uint8_t ident[16] = { 0x7f, 'E', 'L', 'F', 2 /* 64 bits */, 1 /* little-endian */, 1 };
    sw_core_put(out, ident, sizeof ident);
    sw_core_put_u(out, SW_CORE_TYPE, 2);
    sw_core_put_u(out, machine == SW_MACHINE_ARM64 ? EM_ARM64 : EM_X64, 2);
    sw_core_put_u(out, 1, 4);                    /* version */
    sw_core_put_u(out, 0, 8);                    /* entry */
    sw_core_put_u(out, SW_CORE_HEADER_BYTES, 8); /* program headers */
    sw_core_put_u(out, 0, 8);                    /* section headers */
    sw_core_put_u(out, 0, 4);                    /* flags */
    sw_core_put_u(out, SW_CORE_HEADER_BYTES, 2);
    sw_core_put_u(out, PROGRAM_HEADER_BYTES, 2);
    sw_core_put_u(out, count, 2);
    sw_core_put_zeros(out, 6); /* sections: size of a header, count, names */
}

void sw_core_put_program_header(struct sw_core_out *out, const struct sw_core_header *header)
{
    sw_core_put_u(out, header->type, 4);
    sw_core_put_u(out, header->flags, 4);
    sw_core_put_u(out, header->offset, 8);
    sw_core_put_u(out, header->address, 8);
    sw_core_put_u(out, 0, 8); /* physical address */
    sw_core_put_u(out, header->file_size, 8);
    sw_core_put_u(out, header->size, 8);
    sw_core_put_u(out, header->align, 8);
}

/* ---- notes ---- */

static void pad(struct sw_core_out *out)
{
    sw_core_put_zeros(out, (0 - out->size) % NOTE_ALIGN);
}

static void begin_note(struct sw_core_out *out, const char *owner, enum sw_note_type type)
{
    out->note = out->size;
    sw_core_put_u(out, strlen(owner) + 1, 4);
    sw_core_put_u(out, 0, 4);
    sw_core_put_u(out, type, 4);
    sw_core_put(out, owner, strlen(owner) + 1);
    pad(out);
    out->data = out->size;
}

/* Now its size is known. */
static void end_note(struct sw_core_out *out)
{
    const size_t end = out->size;
    out->size = out->note + 4;
    sw_core_put_u(out, end - out->data, 4);
    out->size = end;
    pad(out);
}

void sw_core_put_task(struct sw_core_out *out, uint32_t tid, int32_t signal, const struct sw_regs *regs)
{
    uint8_t record[SW_PRSTATUS_MOST] = { 0 };
    const size_t size = sw_context_size(SW_CONTEXT_PRSTATUS, regs->machine);
    struct sw_core_out to = { .bytes = record, .room = sizeof record, .size = SW_PRSTATUS_SIGNAL_AT };
    begin_note(out, "CORE", SW_NOTE_PRSTATUS);
    if (size <= sizeof record && sw_context_store(SW_CONTEXT_PRSTATUS, regs, record, size) == SW_OK) {
        sw_core_put_u(&to, (uint32_t)signal, 2);
        to.size = SW_PRSTATUS_TID_AT;
        sw_core_put_u(&to, tid, 4);
    }
    sw_core_put(out, record, size);
    end_note(out);
}

void sw_core_put_fault(struct sw_core_out *out, int32_t signal, int32_t code, uint64_t address)
{
    begin_note(out, "CORE", SW_NOTE_SIGINFO);
    sw_core_put_u(out, (uint32_t)signal, 4);
    sw_core_put_u(out, 0, 4); /* errno */
    sw_core_put_u(out, (uint32_t)code, 4);
    sw_core_put_u(out, 0, 4);
    sw_core_put_u(out, address, 8);
    sw_core_put_zeros(out, SW_SIGINFO_BYTES - SW_SIGINFO_ADDRESS_AT - 8);
    end_note(out);
}

/* For data and for code: one for both. */
void sw_core_put_pac_mask(struct sw_core_out *out, uint64_t mask)
{
    begin_note(out, "LINUX", SW_NOTE_PAC_MASK);
    sw_core_put_u(out, mask, 8);
    sw_core_put_u(out, mask, 8);
    end_note(out);
}

/* Cut to what there is room for, with its 0. */
static void copy_text(char *to, const char *text, size_t room)
{
    const size_t length = strlen(text);
    memcpy(to, text, length < room ? length : room - 1);
}

void sw_core_put_process(struct sw_core_out *out, uint64_t pid, const char *name, const char *arguments)
{
    char record[SW_PSINFO_BYTES] = { 0 };
    struct sw_core_out to = { .bytes = (uint8_t *)record, .room = sizeof record, .size = SW_PSINFO_PID_AT };
    begin_note(out, "CORE", SW_NOTE_PRPSINFO);
    sw_core_put_u(&to, pid, 4);
    copy_text(record + SW_PSINFO_NAME_AT, name, SW_PSINFO_NAME);
    copy_text(record + SW_PSINFO_ARGUMENTS_AT, arguments, SW_PSINFO_ARGUMENTS);
    sw_core_put(out, record, sizeof record);
    end_note(out);
}

void sw_core_put_auxv(struct sw_core_out *out, const void *bytes, size_t size)
{
    begin_note(out, "CORE", SW_NOTE_AUXV);
    sw_core_put(out, bytes, size);
    end_note(out);
}

void sw_core_put_files(struct sw_core_out *out, const struct sw_core_mapping *rows, size_t count)
{
    begin_note(out, "CORE", SW_NOTE_FILES);
    sw_core_put_u(out, count, 8);
    sw_core_put_u(out, SW_CORE_PAGE, 8);
    for (size_t i = 0; i < count; i++) {
        sw_core_put_u(out, rows[i].begin, 8);
        sw_core_put_u(out, rows[i].end, 8);
        sw_core_put_u(out, rows[i].offset / SW_CORE_PAGE, 8);
    }
    for (size_t i = 0; i < count; i++)
        sw_core_put(out, rows[i].path, strlen(rows[i].path) + 1);
    end_note(out);
}

/* ---- our own ---- */

void sw_core_put_range(struct sw_core_out *out, const struct sw_range *range, const char *name)
{
    begin_note(out, SW_NOTE_OWNER, SW_NOTE_RANGE);
    sw_core_put_u(out, range->begin, 8);
    sw_core_put_u(out, range->end, 8);
    sw_core_put_u(out, range->id, 8);
    sw_core_put_u(out, range->image, 4);
    sw_core_put_u(out, range->kind, 1);
    sw_core_put_u(out, range->unwind, 1);
    sw_core_put_u(out, range->flags, 2);
    sw_core_put(out, name, strlen(name) + 1);
    end_note(out);
}
