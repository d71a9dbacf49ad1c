/*
 * Files on a disk as bytes, and how much of them is really there. A hole of a sparse file costs nothing to make, and
 * reads as zeros; so what a file may cost is counted by what is stored.
 *
 * No file is mapped: who looks at a page behind the end of a file that was cut short meanwhile gets a SIGBUS. A file is
 * anonymous memory of its size, into which those parts are read that are wanted; the others are zeros and cost nothing.
 *
 * Source: lseek(2), SEEK_DATA; open(2), O_PATH; mmap(2), SIGBUS; System V gABI, chapter 4.
 */
#include "elf/internal.h"

#include <snapwalk/limits.h>

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * The bytes of a file that are no holes. Where a file system does not tell, all of them. Each piece of data is at least
 * a block of the disk, so there are no more of them than the file is worth.
 */
static uint64_t stored(int fd, uint64_t size)
{
    uint64_t sum = 0;
    off_t end = 0;
    for (off_t begin; (uint64_t)end < size && (begin = lseek(fd, end, SEEK_DATA)) >= end;
         sum += (uint64_t)(end - begin))
        if ((end = lseek(fd, begin, SEEK_HOLE)) <= begin)
            return size;
    return sum < size ? sum : size;
}

static bool is_enough(uint64_t size, uint64_t there)
{
    return size <= SW_FILE_HOLES_FREE || size / SW_FILE_COST <= there;
}

bool sw_elf_is_stored(int fd, uint64_t size, uint64_t *room)
{
    const uint64_t there = stored(fd, size);
    if (room)
        *room = SW_FILE_FREE + SW_FILE_COST * there;
    return is_enough(size, there);
}

/* A file that is being read. left: how much may be read; headers may ask for the same bytes again and again. */
struct reading {
    int fd;
    enum sw_elf_what what;
    uint8_t *bytes;
    uint64_t size;
    uint64_t left;
};

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* A kernel older than 5.14 refuses. */
void sw_elf_populate(uint8_t *begin, uint64_t size)
{
    enum { PAGE = 4096, LARGE = 16 * PAGE };
    const size_t within = (uintptr_t)begin % PAGE;
    if (size >= LARGE)
        (void)madvise(begin - within, (size_t)size + within, MADV_POPULATE_WRITE);
}

/* What cannot be read stays zero. False: nothing more is to be read. */
static bool take(struct reading *r, uint64_t offset, uint64_t size)
{
    if (offset >= r->size)
        return true;
    const uint64_t end = size < r->size - offset ? offset + size : r->size;
    if (end - offset > r->left)
        return false;
    r->left -= end - offset;
    sw_elf_populate(r->bytes + offset, end - offset);
    for (uint64_t at = offset; at < end;) {
        const ssize_t got = pread(r->fd, r->bytes + at, (size_t)(end - at), (off_t)at);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            break;
        at += got > 0 ? (uint64_t)got : 0;
    }
    return true;
}

static void take_all(struct reading *r)
{
    r->left = r->size;
    (void)take(r, 0, r->size);
}

/* Whether a section is ever asked for. *is_frames: it is the one that all depends on. */
static bool is_wanted(enum sw_elf_what what, struct sw_bytes names, const Elf64_Shdr *header, bool *is_frames)
{
    static const char *const wanted[] = { ".gnu_debugdata", ".eh_frame_hdr", ".debug_frame", ".sframe" };
    const size_t count = what == SW_ELF_NAMES ? 1 : sizeof wanted / sizeof wanted[0];
    const uint32_t type = header->sh_type;
    *is_frames = what != SW_ELF_NAMES && sw_elf_is_named(names, header->sh_name, ".eh_frame");
    if (*is_frames || type == SHT_SYMTAB || type == SHT_DYNSYM || type == SHT_STRTAB)
        return true;
    for (size_t n = 0; n < count; n++)
        if (sw_elf_is_named(names, header->sh_name, wanted[n]))
            return true;
    return false;
}

/* Program headers that are asked for themselves. *has_frames: one leads to .eh_frame. */
static bool take_small_segments(struct reading *r, const struct sw_elf *elf, bool *has_frames)
{
    Elf64_Phdr p;
    for (uint64_t n = 0; sw_elf_program_header(elf, n, &p); n++) {
        const bool is_table = p.p_type == PT_GNU_EH_FRAME || p.p_type == SW_PT_GNU_SFRAME;
        *has_frames |= p.p_type == PT_GNU_EH_FRAME && r->what != SW_ELF_NAMES;
        if (((is_table && r->what != SW_ELF_NAMES) || p.p_type == PT_DYNAMIC || p.p_type == PT_NOTE) &&
            !take(r, p.p_offset, p.p_filesz))
            return false;
    }
    return true;
}

