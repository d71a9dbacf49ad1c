/*
 * See noting.h. Knows what a frame's step loads, and which registers an answer follows from. Refuses to know what
 * frames mean (fold.c) and the runtime's structures (the inspector).
 */
#include "snapshot/memo_parts.h"

#include "unwind/unwind.h"
#include "walk/scratch.h"

/* ---- around a call ---- */

void sw_memo_begin(struct sw_call *call)
{
    struct sw_memo *memo = call->memo;
    const struct sw_engine *engine = call->engine;
    if (!memo || !sw_memo_is_possible(call) || memo->alike < memo->patience)
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

static void note_word(struct sw_memo *memo, enum sw_memo_part part, uint64_t address)
{
    const struct sw_window *safe = &memo->safe[part];
    const bool is_safe = address >= safe->begin && address < safe->end && safe->end - address >= SW_WORD &&
                         (part != SW_MEMO_STACK || address >= memo->asked.sp);
    if (!is_safe || memo->word_count == WORDS)
        memo->is_spoilt = true;
    else
        memo->words[memo->word_count++] = (struct word){ address, sw_memo_word_at(address) };
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
    if (!memo->is_spoilt && (sw_memo_word_at(pc_at) != to->pc || (fp_at != 0 && sw_memo_word_at(fp_at) != to->fp)))
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
    const bool is_zero = by_step && !memo->is_spoilt && sw_memo_word_at(at) == 0;
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

static void note_context(struct sw_memo *memo, struct told *told, const BYTE *given, ULONG32 size)
{
    memcpy(&told->flags, given + FLAGS_AT, sizeof told->flags);
    memcpy(told->first, given + FIRST_AT, sizeof told->first);
    memcpy(told->second, given + SECOND_AT, sizeof told->second);
    if (memo->callback_count == 0)
        memcpy(memo->given, given, size);
    memo->is_spoilt |= !is_like_first(memo, given, size);
    sw_memo_note_registers(memo);
}

static void note_record(struct sw_memo *memo, struct told *told, const struct sw_frame_info *info)
{
    const struct sw_frame_info *first = &memo->record;
    told->function = info->function;
    told->ip = info->ip;
    told->known = info->known;
    memcpy(told->tail, (const BYTE *)info + TAIL_AT, sizeof told->tail);
    if (memo->callback_count == 0)
        memo->record = *info;
    memo->is_spoilt |= info->size != first->size || info->version != first->version ||
                       info->extra_arg != first->extra_arg || info->this_arg != first->this_arg;
}

void sw_memo_note_callback(struct sw_memo *memo, const struct sw_frame_info *info, const struct sw_memo_callback *made)
{
    if (made->context && made->size < SW_CONTEXT_X64_BYTES)
        memo->is_spoilt = true;
    if (memo->callback_count == CALLBACKS || memo->is_spoilt) {
        memo->is_spoilt = true;
        return;
    }
    struct told *told = &memo->callbacks[memo->callback_count];
    note_record(memo, told, info);
    if (made->context)
        note_context(memo, told, made->context, made->size);
    memo->given_size = made->context ? made->size : 0;
    memo->places[memo->callback_count++] = (struct place){ made->pc, made->kind };
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
    if (!memo || !sw_memo_is_possible(call))
        return;
    memo->alike = is_like_last(memo, call) ? memo->alike + 1 : 0;
    if (!call->noting)
        return;
    note_registers(memo);
    memo->is_noted = hr == S_OK && !memo->is_spoilt && memo->has_reached && sw_stop_is_root(call->stop) &&
                     call->reported == memo->callback_count && call->reported != 0;
    memo->is_noting = false;
    if (memo->is_noted)
        sw_memo_pack_words(memo);
    memo->stop = call->stop;
    memo->reason = call->reason;
    call->noting = NULL;
}
