#include "faults.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int faults; /* the userfaultfd */
static sem_t is_handled;

static void *handle_faults(void *arg)
{
    struct uffd_msg message;
    sem_post(&is_handled);
    while (read(faults, &message, sizeof message) == (ssize_t)sizeof message) {
        struct uffdio_zeropage zero = { .range = { message.arg.pagefault.address & ~UINT64_C(4095), 4096 } };
        ioctl(faults, UFFDIO_ZEROPAGE, &zero);
    }
    return arg;
}

/*
 * Nothing is created over faults before somebody handles them: a sanitizer holds locks in pthread_create, where the
 * stack is touched, which a thread needs to begin.
 */
bool start_over_faults(void *(*run)(void *stack))
{
    struct uffdio_api api = { .api = UFFD_API };
    const size_t size = 1 << 18;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct uffdio_register range = { { (uint64_t)(uintptr_t)stack, size }, UFFDIO_REGISTER_MODE_MISSING, 0 };
    pthread_attr_t attributes;
    pthread_t thread;
    faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, size);
    return faults >= 0 && ioctl(faults, UFFDIO_API, &api) == 0 && ioctl(faults, UFFDIO_REGISTER, &range) == 0 &&
           sem_init(&is_handled, 0, 0) == 0 && pthread_create(&thread, NULL, handle_faults, NULL) == 0 &&
           sem_wait(&is_handled) == 0 && pthread_create(&thread, &attributes, run, stack) == 0;
}
