/* ttl_look.c: a look at a stream in slices: a census of subjects, a tally of deadlines, the first
 * deadline (ttl_look.h).
 *
 * Happy path: the parts are stepped one after another, in slices of the account's share; messages
 * whose times a census needs and that are not in memory are read from disk in between.
 * While it waits its stream may be deleted, or made anew: then there is no answer but 404. */
#include "api/ttl_look_impl.h"

#include "base/clock.h"
#include "subject/subject.h"

#include <stdlib.h>

#define STEPS 64

bool ttl_filter_check(char **filter)
{
    if (*filter != NULL && (*filter)[0] == '\0')
        *filter = NULL;
    return *filter == NULL || subject_valid(mf_str(*filter));
}

static void look_fini(void *state)
{
    struct ttl_look *k = state;

    stream_census_free(k->census);
    stream_ahead_free(k->tally);
    stream_ahead_free(k->first);
    stream_ahead_free(k->later);
}

struct ttl_look *ttl_look_new(struct api_call *call, struct stream *s, int64_t within_ns,
                              const char *filter)
{
    struct ttl_look *k = calloc(1, sizeof *k);

    api_call_set_state(call, k, look_fini);
    if (k == NULL) {
        api_reply_no_memory(call);
        return NULL;
    }
    *k = (struct ttl_look){.call = call,
                           .created_ns = stream_created_ns(s),
                           .from_ns = jetstream_now_ns(call->aa->api->js),
                           .within_ns = within_ns,
                           .filter = filter};
    return k;
}

int ttl_look_tally(struct ttl_look *k, struct stream *s, unsigned buckets, bool peaks)
{
    struct store_forecast_opts o = {.from_ns = k->from_ns,
                                    .to_ns = k->from_ns + k->within_ns,
                                    .buckets = buckets,
                                    .exact = TTL_LOOK_EXACT};

    if (peaks) {
        o.peak_ns[0] = CLOCK_S;
        o.peak_ns[1] = 60 * CLOCK_S;
    }
    k->tally = stream_forecast_new(s, &o, mf_str(k->filter));
    return k->tally == NULL ? MF_NOMEM : 0;
}

/* --- slices ----------------------------------------------------------------------------------- */

static bool look_step(struct api_call *call);

static struct stream *stream_of(struct ttl_look *k)
{
    struct api_call *call = k->call;
    struct stream *s =
        call->ja->closing ? NULL : catalog_find(call->ja->catalog, api_call_token(call, 1));

    return s != NULL && stream_created_ns(s) == k->created_ns ? s : NULL;
}

static void time_loaded(struct stream_load *m, int status)
{
    struct api_call *call = mf_container(m, struct api_call, load);
    struct ttl_look *k = call->state;

    if (stream_of(k) == NULL) {
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return;
    }
    stream_census_time(k->census, m->seq, status == 0 ? m->msg.ts_ns : 0);
    api_call_slices(call, look_step);
}

/* False: it is being read. */
static bool read_time(struct ttl_look *k, struct stream *s, uint64_t seq)
{
    struct stream_msg m;
    int rc = stream_get(s, seq, &m);

    if (rc == MF_AGAIN) {
        api_call_dequeue(k->call);
        k->call->load = (struct stream_load){.seq = seq, .done = time_loaded};
        if (stream_load(s, &k->call->load) == 0)
            return false;
        api_call_slices(k->call, look_step);
    }
    stream_census_time(k->census, seq, rc == 0 ? m.ts_ns : 0);
    if (rc == 0)
        stream_msg_end(&m);
    return true;
}

#define READING 1 /* of the two below: time_loaded() continues */

/* 0: the census is there.  MF_AGAIN, MF_NOMEM, READING. */
static int census_step(struct ttl_look *k, struct stream *s)
{
    uint64_t seq = stream_census_wants(k->census);

    if (seq == 0)
        return stream_census_step(k->census, STEPS);
    return read_time(k, s, seq) ? MF_AGAIN : READING;
}

/* One step of the first part that is not there yet. */
static int part_step(struct ttl_look *k, struct stream *s)
{
    int rc = k->census == NULL ? 0 : census_step(k, s);

    if (rc != 0)
        return rc;
    if ((k->first != NULL && !stream_ahead_step(k->first, STEPS)) ||
        (k->tally != NULL && !stream_ahead_step(k->tally, STEPS)) ||
        (k->later != NULL && !stream_ahead_step(k->later, STEPS)))
        return MF_AGAIN;
    return 0;
}

static bool look_step(struct api_call *call)
{
    struct ttl_look *k = call->state;
    struct stream *s = stream_of(k);
    int rc;

    if (s == NULL) {
        ttl_refuse(call, JS_STREAM_NOT_FOUND);
        return false;
    }
    if (!api_call_heard(call)) /* the reply has no subscriber any more */
        return false;
    do {
        rc = part_step(k, s);
    } while (rc == MF_AGAIN && !js_slice_spent(call->ja, 1));
    if (rc == 0)
        k->answer(k, s);
    else if (rc == MF_NOMEM)
        api_reply_no_memory(call);
    return rc == MF_AGAIN;
}

void ttl_look_start(struct ttl_look *k)
{
    if (api_call_heard(k->call))
        api_call_slices(k->call, look_step);
}
