/*
 * LLVM's libunwind, loaded by its file name (libunwind.so.1: the other one is libunwind.so.8) into a process that has
 * no other but libgcc's. Its functions have their names from the library of the same name, so they are found by dlsym;
 * layout of its context: the registers of x86-64 in the order of its Registers_x86_64.
 */
#include "rival.h"

#include <dlfcn.h>
#include <stdio.h>

enum { RBP = 6, RSP = 7, RIP = 16, WORDS = 512, REG_PC = -1 };

static struct {
    int (*getcontext)(uint64_t *context);
    int (*init_local)(uint64_t *cursor, uint64_t *context);
    int (*step)(uint64_t *cursor);
    int (*get_reg)(uint64_t *cursor, int reg, uint64_t *value);
} unw;

static const struct symbol {
    const char *name;
    void *to;
} symbols[] = { { "unw_getcontext", &unw.getcontext },
                { "unw_init_local", &unw.init_local },
                { "unw_step", &unw.step },
                { "unw_get_reg", &unw.get_reg } };

static unsigned walk_by_llvm(void *arg, const struct stacks *s, unsigned stack, uint64_t *out)
{
    uint64_t context[WORDS], cursor[WORDS];
    unsigned count = 0;
    (void)arg;
    (void)unw.getcontext(context);
    context[RIP] = s->ends[stack].leaf;
    context[RSP] = stack_sp(s, stack, 0);
    context[RBP] = context[RSP] + 16;
    must(unw.init_local(cursor, context) == 0, "unw_init_local");
    do {
        (void)unw.get_reg(cursor, REG_PC, &out[count++]);
    } while (count < s->scene.depth && unw.step(cursor) > 0);
    return count;
}

int main(int argc, char **argv)
{
    static const struct way way = { "LLVM unw_step", walk_by_llvm, NULL, 4000 };
    void *library = dlopen("libunwind.so.1", RTLD_NOW);
    if (!library) {
        printf("skipped: no libunwind.so.1 (Debian package libunwind-14)\n");
        return 0;
    }
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
        *(void **)symbols[i].to = dlsym(library, symbols[i].name);
        must(*(void **)symbols[i].to != NULL, symbols[i].name);
    }
    return rival_main(argc, argv, &way);
}
