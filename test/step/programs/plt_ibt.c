/* step once: -fcf-protection=full -fplt -Wl,-z,ibtplt */
/* The PLT in two parts, of processors that check where jumps land: calls go to .plt.sec, binding through .plt. */
#include "calls.h"

int main(void)
{
    return all_calls();
}
