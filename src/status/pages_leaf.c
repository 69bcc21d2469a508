/* pages_leaf.c: /leafz in slices, and the parts of other pages that leaf links add. */
#include "status/pages_leaf_impl.h"

#include "base/clock.h"
#include "session/login.h"

#include <stdio.h>
#include <stdlib.h>

#define ROWS_AT_A_TIME 64
#define SUB_SLOTS      32 /* of a link's table of subscriptions, in one step */

struct leafz { /* a page under way */
    struct status *s;
    struct arena mem;
    const char *key, *account; /* account NULL: of all */
    bool subs, in_row, found;
    uint64_t at;   /* id of the last link */
    uint64_t rows; /* of the page */
    struct jsonw *w;
    struct table_scan scan;
};

static void leafz_free(void *state)
{
    struct leafz *z = state;

    arena_fini(&z->mem);
    free(z);
}

static bool is_asked(const struct leafz *z, const struct leaf_info *i)
{
    return z->account == NULL || strcmp(z->account, i->account) == 0;
}

static void count_row(void *arg, const struct leaf_link *l)
{
    struct leafz *z = arg;
    struct leaf_info i;

    leaf_info_of(l, &i);
    z->rows += is_asked(z, &i);
}

/* Up to the subscriptions. */
static void row_begin(struct jsonw *w, const struct leaf_info *i)
{
    char text[CLOCK_TEXT];

    jsonw_object(w, NULL);
    jsonw_u64(w, "id", i->id);
    jsonw_str(w, "name", i->name);
    jsonw_bool(w, "is_spoke", i->spoke);
    jsonw_opt_bool(w, "is_isolated", i->isolated);
    jsonw_str(w, "account", i->account);
    jsonw_str(w, "ip", i->ip);
    jsonw_i64(w, "port", i->port);
    jsonw_str(w, "rtt", clock_duration(text, i->rtt_ns));
    jsonw_u64(w, "in_msgs", i->in_msgs);
    jsonw_u64(w, "out_msgs", i->out_msgs);
    jsonw_u64(w, "in_bytes", i->in_bytes);
    jsonw_u64(w, "out_bytes", i->out_bytes);
    jsonw_u64(w, "subscriptions", i->nsubs);
}

/* The fields behind `compression` are Mayfly's own. */
static void row_end(struct jsonw *w, const struct leaf_info *i)
{
    jsonw_str(w, "compression", i->compression != NULL ? i->compression : "off");
    page_proxy(w, i->proxy_key);
    if (strcmp(i->account_tag, i->account) != 0)
        jsonw_str(w, "account_tag", i->account_tag);
    jsonw_opt_str(w, "cluster", i->cluster);
    jsonw_opt_str(w, "domain", i->domain);
    jsonw_opt_str(w, "remote_account", i->remote_account);
    jsonw_opt_str(w, "version", i->version);
    jsonw_bool(w, "solicited", i->solicited);
    jsonw_time(w, "start", i->start_wall_ns);
    jsonw_u64(w, "reconnects", i->reconnects);
    jsonw_u64(w, "pending_bytes", i->pending);
    jsonw_end(w);
}

static void write_row(void *arg, const struct leaf_link *l)
{
    struct leafz *z = arg;
    struct leaf_info i;

    leaf_info_of(l, &i);
    if (!is_asked(z, &i))
        return;
    row_begin(z->w, &i);
    z->in_row = z->subs && i.nsubs > 0;
    if (z->in_row) {
        jsonw_array(z->w, "subscriptions_list");
        leaf_subs_begin(l, &z->scan);
    } else {
        row_end(z->w, &i);
    }
}

static void write_sub(void *arg, struct mf_slice subject, struct mf_slice queue)
{
    (void)queue;
    jsonw_slice(((struct leafz *)arg)->w, NULL, subject);
}

static bool begin_step(struct doc *d, void *state)
{
    struct leafz *z = state;

    page_begin(z->s, &d->w, z->key);
    leaf_each(z->s->leaf, count_row, z);
    jsonw_u64(&d->w, "leafnodes", z->rows);
    jsonw_array(&d->w, "leafs");
    return false;
}

/* The subscriptions of one link.  It may have closed since. */
static void subs_slice(struct leafz *z)
{
    const struct leaf_link *l = leaf_find(z->s->leaf, z->at);
    struct leaf_info i;
    bool more = l != NULL;

    for (int k = 0; more && k < SUB_SLOTS; k++)
        more = leaf_subs_scan(l, &z->scan, write_sub, z);
    if (more)
        return;
    jsonw_end(z->w);
    z->in_row = false;
    if (l == NULL) {
        jsonw_end(z->w);
        return;
    }
    leaf_info_of(l, &i);
    row_end(z->w, &i);
}

static bool rows_step(struct doc *d, void *state)
{
    struct leafz *z = state;
    uint64_t last;

    z->w = &d->w;
    if (z->in_row) {
        subs_slice(z);
        return true;
    }
    last = leaf_scan(z->s->leaf, z->at, z->subs ? 1 : ROWS_AT_A_TIME, write_row, z);
    if (last == 0)
        return false;
    z->at = last;
    return true;
}

