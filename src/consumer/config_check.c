/* config_check.c: defaults, silent changes and checks of a consumer's configuration, in
 * nats-server's order (docs/checks.md, Consumer configuration): a client gets the error of the
 * first violation. */
#include "consumer/consumer_config.h"

#include "base/buf.h"
#include "base/clock.h"
#include "subject/pattern_set.h"
#include "subject/subject.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define DESCRIPTION_MAX_LEN     4096
#define DEFAULT_MAX_WAITING     512
#define DEFAULT_MAX_ACK_PENDING 1000
#define DEFAULT_ACK_WAIT_NS     (30 * CLOCK_S)
#define DEFAULT_PIN_NS          (120 * CLOCK_S)
#define FLOW_HEARTBEAT_NS       CLOCK_S
#define SHORTEST_HEARTBEAT_NS   (100 * CLOCK_MS)

static bool is_empty(const char *s)
{
    return s == NULL || *s == '\0';
}

/* An error whose text ends in a number. */
static int refuse_number(struct js_error *e, enum js_err id, int64_t n)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRId64, n);
    return js_error_set(e, id, text);
}

/* --- defaults --------------------------------------------------------------------------------- */

static int pedantic_refusal(struct js_error *e, const char *text)
{
    return js_error_set(e, JS_PEDANTIC, text);
}

/* Below 0 means 0, and pedantic callers must say so. */
static int raise_to_zero(int64_t *value, const char *text, bool pedantic, struct js_error *e)
{
    if (*value < 0) {
        if (pedantic)
            return pedantic_refusal(e, text);
        *value = 0;
    }
    return 0;
}

static int clamp_numbers(struct consumer_config *c, bool pedantic, struct js_error *e)
{
    int rc;

    if (pedantic && c->max_deliver < -1)
        return pedantic_refusal(e, "max_deliver must be set to -1");
    if (c->max_deliver == 0 || c->max_deliver < -1)
        c->max_deliver = -1;
    if ((rc = raise_to_zero(&c->max_waiting, "max_waiting must not be negative", pedantic, e)) != 0)
        return rc;
    if (c->max_ack_pending < -1) {
        if (pedantic)
            return pedantic_refusal(e, "max_ack_pending must be set to -1");
        c->max_ack_pending = -1;
    }
    if ((rc = raise_to_zero(&c->max_batch, "max_batch must not be negative", pedantic, e)) != 0 ||
        (rc = raise_to_zero(&c->max_expires_ns, "max_expires must not be negative", pedantic, e)) !=
            0 ||
        (rc = raise_to_zero(&c->max_bytes, "max_bytes must not be negative", pedantic, e)) != 0 ||
        (rc = raise_to_zero(&c->idle_heartbeat_ns, "idle_heartbeat must not be negative", pedantic,
                            e)) != 0 ||
        (rc = raise_to_zero(&c->inactive_threshold_ns, "inactive_threshold must not be negative",
                            pedantic, e)) != 0)
        return rc;
    return raise_to_zero(&c->priority_timeout_ns, "priority_timeout must not be negative", pedantic,
                         e);
}

static int default_acks(struct consumer_config *c, const struct consumer_config_world *w,
                        struct js_error *e)
{
    const struct stream_consumer_limits *lim = &w->stream->consumer_limits;

    if (c->ack_wait_ns == 0 && (c->ack_policy == ACK_EXPLICIT || c->ack_policy == ACK_ALL))
        c->ack_wait_ns = DEFAULT_ACK_WAIT_NS;
    if (c->backoff.n > 0) {
        if (w->pedantic && c->ack_wait_ns != c->backoff.at[0])
            return pedantic_refusal(e, "first backoff value has to equal batch AckWait");
        c->ack_wait_ns = c->backoff.at[0];
    }
    if (c->max_ack_pending == 0) {
        if (w->pedantic && lim->max_ack_pending > 0)
            return pedantic_refusal(
                e, "max_ack_pending must be set if it's configured in stream limits");
        c->max_ack_pending = lim->max_ack_pending;
    }
    if (c->inactive_threshold_ns == 0) {
        if (w->pedantic && lim->inactive_threshold_ns > 0)
            return pedantic_refusal(
                e, "inactive_threshold must be set if it's configured in stream limits");
        c->inactive_threshold_ns = lim->inactive_threshold_ns;
    }
    if (c->max_ack_pending == 0 && c->ack_policy != ACK_NONE) {
        c->max_ack_pending = DEFAULT_MAX_ACK_PENDING;
        if (w->max_ack_pending > 0 && w->max_ack_pending < c->max_ack_pending)
            c->max_ack_pending = w->max_ack_pending;
        if (w->account_max_ack_pending > 0 && w->account_max_ack_pending < c->max_ack_pending)
            c->max_ack_pending = w->account_max_ack_pending;
    }
    return 0;
}

