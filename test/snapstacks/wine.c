/*
 * A Windows program whose threads stand, or run, on both sides of Wine: in code of its own, and in system calls of
 * which Wine's part that is Linux's makes one wait for time, one for a pipe, one for a lock; one makes them again and
 * again. What it calls is exported, so that it has names.
 */
#include <windows.h>

#include <stdio.h>

#define APART __declspec(dllexport) __attribute__((noinline, noipa))

enum { THREADS = 5 };
static volatile unsigned long work;
static volatile LONG begun;
static HANDLE from, to;
static CRITICAL_SECTION lock;

APART void spin_here(unsigned turns)
{
    while (turns--)
        work++;
}

APART DWORD WINAPI spins(void *arg)
{
    (void)arg;
    InterlockedIncrement(&begun);
    for (;; work++)
        spin_here(100000);
}

APART DWORD WINAPI sleeps(void *arg)
{
    (void)arg;
    InterlockedIncrement(&begun);
    for (;; work++)
        Sleep(INFINITE);
}

APART DWORD WINAPI reads(void *arg)
{
    char byte;
    DWORD count;
    (void)arg;
    InterlockedIncrement(&begun);
    while (ReadFile(from, &byte, 1, &count, NULL))
        work++;
    return 0;
}

APART DWORD WINAPI locks(void *arg)
{
    (void)arg;
    InterlockedIncrement(&begun);
    EnterCriticalSection(&lock);
    work++;
    return 0;
}

APART DWORD WINAPI asks(void *arg)
{
    (void)arg;
    InterlockedIncrement(&begun);
    for (;; work++)
        WaitForSingleObject(GetCurrentThread(), 0);
}

int main(void)
{
    DWORD(WINAPI *const threads[THREADS])(void *) = { spins, sleeps, reads, locks, asks };
    InitializeCriticalSection(&lock);
    EnterCriticalSection(&lock);
    if (!CreatePipe(&from, &to, NULL, 0))
        return 2;
    for (size_t i = 0; i < THREADS; i++)
        if (!CreateThread(NULL, 0, threads[i], NULL, 0, NULL))
            return 2;
    while (begun < THREADS)
        Sleep(1);
    printf("ready\n");
    fflush(stdout);
    for (;; work++)
        Sleep(INFINITE);
}
