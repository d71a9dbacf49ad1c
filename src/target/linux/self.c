/*
 * This process as a target: its memory, the calling thread's stack and id, a walker over both. Knows Linux; refuses to
 * know frames, and how other threads are suspended (suspend.c).
 *
 * Source: pthread_getattr_np(3), proc(5).
 */
#include "base/hot.h"
#include "common/alloc.h"
#include "target/linux/maps.h"
#include "target/linux/os.h"

#include <snapwalk/follow.h>
#include <snapwalk/self.h>
#include <snapwalk/suspend.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * Whether reading is refused: some sandboxes and emulators do not let a process read its own memory with
 * process_vm_readv.
 */
static bool is_refused(void)
{
    const char from = 1;
    char to = 0;
    return sw_os_read(getpid(), (uint64_t)(uintptr_t)&from, &to, 1) != 1;
}

static size_t read_by_file(uint64_t address, void *to, size_t size)
{
    const int before = errno;
    const int file = address <= INT64_MAX ? open("/proc/self/mem", O_RDONLY | O_CLOEXEC) : -1;
    const ssize_t got = file >= 0 ? pread(file, to, size, (off_t)address) : 0;
    if (file >= 0)
        close(file);
    errno = before;
    return got > 0 ? (size_t)got : 0;
}

static size_t read_self(void *arg, uint64_t address, void *to, size_t size)
{
    (void)arg;
    const size_t got = sw_os_read(getpid(), address, to, size);
    return got == 0 && size != 0 && is_refused() ? read_by_file(address, to, size) : got;
}

SW_HOT struct sw_memory sw_self_memory(void)
{
    return (struct sw_memory){ .read = read_self };
}

uint64_t sw_self_thread(void)
{
    return (uint64_t)syscall(SYS_gettid);
}

SW_HOT uint64_t sw_self_loadable(void *arg, uint64_t from, uint64_t end)
{
    (void)arg;
    return from < end ? end : from;
}

enum sw_status sw_self_stack(uint64_t *begin, uint64_t *end)
{
    pthread_attr_t attributes;
    void *lowest;
    size_t size;
    if (!begin || !end)
        return SW_E_ARGUMENT;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return SW_E_OS;
    const int failed = pthread_attr_getstack(&attributes, &lowest, &size);
    pthread_attr_destroy(&attributes);
    if (failed)
        return SW_E_OS;
    *begin = (uint64_t)(uintptr_t)lowest;
    *end = *begin + size;
    return SW_OK;
}

/*
 * The part of the stack around sp that is mapped now. Guard pages, and the main thread's stack where it has not grown
 * yet, would fault when read directly. Adjacent rows count as one.
 */
static struct sw_window mapped_part(const struct sw_os_text *text, uint64_t sp, uint64_t begin, uint64_t end)
{
    struct sw_maps_text rows = { text->bytes, text->bytes + text->size, 0 };
    struct sw_window part = { 0 };
    struct sw_map map;
    while (part.end <= sp && sw_maps_next(&rows, &map)) {
        if (map.begin != part.end || !map.readable)
            part.begin = map.begin;
        part.end = map.readable ? map.end : map.begin;
    }
    part.begin = part.begin < begin ? begin : part.begin;
    part.end = part.end > end ? end : part.end;
    if (part.begin > sp || part.end <= sp)
        return (struct sw_window){ 0 };
    part.bytes = (const uint8_t *)(uintptr_t)part.begin;
    return part;
}

/* The system has no such tables. */
enum sw_status sw_self_add_functions(struct sw_images *images, const char *name, uint64_t begin, uint64_t end)
{
    return images && name && begin < end ? SW_E_UNSUPPORTED : SW_E_ARGUMENT;
}

enum sw_status sw_self_walker(struct sw_walker *walker, const struct sw_codemap *codemap,
                              const struct sw_images *images)
{
    const struct sw_alloc alloc = sw_alloc_resolve(NULL);
    struct sw_os_text text;
    uint64_t begin, end;
    if (!walker)
        return SW_E_ARGUMENT;
    enum sw_status status = sw_self_stack(&begin, &end);
    if (status != SW_OK)
        return status;
    *walker = (struct sw_walker){ .machine = sw_os_machine(),
                                  .memory = sw_self_memory(),
                                  .codemap = codemap,
                                  .images = images,
                                  .stack_begin = begin,
                                  .stack_end = end,
                                  .pac_mask = sw_os_pac_mask() };
    /* Without the map there is no window, so every word costs a system call; the results are the same. */
    if (sw_os_read_file(&alloc, "/proc/self/maps", &text) != SW_OK)
        return SW_OK;
    walker->memory.window = mapped_part(&text, (uint64_t)(uintptr_t)__builtin_frame_address(0), begin, end);
    sw_os_free_text(&alloc, &text);
    return SW_OK;
}
