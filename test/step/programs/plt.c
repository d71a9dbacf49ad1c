/* step once: -fcf-protection=none -fplt */
/* arm64: -mbranch-protection=none */
/* The lazy PLT: entries of 16 bytes that push and jump to the resolver, one FDE with an expression for all of them. */
#include "calls.h"

int main(void)
{
    return all_calls();
}
