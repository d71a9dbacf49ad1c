/*
 * Windows ARM64 unwind data → rule: .xdata records and packed words, epilogs, fragments. Reads no instructions.
 * Refuses to know handlers, and what a code does (undo_arm64.c). Follows "ARM64 exception handling" (Microsoft Learn)
 * as checked in win-arm64-unwind.md sections 1-4 and 6.
 */
#include "pe/unwind_arm64.h"

/* ---- records ---- */

static enum sw_status word_at(const struct sw_pe_reader *reader, uint32_t rva, uint32_t *word)
{
    uint8_t bytes[4];
    if (reader->get(reader->arg, rva, bytes, sizeof bytes) != sizeof bytes)
        return SW_E_TRUNCATED;
    *word = sw_load32(bytes);
    return SW_OK;
}

/* The first word of a record; with a second word, its wider fields. */
struct head {
    uint32_t length;
    bool has_handler;
    bool has_tail;
    uint32_t epilogs; /* how many; with has_tail: the index of the epilog's codes */
    uint32_t code_words;
    uint32_t size;
};

static enum sw_status read_head(const struct sw_pe_reader *reader, uint32_t rva, struct head *head)
{
    uint32_t word, more = 0;
    enum sw_status status = word_at(reader, rva, &word);
    if (status)
        return status;
    if (word >> 18 & 3)
        return SW_E_UNSUPPORTED;
    const bool is_long = word >> 22 == 0;
    if (is_long && (status = word_at(reader, rva + 4, &more)))
        return status;
    head->length = word & 0x3ffff;
    head->has_handler = word >> 20 & 1;
    head->has_tail = word >> 21 & 1;
    head->epilogs = is_long ? more & 0xffff : word >> 22 & 31;
    head->code_words = is_long ? more >> 16 & 0xff : word >> 27;
    head->size = is_long ? 8 : 4;
    return SW_OK;
}

static enum sw_status read_record(uint32_t rva, struct sw_pe_arm64_info *info)
{
    struct head head;
    const enum sw_status status = read_head(info->codes.reader, rva, &head);
    if (status)
        return status;
    info->length = head.length;
    info->has_tail = head.has_tail;
    info->tail = head.epilogs;
    info->scopes = rva + head.size;
    info->scope_count = head.has_tail ? 0 : head.epilogs;
    info->codes.rva = info->scopes + 4 * info->scope_count;
    info->codes.size = 4 * head.code_words;
    info->handler = head.has_handler ? info->codes.rva + info->codes.size : 0;
    return SW_OK;
}

enum { FLAGS = 3, IN_RECORD = 0, RESERVED = 3 };

static uint32_t packed_length(uint32_t word)
{
    return word >> 2 & 0x7ff;
}

static void start_info(const struct sw_pe_reader *reader, struct sw_pe_arm64_info *info)
{
    info->length = info->tail = info->scopes = info->scope_count = info->handler = 0;
    info->is_fragment = info->has_tail = false;
    info->codes.reader = reader;
    info->codes.rva = info->codes.size = info->codes.at = info->codes.filled = 0;
}

static enum sw_status load_info(const struct sw_pe_reader *reader, uint32_t word, struct sw_pe_arm64_info *info)
{
    start_info(reader, info);
    if ((word & FLAGS) == RESERVED)
        return SW_E_UNSUPPORTED;
    if ((word & FLAGS) == IN_RECORD)
        return read_record(word, info);
    info->length = packed_length(word);
    return sw_pe_arm64_expand(word, info);
}

/* ---- the position in the function ---- */

/*
 * The scope that may contain an instruction. The list ascends and epilogs do not overlap, so only the last one that
 * starts at or in front of the instruction can contain it. (Where they do overlap, as some of clang 14's do, the later
 * one is right.) start: where it starts; UINT32_MAX: there is no such scope.
 */
