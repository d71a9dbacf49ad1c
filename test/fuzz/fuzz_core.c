/*
 * Any bytes as a core: its first part is the core, the rest what every file of it holds; the last two bytes say where
 * one ends and the other begins. Threads, files, memory and walks of it stay inside what is there.
 */
#include "target/core.h"

#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, TAIL = 2, FRAMES = 64 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

/* The file that is handed out, whatever is asked for; aligned, and with nothing behind it. */
struct file {
    uint8_t *bytes;
    size_t size;
    int open;
};

static bool take(void *arg, const char *path, const void **bytes, size_t *size)
{
    struct file *file = arg;
    check(strlen(path) < 1 << 20);
    *bytes = file->bytes;
    *size = file->size;
    file->open++;
    return true;
}

static void give_back(void *arg, const void *bytes, size_t size)
{
    struct file *file = arg;
    check(bytes == file->bytes && size == file->size);
    file->open--;
}

static void ask_memory(struct sw_core *core)
{
    const struct sw_memory memory = sw_core_memory(core);
    uint8_t bytes[256];
    for (size_t i = 0; i < core->segment_array.count && i < 256; i++) {
        const struct sw_core_segment *segment = &core->segments[i];
        check(segment->begin < segment->end && (i == 0 || segment[-1].end <= segment->begin));
        check(sw_core_segment_at(core, segment->begin) == segment &&
              sw_core_segment_at(core, segment->end - 1) == segment);
        check(memory.read(memory.arg, segment->begin - 8, bytes, sizeof bytes) <= sizeof bytes);
        check(memory.read(memory.arg, segment->end - 8, bytes, sizeof bytes) <= sizeof bytes);
        check(segment->held.size == 0 || memory.read(memory.arg, segment->begin, bytes, 1) == 1);
    }
    for (size_t i = 0; i < core->row_array.count && i < 256; i++) {
        const struct sw_core_row *row = &core->rows[i];
        check(row->begin < row->end && (i == 0 || row[-1].end <= row->begin) && row->file < core->file_array.count);
        check(memory.read(memory.arg, row->begin, bytes, sizeof bytes) <= sizeof bytes);
        check(memory.read(memory.arg, row->end - 8, bytes, sizeof bytes) <= sizeof bytes);
    }
}

static void ask_thread(struct sw_core *core, uint64_t tid, const struct sw_images *images)
{
    static struct sw_scratch scratch;
    struct sw_core_thread thread;
    struct sw_walker walker;
    struct sw_walk walk;
    struct sw_regs regs;
    check(sw_core_find_thread(core, tid, &thread) == SW_OK && thread.tid == tid);
    check(sw_core_regs(core, tid, &regs) == SW_OK);
    check(sw_core_walker(core, tid, &regs, NULL, images, &walker) == SW_OK);
    walker.max_frames = FRAMES;
    walker.flags = SW_WALK_NO_ANALYSIS; /* which has its own target */
    sw_walk_start(&walk, &walker, &scratch, &regs, true);
    while (sw_walk_next(&walk))
        check(walk.depth <= FRAMES);
    check(walk.stop != SW_STOP_NONE && walk.stop < SW_STOP_COUNT);
}

static void ask(struct sw_core *core, const struct sw_core_files *files, struct sw_images *images)
{
    uint64_t tids[THREADS];
    struct sw_core_info about;
    struct sw_core_file file;
    check(sw_core_describe(core, &about) == SW_OK);
    check(strlen(about.name) < sizeof about.name && strlen(about.arguments) < sizeof about.arguments);
    for (unsigned round = 0; round < 2; round++) {
        const enum sw_status status = sw_core_add_images(core, files, images);
        check(status == SW_OK || status == SW_E_NO_MEMORY);
    }
    for (size_t i = 0; sw_core_get_file(core, i, &file); i++)
        check(file.path && file.state < SW_CORE_FILE_COUNT);
    ask_memory(core);
    const size_t count = sw_core_threads(core, tids, THREADS);
    for (size_t i = 0; i < count && i < THREADS; i++)
        ask_thread(core, tids[i], images);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sw_core *core = NULL;
    struct sw_images *images = NULL;
    if (size < TAIL)
        return 0;
    size -= TAIL;
    size_t split = data[size] | (size_t)data[size + 1] << 8;
    split = split < size ? split : size;
    uint8_t *first = malloc(split + 1);
    struct file file = { .bytes = malloc(size - split + 1), .size = size - split };
    check(first && file.bytes);
    memcpy(first, data, split);
    memcpy(file.bytes, data + split, file.size);
    const struct sw_core_files files = { .open = take, .close = give_back, .arg = &file };
    if (sw_core_open_bytes(NULL, first, split, &core) == SW_OK && sw_images_create(NULL, &images) == SW_OK)
        ask(core, &files, images);
    sw_images_destroy(images);
    sw_core_close(core);
    check(file.open == 0);
    free(file.bytes);
    free(first);
    return 0;
}
