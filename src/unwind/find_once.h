/*
 * Makes a finding once: out of the analysis cache, or by work that the walk's meter pays for. Work that is cut is noted
 * there, and is not tried again by a walk that may not spend twice as much.
 */
#ifndef SW_UNWIND_FIND_ONCE_H
#define SW_UNWIND_FIND_ONCE_H

#include "unwind/analysis_cache.h"
#include "unwind/request.h"

/*
 * A finding of the asker's own: `words` of it, out of the cache or by `find`, which returns how many there are (0: it
 * cannot be kept) and reads code by `code` only.
 *
 * Returns  How many words there are; 0: it was cut.
 */
typedef size_t sw_find_fn(const struct sw_unwind_request *req, const struct sw_code *code,
                          const struct sw_finding *finding, uint64_t *words, size_t room);
size_t sw_find_once(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *finding,
                    sw_find_fn *find, uint64_t *words, size_t room);

/*
 * A piece of work, of which one finding or several come. begin: false: it was cut before and costs more than half of
 * what is left. end: false: it was cut; else what it was read from is what the finding around it is read from, too.
 *
 * left     What the meter had left before.
 */
struct sw_piece {
    struct sw_pending about;
    uint64_t left;
};
bool sw_piece_begin(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *finding,
                    uint64_t generation, struct sw_piece *piece);
bool sw_piece_end(const struct sw_unwind_request *req, const struct sw_piece *piece);

/* The generation of the images, for code that is in one; 0: it is in none. */
uint64_t sw_finding_generation(const struct sw_walker *walker, uint64_t address);

#endif
