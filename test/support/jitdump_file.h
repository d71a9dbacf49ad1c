/*
 * A jitdump file that a test writes, in either byte order, and a reader of it, with what it fills:
 * cmocka_unit_test_setup_teardown(test, dump_set_up, dump_tear_down).
 */
#ifndef SW_TEST_JITDUMP_FILE_H
#define SW_TEST_JITDUMP_FILE_H

#include <snapwalk/jitdump.h>

enum { DUMP_LOAD, DUMP_MOVE, DUMP_DEBUG, DUMP_CLOSE, DUMP_UNWIND, DUMP_UNKNOWN = 77 };
enum { DUMP_CODE_BYTES = 36, DUMP_LOAD_NAME_AT = 56, DUMP_FRAMES_BYTES = 48 };
#define DUMP_CODE      UINT64_C(0x7f0000001000)
#define DUMP_ELSEWHERE UINT64_C(0x7f0000009000)

extern struct dump_file {
    uint8_t bytes[4096];
    size_t size;
    bool is_big;
} dump_file;

/* put: a number. change: one that is there. The others write a header or a record, and return where it begins. */
void dump_put(uint64_t value, unsigned size);
void dump_change(size_t at, uint64_t value, unsigned size);
void dump_header(bool is_big, unsigned machine);
size_t dump_prefix(uint32_t kind, size_t size);
size_t dump_load(uint64_t code, const char *name);
size_t dump_move(uint64_t from, uint64_t to);

/* size: of the call frame information: 0, or DUMP_FRAMES_BYTES, which say that the frame is 48 bytes large. */
size_t dump_unwind(size_t size);

extern struct sw_perfmap *dump_perfmap;
extern struct sw_jitdump *dump_reader;
extern struct sw_images *dump_images;
extern struct sw_codemap *dump_codemap;

int dump_set_up(void **state);
int dump_tear_down(void **state);

/* The whole file in pieces of `step` bytes, each in memory of its own. Returns the first answer that is not SW_OK. */
enum sw_status dump_feed(size_t step);

/* name null: there is none. unwind: of the range around the address, which is that of one function. */
void dump_assert_name(uint64_t address, const char *name);
void dump_assert_unwind(uint64_t address, enum sw_unwind unwind);
bool dump_is_image(uint64_t address);

#endif
