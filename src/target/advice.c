/* See advice.h. Refuses to know system calls: a refusal's cause is found by the folders of the operating systems. */
#include "target/advice.h"

const char *sw_advice_of(enum sw_status status)
{
    static const struct {
        enum sw_status status;
        const char *text;
    } rows[] = {
        { SW_OK, "nothing has failed" },
        { SW_E_ARGUMENT,
          "a null pointer, an id that is none, or the calling process: walk that one by snapwalk/self.h" },
        { SW_E_NO_MEMORY, "out of memory: capture fewer bytes of each stack" },
        { SW_E_BUSY, "no thread could be stopped in time, or the process is stopped already: resume it, or try again" },
        { SW_E_UNSUPPORTED, "a 32-bit process, a thread of the kernel, or what this system does not offer" },
        { SW_E_GONE, "there is no such process or thread: it may have ended, so look for its id again" },
        { SW_E_OS, "a request to the operating system failed: errno says which way" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].status == status)
            return rows[i].text;
    return sw_status_name(status);
}
