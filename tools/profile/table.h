/*
 * Rows of one size, each kept once and numbered in the order of their coming, within a bound of bytes that all
 * tables of a profile share. Number 0 is an empty row in every table: "none". Knows nothing of what rows mean.
 */
#ifndef PROFILE_TABLE_H
#define PROFILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SW_PROFILE_FULL = UINT32_MAX };

/* Bytes in use and allowed, and a secret that hashes begin with: names are chosen by whoever is profiled. */
struct sw_profile_budget {
    size_t used, max;
    uint64_t seed;
};

struct sw_profile_array {
    struct sw_profile_budget *budget;
    uint8_t *items;
    size_t item_bytes, count, capacity;
};

/* A row's number by its hash. Slots hold number + 1; 0 is free. */
struct sw_profile_index {
    struct sw_profile_budget *budget;
    struct sw_profile_slot {
        uint32_t hash, number_plus_1;
    } * slots;
    size_t slot_count, used;
};

struct sw_profile_table {
    struct sw_profile_array rows;
    struct sw_profile_index index;
};

/* Texts: rows say where in `bytes` each lies; zero-terminated. */
struct sw_profile_texts {
    struct sw_profile_array bytes, rows;
    struct sw_profile_index index;
};

void sw_profile_array_init(struct sw_profile_array *array, struct sw_profile_budget *budget, size_t item_bytes);
void sw_profile_array_free(struct sw_profile_array *array);

/* Room for `count` more items behind the last; zeroed, and counted as there. NULL: none, and nothing is changed. */
void *sw_profile_array_push(struct sw_profile_array *array, size_t count);

/* With an empty row 0. False: no room. */
bool sw_profile_table_init(struct sw_profile_table *table, struct sw_profile_budget *budget, size_t row_bytes);
void sw_profile_table_free(struct sw_profile_table *table);

/* The row's number; SW_PROFILE_FULL: it is new, and there is no room. Rows must have no padding. */
uint32_t sw_profile_table_add(struct sw_profile_table *table, const void *row);

/* With the empty text as number 0. False: no room. */
bool sw_profile_texts_init(struct sw_profile_texts *texts, struct sw_profile_budget *budget);
void sw_profile_texts_free(struct sw_profile_texts *texts);
uint32_t sw_profile_texts_add(struct sw_profile_texts *texts, const char *text, size_t length);

/* Valid until the next text is added. */
const char *sw_profile_texts_get(const struct sw_profile_texts *texts, uint32_t number);

static inline const void *sw_profile_array_at(const struct sw_profile_array *array, size_t at)
{
    return array->items + at * array->item_bytes;
}

#endif
