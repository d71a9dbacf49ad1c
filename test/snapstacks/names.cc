// Templates, a namespace, and a function that is inlined, on the stack of a thread that waits.
#include <cstdio>
#include <string>
#include <unistd.h>

namespace shop
{
template <class T> struct Cart {
    __attribute__((noinline)) int wait(T const &what)
    {
        std::puts("ready");
        std::fflush(stdout);
        pause();
        return what.size() != 0;
    }
    __attribute__((always_inline)) int pay(T const &what)
    {
        return wait(what) + 1;
    }
};
} // namespace shop

int main()
{
    shop::Cart<std::string> cart;
    return cart.pay("apples");
}
