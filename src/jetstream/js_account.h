/* js_account.h: JetStream of one account.
 *
 * Every configured account has a struct js_account, with JetStream or without: an account without
 * JetStream still answers requests, with an error. */
#ifndef JETSTREAM_JS_ACCOUNT_H
#define JETSTREAM_JS_ACCOUNT_H

#include "jetstream/jetstream.h"
#include "base/table.h"
#include "loop/work.h"

/* Layers above read these members; they write `above` alone. */
struct js_account {
    struct jetstream *js;
    struct account *account;
    struct mf_list link;                    /* jetstream.list */
    struct table_node node;                 /* jetstream_impl.by_account, unless it is closing */
    struct catalog *catalog;                /* NULL: JetStream is not enabled for this account */
    const struct options_js_limits *limits; /* NULL: the same.  With tiers: those of tier R1 */
    const struct options_js_tier *tiers;
    size_t ntiers;
    struct stream_usage usage;
    struct stream_host host;
    struct work_owner work; /* its share of the loop's time */
    char *dir;              /* its folder in the store directory; NULL: no JetStream */
    bool closing;           /* its catalog closes; then the account is freed */
    void *above;            /* state of the layer above (jetstream_hooks) */
};

/* NULL: no such account.  O(1). */
struct js_account *js_account_of(struct jetstream *js, const struct account *acc);
/* The system account; NULL: there is none.  O(1). */
struct js_account *js_account_system(struct jetstream *js);
uint64_t js_account_consumers(const struct js_account *ja); /* O(streams) */

/* Publishes in the name of the server.  The slices are not kept. */
void js_publish(struct js_account *ja, struct mf_slice subject, struct mf_slice reply,
                struct mf_slice hdr, struct mf_slice payload);
/* True if a message on this subject would be received, or if that is unknown for lack of memory.
 * O(tokens). */
bool js_subject_heard(const struct js_account *ja, struct mf_slice subject);
/* True if the slice is over after a step that took as long as `units` ordinary steps (of about a
 * microsecond). */
bool js_slice_spent(const struct js_account *ja, size_t units);

/* The consumers of a stream; NULL: they could not be loaded.  O(1). */
struct consumers *js_consumers(struct stream *s);
size_t js_consumer_count(struct stream *s); /* O(1) */
/* The origins that a mirror or a sourcing stream reads; NULL: none.  O(1). */
struct sources;
struct sources *js_sources(struct stream *s);

#endif
