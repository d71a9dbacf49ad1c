/*
 * Modules of this process, files and target memory → PE images in the set, on Windows. Knows the loader's list and what
 * owns the bytes of an image; refuses to know the format (lib/pe, lib/clr) and how the set works (src/code/images.c).
 *
 * The program, the system's three libraries, which nobody can unload, and the module that this code is in are used
 * where they are mapped. Every other module may be unloaded while a walk looks at it, so it is copied; the loader's
 * reference count keeps it there meanwhile.
 *
 * Source: EnumProcessModules, GetModuleHandleExW, Microsoft Learn; clr-windows-observed.md W86.
 */
#include "code/images.h"

#include "code/pe_name.h"
#include "target/windows/memory.h"
#include "unwind/sources.h"

#include <snapwalk/self.h>

#include <string.h>
#include <windows.h>

#include <psapi.h>

enum { PAGE = 4096, PATH_CHARS = 4096, MODULES_FIRST = 256, MEMORY_IMAGE_MAX = 64 << 20 };

/* The origin of the images that a refresh of this process may drop. */
static const char origin_self;

/* A loaded module. stamp: the time in its header, so that another file at the same address is another image. */
struct module {
    HMODULE handle;
    uint64_t begin;
    uint64_t size;
    uint64_t stamp;
};

struct modules {
    const struct sw_alloc *alloc;
    size_t room;
    size_t count;
    struct module rows[];
};

/* Images -------------------------------------------------------------------------------------------------------- */

static void release_held(struct sw_image_entry *entry, const struct sw_alloc *alloc)
{
    if (entry->held)
        alloc->put(alloc->arg, entry->held, entry->held_size);
}

static enum sw_status hold(struct sw_images *images, struct sw_image_entry *entry, uint64_t size)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    entry->held = alloc->get(alloc->arg, (size_t)size);
    entry->held_size = (size_t)size;
    entry->release = release_held;
    return entry->held ? SW_OK : SW_E_NO_MEMORY;
}

/* Page by page. Unreadable pages become zeros: an image has holes between its sections. */
static enum sw_status copy_image(struct sw_images *images, struct sw_image_entry *entry, uint64_t address,
                                 uint64_t size, const struct sw_memory *memory)
{
    const enum sw_status status = hold(images, entry, size);
    if (status != SW_OK)
        return status;
    uint8_t *to = entry->held;
    for (uint64_t at = 0; at < size;) {
        const uint64_t to_page = PAGE - (address + at) % PAGE;
        const size_t part = (size_t)(to_page < size - at ? to_page : size - at);
        const size_t got = memory->read(memory->arg, address + at, to + at, part);
        if (got == 0 && at == 0)
            return SW_E_UNREADABLE;
        memset(to + at + got, 0, part - got);
        at += part;
    }
    return SW_OK;
}

/* Opens an entry's bytes and inserts it, or discards it. */
static enum sw_status finish(struct sw_images *images, struct sw_image_entry *entry, enum sw_status status,
                             struct sw_bytes bytes, bool is_mapped)
{
    if (status == SW_OK && (bytes.size < 2 || memcmp(bytes.bytes, "MZ", 2) != 0))
        status = SW_E_UNSUPPORTED;
    if (status == SW_OK)
        status = sw_pe_open(bytes, is_mapped, &entry->pe);
    if (status == SW_OK)
        status = sw_sources_open_pe(images, entry);
    if (status == SW_OK)
        status = sw_images_insert(images, entry);
    if (status != SW_OK)
        sw_images_discard(images, entry);
    return status;
}

static enum sw_status put_memory(struct sw_images *images, struct sw_image_entry *entry, uint64_t address,
                                 uint64_t size, const struct sw_memory *memory)
{
    const enum sw_status status = copy_image(images, entry, address, size, memory);
    return finish(images, entry, status, (struct sw_bytes){ entry->held, size, address }, true);
}

enum sw_status sw_images_add_memory(struct sw_images *images, const char *name, uint64_t address, uint64_t size,
                                    const struct sw_memory *memory)
{
    if (!images || !name || !memory || !memory->read || size == 0 || size > MEMORY_IMAGE_MAX)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    struct sw_image_entry *entry = sw_images_make(images, name);
    status = entry ? put_memory(images, entry, address, size, memory) : SW_E_NO_MEMORY;
    sw_images_unlock(images);
    return status;
}

/* Files --------------------------------------------------------------------------------------------------------- */

