/* view.c: what pages, metrics and events see of links and remotes. */
#include "leaf/leaf_view.h"

#include "base/buf.h"
#include "leaf/leaf_impl.h"

const struct leaf_link *leaf_find(const struct leaf *lf, uint64_t id)
{
    struct mf_list *pos;

    mf_list_each(pos, &lf->links)
    {
        const struct leaf_link *l = mf_container(pos, struct leaf_link, all);
        if (l->id == id)
            return l->phase == LEAF_USABLE ? l : NULL;
    }
    return NULL;
}

uint64_t leaf_scan(const struct leaf *lf, uint64_t after, unsigned max,
                   void (*visit)(void *arg, const struct leaf_link *l), void *arg)
{
    struct mf_list *pos;
    uint64_t last = 0;

    mf_list_each(pos, &lf->links)
    {
        const struct leaf_link *l = mf_container(pos, struct leaf_link, all);
        if (l->id <= after || l->phase != LEAF_USABLE)
            continue;
        if (max-- == 0)
            return last;
        last = l->id;
        visit(arg, l);
    }
    return last;
}

const char *leaf_user(const struct leaf_link *l)
{
    return l->user;
}

struct login_user *leaf_who(const struct leaf_link *l)
{
    return l->who;
}

const char *leaf_reason(const struct leaf_link *l)
{
    return reason_text(l->reason);
}

/* --- subscriptions ---------------------------------------------------------------------------- */

struct visit_sub {
    void (*fn)(void *arg, struct mf_slice subject, struct mf_slice queue);
    void *arg;
};

static void visit_sub(void *arg, struct table_node *n)
{
    const struct visit_sub *v = arg;
    const struct leaf_sub *s = mf_container(n, struct leaf_sub, node);

    v->fn(v->arg, s->rs.pattern, s->rs.queue);
}

void leaf_subs_begin(const struct leaf_link *l, struct table_scan *scan)
{
    table_scan_begin(scan, &l->subs);
}

bool leaf_subs_scan(const struct leaf_link *l, struct table_scan *scan,
                    void (*visit)(void *arg, struct mf_slice subject, struct mf_slice queue),
                    void *arg)
{
    struct visit_sub v = {visit, arg};

    return table_scan(&l->subs, scan, visit_sub, &v);
}

/* --- remotes ---------------------------------------------------------------------------------- */

static const char *write_urls(const struct options_leaf_remote *o, struct mf_buf *b)
{
    mf_buf_clear(b);
    for (size_t i = 0; i < o->nurls; i++)
        mf_buf_printf(b, "%s%s:%d", i > 0 ? ", " : "", o->urls[i].host, o->urls[i].port);
    return mf_buf_cstr(b);
}

void leaf_each_remote(const struct leaf *lf,
                      void (*visit)(void *arg, const struct leaf_remote_info *r), void *arg)
{
    struct mf_buf urls = MF_BUF_INIT;
    struct mf_list *pos;

    mf_list_each(pos, &lf->remotes)
    {
        const struct leaf_remote *r = mf_container(pos, struct leaf_remote, link);
        if (r->removed) /* its link is ending; the options that it came from are gone */
            continue;
        struct leaf_remote_info i = {.account = r->opt->account,
                                     .urls = write_urls(r->opt, &urls),
                                     .up = r->conn != NULL && r->conn->phase == LEAF_USABLE,
                                     .disabled = r->opt->disabled,
                                     .attempts = r->attempts,
                                     .established = r->established};
        if (!mf_buf_failed(&urls))
            visit(arg, &i);
    }
    mf_buf_fini(&urls);
}
