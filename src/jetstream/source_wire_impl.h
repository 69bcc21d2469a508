/* source_wire_impl.h: mirrors and sources of an account. */
#ifndef JETSTREAM_SOURCE_WIRE_IMPL_H
#define JETSTREAM_SOURCE_WIRE_IMPL_H

#include "base/table.h"
#include "source/source.h"

struct js_account;

/* Kept beside the stream by ingest.c. */
struct source_wire {
    struct sources *sources;      /* NULL: the stream has no origin */
    struct direct_mirror *direct; /* NULL: no mirror that answers direct gets of its origin */
};
void source_wire_init(struct js_account *ja);
void source_wire_fini(struct js_account *ja);
/* A stream was added, or its configuration changed. */
void source_wire_follow(struct js_account *ja, struct stream *s);
void source_wire_close(struct js_account *ja, struct stream *s, bool deleted);
/* The stream that answers a direct get: the named one or a mirror with the same content; NULL:
 * none. O(log streams + mirrors of the name). */
struct stream *source_wire_reader(struct js_account *ja, struct mf_slice name);

#endif
