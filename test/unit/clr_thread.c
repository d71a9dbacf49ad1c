/*
 * What a runtime notes on a thread: mode, explicit frames of every kind, exceptions in flight; true and false ones.
 */
#include "clr_target.h"

#include <snapwalk/context.h>

#define THREAD    DATA
#define FRAME     (DATA + 0x1000)
#define BEHIND    (DATA + 0x3000) /* the next frame */
#define BLOCK     (DATA + 0x2000) /* what a stub pushed, or a CONTEXT */
#define ARGS      (BLOCK + 0x100) /* what the hijack stub pushed */
#define EXCEPTION (DATA + 0x4000)
#define PC        UINT64_C(0x7f0000001234)
#define SP        UINT64_C(0x7ffc00005678)
#define FP        UINT64_C(0x7ffc00009abc)
#define END       UINT64_MAX
#define RIP_RSP   (UINT64_C(1) << SW_X64_RIP | UINT64_C(1) << SW_X64_RSP)

static struct target target;
static struct sw_clr_layout layout;

/* The value that register n of a frame is given, where it is given one of its own. */
static uint64_t saved(unsigned n)
{
    return UINT64_C(0x5a5a00000000) + n * 0x101;
}

static void put_word(uint64_t at, uint64_t value)
{
    put(&target, at, value, 8);
}

static void put_frame(uint64_t at, uint64_t id, uint64_t next)
{
    put_word(at, id);
    put_word(at + layout.at[SW_CLR_FRAME_NEXT], next);
}

static void put_saved(uint64_t at, const struct sw_clr_saved *list)
{
    for (unsigned i = 0; i < list->count; i++)
        put_word(at + list->at[i].offset, saved(list->at[i].number));
}

static void put_context(uint64_t at)
{
    uint8_t bytes[SW_CONTEXT_X64_BYTES];
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, saved(n));
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &regs, bytes, sizeof bytes), SW_OK);
    put_bytes(&target, at, bytes, sizeof bytes);
}

/* ---- one frame of every kind ---- */

static void put_inlined(void)
{
    put_word(FRAME + layout.at[SW_CLR_INLINED_RETURN], PC);
    put_word(FRAME + layout.at[SW_CLR_INLINED_SP], SP);
    put_word(FRAME + layout.at[SW_CLR_INLINED_FP], FP);
}

static void put_blocked(void)
{
    put_word(FRAME + layout.at[SW_CLR_METHOD_BLOCK], BLOCK);
    put_word(FRAME + layout.at[SW_CLR_METHOD_BLOCK] + 8, 0x1111);
    put_word(BLOCK + layout.at[SW_CLR_BLOCK_RETURN], PC);
    put_saved(BLOCK, &layout.block);
}

static void put_pointed(void)
{
    put_word(FRAME + layout.at[SW_CLR_RESUMABLE_CONTEXT], BLOCK);
    put_context(BLOCK);
}

static void put_faulted(void)
{
    put_context(FRAME + layout.at[SW_CLR_FAULT_CONTEXT]);
}

static void put_thrown(void)
{
    put_context(FRAME + layout.at[SW_CLR_SOFTWARE_CONTEXT]);
}

static void put_hijacked(void)
{
    put_word(FRAME + layout.at[SW_CLR_HIJACK_RETURN], PC);
    put_word(FRAME + layout.at[SW_CLR_HIJACK_ARGS], ARGS);
    put_saved(ARGS, &layout.hijack);
}

#define NONVOLATILE (SW_X64_NONVOLATILE | RIP_RSP)
#define ALL_REGS    ((UINT64_C(1) << SW_X64_COUNT) - 1)

/*
 * known  The registers that come back; sp, pc  the values of those two, 0: as saved(); fp likewise.
 * last   8 bytes at the end of what is read; without them there is no record.
 */
/* clang-format off */
static const struct kind_row {
    const char *name;
    unsigned word;
    void (*fill)(void);
    uint64_t known;
    uint64_t pc, sp, fp;
    bool exact;
    bool has_method;
    uint64_t last;
} kind_rows[] = {
    { "inlined_call", TARGET_WORD + 0, put_inlined, RIP_RSP | UINT64_C(1) << SW_X64_RBP, PC, SP, FP, false, false, FRAME + 40 },
    { "resumable", TARGET_WORD + 1, put_pointed, ALL_REGS, 0, 0, 0, true, false, BLOCK + 0xf8 },
    { "redirected", TARGET_WORD + 2, put_pointed, ALL_REGS, 0, 0, 0, true, false, BLOCK + 0xf8 },
    { "fault", TARGET_WORD + 3, put_faulted, ALL_REGS, 0, 0, 0, true, false, FRAME + 32 + 0xf8 },
    { "throw", TARGET_WORD + 4, put_thrown, ALL_REGS, 0, 0, 0, false, false, FRAME + 48 + 0xf8 },
    { "hijack", TARGET_WORD + 5, put_hijacked, NONVOLATILE, PC, ARGS + 80, 0, false, false, ARGS + 16 + 40 },
    { "calli", TARGET_WORD + 6, put_blocked, NONVOLATILE, PC, BLOCK + 104, 0, false, true, BLOCK + 96 },
    { "prestub", TARGET_WORD + 7, put_blocked, NONVOLATILE, PC, BLOCK + 104, 0, false, true, BLOCK + 48 },
    { "call_counting", TARGET_WORD + 8, put_blocked, NONVOLATILE, PC, BLOCK + 104, 0, false, true, BLOCK + 48 + 40 },
    { "stub_dispatch", TARGET_WORD + 9, put_blocked, NONVOLATILE, PC, BLOCK + 104, 0, false, true, FRAME + 24 },
    { "external_method", TARGET_WORD + 10, put_blocked, NONVOLATILE, PC, BLOCK + 104, 0, false, true, FRAME + 16 },
    { "dynamic_helper", TARGET_WORD + 11, put_blocked, NONVOLATILE, PC, BLOCK + 104, 0, false, true, BLOCK + 96 },
};
/* clang-format on */
_Static_assert(COUNT_OF(kind_rows) == TARGET_KINDS, "a row for every kind of frame");

