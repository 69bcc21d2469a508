/* stream_limits.c: limits of an account and of the server, and overlap with other streams.
 *
 * A limit of bytes is checked against reserved bytes (the sum of all max_bytes), not against used
 * ones: a stream without max_bytes reserves nothing, but needs room for one byte. */
#include "api/api_impl.h"

#include <stdio.h>

const struct options_js_limits *limits_of_tier(const struct js_account *ja, int64_t replicas)
{
    char name[24];

    if (ja->ntiers == 0)
        return ja->limits;
    (void)snprintf(name, sizeof name, "R%lld", (long long)(replicas > 1 ? replicas : 1));
    for (size_t i = 0; i < ja->ntiers; i++)
        if (strcmp(ja->tiers[i].name, name) == 0)
            return &ja->tiers[i].limits;
    return NULL;
}

static int64_t add_capped(int64_t a, int64_t b)
{
    return a > INT64_MAX - b ? INT64_MAX : a + b;
}

void limits_account_reserved(const struct api_account *aa, struct stream_usage *out)
{
    struct stream_usage more = {0};

    catalog_reserved(aa->ja->catalog, out);
    if (aa->api->extension != NULL)
        aa->api->extension->reserved(aa, &more);
    out->memory = add_capped(out->memory, more.memory);
    out->file = add_capped(out->file, more.file);
}

void limits_reserved(struct api *a, struct stream_usage *out)
{
    struct mf_list *pos;

    *out = (struct stream_usage){0};
    mf_list_each(pos, &a->js->list)
    {
        struct js_account *ja = mf_container(pos, struct js_account, link);
        struct stream_usage one = {0};
        if (ja->catalog == NULL)
            continue;
        limits_account_reserved(api_account(ja), &one);
        out->memory = add_capped(out->memory, one.memory);
        out->file = add_capped(out->file, one.file);
    }
}

static int64_t count_promised(const struct stream_config *c)
{
    return c->max_bytes < 0 ? 0 : c->max_bytes;
}

static int64_t by_storage(const struct stream_usage *u, int storage)
{
    return storage == STORAGE_MEMORY ? u->memory : u->file;
}

static bool fits_limit(int64_t max, int64_t reserved, int64_t bytes)
{
    return max < 0 || (reserved <= max && bytes <= max - reserved);
}

/* mine: the stream's own part of the account's sum.  want: bytes it will reserve of the account;
 * more: of the server beyond the sums. */
static int check_room(struct api_account *aa, int storage, int64_t mine, int64_t want, int64_t more,
                      struct js_error *e)
{
    struct stream_usage account = {0}, server = {0};
    bool memory = storage == STORAGE_MEMORY;
    int64_t others;

    limits_account_reserved(aa, &account);
    limits_reserved(aa->api, &server);
    others = by_storage(&account, storage) - mine;
    if (fits_limit(memory ? aa->ja->limits->max_memory : aa->ja->limits->max_store, others, want) &&
        fits_limit(by_storage(&aa->api->js->max, storage), by_storage(&server, storage), more))
        return 0;
    return js_error_set(e, memory ? JS_MEMORY_RESOURCES_EXCEEDED : JS_STORAGE_RESOURCES_EXCEEDED);
}

static int consumers_allow(struct api_account *aa, const struct stream_config *c,
                           struct js_error *e)
{
    if (c->max_consumers > 0 && aa->ja->limits->max_consumers > 0 &&
        c->max_consumers > aa->ja->limits->max_consumers)
        return js_error_set(e, JS_MAXIMUM_CONSUMERS_LIMIT);
    return 0;
}

/* The subjects of other streams. */
static int subjects_allow(struct api_account *aa, const struct stream_config *c, const char *except,
                          struct js_error *e)
{
    int rc = catalog_overlaps(aa->ja->catalog, c, except);

    if (rc == MF_LIMIT)
        return js_error_set_text(
            e, JS_STREAM_INVALID_CONFIG,
            "subjects have too many wildcards to be compared with other streams");
    return rc > 0 ? js_error_set(e, JS_STREAM_SUBJECT_OVERLAP) : rc;
}

int limits_allow(struct api_account *aa, const struct stream_config *c,
                 const struct stream_config *now, struct js_error *e)
{
    size_t others = catalog_count(aa->ja->catalog) + aa->creating - (now != NULL);
    int64_t mine = now != NULL && now->storage == c->storage ? count_promised(now) : 0;
    int64_t want = c->max_bytes < 0 ? 1 : c->max_bytes;

    if (limits_of_tier(aa->ja, c->replicas) == NULL)
        return js_error_set(e, JS_NO_LIMITS);
    if (aa->ja->ntiers > 0 && c->replicas > 1)
        return 0; /* no stream here is of this tier; the replicas are refused next */
    if (aa->ja->limits->max_streams > 0 && others >= (uint64_t)aa->ja->limits->max_streams)
        return js_error_set(e, JS_MAXIMUM_STREAMS_LIMIT);
    if (consumers_allow(aa, c, e) != 0)
        return MF_DENIED;
    return check_room(aa, c->storage, mine, want, want, e);
}

int limits_update_allowed(struct api_account *aa, const struct stream_config *now,
                          const struct stream_config *next, struct js_error *e)
{
    int64_t more = count_promised(next) - count_promised(now);

    struct stream *s = catalog_find(aa->ja->catalog, mf_str(now->name));
    int rc;

    if (limits_of_tier(aa->ja, next->replicas) == NULL)
        return js_error_set(e, JS_NO_LIMITS);
    if (consumers_allow(aa, next, e) != 0 ||
        check_room(aa, next->storage, count_promised(now), count_promised(next),
                   more < 0 ? 0 : more, e) != 0)
        return MF_DENIED;
    if (s != NULL && (rc = consumer_limits_allow(s, next, e)) != 0)
        return rc;
    return subjects_allow(aa, next, now->name, e);
}

int limits_create_allowed(struct api_account *aa, const struct stream_config *c, struct js_error *e)
{
    struct stream *s = catalog_find(aa->ja->catalog, mf_str(c->name));
    const struct stream_config *now = s == NULL ? NULL : stream_config(s);

    if (now != NULL)
        return stream_config_equal(c, now) ? 1 : js_error_set(e, JS_STREAM_NAME_EXIST);
    if (limits_allow(aa, c, NULL, e) != 0)
        return MF_DENIED;
    return subjects_allow(aa, c, c->name, e);
}

/* --- consumers -------------------------------------------------------------------------------- */

/* Consumers of one stream if neither it, its account nor the configuration sets a limit. */
#define STRICT_MAX_CONSUMERS  1000 /* that of nats-server 2.15.1 */
#define DEFAULT_MAX_CONSUMERS 100000

int64_t limits_default_max_consumers(const struct options_jetstream *js)
{
    if (js->default_max_consumers != 0)
        return js->default_max_consumers;
    return js->compat_strict ? STRICT_MAX_CONSUMERS : DEFAULT_MAX_CONSUMERS;
}
