/*
 * A simulated target: memory as pieces sorted by address, a code map, threads with their registers, and an engine over
 * them. Refuses to know how a stack is walked or a contract kept; it only serves what walker and engine request of a
 * target.
 *
 * Pieces never overlap and are never empty; what is overwritten is cut out first. A read continues through adjacent
 * pieces, so how memory was put together is not visible.
 */
#include <snapwalk/sim.h>

#include <string.h>

#include "base/interval.h"
#include "arch/arch.h"
#include "common/alloc.h"

struct piece {
    uint64_t begin;
    uint64_t end;
    uint8_t *bytes;
    size_t room; /* allocated bytes; at least end - begin */
};

struct sim_thread {
    uint64_t id;
    struct sw_regs regs;
    struct sw_sim_counts counts;
};

struct sw_sim {
    struct sw_alloc alloc;
    struct piece *pieces;
    size_t piece_count, piece_room;
    struct sim_thread *threads;
    size_t thread_count, thread_room;
    uint64_t caller; /* the thread that makes the calls, 0 for none; if ask_caller does not know better */
    uint64_t (*ask_caller)(void *arg);
    void *ask_arg;
    enum sw_status suspend_answer;
    struct sw_codemap *codemap;
    struct sw_threads *table;
    struct sw_walker walker;
    struct sw_suspender suspender;
    struct sw_engine engine;
};

/* An array with room for `needed` elements; the old one is freed. Null: no memory, and the old one stays. */
static void *grown(const struct sw_alloc *alloc, void *array, size_t *room, size_t needed, size_t element)
{
    if (needed <= *room)
        return array;
    const size_t new_room = 2 * needed;
    if (new_room < needed || new_room > SIZE_MAX / element)
        return NULL;
    void *bigger = alloc->get(alloc->arg, new_room * element);
    if (!bigger)
        return NULL;
    if (array) {
        memcpy(bigger, array, *room * element);
        alloc->put(alloc->arg, array, *room * element);
    }
    *room = new_room;
    return bigger;
}

/* Index of the first piece that ends above `address`. */
static size_t first_above(const struct sw_sim *sim, uint64_t address)
{
    return sw_intervals_above(sim->pieces, sizeof *sim->pieces, sim->piece_count, address);
}

static size_t read_pieces(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_sim *sim = arg;
    size_t done = 0;
    for (size_t i = first_above(sim, address); i < sim->piece_count && done < size; i++) {
        const struct piece *piece = &sim->pieces[i];
        const uint64_t at = address + done;
        if (piece->begin > at)
            break;
        const uint64_t left = piece->end - at;
        const size_t part = left < size - done ? (size_t)left : size - done;
        memcpy((uint8_t *)to + done, piece->bytes + (at - piece->begin), part);
        done += part;
    }
    return done;
}

static void insert_piece(struct sw_sim *sim, struct piece piece)
{
    const size_t at = first_above(sim, piece.begin);
    memmove(sim->pieces + at + 1, sim->pieces + at, (sim->piece_count - at) * sizeof(*sim->pieces));
    sim->pieces[at] = piece;
    sim->piece_count++;
}

static void remove_piece(struct sw_sim *sim, size_t at)
{
    sim->alloc.put(sim->alloc.arg, sim->pieces[at].bytes, sim->pieces[at].room);
    sim->piece_count--;
    memmove(sim->pieces + at, sim->pieces + at + 1, (sim->piece_count - at) * sizeof(*sim->pieces));
}

/* If one piece reaches beyond both ends of [begin, end), makes its upper part a piece of its own. */
static enum sw_status split_around(struct sw_sim *sim, uint64_t begin, uint64_t end)
{
    const size_t at = first_above(sim, begin);
    if (at == sim->piece_count || sim->pieces[at].begin >= begin || sim->pieces[at].end <= end)
        return SW_OK;
    struct piece *lower = &sim->pieces[at];
    struct piece upper = { end, lower->end, NULL, (size_t)(lower->end - end) };
    upper.bytes = sim->alloc.get(sim->alloc.arg, upper.room);
    if (!upper.bytes)
        return SW_E_NO_MEMORY;
    memcpy(upper.bytes, lower->bytes + (end - lower->begin), upper.room);
    lower->end = end;
    insert_piece(sim, upper);
    return SW_OK;
}

/* Cuts [begin, end) out of all pieces. The piece table must have room for one more. */
static enum sw_status cut_out(struct sw_sim *sim, uint64_t begin, uint64_t end)
{
    const enum sw_status status = split_around(sim, begin, end);
    if (status != SW_OK)
        return status;
    size_t i = first_above(sim, begin);
    while (i < sim->piece_count && sim->pieces[i].begin < end) {
        struct piece *piece = &sim->pieces[i];
        if (piece->begin < begin) {
            piece->end = begin;
            i++;
        } else if (piece->end > end) {
            memmove(piece->bytes, piece->bytes + (end - piece->begin), (size_t)(piece->end - end));
            piece->begin = end;
        } else {
            remove_piece(sim, i);
        }
    }
    return SW_OK;
}

