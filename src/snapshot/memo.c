/*
 * See memo.h and noting.h. Knows what a frame's step loads, and what an answer depends on beside memory. Refuses to
 * know what frames mean (fold.c) and the runtime's structures (the inspector).
 *
 * A register that was saved matters only where it is used later: a frame pointer where a step goes by it, or the fold
 * compares it; all that a CONTEXT has, in a callback that gets one. Native code may have anything in the others.
 */
#include "snapshot/noting.h"

#include "common/alloc.h"
#include "unwind/unwind.h"
#include "walk/scratch.h"

#include <string.h>

enum { WORDS = 4096, CALLBACKS = 1024, EVENTS = 2048, GROUP = 4, EARLY = 256, PATIENCE_MOST = 256 };

_Static_assert(WORDS % GROUP == 0 && sizeof(struct sw_walker) % SW_WORD == 0, "whole groups and words");

/* All that an answer depends on that is no memory of the target; own_fp: if that is needed. */
struct asked {
    struct sw_walker walker;
    struct sw_thread thread;
    uint64_t caller;
    uint64_t codemap, images;
    uint64_t pc, sp, own[SW_X64_COUNT];
    enum sw_flavour flavour;
    uint32_t options;
    uint32_t runtime;
    DWORD event_mask;
    ULONG32 context_size;
    ULONG32 info_flags;
};

/*
 * What happens to registers, by bit: a step restores them, the frame pointer from fp_at (0: it does not), others from
 * `slots` below sp; before that they are used. Or a record gives them.
 */
struct event {
    uint64_t sp, fp_at, slots;
    uint64_t uses, gives;
};

#define FP (UINT64_C(1) << SW_X64_RBP)

/* What of a CONTEXT changes from callback to callback: Rbx to Rdi, R12 to Rip. Source: winnt.h, CONTEXT. */
enum { FLAGS_AT = 0x30, FIRST_AT = 0x90, SECOND_AT = 0xd8, IN_ROW = 5 };
struct context {
    uint64_t first[IN_ROW], second[IN_ROW];
    uint32_t flags;
};

/*
 * is_noted     There is an answer.  is_noting: it is being noted; is_spoilt: but cannot be.
 * needs        The start's registers that matter, by bit.  has_reached: a record's frame was reached.
 * alike        How many answers in a row were like the one before, by sp, pc and callbacks (last). After `patience` one
 *              is noted. An answer that did not hold any more when it was needed doubles that.
 * memory       With which the inspector reads.  safe: what of it may be loaded again, later.
 */
struct sw_memo {
    struct sw_alloc alloc;
    bool is_noted, is_noting, is_spoilt, has_reached;
    uint64_t needs;
    uint32_t alike, patience;
    struct {
        uint64_t pc, sp, callbacks;
    } last;
    struct asked asked;
    struct sw_memory memory;
    struct sw_window safe[SW_MEMO_PARTS];
    enum sw_stop stop;
    const char *reason;
    uint32_t word_count, callback_count, event_count;
    ULONG32 given_size; /* of the CONTEXTs that callbacks get */
    struct event events[EVENTS];
    struct word {
        uint64_t at, value;
    } words[WORDS];
    struct told {
        struct sw_frame_info info;
        uint64_t pc;
        enum sw_kind kind;
    } callbacks[CALLBACKS];
    BYTE given[SW_CONTEXT_MAX_BYTES]; /* the first of them */
    struct context contexts[CALLBACKS];
};

