/*
 * Simulated x64 stacks from one letter a frame, leaf first: "NDNCBNAMN" is a native frame on D on a native frame on C
 * ... Every frame is a function of its own with real code (push rbp; mov rbp, rsp; sub rsp, 16; call callee; leave;
 * ret) in a range of its own, and has its words on one stack. What a walk reported is heard in the same letters, '0'
 * for a run.
 *
 *   A-M, O-Z  JIT code, FunctionID = the letter     g h  the same precompiled     i d  JIT, hidden (IL stub, dynamic
 * method) e         JIT, exception dispatch               N n  native                   s    stub x         native code
 * that cannot be decoded: the walk is cut there           z    the same, JIT 0         no function: the return address
 * 0 is in its place (only as the root; every stack ends so anyway)
 */
#ifndef TEST_SIMSTACK_H
#define TEST_SIMSTACK_H

#include "rows.h"

#include <snapwalk/context.h>
#include <snapwalk/sim.h>

#include <string.h>

enum {
    FRAMES_MAX = 32,
    HEARD_MAX = 256,
    STACK_TOP = 0x7ff000,
    STACK_LOW = 0x7f0000,
    FRAME_BYTES = 32,
    IN_BODY = 8,
    AFTER_CALL = 13,
    TARGET = 1,   /* ThreadID of the thread with the stack */
    OTHER = 2,    /* another thread of the table */
    STRANGER = 99 /* a thread that the table does not know */
};

/* What one callback was told. regs: from its CONTEXT, when it got one. */
struct heard {
    FunctionID function;
    UINT_PTR ip;
    COR_PRF_FRAME_INFO frame_info;
    ULONG32 context_size;
    bool has_context;
    struct sw_regs regs;
    struct sw_frame_info info;
    HRESULT info_hr;
    void *client_data;
    uint32_t outstanding; /* suspends of the target while the callback ran */
};

struct simstack {
    struct sw_sim *sim;
    struct sw_engine *engine;
    size_t count;
    char letters[FRAMES_MAX + 1];
    struct sw_regs regs[FRAMES_MAX]; /* of each frame, true values */
    struct sw_transition records[FRAMES_MAX];
    struct sw_thread target;
    struct sw_suspender suspender; /* in place of the simulation's, where that is changed */
    struct sw_scratch scratch;
    struct heard heard[HEARD_MAX];
    size_t heard_count;
    char said[HEARD_MAX + 1];
    HRESULT answer;   /* what the callback answers from the call `answer_at` on */
    size_t answer_at; /* counts from 1; 0: it always answers S_OK */
    void (*in_callback)(struct simstack *stack);
    enum sw_conduct conduct[16];
    size_t conduct_count;
    BYTE context[SW_CONTEXT_MAX_BYTES];
};

static inline enum sw_kind letter_kind(char letter)
{
    static const char *const of_kind[] = { "", "", "gh", "s", "Nnx" };
    for (unsigned kind = SW_KIND_NGEN; kind <= SW_KIND_NATIVE; kind++)
        if (strchr(of_kind[kind], letter))
            return (enum sw_kind)kind;
    return SW_KIND_JIT;
}

static inline uint16_t letter_flags(char letter)
{
    return letter == 'e' ? SW_RANGE_EH_DISPATCH : letter == 'i' || letter == 'd' ? SW_RANGE_HIDDEN : 0;
}

static inline uint64_t code_of_frame(const struct simstack *stack, size_t frame)
{
    const bool native = letter_kind(stack->letters[frame]) == SW_KIND_NATIVE;
    return (native ? 0x500000u : 0x100000u) + frame * 0x100;
}

static inline size_t frame_of_letter(const struct simstack *stack, char letter)
{
    const char *at = strchr(stack->letters, letter);
    assert_non_null(at);
    return (size_t)(at - stack->letters);
}

