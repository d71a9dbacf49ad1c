/*
 * From frames to callbacks where the runtime itself is asked: handlers and filters, what exceptions have unwound,
 * records that frames must be on, and names of precompiled methods. More letters, for code that does not keep rbp as a
 * frame pointer of its own:
 *
 *   f p   a handler, of the method `of_f` or `of_p` (frames by number): called with that method's frame pointer
 *   q     a filter of the method `of_f`           k   a native helper that calls one of them, and saves rbp
 */
#include "simstack.h"

#define COOP    SW_MODE_COOPERATIVE
#define PREEMPT SW_MODE_PREEMPTIVE

/*
 * is       Stack, seed, flavour and answer; its mode and records are the table's.
 * noted    The inspector's records, by letters.  mode, flags  What it says of the thread.
 * unwound  Parts of the stack that were unwound, two letters each: from that frame's sp up to that frame's.
 * hidden   A digit for every callback: managed frames passed over in front of it.
 * alone    There is no inspector.
 */
struct inspected {
    struct situation is;
    const char *noted;
    const char *unwound;
    const char *hidden;
    enum sw_mode mode;
    uint32_t flags;
    size_t of_f, of_p;
    bool alone;
};

#define ROW(text) .is.name = text
/* In managed code, with a seed; having left it; both in the documented flavour. */
#define SEEN_DOC(frames) .is.stack = frames, .is.seed = 'C', .mode = COOP
#define LEFT_DOC(frames) .is.stack = frames, .mode = PREEMPT
#define SEEN(frames)     SEEN_DOC(frames), .is.flavour = SW_FLAVOUR_CORECLR_UNIX
#define LEFT(frames)     LEFT_DOC(frames), .is.flavour = SW_FLAVOUR_CORECLR_UNIX

