/*
 * Knows the shape of V8's frames and of the objects that lead from a frame to a name. What versions disagree about
 * comes from the constants; what they agree about is written down here.
 *
 * Source: Node 18 to 26, deps/v8: src/execution/frame-constants.h and frames.h (frames, markers),
 * tools/gen-postmortem-metadata.py (the constants), src/objects/string.h (representations), src/objects/scope-info.tq
 * (order of a ScopeInfo's slots).
 */
#include "javascript.h"

#include "characters.h"
#include "javascript_builtins.h"
#include "peek.h"

#include <snapwalk/names.h>

#include <stdlib.h>
#include <string.h>

/* ORDER constant: names. */
enum constant {
    FP_FUNCTION,
    FP_CONTEXT,
    FP_BYTECODE,
    MAP_TYPE,
    FUNCTION_SHARED,
    SHARED_NAME,
    SHARED_SCRIPT,
    SCRIPT_NAME,
    STRING_LENGTH,
    ONE_BYTE_CHARS,
    TWO_BYTE_CHARS,
    CONS_FIRST,
    CONS_SECOND,
    SLICED_PARENT,
    SLICED_OFFSET,
    THIN_ACTUAL,
    FIRST_NONSTRING,
    TYPE_SHARED,
    TYPE_SCOPE_INFO,
    TYPE_SCRIPT,
    TYPE_BYTECODE,
    MARK_ENTRY,
    MARK_CONSTRUCT_ENTRY,
    SCOPE_LOCALS,
    SCOPE_FIRST,
    CONSTANTS
};

/* The names of a constant, the newest last: they end with the member's type, which versions write in their own way. */
enum { NAMES = 3 };
static const char *const names[CONSTANTS][NAMES] = {
    { "v8dbg_off_fp_function" },
    { "v8dbg_off_fp_context_or_frame_type" },
    { "v8dbg_off_fp_bytecode_array" },
    { "v8dbg_class_Map__instance_type__uint16_t" },
    { "v8dbg_class_JSFunction__shared__SharedFunctionInfo" },
    { "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object",
      "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_Object_",
      "v8dbg_class_SharedFunctionInfo__name_or_scope_info__Tagged_NameOrScopeInfoT_" },
    { "v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject",
      "v8dbg_class_SharedFunctionInfo__script__Tagged_HeapObject_" },
    { "v8dbg_class_Script__name__Object" },
    { "v8dbg_class_String__length__int32_t" },
    { "v8dbg_class_SeqOneByteString__chars__char" },
    { "v8dbg_class_SeqTwoByteString__chars__char" },
    { "v8dbg_class_ConsString__first__String" },
    { "v8dbg_class_ConsString__second__String" },
    { "v8dbg_class_SlicedString__parent__String" },
    { "v8dbg_class_SlicedString__offset__SMI" },
    { "v8dbg_class_ThinString__actual__String" },
    { "v8dbg_FirstNonstringType" },
    { "v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE" },
    { "v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE" },
    { "v8dbg_type_Script__SCRIPT_TYPE" },
    { "v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE" },
    { "v8dbg_frametype_EntryFrame" },
    { "v8dbg_frametype_ConstructEntryFrame" },
    { "v8dbg_scopeinfo_idx_ncontextlocals" },
    { "v8dbg_scopeinfo_idx_first_vars" },
};

/* How a string's characters are kept, in its type's low bits; the bit above: one byte a character. */
enum { SEQUENTIAL = 0, CONS = 1, SLICED = 3, THIN = 5, REPRESENTATION = 7, ONE_BYTE = 8 };

enum {
    STRINGS_DEEP = 8,    /* of strings that are made of strings */
    NAMES_IN_LINE = 75,  /* a ScopeInfo with more locals has their names in a table */
    SLOTS_LOOKED_AT = 8, /* behind the locals */
    MARKS = 64           /* kinds of frames */
};

struct v8 {
    struct sw_memory memory;
    struct sw_images *images;
    int32_t at[CONSTANTS];
    struct v8_builtins *builtins;
};

static bool get_constant(struct v8 *v, enum constant constant)
{
    uint64_t address;
    for (size_t i = 0; i < NAMES && names[constant][i]; i++)
        if (sw_images_symbol(v->images, names[constant][i], &address) == SW_OK)
            return peek(&v->memory, address, &v->at[constant], sizeof v->at[constant]);
    return false;
}

