/* config_check.c: defaults, silent changes and checks of a stream's configuration, in nats-server's
 * order (docs/checks.md, Stream configuration): a client gets the error of the first violation.
 *
 * Two differences to nats-server, unless compat is strict.  Values that one field implies for
 * another are filled in before the other is checked, so every accepted configuration can be loaded
 * again.  A sealed configuration is accepted as it is: the fields that sealing changed (discard
 * new, no purge, no roll-ups) are no violation. */
#include "stream/config_impl.h"

#include "base/clock.h"
#include "subject/transform.h"

#define NAME_MAX_LEN        255
#define DESCRIPTION_MAX_LEN 4096
#define REPLICAS_MAX        5
#define DEFAULT_WINDOW_NS   (120 * CLOCK_S)
#define SHORTEST_NS         (100 * CLOCK_MS)

static size_t text_length(const char *s)
{
    return s == NULL ? 0 : strlen(s);
}

static int check_texts(const struct stream_config *c, struct js_error *e)
{
    const char *reserved = stream_metadata_reserved(&c->metadata);

    if (!stream_name_valid(c->name))
        return config_invalid(
            e, "stream name is required and can not contain '.', '*', '>', '\\', '/'");
    if (text_length(c->name) > NAME_MAX_LEN)
        return config_invalid(e, "stream name is too long, maximum allowed is %d", NAME_MAX_LEN);
    if (text_length(c->description) > DESCRIPTION_MAX_LEN)
        return config_invalid(e, "stream description is too long, maximum allowed is %d",
                              DESCRIPTION_MAX_LEN);
    if (stream_metadata_size(&c->metadata) > STREAM_METADATA_MAX)
        return config_invalid(e, "stream metadata exceeds maximum size of %d bytes",
                              STREAM_METADATA_MAX);
    if (reserved != NULL)
        return config_invalid(e, "stream metadata key '%s' is reserved", reserved);
    return 0;
}

/* 0 and everything below -1 mean unlimited; pedantic callers must say -1. */
static int check_limit(int64_t *value, const char *field, bool pedantic, struct js_error *e)
{
    if (pedantic && *value < -1)
        return js_error_set_text(e, JS_PEDANTIC, "pedantic mode: %s must be set to -1", field);
    if (*value == 0 || *value < -1)
        *value = -1;
    return 0;
}

static int check_limits(struct stream_config *c, struct js_error *e)
{
    int64_t size = c->max_msg_size;
    int rc;

    if (c->replicas == 0)
        c->replicas = 1;
    if (c->replicas > REPLICAS_MAX)
        return config_invalid(e, "maximum replicas is %d", REPLICAS_MAX);
    if (c->replicas < 0)
        return js_error_set(e, JS_REPLICAS_COUNT_CANNOT_BE_NEGATIVE);
    if ((rc = check_limit(&c->max_msgs, "max_msgs", c->pedantic, e)) != 0 ||
        (rc = check_limit(&c->max_msgs_per_subject, "max_msgs_per_subject", c->pedantic, e)) != 0 ||
        (rc = check_limit(&c->max_bytes, "max_bytes", c->pedantic, e)) != 0 ||
        (rc = check_limit(&size, "max_msg_size", c->pedantic, e)) != 0 ||
        (rc = check_limit(&c->max_consumers, "max_consumers", c->pedantic, e)) != 0)
        return rc;
    c->max_msg_size = (int32_t)size;
    return 0;
}

static int default_window(struct stream_config *c, int64_t limit, struct js_error *e)
{
    int64_t window = DEFAULT_WINDOW_NS;

    if (limit > 0 && window > limit) {
        if (c->pedantic)
            return js_error_set(e, JS_PEDANTIC,
                                "duplicate window limits are higher than current limits");
        window = limit;
    }
    if (c->max_age_ns != 0 && c->max_age_ns < window) {
        if (c->pedantic)
            return js_error_set(e, JS_PEDANTIC, "duplicate window cannot be bigger than max age");
        window = c->max_age_ns;
    }
    c->duplicate_window_ns = window;
    return 0;
}

static int check_times(struct stream_config *c, const struct stream_config_world *w,
                       struct js_error *e)
{
    int64_t limit = w->default_duplicate_window_ns;
    char text[CLOCK_TEXT];
    int rc;

