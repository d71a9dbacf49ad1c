/* A process to be looked at: a thread that counts, in a chain of exported functions, until its input ends. */
#include <windows.h>

#include <stdio.h>

static volatile LONG64 rounds;

__declspec(dllexport) int target_leaf(int depth);
__declspec(dllexport) __attribute__((noipa)) int target_leaf(int depth)
{
    for (;;) {
        InterlockedIncrement64(&rounds);
        if (rounds < 0)
            return depth;
    }
}

__declspec(dllexport) int target_middle(int depth);
__declspec(dllexport) __attribute__((noipa, optimize("no-optimize-sibling-calls"))) int target_middle(int depth)
{
    return (depth ? target_middle(depth - 1) : target_leaf(depth)) + 1;
}

static DWORD WINAPI run(void *arg)
{
    (void)arg;
    return (DWORD)target_middle(5);
}

int main(void)
{
    char line[8];
    CreateThread(NULL, 0, run, NULL, 0, NULL);
    while (rounds == 0)
        Sleep(1);
    printf("%lu\n", GetCurrentProcessId());
    fflush(stdout);
    /* each line asks how far the thread is */
    while (fgets(line, sizeof line, stdin)) {
        printf("%lld\n", (long long)rounds);
        fflush(stdout);
    }
    return 0;
}