static int fill_defaults(struct consumer_config *c, const struct consumer_config_world *w,
                         struct js_error *e)
{
    bool pull = is_empty(c->deliver_subject);
    int rc = clamp_numbers(c, w->pedantic, e);

    if (rc != 0)
        return rc;
    if (pull && c->max_waiting == 0)
        c->max_waiting = DEFAULT_MAX_WAITING;
    if ((rc = default_acks(c, w, e)) != 0)
        return rc;
    if (pull && c->max_batch == 0 && w->max_request_batch > 0) {
        if (w->pedantic)
            return pedantic_refusal(
                e, "max_request_batch must be set if it's JetStream limits are set");
        c->max_batch = w->max_request_batch;
    }
    if (c->priority_policy == PRIORITY_PINNED && c->priority_timeout_ns == 0)
        c->priority_timeout_ns = DEFAULT_PIN_NS;
    if (c->ack_policy == ACK_FLOW_CONTROL && !w->pedantic) {
        c->flow_control = true;
        c->idle_heartbeat_ns = FLOW_HEARTBEAT_NS;
    }
    return 0;
}

/* --- rules ------------------------------------------------------------------------------------ */

static int check_names(const struct consumer_config *c, const struct stream_config *s,
                       struct js_error *e)
{
    if (!is_empty(c->name) && !consumer_name_valid(c->name))
        return js_error_set(e, JS_STREAM_INVALID_CONFIG,
                            "consumer name can not contain '.', '*', '>', '\\', '/'");
    if (!is_empty(c->durable_name) && !consumer_name_valid(c->durable_name))
        return js_error_set(e, JS_STREAM_INVALID_CONFIG,
                            "consumer durable name can not contain '.', '*', '>', '\\', '/'");
    if (c->replicas > 0 && c->replicas > s->replicas)
        return js_error_set(e, JS_CONSUMER_REPLICAS_EXCEEDS_STREAM);
    if (c->replicas < 0)
        return js_error_set(e, JS_REPLICAS_COUNT_CANNOT_BE_NEGATIVE);
    if (s->retention != RETENTION_LIMITS && c->replicas != 0 && c->replicas != s->replicas)
        return js_error_set(e, JS_CONSUMER_REPLICAS_SHOULD_MATCH_STREAM);
    return 0;
}

static int check_flow_acks(const struct consumer_config *c, struct js_error *e)
{
    if (c->ack_policy != ACK_FLOW_CONTROL)
        return 0;
    if (is_empty(c->deliver_subject))
        return js_error_set(e, JS_CONSUMER_ACK_FC_REQUIRES_PUSH);
    if (!c->flow_control)
        return js_error_set(e, JS_CONSUMER_ACK_FC_REQUIRES_FC);
    if (c->idle_heartbeat_ns != FLOW_HEARTBEAT_NS)
        return js_error_set(e, JS_STREAM_INVALID_CONFIG,
                            "flow control ack policy heartbeat needs to be 1s");
    if (c->max_ack_pending <= 0)
        return js_error_set(e, JS_CONSUMER_ACK_FC_REQUIRES_MAX_ACK_PENDING);
    if (c->ack_wait_ns != 0 || c->backoff.n > 0)
        return js_error_set(e, JS_CONSUMER_ACK_FC_REQUIRES_NO_ACK_WAIT);
    if (c->max_deliver > 0)
        return js_error_set(e, JS_CONSUMER_ACK_FC_REQUIRES_NO_MAX_DELIVER);
    return 0;
}

static int check_acks(const struct consumer_config *c, struct js_error *e)
{
    for (size_t i = 0; i < c->backoff.n; i++)
        if (c->backoff.at[i] < 0)
            return js_error_set(e, JS_CONSUMER_BACK_OFF_NEGATIVE);
    if (c->ack_wait_ns < 0)
        return js_error_set(e, JS_CONSUMER_ACK_WAIT_NEGATIVE);
    if (check_flow_acks(c, e) != 0)
        return MF_DENIED;
    if (c->max_deliver != -1 && c->backoff.n > (uint64_t)c->max_deliver)
        return js_error_set(e, JS_CONSUMER_MAX_DELIVER_BACKOFF);
    if (!is_empty(c->description) && strlen(c->description) > DESCRIPTION_MAX_LEN)
        return refuse_number(e, JS_CONSUMER_DESCRIPTION_TOO_LONG, DESCRIPTION_MAX_LEN);
    return 0;
}

