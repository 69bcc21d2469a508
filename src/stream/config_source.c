/* config_source.c: the rules of mirrors and sources: what they exclude, what they may ask for, and
 * that no stream feeds itself. */
#include "stream/config_impl.h"

#include "codec/hash.h"
#include "subject/subject.h"

#define API_PREFIX "$JS.API"

static const struct stream_config *find_config(const struct stream_config_world *w,
                                               const char *name)
{
    return w->find == NULL || config_empty(name) ? NULL : w->find(w->arg, name);
}

/* The origin, if it is of this account and there. */
static const struct stream_config *find_origin(const struct stream_config_world *w,
                                               const struct stream_source *s)
{
    return s->external != NULL ? NULL : find_config(w, s->name);
}

/* A consumer somebody made beforehand decides itself where to start and what to deliver. */
static bool consumer_valid(const struct stream_source *s)
{
    const struct stream_source_consumer *c = s->consumer;

    return stream_name_valid(c->name) && subject_valid_literal(mf_str(c->deliver_subject)) &&
           s->opt_start_seq == 0 && !s->has_start_time && config_empty(s->filter_subject);
}

/* Mirror. */

static int check_mirror_excludes(const struct stream_config *c, struct js_error *e)
{
    if (c->first_seq > 0)
        return js_error_set(e, JS_MIRROR_WITH_FIRST_SEQ);
    if (c->subjects.n > 0)
        return js_error_set(e, JS_MIRROR_WITH_SUBJECTS);
    if (c->sources.n > 0)
        return js_error_set(e, JS_MIRROR_WITH_SOURCES);
    if (c->allow_msg_counter)
        return js_error_set(e, JS_MIRROR_WITH_COUNTERS);
    if (c->allow_atomic)
        return js_error_set(e, JS_MIRROR_WITH_ATOMIC_PUBLISH);
    if (c->allow_batched)
        return js_error_set(e, JS_MIRROR_WITH_BATCH_PUBLISH);
    if (c->allow_msg_schedules)
        return js_error_set(e, JS_MIRROR_WITH_MSG_SCHEDULES);
    if (c->mirror->consumer != NULL && !consumer_valid(c->mirror))
        return js_error_set(e, JS_MIRROR_DURABLE_CONSUMER_CFG_INVALID);
    if (!config_empty(c->mirror->filter_subject) && c->mirror->transforms.n > 0)
        return js_error_set(e, JS_MIRROR_MULTIPLE_FILTERS_NOT_ALLOWED);
    /* Markers of its own would use sequence numbers the origin gives to other messages. */
    if (c->subject_delete_marker_ttl_ns > 0)
        return config_invalid(e, "subject delete markers forbidden on mirrors");
    return 0;
}

/* met: the first transform whose source overlaps another's; n if none does. */
static int check_transforms(const struct stream_source *s, size_t met, bool mirror,
                            struct js_error *e)
{
    for (size_t i = 0; i < s->transforms.n; i++) {
        const struct stream_mapping *m = config_mapping_at(&s->transforms, i);
        int rc = mirror ? config_check_mapping(m, JS_MIRROR_INVALID_SUBJECT_FILTER,
                                               JS_MIRROR_INVALID_TRANSFORM_DESTINATION, e)
                        : config_check_mapping(m, JS_SOURCE_INVALID_SUBJECT_FILTER,
                                               JS_SOURCE_INVALID_TRANSFORM_DESTINATION, e);
        if (rc != 0)
            return rc;
        if (mirror && i == met)
            return js_error_set(e, JS_MIRROR_OVERLAPPING_SUBJECT_FILTERS);
    }
    return met < s->transforms.n ? js_error_set(e, JS_SOURCE_OVERLAPPING_SUBJECT_FILTERS) : 0;
}

/* A mirror's filters may not overlap, a source's not contain each other; the mirror's are judged
 * one by one, a source's first each and then together. */
