/*
 * The words of a memo that is complete, made quick to compare: each once, and two neighbours at a time, as a function
 * saves its registers beside its return address. Refuses to know what the words mean (noting.c).
 */
#include "snapshot/memo_parts.h"

/* Shellsort, which allocates nothing. Source: Ciura, "Best Increments for the Average Case of Shellsort", 2001. */
static void sort(struct word *words, uint32_t count)
{
    static const uint16_t gaps[] = { 1750, 701, 301, 132, 57, 23, 10, 4, 1 };
    for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; g++)
        for (uint32_t i = gaps[g]; i < count; i++) {
            const struct word word = words[i];
            uint32_t to = i;
            for (; to >= gaps[g] && words[to - gaps[g]].at > word.at; to -= gaps[g])
                words[to] = words[to - gaps[g]];
            words[to] = word;
        }
}

/* What was there twice has not changed in between: it is of an answer that was just given. */
static uint32_t keep_one_of_each(struct word *words, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++)
        if (kept == 0 || words[kept - 1].at != words[i].at)
            words[kept++] = words[i];
    return kept;
}

static bool has_next(const struct word *words, uint32_t i, uint32_t count)
{
    return i + 1 < count && words[i + 1].at - words[i].at == SW_WORD;
}

/* An odd run's last word is in a pair with the one in front, which is in another one, too. What is left over: words. */
static void pair_up(struct sw_memo *memo, uint32_t count)
{
    struct word *const words = memo->words;
    memo->pair_count = memo->word_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_first = has_next(words, i, count), is_last = i > 0 && has_next(words, i - 1, count);
        const struct word *low = is_last && !is_first ? &words[i - 1] : &words[i];
        if (is_first || is_last)
            memo->pairs[memo->pair_count++] = (struct pair){ low->at, { low->value, low[1].value } };
        else
            words[memo->word_count++] = words[i];
        i += is_first;
    }
}

void sw_memo_pack_words(struct sw_memo *memo)
{
    sort(memo->words, memo->word_count);
    pair_up(memo, keep_one_of_each(memo->words, memo->word_count));
    for (; memo->word_count % GROUP != 0; memo->word_count++)
        memo->words[memo->word_count] = memo->words[0];
    for (; memo->pair_count % GROUP != 0; memo->pair_count++)
        memo->pairs[memo->pair_count] = memo->pairs[0];
}
