/*
 * Which stacks and threads are still there. A thread is known by its environment block (sw_thread_pointer). A block may
 * have gone over to a thread that began later: then the one that had it before is not said to be gone.
 */
#include "common/present.h"

#include "target/windows/threads.h"

#include <snapwalk/self.h>

/* found: a thread has the block, or one does not tell its own. */
struct search {
    uint64_t block;
    bool found;
};

static bool look(void *arg, DWORD id)
{
    struct search *search = arg;
    HANDLE thread;
    const enum sw_status status = sw_windows_open_thread(GetCurrentProcessId(), id, 0, &thread);
    if (status == SW_OK) {
        const uint64_t block = sw_windows_block(thread);
        search->found |= block == search->block || (block == 0 && !sw_windows_has_ended(thread));
        CloseHandle(thread);
    } else {
        search->found |= status != SW_E_GONE;
    }
    return !search->found;
}

bool sw_thread_is_gone(uint64_t thread_pointer)
{
    struct search search = { thread_pointer, false };
    const DWORD before = GetLastError();
    const bool is_told = thread_pointer != 0 && sw_windows_each_thread(GetCurrentProcessId(), look, &search) == SW_OK;
    SetLastError(before);
    return is_told && !search.found;
}

enum sw_peek sw_peek(uint64_t address, uint64_t words[2])
{
    const struct sw_memory memory = sw_self_memory();
    const size_t size = 2 * sizeof *words;
    return memory.read(memory.arg, address, words, size) == size ? SW_PEEK_WORDS : SW_PEEK_NOTHING;
}
