/* sources.c: all followers of one stream: made to match its configuration, reported, closed. */
#include "source/source_impl.h"

#include <stdlib.h>

void source_host_init(struct source_host *h)
{
    mf_list_init(&h->all);
}

static int64_t now_ns(const struct sources *all)
{
    return loop_mono_ns(all->host->loop);
}

/* --- what the configuration asks for ---------------------------------------------------------- */

static size_t count_wanted(const struct stream_config *c)
{
    return c->mirror != NULL ? 1 : c->sources.n;
}

static const struct stream_source *wanted_at(const struct stream_config *c, size_t i)
{
    struct stream_source *const *list = c->sources.at;

    return c->mirror != NULL ? c->mirror : list[i];
}

/* One that is followed already, taken out of the old list; NULL: none. */
static struct follower *detach_old(struct sources *all, const char *index, bool mirror)
{
    for (size_t i = 0; i < all->n; i++) {
        struct follower *l = all->at[i];
        if (l != NULL && l->mirror == mirror && strcmp(l->index, index) == 0) {
            all->at[i] = NULL;
            return l;
        }
    }
    return NULL;
}

static void drop_new(struct follower **at, const bool *fresh, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (fresh[i])
            follower_free(at[i]);
}

/* Makes the followers of all configured sources; old ones are kept.  fresh: the new ones. */
static int links_make(struct sources *all, struct follower **at, bool *fresh, struct mf_error *e)
{
    const struct stream_config *c = stream_config(all->stream);
    size_t n = count_wanted(c);

    for (size_t i = 0; i < n; i++) {
        struct follower *old;
        at[i] = follower_new(all, wanted_at(c, i), c->mirror != NULL, e);
        if (at[i] == NULL) {
            drop_new(at, fresh, i);
            return e->code;
        }
        fresh[i] = true;
        old = detach_old(all, at[i]->index, at[i]->mirror);
        if (old == NULL)
            continue;
        follower_free(at[i]);
        at[i] = old;
        fresh[i] = false;
    }
    return 0;
}

/* After a failure: what was taken out of the old list is put back, in any order. */
static void put_back(struct sources *all, struct follower **at, const bool *fresh, size_t n)
{
    for (size_t i = 0, to = 0; i < n; i++) {
        if (at[i] == NULL || fresh[i])
            continue;
        while (to < all->n && all->at[to] != NULL)
            to++;
        if (to < all->n)
            all->at[to] = at[i];
    }
}

static void replace_followers(struct sources *all, struct follower **at, const bool *fresh,
                              size_t n)
{
    struct follower **old = all->at;
    size_t nold = all->n;

    all->at = at;
    all->n = n;
    for (size_t i = 0; i < nold; i++) {
        if (old[i] == NULL)
            continue;
        if (!old[i]->mirror)
            resume_forget(old[i]);
        follower_close(old[i], true);
    }
    free(old);
    for (size_t i = 0; i < n; i++) {
        if (fresh[i])
            follower_later(at[i], 0);
        else
            (void)!follower_name(at[i]); /* without memory it keeps the one it has */
    }
}

static int renew_followers(struct sources *all, struct mf_error *e)
{
    size_t n = count_wanted(stream_config(all->stream));
    struct follower **at = calloc(n, sizeof(struct follower *));
    bool *fresh = calloc(n, sizeof *fresh);
    int rc;

    if (at == NULL || fresh == NULL) {
        free(at);
        free(fresh);
        return mf_fail(e, MF_NOMEM, "sources");
    }
    rc = links_make(all, at, fresh, e);
    if (rc == 0) {
        replace_followers(all, at, fresh, n);
    } else {
        put_back(all, at, fresh, n);
        free(at);
    }
    free(fresh);
    return rc;
}

/* --- coming and going ------------------------------------------------------------------------- */

static struct sources *sources_new(struct stream *s, struct source_host *h)
{
    struct sources *all = calloc(1, sizeof *all);

    if (all == NULL)
        return NULL;
    all->stream = s;
    all->host = h;
    mf_list_init(&all->work);
    mf_list_push(&h->all, &all->node);
    stream_on_commit(s, resume_commit, all);
    return all;
}

int sources_follow(struct sources **at, struct stream *s, struct source_host *h, struct mf_error *e)
{
    struct sources *all = *at;
    int rc;

    if (count_wanted(stream_config(s)) == 0) {
        if (all != NULL)
            for (size_t i = 0; i < all->n; i++)
                if (!all->at[i]->mirror)
                    resume_forget(all->at[i]);
        sources_close(all, true);
        *at = NULL;
        return 0;
    }
    if (all == NULL && (all = sources_new(s, h)) == NULL)
        return mf_fail(e, MF_NOMEM, "sources");
    rc = renew_followers(all, e);
    if (rc != 0 && *at == NULL)
        sources_close(all, false);
    else
        *at = all;
    return rc;
}

void sources_close(struct sources *all, bool forever)
{
    if (all == NULL)
        return;
    stream_on_commit(all->stream, NULL, NULL);
    for (size_t i = 0; i < all->n; i++)
        follower_close(all->at[i], forever);
    loop_defer_cancel(all->host->loop, &all->flush);
    loop_defer_cancel(all->host->loop, &all->seek);
    mf_list_del(&all->node);
    lend_clear(&all->hdr);
    lend_clear(&all->mark);
    lend_unmark(all->subject, sizeof all->subject);
    mf_buf_fini(&all->hdr);
    mf_buf_fini(&all->mark);
    free(all->at);
    free(all);
}

void sources_retry(struct source_host *h, const char *upstream)
{
    struct mf_list *pos;

    mf_list_each(pos, &h->all)
    {
        struct sources *all = mf_container(pos, struct sources, node);
        for (size_t i = 0; i < all->n; i++) {
            struct follower *l = all->at[i];
            if (l->src.external != NULL || strcmp(l->src.name, upstream) != 0 ||
                (l->state != FOLLOWER_WAITING && l->state != FOLLOWER_FOLLOWING))
                continue;
            l->fails = 0;
            follower_later(l, 0);
        }
    }
}

void sources_linked(struct source_host *h)
{
    struct mf_list *pos;

    mf_list_each(pos, &h->all)
    {
        struct sources *all = mf_container(pos, struct sources, node);
        for (size_t i = 0; i < all->n; i++)
            follower_linked(all->at[i]);
    }
}

/* --- what is known of them -------------------------------------------------------------------- */

bool sources_caught_up(const struct sources *all)
{
    return all != NULL && all->n > 0 && all->at[0]->mirror && all->at[0]->near;
}

void sources_each(const struct sources *all, void (*visit)(void *arg, const struct source_info *i),
                  void *arg)
{
    for (size_t i = 0; all != NULL && i < all->n; i++) {
        const struct follower *l = all->at[i];
        visit(arg, &(struct source_info){
                       .config = &l->src,
                       .mirror = l->mirror,
                       .lag = l->lag,
                       .seq = l->mirror ? 0 : l->seen,
                       .active_ns = l->heard_ns == 0 ? -1 : now_ns(all) - l->heard_ns,
                       .error = l->failed ? &l->error : NULL,
                   });
    }
}
