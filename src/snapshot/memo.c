/*
 * See memo.h and noting.h. Knows what a frame's step loads, and what an answer depends on beside memory. Refuses to
 * know what frames mean (fold.c) and the runtime's structures (the inspector).
 *
 * Where nobody asks for CONTEXTs a frame's pc, sp and frame pointer are all that matters; and a frame pointer that was
 * saved matters only where a later step goes by it, or the fold compares it: native code may have anything in there.
 */
#include "snapshot/noting.h"

#include "common/alloc.h"
#include "unwind/unwind.h"

#include <string.h>

enum { WORDS = 4096, CALLBACKS = 1024, STEPS = 2048, GROUP = 4, EARLY = 256, PATIENCE_MOST = 256 };

_Static_assert(WORDS % GROUP == 0 && sizeof(struct sw_walker) % SW_WORD == 0, "whole groups and words");

/* All that an answer depends on that is no memory of the target; own_fp: if that is needed. */
struct asked {
    struct sw_walker walker;
    struct sw_thread thread;
    uint64_t caller;
    uint64_t codemap, images;
    uint64_t pc, sp, fp;
    enum sw_flavour flavour;
    uint32_t options;
    uint32_t runtime;
    DWORD event_mask;
    ULONG32 context_size;
};

/* A step: where the frame pointer was loaded from, or 0, and what was there; NOTED: a record gave it. */
enum { NOTED = 1 };
struct step {
    uint64_t fp_at, fp;
    bool uses_fp; /* before that */
};

/*
 * is_noted     There is an answer.  is_noting: it is being noted; is_spoilt: but cannot be.
 * needs_fp     The start's frame pointer matters.  has_reached: a record's frame was reached.
 * alike        How many answers in a row were like the one before, by sp, pc and callbacks (last). After `patience` one
 *              is noted. An answer that did not hold any more when it was needed doubles that.
 * memory       With which the inspector reads.  safe: what of it may be loaded again, later.
 */
struct sw_memo {
    struct sw_alloc alloc;
    bool is_noted, is_noting, is_spoilt, needs_fp, has_reached;
    uint32_t alike, patience;
    struct {
        uint64_t pc, sp, callbacks;
    } last;
    struct asked asked;
    struct sw_memory memory;
    struct sw_window safe[SW_MEMO_PARTS];
    enum sw_stop stop;
    const char *reason;
    uint32_t word_count, callback_count, step_count;
    struct step steps[STEPS];
    struct word {
        uint64_t at, value;
    } words[WORDS];
    struct told {
        struct sw_frame_info info;
        uint64_t pc;
        enum sw_kind kind;
    } callbacks[CALLBACKS];
};

