/*
 * Which runtime a mapped file is: one table of what each exports. Knows ELF's exports (lib/clr/names) and the note of
 * Go's linker, which exports nothing; refuses to know the names of files, which say nothing of a program with its
 * runtime inside.
 */
#include <snapwalk/runtime_kind.h>

#include "base/memory.h"
#include "base/pointer.h"
#include "clr/names/names.h"

#include <string.h>

/* ORDER sw_runtime_kind. CoreCLR is told from mono's libcoreclr.so, and from NativeAOT, by what only it exports. */
static const struct {
    const char *name, *symbol;
} rows[] = {
    [SW_RUNTIME_NATIVE] = { "native", NULL },
    [SW_RUNTIME_CLR] = { "CLR", "g_dacTable" },
    [SW_RUNTIME_HOTSPOT] = { "JVM", "gHotSpotVMStructs" },
    [SW_RUNTIME_MONO] = { "mono", "mono_get_root_domain" },
    [SW_RUNTIME_V8] = { "V8", "_ZN2v82V810GetVersionEv" },
    [SW_RUNTIME_PYTHON] = { "Python", "_PyRuntime" },
    [SW_RUNTIME_NATIVE_AOT] = { "NativeAOT", "DotNetRuntimeDebugHeader" },
    [SW_RUNTIME_GO] = { "Go", NULL },
    [SW_RUNTIME_RUBY] = { "Ruby", "ruby_api_version" },
    [SW_RUNTIME_PHP] = { "PHP", "zend_execute_ex" },
};
_Static_assert(sizeof rows / sizeof rows[0] == SW_RUNTIME_KINDS, "ORDER sw_runtime_kind");

const char *sw_runtime_kind_name(enum sw_runtime_kind kind)
{
    return (unsigned)kind < SW_RUNTIME_KINDS ? rows[kind].name : "?";
}

/* ---- Go ---- */

enum { HEADER_BYTES = 64, ROW_BYTES = 56, ROWS_MAX = 32, NOTE = 4, NOTE_BYTES = 16, NOTES_MAX = 16, GO_BUILD_ID = 4 };

static uint64_t aligned(uint32_t size)
{
    return ((uint64_t)size + 3) & ~UINT64_C(3);
}

/*
 * Notes: name size, value size, type, name, value. Go's linker makes a segment for its note alone; where another linker
 * made the program, it is among others.
 */
static bool has_note_of_go(const struct sw_memory *memory, uint64_t address, uint64_t size)
{
    uint8_t note[NOTE_BYTES];
    for (unsigned i = 0; i < NOTES_MAX && size >= sizeof note; i++) {
        if (sw_memory_read(memory, address, note, sizeof note) != sizeof note)
            return false;
        if (sw_load32(note) == 4 && sw_load32(note + 8) == GO_BUILD_ID && memcmp(note + 12, "Go\0", 4) == 0)
            return true;
        const uint64_t taken = 12 + aligned(sw_load32(note)) + aligned(sw_load32(note + 4));
        size = taken < size ? size - taken : 0;
        address += taken;
    }
    return false;
}

/* By offsets: the beginning of the file is mapped at `base`, and so are the notes. */
static bool is_go(const struct sw_memory *memory, uint64_t base)
{
    uint8_t head[HEADER_BYTES], row[ROW_BYTES];
    if (sw_memory_read(memory, base, head, sizeof head) != sizeof head || sw_load16(head + 54) != sizeof row)
        return false;
    const unsigned count = sw_load16(head + 56);
    for (unsigned i = 0; i < count && i < ROWS_MAX; i++) {
        const uint64_t from = base + sw_load64(head + 32) + i * sizeof row;
        if (sw_memory_read(memory, from, row, sizeof row) != sizeof row)
            return false;
        if (sw_load32(row) == NOTE && has_note_of_go(memory, base + sw_load64(row + 8), sw_load64(row + 32)))
            return true;
    }
    return false;
}

/* ---- any ---- */

static enum sw_runtime_kind kind_of_exports(const struct sw_memory *memory, uint64_t base)
{
    struct sw_names_exports exports;
    uint64_t address;
    if (sw_names_exports_open(memory, base, &exports) != SW_OK)
        return SW_RUNTIME_NATIVE;
    for (unsigned kind = 0; kind < SW_RUNTIME_KINDS; kind++)
        if (rows[kind].symbol && sw_names_exports_find(&exports, rows[kind].symbol, &address) == SW_OK)
            return (enum sw_runtime_kind)kind;
    return SW_RUNTIME_NATIVE;
}

enum sw_status sw_runtime_at(const struct sw_memory *memory, uint64_t address, enum sw_runtime_kind *kind)
{
    uint8_t head[HEADER_BYTES];
    if (!memory || !kind)
        return SW_E_ARGUMENT;
    if (sw_memory_read(memory, address, head, sizeof head) != sizeof head || memcmp(head, "\177ELF\2\1", 6) != 0)
        return SW_E_MALFORMED;
    *kind = kind_of_exports(memory, address);
    if (*kind == SW_RUNTIME_NATIVE && is_go(memory, address))
        *kind = SW_RUNTIME_GO;
    return SW_OK;
}
