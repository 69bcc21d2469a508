/* expire.c: expiry.  The wheel yields the messages that are due.  One commit batch removes them
 * all, with the records that the owner adds (markers), and a time mark that makes it final. */
#include "store/store_impl.h"

#include "base/lend.h"
#include "store/text_room_impl.h"

/* Wheel moves for one call: bounds the time, whatever is due. */
#define BUDGET 4096

void store_now(struct store *s, int64_t now_ns)
{
    if (now_ns > s->now_ns)
        s->now_ns = now_ns;
}

bool store_has_deadlines(const struct store *s)
{
    return index_deadlines(view_index(s)) > 0 || index_deadlines(s->ix) > 0;
}

int64_t store_clock_floor(const struct store *s)
{
    return s->log.clock_ns > s->log.mark.time_ns ? s->log.clock_ns : s->log.mark.time_ns;
}

int64_t store_next_deadline(const struct store *s)
{
    /* A store that cannot write cannot expire: trying would only burn time.  Reads judge anyway. */
    return s->failed != 0 || s->commit.retrying ? INT64_MAX : index_next_deadline(s->ix);
}

static bool notify_expiry(struct store *s, uint32_t id, int64_t deadline_ns,
                          bool (*visit)(void *arg, const struct store_expiry *d), void *arg)
{
    uint8_t *text = text_room(TEXT_EXPIRED);
    uint32_t key = index_key(s->ix, id);
    uint64_t place = index_place(s->ix, id);

    lend_unmark(text, KEYS_MAX);
    struct store_expiry d = {.seq = index_seq(s->ix, id),
                             .deadline_ns = deadline_ns,
                             .key = keys_text(index_keys(s->ix), key, text),
                             .flags = place_flags(place) | index_bits(s->ix, id),
                             .len = place_len(place),
                             .last = true};

    lend_mark(d.key.ptr, d.key.len);
    for (uint32_t o = index_key_last(s->ix, key); o != INDEX_NONE && d.last;
         o = index_older(s->ix, o))
        d.last = o == id || !view_accepted(s, o);
    return visit(arg, &d);
}

/* Expires one due message.  False: none is due, or it must wait: it is not committed yet, or its
 * marker found no room. */
static bool expire_one(struct store *s, struct record_mark *mark, size_t *n,
                       bool (*visit)(void *arg, const struct store_expiry *d), void *arg)
{
    int64_t deadline_ns;
    uint32_t id = index_due(s->ix, &deadline_ns);

    if (id == INDEX_NONE)
        return false;
    bool removing = index_removing(s->ix, id);
    uint64_t seq = index_seq(s->ix, id);
    if (seq > s->log.committed_seq ||
        (!removing && ranges_reserve(&s->commit.filling.expired, 1) != 0))
        return false;
    /* Before the message leaves the wheel: afterwards nothing can fail. */
    if (!removing && visit != NULL && !notify_expiry(s, id, deadline_ns, visit, arg))
        return false;
    if (!removing && ranges_add(&s->commit.filling.expired, seq, seq) != 0)
        return false; /* never: reserved */
    if (!removing && visit != NULL)
        id = index_find(s->ix, seq); /* appending may move entries */
    view_hide(s, id);
    *mark = (struct record_mark){deadline_ns, seq};
    *n += !removing; /* removed already: the mark may cover it too */
    return true;
}

/* Its room was kept by the first write_open() of the batch and by every one since, so this cannot
 * fail: the messages are out of the wheel already. */
static void mark_write(struct store *s, struct record_mark mark)
{
    struct record r = {.type = RECORD_MARK, .mark = mark};
    uint8_t *p = s->batch.buf.ptr + s->batch.buf.len;

    record_encode(p, &r);
    write_close(s, p, RECORD_MARK_SIZE);
    s->log.mark = mark;
    if (mark.time_ns > s->log.clock_ns)
        s->log.clock_ns = mark.time_ns;
    s->stats.marks++;
}

size_t store_expire(struct store *s, int64_t now_ns, size_t max,
                    bool (*visit)(void *arg, const struct store_expiry *d), void *arg, bool *more)
{
    struct record_mark mark = s->log.mark;
    struct record_pos at;
    size_t n = 0, steps = 0;
    int code;

    *more = false;
    store_now(s, now_ns);
    if (write_check(s) != 0 || index_next_deadline(s->ix) > s->now_ns)
        return 0;
    if (!index_advance(s->ix, s->now_ns, BUDGET)) {
        *more = true;
        return 0;
    }
    store_begin(s, true);
    /* True if there is room for the time mark, on disk and in memory.  Tested before any entry
     * leaves the wheel. */
    if (write_open(s, RECORD_MARK_SIZE, true, &at, &code) == NULL) {
        code = store_end(s, NULL);
        s->log.starved = true;
        return 0;
    }
    while (steps < max && expire_one(s, &mark, &n, visit, arg))
        steps++;
    *more = steps == max && max > 0;
    if (mark.time_ns != s->log.mark.time_ns || mark.seq != s->log.mark.seq)
        mark_write(s, mark);
    code = store_end(s, NULL);
    s->stats.expired += n;
    (void)code;
    return n;
}
