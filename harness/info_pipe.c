/*
 * ICorProfilerInfo by subject: EventPipe. Sessions start and stop, providers and events are made, nothing is ever
 * delivered.
 *
 * Source: the documentation of ICorProfilerInfo12; metadata-abi.md row 10.6.3; dotnet/runtime
 * src/coreclr/vm/proftoeeinterfaceimpl.cpp (order of checks).
 */
#include "info.h"

#include <stdlib.h>

/* Ids are a base of their own and the element's number, from 1: none of them is an id of the world. */
enum { PROVIDER_BASE = 0x10000, EVENT_BASE = 0x20000 };

/* Adds an element and fills it; its number from 1, 0: no memory. */
static size_t add(struct sw_tube_info *info, struct sw_list *list, char *text)
{
    size_t number = 0;
    pthread_mutex_lock(&info->lock);
    char **element = sw_list_add(list, sizeof *element);
    if (element) {
        *element = text;
        sw_list_publish(list);
        number = sw_list_count(list);
    }
    pthread_mutex_unlock(&info->lock);
    return number;
}

static const char *provider_at(const struct sw_tube_info *info, EVENTPIPE_PROVIDER provider)
{
    char *const *name = provider > PROVIDER_BASE
                            ? sw_list_at(&info->providers, sizeof *name, (size_t)(provider - PROVIDER_BASE - 1))
                            : NULL;
    return name ? *name : NULL;
}

/* Sessions are not many: all that were ever started are remembered, by whether they still go on. */
static _Atomic bool *session_at(const struct sw_tube_info *info, EVENTPIPE_SESSION session)
{
    return session ? sw_list_at(&info->sessions, sizeof(_Atomic bool), (size_t)(session - 1)) : NULL;
}

HRESULT STDMETHODCALLTYPE sw_info_EventPipeStartSession(ICorProfilerInfo15 *This, UINT32 count,
                                                        COR_PRF_EVENTPIPE_PROVIDER_CONFIG configs[], BOOL rundown,
                                                        EVENTPIPE_SESSION *session)
{
    struct sw_tube_info *info = sw_info_of(This);
    (void)rundown;
    if (count == 0 || !configs || !session)
        return E_INVALIDARG;
    pthread_mutex_lock(&info->lock);
    _Atomic bool *live = sw_list_add(&info->sessions, sizeof *live);
    if (live) {
        atomic_store(live, true);
        sw_list_publish(&info->sessions);
        *session = sw_list_count(&info->sessions);
    }
    pthread_mutex_unlock(&info->lock);
    return live ? S_OK : E_FAIL;
}

HRESULT STDMETHODCALLTYPE sw_info_EventPipeAddProviderToSession(ICorProfilerInfo15 *This, EVENTPIPE_SESSION session,
                                                                COR_PRF_EVENTPIPE_PROVIDER_CONFIG config)
{
    const _Atomic bool *live = session_at(sw_info_of(This), session);
    return config.providerName && live && atomic_load(live) ? S_OK : E_INVALIDARG;
}

/* Of no session too: it is not looked for. */
HRESULT STDMETHODCALLTYPE sw_info_EventPipeStopSession(ICorProfilerInfo15 *This, EVENTPIPE_SESSION session)
{
    _Atomic bool *live = session_at(sw_info_of(This), session);
    if (live)
        atomic_store(live, false);
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_EventPipeCreateProvider(ICorProfilerInfo15 *This, const WCHAR *name,
                                                          EVENTPIPE_PROVIDER *provider)
{
    struct sw_tube_info *info = sw_info_of(This);
    if (!name || !provider)
        return E_INVALIDARG;
    const size_t need = sw_text_from_wide(name, NULL, 0);
    char *copy = malloc(need);
    if (copy)
        sw_text_from_wide(name, copy, need);
    const size_t number = copy ? add(info, &info->providers, copy) : 0;
    if (number == 0) {
        free(copy);
        return E_FAIL;
    }
    *provider = PROVIDER_BASE + number;
    return S_OK;
}

/* The callback would tell which sessions listen: none does. */
HRESULT STDMETHODCALLTYPE sw_info_EventPipeCreateProvider2(ICorProfilerInfo15 *This, const WCHAR *name,
                                                           EventPipeProviderCallback *callback,
                                                           EVENTPIPE_PROVIDER *provider)
{
    (void)callback;
    return sw_info_EventPipeCreateProvider(This, name, provider);
}

HRESULT STDMETHODCALLTYPE sw_info_EventPipeGetProviderInfo(ICorProfilerInfo15 *This, EVENTPIPE_PROVIDER provider,
                                                           ULONG size, ULONG *count, WCHAR name[])
{
    const char *text = provider_at(sw_info_of(This), provider);
    if (!text || (size > 0 && !name))
        return E_INVALIDARG;
    return sw_info_name_whole(text, name, size, count);
}

/* Objects cannot be written. */
static bool are_writable(UINT32 count, const COR_PRF_EVENTPIPE_PARAM_DESC parameters[])
{
    for (UINT32 i = 0; i < count; i++)
        if (parameters[i].type == COR_PRF_EVENTPIPE_OBJECT)
            return false;
    return true;
}

HRESULT STDMETHODCALLTYPE sw_info_EventPipeDefineEvent(ICorProfilerInfo15 *This, EVENTPIPE_PROVIDER provider,
                                                       const WCHAR *name, UINT32 number, UINT64 keywords,
                                                       UINT32 version, UINT32 level, UINT8 opcode, BOOL need_stack,
                                                       UINT32 count, COR_PRF_EVENTPIPE_PARAM_DESC parameters[],
                                                       EVENTPIPE_EVENT *event)
{
    struct sw_tube_info *info = sw_info_of(This);
    (void)number, (void)keywords, (void)version, (void)level, (void)opcode, (void)need_stack;
    if (!provider_at(info, provider) || !name || !event || (!parameters && count > 0) ||
        !are_writable(count, parameters))
        return E_INVALIDARG;
    const size_t made = add(info, &info->events, NULL);
    if (made == 0)
        return E_FAIL;
    *event = EVENT_BASE + made;
    return S_OK;
}

HRESULT STDMETHODCALLTYPE sw_info_EventPipeWriteEvent(ICorProfilerInfo15 *This, EVENTPIPE_EVENT event, UINT32 count,
                                                      COR_PRF_EVENT_DATA data[], LPCGUID activity, LPCGUID related)
{
    (void)count, (void)data, (void)activity, (void)related;
    return event > EVENT_BASE && event - EVENT_BASE <= sw_list_count(&sw_info_of(This)->events) ? S_OK : E_INVALIDARG;
}