static inline void put_code(struct simstack *stack, size_t frame)
{
    uint8_t code[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10, 0xe8, 0, 0, 0, 0, 0xc9, 0xc3 };
    const char letter = stack->letters[frame];
    const uint64_t begin = code_of_frame(stack, frame);
    const uint32_t to = (uint32_t)(code_of_frame(stack, frame ? frame - 1 : 0) - (begin + AFTER_CALL));
    memcpy(code + 9, &to, 4);
    if (letter == 'x' || letter == 'z')
        memset(code, 0x06, sizeof code); /* no instruction in 64-bit mode */
    assert_int_equal(sw_sim_bytes(stack->sim, begin, code, sizeof code), SW_OK);
    const struct sw_range range = { .begin = begin,
                                    .end = begin + sizeof code,
                                    .id = (uint64_t)letter,
                                    .kind = (uint8_t)letter_kind(letter),
                                    .unwind = SW_UNWIND_ANALYSIS,
                                    .flags = letter_flags(letter) };
    assert_int_equal(sw_codemap_add(sw_sim_codemap(stack->sim), &range), SW_OK);
}

/* Registers that no frame saves: the same all the way up, and none of them 0. */
static inline struct sw_regs garbage_regs(void)
{
    struct sw_regs regs = { .machine = SW_MACHINE_X64 };
    for (unsigned n = 0; n < SW_X64_COUNT; n++)
        sw_regs_set(&regs, n, UINT64_C(0xbad0000000) + n * 0x111);
    return regs;
}

static inline void put_frame(struct simstack *stack, size_t frame)
{
    const size_t from_root = stack->count - 1 - frame;
    const uint64_t return_slot = STACK_TOP - 8 - from_root * FRAME_BYTES;
    const bool root = from_root == 0;
    const uint64_t words[] = { root ? 0 : return_slot + FRAME_BYTES - 8,
                               root ? 0 : code_of_frame(stack, frame + 1) + AFTER_CALL };
    struct sw_regs *regs = &stack->regs[frame];
    assert_int_equal(sw_sim_words(stack->sim, return_slot - 8, words, 2), SW_OK);
    *regs = garbage_regs();
    sw_regs_set(regs, SW_X64_RIP, code_of_frame(stack, frame) + (frame ? AFTER_CALL : IN_BODY));
    sw_regs_set(regs, SW_X64_RBP, return_slot - 8);
    sw_regs_set(regs, SW_X64_RSP, return_slot - 24);
}

static inline HRESULT SW_COM_CALL hear(FunctionID function, UINT_PTR ip, COR_PRF_FRAME_INFO info, ULONG32 context_size,
                                       BYTE context[], void *client_data)
{
    struct simstack *stack = client_data;
    assert_true(stack->heard_count < HEARD_MAX);
    struct heard *heard = &stack->heard[stack->heard_count];
    *heard = (struct heard){ .function = function,
                             .ip = ip,
                             .frame_info = info,
                             .context_size = context_size,
                             .has_context = context != NULL,
                             .client_data = client_data,
                             .outstanding = sw_sim_get_counts(stack->sim, TARGET).outstanding };
    if (context)
        assert_int_equal(
            sw_context_load(SW_CONTEXT_WIN32, stack->engine->walker->machine, context, context_size, &heard->regs),
            SW_OK);
    heard->info_hr = sw_frame_info_read(stack->engine, info, &heard->info);
    stack->said[stack->heard_count++] = function ? (char)function : '0';
    if (stack->in_callback)
        stack->in_callback(stack);
    return stack->answer_at && stack->heard_count >= stack->answer_at ? stack->answer : S_OK;
}

static inline void note_conduct(void *arg, enum sw_conduct rule, ThreadID thread)
{
    struct simstack *stack = arg;
    (void)thread;
    if (stack->conduct_count < 16)
        stack->conduct[stack->conduct_count++] = rule;
}

static inline size_t count_conduct(const struct simstack *stack, enum sw_conduct rule)
{
    size_t count = 0;
    for (size_t i = 0; i < stack->conduct_count; i++)
        count += stack->conduct[i] == rule;
    return count;
}

/* A transition record for each of the frames named: a note in its frame that it was left for native code. */
static inline void put_records(struct simstack *stack, const char *frames)
{
    for (size_t i = 0; frames && frames[i]; i++) {
        const struct sw_regs *all = &stack->regs[frame_of_letter(stack, frames[i])];
        struct sw_transition *record = &stack->records[stack->target.transition_count++];
        *record = (struct sw_transition){ .address = sw_regs_sp(all) + 8, .has_method = true };
        record->regs.machine = SW_MACHINE_X64;
        sw_regs_set(&record->regs, SW_X64_RIP, sw_regs_pc(all));
        sw_regs_set(&record->regs, SW_X64_RSP, sw_regs_sp(all));
        sw_regs_set(&record->regs, SW_X64_RBP, sw_regs_fp(all));
    }
    stack->target.transitions = stack->records;
}

