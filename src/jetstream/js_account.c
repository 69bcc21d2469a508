/* js_account.c: small services of an account for all files above it. */
#include "jetstream/jetstream_impl.h"

#include "proto/header.h"

#define UNIT 8u /* ordinary steps between two looks at the clock in work.c */

/* --- which account ---------------------------------------------------------------------------- */

struct js_account *js_account_of(struct jetstream *js, const struct account *acc)
{
    struct table_node *n = table_first(&jetstream_impl(js)->by_account, js_account_hash(acc));

    for (; n != NULL; n = table_next(n)) {
        struct js_account *ja = mf_container(n, struct js_account, node);
        if (ja->account == acc)
            return ja;
    }
    return NULL;
}

struct js_account *js_account_system(struct jetstream *js)
{
    struct account *sys = accounts_system(js->accounts);

    return sys == NULL ? NULL : js_account_of(js, sys);
}

/* --- messages --------------------------------------------------------------------------------- */

void js_publish(struct js_account *ja, struct mf_slice subject, struct mf_slice reply,
                struct mf_slice hdr, struct mf_slice payload)
{
    struct mf_msg m = {.subject = subject, .reply = reply, .hdr = hdr, .payload = payload};

    (void)account_publish(ja->account,
                          &(struct router_msg){.route = subject, .msg = &m, .no_request = true});
}

bool js_slice_spent(const struct js_account *ja, size_t units)
{
    for (size_t i = 0; i <= units && i <= UNIT; i++)
        if (work_spent(ja->js->loop))
            return true;
    return false;
}

bool js_subject_heard(const struct js_account *ja, struct mf_slice subject)
{
    struct router *r = account_router(ja->account);

    /* Unknown for lack of memory counts as heard. */
    return subject.len > 0 && (router_has_interest(r, subject) || router_search_failed(r));
}

/* A Go integer: a sign and digits, of any length; an empty value counts as none.  false: it is no
 * integer, or larger than our level. */
bool jetstream_level_served(const struct jetstream *a, struct mf_slice hdr)
{
    struct mf_slice text;
    bool minus;
    uint64_t n;

    if (hdr.len == 0 || !header_get(hdr, "Nats-Required-Api-Level", &text) || text.len == 0)
        return true;
    minus = text.ptr[0] == '-';
    if (minus || text.ptr[0] == '+')
        text = mf_slice(text.ptr + 1, text.len - 1);
    if (mf_parse_u64(text, &n) != 0 || n > (uint64_t)INT64_MAX + minus)
        return false;
    return minus || n <= a->setup.level;
}

/* --- consumers -------------------------------------------------------------------------------- */

size_t js_consumer_count(struct stream *s)
{
    struct consumers *g = js_consumers(s);

    return g == NULL ? 0 : consumers_count(g);
}

static void add_count(void *arg, struct stream *s)
{
    uint64_t *n = arg;

    *n += js_consumer_count(s);
}

uint64_t js_account_consumers(const struct js_account *ja)
{
    uint64_t n = 0;

    if (ja->catalog != NULL)
        catalog_each(ja->catalog, MF_SLICE_NONE, add_count, &n);
    return n;
}
