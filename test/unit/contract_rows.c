/*
 * Rows of the contract that need more than a situation: seeds and records to the instruction, seeds whose stack is not
 * theirs, what a CONTEXT has beside its registers, and where long stacks end. clr-contract.md sections 1, 2.5, 3.4 and
 * 4.3; clr-observed.md section 1; clr-windows-observed.md W34, W35, W65, W66.
 */
#include "simstack.h"

#define DOC      SW_FLAVOUR_DOCUMENTED
#define WIN      SW_FLAVOUR_CORECLR_WINDOWS
#define UNIX     SW_FLAVOUR_CORECLR_UNIX
#define COOP     SW_MODE_COOPERATIVE
#define PREEMPT  SW_MODE_PREEMPTIVE
#define BAD_SEED ((uint32_t)CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX)

static struct simstack stack;

static const enum sw_flavour flavours[] = { DOC, WIN, UNIX };

/* TARGET in cooperative mode, walked by itself from a seed that a test changes. */
static void build_cooperative(const char *letters, enum sw_flavour flavour)
{
    build_stack(&stack, letters);
    stack.engine->flavour = flavour;
    stack.target.mode = COOP;
    put_target(&stack);
}

static void store_seed(const struct sw_regs *regs)
{
    memset(stack.context, 0, sizeof stack.context);
    assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, regs, stack.context, SW_CONTEXT_X64_BYTES), SW_OK);
}

static uint32_t walk_from(const struct sw_regs *seed, ULONG32 flags)
{
    store_seed(seed);
    return (uint32_t)sw_snapshot(stack.engine, &stack.scratch, 0, hear, flags, &stack, stack.context,
                                 SW_CONTEXT_X64_BYTES);
}

static uint32_t walk_from_records(ULONG32 flags)
{
    return (uint32_t)sw_snapshot(stack.engine, &stack.scratch, 0, hear, flags, &stack, NULL, 0);
}

/* As a thread stands at the first instruction of a frame's function: nothing is pushed yet. */
static struct sw_regs at_entry(size_t frame)
{
    struct sw_regs regs = stack.regs[frame];
    sw_regs_set(&regs, SW_X64_RIP, code_of_frame(&stack, frame));
    sw_regs_set(&regs, SW_X64_RSP, sw_regs_fp(&stack.regs[frame]) + 8);
    sw_regs_set(&regs, SW_X64_RBP, sw_regs_fp(&stack.regs[frame + 1]));
    return regs;
}

/* ---- to the instruction ---- */

/* In front of the first instruction there is no code: a seed that were looked up there would be refused. */
static void a_seed_is_where_it_says_not_a_return_address(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(flavours); i++) {
        build_cooperative("NDCMN", flavours[i]);
        const struct sw_regs seed = at_entry(1);
        assert_int_equal(walk_from(&seed, 1), S_OK);
        assert_string_equal(stack.said, "DCM0");
        assert_int_equal(stack.heard[0].ip, code_of_frame(&stack, 1));
        assert_true(stack.heard[0].info.exact);
        assert_int_equal(stack.heard[0].info.source, SW_SOURCE_SEED);
        assert_int_equal(stack.heard[0].info.trust, SW_TRUST_EXACT);
        assert_int_equal(stack.heard[1].ip, sw_regs_pc(&stack.regs[2]));
        assert_int_equal(sw_regs_sp(&stack.heard[1].regs), sw_regs_sp(&stack.regs[2]));
        tear_down(&stack);
    }
}

static void put_entry_record(size_t number, size_t frame, bool exact)
{
    const struct sw_regs entry = at_entry(frame);
    stack.records[number].address = sw_regs_sp(&entry);
    stack.records[number].regs = entry;
    stack.records[number].exact = exact;
    put_target(&stack);
}

/* The same of the record that a walk starts at: exact, its pc was being executed. */
static void the_first_record_is_exact_if_it_says_so(void **state)
{
    (void)state;
    for (unsigned exact = 0; exact <= 1; exact++) {
        build_cooperative("NDCMN", UNIX);
        stack.target.mode = PREEMPT;
        put_records(&stack, "DM");
        put_entry_record(0, 1, exact);
        assert_int_equal(walk_from_records(0), S_OK);
        assert_string_equal(stack.said, exact ? "DCM0" : "CM0"); /* pc - 1 is not D's */
        if (exact)
            assert_true(stack.heard[0].info.exact);
        tear_down(&stack);
    }
}

