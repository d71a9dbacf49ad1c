/*
 * The recording: a line of JSON for each callback, call, step and broken rule, with names where there are ids, so that
 * two recordings can be compared. Refuses to know what is worth a line. Each OS thread builds its lines in memory of
 * its own, handlers on top of what they interrupted; a lock is held only while a line is handed over.
 */
#include "tube.h"
#include "json.h"
#include "lock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sw_tube_record {
    pthread_mutex_t lock;
    pthread_t conductor;
    uint64_t serial; /* of all recordings of this process */
    _Atomic unsigned threads;
};

static _Atomic uint64_t serials;

/* Lines that are being built by this thread. What nests deeper is left out. */
enum { NESTED_MAX = 3 };
static _Thread_local struct {
    struct sw_json lines[NESTED_MAX];
    unsigned depth;
} building;

/* The number of this thread in a recording, for those that are not the tube's. */
static _Thread_local struct {
    uint64_t serial;
    unsigned number;
} stranger;

enum sw_status sw_tube_record_create(struct sw_tube *tube)
{
    struct sw_tube_record *record = calloc(1, sizeof *record);
    if (!record)
        return SW_E_NO_MEMORY;
    if (pthread_mutex_init(&record->lock, NULL) != 0) {
        free(record);
        return SW_E_OS;
    }
    record->serial = atomic_fetch_add(&serials, 1) + 1;
    record->conductor = pthread_self();
    tube->record = record;
    return SW_OK;
}

void sw_tube_record_destroy(struct sw_tube *tube)
{
    if (!tube->record)
        return;
    pthread_mutex_destroy(&tube->record->lock);
    free(tube->record);
    tube->record = NULL;
}

/* The tube's threads have names; the one that made the tube is the conductor; the others are counted as they come. */
static void name_thread(const struct sw_tube *tube, char *name, size_t size)
{
    const struct sw_tube_thread *thread = sw_tube_current(tube);
    if (thread) {
        snprintf(name, size, "%s", thread->name);
        return;
    }
    if (pthread_equal(tube->record->conductor, pthread_self())) {
        snprintf(name, size, "conductor");
        return;
    }
    if (stranger.serial != tube->record->serial) {
        stranger.serial = tube->record->serial;
        stranger.number = atomic_fetch_add(&tube->record->threads, 1) + 1;
    }
    snprintf(name, size, "other %u", stranger.number);
}

void sw_tube_entered(struct sw_tube *tube, const char *kind, const char *name)
{
    char thread[64];
    if (!tube->record || !tube->options.entered)
        return;
    name_thread(tube, thread, sizeof thread);
    tube->options.entered(tube->options.arg, kind, thread, name);
}

static bool records(const struct sw_tube *tube)
{
    return tube->record && tube->options.record;
}

static struct sw_json *line_of(const struct sw_tube *tube)
{
    return records(tube) && building.depth > 0 && building.depth <= NESTED_MAX ? &building.lines[building.depth - 1]
                                                                               : NULL;
}

void sw_tube_record_begin(struct sw_tube *tube, const char *kind, const char *name)
{
    char thread[64];
    if (!records(tube))
        return;
    building.depth++;
    atomic_signal_fence(memory_order_seq_cst); /* a handler from here on takes the next line */
    struct sw_json *line = line_of(tube);
    if (!line)
        return;
    line->length = 0;
    line->is_cut = false;
    name_thread(tube, thread, sizeof thread);
    sw_json_text(line, "kind", kind);
    sw_json_text(line, "name", name);
    sw_json_text(line, "thread", thread);
}

/* Arguments have the names of corprof.h: those that every line has already get another end. */
static const char *key_for(const char *key)
{
    static const char *const taken[][2] = { { "kind", "kind_" }, { "name", "name_" }, { "thread", "thread_" } };
    for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
        if (strcmp(taken[i][0], key) == 0)
            return taken[i][1];
    return key;
}

void sw_tube_record_text(struct sw_tube *tube, const char *key, const char *text)
{
    struct sw_json *line = line_of(tube);
    if (line)
        sw_json_text(line, key_for(key), text);
}

void sw_tube_record_number(struct sw_tube *tube, const char *key, uint64_t number)
{
    struct sw_json *line = line_of(tube);
    if (line)
        sw_json_number(line, key_for(key), number);
}

/* Writes the name of an id; of what is gone, too, for its end is worth a line. */
void sw_tube_id_name(const struct sw_tube *tube, UINT_PTR id, char *text, size_t size)
{
    const struct sw_tube_module *module = sw_list_at(&tube->modules, sizeof *module, sw_tube_index(SW_ID_MODULE, id));
    const struct sw_tube_module *assembly =
        sw_list_at(&tube->modules, sizeof *assembly, sw_tube_index(SW_ID_ASSEMBLY, id));
    const struct sw_tube_function *function =
        sw_list_at(&tube->functions, sizeof *function, sw_tube_index(SW_ID_FUNCTION, id));
    const struct sw_tube_type *type = sw_list_at(&tube->types, sizeof *type, sw_tube_index(SW_ID_CLASS, id));
    struct sw_tube_thread *const *thread = sw_list_at(&tube->threads, sizeof *thread, sw_tube_index(SW_ID_THREAD, id));
    if (function)
        sw_tube_function_name(function, text, size);
    else if (assembly) {
        const char *dot = strrchr(assembly->name, '.');
        snprintf(text, size, "%.*s", dot ? (int)(dot - assembly->name) : (int)strlen(assembly->name), assembly->name);
    } else
        snprintf(text, size, "%s",
                 id == 0                                       ? "0"
                 : module                                      ? module->name
                 : type                                        ? type->full
                 : thread                                      ? (*thread)->name
                 : sw_tube_index(SW_ID_DOMAIN, id) != SIZE_MAX ? "domain"
                 : sw_tube_index(SW_ID_OBJECT, id) != SIZE_MAX ? "object"
                                                               : "unknown");
}

void sw_tube_record_id(struct sw_tube *tube, const char *key, UINT_PTR id)
{
    char text[SW_JSON_TEXT];
    struct sw_json *line = line_of(tube);
    if (!line)
        return;
    sw_tube_id_name(tube, id, text, sizeof text);
    sw_json_text(line, key_for(key), text);
}

void sw_tube_record_hr(struct sw_tube *tube, HRESULT hr)
{
    char number[16];
    struct sw_json *line = line_of(tube);
    if (line)
        sw_json_text(line, "hr", sw_tube_hresult_text(hr, number));
}

void sw_tube_record_end(struct sw_tube *tube)
{
    struct sw_json *line = line_of(tube);
    sigset_t before;
    if (!records(tube) || building.depth == 0)
        return;
    if (line) {
        const char *text = sw_json_end(line);
        sw_lock_take(&tube->record->lock, &before);
        tube->options.record(tube->options.arg, text);
        sw_lock_release(&tube->record->lock, &before);
    }
    atomic_signal_fence(memory_order_seq_cst);
    building.depth--;
}
