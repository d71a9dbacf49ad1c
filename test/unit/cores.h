/*
 * Cores made by hand, for both machines: a process of two threads, and a program whose function f calls g, which both
 * keep frame records. The thread that crashed is in g, and is not the main one; that one is in f.
 */
#ifndef TEST_CORES_H
#define TEST_CORES_H

#include <snapwalk/context.h>
#include <snapwalk/core.h>

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { MADE_PAGE = 4096, MADE_PID = 100, MADE_CRASHED = 101, MADE_BYTES = 64 << 10 };
enum { PROGRAM_AT = 0x10000000, LIBRARY_AT = 0x20000000, STACKS_AT = 0x7f0000 };
enum { TEXT = 0x1000, F_AT = TEXT, G_AT = TEXT + 0x40, DATA = 0x2000, DYNAMIC_AT = 0x2f00, PROGRAM_BYTES = 0x3000 };
enum { STACK_OF_MAIN = STACKS_AT, STACK_OF_CRASHED = STACKS_AT + 2 * MADE_PAGE };
enum { FAULT = 0xdead0 };
#define MADE_PAC_MASK UINT64_C(0x007fff8000000000)
#define MADE_SIGNED   UINT64_C(0x0012348000000000)

/* What a core is made of. */
struct made {
    enum sw_machine machine;
    bool no_files;      /* no NT_FILE */
    bool no_first_page; /* of the program: not in the core */
    bool listed;        /* the dynamic linker's list is in the program's data */
    uint8_t build_id;   /* of the program as the core has it */
    /* ---- */
    uint8_t bytes[MADE_BYTES];
    size_t size;
    size_t notes_at;
    size_t notes_end;
};

static inline void made_put(uint8_t *to, uint64_t value, unsigned size)
{
    for (unsigned i = 0; i < size; i++)
        to[i] = (uint8_t)(value >> (8 * i));
}

/* The program, as a file ------------------------------------------------------------------------------------------ */

static const uint8_t made_x64[2][12] = {
    { 0x55, 0x48, 0x89, 0xe5, 0xe8, 0x37, 0, 0, 0, 0x5d, 0xc3 }, /* push rbp; mov rbp, rsp; call g; pop rbp; ret */
    { 0x55, 0x48, 0x89, 0xe5, 0x90, 0x5d, 0xc3 },
};
/* stp x29, x30, [sp, #-16]!; mov x29, sp; bl g; ldp x29, x30, [sp], #16; ret */
static const uint32_t made_arm64[2][5] = {
    { 0xa9bf7bfd, 0x910003fd, 0x9400000e, 0xa8c17bfd, 0xd65f03c0 },
    { 0xa9bf7bfd, 0x910003fd, 0xd503201f, 0xa8c17bfd, 0xd65f03c0 },
};
/* In f behind the call, in g behind the frame record. */
static inline uint64_t made_in_f(enum sw_machine machine)
{
    return F_AT + (machine == SW_MACHINE_X64 ? 9 : 12);
}
static inline uint64_t made_in_g(enum sw_machine machine)
{
    return G_AT + (machine == SW_MACHINE_X64 ? 4 : 8);
}

static inline void made_text(uint8_t *text, enum sw_machine machine)
{
    for (unsigned f = 0; f < 2; f++) {
        uint8_t *to = text + f * (G_AT - F_AT);
        if (machine == SW_MACHINE_X64)
            memcpy(to, made_x64[f], sizeof made_x64[f]);
        for (unsigned i = 0; machine == SW_MACHINE_ARM64 && i < 5; i++)
            made_put(to + 4 * i, made_arm64[f][i], 4);
    }
}

/* PROGRAM_BYTES: a page of headers with the build id, a page of code, a page of data with the dynamic section. */
static inline void made_program(uint8_t *to, enum sw_machine machine, uint8_t build_id)
{
    const uint16_t id = machine == SW_MACHINE_X64 ? EM_X86_64 : EM_AARCH64;
    const Elf64_Ehdr header = { .e_ident = ELFMAG "\2\1\1",
                                .e_type = ET_DYN,
                                .e_machine = id,
                                .e_version = EV_CURRENT,
                                .e_entry = F_AT,
                                .e_phoff = sizeof(Elf64_Ehdr),
                                .e_ehsize = sizeof(Elf64_Ehdr),
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = 5 };
    const Elf64_Phdr headers[] = {
        { PT_LOAD, PF_R, 0, 0, 0, MADE_PAGE, MADE_PAGE, MADE_PAGE },
        { PT_LOAD, PF_R | PF_X, TEXT, TEXT, 0, MADE_PAGE, MADE_PAGE, MADE_PAGE },
        { PT_LOAD, PF_R | PF_W, DATA, DATA, 0, MADE_PAGE, MADE_PAGE, MADE_PAGE },
        { PT_DYNAMIC, PF_R | PF_W, DYNAMIC_AT, DYNAMIC_AT, 0, 64, 64, 8 },
        { PT_NOTE, PF_R, 0x400, 0x400, 0, 20, 20, 4 },
    };
    const uint32_t note[] = { 4, 4, 3 /* NT_GNU_BUILD_ID */ };
    memset(to, 0, PROGRAM_BYTES);
    memcpy(to, &header, sizeof header);
    memcpy(to + sizeof header, headers, sizeof headers);
    memcpy(to + 0x400, note, sizeof note);
    memcpy(to + 0x40c, "GNU", 4);
    memset(to + 0x410, build_id, 4);
    made_text(to + TEXT, machine);
    made_put(to + DYNAMIC_AT, DT_DEBUG, 8);
    made_put(to + DYNAMIC_AT + 16, DT_STRTAB, 8);
    made_put(to + DYNAMIC_AT + 24, 0x300, 8);
    made_put(to + DYNAMIC_AT + 32, DT_STRSZ, 8);
    made_put(to + DYNAMIC_AT + 40, build_id, 8);
}