enum { REDIRECTED = 2, THROW = 4, HIJACK = 5, PRESTUB = 7 };

/* Memory full of a pattern: what is not meant to be read must not be right by chance. */
static void start(void)
{
    memset(&target, 0xa5, sizeof target);
    target.hole = target.hole_size = 0;
    layout = target_layout();
    put_word(THREAD + layout.at[SW_CLR_THREAD_FRAME], FRAME);
    put_frame(BEHIND, 0xdead, END);
}

static void arrange(const struct kind_row *row)
{
    start();
    put_frame(FRAME, row->word, BEHIND);
    row->fill();
}

static uint32_t native; /* frames in front of the record's */

static bool next(uint64_t *cursor, struct sw_transition *record)
{
    const struct sw_memory memory = target_memory(&target);
    return sw_clr_thread_record(&layout, &memory, &memory, THREAD, cursor, record, &native);
}

static uint64_t expected(const struct kind_row *row, unsigned n)
{
    if (n == SW_X64_RIP && row->pc)
        return row->pc;
    if (n == SW_X64_RSP && row->sp)
        return row->sp;
    return n == SW_X64_RBP && row->fp ? row->fp : saved(n);
}

static void kind_restores_exactly_its_registers(void **state)
{
    const struct kind_row *row = *state;
    struct sw_transition record;
    uint64_t cursor = 0;
    arrange(row);
    assert_true(next(&cursor, &record));
    assert_true(cursor == FRAME && record.address == FRAME);
    assert_int_equal(record.exact, row->exact);
    assert_int_equal(record.has_method, row->has_method);
    assert_int_equal(record.resumable, row->word == TARGET_WORD + 1 || row->word == TARGET_WORD + REDIRECTED ||
                                           row->word == TARGET_WORD + HIJACK);
    assert_int_equal(record.regs.machine, SW_MACHINE_X64);
    assert_true(record.regs.known == row->known);
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        if (sw_regs_has(&record.regs, n))
            assert_true(record.regs.r[n] == expected(row, n));
    assert_true(next(&cursor, &record));
    assert_true(record.address == BEHIND && record.regs.known == 0);
}

static void kind_that_cannot_be_read_to_its_end_is_no_record(void **state)
{
    const struct kind_row *row = *state;
    struct sw_transition record;
    uint64_t cursor = 0;
    arrange(row);
    target.hole = row->last + 7;
    target.hole_size = 1;
    assert_false(next(&cursor, &record));
}

/* A collection has moved what a thrower's registers point to: it has changed them where they were saved. */
static const struct place_row {
    const char *name;
    uint64_t place, value; /* of r12 */
} place_rows[] = {
    { "a_register_is_read_where_it_was_saved", BLOCK + 8, UINT64_C(0x123456789abc) },
    { "a_register_saved_nowhere_is_the_contexts", 0, 0 },
    { "a_place_nearer_the_leaf_is_none", FRAME - 8, 0 },
    { "a_place_that_cannot_be_read_is_none", UINT64_C(0x7fffdead0000), 0 },
    { "a_place_at_the_end_of_all_addresses_is_none", UINT64_MAX - 3, 0 },
};

static void thrown_registers_are_followed(void **state)
{
    const struct place_row *row = *state;
    struct sw_transition record;
    uint64_t cursor = 0;
    arrange(&kind_rows[THROW]);
    layout.at[SW_CLR_SOFTWARE_PLACES] = 48 + SW_CONTEXT_X64_BYTES;
    for (unsigned n = SW_X64_RBX; n < SW_X64_COUNT; n++)
        put_word(FRAME + layout.at[SW_CLR_SOFTWARE_PLACES] + 8 * (n - SW_X64_RBX), n == SW_X64_R12 ? row->place : 0);
    put_word(BLOCK + 8, 0x123456789abc);
    put_word(FRAME - 8, 0x123456789abc);
    assert_true(next(&cursor, &record));
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        assert_true(record.regs.r[n] == (n == SW_X64_R12 && row->value ? row->value : saved(n)));
}