    if (c->max_age_ns < 0)
        return config_invalid(e, "max age can not be negative");
    if (c->max_age_ns != 0 && c->max_age_ns < SHORTEST_NS)
        return config_invalid(e, "max age needs to be >= 100ms");
    if (c->duplicate_window_ns == 0 && c->mirror == NULL && c->sources.n == 0 &&
        (rc = default_window(c, limit, e)) != 0)
        return rc;
    if (c->duplicate_window_ns < 0)
        return config_invalid(e, "duplicates window can not be negative");
    if (c->max_age_ns != 0 && c->duplicate_window_ns > c->max_age_ns)
        return config_invalid(e, "duplicates window can not be larger then max age");
    if (limit > 0 && c->duplicate_window_ns > limit)
        return config_invalid(e, "duplicates window can not be larger then server limit of %s",
                              clock_duration(text, limit));
    if (c->duplicate_window_ns > 0 && c->duplicate_window_ns < SHORTEST_NS)
        return config_invalid(e, "duplicates window needs to be >= 100ms");
    return 0;
}

/* verbatim: what sealing made of it stands. */
static int check_counter(const struct stream_config *c, bool verbatim, struct js_error *e)
{
    if (!c->allow_msg_counter)
        return 0;
    if (c->discard == DISCARD_NEW && !verbatim)
        return config_invalid(e, "counter stream cannot use discard new");
    if (c->allow_msg_ttl)
        return config_invalid(e, "counter stream cannot use message TTLs");
    if (c->allow_msg_schedules)
        return config_invalid(e, "counter stream cannot use message schedules");
    if (c->retention != RETENTION_LIMITS)
        return config_invalid(e, "counter stream can only use limits retention");
    return 0;
}

static int check_discard(const struct stream_config *c, struct js_error *e)
{
    if (!c->discard_new_per_subject)
        return 0;
    if (c->discard != DISCARD_NEW)
        return config_invalid(e, "discard new per subject requires discard new policy to be set");
    if (c->max_msgs_per_subject <= 0)
        return config_invalid(e, "discard new per subject requires max msgs per subject > 0");
    return 0;
}

static int check_markers(struct stream_config *c, bool verbatim, struct js_error *e)
{
    if (c->subject_delete_marker_ttl_ns < 0)
        return config_invalid(e, "subject delete marker TTL must not be negative");
    if (c->subject_delete_marker_ttl_ns == 0)
        return 0;
    if (c->subject_delete_marker_ttl_ns < CLOCK_S)
        return config_invalid(e, "subject delete marker TTL must be at least 1 second");
    if (!c->allow_msg_ttl && c->pedantic)
        return config_invalid(e,
                              "subject delete marker cannot be set if message TTLs are disabled");
    c->allow_msg_ttl = true;
    if (c->allow_rollup || verbatim)
        return 0;
    if (c->pedantic)
        return config_invalid(e, "subject delete marker cannot be set if roll-ups are disabled");
    c->allow_rollup = true;
    c->deny_purge = false;
    return 0;
}

static int check_schedules(struct stream_config *c, bool verbatim, struct js_error *e)
{
    if (!c->allow_msg_schedules || verbatim)
        return 0;
    if (c->discard == DISCARD_NEW)
        return config_invalid(e, "message scheduling cannot use discard new");
    if (c->allow_rollup)
        return 0;
    if (c->pedantic)
        return config_invalid(e, "message scheduling cannot be set if roll-ups are disabled");
    c->allow_rollup = true;
    c->deny_purge = false;
    return 0;
}

static int check_persist(const struct stream_config *c, struct js_error *e)
{
    if (c->persist_mode != PERSIST_ASYNC)
        return 0;
    if (c->storage != STORAGE_FILE)
        return config_invalid(e, "async persist mode is only supported on file storage");
    if (c->replicas > 1)
        return config_invalid(e, "async persist mode is not supported on replicated streams");
    if (c->allow_atomic)
        return config_invalid(e, "async persist mode is not supported with atomic batch publish");
    return 0;
}

static int check_features(struct stream_config *c, bool strict, struct js_error *e)
{
    bool verbatim = c->sealed && !strict;
    int rc;

    if (c->deny_purge && c->allow_rollup)
        return config_invalid(e, "roll-ups require the purge permission");
    if (c->subject_delete_marker_ttl_ns > 0 && !c->pedantic && !strict)
        c->allow_msg_ttl = true; /* before the counter is asked what it thinks of TTLs */
    if ((rc = check_counter(c, verbatim, e)) != 0 || (rc = check_discard(c, e)) != 0 ||
        (rc = check_markers(c, verbatim, e)) != 0 || (rc = check_schedules(c, verbatim, e)) != 0)
        return rc;
    return check_persist(c, e);
}

/* Messages that leave the stream under other subjects. */

