/*
 * Knows the structures of PHP that lead from a frame of its interpreter to functions, their classes, files and lines.
 *
 * execute_ex runs a call (zend_execute_data) and those that it calls, up to one with the flag TOP, for which C called
 * it. Built by gcc for x64 it has the innermost in r14 and the instruction that it is at in r15, and so has code that
 * PHP's JIT compiler made; in a call that called another the instruction is stored. Those of functions of C are in
 * front of such a chain, never in it.
 *
 * Source: PHP 8.2, 8.4, 8.5, 8.6, Zend/zend_compile.h (zend_execute_data, zend_op_array, zend_op), zend.h
 * (zend_class_entry), zend_types.h (zend_string, HashTable, Bucket), zend_modules.h (zend_module_entry),
 * zend_execute.c (registers); php-frames.md.
 */
#include "php.h"

#include "peek.h"

#include <snapwalk/names.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In bytes. */
enum {
    CALL_INSTRUCTION = 0,
    CALL_FUNCTION = 24,
    CALL_FLAGS = 40,
    CALL_CALLER = 48,
    FUNCTION_NAME = 8,
    FUNCTION_CLASS = 16,
    INSTRUCTIONS = 8, /* behind their number */
    FILE_NAME = 72,
    INSTRUCTION_BYTES = 32,
    INSTRUCTION_LINE = 24,
    CLASS_NAME = 8,
    TEXT_LENGTH = 16,
    TEXT_BEGIN = 24,
    TABLE_BUCKETS = 16,
    MODULE_BYTES = 168
};
enum { FUNCTION_USER = 2, FUNCTION_EVALUATED = 4, TOP = 1 << 17 };
enum { EXECUTE_MOST = 1 << 18, INSTRUCTIONS_MOST = 1 << 24 };

/* number: of the module interface, a date. instructions: where a function has the number of its instructions. */
static const struct release {
    uint32_t number;
    uint8_t instructions;
} releases[] = {
    { 20220829, 80 }, /* 8.2 */
    { 20240924, 96 }, /* 8.4 */
    { 20250925, 96 }, /* 8.5 */
    { 20260924, 96 }, /* 8.6 */
};

struct php {
    struct sw_memory memory;
    struct sw_images *images;
    const struct release *release;
    uint64_t execute;
};

static bool get(const struct php *p, uint64_t address, uint64_t offset, uint64_t *word)
{
    return address && address % 8 == 0 && peek(&p->memory, address + offset, word, sizeof *word);
}

/* The first module says which release it was built with, and how. */
static const struct release *find_release(const struct php *p, uint64_t modules)
{
    struct {
        uint16_t bytes;
        uint32_t number;
        uint8_t is_debug, has_threads;
    } built;
    uint64_t buckets, module;
    _Static_assert(sizeof built == 12, "as in zend_module_entry");
    if (!get(p, modules, TABLE_BUCKETS, &buckets) || !get(p, buckets, 0, &module) || !module ||
        !peek(&p->memory, module, &built, sizeof built) || built.bytes != MODULE_BYTES || built.is_debug ||
        built.has_threads)
        return NULL;
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++)
        if (built.number == releases[i].number)
            return &releases[i];
    return NULL;
}

enum sw_status php_open_at(struct sw_images *images, const struct sw_memory *memory, uint64_t modules, uint64_t execute,
                           struct php **php)
{
    struct php *p = calloc(1, sizeof *p);
    if (!p)
        return SW_E_NO_MEMORY;
    *p = (struct php){ *memory, images, NULL, execute };
    p->release = find_release(p, modules);
    if (!p->release) {
        free(p);
        return SW_E_NOT_FOUND;
    }
    *php = p;
    return SW_OK;
}

enum sw_status php_open(struct sw_images *images, const struct sw_memory *memory, struct php **php)
{
    uint64_t modules, execute;
    if (sw_images_symbol(images, "module_registry", &modules) != SW_OK ||
        sw_images_symbol(images, "execute_ex", &execute) != SW_OK)
        return SW_E_NOT_FOUND;
    return php_open_at(images, memory, modules, execute, php);
}

void php_close(struct php *php)
{
    free(php);
}

/* ---- calls ---- */

/* A call of a function that is written in PHP. */
static bool get_function(const struct php *p, uint64_t call, uint64_t *function)
{
    uint8_t type;
    return get(p, call, CALL_FUNCTION, function) && *function && *function % 8 == 0 &&
           peek(&p->memory, *function, &type, sizeof type) && (type == FUNCTION_USER || type == FUNCTION_EVALUATED);
}

