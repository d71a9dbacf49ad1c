/*
 * Arrays that grow within a budget, and an index by hash with open addressing. While something grows its old copy is
 * there too, and is counted: the bound is kept at every moment. Refuses to know what rows mean.
 */
#include "table.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ITEMS = 16, FIRST_SLOTS = 64 };

struct text_row {
    uint32_t begin, length;
};

void sw_profile_array_init(struct sw_profile_array *array, struct sw_profile_budget *budget, size_t item_bytes)
{
    *array = (struct sw_profile_array){ .budget = budget, .item_bytes = item_bytes };
}

/* Other memory of `bytes`, or NULL where old and new together are over the budget. */
static void *reserve(struct sw_profile_budget *budget, size_t bytes)
{
    if (bytes > budget->max - budget->used)
        return NULL;
    void *memory = calloc(1, bytes);
    if (memory)
        budget->used += bytes;
    return memory;
}

static void release(struct sw_profile_budget *budget, void *memory, size_t bytes)
{
    if (!memory)
        return;
    free(memory);
    budget->used -= bytes;
}

void sw_profile_array_free(struct sw_profile_array *array)
{
    release(array->budget, array->items, array->capacity * array->item_bytes);
    sw_profile_array_init(array, array->budget, array->item_bytes);
}

static bool grow(struct sw_profile_array *array, size_t least)
{
    size_t capacity = array->capacity + array->capacity / 2 + FIRST_ITEMS;
    if (capacity < least)
        capacity = least;
    if (capacity > UINT32_MAX || capacity > SIZE_MAX / array->item_bytes)
        return false;
    uint8_t *items = reserve(array->budget, capacity * array->item_bytes);
    if (!items)
        return false;
    if (array->items)
        memcpy(items, array->items, array->count * array->item_bytes);
    release(array->budget, array->items, array->capacity * array->item_bytes);
    array->items = items;
    array->capacity = capacity;
    return true;
}

void *sw_profile_array_push(struct sw_profile_array *array, size_t count)
{
    if (count > UINT32_MAX - array->count)
        return NULL;
    if (array->count + count > array->capacity && !grow(array, array->count + count))
        return NULL;
    void *items = array->items + array->count * array->item_bytes;
    array->count += count;
    return items;
}

/* Eight bytes at a time, mixed by multiplication and a shift, as splitmix64 does. */
static uint32_t hash_of(uint64_t seed, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    uint64_t hash = seed ^ length;
    while (length) {
        uint64_t word = 0;
        const size_t some = length < sizeof word ? length : sizeof word;
        memcpy(&word, at, some);
        hash = (hash ^ word) * UINT64_C(0xbf58476d1ce4e5b9);
        hash ^= hash >> 29;
        at += some;
        length -= some;
    }
    hash *= UINT64_C(0x94d049bb133111eb);
    return (uint32_t)(hash >> 32);
}

static struct sw_profile_slot *slot_from(const struct sw_profile_index *index, uint32_t hash, size_t at)
{
    return &index->slots[(hash + at) & (index->slot_count - 1)];
}

static struct sw_profile_slot *free_slot(const struct sw_profile_index *index, uint32_t hash)
{
    size_t at = 0;
    while (slot_from(index, hash, at)->number_plus_1)
        at++;
    return slot_from(index, hash, at);
}

/* At most three quarters of the slots are in use. */
static bool has_free_slot(struct sw_profile_index *index)
{
    if (index->used + 1 <= index->slot_count / 4 * 3)
        return true;
    struct sw_profile_index next = *index;
    next.slot_count = index->slot_count ? index->slot_count * 2 : FIRST_SLOTS;
    next.slots = reserve(index->budget, next.slot_count * sizeof *next.slots);
    if (!next.slots)
        return false;
    for (size_t i = 0; i < index->slot_count; i++)
        if (index->slots[i].number_plus_1)
            *free_slot(&next, index->slots[i].hash) = index->slots[i];
    release(index->budget, index->slots, index->slot_count * sizeof *index->slots);
    *index = next;
    return true;
}

static void index_free(struct sw_profile_index *index)
{
    release(index->budget, index->slots, index->slot_count * sizeof *index->slots);
    *index = (struct sw_profile_index){ .budget = index->budget };
}