/* Native code of the runtime calls stubs, which leave records: the CLR passes over those. */
static void a_first_record_into_native_code_is_passed_over(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(flavours); i++) {
        if (flavours[i] == DOC)
            continue;
        build_cooperative("NNDMN", flavours[i]);
        stack.target.mode = PREEMPT;
        put_records(&stack, "DM");
        put_entry_record(0, 1, false);
        assert_int_equal(walk_from_records(0), S_OK);
        assert_string_equal(stack.said, "M0");
        stack.target.transition_count = 1;
        stack.records[0].has_method = false;
        put_target(&stack);
        stack.said[0] = 0;
        assert_int_equal(walk_from_records(0), (uint32_t)E_FAIL);
        assert_string_equal(stack.said, "");
        tear_down(&stack);
    }
}

/* And of one behind a cut. */
static void a_record_behind_a_cut_is_exact_if_it_says_so(void **state)
{
    (void)state;
    for (unsigned exact = 0; exact <= 1; exact++) {
        build_cooperative("NDxCMN", UNIX);
        stack.target.mode = PREEMPT;
        put_records(&stack, "DC");
        put_entry_record(1, 3, exact);
        assert_int_equal(walk_from_records(0), S_OK);
        assert_string_equal(stack.said, exact ? "D0CM0" : "D0M0");
        if (exact)
            assert_int_equal(stack.heard[2].ip, code_of_frame(&stack, 3));
        tear_down(&stack);
    }
}

/* ---- a seed and its stack ---- */

/*
 * sp: where the seed says that its stack is, from the frame's own. word: what is there where D's return address would
 * be; UNREADABLE: nothing.
 */
#define UNREADABLE UINT64_MAX

static const struct stray {
    const char *name;
    enum sw_flavour flavour;
    uint64_t word;
    uint32_t hr;
    const char *said;
} strays[] = {
    { "w34_a_zero_where_the_return_address_would_be_is_a_run_unix", UNIX, 0, S_OK, "D0" },
    { "w34_a_zero_where_the_return_address_would_be_is_a_run_windows", WIN, 0, S_OK, "D0" },
    { "w34_anything_that_is_no_code_is_a_run_unix", UNIX, 0x1234567890, S_OK, "D0" },
    { "w34_anything_that_is_no_code_is_a_run_windows", WIN, 0x1234567890, S_OK, "D0" },
    { "a_return_address_that_is_no_code_is_a_cut_documented", DOC, 0x1234567890, (uint32_t)E_FAIL, "D" },
    { "w35_an_unreadable_stack_is_unexpected_without_a_callback_windows", WIN, UNREADABLE, (uint32_t)E_UNEXPECTED, "" },
    { "an_unreadable_stack_is_unexpected_instead_of_a_crash_unix", UNIX, UNREADABLE, (uint32_t)E_UNEXPECTED, "" },
    { "an_unreadable_stack_fails_behind_the_seed_documented", DOC, UNREADABLE, (uint32_t)E_FAIL, "D" },
};

static void stray_seed_is_answered(void **state)
{
    enum { TOO_LOW = 0x2000 };
    const struct stray *row = *state;
    build_cooperative("NDCMN", row->flavour);
    struct sw_regs seed = stack.regs[1];
    const uint64_t fp = sw_regs_fp(&seed) - TOO_LOW;
    const uint64_t words[2] = { 0, row->word };
    sw_regs_set(&seed, SW_X64_RSP, sw_regs_sp(&seed) - TOO_LOW);
    sw_regs_set(&seed, SW_X64_RBP, fp);
    if (row->word != UNREADABLE)
        assert_int_equal(sw_sim_words(stack.sim, fp, words, 2), SW_OK);
    assert_int_equal(walk_from(&seed, 1), row->hr);
    assert_string_equal(stack.said, row->said);
    if (stack.heard_count == 2) {
        assert_int_equal(stack.heard[1].ip, row->word);
        assert_int_equal(sw_regs_pc(&stack.heard[1].regs), row->word);
        assert_int_equal(sw_regs_sp(&stack.heard[1].regs), fp + 16);
    }
    tear_down(&stack);
}

/* Further out, where a caller's frame is damaged: what was reported stays, and the rest is that run. */
static void a_damaged_return_address_is_a_run_in_the_coreclr_flavours(void **state)
{
    const uint64_t damage = 0x1234567890;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(flavours); i++) {
        build_cooperative("NDCBMN", flavours[i]);
        assert_int_equal(sw_sim_words(stack.sim, sw_regs_fp(&stack.regs[2]) + 8, &damage, 1), SW_OK);
        const uint32_t hr = walk_from(&stack.regs[1], 0);
        assert_int_equal(hr, flavours[i] == DOC ? (uint32_t)E_FAIL : S_OK);
        assert_string_equal(stack.said, flavours[i] == DOC ? "DC" : "DC0");
        assert_int_equal(stack.engine->stop, SW_STOP_BAD_PC); /* which is no clean root */
        tear_down(&stack);
    }
}