/* ContextFlags of a noted CONTEXT, without the part that says that there is more state than in all of them. */
static void noted_context_flags_are_those_that_walks_hand_on(void **state)
{
    static const struct {
        enum sw_machine machine;
        unsigned at;
        uint32_t noted, handed;
    } machines[] = {
        { SW_MACHINE_X64, 0x30, 0x10004b, 0x10000b },
        { SW_MACHINE_ARM64, 0, 0x400027, 0x400007 },
    };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        struct sw_transition record;
        struct sw_clr_layout known;
        uint64_t cursor = 0;
        uint8_t flags[4];
        arrange(&kind_rows[REDIRECTED]);
        layout.machine = machines[i].machine;
        assert_true(sw_clr_layout_known(&(struct sw_clr_runtime){ 10, machines[i].machine, SW_CLR_UNIX, 0 }, &known));
        layout.context_hidden = known.context_hidden;
        for (unsigned n = 0; n < sizeof flags; n++)
            flags[n] = (uint8_t)(machines[i].noted >> 8 * n);
        put_bytes(&target, BLOCK + machines[i].at, flags, sizeof flags);
        assert_true(next(&cursor, &record));
        assert_int_equal(record.context_flags, machines[i].handed);
    }
}

/* ---- the chain ---- */

static void an_inactive_inlined_frame_leads_nowhere_and_the_chain_goes_on(void **state)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    (void)state;
    arrange(&kind_rows[0]);
    put_word(FRAME + layout.at[SW_CLR_INLINED_RETURN], 0);
    assert_true(next(&cursor, &record));
    assert_true(record.address == FRAME && record.regs.known == 0);
    assert_true(next(&cursor, &record));
    assert_true(record.address == BEHIND);
    assert_false(next(&cursor, &record));
}

static void an_unknown_kind_leads_nowhere_and_the_chain_goes_on(void **state)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    (void)state;
    arrange(&kind_rows[0]);
    put_frame(FRAME, 0x7777, BEHIND);
    put_frame(BEHIND, TARGET_INLINED, END);
    assert_true(next(&cursor, &record));
    assert_true(record.address == FRAME && record.regs.known == 0 && !record.has_method && !record.exact);
    assert_true(next(&cursor, &record));
    assert_true(record.address == BEHIND && record.regs.known != 0);
}

static void a_frame_without_a_method_says_so(void **state)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    (void)state;
    arrange(&kind_rows[PRESTUB]);
    put_word(FRAME + layout.at[SW_CLR_METHOD_BLOCK] + 8, 0);
    assert_true(next(&cursor, &record));
    assert_false(record.has_method);
    assert_true(record.regs.known == NONVOLATILE);
}

/* next: what stands in the first frame. The record of that frame is there, none behind it. */
static const struct next_row {
    const char *name;
    uint64_t next;
} next_rows[] = {
    { "chain_ends_with_all_ones", END },
    { "chain_ends_with_0", 0 },
    { "frame_that_is_its_own_next", FRAME },
    { "next_further_down", FRAME - 16 },
    { "misaligned_next", BEHIND + 4 },
    { "unreadable_next", DATA + AREA_BYTES },
    { "next_that_is_readable_in_part", DATA + AREA_BYTES - 4 },
    { "next_at_the_end_of_the_address_space", UINT64_C(0xfffffffffffffff0) },
    { "next_so_high_that_offsets_would_wrap", UINT64_MAX - UINT16_MAX },
};

static void chain_ends(void **state)
{
    const struct next_row *row = *state;
    struct sw_transition record;
    uint64_t cursor = 0;
    arrange(&kind_rows[0]);
    put_frame(FRAME, TARGET_INLINED, row->next);
    assert_true(next(&cursor, &record));
    assert_false(next(&cursor, &record));
    assert_false(next(&cursor, &record)); /* and so it stays */
}

static void a_first_frame_that_makes_no_sense_is_none(void **state)
{
    static const uint64_t firsts[] = { 0, END, FRAME + 1, DATA - 8, UINT64_C(0xfffffffffffffff8) };
    struct sw_transition record;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(firsts); i++) {
        uint64_t cursor = 0;
        arrange(&kind_rows[0]);
        put_word(THREAD + layout.at[SW_CLR_THREAD_FRAME], firsts[i]);
        assert_false(next(&cursor, &record));
    }
}

static void an_unreadable_thread_has_no_frames(void **state)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    (void)state;
    arrange(&kind_rows[0]);
    target.hole = THREAD;
    target.hole_size = 0x100;
    assert_false(next(&cursor, &record));
}

static void unreadable_in_the_middle_ends_the_chain_there(void **state)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    (void)state;
    arrange(&kind_rows[0]);
    put_frame(BEHIND, TARGET_INLINED, BEHIND + 0x100);
    put_frame(BEHIND + 0x100, TARGET_INLINED, END);
    target.hole = BEHIND + layout.at[SW_CLR_INLINED_RETURN];
    target.hole_size = 8;
    assert_true(next(&cursor, &record));
    assert_false(next(&cursor, &record));
}

/* Every frame may lie right behind the one before, so a chain is never longer than its stack. */
static void the_longest_chain_ends(void **state)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    size_t count = 0;
    (void)state;
    start();
    for (uint64_t at = FRAME; at + 16 <= DATA + AREA_BYTES; at += 8)
        put_word(at, at); /* an unknown id, and the next of the frame in front */
    while (next(&cursor, &record))
        count++;
    assert_int_equal(count, (AREA_BYTES - 8 - (FRAME - DATA)) / 8);
}

