/*
 * A file's tables as one list of entries, and its code as bytes at addresses. Knows where ELF and PE keep them; refuses
 * to know instructions. Addresses are those of the file: link-time addresses (ELF), RVAs (PE).
 */
#include "audit/audit.h"

/* ---- ELF ---- */

static enum sw_status make_index(struct sw_audit_file *file)
{
    const size_t count = sw_cfi_index(&file->cfi, NULL, 0);
    if (count == 0)
        return SW_E_NOT_FOUND;
    if (count > SIZE_MAX / sizeof *file->index)
        return SW_E_NO_MEMORY;
    file->index = file->alloc.get(file->alloc.arg, count * sizeof *file->index);
    if (!file->index)
        return SW_E_NO_MEMORY;
    file->entry_count = sw_cfi_index(&file->cfi, file->index, count);
    file->cfi.index = file->index;
    file->cfi.index_count = file->entry_count;
    return SW_OK;
}

static enum sw_status open_elf(struct sw_audit_file *file)
{
    enum sw_status status = sw_elf_open_bytes(file->bytes, &file->elf);
    if (status)
        return status;
    file->machine = file->cfi.machine = sw_elf_machine(file->elf);
    if (file->machine == SW_MACHINE_NONE)
        return SW_E_UNSUPPORTED;
    status = sw_elf_section(file->elf, ".eh_frame", &file->cfi.frame);
    if (status == SW_OK)
        status = make_index(file);
    if (status == SW_OK || status == SW_E_NO_MEMORY)
        return status;
    status = sw_elf_section(file->elf, ".debug_frame", &file->cfi.frame);
    file->cfi.is_debug_frame = true;
    return status == SW_OK ? make_index(file) : status;
}

static const uint8_t *fetch_elf(const struct sw_audit_file *file, uint64_t address, size_t *size)
{
    struct sw_elf_segment s;
    for (size_t i = 0; sw_elf_segment(file->elf, i, &s); i++) {
        if (address < s.address || address - s.address >= s.file_size)
            continue;
        const uint64_t at = address - s.address;
        const struct sw_bytes bytes = sw_bytes_part(file->bytes, s.offset, s.file_size);
        *size = (size_t)(s.file_size - at);
        return bytes.bytes ? bytes.bytes + at : NULL;
    }
    return NULL;
}

/* ---- PE ---- */

static enum sw_status open_pe(struct sw_audit_file *file)
{
    const enum sw_status status = sw_pe_open(file->bytes, false, &file->pe);
    if (status)
        return status;
    file->machine = file->pe.machine;
    file->table = sw_pe_at(&file->pe, file->pe.pdata_rva, file->pe.pdata_size);
    file->entry_count = file->table.size / sw_pe_entry_size(file->pe.machine);
    file->has_clr = sw_clr_image_open(&file->pe, &file->alloc, &file->clr) == SW_OK;
    return file->entry_count ? SW_OK : SW_E_NOT_FOUND;
}

/* An entry whose end is not known is empty: there is nothing to compare. */
static struct sw_pe_function pe_entry(const struct sw_audit_file *file, size_t n)
{
    const struct sw_pe_reader reader = sw_pe_reader_of(&file->pe);
    const uint8_t *at = file->table.bytes + sw_pe_entry_size(file->pe.machine) * n;
    struct sw_pe_function function;
    if (sw_pe_entry(file->pe.machine, &reader, at, &function))
        function.end = function.begin;
    return function;
}

/* Windows code preserves more registers than are compared; SysV's set is a subset. */
static enum sw_status pe_rule(struct sw_audit_file *file, size_t n, uint64_t address, struct sw_rule *rule)
{
    const struct sw_pe_reader reader = sw_pe_reader_of(&file->pe);
    const struct sw_pe_function function = pe_entry(file, n);
    return sw_pe_rule(file->pe.machine, file->pe.linux_code, &reader, &function, (uint32_t)address, true, rule);
}

/* ---- either ---- */

enum sw_status sw_audit_open(struct sw_audit_file *file)
{
    const uint8_t *bytes = file->bytes.bytes;
    if (file->bytes.size < 4)
        return SW_E_TRUNCATED;
    return bytes[0] == 'M' && bytes[1] == 'Z' ? open_pe(file) : open_elf(file);
}

void sw_audit_close(struct sw_audit_file *file)
{
    if (file->index)
        file->alloc.put(file->alloc.arg, file->index, file->entry_count * sizeof *file->index);
    if (file->has_clr)
        sw_clr_image_close(&file->clr);
    sw_elf_close(file->elf);
}

bool sw_audit_is_called(const struct sw_audit_file *file, size_t n)
{
    size_t low = 0, high = file->clr.method_count;
    if (!file->has_clr)
        return true;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (file->clr.methods[middle].function < n)
            low = middle + 1;
        else
            high = middle;
    }
    return low < file->clr.method_count && file->clr.methods[low].function == n;
}

void sw_audit_entry(struct sw_audit_file *file, size_t n, struct sw_audit_function *function)
{
    function->name = "";
    if (!file->elf) {
        const struct sw_pe_function entry = pe_entry(file, n);
        function->begin = entry.begin;
        function->end = entry.end;
        if (file->has_clr && sw_clr_image_name(&file->clr, entry.begin, file->name, sizeof file->name) == SW_OK)
            function->name = file->name;
        return;
    }
    function->begin = file->index[n].begin;
    function->end = file->index[n].end;
    if (sw_elf_symbol(file->elf, function->begin, &function->name, NULL, NULL) != SW_OK)
        function->name = "";
}

const uint8_t *sw_audit_fetch(void *arg, uint64_t address, size_t *size)
{
    const struct sw_audit_file *file = arg;
    if (file->elf)
        return fetch_elf(file, address, size);
    if (address > UINT32_MAX)
        return NULL;
    const struct sw_bytes rest = sw_pe_rest(&file->pe, (uint32_t)address);
    *size = (size_t)rest.size;
    return rest.size ? rest.bytes : NULL;
}

enum sw_status sw_audit_table_rule(struct sw_audit_file *file, size_t n, uint64_t address, struct sw_rule *rule)
{
    if (!file->elf)
        return pe_rule(file, n, address, rule);
    return sw_cfi_rule(&file->cfi, address, &file->cfi_work, rule, NULL);
}