/* Where a caller is found by the way to the next return only, its pc is all that speaks for it; a 0 is an end. */
static void a_way_forward_that_leads_to_no_code_is_a_cut(void **state)
{
    static const struct {
        uint64_t word;
        uint32_t hr;
        const char *said;
    } damages[] = { { 0, S_OK, "DC0" }, { 0x1234567890, (uint32_t)E_FAIL, "DC" } };
    const uint8_t none = 0x06; /* no instruction in 64-bit mode */
    (void)state;
    for (size_t i = 0; i < COUNT_OF(damages); i++) {
        build_cooperative("NDCMN", UNIX);
        assert_int_equal(sw_sim_bytes(stack.sim, code_of_frame(&stack, 2), &none, 1), SW_OK);
        assert_int_equal(walk_from(&stack.regs[1], 0), S_OK);
        assert_string_equal(stack.said, "DCM0"); /* it is a way */
        assert_int_equal(stack.heard[2].info.source, SW_SOURCE_FORWARD);
        tear_down(&stack);
        build_cooperative("NDCMN", UNIX);
        assert_int_equal(sw_sim_bytes(stack.sim, code_of_frame(&stack, 2), &none, 1), SW_OK);
        assert_int_equal(sw_sim_words(stack.sim, sw_regs_fp(&stack.regs[2]) + 8, &damages[i].word, 1), SW_OK);
        assert_int_equal(walk_from(&stack.regs[1], 0), damages[i].hr);
        assert_string_equal(stack.said, damages[i].said);
        tear_down(&stack);
    }
}

/* Section 3.4: at or above the stack's base nothing is a frame. */
static void a_seed_at_the_base_of_its_stack_is_no_clean_root(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(flavours); i++) {
        build_cooperative("NDCMN", flavours[i]);
        struct sw_regs seed = stack.regs[1];
        sw_regs_set(&seed, SW_X64_RSP, STACK_TOP);
        sw_regs_set(&seed, SW_X64_RBP, 0x5555);
        assert_int_equal(walk_from(&seed, 0), (uint32_t)E_FAIL);
        assert_string_equal(stack.said, "D");
        assert_int_equal(stack.engine->stop, SW_STOP_OUTSIDE_STACK);
        assert_int_equal(stack.engine->refusal.stop, SW_STOP_OUTSIDE_STACK);
        tear_down(&stack);
    }
}

/* The root's frame begins where the stack is said to end: a managed one was cut off, a native one was first. */
static void only_a_native_frame_is_a_root_at_the_base(void **state)
{
    static const struct {
        const char *letters;
        bool clean;
    } rows[] = { { "NDCM", false }, { "NDCMx", true } };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(flavours); i++)
        for (size_t row = 0; row < COUNT_OF(rows); row++) {
            build_cooperative(rows[row].letters, flavours[i]);
            stack.target.stack_end = sw_regs_sp(&stack.regs[stack.count - 1]);
            put_target(&stack);
            const uint32_t hr = walk_from(&stack.regs[1], 0);
            assert_int_equal(hr, rows[row].clean ? S_OK : (uint32_t)E_FAIL);
            assert_string_equal(stack.said, rows[row].clean ? "DCM0" : "DCM");
            assert_int_equal(stack.engine->stop, rows[row].clean ? SW_STOP_ROOT_BASE : SW_STOP_OUTSIDE_STACK);
            tear_down(&stack);
        }
}

/* ---- padding behind a method ---- */

enum { CODE_BYTES = 15 };

static const struct padding {
    const char *name;
    const char *letters;
    enum sw_flavour flavour;
    uint64_t behind; /* of the last byte's end */
    uint32_t hr;
    HRESULT from_ip;
    const char *said;
} paddings[] = {
    { "right_behind_a_method_is_the_method_unix", "NDCMN", UNIX, 0, S_OK, S_OK, "DCM0" },
    { "right_behind_a_method_is_the_method_windows", "NDCMN", WIN, 0, S_OK, S_OK, "DCM0" },
    { "in_its_padding_too", "NDCMN", UNIX, 38, S_OK, S_OK, "DCM0" },
    { "behind_a_dynamic_method_is_a_seed_and_no_function", "NdCMN", UNIX, 0, S_OK, E_FAIL, "CM0" },
    { "further_behind_is_not", "NDCMN", UNIX, 39, BAD_SEED, E_FAIL, "" },
    { "nor_is_it_documented", "NDCMN", DOC, 0, BAD_SEED, E_FAIL, "" },
    { "nor_behind_a_precompiled_method", "NgCMN", UNIX, 0, BAD_SEED, E_FAIL, "" },
    { "nor_behind_a_stub", "NsCMN", UNIX, 0, BAD_SEED, E_FAIL, "" },
};

