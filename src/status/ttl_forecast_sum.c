/* ttl_forecast_sum.c: forecasts of many streams added up, for /ttlz (ttl_page_impl.h).
 *
 * A stream costs one tally of its wheel, as FORECAST of the TTL API (stream_ahead.h): up to `exact`
 * deadlines are visited, of more the counts of the wheel are summed.  Its fullest minute is looked
 * for only where it can be a cliff: that is the dear part. */
#include "status/ttl_page_impl.h"
#include "api/ttl_numbers.h"

#include "base/clock.h"

#include <stdlib.h>

#define DAY_NS     (24 * 3600 * CLOCK_S)
#define EXACT_ONE  100000u
#define EXACT_EACH 4096u
#define CLIFFS     16 /* shown; the largest ones */

struct cliff {
    char *account, *stream;
    int64_t at_ns;
    uint64_t msgs;
};
struct ttl_forecast {
    int64_t from_ns, within_ns;
    unsigned parts;
    uint64_t exact;
    struct {
        uint64_t msgs, bytes;
    } * part;
    struct stream_lives lives;
    bool sampled;
    int64_t blurred_ns;
    struct cliff cliff[CLIFFS];
    size_t cliffs;
    struct stream_ahead *tally; /* of the stream that is being counted */
};

static int parse_within(const char *text, int64_t *out, struct mf_error *e)
{
    *out = DAY_NS;
    if (text == NULL || *text == '\0')
        return 0;
    if (ttl_parse_within(text, out) != 0)
        return mf_fail(e, MF_PROTO, "within must be a duration of 1m to 36500d");
    return 0;
}

int ttl_forecast_new(struct ttl_forecast **out, int64_t now_ns, const char *within, unsigned parts,
                     bool one, struct mf_error *e)
{
    struct ttl_forecast *f;
    int64_t within_ns;

    if (parse_within(within, &within_ns, e) != 0)
        return e->code;
    f = calloc(1, sizeof *f);
    if (f == NULL || (f->part = calloc(parts, sizeof *f->part)) == NULL) {
        free(f);
        return mf_fail(e, MF_NOMEM, "forecast");
    }
    f->from_ns = now_ns;
    f->within_ns = within_ns;
    f->parts = parts;
    f->exact = one ? EXACT_ONE : EXACT_EACH;
    *out = f;
    return 0;
}

void ttl_forecast_free(struct ttl_forecast *f)
{
    if (f == NULL)
        return;
    stream_ahead_free(f->tally);
    for (size_t i = 0; i < f->cliffs; i++) {
        free(f->cliff[i].account);
        free(f->cliff[i].stream);
    }
    free(f->part);
    free(f);
}

/* --- one stream ------------------------------------------------------------------------------- */

int ttl_forecast_begin(struct ttl_forecast *f, struct stream *s)
{
    struct store_forecast_opts o = {.from_ns = f->from_ns,
                                    .to_ns = f->from_ns + f->within_ns,
                                    .buckets = f->parts,
                                    .exact = f->exact};
    struct stream_lives lives;

    if (stream_next_expiry(s) == 0)
        return 0; /* it has no deadlines */
    stream_lives(s, &lives);
    if (lives.with > TTL_CLIFF_MSGS)
        o.peak_ns[1] = 60 * CLOCK_S;
    f->tally = stream_forecast_new(s, &o, MF_SLICE_NONE);
    return f->tally == NULL ? MF_NOMEM : 0;
}

bool ttl_forecast_step(struct ttl_forecast *f, size_t steps)
{
    return f->tally != NULL && !stream_ahead_step(f->tally, steps);
}

/* The smallest one makes room. */
static struct cliff *place_cliff(struct ttl_forecast *f, uint64_t msgs)
{
    struct cliff *least = f->cliff;

    if (f->cliffs < CLIFFS)
        return &f->cliff[f->cliffs++];
    for (size_t i = 1; i < f->cliffs; i++)
        if (f->cliff[i].msgs < least->msgs)
            least = &f->cliff[i];
    if (least->msgs >= msgs)
        return NULL;
    free(least->account);
    free(least->stream);
    return least;
}

static void note_cliff(struct ttl_forecast *f, struct stream *s, const char *account,
                       const struct store_peak *minute)
{
    struct cliff *c = place_cliff(f, minute->msgs);

    if (c == NULL)
        return;
    *c = (struct cliff){.account = mf_slice_dup(mf_str(account)),
                        .stream = mf_slice_dup(mf_str(stream_name(s))),
                        .at_ns = minute->at_ns,
                        .msgs = minute->msgs};
}

void ttl_forecast_end(struct ttl_forecast *f, struct stream *s, const char *account)
{
    struct store_forecast_sum sum;
    struct stream_lives lives;

    if (s != NULL) {
        stream_lives(s, &lives);
        f->lives.with += lives.with;
        f->lives.without += lives.without;
        f->lives.infinite += lives.infinite;
    }
    if (s != NULL && f->tally != NULL && stream_forecast_sum(f->tally, &sum)) {
        for (unsigned i = 0; i < sum.buckets && i < f->parts; i++) {
            f->part[i].msgs += sum.bucket[i].msgs;
            f->part[i].bytes += stream_bucket_bytes(s, &sum.bucket[i]);
        }
        f->sampled |= sum.sampled;
        if (sum.blurred_ns > f->blurred_ns)
            f->blurred_ns = sum.blurred_ns;
        if (ttl_is_cliff(&sum, lives.with))
            note_cliff(f, s, account, &sum.peak[1]);
    }
    stream_ahead_free(f->tally);
    f->tally = NULL;
}

/* --- the result ------------------------------------------------------------------------------- */

static void write_cliffs(const struct ttl_forecast *f, const struct js_status *st, struct jsonw *w)
{
    jsonw_array(w, "cliffs");
    for (size_t i = 0; i < f->cliffs; i++) {
        const struct cliff *c = &f->cliff[i];
        if (c->account == NULL || c->stream == NULL)
            continue; /* no memory for its name */
        jsonw_object(w, NULL);
        js_account_write(st, w, c->account);
        jsonw_str(w, "stream", c->stream);
        jsonw_time(w, "at", c->at_ns);
        jsonw_u64(w, "msgs", c->msgs);
        jsonw_end(w);
    }
    jsonw_end(w);
}

void ttl_forecast_write(const struct ttl_forecast *f, const struct js_status *st, struct jsonw *w)
{
    uint64_t soon = 0;
    char text[CLOCK_TEXT];

    jsonw_object(w, "forecast");
    jsonw_time(w, "from", f->from_ns);
    jsonw_str(w, "within", clock_duration(text, f->within_ns));
    jsonw_array(w, "buckets");
    for (unsigned i = 0; i < f->parts; i++) {
        ttl_json_bucket(w, ttl_bucket_end(f->from_ns, f->within_ns, f->parts, i), f->part[i].msgs,
                        f->part[i].bytes);
        soon += f->part[i].msgs;
    }
    jsonw_end(w);
    jsonw_u64(w, "later", f->lives.with > soon ? f->lives.with - soon : 0);
    jsonw_u64(w, "without", f->lives.without);
    jsonw_u64(w, "infinite", f->lives.infinite);
    jsonw_bool(w, "bytes_sampled", f->sampled);
    ttl_json_blurred(w, f->blurred_ns);
    write_cliffs(f, st, w);
    jsonw_end(w);
}
