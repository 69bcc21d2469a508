/* publish_trace.c: how far a traced message got, and dry runs. */
#include "stream/stream_impl.h"

#include <stdlib.h>

bool publish_trace(struct stream *s, struct stream_publish *p, const struct intake *in)
{
    struct stream_trace *t = p->trace;
    bool dry_run = t->dry_run;

    free(t->subject); /* of a publish that had to wait for a counter */
    t->subject = mf_slice_dup(in->subject);
    t->no_interest = stream_lacks_interest(s, in->subject);
    if (dry_run)
        stream_answer(s, p, &(struct stream_ack){.silent = true}); /* t may end here */
    return dry_run;
}

bool publish_trace_batch(struct stream *s, struct stream_publish *p, const struct intake *in)
{
    struct js_error e;
    bool fast;

    if (MF_LIKELY(p->trace == NULL))
        return false;
    fast = mf_ends(p->msg.reply, ".$FI");
    if (in->h.batch_id.len == 0 && !fast)
        return false;
    if (p->trace->dry_run && (fast ? !s->cfg.allow_batched : !s->cfg.allow_atomic)) {
        js_error_set(&e, fast ? JS_BATCH_PUBLISH_DISABLED : JS_ATOMIC_PUBLISH_DISABLED);
        stream_refuse(s, p, &e);
        return true;
    }
    return publish_trace(s, p, in);
}
