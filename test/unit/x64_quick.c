/*
 * The two readers of x64 instructions agree: wherever the tables of lib/arch/x64/decode_quick.c answer, for random
 * bytes, for every opcode with every REX and ModRM, and for the C library's code, the effects are those that Zydis'
 * answer leads to. And every row of the tables is reached, and most of real code is answered by them.
 */
#include "../support/random.h"
#include "rows.h"
#include "host.h"

#include "arch/x64/decode_opcodes.h"
#include "arch/x64/decode.h"

#include <link.h>
#include <string.h>

enum { LENGTH = 15, PC = 0x7654321000, SHARE_PERCENT = 95 };

enum { RANDOM = 2500000 / HOST_STRIDE, CALLS = 300000 / HOST_STRIDE, VEX_TRIES = 6 };

static uint64_t seed = 88172645463325252u;

static void randomize(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)(next_random(&seed) >> 20);
}

/* ---- one string of bytes ---- */

static bool same_effect(const struct sw_effect *a, const struct sw_effect *b)
{
    return a->kind == b->kind && a->dst == b->dst && a->src == b->src && a->size == b->size && a->imm == b->imm;
}

static bool same(const struct sw_insn *a, const struct sw_insn *b)
{
    if (a->length != b->length || a->flow != b->flow || a->when != b->when || a->count != b->count ||
        a->target != b->target || a->slot != b->slot)
        return false;
    for (unsigned i = 0; i < a->count; i++)
        if (!same_effect(&a->effects[i], &b->effects[i]))
            return false;
    return true;
}

static void print_insn(const char *who, const struct sw_insn *insn)
{
    print_message("  %s: length %u flow %u when %u target %llx slot %llx", who, insn->length, insn->flow, insn->when,
                  (unsigned long long)insn->target, (unsigned long long)insn->slot);
    for (unsigned i = 0; i < insn->count; i++)
        print_message(" { %u %u %u %u %lld }", insn->effects[i].kind, insn->effects[i].dst, insn->effects[i].src,
                      insn->effects[i].size, (long long)insn->effects[i].imm);
    print_message("\n");
}

static void complain(const uint8_t *bytes, size_t size, const struct sw_insn *quick, const struct sw_insn *zydis)
{
    for (size_t i = 0; i < size; i++)
        print_message("%02x ", bytes[i]);
    print_message("\n");
    print_insn("quick", quick);
    if (zydis)
        print_insn("Zydis", zydis);
    else
        print_message("  Zydis: no such instruction\n");
}

/* Whether the tables answer; what they answer is compared. */
static bool compare(const uint8_t *bytes, size_t size, uint64_t pc)
{
    struct sw_x64_decoded quick, zydis;
    struct sw_insn a, b;
    if (!sw_x64_quick(bytes, size, pc, &quick))
        return false;
    sw_x64_effects(&quick, &a);
    const bool good = sw_x64_zydis(bytes, size, pc, &zydis) == SW_OK;
    if (good)
        sw_x64_effects(&zydis, &b);
    if (good && same(&a, &b))
        return true;
    complain(bytes, size, &a, good ? &b : NULL);
    fail();
    return true;
}

static void random_bytes_are_read_alike(void **state)
{
    uint8_t bytes[LENGTH];
    unsigned answered = 0;
    (void)state;
    for (unsigned i = 0; i < RANDOM; i++) {
        randomize(bytes, sizeof bytes);
        const size_t size = i & 3 ? sizeof bytes : 1 + next_random(&seed) % sizeof bytes;
        answered += compare(bytes, size, PC + next_random(&seed) % 0x100000);
    }
    print_message("random bytes: %u of %u strings answered by tables\n", answered, RANDOM);
    assert_true(answered > RANDOM / 10);
}

/* ---- every opcode ---- */

static const struct prefixes {
    const char *name;
    uint8_t size, bytes[4];
    bool every_rex;
} prefixes[] = {
    { "opcodes", 0, { 0 }, true },
    { "opcodes_after_66", 1, { 0x66 }, true },
    { "opcodes_after_f3", 1, { 0xf3 }, false },
    { "opcodes_after_f2", 1, { 0xf2 }, false },
    { "opcodes_after_lock", 1, { 0xf0 }, false },
    { "opcodes_after_fs", 1, { 0x64 }, false },
    { "opcodes_after_cs", 1, { 0x2e }, false },
    { "opcodes_after_notrack", 1, { 0x3e }, false },
    { "opcodes_after_66_66_cs", 3, { 0x66, 0x66, 0x2e }, false },
    { "opcodes_after_66_f3", 2, { 0x66, 0xf3 }, false },
    { "opcodes_after_f3_66", 2, { 0xf3, 0x66 }, false },
    { "opcodes_after_gs_f2", 2, { 0x65, 0xf2 }, false },
    { "opcodes_after_lock_66", 2, { 0xf0, 0x66 }, false },
    { "opcodes_after_address_size", 1, { 0x67 }, false },
};

