/* scope.c: `scope: subject`: of one subject, an older message never outlives a newer one.
 *
 * Deadlines of a subject do not decrease from the older to the newer message; no deadline is the
 * latest.  Each change of a deadline keeps that: it is cut to the deadline of the next newer
 * message, then older ones that would end later are lowered to it in the same batch, the newest
 * first, up to the first that does not.  So a value that ended is never followed by an older one,
 * on any read. Cost: one comparison where nothing is to be done; at most POLICY_HISTORY_MAX
 * messages otherwise. */
#include "stream/lifetime_impl.h"

bool scope_governs(const struct stream *s)
{
    const struct policy_view *v = policy_view(s->governor);

    return v->keys.scope == POLICY_SCOPE_SUBJECT && v->keys.enforce == POLICY_ENFORCE_ON;
}

static bool ends_later(int64_t a_ns, int64_t b_ns)
{
    return b_ns != 0 && (a_ns == 0 || a_ns > b_ns);
}

int64_t scope_cut(const struct stream *s, uint64_t seq, int64_t deadline_ns)
{
    uint64_t newer = store_newer(s->store, seq);
    int64_t limit_ns;
    uint16_t flags;

    if (newer != 0 && store_life(s->store, newer, &limit_ns, &flags) &&
        ends_later(deadline_ns, limit_ns))
        return limit_ns;
    return deadline_ns;
}

int scope_lower(struct stream *s, uint64_t newest, int64_t deadline_ns)
{
    int64_t old_ns;
    uint16_t flags;

    for (uint64_t seq = newest; seq != 0; seq = store_older(s->store, seq)) {
        if (!store_life(s->store, seq, &old_ns, &flags) || !ends_later(old_ns, deadline_ns))
            return 0;
        int rc = store_set_deadline(s->store, seq, deadline_ns, flags & STORE_PINNED, NULL);
        if (rc != 0 && rc != MF_NOTFOUND)
            return rc;
    }
    return 0;
}

int scope_set_end(struct stream *s, uint64_t seq, int64_t *deadline_ns, uint16_t bits)
{
    bool scope = scope_holds(s);
    int64_t now_ns = stream_now(s);
    int rc;

    if (*deadline_ns != 0 && *deadline_ns < now_ns)
        *deadline_ns = now_ns; /* it ends now: its expiry is not late by what has passed before */
    if (scope)
        *deadline_ns = scope_cut(s, seq, *deadline_ns);
    if (*deadline_ns != 0)
        bits &= (uint16_t)~STORE_INFINITE;
    rc = store_set_deadline(s->store, seq, *deadline_ns, bits, NULL);
    if (rc == 0)
        warn_note(s, seq, *deadline_ns);
    return rc == 0 && scope ? scope_lower(s, store_older(s->store, seq), *deadline_ns) : rc;
}
