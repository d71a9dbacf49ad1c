/*
 * See lazy_file.h. Two threads may read a block at the same time: they write the same there, before either says that it
 * is present. Holes of the file are left as they are, zeros that cost nothing. Source: lseek(2), SEEK_DATA; mmap(2).
 */
#include "target/linux/lazy_file.h"

#include "elf/elf.h"
#include "target/linux/os.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SMALL = 8192 }; /* bytes: to look for a hole in them takes as long as to read them */

static bool is_loaded(const struct sw_lazy_file *file, uint64_t block)
{
    return atomic_load_explicit(&file->loaded[block / 64], memory_order_acquire) >> block % 64 & 1;
}

static void set_loaded(struct sw_lazy_file *file, uint64_t block)
{
    atomic_fetch_or_explicit(&file->loaded[block / 64], UINT64_C(1) << block % 64, memory_order_release);
}

/* Blocks up to one that is not read. */
static void load(struct sw_lazy_file *file, uint64_t block, uint64_t until)
{
    const uint64_t begin = block << file->shift, all = until << file->shift, end = all < file->size ? all : file->size;
    sw_elf_populate(file->bytes + begin, end - begin);
    (void)sw_os_read_part(file->fd, begin, file->bytes + begin, end - begin);
}

/* Blocks that hold data, from a block on; where nothing is known of holes, all. */
struct extent {
    uint64_t begin, end;
};

static struct extent next_data(const struct sw_lazy_file *file, uint64_t block)
{
    const off_t data = lseek(file->fd, (off_t)(block << file->shift), SEEK_DATA);
    if (data < 0)
        return (struct extent){ errno == ENXIO ? UINT64_MAX : block, UINT64_MAX };
    const off_t hole = lseek(file->fd, data, SEEK_HOLE);
    return (struct extent){ (uint64_t)data >> file->shift,
                            hole > data ? (((uint64_t)hole - 1) >> file->shift) + 1 : UINT64_MAX };
}

void sw_lazy_file_want(struct sw_lazy_file *file, uint64_t offset, uint64_t size)
{
    const int before = errno;
    if (offset >= file->size || size == 0)
        return;
    const uint64_t end = (((size < file->size - offset ? offset + size : file->size) - 1) >> file->shift) + 1;
    const uint64_t begin = offset >> file->shift;
    struct extent data = { 0, (end - begin) << file->shift <= SMALL ? UINT64_MAX : 0 };
    for (uint64_t until, block = begin; block < end; block = until) {
        until = block + 1;
        if (is_loaded(file, block))
            continue;
        if (block >= data.end)
            data = next_data(file, block);
        while (until < end && until < data.end && block >= data.begin && !is_loaded(file, until))
            until++;
        if (block >= data.begin)
            load(file, block, until);
        for (uint64_t read = block; read < until; read++)
            set_loaded(file, read);
    }
    errno = before;
}

static void want(void *file, uint64_t offset, uint64_t size)
{
    sw_lazy_file_want(file, offset, size);
}

static enum sw_status make_room(struct sw_lazy_file *file)
{
    struct stat st;
    if (fstat(file->fd, &st) != 0)
        return SW_E_OS;
    if (!S_ISREG(st.st_mode))
        return SW_E_UNSUPPORTED;
    if (st.st_size <= 0)
        return SW_E_TRUNCATED;
    file->size = (uint64_t)st.st_size;
    file->loaded_bytes = (size_t)(((file->size - 1) >> file->shift) / 64 + 1) * sizeof *file->loaded;
    file->loaded = file->alloc.get(file->alloc.arg, file->loaded_bytes);
    if (!file->loaded)
        return SW_E_NO_MEMORY;
    for (size_t i = 0; i < file->loaded_bytes / sizeof *file->loaded; i++)
        atomic_init(&file->loaded[i], 0);
    void *bytes =
        mmap(NULL, (size_t)file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bytes == MAP_FAILED)
        return sw_os_status(errno);
    file->bytes = bytes;
    file->store = (struct sw_store){ bytes, want, file };
    return SW_OK;
}

enum sw_status sw_lazy_file_open(const struct sw_alloc *alloc, int fd, size_t block, struct sw_lazy_file **out)
{
    struct sw_lazy_file *file = alloc->get(alloc->arg, sizeof *file);
    if (!file) {
        close(fd);
        return SW_E_NO_MEMORY;
    }
    *file = (struct sw_lazy_file){ .alloc = *alloc, .fd = fd };
    while (block >> file->shift > 1)
        file->shift++;
    const enum sw_status status = make_room(file);
    if (status == SW_OK)
        *out = file;
    else
        sw_lazy_file_close(file);
    return status;
}

void sw_lazy_file_settle(struct sw_lazy_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    file->fd = -1;
}

void sw_lazy_file_close(struct sw_lazy_file *file)
{
    const struct sw_alloc alloc = file->alloc;
    sw_lazy_file_settle(file);
    if (file->bytes)
        munmap(file->bytes, (size_t)file->size);
    if (file->loaded)
        alloc.put(alloc.arg, file->loaded, file->loaded_bytes);
    alloc.put(alloc.arg, file, sizeof *file);
}