bool sw_profile_table_init(struct sw_profile_table *table, struct sw_profile_budget *budget, size_t row_bytes)
{
    sw_profile_array_init(&table->rows, budget, row_bytes);
    table->index = (struct sw_profile_index){ .budget = budget };
    const uint64_t none[16] = { 0 };
    return row_bytes <= sizeof none && sw_profile_table_add(table, none) == 0;
}

void sw_profile_table_free(struct sw_profile_table *table)
{
    sw_profile_array_free(&table->rows);
    index_free(&table->index);
}

uint32_t sw_profile_table_add(struct sw_profile_table *table, const void *row)
{
    const size_t bytes = table->rows.item_bytes;
    const uint32_t hash = hash_of(table->index.budget->seed, row, bytes);
    if (!has_free_slot(&table->index))
        return SW_PROFILE_FULL;
    struct sw_profile_slot *slot = slot_from(&table->index, hash, 0);
    for (size_t at = 0; slot->number_plus_1; slot = slot_from(&table->index, hash, ++at))
        if (slot->hash == hash && !memcmp(sw_profile_array_at(&table->rows, slot->number_plus_1 - 1), row, bytes))
            return slot->number_plus_1 - 1;
    void *copy = sw_profile_array_push(&table->rows, 1);
    if (!copy)
        return SW_PROFILE_FULL;
    memcpy(copy, row, bytes);
    *slot = (struct sw_profile_slot){ hash, (uint32_t)table->rows.count };
    table->index.used++;
    return slot->number_plus_1 - 1;
}

bool sw_profile_texts_init(struct sw_profile_texts *texts, struct sw_profile_budget *budget)
{
    sw_profile_array_init(&texts->bytes, budget, 1);
    sw_profile_array_init(&texts->rows, budget, sizeof(struct text_row));
    texts->index = (struct sw_profile_index){ .budget = budget };
    return sw_profile_texts_add(texts, "", 0) == 0;
}

void sw_profile_texts_free(struct sw_profile_texts *texts)
{
    sw_profile_array_free(&texts->bytes);
    sw_profile_array_free(&texts->rows);
    index_free(&texts->index);
}

const char *sw_profile_texts_get(const struct sw_profile_texts *texts, uint32_t number)
{
    const struct text_row *row = sw_profile_array_at(&texts->rows, number);
    return (const char *)texts->bytes.items + row->begin;
}

static bool is_text(const struct sw_profile_texts *texts, uint32_t number, const char *text, size_t length)
{
    const struct text_row *row = sw_profile_array_at(&texts->rows, number);
    return row->length == length && !memcmp(sw_profile_texts_get(texts, number), text, length);
}

/* A text without its row is no harm: nobody finds it, and its bytes are few. */
static bool keep_text(struct sw_profile_texts *texts, const char *text, size_t length)
{
    const size_t begin = texts->bytes.count;
    char *bytes = sw_profile_array_push(&texts->bytes, length + 1);
    struct text_row *row = bytes ? sw_profile_array_push(&texts->rows, 1) : NULL;
    if (!row)
        return false;
    memcpy(bytes, text, length);
    bytes[length] = 0;
    *row = (struct text_row){ (uint32_t)begin, (uint32_t)length };
    return true;
}

uint32_t sw_profile_texts_add(struct sw_profile_texts *texts, const char *text, size_t length)
{
    const uint32_t hash = hash_of(texts->index.budget->seed, text, length);
    if (length >= UINT32_MAX || !has_free_slot(&texts->index))
        return SW_PROFILE_FULL;
    struct sw_profile_slot *slot = slot_from(&texts->index, hash, 0);
    for (size_t at = 0; slot->number_plus_1; slot = slot_from(&texts->index, hash, ++at))
        if (slot->hash == hash && is_text(texts, slot->number_plus_1 - 1, text, length))
            return slot->number_plus_1 - 1;
    if (!keep_text(texts, text, length))
        return SW_PROFILE_FULL;
    *slot = (struct sw_profile_slot){ hash, (uint32_t)texts->rows.count };
    texts->index.used++;
    return slot->number_plus_1 - 1;
}
