/* batch_check.c: the checks of a message of an atomic or fast batch (docs/checks.md, Publish in a
 * batch).
 *
 * nats-server checks batches with the routine of its replicated streams.  Its order differs from
 * that of a single publish, and clients see the difference in the error that they get. */
#include "stream/batch_impl.h"
#include "stream/lifetime_impl.h"

#include "codec/hash.h"

void batch_plan_fini(struct batch_plan *plan)
{
    table_fini(&plan->ids);
    table_fini(&plan->subjects);
}

static struct batch_item *find_subject(const struct batch_plan *plan, struct mf_slice subject)
{
    struct table_node *n = table_first(&plan->subjects, hash_slice(subject));

    for (; n != NULL; n = table_next(n)) {
        struct batch_item *i = mf_container(n, struct batch_item, subject_node);
        if (mf_eq(i->in->subject, subject))
            return i;
    }
    return NULL;
}

static bool has_id(const struct batch_plan *plan, struct mf_slice id)
{
    struct table_node *n = table_first(&plan->ids, hash_slice(id));

    for (; n != NULL; n = table_next(n))
        if (mf_eq(mf_container(n, struct batch_item, id_node)->in->h.msg_id, id))
            return true;
    return false;
}

static int no_memory(struct stream *s, struct js_error *e)
{
    stream_store_error(s, MF_NOMEM, e);
    return MF_NOMEM;
}

/* --- before the batch ------------------------------------------------------------------------- */

int batch_check_early(struct stream *s, const struct intake *in, struct js_error *e)
{
    int rc;

    if ((rc = check_sealed(s, e)) != 0 || (rc = check_resources(s, in, e)) != 0 ||
        (rc = check_account(s, in, e)) != 0)
        return rc;
    return check_size(s, in, e);
}

bool batch_level_too_high(const struct intake *in)
{
    uint64_t level;

    return in->h.required_level.len > 0 &&
           (mf_parse_u64(in->h.required_level, &level) != 0 || level > BATCH_API_LEVEL);
}

/* --- one by one ------------------------------------------------------------------------------- */

/* Unlike for a single publish, a TTL where none is allowed is refused as such even if it is
 * invalid. */
static int check_ttl(struct stream *s, struct intake *in, struct js_error *e)
{
    int rc = 0;

    in->ttl_ns = TTL_NONE;
    if (in->h.ttl.len > 0)
        rc = ttl_parse(in->h.ttl, s->host->strict, &in->ttl_ns);
    if (rc == 0 && in->ttl_ns == TTL_NONE)
        return 0;
    if (!s->cfg.allow_msg_ttl)
        return js_error_set(e, JS_MESSAGE_TTL_DISABLED);
    return rc == 0 ? 0 : js_error_set(e, JS_MESSAGE_TTL_INVALID);
}

static int check_id(struct stream *s, struct batch_plan *plan, struct batch_item *item,
                    struct js_error *e)
{
    struct mf_slice id = item->in->h.msg_id;

    item->duplicate_of = 0;
    if (id.len == 0)
        return 0;
    if ((plan != NULL && has_id(plan, id)) ||
        (item->duplicate_of = stream_duplicate_of(s, item->in)) != 0) {
        js_error_set(e, JS_ATOMIC_PUBLISH_CONTAINS_DUPLICATE_MESSAGE);
        return MF_EXISTS;
    }
    if (plan != NULL && table_add(&plan->ids, &item->id_node, hash_slice(id)) != 0)
        return no_memory(s, e);
    return 0;
}

/* Only the first message of a batch may expect a last sequence; for the others it is compared with
 * the sequence before theirs, and refused even if it is right. */
static int check_last_seq(struct stream *s, const struct batch_plan *plan, const struct intake *in,
                          struct js_error *e)
{
    uint64_t msgs, bytes, last;
    char text[24];

    if (in->h.expected_last_seq.len == 0)
        return 0;
    store_accepted(s->store, &msgs, &bytes, &last);
    last += plan == NULL ? 0 : plan->count;
    if (check_parse_seq(in->h.expected_last_seq) != (int64_t)last) {
        text[proto_put_u64((uint8_t *)text, last)] = '\0';
        return js_error_set(e, JS_STREAM_WRONG_LAST_SEQUENCE, text);
    }
    if (plan != NULL && plan->count > 0)
        return js_error_set(e, JS_STREAM_WRONG_LAST_SEQUENCE_CONSTANT);
    return 0;
}

static int check_subject_seq(struct stream *s, const struct batch_plan *plan,
                             const struct intake *in, struct js_error *e)
{
    struct mf_slice subject = in->h.expected_subject_seq_subject;

    if (subject.len == 0)
        subject = in->subject;
    if (plan != NULL && in->h.expected_subject_seq.len > 0 && find_subject(plan, subject) != NULL)
        return js_error_set(e, JS_STREAM_WRONG_LAST_SEQUENCE_CONSTANT);
    return check_expected_subject_seq(s, in, e);
}

