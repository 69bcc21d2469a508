/* jsz_lag.c: the consumers with most messages to go, for /jsz?lagging=N (js_pages_impl.h).  Those
 * of mirrors and sources are left out: their lag stands beside the copy.
 *
 * One walk over all consumers keeps the N with the greatest lag, by name; then each is written if
 * it is still there.  O(consumers) and O(N) for each that is among them. */
#include "status/js_pages_impl.h"

#include "api/consumer_json.h"

#include <stdio.h>
#include <stdlib.h>

struct laggard {
    size_t account; /* of the walk */
    char stream[JSZ_NAME], name[JSZ_NAME];
    int64_t created_ns; /* of the stream */
    uint64_t lag;
};
struct jsz_lag {
    struct js_walk *walk;
    const char *account, *only; /* of this account, of this stream; NULL or "": all */
    bool in_stream;
    size_t max, n, at;
    uint64_t seen;
    struct laggard *top; /* the greatest first */
};

struct jsz_lag *jsz_lag_new(struct js_walk *walk, const char *account, const char *stream,
                            size_t max)
{
    struct jsz_lag *l = calloc(1, sizeof *l);

    if (l == NULL || (l->top = calloc(max, sizeof *l->top)) == NULL) {
        free(l);
        return NULL;
    }
    l->walk = walk;
    l->account = account;
    l->only = stream;
    l->max = max;
    return l;
}

void jsz_lag_free(struct jsz_lag *l)
{
    if (l == NULL)
        return;
    free(l->top);
    free(l);
}

static bool is_other(const char *wanted, const char *name)
{
    return wanted != NULL && *wanted != '\0' && strcmp(wanted, name) != 0;
}

static void note_consumer(struct jsz_lag *l, struct consumer *c)
{
    struct consumer_info i;
    size_t at = l->n;
    uint64_t lag;

    if (consumer_config(c)->direct)
        return;
    consumer_info(c, &i);
    lag = i.pending + i.ack_pending;
    l->seen++;
    while (at > 0 && l->top[at - 1].lag < lag)
        at--;
    if (at == l->max)
        return;
    if (l->n < l->max)
        l->n++;
    memmove(&l->top[at + 1], &l->top[at], (l->n - at - 1) * sizeof *l->top);
    l->top[at] =
        (struct laggard){.account = l->walk->at, .created_ns = l->walk->created_ns, .lag = lag};
    (void)snprintf(l->top[at].stream, JSZ_NAME, "%s", l->walk->stream);
    (void)snprintf(l->top[at].name, JSZ_NAME, "%s", consumer_name(c));
}

bool jsz_lag_collect(struct jsz_lag *l, struct doc *d)
{
    struct js_walk *k = l->walk;
    struct catalog_item x;

    if (k->at >= k->n)
        return false;
    if (l->in_stream) {
        struct stream *s = js_walk_stream(k, d);
        struct consumer *c = s == NULL ? NULL : js_walk_consumer(k, s);
        l->in_stream = c != NULL;
        if (c != NULL)
            note_consumer(l, c);
        return true;
    }
    if (is_other(l->account, k->accounts[k->at]) || !js_walk_item(k, d, &x))
        js_walk_next_account(k);
    else
        l->in_stream =
            x.stream != NULL && !is_other(l->only, x.name) && js_consumer_count(x.stream) > 0;
    return true;
}

bool jsz_lag_write(struct jsz_lag *l, struct doc *d, int64_t now_ns)
{
    const struct laggard *g = &l->top[l->at];
    struct consumer *c = NULL;
    struct stream *s;

    if (l->at == 0)
        jsonw_array(&d->w, "lagging");
    if (l->at < l->n) {
        js_walk_rewind(l->walk, g->account);
        (void)snprintf(l->walk->stream, JSZ_NAME, "%s", g->stream);
        l->walk->created_ns = g->created_ns;
        s = js_walk_stream(l->walk, d);
        if (s != NULL && js_consumers(s) != NULL)
            c = consumers_find(js_consumers(s), mf_str(g->name));
    }
    if (c != NULL) {
        jsonw_object(&d->w, NULL);
        js_account_write(l->walk->st, &d->w, l->walk->accounts[g->account]);
        consumer_info_json_write(&d->w, c, now_ns, false);
        jsonw_end(&d->w);
    }
    if (++l->at < l->n)
        return true;
    jsonw_end(&d->w);
    jsonw_u64(&d->w, "lagging_total", l->seen);
    return false;
}
