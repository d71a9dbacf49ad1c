/* Which runtime made a target's code, found out from its files and memory; and what that runtime tells of its code. */
#ifndef SNAPSTACKS_RUNTIME_H
#define SNAPSTACKS_RUNTIME_H

#include <snapwalk/clr_names.h>
#include <snapwalk/core.h>

enum runtime_kind { RUNTIME_NONE, RUNTIME_CLR, RUNTIME_JVM, RUNTIME_MONO, RUNTIME_NODE, RUNTIME_PYTHON };

/* `names` reads the memory of a CLR; null for others. */
struct runtime {
    enum runtime_kind kind;
    struct sw_clr_names *names;
    struct sw_code_finder finder;
};

/* memory: the target's; what its arg points to must live until runtime_close. */
void runtime_of_process(struct runtime *runtime, int pid, const struct sw_memory *memory);
void runtime_of_core(struct runtime *runtime, const struct sw_core *core, const struct sw_memory *memory);
void runtime_close(struct runtime *runtime);

/* Finds the code that the runtime knows, for walks; null: it is not asked. It lives as long as the runtime. */
const struct sw_code_finder *runtime_finder(const struct runtime *runtime);

/* "CLR 10", "Node"; empty for none. */
void runtime_describe(const struct runtime *runtime, char *text, size_t size);

#endif
