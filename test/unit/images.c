/*
 * The set of images: this process's own, files registered by hand, files that lie, and readers beside a writer.
 */
#include "code/images.h"
#include "elf/elf.h"

#include <snapwalk/clr_names.h>
#include <snapwalk/image.h>
#include <snapwalk/self.h>
#include <snapwalk/walk.h>

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <glob.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "budget.h"

enum { BASE = 0x10000000, PAGE = 4096 };

static uint64_t address_of(const void *p)
{
    return (uint64_t)(uintptr_t)p;
}

static struct sw_images *make(void)
{
    struct sw_images *images = NULL;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    return images;
}

static struct sw_images *make_self(void)
{
    struct sw_images *images = make();
    assert_int_equal(sw_images_add_self(images), SW_OK);
    return images;
}

/* This process ---------------------------------------------------------------------------------------------------- */

static int every_segment_is_covered(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct sw_images *images = arg;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint64_t at = info->dlpi_addr + segment->p_vaddr;
        struct sw_image first, last;
        if (segment->p_type != PT_LOAD)
            continue;
        assert_int_equal(sw_images_find(images, at, &first), SW_OK);
        assert_int_equal(sw_images_find(images, at + segment->p_memsz - 1, &last), SW_OK);
        assert_true(first.begin == last.begin && first.bias == info->dlpi_addr);
        assert_true(!first.is_pe && !first.is_ready_to_run && first.machine != SW_MACHINE_NONE);
        if (info->dlpi_name[0] == '/')
            assert_string_equal(first.path, info->dlpi_name);
    }
    return 0;
}

static void every_loaded_object_is_found(void **state)
{
    struct sw_images *images = make_self();
    (void)state;
    dl_iterate_phdr(every_segment_is_covered, images);
    sw_images_destroy(images);
}

static int every_table_is_used_where_it_is(struct dl_phdr_info *info, size_t size, void *arg)
{
    const struct sw_images *images = arg;
    (void)size;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        const uint64_t at = info->dlpi_addr + segment->p_vaddr;
        if (segment->p_type != PT_GNU_EH_FRAME)
            continue;
        const struct sw_image_entry *entry = sw_images_entry(images, at);
        assert_non_null(entry);
        assert_true(entry->has_cfi && entry->cfi.bias == 0);
        assert_true(entry->cfi.header.address == at && address_of(entry->cfi.header.bytes) == at);
        assert_true(entry->cfi.frame.size > 0 && address_of(entry->cfi.frame.bytes) == entry->cfi.frame.address);
    }
    return 0;
}

static void tables_are_used_where_they_are_mapped(void **state)
{
    struct sw_images *images = make_self();
    (void)state;
    struct sw_section section;
    sw_images_enter(images, &section);
    dl_iterate_phdr(every_table_is_used_where_it_is, images);
    sw_images_leave(images, &section);
    sw_images_destroy(images);
}

static void functions_of_this_process_have_rules(void **state)
{
    static struct sw_cfi_work work;
    struct sw_images *images = make_self();
    const uint64_t functions[] = { address_of((const void *)(uintptr_t)&every_loaded_object_is_found),
                                   address_of((const void *)(uintptr_t)&qsort) };
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct sw_cfi_cover cover;
        struct sw_rule rule;
        const struct sw_image_entry *entry = sw_images_entry(images, functions[i]);
        assert_non_null(entry);
        assert_int_equal(sw_cfi_rule(&entry->cfi, functions[i], &work, &rule, &cover), SW_OK);
        assert_true(cover.begin == functions[i] && cover.end > functions[i]);
    }
    sw_images_destroy(images);
}

