/*
 * Names of functions where nothing may be allocated: what sw_images_name says, without a system call, once the names
 * are loaded. And not before.
 */
#include "rows.h"
#include "host.h"

#include <snapwalk/names.h>
#include <snapwalk/self.h>

#include <dlfcn.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NAME_SIZE = 128 };

static uint64_t address_of(int (*function)(const void *, const void *))
{
    return (uint64_t)(uintptr_t)function;
}

__attribute__((noinline)) static int by_address(const void *a, const void *b)
{
    return (a > b) - (a < b);
}

static struct sw_images *make_self(void)
{
    struct sw_images *images = NULL;
    assert_int_equal(sw_images_create(NULL, &images), SW_OK);
    assert_int_equal(sw_images_add_self(images), SW_OK);
    return images;
}

static void no_name_is_found_before_they_are_loaded(void **state)
{
    struct sw_images *images = make_self();
    char name[NAME_SIZE] = "untouched";
    (void)state;
    assert_int_equal(sw_names_find(images, address_of(by_address), name, sizeof name, NULL), SW_E_NOT_FOUND);
    assert_string_equal(name, "untouched");
    assert_int_equal(sw_names_load(images), SW_OK);
    assert_int_equal(sw_names_find(images, address_of(by_address), name, sizeof name, NULL), SW_OK);
    assert_string_equal(name, "by_address");
    sw_images_destroy(images);
}

static bool is_vdso(const struct sw_images *images, uint64_t address)
{
    struct sw_image image;
    return sw_images_find(images, address, &image) == SW_OK && strcmp(image.path, "[vdso]") == 0;
}