/* The same, as the loader leaves its data: addresses moved, and the list of what is loaded, which runs in a circle. */
static inline void made_loaded_data(uint8_t *to, const struct made *made)
{
    uint8_t program[PROGRAM_BYTES];
    made_program(program, made->machine, made->build_id);
    memcpy(to, program + DATA, MADE_PAGE);
    made_put(to + (DYNAMIC_AT - DATA) + 24, PROGRAM_AT + 0x300, 8);
    if (!made->listed)
        return;
    const uint64_t data = PROGRAM_AT + DATA;
    made_put(to + (DYNAMIC_AT - DATA) + 8, data + 0x100, 8);
    made_put(to + 0x108, data + 0x200, 8); /* r_map */
    const uint64_t links[2][4] = { { PROGRAM_AT, data + 0x3ff, PROGRAM_AT + DYNAMIC_AT, data + 0x240 },
                                   { LIBRARY_AT, data + 0x300, LIBRARY_AT + DYNAMIC_AT, data + 0x200 } };
    for (unsigned i = 0; i < 8; i++)
        made_put(to + 0x200 + (i / 4) * 0x40 + (i % 4) * 8, links[i / 4][i % 4], 8);
    memcpy(to + 0x300, "/lib/made.so", 13);
}

/* The core ------------------------------------------------------------------------------------------------------- */

static inline void made_note(struct made *m, const char *owner, uint32_t type, const void *data, size_t size)
{
    const size_t name = strlen(owner) + 1;
    uint8_t *at = m->bytes + m->size;
    made_put(at, name, 4);
    made_put(at + 4, size, 4);
    made_put(at + 8, type, 4);
    memcpy(at + 12, owner, name);
    at += 12 + (name + 3) / 4 * 4;
    if (size)
        memcpy(at, data, size);
    m->size = (size_t)(at - m->bytes) + (size + 3) / 4 * 4;
}

/* Near the end of a stack's page: f's frame record, whose caller is 0, and below it g's where g is running. */
static inline uint64_t made_sp(bool is_crashed)
{
    return is_crashed ? STACK_OF_CRASHED + MADE_PAGE - 64 : STACK_OF_MAIN + MADE_PAGE - 32;
}

static inline void made_stack(uint8_t *page, const struct made *m, bool is_crashed)
{
    uint8_t *top = page + MADE_PAGE;
    memset(page, 0, MADE_PAGE);
    if (!is_crashed)
        return;
    made_put(top - 64, STACK_OF_CRASHED + MADE_PAGE - 48, 8);
    made_put(top - 56, (PROGRAM_AT + made_in_f(m->machine)) | (m->machine == SW_MACHINE_ARM64 ? MADE_SIGNED : 0), 8);
}

static inline void made_status(struct made *m, uint64_t tid, bool is_crashed)
{
    uint8_t record[512];
    const size_t size = sw_context_size(SW_CONTEXT_PRSTATUS, m->machine);
    const uint64_t sp = made_sp(is_crashed);
    struct sw_regs regs = { .machine = m->machine };
    sw_regs_set(&regs, sw_regs_pc_number(m->machine),
                PROGRAM_AT + (is_crashed ? made_in_g(m->machine) : made_in_f(m->machine)));
    sw_regs_set(&regs, sw_regs_sp_number(m->machine), sp);
    sw_regs_set(&regs, sw_regs_fp_number(m->machine), sp);
    if (sw_context_store(SW_CONTEXT_PRSTATUS, &regs, record, size) != SW_OK)
        abort();
    made_put(record + 12, is_crashed ? 11 : 0, 2);
    made_put(record + 32, tid, 4);
    made_note(m, "CORE", NT_PRSTATUS, record, size);
}

