/* The entries of a perf map: sorted, disjoint ranges, each with the offset of its name. */
#ifndef SW_CODE_PERFMAP_ENTRIES_H
#define SW_CODE_PERFMAP_ENTRIES_H

#include <snapwalk/alloc.h>
#include <snapwalk/codemap.h>

enum { SW_PERFMAP_CHUNK_ENTRIES = 128 };

/* line_size: of the line that the range comes from; the range may be a part of it. in_map: the code map took it. */
struct sw_perfmap_entry {
    struct sw_range range;
    uint64_t line_size;
    size_t name; /* offset in names */
    bool in_map;
};

struct sw_perfmap_chunk {
    size_t count;
    struct sw_perfmap_entry entries[SW_PERFMAP_CHUNK_ENTRIES];
};

/* chunks: each holds at least one entry; ascending. */
struct sw_perfmap_entries {
    struct sw_alloc alloc;
    struct sw_perfmap_chunk **chunks;
    size_t count;
    size_t room;
};

struct sw_perfmap_place {
    size_t chunk;
    size_t index;
};

/* entry_at: null past the last. first_behind: the first that ends behind the address; one past the last: none does. */
struct sw_perfmap_entry *sw_perfmap_entry_at(const struct sw_perfmap_entries *entries, struct sw_perfmap_place at);
struct sw_perfmap_place sw_perfmap_first_behind(const struct sw_perfmap_entries *entries, uint64_t address);

/* insert_at: before the one at `at`, the place that first_behind gave for it. */
SW_NODISCARD enum sw_status sw_perfmap_insert_at(struct sw_perfmap_entries *entries, struct sw_perfmap_place at,
                                                 const struct sw_perfmap_entry *entry);
void sw_perfmap_erase_at(struct sw_perfmap_entries *entries, struct sw_perfmap_place at);
void sw_perfmap_free_entries(struct sw_perfmap_entries *entries);

#endif
