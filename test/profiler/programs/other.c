/*
 * The least that the runtime takes for its main profiler: every event is answered with S_OK. It says that it runs, and
 * that it was told of the end.
 */
#include <stdint.h>
#include <stdio.h>

enum { REFER = 1, RELEASE = 2, INITIALIZE = 3, SHUTDOWN = 4, ONLY_NOTIFIED = 97, SLOTS = 110 };

static const void *table[SLOTS], *const object = table, *factory_table[5], *const factory = factory_table;

static int32_t well(void)
{
    return 0;
}

static int32_t answer_self(const void *self, const void *iid, const void **to)
{
    (void)iid;
    *to = self;
    return 0;
}

static int32_t make(const void *self, const void *outer, const void *iid, const void **to)
{
    (void)self, (void)outer, (void)iid;
    *to = &object;
    return 0;
}

static uint32_t refer(void)
{
    return 1;
}

static int32_t initialize(void)
{
    fprintf(stderr, "other profiler: begun\n");
    return 0;
}

static int32_t end(void)
{
    fprintf(stderr, "other profiler: ended\n");
    return 0;
}

static int32_t only_notified(const void *self, int32_t *only)
{
    (void)self;
    *only = 0;
    return 0;
}

int32_t DllGetClassObject(const void *clsid, const void *iid, const void **to);
int32_t DllGetClassObject(const void *clsid, const void *iid, const void **to)
{
    (void)clsid, (void)iid;
    for (size_t i = 0; i < SLOTS; i++)
        table[i] = (const void *)(uintptr_t)well;
    table[0] = factory_table[0] = (const void *)(uintptr_t)answer_self;
    table[REFER] = table[RELEASE] = factory_table[REFER] = factory_table[RELEASE] = (const void *)(uintptr_t)refer;
    factory_table[3] = (const void *)(uintptr_t)make;
    factory_table[4] = (const void *)(uintptr_t)well;
    table[INITIALIZE] = (const void *)(uintptr_t)initialize;
    table[SHUTDOWN] = (const void *)(uintptr_t)end;
    table[ONLY_NOTIFIED] = (const void *)(uintptr_t)only_notified;
    *to = &factory;
    return 0;
}