/* clang-format off */
static const struct inspected rows[] = {
    /* handlers */
    { ROW("a_finally_is_its_method"), SEEN("CfMN"), .of_f = 2, .is.heard = "CM0", .hidden = "010" },
    { ROW("a_catch_is_its_method_and_dispatch_is_hidden"), SEEN("CfkeNMN"), .of_f = 5, .is.heard = "CM0", .hidden = "020" },
    { ROW("what_threw_lies_between_handler_and_method"), SEEN("CfkeNBMN"), .of_f = 6, .is.heard = "CM0", .hidden = "030" },
    { ROW("another_call_of_the_method_is_not_the_handler_s"), SEEN("CfkeNMMN"), .of_f = 6, .is.heard = "CM0", .hidden = "030" },
    { ROW("handler_inside_a_handler_of_one_method"), SEEN("CfkeNfkeNMN"), .of_f = 9, .is.heard = "CM0", .hidden = "040" },
    { ROW("handler_inside_another_method_s_handler"), SEEN("CfkeNMpkeNAN"), .of_f = 5, .of_p = 10, .is.heard = "CMA0", .hidden = "0220" },
    { ROW("the_method_called_by_its_own_finally"), .is.stack = "MfMN", .is.seed = 'M', .mode = COOP, .is.flavour = SW_FLAVOUR_CORECLR_UNIX, .of_f = 2, .is.heard = "MM0", .hidden = "010" },
    { ROW("handlers_need_no_inspector"), SEEN("CfkeNBMN"), .is.mode = COOP, .of_f = 6, .alone = true, .is.heard = "CM0", .hidden = "030" },
    { ROW("handlers_are_shown_documented"), SEEN_DOC("CfkeNMN"), .of_f = 5, .is.heard = "CM0e0M0", .hidden = "0000000" },
    { ROW("a_handler_whose_method_is_not_reached_hides_the_rest"), SEEN("CfkeNBMN"), .of_f = 0, .is.heard = "C", .hidden = "0" },

    /* filters */
    { ROW("a_filter_is_reported_and_swallows_the_run_behind"), SEEN("CqkeNBMN"), .noted = "eB", .of_f = 6, .is.heard = "CMBM0", .hidden = "00100" },
    { ROW("dispatch_behind_a_filter_needs_no_record"), SEEN("CqkeNBMN"), .noted = "B", .of_f = 6, .is.heard = "CMBM0" },
    { ROW("what_threw_needs_one"), SEEN("CqkeNBMN"), .of_f = 6, .is.heard = "CM" },
    { ROW("without_inspector_nothing_needs_one"), SEEN("CqkeNBMN"), .is.mode = COOP, .of_f = 6, .alone = true, .is.heard = "CMBM0" },
    { ROW("a_filter_that_native_code_calls_has_its_run"), SEEN("CqkBMN"), .noted = "B", .of_f = 4, .is.options = SW_ENGINE_NATIVE_DISPATCH, .is.heard = "CM0BM0" },
    { ROW("a_filter_is_shown_with_its_run_documented"), SEEN_DOC("CqkeNBMN"), .of_f = 6, .is.heard = "CM0e0BM0" },

    /* clr-windows-observed.md W62: S is called in a filter, a catch, a finally of L */
    { ROW("w62_in_a_filter_it_and_its_method_are_reported"), .is.stack = "SqkeNLCMN", .is.seed = 'S', .mode = COOP, .is.flavour = SW_FLAVOUR_CORECLR_WINDOWS, .noted = "eL", .of_f = 5, .is.heard = "SLLCM0", .hidden = "001000" },
    { ROW("w62_in_a_catch_its_method_is"), .is.stack = "SfkeNLCMN", .is.seed = 'S', .mode = COOP, .is.flavour = SW_FLAVOUR_CORECLR_WINDOWS, .noted = "eL", .of_f = 5, .is.heard = "SLCM0", .hidden = "02000" },
    { ROW("w62_in_a_finally_its_method_is"), .is.stack = "SfLCMN", .is.seed = 'S', .mode = COOP, .is.flavour = SW_FLAVOUR_CORECLR_WINDOWS, .of_f = 2, .is.heard = "SLCM0", .hidden = "01000" },

    /* runs in front of exception dispatch */
    { ROW("the_run_in_front_of_dispatch_is_swallowed"), SEEN("CNeNBMN"), .noted = "eB", .is.heard = "CBM0", .hidden = "0100" },
    { ROW("another_run_is_not"), SEEN("CNDNBMN"), .noted = "DB", .is.heard = "C0D0BM0", .hidden = "0000000" },
    { ROW("an_il_stub_does_not_swallow_it"), SEEN("CNiNBMN"), .noted = "iB", .is.heard = "C00BM0", .hidden = "001000" },

    /* what exceptions have unwound */
    { ROW("unwound_frames_are_hidden"), LEFT("DNCBMN"), .noted = "DC", .unwound = "CM", .is.heard = "D0M0", .hidden = "0020" },
    { ROW("unwound_frames_are_shown_documented"), LEFT_DOC("DNCBMN"), .noted = "DC", .unwound = "CM", .is.heard = "D0CBM0" },
    { ROW("of_two_exceptions"), SEEN("CDBAMN"), .unwound = "DBAM", .is.heard = "CBM0", .hidden = "0110" },
    { ROW("of_two_exceptions_the_outer_first"), SEEN("CDBAMN"), .unwound = "AMDB", .is.heard = "CBM0", .hidden = "0110" },
    { ROW("a_region_that_is_empty"), SEEN("CDMN"), .unwound = "DD", .is.heard = "CDM0", .hidden = "0000" },
    { ROW("an_unwound_handler_hides_nothing_but_itself"), SEEN("CfkeNBMN"), .noted = "eB", .unwound = "fk", .of_f = 6, .is.heard = "CBM0", .hidden = "0200" },
    { ROW("unwound_dispatch_swallows_the_run_behind_it_only"), SEEN("CfkeNBMN"), .noted = "eB", .unwound = "fN", .of_f = 6, .is.heard = "C0BM0", .hidden = "01100" },
    { ROW("a_method_whose_handler_runs_is_there"), SEEN("CfMN"), .unwound = "MN", .of_f = 2, .is.heard = "CM0", .hidden = "010" },
    { ROW("all_of_it"), SEEN("CDMN"), .unwound = "CN", .is.heard = "0", .hidden = "3" },

    /* records */
    { ROW("behind_a_run_a_frame_without_record_is_passed_over"), LEFT("DNCNMN"), .noted = "DM", .is.heard = "D0M0" },
    { ROW("and_so_are_those_behind_it"), LEFT("DNCBNMN"), .noted = "DM", .is.heard = "D0M0" },
    { ROW("with_record_it_is_not"), LEFT("DNCNMN"), .noted = "DCM", .is.heard = "D0C0M0" },
    { ROW("records_of_frames_that_are_gone_are_passed_over"), LEFT("DNCNMN"), .noted = "DDCM", .is.heard = "D0C0M0" },
    { ROW("a_record_that_leads_nowhere_is_not_needed"), LEFT("DNCNMN"), .noted = "D-M", .is.heard = "D0M0" },
    { ROW("without_inspector_none_is_needed"), LEFT("DNCNMN"), .is.mode = PREEMPT, .is.records = "DM", .alone = true, .is.heard = "D0C0M0" },
    { ROW("documented_needs_none"), LEFT_DOC("NDNCNMN"), .noted = "DM", .is.heard = "0D0C0M0" },
    { ROW("the_base_behind_a_frame_without_record_is_one_run"), LEFT("DNCN"), .noted = "D", .is.heard = "D0" },
    { ROW("a_cut_goes_on_at_the_record_that_was_waited_for"), LEFT("DNCxMN"), .noted = "DM", .is.heard = "D0M0" },
    { ROW("a_cut_goes_on_at_the_record_behind"), LEFT("DNCxMN"), .noted = "DCM", .is.heard = "D0C0M0" },

    /* what the inspector says, not what the table says */
    { ROW("a_seed_counts_when_the_inspector_says_cooperative"), SEEN("DCMN"), .is.mode = PREEMPT, .is.heard = "CM0" },
    { ROW("a_seed_does_not_when_it_says_preemptive"), LEFT("NDMN"), .is.mode = COOP, .is.seed = 'N', .noted = "D", .is.heard = "DM0" },
    { ROW("records_of_the_table_are_not_looked_at"), LEFT("NDMN"), .is.mode = PREEMPT, .is.records = "D", .is.hr = E_FAIL },
    { ROW("second_pass_of_an_exception"), LEFT("NDMN"), .noted = "D", .flags = SW_THREAD_EXCEPTION_PASS2, .is.hr = CORPROF_E_STACKSNAPSHOT_UNMANAGED_CTX },
    { ROW("exception_state_in_disorder"), LEFT("NDMN"), .noted = "D", .flags = SW_THREAD_EXCEPTION_BROKEN, .is.hr = CORPROF_E_STACKSNAPSHOT_UNSAFE },
};
/* clang-format on */

