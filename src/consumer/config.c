/* config.c: life of a consumer's configuration: empty, copied, compared, stamped; its filters. */
#include "consumer/consumer_config.h"

#include "base/clock.h"

#define EPHEMERAL_NS (5 * CLOCK_S)

void consumer_config_init(struct consumer_config *c)
{
    memset(c, 0, sizeof *c);
}

void consumer_config_fini(struct consumer_config *c)
{
    arena_fini(&c->mem);
    consumer_config_init(c);
}

/* Copies.  First all is counted, then all is put into one block of that size: arrays in front,
 * because they must be aligned, strings behind. */

static bool is_empty(const char *s)
{
    return s == NULL || *s == '\0';
}

static size_t str_size(const char *s)
{
    return is_empty(s) ? 0 : strlen(s) + 1;
}

static size_t strs_size(const struct json_strs *s)
{
    size_t size = 0;

    for (size_t i = 0; i < s->n; i++)
        size += strlen(s->at[i] == NULL ? "" : s->at[i]) + 1;
    return size;
}

static size_t map_size(const struct json_map *m)
{
    size_t size = 0;

    for (size_t i = 0; i < m->n; i++)
        size += strlen(m->at[i].key) + strlen(m->at[i].value) + 2;
    return size;
}

static size_t arrays_size(const struct consumer_config *c)
{
    return c->backoff.n * sizeof *c->backoff.at +
           (c->filter_subjects.n + c->priority_groups.n) * sizeof *c->filter_subjects.at +
           c->metadata.n * sizeof *c->metadata.at;
}

static size_t texts_size(const struct consumer_config *c)
{
    return str_size(c->durable_name) + str_size(c->name) + str_size(c->description) +
           str_size(c->filter_subject) + str_size(c->sample_freq) + str_size(c->deliver_subject) +
           str_size(c->deliver_group) + strs_size(&c->filter_subjects) +
           strs_size(&c->priority_groups) + map_size(&c->metadata);
}

struct packer {
    char *array, *text; /* the place of the next one */
};

static char *put_text(struct packer *p, const char *s)
{
    size_t n = strlen(s) + 1;
    char *at = memcpy(p->text, s, n);

    p->text += n;
    return at;
}

static char *put_str(struct packer *p, const char *s)
{
    return is_empty(s) ? NULL : put_text(p, s);
}

static void *put_array(struct packer *p, const void *from, size_t n, size_t size)
{
    void *at = p->array;

    if (n == 0)
        return NULL;
    memcpy(at, from, n * size);
    p->array += n * size;
    return at;
}

static struct json_strs put_strs(struct packer *p, const struct json_strs *from)
{
    struct json_strs to = {put_array(p, from->at, from->n, sizeof *from->at), from->n};

    for (size_t i = 0; i < to.n; i++)
        to.at[i] = put_text(p, from->at[i] == NULL ? "" : from->at[i]);
    return to;
}

static struct json_map put_map(struct packer *p, const struct json_map *from)
{
    struct json_map to = {put_array(p, from->at, from->n, sizeof *from->at), from->n, from->set};

    for (size_t i = 0; i < to.n; i++)
        to.at[i] = (struct json_pair){put_text(p, from->at[i].key), put_text(p, from->at[i].value)};
    return to;
}

int consumer_config_copy(struct consumer_config *to, const struct consumer_config *from)
{
    struct arena mem = {NULL, 0, 0, false};
    size_t arrays = arrays_size(from), size = arrays + texts_size(from);
    char *block = arena_reserve(&mem, size) ? arena_alloc(&mem, size) : NULL;
    struct packer p;

    if (block == NULL) {
        arena_fini(&mem);
        consumer_config_init(to);
        return MF_NOMEM;
    }
    p = (struct packer){block, block + arrays};
    *to = *from; /* the plain fields; every pointer is replaced below */
    to->durable_name = put_str(&p, from->durable_name);
    to->name = put_str(&p, from->name);
    to->description = put_str(&p, from->description);
    to->backoff.at = put_array(&p, from->backoff.at, from->backoff.n, sizeof *from->backoff.at);
    to->filter_subject = put_str(&p, from->filter_subject);
    to->filter_subjects = put_strs(&p, &from->filter_subjects);
    to->sample_freq = put_str(&p, from->sample_freq);
    to->deliver_subject = put_str(&p, from->deliver_subject);
    to->deliver_group = put_str(&p, from->deliver_group);
    to->metadata = put_map(&p, &from->metadata);
    to->priority_groups = put_strs(&p, &from->priority_groups);
    to->mem = mem;
    return 0;
}

/* Comparing. */

static bool text_equal(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

static bool strs_equal(const struct json_strs *a, const struct json_strs *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!text_equal(a->at[i], b->at[i]))
            return false;
    return true;
}

static bool durations_equal(const struct json_durations *a, const struct json_durations *b)
{
    return a->n == b->n && (a->n == 0 || memcmp(a->at, b->at, a->n * sizeof *a->at) == 0);
}