static void functions_have_names(void **state)
{
    struct sw_images *images = make_self();
    const uint64_t function = address_of((const void *)(uintptr_t)&functions_have_names);
    uint64_t start = 0;
    char name[64];
    (void)state;
    assert_int_equal(sw_images_name(images, function + 3, name, sizeof name, &start), SW_OK);
    assert_string_equal(name, "functions_have_names");
    assert_true(start == function);
    assert_int_equal(sw_images_name(images, function, name, 10, NULL), SW_OK);
    assert_string_equal(name, "functions");
    assert_int_equal(sw_images_name(images, address_of((const void *)(uintptr_t)&lldiv), name, sizeof name, NULL),
                     SW_OK);
    assert_string_equal(name, "lldiv");
    assert_int_equal(sw_images_name(images, 16, name, sizeof name, NULL), SW_E_NOT_FOUND);
    sw_images_destroy(images);
}

static void the_vdso_is_there_with_its_tables(void **state)
{
    const uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    struct sw_image image;
    (void)state;
    if (!vdso)
        skip();
    struct sw_images *images = make_self();
    assert_int_equal(sw_images_find(images, vdso, &image), SW_OK);
    assert_string_equal(image.path, "[vdso]");
    const struct sw_image_entry *entry = sw_images_entry(images, vdso);
    assert_true(entry->has_cfi && entry->elf);
    sw_images_destroy(images);
}

static void the_vdso_read_through_memory_has_the_same_rules(void **state)
{
    static struct sw_cfi_work work;
    const struct sw_memory memory = sw_self_memory();
    const uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
    (void)state;
    if (!vdso)
        skip();
    struct sw_images *mapped = make_self();
    struct sw_images *copied = make();
    /* Two pages as a rule; what is not mapped any more is refused. */
    assert_int_equal(sw_images_add_memory(copied, "[vdso]", vdso, UINT64_C(1) << 20, &memory), SW_E_UNREADABLE);
    uint64_t size = 0;
    char byte;
    while (memory.read(memory.arg, vdso + size, &byte, 1) == 1 && size < 16 * PAGE)
        size += PAGE;
    assert_int_equal(sw_images_add_memory(copied, "[vdso]", vdso, size, &memory), SW_OK);
    const struct sw_image_entry *a = sw_images_entry(mapped, vdso);
    const struct sw_image_entry *b = sw_images_entry(copied, vdso);
    unsigned rules = 0;
    assert_true(a->info.bias == b->info.bias);
    for (uint64_t pc = vdso; pc < b->info.end; pc++) {
        struct sw_rule x, y;
        memset(&x, 0, sizeof x);
        memset(&y, 0, sizeof y);
        const enum sw_status status = sw_cfi_rule(&a->cfi, pc, &work, &x, NULL);
        assert_int_equal(sw_cfi_rule(&b->cfi, pc, &work, &y, NULL), status);
        if (status != SW_OK)
            continue;
        assert_memory_equal(&x.cfa, &y.cfa, sizeof x.cfa);
        assert_memory_equal(x.r, y.r, sizeof x.r);
        rules++;
    }
    assert_true(rules > 0); /* qemu's has 48 */
    sw_images_destroy(copied);
    sw_images_destroy(mapped);
}

static void a_refresh_follows_dlopen_and_dlclose(void **state)
{
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    (void)state;
    if (!library)
        skip();
    dlclose(library);
    struct sw_images *images = make_self();
    struct sw_image image;
    library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    assert_non_null(library);
    const uint64_t function = address_of(dlsym(library, "cbrt"));
    const bool was_there = sw_images_find(images, function, &image) == SW_OK;
    uint64_t generation = sw_images_generation(images);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_images_find(images, function, &image), SW_OK);
    assert_non_null(strstr(image.path, "libm"));
    assert_int_equal(sw_images_generation(images) != generation, !was_there);
    generation = sw_images_generation(images);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_true(sw_images_generation(images) == generation);
    dlclose(library);
    /* It stays when something else needs it, a sanitizer say. */
    const bool gone = !was_there && !dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_images_find(images, function, &image), gone ? SW_E_NOT_FOUND : SW_OK);
    sw_images_destroy(images);
}

