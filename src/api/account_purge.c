/* account_purge.c: $JS.API.ACCOUNT.PURGE.<account>, a request of the system account: deletes every
 * stream of an account.
 *
 * Happy path: a second call, of the purged account, deletes the streams one after the other in the
 * order of names (purge_next), so that streams created meanwhile cannot keep it busy for ever; then
 * the first call is answered.
 * Failure: the first stream that cannot be deleted ends the purge, and the answer says why.
 * Close: a call that is freed notifies the other one; without the second call there is no answer.
 */
#include "api/account_purge_impl.h"

#include "api/api_impl.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

#define NAME 256 /* of a stream, with its end */

struct purge { /* the state of the call that works */
    struct api_call *asker;
    char last[NAME]; /* all names up to this one are done; "": none yet */
    size_t deleted;
};
struct asked { /* the state of the call that waits */
    struct purge *purge;
};

static void forget_asker(void *state)
{
    struct asked *q = state;

    if (q->purge != NULL)
        q->purge->asker = NULL;
}

/* The call that waits, if it still does; it is the caller's from now on. */
static struct api_call *take_asker(struct purge *p)
{
    struct api_call *asker = p->asker;

    p->asker = NULL;
    if (asker != NULL)
        ((struct asked *)asker->state)->purge = NULL;
    return asker;
}

static void abandon_purge(void *state)
{
    struct api_call *asker = take_asker(state);

    if (asker != NULL)
        api_call_free(asker);
}

static void answer_asker(struct api_call *asker, const struct js_error *e)
{
    if (asker == NULL)
        return;
    if (e != NULL) {
        api_reply_error(asker, e);
        return;
    }
    jsonw_bool(api_reply_begin(asker), "initiated", true);
    api_reply_end(asker);
}

static void end_purge(struct api_call *call, const struct js_error *e)
{
    struct purge *p = call->state;
    struct api_call *asker = take_asker(p);

    log_info("Purge request for account %s: %zu streams deleted%s%s",
             account_name(call->ja->account), p->deleted,
             e == NULL ? "" : ", then: ", e == NULL ? "" : e->text);
    api_call_free(call);
    answer_asker(asker, e);
}

static void purge_next(struct api_call *call);

static void continue_purge(struct catalog_op *op, struct stream *s, const struct js_error *e)
{
    struct api_call *call = mf_container(op, struct api_call, op);
    struct purge *p = call->state;

    (void)s;
    if (e != NULL) {
        end_purge(call, e);
        return;
    }
    p->deleted++;
    advisory_stream_action(call->ja, p->last, "delete");
    if (call->ja->closing)
        api_call_free(call);
    else
        purge_next(call);
}

static void notify_deleted(struct catalog_op *op, struct stream *s)
{
    consumers_tell_deleted(mf_container(op, struct api_call, op)->ja, s);
}

/* Also runs again when a stream that was being made or deleted is ready. */
static void purge_next(struct api_call *call)
{
    struct catalog *c = call->ja->catalog;
    struct purge *p = call->state;
    struct catalog_item item;
    struct js_error e;

    if (!catalog_at(c, catalog_behind(c, mf_str(p->last)), &item)) {
        end_purge(call, NULL);
        return;
    }
    if (api_call_park(call, mf_str(item.name)))
        return;
    (void)snprintf(p->last, sizeof p->last, "%s", item.name);
    if (item.stream == NULL) {
        js_error_set(&e, JS_STREAM_OFFLINE_REASON, item.reason == NULL ? "" : item.reason);
        end_purge(call, &e);
        return;
    }
    call->op.done = continue_purge;
    call->op.gone = notify_deleted;
    catalog_delete(c, item.stream, &call->op);
}

static const struct api_route work = {
    "ACCOUNT.PURGE.*", "account_purge_response", purge_next, NULL, false, true};

/* The two calls, tied to each other.  false: out of memory, nothing was begun. */
static bool begin_purge(struct api_call *asker, struct api_account *of)
{
    struct mf_msg none = {.subject = asker->subject};
    struct api_call *call =
        api_call_new(of, &api_jetstream, &(struct router_msg){.route = none.subject, .msg = &none},
                     asker->rest, false);
    struct purge *p = calloc(1, sizeof *p);
    struct asked *q = calloc(1, sizeof *q);

    if (call == NULL || p == NULL || q == NULL) {
        if (call != NULL)
            api_call_free(call);
        free(p);
        free(q);
        return false;
    }
    p->asker = asker;
    q->purge = p;
    api_call_set_state(asker, q, forget_asker);
    api_call_set_state(call, p, abandon_purge);
    call->route = &work;
    call->type = work.type;
    purge_next(call);
    return true;
}

void account_purge_handle(struct api_call *call)
{
    struct api *a = call->aa->api;
    char *name = mf_slice_dup(api_call_token(call, 2));
    struct account *acc = name == NULL ? NULL : accounts_get(a->js->accounts, name);
    struct js_account *ja = acc == NULL ? NULL : js_account_of(a->js, acc);
    struct js_error e;

    if (name == NULL) {
        api_reply_no_memory(call);
    } else if (strpbrk(name, "\\/") != NULL) {
        js_error_set_text(&e, JS_STREAM_GENERAL_ERROR,
                          "account name can not contain path separators");
        api_reply_error(call, &e);
    } else if (ja != NULL && ja->catalog != NULL) {
        if (!begin_purge(call, api_account(ja)))
            api_reply_no_memory(call);
    } else if (jetstream_stored(a->js, name)) {
        js_error_set_text(&e, JS_STREAM_GENERAL_ERROR,
                          "the account is not served: give it JetStream in the configuration, "
                          "reload, and ask again");
        api_reply_error(call, &e);
    } else {
        answer_asker(call, NULL);
    }
    free(name);
}
