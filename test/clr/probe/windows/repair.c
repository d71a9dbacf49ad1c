/*
 * The two repairs that Wine needs.
 *
 * Windows reports, with a stopped thread's registers, that it does so (CONTEXT_EXCEPTION_REPORTING), and whether the
 * thread stands in a system call; Wine 8 gives the request back. The CLR asks, and takes a missing report for "not
 * safe": every walk of another cooperative thread would be refused, and the runtime could not stop a loop without
 * calls. So the runtime's import of GetThreadContext becomes a function that adds the report. On Windows it changes
 * nothing.
 *
 * Wine notes each handler that it calls in a list of the thread's, in a record on the stack, and takes it out when the
 * handler returns. That of the CLR need not: it goes on in the frame that catches. The record stays listed, its memory
 * is used again, and the next exception calls what lies there: that faults, which is an exception, and so on without
 * end. So before an exception is dispatched, records that are dead or are none are taken out.
 *
 * Source: clr-windows-observed.md W10-W14, W19; winnt.h, CONTEXT_*; PE format, import directory.
 */
/* In front of the CLR's interfaces, which then take its types. */
#include <windows.h>

#include "../probe.h"
#include "repair.h"

#include <string.h>

enum { EXECUTABLE = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY };

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

/* Whether a listed record is one: where records may be, and with a handler that is code of the system's. */
static bool is_listed_well(const EXCEPTION_REGISTRATION_RECORD *record, const NT_TIB *thread)
{
    const union {
        PEXCEPTION_ROUTINE function;
        uint64_t address;
    } handler = { .function = record->Handler };
    const bool on_stack = (void *)record >= thread->StackLimit && (void *)(record + 1) <= thread->StackBase;
    MEMORY_BASIC_INFORMATION about;
    return on_stack && (uintptr_t)record % sizeof(void *) == 0 &&
           VirtualQuery((const void *)(uintptr_t)handler.address, &about, sizeof about) == sizeof about &&
           about.Type == MEM_IMAGE && (about.Protect & EXECUTABLE) != 0;
}

/* A record that lies under the sp of who raised it is of a call that has been left. */
static LONG CALLBACK forget_dead_records(EXCEPTION_POINTERS *exception)
{
    EXCEPTION_REGISTRATION_RECORD *const last = (EXCEPTION_REGISTRATION_RECORD *)~(uintptr_t)0;
    NT_TIB *thread;
    __asm__("movq %%gs:0x30, %0" : "=r"(thread));
    EXCEPTION_REGISTRATION_RECORD **link = &thread->ExceptionList;
    while (*link != last && *link) {
        if (!is_listed_well(*link, thread)) {
            *link = last;
            atomic_fetch_add(&repairs.records, 1);
        } else if ((uintptr_t)*link < exception->ContextRecord->Rsp) {
            *link = (*link)->Next;
            atomic_fetch_add(&repairs.records, 1);
        } else {
            link = &(*link)->Next;
        }
    }
    return EXCEPTION_CONTINUE_SEARCH;
}

bool prepare_system(void)
{
    uint8_t *runtime = (uint8_t *)GetModuleHandleW(L"coreclr.dll");
    ntdll = (const uint8_t *)GetModuleHandleW(L"ntdll.dll");
    if (!runtime || !ntdll || !AddVectoredExceptionHandler(1, forget_dead_records))
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