/* Pointers inside a frame that lead out of the address space: no record, or one without a false register. */
static void wild_pointers_in_a_frame_are_no_record(void **state)
{
    static const unsigned kinds[] = { REDIRECTED, PRESTUB, HIJACK };
    static const enum sw_clr_field fields[] = { SW_CLR_RESUMABLE_CONTEXT, SW_CLR_METHOD_BLOCK, SW_CLR_HIJACK_ARGS };
    static const uint64_t wild[] = { 0, 1, UINT64_MAX, UINT64_MAX - 96, UINT64_C(1) << 63 };
    struct sw_transition record;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++)
        for (size_t k = 0; k < COUNT_OF(wild); k++) {
            uint64_t cursor = 0;
            arrange(&kind_rows[kinds[i]]);
            put_word(FRAME + layout.at[fields[i]], wild[k]);
            assert_false(next(&cursor, &record));
        }
}

static void mode_is_what_the_thread_says(void **state)
{
    const struct sw_memory memory = target_memory(&target);
    enum sw_mode mode = SW_MODE_UNKNOWN;
    (void)state;
    start();
    put(&target, THREAD + layout.at[SW_CLR_THREAD_MODE], 1, 4);
    assert_true(sw_clr_thread_mode(&layout, &memory, THREAD, &mode));
    assert_int_equal(mode, SW_MODE_COOPERATIVE);
    put(&target, THREAD + layout.at[SW_CLR_THREAD_MODE], 0, 4); /* the bytes behind are not 0 */
    assert_true(sw_clr_thread_mode(&layout, &memory, THREAD, &mode));
    assert_int_equal(mode, SW_MODE_PREEMPTIVE);
    mode = SW_MODE_UNKNOWN;
    assert_false(sw_clr_thread_mode(&layout, &memory, DATA - 5, &mode));
    assert_false(sw_clr_thread_mode(&layout, &memory, UINT64_MAX, &mode));
    assert_int_equal(mode, SW_MODE_UNKNOWN);
}

/* ---- whether a layout fits ---- */

static bool fits(uint32_t mode, uint64_t frame, uint64_t word)
{
    const struct sw_memory memory = target_memory(&target);
    start();
    layout.closed = true;
    put(&target, THREAD + layout.at[SW_CLR_THREAD_MODE], mode, 4);
    put_word(THREAD + layout.at[SW_CLR_THREAD_FRAME], frame);
    put_word(FRAME, word);
    return sw_clr_thread_fits(&layout, &memory, THREAD, FRAME, FRAME + 8);
}

static void a_layout_fits_a_thread_of_its_runtime_only(void **state)
{
    (void)state;
    assert_true(fits(0, FRAME, TARGET_WORD));
    assert_true(fits(1, END, TARGET_WORD));
    assert_false(fits(2, FRAME, TARGET_WORD));
    assert_false(fits(0, FRAME, 0xdead));
    assert_false(fits(0, 0, TARGET_WORD));
    assert_false(fits(0, FRAME - 8, TARGET_WORD));
    assert_false(fits(0, FRAME + 8, TARGET_WORD));
    assert_false(fits(0, FRAME + 4, TARGET_WORD));
}

/* ---- frames of .NET 8 and 9 ---- */

enum { HELPER_WORD = 0x7777, ENTRY = 40, FLAGS = 24, STATE = 48 };
static const unsigned helper_order[] = { SW_X64_R12, SW_X64_R13, SW_X64_R14, SW_X64_R15, SW_X64_RBX, SW_X64_RBP };

/* A frame as .NET 8 lays it out; done: what stands where the runtime puts the return address's place. */
static void put_helper(uint64_t entry, uint32_t flags, uint64_t done)
{
    const struct sw_clr_runtime net_8 = { 8, SW_MACHINE_X64, SW_CLR_UNIX, 0 };
    memset(&target, 0xa5, sizeof target);
    target.hole = target.hole_size = 0;
    assert_true(sw_clr_layout_known(&net_8, &layout));
    layout.frames[0] = (struct sw_clr_frame_word){ HELPER_WORD, SW_CLR_FRAME_HELPER };
    layout.frame_count = 1;
    put_word(THREAD + layout.at[SW_CLR_THREAD_FRAME], FRAME);
    put_frame(FRAME, HELPER_WORD, END);
    put_word(FRAME + ENTRY, entry);
    put(&target, FRAME + FLAGS, flags, 4);
    put_word(FRAME + STATE, PC);
    put_word(FRAME + STATE + 8, SP);
    for (unsigned i = 0; i < COUNT_OF(helper_order); i++) {
        put_word(FRAME + STATE + 16 + 8 * i, saved(helper_order[i]));
        put_word(FRAME + STATE + 64 + 8 * i, 0);
        put_word(FRAME + STATE + 120 + 8 * i, saved(helper_order[i]) + 1);
    }
    put_word(FRAME + STATE + 112, done);
    put_word(FRAME + STATE + 168, PC + 0x1000);
    put_word(FRAME + STATE + 176, SP - 0x100);
}