/* ---- the letters ---- */

/* Handlers and filters: sub rsp, 24; call; add rsp, 24; ret. */
static const uint8_t funclet[] = { 0x48, 0x83, 0xec, 0x18, 0x90, 0x90, 0x90, 0x90, 0xe8,
                                   0,    0,    0,    0,    0x48, 0x83, 0xc4, 0x18, 0xc3 };
/* Who calls them: push rbp; sub rsp, 16; mov rbp, rdi; call; add rsp, 16; pop rbp; ret. */
static const uint8_t helper[] = { 0x55, 0x48, 0x83, 0xec, 0x10, 0x48, 0x89, 0xfd, 0xe8, 0,
                                  0,    0,    0,    0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3 };

static void replace_code(struct simstack *stack, size_t frame, struct sw_range range, const uint8_t *code, size_t size)
{
    uint8_t bytes[sizeof helper];
    const uint64_t begin = code_of_frame(stack, frame);
    const uint32_t to = (uint32_t)(code_of_frame(stack, frame - 1) - (begin + AFTER_CALL));
    memcpy(bytes, code, size);
    memcpy(bytes + AFTER_CALL - 4, &to, 4);
    range.begin = begin;
    range.end = begin + size;
    range.unwind = SW_UNWIND_ANALYSIS;
    assert_int_equal(sw_codemap_remove(sw_sim_codemap(stack->sim), begin), SW_OK);
    assert_int_equal(sw_codemap_add(sw_sim_codemap(stack->sim), &range), SW_OK);
    assert_int_equal(sw_sim_bytes(stack->sim, begin, bytes, size), SW_OK);
}

