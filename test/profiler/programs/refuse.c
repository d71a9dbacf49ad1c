/* refuse NAME COMMAND...: runs it where the kernel refuses one system call, as containers' seccomp filters do. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
    const char *name;
    unsigned number;
} calls[] = { { "timer_create", SYS_timer_create },
              { "timer_settime", SYS_timer_settime },
              { "rt_tgsigqueueinfo", SYS_rt_tgsigqueueinfo } };

static int refuse(unsigned number)
{
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog all = { sizeof rows / sizeof rows[0], rows };
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all, 0, 0);
}

int main(int count, char **words)
{
    for (size_t i = 0; count > 2 && i < sizeof calls / sizeof calls[0]; i++)
        if (!strcmp(calls[i].name, words[1]) && refuse(calls[i].number) == 0)
            execvp(words[2], words + 2);
    perror("refuse");
    return 77;
}