static int check_push(const struct consumer_config *c, const struct stream_config *s,
                      struct js_error *e)
{
    struct mf_slice to = mf_str(c->deliver_subject);

    if (subject_has_wildcard(to))
        return js_error_set(e, JS_CONSUMER_DELIVER_TO_WILDCARDS);
    if (!subject_valid(to))
        return js_error_set(e, JS_CONSUMER_INVALID_DELIVER_SUBJECT);
    for (size_t i = 0; i < s->subjects.n; i++)
        if (subject_match(mf_str(s->subjects.at[i]), to))
            return js_error_set(e, JS_CONSUMER_DELIVER_CYCLE);
    if (c->max_waiting != 0)
        return js_error_set(e, JS_CONSUMER_PUSH_MAX_WAITING);
    if (c->max_ack_pending > 0 && c->ack_policy == ACK_NONE)
        return js_error_set(e, JS_CONSUMER_MAX_PENDING_ACK_POLICY_REQUIRED);
    if (c->idle_heartbeat_ns > 0 && c->idle_heartbeat_ns < SHORTEST_HEARTBEAT_NS)
        return js_error_set(e, JS_CONSUMER_SMALL_HEARTBEAT);
    return 0;
}

static int check_pull(const struct consumer_config *c, const struct consumer_config_world *w,
                      struct js_error *e)
{
    if (c->ack_policy == ACK_NONE && w->stream->retention == RETENTION_WORKQUEUE)
        return js_error_set(e, JS_CONSUMER_PULL_REQUIRES_ACK);
    if (c->rate_limit_bps > 0)
        return js_error_set(e, JS_CONSUMER_PULL_WITH_RATE_LIMIT);
    if (c->idle_heartbeat_ns > 0)
        return js_error_set(e, JS_CONSUMER_HB_REQUIRES_PUSH);
    if (c->flow_control)
        return js_error_set(e, JS_CONSUMER_FC_REQUIRES_PUSH);
    if (c->max_expires_ns != 0 && c->max_expires_ns < CLOCK_MS)
        return js_error_set(e, JS_CONSUMER_MAX_REQUEST_EXPIRES_TOO_SMALL);
    if (w->max_request_batch > 0 && c->max_batch > w->max_request_batch)
        return refuse_number(e, JS_CONSUMER_MAX_REQUEST_BATCH_EXCEEDED, w->max_request_batch);
    return 0;
}

static int check_limits(const struct consumer_config *c, const struct consumer_config_world *w,
                        struct js_error *e)
{
    const struct stream_consumer_limits *lim = &w->stream->consumer_limits;
    int64_t pending[] = {w->max_ack_pending, w->account_max_ack_pending, lim->max_ack_pending};
    char text[CLOCK_TEXT];

    for (size_t i = 0; i < MF_COUNT(pending); i++)
        if (pending[i] > 0 && c->max_ack_pending > pending[i])
            return refuse_number(e, JS_CONSUMER_MAX_PENDING_ACK_EXCESS, pending[i]);
    if (lim->inactive_threshold_ns > 0 && c->inactive_threshold_ns > lim->inactive_threshold_ns)
        return js_error_set(e, JS_CONSUMER_INACTIVE_THRESHOLD_EXCESS,
                            clock_duration(text, lim->inactive_threshold_ns));
    if (c->direct && is_empty(c->deliver_subject))
        return js_error_set(e, JS_CONSUMER_DIRECT_REQUIRES_PUSH);
    if (c->direct && !is_empty(c->durable_name))
        return js_error_set(e, JS_CONSUMER_DIRECT_REQUIRES_EPHEMERAL);
    return 0;
}

/* --- filters ---------------------------------------------------------------------------------- */

static int bad_subject(struct js_error *e)
{
    return js_error_set(e, JS_STREAM_INVALID_CONFIG, "invalid subject");
}

/* A filter that lies within another is complained of, unless a malformed one stands before it. */
static int check_overlap(const struct json_strs *list, struct js_error *e)
{
    struct pattern_set set;
    size_t bad = 0, inner = list->n;
    int rc = pattern_set_strings(&set, list->at, list->n, NULL);

    if (rc == 0)
        rc = pattern_set_first(&set, PATTERN_WITHIN, &inner);
    pattern_set_fini(&set);
    if (rc != 0 && rc != MF_LIMIT)
        return rc;
    while (bad < list->n && subject_valid(mf_str(list->at[bad])))
        bad++;
    if (inner < bad)
        return js_error_set(e, JS_CONSUMER_OVERLAPPING_SUBJECT_FILTERS);
    if (bad < list->n)
        return bad_subject(e);
    return rc == 0 ? 0
                   : js_error_set(e, JS_CONSUMER_CREATE,
                                  "filters have too many wildcards to be compared");
}

