/*
 * unwind.exe DLL QUESTIONS ANSWERS: asks RtlVirtualUnwind for the caller of every question (stack.h) about a PE file,
 * which is laid out in memory and not loaded: nothing of it runs, and what it is made for does not matter. Knows the
 * headers only as far as laying out takes.
 */
#include <windows.h>

#include "stack.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *jump[5];
static volatile LONG armed;

static LONG CALLBACK on_fault(EXCEPTION_POINTERS *pointers)
{
    (void)pointers;
    if (!armed)
        return EXCEPTION_CONTINUE_SEARCH;
    __builtin_longjmp(jump, 1);
}

static void *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    _fseeki64(file, 0, SEEK_END);
    *size = (size_t)_ftelli64(file);
    rewind(file);
    void *bytes = malloc(*size + 1);
    if (bytes && fread(bytes, 1, *size, file) != *size)
        bytes = NULL;
    fclose(file);
    return bytes;
}

static uint8_t *lay_out(const uint8_t *file, size_t size, const IMAGE_NT_HEADERS64 *header)
{
    const IMAGE_SECTION_HEADER *section = IMAGE_FIRST_SECTION(header);
    uint8_t *image = VirtualAlloc(NULL, header->OptionalHeader.SizeOfImage, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    if (!image)
        return NULL;
    memcpy(image, file, header->OptionalHeader.SizeOfHeaders);
    for (unsigned i = 0; i < header->FileHeader.NumberOfSections; i++, section++) {
        DWORD count = section->SizeOfRawData;
        if (section->Misc.VirtualSize && section->Misc.VirtualSize < count)
            count = section->Misc.VirtualSize;
        if (section->PointerToRawData + (uint64_t)count <= size)
            memcpy(image + section->VirtualAddress, file + section->PointerToRawData, count);
    }
    return image;
}

static int make_stack(void)
{
    uint64_t *stack = VirtualAlloc((void *)STACK_BEGIN, STACK_SIZE, MEM_COMMIT | MEM_RESERVE, PAGE_READWRITE);
    if (stack != (void *)STACK_BEGIN)
        return 0;
    for (uint64_t at = 0; at < STACK_SIZE; at += 8)
        stack[at / 8] = stack_word(STACK_BEGIN + at);
    return 1;
}

static void set_registers(CONTEXT *context)
{
    DWORD64 *const registers = &context->Rax; /* rax rcx rdx rbx rsp rbp rsi rdi r8-r15 */
    memset(context, 0, sizeof *context);
    context->ContextFlags = CONTEXT_FULL;
    for (unsigned n = 0; n < 16; n++)
        registers[n] = register_value(n);
}

/* All ones where the unwinder itself faulted. */
static void ask(uint8_t *image, const struct question *question, const RUNTIME_FUNCTION *table, uint64_t *answer)
{
    static CONTEXT context;
    RUNTIME_FUNCTION function = table[question->entry];
    const DWORD64 base = (DWORD64)image;
    void *data;
    ULONG64 frame;
    set_registers(&context);
    memset(answer, 0xff, RESULTS * sizeof *answer);
    if (question->is_endless)
        return;
    armed = 1;
    if (__builtin_setjmp(jump) == 0) {
        RtlVirtualUnwind(UNW_FLAG_NHANDLER, base, base + question->rva, &function, &context, &data, &frame, NULL);
        const uint64_t registers[RESULTS] = { context.Rip, context.Rsp, context.Rbx, context.Rbp, context.Rsi,
                                              context.Rdi, context.R12, context.R13, context.R14, context.R15 };
        memcpy(answer, registers, sizeof registers);
    }
    armed = 0;
}

int main(int argc, char **argv)
{
    size_t file_size, questions_size;
    if (argc != 4)
        return 2;
    const uint8_t *file = read_file(argv[1], &file_size);
    const struct question *questions = read_file(argv[2], &questions_size);
    FILE *out = fopen(argv[3], "wb");
    if (!file || !questions || !out || file_size < 1024)
        return 3;
    const IMAGE_NT_HEADERS64 *header = (const void *)(file + ((const IMAGE_DOS_HEADER *)file)->e_lfanew);
    uint8_t *image = lay_out(file, file_size, header);
    if (!image || !make_stack() || !AddVectoredExceptionHandler(1, on_fault))
        return 4;
    const IMAGE_DATA_DIRECTORY *where = &header->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXCEPTION];
    const RUNTIME_FUNCTION *table = (const void *)(image + where->VirtualAddress);
    RtlAddFunctionTable((RUNTIME_FUNCTION *)(uintptr_t)table, where->Size / sizeof *table, (DWORD64)image);
    for (size_t i = 0; i < questions_size / sizeof *questions; i++) {
        uint64_t answer[RESULTS];
        ask(image, &questions[i], table, answer);
        if (fwrite(answer, sizeof answer, 1, out) != 1)
            return 5;
    }
    return fclose(out) ? 6 : 0;
}
