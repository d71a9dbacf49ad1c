/*
 * The modules of this process, as images: the loader's list, and what it tells of modules that come and go. Refuses to
 * know what becomes of a module (images.c).
 *
 * The program, the system's three libraries, which nobody can unload, and the module that this code is in are used
 * where they are mapped. Every other module may be unloaded while a walk looks at it, so it is copied; the loader's
 * reference count keeps it there meanwhile, or in a notification the loader's lock, which the caller has.
 *
 * Source: EnumProcessModules, GetModuleHandleExW, LdrRegisterDllNotification, Microsoft Learn; clr-windows-observed.md
 * W86.
 */
#include "common/alloc.h"
#include "target/windows/images.h"

#include <snapwalk/follow.h>
#include <snapwalk/self.h>

#include <stdatomic.h>
#include <winternl.h>

#include <psapi.h>

enum { PAGE = 4096, PATH_CHARS = 1024, MODULES_FIRST = 256 };

/* The origin of the images that a refresh of this process may drop. */
static const char origin_self;

/* Modules that this code holds a reference to. `rows` and `paths` have `room` of them. */
struct modules {
    const struct sw_alloc *alloc;
    size_t room;
    size_t count;
    HMODULE *handles;
    WCHAR (*paths)[PATH_CHARS];
    struct sw_windows_module *rows;
};

/* Its headers say how long it is. */
enum sw_status sw_windows_open_ntdll(struct sw_pe *pe)
{
    const uint8_t *base = (const uint8_t *)(uintptr_t)GetModuleHandleW(L"ntdll.dll");
    const enum sw_status status = sw_pe_open((struct sw_bytes){ base, PAGE, (uint64_t)(uintptr_t)base }, true, pe);
    pe->bytes.size = status == SW_OK ? pe->size_of_image : 0;
    return status == SW_OK ? SW_OK : SW_E_OS;
}

/* ---- the loader's list ---- */

static size_t bytes_of(size_t room)
{
    const struct modules *m = NULL;
    return room * (sizeof *m->handles + sizeof *m->paths + sizeof *m->rows);
}

/* One block. */
static bool make_modules(struct modules *modules, const struct sw_alloc *alloc, size_t room)
{
    uint8_t *block = alloc->get(alloc->arg, bytes_of(room));
    if (!block)
        return false;
    *modules = (struct modules){ .alloc = alloc, .room = room };
    modules->rows = (struct sw_windows_module *)(void *)block;
    modules->handles = (HMODULE *)(void *)(modules->rows + room);
    modules->paths = (WCHAR(*)[PATH_CHARS])(void *)(modules->handles + room);
    return true;
}

/* Gives the loader's references back. */
static void free_modules(struct modules *modules)
{
    for (size_t i = 0; i < modules->count; i++)
        FreeLibrary((HMODULE)(uintptr_t)modules->rows[i].begin);
    modules->alloc->put(modules->alloc->arg, modules->rows, bytes_of(modules->room));
}

/* Whether nothing can unload a module while this code runs. */
static bool lasts(HMODULE module, uint64_t size)
{
    static const WCHAR *const system[] = { NULL, L"ntdll.dll", L"kernel32.dll", L"kernelbase.dll" };
    const uint64_t here = (uint64_t)(uintptr_t)&origin_self;
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
        if (GetModuleHandleW(system[i]) == module)
            return true;
    return here - (uint64_t)(uintptr_t)module < size;
}

/* One that is unloaded meanwhile is left out. */
static void take_module(struct modules *modules, HMODULE listed)
{
    const struct sw_memory memory = sw_self_memory();
    const uint64_t begin = (uint64_t)(uintptr_t)listed;
    WCHAR *path = modules->paths[modules->count];
    HMODULE handle;
    MODULEINFO info;
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (const WCHAR *)listed, &handle))
        return;
    if (handle != listed || !K32GetModuleInformation(GetCurrentProcess(), handle, &info, sizeof info)) {
        FreeLibrary(handle);
        return;
    }
    path[GetModuleFileNameW(handle, path, PATH_CHARS - 1)] = 0;
    modules->rows[modules->count++] =
        (struct sw_windows_module){ begin, info.SizeOfImage, sw_windows_stamp(&memory, begin), path,
                                    lasts(handle, info.SizeOfImage) };
}

/* The number of modules that there are; none are taken where they are too many. 0: the system does not tell. */
static size_t take_listed(struct modules *modules)
{
    DWORD bytes;
    const DWORD room = (DWORD)(modules->room * sizeof *modules->handles);
    if (!K32EnumProcessModules(GetCurrentProcess(), modules->handles, room, &bytes))
        return 0;
    const size_t count = bytes / sizeof *modules->handles;
    for (size_t i = 0; count <= modules->room && i < count; i++)
        take_module(modules, modules->handles[i]);
    return count;
}

static enum sw_status list_modules(const struct sw_alloc *alloc, struct modules *modules)
{
    for (size_t room = MODULES_FIRST;;) {
        if (!make_modules(modules, alloc, room))
            return SW_E_NO_MEMORY;
        const size_t count = take_listed(modules);
        if (count != 0 && count <= room)
            return SW_OK;
        free_modules(modules);
        if (count == 0)
            return SW_E_OS;
        room = count + MODULES_FIRST;
    }
}

