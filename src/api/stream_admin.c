/* stream_admin.c: STREAM.CREATE, UPDATE, DELETE and PURGE.
 *
 * Happy path: the request is read and checked in nats-server's order; the catalog executes it and
 * answers after the commit; the answer shows the stream as it is then.
 * Failure: nothing was changed; the answer is the first check that failed.
 * Close: the catalog answers or drops its operations before it is closed. */
#include "api/api_impl.h"

#include <stdlib.h>

/* --- shared by CREATE and UPDATE -------------------------------------------------------------- */

static const struct stream_config *find_config(void *arg, const char *name)
{
    struct api_account *aa = arg;

    return catalog_config(aa->ja->catalog, mf_str(name));
}

/* Reads the body.  false: answered, and *c holds nothing. */
static bool read_config(struct api_call *call, struct stream_config *c)
{
    const struct options_jetstream *js = &call->aa->api->js->options->jetstream;
    struct mf_error why;
    int rc;

    stream_config_init(c);
    rc = config_json_decode(call->body, js->strict, c, &why);
    if (rc == 0)
        return true;
    stream_config_fini(c);
    api_reply_unread(call, rc, &why);
    return false;
}

int limits_config_allowed(struct api_account *aa, struct stream_config *c, enum config_use use,
                          struct js_error *e)
{
    const struct options_jetstream *js = &aa->api->js->options->jetstream;
    const struct options_js_limits *l = limits_of_tier(aa->ja, c->replicas);
    struct stream_config_world world = {
        .strict = js->compat_strict,
        .update = use == CONFIG_UPDATE,
        .restored = use == CONFIG_RESTORE,
        .default_duplicate_window_ns = js->duplicate_window_ns,
        .max_stream_bytes_memory = l == NULL ? -1 : l->mem_max_stream_bytes,
        .max_stream_bytes_file = l == NULL ? -1 : l->disk_max_stream_bytes,
        .max_bytes_required = l != NULL && l->max_bytes_required,
        .account = account_name(aa->ja->account),
        .ttl = &aa->api->js->options->ttl,
        .find = find_config,
        .arg = aa,
    };

    return stream_config_check(c, &world, e);
}

static bool is_named(struct api_call *call, const struct stream_config *c)
{
    return mf_eq(api_call_token(call, 2), mf_str(c->name));
}

/* Only one at a time may change a stream; the others wait. */
static struct stream *idle_stream(struct api_call *call)
{
    return api_call_park(call, api_call_token(call, 2)) ? NULL : api_call_stream(call, 2);
}

/* Answers with the error of a failed check, and frees the configuration. */
static void refuse_config(struct api_call *call, struct stream_config *c, int rc,
                          const struct js_error *e)
{
    stream_config_fini(c);
    api_reply_refused(call, rc, e);
}

/* --- CREATE ----------------------------------------------------------------------------------- */

static void created_reply(struct api_call *call, struct stream *s)
{
    struct jsonw *w = api_reply_begin(call);

    info_json_write(w, call->ja, s, INFO_METADATA);
    jsonw_bool(w, "did_create", true);
    api_reply_end(call);
}

static void create_done(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct api_call *call = mf_container(op, struct api_call, op);

    call->aa->creating--;
    if (s == NULL) {
        api_reply_error(call, e);
        return;
    }
    advisory_stream_action(call->ja, stream_name(s), "create");
    created_reply(call, s);
}

/* Checks of the request alone (docs/checks.md, CREATE). */
static int check_request(struct api_call *call, const struct stream_config *c, struct js_error *e)
{
    if (!is_named(call, c))
        return js_error_set(e, JS_STREAM_MISMATCH);
    if (strpbrk(c->name, "\\/") != NULL)
        return js_error_set(e, JS_STREAM_NAME_CONTAINS_PATH_SEPARATORS);
    if (c->sealed)
        return js_error_set(e, JS_STREAM_INVALID_CONFIG,
                            "stream configuration for create can not be sealed");
    if (c->mirror_direct && c->mirror == NULL)
        return js_error_set(e, JS_STREAM_INVALID_CONFIG,
                            "stream has no mirror but does have mirror direct");
    return 0;
}

