/* Rules that are found one after the other, and offered until one is accepted; kept as one finding. */
#ifndef SW_UNWIND_SHOWN_H
#define SW_UNWIND_SHOWN_H

#include "unwind/analysis_cache.h"
#include "unwind/request.h"

/*
 * Rules that are found one after the other and shown to `accept` until it takes one; each once, and only the first
 * SW_SHOWN_RULES. The asker fills req, buffer (SW_FINDING_WORDS of the workspace), accept and arg. accept must not ask
 * for findings.
 *
 * show       Shows a rule with a tag of the asker's. True: that was the last one.
 * show_once  Shows what was shown before, then what `find` shows: that may ask for findings, which are not in
 *            `buffer`. Whether one was accepted; false also where it was cut.
 */
enum { SW_SHOWN_RULES = 32 };
struct sw_shown {
    const struct sw_unwind_request *req;
    uint64_t *buffer;
    size_t words; /* in the buffer */
    unsigned count;
    bool is_accepted;
    bool (*accept)(void *arg, const struct sw_rule *rule, uint64_t tag);
    void *arg;
};
typedef void sw_shower(struct sw_shown *shown, const struct sw_code *code, void *arg);
bool sw_show(struct sw_shown *shown, const struct sw_rule *rule, uint64_t tag);
bool sw_show_once(struct sw_shown *shown, const struct sw_code *code, const struct sw_finding *finding, sw_shower *find,
                  void *arg);

/* known: shows the rules that are in the buffer; whether that is all. keep: keeps them, up to what was accepted. */
bool sw_show_known(struct sw_shown *shown);
void sw_shown_keep(struct sw_shown *shown, const struct sw_code *code, const struct sw_finding *finding,
                   uint64_t generation);

#endif