static int check_roll(struct stream *s, const struct batch_plan *plan, struct intake *in,
                      struct js_error *e)
{
    int rc = check_rollup(s, in, e);

    if (rc != 0 || plan == NULL)
        return rc;
    if ((in->rollup == ROLLUP_SUBJECT || in->rollup == ROLLUP_MATCHING) &&
        find_subject(plan, in->subject) != NULL)
        return js_error_set_text(e, JS_STREAM_ROLLUP_FAILED, "batch rollup sub invalid");
    if (in->rollup == ROLLUP_ALL && plan->count > 0)
        return js_error_set_text(e, JS_STREAM_ROLLUP_FAILED, "batch rollup all invalid");
    return 0;
}

/* --- room ------------------------------------------------------------------------------------- */

static int plan_add(struct stream *s, struct batch_plan *plan, struct batch_item *item,
                    struct js_error *e)
{
    struct batch_item *first = find_subject(plan, item->in->subject);

    if (first == NULL) {
        first = item;
        item->subject_count = 0;
        if (table_add(&plan->subjects, &item->subject_node, hash_slice(item->in->subject)) != 0)
            return no_memory(s, e);
    }
    first->subject_count++;
    item->of_first = first;
    plan->count++;
    plan->bytes += limits_size(s, item->in->subject.len, item->in->hdr.len, item->in->payload.len);
    return 0;
}

static bool exceeds_limits(const struct stream *s, const struct batch_plan *plan, const char **what)
{
    uint64_t msgs, bytes;

    limits_accepted(s, &msgs, &bytes);
    if (s->cfg.max_msgs > 0 && msgs + plan->count > (uint64_t)s->cfg.max_msgs)
        *what = "maximum messages exceeded";
    else if (s->cfg.max_bytes > 0 && bytes + plan->bytes > (uint64_t)s->cfg.max_bytes)
        *what = "maximum bytes exceeded";
    else
        return false;
    return true;
}

/* The whole batch so far must fit, this message included. */
static int check_room(struct stream *s, const struct batch_plan *plan,
                      const struct batch_item *item, struct js_error *e)
{
    uint64_t count;
    const char *what;

    if (s->cfg.discard != DISCARD_NEW)
        return 0;
    if (exceeds_limits(s, plan, &what)) {
        (void)expire_settle_all(s, SIZE_MAX); /* expired messages use no room */
        if (exceeds_limits(s, plan, &what))
            return js_error_set_text(e, JS_STREAM_STORE_FAILED, "%s", what);
    }
    if (!s->cfg.discard_new_per_subject || s->cfg.max_msgs_per_subject <= 0 ||
        item->in->rollup != ROLLUP_NONE)
        return 0;
    (void)store_key_last_accepted(s->store, item->in->subject, &count);
    if (count + item->of_first->subject_count > (uint64_t)s->cfg.max_msgs_per_subject)
        return js_error_set_text(e, JS_STREAM_STORE_FAILED,
                                 "maximum messages per subject exceeded");
    return 0;
}

/* One alone, of a fast batch: in nats-server what it would push out makes no room for it. */
static int check_alone(struct stream *s, struct batch_item *item, struct js_error *e)
{
    const struct intake *in = item->in;
    struct batch_plan one = {
        .count = 1, .bytes = limits_size(s, in->subject.len, in->hdr.len, in->payload.len)};

    if (s->cfg.discard != DISCARD_NEW)
        return check_discard_new(s, in, e);
    item->of_first = item;
    item->subject_count = 1;
    return check_room(s, &one, item, e);
}

/* --- all of them ------------------------------------------------------------------------------ */

int batch_check(struct stream *s, struct batch_plan *plan, struct batch_item *item,
                struct js_error *e)
{
    struct intake *in = item->in;
    int rc;

    if ((rc = check_settled(s, in, e)) != 0 || (rc = counter_check(s, in, e)) != 0 ||
        (rc = check_expected_stream(s, in, e)) != 0 || (rc = check_ttl(s, in, e)) != 0 ||
        (rc = check_id(s, plan, item, e)) != 0 || (rc = check_stream_source(s, in, e)) != 0 ||
        (rc = counter_check_present(s, in, e)) != 0 || (rc = check_last_seq(s, plan, in, e)) != 0 ||
        (rc = check_subject_seq(s, plan, in, e)) != 0 || (rc = schedule_check(s, in, e)) != 0 ||
        (rc = check_roll(s, plan, in, e)) != 0 || (rc = lifetime_check(s, in, false, e)) != 0)
        return rc;
    if (plan == NULL)
        return check_alone(s, item, e);
    if ((rc = plan_add(s, plan, item, e)) != 0)
        return rc;
    return check_room(s, plan, item, e);
}

int batch_store(struct stream *s, struct intake *in, bool in_batch, struct js_error *e)
{
    if (!stream_lacks_interest(s, in->subject))
        return stream_store(s, in, in_batch, NULL, e);
    in->used_up = true;
    int rc = stream_use_up(s, in, NULL);
    if (rc != 0)
        stream_store_error(s, rc, e);
    return rc;
}
