/*
 * Java: what a HotSpot virtual machine has in memory of the code it makes, read by the tables that it exports for that
 * (vmStructs). No option of Java, no perf map, no agent; living processes and cores. x64. Every value is the target's,
 * and checked where it is used; lengths and chains are bounded.
 */
#ifndef RUNTIMES_HOTSPOT_H
#define RUNTIMES_HOTSPOT_H

#include <snapwalk/codemap.h>
#include <snapwalk/frame.h>
#include <snapwalk/image.h>
#include <snapwalk/memory.h>

enum { HOTSPOT_NAME_BYTES = 2048, HOTSPOT_FILE_BYTES = 512, HOTSPOT_INLINED_MOST = 32 };

struct hotspot;

/*
 * memory: copied; its arg is borrowed until hotspot_close.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no file of the target exports the tables, or they lack what is needed);
 *          SW_E_NO_MEMORY.
 */
enum sw_status hotspot_open(struct sw_images *images, const struct sw_memory *memory, struct hotspot **hotspot);
void hotspot_close(struct hotspot *hotspot);

/* Finds the code around an address; what walks ask for (struct sw_code_finder, arg: a struct hotspot). */
bool hotspot_find(void *hotspot, uint64_t address, struct sw_range *code);

/*
 * The caller's registers, for a frame in code of the machine. stack: the thread's. False: nothing is known, and the
 * walk goes on as in any code.
 */
bool hotspot_step(struct hotspot *hotspot, const struct sw_memory *stack, const struct sw_frame *frame,
                  struct sw_regs *caller);

/* The caller of an interpreted frame, of a machine of which no more is known than that it is one. */
bool hotspot_leave_interpreter(const struct sw_memory *stack, const struct sw_frame *frame, struct sw_regs *caller);

/* A method at a place in its source. line 0, file empty: not known. */
struct hotspot_call {
    char name[HOTSPOT_NAME_BYTES], file[HOTSPOT_FILE_BYTES];
    int line;
};

/*
 * The Method that an interpreted frame runs, and its bytecode, as one number; 0: it is none. Interpreted frames of one
 * pc are of different methods.
 */
uint64_t hotspot_identity(struct hotspot *hotspot, const struct sw_memory *stack, const struct sw_frame *frame);

/*
 * The methods of a frame, innermost first, as "java.util.Arrays.sort(java.lang.Object[])": all but the last were
 * inlined. Returns how many; 0: calls[0].name is the name of a stub, or empty.
 */
size_t hotspot_name(struct hotspot *hotspot, const struct sw_frame *frame, uint64_t identity,
                    struct hotspot_call calls[HOTSPOT_INLINED_MOST]);

#endif
