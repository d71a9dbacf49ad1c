/*
 * Modules, files and target memory → PE images in the set, on Windows. Knows what owns the bytes of an image; refuses
 * to know the format (lib/pe, lib/clr), which modules a process has (images_self.c, images_process.c) and how the set
 * works (src/code/images.c).
 *
 * Source: CreateFileW, VirtualQueryEx, Microsoft Learn; PE/COFF specification.
 */
#include "target/windows/images.h"

#include "base/magic.h"
#include "code/pe_name.h"
#include "target/windows/memory.h"
#include "unwind/sources.h"

#include <snapwalk/names.h>

#include <string.h>

enum { PAGE = 4096, PATH_CHARS = 4096, MEMORY_IMAGE_MAX = 64 << 20, SPANS_FIRST = 1024 };

/* Images -------------------------------------------------------------------------------------------------------- */

static enum sw_status hold(struct sw_images *images, struct sw_image_entry *entry, uint64_t size)
{
    return sw_images_hold(images, entry, (size_t)size) ? SW_OK : SW_E_NO_MEMORY;
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
    if (status == SW_OK && !sw_begins_pe(bytes))
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

static enum sw_status open_and_read(struct sw_images *images, struct sw_image_entry *entry, const WCHAR *path)
{
    const HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                    OPEN_EXISTING, 0, NULL);
    if (file == INVALID_HANDLE_VALUE)
        return SW_E_OS;
    const enum sw_status status = GetFileType(file) == FILE_TYPE_DISK ? read_file(images, entry, file) : SW_E_OS;
    CloseHandle(file);
    return status;
}

enum sw_status sw_images_add_file(struct sw_images *images, const char *path, uint64_t address)
{
    WCHAR wide[PATH_CHARS];
    if (!images || !path)
        return SW_E_ARGUMENT;
    if (MultiByteToWideChar(CP_UTF8, 0, path, -1, wide, PATH_CHARS) == 0)
        return SW_E_OS;
    enum sw_status status = sw_images_lock(images);
    if (status != SW_OK)
        return status;
    struct sw_image_entry *entry = sw_images_make(images, path);
    status = entry ? open_and_read(images, entry, wide) : SW_E_NO_MEMORY;
    if (entry)
        status = finish(images, entry, status, (struct sw_bytes){ entry->held, entry->held_size, address }, false);
    sw_images_unlock(images);
    return status;
}

/* Modules ------------------------------------------------------------------------------------------------------- */

uint64_t sw_windows_stamp(const struct sw_memory *memory, uint64_t begin)
{
    IMAGE_DOS_HEADER dos;
    IMAGE_NT_HEADERS headers;
    if (memory->read(memory->arg, begin, &dos, sizeof dos) != sizeof dos || dos.e_lfanew < 0 ||
        memory->read(memory->arg, begin + (uint32_t)dos.e_lfanew, &headers, sizeof headers) != sizeof headers)
        return 0;
    return (uint64_t)headers.OptionalHeader.SizeOfImage << 32 | headers.FileHeader.TimeDateStamp;
}

/* A reader of a block that counts from 0. */
static size_t read_block(void *arg, uint64_t address, void *to, size_t size)
{
    const struct sw_bytes part = sw_bytes_part(*(const struct sw_bytes *)arg, address, size);
    if (part.size)
        memcpy(to, part.bytes, size);
    return (size_t)part.size;
}

/* The whole file, if it is the one that is mapped. */
static enum sw_status read_same_file(struct sw_images *images, struct sw_image_entry *entry,
                                     const struct sw_windows_module *module)
{
    const enum sw_status status = open_and_read(images, entry, module->path);
    struct sw_bytes bytes = { entry->held, entry->held_size, 0 };
    const struct sw_memory memory = { .read = read_block, .arg = &bytes };
    if (status != SW_OK)
        return status;
    return module->stamp != 0 && sw_windows_stamp(&memory, 0) == module->stamp ? SW_OK : SW_E_NOT_FOUND;
}

static struct sw_image_entry *make(struct sw_images *images, const struct sw_windows_module *module, const void *origin)
{
    char path[PATH_CHARS];
    if (WideCharToMultiByte(CP_UTF8, 0, module->path, -1, path, PATH_CHARS, NULL, NULL) == 0)
        path[0] = 0;
    struct sw_image_entry *entry = sw_images_make(images, path);
    if (entry) {
        entry->origin = origin;
        entry->identity = module->stamp;
    }
    return entry;
}

/* The first executable section, where it is mapped. */
static struct sw_bytes code_of(const struct sw_pe *pe)
{
    for (uint32_t rva = 0; rva < pe->size_of_image && pe->size_of_image - rva > PAGE; rva += PAGE)
        if (sw_pe_is_code(pe, rva))
            return sw_pe_rest(pe, rva);
    return (struct sw_bytes){ 0 };
}

static enum sw_status put_mapped(struct sw_images *images, struct sw_image_entry *entry, struct sw_bytes bytes)
{
    struct sw_pe pe;
    if (sw_pe_open(bytes, true, &pe) == SW_OK)
        entry->code = code_of(&pe);
    return finish(images, entry, SW_OK, bytes, true);
}

