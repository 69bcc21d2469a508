/* stream_deeds.h: things one can ask of a stream, each with the stream it is asked of, for tests in
 * which something fails meanwhile.  The deed is done as a whole or not at all, and the answer says
 * which. */
#ifndef TEST_STREAM_DEEDS_H
#define TEST_STREAM_DEEDS_H

#include "stream_world.h"

/* The answer. */
struct deed_told {
    int calls, err_code;
    struct stream_publish pub;
    struct stream_op op;
    char reply[64];
};

/* For want of memory what new limits push out may go a moment later. */
#define DEED_LATE 1u
/* In slices: an error may come when some of it is done. */
#define DEED_PART 2u
/* Many messages, few answers: an error may mean that only the answer is lost. */
#define DEED_UNSURE 4u
/* After an error it cannot be asked again alone: the batch it belongs to is gone. */
#define DEED_ONCE 8u

struct deed {
    const char *name;
    struct stream_config cfg;
    void (*before)(struct world *w); /* or NULL: the stream is empty */
    void (*ask)(struct world *w, struct deed_told *t);
    unsigned loose; /* DEED_... */
};
extern const struct deed deeds[];
extern const size_t deed_count;

/* A new world (its files wrapped, unless wrap is NULL) in which all is ready for the deed. */
void deed_start(const struct deed *d, struct world *w,
                int (*wrap)(struct store_io **out, struct store_io *under, struct mf_error *e));
/* What the stream holds before the deed and, when nothing fails, after it. */
void deed_expect(const struct deed *d, struct mf_buf *before, struct mf_buf *after);

#endif
