/*
 * Unwind tables of an image as they are opened when it is registered: from sections to what the readers in lib/ want,
 * in struct sw_image_entry. Which format is opened by what, and asked how, is one table: src/unwind/sources.c.
 */
#ifndef SW_CODE_TABLES_H
#define SW_CODE_TABLES_H

#include "code/images.h"

/*
 * Where the sections of an ELF image are found; PE images have none.
 *
 * find  A section by name at its address in the target; empty: there is none.
 */
struct sw_sections {
    struct sw_bytes (*find)(const struct sw_sections *sections, struct sw_image_entry *entry, const char *name);
};

/*
 * Opens one format. Called under the writer's lock of the set, with the section of the format's row, which is not
 * empty.
 *
 * Returns  SW_OK, also where the image turns out to have no such tables; SW_E_NO_MEMORY.
 */
typedef enum sw_status sw_open_tables_fn(struct sw_images *images, struct sw_image_entry *entry,
                                         struct sw_bytes section, const struct sw_sections *sections);

/* .eh_frame, by its header where that can be searched, else by an index made here. cfi.bias is set before. */
sw_open_tables_fn sw_open_eh_frame;
/* .debug_frame of a file: the table beside .eh_frame, or the only one. */
sw_open_tables_fn sw_open_debug_frame;
/* .sframe: taken for code that the others leave out. */
sw_open_tables_fn sw_open_sframe;
/* ReadyToRun code, and the exception directory, of a PE image whose entry->pe is open. */
sw_open_tables_fn sw_open_ready_to_run;
sw_open_tables_fn sw_open_exceptions;

#endif
