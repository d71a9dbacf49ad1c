/*
 * Names of methods. The two methods of IMetaDataImport that are needed are declared here, by their slots, because
 * corprof.h has its objects as IUnknown only.
 *
 * Source: .NET documentation of IMetaDataImport; cor.h (order of slots, IID).
 */
#include "names.h"

#include <stdio.h>
#include <string.h>

enum { SLOT_TYPE = 12, SLOT_METHOD = 30, NAME_UNITS = 256 };

static const IID iid_import = { 0x7dac8207, 0xd3ae, 0x4c75, { 0x9b, 0x67, 0x92, 0x80, 0x1a, 0x49, 0x7d, 0x44 } };

typedef HRESULT get_type(void *self, mdTypeDef type, WCHAR name[], ULONG units, ULONG *length, DWORD *flags,
                         mdToken *base);
typedef HRESULT get_method(void *self, mdMethodDef method, mdTypeDef *type, WCHAR name[], ULONG units, ULONG *length,
                           DWORD *attributes, PCCOR_SIGNATURE *signature, ULONG *signature_size, ULONG *rva,
                           DWORD *flags);

struct import {
    const struct {
        void *slots[SLOT_METHOD + 1];
    } * table;
};

/* Characters outside ASCII become '?': the name is for people. */
static size_t append(char *to, size_t size, const WCHAR *from)
{
    size_t n = 0;
    for (; from[n] && n + 1 < size; n++)
        to[n] = from[n] < 0x80 ? (char)from[n] : '?';
    to[n] = 0;
    return n;
}

void function_name(ICorProfilerInfo3 *info, FunctionID function, char *name, size_t size)
{
    union {
        void *object;
        get_type *type;
        get_method *method;
    } slot;
    IUnknown *found = NULL;
    mdToken token;
    mdTypeDef type = 0;
    WCHAR text[NAME_UNITS] = { 0 };
    snprintf(name, size, "?");
    if (info->lpVtbl->GetTokenAndMetaDataFromFunction(info, function, &iid_import, &found, &token) != S_OK)
        return;
    const struct import *import = (const struct import *)(void *)found;
    WCHAR method[NAME_UNITS] = { 0 };
    slot.object = import->table->slots[SLOT_METHOD];
    if (slot.method(found, token, &type, method, NAME_UNITS - 1, NULL, NULL, NULL, NULL, NULL, NULL) == S_OK) {
        slot.object = import->table->slots[SLOT_TYPE];
        if (slot.type(found, type, text, NAME_UNITS - 1, NULL, NULL, NULL) != S_OK)
            text[0] = 0;
        size_t at = append(name, size, text);
        if (at + 1 < size)
            name[at++] = '.';
        append(name + at, size - at, method);
    }
    found->lpVtbl->Release(found);
}
