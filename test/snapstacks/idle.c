/*
 * idle THREADS: that many threads wait in one place, as those of a pool do. idle THREADS FILE: it has the file mapped
 * as data, as fonts are. idle vfork: the main thread waits for the child of its vfork, in uninterruptible sleep, and
 * another thread waits elsewhere.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *stand(void *arg)
{
    char byte;
    pthread_barrier_wait(&barrier);
    (void)!read(*(int *)arg, &byte, 1);
    return NULL;
}

static void start(unsigned count, int *pipe_end)
{
    pthread_attr_t small;
    pthread_t thread;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    pthread_barrier_init(&barrier, NULL, count + 1);
    for (unsigned i = 0; i < count; i++)
        if (pthread_create(&thread, &small, stand, pipe_end) != 0)
            exit(1);
    pthread_barrier_wait(&barrier);
}

static int is_mapped(const char *path)
{
    const int file = open(path, O_RDONLY);
    return file >= 0 && mmap(NULL, 1, PROT_READ, MAP_PRIVATE, file, 0) != MAP_FAILED;
}

int main(int argc, char **argv)
{
    int ends[2];
    if (argc < 2 || (argc > 2 && !is_mapped(argv[2])) || pipe(ends) != 0)
        return 2;
    const int vforks = strcmp(argv[1], "vfork") == 0;
    start(vforks ? 1 : (unsigned)atoi(argv[1]), &ends[0]);
    if (!vforks) {
        puts("ready");
        fflush(stdout);
        pause();
        return 0;
    }
    if (vfork() == 0) {
        (void)!write(STDOUT_FILENO, "ready\n", 6);
        sleep(600);
        _exit(0);
    }
    return 0;
}