/* Of one that may go there is a copy of its tables; one that is known to stay is used where it is, code and tables. */
static void a_library_that_is_known_to_stay_is_used_where_it_is(void **state)
{
    const bool is_needed = dlopen("libm.so.6", RTLD_NOW | RTLD_NOLOAD) != NULL;
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    const uint64_t function = library ? address_of(dlsym(library, "cbrt")) : 0;
    (void)state;
    if (!function || is_needed)
        skip();
    for (int stays = 0; stays < 2; stays++) {
        struct sw_images *images;
        struct sw_section section;
        assert_int_equal(sw_images_create(NULL, &images), SW_OK);
        sw_images_set_staying(images, stays ? function : 0);
        assert_true(sw_images_get_staying(images) == (stays ? function : 0));
        assert_int_equal(sw_images_add_self(images), SW_OK);
        sw_images_enter(images, &section);
        const struct sw_image_entry *entry = sw_images_entry(images, function);
        assert_non_null(entry);
        assert_true(entry->has_cfi);
        const bool in_place = address_of(entry->cfi.frame.bytes) == entry->cfi.frame.address;
        assert_int_equal(in_place, stays);
        assert_int_equal(entry->code.size != 0, stays);
        sw_images_leave(images, &section);
        sw_images_destroy(images);
    }
    dlclose(library);
}

/*
 * A walk keeps the image that it found last: not when that is gone between two of its steps. (ASan sees a look into
 * the freed one.) With another one at its place the walk goes on.
 */
static void a_walk_forgets_an_image_removed_between_its_steps(void **state)
{
    static struct sw_scratch scratch;
    struct sw_images *images = make_self();
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs here;
    struct sw_image image;
    (void)state;
    assert_int_equal(sw_self_walker(&walker, NULL, images), SW_OK);
    walker.flags = SW_WALK_NO_ANALYSIS | SW_WALK_NO_FRAME_POINTER;
    sw_self_capture(&here);
    for (unsigned is_back = 0; is_back < 2; is_back++) {
        sw_walk_start(&walk, &walker, &scratch, &here, true);
        for (unsigned frame = 0; frame < 2; frame++)
            assert_true(sw_walk_next(&walk));
        assert_int_equal(sw_images_find(images, walk.frame.lookup, &image), SW_OK);
        assert_int_equal(sw_images_remove(images, image.begin), SW_OK);
        if (is_back)
            assert_int_equal(sw_images_add_self(images), SW_OK);
        assert_int_equal(sw_walk_next(&walk), is_back);
        assert_int_equal(walk.stop, is_back ? SW_STOP_NONE : SW_STOP_NO_RULE);
        assert_int_equal(sw_images_add_self(images), SW_OK);
    }
    sw_images_destroy(images);
}

static void an_image_registered_by_hand_survives_a_refresh(void **state)
{
    struct sw_images *images = make();
    struct sw_image image;
    (void)state;
    assert_int_equal(sw_images_add_file(images, "/proc/self/exe", BASE), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_images_find(images, BASE, &image), SW_OK);
    assert_int_equal(sw_images_remove(images, BASE), SW_OK);
    assert_int_equal(sw_images_find(images, BASE, &image), SW_E_NOT_FOUND);
    sw_images_destroy(images);
}

/* Files ----------------------------------------------------------------------------------------------------------- */

static void a_file_has_the_rules_of_its_mapped_self(void **state)
{
    static struct sw_cfi_work work;
    struct sw_images *mapped = make_self();
    struct sw_images *from_file = make();
    const uint64_t function = address_of((const void *)(uintptr_t)&qsort);
    struct sw_image image;
    struct sw_rule x, y;
    (void)state;
    assert_int_equal(sw_images_find(mapped, function, &image), SW_OK);
    assert_int_equal(sw_images_add_file(from_file, image.path, image.begin), SW_OK);
    const struct sw_image_entry *a = sw_images_entry(mapped, function);
    const struct sw_image_entry *b = sw_images_entry(from_file, function);
    assert_true(a->info.begin == b->info.begin && a->info.end == b->info.end && a->info.bias == b->info.bias);
    unsigned rules = 0;
    for (uint64_t pc = function; pc < function + 4000; pc++) {
        struct sw_cfi_cover cover_x, cover_y;
        const enum sw_status status = sw_cfi_rule(&a->cfi, pc, &work, &x, &cover_x);
        assert_int_equal(sw_cfi_rule(&b->cfi, pc, &work, &y, &cover_y), status);
        if (status != SW_OK)
            continue;
        assert_true(cover_x.begin == cover_y.begin && cover_x.end == cover_y.end);
        assert_memory_equal(x.r, y.r, sizeof x.r);
        rules++;
    }
    assert_true(rules > 1000);
    assert_int_equal(sw_images_add_file(from_file, image.path, image.begin), SW_E_OVERLAP);
    assert_int_equal(sw_images_add_file(from_file, image.path, image.begin + PAGE), SW_E_OVERLAP);
    sw_images_destroy(from_file);
    sw_images_destroy(mapped);
}