/* False: all has to be read, since headers lead to everything, or to the same again and again. */
static bool take_sections(struct reading *r, const struct sw_elf *elf)
{
    struct sw_bytes names;
    Elf64_Shdr header;
    bool leads_to_frames = false, has_frames = false, is_frames;
    if (!take_small_segments(r, elf, &leads_to_frames) || !sw_elf_section_header(elf, elf->names, &header) ||
        !take(r, header.sh_offset, header.sh_size) || !sw_elf_section_bytes(elf, &header, &names))
        return false;
    const struct sw_elf_plt plt = sw_elf_plt_look(elf, names);
    for (uint64_t n = 1; sw_elf_section_header(elf, n, &header); n++) {
        uint64_t skipped = 0;
        if (!is_wanted(r->what, names, &header, &is_frames) && !sw_elf_plt_part(&plt, &header, &skipped))
            continue;
        has_frames |= is_frames;
        if (header.sh_type != SHT_NOBITS && !take(r, header.sh_offset + skipped, header.sh_size - skipped))
            return false;
    }
    return has_frames || !leads_to_frames;
}

/* All that is mapped of it: the file stands for memory. */
static bool take_segments(struct reading *r, const struct sw_elf *elf)
{
    Elf64_Phdr p;
    for (uint64_t n = 0; sw_elf_program_header(elf, n, &p); n++)
        if (p.p_type == PT_LOAD && !take(r, p.p_offset, p.p_filesz))
            return false;
    return true;
}

/* False: it is no ELF file that can be read in parts. */
static bool take_parts(struct reading *r)
{
    struct sw_elf elf = { .file = { r->bytes, r->size, 0 } };
    Elf64_Ehdr h;
    if (!take(r, 0, sizeof h) || memcmp(r->bytes, ELFMAG, SELFMAG) != 0)
        return false;
    memcpy(&h, r->bytes, sizeof h);
    if (!take(r, h.e_shoff, sizeof(Elf64_Shdr)) || sw_elf_find_headers(&elf) != SW_OK || elf.section_headers.size == 0)
        return false;
    return take(r, h.e_shoff, elf.section_headers.size) && take(r, h.e_phoff, elf.program_headers.size) &&
           take_sections(r, &elf) && (r->what != SW_ELF_WHOLE || take_segments(r, &elf));
}

/* Headers may claim that parts overlap: two times the file at most, and then once more all of it. */
static void *read_parts(int fd, uint64_t size, enum sw_elf_what what)
{
    void *at = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct reading r = { fd, what, at, size, 2 * size };
    if (at == MAP_FAILED)
        return NULL;
    if (!take_parts(&r))
        take_all(&r);
    return at;
}

/* Of an open descriptor. This room does without stdio. */
static void name_of(int fd, char path[32])
{
    static const char folder[] = "/proc/self/fd/";
    unsigned digits = 1;
    for (int n = fd; n >= 10; n /= 10)
        digits++;
    memcpy(path, folder, sizeof folder);
    path[sizeof folder - 1 + digits] = 0;
    for (char *at = path + sizeof folder - 1 + digits; digits > 0; digits--, fd /= 10)
        *--at = (char)('0' + fd % 10);
}

/*
 * What is no regular file is not opened, as that may do something: O_PATH finds it by its name, and it is looked at
 * before. The descriptor, or -1 and the reason in *status.
 */
static int open_regular(const char *path, enum sw_status *status)
{
    char again[32];
    struct stat st;
    const int found = open(path, O_PATH | O_CLOEXEC);
    const bool is_file = found >= 0 && fstat(found, &st) == 0 && S_ISREG(st.st_mode);
    *status = found >= 0 && !is_file ? SW_E_UNSUPPORTED : SW_E_OS;
    if (is_file)
        name_of(found, again);
    int fd = is_file ? open(again, O_RDONLY | O_CLOEXEC) : -1;
    if (is_file && fd < 0 && errno == ENOENT) /* there is no /proc */
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (found >= 0)
        (void)close(found);
    return fd;
}

enum sw_status sw_elf_read_file(int fd, enum sw_elf_what what, struct sw_bytes *bytes, uint64_t *room)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return SW_E_OS;
    if (!S_ISREG(st.st_mode))
        return SW_E_UNSUPPORTED;
    if (st.st_size < (off_t)sizeof(Elf64_Ehdr))
        return SW_E_TRUNCATED;
    const uint64_t size = (uint64_t)st.st_size, there = stored(fd, size);
    if (!is_enough(size, there))
        return SW_E_LIMIT;
    void *at = read_parts(fd, size, what);
    if (!at)
        return errno == ENOMEM ? SW_E_NO_MEMORY : SW_E_OS;
    *bytes = (struct sw_bytes){ at, size, 0 };
    *room = SW_FILE_FREE + SW_FILE_COST * there;
    return SW_OK;
}

enum sw_status sw_elf_read(const char *path, enum sw_elf_what what, struct sw_bytes *bytes, uint64_t *room)
{
    enum sw_status status;
    const int fd = open_regular(path, &status);
    if (fd < 0)
        return status;
    status = sw_elf_read_file(fd, what, bytes, room);
    (void)close(fd);
    return status;
}