static enum sw_status read_file(struct sw_images *images, struct sw_image_entry *entry, HANDLE file)
{
    LARGE_INTEGER size;
    DWORD got;
    if (!GetFileSizeEx(file, &size))
        return SW_E_OS;
    if (size.QuadPart < PAGE / 8)
        return SW_E_TRUNCATED;
    if (size.QuadPart > INT32_MAX)
        return SW_E_LIMIT;
    const enum sw_status status = hold(images, entry, (uint64_t)size.QuadPart);
    if (status != SW_OK)
        return status;
    const bool is_read = ReadFile(file, entry->held, (DWORD)size.QuadPart, &got, NULL) && got == (DWORD)size.QuadPart;
    return is_read ? SW_OK : SW_E_OS;
}

static enum sw_status open_and_read(struct sw_images *images, struct sw_image_entry *entry, const char *path)
{
    WCHAR wide[PATH_CHARS];
    if (MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, PATH_CHARS) == 0)
        return SW_E_OS;
    const HANDLE file = CreateFileW(wide, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                    OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return SW_E_OS;
    const enum sw_status status = read_file(images, entry, file);
    CloseHandle(file);
    return status;
}

enum sw_status sw_images_add_file(struct sw_images *images, const char *path, uint64_t address)
{
    if (!images || !path)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    struct sw_image_entry *entry = sw_images_make(images, path);
    status = entry ? open_and_read(images, entry, path) : SW_E_NO_MEMORY;
    if (entry)
        status = finish(images, entry, status, (struct sw_bytes){ entry->held, entry->held_size, address }, false);
    sw_images_unlock(images);
    return status;
}

/* Modules of this process --------------------------------------------------------------------------------------- */

static struct modules *make_modules(const struct sw_alloc *alloc, size_t room)
{
    struct modules *modules = alloc->get(alloc->arg, sizeof *modules + room * sizeof modules->rows[0]);
    if (modules)
        *modules = (struct modules){ .alloc = alloc, .room = room };
    return modules;
}

/* Gives the loader's references back. */
static void free_modules(struct modules *modules)
{
    if (!modules)
        return;
    for (size_t i = 0; i < modules->count; i++)
        FreeLibrary(modules->rows[i].handle);
    modules->alloc->put(modules->alloc->arg, modules, sizeof *modules + modules->room * sizeof modules->rows[0]);
}

static uint64_t stamp_of(uint64_t begin)
{
    const struct sw_memory memory = sw_self_memory();
    IMAGE_DOS_HEADER dos;
    IMAGE_NT_HEADERS headers;
    if (memory.read(memory.arg, begin, &dos, sizeof dos) != sizeof dos || dos.e_lfanew < 0 ||
        memory.read(memory.arg, begin + (uint32_t)dos.e_lfanew, &headers, sizeof headers) != sizeof headers)
        return 0;
    return (uint64_t)headers.OptionalHeader.SizeOfImage << 32 | headers.FileHeader.TimeDateStamp;
}

/* One that is unloaded meanwhile is left out. */
static void take_module(struct modules *modules, HMODULE listed)
{
    HMODULE handle;
    MODULEINFO info;
    if (!GetModuleHandleExW(GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS, (const WCHAR *)listed, &handle))
        return;
    if (handle != listed || !K32GetModuleInformation(GetCurrentProcess(), handle, &info, sizeof info)) {
        FreeLibrary(handle);
        return;
    }
    const uint64_t begin = (uint64_t)(uintptr_t)handle;
    modules->rows[modules->count++] = (struct module){ handle, begin, info.SizeOfImage, stamp_of(begin) };
}

/* What was listed into modules; the number of modules that there are. 0: the system does not tell. */
static size_t list_into(struct modules *modules, HMODULE *handles)
{
    DWORD bytes;
    if (!K32EnumProcessModules(GetCurrentProcess(), handles, (DWORD)(modules->room * sizeof *handles), &bytes))
        return 0;
    const size_t count = bytes / sizeof *handles;
    for (size_t i = 0; count <= modules->room && i < count; i++)
        take_module(modules, handles[i]);
    return count;
}

static enum sw_status list_modules(const struct sw_alloc *alloc, struct modules **out)
{
    for (size_t room = MODULES_FIRST;;) {
        struct modules *modules = make_modules(alloc, room);
        HMODULE *handles = alloc->get(alloc->arg, room * sizeof *handles);
        const size_t count = modules && handles ? list_into(modules, handles) : 0;
        const bool had_memory = modules && handles;
        if (handles)
            alloc->put(alloc->arg, handles, room * sizeof *handles);
        if (count != 0 && count <= room) {
            *out = modules;
            return SW_OK;
        }
        free_modules(modules);
        if (count == 0)
            return had_memory ? SW_E_OS : SW_E_NO_MEMORY;
        room = count + MODULES_FIRST;
    }
}

