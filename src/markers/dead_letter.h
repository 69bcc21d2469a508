/* dead_letter.h: decides whether an expired message earns a dead letter, and writes its subject and
 * headers.  Pure functions of facts. */
#ifndef MAYFLY_DEAD_LETTER_H
#define MAYFLY_DEAD_LETTER_H

#include "base/buf.h"

/* An expired message, as its dead letter describes it.  Slices are borrowed. */
struct dead_letter_facts {
    const char *prefix; /* on_expire: the first tokens of a dead letter's subject */
    struct mf_slice subject;
    uint64_t seq;
    int64_t ts_ns, deadline_ns;
    bool aged; /* max_age ended it, not a TTL */
};

/* tombstone: the message is one; it earns no dead letter.  covered: scope is `subject`, and another
 * message of the subject is left.  A dead letter earns none. */
bool dead_letter_wanted(const char *prefix, struct mf_slice subject, bool tombstone, bool covered);

/* <prefix>.<subject>, appended to out.  Out of memory: mf_buf_failed(). */
void dead_letter_subject(struct mf_buf *out, const struct dead_letter_facts *f);

/* The header block, appended to out: the lines of `head` (the message's own block; empty: none)
 * without those that would act again, then the Mayfly-Expired-* lines.  Out of memory:
 * mf_buf_failed(). */
void dead_letter_header(struct mf_buf *out, const struct dead_letter_facts *f,
                        struct mf_slice head);

#endif