static int check_filters(const struct stream_source *s, bool mirror, struct js_error *e)
{
    struct pattern_set set;
    size_t first = s->transforms.n;
    int met, rc;

    if (s->transforms.n == 0)
        return 0;
    met = pattern_set_init(&set, s->transforms.n);
    for (size_t i = 0; met == 0 && i < set.n; i++)
        set.at[i].text = mf_str(config_mapping_at(&s->transforms, i)->src);
    if (met == 0)
        met = pattern_set_ready(&set);
    if (met == 0)
        met = pattern_set_first(&set, mirror ? PATTERN_OVERLAP : PATTERN_WITHIN, &first);
    pattern_set_fini(&set);
    if (met != 0 && met != MF_LIMIT)
        return met;
    rc = check_transforms(s, first, mirror, e);
    return rc == 0 && met == MF_LIMIT
               ? config_invalid(e, "subject transforms have too many wildcards to be compared")
               : rc;
}

/* Every message of the origin must fit. */
static bool too_small(const struct stream_config *c, const struct stream_config *from)
{
    return from != NULL && c->max_msg_size > 0 && from->max_msg_size > 0 &&
           c->max_msg_size < from->max_msg_size;
}

static int check_mirror(struct stream_config *c, const struct stream_config_world *w,
                        struct js_error *e)
{
    const struct stream_config *from;
    int rc = check_mirror_excludes(c, e);

    if (rc == 0)
        rc = check_filters(c->mirror, true, e);
    if (rc != 0 || c->mirror->external != NULL)
        return rc;
    if (!stream_name_valid(c->mirror->name))
        return js_error_set(e, JS_MIRROR_INVALID_STREAM_NAME);
    from = find_config(w, c->mirror->name);
    if (too_small(c, from))
        return js_error_set(e, JS_MIRROR_MAX_MESSAGE_SIZE_TOO_BIG);
    if (from == NULL)
        return 0;
    if (c->pedantic && c->mirror_direct != from->allow_direct)
        return js_error_set(e, JS_PEDANTIC,
                            "origin stream has direct get set, mirror has it disabled");
    c->mirror_direct = from->allow_direct;
    return 0;
}

/* Sources. */

/* A set of texts. */
struct key {
    struct table_node node;
    struct mf_slice text;
};

/* 0: it is new and was added.  1: it was there.  MF_NOMEM. */
static int key_add(struct table *t, struct arena *scratch, struct mf_slice text)
{
    uint64_t hash = hash_slice(text);
    struct key *k;

    for (struct table_node *n = table_first(t, hash); n != NULL; n = table_next(n))
        if (mf_eq(mf_container(n, struct key, node)->text, text))
            return 1;
    k = arena_alloc(scratch, sizeof *k);
    char *copy = arena_dup(scratch, text);
    if (k == NULL || copy == NULL)
        return MF_NOMEM;
    k->text = mf_slice(copy, text.len);
    return table_add(t, &k->node, hash);
}

struct names {
    struct arena scratch;
    struct table sources, consumers;
    struct mf_buf text;
};

static void put_origin(struct mf_buf *b, const struct stream_source *s)
{
    mf_buf_clear(b);
    mf_buf_puts(b, s->name);
    if (s->external != NULL)
        mf_buf_printf(b, "\n%s", config_text(s->external->api)); /* no name has a line end */
    mf_buf_byte(b, '\n');
}

static const char *all_if_empty(const char *s)
{
    return config_empty(s) ? ">" : s;
}

/* Two sources are the same if they read the same subjects of one origin in the same way and give
 * them the same names. */
static int name_source(struct names *names, const struct stream_source *s)
{
    struct mf_buf *b = &names->text;

    put_origin(b, s);
    if (s->consumer != NULL)
        mf_buf_printf(b, "\f%s", config_text(s->consumer->name));
    mf_buf_byte(b, '\n');
    if (s->transforms.n == 0)
        mf_buf_printf(b, "%s\n>", all_if_empty(s->filter_subject));
    for (size_t i = 0; i < s->transforms.n; i++)
        mf_buf_printf(b, "%s%s", i == 0 ? "" : "\f",
                      all_if_empty(config_mapping_at(&s->transforms, i)->src));
    for (size_t i = 0; i < s->transforms.n; i++)
        mf_buf_printf(b, "%s%s", i == 0 ? "\n" : "\f",
                      all_if_empty(config_mapping_at(&s->transforms, i)->dest));
    if (mf_buf_failed(b))
        return MF_NOMEM;
    return key_add(&names->sources, &names->scratch, mf_buf_slice(b));
}

