/*
 * untold [away|FILE]: runs code that is in no file and that nobody is told of, as of a JIT compiler; it waits in a
 * function of C that it calls. Nothing says where it returns: it does not. The stack that it uses has words of an
 * earlier call. away: it has a stack of its own, as some languages do. FILE: the code is that of the file, which is no
 * image.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

__attribute__((noinline)) void wait_here(void)
{
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}

/* push rbx; sub rsp, 64; call rdi; and over again. Or mov rsp, rsi; call rdi; and over again. */
static const unsigned char near_code[] = { 0x53, 0x48, 0x83, 0xec, 0x40, 0xff, 0xd7, 0xeb, 0xfc };
static const unsigned char away_code[] = { 0x48, 0x89, 0xf4, 0xff, 0xd7, 0xeb, 0xfc };

void enter_untold(void (*call)(void), void *stack, void *code);
__asm__(".text\n.globl enter_untold\n.type enter_untold, @function\nenter_untold:\n\tjmp *%rdx\n"
        ".size enter_untold, . - enter_untold\n");

/* It calls nobody: behind a call that goes through a word in memory, as of write, anything may have been called. */
__attribute__((noinline)) static int deepest(volatile char *room)
{
    return room[1] += 1;
}

/* Its return address lies where the code has its room. */
__attribute__((noinline)) static int earlier(void)
{
    volatile char room[8];
    memset((void *)room, 1, sizeof room);
    return deepest(room) + room[3];
}

__attribute__((noinline)) int run_untold(void *code, void *stack)
{
    const int result = earlier();
    enter_untold(wait_here, stack, code);
    return result + 1;
}

static void *map_code(const char *how)
{
    const int file = how && strcmp(how, "away") != 0 ? open(how, O_RDONLY) : -1;
    if (file >= 0)
        return mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (code == MAP_FAILED)
        return MAP_FAILED;
    memcpy(code, how ? away_code : near_code, how ? sizeof away_code : sizeof near_code);
    return mprotect(code, 4096, PROT_READ | PROT_EXEC) == 0 ? code : MAP_FAILED;
}

int main(int count, char **arguments)
{
    static char other[1 << 16] __attribute__((aligned(16)));
    void *code = map_code(count > 1 ? arguments[1] : NULL);
    return code == MAP_FAILED ? 1 : run_untold(code, other + sizeof other - 64) + count;
}