/* A frame that runs with another one's frame pointer: what it calls saves that one. */
static void borrow_frame_pointer(struct simstack *stack, size_t frame, size_t method)
{
    const uint64_t fp = sw_regs_fp(&stack->regs[method]);
    assert_int_equal(sw_sim_words(stack->sim, sw_regs_sp(&stack->regs[frame - 1]) + 16, &fp, 1), SW_OK);
    sw_regs_set(&stack->regs[frame], SW_X64_RBP, fp);
}

static void make_funclet(struct simstack *stack, size_t frame, size_t method, uint16_t flag)
{
    const struct sw_range range = { .id = (uint64_t)stack->letters[method], .kind = SW_KIND_JIT, .flags = flag };
    replace_code(stack, frame, range, funclet, sizeof funclet);
    borrow_frame_pointer(stack, frame, method);
}

static void make_special_frames(struct simstack *stack, const struct inspected *row)
{
    for (size_t i = 1; i < stack->count; i++) {
        if (stack->letters[i] == 'f')
            make_funclet(stack, i, row->of_f, SW_RANGE_FUNCLET);
        if (stack->letters[i] == 'p')
            make_funclet(stack, i, row->of_p, SW_RANGE_FUNCLET);
        if (stack->letters[i] == 'q')
            make_funclet(stack, i, row->of_f, SW_RANGE_FILTER);
        if (stack->letters[i] == 'k')
            replace_code(stack, i, (struct sw_range){ .kind = SW_KIND_NATIVE }, helper, sizeof helper);
    }
}

/* ---- the inspector ---- */

struct inspection {
    struct simstack stack;
    const struct inspected *row;
    struct sw_transition noted[FRAMES_MAX];
    size_t noted_count;
    size_t dead_asked;
};

static void update(void *arg, struct sw_thread *thread)
{
    const struct inspection *in = arg;
    thread->mode = in->row->mode;
    thread->flags |= in->row->flags;
}

static bool record(void *arg, const struct sw_thread *thread, uint64_t *cursor, struct sw_transition *next)
{
    const struct inspection *in = arg;
    assert_int_equal(thread->id, TARGET);
    if (*cursor >= in->noted_count)
        return false;
    *next = in->noted[(*cursor)++];
    return true;
}

static bool unwound(void *arg, const struct sw_thread *thread, uint64_t *cursor, uint64_t *low, uint64_t *high)
{
    struct inspection *in = arg;
    const char *letters = in->row->unwound;
    assert_int_equal(thread->id, TARGET);
    in->dead_asked++;
    if (!letters || *cursor >= strlen(letters))
        return false;
    *low = sw_regs_sp(&in->stack.regs[frame_of_letter(&in->stack, letters[*cursor])]);
    *high = sw_regs_sp(&in->stack.regs[frame_of_letter(&in->stack, letters[*cursor + 1])]);
    *cursor += 2;
    return true;
}

static uint64_t no_function(void *arg, uint64_t address)
{
    (void)arg, (void)address;
    return 0;
}

static void note_records(struct inspection *in, const char *letters)
{
    for (size_t i = 0; letters && letters[i]; i++) {
        struct sw_transition *next = &in->noted[in->noted_count++];
        *next = (struct sw_transition){ .regs.machine = SW_MACHINE_X64 };
        if (letters[i] == '-')
            continue;
        const struct sw_regs *all = &in->stack.regs[frame_of_letter(&in->stack, letters[i])];
        next->address = sw_regs_sp(all) + 8;
        sw_regs_set(&next->regs, SW_X64_RIP, sw_regs_pc(all));
        sw_regs_set(&next->regs, SW_X64_RSP, sw_regs_sp(all));
        sw_regs_set(&next->regs, SW_X64_RBP, sw_regs_fp(all));
    }
}

static struct inspection inspection;
static struct sw_inspector inspector;

static struct simstack *prepare(const struct inspected *row)
{
    struct simstack *stack = &inspection.stack;
    arrange(stack, &row->is);
    make_special_frames(stack, row);
    inspection.row = row;
    inspection.noted_count = inspection.dead_asked = 0;
    note_records(&inspection, row->noted);
    inspector = (struct sw_inspector){ update, record, unwound, no_function, &inspection };
    if (!row->alone)
        stack->engine->inspector = &inspector;
    return stack;
}

