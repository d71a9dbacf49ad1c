/* A64 instructions in words, by Capstone; words that it does not know as such. */
#include "findings.h"

#include <capstone/capstone.h>
#include <string.h>

size_t instruction_text(const uint8_t *bytes, size_t count, uint64_t pc, char *text, size_t size)
{
    cs_insn *insn;
    csh handle;
    uint32_t word;
    if (count < sizeof word || cs_open(CS_ARCH_ARM64, CS_MODE_ARM, &handle) != CS_ERR_OK)
        return 0;
    memcpy(&word, bytes, sizeof word);
    const size_t found = cs_disasm(handle, bytes, sizeof word, pc, 1, &insn);
    if (found)
        (void)snprintf(text, size, "%08x %s %s", word, insn->mnemonic, insn->op_str);
    else
        (void)snprintf(text, size, "%08x .word", word);
    if (found)
        cs_free(insn, found);
    (void)cs_close(&handle);
    return sizeof word;
}