enum sw_status sw_windows_put_module(struct sw_images *images, const struct sw_windows_module *module,
                                     const void *origin, const struct sw_memory *memory, bool file)
{
    const struct sw_bytes mapped = { (const uint8_t *)(uintptr_t)module->begin, module->size, module->begin };
    struct sw_image_entry *entry = make(images, module, origin);
    if (!entry)
        return SW_E_NO_MEMORY;
    if (module->lasts && sw_windows_readable(module->begin, module->size) == module->begin + module->size)
        return put_mapped(images, entry, mapped);
    if (file && read_same_file(images, entry, module) == SW_OK)
        return finish(images, entry, SW_OK, (struct sw_bytes){ entry->held, entry->held_size, module->begin }, false);
    if (entry->held)
        entry->release(entry, sw_images_alloc(images));
    entry->held = NULL;
    return put_memory(images, entry, module->begin, module->size, memory);
}

struct kept {
    const struct sw_windows_module *modules;
    size_t count;
    const void *origin;
};

static bool is_gone(const struct sw_image_entry *entry, const void *arg)
{
    const struct kept *kept = arg;
    for (size_t i = 0; i < kept->count; i++)
        if (kept->modules[i].begin == entry->info.begin && kept->modules[i].stamp == entry->identity)
            return false;
    return entry->origin == kept->origin;
}

enum sw_status sw_windows_refresh(struct sw_images *images, const struct sw_windows_module *modules, size_t count,
                                  const void *origin, const struct sw_memory *memory, bool file)
{
    const struct kept kept = { modules, count, origin };
    enum sw_status status = sw_images_drop_if(images, is_gone, &kept);
    if (status == SW_E_NOT_FOUND)
        status = SW_OK;
    for (size_t i = 0; i < count && status != SW_E_NO_MEMORY; i++)
        if (!sw_images_entry(images, modules[i].begin))
            status = sw_windows_put_module(images, &modules[i], origin, memory, file);
    return status == SW_E_NO_MEMORY ? status : SW_OK;
}

/* Memory -------------------------------------------------------------------------------------------------------- */

/* What is executable, and what hardly can become so: an image's other sections. Private memory may be a runtime's. */
static enum sw_span_kind kind_of(const MEMORY_BASIC_INFORMATION *piece)
{
    enum { CODE = PAGE_EXECUTE | PAGE_EXECUTE_READ | PAGE_EXECUTE_READWRITE | PAGE_EXECUTE_WRITECOPY };
    if (piece->State != MEM_COMMIT || (piece->Protect & PAGE_NOACCESS))
        return SW_SPAN_UNKNOWN;
    if (piece->Protect & CODE)
        return SW_SPAN_CODE;
    return piece->Type == MEM_IMAGE ? SW_SPAN_DATA : SW_SPAN_UNKNOWN;
}

/* Into spans, as far as there is room; how many there are. */
static size_t list_spans(HANDLE process, struct sw_span *spans, size_t room)
{
    MEMORY_BASIC_INFORMATION piece;
    struct sw_span last = { 0 };
    size_t count = 0;
    for (uint64_t at = 0; VirtualQueryEx(process, (const void *)(uintptr_t)at, &piece, sizeof piece) == sizeof piece;) {
        const struct sw_span span = { at, (uint64_t)(uintptr_t)piece.BaseAddress + piece.RegionSize, kind_of(&piece) };
        if (span.end <= at)
            break;
        at = span.end;
        if (span.kind == SW_SPAN_UNKNOWN)
            continue;
        const bool continues = count != 0 && last.end == span.begin && last.kind == span.kind;
        count += !continues;
        last = (struct sw_span){ continues ? last.begin : span.begin, span.end, span.kind };
        if (count <= room)
            spans[count - 1] = last;
    }
    return count;
}

enum sw_status sw_windows_take_spans(struct sw_images *images, HANDLE process)
{
    const struct sw_alloc *alloc = sw_images_alloc(images);
    for (size_t room = SPANS_FIRST;;) {
        struct sw_span *spans = alloc->get(alloc->arg, room * sizeof *spans);
        if (!spans)
            return SW_E_NO_MEMORY;
        const size_t count = list_spans(process, spans, room);
        const enum sw_status status = count <= room ? sw_images_set_spans(images, spans, count) : SW_OK;
        alloc->put(alloc->arg, spans, room * sizeof *spans);
        if (count <= room)
            return status;
        room = count + SPANS_FIRST;
    }
}

/* The loader's list is short, and is not read from a text. */
enum sw_status sw_images_add_mapped(struct sw_images *images, uint64_t address, bool lasts)
{
    (void)address, (void)lasts;
    return sw_images_add_self(images);
}

/* Names --------------------------------------------------------------------------------------------------------- */

enum sw_status sw_names_load(struct sw_images *images)
{
    return images ? SW_OK : SW_E_ARGUMENT; /* a PE image's are read where they stand */
}

enum sw_status sw_names_find(const struct sw_images *images, uint64_t address, char *name, size_t size, uint64_t *start)
{
    uint64_t begin = 0;
    if (!images || !name || size == 0)
        return SW_E_ARGUMENT;
    struct sw_section section;
    sw_images_enter(images, &section);
    const struct sw_image_entry *entry = sw_images_entry(images, address);
    const bool is_pe = entry && entry->info.is_pe;
    const enum sw_status status = is_pe ? sw_image_pe_name(entry, address, name, size, &begin) : SW_E_NOT_FOUND;
    sw_images_leave(images, &section);
    if (status == SW_OK && start)
        *start = begin;
    return status;
}

enum sw_status sw_images_name(const struct sw_images *images, uint64_t address, char *name, size_t size,
                              uint64_t *start)
{
    return sw_names_find(images, address, name, size, start);
}