static void situation_is_inspected(void **state)
{
    const struct inspected *row = *state;
    struct simstack *stack = prepare(row);
    const HRESULT hr = ask(stack, &row->is);
    assert_string_equal(stack->said, row->is.heard ? row->is.heard : "");
    assert_int_equal((uint32_t)hr, (uint32_t)row->is.hr);
    for (size_t i = 0; row->hidden && i < stack->heard_count; i++)
        assert_int_equal(stack->heard[i].info.hidden, row->hidden[i] - '0');
    tear_down(stack);
}

/* ---- one by one ---- */

static void the_frame_told_of_is_the_method_s_own(void **state)
{
    const struct inspected row = { SEEN("CfkeNMMN"), .of_f = 6 };
    (void)state;
    struct simstack *stack = prepare(&row);
    assert_int_equal(ask(stack, &row.is), S_OK);
    assert_int_equal(stack->heard_count, 3);
    assert_int_equal(stack->heard[1].ip, sw_regs_pc(&stack->regs[6]));
    assert_int_equal(stack->heard[1].info.flags, 0);
    tear_down(stack);
}

static void a_handler_says_what_it_is(void **state)
{
    const struct inspected handler = { SEEN_DOC("CfMN"), .of_f = 2 };
    const struct inspected filter = { SEEN("CqMN"), .of_f = 2 };
    (void)state;
    struct simstack *stack = prepare(&handler);
    assert_int_equal(ask(stack, &handler.is), S_OK);
    assert_string_equal(stack->said, "CMM0");
    assert_int_equal(stack->heard[1].info.flags, SW_RANGE_FUNCLET);
    tear_down(stack);
    stack = prepare(&filter);
    assert_int_equal(ask(stack, &filter.is), S_OK);
    assert_string_equal(stack->said, "CMM0");
    assert_int_equal(stack->heard[1].info.flags, SW_RANGE_FILTER);
    tear_down(stack);
}

/* The runtime notes pc and sp of just before the call: arguments had not been pushed, and the call not been made. */
static void a_record_inside_a_frame_gives_its_pc_and_sp(void **state)
{
    const struct inspected row = { LEFT("DNCMN"), .noted = "DC", .is.info_flags = 1 };
    (void)state;
    struct simstack *stack = prepare(&row);
    struct sw_regs *noted = &inspection.noted[1].regs;
    sw_regs_set(noted, SW_X64_RSP, noted->r[SW_X64_RSP] + 8);
    sw_regs_set(noted, SW_X64_RIP, noted->r[SW_X64_RIP] - 2);
    assert_int_equal(ask(stack, &row.is), S_OK);
    assert_string_equal(stack->said, "D0CM0");
    assert_int_equal(stack->heard[2].ip, sw_regs_pc(noted));
    assert_int_equal(sw_regs_pc(&stack->heard[2].regs), sw_regs_pc(noted));
    assert_int_equal(sw_regs_sp(&stack->heard[2].regs), sw_regs_sp(noted));
    assert_int_equal(sw_regs_fp(&stack->heard[2].regs), sw_regs_fp(&stack->regs[2]));
    assert_int_equal(stack->heard[3].ip, sw_regs_pc(&stack->regs[3]));
    tear_down(stack);
}

/* As of a fault, a throw, a hijacked return: the walk comes over frames that the runtime has made up. */
static void registers_that_a_record_has_are_the_frame_s(void **state)
{
    const struct inspected row = { LEFT("NDNCMN"), .noted = "DC", .is.info_flags = 1 };
    (void)state;
    struct simstack *stack = prepare(&row);
    for (size_t i = 0; i < 2; i++) {
        sw_regs_set(&inspection.noted[i].regs, SW_X64_RBX, 0x5151 + i);
        sw_regs_set(&inspection.noted[i].regs, SW_X64_R15, 0x6161 + i);
    }
    assert_int_equal(ask(stack, &row.is), S_OK);
    assert_string_equal(stack->said, "D0CM0");
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(stack->heard[2 * i].regs.r[SW_X64_RBX], 0x5151 + i);
        assert_int_equal(stack->heard[2 * i].regs.r[SW_X64_R15], 0x6161 + i);
    }
    assert_int_equal(stack->heard[0].regs.r[SW_X64_R12], stack->regs[1].r[SW_X64_R12]); /* the walk's */
    assert_int_equal(stack->heard[2].regs.r[SW_X64_R12], stack->regs[3].r[SW_X64_R12]);
    assert_int_equal(stack->heard[3].regs.r[SW_X64_R15], 0x6162); /* and the frames behind have them from it */
    tear_down(stack);
}