static const struct lie {
    const char *name;
    const char *path; /* or bytes to write to a file */
    const void *bytes;
    size_t size;
    enum sw_status status;
} lies[] = {
    { "a_file_that_is_not_there", "/nowhere/at/all", NULL, 0, SW_E_OS },
    { "a_directory", "/proc", NULL, 0, SW_E_UNSUPPORTED },
    { "an_empty_file", NULL, "", 0, SW_E_TRUNCATED },
    { "text", NULL, "#!/bin/sh\necho no image, but a text of some length, longer than any header of 64 bytes is\n", 80,
      SW_E_MALFORMED },
    { "only_an_elf_magic", NULL, "\177ELF", 4, SW_E_TRUNCATED },
    { "only_a_pe_magic", NULL, "MZ", 2, SW_E_TRUNCATED },
    { "a_pe_header_that_points_away", NULL,
      "MZ\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
      "\0\0\0"
      "\377\377\377\177\0\0\0\0",
      68, SW_E_TRUNCATED },
};

static void a_file_that_is_no_image_is_refused(void **state)
{
    const struct lie *lie = *state;
    char path[] = "/tmp/snapwalk-images-XXXXXX";
    struct sw_images *images = make();
    struct sw_image image;
    if (!lie->path) {
        const int file = mkstemp(path);
        assert_true(file >= 0);
        assert_int_equal(write(file, lie->bytes, lie->size), lie->size);
        close(file);
    }
    const enum sw_status status = sw_images_add_file(images, lie->path ? lie->path : path, BASE);
    if (!lie->path)
        unlink(path);
    assert_int_equal(status, lie->status);
    assert_int_equal(sw_images_find(images, BASE, &image), SW_E_NOT_FOUND);
    sw_images_destroy(images);
}