enum sw_status sw_memo_create(const struct sw_alloc *alloc, struct sw_memo **memo)
{
    struct sw_memo *made = alloc->get(alloc->arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    memset(made, 0, offsetof(struct sw_memo, events)); /* the rest takes memory when it is written */
    made->alloc = *alloc;
    made->patience = 1;
    *memo = made;
    return SW_OK;
}

void sw_memo_destroy(struct sw_memo *memo)
{
    if (memo)
        memo->alloc.put(memo->alloc.arg, memo, sizeof *memo);
}

/* ---- what an answer depends on ---- */

static bool is_possible(const struct sw_call *call)
{
    const struct sw_engine *engine = call->engine;
    return call->own && call->callback && call->thread != 0 && call->caller != 0 && !call->context &&
           (call->info_flags & ~(ULONG32)COR_PRF_SNAPSHOT_REGISTER_CONTEXT) == 0 &&
           engine->walker->machine == SW_MACHINE_X64 && engine->flavour != SW_FLAVOUR_DOCUMENTED && engine->inspector &&
           (engine->options & (SW_ENGINE_OWN_PROCESS | SW_ENGINE_BOTH_ENDS)) == SW_ENGINE_OWN_PROCESS;
}

/* Word by word; padding is copied with them. */
static SW_INLINE uint64_t differs(const void *a, const void *b, size_t from, size_t to)
{
    uint64_t bits = 0;
    for (size_t at = from; at < to; at += SW_WORD) {
        uint64_t x, y;
        memcpy(&x, (const char *)a + at, sizeof x);
        memcpy(&y, (const char *)b + at, sizeof y);
        bits |= x ^ y;
    }
    return bits;
}

/* The rest is what the inspector sets. */
static bool is_same_walker(const struct sw_walker *a, const struct sw_walker *b)
{
    return (differs(a, b, 0, offsetof(struct sw_walker, replaced)) |
            differs(a, b, offsetof(struct sw_walker, stack_begin), sizeof *a)) == 0;
}

static bool has_same_registers(const struct sw_memo *memo, const struct sw_regs *own)
{
    for (uint64_t rest = memo->needs; rest != 0; rest &= rest - 1)
        if (own->r[__builtin_ctzll(rest)] != memo->asked.own[__builtin_ctzll(rest)])
            return false;
    return true;
}

static bool is_same_call(const struct sw_memo *memo, const struct sw_call *call)
{
    const struct asked *asked = &memo->asked;
    const struct sw_engine *engine = call->engine;
    const struct sw_regs *own = call->own;
    return own->r[SW_X64_RSP] == asked->sp && own->r[SW_X64_RIP] == asked->pc &&
           call->info_flags == asked->info_flags && has_same_registers(memo, own) && call->thread == asked->thread.id &&
           call->caller == asked->caller && engine->flavour == asked->flavour && engine->options == asked->options &&
           __atomic_load_n(&engine->runtime, __ATOMIC_RELAXED) == asked->runtime &&
           __atomic_load_n(&engine->event_mask, __ATOMIC_RELAXED) == asked->event_mask &&
           engine->context_size == asked->context_size && is_same_walker(engine->walker, &asked->walker) &&
           sw_codemap_generation(engine->walker->codemap) == asked->codemap &&
           sw_images_generation(engine->walker->images) == asked->images;
}

static bool is_same_thread(const struct sw_thread *a, const struct sw_thread *b)
{
    return a->id == b->id && a->os_id == b->os_id && a->stack_begin == b->stack_begin && a->stack_end == b->stack_end &&
           a->mode == b->mode && a->flags == b->flags;
}

SW_OTHERS_FRAMES static SW_INLINE uint64_t word_at(uint64_t address)
{
    uint64_t word;
    memcpy(&word, (const void *)(uintptr_t)address, sizeof word);
    return word;
}

SW_OTHERS_FRAMES static SW_INLINE uint64_t word_differs(const struct word *word)
{
    return word_at(word->at) ^ word->value;
}

/* Four at a time: the last ones are filled up with one of them. */
SW_OTHERS_FRAMES static bool words_hold(const struct sw_memo *memo)
{
    uint64_t bits = 0;
    for (const struct word *w = memo->words, *end = w + memo->word_count; w < end; w += GROUP)
        bits |= word_differs(w) | word_differs(w + 1) | word_differs(w + 2) | word_differs(w + 3);
    return bits == 0;
}

/* ---- a noted answer ---- */

/*
 * As the ladder's steps. Nobody else has the scratch of a call that has a memo. False: what was taken is given back,
 * and the ladder says why.
 */
static bool enter(struct sw_call *call, struct sw_memo *memo)
{
    if (sw_threads_enter(call->engine->threads, call->thread, &call->target, &call->held) != SW_OK)
        return false;
    memo->is_noted = is_same_thread(&call->target, &memo->asked.thread) && words_hold(memo);
    if (memo->is_noted && sw_threads_lock(call->held, call->caller) == 0) {
        call->locked = true;
        sw_call_enter_engine(call);
        if (call->live)
            return true;
        sw_threads_unlock(call->held);
    }
    sw_threads_leave(call->held);
    call->held = (struct sw_held){ 0 };
    call->locked = false;
    return false;
}

/* The callback wants no more than the one that was just made. */
static HRESULT aborted(struct sw_call *call, const struct told *at)
{
    struct sw_refusal *refusal = sw_call_explain(call);
    refusal->stop = call->stop = SW_STOP_ABORTED;
    refusal->address = at->pc;
    refusal->kind = at->kind;
    call->reason = sw_stop_name(SW_STOP_ABORTED);
    return CORPROF_E_STACKSNAPSHOT_ABORTED;
}

static void give_context(BYTE *given, const struct context *context)
{
    memcpy(given + FLAGS_AT, &context->flags, sizeof context->flags);
    memcpy(given + FIRST_AT, context->first, sizeof context->first);
    memcpy(given + SECOND_AT, context->second, sizeof context->second);
}

/* No callback changes what is noted: a call in one has another scratch, and another memo. */
static SW_INLINE HRESULT call_back_all(struct sw_call *call, const struct sw_memo *memo, ULONG32 size)
{
    const struct context *context = memo->contexts;
    BYTE *const given = size ? call->work->context : NULL;
    struct sw_frame_info *record = &call->work->records[0];
    StackSnapshotCallback *const callback = call->callback;
    uint64_t *const live = call->live;
    const uint64_t idle = sw_call_idle(call);
    void *const client_data = call->client_data;
    const struct told *const first = memo->callbacks, *const end = first + memo->callback_count;
    for (const struct told *told = first; told < end; told++) {
        *record = told->info;
        if (size)
            give_context(given, context++);
        __atomic_store_n(live, (uintptr_t)record, __ATOMIC_RELAXED);
        const HRESULT hr = callback(told->info.function, told->info.ip, (COR_PRF_FRAME_INFO)(uintptr_t)record, size,
                                    given, client_data);
        __atomic_store_n(live, idle, __ATOMIC_RELAXED);
        if (hr != S_OK) {
            call->reported = (uint32_t)(told - first) + 1;
            return aborted(call, told);
        }
    }
    call->reported = memo->callback_count;
    call->stop = memo->stop;
    call->reason = memo->reason;
    return S_OK;
}

bool sw_memo_recall(struct sw_call *call, HRESULT *hr)
{
    struct sw_memo *memo = call->memo;
    if (!memo || !memo->is_noted || !is_possible(call) || !is_same_call(memo, call) || !enter(call, memo))
        return false;
    memo->patience = 1;
    if (memo->given_size)
        memcpy(call->work->context, memo->given, memo->given_size);
    *hr = memo->given_size ? call_back_all(call, memo, memo->given_size) : call_back_all(call, memo, 0);
    return true;
}

/* ---- noting ---- */

void sw_memo_begin(struct sw_call *call)
{
    struct sw_memo *memo = call->memo;
    const struct sw_engine *engine = call->engine;
    if (!memo || !is_possible(call) || memo->alike < memo->patience)
        return;
    memo->alike = 0;
    memo->patience = memo->patience < PATIENCE_MOST ? 2 * memo->patience : PATIENCE_MOST;
    memo->is_noting = true;
    memo->is_noted = memo->is_spoilt = memo->has_reached = false;
    memo->word_count = memo->callback_count = memo->event_count = 0;
    memset(memo->safe, 0, sizeof memo->safe);
    memo->asked = (struct asked){ .caller = call->caller,
                                  .codemap = sw_codemap_generation(engine->walker->codemap),
                                  .images = sw_images_generation(engine->walker->images),
                                  .pc = call->own->r[SW_X64_RIP],
                                  .sp = call->own->r[SW_X64_RSP],
                                  .flavour = engine->flavour,
                                  .options = engine->options,
                                  .runtime = __atomic_load_n(&engine->runtime, __ATOMIC_RELAXED),
                                  .event_mask = __atomic_load_n(&engine->event_mask, __ATOMIC_RELAXED),
                                  .context_size = engine->context_size,
                                  .info_flags = call->info_flags };
    memcpy(memo->asked.own, call->own->r, sizeof memo->asked.own);
    memcpy(&memo->asked.walker, engine->walker, sizeof memo->asked.walker);
    if (sw_threads_find(engine->threads, call->thread, &memo->asked.thread) != SW_OK ||
        memo->asked.thread.os_id != call->caller)
        sw_memo_spoil(memo);
    call->noting = memo;
}

void sw_memo_spoil(struct sw_memo *memo)
{
    if (!memo)
        return;
    memo->is_spoilt = true;
    memo->is_noted = false;
}

/* What the runtime says is asked more than once, and first. */
static bool is_noted_early(const struct sw_memo *memo, uint64_t address)
{
    for (uint32_t i = 0; i < memo->word_count && i < EARLY; i++)
        if (memo->words[i].at == address)
            return true;
    return false;
}

static void note_word(struct sw_memo *memo, enum sw_memo_part part, uint64_t address)
{
    const struct sw_window *safe = &memo->safe[part];
    const bool is_safe = address >= safe->begin && address < safe->end && safe->end - address >= SW_WORD &&
                         (part != SW_MEMO_STACK || address >= memo->asked.sp);
    if (!is_safe || memo->word_count == WORDS)
        memo->is_spoilt = true;
    else if (!is_noted_early(memo, address))
        memo->words[memo->word_count++] = (struct word){ address, word_at(address) };
}

static enum sw_memo_part part_of(const struct sw_memo *memo, uint64_t address)
{
    const struct sw_window *object = &memo->safe[SW_MEMO_OBJECT];
    return address >= object->begin && address < object->end ? SW_MEMO_OBJECT : SW_MEMO_STACK;
}

static size_t read_watched(void *arg, uint64_t address, void *to, size_t size)
{
    struct sw_memo *memo = arg;
    const uint64_t end = address + size;
    struct sw_memory memory = memo->memory;
    for (uint64_t at = address & ~((uint64_t)SW_WORD - 1); !memo->is_spoilt && at < end; at += SW_WORD)
        note_word(memo, part_of(memo, at), at);
    memory.window = memo->safe[part_of(memo, address)];
    return sw_memory_read(&memory, address, to, size);
}

struct sw_memory sw_memo_watch(struct sw_memo *memo, enum sw_memo_part part, struct sw_memory memory)
{
    if (!memo || !memo->is_noting)
        return memory;
    memo->safe[part] = memory.window;
    memo->memory = memory;
    return (struct sw_memory){ .read = read_watched, .arg = memo };
}

/* ---- frames ---- */

struct sw_memo_frame sw_memo_frame_of(const struct sw_walk *walk)
{
    const struct sw_regs *regs = &walk->frame.regs;
    const struct sw_lane *lane = &sw_walk_scratch_of(walk->scratch)->lane;
    const uint64_t step = walk->entry.step;
    return (struct sw_memo_frame){ .step = step,
                                   .slots = step ? sw_load(&sw_cold_at(lane->cold, walk->entry.at)->slots) : 0,
                                   .pc = regs->r[SW_X64_RIP],
                                   .sp = regs->r[SW_X64_RSP],
                                   .fp = regs->r[SW_X64_RBP] };
}

static void add_event(struct sw_memo *memo, const struct event *event)
{
    if (memo->event_count == EVENTS)
        memo->is_spoilt = true;
    else
        memo->events[memo->event_count++] = *event;
}

static uint64_t used_by(uint64_t step)
{
    return sw_step_cfa_register(step) == SW_X64_RSP ? 0 : FP;
}

static void note_words(struct sw_memo *memo, uint64_t step, uint64_t slots, const struct sw_memo_frame *to)
{
    const struct sw_step_words words = sw_step_words(SW_MACHINE_X64, step);
    const uint64_t pc_at = to->sp - words.pc, fp_at = words.fp ? sw_slot_address(to->sp, words.fp) : 0;
    note_word(memo, SW_MEMO_STACK, pc_at);
    add_event(memo, &(struct event){ .sp = to->sp, .fp_at = fp_at, .slots = slots >> 8, .uses = used_by(step) });
    if (!memo->is_spoilt && (word_at(pc_at) != to->pc || (fp_at != 0 && word_at(fp_at) != to->fp)))
        memo->is_spoilt = true;
}

/* What the lane would load, whichever way the walk has gone; where that did not go by the entry's step, it differs. */
void sw_memo_note_step(struct sw_memo *memo, const struct sw_memo_frame *from, const struct sw_walk *to)
{
    const struct sw_memo_frame caller = sw_memo_frame_of(to);
    if ((from->step & SW_STEP_EASY) != 0 && !to->frame.exact &&
        sw_lane_cfa(SW_MACHINE_X64, from->step, from->sp, from->fp) == caller.sp)
        note_words(memo, from->step, from->slots, &caller);
    else
        memo->is_spoilt = true;
}

void sw_memo_note_frame(struct sw_memo *memo, const struct sw_trace_frame *frame)
{
    const struct sw_memo_frame to = { .pc = frame->pc, .sp = frame->sp, .fp = frame->fp };
    if (frame->step == 0 || !memo->has_reached)
        memo->is_spoilt = true;
    else
        note_words(memo, frame->step, frame->slots, &to);
}

void sw_memo_note_end(struct sw_memo *memo, const struct sw_memo_frame *last, enum sw_stop stop)
{
    const uint64_t step = last->step, at = sw_lane_cfa(SW_MACHINE_X64, step, last->sp, last->fp) - SW_WORD;
    const bool by_step = stop == SW_STOP_ROOT_ZERO && (step & SW_STEP_EASY) != 0;
    if (by_step) {
        note_word(memo, SW_MEMO_STACK, at);
        add_event(memo, &(struct event){ .uses = used_by(step) });
    }
    const bool is_zero = by_step && !memo->is_spoilt && word_at(at) == 0;
    if (!is_zero && stop != SW_STOP_ROOT_BASE && !(stop == SW_STOP_ROOT && (step & SW_STEP_END) != 0))
        memo->is_spoilt = true;
}

void sw_memo_note_reached(struct sw_memo *memo, uint64_t given)
{
    memo->is_spoilt |= memo->has_reached;
    memo->has_reached = true;
    add_event(memo, &(struct event){ .gives = given });
}

void sw_memo_note_use(struct sw_memo *memo)
{
    add_event(memo, &(struct event){ .uses = FP });
}

void sw_memo_note_registers(struct sw_memo *memo)
{
    if (memo->asked.info_flags != 0)
        add_event(memo, &(struct event){ .uses = SW_SLOT_REGISTERS | FP });
}

/* ---- which registers matter ---- */

/* A register that was loaded there has been used. */
static void note_register(struct sw_memo *memo, unsigned number, uint64_t at, uint64_t *used)
{
    if (*used >> number & 1)
        note_word(memo, SW_MEMO_STACK, at);
    *used &= ~(UINT64_C(1) << number);
}

/* From the last event back. */
static void note_registers(struct sw_memo *memo)
{
    uint64_t used = 0;
    for (uint32_t i = memo->event_count; i > 0 && !memo->is_spoilt; i--) {
        const struct event *event = &memo->events[i - 1];
        uint64_t slots = event->slots;
        if (event->fp_at != 0)
            note_register(memo, SW_X64_RBP, event->fp_at, &used);
        for (unsigned k = 1; slots != 0; k++, slots >>= 8)
            if (slots & 0xff)
                note_register(memo, sw_slot_registers[k], sw_slot_address(event->sp, SW_WORD * (slots & 0xff)), &used);
        used = (used & ~event->gives) | event->uses;
    }
    memo->needs = used;
}

/* ---- callbacks ---- */

/* But for the registers all CONTEXTs of a walk are alike, unless a callback has written into one. */
static bool is_like_first(const struct sw_memo *memo, const BYTE *given, ULONG32 size)
{
    enum { ROW = IN_ROW * SW_WORD };
    const struct {
        size_t from, to;
    } rest[] = { { 0, FLAGS_AT },
                 { FLAGS_AT + sizeof(uint32_t), FIRST_AT },
                 { FIRST_AT + ROW, SECOND_AT },
                 { SECOND_AT + ROW, size } };
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        if (memcmp(given + rest[i].from, memo->given + rest[i].from, rest[i].to - rest[i].from) != 0)
            return false;
    return true;
}

static void note_context(struct sw_memo *memo, const BYTE *given, ULONG32 size)
{
    struct context *context = &memo->contexts[memo->callback_count];
    memcpy(&context->flags, given + FLAGS_AT, sizeof context->flags);
    memcpy(context->first, given + FIRST_AT, sizeof context->first);
    memcpy(context->second, given + SECOND_AT, sizeof context->second);
    if (memo->callback_count == 0)
        memcpy(memo->given, given, size);
    memo->is_spoilt |= !is_like_first(memo, given, size);
    sw_memo_note_registers(memo);
}

void sw_memo_note_callback(struct sw_memo *memo, const struct sw_frame_info *info, const struct sw_memo_callback *made)
{
    if (made->context && made->size < SW_CONTEXT_X64_BYTES)
        memo->is_spoilt = true;
    if (memo->callback_count == CALLBACKS || memo->is_spoilt) {
        memo->is_spoilt = true;
        return;
    }
    if (made->context)
        note_context(memo, made->context, made->size);
    memo->given_size = made->context ? made->size : 0;
    memo->callbacks[memo->callback_count++] = (struct told){ *info, made->pc, made->kind };
}

/* Whether the call was answered as the one before. */
static bool is_like_last(struct sw_memo *memo, const struct sw_call *call)
{
    const uint64_t pc = call->own->r[SW_X64_RIP], sp = call->own->r[SW_X64_RSP];
    const bool is_like = memo->last.pc == pc && memo->last.sp == sp && memo->last.callbacks == call->reported;
    memo->last.pc = pc;
    memo->last.sp = sp;
    memo->last.callbacks = call->reported;
    return is_like;
}

void sw_memo_end(struct sw_call *call, HRESULT hr)
{
    struct sw_memo *memo = call->memo;
    if (!memo || !is_possible(call))
        return;
    memo->alike = is_like_last(memo, call) ? memo->alike + 1 : 0;
    if (!call->noting)
        return;
    note_registers(memo);
    memo->is_noted = hr == S_OK && !memo->is_spoilt && memo->has_reached && sw_stop_is_root(call->stop) &&
                     call->reported == memo->callback_count && call->reported != 0;
    memo->is_noting = false;
    while (memo->is_noted && memo->word_count % GROUP != 0)
        memo->words[memo->word_count++] = memo->words[0];
    memo->stop = call->stop;
    memo->reason = call->reason;
    call->noting = NULL;
}
