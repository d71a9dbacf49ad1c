/*
 * Snapshots of the own stack that are answered out of a memo (src/snapshot/memo.c): what changes between two of them,
 * the second one is answered as if there were no memo. Real JIT code on this stack, beside a runtime without code.
 */
#include "rows.h"
#include "host.h"

#include "../support/runtime.h"

#if defined(__x86_64__)
#include "clr_native.h"
#include "snapshot/memo_parts.h"

#include <snapwalk/cache.h>
#include <snapwalk/context.h>
#include <snapwalk/self.h>

#include <stdlib.h>

enum {
    JIT = 'J',
    OTHER = 'K',
    LAST = 'L',
    JIT_BYTES = 8,
    CODE_AT = 0x10,
    CODE_STEP = 0x30,
    FORBID_AT = 48,
    EXCEPTION_AT = 0x400
};

/* push rbp; mov rbp, rsp; call rdi; pop rbp; ret */
static const uint8_t jit_code[JIT_BYTES] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };

typedef void jit_function(void (*callee)(void));
static struct fake_runtime fake;
static struct sw_clr *clr;
static uint8_t *page;
static jit_function *jits[3];

static uint64_t code_at(unsigned n)
{
    return native_at(page + CODE_AT + n * CODE_STEP);
}

static void make_page(void)
{
    page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(page, MAP_FAILED);
    for (unsigned n = 0; n < COUNT_OF(jits); n++) {
        const void *const at = page + CODE_AT + n * CODE_STEP;
        memcpy(page + CODE_AT + n * CODE_STEP, jit_code, sizeof jit_code);
        memcpy(&jits[n], &at, sizeof at);
    }
    assert_int_equal(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
}

static int begin(void **state)
{
    (void)state;
    if (!page)
        make_page();
    fake_runtime_init(&fake);
    native_begin();
    if (sw_clr_create(NULL, (IUnknown *)(void *)&fake, &clr) != SW_OK)
        return 1;
    for (unsigned n = 0; n < 2; n++) {
        fake_runtime_compile(&fake, JIT + n, 0, code_at(n), JIT_BYTES);
        sw_clr_function_compiled(clr, JIT + n, 0);
    }
    native.layout.at[SW_CLR_THREAD_FORBID] = FORBID_AT;
    native.layout.at[SW_CLR_THREAD_EXCEPTION] = EXCEPTION_AT; /* the last of the object that is looked at */
    native_follow(clr);
    fake.threads[0] = (struct fake_thread){ native_at(native.thread), (DWORD)sw_self_thread() };
    fake.thread_count = 1;
    sw_clr_thread_created(clr, native_at(native.thread));
    return 0;
}

static int end(void **state)
{
    (void)state;
    sw_clr_destroy(clr);
    clr = NULL;
    return 0;
}

/* ---- a snapshot ---- */

static struct answer {
    char text[32]; /* a letter a callback */
    UINT_PTR ips[32];
    uint64_t known[32];
    unsigned hidden[32];
    uint64_t registers[32][SW_X64_COUNT];
    unsigned count;
    unsigned most; /* 0: all */
    HRESULT hr;
    ULONG32 sizes;
    enum sw_stop stop;
    uint64_t at;
} told;

static enum sw_flavour flavour;
static ULONG32 info_flags, info_flags_of_test;
static bool walked;

static HRESULT SW_COM_CALL tell(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                BYTE context[], void *client_data)
{
    const unsigned n = told.count;
    struct sw_frame_info read = { 0 };
    assert_ptr_equal(client_data, &told);
    struct sw_regs regs = { 0 };
    assert_int_equal(context != NULL, info_flags != 0);
    assert_true(!context || sw_context_load(SW_CONTEXT_WIN32, SW_MACHINE_X64, context, context_size, &regs) == SW_OK);
    if (n + 1 < sizeof told.text) {
        told.text[n] = function ? (char)function : '0';
        told.ips[n] = ip;
        if (flavour != SW_FLAVOUR_DOCUMENTED) /* there, of the library's own functions, too */
            memcpy(told.registers[n], regs.r, sizeof told.registers[n]);
        (void)!sw_frame_info_read(&clr->leases[0].engine, info, &read);
        assert_true(read.function == function && read.ip == ip);
        told.known[n] = read.known ^ (uint64_t)read.source << 40 ^ (uint64_t)read.trust << 48 ^ read.exact;
        told.hidden[n] = read.hidden;
        told.count++;
    }
    told.sizes += context_size;
    return told.count == told.most ? S_FALSE : S_OK;
}

static uint64_t hits(void)
{
    return sw_cache_get_counts(clr->cache).hits;
}

/* The runtime's note of the JIT code that called a function with that frame: on this stack, as the runtime's are. */
static void put_note(uint8_t *note, const uint64_t *frame, uint64_t next)
{
    native_put(note, 0, TARGET_INLINED, 8);
    native_set(note, SW_CLR_FRAME_NEXT, next, 8);
    native_set(note, SW_CLR_INLINED_RETURN, frame[1], 8);
    native_set(note, SW_CLR_INLINED_SP, native_at(frame + 2), 8);
    native_set(note, SW_CLR_INLINED_FP, frame[0], 8);
    native_set(native.thread, SW_CLR_THREAD_FRAME, native_at(note), 8);
}

static uint8_t *outer;

static void __attribute__((noinline)) snapshot(void)
{
    _Alignas(16) uint8_t note[64] = { 0 };
    put_note(note, __builtin_frame_address(0), native_at(outer));
    const unsigned most = told.most;
    memset(&told, 0, sizeof told);
    told.most = most;
    const uint64_t before = hits();
    told.hr = sw_clr_snapshot(clr, flavour, 0, tell, info_flags, &told, NULL, 0);
    walked = hits() != before;
    told.stop = clr->leases[0].engine.stop;
    told.at = told.hr == S_OK ? 0 : clr->leases[0].engine.refusal.address;
    atomic_signal_fence(memory_order_seq_cst);
}

static jit_function *volatile inner;

static void __attribute__((noinline)) through_inner(void)
{
    _Alignas(16) uint8_t note[64] = { 0 };
    put_note(note, __builtin_frame_address(0), UINT64_MAX);
    outer = note;
    inner(snapshot);
    atomic_signal_fence(memory_order_seq_cst); /* not a tail call: this frame stays */
}

/* What the JIT code's caller has in rbx, which functions behind it save, and in r15, which none of them needs. */
static volatile uint64_t in_rbx, in_r15;

static void nothing(void)
{
}
static void (*volatile any)(void) = nothing;

static void __attribute__((noinline)) take(void)
{
    const uint64_t rbx = in_rbx;
    void (*argument)(void) = through_inner;
    any(); /* so the stack pointer is aligned, and nothing is below it */
    jit_function *jit = jits[0];
    __asm__ volatile("xor %%r12d, %%r12d\n"
                     "xor %%r13d, %%r13d\n"
                     "xor %%r14d, %%r14d\n"
                     "mov %[in_r15], %%r15\n"
                     "call *%[jit]"
                     : "+D"(argument), [jit] "+a"(jit)
                     : "b"(rbx), [in_r15] "m"(in_r15)
                     : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory", "cc");
    atomic_signal_fence(memory_order_seq_cst);
}

static void __attribute__((noinline)) take_elsewhere(void)
{
    volatile uint64_t room[64];
    room[0] = 0;
    take();
    (void)room[0]; /* not a tail call */
}

/* One place takes all: whoever else calls, it is another stack. */
enum { WARM = 4, NOTED = 32, CHANGED, UNDONE, AGAIN = 512, TAKEN };
static struct taken {
    struct answer told;
    bool walked;
} taken[TAKEN];

/* No arguments: these would be in registers that the CONTEXTs have. */
static bool forgets, moves;

static void __attribute__((noinline)) prepare(unsigned i, void (*change)(bool undo), unsigned most)
{
    if (change && (i == CHANGED || i == UNDONE))
        change(i == UNDONE);
    for (unsigned n = 0; forgets && n < SW_CLR_LEASES; n++)
        sw_memo_spoil(clr->leases[n].memo);
    told.most = i == CHANGED ? most : 0;
}

static void __attribute__((noinline)) keep(unsigned i)
{
    taken[i] = (struct taken){ told, walked };
}

static void __attribute__((noinline)) take_all(void (*change)(bool undo), unsigned most)
{
    memset(&told, 0, sizeof told);
    memset(taken, 0, sizeof taken);
    flavour = SW_FLAVOUR_CORECLR_UNIX;
    info_flags = info_flags_of_test;
    inner = jits[0];
    for (volatile unsigned i = 0; i < TAKEN; i++) { /* not in a register */
        prepare(i, change, most);
        if (moves && (i < WARM || i > NOTED) && i % 2 != 0) /* code that is new ends what is noted */
            take_elsewhere();
        else
            take();
        keep(i);
    }
}

/* ---- tests ---- */

static void an_answer_is_given_again(void)
{
    forgets = false;
    take_all(NULL, 0);
    assert_string_equal(taken[0].told.text, "J0J0");
    assert_true(taken[1].walked);
    for (unsigned i = NOTED; i < TAKEN; i++) {
        assert_false(taken[i].walked);
        assert_memory_equal(&taken[i].told, &taken[2].told, sizeof told);
    }
}

/* A stack that is seen in turn with another one keeps its answer. */
static void an_answer_stays(void)
{
    forgets = false;
    moves = true;
    take_all(NULL, 0);
    moves = false;
    for (unsigned i = NOTED; i < TAKEN; i++)
        assert_int_equal(taken[i].walked, i > NOTED && i % 2 != 0);
}

/* Lone words, runs of two, three and four, in falling order, and again in rising order. */
static const uint64_t word_places[] = { 520, 512, 504, 496, 400, 320, 312, 304, 128, 120, 96, 64 };

static uint64_t value_of(uint64_t at)
{
    return 3 * at;
}

/* How often a word is compared with its value; with another one: the test fails. */
static unsigned times_compared(const struct sw_memo *memo, uint64_t at)
{
    unsigned times = 0;
    for (uint32_t i = 0; i < memo->word_count; i++) {
        times += memo->words[i].at == at;
        assert_int_equal(memo->words[i].value, value_of(memo->words[i].at));
    }
    for (uint32_t i = 0; i < memo->pair_count; i++)
        for (unsigned n = 0; n < 2; n++) {
            times += memo->pairs[i].at + n * SW_WORD == at;
            assert_int_equal(memo->pairs[i].values[n], value_of(memo->pairs[i].at + n * SW_WORD));
        }
    return times;
}

static void all_words_are_compared(void **state)
{
    static struct sw_memo memo;
    (void)state;
    for (uint32_t first = 0; first < COUNT_OF(word_places); first++) {
        memo.word_count = 0;
        for (uint32_t i = first; i < COUNT_OF(word_places); i++)
            memo.words[memo.word_count++] = (struct word){ word_places[i], value_of(word_places[i]) };
        for (uint32_t i = COUNT_OF(word_places); i > first; i--)
            memo.words[memo.word_count++] = (struct word){ word_places[i - 1], value_of(word_places[i - 1]) };
        sw_memo_pack_words(&memo);
        for (uint32_t i = 0; i < COUNT_OF(word_places); i++)
            assert_int_equal(times_compared(&memo, word_places[i]) != 0, i >= first);
        assert_int_equal(times_compared(&memo, 56) + times_compared(&memo, 72) + times_compared(&memo, 528), 0);
        assert_true(memo.word_count % GROUP == 0 && memo.pair_count % GROUP == 0);
    }
}

/* Each makes another answer, or one that has to be found anew. undo: what it was. */
static void other_code(bool undo)
{
    inner = jits[undo ? 0 : 1];
}

static void forbidden(bool undo)
{
    native_set(native.thread, SW_CLR_THREAD_FORBID, undo ? 0 : 1, 4);
}

static void no_events(bool undo)
{
    fake.events = undo ? COR_PRF_ENABLE_STACK_SNAPSHOT : 0;
}

static void detaching(bool undo)
{
    sw_clr_set_runtime(clr, undo ? 0 : SW_RUNTIME_DETACHING, undo ? SW_RUNTIME_DETACHING : 0);
}

static void documented(bool undo)
{
    flavour = undo ? SW_FLAVOUR_CORECLR_UNIX : SW_FLAVOUR_DOCUMENTED;
}

static void of_windows(bool undo)
{
    flavour = undo ? SW_FLAVOUR_CORECLR_UNIX : SW_FLAVOUR_CORECLR_WINDOWS;
}

static void a_limit(bool undo)
{
    sw_clr_set_frame_limit(clr, undo ? 0 : 2, false);
}

static void both_ends(bool undo)
{
    sw_clr_set_frame_limit(clr, undo ? 0 : 2, !undo);
}

static void new_code(bool undo)
{
    if (undo)
        return;
    fake_runtime_compile(&fake, LAST, 0, code_at(2), JIT_BYTES);
    sw_clr_function_compiled(clr, LAST, 0);
}

/* It matters to those who get registers. */
static void other_register(bool undo)
{
    in_rbx = undo ? 0 : 0x4711;
}

static void other_register_kept(bool undo)
{
    in_r15 = undo ? 0 : 0x4711;
}

static void context_wanted(bool undo)
{
    const ULONG32 other = info_flags_of_test ^ COR_PRF_SNAPSHOT_REGISTER_CONTEXT;
    info_flags = undo ? info_flags_of_test : other;
}

/* The same bytes are another method's. */
static void renamed_code(bool undo)
{
    struct sw_range range;
    assert_int_equal(sw_codemap_find(clr->codemap, code_at(0), &range), SW_OK);
    assert_int_equal(sw_codemap_remove(clr->codemap, range.begin), SW_OK);
    range.id = undo ? JIT : LAST;
    assert_int_equal(sw_codemap_add(clr->codemap, &range), SW_OK);
}

static void dead_thread(bool undo)
{
    if (undo)
        sw_clr_thread_created(clr, native_at(native.thread));
    else
        sw_clr_thread_destroyed(clr, native_at(native.thread));
}

static const struct change_row {
    const char *name;
    void (*change)(bool undo);
} change_rows[] = {
    { "memo_when_another_method_calls", other_code },
    { "memo_when_the_thread_forbids", forbidden },
    { "memo_without_events", no_events },
    { "memo_of_a_detaching_profiler", detaching },
    { "memo_of_another_flavour", documented },
    { "memo_of_windows", of_windows },
    { "memo_with_a_limit", a_limit },
    { "memo_with_both_ends", both_ends },
    { "memo_when_code_is_renamed", renamed_code },
    { "memo_with_another_register", other_register },
    { "memo_with_another_register_that_nobody_saved", other_register_kept },
    { "memo_with_other_flags", context_wanted },
    { "memo_when_code_is_new", new_code },
    { "memo_of_a_thread_that_is_gone", dead_thread },
};

/* All is as if there had never been a memo. */
static void what_changes_is_answered_anew(const struct change_row *row)
{
    static struct taken with[TAKEN];
    forgets = false;
    take_all(row->change, 0);
    memcpy(with, taken, sizeof with);
    assert_int_equal(end(NULL), 0);
    assert_int_equal(begin(NULL), 0);
    forgets = true;
    take_all(row->change, 0);
    for (unsigned i = 0; i < TAKEN; i++)
        assert_memory_equal(&with[i].told, &taken[i].told, sizeof told);
    assert_false(with[NOTED].walked);
    assert_false(with[AGAIN].walked);
    assert_true(taken[NOTED].walked);
}

static void a_callback_ends_what_is_given_again(void)
{
    static struct taken with;
    for (unsigned most = 1; most <= 4; most++) {
        forgets = false;
        take_all(NULL, most);
        with = taken[CHANGED];
        forgets = true;
        take_all(NULL, most);
        assert_int_equal(with.told.hr, CORPROF_E_STACKSNAPSHOT_ABORTED);
        assert_int_equal(with.told.count, most);
        assert_memory_equal(&with.told, &taken[CHANGED].told, sizeof told);
    }
}

/* ---- without and with registers ---- */

static void answers(void **state)
{
    (void)state;
    info_flags_of_test = 0;
    an_answer_is_given_again();
    an_answer_stays();
    a_callback_ends_what_is_given_again();
}

static void answers_with_registers(void **state)
{
    (void)state;
    info_flags_of_test = COR_PRF_SNAPSHOT_REGISTER_CONTEXT;
    an_answer_is_given_again();
    an_answer_stays();
    a_callback_ends_what_is_given_again();
}

static void changes(void **state)
{
    info_flags_of_test = 0;
    what_changes_is_answered_anew(*state);
    assert_int_equal(end(NULL), 0);
    assert_int_equal(begin(NULL), 0);
    info_flags_of_test = COR_PRF_SNAPSHOT_REGISTER_CONTEXT;
    what_changes_is_answered_anew(*state);
}

int main(void)
{
    static const struct CMUnitTest single[] = {
        cmocka_unit_test_setup_teardown(answers, begin, end),
        cmocka_unit_test_setup_teardown(answers_with_registers, begin, end),
        cmocka_unit_test_setup_teardown(all_words_are_compared, begin, end),
    };
    struct CMUnitTest tests[COUNT_OF(single) + COUNT_OF(change_rows)];
    memcpy(tests, single, sizeof single);
    FILL_ROWS(tests + COUNT_OF(single), change_rows, changes);
    SET_UP(tests, COUNT_OF(single), COUNT_OF(tests), begin, end);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
MAIN_THAT_NEEDS_X64
#endif