/* Which SIB bytes: none of the registers, all of them, rsp and r12 as index, rbp and r13 as base. */
static const uint8_t sibs[] = { 0x00, 0x24, 0x25, 0x65, 0xbf, 0xe5 };

/* One opcode with every ModRM byte behind it, and SIB bytes where it has one. */
static void every_modrm(uint8_t *bytes, size_t at)
{
    for (unsigned modrm = 0; modrm < 256; modrm++) {
        const bool sib = (modrm & 7) == 4 && modrm < 0xc0;
        bytes[at] = (uint8_t)modrm;
        for (unsigned i = 0; i < (sib ? COUNT_OF(sibs) : 1); i++) {
            randomize(bytes + at + 1, LENGTH + 1 - at);
            if (sib)
                bytes[at + 1] = sibs[i];
            compare(bytes, LENGTH, PC);
        }
    }
}

static void every_opcode(uint8_t *bytes, size_t at)
{
    for (unsigned opcode = 0; opcode < 256; opcode += HOST_STRIDE) {
        bytes[at] = (uint8_t)opcode;
        every_modrm(bytes, at + 1);
        bytes[at] = 0x0f;
        bytes[at + 1] = (uint8_t)opcode;
        every_modrm(bytes, at + 2);
    }
}

static void every_opcode_is_read_alike(void **state)
{
    const struct prefixes *row = *state;
    static const uint8_t some_rex[] = { 0x40, 0x41, 0x48, 0x4f };
    uint8_t bytes[LENGTH + 8];
    memcpy(bytes, row->bytes, row->size);
    every_opcode(bytes, row->size);
    for (unsigned rex = 0; rex < (row->every_rex ? 16 : COUNT_OF(some_rex)); rex++) {
        bytes[row->size] = row->every_rex ? (uint8_t)(0x40 + rex) : some_rex[rex];
        every_opcode(bytes, row->size + 1u);
    }
}

/* Every byte that ends a VEX prefix, with every opcode and some of the bytes behind it. */
static void every_vex_is_read_alike(void **state)
{
    static const uint8_t starts[][2] = { { 0, 0xc5 }, { 0xc4, 0xe1 }, { 0xc4, 0x41 }, { 0xc4, 0xa1 }, { 0xc4, 0xe2 } };
    unsigned answered = 0;
    uint8_t bytes[LENGTH + 1];
    (void)state;
    for (unsigned i = 0; i < COUNT_OF(starts) * 0x10000 * VEX_TRIES; i++) {
        const uint8_t *start = starts[i % COUNT_OF(starts)];
        uint8_t *from = start[0] ? bytes : bytes + 1;
        randomize(bytes, sizeof bytes);
        memcpy(bytes, start, 2);
        bytes[2] = (uint8_t)(i / COUNT_OF(starts));
        bytes[3] = (uint8_t)(i / COUNT_OF(starts) >> 8);
        answered += compare(from, LENGTH, PC);
    }
    assert_true(answered > COUNT_OF(starts) * 0x10000 / 10);
}

/* ---- every row ---- */

/* Whether some ModRM byte makes the tables answer; reg: the one to have, or -1. */
static bool is_answered(const uint8_t *opcode, size_t size, int reg)
{
    uint8_t bytes[LENGTH] = { 0 };
    struct sw_x64_decoded d;
    memcpy(bytes, opcode, size);
    for (unsigned modrm = 0; modrm < 256; modrm++) {
        bytes[size] = (uint8_t)modrm;
        if ((reg < 0 || (int)(modrm >> 3 & 7) == reg) && sw_x64_quick(bytes, LENGTH, PC, &d))
            return true;
    }
    return false;
}

/* A row answers exactly where there is one. */
static void check_row(const struct sw_x64_row *row, const uint8_t *opcode, size_t size)
{
    if (row->to != AT_GROUP) {
        assert_int_equal(is_answered(opcode, size, -1), row->to != AT_UNKNOWN);
        return;
    }
    for (int reg = 0; reg < 8; reg++)
        assert_int_equal(is_answered(opcode, size, reg), sw_x64_groups[row->imm][reg].to != AT_UNKNOWN);
}

