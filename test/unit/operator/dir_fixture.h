/* dir_fixture.h: a directory of account JWTs with its resolver, for test_dir.c and
 * test_dir_faults.c. */
#ifndef MAYFLY_TEST_DIR_FIXTURE_H
#define MAYFLY_TEST_DIR_FIXTURE_H

#include "base/clock.h"
#include "codec/sha256.h"
#include "operator/resolver.h"
#include "support/tokens.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <unity.h>

static char dir[64];
static struct loop *loop;
static struct resolver *r;
static struct options *o;
static struct token_key op;

/* --- fixture ---------------------------------------------------------------------------------- */

static inline void closed(void *arg)
{
    *(bool *)arg = true;
}

static inline void turn(void)
{
    loop_turn(loop);
    usleep(200);
}

static inline void close_it(void)
{
    bool done = false;

    if (r != NULL && !resolver_close(r, closed, &done))
        while (!done)
            turn();
    r = NULL;
    options_free(o);
    o = NULL;
}

static inline int try_open(const char *resolver, struct mf_error *e)
{
    struct token_key sys = token_key(NKEY_ACCOUNT, 9999);
    char more[100], text[4096], *t;
    struct resolver_setup s;
    snprintf(more, sizeof more, ",\"system_account\":\"%s\"", sys.text);
    t = token_make(&op, &op, "operator", 1700000000, 0, more);
    snprintf(text, sizeof text, "operator: %s\nresolver { dir: \"%s\", %s", t, dir, resolver);
    free(t);
    TEST_ASSERT_EQUAL_MESSAGE(0, options_parse(&o, mf_str(text), "t", e), e->text);
    s = (struct resolver_setup){.loop = loop, .options = o};
    return resolver_open(&r, &s, e);
}

static inline void open_it(const char *resolver)
{
    struct mf_error e = {0};

    TEST_ASSERT_EQUAL_MESSAGE(0, try_open(resolver, &e), e.text);
}

void setUp(void)
{
    struct mf_error e;

    snprintf(dir, sizeof dir, "/tmp/mayfly-dir-XXXXXX");
    TEST_ASSERT_NOT_NULL(mkdtemp(dir));
    TEST_ASSERT_EQUAL(0, loop_new(&loop, &e));
    op = token_key(NKEY_OPERATOR, 1);
}

void tearDown(void)
{
    char command[200];

    close_it();
    loop_free(loop);
    snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", dir, dir);
    TEST_ASSERT_EQUAL(0, system(command)); /* NOLINT */
}

static inline char *account_token(uint32_t n, long iat, long exp)
{
    struct token_key a = token_key(NKEY_ACCOUNT, n);

    return token_make(&op, &a, "account", iat, exp, "");
}

static inline const char *file_of(uint32_t n, const char *suffix)
{
    static char path[200];
    struct token_key a = token_key(NKEY_ACCOUNT, n);

    snprintf(path, sizeof path, "%s/%s%s", dir, a.text, suffix);
    return path;
}

static inline bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static inline void put_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    TEST_ASSERT_NOT_NULL(f);
    fputs(text, f);
    fclose(f);
}

struct result {
    int rc;
    bool done;
    char text[4096], why[200];
};
struct asked {
    struct resolver_lookup q;
    struct resolver_change c;
    struct result out;
};

static inline void looked(struct resolver_lookup *q, int rc, struct mf_slice jwt, const char *why)
{
    struct result *out = &mf_container(q, struct asked, q)->out;

    out->rc = rc;
    out->done = true;
    snprintf(out->text, sizeof out->text, "%.*s", MF_FMT(jwt));
    snprintf(out->why, sizeof out->why, "%s", why);
}

static inline void changed(struct resolver_change *q, int rc, const char *why)
{
    struct result *out = &mf_container(q, struct asked, c)->out;

    out->rc = rc;
    out->done = true;
    snprintf(out->why, sizeof out->why, "%s", why);
}

static inline struct result look_up(uint32_t n)
{
    struct asked a = {.q.done = looked};
    struct token_key k = token_key(NKEY_ACCOUNT, n);

    memcpy(a.q.account, k.text, sizeof a.q.account);
    resolver_lookup(r, &a.q);
    TEST_ASSERT_FALSE(a.out.done); /* never from inside the call */
    while (!a.out.done)
        turn();
    return a.out;
}

static inline struct result store_text(uint32_t n, const char *text, bool newer_only)
{
    struct asked a = {.c.done = changed};
    struct token_key k = token_key(NKEY_ACCOUNT, n);

    memcpy(a.c.account, k.text, sizeof a.c.account);
    resolver_store(r, &a.c, mf_str(text), newer_only);
    TEST_ASSERT_FALSE(a.out.done);
    while (!a.out.done)
        turn();
    return a.out;
}

static inline int store(uint32_t n, long iat, long exp)
{
    char *t = account_token(n, iat, exp);
    struct result out = store_text(n, t, false);

    free(t);
    return out.rc;
}

static inline struct result remove_one(uint32_t n)
{
    struct asked a = {.c.done = changed};
    struct token_key k = token_key(NKEY_ACCOUNT, n);

    memcpy(a.c.account, k.text, sizeof a.c.account);
    resolver_remove(r, &a.c);
    while (!a.out.done)
        turn();
    return a.out;
}

struct walked {
    struct resolver_walk q;
    size_t n, bytes;
    bool done;
    int rc;
    char last[NKEY_TEXT];
};
static inline void walk_account(struct resolver_walk *q, const char *account)
{
    struct walked *w = mf_container(q, struct walked, q);

    w->n++;
    snprintf(w->last, sizeof w->last, "%s", account);
}
static inline void walk_jwt(struct resolver_walk *q, const char *account, struct mf_slice jwt)
{
    walk_account(q, account);
    mf_container(q, struct walked, q)->bytes += jwt.len;
}
static inline void walk_done(struct resolver_walk *q, int rc)
{
    mf_container(q, struct walked, q)->done = true;
    mf_container(q, struct walked, q)->rc = rc;
}
static inline struct walked walk(bool texts)
{
    struct walked w = {.q = {.done = walk_done}};

    w.q.account = texts ? NULL : walk_account;
    w.q.jwt = texts ? walk_jwt : NULL;
    resolver_walk(r, &w.q);
    while (!w.done)
        turn();
    TEST_ASSERT_EQUAL(0, w.rc);
    return w;
}

#endif
