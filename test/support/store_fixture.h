/* store_fixture.h: a store on files in memory that can fail, and waiters that remember.  One test
 * program includes it once: setUp() and tearDown() are here. */
#ifndef TEST_STORE_FIXTURE_H
#define TEST_STORE_FIXTURE_H

#include "fault_io.h"
#include "must.h"
#include "store_drive.h"

#include "store/store.h"

#include "unity.h"

static struct drive d;

/* A waiter that remembers. */
static int order;
struct mark {
    struct store_append a;
    int status, calls, order;
};
static inline void on_mark(struct store_wait *w, int status)
{
    struct mark *m = mf_container(w, struct mark, a.wait);
    m->status = status;
    m->calls++;
    m->order = ++order;
}
static inline struct store_wait *wait(struct mark *m)
{
    *m = (struct mark){.a.wait.done = on_mark, .status = 1};
    return &m->a.wait;
}

static inline void start(struct store_opts o)
{
    struct store_io *files, *io;

    TEST_ASSERT_EQUAL_INT(0, store_io_memory(&files, NULL));
    TEST_ASSERT_EQUAL_INT(0, fault_io_new(&io, files, NULL));
    drive_init(&d, NULL, io, &o, 1);
    drive_open(&d);
}

void setUp(void)
{
    order = 0;
    start((struct store_opts){.segment_min = 64u << 10, .segment_max = 64u << 10, .name = "test"});
}

void tearDown(void)
{
    drive_fini(&d);
}

static inline int append(struct mark *m, const char *key, const char *body, int64_t deadline_ns)
{
    wait(m);
    m->a.key = mf_str(key);
    m->a.body = mf_str(body);
    m->a.deadline_ns = deadline_ns;
    return store_append(d.store, &m->a);
}

/* Written and on disk. */
static inline uint64_t put(const char *key, const char *body)
{
    struct mark m;

    TEST_ASSERT_EQUAL_INT(0, append(&m, key, body, 0));
    drive_idle(&d);
    TEST_ASSERT_EQUAL_INT(1, m.calls);
    TEST_ASSERT_EQUAL_INT(0, m.status);
    return m.a.seq;
}

static inline void assert_body(uint64_t seq, const char *body)
{
    struct store_rec r;

    TEST_ASSERT_EQUAL_INT(0, store_peek(d.store, seq, &r));
    TEST_ASSERT_TRUE(mf_eq_str(r.body, body));
}

static inline void assert_gone(uint64_t seq)
{
    struct store_rec r;

    TEST_ASSERT_EQUAL_INT(MF_NOTFOUND, store_peek(d.store, seq, &r));
}

static inline uint64_t messages(void)
{
    struct store_state st;

    store_state(d.store, &st);
    return st.msgs;
}

#endif
