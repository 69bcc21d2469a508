/* source_wire.h: inner contract of source_wire.c: mirrors and sources.  Included by api_impl.h. */
#ifndef API_SOURCE_WIRE_H
#define API_SOURCE_WIRE_H

#include "source/source.h"
#include "base/table.h"

struct api_account;

/* ingest.c keeps it beside the stream; NULL: it has none of its data. */
struct source_wire {
    struct sources *sources;      /* NULL: it follows nobody */
    struct direct_mirror *direct; /* NULL: it answers for nobody */
};
struct source_wire *api_source_wire(struct stream *s);
void source_wire_init(struct api_account *aa);
void source_wire_fini(struct api_account *aa);
/* It came, or its configuration changed. */
void source_wire_follow(struct api_account *aa, struct stream *s);
void source_wire_close(struct api_account *aa, struct stream *s, bool deleted);
/* Who answers a direct get of this stream: itself or a mirror that has the same; NULL: nobody. */
struct stream *source_wire_reader(struct api_account *aa, struct mf_slice name);

#endif