static bool make_room(struct sw_sim *sim, size_t more)
{
    void *table = grown(&sim->alloc, sim->pieces, &sim->piece_room, sim->piece_count + more, sizeof(*sim->pieces));
    if (table)
        sim->pieces = table;
    return table != NULL;
}

/* Makes a piece in place of whatever was there. *to receives its bytes, for the caller to fill. */
static enum sw_status map(struct sw_sim *sim, uint64_t address, uint64_t size, uint8_t **to)
{
    if (size == 0)
        return SW_E_EMPTY;
    if (size > UINT64_MAX - address)
        return SW_E_WRAPS;
    struct piece piece = { address, address + size, NULL, (size_t)size };
    if (!make_room(sim, 2))
        return SW_E_NO_MEMORY;
    piece.bytes = sim->alloc.get(sim->alloc.arg, piece.room);
    if (!piece.bytes)
        return SW_E_NO_MEMORY;
    const enum sw_status status = cut_out(sim, piece.begin, piece.end);
    if (status != SW_OK) {
        sim->alloc.put(sim->alloc.arg, piece.bytes, piece.room);
        return status;
    }
    insert_piece(sim, piece);
    *to = piece.bytes;
    return SW_OK;
}

enum sw_status sw_sim_bytes(struct sw_sim *sim, uint64_t address, const void *bytes, size_t size)
{
    if (!sim || (!bytes && size))
        return SW_E_ARGUMENT;
    uint8_t *to;
    const enum sw_status status = map(sim, address, size, &to);
    if (status == SW_OK)
        memcpy(to, bytes, size);
    return status;
}

enum sw_status sw_sim_words(struct sw_sim *sim, uint64_t address, const uint64_t *words, size_t count)
{
    if (!sim || (!words && count))
        return SW_E_ARGUMENT;
    if (count > SIZE_MAX / 8)
        return SW_E_WRAPS;
    uint8_t *to;
    const enum sw_status status = map(sim, address, count * 8, &to);
    for (size_t i = 0; status == SW_OK && i < count * 8; i++)
        to[i] = (uint8_t)(words[i / 8] >> (i % 8 * 8));
    return status;
}

enum sw_status sw_sim_unmap(struct sw_sim *sim, uint64_t address, size_t size)
{
    if (!sim || size > UINT64_MAX - address)
        return SW_E_ARGUMENT;
    if (!make_room(sim, 1))
        return SW_E_NO_MEMORY;
    return size ? cut_out(sim, address, address + size) : SW_OK;
}

enum sw_status sw_sim_range(struct sw_sim *sim, enum sw_kind kind, uint64_t begin, uint64_t end, uint64_t id)
{
    if (!sim || kind <= SW_KIND_NONE || kind > SW_KIND_NATIVE)
        return SW_E_ARGUMENT;
    const struct sw_range range = {
        .begin = begin, .end = end, .id = id, .kind = (uint8_t)kind, .unwind = SW_UNWIND_ANALYSIS
    };
    return sw_codemap_add(sim->codemap, &range);
}

static struct sim_thread *find_thread(const struct sw_sim *sim, uint64_t id)
{
    for (size_t i = 0; i < sim->thread_count; i++) {
        if (sim->threads[i].id == id)
            return &sim->threads[i];
    }
    return NULL;
}

enum sw_status sw_sim_thread(struct sw_sim *sim, uint64_t id, const struct sw_regs *regs)
{
    if (!sim || !regs || regs->machine != sim->walker.machine)
        return SW_E_ARGUMENT;
    void *table = grown(&sim->alloc, sim->threads, &sim->thread_room, sim->thread_count + 1, sizeof(*sim->threads));
    if (!table)
        return SW_E_NO_MEMORY;
    sim->threads = table;
    const struct sw_thread thread = { .id = id, .os_id = id };
    const enum sw_status status = sw_threads_add(sim->table, &thread);
    if (status != SW_OK && status != SW_E_EXISTS)
        return status;
    struct sim_thread *existing = find_thread(sim, id);
    if (existing)
        existing->regs = *regs;
    else
        sim->threads[sim->thread_count++] = (struct sim_thread){ .id = id, .regs = *regs };
    return SW_OK;
}

void sw_sim_run_as(struct sw_sim *sim, uint64_t id)
{
    if (sim)
        sim->caller = id;
}

void sw_sim_ask_caller(struct sw_sim *sim, uint64_t (*caller)(void *arg), void *arg)
{
    if (!sim)
        return;
    sim->ask_caller = caller;
    sim->ask_arg = arg;
}

struct sw_sim_counts sw_sim_get_counts(const struct sw_sim *sim, uint64_t id)
{
    const struct sim_thread *thread = sim ? find_thread(sim, id) : NULL;
    if (!thread)
        return (struct sw_sim_counts){ 0 };
    return (struct sw_sim_counts){ __atomic_load_n(&thread->counts.suspended, __ATOMIC_ACQUIRE),
                                   __atomic_load_n(&thread->counts.resumed, __ATOMIC_ACQUIRE),
                                   __atomic_load_n(&thread->counts.outstanding, __ATOMIC_ACQUIRE) };
}