/* The same of a frame that is passed over: what faulted, between a handler and its method. */
static void registers_of_a_record_between_handler_and_method_are_those_behind(void **state)
{
    const struct inspected row = { SEEN("CfkeNBMN"), .noted = "B", .of_f = 6, .is.info_flags = 1 };
    (void)state;
    struct simstack *stack = prepare(&row);
    sw_regs_set(&inspection.noted[0].regs, SW_X64_R15, 0x6161);
    inspection.noted[0].context_flags = 0x810000b;
    assert_int_equal(ask(stack, &row.is), S_OK);
    assert_string_equal(stack->said, "CM0");
    assert_int_equal(stack->heard[0].regs.r[SW_X64_R15], stack->regs[0].r[SW_X64_R15]);
    for (size_t i = 1; i < 3; i++)
        assert_int_equal(stack->heard[i].regs.r[SW_X64_R15], 0x6161);
    tear_down(stack);
}

/* One thing of a record changed, so that it is about another frame: this one is passed over. */
static void a_record_that_does_not_fit_is_not_the_frame_s(void **state)
{
    static const struct {
        unsigned number;
        int64_t by;
    } changes[] = { { SW_X64_RBP, 8 }, { SW_X64_RIP, 0x1000 }, { SW_X64_RIP, -AFTER_CALL }, { SW_REGS_MAX, -16 } };
    const struct inspected row = { LEFT("DNCMN"), .noted = "DC" };
    (void)state;
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct simstack *stack = prepare(&row);
        struct sw_regs *noted = &inspection.noted[1].regs;
        sw_regs_set(noted, SW_X64_RSP, noted->r[SW_X64_RSP] + 8);
        if (changes[i].number == SW_REGS_MAX)
            inspection.noted[1].address += (uint64_t)changes[i].by; /* below the frame */
        else
            sw_regs_set(noted, changes[i].number, noted->r[changes[i].number] + (uint64_t)changes[i].by);
        (void)ask(stack, &row.is);
        assert_null(memchr(stack->said, 'C', 3));
        tear_down(stack);
    }
}

/* An inspector whose list of exceptions has no end. */
static bool unwound_without_end(void *arg, const struct sw_thread *thread, uint64_t *cursor, uint64_t *low,
                                uint64_t *high)
{
    (void)thread, (void)cursor;
    ((struct inspection *)arg)->dead_asked++;
    *low = *high = 0;
    return true;
}

static void exceptions_without_end_are_cut_off(void **state)
{
    const struct inspected row = { SEEN("CMN") };
    (void)state;
    struct simstack *stack = prepare(&row);
    inspector.unwound = unwound_without_end;
    assert_int_equal(ask(stack, &row.is), S_OK);
    assert_string_equal(stack->said, "CM0");
    assert_int_equal(inspection.dead_asked, 16);
    tear_down(stack);
}

/* clr-windows-observed.md W96: the leaf is a handler, with a frame pointer that is not its method's. */
static void a_handler_that_begins_belongs_to_the_frame_unwound_up_to(void **state)
{
    const struct inspected row = {
        .is.stack = "DCMBMN", .is.seed = 'D', .is.flavour = SW_FLAVOUR_CORECLR_WINDOWS, .mode = COOP, .unwound = "CB"
    };
    struct inspected other = row;
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        struct simstack *stack = prepare(i ? &other : &row);
        struct sw_codemap *map = sw_sim_codemap(stack->sim);
        struct sw_range code;
        assert_int_equal(sw_codemap_find(map, sw_regs_pc(&stack->regs[0]), &code), SW_OK);
        assert_int_equal(sw_codemap_remove(map, code.begin), SW_OK);
        code.id = 'B';
        code.flags = SW_RANGE_FUNCLET;
        assert_int_equal(sw_codemap_add(map, &code), SW_OK);
        assert_int_equal(ask(stack, &row.is), S_OK);
        assert_string_equal(stack->said, i ? "" : "BM0");
        tear_down(stack);
        other.unwound = "CM";
    }
}