/* Limits the size of the filters, and with it the cost of comparing them. */
static int check_filter_sizes(const struct consumer_config *c, struct js_error *e)
{
    char *const *at;
    size_t n = consumer_filters(c, &at);
    uint64_t tokens = 0;

    if (n > CONSUMER_FILTERS_MAX)
        return js_error_set_text(e, JS_CONSUMER_CREATE, "maximum number of filter subjects is %d",
                                 CONSUMER_FILTERS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (strlen(at[i]) > STREAM_SUBJECT_LEN_MAX)
            return js_error_set_text(e, JS_CONSUMER_CREATE,
                                     "filter subject is too long, maximum allowed is %d",
                                     STREAM_SUBJECT_LEN_MAX);
        tokens += subject_tokens(mf_str(at[i]));
    }
    if (tokens > STREAM_TOKENS_MAX)
        return js_error_set_text(e, JS_CONSUMER_CREATE,
                                 "maximum number of tokens in all filter subjects is %d",
                                 STREAM_TOKENS_MAX);
    return 0;
}

static int check_filters(const struct consumer_config *c, struct js_error *e)
{
    int rc;

    if (!is_empty(c->filter_subject) && c->filter_subjects.n > 0)
        return js_error_set(e, JS_CONSUMER_DUPLICATE_FILTER_SUBJECTS);
    if (!is_empty(c->filter_subject) && !subject_valid(mf_str(c->filter_subject)))
        return bad_subject(e);
    for (size_t i = 0; i < c->filter_subjects.n; i++)
        if (is_empty(c->filter_subjects.at[i]))
            return js_error_set(e, JS_CONSUMER_EMPTY_FILTER);
    rc = check_filter_sizes(c, e);
    return rc != 0 || c->filter_subjects.n == 0 ? rc : check_overlap(&c->filter_subjects, e);
}

/* --- where to begin --------------------------------------------------------------------------- */

static int also_set(struct js_error *e, const char *policy, const char *what)
{
    return js_error_set_text(
        e, JS_CONSUMER_INVALID_POLICY,
        "consumer delivery policy is deliver %s, but optional start %s is also set", policy, what);
}

static int not_set(struct js_error *e, const char *policy, const char *what)
{
    return js_error_set_text(e, JS_CONSUMER_INVALID_POLICY,
                             "consumer delivery policy is deliver %s, but optional %s is not set",
                             policy, what);
}

static int check_start(const struct consumer_config *c, struct js_error *e)
{
    static const char *const words[] = {
        [DELIVER_ALL] = "all",
        [DELIVER_LAST] = "last",
        [DELIVER_NEW] = "new",
        [DELIVER_BY_SEQUENCE] = "by start sequence",
        [DELIVER_BY_TIME] = "by start time",
        [DELIVER_LAST_PER_SUBJECT] = "last per subject",
    };
    const char *word = words[c->deliver_policy];

    if (c->deliver_policy == DELIVER_BY_SEQUENCE) {
        if (c->opt_start_seq == 0)
            return not_set(e, word, "start sequence");
        return c->has_start_time ? also_set(e, word, "time") : 0;
    }
    if (c->deliver_policy == DELIVER_BY_TIME) {
        if (!c->has_start_time)
            return not_set(e, word, "start time");
        return c->opt_start_seq != 0 ? also_set(e, word, "start sequence") : 0;
    }
    if (c->opt_start_seq > 0)
        return also_set(e, word, "sequence");
    if (c->has_start_time)
        return also_set(e, word, "time");
    if (c->deliver_policy == DELIVER_LAST_PER_SUBJECT && is_empty(c->filter_subject) &&
        c->filter_subjects.n == 0)
        return not_set(e, word, "filter subject");
    return 0;
}

/* --- the rest --------------------------------------------------------------------------------- */

/* Go's strconv.Atoi: NULL, or what is wrong with it. */
static const char *atoi_error(struct mf_slice s, bool *negative)
{
    bool sign = s.len > 0 && (s.ptr[0] == '+' || s.ptr[0] == '-');
    uint64_t n;

    *negative = sign && s.ptr[0] == '-';
    if (sign)
        s = mf_slice(s.ptr + 1, s.len - 1);
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return "invalid syntax";
    if (s.len == 0)
        return "invalid syntax";
    if (mf_parse_u64(s, &n) != 0 || n > (uint64_t)INT64_MAX + (*negative ? 1 : 0))
        return "value out of range";
    *negative = *negative && n > 0;
    return NULL;
}