static void a_helper_whose_caller_is_known_leads_to_it(void **state)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    (void)state;
    put_helper(1, 0x10, FRAME + STATE);
    put_word(FRAME + STATE + 64 + 8, BEHIND); /* r13 was saved there, and has been changed */
    put_word(BEHIND, 0x1234);
    put_word(FRAME + STATE + 64 + 16, 8); /* r14's place cannot be read */
    assert_true(next(&cursor, &record));
    assert_int_equal(native, 0);
    assert_true(record.has_method && !record.exact);
    assert_true(sw_regs_pc(&record.regs) == PC && sw_regs_sp(&record.regs) == SP);
    for (unsigned i = 0; i < COUNT_OF(helper_order); i++)
        assert_true(record.regs.r[helper_order[i]] == (i == 1 ? 0x1234 : saved(helper_order[i]) + 1));
    assert_false(next(&cursor, &record));
}

static void a_helper_whose_caller_is_not_known_yet_is_to_be_unwound(void **state)
{
    static const struct {
        uint64_t entry;
        uint32_t flags, native;
    } rows[] = { { 0, 0, SW_CLR_ALL_NATIVE }, { 0, 0x20, 1 }, { 0, 0x30, 2 }, { 1, 0, 1 }, { 1, 0x10, 2 } };
    (void)state;
    for (size_t n = 0; n < COUNT_OF(rows); n++) {
        struct sw_transition record;
        uint64_t cursor = 0;
        put_helper(rows[n].entry, rows[n].flags, 0);
        assert_true(next(&cursor, &record));
        assert_int_equal(native, rows[n].native);
        assert_int_equal(record.has_method, rows[n].entry != 0);
        assert_true(sw_regs_pc(&record.regs) == PC + 0x1000 && sw_regs_sp(&record.regs) == SP - 0x100 + 8);
        for (unsigned i = 0; i < COUNT_OF(helper_order); i++)
            assert_true(record.regs.r[helper_order[i]] == saved(helper_order[i]));
    }
}

static void a_frame_of_no_known_class_ends_the_chain_of_8_and_9(void **state)
{
    struct sw_transition record;
    uint64_t cursor = 0;
    (void)state;
    put_helper(0, 0, FRAME);
    put_word(FRAME, HELPER_WORD + 8);
    assert_false(next(&cursor, &record));
}

static void a_helper_that_cannot_be_read_leads_nowhere(void **state)
{
    const uint64_t read[] = { FRAME + FLAGS, FRAME + ENTRY, FRAME + STATE, FRAME + STATE + 176 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(read); i++) {
        struct sw_transition record;
        uint64_t cursor = 0;
        put_helper(0, 0, 0);
        target.hole = read[i] + 2;
        target.hole_size = 1;
        assert_false(next(&cursor, &record));
    }
}

/* ---- the same on Windows ---- */

enum { WINDOWS_PLACES = 80, WINDOWS_DONE = 144, WINDOWS_PC = 152 };
static const unsigned windows_order[] = { SW_X64_RDI, SW_X64_RSI, SW_X64_RBX, SW_X64_RBP,
                                          SW_X64_R12, SW_X64_R13, SW_X64_R14, SW_X64_R15 };

/* Two registers more, and no values beside their places. */
static void put_windows_helper(uint32_t major, uint64_t done)
{
    const struct sw_clr_runtime net = { major, SW_MACHINE_X64, SW_CLR_WINDOWS, 0 };
    put_helper(1, 0, done);
    assert_true(sw_clr_layout_known(&net, &layout));
    layout.at[SW_CLR_THREAD_FRAME] = 16; /* the descriptor of 9 has to say it */
    layout.frames[0] = (struct sw_clr_frame_word){ HELPER_WORD, SW_CLR_FRAME_HELPER };
    layout.frame_count = 1;
    put_word(THREAD + layout.at[SW_CLR_THREAD_FRAME], FRAME);
    for (unsigned i = 0; i < COUNT_OF(windows_order); i++) {
        put_word(FRAME + STATE + 16 + 8 * i, saved(windows_order[i]));
        put_word(FRAME + STATE + WINDOWS_PLACES + 8 * i, FRAME + STATE + 16 + 8 * i);
    }
    put_word(FRAME + STATE + WINDOWS_DONE, done);
    put_word(FRAME + STATE + WINDOWS_PC, PC + 0x1000);
    put_word(FRAME + STATE + WINDOWS_PC + 8, SP - 0x100);
}

static void a_helper_of_windows_has_its_own_registers(void **state)
{
    (void)state;
    for (uint32_t major = 8; major <= 9; major++) {
        struct sw_transition record;
        uint64_t cursor = 0;
        put_windows_helper(major, FRAME + STATE);
        put_word(FRAME + STATE + WINDOWS_PLACES + 8, BEHIND); /* rsi was saved there, and has been changed */
        put_word(BEHIND, 0x1234);
        assert_true(next(&cursor, &record));
        assert_int_equal(native, 0);
        assert_true(sw_regs_pc(&record.regs) == PC && sw_regs_sp(&record.regs) == SP);
        for (unsigned i = 0; i < COUNT_OF(windows_order); i++)
            assert_true(record.regs.r[windows_order[i]] == (i == 1 ? 0x1234 : saved(windows_order[i])));
        put_windows_helper(major, 0);
        cursor = 0;
        assert_true(next(&cursor, &record));
        assert_int_equal(native, 1);
        assert_true(sw_regs_pc(&record.regs) == PC + 0x1000 && sw_regs_sp(&record.regs) == SP - 0x100 + 8);
        for (unsigned i = 0; i < COUNT_OF(windows_order); i++)
            assert_true(record.regs.r[windows_order[i]] == saved(windows_order[i]));
    }
}

