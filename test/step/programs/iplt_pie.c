/* step once: -static-pie -fPIE */
/* The same where the program relocates itself first. */
#include "calls.h"

int main(void)
{
    return all_calls();
}