static int refuse_sampling(struct mf_slice s, const char *why, struct js_error *e)
{
    struct mf_buf text = MF_BUF_INIT;
    char *copy = mf_slice_dup(s);
    int rc = MF_NOMEM;

    mf_buf_puts(&text, "strconv.Atoi: parsing ");
    if (copy != NULL)
        config_quote(&text, copy);
    mf_buf_printf(&text, ": %s", why);
    if (copy != NULL && !mf_buf_failed(&text))
        rc = js_error_set(e, JS_CONSUMER_INVALID_SAMPLING, mf_buf_cstr(&text));
    free(copy);
    mf_buf_fini(&text);
    return rc;
}

static int check_sampling(const struct consumer_config *c, struct js_error *e)
{
    struct mf_slice s = mf_str(c->sample_freq);
    const char *why;
    bool negative;

    if (s.len == 0)
        return 0;
    if (mf_ends(s, "%"))
        s.len--;
    why = atoi_error(s, &negative);
    if (why != NULL)
        return refuse_sampling(s, why, e);
    return negative ? js_error_set(e, JS_CONSUMER_INVALID_SAMPLING, "<nil>") : 0;
}

static int check_groups(const struct consumer_config *c, struct js_error *e)
{
    if (c->priority_policy == PRIORITY_NONE) {
        if (c->priority_groups.n > 0)
            return js_error_set(e, JS_CONSUMER_PRIORITY_GROUP_WITH_POLICY_NONE);
        if (c->priority_timeout_ns > 0)
            return js_error_set(e, JS_CONSUMER_PINNED_TTL_WITHOUT_PRIORITY_POLICY_NONE);
        return 0;
    }
    if (!is_empty(c->deliver_subject))
        return js_error_set(e, JS_CONSUMER_PUSH_WITH_PRIORITY_GROUP);
    if (c->priority_groups.n == 0)
        return js_error_set(e, JS_CONSUMER_PRIORITY_POLICY_WITHOUT_GROUP);
    for (size_t i = 0; i < c->priority_groups.n; i++) {
        if (is_empty(c->priority_groups.at[i]))
            return js_error_set(e, JS_CONSUMER_EMPTY_GROUP_NAME);
        if (!consumer_group_valid(c->priority_groups.at[i]))
            return js_error_set(e, JS_CONSUMER_INVALID_GROUP_NAME);
    }
    return 0;
}

static int check_show(const struct consumer_config *c, struct js_error *e)
{
    const char *show = consumer_config_show(c);

    if (show == NULL || strcmp(show, "on") == 0 || strcmp(show, "off") == 0)
        return 0;
    return js_error_set_text(e, JS_CONSUMER_CREATE,
                             CONSUMER_SHOW_KEY ": \"%.64s\" is none of on, off", show);
}

static int check_rest(const struct consumer_config *c, struct js_error *e)
{
    const char *reserved = stream_metadata_reserved(&c->metadata);
    int rc = check_sampling(c, e);

    if (rc != 0)
        return rc;
    if (c->flow_control && c->idle_heartbeat_ns == 0)
        return js_error_set(e, JS_CONSUMER_WITH_FLOW_CONTROL_NEEDS_HEARTBEATS);
    if (!is_empty(c->durable_name) && !is_empty(c->name) && strcmp(c->durable_name, c->name) != 0)
        return js_error_set(e, JS_CONSUMER_CREATE_DURABLE_AND_NAME_MISMATCH);
    if (stream_metadata_size(&c->metadata) > STREAM_METADATA_MAX)
        return js_error_set(e, JS_CONSUMER_METADATA_LENGTH, "128KB");
    if (reserved != NULL)
        return js_error_set_text(e, JS_CONSUMER_CREATE, "consumer metadata key '%s' is reserved",
                                 reserved);
    if ((rc = check_show(c, e)) != 0)
        return rc;
    return check_groups(c, e);
}

int consumer_config_check(struct consumer_config *c, const struct consumer_config_world *w,
                          struct js_error *e)
{
    int rc;

    if ((rc = fill_defaults(c, w, e)) != 0 || (rc = check_names(c, w->stream, e)) != 0 ||
        (rc = check_acks(c, e)) != 0)
        return rc;
    rc = is_empty(c->deliver_subject) ? check_pull(c, w, e) : check_push(c, w->stream, e);
    if (rc != 0 || (rc = check_limits(c, w, e)) != 0 || (rc = check_filters(c, e)) != 0 ||
        (rc = check_start(c, e)) != 0)
        return rc;
    return check_rest(c, e);
}
