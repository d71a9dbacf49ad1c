/* Names of .NET methods that were compiled ahead of time (NativeAOT), as they were written. */
#ifndef RUNTIMES_AOT_H
#define RUNTIMES_AOT_H

#include <stddef.h>

/*
 * "shop_Shop_Cart__Pay_1" becomes "Shop.Cart.Pay".
 *
 * symbol  Of a function in the section __managedcode.
 * method  The method's own name out of debug information ("<Main>b__2_2"): says where the type ends; null: not known,
 *         and then the type ends at the first "__", which is wrong for what compilers made of lambdas and iterators.
 * module  The assembly's name as symbols have it, which is left out in front of types; may be "".
 *
 * Returns `text`, cut to size - 1, at least 1: a symbol that does not follow the rules comes back as it is.
 */
const char *aot_demangle(const char *symbol, const char *method, const char *module, char *text, size_t size);

#endif
