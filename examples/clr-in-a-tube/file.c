/* Files as text. */
#include "runner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST = 64 << 20 };

char *file_contents(int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || about.st_size > LARGEST)
        return NULL;
    const size_t size = (size_t)about.st_size;
    char *text = malloc(size + 1);
    size_t have = 0;
    while (text && have < size) {
        const ssize_t got = pread(fd, text + have, size - have, (off_t)have);
        if (got <= 0)
            break;
        have += (size_t)got;
    }
    if (text)
        text[have] = 0;
    return text;
}

static unsigned line_of(const char *text, size_t at)
{
    unsigned line = 1;
    for (size_t i = 0; i < at; i++)
        line += text[i] == '\n';
    return line;
}

char *file_read(const char *path, char *reason, size_t size)
{
    struct stat about;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *text = fd >= 0 ? file_contents(fd) : NULL;
    if (!text)
        snprintf(reason, size, "%s: %s", path, fd < 0 ? strerror(errno) : "cannot be read, or is too large");
    else if (fstat(fd, &about) == 0 && strlen(text) < (size_t)about.st_size) {
        snprintf(reason, size, "%s:%u: a zero byte", path, line_of(text, strlen(text)));
        free(text);
        text = NULL;
    }
    if (fd >= 0)
        close(fd);
    return text;
}

bool file_write(const char *path, const char *text)
{
    FILE *to = fopen(path, "we");
    if (!to)
        return false;
    const bool written = fputs(text, to) >= 0;
    return (fclose(to) == 0) & written;
}