static void seed_in_padding_is_answered(void **state)
{
    const struct padding *row = *state;
    FunctionID function = 0;
    build_cooperative(row->letters, row->flavour);
    struct sw_regs seed = stack.regs[1];
    const uint64_t pc = code_of_frame(&stack, 1) + CODE_BYTES + row->behind;
    /* as the last instruction finds it, a return */
    sw_regs_set(&seed, SW_X64_RIP, pc);
    sw_regs_set(&seed, SW_X64_RSP, sw_regs_fp(&stack.regs[1]) + 8);
    sw_regs_set(&seed, SW_X64_RBP, sw_regs_fp(&stack.regs[2]));
    assert_int_equal((uint32_t)sw_function_from_ip(stack.engine, pc, &function), (uint32_t)row->from_ip);
    assert_int_equal(function, row->from_ip == S_OK ? (FunctionID)row->letters[1] : 0);
    assert_int_equal(walk_from(&seed, 1), row->hr);
    assert_string_equal(stack.said, row->said);
    if (row->hr == S_OK && row->from_ip == S_OK) {
        assert_int_equal(stack.heard[0].ip, pc);
        assert_int_equal(sw_regs_pc(&stack.heard[0].regs), pc);
        assert_int_equal(stack.heard[1].ip, sw_regs_pc(&stack.regs[2]));
    }
    tear_down(&stack);
}

/* Nothing is padding that is other code, or in an image. */
static void padding_ends_where_other_code_begins(void **state)
{
    (void)state;
    build_cooperative("NDCMN", UNIX);
    const uint64_t end = code_of_frame(&stack, 1) + CODE_BYTES;
    assert_int_equal(sw_sim_range(stack.sim, SW_KIND_STUB, end + 8, end + 16, 0), SW_OK);
    assert_int_equal(sw_function_from_ip(stack.engine, end + 7, NULL), S_OK);
    assert_int_equal((uint32_t)sw_function_from_ip(stack.engine, end + 8, NULL), (uint32_t)E_FAIL);
    assert_int_equal((uint32_t)sw_function_from_ip(stack.engine, end + 16, NULL), (uint32_t)E_FAIL);
    tear_down(&stack);
}

/* ---- the CONTEXT beside its registers ---- */

enum { CONTEXT_FLAGS = 0x30, MXCSR = 0x34, SEG_CS = 0x38, RCX = 0x80, XMM = 0x1a0 };

static struct {
    BYTE at[8][SW_CONTEXT_MAX_BYTES];
    ULONG32 size;
    size_t count;
} contexts;

static HRESULT SW_COM_CALL keep_context(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 size,
                                        BYTE context[], void *client_data)
{
    (void)function, (void)ip, (void)info, (void)client_data;
    assert_true(contexts.count < 8);
    memset(contexts.at[contexts.count], 0xee, SW_CONTEXT_MAX_BYTES);
    memcpy(contexts.at[contexts.count++], context, size);
    contexts.size = size;
    return S_OK;
}

static uint32_t word_of(const BYTE *context, size_t at)
{
    return (uint32_t)context[at] | (uint32_t)context[at + 1] << 8 | (uint32_t)context[at + 2] << 16 |
           (uint32_t)context[at + 3] << 24;
}

static const struct handed {
    const char *name;
    enum sw_flavour flavour;
    enum sw_mode mode;
    ULONG32 given;           /* size of the seed; 0: none */
    ULONG32 size;            /* of what callbacks get */
    uint32_t flags, scratch; /* ContextFlags; rcx, which no frame saves, mxcsr, cs */
    uint32_t vector;
} handeds[] = {
    { "a_used_seed_stays_in_every_context_unix", UNIX, COOP, 3232, 3232, 0x12345678, 0x5a5a5a5a, 0x5a5a5a5a },
    { "a_used_seed_stays_in_every_context_windows", WIN, COOP, 1232, 1232, 0x12345678, 0x5a5a5a5a, 0x5a5a5a5a },
    { "of_an_odd_size_only_what_is_there_for_sure", UNIX, COOP, 256, 3232, 0x12345678, 0x5a5a5a5a, 0 },
    { "of_a_size_that_no_context_has_too", UNIX, COOP, 0xffffffff, 3232, 0x12345678, 0x5a5a5a5a, 0 },
    { "a_seed_that_is_not_looked_at_leaves_nothing_unix", UNIX, PREEMPT, 3232, 3232, 0, 0, 0 },
    { "without_a_seed_there_is_nothing_unix", UNIX, PREEMPT, 0, 3232, 0, 0, 0 },
    { "without_a_seed_there_is_nothing_windows", WIN, PREEMPT, 0, 1232, 0, 0, 0 },
    { "documented_it_says_what_is_in_it", DOC, COOP, 1232, 1232, 0x100003, 0, 0 },
};