enum sw_status v8_open(struct sw_images *images, const struct sw_memory *memory, struct v8 **v8)
{
    struct v8 *v = calloc(1, sizeof *v);
    if (!v)
        return SW_E_NO_MEMORY;
    v->memory = *memory;
    v->images = images;
    enum sw_status status = v8_builtins_open(images, memory, &v->builtins);
    for (enum constant i = 0; status == SW_OK && i < CONSTANTS; i++)
        if (!get_constant(v, i))
            status = SW_E_NOT_FOUND;
    if (status == SW_OK)
        *v8 = v;
    else
        v8_close(v);
    return status;
}

void v8_close(struct v8 *v8)
{
    if (v8)
        v8_builtins_close(v8->builtins);
    free(v8);
}

/* ---- objects ---- */

static bool get_member(const struct v8 *v, uint64_t object, int32_t offset, uint64_t *member)
{
    return (object & 3) == 1 && peek(&v->memory, object - 1 + (uint64_t)(int64_t)offset, member, sizeof *member);
}

/* The type of an object; -1: it is none. */
static int type_of(const struct v8 *v, uint64_t object)
{
    uint64_t map;
    uint16_t type;
    return get_member(v, object, 0, &map) && (map & 3) == 1 &&
                   peek(&v->memory, map - 1 + (uint64_t)v->at[MAP_TYPE], &type, sizeof type)
               ? type
               : -1;
}

static bool is_string(const struct v8 *v, uint64_t object)
{
    const int type = type_of(v, object);
    return type >= 0 && type < v->at[FIRST_NONSTRING];
}

static size_t put_flat(const struct v8 *v, uint64_t string, bool is_wide, uint32_t first, uint32_t count, char *to,
                       size_t room)
{
    const unsigned width = is_wide ? 2 : 1;
    uint64_t at = string - 1 + (uint64_t)v->at[is_wide ? TWO_BYTE_CHARS : ONE_BYTE_CHARS] + (uint64_t)first * width;
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++, at += width) {
        uint16_t c = 0;
        const size_t more = peek(&v->memory, at, &c, width) ? put_character(to + used, room - used, c) : 0;
        if (!more)
            break;
        used += more;
    }
    return used;
}

/* Characters from `first`, at most `count`, without a zero behind them. Returns how many bytes. */
static size_t put_string(const struct v8 *v, uint64_t string, uint32_t first, uint32_t count, char *to, size_t room,
                         unsigned depth)
{
    const int type = type_of(v, string);
    uint64_t part, offset;
    uint32_t length;
    if (depth > STRINGS_DEEP || type < 0 || type >= v->at[FIRST_NONSTRING] ||
        !peek(&v->memory, string - 1 + (uint64_t)v->at[STRING_LENGTH], &length, sizeof length) || first > length)
        return 0;
    count = count < length - first ? count : length - first;
    switch (type & REPRESENTATION) {
    case SEQUENTIAL:
        return put_flat(v, string, !(type & ONE_BYTE), first, count, to, room);
    case THIN:
        return get_member(v, string, v->at[THIN_ACTUAL], &part) ? put_string(v, part, first, count, to, room, depth + 1)
                                                                : 0;
    case SLICED:
        return get_member(v, string, v->at[SLICED_PARENT], &part) &&
                       get_member(v, string, v->at[SLICED_OFFSET], &offset)
                   ? put_string(v, part, first + (uint32_t)(offset >> 32), count, to, room, depth + 1)
                   : 0;
    case CONS: {
        size_t used = get_member(v, string, v->at[CONS_FIRST], &part)
                          ? put_string(v, part, first, count, to, room, depth + 1)
                          : 0;
        if (first == 0 && used < count && get_member(v, string, v->at[CONS_SECOND], &part))
            used += put_string(v, part, 0, count - (uint32_t)used, to + used, room - used, depth + 1);
        return used;
    }
    default:
        return 0; /* the characters are outside of V8's heap */
    }
}

static bool get_string(const struct v8 *v, uint64_t string, char *text, size_t size)
{
    const size_t used = put_string(v, string, 0, (uint32_t)size - 1, text, size - 1, 0);
    text[used] = 0;
    return used > 0;
}

static bool is_function(const struct v8 *v, uint64_t object, uint64_t *shared)
{
    return get_member(v, object, v->at[FUNCTION_SHARED], shared) && type_of(v, *shared) == v->at[TYPE_SHARED];
}

/* ---- frames ---- */

/* What a jitdump file tells of is an image, too, and no file's. */
static bool is_in_file(const struct v8 *v, uint64_t address)
{
    struct sw_image image;
    return sw_images_find(v->images, address, &image) == SW_OK && strcmp(image.path, "[jit]") != 0;
}

