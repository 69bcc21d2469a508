/* closed.c: records of the last closed connections, for /connz?state=closed.  At most
 * max_closed_clients of them, each in one small allocation; one record costs O(its subscriptions,
 * at most 32). */
#include "server/server_impl.h"

#include <stdlib.h>

/* Strings follow the struct, one after the other; counted first, copied second. */
struct strings {
    char *at; /* NULL: only count */
    size_t bytes;
};
static void keep_text(struct strings *s, const char **text)
{
    size_t n;

    if (*text == NULL)
        return;
    n = strlen(*text) + 1;
    if (s->at != NULL) {
        memcpy(s->at, *text, n);
        *text = s->at;
        s->at += n;
    }
    s->bytes += n;
}

static void keep_slice(struct strings *s, struct mf_slice text, struct mf_slice *out)
{
    if (s->at != NULL) {
        memcpy(s->at, text.ptr, text.len);
        *out = mf_slice(s->at, text.len);
        s->at += text.len;
    }
    s->bytes += text.len;
}

static void keep_info(struct strings *s, struct client_info *i)
{
    keep_text(s, &i->ip);
    keep_text(s, &i->name);
    keep_text(s, &i->lang);
    keep_text(s, &i->version);
    if (i->account_tag != NULL && strcmp(i->account_tag, i->account) == 0) {
        keep_text(s, &i->account);
        i->account_tag = i->account;
    } else {
        keep_text(s, &i->account);
        keep_text(s, &i->account_tag);
    }
    keep_text(s, &i->user);
    keep_text(s, &i->issuer);
    keep_text(s, &i->proxy_key);
    /* reason and TLS names are literals or live in OpenSSL's tables */
}

/* Ten thousand closed clients with long subjects must not hold a gigabyte.  Counting and copying
 * add the same bytes, so both passes stop at the same subscription. */
#define CLOSED_TEXT 4096

static size_t keep_subs(struct strings *s, const struct client *c, struct client_sub *out)
{
    size_t n = 0;

    for (size_t i = 0; i < c->subs.cap; i++)
        for (struct table_node *at = c->subs.slot[i];
             at != NULL && n < CLOSED_SUBS && s->bytes < CLOSED_TEXT; at = at->next) {
            struct sub *sub = mf_container(at, struct sub, node);
            struct client_sub info = {.msgs = sub->delivered, .max = sub->max, .cid = c->cid};
            keep_slice(s, sub->rs.pattern, &info.subject);
            if (sub->rs.queue.len > 0)
                keep_slice(s, sub->rs.queue, &info.queue);
            keep_slice(s, mf_slice(sub->sid, sub->sid_len), &info.sid);
            if (out != NULL)
                out[n] = info;
            n++;
        }
    return n;
}

static void free_record(struct closed_client *k)
{
    login_user_release(k->info.who);
    free(k);
}

static void unlist_record(struct closed_client *k)
{
    k->unlisted = true;
    if (k->held == 0)
        free_record(k);
}

void closed_hold(struct closed_client *k)
{
    k->held++;
}

void closed_release(struct closed_client *k)
{
    if (--k->held == 0 && k->unlisted)
        free_record(k);
}

/* c NULL: without subscriptions. */
static void remember(struct server *s, const struct client *c, struct client_info info)
{
    struct strings count = {NULL, 0}, copy;
    struct closed_client *k;
    size_t nsubs;

    if (s->stopping || s->opts->max_closed_clients <= 0)
        return;
    info.stop_ns = loop_wall_ns(s->loop);
    keep_info(&count, &info);
    nsubs = c != NULL ? keep_subs(&count, c, NULL) : 0;
    k = malloc(sizeof *k + nsubs * sizeof *k->subs + count.bytes);
    if (k == NULL)
        return;
    k->info = info;
    (void)login_user_retain(info.who);
    k->held = 0;
    k->unlisted = false;
    k->nsubs = nsubs;
    k->subs = (struct client_sub *)(void *)(k + 1);
    copy = (struct strings){(char *)(k->subs + nsubs), 0};
    keep_info(&copy, &k->info);
    if (c != NULL)
        keep_subs(&copy, c, k->subs);
    mf_list_push(&s->closed, &k->link);
    if (++s->nclosed > (uint64_t)s->opts->max_closed_clients) {
        unlist_record(mf_container(mf_list_pop(&s->closed), struct closed_client, link));
        s->nclosed--;
    }
}

void closed_remember(struct client *c)
{
    struct client_info info;

    client_info_of(c, &info);
    remember(c->srv, c, info);
}

void closed_remember_info(struct server *s, const struct client_info *info)
{
    remember(s, NULL, *info);
}

void closed_free_all(struct server *s)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &s->closed)
        unlist_record(mf_container(pos, struct closed_client, link));
    mf_list_init(&s->closed);
    s->nclosed = 0;
}

void server_each_closed(const struct server *s, void (*visit)(void *arg, struct closed_client *k),
                        void *arg)
{
    struct mf_list *pos;

    mf_list_each(pos, &s->closed) visit(arg, mf_container(pos, struct closed_client, link));
}