static bool texts_equal(const struct consumer_config *a, const struct consumer_config *b)
{
    return text_equal(a->durable_name, b->durable_name) && text_equal(a->name, b->name) &&
           text_equal(a->description, b->description) &&
           text_equal(a->filter_subject, b->filter_subject) &&
           text_equal(a->sample_freq, b->sample_freq) &&
           text_equal(a->deliver_subject, b->deliver_subject) &&
           text_equal(a->deliver_group, b->deliver_group) &&
           strs_equal(&a->filter_subjects, &b->filter_subjects) &&
           strs_equal(&a->priority_groups, &b->priority_groups);
}

static bool start_equal(const struct consumer_config *a, const struct consumer_config *b)
{
    return a->deliver_policy == b->deliver_policy && a->opt_start_seq == b->opt_start_seq &&
           a->has_start_time == b->has_start_time &&
           (!a->has_start_time || a->opt_start_time_ns == b->opt_start_time_ns) &&
           a->replay_policy == b->replay_policy;
}

static bool numbers_equal(const struct consumer_config *a, const struct consumer_config *b)
{
    return a->ack_policy == b->ack_policy && a->ack_wait_ns == b->ack_wait_ns &&
           a->max_deliver == b->max_deliver && a->rate_limit_bps == b->rate_limit_bps &&
           a->max_waiting == b->max_waiting && a->max_ack_pending == b->max_ack_pending &&
           a->max_batch == b->max_batch && a->max_expires_ns == b->max_expires_ns &&
           a->max_bytes == b->max_bytes && a->idle_heartbeat_ns == b->idle_heartbeat_ns &&
           a->inactive_threshold_ns == b->inactive_threshold_ns && a->replicas == b->replicas &&
           a->pause_until_ns == b->pause_until_ns && a->priority_policy == b->priority_policy &&
           a->priority_timeout_ns == b->priority_timeout_ns;
}

static bool flags_equal(const struct consumer_config *a, const struct consumer_config *b)
{
    return a->flow_control == b->flow_control && a->headers_only == b->headers_only &&
           a->mem_storage == b->mem_storage && a->direct == b->direct && a->sourcing == b->sourcing;
}

bool consumer_config_equal(const struct consumer_config *a, const struct consumer_config *b)
{
    return start_equal(a, b) && numbers_equal(a, b) && flags_equal(a, b) && texts_equal(a, b) &&
           durations_equal(&a->backoff, &b->backoff) &&
           stream_metadata_equal(&a->metadata, &b->metadata);
}

/* Levels. */

unsigned consumer_config_level(const struct consumer_config *c)
{
    if (c->ack_policy == ACK_FLOW_CONTROL)
        return 4;
    return c->pause_until_ns != 0 || c->priority_policy != PRIORITY_NONE ||
                   c->priority_timeout_ns != 0 || c->priority_groups.n > 0
               ? 1
               : 0;
}

const char *consumer_config_show(const struct consumer_config *c)
{
    const struct json_map *m = &c->metadata;

    for (size_t i = 0; i < m->n; i++)
        if (strcmp(m->at[i].key, CONSUMER_SHOW_KEY) == 0)
            return m->at[i].value[0] == '\0' ? NULL : m->at[i].value;
    return NULL;
}

int consumer_config_stamp(struct consumer_config *c)
{
    return stream_metadata_stamp(&c->metadata, consumer_config_level(c), &c->mem);
}

int consumer_config_set_pause(struct consumer_config *c, int64_t until_ns)
{
    struct consumer_config stamped, kept;
    int rc = consumer_config_copy(&stamped, c);

    if (rc != 0)
        return rc;
    stamped.pause_until_ns = until_ns;
    rc = consumer_config_stamp(&stamped);
    if (rc == 0)
        rc = consumer_config_copy(&kept, &stamped);
    consumer_config_fini(&stamped);
    if (rc == 0) {
        consumer_config_fini(c);
        *c = kept;
    }
    return rc;
}

/* As in nats-server, the old configuration decides whether the consumer is ephemeral, and an
 * unchanged threshold stays. */
void consumer_config_settle(struct consumer_config *c, const struct consumer_config *now)
{
    const struct consumer_config *is = now == NULL ? c : now;

    if (now != NULL && now->inactive_threshold_ns == c->inactive_threshold_ns)
        return;
    if (is_empty(is->durable_name) && c->inactive_threshold_ns <= 0)
        c->inactive_threshold_ns = EPHEMERAL_NS;
}

/* Names and filters. */

bool consumer_name_valid(const char *name)
{
    return stream_name_valid(name);
}

bool consumer_group_valid(const char *name)
{
    size_t n = name == NULL ? 0 : strlen(name);

    return n >= 1 && n <= 16 &&
           strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789/_=-") == n;
}

size_t consumer_filters(const struct consumer_config *c, char *const **at)
{
    bool one = !is_empty(c->filter_subject);

    *at = one ? &c->filter_subject : c->filter_subjects.at;
    return one ? 1 : c->filter_subjects.n;
}
