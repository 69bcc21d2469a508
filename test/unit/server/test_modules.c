/* test_modules.c: modules open in order, close in the reverse order, one after the other; observers
 * are notified until they leave. */
#include "server/server_impl.h"

#include "unity.h"

static struct server s;
static char calls[64];
static struct mf_error err;
static void (*later)(void *arg);
static void *later_arg;
static unsigned ended;

struct part {
    char name;
    int open_rc;
    bool at_once;
};
static struct part parts[3];

static void note(char what, const struct part *p)
{
    size_t n = strlen(calls);

    calls[n] = what;
    calls[n + 1] = p->name;
    calls[n + 2] = '\0';
}

static int open_part(void *arg, struct server *of, const struct options *o, struct mf_error *e)
{
    struct part *p = arg;

    (void)o;
    TEST_ASSERT_EQUAL_PTR(&s, of);
    note('+', p);
    return p->open_rc == 0 ? 0 : mf_fail(e, p->open_rc, "no luck");
}
static void leave_part(void *arg)
{
    note('~', arg);
}
static bool close_part(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    struct part *p = arg;

    note('-', p);
    later = closed;
    later_arg = closed_arg;
    return p->at_once;
}
static const struct server_module modules[] = {
    {.name = "A", .arg = &parts[0], .open = open_part, .leaving = leave_part, .close = close_part},
    {.name = "B", .arg = &parts[1], .open = open_part, .close = close_part},
    {.name = "C", .arg = &parts[2], .open = open_part, .leaving = leave_part, .close = close_part},
};

static void count_end(struct server *of)
{
    TEST_ASSERT_EQUAL_PTR(&s, of);
    ended++;
}

void setUp(void)
{
    s = (struct server){.setup = {.modules = modules, .nmodules = MF_COUNT(modules)},
                        .modules_closed = count_end};
    mf_list_init(&s.observers);
    for (size_t i = 0; i < MF_COUNT(parts); i++)
        parts[i] = (struct part){.name = (char)('a' + i), .at_once = true};
    calls[0] = '\0';
    later = NULL;
    ended = 0;
}
void tearDown(void)
{
}

static void test_modules_close_in_the_reverse_order(void)
{
    TEST_ASSERT_EQUAL_INT(0, modules_open(&s, &err));
    modules_leaving(&s);
    modules_reload(&s); /* none of them wants to know */
    TEST_ASSERT_TRUE(modules_close(&s));
    TEST_ASSERT_EQUAL_STRING("+a+b+c~a~c-c-b-a", calls);
    TEST_ASSERT_TRUE(modules_close(&s)); /* nothing is left to close */
    TEST_ASSERT_EQUAL_STRING("+a+b+c~a~c-c-b-a", calls);
    TEST_ASSERT_EQUAL_UINT(0, ended);
}

/* JetStream needs the disk to close: those it was opened before are closed after it. */
static void test_a_module_that_takes_time_is_waited_for(void)
{
    parts[1].at_once = false;
    TEST_ASSERT_EQUAL_INT(0, modules_open(&s, &err));
    TEST_ASSERT_FALSE(modules_close(&s));
    TEST_ASSERT_EQUAL_STRING("+a+b+c-c-b", calls);
    TEST_ASSERT_EQUAL_UINT(0, ended);
    later(later_arg);
    TEST_ASSERT_EQUAL_STRING("+a+b+c-c-b-a", calls);
    TEST_ASSERT_EQUAL_UINT(1, ended);
}

static void test_a_module_that_does_not_open_is_named_and_not_closed(void)
{
    parts[1].open_rc = MF_INVAL;
    TEST_ASSERT_EQUAL_INT(MF_INVAL, modules_open(&s, &err));
    TEST_ASSERT_EQUAL_STRING("Can't start B: no luck", err.text);
    TEST_ASSERT_TRUE(modules_close(&s));
    TEST_ASSERT_EQUAL_STRING("+a+b-a", calls);
}

/* --- observers -------------------------------------------------------------------------------- */

static void count_lame_duck(void *arg)
{
    ++*(unsigned *)arg;
}
static int refuse_monitor(void *arg, struct monitor *m)
{
    (void)m;
    ++*(unsigned *)arg;
    return MF_NOMEM;
}

static void test_observers_are_notified_until_they_leave(void)
{
    unsigned first = 0, second = 0;
    struct server_observer a = {.arg = &first, .lame_duck = count_lame_duck};
    struct server_observer b = {.arg = &second, .lame_duck = count_lame_duck};

    server_unobserve(&a); /* not there yet */
    server_observe(&s, &a);
    server_observe(&s, &b);
    notify_lame_duck(&s);
    server_unobserve(&a);
    notify_lame_duck(&s);
    TEST_ASSERT_EQUAL_UINT(1, first);
    TEST_ASSERT_EQUAL_UINT(2, second);
    server_unobserve(&b);
}

/* A port without its pages is an error of the start. */
static void test_pages_that_cannot_be_added_are_an_error(void)
{
    unsigned asked = 0, not_asked = 0;
    struct server_observer a = {.arg = &asked, .monitor_opened = refuse_monitor};
    struct server_observer b = {.arg = &not_asked, .monitor_opened = refuse_monitor};

    TEST_ASSERT_EQUAL_INT(0, notify_monitor_opened(&s, NULL));
    server_observe(&s, &a);
    server_observe(&s, &b);
    TEST_ASSERT_EQUAL_INT(MF_NOMEM, notify_monitor_opened(&s, NULL));
    TEST_ASSERT_EQUAL_UINT(1, asked);
    TEST_ASSERT_EQUAL_UINT(0, not_asked);
    server_unobserve(&a);
    server_unobserve(&b);
}

int main(void)
{
    UNITY_BEGIN();
    RUN_TEST(test_modules_close_in_the_reverse_order);
    RUN_TEST(test_a_module_that_takes_time_is_waited_for);
    RUN_TEST(test_a_module_that_does_not_open_is_named_and_not_closed);
    RUN_TEST(test_observers_are_notified_until_they_leave);
    RUN_TEST(test_pages_that_cannot_be_added_are_an_error);
    return UNITY_END();
}
