/*
 * idle THREADS: that many threads wait in one place, as those of a pool do. idle THREADS FILE...: it has the files
 * mapped as data, as fonts are. idle vfork: the main thread waits for the child of its vfork, in uninterruptible
 * sleep, and another thread waits elsewhere.
 */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t barrier;

static void *stand(void *arg)
{
    char byte;
    pthread_barrier_wait(&barrier);
    (void)!read(*(int *)arg, &byte, 1);
    return NULL;
}

/* Whether the thread is in read(2). Where the system does not say in which call a thread is: true. */
static int reads(const char *tid)
{
    char path[300];
    long call = SYS_read;
    snprintf(path, sizeof path, "/proc/self/task/%s/syscall", tid);
    FILE *file = fopen(path, "r");
    if (!file)
        return 1;
    const int count = fscanf(file, "%ld", &call);
    fclose(file);
    return count == 1 && call == SYS_read;
}

/* Behind the barrier threads have yet to run, which takes a while on a busy machine. */
static void wait_until_all_read(unsigned count)
{
    for (unsigned reading = 0; reading < count; usleep(1000)) {
        DIR *tasks = opendir("/proc/self/task");
        reading = tasks ? 0 : count;
        for (const struct dirent *task; tasks && (task = readdir(tasks)) != NULL;)
            reading += task->d_name[0] != '.' && reads(task->d_name);
        if (tasks)
            closedir(tasks);
    }
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
    wait_until_all_read(count);
}

static int is_mapped(const char *path)
{
    const int file = open(path, O_RDONLY);
    return file >= 0 && mmap(NULL, 1, PROT_READ, MAP_PRIVATE, file, 0) != MAP_FAILED;
}

int main(int argc, char **argv)
{
    int ends[2];
    if (argc < 2 || pipe(ends) != 0)
        return 2;
    for (int i = 2; i < argc; i++)
        if (!is_mapped(argv[i]))
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