static int name_consumer(struct names *names, const struct stream_source *s)
{
    struct mf_buf *b = &names->text;

    put_origin(b, s);
    mf_buf_puts(b, s->consumer->name);
    if (mf_buf_failed(b))
        return MF_NOMEM;
    return key_add(&names->consumers, &names->scratch, mf_buf_slice(b));
}

static int check_source(const struct stream_config *c, const struct stream_source *s,
                        const struct stream_config_world *w, struct names *names,
                        struct js_error *e)
{
    int rc;

    if (s == NULL || !stream_name_valid(s->name))
        return js_error_set(e, JS_SOURCE_INVALID_STREAM_NAME);
    if ((rc = name_source(names, s)) != 0)
        return rc > 0 ? js_error_set(e, JS_SOURCE_DUPLICATE_DETECTED) : rc;
    if (!config_empty(s->filter_subject) && s->transforms.n > 0)
        return js_error_set(e, JS_SOURCE_MULTIPLE_FILTERS_NOT_ALLOWED);
    if ((rc = check_filters(s, false, e)) != 0)
        return rc;
    if (s->consumer != NULL) {
        if (!consumer_valid(s))
            return js_error_set(e, JS_SOURCE_DURABLE_CONSUMER_CFG_INVALID);
        if ((rc = name_consumer(names, s)) != 0)
            return rc > 0 ? js_error_set(e, JS_SOURCE_DURABLE_CONSUMER_DUPLICATE_DETECTED) : rc;
    }
    return too_small(c, find_origin(w, s)) ? js_error_set(e, JS_SOURCE_MAX_MESSAGE_SIZE_TOO_BIG)
                                           : 0;
}

static int check_sources(const struct stream_config *c, const struct stream_config_world *w,
                         struct js_error *e)
{
    struct names names;
    int rc = 0;

    if (c->sources.n == 0)
        return 0;
    if (c->allow_msg_schedules)
        return js_error_set(e, JS_SOURCE_WITH_MSG_SCHEDULES);
    memset(&names, 0, sizeof names);
    for (size_t i = 0; rc == 0 && i < c->sources.n; i++)
        rc = check_source(c, config_source_at(c, i), w, &names, e);
    table_fini(&names.sources);
    table_fini(&names.consumers);
    mf_buf_fini(&names.text);
    arena_fini(&names.scratch);
    return rc;
}

/* Mirror and sources as one list. */
static size_t count_feeds(const struct stream_config *c)
{
    return c->sources.n + (c->mirror != NULL ? 1 : 0);
}
static const struct stream_source *feed_at(const struct stream_config *c, size_t i)
{
    if (c->mirror == NULL)
        return config_source_at(c, i);
    return i == 0 ? c->mirror : config_source_at(c, i - 1);
}

/* Prefixes of other accounts and domains. */

/* Subjects of origins that messages delivered below a prefix could fall into: those that end in
 * '>', because all others have fewer tokens than what is delivered. */
struct open_ends {
    struct arena scratch;
    struct table origins, prefixes; /* of key: those that were seen */
    const char **at;
    size_t n;
    uint64_t compared;
};

static int gather_open_ends(struct open_ends *o, const struct stream_config *c,
                            const struct stream_config_world *w)
{
    for (size_t i = 0; i < count_feeds(c); i++) {
        const struct stream_config *from = find_origin(w, feed_at(c, i));
        int rc = from == NULL ? 1 : key_add(&o->origins, &o->scratch, mf_str(from->name));
        if (rc < 0)
            return rc;
        for (size_t k = 0; rc == 0 && k < from->subjects.n; k++) {
            const char *subject = from->subjects.at[k];
            if (!mf_ends(mf_str(subject), ">"))
                continue;
            o->at = arena_grow(&o->scratch, o->at, o->n, sizeof *o->at);
            if (o->at == NULL)
                return MF_NOMEM;
            o->at[o->n++] = subject;
        }
    }
    return 0;
}

/* Delivered below the prefix, a message must not fall into an origin of ours. */
static int check_deliver(struct open_ends *o, const char *prefix, struct mf_buf *text,
                         struct js_error *e)
{
    int rc;