enum sw_status sw_images_add_self(struct sw_images *images)
{
    const struct sw_memory memory = sw_self_memory();
    struct modules modules;
    if (!images)
        return SW_E_ARGUMENT;
    enum sw_status status = list_modules(sw_images_alloc(images), &modules);
    if (status != SW_OK)
        return status;
    status = sw_images_lock(images);
    if (status == SW_OK) {
        status = sw_windows_refresh(images, modules.rows, modules.count, &origin_self, &memory, false);
        if (status == SW_OK)
            status = sw_windows_take_spans(images, GetCurrentProcess());
        sw_images_unlock(images);
    }
    free_modules(&modules);
    return status;
}

/* ---- notifications ---- */

/* What a notification says of a module, whether it comes or goes. */
struct told {
    ULONG flags;
    const UNICODE_STRING *full_name;
    const UNICODE_STRING *base_name;
    void *base;
    ULONG size;
};
enum { LOADED = 1, UNLOADED = 2 };

typedef void CALLBACK on_module(ULONG reason, const struct told *told, void *context);
typedef NTSTATUS NTAPI register_notification(ULONG flags, on_module *function, void *context, void **cookie);
typedef NTSTATUS NTAPI unregister_notification(void *cookie);

/* missed: something came or went while another writer was changing the set. */
struct sw_images_follower {
    struct sw_alloc alloc;
    struct sw_images *images;
    unregister_notification *unregister;
    void *cookie;
    _Atomic bool missed;
};

/* The path, cut where it is longer than there is room for, or not told. */
static void copy_name(WCHAR path[PATH_CHARS], const UNICODE_STRING *name)
{
    const size_t told = name && name->Buffer ? name->Length / sizeof(WCHAR) : 0;
    const size_t length = told < PATH_CHARS - 1 ? told : PATH_CHARS - 1;
    for (size_t i = 0; i < length; i++)
        path[i] = name->Buffer[i];
    path[length] = 0;
}

/* An image that stands there by another origin stays. */
static void put_or_drop(struct sw_images *images, bool is_put, const struct sw_windows_module *module)
{
    const struct sw_memory memory = sw_self_memory();
    const struct sw_image_entry *entry = sw_images_entry(images, module->begin);
    if (entry && entry->origin == &origin_self && entry->info.begin == module->begin)
        (void)!sw_images_drop(images, module->begin);
    if (is_put && !sw_images_entry(images, module->begin))
        (void)!sw_windows_put_module(images, module, &origin_self, &memory, false);
    (void)!sw_windows_take_spans(images, GetCurrentProcess());
}

/* In the thread that loads or unloads, under the loader's lock: waits for nobody. */
static void CALLBACK follow(ULONG reason, const struct told *told, void *context)
{
    struct sw_images_follower *follower = context;
    const struct sw_memory memory = sw_self_memory();
    const uint64_t begin = (uint64_t)(uintptr_t)told->base;
    WCHAR path[PATH_CHARS];
    if (reason != LOADED && reason != UNLOADED)
        return;
    if (atomic_exchange(&follower->missed, false) && sw_images_add_self(follower->images) != SW_OK)
        atomic_store(&follower->missed, true);
    if (sw_images_lock(follower->images) != SW_OK) {
        atomic_store(&follower->missed, true);
        return;
    }
    copy_name(path, told->full_name);
    const struct sw_windows_module module = { begin, told->size, sw_windows_stamp(&memory, begin), path, false };
    put_or_drop(follower->images, reason == LOADED, &module);
    sw_images_unlock(follower->images);
}

/* What was missed while the list was read is in it the next time. */
static enum sw_status read_list(struct sw_images_follower *follower)
{
    enum sw_status status;
    do {
        atomic_store(&follower->missed, false);
        status = sw_images_add_self(follower->images);
    } while (status == SW_OK && atomic_load(&follower->missed));
    return status;
}

enum sw_status sw_images_follow_self(struct sw_images *images, struct sw_images_follower **out)
{
    const HMODULE ntdll = GetModuleHandleW(L"ntdll.dll");
    if (!images || !out || !ntdll)
        return images && out ? SW_E_OS : SW_E_ARGUMENT;
    register_notification *const start =
        (register_notification *)(void *)GetProcAddress(ntdll, "LdrRegisterDllNotification");
    unregister_notification *const end =
        (unregister_notification *)(void *)GetProcAddress(ntdll, "LdrUnregisterDllNotification");
    if (!start || !end)
        return SW_E_UNSUPPORTED;
    const struct sw_alloc alloc = *sw_images_alloc(images);
    struct sw_images_follower *follower = alloc.get(alloc.arg, sizeof *follower);
    if (!follower)
        return SW_E_NO_MEMORY;
    *follower = (struct sw_images_follower){ .alloc = alloc, .images = images, .unregister = end };
    enum sw_status status = start(0, follow, follower, &follower->cookie) >= 0 ? SW_OK : SW_E_OS;
    if (status != SW_OK) {
        alloc.put(alloc.arg, follower, sizeof *follower);
        return status;
    }
    status = read_list(follower);
    if (status != SW_OK)
        sw_images_unfollow(follower);
    else
        *out = follower;
    return status;
}

void sw_images_unfollow(struct sw_images_follower *follower)
{
    if (!follower)
        return;
    const struct sw_alloc alloc = follower->alloc;
    follower->unregister(follower->cookie);
    alloc.put(alloc.arg, follower, sizeof *follower);
}
