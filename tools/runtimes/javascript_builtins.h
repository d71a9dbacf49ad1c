/*
 * V8's built-in code. It is a part of the program's file and, where that makes calls shorter, is there a second time
 * beside the code that V8 compiles: mapped again, or copied. Source: Node 20, deps/v8/src/heap/code-range.cc,
 * RemapEmbeddedBuiltins.
 */
#ifndef RUNTIMES_JAVASCRIPT_BUILTINS_H
#define RUNTIMES_JAVASCRIPT_BUILTINS_H

#include <snapwalk/image.h>
#include <snapwalk/memory.h>

#include <stdbool.h>

struct v8_builtins;

/*
 * memory: copied; its arg is borrowed until v8_builtins_close.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (the target does not export where they are); SW_E_NO_MEMORY.
 */
enum sw_status v8_builtins_open(struct sw_images *images, const struct sw_memory *memory,
                                struct v8_builtins **builtins);
void v8_builtins_close(struct v8_builtins *builtins);

/*
 * The address in the program's file of built-in code at `address`, there or in the copy; 0: it is other code. in_file:
 * whether `address` is that of a file. The copy is found by its bytes, page by page, when first an address in it comes.
 */
uint64_t v8_builtins_original(struct v8_builtins *builtins, uint64_t address, bool in_file);

#endif