/* Whether nothing can unload a module while this code runs. */
static bool lasts(const struct module *module)
{
    static const WCHAR *const system[] = { NULL, L"ntdll.dll", L"kernel32.dll", L"kernelbase.dll" };
    const uint64_t here = (uint64_t)(uintptr_t)&origin_self;
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
        if (GetModuleHandleW(system[i]) == module->handle)
            return true;
    return here - module->begin < module->size;
}

/* The first executable section, where it is mapped. */
static struct sw_bytes code_of(const struct sw_pe *pe)
{
    for (uint32_t rva = 0; rva < pe->size_of_image && pe->size_of_image - rva > PAGE; rva += PAGE)
        if (sw_pe_is_code(pe, rva))
            return sw_pe_rest(pe, rva);
    return (struct sw_bytes){ 0 };
}

static void name_of(const struct module *module, char path[PATH_CHARS])
{
    WCHAR wide[PATH_CHARS / 4];
    const DWORD size = GetModuleFileNameW(module->handle, wide, PATH_CHARS / 4);
    const int got = WideCharToMultiByte(CP_UTF8, 0, wide, (int)size, path, PATH_CHARS - 1, NULL, NULL);
    path[got] = 0;
}

static enum sw_status put_module(struct sw_images *images, const struct module *module)
{
    const struct sw_memory memory = sw_self_memory();
    const struct sw_bytes bytes = { (const uint8_t *)(uintptr_t)module->begin, module->size, module->begin };
    const bool in_place =
        lasts(module) && sw_windows_readable(module->begin, module->size) == module->begin + module->size;
    char path[PATH_CHARS];
    struct sw_pe pe;
    name_of(module, path);
    struct sw_image_entry *entry = sw_images_make(images, path);
    if (!entry)
        return SW_E_NO_MEMORY;
    entry->origin = &origin_self;
    entry->identity = module->stamp;
    if (!in_place)
        return put_memory(images, entry, module->begin, module->size, &memory);
    if (sw_pe_open(bytes, true, &pe) == SW_OK)
        entry->code = code_of(&pe);
    return finish(images, entry, SW_OK, bytes, true);
}

static bool is_gone(const struct sw_image_entry *entry, const void *arg)
{
    const struct modules *modules = arg;
    for (size_t i = 0; i < modules->count; i++)
        if (modules->rows[i].begin == entry->info.begin && modules->rows[i].stamp == entry->identity)
            return false;
    return entry->origin == &origin_self;
}

/* First what is gone is dropped, so that what came in its place has room. */
static enum sw_status refresh(struct sw_images *images, const struct modules *modules)
{
    enum sw_status status = sw_images_drop_if(images, is_gone, modules);
    if (status == SW_E_NOT_FOUND)
        status = SW_OK;
    for (size_t i = 0; i < modules->count && status != SW_E_NO_MEMORY; i++)
        if (!sw_images_entry(images, modules->rows[i].begin))
            status = put_module(images, &modules->rows[i]);
    return status == SW_E_NO_MEMORY ? status : SW_OK;
}

enum sw_status sw_images_add_self(struct sw_images *images)
{
    struct modules *modules;
    if (!images)
        return SW_E_ARGUMENT;
    enum sw_status status = list_modules(sw_images_alloc(images), &modules);
    if (status != SW_OK)
        return status;
    status = sw_images_lock(images);
    if (status == SW_OK) {
        status = refresh(images, modules);
        sw_images_unlock(images);
    }
    free_modules(modules);
    return status;
}

/* Names --------------------------------------------------------------------------------------------------------- */

enum sw_status sw_images_name(const struct sw_images *images, uint64_t address, char *name, size_t size,
                              uint64_t *start)
{
    uint64_t begin = 0;
    if (!images || !name || size == 0)
        return SW_E_ARGUMENT;
    struct sw_section section;
    sw_images_enter(images, &section);
    const struct sw_image_entry *entry = sw_images_entry(images, address);
    const enum sw_status status = entry ? sw_image_pe_name(entry, address, name, size, &begin) : SW_E_NOT_FOUND;
    sw_images_leave(images, &section);
    if (status == SW_OK && start)
        *start = begin;
    return status;
}