void sw_sim_fail_suspend(struct sw_sim *sim, enum sw_status status)
{
    if (sim)
        sim->suspend_answer = status;
}

static enum sw_status suspend(void *arg, uint64_t os_id, struct sw_regs *regs)
{
    struct sw_sim *sim = arg;
    struct sim_thread *thread = find_thread(sim, os_id);
    if (sim->suspend_answer != SW_OK)
        return sim->suspend_answer;
    if (!thread)
        return SW_E_GONE;
    __atomic_fetch_add(&thread->counts.suspended, 1, __ATOMIC_ACQ_REL);
    __atomic_fetch_add(&thread->counts.outstanding, 1, __ATOMIC_ACQ_REL);
    *regs = thread->regs;
    return SW_OK;
}

/* Counts down, unless there is nothing left. */
static bool take_one(uint32_t *count)
{
    uint32_t seen = __atomic_load_n(count, __ATOMIC_ACQUIRE);
    while (seen != 0 && !__atomic_compare_exchange_n(count, &seen, seen - 1, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        ;
    return seen != 0;
}

static enum sw_status resume(void *arg, uint64_t os_id)
{
    struct sim_thread *thread = find_thread(arg, os_id);
    if (!thread || !take_one(&thread->counts.outstanding))
        return SW_E_ARGUMENT;
    __atomic_fetch_add(&thread->counts.resumed, 1, __ATOMIC_ACQ_REL);
    return SW_OK;
}

static uint64_t current(void *arg)
{
    const struct sw_sim *sim = arg;
    return sim->ask_caller ? sim->ask_caller(sim->ask_arg) : sim->caller;
}

static enum sw_status capture(void *arg, struct sw_regs *regs)
{
    const struct sw_sim *sim = arg;
    const uint64_t caller = current(arg);
    const struct sim_thread *thread = caller ? find_thread(sim, caller) : NULL;
    if (!thread)
        return SW_E_UNSUPPORTED;
    *regs = thread->regs;
    return SW_OK;
}

static void connect(struct sw_sim *sim, enum sw_machine machine)
{
    sim->walker = (struct sw_walker){ .machine = machine,
                                      .memory = { .read = read_pieces, .arg = sim },
                                      .codemap = sim->codemap,
                                      .budget = SW_WALK_BUDGET_UNLIMITED };
    sim->suspender = (struct sw_suspender){
        .suspend = suspend, .resume = resume, .current = current, .capture = capture, .arg = sim
    };
    sim->engine = (struct sw_engine){ .walker = &sim->walker,
                                      .threads = sim->table,
                                      .suspender = &sim->suspender,
                                      .flavour = SW_FLAVOUR_DOCUMENTED,
                                      .runtime = SW_RUNTIME_READY,
                                      .event_mask = COR_PRF_ENABLE_STACK_SNAPSHOT };
}

enum sw_status sw_sim_create(const struct sw_alloc *alloc, enum sw_machine machine, struct sw_sim **sim)
{
    if (!sim || !sw_alloc_usable(alloc) || !sw_arch_of(machine))
        return SW_E_ARGUMENT;
    const struct sw_alloc use = sw_alloc_resolve(alloc);
    struct sw_sim *made = use.get(use.arg, sizeof(*made));
    if (!made)
        return SW_E_NO_MEMORY;
    memset(made, 0, sizeof(*made));
    made->alloc = use;
    enum sw_status status = sw_codemap_create(&use, &made->codemap);
    if (status == SW_OK)
        status = sw_threads_create(&use, NULL, NULL, &made->table);
    if (status != SW_OK) {
        sw_sim_destroy(made);
        return status;
    }
    connect(made, machine);
    *sim = made;
    return SW_OK;
}

void sw_sim_destroy(struct sw_sim *sim)
{
    if (!sim)
        return;
    const struct sw_alloc from = sim->alloc;
    while (sim->piece_count)
        remove_piece(sim, sim->piece_count - 1);
    if (sim->pieces)
        from.put(from.arg, sim->pieces, sim->piece_room * sizeof(*sim->pieces));
    if (sim->threads)
        from.put(from.arg, sim->threads, sim->thread_room * sizeof(*sim->threads));
    sw_threads_destroy(sim->table);
    sw_codemap_destroy(sim->codemap);
    from.put(from.arg, sim, sizeof(*sim));
}

struct sw_engine *sw_sim_engine(struct sw_sim *sim)
{
    return sim ? &sim->engine : NULL;
}

struct sw_walker *sw_sim_walker(struct sw_sim *sim)
{
    return sim ? &sim->walker : NULL;
}

struct sw_codemap *sw_sim_codemap(struct sw_sim *sim)
{
    return sim ? sim->codemap : NULL;
}

struct sw_threads *sw_sim_threads(struct sw_sim *sim)
{
    return sim ? sim->table : NULL;
}

struct sw_memory sw_sim_memory(struct sw_sim *sim)
{
    return sim ? sim->walker.memory : (struct sw_memory){ 0 };
}
