/* config.c: life of a stream's configuration: empty, copied, compared, stamped. */
#include "stream/config_impl.h"

#include <stdlib.h>

void stream_config_init(struct stream_config *c)
{
    memset(c, 0, sizeof *c);
}

void stream_config_fini(struct stream_config *c)
{
    arena_fini(&c->mem);
    stream_config_init(c);
}

/* Copies.  A failed allocation is sticky in the arena and reported once, at the end. */

static struct json_strs copy_strs(struct arena *mem, const struct json_strs *from)
{
    struct json_strs to = {NULL, 0};

    if (from->n == 0)
        return to;
    to.at = arena_alloc(mem, from->n * sizeof *to.at);
    if (to.at == NULL)
        return to;
    to.n = from->n;
    for (size_t i = 0; i < from->n; i++)
        to.at[i] = arena_str(mem, from->at[i]);
    return to;
}

static struct json_map copy_map(struct arena *mem, const struct json_map *from)
{
    struct json_map to = {NULL, 0, from->set};

    if (from->n == 0)
        return to;
    to.at = arena_alloc(mem, from->n * sizeof *to.at);
    if (to.at == NULL)
        return to;
    to.n = from->n;
    for (size_t i = 0; i < from->n; i++) {
        to.at[i].key = arena_str(mem, from->at[i].key);
        to.at[i].value = arena_str(mem, from->at[i].value);
    }
    return to;
}

static void copy_mapping(struct arena *mem, struct stream_mapping *to,
                         const struct stream_mapping *from)
{
    to->src = arena_str(mem, from->src);
    to->dest = arena_str(mem, from->dest);
}

static struct json_objects copy_mappings(struct arena *mem, const struct json_objects *from)
{
    struct json_objects to = {NULL, 0};
    struct stream_mapping *at;

    if (from->n == 0)
        return to;
    at = arena_alloc(mem, from->n * sizeof *at);
    if (at == NULL)
        return to;
    to.at = at;
    to.n = from->n;
    for (size_t i = 0; i < from->n; i++)
        copy_mapping(mem, &at[i], config_mapping_at(from, i));
    return to;
}

static struct stream_source *copy_source(struct arena *mem, const struct stream_source *from)
{
    struct stream_source *to = from == NULL ? NULL : arena_alloc(mem, sizeof *to);

    if (to == NULL)
        return NULL;
    *to = *from;
    to->name = arena_str(mem, from->name);
    to->filter_subject = arena_str(mem, from->filter_subject);
    to->transforms = copy_mappings(mem, &from->transforms);
    if (from->external != NULL) {
        to->external = arena_alloc(mem, sizeof *to->external);
        if (to->external == NULL)
            return NULL;
        to->external->api = arena_str(mem, from->external->api);
        to->external->deliver = arena_str(mem, from->external->deliver);
    }
    if (from->consumer != NULL) {
        to->consumer = arena_alloc(mem, sizeof *to->consumer);
        if (to->consumer == NULL)
            return NULL;
        to->consumer->name = arena_str(mem, from->consumer->name);
        to->consumer->deliver_subject = arena_str(mem, from->consumer->deliver_subject);
    }
    return to;
}

static struct json_objects copy_sources(struct arena *mem, const struct stream_config *from)
{
    struct json_objects to = {NULL, 0};
    struct stream_source **at;

    if (from->sources.n == 0)
        return to;
    at = arena_alloc(mem, from->sources.n * sizeof(struct stream_source *));
    if (at == NULL)
        return to;
    to.at = at;
    to.n = from->sources.n;
    for (size_t i = 0; i < to.n; i++)
        at[i] = copy_source(mem, config_source_at(from, i));
    return to;
}

static void copy_parts(struct arena *mem, struct stream_config *to,
                       const struct stream_config *from)
{
    if (from->placement != NULL) {
        to->placement = arena_alloc(mem, sizeof *to->placement);
        if (to->placement == NULL)
            return;
        to->placement->cluster = arena_str(mem, from->placement->cluster);
        to->placement->preferred = arena_str(mem, from->placement->preferred);
        to->placement->tags = copy_strs(mem, &from->placement->tags);
    }
    if (from->subject_transform != NULL) {
        to->subject_transform = arena_alloc(mem, sizeof *to->subject_transform);
        if (to->subject_transform == NULL)
            return;
        copy_mapping(mem, to->subject_transform, from->subject_transform);
    }
    if (from->republish != NULL) {
        to->republish = arena_alloc(mem, sizeof *to->republish);
        if (to->republish == NULL)
            return;
        to->republish->src = arena_str(mem, from->republish->src);
        to->republish->dest = arena_str(mem, from->republish->dest);
        to->republish->headers_only = from->republish->headers_only;
    }
}

