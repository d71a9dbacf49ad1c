/*
 * What the JIT says of its code: pairs of a native offset and an offset in IL, packed. Two ways: numbers of nibbles (8,
 * 9), fields of bits (10). Knows bytes; refuses to know whose they are. Source: clr-names.md section 10;
 * dotnet/runtime docs/design/datacontracts/DebugInfo.md.
 */
#include "clr/names/names.h"

enum { NIBBLES_MAX = 11, INSTRUMENTED = -1, SIZE_MAX_BYTES = 1 << 24 };

/* Kinds of a place: bits of its source. Calls are told apart from statements, and are not what a line is made from. */
enum { CALL_PACKED = 1, CALL_OLD = 0x10, PACKED_KIND_BITS = 2 };

/* Three IL offsets stand for no instruction: epilog, prolog, none. As numbers they wrap around. */
enum { EPILOG = 0, SPECIAL = 3 };
static const uint32_t bias = UINT32_C(0xfffffffd);

struct nibbles {
    const struct sw_names *names;
    uint64_t at; /* in nibbles, from address 0 */
    bool bad;
};

static uint32_t number(struct nibbles *n)
{
    uint32_t value = 0;
    for (unsigned i = 0; i < NIBBLES_MAX && !n->bad; i++) {
        uint64_t byte = 0;
        n->bad = !sw_names_u(n->names, n->at / 2, 1, &byte);
        const uint32_t nibble = (uint32_t)(n->at++ % 2 ? byte >> 4 : byte & 15);
        value = value << 3 | (nibble & 7);
        if (!(nibble & 8))
            return n->bad ? 0 : value;
    }
    n->bad = true;
    return 0;
}

/* The next whole byte. */
static uint64_t byte_behind(const struct nibbles *n)
{
    return (n->at + 1) / 2;
}

/* A search for the last statement at or in front of a native offset. */
struct search {
    uint32_t wanted, native, il;
    bool found;
};

/*
 * The epilog is of what is in front of it. The prolog, and what the JIT made of nothing that was written, are of the
 * method's begin, as in the runtime's own stack traces. Returns false once nothing better can come: they are in order.
 */
static bool look(struct search *search, uint32_t further, uint32_t il, bool call)
{
    search->native += further;
    if (search->native > search->wanted)
        return false;
    const uint32_t special = il - bias;
    if (call || special == EPILOG)
        return true;
    search->il = special < SPECIAL ? 0 : il;
    search->found = true;
    return true;
}

static bool search_old(struct nibbles *n, struct search *search, struct sw_names *names)
{
    for (uint32_t count = number(n); count && !n->bad && names->steps; count--, names->steps--) {
        const uint32_t further = number(n), il = number(n) + bias, kind = number(n);
        if (n->bad || !look(search, further, il, kind & CALL_OLD))
            break;
    }
    return search->found && !n->bad;
}

/* `bits` bits at a bit's number; at most 64 - 7 of them. */
static bool read_bits(const struct sw_names *names, uint64_t address, uint64_t bit, unsigned bits, uint64_t *value)
{
    const unsigned skip = (unsigned)(bit % 8), bytes = (skip + bits + 7) / 8;
    if (bytes > 8 || !sw_names_u(names, address + bit / 8, bytes, value))
        return false;
    *value = *value >> skip & ((UINT64_C(1) << bits) - 1);
    return true;
}

static bool search_packed(struct nibbles *n, struct search *search, struct sw_names *names)
{
    uint64_t entry, bit = 0;
    uint32_t count = number(n);
    const uint32_t native_bits = number(n) + 1, il_bits = number(n) + 1,
                   bits = PACKED_KIND_BITS + native_bits + il_bits;
    const uint64_t at = byte_behind(n);
    if (n->bad || native_bits > 32 || il_bits > 32 || bits > 57)
        return false;
    for (; count && names->steps; count--, names->steps--, bit += bits) {
        if (!read_bits(names, at, bit, bits, &entry))
            return false;
        const uint32_t further = (uint32_t)(entry >> PACKED_KIND_BITS & ((UINT64_C(1) << native_bits) - 1)),
                       il = (uint32_t)(entry >> (PACKED_KIND_BITS + native_bits)) + bias;
        if (!look(search, further, il, entry & CALL_PACKED))
            break;
    }
    return search->found;
}

bool sw_names_bounds_find(struct sw_names *names, uint64_t info, bool packed, uint32_t native, uint32_t *il)
{
    struct nibbles n = { names, 2 * info, false };
    struct search search = { .wanted = native };
    uint32_t size = number(&n);
    if (packed && size == (uint32_t)INSTRUMENTED) {
        size = number(&n);
        (void)number(&n); /* of those without the instrumentation */
    }
    (void)number(&n); /* of the variables */
    if (n.bad || !size || size > SIZE_MAX_BYTES)
        return false;
    n.at = 2 * byte_behind(&n);
    if (!(packed ? search_packed : search_old)(&n, &search, names))
        return false;
    *il = search.il;
    return true;
}