/* ---- what changes while the call goes on ---- */

#define BY_OTHER .is.flavour = SW_FLAVOUR_CORECLR_WINDOWS, .is.who = FROM_OTHER

static bool stands(const struct inspection *in)
{
    return sw_sim_get_counts(in->stack.sim, TARGET).outstanding != 0;
}

/* Until it stood it was in managed code; then it has called out. */
static void update_mode(void *arg, struct sw_thread *thread)
{
    thread->mode = stands(arg) ? PREEMPT : COOP;
}

static void update_region(void *arg, struct sw_thread *thread)
{
    thread->mode = PREEMPT;
    thread->flags = stands(arg) ? SW_THREAD_FORBID_SUSPEND : 0;
}

static void what_counts_is_what_the_target_is_when_it_stands(void **state)
{
    const struct inspected row = { BY_OTHER, .is.stack = "NDCMN", .noted = "D" };
    (void)state;
    struct simstack *stack = prepare(&row);
    inspector.update = update_mode;
    assert_int_equal(ask(stack, &row.is), S_OK);
    assert_string_equal(stack->said, "DCM0");
    tear_down(stack);
    stack = prepare(&row);
    inspector.update = update_region;
    assert_int_equal((uint32_t)ask(stack, &row.is), (uint32_t)CORPROF_E_STACKSNAPSHOT_UNSAFE);
    tear_down(stack);
}

/* The runtime replaces the leaf's return address by code of its own, and notes it when it has been asked twice. */
static unsigned asked;
static uint64_t replaced_at;

static void update_hijack(void *arg, struct sw_thread *thread)
{
    const struct inspection *in = arg;
    struct sw_walker *walker = sw_sim_walker(in->stack.sim);
    thread->mode = COOP;
    if (++asked == 3) {
        walker->replaced.at = replaced_at;
        walker->replaced.original = sw_regs_pc(&in->stack.regs[1]);
    }
}

/* slot: in words from that of the leaf's return address. */
static struct simstack *walk_overtaken(const struct inspected *row, int64_t slot)
{
    struct simstack *stack = prepare(row);
    const uint64_t at = sw_regs_sp(&stack->regs[1]) - 8, stub = code_of_frame(stack, stack->count - 1) + AFTER_CALL;
    assert_int_equal(sw_sim_words(stack->sim, at, &stub, 1), SW_OK);
    inspector.update = update_hijack;
    asked = 0;
    replaced_at = at + 8 * (uint64_t)slot;
    assert_int_equal(ask(stack, &row->is), S_OK);
    return stack;
}

/* clr-windows-observed.md W19c */
static void a_return_address_replaced_while_the_walk_goes_on_is_the_original(void **state)
{
    const struct inspected row = { BY_OTHER, .is.stack = "DCMN" };
    (void)state;
    struct simstack *stack = walk_overtaken(&row, 0);
    assert_string_equal(stack->said, "DCM0");
    assert_int_equal(stack->heard[1].ip, sw_regs_pc(&stack->regs[1]));
    assert_false(stack->heard[1].info.exact);
    tear_down(stack);
    stack = walk_overtaken(&row, 4); /* another frame's */
    assert_string_equal(stack->said, "D0");
    tear_down(stack);
}

/* ---- precompiled methods that the code map does not know ---- */

static bool find_precompiled(void *arg, uint64_t address, struct sw_range *code)
{
    const struct sw_range *range = arg;
    *code = *range;
    return address >= range->begin && address < range->end;
}

static uint64_t name_it(void *arg, uint64_t address)
{
    const struct inspection *in = arg;
    const uint64_t begin = code_of_frame(&in->stack, 1);
    return address >= begin && address < begin + 15 ? 'Z' : 0;
}