static void bad_arguments_are_refused(void **state)
{
    struct sw_images *images = make();
    const struct sw_memory memory = sw_self_memory();
    const struct sw_memory no_memory = { 0 };
    struct sw_image image;
    struct sw_range range;
    char name[4];
    (void)state;
    assert_int_equal(sw_images_create(NULL, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_self(NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_file(NULL, "/x", 0), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_file(images, NULL, 0), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_memory(images, "x", 1, 0, &memory), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_memory(images, "x", 1, UINT64_MAX, &memory), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_memory(images, "x", 1, 16, &no_memory), SW_E_ARGUMENT);
    assert_int_equal(sw_images_add_memory(images, "x", 1, 16, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_images_remove(NULL, 0), SW_E_ARGUMENT);
    assert_int_equal(sw_images_remove(images, 0), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_find(NULL, 0, &image), SW_E_ARGUMENT);
    assert_int_equal(sw_images_find(images, 0, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_images_find(images, 0, &image), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_find_method(images, 0, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_images_find_method(images, 0, &range), SW_E_NOT_FOUND);
    assert_int_equal(sw_images_name(images, 0, name, 0, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_images_name(images, 0, NULL, 4, NULL), SW_E_ARGUMENT);
    assert_null(sw_images_entry(NULL, 0));
    sw_images_enter(NULL, NULL);
    sw_images_leave(NULL, NULL);
    sw_images_destroy(images);
    sw_images_destroy(NULL);
}

/* Memory that runs out -------------------------------------------------------------------------------------------- */

static void running_out_of_memory_is_told_and_leaks_nothing(void **state)
{
    enum sw_status status = SW_E_NO_MEMORY;
    (void)state;
    for (size_t limit = 1; status == SW_E_NO_MEMORY && limit < 2000; limit++) {
        struct budget budget = { .left = limit };
        const struct sw_alloc alloc = { budget_get, budget_put, &budget };
        struct sw_images *images = NULL;
        assert_int_equal(sw_images_create(&alloc, &images), SW_OK);
        status = sw_images_add_self(images);
        assert_true(status == SW_OK || status == SW_E_NO_MEMORY);
        sw_images_destroy(images);
        assert_int_equal(budget.blocks, 0);
    }
    assert_int_equal(status, SW_OK);
}

/* Readers beside a writer -------------------------------------------------------------------------------------------
 */

struct reader {
    const struct sw_images *images;
    atomic_bool stop;
    atomic_ulong found;
    atomic_ulong wrong;
};

static void *read_on(void *arg)
{
    struct reader *reader = arg;
    while (!reader->stop) {
        struct sw_section section;
        sw_images_enter(reader->images, &section);
        const struct sw_image_entry *steady = sw_images_entry(reader->images, BASE);
        const struct sw_image_entry *other = sw_images_entry(reader->images, 2 * (uint64_t)BASE);
        if (!steady || strcmp(steady->info.path, "/proc/self/exe") != 0 || !steady->has_cfi)
            reader->wrong++;
        /* It may be gone already, but what was found stays whole until we leave. */
        if (other && (strcmp(other->info.path, "/proc/self/exe") != 0 || other->cfi.frame.bytes[0] == 0xff))
            reader->wrong++;
        reader->found++;
        sw_images_leave(reader->images, &section);
    }
    return NULL;
}

static void readers_see_whole_images_while_they_come_and_go(void **state)
{
    static struct reader reader;
    struct sw_images *images = make();
    pthread_t threads[2];
    (void)state;
    reader = (struct reader){ .images = images };
    assert_int_equal(sw_images_add_file(images, "/proc/self/exe", BASE), SW_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &reader), 0);
    for (int i = 0; i < 200 || reader.found < 1000; i++) {
        assert_int_equal(sw_images_add_file(images, "/proc/self/exe", 2 * (uint64_t)BASE), SW_OK);
        assert_int_equal(sw_images_remove(images, 2 * (uint64_t)BASE), SW_OK);
    }
    reader.stop = true;
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(reader.wrong, 0);
    sw_images_destroy(images);
}

/* ReadyToRun --------------------------------------------------------------------------------------------------------
 */

static bool core_library(char *path, size_t size)
{
    glob_t found;
    bool there =
        glob("/usr/share/dotnet/shared/Microsoft.NETCore.App/*/System.Private.CoreLib.dll", 0, NULL, &found) == 0 ||
        glob("/usr/lib/dotnet/shared/Microsoft.NETCore.App/*/System.Private.CoreLib.dll", 0, NULL, &found) == 0;
    if (there)
        there = (size_t)snprintf(path, size, "%s", found.gl_pathv[found.gl_pathc - 1]) < size;
    globfree(&found);
    return there;
}

/* Maps a PE file the way CoreCLR does: header, then each section from the file; nothing in between. */
static uint8_t *map_as_the_runtime_does(const char *path)
{
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat stat;
    struct sw_pe pe;
    assert_true(file >= 0 && fstat(file, &stat) == 0);
    const uint8_t *flat = mmap(NULL, (size_t)stat.st_size, PROT_READ, MAP_SHARED, file, 0);
    assert_ptr_not_equal(flat, MAP_FAILED);
    assert_int_equal(sw_pe_open((struct sw_bytes){ flat, (uint64_t)stat.st_size, 0 }, false, &pe), SW_OK);
    uint8_t *base = mmap(NULL, pe.size_of_image + 0x10000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(base, MAP_FAILED);
    base = (uint8_t *)((address_of(base) + 0xffff) & ~UINT64_C(0xffff));
    assert_ptr_not_equal(mmap(base, PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, 0), MAP_FAILED);
    for (unsigned i = 0; i < pe.section_count; i++) {
        const uint8_t *row = flat + pe.sections + 40 * i;
        const uint32_t rva = sw_load32(row + 12), raw = sw_load32(row + 16), at = sw_load32(row + 20);
        const uint32_t skip = at % PAGE;
        const bool code = sw_load32(row + 36) & 0x20000000;
        assert_ptr_not_equal(mmap(base + rva - skip, raw + skip, PROT_READ | (code ? PROT_EXEC : PROT_WRITE),
                                  MAP_PRIVATE | MAP_FIXED, file, at - skip),
                             MAP_FAILED);
    }
    close(file);
    return base; /* the flat mapping stays: it must not be taken for an image */
}

static void count_methods(const struct sw_images *images, const struct sw_image *image, unsigned *methods,
                          unsigned *named, unsigned *rules)
{
    const struct sw_image_entry *entry = sw_images_entry(images, image->begin);
    for (uint64_t at = image->begin; at < image->end; at += 997) {
        struct sw_range method;
        struct sw_rule rule;
        char name[256];
        uint64_t start;
        if (sw_images_find_method(images, at, &method) != SW_OK)
            continue;
        ++*methods;
        assert_true(method.begin <= at && at < method.end && method.kind == SW_KIND_NGEN && method.id != 0);
        *rules += sw_clr_image_rule(&entry->clr, at, true, &rule) == SW_OK;
        *named += *methods % 50 == 0 && sw_images_name(images, at, name, sizeof name, &start) == SW_OK;
    }
}

static void a_ready_to_run_file_gives_methods_rules_and_names(void **state)
{
    struct sw_image image;
    unsigned methods = 0, named = 0, rules = 0;
    char path[512];
    (void)state;
    if (!core_library(path, sizeof path))
        skip();
    struct sw_images *images = make();
    assert_int_equal(sw_images_add_file(images, path, BASE), SW_OK);
    assert_int_equal(sw_images_find(images, BASE + 0x10000, &image), SW_OK);
    assert_true(image.is_pe && image.is_ready_to_run && image.begin == BASE && image.bias == BASE);
    assert_string_equal(image.path, path);
    count_methods(images, &image, &methods, &named, &rules);
    assert_true(methods > 5000 && rules == methods && named > 50);
    sw_images_destroy(images);
}

/* As the set that knows them: every range and every rule; but each part is a method of its own, and has no name. */
static void a_set_that_skips_methods_has_the_same_ranges_and_rules(void **state)
{
    char path[512], name[256];
    uint64_t start;
    unsigned same = 0, parts = 0;
    struct sw_image image;
    (void)state;
    if (!core_library(path, sizeof path))
        skip();
    struct sw_images *images = make(), *bare = make();
    sw_images_skip_methods(NULL);
    sw_images_skip_methods(bare);
    assert_int_equal(sw_images_add_file(images, path, BASE), SW_OK);
    assert_int_equal(sw_images_add_file(bare, path, BASE), SW_OK);
    assert_int_equal(sw_images_find(bare, BASE, &image), SW_OK);
    for (uint64_t at = image.begin; at < image.end; at += 97) {
        struct sw_range method, own;
        struct sw_rule rule, its;
        const enum sw_status status = sw_images_find_method(images, at, &method);
        assert_int_equal(sw_images_find_method(bare, at, &own), status);
        if (status != SW_OK)
            continue;
        assert_true(own.begin == method.begin && own.end == method.end && own.kind == SW_KIND_NGEN && own.flags == 0);
        assert_true(own.id == own.begin);
        same += own.id == method.id;
        parts += own.id != method.id;
        assert_int_equal(sw_clr_image_rule(&sw_images_entry(bare, at)->clr, at, true, &its),
                         sw_clr_image_rule(&sw_images_entry(images, at)->clr, at, true, &rule));
        assert_memory_equal(&its, &rule, sizeof rule);
        assert_int_equal(sw_images_name(bare, at, name, sizeof name, &start), SW_E_NOT_FOUND);
    }
    assert_true(same > 5000 && parts > 50);
    sw_images_destroy(images);
    sw_images_destroy(bare);
}

/* The methods of the image at `base`, as they are registered. pe_mapped: from a copy of what is mapped. */
static struct sw_image ready_to_run_at(struct sw_images *images, const uint8_t *base, bool pe_mapped)
{
    struct sw_image image;
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_images_find(images, address_of(base) + 0x20000, &image), SW_OK);
    assert_true(image.is_pe && image.is_ready_to_run && image.begin == address_of(base));
    assert_int_equal(sw_images_entry(images, image.begin)->pe.mapped, pe_mapped);
    const uint64_t generation = sw_images_generation(images);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_true(sw_images_generation(images) == generation);
    return image;
}

static void assert_usable_without_memory(struct sw_images *images, uint8_t *base, const struct sw_image *image)
{
    unsigned methods = 0, named = 0, rules = 0;
    munmap(base, (size_t)(image->end - image->begin));
    count_methods(images, image, &methods, &named, &rules);
    assert_true(methods > 5000 && rules == methods && named > 50);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_null(sw_images_entry(images, address_of(base) + 0x20000));
}

/* A runtime unmaps an image when it pleases: nothing of it is used where it is mapped. */
static void a_mapped_ready_to_run_image_is_found_and_may_go(void **state)
{
    char path[512];
    (void)state;
    if (!core_library(path, sizeof path))
        skip();
    struct sw_images *images = make();
    uint8_t *base = map_as_the_runtime_does(path);
    struct sw_image image = ready_to_run_at(images, base, false);
    assert_string_equal(image.path, path);
    assert_usable_without_memory(images, base, &image);
    /* Another file than the one that is mapped is not believed. */
    base = map_as_the_runtime_does(path);
    assert_int_equal(mprotect(base, PAGE, PROT_READ | PROT_WRITE), 0);
    base[0x50] ^= 1;
    image = ready_to_run_at(images, base, true);
    assert_usable_without_memory(images, base, &image);
    sw_images_destroy(images);
}

int main(void)
{
    enum { LIES = sizeof lies / sizeof *lies };
    static const struct CMUnitTest others[] = {
        cmocka_unit_test(every_loaded_object_is_found),
        cmocka_unit_test(tables_are_used_where_they_are_mapped),
        cmocka_unit_test(functions_of_this_process_have_rules),
        cmocka_unit_test(functions_have_names),
        cmocka_unit_test(the_vdso_is_there_with_its_tables),
        cmocka_unit_test(the_vdso_read_through_memory_has_the_same_rules),
        cmocka_unit_test(a_refresh_follows_dlopen_and_dlclose),
        cmocka_unit_test(a_library_that_is_known_to_stay_is_used_where_it_is),
        cmocka_unit_test(a_walk_forgets_an_image_removed_between_its_steps),
        cmocka_unit_test(an_image_registered_by_hand_survives_a_refresh),
        cmocka_unit_test(a_file_has_the_rules_of_its_mapped_self),
        cmocka_unit_test(bad_arguments_are_refused),
        cmocka_unit_test(running_out_of_memory_is_told_and_leaks_nothing),
        cmocka_unit_test(readers_see_whole_images_while_they_come_and_go),
        cmocka_unit_test(a_ready_to_run_file_gives_methods_rules_and_names),
        cmocka_unit_test(a_set_that_skips_methods_has_the_same_ranges_and_rules),
        cmocka_unit_test(a_mapped_ready_to_run_image_is_found_and_may_go),
    };
    enum { OTHERS = sizeof others / sizeof *others };
    struct CMUnitTest tests[OTHERS + LIES];
    memcpy(tests, others, sizeof others);
    for (size_t i = 0; i < LIES; i++)
        tests[OTHERS + i] = (struct CMUnitTest){ lies[i].name, a_file_that_is_no_image_is_refused, NULL, NULL,
                                                 (void *)(uintptr_t)&lies[i] };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