/* Trackers of .NET 8 lie on the heap, in any order. */
static void put_tracker(uint64_t at, uint64_t previous, uint64_t thread)
{
    put_word(at + layout.at[SW_CLR_EXCEPTION_PREVIOUS], previous);
    put_word(at + layout.at[SW_CLR_EXCEPTION_THREAD], thread);
    put_word(at + layout.at[SW_CLR_EXCEPTION_LOW], SP);
    put_word(at + layout.at[SW_CLR_EXCEPTION_HIGH], SP + 0x100);
    put(&target, at + layout.at[SW_CLR_EXCEPTION_FLAGS], 4, 4);
    put(&target, at + layout.at[SW_CLR_EXCEPTION_CLAUSE], 3, 4);
    put(&target, at + layout.at[SW_CLR_EXCEPTION_ENTERED], 1, 4);
}

static unsigned count_trackers(void)
{
    const struct sw_memory memory = target_memory(&target);
    struct sw_clr_exception exception;
    uint64_t cursor = 0;
    unsigned count = 0;
    while (sw_clr_thread_exception(&layout, &memory, &memory, THREAD, &cursor, &exception)) {
        assert_true(exception.second_pass && exception.entered && exception.low == SP && exception.high == SP + 0x100);
        count++;
    }
    return count;
}

static void exceptions_off_the_stack_need_not_rise(void **state)
{
    const uint64_t outer = DATA + 0x5000, inner = DATA + 0x6000;
    (void)state;
    put_helper(0, 0, 0);
    put_word(THREAD + layout.at[SW_CLR_THREAD_EXCEPTION], inner);
    put_tracker(inner, outer, THREAD);
    put_tracker(outer, 0, THREAD);
    assert_int_equal(count_trackers(), 2);
    put_tracker(outer, 0, THREAD + 8); /* another thread's */
    assert_int_equal(count_trackers(), 1);
    put_tracker(outer, inner, THREAD);
    assert_int_equal(count_trackers(), 64); /* in a circle: so many, and no more */
}

/* ---- exceptions in flight ---- */

/* The runtime's record of an exception as .NET 10 lays it out. */
struct flight {
    uint64_t previous;
    uint64_t low, high;
    uint32_t flags;
    uint8_t entered, kind, pass, clause;
};

static void put_flight(uint64_t at, struct flight flight)
{
    put_word(at + layout.at[SW_CLR_EXCEPTION_PREVIOUS], flight.previous);
    put(&target, at + 56, flight.clause, 4);
    put(&target, at + 60, flight.entered, 4);
    put(&target, at + 64, flight.flags, 4);
    put_word(at + 128, flight.low);
    put_word(at + 136, flight.high);
    put(&target, at + 184, flight.kind, 1);
    put(&target, at + 185, flight.pass, 1);
}

static bool next_flight(uint64_t *cursor, struct sw_clr_exception *exception)
{
    const struct sw_memory memory = target_memory(&target);
    return sw_clr_thread_exception(&layout, &memory, &memory, THREAD, cursor, exception);
}

#define STARTED 4u
#define OTHERS  0xfffffff3u /* flags that mean other things */

static const struct flight_row {
    const char *name;
    struct flight flight;
    bool found;
    struct sw_clr_exception is;
} flight_rows[] = {
    { "first_pass", { 0, 0x9000, 0xa000, OTHERS, 0, 1, 1, 0 }, true, { false, false, 0x9000, 0xa000 } },
    { "second_pass", { 0, 0x9000, 0xa000, STARTED, 0, 1, 2, 0 }, true, { true, false, 0x9000, 0xa000 } },
    { "handler_entered", { 0, 0x9000, 0xa000, STARTED, 1, 1, 2, 0 }, true, { true, true, 0x9000, 0xa000 } },
    { "fault", { 0, 0x9000, 0xa000, 0, 0, 2, 1, 0 }, true, { false, false, 0x9000, 0xa000 } },
    { "rethrown", { 0, 0x9000, 0xa000, STARTED, 0, 4 | 1, 2, 0 }, true, { true, false, 0x9000, 0xa000 } },
    { "nothing_unwound_yet", { 0, UINT64_MAX, 0, 0, 0, 1, 1, 0 }, true, { false, false, 0, 0 } },
    { "empty_region", { 0, 0x9000, 0x9000, 0, 0, 1, 1, 0 }, true, { false, false, 0x9000, 0x9000 } },
    { "kind_0", { 0, 0x9000, 0xa000, 0, 0, 0, 1, 0 }, false, { false, false, 0, 0 } },
    { "kind_3", { 0, 0x9000, 0xa000, 0, 0, 3, 1, 0 }, false, { false, false, 0, 0 } },
    { "pass_0", { 0, 0x9000, 0xa000, 0, 0, 1, 0, 0 }, false, { false, false, 0, 0 } },
    { "pass_3", { 0, 0x9000, 0xa000, 0, 0, 1, 3, 0 }, false, { false, false, 0, 0 } },
    { "neither_entered_nor_not", { 0, 0x9000, 0xa000, STARTED, 2, 1, 2, 0 }, false, { false, false, 0, 0 } },
    { "in_a_finally", { 0, 0x9000, 0xa000, STARTED, 1, 1, 2, 3 }, true, { true, true, 0x9000, 0xa000 } },
    { "in_no_known_clause", { 0, 0x9000, 0xa000, STARTED, 1, 1, 2, 4 }, false, { false, false, 0, 0 } },
};