/* docs/checks.md, Stream create, from the limits of the account on.  0: create it.  1: it exists.
 */
static int check_create(struct api_account *aa, struct stream_config *c,
                        const struct stream_config *now, struct js_error *e)
{
    int rc = limits_allow(aa, c, now, e);

    if (rc == 0)
        rc = limits_config_allowed(aa, c, CONFIG_CREATE, e);
    if (rc == 0)
        rc = stream_config_stamp(c); /* two that are the same have the same stamp */
    if (rc == 0 && now != NULL)
        return stream_config_equal(c, now) ? 1 : js_error_set(e, JS_STREAM_NAME_EXIST);
    return rc == 0 ? limits_create_allowed(aa, c, e) : rc;
}

/* The stream may exist and be offline. */
static bool is_offline(struct api_call *call, const struct stream_config *c)
{
    const char *reason = catalog_offline(call->ja->catalog, mf_str(c->name));
    struct js_error e;

    if (reason == NULL)
        return false;
    js_error_set(&e, JS_STREAM_OFFLINE_REASON, reason);
    api_reply_error(call, &e);
    return true;
}

void stream_create_handle(struct api_call *call)
{
    struct api_account *aa = call->aa;
    struct stream_config c;
    struct stream *s;
    struct js_error e;
    int rc;

    if (!read_config(call, &c))
        return;
    rc = check_request(call, &c, &e);
    if (rc != 0) {
        refuse_config(call, &c, rc, &e);
        return;
    }
    if (api_call_park(call, mf_str(c.name)) || is_offline(call, &c)) {
        stream_config_fini(&c);
        return;
    }
    s = catalog_find(aa->ja->catalog, mf_str(c.name));
    rc = check_create(aa, &c, s == NULL ? NULL : stream_config(s), &e);
    if (rc < 0) {
        refuse_config(call, &c, rc, &e);
    } else if (rc == 1) {
        stream_config_fini(&c);
        created_reply(call, s);
    } else {
        aa->creating++;
        call->op.done = create_done;
        catalog_create(aa->ja->catalog, &c, 0, &call->op);
        stream_config_fini(&c);
    }
}

/* --- UPDATE ----------------------------------------------------------------------------------- */

static void update_done(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct api_call *call = mf_container(op, struct api_call, op);

    if (s == NULL) {
        api_reply_error(call, e);
        return;
    }
    advisory_stream_action(call->ja, stream_name(s), "modify");
    info_json_write(api_reply_begin(call), call->ja, s, INFO_METADATA | INFO_DOMAIN);
    api_reply_end(call);
}

/* The configuration is checked before its name. */
static int check_update_request(struct api_call *call, struct stream_config *c, struct js_error *e)
{
    int rc = limits_config_allowed(call->aa, c, CONFIG_UPDATE, e);

    return rc == 0 && !is_named(call, c) ? js_error_set(e, JS_STREAM_MISMATCH) : rc;
}

static int check_update(struct api_account *aa, const struct stream_config *now,
                        struct stream_config *next, struct js_error *e)
{
    int rc = stream_config_stamp(next);

    /* nats-server checks again after it filled in defaults: markers have switched TTLs on. */
    if (rc == 0 && next->allow_msg_counter && next->allow_msg_ttl)
        rc = js_error_set_text(e, JS_STREAM_INVALID_CONFIG,
                               "counter stream cannot use message TTLs");
    if (rc == 0)
        rc = stream_config_check_update(now, next, e);
    return rc == 0 ? limits_update_allowed(aa, now, next, e) : rc;
}