static enum sw_status find_scope(const struct sw_pe_arm64_info *info, uint32_t at, uint32_t *start, uint32_t *index)
{
    uint32_t low = 0, high = info->scope_count, word;
    *start = UINT32_MAX;
    *index = 0;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        const enum sw_status status = word_at(info->codes.reader, info->scopes + 4 * middle, &word);
        if (status)
            return status;
        if ((word & 0x3ffff) > at) {
            high = middle;
            continue;
        }
        *start = word & 0x3ffff;
        *index = word >> 22;
        low = middle + 1;
    }
    return SW_OK;
}

/* The epilog that contains instruction `at`: its first instruction and its first code. */
static enum sw_status find_epilog(struct sw_pe_arm64_info *info, uint32_t at, bool *inside, uint32_t *start,
                                  uint32_t *index)
{
    uint32_t size;
    enum sw_status status = SW_OK;
    *inside = false;
    *index = info->tail;
    if (!info->has_tail)
        status = find_scope(info, at, start, index);
    if (status || (!info->has_tail && *start == UINT32_MAX))
        return status;
    status = sw_pe_arm64_scope_size(&info->codes, *index, true, &size);
    if (info->has_tail)
        *start = size < info->length ? info->length - size : 0;
    *inside = status == SW_OK && at >= *start && at - *start < size;
    return status;
}

/*
 * The first code to undo at instruction `at`. In an epilog: what it has left to do. In the prolog: the codes of
 * instructions that have not run yet come first and are skipped. Else: all codes.
 */
static enum sw_status find_code(struct sw_pe_arm64_info *info, uint32_t at, uint32_t *index)
{
    uint32_t size, epilog, start = 0;
    bool inside;
    *index = 0;
    if (info->is_fragment)
        return SW_OK;
    enum sw_status status = sw_pe_arm64_scope_size(&info->codes, 0, false, &size);
    if (status)
        return status;
    if (at < size)
        return sw_pe_arm64_skip(&info->codes, size - at, index);
    status = find_epilog(info, at, &inside, &start, &epilog);
    if (status || !inside)
        return status;
    *index = epilog;
    return sw_pe_arm64_skip(&info->codes, at - start, index);
}

/* ---- the functions of pe.h ---- */

enum sw_status sw_pe_arm64_entry(const struct sw_pe_reader *reader, const uint8_t *bytes,
                                 struct sw_pe_function *function)
{
    struct head head;
    const uint32_t word = sw_load32(bytes + 4);
    *function = (struct sw_pe_function){ sw_load32(bytes), 0, word };
    if (function->begin % 4)
        return SW_E_MALFORMED;
    if ((word & FLAGS) == RESERVED)
        return SW_E_UNSUPPORTED;
    head.length = packed_length(word);
    const enum sw_status status = (word & FLAGS) == IN_RECORD ? read_head(reader, word, &head) : SW_OK;
    if (status)
        return status;
    if (4 * head.length > UINT32_MAX - function->begin)
        return SW_E_MALFORMED;
    function->end = function->begin + 4 * head.length;
    return SW_OK;
}

enum sw_status sw_pe_arm64_handler(const struct sw_pe_reader *reader, const struct sw_pe_function *function,
                                   uint32_t *handler)
{
    struct sw_pe_arm64_info info;
    const enum sw_status status = load_info(reader, function->unwind, &info);
    if (status)
        return status;
    return info.handler ? word_at(reader, info.handler, handler) : SW_E_NOT_FOUND;
}

enum sw_status sw_pe_arm64_rule(const struct sw_pe_reader *reader, const struct sw_pe_function *function, uint32_t rva,
                                struct sw_rule *rule)
{
    struct sw_pe_arm64_info info;
    uint32_t index;
    if (rva < function->begin || rva >= function->end)
        return SW_E_NO_RULE;
    sw_rule_init(rule, SW_MACHINE_ARM64, SW_SOURCE_UNWIND_CODES, SW_TRUST_EXACT);
    enum sw_status status = load_info(reader, function->unwind, &info);
    if (status == SW_OK)
        status = find_code(&info, (rva - function->begin) / 4, &index);
    return status == SW_OK ? sw_pe_arm64_undo(&info.codes, index, rule) : status;
}
