/* account_world.c: accounts and clients for tests. */
#include "account_world.h"
#include "client_publish.h"

#include <stdio.h>
#include <stdlib.h>

#include "unity.h"

void world_init(struct world *w)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* after a failure the router may abort: say why before */
    memset(w, 0, sizeof *w);
    w->o.accounts = w->accounts;
    w->now_ns = 1000;
}

static size_t index_of(struct world *w, const char *name)
{
    for (size_t i = 0; i < w->o.naccounts; i++) {
        if (strcmp(w->accounts[i].name, name) == 0)
            return i;
    }
    TEST_FAIL_MESSAGE("no such account");
    return 0;
}

struct options_account *world_account(struct world *w, const char *name)
{
    size_t i = w->o.naccounts++;

    TEST_ASSERT_LESS_THAN_size_t(WORLD_ACCOUNTS, i);
    w->accounts[i] = (struct options_account){.name = (char *)name,
                                              .exports = w->exports[i],
                                              .imports = w->imports[i],
                                              .mappings = w->mappings[i]};
    return &w->accounts[i];
}

/* The last one takes its place. */
void world_drop_account(struct world *w, const char *name)
{
    size_t i = index_of(w, name), last = --w->o.naccounts;

    if (i == last)
        return;
    memcpy(w->exports[i], w->exports[last], sizeof w->exports[i]);
    memcpy(w->imports[i], w->imports[last], sizeof w->imports[i]);
    memcpy(w->mappings[i], w->mappings[last], sizeof w->mappings[i]);
    w->accounts[i] = w->accounts[last];
    w->accounts[i].exports = w->exports[i];
    w->accounts[i].imports = w->imports[i];
    w->accounts[i].mappings = w->mappings[i];
}

struct options_export *world_export(struct world *w, const char *account, bool service,
                                    const char *subject)
{
    struct options_account *a = &w->accounts[index_of(w, account)];
    struct options_export *x = &a->exports[a->nexports++];

    *x = (struct options_export){.service = service, .subject = (char *)subject};
    return x;
}

struct options_import *world_import(struct world *w, const char *account, bool service,
                                    const char *from, const char *subject, const char *to)
{
    struct options_account *a = &w->accounts[index_of(w, account)];
    struct options_import *im = &a->imports[a->nimports++];

    *im = (struct options_import){
        .service = service, .account = (char *)from, .subject = (char *)subject, .to = (char *)to};
    return im;
}

void world_map(struct world *w, const char *account, const char *source,
               struct options_mapping_dest *dests, size_t n)
{
    struct options_account *a = &w->accounts[index_of(w, account)];

    a->mappings[a->nmappings++] = (struct options_mapping){(char *)source, dests, n};
}

static int64_t now(void *arg)
{
    return ((struct world *)arg)->now_ns;
}

int world_try(struct world *w, struct mf_error *e)
{
    return accounts_new(&w->as, &w->o, now, w, e);
}

void world_start(struct world *w)
{
    struct mf_error e = {0};

    TEST_ASSERT_EQUAL_INT_MESSAGE(0, world_try(w, &e), e.text);
}

int world_reload(struct world *w, struct mf_error *e)
{
    return accounts_reload(w->as, &w->o, NULL, NULL, e);
}

void world_fini(struct world *w)
{
    heard(w);
    accounts_free(w->as);
    w->as = NULL;
}

struct account *world_get(struct world *w, const char *name)
{
    struct account *a = accounts_get(w->as, name);

    TEST_ASSERT_NOT_NULL_MESSAGE(a, name);
    return a;
}

static bool hear(struct router_sub *s, const struct router_msg *m)
{
    struct listener *l = mf_container(s, struct listener, s);
    struct world *w = l->w;
    const struct mf_msg *msg = m->msg;
    char line[1024];

    if (l->refuse)
        return false;
    TEST_ASSERT_LESS_THAN_size_t(WORLD_LOG, w->nlog);
    snprintf(line, sizeof line, "%s %.*s%s%.*s%s%.*s", l->name, MF_FMT(msg->subject),
             msg->reply.len > 0 ? " >" : "", MF_FMT(msg->reply), msg->payload.len > 0 ? " =" : "",
             MF_FMT(msg->payload));
    w->log[w->nlog++] = mf_slice_dup(mf_str(line));
    l->count++;
    if (l->on != NULL)
        l->on(l, m);
    return true;
}

void listen_to(struct listener *l, struct world *w, const char *account, const char *name,
               const char *pattern, const char *queue)
{
    memset(l, 0, sizeof *l);
    l->s.deliver = hear;
    l->w = w;
    l->a = world_get(w, account);
    l->name = name;
    TEST_ASSERT_EQUAL_INT(0, account_subscribe(l->a, mf_str(pattern), mf_str(queue), &l->s));
}

void leave(struct listener *l)
{
    account_unsubscribe(l->a, &l->s);
}

size_t say_as(struct world *w, const char *account, const char *subject, const char *reply,
              const char *payload, const void *origin)
{
    struct mf_msg msg = {mf_str(subject), mf_str(reply), MF_SLICE_NONE, mf_str(payload)};
    struct router_msg rm = {.route = msg.subject, .msg = &msg, .origin = origin};

    return client_publish(world_get(w, account), &rm);
}

size_t say(struct world *w, const char *account, const char *subject, const char *reply,
           const char *payload)
{
    return say_as(w, account, subject, reply, payload, NULL);
}

static int order(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

const char *heard(struct world *w)
{
    size_t n = 0;

    qsort(w->log, w->nlog, sizeof *w->log, order);
    w->joined[0] = '\0';
    for (size_t i = 0; i < w->nlog; i++) {
        if (n < sizeof w->joined)
            n += (size_t)snprintf(w->joined + n, sizeof w->joined - n, "%s%s", i > 0 ? "|" : "",
                                  w->log[i]);
        free(w->log[i]);
    }
    w->nlog = 0;
    return w->joined;
}

const char *last_reply(const struct world *w)
{
    static char reply[256];
    const char *at;

    TEST_ASSERT_GREATER_THAN_size_t(0, w->nlog);
    at = strstr(w->log[w->nlog - 1], " >");
    TEST_ASSERT_NOT_NULL_MESSAGE(at, w->log[w->nlog - 1]);
    snprintf(reply, sizeof reply, "%.*s", (int)strcspn(at + 2, " "), at + 2);
    return reply;
}
