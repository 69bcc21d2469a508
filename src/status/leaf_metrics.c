/* leaf_metrics.c: leaf links and remotes on /metrics.
 *
 * Series of a link are named by account and peer.  Two links to peers of the same name are one
 * series, their sum: Prometheus refuses a page with equal series. */
#include "status/pages_leaf_impl.h"

#include "base/array.h"
#include "monitor/prom.h"

#include <stdlib.h>

enum {
    V_LINKS,
    V_RTT, /* the longest */
    V_IN_MSGS,
    V_IN_BYTES,
    V_OUT_MSGS,
    V_OUT_BYTES,
    V_INTEREST,
    V_PENDING,
    V_COUNT
};
static const struct {
    const char *name, *type, *help;
} series[V_COUNT] = {
    {"mayfly_leaf_up", "gauge", "Usable links to this peer."},
    {"mayfly_leaf_rtt_seconds", "gauge", "Round trip time of the link."},
    {"mayfly_leaf_in_msgs_total", "counter", "Messages received over the link."},
    {"mayfly_leaf_in_bytes_total", "counter", "Header and payload bytes received over the link."},
    {"mayfly_leaf_out_msgs_total", "counter", "Messages sent over the link."},
    {"mayfly_leaf_out_bytes_total", "counter", "Header and payload bytes sent over the link."},
    {"mayfly_leaf_interest", "gauge", "Subjects and queues that the peer announced."},
    {"mayfly_leaf_pending_bytes", "gauge", "Bytes that wait for the peer to read."},
};

struct link_row {
    const char *account, *name;
    bool spoke;
    double value[V_COUNT];
};
struct remote_row {
    const char *account, *urls;
    bool up;
    uint64_t attempts, established;
};
struct leaf_metrics { /* a page under way */
    struct status *s;
    struct arena mem;
    struct link_row *links;
    struct remote_row *remotes;
    size_t nlinks, links_room, nremotes, remotes_room;
    size_t at, series;
    bool failed;
};

static void metrics_free(void *state)
{
    struct leaf_metrics *m = state;

    free(m->links);
    free(m->remotes);
    arena_fini(&m->mem);
    free(m);
}

static void add_link(void *arg, const struct leaf_link *l)
{
    struct leaf_metrics *m = arg;
    struct leaf_info i;

    if (mf_array_reserve(&m->links, &m->links_room, m->nlinks + 1, sizeof *m->links) != 0) {
        m->failed = true;
        return;
    }
    leaf_info_of(l, &i);
    m->links[m->nlinks++] = (struct link_row){
        .account = arena_str(&m->mem, i.account),
        .name = arena_str(&m->mem, i.name != NULL ? i.name : ""),
        .spoke = i.spoke,
        .value = {[V_LINKS] = 1,
                  [V_RTT] = (double)i.rtt_ns / 1e9,
                  [V_IN_MSGS] = (double)i.in_msgs,
                  [V_IN_BYTES] = (double)i.in_bytes,
                  [V_OUT_MSGS] = (double)i.out_msgs,
                  [V_OUT_BYTES] = (double)i.out_bytes,
                  [V_INTEREST] = (double)i.nsubs,
                  [V_PENDING] = (double)i.pending},
    };
}

static void add_remote(void *arg, const struct leaf_remote_info *r)
{
    struct leaf_metrics *m = arg;

    if (mf_array_reserve(&m->remotes, &m->remotes_room, m->nremotes + 1, sizeof *m->remotes) != 0) {
        m->failed = true;
        return;
    }
    m->remotes[m->nremotes++] = (struct remote_row){.account = arena_str(&m->mem, r->account),
                                                    .urls = arena_str(&m->mem, r->urls),
                                                    .up = r->up,
                                                    .attempts = r->attempts,
                                                    .established = r->established};
}

