/*
 * Names of managed methods, out of the memory of a process that runs CoreCLR: what the files of this folder share.
 * Every read goes through one page cache; every loop takes of one allowance of steps.
 */
#ifndef SW_CLR_NAMES_NAMES_H
#define SW_CLR_NAMES_NAMES_H

#include "base/bytes.h"
#include "base/memory.h"
#include "base/pages.h"
#include "clr/runtime.h"
#include "clr/tables.h"

/* ORDER sw_names_field: fields.c. */
enum sw_names_field {
    SW_NAMES_METHOD_SIZE,
    SW_NAMES_METHOD_TOKEN, /* u16 */
    SW_NAMES_METHOD_CHUNK, /* u8 */
    SW_NAMES_METHOD_FLAGS, /* u16 */
    SW_NAMES_CHUNK_SIZE,
    SW_NAMES_CHUNK_TABLE,
    SW_NAMES_CHUNK_TOKEN, /* u16 */
    SW_NAMES_INSTANCE_ARGUMENTS,
    SW_NAMES_INSTANCE_FLAGS, /* u16 */
    SW_NAMES_INSTANCE_COUNT, /* u16 */
    SW_NAMES_DYNAMIC_SIGNATURE,
    SW_NAMES_DYNAMIC_SIZE,  /* u32 */
    SW_NAMES_DYNAMIC_FLAGS, /* u32 */
    SW_NAMES_DYNAMIC_NAME,
    SW_NAMES_TABLE_FLAGS,  /* u32 */
    SW_NAMES_TABLE_FLAGS2, /* u32; 8: u16 and the u16 token */
    SW_NAMES_TABLE_MODULE,
    SW_NAMES_TABLE_CLASS,
    SW_NAMES_TABLE_ARGUMENTS,
    SW_NAMES_CLASS_RANK, /* u8 */
    SW_NAMES_DESC_KIND,  /* u32 */
    SW_NAMES_DESC_TYPE,
    SW_NAMES_VARIABLE_MODULE,
    SW_NAMES_VARIABLE_TOKEN, /* u32 */
    SW_NAMES_POINTER_COUNT,  /* u32 */
    SW_NAMES_POINTER_TYPES,
    SW_NAMES_MODULE_DYNAMIC,
    SW_NAMES_MODULE_BASE,
    SW_NAMES_MODULE_FILE, /* 8 has no base: a chain of these leads to it */
    SW_NAMES_FILE_IMAGE,
    SW_NAMES_IMAGE_LAYOUT,
    SW_NAMES_LAYOUT_BASE,
    SW_NAMES_MODULE_PATH,
    SW_NAMES_IMAGE_PATH, /* 8: of the same chain */
    SW_NAMES_FIELDS
};

enum { SW_NAMES_PAGE = 512, SW_NAMES_MODULES = 64, SW_NAMES_DEPTH = 16, SW_NAMES_STRING = 1024 };

/* Metadata of a module, found once. Empty parts have size 0. */
struct sw_names_metadata {
    uint64_t module; /* 0: the slot is free */
    uint64_t base;   /* of the image, or the address of the dynamic module's copy: whether it is still the same */
    uint64_t tables, strings, blobs;
    uint32_t strings_size, blobs_size;
    bool sorted; /* #~ */
    bool has_pointers;
    struct sw_clr_tables layout;
};

/*
 * release  8, 9 or 10.
 * memory   Reads through the pages.
 * steps    How many more elements may be looked at for the present question.
 */
struct sw_names {
    struct sw_pages pages;
    struct sw_memory memory;
    struct sw_clr_layout layout;
    uint16_t at[SW_NAMES_FIELDS];
    unsigned release;
    uint32_t steps;
    unsigned turn;
    struct sw_names_metadata *modules; /* SW_NAMES_MODULES of them */
};

/* Text that is never longer than its place; `cut`: something did not fit. */
struct sw_names_text {
    char *begin, *at, *end; /* end: where the final NUL has room */
    bool cut;
};
void sw_names_put(struct sw_names_text *text, const char *more);
void sw_names_put_part(struct sw_names_text *text, const char *more, size_t size);
void sw_names_put_number(struct sw_names_text *text, uint64_t number, unsigned base);

/* How types are written. RUNTIME: as in the runtime's perf map. */
enum sw_names_style { SW_NAMES_READABLE, SW_NAMES_RUNTIME };

/*
 * export.c: what a mapped ELF file exports. open: where its tables are; memory is borrowed. find: the address of a
 * symbol. sw_names_export: both. Returns  SW_OK, SW_E_NOT_FOUND, SW_E_MALFORMED.
 */
struct sw_names_exports {
    const struct sw_memory *memory;
    uint64_t bias, base, hash, gnu_hash, strings, symbols;
};
SW_NODISCARD enum sw_status sw_names_exports_open(const struct sw_memory *memory, uint64_t base,
                                                  struct sw_names_exports *exports);
SW_NODISCARD enum sw_status sw_names_exports_find(const struct sw_names_exports *exports, const char *name,
                                                  uint64_t *address);
SW_NODISCARD enum sw_status sw_names_export(const struct sw_memory *memory, uint64_t base, const char *name,
                                            uint64_t *address);

/* fields.c: finds the runtime that the file at `base` is, and fills release, layout and offsets. */
SW_NODISCARD enum sw_status sw_names_open(struct sw_names *names, uint64_t base, const struct sw_alloc *alloc);

/* What is known of a release (8, 9, 10) beforehand. */
void sw_names_known(struct sw_names *names, unsigned release);

