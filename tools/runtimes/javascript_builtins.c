/* See javascript_builtins.h. Where the copy is V8 tells nobody: its pages are known by what they contain. */
#include "javascript_builtins.h"

#include "peek.h"

#include <snapwalk/names.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, BYTES_MOST = 1 << 27 };

/* pages: a hash of each whole page, made when first asked for. copy: where that of the first page is; 0: not known. */
struct v8_builtins {
    struct sw_memory memory;
    uint64_t begin, end, copy;
    uint64_t *pages;
};

/* A linker that optimises the whole program may name what was a file's own. Seen: Node 26. */
static bool find_own(struct sw_images *images, const char *symbol, uint64_t *address)
{
    static const char *const endings[] = { "", ".0", ".lto_priv.0" };
    char name[128];
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        snprintf(name, sizeof name, "%s%s", symbol, endings[i]);
        if (sw_images_symbol(images, name, address) == SW_OK)
            return true;
    }
    return false;
}

/*
 * What a function returns, where a variable's own symbol was stripped, as in Debian's libnode: `mov disp32(%rip),%rax`
 * (or %eax); `ret`.
 */
static bool find_returned(const struct v8_builtins *b, struct sw_images *images, const char *function, bool is_wide,
                          uint64_t *address)
{
    static const uint8_t load[] = { 0x48, 0x8b, 0x05 };
    uint8_t code[8];
    int32_t distance;
    const size_t before = is_wide ? 3 : 2;
    if (sw_images_symbol(images, function, address) != SW_OK || !peek(&b->memory, *address, code, sizeof code) ||
        memcmp(code, load + 3 - before, before) != 0 || code[before + 4] != 0xc3)
        return false;
    memcpy(&distance, code + before, sizeof distance);
    *address += before + 4 + (uint64_t)(int64_t)distance;
    return true;
}

static bool read_range(struct v8_builtins *b, struct sw_images *images)
{
    uint64_t code, size;
    uint32_t bytes;
    const bool has_symbols =
        find_own(images, "_ZN2v88internal12_GLOBAL__N_127current_embedded_blob_code_E", &code) &&
        find_own(images, "_ZN2v88internal12_GLOBAL__N_132current_embedded_blob_code_size_E", &size);
    if (!has_symbols &&
        (!find_returned(b, images, "_ZN2v88internal7Isolate23CurrentEmbeddedBlobCodeEv", true, &code) ||
         !find_returned(b, images, "_ZN2v88internal7Isolate27CurrentEmbeddedBlobCodeSizeEv", false, &size)))
        return false;
    if (!peek(&b->memory, code, &b->begin, 8) || !peek(&b->memory, size, &bytes, 4))
        return false;
    b->end = b->begin + bytes;
    return bytes <= BYTES_MOST && b->end >= b->begin;
}

enum sw_status v8_builtins_open(struct sw_images *images, const struct sw_memory *memory, struct v8_builtins **builtins)
{
    struct v8_builtins *b = calloc(1, sizeof *b);
    if (!b)
        return SW_E_NO_MEMORY;
    b->memory = *memory;
    if (!read_range(b, images)) {
        free(b);
        return SW_E_NOT_FOUND;
    }
    *builtins = b;
    return SW_OK;
}

void v8_builtins_close(struct v8_builtins *builtins)
{
    if (builtins)
        free(builtins->pages);
    free(builtins);
}

/* Of what is no whole page in memory: 0. Source: FNV-1a, a word at a time. */
static uint64_t hash_page(const struct v8_builtins *b, uint64_t address, uint8_t page[PAGE])
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325), word;
    if (!peek(&b->memory, address, page, PAGE))
        return 0;
    for (size_t i = 0; i < PAGE; i += sizeof word) {
        memcpy(&word, page + i, sizeof word);
        hash = (hash ^ word) * UINT64_C(0x100000001b3);
    }
    return hash | 1;
}

static size_t count_pages(const struct v8_builtins *b)
{
    return (size_t)(b->end - b->begin) / PAGE;
}

static bool make_pages(struct v8_builtins *b)
{
    uint8_t page[PAGE];
    const size_t count = count_pages(b);
    if (!b->pages && (b->pages = calloc(count + 1, sizeof *b->pages)) != NULL)
        for (size_t i = 0; i < count; i++)
            b->pages[i] = hash_page(b, b->begin + i * PAGE, page);
    return b->pages != NULL;
}

/* A page that is there twice, of padding, says nothing about where it is copied from. */
static bool is_only(const struct v8_builtins *b, size_t at)
{
    for (size_t i = 0; i < count_pages(b); i++)
        if (i != at && b->pages[i] == b->pages[at])
            return false;
    return true;
}

/* Copies begin at a page, whatever the built-in code begins at. */
static void find_copy(struct v8_builtins *b, uint64_t address)
{
    uint8_t page[PAGE], original[PAGE];
    const uint64_t begin = address & ~(uint64_t)(PAGE - 1);
    const uint64_t hash = hash_page(b, begin, page);
    if (!hash || !make_pages(b))
        return;
    for (size_t i = 0; i < count_pages(b); i++)
        if (b->pages[i] == hash && is_only(b, i) && peek(&b->memory, b->begin + i * PAGE, original, PAGE) &&
            memcmp(page, original, PAGE) == 0)
            b->copy = begin - i * PAGE;
}

uint64_t v8_builtins_original(struct v8_builtins *b, uint64_t address, bool in_file)
{
    if (address - b->begin < b->end - b->begin)
        return address;
    if (!b->copy && !in_file)
        find_copy(b, address);
    return b->copy && address - b->copy < b->end - b->begin ? b->begin + (address - b->copy) : 0;
}
