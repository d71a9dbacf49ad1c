/*
 * Lines of JSON. Knows nothing of what they say. No allocation, no lock, no stdio: they are written in signal handlers
 * and while threads stand. Source: RFC 8259 sections 4, 7; RFC 3629 section 4 (UTF-8).
 */
#include "json.h"

#include <string.h>

/* What every line keeps free for its end. */
static const char end_cut[] = "\",\"cut\":true}";
enum { ROOM = SW_JSON_LINE - sizeof end_cut };

static bool put(struct sw_json *line, size_t limit, const char *bytes, size_t count)
{
    if (line->length + count > limit) {
        line->is_cut = true;
        return false;
    }
    memcpy(line->text + line->length, bytes, count);
    line->length += count;
    return true;
}

static bool put_key(struct sw_json *line, const char *key)
{
    const size_t before = line->length;
    const bool fits =
        put(line, ROOM, before ? ",\"" : "{\"", 2) && put(line, ROOM, key, strlen(key)) && put(line, ROOM, "\":", 2);
    if (!fits)
        line->length = before;
    return fits;
}

static bool continues(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Rows of RFC 3629's table: first byte, second byte, length. The bytes behind the second only continue. */
size_t sw_utf8_length(const char *text)
{
    static const struct {
        unsigned char first, last, low, high, length;
    } rows[] = {
        { 0xc2, 0xdf, 0x80, 0xbf, 2 }, { 0xe0, 0xe0, 0xa0, 0xbf, 3 }, { 0xe1, 0xec, 0x80, 0xbf, 3 },
        { 0xed, 0xed, 0x80, 0x9f, 3 }, { 0xee, 0xef, 0x80, 0xbf, 3 }, { 0xf0, 0xf0, 0x90, 0xbf, 4 },
        { 0xf1, 0xf3, 0x80, 0xbf, 4 }, { 0xf4, 0xf4, 0x80, 0x8f, 4 },
    };
    const unsigned char *bytes = (const unsigned char *)text;
    if (bytes[0] < 0x80)
        return bytes[0] != 0;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (bytes[0] < rows[i].first || bytes[0] > rows[i].last)
            continue;
        if (bytes[1] < rows[i].low || bytes[1] > rows[i].high)
            return 0;
        for (size_t at = 2; at < rows[i].length; at++)
            if (!continues(bytes[at]))
                return 0;
        return rows[i].length;
    }
    return 0;
}

/* The character at *text as JSON has it; moves *text behind it. A byte that begins none is U+FFFD. */
static size_t escape(const char **text, char to[8])
{
    static const char digits[] = "0123456789abcdef";
    static const char replacement[] = { '\\', 'u', 'f', 'f', 'f', 'd' };
    static const char control[] = { '\\', 'u', '0', '0' };
    const size_t length = sw_utf8_length(*text);
    const unsigned char byte = (unsigned char)**text;
    if (length == 0) {
        (*text)++;
        memcpy(to, replacement, sizeof replacement);
        return sizeof replacement;
    }
    if (byte == '"' || byte == '\\') {
        to[0] = '\\', to[1] = *(*text)++;
        return 2;
    }
    if (byte < 0x20 || byte == 0x7f) {
        memcpy(to, control, sizeof control);
        to[4] = digits[byte >> 4], to[5] = digits[byte & 15];
        (*text)++;
        return 6;
    }
    memcpy(to, *text, length);
    *text += length;
    return length;
}

void sw_json_text(struct sw_json *line, const char *key, const char *text)
{
    const size_t before = line->length;
    if (!put_key(line, key))
        return;
    if (!put(line, ROOM, "\"", 1)) {
        line->length = before;
        return;
    }
    const size_t wanted = line->length + SW_JSON_TEXT, limit = wanted < ROOM ? wanted : ROOM;
    for (const char *at = text ? text : ""; *at;) {
        char one[8];
        const size_t count = escape(&at, one);
        if (!put(line, limit, one, count)) {
            (void)put(line, ROOM, "...", 3);
            break;
        }
    }
    line->text[line->length++] = '"';
}

void sw_json_number(struct sw_json *line, const char *key, uint64_t number)
{
    char digits[20];
    size_t at = sizeof digits;
    do
        digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    const size_t before = line->length;
    if (put_key(line, key) && !put(line, ROOM, digits + at, sizeof digits - at))
        line->length = before;
}

const char *sw_json_end(struct sw_json *line)
{
    const char *end = !line->is_cut ? "}" : line->length ? end_cut + 1 : "{\"cut\":true}";
    if (line->length == 0 && !line->is_cut)
        end = "{}";
    memcpy(line->text + line->length, end, strlen(end) + 1);
    return line->text;
}
