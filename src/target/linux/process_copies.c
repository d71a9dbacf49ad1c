/*
 * Copies the stacks of a capture. What several threads need of one mapping is copied once: the stacks of goroutines and
 * of other coroutines lie side by side. Knows spans and copies; refuses to know what is read of them afterwards
 * (process_capture.c).
 */
#include "target/linux/process.h"

#include "common/grow.h"

#include <stdlib.h>

enum { STORE_FIRST = 1 << 16, PAGE = 4096 };

static bool make_room(struct sw_process *process, size_t size)
{
    struct sw_process_capture *capture = &process->capture;
    const size_t wanted = capture->store_size + size < STORE_FIRST ? STORE_FIRST : capture->store_size + size;
    uint8_t *store = sw_grow(&process->alloc, capture->store, 1, capture->store_size, &capture->store_room, wanted);
    if (store)
        capture->store = store;
    return store != NULL;
}

/*
 * Copies a span as far as it is readable. The kernel reads in pieces of a page's size, and looks up two pages for a
 * piece that does not begin with one: so its first page is read from the beginning.
 */
static enum sw_status copy(struct sw_process *process, struct sw_process_span span, struct sw_process_copy *to)
{
    struct sw_process_capture *capture = &process->capture;
    const size_t front = (size_t)(span.begin % PAGE), size = front + (size_t)(span.end - span.begin);
    if (!make_room(process, size))
        return SW_E_NO_MEMORY;
    const size_t got = sw_process_read(process, span.begin - front, capture->store + capture->store_size, size);
    *to = (struct sw_process_copy){ span.begin, got > front ? got - front : 0, capture->store_size + front };
    capture->store_size += got;
    return SW_OK;
}

/* From the red zone below sp to the end of the mapping; without a known mapping, as far as there is memory. */
static struct sw_process_span stack_span(const struct sw_process_captured *thread, size_t most)
{
    const uint64_t sp = sw_regs_sp(&thread->regs);
    const uint64_t above = sp - thread->stack.begin;
    const uint64_t left = (thread->stack.end ? thread->stack.end : UINT64_MAX) - sp;
    return (struct sw_process_span){ sp - (above < SW_RED_ZONE ? above : SW_RED_ZONE),
                                     sp + (left < most ? left : most) };
}

/* The upper end of a stack that the thread is not on now: where the thread left it is not known. Empty: none. */
static struct sw_process_span own_span(const struct sw_process_captured *thread, size_t most)
{
    struct sw_process_span span = thread->own_stack;
    if (thread->is_on_own_stack)
        return (struct sw_process_span){ 0, 0 };
    if (span.end - span.begin > most)
        span.begin = span.end - most;
    return span;
}

static enum sw_status copy_unknown(struct sw_process *process, struct sw_process_captured *thread, size_t most)
{
    struct sw_process_span span = stack_span(thread, most);
    const enum sw_status status = copy(process, span, &thread->copies[0]);
    if (status != SW_OK || thread->copies[0].size)
        return status;
    span.begin = sw_regs_sp(&thread->regs); /* there may be no memory below sp */
    return copy(process, span, &thread->copies[0]);
}

enum sw_status sw_process_copy_stack(struct sw_process *process, struct sw_process_captured *thread, size_t most)
{
    const struct sw_process_span own = own_span(thread, most);
    enum sw_status status = thread->stack.end ? copy(process, stack_span(thread, most), &thread->copies[0])
                                              : copy_unknown(process, thread, most);
    if (status == SW_OK && own.end)
        status = copy(process, own, &thread->copies[1]);
    return status;
}

/* ---- of all threads ---- */

struct wanted {
    struct sw_process_span span;
    struct sw_process_copy *to;
};

static int by_begin(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;
    return (x->span.begin > y->span.begin) - (x->span.begin < y->span.begin);
}

/* What is wanted of known mappings, ascending. */
static size_t list(struct sw_process *process, size_t most, struct wanted *wanted)
{
    size_t count = 0;
    for (size_t i = 0; i < process->capture.thread_count; i++) {
        struct sw_process_captured *thread = &process->capture.threads[i];
        const struct sw_process_span own = own_span(thread, most);
        if (thread->stack.end)
            wanted[count++] = (struct wanted){ stack_span(thread, most), &thread->copies[0] };
        if (own.end)
            wanted[count++] = (struct wanted){ own, &thread->copies[1] };
    }
    if (count)
        qsort(wanted, count, sizeof *wanted, by_begin);
    return count;
}

/* The spans that overlap the first one or each other, as one. Returns how many. */
static size_t join(const struct wanted *wanted, size_t count, struct sw_process_span *whole)
{
    size_t n = 1;
    *whole = wanted->span;
    for (; n < count && wanted[n].span.begin < whole->end; n++)
        if (wanted[n].span.end > whole->end)
            whole->end = wanted[n].span.end;
    return n;
}

/* All room at once: to grow copies what is there. */
static bool make_room_for(struct sw_process *process, const struct wanted *wanted, size_t count)
{
    size_t size = 0;
    struct sw_process_span whole;
    for (size_t n, i = 0; i < count; i += n) {
        n = join(wanted + i, count - i, &whole);
        size += (size_t)(whole.begin % PAGE + (whole.end - whole.begin));
    }
    return make_room(process, size);
}

/* The part of a copy that was wanted. Behind a hole in it, what is there is read again. */
static enum sw_status take_part(struct sw_process *process, const struct sw_process_copy *whole,
                                const struct wanted *wanted)
{
    const uint64_t offset = wanted->span.begin - whole->begin, size = wanted->span.end - wanted->span.begin;
    if (offset >= whole->size)
        return copy(process, wanted->span, wanted->to);
    const size_t left = whole->size - (size_t)offset;
    *wanted->to =
        (struct sw_process_copy){ wanted->span.begin, left < size ? left : (size_t)size, whole->at + (size_t)offset };
    return SW_OK;
}

static enum sw_status copy_wanted(struct sw_process *process, const struct wanted *wanted, size_t count)
{
    enum sw_status status = make_room_for(process, wanted, count) ? SW_OK : SW_E_NO_MEMORY;
    struct sw_process_span span;
    struct sw_process_copy whole;
    for (size_t n, i = 0; i < count && status == SW_OK; i += n) {
        n = join(wanted + i, count - i, &span);
        status = copy(process, span, &whole);
        for (size_t k = i; k < i + n && status == SW_OK; k++)
            status = take_part(process, &whole, &wanted[k]);
    }
    return status;
}

enum sw_status sw_process_copy_stacks(struct sw_process *process, size_t most)
{
    const struct sw_alloc *alloc = &process->alloc;
    struct sw_process_capture *capture = &process->capture;
    const size_t size = (2 * capture->thread_count + 1) * sizeof(struct wanted);
    struct wanted *wanted = alloc->get(alloc->arg, size);
    if (!wanted)
        return SW_E_NO_MEMORY;
    enum sw_status status = copy_wanted(process, wanted, list(process, most, wanted));
    alloc->put(alloc->arg, wanted, size);
    for (size_t i = 0; i < capture->thread_count && status == SW_OK; i++)
        if (!capture->threads[i].stack.end)
            status = copy_unknown(process, &capture->threads[i], most);
    return status;
}
