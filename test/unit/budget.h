/*
 * An allocator that counts what is out, and gives up after `left` blocks: for sweeps over every failing allocation.
 */
#ifndef TEST_UNIT_BUDGET_H
#define TEST_UNIT_BUDGET_H

#include <snapwalk/alloc.h>

#include <stdlib.h>

struct budget {
    size_t left;
    size_t blocks;
    size_t bytes;
};

static void *budget_get(void *arg, size_t size)
{
    struct budget *budget = arg;
    if (size == 0)
        abort(); /* the contract of struct sw_alloc */
    if (budget->left == 0)
        return NULL;
    budget->left--;
    budget->blocks++;
    budget->bytes += size;
    return malloc(size);
}

static void budget_put(void *arg, void *block, size_t size)
{
    struct budget *budget = arg;
    budget->blocks--;
    budget->bytes -= size;
    free(block);
}

#endif