static inline void put_target(struct simstack *stack)
{
    assert_int_equal(sw_threads_update(sw_sim_threads(stack->sim), &stack->target), SW_OK);
}

/* The stack, its thread TARGET at the leaf, another thread OTHER; the calls come from TARGET itself. */
static inline void build_stack(struct simstack *stack, const char *letters)
{
    struct sw_regs elsewhere = garbage_regs();
    memset(stack, 0, sizeof *stack);
    assert_int_equal(sw_sim_create(NULL, SW_MACHINE_X64, &stack->sim), SW_OK);
    stack->engine = sw_sim_engine(stack->sim);
    stack->engine->on_conduct = note_conduct;
    stack->engine->conduct_arg = stack;
    stack->count = strlen(letters);
    memcpy(stack->letters, letters, stack->count);
    sw_sim_walker(stack->sim)->flags = SW_WALK_NO_FRAME_POINTER; /* what cannot be decoded is a cut */
    for (size_t i = 0; i < stack->count; i++) {
        put_code(stack, i);
        put_frame(stack, i);
    }
    assert_int_equal(sw_sim_thread(stack->sim, TARGET, &stack->regs[0]), SW_OK);
    assert_int_equal(sw_sim_thread(stack->sim, OTHER, &elsewhere), SW_OK);
    stack->target =
        (struct sw_thread){ .id = TARGET, .os_id = TARGET, .stack_begin = STACK_LOW, .stack_end = STACK_TOP };
    put_target(stack);
    sw_sim_run_as(stack->sim, TARGET);
}

static inline void tear_down(struct simstack *stack)
{
    const struct sw_sim_counts counts = sw_sim_get_counts(stack->sim, TARGET);
    assert_int_equal(counts.outstanding, 0);
    assert_int_equal(counts.suspended, counts.resumed);
    assert_int_equal(sw_threads_remove(sw_sim_threads(stack->sim), TARGET), SW_OK); /* hangs if a hold is left */
    sw_sim_destroy(stack->sim);
}

/* A Win32 CONTEXT with the registers of a frame, given by its letter; '?' an address nobody knows, '-' zeros. */
static inline void put_seed(struct simstack *stack, char letter)
{
    struct sw_regs regs = garbage_regs();
    if (letter != '?' && letter != '-')
        regs = stack->regs[frame_of_letter(stack, letter)];
    memset(stack->context, 0, sizeof stack->context);
    if (letter != '-')
        assert_int_equal(sw_context_store(SW_CONTEXT_WIN32, &regs, stack->context, SW_CONTEXT_X64_BYTES), SW_OK);
}

/* ---- situations: one row, one test ---- */

enum who {
    SELF = 0,     /* thread 0, called by the target */
    OWN_ID,       /* its own ThreadID */
    FROM_OTHER,   /* called by OTHER */
    FROM_STRANGER /* called by a thread that the table does not know */
};

/* with: what is odd about the call or the target */
enum {
    NO_CALLBACK = 1,
    STACK_UNREADABLE = 2,
    NO_SUSPENDER = 4,
    MASK_OFF = 8,
    PRESTUB = 16,      /* a record that has a method and leads nowhere */
    RECORD_BELOW = 32, /* the top record lies below the leaf's stack pointer */
    THREAD_ZERO = 64,  /* thread 0 although somebody else calls */
    FALSE_ROOT = 128,  /* the frame with index 2 returns to 0 */
    SHORT_STACK = 256, /* the thread's stack is said to end below the root's frame */
    OTHER_STACK = 512, /* the engine's walker has the bounds of some other stack */
    NO_CAPTURE = 1024, /* the suspender cannot give the caller's own registers */
    SYSTEM_CALL = 2048 /* the suspender says that whoever it stops stands in a system call */
};

/*
 * thread   The ThreadID asked for; 0: as `who` says. seed, records  By letters. heard  What must be reported, in order.
 * suspends How often the target must have been suspended (and resumed).
 */
