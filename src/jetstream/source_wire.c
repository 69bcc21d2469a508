/* source_wire.c: mirrors and sources of an account, and direct gets that a mirror answers for its
 * origin. */
#include "jetstream/jetstream_impl.h"

#include "codec/hash.h"
#include "base/log.h"
#include "base/rand.h"

#include <stdlib.h>

/* --- mirrors that answer for their origin ----------------------------------------------------- */

/* A mirror that has caught up, under the name of its origin. */
struct direct_mirror {
    struct table_node node; /* api_account.mirrors */
    struct stream *stream;
    char origin[];
};

static void mirror_leave(struct js_account *ja, struct source_wire *x)
{
    if (x->direct == NULL)
        return;
    table_del(&js_wire(ja)->mirrors, &x->direct->node);
    free(x->direct);
    x->direct = NULL;
}

static void mirror_join(void *arg, struct stream *s)
{
    struct js_account *ja = arg;
    const struct stream_config *c = stream_config(s);
    struct source_wire *x = ingest_sources(s);
    struct mf_slice origin = mf_str(c->mirror == NULL ? NULL : c->mirror->name);
    struct direct_mirror *m;

    if (!c->mirror_direct || origin.len == 0 || x->direct != NULL)
        return;
    m = malloc(sizeof *m + origin.len + 1);
    if (m == NULL || table_add(&js_wire(ja)->mirrors, &m->node, hash_slice(origin)) != 0) {
        log_error("stream %s: no memory to answer direct gets of %s", c->name, c->mirror->name);
        free(m);
        return;
    }
    m->stream = s;
    memcpy(m->origin, origin.ptr, origin.len + 1);
    x->direct = m;
}

/* Picks one at random, each equally likely. */
static struct stream *mirror_pick(struct js_account *ja, struct mf_slice origin)
{
    struct table_node *n = table_first(&js_wire(ja)->mirrors, hash_slice(origin));
    struct stream *picked = NULL;

    for (uint32_t seen = 0; n != NULL; n = table_next(n)) {
        struct direct_mirror *m = mf_container(n, struct direct_mirror, node);
        if (mf_eq_str(origin, m->origin) && rand_below(++seen) == 0)
            picked = m->stream;
    }
    return picked;
}

/* True if both streams have the same messages, judged by sequences and counts. */
static bool same_content(struct stream *a, struct stream *b)
{
    struct stream_state x, y;

    stream_state(a, &x);
    stream_state(b, &y);
    return x.last_seq == y.last_seq && x.first_seq == y.first_seq && x.msgs == y.msgs;
}

struct stream *source_wire_reader(struct js_account *ja, struct mf_slice name)
{
    struct stream *s = catalog_find(ja->catalog, name), *m;

    if (s != NULL && !stream_config(s)->allow_direct)
        s = NULL;
    if (js_wire(ja)->mirrors.count == 0 || (m = mirror_pick(ja, name)) == NULL)
        return s;
    return s == NULL || (rand_below(2) == 0 && same_content(s, m)) ? m : s;
}

/* --- added and removed ------------------------------------------------------------------------ */

/* Read each time: a reload replaces the options. */
static const char *domain_of(void *arg)
{
    struct js_account *ja = arg;

    return jetstream_domain(ja->js);
}

void source_wire_init(struct js_account *ja)
{
    js_wire(ja)->source_host = (struct source_host){.loop = ja->js->loop,
                                                    .account = ja->account,
                                                    .domain = domain_of,
                                                    .caught_up = mirror_join,
                                                    .arg = ja};
    source_host_init(&js_wire(ja)->source_host);
}

void source_wire_fini(struct js_account *ja)
{
    table_fini(&js_wire(ja)->mirrors);
}

void source_wire_follow(struct js_account *ja, struct stream *s)
{
    struct source_wire *x = ingest_sources(s);
    struct mf_error e;

    if (x == NULL)
        return;
    if (sources_follow(&x->sources, s, &js_wire(ja)->source_host, &e) != 0)
        log_error("account %s: stream %s does not follow its sources: %s",
                  account_name(ja->account), stream_name(s), e.text);
    mirror_leave(ja, x);
    if (sources_caught_up(x->sources))
        mirror_join(ja, s);
}

void source_wire_close(struct js_account *ja, struct stream *s, bool deleted)
{
    struct source_wire *x = ingest_sources(s);

    if (x == NULL)
        return;
    mirror_leave(ja, x);
    sources_close(x->sources, deleted);
    x->sources = NULL;
}
