/* consumer_admin.c: CONSUMER.CREATE in all its forms, which also updates consumers.
 *
 * Happy path: the request is read and checked in nats-server's order; the stream's consumers
 * execute it and answer after the commit; the answer shows the consumer as it is then.
 * Failure: nothing was changed; the answer is the first check that failed.
 * Close: consumers are closed before their stream, and requests that wait for one are answered
 * then. */
#include "api/api_impl.h"

#include "base/clock.h"
#include "proto/header.h"
#include "base/rand.h"
#include "codec/sha256.h"
#include "subject/subject.h"

/* --- the request ------------------------------------------------------------------------------ */

/* The parts of the subject. */
struct target {
    enum { FORM_EPHEMERAL, FORM_NAMED, FORM_DURABLE } form;
    struct mf_slice stream, name, filter; /* filter: empty unless it is part of the subject */
};

/* The tokens after the first n. */
static struct mf_slice behind_tokens(struct mf_slice subject, unsigned n)
{
    for (size_t i = 0; i < subject.len; i++)
        if (subject.ptr[i] == '.' && --n == 0)
            return mf_slice(subject.ptr + i + 1, subject.len - i - 1);
    return MF_SLICE_NONE;
}

static struct target target_of(const struct api_call *call, const struct consumer_config *c)
{
    if (mf_eq_str(api_call_token(call, 1), "DURABLE"))
        return (struct target){FORM_DURABLE, api_call_token(call, 3), api_call_token(call, 4),
                               MF_SLICE_NONE};
    if (subject_tokens(call->rest) == 3)
        return (struct target){FORM_EPHEMERAL, api_call_token(call, 2), mf_str(c->name),
                               MF_SLICE_NONE};
    return (struct target){FORM_NAMED, api_call_token(call, 2), api_call_token(call, 3),
                           behind_tokens(call->rest, 4)};
}

/* Reads the body.  false: answered, and *r holds nothing. */
static bool read_request(struct api_call *call, struct consumer_request *r)
{
    struct mf_error why;
    int rc;

    memset(r, 0, sizeof *r);
    rc = consumer_request_decode(call->body, call->aa->api->js->options->jetstream.strict, r, &why);
    if (rc == 0)
        return true;
    consumer_config_fini(&r->config);
    api_reply_unread(call, rc, &why);
    return false;
}

static bool has_byte(struct mf_slice s, uint8_t c)
{
    return s.len > 0 && memchr(s.ptr, c, s.len) != NULL;
}

/* Does the configuration bear the name the subject speaks of? */
static int check_name(const struct target *t, const struct consumer_config *c, struct js_error *e)
{
    struct mf_slice durable = mf_str(c->durable_name);

    if (has_byte(t->name, '\\') || has_byte(t->name, '/'))
        return js_error_set(e, JS_CONSUMER_NAME_CONTAINS_PATH_SEPARATORS);
    if (t->form == FORM_DURABLE && durable.len == 0)
        return js_error_set(e, JS_CONSUMER_DURABLE_NAME_NOT_SET);
    if (t->form != FORM_EPHEMERAL && durable.len > 0 && !mf_eq(t->name, durable))
        return js_error_set(e, JS_CONSUMER_DURABLE_NAME_NOT_MATCH_SUBJECT);
    if (t->form == FORM_EPHEMERAL && durable.len > 0)
        return js_error_set(e, JS_CONSUMER_EPHEMERAL_WITH_DURABLE_NAME);
    return 0;
}

static int check_subject(const struct target *t, struct consumer_request *r, struct js_error *e)
{
    struct consumer_config *c = &r->config;

    if (!mf_eq(t->stream, mf_str(r->stream_name)))
        return js_error_set(e, JS_STREAM_MISMATCH);
    if (check_name(t, c, e) != 0)
        return MF_DENIED;
    if (t->form != FORM_EPHEMERAL && (c->name = arena_dup(&c->mem, t->name)) == NULL)
        return MF_NOMEM;
    if (t->filter.len > 0 && c->filter_subjects.n > 0)
        return js_error_set(e, JS_CONSUMER_MULTIPLE_FILTERS_NOT_ALLOWED);
    if (t->filter.len > 0 && !mf_eq(t->filter, mf_str(c->filter_subject)))
        return js_error_set(e, JS_CONSUMER_CREATE_FILTER_SUBJECT_MISMATCH);
    if (c->replicas > 1)
        return js_error_set(e, JS_STREAM_REPLICAS_NOT_SUPPORTED);
    return 0;
}