    if (!subject_valid_literal(mf_str(prefix)))
        return js_error_set(e, JS_STREAM_INVALID_EXTERNAL_DELIVERY_SUBJ, prefix);
    rc = key_add(&o->prefixes, &o->scratch, mf_str(prefix));
    if (rc != 0)
        return rc > 0 ? 0 : rc;
    o->compared += o->n;
    if (o->compared > PATTERN_STEPS)
        return config_invalid(e, "too many delivery prefixes to be compared with the subjects of "
                                 "their origins");
    for (size_t k = 0; k < o->n; k++) {
        mf_buf_clear(text);
        mf_buf_printf(text, "%s.%s", prefix, o->at[k]);
        if (mf_buf_failed(text))
            return MF_NOMEM;
        if (subject_overlap(mf_str(o->at[k]), mf_buf_slice(text)))
            return js_error_set(e, JS_STREAM_EXTERNAL_DEL_PREFIX_OVERLAPS, prefix, o->at[k]);
    }
    return 0;
}

static int check_delivers(const struct stream_config *c, const struct stream_config_world *w,
                          struct mf_buf *text, struct js_error *e)
{
    struct open_ends o;
    int rc = 0;

    memset(&o, 0, sizeof o);
    for (size_t i = 0; rc == 0 && i < count_feeds(c); i++) {
        const struct stream_external *x = feed_at(c, i)->external;
        if (x == NULL || config_empty(x->deliver))
            continue;
        if (o.prefixes.count == 0)
            rc = gather_open_ends(&o, c, w);
        if (rc == 0)
            rc = check_deliver(&o, x->deliver, text, e);
    }
    table_fini(&o.origins);
    table_fini(&o.prefixes);
    arena_fini(&o.scratch);
    return rc;
}

static int check_api(const char *prefix, struct mf_buf *text, struct js_error *e)
{
    if (!subject_valid_literal(mf_str(prefix))) {
        mf_buf_clear(text);
        config_quote(text, prefix);
        return mf_buf_failed(text)
                   ? MF_NOMEM
                   : config_invalid(e,
                                    "stream external api prefix %s must be a valid subject without "
                                    "wildcards",
                                    mf_buf_cstr(text));
    }
    if (subject_overlap(mf_str(prefix), MF_LIT(API_PREFIX)))
        return js_error_set(e, JS_STREAM_EXTERNAL_API_OVERLAP, prefix, API_PREFIX);
    return 0;
}

static int check_prefixes(const struct stream_config *c, const struct stream_config_world *w,
                          struct js_error *e)
{
    struct mf_buf text = MF_BUF_INIT;
    int rc = check_delivers(c, w, &text, e);

    for (size_t i = 0; rc == 0 && i < count_feeds(c); i++) {
        const struct stream_external *x = feed_at(c, i)->external;
        if (x != NULL && !config_empty(x->api))
            rc = check_api(x->api, &text, e);
    }
    mf_buf_fini(&text);
    return rc;
}

/* Cycles: breadth first from the new configuration towards the origins.  Each stream is walked
 * once, however many ways lead to it. */
struct visit {
    struct table_node node;
    const struct stream_config *c;
    struct visit *next;
    bool walked;
};
struct stream_job {
    const struct stream_config_world *w;
    struct arena scratch;
    struct table seen;
    struct visit *last;
    /* Of the stream at hand: filters of those sources that were walked already. */
    char **filters;
    size_t nfilters;
    uint64_t compared;
};

static struct visit *walk_find(const struct stream_job *k, const char *name)
{
    for (struct table_node *n = table_first(&k->seen, hash_slice(mf_str(name))); n != NULL;
         n = table_next(n)) {
        struct visit *v = mf_container(n, struct visit, node);
        if (config_same(v->c->name, name))
            return v;
    }
    return NULL;
}

static struct visit *walk_add(struct stream_job *k, const struct stream_config *c)
{
    struct visit *v = arena_alloc(&k->scratch, sizeof *v);

    if (v == NULL || table_add(&k->seen, &v->node, hash_slice(mf_str(c->name))) != 0)
        return NULL;
    v->c = c;
    if (k->last != NULL)
        k->last->next = v;
    k->last = v;
    return v;
}