static inline void made_files(struct made *m)
{
    uint8_t note[256] = { 0 };
    static const char names[] = "/bin/made\0/bin/made\0/bin/made";
    const uint64_t rows[3] = { 0, TEXT, DATA };
    made_put(note, 3, 8);
    made_put(note + 8, MADE_PAGE, 8);
    for (unsigned i = 0; i < 3; i++) {
        made_put(note + 16 + 24 * i, PROGRAM_AT + rows[i], 8);
        made_put(note + 24 + 24 * i, PROGRAM_AT + rows[i] + MADE_PAGE, 8);
        made_put(note + 32 + 24 * i, rows[i] / MADE_PAGE, 8);
    }
    memcpy(note + 88, names, sizeof names);
    made_note(m, "CORE", NT_FILE, note, 88 + sizeof names);
}

static inline void made_notes(struct made *m)
{
    uint8_t info[136] = { 0 };
    const uint64_t masks[2] = { 1, MADE_PAC_MASK };
    const uint64_t auxv[] = { AT_ENTRY, PROGRAM_AT + F_AT, AT_EXECFN, STACK_OF_MAIN + 16, AT_NULL, 0 };
    m->notes_at = m->size;
    made_status(m, MADE_CRASHED, true);
    made_put(info + 24, MADE_PID, 4);
    memcpy(info + 40, "made", 5);
    memcpy(info + 56, "made -x", 8);
    made_note(m, "CORE", NT_PRPSINFO, info, sizeof info);
    memset(info, 0, sizeof info);
    made_put(info, 11, 4);
    made_put(info + 8, 1, 4);
    made_put(info + 16, FAULT, 8);
    made_note(m, "CORE", NT_SIGINFO, info, 128);
    made_note(m, "CORE", NT_AUXV, auxv, sizeof auxv);
    if (!m->no_files)
        made_files(m);
    made_note(m, "LINUX", 0x205, masks, sizeof masks); /* of a kind that nobody knows */
    if (m->machine == SW_MACHINE_ARM64)
        made_note(m, "LINUX", 0x406, masks, sizeof masks);
    made_status(m, MADE_PID, false);
    m->notes_end = m->size;
}

enum { MADE_SEGMENTS = 5, MADE_HEADERS = 1 + MADE_SEGMENTS };

/* Fills in bytes and size. */
static inline void made_core(struct made *m)
{
    uint8_t page[PROGRAM_BYTES];
    Elf64_Phdr headers[MADE_HEADERS] = {
        { PT_NOTE, 0, 0, 0, 0, 0, 0, 4 },
        { PT_LOAD, PF_R | PF_W, 0, STACK_OF_MAIN, 0, MADE_PAGE, MADE_PAGE, MADE_PAGE },
        { PT_LOAD, PF_R | PF_W, 0, STACK_OF_CRASHED, 0, MADE_PAGE, MADE_PAGE, MADE_PAGE },
        { PT_LOAD, PF_R, 0, PROGRAM_AT, 0, m->no_first_page ? 0 : MADE_PAGE, MADE_PAGE, MADE_PAGE },
        { PT_LOAD, PF_R | PF_X, 0, PROGRAM_AT + TEXT, 0, 0, MADE_PAGE, MADE_PAGE },
        { PT_LOAD, PF_R | PF_W, 0, PROGRAM_AT + DATA, 0, MADE_PAGE, MADE_PAGE, MADE_PAGE },
    };
    const Elf64_Ehdr header = { .e_ident = ELFMAG "\2\1\1",
                                .e_type = ET_CORE,
                                .e_machine = m->machine == SW_MACHINE_X64 ? EM_X86_64 : EM_AARCH64,
                                .e_version = EV_CURRENT,
                                .e_phoff = sizeof(Elf64_Ehdr),
                                .e_ehsize = sizeof(Elf64_Ehdr),
                                .e_phentsize = sizeof(Elf64_Phdr),
                                .e_phnum = MADE_HEADERS };
    memset(m->bytes, 0, sizeof m->bytes);
    m->size = sizeof header + sizeof headers;
    made_notes(m);
    headers[0].p_offset = m->notes_at;
    headers[0].p_filesz = m->notes_end - m->notes_at;
    for (unsigned i = 1; i < MADE_HEADERS; i++) {
        headers[i].p_offset = m->size;
        if (headers[i].p_filesz == 0)
            continue;
        if (i <= 2)
            made_stack(page, m, i == 2);
        if (i == 1)
            memcpy(page + 16, "/bin/made", 10);
        if (i == 3)
            made_program(page, m->machine, m->build_id);
        if (i == 5)
            made_loaded_data(page, m);
        memcpy(m->bytes + m->size, page, MADE_PAGE);
        m->size += MADE_PAGE;
    }
    memcpy(m->bytes, &header, sizeof header);
    memcpy(m->bytes + sizeof header, headers, sizeof headers);
}

#endif