/* Numbers of the target. */
bool sw_names_u(const struct sw_names *names, uint64_t address, unsigned size, uint64_t *value);
bool sw_names_field(const struct sw_names *names, uint64_t object, enum sw_names_field field, unsigned size,
                    uint64_t *value);

/* metadata.c: of a module; cells, strings (at most SW_NAMES_STRING - 1 bytes), blobs. */
SW_NODISCARD enum sw_status sw_names_metadata_of(struct sw_names *names, uint64_t module,
                                                 const struct sw_names_metadata **found);
uint32_t sw_names_cell(const struct sw_names *names, const struct sw_names_metadata *m, unsigned table, uint32_t row,
                       unsigned column);
bool sw_names_string(const struct sw_names *names, const struct sw_names_metadata *m, uint32_t offset,
                     char to[SW_NAMES_STRING]);
bool sw_names_blob(const struct sw_names *names, const struct sw_names_metadata *m, uint32_t offset, uint64_t *address,
                   uint32_t *size);
uint32_t sw_names_outer(const struct sw_names *names, const struct sw_names_metadata *m, uint32_t type);
bool sw_names_assembly(const struct sw_names *names, const struct sw_names_metadata *m, char to[SW_NAMES_STRING]);

/* A list of type handles in the target. */
struct sw_names_arguments {
    uint64_t at;
    uint32_t count;
};

/* method.c: what a MethodDesc says. class 7 has name and signature, no row. */
struct sw_names_method {
    uint64_t desc, table, module;
    uint32_t row, type_row;
    unsigned kind; /* classification */
    struct sw_names_arguments type_arguments, arguments;
    uint64_t name, signature;
    uint32_t signature_size;
};
SW_NODISCARD enum sw_status sw_names_read_method(struct sw_names *names, uint64_t desc, struct sw_names_method *method);
enum { SW_NAMES_CLASS_DYNAMIC = 7 };

/* method.c: of a MethodTable. */
bool sw_names_table_module(const struct sw_names *names, uint64_t table, uint64_t *module);
bool sw_names_table_row(const struct sw_names *names, uint64_t table, uint32_t *row);
bool sw_names_table_arguments(const struct sw_names *names, uint64_t table, struct sw_names_arguments *arguments);

/*
 * type.c: "Namespace.Outer+Type" of a TypeDef or TypeRef; READABLE with the arguments that the names count, and the
 * answer is how many those were. The arguments from one on. A type by its handle.
 */
struct sw_names_writer {
    struct sw_names *names;
    struct sw_names_text *text;
    enum sw_names_style style;
};
uint32_t sw_names_write_type(struct sw_names_writer *w, const struct sw_names_metadata *m, unsigned table, uint32_t row,
                             const char *nested, const struct sw_names_arguments *arguments);
void sw_names_write_arguments(struct sw_names_writer *w, const struct sw_names_arguments *arguments, uint32_t first);
bool sw_names_write_handle(struct sw_names_writer *w, uint64_t handle, unsigned depth);

/*
 * signature.c: "(int32,string)" into w->text, and the return type, with "instance " in front, into `result`.
 * m: null in dynamic code, which names types by handle. arguments: for variables; of the type and of the method.
 */
SW_NODISCARD enum sw_status sw_names_write_signature(struct sw_names_writer *w, const struct sw_names_metadata *m,
                                                     uint64_t address, uint32_t size,
                                                     const struct sw_names_arguments *type,
                                                     const struct sw_names_arguments *method,
                                                     struct sw_names_text *result);

/*
 * bounds.c: the IL offset of the last statement at or in front of a native offset, by what the JIT noted at `info`.
 * packed: as from release 10 on, or version 16 of precompiled images. False: none, or broken.
 */
bool sw_names_bounds_find(struct sw_names *names, uint64_t info, bool packed, uint32_t native, uint32_t *il);

/*
 * precompiled.c: where the method around an address begins, in a ReadyToRun image that is mapped at `base`, and its
 * MethodDesc: the nearest function in front of it that the runtime has prepared as a method. False: none, or broken.
 */
bool sw_names_image_entry(const struct sw_names *names, uint64_t base, uint64_t pc, uint64_t *entry, uint64_t *method);

/* precompiled.c: of an address in a ReadyToRun image that is mapped at `base`. False: none, or broken. */
bool sw_names_image_place(struct sw_names *names, uint64_t base, uint64_t pc, uint32_t *il);

/* places.c: the same of an address, in a range of kind JIT or NGEN. Returns  SW_OK, SW_E_NOT_FOUND. */
SW_NODISCARD enum sw_status sw_names_place(struct sw_names *names, uint64_t pc, const struct sw_range *range,
                                           uint32_t *il);

/*
 * path.c: of the file that a module was loaded from, in UTF-8. Returns  SW_OK, SW_E_NOT_FOUND (of no file), SW_E_LIMIT,
 * SW_E_MALFORMED, SW_E_UNREADABLE: then it is empty.
 */
SW_NODISCARD enum sw_status sw_names_path(const struct sw_names *names, uint64_t module, char *to, size_t size);

/*
 * written.c: a method that a compiler made of another one (a state machine, a lambda, a local function) as the one that
 * was written. type: the row of the type that MoveNext, or the lambda, is in; receives the row of the type in which it
 * was written. name: receives "Outer.Local", "Outer.{lambda#1_0}".
 *
 * Returns  True: it is a state machine, whose parameters say nothing.
 */
bool sw_names_written(const struct sw_names *names, const struct sw_names_metadata *m, uint32_t *type,
                      char name[SW_NAMES_STRING]);

#endif
