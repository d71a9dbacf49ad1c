/*
 * Any bytes as a core: its first part is the core, the rest what every file of it holds; the last two bytes say where
 * one ends and the other begins. Threads, files, memory and walks of it stay inside what is there. Half of the
 * mutations know what a core is made of: a field of a program header, of a note's header or a word of a note becomes
 * another number that may mean something there.
 */
#include "target/core.h"

#include <elf.h>

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

/* ---- mutations of fields ---- */

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t room);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed);

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Where a field of 4 or 8 bytes is; the end of the data: nowhere. */
struct field {
    size_t at, size;
};

/* A header's field or a word behind it, of a random note in [at, end). */
static struct field note_field(const uint8_t *data, size_t at, size_t end, uint32_t *state)
{
    Elf64_Nhdr note;
    for (unsigned left = next(state) % 32; end - at >= sizeof note; left--) {
        memcpy(&note, data + at, sizeof note);
        const uint64_t size = sizeof note + ((note.n_namesz + UINT64_C(3)) & ~UINT64_C(3)) +
                              ((note.n_descsz + UINT64_C(3)) & ~UINT64_C(3));
        if (left == 0 || size >= end - at) {
            const size_t words = (size < end - at ? (size_t)size : end - at) / 4;
            return (struct field){ at + 4 * (next(state) & 1 ? next(state) % words : next(state) % 3), 4 };
        }
        at += (size_t)size;
    }
    return (struct field){ end, 4 };
}

static struct field choose(const uint8_t *data, size_t size, uint32_t *state)
{
    Elf64_Ehdr header;
    Elf64_Phdr segment;
    memcpy(&header, data, sizeof header);
    const uint64_t at = header.e_phoff + sizeof segment * (next(state) % (header.e_phnum % 64 + 1));
    if (at >= size || size - at < sizeof segment)
        return (struct field){ 4 * (next(state) % (sizeof header / 4)), 4 };
    memcpy(&segment, data + at, sizeof segment);
    if (segment.p_type == PT_NOTE && next(state) % 4 && segment.p_offset < size) {
        const uint64_t there = size - segment.p_offset;
        const uint64_t end = segment.p_offset + (segment.p_filesz < there ? segment.p_filesz : there);
        return note_field(data, (size_t)segment.p_offset, (size_t)end, state);
    }
    return (struct field){ (size_t)at + 8 * (next(state) % (sizeof segment / 8)), 8 };
}

/* A limit, a neighbour, a size or what stands elsewhere. */
static uint64_t number(const uint8_t *data, size_t size, uint64_t old, uint32_t *state)
{
    uint64_t other = 0;
    memcpy(&other, data + 4 * (next(state) % (size / 4 - 1)), sizeof other);
    const uint64_t numbers[] = { 0,       1,          UINT64_MAX, UINT64_C(1) << 63, UINT32_MAX, old + 1,
                                 old - 1, old + 4096, size,       size - old,        other,      old * 2 };
    return numbers[next(state) % (sizeof numbers / sizeof numbers[0])];
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t room, unsigned seed)
{
    uint32_t state = seed;
    if (size < 2 * sizeof(Elf64_Ehdr) || (seed & 1))
        return LLVMFuzzerMutate(data, size, room);
    for (unsigned n = 1 + next(&state) % 3; n > 0; n--) {
        const struct field field = choose(data, size, &state);
        uint64_t value = 0;
        if (field.at > size || size - field.at < field.size)
            continue;
        memcpy(&value, data + field.at, field.size);
        value = number(data, size, value, &state);
        memcpy(data + field.at, &value, field.size);
    }
    return size;
}