/* Does the stream store what it gets through one of the filters?  0, 1, MF_LIMIT, MF_NOMEM. */
static int catches_filters(struct stream_job *k, const struct stream_config *c)
{
    struct pattern_set subjects, filters;
    int rc;

    if (k->nfilters == 0 || c->subjects.n == 0)
        return 0;
    k->compared += k->nfilters + c->subjects.n;
    if (k->compared > PATTERN_STEPS)
        return MF_LIMIT;
    rc = pattern_set_strings(&subjects, c->subjects.at, c->subjects.n, NULL);
    if (rc == 0) {
        rc = pattern_set_strings(&filters, k->filters, k->nfilters, NULL);
        if (rc == 0)
            rc = pattern_set_overlaps(&filters, &subjects.tree, NULL);
        pattern_set_fini(&filters);
    }
    pattern_set_fini(&subjects);
    return rc;
}

/* 0 and on, 1 for a cycle, MF_NOMEM. */
static int walk_feed(struct stream_job *k, const struct stream_config *c,
                     const struct stream_source *s)
{
    const struct stream_config *from;
    struct visit *v;

    if (s == NULL || s->external != NULL)
        return 0;
    v = walk_find(k, config_text(s->name));
    if (v != NULL && v->walked) {
        if (s == c->mirror || config_empty(s->filter_subject))
            return 1;
        k->filters = arena_grow(&k->scratch, k->filters, k->nfilters, sizeof *k->filters);
        if (k->filters == NULL)
            return MF_NOMEM;
        k->filters[k->nfilters++] = s->filter_subject;
        return 0;
    }
    if (v != NULL)
        return 0; /* waits already */
    from = find_config(k->w, s->name);
    return from == NULL || walk_add(k, from) != NULL ? 0 : MF_NOMEM;
}

static int check_cycle(const struct stream_config *c, const struct stream_config_world *w,
                       struct js_error *e)
{
    struct stream_job k;
    int rc = 0;

    if (count_feeds(c) == 0)
        return 0;
    memset(&k, 0, sizeof k);
    k.w = w;
    struct visit *v = walk_add(&k, c);
    if (v == NULL)
        rc = MF_NOMEM;
    for (; rc == 0 && v != NULL; v = v->next) {
        v->walked = true;
        k.filters = NULL;
        k.nfilters = 0;
        for (size_t i = 0; rc == 0 && i < v->c->sources.n; i++)
            rc = walk_feed(&k, v->c, config_source_at(v->c, i));
        if (rc == 0)
            rc = walk_feed(&k, v->c, v->c->mirror);
        if (rc == 0)
            rc = catches_filters(&k, v->c);
    }
    table_fini(&k.seen);
    arena_fini(&k.scratch);
    if (rc == MF_LIMIT)
        return config_invalid(e, "sources are too many to be checked for cycles");
    return rc > 0 ? config_invalid(e, "detected cycle") : rc;
}

/* The cost of each source is known before anything is compared. */
static int check_numbers(const struct stream_config *c, struct js_error *e)
{
    size_t transforms = 0;

    if (c->sources.n > STREAM_SOURCES_MAX)
        return config_invalid(e, "maximum number of sources is %d", STREAM_SOURCES_MAX);
    for (size_t i = 0; i < count_feeds(c); i++)
        transforms += feed_at(c, i) == NULL ? 0 : feed_at(c, i)->transforms.n;
    if (transforms > STREAM_TRANSFORMS_MAX)
        return config_invalid(e, "maximum number of subject transforms is %d",
                              STREAM_TRANSFORMS_MAX);
    return 0;
}

int config_check_sources(struct stream_config *c, const struct stream_config_world *w,
                         struct js_error *e)
{
    int rc = check_numbers(c, e);

    if (rc == 0 && c->mirror != NULL)
        rc = check_mirror(c, w, e);
    if (rc == 0)
        rc = check_sources(c, w, e);
    if (rc == 0)
        rc = check_prefixes(c, w, e);
    return rc == 0 ? check_cycle(c, w, e) : rc;
}

int config_check_filters(const struct stream_config *c, enum js_err id, struct js_error *e)
{
    for (size_t i = 0; i < count_feeds(c); i++) {
        const struct stream_source *s = feed_at(c, i);
        const char *filter = s->filter_subject;
        if (s->transforms.n > 0 || config_empty(filter) || subject_valid(mf_str(filter)))
            continue;
        return js_error_set_text(e, id,
                                 s == c->mirror
                                     ? "subject filter '%s' for the mirror invalid subject"
                                     : "subject filter '%s' for the source: invalid subject",
                                 filter);
    }
    return 0;
}