void stream_update_handle(struct api_call *call)
{
    struct stream_config c;
    struct stream *s;
    struct js_error e;
    int rc;

    if (!read_config(call, &c))
        return;
    rc = check_update_request(call, &c, &e);
    if (rc != 0) {
        refuse_config(call, &c, rc, &e);
        return;
    }
    s = idle_stream(call);
    if (s == NULL) {
        stream_config_fini(&c);
        return;
    }
    if (catalog_is_draft(call->ja->catalog,
                         mf_str(stream_name(s)))) /* acknowledged messages could be lost */
        rc = js_error_set_text(&e, JS_STREAM_UPDATE, "stream is being restored");
    else
        rc = check_update(call->aa, stream_config(s), &c, &e);
    if (rc != 0) {
        refuse_config(call, &c, rc, &e);
        return;
    }
    bool other = c.retention != stream_config(s)->retention;
    call->op.done = update_done;
    catalog_update(call->ja->catalog, s, &c, &call->op);
    stream_config_fini(&c);
    if (other && js_consumers(s) != NULL)
        consumers_stream_updated(js_consumers(s));
}

/* --- DELETE ----------------------------------------------------------------------------------- */

static void delete_done(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct api_call *call = mf_container(op, struct api_call, op);
    char name[256];
    struct mf_slice token = api_call_token(call, 2);

    (void)s;
    if (e != NULL) {
        api_reply_error(call, e);
        return;
    }
    if (token.len < sizeof name) { /* it was the name of a stream, so it is */
        memcpy(name, token.ptr, token.len);
        name[token.len] = '\0';
        advisory_stream_action(call->ja, name, "delete");
    }
    jsonw_bool(api_reply_begin(call), "success", true);
    api_reply_end(call);
}

static void delete_gone(struct catalog_op *op, struct stream *s)
{
    consumers_tell_deleted(mf_container(op, struct api_call, op)->ja, s);
}

void stream_delete_handle(struct api_call *call)
{
    struct stream *s;
    struct js_error e;

    if (!api_body_empty(call->body)) {
        js_error_set(&e, JS_NOT_EMPTY_REQUEST);
        api_reply_error(call, &e);
        return;
    }
    s = idle_stream(call);
    if (s == NULL)
        return;
    call->op.done = delete_done;
    call->op.gone = delete_gone;
    catalog_delete(call->ja->catalog, s, &call->op);
}

/* --- PURGE ------------------------------------------------------------------------------------ */

struct purge_request {
    uint64_t seq, keep;
    char *filter;
};
static const struct json_field purge_fields[] = {
    {.name = "seq", .kind = JSON_U64, .offset = offsetof(struct purge_request, seq)},
    {.name = "filter", .kind = JSON_STR, .offset = offsetof(struct purge_request, filter)},
    {.name = "keep", .kind = JSON_U64, .offset = offsetof(struct purge_request, keep)},
};
static const struct json_type purge_type = {"JSApiStreamPurgeRequest", sizeof(struct purge_request),
                                            purge_fields, MF_COUNT(purge_fields)};

static void purge_done(struct stream_op *op, const struct js_error *e, uint64_t count)
{
    struct api_call *call = mf_container(op, struct api_call, sop);
    struct jsonw *w;

    if (e != NULL) {
        call->soft = true;
        api_reply_error(call, e);
        return;
    }
    w = api_reply_begin(call);
    jsonw_bool(w, "success", true);
    jsonw_u64(w, "purged", count);
    api_reply_end(call);
}

static void purge_stream(struct api_call *call, const struct purge_request *r)
{
    struct stream *s = api_call_stream(call, 2);
    struct js_error e;

    if (s == NULL)
        return;
    if (stream_config(s)->sealed) {
        js_error_set(&e, JS_STREAM_SEALED);
        api_reply_error(call, &e);
    } else if (stream_config(s)->deny_purge) {
        js_error_set(&e, JS_STREAM_PURGE_FAILED, "stream purge not permitted");
        api_reply_error(call, &e);
    } else {
        call->sop.done = purge_done;
        stream_purge(s, mf_str(r->filter), r->seq, r->keep, &call->sop);
    }
}

void stream_purge_handle(struct api_call *call)
{
    struct purge_request r = {0, 0, NULL};
    struct js_error e;

    if (json_is_document(call->body) && !api_call_read(call, &purge_type, &r))
        return;
    if (r.seq > 0 && r.keep > 0) {
        js_error_set(&e, JS_BAD_REQUEST);
        api_reply_error(call, &e);
    } else {
        purge_stream(call, &r);
    }
}