int stream_config_copy(struct stream_config *to, const struct stream_config *from)
{
    struct arena mem = {NULL, 0, 0, false};

    *to = *from; /* the plain fields; every pointer is replaced below */
    to->name = arena_str(&mem, from->name);
    to->description = arena_str(&mem, from->description);
    to->subjects = copy_strs(&mem, &from->subjects);
    to->mirror = copy_source(&mem, from->mirror);
    to->sources = copy_sources(&mem, from);
    to->metadata = copy_map(&mem, &from->metadata);
    copy_parts(&mem, to, from);
    if (mem.failed) {
        arena_fini(&mem);
        stream_config_init(to);
        return MF_NOMEM;
    }
    to->mem = mem;
    return 0;
}

/* Comparing. */

static bool strs_equal(const struct json_strs *a, const struct json_strs *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!config_same(a->at[i], b->at[i]))
            return false;
    return true;
}

bool config_mapping_equal(const struct stream_mapping *a, const struct stream_mapping *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return config_same(a->src, b->src) && config_same(a->dest, b->dest);
}

static bool external_equal(const struct stream_external *a, const struct stream_external *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return config_same(a->api, b->api) && config_same(a->deliver, b->deliver);
}

static bool consumer_equal(const struct stream_source_consumer *a,
                           const struct stream_source_consumer *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return config_same(a->name, b->name) && config_same(a->deliver_subject, b->deliver_subject);
}

bool config_source_equal(const struct stream_source *a, const struct stream_source *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    if (!config_same(a->name, b->name) || !config_same(a->filter_subject, b->filter_subject) ||
        a->opt_start_seq != b->opt_start_seq || a->has_start_time != b->has_start_time ||
        (a->has_start_time && a->opt_start_time_ns != b->opt_start_time_ns) ||
        a->transforms.n != b->transforms.n)
        return false;
    for (size_t i = 0; i < a->transforms.n; i++)
        if (!config_mapping_equal(config_mapping_at(&a->transforms, i),
                                  config_mapping_at(&b->transforms, i)))
            return false;
    return external_equal(a->external, b->external) && consumer_equal(a->consumer, b->consumer);
}

static bool sources_equal(const struct stream_config *a, const struct stream_config *b)
{
    if (a->sources.n != b->sources.n)
        return false;
    for (size_t i = 0; i < a->sources.n; i++)
        if (!config_source_equal(config_source_at(a, i), config_source_at(b, i)))
            return false;
    return true;
}

static bool placement_equal(const struct stream_placement *a, const struct stream_placement *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return config_same(a->cluster, b->cluster) && config_same(a->preferred, b->preferred) &&
           strs_equal(&a->tags, &b->tags);
}

static bool republish_equal(const struct stream_republish *a, const struct stream_republish *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return config_same(a->src, b->src) && config_same(a->dest, b->dest) &&
           a->headers_only == b->headers_only;
}

/* Keys the server itself writes: they follow from the rest and from the server's version. */
static bool is_server_key(const char *key)
{
    return config_same(key, CONFIG_REQ_LEVEL) || config_same(key, CONFIG_VERSION) ||
           config_same(key, CONFIG_LEVEL);
}

static const struct json_pair *next_pair(const struct json_map *m, size_t *at)
{
    while (*at < m->n) {
        const struct json_pair *p = &m->at[(*at)++];
        if (!is_server_key(p->key))
            return p;
    }
    return NULL;
}

/* Both are sorted. */
bool stream_metadata_equal(const struct json_map *a, const struct json_map *b)
{
    size_t i = 0, j = 0;

    for (;;) {
        const struct json_pair *x = next_pair(a, &i), *y = next_pair(b, &j);
        if (x == NULL || y == NULL)
            return x == y;
        if (!config_same(x->key, y->key) || !config_same(x->value, y->value))
            return false;
    }
}

