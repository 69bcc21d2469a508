/* test_list.c: the embedded list, against a plain array as its model. */
#include "base/list.h"

#include "base/rand.h"

#include <stdio.h>

#include "unity.h"

struct item {
    int id;
    struct mf_list link;
};

static struct mf_list head;

void setUp(void)
{
    mf_list_init(&head);
}

void tearDown(void)
{
}

static struct item *item_of(struct mf_list *l)
{
    return mf_container(l, struct item, link);
}

/* Walks both ways: a broken prev pointer shows only backwards. */
static void check_list(struct mf_list *list, const int *ids, size_t n)
{
    struct mf_list *p;
    size_t i = 0;

    mf_list_each(p, list)
    {
        TEST_ASSERT_TRUE(i < n);
        TEST_ASSERT_EQUAL_INT(ids[i++], item_of(p)->id);
    }
    TEST_ASSERT_EQUAL_size_t(n, i);
    for (p = list->prev; p != list; p = p->prev)
        TEST_ASSERT_EQUAL_INT(ids[--i], item_of(p)->id);
    TEST_ASSERT_EQUAL_size_t(0, i);
}

static void test_empty_list_has_no_first(void)
{
    TEST_ASSERT_TRUE(mf_list_empty(&head));
    TEST_ASSERT_NULL(mf_list_first(&head));
    TEST_ASSERT_NULL(mf_list_pop(&head));
}

static void test_elements_come_out_in_the_order_they_went_in(void)
{
    struct item a = {.id = 1}, b = {.id = 2}, c = {.id = 3};

    mf_list_push(&head, &a.link);
    mf_list_push(&head, &c.link);
    mf_list_add_after(&a.link, &b.link);
    check_list(&head, (const int[]){1, 2, 3}, 3);
    TEST_ASSERT_EQUAL_PTR(&a.link, mf_list_first(&head));
    TEST_ASSERT_EQUAL_PTR(&a.link, mf_list_pop(&head));
    check_list(&head, (const int[]){2, 3}, 2);
    TEST_ASSERT_TRUE(mf_list_empty(&a.link));
}

static void test_deleting_twice_is_harmless(void)
{
    struct item a = {.id = 1}, b = {.id = 2};

    mf_list_push(&head, &a.link);
    mf_list_push(&head, &b.link);
    mf_list_del(&a.link);
    mf_list_del(&a.link);
    check_list(&head, (const int[]){2}, 1);
}

static void test_moving_appends_and_leaves_the_source_empty(void)
{
    struct item a = {.id = 1}, b = {.id = 2}, c = {.id = 3};
    struct mf_list other;

    mf_list_init(&other);
    mf_list_move(&head, &other); /* nothing onto nothing */
    TEST_ASSERT_TRUE(mf_list_empty(&head));
    mf_list_push(&other, &a.link);
    mf_list_push(&other, &b.link);
    mf_list_move(&head, &other); /* onto nothing */
    check_list(&head, (const int[]){1, 2}, 2);
    TEST_ASSERT_TRUE(mf_list_empty(&other));
    mf_list_push(&other, &c.link);
    mf_list_move(&head, &other); /* onto something */
    check_list(&head, (const int[]){1, 2, 3}, 3);
    mf_list_move(&head, &other); /* nothing onto something */
    check_list(&head, (const int[]){1, 2, 3}, 3);
}

static void test_element_may_be_deleted_while_walking(void)
{
    struct item items[6];
    struct mf_list *p, *tmp;

    for (int i = 0; i < 6; i++) {
        items[i].id = i;
        mf_list_push(&head, &items[i].link);
    }
    mf_list_each_safe(p, tmp, &head)
    {
        if (item_of(p)->id % 2 == 0)
            mf_list_del(p);
    }
    check_list(&head, (const int[]){1, 3, 5}, 3);
}

/* Random pushes, pops and deletes, compared with an array after each step. */
static void test_random_operations_agree_with_an_array(void)
{
    enum { ITEMS = 16, STEPS = 4000 };
    struct item items[ITEMS];
    int model[ITEMS];
    size_t n = 0;

    for (int i = 0; i < ITEMS; i++) {
        items[i].id = i;
        mf_list_init(&items[i].link);
    }
    for (int step = 0; step < STEPS; step++) {
        uint32_t pick = rand_below(ITEMS);
        size_t at = 0;
        while (at < n && model[at] != (int)pick)
            at++;
        if (rand_below(8) == 0) {
            struct mf_list *p = mf_list_pop(&head);
            TEST_ASSERT_TRUE((p == NULL) == (n == 0));
            if (n > 0) {
                TEST_ASSERT_EQUAL_INT(model[0], item_of(p)->id);
                memmove(model, model + 1, --n * sizeof *model);
            }
        } else if (at == n) {
            mf_list_push(&head, &items[pick].link);
            model[n++] = (int)pick;
        } else {
            mf_list_del(&items[pick].link);
            memmove(model + at, model + at + 1, (--n - at) * sizeof *model);
        }
        check_list(&head, model, n);
    }
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_empty_list_has_no_first);
    RUN_TEST(test_elements_come_out_in_the_order_they_went_in);
    RUN_TEST(test_deleting_twice_is_harmless);
    RUN_TEST(test_moving_appends_and_leaves_the_source_empty);
    RUN_TEST(test_element_may_be_deleted_while_walking);
    RUN_TEST(test_random_operations_agree_with_an_array);
    return UNITY_END();
}
