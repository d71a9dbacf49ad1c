/*
 * See find_once.h. Knows what a finding costs and how it is kept; refuses to know what it is about. A finding about
 * code in an image holds as long as no image changes, other findings as long as the bytes that they were read from are
 * the same.
 */
#include "unwind/find_once.h"

enum { STAMP_BYTES = 32 };

uint64_t sw_finding_generation(const struct sw_walker *walker, uint64_t address)
{
    const bool in_image = walker->images && sw_images_entry(walker->images, address);
    return in_image ? sw_images_generation(walker->images) + 1 : 0;
}

/* What changes with the code of a piece of work: if it is in no image, the bytes at its address. */
static uint64_t stamp_of(const struct sw_code *code, uint64_t address, uint64_t generation)
{
    const struct sw_extent here = { address, address + STAMP_BYTES };
    return generation ? generation : sw_code_hash(code, &here, 1);
}

bool sw_piece_begin(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *finding,
                    uint64_t generation, struct sw_piece *piece)
{
    struct sw_meter *meter = &req->work->meter;
    piece->left = meter->left;
    piece->about = (struct sw_pending){ .finding = *finding };
    if (meter->is_cut)
        return false;
    if (req->walker->analysis_cache) {
        piece->about.stamp = stamp_of(code, finding->a, generation);
        piece->about.cost = sw_analysis_cache_cost(req->walker->analysis_cache, finding, piece->about.stamp);
    }
    meter->is_cut = piece->about.cost > meter->left / 2;
    sw_meter_forget(meter);
    return !meter->is_cut;
}

bool sw_piece_end(const struct sw_unwind_request *req, const struct sw_piece *piece)
{
    const struct sw_meter *meter = &req->work->meter;
    struct sw_pending about = piece->about;
    if (!meter->is_cut) {
        if (about.cost != 0)
            sw_analysis_cache_settle(req->walker->analysis_cache, &about.finding);
        sw_meter_note_all(&req->work->outer, meter);
        return true;
    }
    about.cost = piece->left - meter->left + 1;
    sw_analysis_cache_pend(req->walker->analysis_cache, &about);
    return false;
}

size_t sw_find_once(const struct sw_unwind_request *req, const struct sw_code *code, const struct sw_finding *finding,
                    sw_find_fn *find, uint64_t *words, size_t room)
{
    const uint64_t generation = sw_finding_generation(req->walker, finding->a);
    struct sw_piece piece;
    if (!sw_meter_pay(&req->work->meter, 1))
        return 0;
    size_t count = sw_analysis_cache_get(req->walker->analysis_cache, code, finding, generation, words, room);
    if (count != 0 || !sw_piece_begin(req, code, finding, generation, &piece))
        return req->work->meter.is_cut ? 0 : count;
    count = find(req, code, finding, words, room);
    if (!sw_piece_end(req, &piece))
        return 0;
    sw_analysis_cache_put(req->walker->analysis_cache, code, finding, generation, words, count);
    return count;
}