size_t stream_metadata_size(const struct json_map *m)
{
    size_t size = strlen(CONFIG_REQ_LEVEL) + 1, i = 0;
    const struct json_pair *p;

    while ((p = next_pair(m, &i)) != NULL)
        size += strlen(config_text(p->key)) + strlen(config_text(p->value));
    return size;
}

const char *stream_metadata_reserved(const struct json_map *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (mf_starts(mf_str(m->at[i].key), STREAM_METADATA_RESERVED))
            return m->at[i].key;
    return NULL;
}

static bool numbers_equal(const struct stream_config *a, const struct stream_config *b)
{
    return a->retention == b->retention && a->max_consumers == b->max_consumers &&
           a->max_msgs == b->max_msgs && a->max_bytes == b->max_bytes &&
           a->max_age_ns == b->max_age_ns && a->max_msgs_per_subject == b->max_msgs_per_subject &&
           a->max_msg_size == b->max_msg_size && a->discard == b->discard &&
           a->storage == b->storage && a->replicas == b->replicas &&
           a->duplicate_window_ns == b->duplicate_window_ns && a->compression == b->compression &&
           a->first_seq == b->first_seq &&
           a->consumer_limits.inactive_threshold_ns == b->consumer_limits.inactive_threshold_ns &&
           a->consumer_limits.max_ack_pending == b->consumer_limits.max_ack_pending &&
           a->subject_delete_marker_ttl_ns == b->subject_delete_marker_ttl_ns &&
           a->persist_mode == b->persist_mode;
}

static bool flags_equal(const struct stream_config *a, const struct stream_config *b)
{
    return a->no_ack == b->no_ack && a->allow_direct == b->allow_direct &&
           a->mirror_direct == b->mirror_direct &&
           a->discard_new_per_subject == b->discard_new_per_subject && a->sealed == b->sealed &&
           a->deny_delete == b->deny_delete && a->deny_purge == b->deny_purge &&
           a->allow_rollup == b->allow_rollup && a->allow_msg_ttl == b->allow_msg_ttl &&
           a->allow_msg_counter == b->allow_msg_counter && a->allow_atomic == b->allow_atomic &&
           a->allow_msg_schedules == b->allow_msg_schedules && a->allow_batched == b->allow_batched;
}

bool stream_config_equal(const struct stream_config *a, const struct stream_config *b)
{
    return numbers_equal(a, b) && flags_equal(a, b) && config_same(a->name, b->name) &&
           config_same(a->description, b->description) && strs_equal(&a->subjects, &b->subjects) &&
           placement_equal(a->placement, b->placement) &&
           config_source_equal(a->mirror, b->mirror) && sources_equal(a, b) &&
           config_mapping_equal(a->subject_transform, b->subject_transform) &&
           republish_equal(a->republish, b->republish) &&
           stream_metadata_equal(&a->metadata, &b->metadata);
}

/* Levels. */

unsigned stream_config_level(const struct stream_config *c)
{
    if (c->allow_batched)
        return 4;
    if (c->allow_msg_counter || c->allow_atomic || c->allow_msg_schedules ||
        c->persist_mode == PERSIST_ASYNC)
        return 2;
    return c->allow_msg_ttl || c->subject_delete_marker_ttl_ns > 0 ? 1 : 0;
}

int stream_metadata_stamp(struct json_map *m, unsigned number, struct arena *mem)
{
    const struct json_map *old = m;
    struct json_pair *at = arena_alloc(mem, (old->n + 1) * sizeof *at);
    struct json_pair level = {arena_str(mem, CONFIG_REQ_LEVEL), arena_printf(mem, "%u", number)};
    const struct json_pair *p;
    size_t i = 0, n = 0;
    bool placed = false;

    if (at == NULL || level.key == NULL || level.value == NULL)
        return MF_NOMEM;
    while ((p = next_pair(old, &i)) != NULL) {
        if (!placed && strcmp(p->key, level.key) > 0) {
            at[n++] = level;
            placed = true;
        }
        at[n++] = *p;
    }
    if (!placed)
        at[n++] = level;
    *m = (struct json_map){at, n, true};
    return 0;
}

int stream_config_stamp(struct stream_config *c)
{
    return stream_metadata_stamp(&c->metadata, stream_config_level(c), &c->mem);
}

bool stream_name_valid(const char *name)
{
    return !config_empty(name) && strpbrk(name, " \t\r\n\f.*>\\/") == NULL;
}
