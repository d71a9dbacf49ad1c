/* Stands for a program of NativeAOT's: its methods have mangled symbols, and lie in a section of their own. */
#include <stdio.h>
#include <unistd.h>

int Pay(int amount) __asm__("app_Shop_Cart__Pay");

__attribute__((section("__managedcode"), noinline)) int Pay(int amount)
{
    puts("ready");
    fflush(stdout);
    return amount + pause();
}

int main(void)
{
    return Pay(1) & 1;
}
