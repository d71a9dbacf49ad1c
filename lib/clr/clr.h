/*
 * CoreCLR's file and code formats: ReadyToRun images (method ranges, names) and the headers of JIT code. Built on pe/.
 * (runtime.h has what a running CoreCLR publishes about itself; src/clr follows the CLR of this process.)
 */
#ifndef SW_CLR_CLR_H
#define SW_CLR_CLR_H

#include "pe/pe.h"

#include <snapwalk/alloc.h>
#include <snapwalk/codemap.h>

enum { SW_CLR_DISPATCH_TYPES = 3 };

/*
 * A ReadyToRun image: borrowed bytes, plus an index made at set-up.
 *
 * functions    Section 102.
 * cold         Section 120: which runtime functions are cold parts, and of which others. Usually empty.
 * methods      Which runtime functions begin a method; the others are its funclets or cold parts. Ascending indices
 *              into functions, each with the MethodDef or MemberRef token (0 for a method of another module).
 * is_component Its code is in a composite image; open said SW_E_UNSUPPORTED.
 * has_core     A composite image with the core library's code. It keeps the tokens of those methods, no others.
 * dispatch     Tokens of the methods that dispatch exceptions (System.Runtime.EH and the like in the core library);
 *              their ranges carry SW_RANGE_EH_DISPATCH. Of a composite image: see sw_clr_image_tell.
 */
struct sw_clr_image {
    struct sw_pe pe;
    struct sw_bytes functions;
    struct sw_bytes cold;
    struct sw_clr_method {
        uint32_t function;
        uint32_t token;
    } * methods;
    size_t method_count;
    size_t method_capacity;
    struct sw_alloc alloc;
    struct sw_bytes metadata; /* ECMA-335 metadata root; in a composite image of no type, or empty */
    bool is_component, has_core;
    struct sw_clr_tokens {
        _Atomic uint32_t first;
        _Atomic uint32_t end;
    } dispatch[SW_CLR_DISPATCH_TYPES];
};

/*
 * open reads the headers and makes the index; close frees it. A composite image (NAME.r2r.dll) has ranges and unwind
 * data but no names.
 *
 * pe       Copied; its bytes are borrowed until the image is closed.
 * alloc    Not null here: lib/ has no allocator of its own. Copied.
 *
 * Returns  SW_OK; SW_E_ARGUMENT; SW_E_NOT_FOUND (a PE file without ReadyToRun code); SW_E_MALFORMED;
 *          SW_E_UNSUPPORTED (major version other than 9, 10 and 16, component of a composite image);
 *          SW_E_NO_MEMORY. Nothing needs closing unless SW_OK. SW_E_UNSUPPORTED leaves `dispatch` filled: the code of a
 *          component is in the composite image, its metadata is not.
 * Memory   8 bytes per method; during open, 4 more bytes per runtime function. Threads  Any. Signals  Not safe.
 * Source   win-x64-unwind.md sections 7 and 8; the .NET runtime's ReadyToRun format document; ECMA-335 II.24.
 */
SW_NODISCARD enum sw_status sw_clr_image_open(const struct sw_pe *pe, const struct sw_alloc *alloc,
                                              struct sw_clr_image *image);
void sw_clr_image_close(struct sw_clr_image *image);

/*
 * Opens it without the index and the metadata, which are most of the work: each runtime function is a method of its own
 * then, without a name, and `dispatch` stays empty. Returns, Threads, Signals  As sw_clr_image_open. Memory  None.
 */
SW_NODISCARD enum sw_status sw_clr_image_open_bare(const struct sw_pe *pe, const struct sw_alloc *alloc,
                                                   struct sw_clr_image *image);

/*
 * The method around an address: the range of its runtime function (the body, one funclet or one cold part, see flags),
 * kind NGEN, id = the address of the method's entry.
 *
 * Returns  SW_OK; SW_E_NO_RULE (not inside any runtime function); as sw_pe_find.
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_clr_image_method(const struct sw_clr_image *image, uint64_t address,
                                                struct sw_range *method);

/* Whether a MethodDef token of the image's module names a method that dispatches exceptions. Signals  Safe. */
bool sw_clr_image_dispatches(const struct sw_clr_image *image, uint32_t token);

/* Whether any method is known to. Signals  Safe. */
bool sw_clr_image_has_dispatch(const struct sw_clr_image *image);

/*
 * Tells a composite image with the core library's code which of its methods dispatch exceptions, by the component that
 * has the core library's metadata. Other images are not changed. One thread at a time; others may look up meanwhile.
 */
void sw_clr_image_tell(struct sw_clr_image *composite, const struct sw_clr_image *component);

