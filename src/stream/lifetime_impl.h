/* lifetime_impl.h: the TTL policy in the files of this folder (lifetime.c). */
#ifndef STREAM_LIFETIME_H
#define STREAM_LIFETIME_H

#include "stream/stream_ttl.h"
#include "stream/stream_impl.h"

/* config_policy.c: compiles the policy of a requested configuration.  srv may be NULL.  MF_INVAL
 * with the text for the client; MF_NOMEM. */
MF_MUSTCHECK int config_policy(const struct stream_config *c, const char *account,
                               const struct policy_server *srv, struct policy **out,
                               struct mf_error *e);
/* The same for a stream that exists: policy_compile_stored().  MF_NOMEM. */
MF_MUSTCHECK int config_policy_stored(const struct stream_config *c, const char *account,
                                      const struct policy_server *srv, struct policy **out);
/* The same, with a warning in the log where the stream's own keys are not understood.  MF_NOMEM. */
MF_MUSTCHECK int lifetime_compile(const struct stream_config *c, const struct stream_host *h,
                                  struct policy **out);
/* p becomes the stream's (NULL is fine); the former policy is freed. */
void lifetime_use(struct stream *s, struct policy *p);

/* Checks the writer's TTL against the bounds.  A clamped TTL is written into the header
 * (s->buf.header).  copy: of a source or a schedule, which cannot be refused.  0, or MF_DENIED with
 * *e; MF_NOMEM. */
MF_MUSTCHECK int lifetime_judge(struct stream *s, struct intake *in, bool copy, struct js_error *e);
static inline int lifetime_check(struct stream *s, struct intake *in, bool copy, struct js_error *e)
{
    return s->governor == NULL ? 0 : lifetime_judge(s, in, copy, e);
}
/* The TTL that the message gets: a duration, TTL_NEVER or TTL_NONE.  Inside its append. */
int64_t lifetime_resolve_by(struct stream *s, struct intake *in); /* the stream has a policy */
static inline int64_t lifetime_resolve(struct stream *s, struct intake *in)
{
    if (s->policy != NULL)
        return lifetime_resolve_by(s, in);
    return s->cfg.allow_msg_ttl ? in->ttl_ns : TTL_NONE;
}
/* lifetime_stored.c: a message as the policy sees it. */
struct policy_message lifetime_message(struct stream *s, const struct intake *in,
                                       int64_t client_ttl);
bool lifetime_is_audit(const struct policy *p); /* enforce: audit */
/* The TTL of a stored message: its header's (allow_msg_ttl), else that of the policy (may be NULL).
 * O(header), and the body where a rule reads it. */
int64_t lifetime_stored_ttl(struct stream *s, const struct store_rec *r, bool allow_msg_ttl,
                            const struct policy *policy);
/* The TTL of a stored message, for its publish ack.  False: not requested. */
bool lifetime_show(struct stream *s, const struct intake *in, struct stream_ack_ttl *out);
/* The policy's (NULL: none) decision about a stored message, as if it were published at from_ns. */
void lifetime_stored_decide(struct stream *s, const struct policy *p, const struct store_rec *r,
                            int64_t from_ns, struct policy_decision *d);
/* A policy link would make the message infinite if the linked message were. */
bool lifetime_may_be_linked(struct stream *s, const struct store_rec *r);

/* --- backfill.c (backfill.h) ------------------------------------------------------------------ */

MF_MUSTCHECK int backfill_resume(struct stream *s); /* at start, if one was under way */
void backfill_stop(struct stream *s);               /* closing */

/* --- linked.c --------------------------------------------------------------------------------- */

/* Does a message of any subject link to another record?  Then a change of a record is reported. */
bool linked_governs(const struct stream *s); /* s->linked is there */
static inline bool linked_watches(const struct stream *s)
{
    return s->linked != NULL && linked_governs(s);
}
/* A publish on this subject is such a change: most are not, they link. */
static inline bool linked_concerns(const struct stream *s, struct mf_slice subject)
{
    return linked_watches(s) && policy_is_link(s->governor, subject);
}
/* In the open commit batch, before a message of this subject may become permanent: what the change
 * brings with it is not lost then, whatever fails.  Not 0: it must not become permanent now. */
MF_MUSTCHECK int linked_prepare(struct stream *s, struct mf_slice subject, bool before);
/* In the open commit batch, after the change of a message of this subject.  before:
 * lifetime_is_permanent() before the change. */
void linked_changed(struct stream *s, struct mf_slice subject, bool before);
/* The same for jobs that change many: all that link to it are left to the job. */
void linked_changed_many(struct stream *s, struct mf_slice subject, bool before);
/* In the open batch, before a message is removed: the one below it may be a permanent record
 * again.  Not 0: it must not be removed now. */