static void contexts_are_handed_out(void **state)
{
    const struct handed *row = *state;
    build_cooperative("NDCMN", row->flavour);
    put_records(&stack, "D");
    stack.target.mode = row->mode;
    put_target(&stack);
    contexts.count = 0;
    put_seed(&stack, 'D');
    memset(stack.context + SEG_CS, 0x5a, 4);
    memset(stack.context + MXCSR, 0x5a, 4);
    memset(stack.context + RCX, 0x5a, 8);
    memset(stack.context + XMM, 0x5a, 16);
    stack.context[CONTEXT_FLAGS] = 0x78;
    stack.context[CONTEXT_FLAGS + 1] = 0x56;
    stack.context[CONTEXT_FLAGS + 2] = 0x34;
    stack.context[CONTEXT_FLAGS + 3] = 0x12;
    memset(&stack.scratch, 0xa5, sizeof stack.scratch); /* nothing of it is handed out */
    assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, keep_context, 1, &stack,
                                 row->given ? stack.context : NULL, row->given),
                     S_OK);
    assert_int_equal(contexts.count, 4);
    assert_int_equal(contexts.size, row->size);
    for (size_t i = 0; i < contexts.count; i++) {
        assert_int_equal(word_of(contexts.at[i], CONTEXT_FLAGS), row->flags);
        assert_int_equal(word_of(contexts.at[i], MXCSR), row->scratch);
        assert_int_equal(word_of(contexts.at[i], SEG_CS), row->scratch);
        assert_int_equal(word_of(contexts.at[i], RCX), row->scratch);
        assert_int_equal(word_of(contexts.at[i], XMM), row->vector);
    }
    tear_down(&stack);
}

/* A record that the runtime made of a whole CONTEXT, as of a fault, has ContextFlags: from its frame on they hold. */
static void context_flags_of_a_record_hold_from_its_frame_on(void **state)
{
    (void)state;
    for (size_t noted = 0; noted < 2; noted++)
        for (size_t i = 0; i < COUNT_OF(flavours); i++) {
            build_cooperative("NDxCMN", flavours[i]);
            stack.target.mode = PREEMPT;
            put_records(&stack, "DC");
            stack.records[noted].context_flags = 0x810000b;
            put_target(&stack);
            contexts.count = 0;
            assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, 0, keep_context, 1, &stack, NULL, 0), S_OK);
            const bool documented = flavours[i] == DOC;
            assert_int_equal(contexts.count, documented ? 6 : 5); /* D 0 C M 0 */
            for (size_t n = 0; n < contexts.count; n++)
                assert_int_equal(word_of(contexts.at[n], CONTEXT_FLAGS), documented              ? 0x100003
                                                                         : n < (noted ? 2u : 0u) ? 0
                                                                                                 : 0x810000b);
            tear_down(&stack);
        }
}

/*
 * coreclr-windows walks a cooperative target from the CONTEXT that it has asked for: W29, W66. There, and where the
 * engine is told that the code is Windows', rsi and rdi are nonvolatile.
 */
static void windows_contexts_are_the_target_s_own(void **state)
{
    static const struct {
        enum sw_flavour flavour;
        uint32_t options;
        uint32_t flags;
        uint64_t rsi;
    } rows[] = { { WIN, 0, 0xc010000b, 0x51 },
                 { DOC, SW_ENGINE_WINDOWS_CODE, 0x100003, 0x51 },
                 { DOC, 0, 0x100003, 0 } };
    enum { RSI = 0xa8 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        build_cooperative("DCMN", rows[i].flavour);
        stack.engine->options |= rows[i].options;
        sw_regs_set(&stack.regs[0], SW_X64_RSI, 0x51);
        assert_int_equal(sw_sim_thread(stack.sim, TARGET, &stack.regs[0]), SW_OK);
        put_target(&stack);
        sw_sim_run_as(stack.sim, 0);
        contexts.count = 0;
        assert_int_equal(sw_snapshot(stack.engine, &stack.scratch, TARGET, keep_context, 1, &stack, NULL, 0), S_OK);
        assert_int_equal(contexts.count, 4);
        assert_int_equal(word_of(contexts.at[0], CONTEXT_FLAGS), rows[i].flags);
        assert_int_equal(word_of(contexts.at[0], RSI), rows[i].rsi);
        tear_down(&stack);
    }
}

