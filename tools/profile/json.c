/* Escapes strings of JSON. Knows RFC 8259 and that a page's scripts end at "</script"; texts were cleaned (text.h). */
#include "json.h"
#include "profile.h"
#include "text.h"

#include <string.h>

void sw_profile_json_string(FILE *file, const char *text)
{
    putc('"', file);
    while (*text) {
        const size_t plain = strcspn(text, "\"\\<>&\n\r\t");
        fwrite(text, 1, plain, file);
        text += plain;
        if (*text)
            fprintf(file, "\\u%04x", (unsigned)(unsigned char)*text++);
    }
    putc('"', file);
}

void sw_profile_json_foreign(FILE *file, const char *text)
{
    char clean[SW_PROFILE_TEXT_BYTES];
    bool cut;
    sw_profile_text_clean(text, clean, sizeof clean, &cut);
    sw_profile_json_string(file, clean);
}

void sw_profile_json_key(FILE *file, const char *name)
{
    sw_profile_json_string(file, name);
    putc(':', file);
}
