/*
 * Where a ReadyToRun image keeps what its compiler noted of a method: a NativeArray by runtime functions. Read where
 * the image is mapped, in the target. Source: win-x64-unwind.md sections 7 and 8; clr-names.md section 10;
 * dotnet/runtime docs/design/coreclr/botr/readytorun-format.md.
 */
#include "clr/clr.h"
#include "clr/names/names.h"
#include "clr/runtime.h"

enum { PE_OFFSET = 0x3c, PE_HEAD = 24, PE_PLUS = 0x20b, CLI = 14, NATIVE_HEADER = 64 };
enum {
    SIGNATURE = 0x00525452,
    SECTIONS_MAX = 64,
    FUNCTIONS = 102,
    DEBUG_INFO = 105,
    PACKED_SINCE = 16,
    MAJOR_LAST = 16
};

/* Funclets have no notes of their own: those of the method are some functions in front. */
enum { FUNCLETS_MAX = 256 };

struct part {
    uint64_t at;
    uint32_t size;
};

struct image {
    const struct sw_names *names;
    uint64_t base;
    unsigned major;
    struct part functions, notes;
};

static uint32_t u32(const struct image *image, uint64_t at)
{
    uint64_t value = 0;
    return sw_names_u(image->names, at, 4, &value) ? (uint32_t)value : 0;
}

static uint32_t u16(const struct image *image, uint64_t at)
{
    return u32(image, at) & 0xffff;
}

static bool open_image(struct image *image)
{
    const uint64_t pe = image->base + u32(image, image->base + PE_OFFSET), optional = pe + PE_HEAD;
    if (u16(image, image->base) != 0x5a4d || u32(image, pe) != 0x4550 || u16(image, optional) != PE_PLUS)
        return false;
    const uint32_t cli = u32(image, optional + 112 + 8 * CLI),
                   native = cli ? u32(image, image->base + cli + NATIVE_HEADER) : 0;
    const uint64_t header = image->base + native;
    const uint32_t count = native ? u32(image, header + 12) : 0;
    if (!native || u32(image, header) != SIGNATURE || count > SECTIONS_MAX)
        return false;
    image->major = u16(image, header + 4);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t section = header + 16 + 12 * (uint64_t)i;
        const uint32_t type = u32(image, section);
        const struct part part = { image->base + u32(image, section + 4), u32(image, section + 8) };
        if (type == FUNCTIONS)
            image->functions = part;
        else if (type == DEBUG_INFO)
            image->notes = part;
    }
    return image->functions.size && image->major <= MAJOR_LAST;
}

static unsigned function_bytes(const struct image *image)
{
    return image->names->layout.machine == SW_MACHINE_ARM64 ? 8 : 12;
}

static uint32_t begin_of(const struct image *image, uint32_t function)
{
    return u32(image, image->functions.at + (uint64_t)function * function_bytes(image));
}

/* The last function that begins at or in front of an RVA. False: none. */
static bool find_function(const struct image *image, uint32_t rva, uint32_t *function)
{
    uint32_t low = 0, high = image->functions.size / function_bytes(image);
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (begin_of(image, middle) <= rva)
            low = middle + 1;
        else
            high = middle;
    }
    *function = low - 1;
    return low > 0;
}

/* A number of variable length, as in native_array.c; *at: behind it. */
static bool varint(const struct image *image, uint64_t *at, uint32_t *value)
{
    uint64_t raw = 0;
    unsigned size = 1;
    if (!sw_names_u(image->names, *at, 1, &raw))
        return false;
    while (size <= 5 && (raw >> (size - 1) & 1))
        size++;
    if (size > 5 || !sw_names_u(image->names, *at, size, &raw))
        return false;
    *value = (uint32_t)(size == 5 ? raw >> 8 : raw >> size);
    *at += size;
    return true;
}

/* The element of a NativeArray: sw_clr_array_at in another's memory. */
static bool find_element(const struct image *image, uint32_t element, uint64_t *at)
{
    uint64_t base = image->notes.at, off = 0;
    uint32_t header, node;
    if (!varint(image, &base, &header) || element >= header >> 2 || (header & 3) > 2 ||
        !sw_names_u(image->names, base + ((uint64_t)(element / 16) << (header & 3)), 1u << (header & 3), &off))
        return false;
    *at = base + off;
    for (unsigned bit = 8; bit; bit >>= 1) {
        uint64_t next = *at;
        if (!varint(image, &next, &node))
            return false;
        const bool one = (element & bit) != 0;
        if (one && (node & 2)) {
            *at += node >> 2;
        } else if (!one && (node & 1)) {
            *at = next;
        } else {
            *at = next;
            return (node & 3) == 0 && node >> 2 == (element & 15);
        }
    }
    return true;
}

/* Equal notes stand once: the number is how far back, or 0 where they follow. */
static bool find_notes(const struct image *image, uint32_t function, uint64_t *notes)
{
    uint64_t at;
    uint32_t back;
    if (!find_element(image, function, &at))
        return false;
    *notes = at;
    if (!varint(image, notes, &back))
        return false;
    if (back)
        *notes = at - back;
    return *notes >= image->notes.at && *notes - image->notes.at < image->notes.size;
}

bool sw_names_image_place(struct sw_names *names, uint64_t base, uint64_t pc, uint32_t *il)
{
    struct image image = { .names = names, .base = base };
    uint64_t notes;
    uint32_t function;
    if (pc < base || pc - base > UINT32_MAX || !open_image(&image) || !image.notes.size ||
        !find_function(&image, (uint32_t)(pc - base), &function))
        return false;
    for (unsigned tries = 0; !find_notes(&image, function, &notes); tries++)
        if (function-- == 0 || tries == FUNCLETS_MAX)
            return false;
    const uint64_t begin = base + begin_of(&image, function);
    return pc >= begin && sw_names_bounds_find(names, notes, image.major >= PACKED_SINCE, (uint32_t)(pc - begin), il);
}

bool sw_names_image_entry(const struct sw_names *names, uint64_t base, uint64_t pc, uint64_t *entry, uint64_t *method)
{
    struct image image = { .names = names, .base = base };
    uint32_t function;
    if (pc < base || pc - base > UINT32_MAX || !open_image(&image) ||
        !find_function(&image, (uint32_t)(pc - base), &function))
        return false;
    for (unsigned tries = 0; tries <= FUNCLETS_MAX; tries++) {
        *entry = base + begin_of(&image, function);
        if (sw_clr_find_entry(&names->layout, &names->memory, *entry, method))
            return true;
        if (function-- == 0)
            return false;
    }
    return false;
}
