/* x64 instructions in words, by Zydis' formatter. */
#include "findings.h"

#include <Zydis/Zydis.h>

size_t instruction_text(const uint8_t *bytes, size_t count, uint64_t pc, char *text, size_t size)
{
    ZydisDisassembledInstruction insn;
    if (!ZYAN_SUCCESS(ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, pc, bytes, count, &insn)))
        return 0;
    (void)snprintf(text, size, "%s", insn.text);
    return insn.info.length;
}