enum sw_status sw_memo_create(const struct sw_alloc *alloc, struct sw_memo **memo)
{
    struct sw_memo *made = alloc->get(alloc->arg, sizeof *made);
    if (!made)
        return SW_E_NO_MEMORY;
    memset(made, 0, offsetof(struct sw_memo, steps)); /* the rest takes memory when it is written */
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
           call->info_flags == 0 && engine->walker->machine == SW_MACHINE_X64 &&
           engine->flavour != SW_FLAVOUR_DOCUMENTED && engine->inspector &&
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

static bool is_same_call(const struct sw_memo *memo, const struct sw_call *call)
{
    const struct asked *asked = &memo->asked;
    const struct sw_engine *engine = call->engine;
    const struct sw_regs *own = call->own;
    return own->r[SW_X64_RSP] == asked->sp && own->r[SW_X64_RIP] == asked->pc &&
           (!memo->needs_fp || own->r[SW_X64_RBP] == asked->fp) && call->thread == asked->thread.id &&
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

/* No callback changes what is noted: a call in one has another scratch, and another memo. */
static HRESULT call_back_all(struct sw_call *call, const struct sw_memo *memo)
{
    struct sw_frame_info *record = &call->work->records[0];
    StackSnapshotCallback *const callback = call->callback;
    uint64_t *const live = call->live;
    const uint64_t idle = sw_call_idle(call);
    void *const client_data = call->client_data;
    const struct told *const first = memo->callbacks, *const end = first + memo->callback_count;
    for (const struct told *told = first; told < end; told++) {
        *record = told->info;
        __atomic_store_n(live, (uintptr_t)record, __ATOMIC_RELAXED);
        const HRESULT hr =
            callback(told->info.function, told->info.ip, (COR_PRF_FRAME_INFO)(uintptr_t)record, 0, NULL, client_data);
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
    *hr = call_back_all(call, memo);
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
    memo->word_count = memo->callback_count = memo->step_count = 0;
    memset(memo->safe, 0, sizeof memo->safe);
    memo->asked = (struct asked){ .caller = call->caller,
                                  .codemap = sw_codemap_generation(engine->walker->codemap),
                                  .images = sw_images_generation(engine->walker->images),
                                  .pc = call->own->r[SW_X64_RIP],
                                  .sp = call->own->r[SW_X64_RSP],
                                  .fp = call->own->r[SW_X64_RBP],
                                  .flavour = engine->flavour,
                                  .options = engine->options,
                                  .runtime = __atomic_load_n(&engine->runtime, __ATOMIC_RELAXED),
                                  .event_mask = __atomic_load_n(&engine->event_mask, __ATOMIC_RELAXED),
                                  .context_size = engine->context_size };
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
    return (struct sw_memo_frame){ walk->entry.step, regs->r[SW_X64_RIP], regs->r[SW_X64_RSP], regs->r[SW_X64_RBP] };
}

static void add_step(struct sw_memo *memo, const struct step *step)
{
    if (memo->step_count == STEPS)
        memo->is_spoilt = true;
    else
        memo->steps[memo->step_count++] = *step;
}

static void note_words(struct sw_memo *memo, uint64_t step, uint64_t sp, uint64_t pc, uint64_t fp, bool is_framed)
{
    const struct sw_step_words words = sw_step_words(SW_MACHINE_X64, step);
    const uint64_t fp_at = words.fp ? sw_slot_address(sp, words.fp) : 0;
    note_word(memo, SW_MEMO_STACK, sp - words.pc);
    add_step(memo, &(struct step){ fp_at, fp, is_framed });
    if (!memo->is_spoilt && (word_at(sp - words.pc) != pc || (fp_at != 0 && word_at(fp_at) != fp)))
        memo->is_spoilt = true;
}

/* From the last step back: which of the frame pointers were used. */
static void note_frame_pointers(struct sw_memo *memo)
{
    bool is_used = false;
    for (uint32_t i = memo->step_count; i > 0 && !memo->is_spoilt; i--) {
        const struct step *step = &memo->steps[i - 1];
        if (is_used && step->fp_at != 0 && step->fp_at != NOTED)
            note_word(memo, SW_MEMO_STACK, step->fp_at);
        is_used = (is_used && step->fp_at == 0) || step->uses_fp;
    }
    memo->needs_fp = is_used;
}

/* What the lane would load, whichever way the walk has gone; where that did not go by the entry's step, it differs. */
void sw_memo_note_step(struct sw_memo *memo, const struct sw_memo_frame *from, const struct sw_walk *to)
{
    const struct sw_memo_frame caller = sw_memo_frame_of(to);
    const bool is_framed = sw_step_cfa_register(from->step) != SW_X64_RSP;
    const bool is_step = (from->step & SW_STEP_EASY) != 0 && !to->frame.exact &&
                         sw_lane_cfa(SW_MACHINE_X64, from->step, from->sp, from->fp) == caller.sp;
    if (!is_step)
        memo->is_spoilt = true;
    else
        note_words(memo, from->step, caller.sp, caller.pc, caller.fp, is_framed);
}

void sw_memo_note_frame(struct sw_memo *memo, const struct sw_trace_frame *frame)
{
    if (frame->step == 0 || !memo->has_reached)
        memo->is_spoilt = true;
    else
        note_words(memo, frame->step, frame->sp, frame->pc, frame->fp, sw_step_cfa_register(frame->step) != SW_X64_RSP);
}

void sw_memo_note_end(struct sw_memo *memo, const struct sw_memo_frame *last, enum sw_stop stop)
{
    const uint64_t step = last->step;
    const bool by_step = stop == SW_STOP_ROOT_ZERO && (step & SW_STEP_EASY) != 0;
    const uint64_t at = sw_lane_cfa(SW_MACHINE_X64, step, last->sp, last->fp) - SW_WORD;
    if (by_step) {
        note_word(memo, SW_MEMO_STACK, at);
        add_step(memo, &(struct step){ .uses_fp = sw_step_cfa_register(step) != SW_X64_RSP });
    }
    const bool is_zero = by_step && !memo->is_spoilt && word_at(at) == 0;
    if (!is_zero && stop != SW_STOP_ROOT_BASE && !(stop == SW_STOP_ROOT && (step & SW_STEP_END) != 0))
        memo->is_spoilt = true;
}

void sw_memo_note_reached(struct sw_memo *memo, bool has_fp)
{
    memo->is_spoilt |= memo->has_reached;
    memo->has_reached = true;
    if (has_fp)
        add_step(memo, &(struct step){ .fp_at = NOTED });
}

void sw_memo_note_use(struct sw_memo *memo)
{
    add_step(memo, &(struct step){ .uses_fp = true });
}

void sw_memo_note_callback(struct sw_memo *memo, const struct sw_frame_info *info, uint64_t pc, enum sw_kind kind)
{
    if (memo->callback_count == CALLBACKS)
        memo->is_spoilt = true;
    else
        memo->callbacks[memo->callback_count++] = (struct told){ *info, pc, kind };
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
    note_frame_pointers(memo);
    memo->is_noted = hr == S_OK && !memo->is_spoilt && memo->has_reached && sw_stop_is_root(call->stop) &&
                     call->reported == memo->callback_count && call->reported != 0;
    memo->is_noting = false;
    while (memo->is_noted && memo->word_count % GROUP != 0)
        memo->words[memo->word_count++] = memo->words[0];
    memo->stop = call->stop;
    memo->reason = call->reason;
    call->noting = NULL;
}