/* In each image some addresses: both calls find the same, in a set of images each. */
static void names_are_those_of_sw_images_name(void **state)
{
    struct sw_images *loaded = make_self(), *asked = make_self();
    const uint64_t from[] = { address_of(by_address), (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"),
                              (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "_cmocka_run_group_tests"),
                              (uint64_t)getauxval(AT_SYSINFO_EHDR) };
    unsigned found = 0, in_vdso = 0;
    (void)state;
    assert_int_equal(sw_names_load(loaded), SW_OK);
    for (size_t i = 0; i < COUNT_OF(from); i++)
        for (uint64_t at = from[i]; from[i] && at < from[i] + 4096; at += 8) {
            char name[NAME_SIZE] = "", other[NAME_SIZE] = "";
            uint64_t start = 1, begin = 1;
            const enum sw_status status = sw_names_find(loaded, at, name, sizeof name, &start);
            assert_int_equal(status, sw_images_name(asked, at, other, sizeof other, &begin));
            assert_string_equal(name, other);
            assert_true(start == begin && (status != SW_OK || start <= at));
            found += status == SW_OK;
            in_vdso += status == SW_OK && is_vdso(loaded, at);
        }
    assert_true(found > 200);
    assert_true(!from[3] || in_vdso > 0);
    sw_images_destroy(loaded);
    sw_images_destroy(asked);
}

static void a_name_is_cut_to_its_room(void **state)
{
    struct sw_images *images = make_self();
    char name[5] = { 1, 1, 1, 1, 1 };
    (void)state;
    assert_int_equal(sw_names_load(images), SW_OK);
    assert_int_equal(sw_names_find(images, address_of(by_address), name, 4, NULL), SW_OK);
    assert_memory_equal(name, "by_\0\1", 5);
    assert_int_equal(sw_names_find(images, address_of(by_address), name, 1, NULL), SW_OK);
    assert_memory_equal(name, "\0y_\0\1", 5);
    sw_images_destroy(images);
}

/* An image that came later has names after the next load; those that were there keep theirs. */
static void images_that_came_later_are_loaded_again(void **state)
{
    struct sw_images *images = make_self();
    char name[NAME_SIZE];
    (void)state;
    struct sw_image image;
    assert_int_equal(sw_names_load(images), SW_OK);
    void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
    const void *function = library ? dlsym(library, "frexp") : NULL;
    const bool is_new = function && sw_images_find(images, (uint64_t)(uintptr_t)function, &image) == SW_E_NOT_FOUND;
    if (!is_new)
        sw_images_destroy(images);
    HOST_NEEDS(is_new, "a library that is not loaded yet");
    assert_int_equal(sw_images_add_self(images), SW_OK);
    assert_int_equal(sw_names_find(images, (uint64_t)(uintptr_t)function, name, sizeof name, NULL), SW_E_NOT_FOUND);
    assert_int_equal(sw_names_load(images), SW_OK);
    assert_int_equal(sw_names_find(images, (uint64_t)(uintptr_t)function, name, sizeof name, NULL), SW_OK);
    assert_int_equal(sw_names_find(images, address_of(by_address), name, sizeof name, NULL), SW_OK);
    dlclose(library);
    sw_images_destroy(images);
}

/* Before names are loaded, too: the same module as by its image, in each image; and none between them. */
static void an_address_is_in_a_module_at_an_offset(void **state)
{
    struct sw_images *images = make_self();
    const uint64_t in[] = { address_of(by_address), (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort"),
                            (uint64_t)getauxval(AT_SYSINFO_EHDR) };
    struct sw_image image;
    uint64_t offset = 1;
    char name[NAME_SIZE], cut[4];
    (void)state;
    for (size_t i = 0; i < COUNT_OF(in); i++) {
        if (!in[i])
            continue;
        assert_int_equal(sw_images_find(images, in[i], &image), SW_OK);
        const char *slash = strrchr(image.path, '/');
        assert_int_equal(sw_names_module(images, in[i], name, sizeof name, &offset), SW_OK);
        assert_string_equal(name, slash ? slash + 1 : image.path);
        assert_true(offset == in[i] - image.bias);
        assert_int_equal(sw_names_module(images, in[i], cut, sizeof cut, &offset), SW_OK);
        assert_true(strlen(cut) == 3 && memcmp(cut, name, 3) == 0);
    }
    assert_int_equal(sw_names_module(images, in[0], name, sizeof name, &offset), SW_OK);
    assert_string_equal(name, "names_safe");
    assert_int_equal(sw_names_module(images, 1, name, sizeof name, &offset), SW_E_NOT_FOUND);
    assert_string_equal(name, "names_safe");
    sw_images_destroy(images);
}

/* The child dies in the first system call but write and exit: nothing would come from it. */
static void a_search_makes_no_system_call(void **state)
{
    HOST_NEEDS(prctl(PR_GET_SECCOMP) >= 0, "seccomp");
    struct sw_images *images = make_self();
    const uint64_t functions[] = { address_of(by_address), (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "qsort") };
    int pipe_ends[2], status;
    char said[3 * NAME_SIZE] = "";
    (void)state;
    assert_int_equal(sw_names_load(images), SW_OK);
    assert_int_equal(pipe(pipe_ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        char names[3][NAME_SIZE] = { "", "", "" };
        uint64_t offset;
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0)
            for (size_t i = 0; i < COUNT_OF(functions); i++)
                (void)!sw_names_find(images, functions[i], names[i], NAME_SIZE, NULL);
        (void)!sw_names_module(images, functions[0], names[2], NAME_SIZE, &offset);
        (void)!write(pipe_ends[1], names, sizeof names);
        syscall(SYS_exit, 0);
    }
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], said, sizeof said), sizeof said);
    close(pipe_ends[0]);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_string_equal(said, "by_address");
    assert_true(said[NAME_SIZE] != 0);
    assert_string_equal(said + 2 * NAME_SIZE, "names_safe");
    sw_images_destroy(images);
}

static void bad_arguments_are_said(void **state)
{
    struct sw_images *images = make_self();
    char name[NAME_SIZE];
    (void)state;
    assert_int_equal(sw_names_load(NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_names_find(NULL, 1, name, sizeof name, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_names_find(images, 1, NULL, sizeof name, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_names_find(images, 1, name, 0, NULL), SW_E_ARGUMENT);
    assert_int_equal(sw_names_find(images, 1, name, sizeof name, NULL), SW_E_NOT_FOUND);
    uint64_t offset;
    assert_int_equal(sw_names_module(NULL, 1, name, sizeof name, &offset), SW_E_ARGUMENT);
    assert_int_equal(sw_names_module(images, 1, NULL, sizeof name, &offset), SW_E_ARGUMENT);
    assert_int_equal(sw_names_module(images, 1, name, 0, &offset), SW_E_ARGUMENT);
    assert_int_equal(sw_names_module(images, 1, name, sizeof name, NULL), SW_E_ARGUMENT);
    sw_images_destroy(images);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_name_is_found_before_they_are_loaded),
        cmocka_unit_test(names_are_those_of_sw_images_name),
        cmocka_unit_test(a_name_is_cut_to_its_room),
        cmocka_unit_test(images_that_came_later_are_loaded_again),
        cmocka_unit_test(an_address_is_in_a_module_at_an_offset),
        cmocka_unit_test(a_search_makes_no_system_call),
        cmocka_unit_test(bad_arguments_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