static void a_precompiled_method_has_the_name_that_the_runtime_gives(void **state)
{
    const struct inspected row = { SEEN("CDMN") };
    static const char *const heard[] = { "CZM0", "CxM0", "CxM0" };
    FunctionID function;
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        struct simstack *stack = prepare(&row);
        struct sw_range range;
        const uint64_t begin = code_of_frame(stack, 1);
        const struct sw_code_finder finder = { find_precompiled, &range };
        assert_int_equal(sw_codemap_find(sw_sim_codemap(stack->sim), begin, &range), SW_OK);
        assert_int_equal(sw_codemap_remove(sw_sim_codemap(stack->sim), begin), SW_OK);
        range.kind = SW_KIND_NGEN;
        range.id = 'x';
        range.flags = i < 2 ? SW_RANGE_ADDRESS_ID : 0;
        sw_sim_walker(stack->sim)->finder = &finder;
        inspector.function = i != 1 ? name_it : no_function;
        assert_int_equal(ask(stack, &row.is), S_OK);
        assert_string_equal(stack->said, heard[i]);
        const HRESULT hr = sw_function_from_ip(stack->engine, begin, &function);
        assert_int_equal((uint32_t)hr, (uint32_t)(i == 1 ? E_FAIL : S_OK)); /* an address is no FunctionID */
        if (hr == S_OK)
            assert_int_equal(function, heard[i][1]);
        tear_down(stack);
    }
}

/* Where a handler's frame was met when its method was known, and the method's own before that. */
static uint64_t name_method(void *arg, uint64_t address)
{
    const struct inspection *in = arg;
    const uint64_t begin = code_of_frame(&in->stack, 2);
    return address >= begin && address < begin + 15 ? 'M' : 0;
}

static void a_handler_finds_its_method_by_the_name_that_the_runtime_gives(void **state)
{
    const struct inspected row = { SEEN("CfMN"), .of_f = 2 };
    static const char *const heard[] = { "CM0", "C" };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct simstack *stack = prepare(&row);
        struct sw_range range;
        const uint64_t begin = code_of_frame(stack, 2);
        const struct sw_code_finder finder = { find_precompiled, &range };
        assert_int_equal(sw_codemap_find(sw_sim_codemap(stack->sim), begin, &range), SW_OK);
        assert_int_equal(sw_codemap_remove(sw_sim_codemap(stack->sim), begin), SW_OK);
        range.kind = SW_KIND_NGEN;
        range.id = 'x';
        range.flags = SW_RANGE_ADDRESS_ID;
        sw_sim_walker(stack->sim)->finder = &finder;
        inspector.function = i == 0 ? name_method : no_function;
        (void)ask(stack, &row.is);
        assert_string_equal(stack->said, heard[i]);
        tear_down(stack);
    }
}

int main(void)
{
    enum { ROWS = sizeof rows / sizeof rows[0] };
    static const struct CMUnitTest singles[] = {
        cmocka_unit_test(the_frame_told_of_is_the_method_s_own),
        cmocka_unit_test(a_handler_says_what_it_is),
        cmocka_unit_test(a_record_inside_a_frame_gives_its_pc_and_sp),
        cmocka_unit_test(registers_that_a_record_has_are_the_frame_s),
        cmocka_unit_test(registers_of_a_record_between_handler_and_method_are_those_behind),
        cmocka_unit_test(a_record_that_does_not_fit_is_not_the_frame_s),
        cmocka_unit_test(a_handler_that_begins_belongs_to_the_frame_unwound_up_to),
        cmocka_unit_test(exceptions_without_end_are_cut_off),
        cmocka_unit_test(what_counts_is_what_the_target_is_when_it_stands),
        cmocka_unit_test(a_return_address_replaced_while_the_walk_goes_on_is_the_original),
        cmocka_unit_test(a_precompiled_method_has_the_name_that_the_runtime_gives),
        cmocka_unit_test(a_handler_finds_its_method_by_the_name_that_the_runtime_gives),
    };
    struct CMUnitTest tests[ROWS + sizeof singles / sizeof singles[0]];
    for (size_t i = 0; i < ROWS; i++)
        tests[i] =
            (struct CMUnitTest){ rows[i].is.name, situation_is_inspected, NULL, NULL, (void *)(uintptr_t)&rows[i] };
    memcpy(tests + ROWS, singles, sizeof singles);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
