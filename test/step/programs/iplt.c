/* step once: -static */
/* No dynamic linker: what is left of the PLT leads to the functions that were chosen at start (IRELATIVE). */
#include "calls.h"

int main(void)
{
    return all_calls();
}
