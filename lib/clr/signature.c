/*
 * Signatures of ReadyToRun instance entry points: their length, and the method they name. Knows the grammar; refuses to
 * know types, which are only skipped. Follows ECMA-335 II.23.2 and the additions of the .NET runtime's ReadyToRun
 * format document (names of readytorun.h).
 */
#include "clr/format.h"

enum { DEPTH_MAX = 32 };

enum {
    HAS_INSTANTIATION = 0x04,
    IS_SLOT = 0x08,
    IS_MEMBER_REF = 0x10,
    HAS_CONSTRAINT = 0x20,
    HAS_OWNER = 0x40,
    HAS_MODULE = 0x80
};

/* What follows an element type. */
enum shape {
    BAD = 0,
    NOTHING,     /* a type by itself */
    TYPE,        /* one type */
    NUMBER,      /* one number: token, or position of a type parameter */
    NUMBER_TYPE, /* a number, then a type: modifiers, a type of another module */
    ARRAY,       /* type, rank, sizes, lower bounds */
    INSTANCE,    /* generic type, count, that many types */
    FUNCTION     /* a method signature */
};

static const uint8_t shapes[0x46] = {
    [0x01] = NOTHING,     /* VOID */
    [0x02] = NOTHING,     /* BOOLEAN */
    [0x03] = NOTHING,     /* CHAR */
    [0x04] = NOTHING,     /* I1 */
    [0x05] = NOTHING,     /* U1 */
    [0x06] = NOTHING,     /* I2 */
    [0x07] = NOTHING,     /* U2 */
    [0x08] = NOTHING,     /* I4 */
    [0x09] = NOTHING,     /* U4 */
    [0x0a] = NOTHING,     /* I8 */
    [0x0b] = NOTHING,     /* U8 */
    [0x0c] = NOTHING,     /* R4 */
    [0x0d] = NOTHING,     /* R8 */
    [0x0e] = NOTHING,     /* STRING */
    [0x0f] = TYPE,        /* PTR */
    [0x10] = TYPE,        /* BYREF */
    [0x11] = NUMBER,      /* VALUETYPE */
    [0x12] = NUMBER,      /* CLASS */
    [0x13] = NUMBER,      /* VAR */
    [0x14] = ARRAY,       /* ARRAY */
    [0x15] = INSTANCE,    /* GENERICINST */
    [0x16] = NOTHING,     /* TYPEDBYREF */
    [0x18] = NOTHING,     /* I */
    [0x19] = NOTHING,     /* U */
    [0x1b] = FUNCTION,    /* FNPTR */
    [0x1c] = NOTHING,     /* OBJECT */
    [0x1d] = TYPE,        /* SZARRAY */
    [0x1e] = NUMBER,      /* MVAR */
    [0x1f] = NUMBER_TYPE, /* CMOD_REQD */
    [0x20] = NUMBER_TYPE, /* CMOD_OPT */
    [0x3b] = NUMBER,      /* VAR_ZAPSIG */
    [0x3d] = TYPE,        /* NATIVE_VALUETYPE_ZAPSIG */
    [0x3e] = NOTHING,     /* CANON_ZAPSIG */
    [0x3f] = NUMBER_TYPE, /* MODULE_ZAPSIG */
    [0x41] = TYPE,        /* SENTINEL */
    [0x45] = TYPE,        /* PINNED */
};

/* The top bits give the size: 0, 10, 110 for 1, 2, 4 bytes, high byte first. */
uint32_t sw_clr_compressed(struct sw_cursor *c)
{
    if (!c->broken && c->at < c->end && *c->at < 0x80) { /* nearly all of them */
        c->address++;
        return *c->at++;
    }
    const uint32_t b0 = (uint32_t)sw_cursor_u(c, 1);
    if (b0 < 0x80)
        return b0;
    const uint32_t b1 = (uint32_t)sw_cursor_u(c, 1);
    if (b0 < 0xc0)
        return (b0 & 0x3f) << 8 | b1;
    const uint32_t b2 = (uint32_t)sw_cursor_u(c, 1);
    const uint32_t b3 = (uint32_t)sw_cursor_u(c, 1);
    if (b0 >= 0xe0)
        c->broken = true;
    return (b0 & 0x1f) << 24 | b1 << 16 | b2 << 8 | b3;
}

static void skip_type(struct sw_cursor *c, unsigned depth);

/* Each turn takes at least a byte, so a broken cursor ends the loop. */
static void skip_types(struct sw_cursor *c, uint32_t count, unsigned depth)
{
    while (count-- && sw_cursor_ok(c))
        skip_type(c, depth);
}

static void skip_numbers(struct sw_cursor *c)
{
    for (uint32_t count = sw_clr_compressed(c); count && sw_cursor_ok(c); count--)
        sw_clr_compressed(c);
}

static void skip_array(struct sw_cursor *c, unsigned depth)
{
    skip_type(c, depth);
    sw_clr_compressed(c);
    skip_numbers(c);
    skip_numbers(c);
}

static void skip_function(struct sw_cursor *c, unsigned depth)
{
    const uint64_t convention = sw_cursor_u(c, 1);
    if (convention & 0x10)
        sw_clr_compressed(c);
    const uint32_t parameters = sw_clr_compressed(c);
    skip_type(c, depth);
    skip_types(c, parameters, depth);
}

static void skip_type(struct sw_cursor *c, unsigned depth)
{
    uint8_t shape;
    do { /* what is in front of a type is as deep as one around it */
        const uint64_t element = sw_cursor_u(c, 1);
        if (depth >= DEPTH_MAX || element >= sizeof shapes)
            c->broken = true;
        if (!sw_cursor_ok(c))
            return;
        shape = shapes[element];
        if (shape == NUMBER || shape == NUMBER_TYPE)
            sw_clr_compressed(c);
        depth += shape == TYPE || shape == NUMBER_TYPE;
    } while (shape == TYPE || shape == NUMBER_TYPE);
    if (shape == INSTANCE)
        skip_type(c, depth + 1);
    if (shape == INSTANCE)
        skip_types(c, sw_clr_compressed(c), depth + 1);
    if (shape == ARRAY)
        skip_array(c, depth + 1);
    if (shape == FUNCTION)
        skip_function(c, depth + 1);
    if (shape == BAD)
        c->broken = true;
}

static uint32_t token_of(uint32_t flags, uint32_t row)
{
    if ((flags & (IS_SLOT | HAS_MODULE)) || row > 0xffffff)
        return 0;
    return (flags & IS_MEMBER_REF ? UINT32_C(0x0a000000) : UINT32_C(0x06000000)) | row;
}

enum sw_status sw_clr_method_signature(struct sw_bytes bytes, uint64_t *at, uint32_t *token)
{
    if (*at > bytes.size)
        return SW_E_MALFORMED;
    const uint64_t rest = bytes.size - *at;
    struct sw_cursor c =
        sw_cursor_over(sw_bytes_part(bytes, *at, rest < SW_CLR_SIGNATURE_MAX ? rest : SW_CLR_SIGNATURE_MAX));
    const uint32_t flags = sw_clr_compressed(&c);
    if (flags & HAS_MODULE)
        sw_clr_compressed(&c);
    if (flags & HAS_OWNER)
        skip_type(&c, 0);
    *token = token_of(flags, sw_clr_compressed(&c));
    if (flags & HAS_INSTANTIATION)
        skip_types(&c, sw_clr_compressed(&c), 0);
    if (flags & HAS_CONSTRAINT)
        skip_type(&c, 0);
    if (!sw_cursor_ok(&c))
        return SW_E_MALFORMED;
    *at = c.address - bytes.address;
    return SW_OK;
}
