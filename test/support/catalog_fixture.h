/* catalog_fixture.h: a catalog in a temporary folder, and a disk that refuses to rename or sync. */
#ifndef TEST_CATALOG_FIXTURE_H
#define TEST_CATALOG_FIXTURE_H

#include "stream/stream_impl.h"

#include "stream/catalog.h"
#include "base/clock.h"
#include "subject/pattern_set.h"
#include "store/store_folder.h"

#include "config_rows.h"

#include "unity.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static struct loop *loop;
static struct catalog *cat;
static char dir[64];
static struct store_folder *folder; /* dir */
static struct stream_usage account, server;
static uint64_t batches, fasts;
static pthread_t loop_thread;
static atomic_bool hold_sync, held; /* the next call stays in it while `held` */
static unsigned refuse_syncs;       /* so many calls */
static bool refuse_rename, bad_transform, elsewhere;
static const char *subject; /* of streams that are made and loaded; NULL: none */

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
int __real_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to);
int __wrap_renameat(int a, const char *from, int b, const char *to)
{
    if (refuse_rename) {
        errno = EIO;
        return -1;
    }
    return __real_renameat(a, from, b, to);
}
int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    if (atomic_exchange(&hold_sync, false)) {
        atomic_store(&held, true);
        while (atomic_load(&held))
            sched_yield();
    }
    if (refuse_syncs > 0) {
        refuse_syncs--;
        errno = EIO;
        return -1;
    }
    return __real_fsync(fd);
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

static inline int64_t now_ns(void *arg)
{
    (void)arg;
    elsewhere |= !pthread_equal(pthread_self(), loop_thread);
    return 1700000000 * CLOCK_S;
}

static const struct stream_host host_start = {.now_ns = now_ns,
                                              .account = "$G",
                                              .account_usage = &account,
                                              .server_usage = &server,
                                              .account_max = {-1, -1, -1},
                                              .server_max = {-1, -1, -1},
                                              .batches = &batches,
                                              .fast_batches = &fasts};
static struct stream_host host;

static inline void unlimited(struct stream_config *c)
{
    c->max_msgs = c->max_bytes = c->max_msgs_per_subject = c->max_msg_size = -1;
}

/* The name alone is written. */
static inline int encode(const struct stream_config *c, struct mf_buf *out)
{
    mf_buf_puts(out, c->name);
    return mf_buf_failed(out) ? MF_NOMEM : 0;
}

static inline void put_subject(struct stream_config *c)
{
    if (subject == NULL)
        return;
    c->subjects.at = arena_alloc(&c->mem, sizeof(char *));
    c->subjects.at[0] = arena_str(&c->mem, subject);
    c->subjects.n = 1;
}

static inline int decode(struct mf_slice text, struct stream_config *c, struct mf_error *e)
{
    (void)e;
    unlimited(c);
    c->name = arena_dup(&c->mem, text);
    put_subject(c);
    if (bad_transform) {
        c->subject_transform = arena_alloc(&c->mem, sizeof *c->subject_transform);
        *c->subject_transform = (struct stream_mapping){0};
        c->subject_transform->src = arena_dup(&c->mem, MF_LIT("a.*"));
        c->subject_transform->dest = arena_dup(&c->mem, MF_LIT("b.{{wildcard(7)}}"));
    }
    return 0;
}

static inline void nobody(void *arg, struct stream *s)
{
    (void)arg;
    (void)s;
}

static inline void catalog_start(void)
{
    struct catalog_opts o = {.root = folder,
                             .dir = "",
                             .codec = {encode, decode},
                             .host = &host,
                             .added = nobody,
                             .changed = nobody,
                             .removed = nobody};
    struct mf_error e;

    TEST_ASSERT_EQUAL_INT_MESSAGE(0, catalog_open(&cat, &o, &e), e.text);
}

static inline void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static inline void catalog_stop(void)
{
    bool done = false;
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    catalog_close(cat, on_closed, &done);
    while (!done && clock_mono_ns() < give_up)
        loop_turn(loop);
    TEST_ASSERT_TRUE(done);
    cat = NULL;
}

void setUp(void)
{
    struct mf_error e;

    loop_thread = pthread_self();
    refuse_rename = bad_transform = elsewhere = false;
    subject = NULL;
    refuse_syncs = 0;
    atomic_store(&hold_sync, false);
    snprintf(dir, sizeof dir, "/tmp/mayfly-catalog-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL_INT(0, store_folder_at(&folder, dir, &e));
    TEST_ASSERT_EQUAL_INT(0, loop_new(&loop, &e));
    host = host_start;
    host.loop = loop;
}

static inline int forget(void *arg, const char *name)
{
    struct mf_error e;

    (void)arg;
    return store_folder_remove(folder, name, &e);
}

void tearDown(void)
{
    struct mf_error e;

    if (cat != NULL)
        catalog_stop();
    refuse_rename = false;
    TEST_ASSERT_EQUAL_INT(0, store_folder_list(folder, forget, NULL, &e));
    store_folder_release(folder);
    rmdir(dir);
    loop_free(loop);
}

struct told {
    struct catalog_op op;
    bool done;
    struct stream *stream;
    int err_code;
};

static inline void on_done(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct told *t = mf_container(op, struct told, op);

    t->done = true;
    t->stream = s;
    t->err_code = e == NULL ? 0 : e->err_code;
}

static inline void wait_for(struct told *t)
{
    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    while (!t->done && clock_mono_ns() < give_up)
        loop_turn(loop);
    TEST_ASSERT_TRUE(t->done);
}

static inline struct told make(const char *name, uint64_t first_seq)
{
    struct told t = {.op.done = on_done};
    struct stream_config c;

    stream_config_init(&c);
    unlimited(&c);
    c.name = arena_dup(&c.mem, mf_str(name));
    c.first_seq = first_seq;
    put_subject(&c);
    catalog_create(cat, &c, 0, &t.op);
    wait_for(&t);
    return t;
}

static inline void put_done(struct stream_publish *p, const struct stream_ack *a)
{
    TEST_ASSERT_NULL_MESSAGE(a->error, a->error == NULL ? "" : a->error->text);
    p->done = NULL;
}

static inline void put(struct stream *s)
{
    struct stream_publish p = {.msg = {.subject = MF_LIT("a"), .payload = MF_LIT("x")},
                               .done = put_done};

    int64_t give_up = clock_mono_ns() + 10 * CLOCK_S;

    stream_publish(s, &p);
    while (p.done != NULL && clock_mono_ns() < give_up)
        loop_turn(loop);
    TEST_ASSERT_NULL(p.done);
}

static inline struct told erase(struct stream *s)
{
    struct told t = {.op.done = on_done};

    catalog_delete(cat, s, &t.op);
    wait_for(&t);
    return t;
}

static inline uint64_t messages(struct stream *s)
{
    struct stream_state state;

    stream_state(s, &state);
    return state.msgs;
}

#endif