MF_MUSTCHECK int linked_leaves(struct stream *s, uint64_t seq);
/* s->linked is there: the job looks at the messages of this subject. */
void linked_look(struct stream *s, struct mf_slice subject);
void linked_gone(struct stream *s, struct mf_slice subject); /* on disk; empty: of many subjects */
MF_MUSTCHECK int linked_start(struct stream *s); /* after each change of the policy; MF_NOMEM */
void linked_stop(struct stream *s);              /* closing */
/* A linked record: the last accepted message of its subject, no tombstone, without a deadline. */
bool lifetime_is_permanent(struct stream *s, struct mf_slice subject);

/* hour.c: the counts of the last hour (stream_hour.h).  The two in the middle: s->hour is there. */
void hour_start(struct stream *s);
void hour_stored(struct stream *s, int64_t ts_ns, uint64_t bytes, int64_t deadline_ns);
void hour_expired(struct stream *s, int64_t now_ns, int64_t late_ns, uint64_t bytes);
void hour_free(struct stream *s);

void ahead_stop(struct stream *s); /* closing: ends all looks ahead */

/* --- dead_letters.c
 * --------------------------------------------------------------------------------- */

struct dead_letters_expired {
    struct mf_slice subject;
    uint64_t seq;
    int64_t deadline_ns;
    uint16_t flags;
    bool last; /* no other message of the subject is left */
    bool now;  /* a body that is not in memory is read inside the call */
};
/* In the open commit batch that removes an expired message, before its marker and after its id was
 * written: writes its dead letter, or drops and counts it.  Not 0: the message must not be removed
 * yet.  O(body), O(1) where none is due. */
MF_MUSTCHECK int dead_letters_append(struct stream *s, const struct dead_letters_expired *of);
static inline int dead_letters_write(struct stream *s, const struct dead_letters_expired *of)
{
    return s->on_expire == NULL ? 0 : dead_letters_append(s, of);
}
/* In the same batch, after everything that can fail.  keep: the dead letter stays; else it is
 * removed again. */
void dead_letters_end(struct stream *s, bool keep);
static inline void dead_letters_settle(struct stream *s, bool keep)
{
    if (s->dead_letters != NULL)
        dead_letters_end(s, keep);
}
void dead_letters_after_batch(struct stream *s); /* reads a missing body, makes room */
void dead_letters_free(struct stream *s); /* after the store is closed: it may be reading for us */

/* --- warn.c ----------------------------------------------------------------------------------- */

MF_MUSTCHECK int warn_start(struct stream *s); /* after each change of the policy; MF_NOMEM */
void warn_stop(struct stream *s);              /* closing */
void warn_run(struct stream *s);               /* called by a timer and by tests */
bool warn_busy(const struct stream *s);        /* for tests: a visit is under way */
void warn_young(struct stream *s, uint64_t seq, int64_t deadline_ns);
/* A message got this deadline (0: none).  One comparison, unless it expires soon. */
static inline void warn_note(struct stream *s, uint64_t seq, int64_t deadline_ns)
{
    if (deadline_ns != 0 && deadline_ns <= s->warned_to_ns)
        warn_young(s, seq, deadline_ns);
}

/* --- scope.c ---------------------------------------------------------------------------------- */

bool scope_governs(const struct stream *s); /* s->governor is there */
/* scope: subject, and a subject may have several messages. */
static inline bool scope_holds(const struct stream *s)
{
    return s->governor != NULL && s->cfg.max_msgs_per_subject != 1 && scope_governs(s);
}
/* This deadline, or that of the next newer message of the subject if it is earlier. */
int64_t scope_cut(const struct stream *s, uint64_t seq, int64_t deadline_ns);
/* In the open commit batch: lowers the deadlines of this message and of older ones of its subject
 * to deadline_ns.  0 (no deadline) lowers nothing.  A code of the store: some may have been
 * lowered. */
MF_MUSTCHECK int scope_lower(struct stream *s, uint64_t newest, int64_t deadline_ns);
/* In the open commit batch: sets the deadline (0: none) and STORE_BITS of a stored message, cut,
 * and with older ones lowered as above; a past deadline becomes now; *deadline_ns is the result.
 * Every change of a deadline is made here.  MF_NOTFOUND: the message ended.  Else a code of the
 * store. */
MF_MUSTCHECK int scope_set_end(struct stream *s, uint64_t seq, int64_t *deadline_ns, uint16_t bits);

/* Writes ttl_ns, in whole seconds, into Nats-TTL.  MF_NOMEM: nothing changed. */
MF_MUSTCHECK int lifetime_rewrite(struct stream *s, struct intake *in, int64_t ttl_ns);

#endif
