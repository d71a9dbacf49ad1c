/* Lists that grow beside readers: what is in them never moves. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "list.h"

struct element {
    size_t number;
    char text[24];
};

static struct element *add(struct sw_list *list, size_t number)
{
    struct element *made = sw_list_add(list, sizeof *made);
    assert_non_null(made);
    made->number = number;
    sw_list_publish(list);
    return made;
}

static void an_element_stays_where_it_is_while_thousands_follow(void **state)
{
    struct sw_list list = { 0 };
    struct element *first = add(&list, 1);
    (void)state;
    for (size_t i = 1; i < 10 * SW_LIST_CHUNK; i++)
        add(&list, i + 1);
    assert_ptr_equal(sw_list_at(&list, sizeof *first, 0), first);
    for (size_t i = 0; i < 10 * SW_LIST_CHUNK; i++)
        assert_int_equal(((struct element *)sw_list_at(&list, sizeof *first, i))->number, i + 1);
    sw_list_free(&list);
}

static void an_element_counts_from_when_it_is_published(void **state)
{
    struct sw_list list = { 0 };
    (void)state;
    assert_null(sw_list_at(&list, sizeof(struct element), 0));
    assert_non_null(sw_list_add(&list, sizeof(struct element)));
    assert_int_equal(sw_list_count(&list), 0);
    assert_null(sw_list_at(&list, sizeof(struct element), 0));
    sw_list_publish(&list);
    assert_non_null(sw_list_at(&list, sizeof(struct element), 0));
    assert_null(sw_list_at(&list, sizeof(struct element), 1));
    sw_list_free(&list);
    assert_int_equal(sw_list_count(&list), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_stays_where_it_is_while_thousands_follow),
        cmocka_unit_test(an_element_counts_from_when_it_is_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