static bool end_step(struct doc *d, void *state)
{
    (void)state;
    jsonw_end(&d->w);
    jsonw_end(&d->w);
    return false;
}

/* Without leaf links. */
static bool none_step(struct doc *d, void *state)
{
    struct leafz *z = state;

    page_begin(z->s, &d->w, z->key);
    jsonw_i64(&d->w, "leafnodes", 0);
    jsonw_array(&d->w, "leafs");
    return false;
}

int page_leafz(struct status *s, const struct leafz_query *q, struct doc *d, const char *key,
               struct mf_error *e)
{
    static const doc_step steps[] = {begin_step, rows_step, end_step, NULL};
    static const doc_step none[] = {none_step, end_step, NULL};
    struct leafz *z = calloc(1, sizeof *z);

    if (z == NULL)
        return mf_fail(e, MF_NOMEM, "leafz");
    z->s = s;
    z->key = key;
    z->subs = q->subs;
    if (q->account != NULL && q->account[0] != '\0')
        z->account = arena_str(&z->mem, q->account);
    if (z->mem.failed) {
        leafz_free(z);
        return mf_fail(e, MF_NOMEM, "leafz");
    }
    doc_add(d, s->leaf != NULL ? steps : none, z, leafz_free);
    return 0;
}

/* --- parts of /varz --------------------------------------------------------------------------- */

void page_leaf_totals(const struct status *s, struct leaf_totals *out)
{
    if (s->leaf != NULL)
        *out = *leaf_totals(s->leaf);
    else
        *out = (struct leaf_totals){0};
}

uint32_t page_leaf_count(const struct status *s)
{
    return s->leaf != NULL ? leaf_count(s->leaf) : 0;
}

static void write_urls(struct jsonw *w, const struct options_leaf_remote *r)
{
    jsonw_array(w, "urls");
    for (size_t i = 0; i < r->nurls; i++) {
        char text[320];
        snprintf(text, sizeof text, "%s:%d", r->urls[i].host, r->urls[i].port);
        jsonw_str(w, NULL, text);
    }
    jsonw_end(w);
}

static double tls_seconds(const struct options_tls *t)
{
    return (double)(t->timeout_ns > 0 ? t->timeout_ns : 2 * CLOCK_S) / 1e9;
}

static void write_remote(struct jsonw *w, const struct options_leaf_remote *r)
{
    jsonw_object(w, NULL);
    jsonw_str(w, "local_account", r->account);
    jsonw_f64(w, "tls_timeout", tls_seconds(&r->tls));
    write_urls(w, r);
    if (r->deny_imports.n + r->deny_exports.n > 0) {
        jsonw_object(w, "deny");
        page_names(w, "exports", &r->deny_exports);
        page_names(w, "imports", &r->deny_imports);
        jsonw_end(w);
    }
    jsonw_opt_bool(w, "disabled", r->disabled);
    jsonw_end(w);
}

void page_leaf_config(struct status *s, struct jsonw *w)
{
    const struct options *o = server_options(s->server);
    const struct options_leaf *l = o->leaf;
    int port = server_open_port(s->server, SERVER_LEAFNODES, -1);

    jsonw_object(w, "leaf");
    if (o->leafnodes.set) {
        jsonw_opt_str(w, "host", o->leafnodes.listens ? o->leafnodes.host : NULL);
        if (port >= 0)
            jsonw_i64(w, "port", port);
        jsonw_f64(w, "auth_timeout", (double)l->auth.timeout_ns / 1e9);
        jsonw_f64(w, "tls_timeout", tls_seconds(&l->tls));
        jsonw_opt_bool(w, "tls_required", l->tls.set);
        jsonw_opt_bool(w, "tls_verify", l->tls.verify || l->tls.verify_and_map);
        jsonw_i64(w, "write_deadline", l->write_deadline_ns);
        if (l->nremotes > 0) {
            jsonw_array(w, "remotes");
            for (size_t i = 0; i < l->nremotes; i++)
                write_remote(w, &l->remotes[i]);
            jsonw_end(w);
        }
    }
    jsonw_end(w);
}

/* --- part of /connz ----------------------------------------------------------------------------
 */

void page_leaf_client(const struct leaf_link *l, struct client_info *out)
{
    struct leaf_info i;

    leaf_info_of(l, &i);
    *out = (struct client_info){.cid = i.id,
                                .kind = CLIENT_LEAF,
                                .ip = i.ip,
                                .port = i.port,
                                .start_ns = i.start_wall_ns,
                                .last_ns = i.last_wall_ns,
                                .rtt_ns = i.rtt_ns,
                                .pending = i.pending,
                                .in_msgs = i.in_msgs,
                                .in_bytes = i.in_bytes,
                                .out_msgs = i.out_msgs,
                                .out_bytes = i.out_bytes,
                                .nsubs = i.nsubs,
                                .name = i.name,
                                .version = i.version,
                                .account = i.account,
                                .account_tag = i.account_tag,
                                .user = leaf_user(l),
                                .issuer = leaf_who(l) != NULL ? leaf_who(l)->issuer : NULL,
                                .who = leaf_who(l),
                                .reason = leaf_reason(l)};
}