struct situation {
    const char *name;
    const char *stack;
    const char *records;
    const char *heard;
    HRESULT hr;
    enum sw_flavour flavour;
    enum sw_mode mode;
    enum who who;
    uint32_t thread_flags;
    uint32_t runtime; /* added to SW_RUNTIME_READY */
    uint32_t not_runtime;
    uint32_t options;
    uint32_t with; /* NO_CALLBACK and the like */
    ULONG32 info_flags;
    ULONG32 context_size; /* 0: what a CONTEXT has */
    ThreadID thread;
    enum sw_status suspend_answer;
    uint32_t suspends;
    HRESULT answer;
    size_t answer_at;
    uint32_t max_frames;
    char seed;
};

static inline bool always(void *arg, uint64_t os_id)
{
    (void)arg, (void)os_id;
    return true;
}

static inline void make_odd(struct simstack *stack, uint32_t with)
{
    const uint64_t zero = 0;
    struct sw_thread *target = &stack->target;
    if (with & PRESTUB)
        stack->records[target->transition_count++] =
            (struct sw_transition){ .address = STACK_TOP - 64, .has_method = true };
    if (with & RECORD_BELOW)
        stack->records[0].address = sw_regs_sp(&stack->regs[0]) - 8;
    if (with & SHORT_STACK)
        target->stack_end = sw_regs_sp(&stack->regs[stack->count - 1]) - 8;
    if (with & OTHER_STACK) {
        sw_sim_walker(stack->sim)->stack_begin = sw_regs_sp(&stack->regs[0]);
        sw_sim_walker(stack->sim)->stack_end = sw_regs_sp(&stack->regs[0]) + 8;
    }
    if (with & MASK_OFF)
        stack->engine->event_mask = 0;
    if (with & NO_SUSPENDER)
        stack->engine->suspender = NULL;
    if (with & (NO_CAPTURE | SYSTEM_CALL)) {
        stack->suspender = *stack->engine->suspender;
        if (with & NO_CAPTURE)
            stack->suspender.capture = NULL;
        if (with & SYSTEM_CALL)
            stack->suspender.in_system_call = always;
        stack->engine->suspender = &stack->suspender;
    }
    if (with & FALSE_ROOT)
        assert_int_equal(sw_sim_words(stack->sim, sw_regs_fp(&stack->regs[2]) + 8, &zero, 1), SW_OK);
    if (with & STACK_UNREADABLE)
        assert_int_equal(sw_sim_unmap(stack->sim, STACK_LOW, STACK_TOP - STACK_LOW), SW_OK);
}

static inline void arrange(struct simstack *stack, const struct situation *row)
{
    static const uint64_t callers[] = { TARGET, TARGET, OTHER, STRANGER };
    struct sw_engine *engine;
    build_stack(stack, row->stack);
    engine = stack->engine;
    engine->flavour = row->flavour;
    engine->options = row->options;
    engine->runtime = (engine->runtime | row->runtime) & ~row->not_runtime;
    stack->target.mode = row->mode;
    stack->target.flags = row->thread_flags;
    put_records(stack, row->records);
    make_odd(stack, row->with);
    put_target(stack);
    sw_sim_fail_suspend(stack->sim, row->suspend_answer);
    sw_sim_walker(stack->sim)->max_frames = row->max_frames;
    stack->answer = row->answer;
    stack->answer_at = row->answer_at;
    sw_sim_run_as(stack->sim, callers[row->who]);
    if (row->seed)
        put_seed(stack, row->seed);
}

static inline HRESULT ask(struct simstack *stack, const struct situation *row)
{
    const ThreadID thread = row->thread ? row->thread : row->who == SELF || row->with & THREAD_ZERO ? 0 : TARGET;
    return sw_snapshot(stack->engine, &stack->scratch, thread, row->with & NO_CALLBACK ? NULL : hear, row->info_flags,
                       stack, row->seed ? stack->context : NULL,
                       row->context_size ? row->context_size : SW_CONTEXT_X64_BYTES);
}

static inline void situation_is_answered(void **state)
{
    static struct simstack stack;
    const struct situation *row = *state;
    arrange(&stack, row);
    assert_int_equal((uint32_t)ask(&stack, row), (uint32_t)row->hr);
    assert_string_equal(stack.said, row->heard ? row->heard : "");
    assert_int_equal(sw_sim_get_counts(stack.sim, TARGET).suspended, row->suspends);
    if (row->hr != S_OK) {
        assert_int_equal((uint32_t)stack.engine->refusal.hr, (uint32_t)row->hr);
        assert_non_null(stack.engine->refusal.reason);
    }
    tear_down(&stack);
}

#endif
