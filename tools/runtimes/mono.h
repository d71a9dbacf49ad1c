/*
 * mono: which methods its JIT compiler has made, read out of the table that mono itself finds them by. No option of
 * mono, no map; living processes and cores. x64. Where members are is said by mono's own functions that return them;
 * every value is the target's, and checked where it is used.
 */
#ifndef RUNTIMES_MONO_H
#define RUNTIMES_MONO_H

#include <snapwalk/codemap.h>
#include <snapwalk/image.h>
#include <snapwalk/memory.h>

enum { MONO_NAME_BYTES = 2048 };

struct mono;

/*
 * memory: copied; its arg is borrowed until mono_close.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no mono, or one whose structures are not known); SW_E_NO_MEMORY.
 */
enum sw_status mono_open(struct sw_images *images, const struct sw_memory *memory, struct mono **mono);
void mono_close(struct mono *mono);

/* Finds the code around an address; what walks ask for (struct sw_code_finder, arg: a struct mono). */
bool mono_find(void *mono, uint64_t address, struct sw_range *code);

/*
 * The method of JIT code, as mono writes it: "System.Threading.Thread:Sleep", "(wrapper managed-to-native) ...". id: of
 * the range that mono_find found. module: the assembly. Both have room for MONO_NAME_BYTES. False: it has none.
 */
bool mono_name(const struct mono *mono, uint64_t id, char *name, char *module);

#endif