/*
 * The rule at an address inside a method of the image (exact unwind data).
 *
 * exact    As in sw_pe_x64_rule: the address is an instruction being executed, not a return address - 1.
 *
 * Returns  As sw_pe_image_rule; SW_E_NO_RULE (not inside any runtime function).
 * Memory   Allocates nothing; under 1.5 KiB of stack. Threads  Any. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_clr_image_rule(const struct sw_clr_image *image, uint64_t address, bool exact,
                                              struct sw_rule *rule);

/*
 * "Namespace.Type::Method" around an address; nested types as "Outer+Inner". Set-up time only: slow.
 *
 * name     Receives a NUL-terminated string, cut at size - 1 bytes. size is not 0.
 *
 * Returns  SW_OK; SW_E_NOT_FOUND (no method, no metadata, or a method of another module); SW_E_MALFORMED.
 * Memory   Allocates nothing. Threads  Any. Signals  Safe.
 */
SW_NODISCARD enum sw_status sw_clr_image_name(const struct sw_clr_image *image, uint64_t address, char *name,
                                              size_t size);

/*
 * What a header says of a method's own code, without its funclets: what a rule needs beside the bytes at pc, as long as
 * the code is there.
 *
 * base     The heap's, from which RVAs count.
 * info     Of its unwind data, at function.unwind: the first info_size bytes. 0: nothing is known.
 */
enum { SW_CLR_JIT_INFO = 96 };
struct sw_clr_jit_main {
    uint64_t method;
    uint64_t base;
    struct sw_pe_function function;
    uint32_t info_size;
    uint8_t info[SW_CLR_JIT_INFO];
};

/*
 * A piece of JIT code: the MethodDesc's address (the FunctionID), and SW_RANGE_FUNCLET or SW_RANGE_FILTER if it is one;
 * otherwise `main` is filled.
 */
struct sw_clr_jit_code {
    uint64_t function;
    uint16_t flags;
    struct sw_clr_jit_main main;
};

/*
 * The rule at an address inside JIT code, from the header in front of the method, if that header validates.
 *
 * machine  The target's.
 * linux_code  As in sw_pe_rule; its header has no entries that are not used.
 * memory   The target's: header, unwind info and the code at pc are read through it.
 * begin, end  The range that the JIT reported (perf map, profiler event): begin is the method's entry.
 * exact    As in sw_pe_x64_rule.
 * code     Receives what the header says about the code at pc; may be null.
 *
 * Returns  SW_OK (source CLR_HEADER, trust EXACT); SW_E_NO_RULE (no valid header, or pc in none of its functions);
 *          SW_E_UNREADABLE.
 * Memory   Allocates nothing; under 1.5 KiB of stack; about 20 reads at most, on ARM64 one more for each function
 *          of the header (64 at most). Threads  Any. Signals  Safe when memory->read is.
 * Source   win-x64-unwind.md section 9: a private layout, validated before use. ARM64: win-arm64-unwind.md section 7;
 *          its layout is taken from dotnet/runtime's sources and was not seen in a process.
 */
SW_NODISCARD enum sw_status sw_clr_jit_rule(enum sw_machine machine, bool linux_code, const struct sw_memory *memory,
                                            uint64_t begin, uint64_t end, uint64_t pc, bool exact, struct sw_rule *rule,
                                            struct sw_clr_jit_code *code);

/*
 * The same of a method whose header was read before, at the cost of at most two reads, where pc may be in an epilogue.
 *
 * Returns  As sw_clr_jit_rule; SW_E_NO_RULE also for a pc in a funclet.
 */
SW_NODISCARD enum sw_status sw_clr_jit_main_rule(enum sw_machine machine, bool linux_code,
                                                 const struct sw_memory *memory, const struct sw_clr_jit_main *main,
                                                 uint64_t pc, bool exact, struct sw_rule *rule);

/*
 * The body of that code (sw_pe_body): [begin, end). Returns  As sw_pe_body, sw_clr_jit_main_rule; at the cost of at
 * most one read.
 */
SW_NODISCARD enum sw_status sw_clr_jit_main_body(enum sw_machine machine, const struct sw_memory *memory,
                                                 const struct sw_clr_jit_main *main, uint64_t *begin, uint64_t *end);

/*
 * The extent of the JIT code that begins at an address, by its header.
 *
 * limit    The end of its heap: the code ends before that.
 * end, function  Receive the end of its last part, and the MethodDesc's address.
 *
 * Returns  SW_OK; SW_E_NO_RULE (no valid header); SW_E_UNREADABLE.
 * Memory, Threads, Signals  As sw_clr_jit_rule.
 */
SW_NODISCARD enum sw_status sw_clr_jit_extent(enum sw_machine machine, bool linux_code, const struct sw_memory *memory,
                                              uint64_t begin, uint64_t limit, uint64_t *end, uint64_t *function);

#endif
