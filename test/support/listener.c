#include "listener.h"

#include <string.h>

static const IID *const iids[] = {
    [2] = &IID_ICorProfilerCallback2,  [3] = &IID_ICorProfilerCallback3, [4] = &IID_ICorProfilerCallback4,
    [5] = &IID_ICorProfilerCallback5,  [6] = &IID_ICorProfilerCallback6, [7] = &IID_ICorProfilerCallback7,
    [8] = &IID_ICorProfilerCallback8,  [9] = &IID_ICorProfilerCallback9, [10] = &IID_ICorProfilerCallback10,
    [11] = &IID_ICorProfilerCallback11
};

static HRESULT STDMETHODCALLTYPE query(ICorProfilerCallback11 *com, REFIID riid, void **object)
{
    struct listener *self = (struct listener *)com;
    *object = memcmp(riid, &IID_IUnknown, sizeof *riid) == 0 ? self : NULL;
    for (unsigned version = 2; version <= self->version; version++)
        if (memcmp(riid, iids[version], sizeof *riid) == 0)
            *object = self;
    self->references += *object != NULL;
    return *object ? S_OK : E_NOINTERFACE;
}

static ULONG STDMETHODCALLTYPE refer(ICorProfilerCallback11 *com)
{
    return ++((struct listener *)com)->references;
}

static ULONG STDMETHODCALLTYPE release(ICorProfilerCallback11 *com)
{
    return --((struct listener *)com)->references;
}

static HRESULT tell(ICorProfilerCallback11 *com, const char *name)
{
    struct listener *self = (struct listener *)com;
    if (strlen(self->told) + strlen(name) + 2 < sizeof self->told) {
        strcat(self->told, name);
        strcat(self->told, " ");
    }
    if (self->on)
        self->on(self, name);
    return S_OK;
}

static HRESULT begin(ICorProfilerCallback11 *com, IUnknown *info, const char *name)
{
    struct listener *self = (struct listener *)com;
    void *found = NULL;
    if (info->lpVtbl->QueryInterface(info, &IID_ICorProfilerInfo15, &found) == S_OK)
        self->info = found;
    if (self->info)
        (void)self->info->lpVtbl->SetEventMask2(self->info, self->low, self->high);
    (void)tell(com, name);
    return self->answer;
}

static HRESULT STDMETHODCALLTYPE initialize(ICorProfilerCallback11 *com, IUnknown *info)
{
    return begin(com, info, "Initialize");
}

static HRESULT STDMETHODCALLTYPE attach(ICorProfilerCallback11 *com, IUnknown *info, void *data, UINT size)
{
    (void)data, (void)size;
    return begin(com, info, "InitializeForAttach");
}

/* A slot that writes down its name uses no argument; in the table the later initialiser is meant to win. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Woverride-init"
#define EVERY_CALLBACK(SLOT, Self)                                                                                     \
    SW_OWN_SLOTS_ICorProfilerCallback(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback2(SLOT, Self)                       \
        SW_OWN_SLOTS_ICorProfilerCallback3(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback4(SLOT, Self)                  \
            SW_OWN_SLOTS_ICorProfilerCallback5(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback6(SLOT, Self)              \
                SW_OWN_SLOTS_ICorProfilerCallback7(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback8(SLOT, Self)          \
                    SW_OWN_SLOTS_ICorProfilerCallback9(SLOT, Self) SW_OWN_SLOTS_ICorProfilerCallback10(SLOT, Self)     \
                        SW_OWN_SLOTS_ICorProfilerCallback11(SLOT, Self)
#define TELL(Self, result, name, parameters)                                                                           \
    static result STDMETHODCALLTYPE tell_##name parameters                                                             \
    {                                                                                                                  \
        return tell(This, #name);                                                                                      \
    }
#define TOLD(Self, result, name, parameters) .name = tell_##name,

EVERY_CALLBACK(TELL, ICorProfilerCallback11)

/* clang-format off */
static const ICorProfilerCallback11Vtbl table = {
    EVERY_CALLBACK(TOLD, ICorProfilerCallback11)
    .QueryInterface = query,
    .AddRef = refer,
    .Release = release,
    .Initialize = initialize,
    .InitializeForAttach = attach,
};
/* clang-format on */

void listener_init(struct listener *self)
{
    *self = (struct listener){ .com = { &table }, .references = 1, .version = 11 };
}
