/*
 * The one repair that Wine needs: Windows reports, with a stopped thread's registers, that it does so
 * (CONTEXT_EXCEPTION_REPORTING), and whether the thread stands in a system call; Wine 8 gives the request back. The CLR
 * asks, and takes a missing report for "not safe": every walk of another cooperative thread would be refused, and the
 * runtime could not stop a loop without calls. So the runtime's import of GetThreadContext becomes a function that adds
 * the report. On Windows, which reports, it changes nothing.
 *
 * Source: clr-windows-observed.md W10-W14; winnt.h, CONTEXT_*; PE format, import directory.
 */
/* In front of the CLR's interfaces, which then take its types. */
#include <windows.h>

#include "../probe.h"
#include "repair.h"

#include <string.h>

struct repairs repairs;

static const uint8_t *ntdll;
static DWORD ntdll_size;

static const IMAGE_NT_HEADERS64 *headers_of(const uint8_t *module)
{
    return (const IMAGE_NT_HEADERS64 *)(module + ((const IMAGE_DOS_HEADER *)module)->e_lfanew);
}

/* Whether rip is behind an instruction of ntdll that enters the kernel: the real one, or Wine's. */
static bool is_in_system_call(const uint8_t *rip)
{
    static const uint8_t wine[] = { 0xff, 0x14, 0x25, 0x00, 0x10, 0xfe, 0x7f }, real[] = { 0x0f, 0x05 };
    if (rip < ntdll + sizeof wine || rip >= ntdll + ntdll_size || *rip != 0xc3)
        return false;
    return memcmp(rip - sizeof real, real, sizeof real) == 0 || memcmp(rip - sizeof wine, wine, sizeof wine) == 0;
}

static BOOL WINAPI get_and_report(HANDLE thread, CONTEXT *context)
{
    const DWORD asked = context->ContextFlags;
    const BOOL got = GetThreadContext(thread, context);
    if (!got || (asked & CONTEXT_EXCEPTION_REQUEST) == 0 || (context->ContextFlags & CONTEXT_EXCEPTION_REPORTING) != 0)
        return got;
    context->ContextFlags |= CONTEXT_EXCEPTION_REPORTING;
    atomic_fetch_add(&repairs.contexts, 1);
    if (is_in_system_call((const uint8_t *)(uintptr_t)context->Rip)) {
        context->ContextFlags |= CONTEXT_SERVICE_ACTIVE;
        atomic_fetch_add(&repairs.system_calls, 1);
    }
    return got;
}

static bool replace(uint64_t *slot)
{
    union {
        WINBOOL(WINAPI *function)(HANDLE, CONTEXT *);
        uint64_t word;
    } by = { .function = get_and_report };
    DWORD before;
    if (!VirtualProtect(slot, sizeof *slot, PAGE_READWRITE, &before))
        return false;
    *slot = by.word;
    return VirtualProtect(slot, sizeof *slot, before, &before);
}

static bool replace_import(uint8_t *module, const char *name, const IMAGE_IMPORT_DESCRIPTOR *from)
{
    const uint64_t *names = (const uint64_t *)(module + from->OriginalFirstThunk);
    uint64_t *slots = (uint64_t *)(module + from->FirstThunk);
    for (size_t i = 0; names[i] != 0; i++)
        if ((names[i] & IMAGE_ORDINAL_FLAG64) == 0 &&
            strcmp((const char *)((const IMAGE_IMPORT_BY_NAME *)(module + names[i]))->Name, name) == 0)
            return replace(&slots[i]);
    return false;
}

bool prepare_system(void)
{
    uint8_t *runtime = (uint8_t *)GetModuleHandleW(L"coreclr.dll");
    ntdll = (const uint8_t *)GetModuleHandleW(L"ntdll.dll");
    if (!runtime || !ntdll)
        return false;
    ntdll_size = headers_of(ntdll)->OptionalHeader.SizeOfImage;
    const IMAGE_DATA_DIRECTORY *imports =
        &headers_of(runtime)->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_IMPORT];
    const IMAGE_IMPORT_DESCRIPTOR *from = (const IMAGE_IMPORT_DESCRIPTOR *)(runtime + imports->VirtualAddress);
    for (; from->Name != 0; from++)
        if (replace_import(runtime, "GetThreadContext", from))
            return true;
    return false;
}