/* --- names ------------------------------------------------------------------------------------ */

#define GENERATED_LEN 8

static void generate_name(char dst[GENERATED_LEN + 1])
{
    static const char letter[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    for (size_t i = 0; i < GENERATED_LEN; i++)
        dst[i] = letter[rand_below(sizeof letter - 1)];
    dst[GENERATED_LEN] = '\0';
}

static const char *name_of(const struct consumer_config *c)
{
    return c->durable_name != NULL && *c->durable_name != '\0' ? c->durable_name : c->name;
}

static struct consumer *find_named(struct consumers *g, const char *name)
{
    return name == NULL || *name == '\0' ? NULL : consumers_find(g, mf_str(name));
}

/* A follower of a stream asks under a name that stays the same.  If acks count, it becomes a
 * durable consumer; otherwise each one gets a name of its own. */
static int adapt_copier(struct consumer_config *c, const struct stream_config *s)
{
    char suffix[GENERATED_LEN + 1];

    if (!c->direct || !c->sourcing || c->name == NULL || *c->name == '\0')
        return 0;
    if (s->retention != RETENTION_LIMITS) {
        c->direct = false;
        c->durable_name = c->name;
        c->ack_policy = ACK_FLOW_CONTROL;
        c->ack_wait_ns = c->max_deliver = c->inactive_threshold_ns = 0;
        return 0;
    }
    generate_name(suffix);
    c->name = arena_printf(&c->mem, "%s-%s", c->name, suffix);
    return c->name == NULL ? MF_NOMEM : 0;
}

/* --- which stream it is ----------------------------------------------------------------------- */

void api_stream_identity(const struct stream *s, char out[9])
{
    char created[CLOCK_TEXT];

    sha256_short(mf_str(clock_rfc3339(created, stream_created_ns(s))), out);
}

/* A follower sends the identity of the stream it knows: another stream of the same name is refused.
 */
static int check_identity(const struct api_call *call, const struct consumer_config *c,
                          const struct stream *s, struct js_error *e)
{
    char identity[9];
    struct mf_slice asked;

    if ((!c->direct && !c->sourcing) || !header_get(call->hdr, API_IDENTITY, &asked) ||
        asked.len == 0)
        return 0;
    api_stream_identity(s, identity);
    return mf_eq_str(asked, identity)
               ? 0
               : js_error_set(e, JS_CONSUMER_STREAM_IDENTITY_MISMATCH, identity);
}

/* --- the checks ------------------------------------------------------------------------------- */

static struct consumer_config_world world_of(struct api_account *aa, struct consumers *g,
                                             bool pedantic)
{
    const struct options_jetstream *js = &aa->api->js->options->jetstream;

    return (struct consumer_config_world){
        .stream = stream_config(consumers_stream(g)),
        .pedantic = pedantic,
        .max_ack_pending = js->max_ack_pending,
        .account_max_ack_pending = aa->ja->limits->max_ack_pending,
        .max_request_batch = js->max_request_batch,
        .max_consumers = aa->ja->limits->max_consumers,
        .default_max_consumers = limits_default_max_consumers(js),
        .consumers = consumers_count(g),
        .claims = consumers_claims(g),
    };
}

/* Checks that a request does not change fixed members of an existing consumer. */
static void inherit_fixed(struct consumer_config *c, const struct consumer_config *now)
{
    c->pause_until_ns = now->pause_until_ns; /* only PAUSE changes that */
    if (c->sourcing && c->durable_name != NULL && *c->durable_name != '\0') {
        c->deliver_policy = now->deliver_policy;
        c->opt_start_seq = now->opt_start_seq;
        c->opt_start_time_ns = now->opt_start_time_ns;
        c->has_start_time = now->has_start_time;
    }
}

static int check_replace(struct api_account *aa, struct consumer_request *r,
                         const struct consumer_config *now, const struct consumer_config_world *w,
                         struct js_error *e)
{
    struct mf_slice to = mf_str(now->deliver_subject);
    bool bound = to.len > 0 && router_has_interest(account_router(aa->ja->account), to);
    int rc;

    if (r->action == ACTION_CREATE && !consumer_config_equal(&r->config, now))
        return js_error_set(e, JS_CONSUMER_ALREADY_EXISTS);
    rc = consumer_config_admit(&r->config, true, w, e);
    return rc == 0 ? consumer_config_check_update(now, &r->config, bound, e) : rc;
}

/* *found: the one it replaces, or NULL. */
static int check_config(struct api_call *call, struct consumer_request *r, struct consumers *g,
                        struct consumer **found, struct js_error *e)
{
    struct consumer_config_world w = world_of(call->aa, g, r->pedantic);
    struct consumer_config *c = &r->config;
    struct consumer *named;
    int rc;

    if ((rc = adapt_copier(c, w.stream)) != 0 ||
        (rc = check_identity(call, c, consumers_stream(g), e)) != 0)
        return rc;
    if ((named = find_named(g, c->name)) != NULL)
        inherit_fixed(c, consumer_config(named));
    /* Stamped first: the stamp shows the request. */
    if ((rc = consumer_config_stamp(c)) != 0 || (rc = consumer_config_check(c, &w, e)) != 0)
        return rc;
    *found = named = find_named(g, name_of(c));
    w.self = named;
    if (named != NULL)
        return check_replace(call->aa, r, consumer_config(named), &w, e);
    if (r->action == ACTION_UPDATE)
        return js_error_set(e, JS_CONSUMER_DOES_NOT_EXIST);
    return consumer_config_admit(c, false, &w, e);
}

int limits_consumer_allowed(struct api_account *aa, struct consumers *g,
                            const struct stream_config *sc, struct consumer_config *c,
                            struct js_error *e)
{
    struct consumer_config_world w = world_of(aa, g, false);
    int rc;

    w.stream = sc;
    if (c->replicas > sc->replicas)
        c->replicas = sc->replicas; /* of a cluster it was part of */
    if ((rc = consumer_config_stamp(c)) != 0 || (rc = consumer_config_check(c, &w, e)) != 0 ||
        (rc = consumer_config_admit(c, false, &w, e)) != 0)
        return rc;
    consumer_config_settle(c, NULL);
    return 0;
}

/* --- doing it --------------------------------------------------------------------------------- */

/* A follower that lost a delivery asks for its consumer again: unacknowledged messages are
 * redelivered. */
static void begin_again(struct consumer *c)
{
    struct js_error e;
    uint64_t seq;

    if (!consumer_config(c)->direct && consumer_config(c)->sourcing)
        (void)!consumer_reset(c, 0, &seq, &e);
}

/* Creating or changing a paused consumer sends its pause advisory. */
static void created_reply(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    struct api_call *call = mf_container(op, struct api_call, cop);

    if (c == NULL) {
        api_reply_error(call, e);
        return;
    }
    const struct consumer_config *cfg = consumer_config(c);
    int64_t until = cfg->pause_until_ns;

    if (cfg->direct || cfg->sourcing)
        api_stream_identity(consumers_stream(consumer_set_of(c)), call->identity);
    if (until > jetstream_wall_ns(call->aa->api->js))
        consumer_advisory(call->ja, &(struct consumer_event){.kind = CONSUMER_PAUSED,
                                                             .consumer = c,
                                                             .pause_until_ns = until});
    consumer_info_json_write(api_reply_begin(call), c, jetstream_now_ns(call->aa->api->js), true);
    api_reply_end(call);
}

static void create_done(struct consumer_op *op, struct consumer *c, const struct js_error *e)
{
    if (c == NULL) {
        created_reply(op, c, e);
        return;
    }
    begin_again(c);
    op->done = created_reply;
    if (consumer_settled(c, op))
        created_reply(op, c, NULL);
}

static void create_consumer(struct api_call *call, struct consumers *g, struct consumer_config *c)
{
    char generated[GENERATED_LEN + 1];
    const char *name = name_of(c);

    if (name == NULL || *name == '\0') {
        do
            generate_name(generated);
        while (consumers_find(g, mf_str(generated)) != NULL);
        name = generated;
    }
    consumer_create(g, c, mf_str(name), &call->cop);
}

/* All checks passed. */
static void apply_request(struct api_call *call, struct consumers *g, struct consumer_request *r,
                          struct consumer *found)
{
    const struct consumer_config *now = found == NULL ? NULL : consumer_config(found);

    consumer_config_settle(&r->config, now);
    call->cop.done = create_done;
    if (found == NULL)
        create_consumer(call, g, &r->config);
    else if (consumer_config_equal(&r->config, now))
        create_done(&call->cop, found, NULL);
    else
        consumer_update(found, &r->config, &call->cop);
}

/* The request is sound; its stream is looked for. */
static void create_on_stream(struct api_call *call, struct consumer_request *r, unsigned token)
{
    struct consumers *g = api_call_consumers(call, token);
    struct consumer *found = NULL;
    struct js_error e;
    int rc;

    if (g == NULL)
        return;
    rc = call->ja->limits->none ? js_error_set(&e, JS_NO_LIMITS)
                                : check_config(call, r, g, &found, &e);
    if (rc != 0)
        api_reply_refused(call, rc, &e);
    else
        apply_request(call, g, r, found);
}

void consumer_create_handle(struct api_call *call)
{
    struct consumer_request r;
    struct js_error e;
    struct target t;
    int rc;

    if (!read_request(call, &r))
        return;
    if (!api_call_level(call) || !api_call_enabled(call)) {
        consumer_config_fini(&r.config);
        return;
    }
    t = target_of(call, &r.config);
    rc = check_subject(&t, &r, &e);
    if (rc != 0)
        api_reply_refused(call, rc, &e);
    else
        create_on_stream(call, &r, t.form == FORM_DURABLE ? 3 : 2);
    consumer_config_fini(&r.config);
}

/* --- when a stream ends ----------------------------------------------------------------------- */

static void tell_deleted(void *arg, struct consumer *c)
{
    consumer_advisory(arg, &(struct consumer_event){.kind = CONSUMER_DELETED, .consumer = c});
}

void consumers_tell_deleted(struct js_account *ja, struct stream *s)
{
    struct consumers *g = js_consumers(s);

    if (g != NULL)
        consumers_each(g, tell_deleted, ja);
}

/* --- limits of a stream's update ----------------------------------------------------------------
 */

struct violators {
    const struct stream_consumer_limits *limits;
    struct mf_buf names;
};

static void visit_limits(void *arg, struct consumer *c)
{
    struct violators *v = arg;
    const struct consumer_config *cfg = consumer_config(c);
    int64_t inactive = v->limits->inactive_threshold_ns, pending = v->limits->max_ack_pending;

    if ((inactive > 0 && cfg->inactive_threshold_ns > inactive) ||
        (pending > 0 && cfg->max_ack_pending > pending))
        mf_buf_printf(&v->names, "%s%s", v->names.len == 0 ? "" : ", ", consumer_name(c));
}

int consumer_limits_allow(struct stream *s, const struct stream_config *next, struct js_error *e)
{
    const struct stream_consumer_limits *old = &stream_config(s)->consumer_limits,
                                        *new = &next->consumer_limits;
    struct violators v = {new, MF_BUF_INIT};
    struct consumers *g = js_consumers(s);
    int rc = 0;

    if (g == NULL || ((new->inactive_threshold_ns <= 0 ||
                       new->inactive_threshold_ns == old->inactive_threshold_ns) &&
                      (new->max_ack_pending <= 0 || new->max_ack_pending == old->max_ack_pending)))
        return 0;
    consumers_each(g, visit_limits, &v);
    if (mf_buf_failed(&v.names))
        rc = MF_NOMEM;
    else if (v.names.len > 0)
        rc = js_error_set_text(e, JS_STREAM_UPDATE, "change to limits violates consumers: %s",
                               mf_buf_cstr(&v.names));
    mf_buf_fini(&v.names);
    return rc;
}