static bool is_of(const struct php *p, uint64_t function, uint64_t instruction)
{
    uint64_t count, begin;
    const uint64_t at = p->release->instructions;
    return get(p, function, at, &count) && get(p, function, at + INSTRUCTIONS, &begin) && instruction >= begin &&
           (instruction - begin) % INSTRUCTION_BYTES == 0 &&
           (instruction - begin) / INSTRUCTION_BYTES < (count & UINT32_MAX) &&
           (count & UINT32_MAX) <= INSTRUCTIONS_MOST;
}

/* Where a call is: of the innermost one in a frame a register says it. 0: it is not known. */
static uint64_t get_instruction(const struct php *p, const struct sw_frame *frame, uint64_t call, uint64_t function)
{
    uint64_t instruction = 0;
    if (call == frame->regs.r[SW_X64_R14] && sw_regs_has(&frame->regs, SW_X64_R15))
        instruction = frame->regs.r[SW_X64_R15];
    if (!is_of(p, function, instruction) &&
        (!get(p, call, CALL_INSTRUCTION, &instruction) || !is_of(p, function, instruction)))
        return 0;
    return instruction;
}

/* From a call to its caller in the same frame. False: that was the last one. */
static bool go_up(const struct php *p, uint64_t *call)
{
    uint64_t flags;
    return get(p, *call, CALL_FLAGS, &flags) && !(flags & TOP) && get(p, *call, CALL_CALLER, call) && *call;
}

/* A number for the calls of a frame. 0: what its registers lead to is no chain of calls. */
static uint64_t hash_calls(const struct php *p, const struct sw_frame *frame, uint64_t call, uint64_t *last)
{
    uint64_t function, hash = 1;
    unsigned i = 0;
    do {
        if (!get_function(p, call, &function))
            return 0;
        hash = call_hash(call_hash(hash, function), get_instruction(p, frame, call, function));
        *last = call;
    } while (++i < CALLS_MOST && go_up(p, &call));
    return hash | 1;
}

/* The interpreter, or code in no file, as a compiler makes it. */
static bool is_running(const struct php *p, const struct sw_frame *frame)
{
    struct sw_image image;
    return call_executes(p->images, p->execute, EXECUTE_MOST, frame->lookup) ||
           sw_images_find(p->images, frame->lookup, &image) != SW_OK;
}

uint64_t php_identify(const struct php *p, const struct sw_frame *frame, struct php_walk *walk, uint64_t *calls)
{
    uint64_t last = 0;
    if (frame->regs.machine != SW_MACHINE_X64 || !sw_regs_has(&frame->regs, SW_X64_R14) || !is_running(p, frame))
        return 0;
    *calls = frame->regs.r[SW_X64_R14];
    const uint64_t hash = hash_calls(p, frame, *calls, &last);
    if (!hash || last == walk->last)
        return 0;
    walk->last = last;
    return hash;
}

/* ---- names ---- */

/* Up to a NUL, as the name of a class that has none goes on with a path. */
static bool get_text(const struct php *p, uint64_t string, char *text, size_t size)
{
    uint64_t length;
    if (!get(p, string, TEXT_LENGTH, &length))
        return false;
    length = length < size - 1 ? length : size - 1;
    if (!length || !peek(&p->memory, string + TEXT_BEGIN, text, length))
        return false;
    text[length] = 0;
    return *text;
}

/* Class::function; what a file says outside of functions is "{main}", as in PHP's own stack traces. */
static void name_function(const struct php *p, uint64_t function, char text[CALL_TEXT_BYTES])
{
    char name[CALL_TEXT_BYTES / 2 - 1], class[CALL_TEXT_BYTES / 2 - 1];
    uint64_t object, scope;
    if (!get(p, function, FUNCTION_NAME, &object))
        return;
    if (!object)
        snprintf(text, CALL_TEXT_BYTES, "{main}");
    else if (!get_text(p, object, name, sizeof name))
        return;
    else if (get(p, function, FUNCTION_CLASS, &scope) && get(p, scope, CLASS_NAME, &object) &&
             get_text(p, object, class, sizeof class))
        snprintf(text, CALL_TEXT_BYTES, "%s::%s", class, name);
    else
        snprintf(text, CALL_TEXT_BYTES, "%s", name);
}

static int get_line(const struct php *p, uint64_t instruction)
{
    int32_t line;
    return instruction && peek(&p->memory, instruction + INSTRUCTION_LINE, &line, sizeof line) && line > 0 ? line : 0;
}

bool php_name(const struct php *p, const struct sw_frame *frame, uint64_t *calls, struct runtime_call *call)
{
    uint64_t function, object;
    *call = (struct runtime_call){ "?", "", 0 };
    if (!get_function(p, *calls, &function))
        return false;
    name_function(p, function, call->function);
    if (!get(p, function, p->release->instructions + FILE_NAME, &object) ||
        !get_text(p, object, call->file, sizeof call->file))
        call->file[0] = 0;
    call->line = get_line(p, get_instruction(p, frame, *calls, function));
    return go_up(p, calls);
}