static int by_series(const void *x, const void *y)
{
    const struct link_row *a = x, *b = y;
    int d = strcmp(a->account, b->account);

    d = d != 0 ? d : strcmp(a->name, b->name);
    return d != 0 ? d : (int)a->spoke - (int)b->spoke;
}

/* Rows of one series follow each other. */
static void merge_rows(struct leaf_metrics *m)
{
    size_t kept = 0;

    for (size_t i = 0; i < m->nlinks; i++) {
        struct link_row *to = &m->links[kept];
        if (i == 0 || by_series(to, &m->links[i]) != 0) {
            kept += i != 0;
            m->links[kept] = m->links[i];
            continue;
        }
        for (int v = 0; v < V_COUNT; v++) {
            double x = m->links[i].value[v];
            to->value[v] = v != V_RTT ? to->value[v] + x : x > to->value[v] ? x : to->value[v];
        }
    }
    m->nlinks = m->nlinks > 0 ? kept + 1 : 0;
}

static bool collect_step(struct doc *d, void *state)
{
    struct leaf_metrics *m = state;

    leaf_each(m->s->leaf, add_link, m);
    leaf_each_remote(m->s->leaf, add_remote, m);
    if (m->failed || m->mem.failed) {
        doc_fail(d, MF_NOMEM, "metrics of leaf links");
        return false;
    }
    if (m->nlinks > 0)
        qsort(m->links, m->nlinks, sizeof *m->links, by_series);
    merge_rows(m);
    return false;
}

/* One sample.  A head without samples would not be valid. */
static bool links_step(struct doc *d, void *state)
{
    struct leaf_metrics *m = state;
    size_t k = m->series;

    if (k == V_COUNT || m->nlinks == 0)
        return false;
    if (m->at == 0)
        prom_head(&d->body, series[k].name, series[k].type, series[k].help);
    if (m->at < m->nlinks) {
        const struct link_row *r = &m->links[m->at++];
        prom_label(&d->body, series[k].name, '{', "account", r->account);
        prom_label(&d->body, "", ',', "peer", r->name);
        prom_label(&d->body, "", ',', "role", r->spoke ? "spoke" : "hub");
        prom_value(&d->body, "}", r->value[k]);
    }
    if (m->at >= m->nlinks) {
        m->at = 0;
        m->series++;
    }
    return true;
}

static void remote_sample(struct mf_buf *b, const char *name, const struct remote_row *r,
                          double value)
{
    prom_label(b, name, '{', "account", r->account);
    prom_label(b, "", ',', "urls", r->urls);
    prom_value(b, "}", value);
}

/* All of them: a configuration file has few. */
static bool remotes_step(struct doc *d, void *state)
{
    static const char up[] = "mayfly_leaf_remote_up",
                      attempts[] = "mayfly_leaf_remote_attempts_total",
                      links[] = "mayfly_leaf_remote_links_total";
    struct leaf_metrics *m = state;
    struct mf_buf *b = &d->body;

    if (m->nremotes == 0)
        return false;
    prom_head(b, up, "gauge", "1: the link of this configured remote is usable.");
    for (size_t i = 0; i < m->nremotes; i++)
        remote_sample(b, up, &m->remotes[i], m->remotes[i].up);
    prom_head(b, attempts, "counter", "Times that this remote was dialled.");
    for (size_t i = 0; i < m->nremotes; i++)
        remote_sample(b, attempts, &m->remotes[i], (double)m->remotes[i].attempts);
    prom_head(b, links, "counter", "Links of this remote that became usable.");
    for (size_t i = 0; i < m->nremotes; i++)
        remote_sample(b, links, &m->remotes[i], (double)m->remotes[i].established);
    return false;
}

void page_leaf_metrics(struct status *s, struct doc *d)
{
    static const doc_step steps[] = {collect_step, links_step, remotes_step, NULL};
    struct leaf_metrics *m;

    if (s->leaf == NULL)
        return;
    m = calloc(1, sizeof *m);
    if (m != NULL)
        m->s = s;
    doc_add(d, steps, m, metrics_free);
}