static void arm64_contexts_have_the_flavour_s_size(void **state)
{
    static const ULONG32 sizes[] = { 912, 912, 992 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(flavours); i++) {
        const uint32_t code[4] = { 0, 0x94000000 };
        const uint64_t record[] = { 0, 0 };
        struct sw_regs leaf = { .machine = SW_MACHINE_ARM64 };
        BYTE seed[SW_CONTEXT_ARM64_BYTES];
        memset(&stack, 0, sizeof stack);
        assert_int_equal(sw_sim_create(NULL, SW_MACHINE_ARM64, &stack.sim), SW_OK);
        stack.engine = sw_sim_engine(stack.sim);
        stack.engine->flavour = flavours[i];
        sw_sim_walker(stack.sim)->flags = SW_WALK_NO_ANALYSIS;
        assert_int_equal(sw_sim_words(stack.sim, 0x8000, record, 2), SW_OK);
        assert_int_equal(sw_sim_bytes(stack.sim, 0x1000, code, sizeof code), SW_OK);
        assert_int_equal(sw_sim_range(stack.sim, SW_KIND_JIT, 0x1000, 0x1010, 'D'), SW_OK);
        sw_regs_set(&leaf, SW_ARM64_PC, 0x1008);
        sw_regs_set(&leaf, SW_ARM64_SP, 0x8000);
        sw_regs_set(&leaf, SW_ARM64_FP, 0x8000);
        assert_int_equal(sw_sim_thread(stack.sim, TARGET, &leaf), SW_OK);
        sw_sim_run_as(stack.sim, TARGET);
        assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &leaf, seed, sizeof seed), SW_OK);
        (void)!sw_snapshot(stack.engine, &stack.scratch, 0, hear, 1, &stack, seed, sizeof seed);
        assert_true(stack.heard_count > 0);
        assert_int_equal(stack.heard[0].context_size, sizes[i]);
        assert_int_equal(sw_regs_pc(&stack.heard[0].regs), 0x1008);
        sw_sim_destroy(stack.sim);
    }
}

/* ---- long stacks ---- */

static size_t counted, counted_runs;

static HRESULT SW_COM_CALL count_frames(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 size,
                                        BYTE context[], void *client_data)
{
    (void)ip, (void)info, (void)size, (void)context, (void)client_data;
    counted++;
    counted_runs += function == 0;
    return S_OK;
}

/* One method that calls itself, on a native base: push rbp; mov rbp, rsp; sub rsp, 16; call -13; leave; ret. */
static void build_deep(size_t frames)
{
    static const uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10,
                                    0xe8, 0xf3, 0xff, 0xff, 0xff, 0xc9, 0xc3 };
    const uint64_t method = 0x900000, low = 0x10000000;
    struct sw_regs regs = garbage_regs();
    build_stack(&stack, "N");
    uint64_t *words = test_calloc(frames * 4, sizeof *words);
    for (size_t i = 0; i < frames; i++) {
        words[4 * i + 2] = i + 1 < frames ? low + 32 * (i + 1) + 16 : 0;
        words[4 * i + 3] = i + 1 < frames ? method + AFTER_CALL : code_of_frame(&stack, 0) + AFTER_CALL;
    }
    assert_int_equal(sw_sim_words(stack.sim, low, words, frames * 4), SW_OK);
    test_free(words);
    const uint64_t base[] = { 0, 0, 0, 0 };
    assert_int_equal(sw_sim_words(stack.sim, low + 32 * frames, base, 4), SW_OK);
    assert_int_equal(sw_sim_bytes(stack.sim, method, code, sizeof code), SW_OK);
    assert_int_equal(sw_sim_range(stack.sim, SW_KIND_JIT, method, method + sizeof code, 'R'), SW_OK);
    sw_regs_set(&regs, SW_X64_RIP, method + IN_BODY);
    sw_regs_set(&regs, SW_X64_RSP, low);
    sw_regs_set(&regs, SW_X64_RBP, low + 16);
    assert_int_equal(sw_sim_thread(stack.sim, TARGET, &regs), SW_OK);
    stack.target.stack_begin = low;
    stack.target.stack_end = low + 32 * frames + 64;
    stack.target.mode = COOP;
    put_target(&stack);
    store_seed(&regs);
}

