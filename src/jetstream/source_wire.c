/* source_wire.c: streams that follow others, and the world around them: which ones do, what infos
 * tell of it, and direct gets that a mirror answers in its origin's name. */
#include "api/api_impl.h"

#include "codec/hash.h"
#include "base/log.h"
#include "base/rand.h"

#include <stdlib.h>

/* --- mirrors that answer for their origin ----------------------------------------------------- */

/* One that was near the end of its origin, under the origin's name. */
struct direct_mirror {
    struct table_node node; /* api_account.mirrors */
    struct stream *stream;
    char origin[];
};

static void mirror_leave(struct api_account *aa, struct source_wire *x)
{
    if (x->direct == NULL)
        return;
    table_del(&aa->mirrors, &x->direct->node);
    free(x->direct);
    x->direct = NULL;
}

static void mirror_join(void *arg, struct stream *s)
{
    struct api_account *aa = arg;
    const struct stream_config *c = stream_config(s);
    struct source_wire *x = api_source_wire(s);
    struct mf_slice origin = mf_str(c->mirror == NULL ? NULL : c->mirror->name);
    struct direct_mirror *m;

    if (!c->mirror_direct || origin.len == 0 || x->direct != NULL)
        return;
    m = malloc(sizeof *m + origin.len + 1);
    if (m == NULL || table_add(&aa->mirrors, &m->node, hash_slice(origin)) != 0) {
        log_error("stream %s: no memory to answer direct gets of %s", c->name, c->mirror->name);
        free(m);
        return;
    }
    m->stream = s;
    memcpy(m->origin, origin.ptr, origin.len + 1);
    x->direct = m;
}

/* Any of them, each as likely. */
static struct stream *mirror_pick(struct api_account *aa, struct mf_slice origin)
{
    struct table_node *n = table_first(&aa->mirrors, hash_slice(origin));
    struct stream *picked = NULL;

    for (uint32_t seen = 0; n != NULL; n = table_next(n)) {
        struct direct_mirror *m = mf_container(n, struct direct_mirror, node);
        if (mf_eq_str(origin, m->origin) && rand_below(++seen) == 0)
            picked = m->stream;
    }
    return picked;
}

/* Has it what the other has?  Sequences and counts say so; nobody is told less by it. */
static bool same_content(struct stream *a, struct stream *b)
{
    struct stream_state x, y;

    stream_state(a, &x);
    stream_state(b, &y);
    return x.last_seq == y.last_seq && x.first_seq == y.first_seq && x.msgs == y.msgs;
}

struct stream *source_wire_reader(struct api_account *aa, struct mf_slice name)
{
    struct stream *s = catalog_find(aa->catalog, name), *m;

    if (s != NULL && !stream_config(s)->allow_direct)
        s = NULL;
    if (aa->mirrors.count == 0 || (m = mirror_pick(aa, name)) == NULL)
        return s;
    return s == NULL || (rand_below(2) == 0 && same_content(s, m)) ? m : s;
}

/* --- coming and going ------------------------------------------------------------------------- */

/* The options it stands in may be others after a reload. */
static const char *domain_of(void *arg)
{
    struct api_account *aa = arg;

    return api_domain(aa->api);
}

void source_wire_init(struct api_account *aa)
{
    aa->source_host = (struct source_host){.loop = aa->api->loop,
                                           .account = aa->account,
                                           .domain = domain_of,
                                           .caught_up = mirror_join,
                                           .arg = aa};
    source_host_init(&aa->source_host);
}

void source_wire_fini(struct api_account *aa)
{
    table_fini(&aa->mirrors);
}

void source_wire_follow(struct api_account *aa, struct stream *s)
{
    struct source_wire *x = api_source_wire(s);
    struct mf_error e;

    if (x == NULL)
        return;
    if (sources_follow(&x->sources, s, &aa->source_host, &e) != 0)
        log_error("account %s: stream %s does not follow its sources: %s",
                  account_name(aa->account), stream_name(s), e.text);
    mirror_leave(aa, x);
    if (sources_caught_up(x->sources))
        mirror_join(aa, s);
}

void source_wire_close(struct api_account *aa, struct stream *s, bool deleted)
{
    struct source_wire *x = api_source_wire(s);

    if (x == NULL)
        return;
    mirror_leave(aa, x);
    sources_close(x->sources, deleted);
    x->sources = NULL;
}

/* --- infos ------------------------------------------------------------------------------------ */

static void transforms_write(struct jsonw *w, const struct stream_source *src)
{
    const struct stream_mapping *map = src->transforms.at;

    if (src->transforms.n == 0)
        return;
    jsonw_array(w, "subject_transforms");
    for (size_t i = 0; i < src->transforms.n; i++) {
        jsonw_object(w, NULL);
        jsonw_str(w, "src", map[i].src);
        jsonw_str(w, "dest", map[i].dest);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void origin_write(void *arg, const struct source_info *i)
{
    struct jsonw *w = arg;
    const struct stream_source *src = i->config;

    jsonw_object(w, i->mirror ? "mirror" : NULL);
    jsonw_str(w, "name", src->name);
    if (src->external != NULL) {
        jsonw_object(w, "external");
        jsonw_str(w, "api", src->external->api);
        jsonw_str(w, "deliver", src->external->deliver);
        jsonw_end(w);
    }
    jsonw_u64(w, "lag", i->lag);
    jsonw_opt_u64(w, "seq", i->seq);
    jsonw_i64(w, "active", i->active_ns);
    if (i->error != NULL)
        error_json_write(w, i->error);
    jsonw_opt_str(w, "filter_subject", src->filter_subject);
    transforms_write(w, src);
    jsonw_end(w);
}

void origins_json_write(struct jsonw *w, struct stream *s)
{
    const struct stream_config *c = stream_config(s);
    const struct source_wire *x = api_source_wire(s);

    if (c->mirror == NULL && c->sources.n == 0)
        return;
    if (c->mirror == NULL)
        jsonw_array(w, "sources");
    sources_each(x == NULL ? NULL : x->sources, origin_write, w);
    if (c->mirror == NULL)
        jsonw_end(w);
}
