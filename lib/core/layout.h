/*
 * Numbers of notes and offsets in them: what notes.c reads and write.c writes. Source: Linux include/uapi/linux/elf.h
 * (types), include/linux/elfcore.h, fs/binfmt_elf.c (fill_files_note); contexts.md section 6 (offsets).
 */
#ifndef SW_CORE_LAYOUT_H
#define SW_CORE_LAYOUT_H

enum sw_note_type {
    SW_NOTE_RANGE = 1, /* of SW_NOTE_OWNER */
    SW_NOTE_PRSTATUS = 1,
    SW_NOTE_PRPSINFO = 3,
    SW_NOTE_AUXV = 6,
    SW_NOTE_PAC_MASK = 0x406,
    SW_NOTE_FILES = 0x46494c45,
    SW_NOTE_SIGINFO = 0x53494749,
};

#define SW_NOTE_OWNER "SNAPWALK"

enum { SW_PRSTATUS_SIGNAL_AT = 12, SW_PRSTATUS_TID_AT = 32, SW_PRSTATUS_MOST = 392 };
enum { SW_SIGINFO_CODE_AT = 8, SW_SIGINFO_ADDRESS_AT = 16, SW_SIGINFO_BYTES = 128 };
enum {
    SW_PSINFO_PID_AT = 24,
    SW_PSINFO_NAME_AT = 40,
    SW_PSINFO_NAME = 16,
    SW_PSINFO_ARGUMENTS_AT = 56,
    SW_PSINFO_ARGUMENTS = 80,
    SW_PSINFO_BYTES = 136
};
enum { SW_PAC_CODE_AT = 8, SW_MAPPING_BYTES = 24 };

#endif