static void the_coreclr_flavours_have_no_limit_of_their_own(void **state)
{
    enum { DEEP = 12000 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(flavours); i++) {
        build_deep(DEEP);
        stack.engine->flavour = flavours[i];
        counted = counted_runs = 0;
        const HRESULT hr =
            sw_snapshot(stack.engine, &stack.scratch, 0, count_frames, 0, NULL, stack.context, SW_CONTEXT_X64_BYTES);
        const bool documented = flavours[i] == DOC;
        assert_int_equal((uint32_t)hr, documented ? (uint32_t)E_FAIL : S_OK);
        assert_int_equal(counted, documented ? 10000 : DEEP + 1);
        assert_int_equal(counted_runs, !documented);
        tear_down(&stack);
    }
}

/* A signal frame that says that it was interrupted itself: memory can be made so. */
static void a_stack_that_leads_in_circles_ends_without_a_limit(void **state)
{
    /* mov rax, 15; syscall: what a handler returns to on x64 Linux */
    static const uint8_t trampoline[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
    enum { AT = 0xa00000, FRAME = 0x600000, RSP_AT = 40 + 15 * 8, RIP_AT = 40 + 16 * 8 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(flavours); i++) {
        const uint64_t into = AT;
        uint64_t frame[64] = { [RSP_AT / 8] = FRAME, [RIP_AT / 8] = AT };
        build_cooperative("NDCMN", flavours[i]);
        stack.target.stack_begin = stack.target.stack_end = 0;
        put_target(&stack);
        const uint64_t slot = sw_regs_fp(&stack.regs[1]) + 8;
        assert_int_equal(sw_sim_bytes(stack.sim, AT, trampoline, sizeof trampoline), SW_OK);
        assert_int_equal(sw_sim_words(stack.sim, FRAME, frame, COUNT_OF(frame)), SW_OK);
        assert_int_equal(sw_sim_words(stack.sim, slot + 8, frame, COUNT_OF(frame)), SW_OK);
        assert_int_equal(sw_sim_words(stack.sim, slot, &into, 1), SW_OK);
        (void)walk_from(&stack.regs[1], 0);
        assert_string_equal(stack.said, "D0");
        assert_int_equal(stack.engine->stop, SW_STOP_FRAME_LIMIT);
        tear_down(&stack);
    }
}

/*
 * A limit that keeps both ends, of "NDNCBAMN": what is reported of D 0 C B A M 0 (documented: 0 in front). hidden: a
 * digit for every callback, managed frames passed over in front of it.
 */
static const struct ends {
    const char *name;
    enum sw_flavour flavour;
    uint32_t most;
    const char *said, *hidden;
    uint32_t left_out;
} endss[] = {
    { "both_ends_of_a_long_stack", UNIX, 4, "D0M0", "0030", 3 },
    { "an_odd_one_is_at_the_leaf", UNIX, 5, "D0CM0", "00020", 2 },
    { "of_one_there_is_only_the_leaf", UNIX, 1, "D", "0", 6 },
    { "as_many_as_there_are_are_all", UNIX, 7, "D0CBAM0", "0000000", 0 },
    { "more_than_there_are_are_all", UNIX, 100, "D0CBAM0", "0000000", 0 },
    { "both_ends_windows", WIN, 2, "D0", "04", 5 },
    { "both_ends_documented", DOC, 4, "0DM0", "0030", 4 },
};

static struct {
    uint32_t left_out, callbacks;
    enum sw_stop stop;
} ended;

static void note_end(void *arg, const struct sw_answer *answer)
{
    (void)arg;
    ended.left_out = answer->left_out;
    ended.callbacks = answer->callbacks;
    ended.stop = answer->stop;
}

static void both_ends_are_kept(void **state)
{
    const struct ends *row = *state;
    build_stack(&stack, "NDNCBAMN");
    put_records(&stack, "DC");
    stack.target.mode = PREEMPT;
    put_target(&stack);
    stack.engine->flavour = row->flavour;
    stack.engine->options = SW_ENGINE_BOTH_ENDS;
    stack.engine->on_answer = note_end;
    sw_sim_walker(stack.sim)->max_frames = row->most;
    assert_int_equal(walk_from_records(1), S_OK);
    assert_string_equal(stack.said, row->said);
    for (size_t i = 0; i < stack.heard_count; i++)
        assert_int_equal(stack.heard[i].info.hidden, row->hidden[i] - '0');
    assert_int_equal(ended.left_out, row->left_out);
    assert_int_equal(ended.callbacks, stack.heard_count);
    assert_int_equal(ended.stop, SW_STOP_ROOT_ZERO);
    const struct heard *last = &stack.heard[stack.heard_count - 1];
    if (row->most > 1) {
        assert_int_equal(sw_regs_pc(&last->regs), sw_regs_pc(&stack.regs[7]));
        assert_int_equal(sw_regs_sp(&last->regs), sw_regs_sp(&stack.regs[7]));
    }
    tear_down(&stack);
}

static void both_ends_of_a_stack_beyond_every_limit(void **state)
{
    enum { DEEP = 12000 };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(flavours); i++) {
        build_deep(DEEP);
        stack.engine->flavour = flavours[i];
        stack.engine->options = SW_ENGINE_BOTH_ENDS;
        stack.engine->on_answer = note_end;
        sw_sim_walker(stack.sim)->max_frames = 20;
        counted = counted_runs = 0;
        assert_int_equal(
            sw_snapshot(stack.engine, &stack.scratch, 0, count_frames, 0, NULL, stack.context, SW_CONTEXT_X64_BYTES),
            S_OK);
        assert_int_equal(counted, 20);
        assert_int_equal(counted_runs, 1);
        assert_int_equal(ended.left_out, DEEP + 1 - 20);
        tear_down(&stack);
    }
}

