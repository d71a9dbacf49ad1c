/*
 * The runtime's own events, by an event pipe in the process: one session a mode, so that each has its own level.
 * Source: diagnostics-ipc.md section 6; dotnet/runtime ClrEtwAll.man (layouts of events 10, 80, 91, 303).
 */
#include "events.h"
#include "options.h"
#include "wide.h"

#include <math.h>
#include <string.h>
#include <ucontext.h>

/* One byte in so many is sampled by event 303. */
static const double sampled_mean = 102400;

/* Bytes of an event; `bad`: something was asked for behind the end. */
struct reader {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static void take(struct reader *r, void *to, size_t size)
{
    memset(to, 0, size);
    if (size > r->left) {
        r->bad = true;
        return;
    }
    memcpy(to, r->at, size);
    r->at += size;
    r->left -= size;
}

static uint64_t number(struct reader *r, size_t size)
{
    uint64_t value = 0;
    uint8_t bytes[8] = { 0 };
    take(r, bytes, size);
    for (size_t i = 0; i < size; i++)
        value |= (uint64_t)bytes[i] << 8 * i;
    return value;
}

/* UTF-16 with its end; at most what fits is kept. */
static void text(struct reader *r, struct sample *sample)
{
    WCHAR kept[sizeof sample->text];
    size_t count = 0;
    for (WCHAR unit; (unit = (WCHAR)number(r, 2)) != 0 && !r->bad;)
        if (count < sizeof kept / sizeof kept[0])
            kept[count++] = unit;
    wide_to_text(kept, count, sample->text, sizeof sample->text);
}

/* AllocationTick: amount, kind, instance, amount64, type, name, heap, address, size. */
static void read_tick(struct reader *r, struct sample *sample)
{
    (void)number(r, 4), (void)number(r, 4), (void)number(r, 2);
    sample->values[1] = number(r, 8);
    (void)number(r, 8);
    text(r, sample);
    (void)number(r, 4), (void)number(r, 8);
    const uint64_t size = number(r, 8);
    sample->values[0] = size && size < sample->values[1] ? sample->values[1] / size : 1;
}

/* AllocationSampled: kind, instance, type, name, address, size, offset. What it stands for: 1 / probability. */
static void read_sampled(struct reader *r, struct sample *sample)
{
    (void)number(r, 4), (void)number(r, 2), (void)number(r, 8);
    text(r, sample);
    (void)number(r, 8);
    const double size = (double)number(r, 8), probability = -expm1(-(size > 0 ? size : 1) / sampled_mean);
    sample->values[0] = (uint64_t)(1 / probability + 0.5);
    sample->values[1] = (uint64_t)(size / probability + 0.5);
}

/* ExceptionThrown: type, message, ... */
static void read_exception(struct reader *r, struct sample *sample)
{
    text(r, sample);
    sample->values[0] = 1;
}

/* ContentionStop: flags, instance, duration in nanoseconds. */
static void read_contention(struct reader *r, struct sample *sample)
{
    double ns;
    (void)number(r, 1), (void)number(r, 2);
    const uint64_t bits = number(r, 8);
    memcpy(&ns, &bits, sizeof ns);
    sample->values[0] = 1;
    sample->values[1] = ns > 0 && ns < 1e18 ? (uint64_t)ns : 0;
}

/* The first row of a mode that the runtime's version has is used. */
static const struct row {
    unsigned mode;
    USHORT since;
    UINT64 keywords;
    UINT32 level;
    DWORD id;
    enum sample_kind kind;
    void (*read)(struct reader *, struct sample *);
} rows[] = {
    { MODE_ALLOC, 10, UINT64_C(0x80000000000), 4, 303, SAMPLE_ALLOC, read_sampled },
    { MODE_ALLOC, 0, 0x1, 5, 10, SAMPLE_ALLOC, read_tick },
    { MODE_EXCEPTIONS, 0, 0x8000, 2, 80, SAMPLE_EXCEPTION, read_exception },
    { MODE_LOCKS, 0, 0x4000, 4, 91, SAMPLE_LOCK, read_contention },
};

enum { ROWS = sizeof rows / sizeof rows[0] };

static EVENTPIPE_SESSION sessions[ROWS];
static bool wanted[ROWS];

USHORT events_runtime(ICorProfilerInfo12 *info)
{
    USHORT major = 0;
    COR_PRF_RUNTIME_TYPE type;
    (void)info->lpVtbl->GetRuntimeInformation(info, NULL, &type, &major, NULL, NULL, NULL, 0, NULL, NULL);
    return major;
}

bool events_start(ICorProfilerInfo12 *info, unsigned modes)
{
    COR_PRF_EVENTPIPE_PROVIDER_CONFIG provider = { .providerName = u"Microsoft-Windows-DotNETRuntime" };
    const USHORT version = events_runtime(info);
    bool all = true;
    for (size_t i = 0; i < ROWS; i++) {
        if (!(modes & rows[i].mode) || version < rows[i].since)
            continue;
        modes &= ~rows[i].mode;
        provider.keywords = rows[i].keywords;
        provider.loggingLevel = rows[i].level;
        wanted[i] = true;
        if (info->lpVtbl->EventPipeStartSession(info, 1, &provider, 0, &sessions[i]) != S_OK)
            wanted[i] = all = false;
    }
    return all;
}

void events_stop(ICorProfilerInfo12 *info)
{
    for (size_t i = 0; i < ROWS; i++)
        if (wanted[i]) {
            wanted[i] = false;
            (void)info->lpVtbl->EventPipeStopSession(info, sessions[i]);
        }
}

bool events_read(DWORD id, LPCBYTE data, ULONG size, struct sample *sample)
{
    struct reader reader = { data, size, false };
    *sample = (struct sample){ 0 };
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].id == id) {
            sample->kind = rows[i].kind;
            rows[i].read(&reader, sample);
            return !reader.bad;
        }
    return false;
}

static bool is_wanted(DWORD id)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].id == id)
            return wanted[i];
    return false;
}

void events_delivered(DWORD id, LPCBYTE data, ULONG size)
{
    struct sample sample;
    ucontext_t here;
    if (is_wanted(id) && events_read(id, data, size, &sample) && getcontext(&here) == 0)
        sample_take(&sample, &here);
}