static int check_republish(struct stream_config *c, struct js_error *e)
{
    struct stream_republish *r = c->republish;
    const struct stream_mapping *m = c->subject_transform;
    struct transform *t = NULL;
    int rc;

    if (r == NULL)
        return 0;
    if (config_empty(r->src)) {
        if (c->pedantic)
            return js_error_set(e, JS_PEDANTIC, "republish source can not be empty");
        if ((r->src = arena_str(&c->mem, ">")) == NULL)
            return MF_NOMEM;
    }
    /* All to all would feed the stream its own messages, unless its only subject is mapped to
     * another: then it means the mapped ones. */
    if (config_same(r->src, ">") && config_same(r->dest, ">") && m != NULL && c->subjects.n == 1 &&
        config_same(m->src, c->subjects.at[0])) {
        if (c->pedantic)
            return js_error_set(e, JS_PEDANTIC, "implicit republish based on subject transform");
        r->src = r->dest = m->dest;
    }
    for (size_t i = 0; i < c->subjects.n; i++)
        if (config_overlap(mf_str(r->dest), mf_str(c->subjects.at[i])))
            return config_invalid(e,
                                  "stream configuration for republish destination forms a cycle");
    if (config_empty(r->dest))
        return 0; /* republishes nothing */
    if (mf_str(r->src).len > STREAM_SUBJECT_LEN_MAX || mf_str(r->dest).len > STREAM_SUBJECT_LEN_MAX)
        return config_invalid(e, "republish is too long, maximum allowed is %d",
                              STREAM_SUBJECT_LEN_MAX);
    rc = transform_new(&t, mf_str(r->src), mf_str(r->dest), NULL);
    transform_free(t);
    if (rc == 0 || rc == MF_NOMEM)
        return rc;
    return config_invalid(
        e, "stream configuration for republish with transform from '%s' to '%s' not valid",
        config_text(r->src), config_text(r->dest));
}

static int check_max_bytes(const struct stream_config *c, const struct stream_config_world *w,
                           struct js_error *e)
{
    int64_t limit =
        c->storage == STORAGE_MEMORY ? w->max_stream_bytes_memory : w->max_stream_bytes_file;

    if (w->max_bytes_required && c->max_bytes <= 0)
        return js_error_set(e, JS_STREAM_MAX_BYTES_REQUIRED);
    if (limit > 0 && c->max_bytes > limit)
        return js_error_set(e, JS_STREAM_MAX_STREAM_BYTES_EXCEEDED);
    return 0;
}

static int check_placement(struct stream_config *c, struct js_error *e)
{
    const struct stream_placement *p = c->placement;

    if (p == NULL)
        return 0;
    if (!config_empty(p->preferred))
        return config_invalid(e, "preferred server not permitted in placement");
    if (config_empty(p->cluster) && p->tags.n == 0)
        c->placement = NULL;
    return 0;
}

static int check_outputs(struct stream_config *c, const struct stream_config_world *w,
                         struct js_error *e)
{
    int rc = check_max_bytes(c, w, e);

    if (rc == 0 && c->subject_transform != NULL)
        rc = config_check_mapping(c->subject_transform, JS_STREAM_TRANSFORM_INVALID_SOURCE,
                                  JS_STREAM_TRANSFORM_INVALID_DESTINATION, e);
    if (rc == 0)
        rc = check_republish(c, e);
    return rc == 0 ? check_placement(c, e) : rc;
}

/* docs/checks.md, Stream create, 10 and 12.  Between them a stream of the same name is compared: a
 * client that has one gets the error that it differs, not that the filter is wrong. */
static int check_new(const struct stream_config *c, const struct stream_config_world *w,
                     struct js_error *e)
{
    if (c->replicas > 1)
        return js_error_set(e, JS_STREAM_REPLICAS_NOT_SUPPORTED);
    if (w->find != NULL && w->find(w->arg, c->name) != NULL)
        return 0;
    return config_check_filters(c, JS_STREAM_CREATE, e);
}

int stream_config_check(struct stream_config *c, const struct stream_config_world *w,
                        struct js_error *e)
{
    int rc;

    c->strict = w->strict;
    if ((rc = check_texts(c, e)) != 0 || (rc = check_limits(c, e)) != 0 ||
        (rc = check_times(c, w, e)) != 0 || (rc = check_features(c, w->strict, e)) != 0 ||
        (rc = config_check_sources(c, w, e)) != 0 || (rc = config_check_subjects(c, e)) != 0 ||
        (rc = check_outputs(c, w, e)) != 0 || (rc = config_check_policy(c, w, e)) != 0)
        return rc;
    return w->update ? 0 : check_new(c, w, e);
}