/* ---- runs in front of exception dispatch ---- */

static const struct dispatched {
    const char *name, *letters, *said, *hidden;
} dispatcheds[] = {
    { "through_a_hidden_stub_it_is_swallowed", "CNieNBMN", "CBM0", "0200" },
    { "a_stub_without_dispatch_swallows_nothing", "CNiBMN", "C0BM0", "00100" },
    { "two_runs_around_a_stub_are_both_told", "CNiNBMN", "C00BM0", "001000" },
    { "the_run_between_stub_and_dispatch_is_swallowed", "CNiNeNBMN", "C0BM0", "00200" },
    { "a_stub_and_then_the_base", "CNiN", "C00", "001" },
};

static void run_in_front_of_dispatch_is_answered(void **state)
{
    const struct dispatched *row = *state;
    build_cooperative(row->letters, UNIX);
    assert_int_equal(walk_from(&stack.regs[0], 0), S_OK);
    assert_string_equal(stack.said, row->said);
    for (size_t i = 0; i < stack.heard_count; i++)
        assert_int_equal(stack.heard[i].info.hidden, row->hidden[i] - '0');
    tear_down(&stack);
}

int main(void)
{
    const struct CMUnitTest singles[] = {
        cmocka_unit_test(a_seed_is_where_it_says_not_a_return_address),
        cmocka_unit_test(the_first_record_is_exact_if_it_says_so),
        cmocka_unit_test(a_first_record_into_native_code_is_passed_over),
        cmocka_unit_test(a_record_behind_a_cut_is_exact_if_it_says_so),
        cmocka_unit_test(a_damaged_return_address_is_a_run_in_the_coreclr_flavours),
        cmocka_unit_test(a_way_forward_that_leads_to_no_code_is_a_cut),
        cmocka_unit_test(a_seed_at_the_base_of_its_stack_is_no_clean_root),
        cmocka_unit_test(only_a_native_frame_is_a_root_at_the_base),
        cmocka_unit_test(padding_ends_where_other_code_begins),
        cmocka_unit_test(windows_contexts_are_the_target_s_own),
        cmocka_unit_test(context_flags_of_a_record_hold_from_its_frame_on),
        cmocka_unit_test(arm64_contexts_have_the_flavour_s_size),
        cmocka_unit_test(the_coreclr_flavours_have_no_limit_of_their_own),
        cmocka_unit_test(both_ends_of_a_stack_beyond_every_limit),
        cmocka_unit_test(a_stack_that_leads_in_circles_ends_without_a_limit),
    };
    struct CMUnitTest tests[COUNT_OF(singles) + COUNT_OF(strays) + COUNT_OF(paddings) + COUNT_OF(handeds) +
                            COUNT_OF(endss) + COUNT_OF(dispatcheds)];
    size_t n = COUNT_OF(singles);
    memcpy(tests, singles, sizeof singles);
    ADD_ROWS(tests, n, strays, stray_seed_is_answered);
    ADD_ROWS(tests, n, paddings, seed_in_padding_is_answered);
    ADD_ROWS(tests, n, handeds, contexts_are_handed_out);
    ADD_ROWS(tests, n, endss, both_ends_are_kept);
    ADD_ROWS(tests, n, dispatcheds, run_in_front_of_dispatch_is_answered);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