static void flight_is_read(void **state)
{
    const struct flight_row *row = *state;
    struct sw_clr_exception exception;
    uint64_t cursor = 0;
    start();
    put_word(THREAD + layout.at[SW_CLR_THREAD_EXCEPTION], EXCEPTION);
    put_flight(EXCEPTION, row->flight);
    assert_int_equal(next_flight(&cursor, &exception), row->found);
    if (!row->found)
        return;
    assert_int_equal(exception.second_pass, row->is.second_pass);
    assert_int_equal(exception.entered, row->is.entered);
    assert_true(exception.low == row->is.low && exception.high == row->is.high);
    assert_false(next_flight(&cursor, &exception));
}

static void a_nested_exception_comes_before_the_one_it_is_nested_in(void **state)
{
    struct sw_clr_exception exception;
    uint64_t cursor = 0;
    (void)state;
    start();
    put_word(THREAD + layout.at[SW_CLR_THREAD_EXCEPTION], EXCEPTION);
    put_flight(EXCEPTION, (struct flight){ EXCEPTION + 0x400, 0x100, 0x200, 0, 0, 1, 1, 0 });
    put_flight(EXCEPTION + 0x400, (struct flight){ 0, 0x300, 0x400, STARTED, 1, 1, 2, 0 });
    assert_true(next_flight(&cursor, &exception));
    assert_true(exception.low == 0x100 && !exception.second_pass);
    assert_true(next_flight(&cursor, &exception));
    assert_true(exception.low == 0x300 && exception.second_pass && exception.entered);
    assert_false(next_flight(&cursor, &exception));
}

static void a_list_of_exceptions_that_does_not_rise_ends(void **state)
{
    static const uint64_t nexts[] = { EXCEPTION,          EXCEPTION - 0x400, EXCEPTION + 0x404, DATA + AREA_BYTES - 184,
                                      UINT64_MAX - 0xfff, UINT64_MAX & ~7u,  UINT64_C(1) << 63 };
    struct sw_clr_exception exception;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(nexts); i++) {
        uint64_t cursor = 0;
        start();
        put_word(THREAD + layout.at[SW_CLR_THREAD_EXCEPTION], EXCEPTION);
        put_flight(EXCEPTION, (struct flight){ nexts[i], 0x100, 0x200, 0, 0, 1, 1, 0 });
        put_flight(EXCEPTION + 0x404, (struct flight){ 0, 0x100, 0x200, 0, 0, 1, 1, 0 });
        put_flight(EXCEPTION - 0x400, (struct flight){ EXCEPTION, 0x100, 0x200, 0, 0, 1, 1, 0 });
        assert_true(next_flight(&cursor, &exception));
        assert_false(next_flight(&cursor, &exception));
    }
}

static void a_thread_without_an_exception_has_none(void **state)
{
    struct sw_clr_exception exception;
    uint64_t cursor = 0;
    (void)state;
    start();
    put_word(THREAD + layout.at[SW_CLR_THREAD_EXCEPTION], 0);
    assert_false(next_flight(&cursor, &exception));
    target.hole = THREAD;
    target.hole_size = 0x100;
    assert_false(next_flight(&cursor, &exception));
}

/* ---- replaced return addresses ---- */

#define HIJACKED   0x80u
#define STACK_LOW  UINT64_C(0x7ffc00000000)
#define STACK_HIGH UINT64_C(0x7ffc00100000)
#define SLOT       (STACK_LOW + 0x5550)

static bool is_pc(void *arg, uint64_t address)
{
    ++*(unsigned *)arg;
    return address == PC;
}

static void regions_that_forbid_suspension_are_counted(void **state)
{
    static const struct {
        uint64_t count;
        bool known, forbids;
    } rows[] = { { 0, true, false }, { 1, true, true }, { 255, true, true }, { 256, false, false } };
    const struct sw_memory memory = target_memory(&target);
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bool forbids = false;
        start();
        layout.at[SW_CLR_THREAD_FORBID] = 56;
        put(&target, THREAD + 56, rows[i].count, 4);
        assert_int_equal(sw_clr_thread_forbids(&layout, &memory, THREAD, &forbids), rows[i].known);
        assert_int_equal(forbids, rows[i].forbids);
        target.hole = THREAD + 59;
        target.hole_size = 8;
        assert_false(sw_clr_thread_forbids(&layout, &memory, THREAD, &forbids));
        layout.at[SW_CLR_THREAD_FORBID] = SW_CLR_NONE;
        target.hole = 0;
        assert_false(sw_clr_thread_forbids(&layout, &memory, THREAD, &forbids));
    }
}

