/*
 * See memo.h: an answer that was noted is given again, if all that it follows from is as it was. Refuses to know how it
 * is noted (noting.c).
 */
#include "snapshot/memo_parts.h"

#include "common/alloc.h"

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

bool sw_memo_is_possible(const struct sw_call *call)
{
    const struct sw_engine *engine = call->engine;
    return call->own && call->callback && call->thread != 0 && call->caller != 0 && !call->context &&
           (call->info_flags & ~(ULONG32)COR_PRF_SNAPSHOT_REGISTER_CONTEXT) == 0 &&
           engine->walker->machine == SW_MACHINE_X64 && engine->flavour != SW_FLAVOUR_DOCUMENTED && engine->inspector &&
           (engine->options & (SW_ENGINE_OWN_PROCESS | SW_ENGINE_BOTH_ENDS)) == SW_ENGINE_OWN_PROCESS;
}

/* A vector of two words: machines compare it as one. */
typedef uint64_t two_words __attribute__((vector_size(2 * SW_WORD)));

SW_OTHERS_FRAMES static SW_INLINE two_words pair_at(const void *at)
{
    two_words words;
    memcpy(&words, at, sizeof words);
    return words;
}

/* Whole words; padding is copied with them. The last two may be compared twice. */
static SW_INLINE bool differ(const void *a, const void *b, size_t from, size_t to)
{
    enum { PAIR = 2 * SW_WORD };
    const char *const x = a, *const y = b;
    two_words bits = pair_at(x + to - PAIR) ^ pair_at(y + to - PAIR);
    for (size_t at = from; at + PAIR < to; at += PAIR)
        bits |= pair_at(x + at) ^ pair_at(y + at);
    return (bits[0] | bits[1]) != 0;
}

/* The rest is what the inspector sets. */
static bool is_same_walker(const struct sw_walker *a, const struct sw_walker *b)
{
    return !differ(a, b, 0, offsetof(struct sw_walker, replaced)) &&
           !differ(a, b, offsetof(struct sw_walker, stack_begin), sizeof *a);
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

SW_OTHERS_FRAMES static SW_INLINE uint64_t word_differs(const struct word *word)
{
    return sw_memo_word_at(word->at) ^ word->value;
}

SW_OTHERS_FRAMES static SW_INLINE two_words pair_differs(const struct pair *pair)
{
    return pair_at((const void *)(uintptr_t)pair->at) ^ pair_at(pair->values);
}

/* Four at a time: the last ones are filled up with one of them. */
SW_OTHERS_FRAMES static bool words_hold(const struct sw_memo *memo)
{
    uint64_t bits = 0;
    two_words more = { 0, 0 };
    for (const struct pair *p = memo->pairs, *end = p + memo->pair_count; p < end; p += GROUP)
        more |= pair_differs(p) | pair_differs(p + 1) | pair_differs(p + 2) | pair_differs(p + 3);
    for (const struct word *w = memo->words, *end = w + memo->word_count; w < end; w += GROUP)
        bits |= word_differs(w) | word_differs(w + 1) | word_differs(w + 2) | word_differs(w + 3);
    return (bits | more[0] | more[1]) == 0;
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
static HRESULT aborted(struct sw_call *call, const struct place *at)
{
    struct sw_refusal *refusal = sw_call_explain(call);
    refusal->stop = call->stop = SW_STOP_ABORTED;
    refusal->address = at->pc;
    refusal->kind = at->kind;
    call->reason = sw_stop_name(SW_STOP_ABORTED);
    return CORPROF_E_STACKSNAPSHOT_ABORTED;
}

static SW_INLINE void give_record(struct sw_frame_info *record, const struct told *told)
{
    record->function = told->function;
    record->ip = told->ip;
    record->known = told->known;
    memcpy((BYTE *)record + TAIL_AT, told->tail, sizeof told->tail);
}

static SW_INLINE void give_context(BYTE *given, const struct told *told)
{
    memcpy(given + FLAGS_AT, &told->flags, sizeof told->flags);
    memcpy(given + FIRST_AT, told->first, sizeof told->first);
    memcpy(given + SECOND_AT, told->second, sizeof told->second);
}

/* No callback changes what is noted: a call in one has another scratch, and another memo. */
static SW_INLINE HRESULT call_back_all(struct sw_call *call, const struct sw_memo *memo, ULONG32 size)
{
    BYTE *const given = size ? call->work->context : NULL;
    struct sw_frame_info *record = &call->work->records[0];
    StackSnapshotCallback *const callback = call->callback;
    uint64_t *const live = call->live;
    const uint64_t idle = sw_call_idle(call);
    void *const client_data = call->client_data;
    const struct told *const first = memo->callbacks, *const end = first + memo->callback_count;
    *record = memo->record;
    for (const struct told *told = first; told < end; told++) {
        give_record(record, told);
        if (size)
            give_context(given, told);
        __atomic_store_n(live, (uintptr_t)record, __ATOMIC_RELAXED);
        const HRESULT hr =
            callback(told->function, told->ip, (COR_PRF_FRAME_INFO)(uintptr_t)record, size, given, client_data);
        __atomic_store_n(live, idle, __ATOMIC_RELAXED);
        if (hr != S_OK) {
            call->reported = (uint32_t)(told - first) + 1;
            return aborted(call, &memo->places[told - first]);
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
    if (!memo || !memo->is_noted || !sw_memo_is_possible(call) || !is_same_call(memo, call) || !enter(call, memo))
        return false;
    memo->patience = 1;
    memo->alike = 0;
    if (memo->given_size)
        memcpy(call->work->context, memo->given, memo->given_size);
    *hr = memo->given_size ? call_back_all(call, memo, memo->given_size) : call_back_all(call, memo, 0);
    return true;
}