uint64_t v8_builtin(const struct v8 *v, uint64_t address)
{
    return v8_builtins_original(v->builtins, address, is_in_file(v, address));
}

/* Code of V8: its builtins, and what is in no file. */
static bool is_code(const struct v8 *v, const struct sw_frame *frame)
{
    return frame->regs.machine == SW_MACHINE_X64 && sw_regs_has(&frame->regs, SW_X64_RBP) &&
           (!is_in_file(v, frame->lookup) || v8_builtin(v, frame->lookup));
}

static bool get_slot(const struct sw_memory *stack, const struct sw_frame *frame, int32_t offset, uint64_t *word)
{
    return peek(stack, frame->regs.r[SW_X64_RBP] + (uint64_t)(int64_t)offset, word, sizeof *word);
}

enum v8_how v8_identify(const struct v8 *v, const struct sw_memory *stack, const struct sw_frame *frame,
                        uint64_t *function)
{
    uint64_t context, object, bytecode;
    if (!is_code(v, frame) || !get_slot(stack, frame, v->at[FP_CONTEXT], &context) || (context & 3) != 1 ||
        !get_slot(stack, frame, v->at[FP_FUNCTION], &object) || !is_function(v, object, function))
        return V8_NONE;
    if (!v8_builtin(v, frame->lookup))
        return V8_COMPILED;
    return get_slot(stack, frame, v->at[FP_BYTECODE], &bytecode) && type_of(v, bytecode) == v->at[TYPE_BYTECODE]
               ? V8_INTERPRETED
               : V8_BUILTIN;
}

/* What stands beside rbp says what kind of frame it is: a context is a function's, a small number any other's. */
static bool has_frame_of_c(const struct v8 *v, uint64_t mark)
{
    if ((mark & 3) == 1)
        return type_of(v, mark) >= 0;
    return (mark & 1) == 0 && mark >> 1 < MARKS && mark >> 1 && (int32_t)(mark >> 1) != v->at[MARK_ENTRY] &&
           (int32_t)(mark >> 1) != v->at[MARK_CONSTRUCT_ENTRY];
}

bool v8_step(const struct v8 *v, const struct sw_memory *stack, const struct sw_frame *frame, struct sw_regs *caller)
{
    uint64_t mark, words[2];
    if (frame->exact || !is_code(v, frame) || frame->regs.r[SW_X64_RBP] < sw_regs_sp(&frame->regs) ||
        !get_slot(stack, frame, v->at[FP_CONTEXT], &mark) || !has_frame_of_c(v, mark) ||
        !peek(stack, frame->regs.r[SW_X64_RBP], words, sizeof words))
        return false;
    *caller = (struct sw_regs){ .machine = frame->regs.machine };
    sw_regs_set(caller, SW_X64_RBP, words[0]);
    sw_regs_set(caller, SW_X64_RIP, words[1]);
    sw_regs_set(caller, SW_X64_RSP, frame->regs.r[SW_X64_RBP] + sizeof words);
    return true;
}

/* ---- names ---- */

/*
 * A function's name in its ScopeInfo: the first string behind the names and properties of its locals. That is the
 * function's own name or, where it has none, what the compiler has made of where it was assigned to.
 */
static bool name_in_scope(const struct v8 *v, uint64_t scope, char *name, size_t size)
{
    uint64_t count, slot;
    if (!get_member(v, scope, 8 + 8 * v->at[SCOPE_LOCALS], &count))
        return false;
    count >>= 32;
    if (count >= NAMES_IN_LINE)
        return false;
    const int32_t first = 8 + 8 * (v->at[SCOPE_FIRST] + 2 * (int32_t)count);
    for (int32_t i = 0; i < SLOTS_LOOKED_AT; i++)
        if (get_member(v, scope, first + 8 * i, &slot) && is_string(v, slot) && get_string(v, slot, name, size))
            return true;
    return false;
}

void v8_name(const struct v8 *v, uint64_t function, char *name, char *script, size_t size)
{
    uint64_t object, text;
    name[0] = script[0] = 0;
    if (get_member(v, function, v->at[SHARED_NAME], &object)) {
        if (is_string(v, object))
            (void)get_string(v, object, name, size);
        else if (type_of(v, object) == v->at[TYPE_SCOPE_INFO] && !name_in_scope(v, object, name, size))
            name[0] = 0;
    }
    if (get_member(v, function, v->at[SHARED_SCRIPT], &object) && type_of(v, object) == v->at[TYPE_SCRIPT] &&
        get_member(v, object, v->at[SCRIPT_NAME], &text))
        (void)get_string(v, text, script, size);
}