/* original, slot: the two words, `into` the thread's object; hole: from there on nothing is readable. */
static const struct hijack_row {
    const char *name;
    uint64_t state, original, slot;
    uint64_t into;
    uint64_t hole;
    bool found;
} hijack_rows[] = {
    { "replaced", 0xffffffff, PC, SLOT, 0x200, 0, true },
    { "the_thread_says_that_none_is", 0xffffff7f, PC, SLOT, 0x200, 0, false },
    { "noted_first_of_all", HIJACKED, PC, SLOT, 16, 0, true },
    { "noted_too_far_away", HIJACKED, PC, SLOT, 0x2000, 0, false },
    { "original_that_is_no_code", HIJACKED, PC + 1, SLOT, 0x200, 0, false },
    { "slot_at_the_low_end", HIJACKED, PC, STACK_LOW, 0x200, 0, true },
    { "slot_below", HIJACKED, PC, STACK_LOW - 8, 0x200, 0, false },
    { "slot_at_the_high_end", HIJACKED, PC, STACK_HIGH - 8, 0x200, 0, true },
    { "slot_above", HIJACKED, PC, STACK_HIGH, 0x200, 0, false },
    { "misaligned_slot", HIJACKED, PC, SLOT + 4, 0x200, 0, false },
    { "object_that_ends_behind", HIJACKED, PC, SLOT, 0x200, THREAD + 0x210, true },
    { "object_that_ends_between", HIJACKED, PC, SLOT, 0x200, THREAD + 0x20f, false },
    { "object_without_state", HIJACKED, PC, SLOT, 0x200, THREAD + 15, false },
};

static void replaced_return_address_is_found(void **state)
{
    const struct hijack_row *row = *state;
    const struct sw_memory memory = target_memory(&target);
    uint64_t at = 0;
    uint64_t by = 0;
    unsigned asked = 0;
    start();
    put_word(THREAD + row->into, row->original);
    put_word(THREAD + row->into + 8, row->slot);
    put(&target, THREAD + layout.at[SW_CLR_THREAD_STATE], row->state, 4);
    target.hole = row->hole;
    target.hole_size = row->hole ? 0x1000 : 0;
    assert_int_equal(sw_clr_thread_hijack(&layout, &memory, THREAD, STACK_LOW, STACK_HIGH, is_pc, &asked, &at, &by),
                     row->found);
    if (row->found)
        assert_true(at == row->slot && by == row->original);
    assert_true(asked <= 1); /* only of what else fits */
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test(a_layout_fits_a_thread_of_its_runtime_only),
        cmocka_unit_test(a_helper_whose_caller_is_known_leads_to_it),
        cmocka_unit_test(a_helper_of_windows_has_its_own_registers),
        cmocka_unit_test(a_helper_whose_caller_is_not_known_yet_is_to_be_unwound),
        cmocka_unit_test(a_frame_of_no_known_class_ends_the_chain_of_8_and_9),
        cmocka_unit_test(a_helper_that_cannot_be_read_leads_nowhere),
        cmocka_unit_test(exceptions_off_the_stack_need_not_rise),
        cmocka_unit_test(noted_context_flags_are_those_that_walks_hand_on),
        cmocka_unit_test(an_inactive_inlined_frame_leads_nowhere_and_the_chain_goes_on),
        cmocka_unit_test(an_unknown_kind_leads_nowhere_and_the_chain_goes_on),
        cmocka_unit_test(a_frame_without_a_method_says_so),
        cmocka_unit_test(a_first_frame_that_makes_no_sense_is_none),
        cmocka_unit_test(an_unreadable_thread_has_no_frames),
        cmocka_unit_test(unreadable_in_the_middle_ends_the_chain_there),
        cmocka_unit_test(the_longest_chain_ends),
        cmocka_unit_test(wild_pointers_in_a_frame_are_no_record),
        cmocka_unit_test(mode_is_what_the_thread_says),
        cmocka_unit_test(regions_that_forbid_suspension_are_counted),
        cmocka_unit_test(a_nested_exception_comes_before_the_one_it_is_nested_in),
        cmocka_unit_test(a_list_of_exceptions_that_does_not_rise_ends),
        cmocka_unit_test(a_thread_without_an_exception_has_none),
    };
    enum {
        KINDS = COUNT_OF(single),
        CUT = KINDS + COUNT_OF(kind_rows),
        NEXT = CUT + COUNT_OF(kind_rows),
        FLIGHT = NEXT + COUNT_OF(next_rows),
        REPLACED = FLIGHT + COUNT_OF(flight_rows),
        PLACES = REPLACED + COUNT_OF(hijack_rows),
    };
    struct CMUnitTest tests[PLACES + COUNT_OF(place_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + KINDS, kind_rows, kind_restores_exactly_its_registers);
    FILL_ROWS(tests + CUT, kind_rows, kind_that_cannot_be_read_to_its_end_is_no_record);
    FILL_ROWS(tests + NEXT, next_rows, chain_ends);
    FILL_ROWS(tests + FLIGHT, flight_rows, flight_is_read);
    FILL_ROWS(tests + REPLACED, hijack_rows, replaced_return_address_is_found);
    FILL_ROWS(tests + PLACES, place_rows, thrown_registers_are_followed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