static void every_row_is_reached(void **state)
{
    static const uint8_t mandatory[PLANES] = { [PLANE_66] = 0x66, [PLANE_F3] = 0xf3, [PLANE_F2] = 0xf2 };
    (void)state;
    for (unsigned i = 0; i < 256; i++) {
        const uint8_t opcode = (uint8_t)i;
        if (sw_x64_one_byte[i].to <= AT_GROUP) /* not a prefix */
            check_row(&sw_x64_one_byte[i], &opcode, 1);
        for (unsigned plane = 0; plane < PLANES; plane++) {
            const uint8_t bytes[] = { mandatory[plane], 0x0f, opcode };
            const uint8_t two[] = { 0xc5, (uint8_t)(0xf8 | plane), opcode };
            check_row(&sw_x64_two_byte[plane][i], plane ? bytes : bytes + 1, plane ? 3 : 2);
            check_row(&sw_x64_vex[plane][i], two, 3);
        }
    }
}

/* ---- real code ---- */

struct text {
    const uint8_t *begin;
    size_t size;
};

static int take_libc(struct dl_phdr_info *info, size_t size, void *arg)
{
    (void)size;
    if (!strstr(info->dlpi_name, "libc.so"))
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && (segment->p_flags & PF_X))
            *(struct text *)arg =
                (struct text){ (const uint8_t *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz };
    }
    return 1;
}

static void the_c_library_is_read_alike_and_mostly_quickly(void **state)
{
    struct text text = { NULL, 0 };
    unsigned all = 0, answered = 0;
    (void)state;
    HOST_NEEDS(host_machine() == SW_MACHINE_X64, "an x64 libc");
    (void)dl_iterate_phdr(take_libc, &text);
    if (!text.begin)
        skip();
    for (size_t at = 0; at < text.size;) {
        struct sw_insn insn = { .length = 1 };
        const size_t left = text.size - at;
        const uint64_t pc = (uint64_t)(uintptr_t)(text.begin + at);
        answered += compare(text.begin + at, left, pc);
        const bool good = sw_x64_decode(text.begin + at, left, pc, &insn) == SW_OK;
        all += good;
        at += good ? insn.length : 1;
    }
    print_message("libc: %u of %u instructions answered by tables\n", answered, all);
    assert_true(all > 10000);
    assert_true((uint64_t)answered * 100 >= (uint64_t)all * SHARE_PERCENT);
}

/* ---- calls from behind ---- */

/* What sw_x64_call_before says it does, without looking at the bytes first. */
static bool call_before(const uint8_t *bytes, size_t size, uint64_t after, struct sw_insn *insn)
{
    for (size_t length = size < 8 ? size : 8; length >= 2; length--)
        if (sw_x64_decode(bytes + size - length, length, after - length, insn) == SW_OK && insn->flow == SW_FLOW_CALL &&
            insn->length == length)
            return true;
    return false;
}

static void make_call(uint8_t *bytes, size_t size)
{
    static const uint8_t first[] = { 0xff, 0xe8, 0xff, 0x41, 0x48, 0x66, 0x67, 0xf2, 0x3e, 0x9a, 0x2e, 0xf0 };
    randomize(bytes, size);
    for (unsigned n = 0; n < 3; n++)
        bytes[next_random(&seed) % size] = first[next_random(&seed) % COUNT_OF(first)];
}

static void calls_are_found_as_without_looking_first(void **state)
{
    unsigned found = 0;
    (void)state;
    for (unsigned i = 0; i < CALLS; i++) {
        uint8_t bytes[8];
        struct sw_insn insn = { 0 };
        uint64_t target = 0, slot = 0;
        const size_t size = 1 + next_random(&seed) % sizeof bytes;
        make_call(bytes, size);
        const bool is_call = call_before(bytes, size, PC, &insn);
        assert_int_equal(sw_x64_call_before(bytes, size, PC, &target, &slot), is_call);
        if (!is_call)
            continue;
        found++;
        assert_int_equal(target, insn.target);
        assert_int_equal(slot, insn.slot);
    }
    assert_true(found > CALLS / 100);
}

int main(void)
{
    struct CMUnitTest tests[COUNT_OF(prefixes) + 5] = { { 0 } };
    FILL_ROWS(tests, prefixes, every_opcode_is_read_alike);
    const struct CMUnitTest others[] = {
        cmocka_unit_test(random_bytes_are_read_alike),
        cmocka_unit_test(every_vex_is_read_alike),
        cmocka_unit_test(every_row_is_reached),
        cmocka_unit_test(the_c_library_is_read_alike_and_mostly_quickly),
        cmocka_unit_test(calls_are_found_as_without_looking_first),
    };
    memcpy(tests + COUNT_OF(prefixes), others, sizeof others);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
