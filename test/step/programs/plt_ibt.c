/* step once: -fcf-protection=full -fplt -Wl,-z,ibtplt */
/* arm64: -mbranch-protection=standard -Wl,-z,force-bti -Wl,-z,pac-plt */
/* The PLT in two parts, of processors that check where jumps land: calls go to .plt.sec, binding through .plt. */
#include "calls.h"

int main(void)
{
    return all_calls();
}
