/* router.c: subscribing, and delivery of a message to all matching subscriptions.
 *
 * publish: the nodes of the subject come from the cache or the trie; they are pinned (busy),
 * visited and released.  The slots of a busy node do not move and the node is not freed, so a visit
 * is an index that runs up to the length at its start: an unsubscribed slot is a tombstone and is
 * skipped, a new subscription stands beyond the end.  Publishes may nest; none of them needs to
 * know of the others. */
#include "router/router_impl.h"

#include "base/lend.h"
#include "base/rand.h"
#include "subject/subject.h"

#include <assert.h>
#include <stdlib.h>

int router_new(struct router **out, struct mf_error *e)
{
    struct router *r = calloc(1, sizeof *r);

    if (r == NULL || trie_init(&r->trie) != 0) {
        free(r);
        return mf_fail(e, MF_NOMEM, "router");
    }
    mf_list_init(&r->observers);
    *out = r;
    return 0;
}

void router_free(struct router *r)
{
    if (r == NULL)
        return;
    assert(r->subs == 0 && mf_list_empty(&r->observers));
    trie_fini(&r->trie);
    cache_fini(&r->cache);
    free(r);
}

/* --- subscribing --------------------------------------------------------------------------- */

/* n got its first subscription, or is about to be released. */
static void forget_answers(struct router *r, struct node *n)
{
    const struct node *pattern = node_of_pattern(n);

    cache_forget(&r->cache, node_pattern(pattern), pattern->wild);
}

static void release_emptied(struct router *r, struct node *n)
{
    if (n->len > 0)
        return;
    forget_answers(r, n);
    trie_release(&r->trie, n);
}

static void notify_subscribed(struct router *r, const struct router_sub *s)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &r->observers)
    {
        struct router_observer *o = mf_container(pos, struct router_observer, link);
        if (o->subscribed != NULL)
            o->subscribed(o->arg, s);
    }
}

static void notify_unsubscribed(struct router *r, const struct router_sub *s)
{
    struct mf_list *pos, *next;

    mf_list_each_safe(pos, next, &r->observers)
    {
        struct router_observer *o = mf_container(pos, struct router_observer, link);
        if (o->unsubscribed != NULL)
            o->unsubscribed(o->arg, s);
    }
}

void router_observe(struct router *r, struct router_observer *o)
{
    if (o->link.next == NULL)
        mf_list_init(&o->link);
    if (mf_list_empty(&o->link))
        mf_list_push(&r->observers, &o->link);
}

void router_unobserve(struct router_observer *o)
{
    if (o->link.next != NULL)
        mf_list_del(&o->link);
}

int router_subscribe(struct router *r, struct mf_slice pattern, struct mf_slice queue,
                     struct router_sub *s)
{
    struct node *at, *n;

    assert(s->node == NULL);
    if (!subject_valid(pattern))
        return MF_INVAL;
    if (pattern.len > TRIE_TEXT_MAX || queue.len > TRIE_TEXT_MAX)
        return MF_LIMIT;
    at = trie_pattern(&r->trie, pattern);
    if (at == NULL)
        return MF_NOMEM;
    n = queue.len > 0 ? trie_group(&r->trie, at, queue) : at;
    if (n == NULL || trie_add_sub(n, s) != 0) {
        trie_release(&r->trie, n != NULL ? n : at);
        return MF_NOMEM;
    }
    s->node = n;
    s->pattern = node_pattern(at);
    s->queue = queue.len > 0 ? node_token(n) : MF_SLICE_NONE;
    if (n->len == 1)
        forget_answers(r, n);
    r->subs++;
    r->inserts++;
    if (MF_UNLIKELY(!mf_list_empty(&r->observers)))
        notify_subscribed(r, s);
    return 0;
}

void router_unsubscribe(struct router *r, struct router_sub *s)
{
    struct node *n = s->node;

    if (n == NULL)
        return;
    trie_remove_sub(n, s);
    s->node = NULL;
    if (MF_UNLIKELY(!mf_list_empty(&r->observers)))
        notify_unsubscribed(r, s);
    s->pattern = s->queue = MF_SLICE_NONE;
    r->subs--;
    r->removes++;
    release_emptied(r, n);
}

uint64_t router_count_ended(const struct router *r)
{
    return r->removes;
}

/* --- visiting ------------------------------------------------------------------------------ */

static inline void leave_node(struct router *r, struct node *n)
{
    if (--n->busy > 0 || MF_LIKELY(n->tomb == 0))
        return;
    trie_settle(n);
    release_emptied(r, n);
}

/* The matches of a subject, in the cache or in trie.found.  Valid until the router is used again.
 */
struct answer {
    const uintptr_t *item;
    uint32_t n;
};

static struct answer look_up(struct router *r, struct mf_slice subject, uint64_t *hits)
{
    uint64_t hash = hash_slice(subject);
    struct cache_entry *e = cache_find(&r->cache, subject, hash);

    r->starved = false;
    if (MF_LIKELY(e != NULL && cache_fresh(&r->cache, e))) {
        if (!e->used)
            e->used = 1;
        ++*hits;
        return (struct answer){e->item, e->n};
    }
    uint32_t tokens = trie_split(&r->trie, subject);
    if (!trie_match(&r->trie, tokens)) {
        r->starved = true;
        return (struct answer){NULL, 0};
    }
    cache_put(&r->cache, e, subject, hash, &r->trie, tokens);
    return (struct answer){r->trie.found.v, r->trie.found.n};
}

/* The nodes of one publish or match, pinned. */
struct pin {
    struct node *node;
    uint32_t len;
    bool group, same;
};
struct frame {
    struct pin *pin;
    uint32_t n;
    struct pin room[CACHE_ITEMS];
};

static bool frame_open(struct frame *f, struct answer a)
{
    f->n = a.n;
    f->pin = a.n <= MF_COUNT(f->room) ? f->room : malloc(a.n * sizeof *f->pin);
    if (f->pin == NULL)
        return false;
    for (uint32_t i = 0; i < a.n; i++) {
        struct node *n = item_node(a.item[i]);
        f->pin[i] = (struct pin){n, n->len, a.item[i] & ITEM_GROUP, a.item[i] & ITEM_SAME};
        n->busy++;
    }
    return true;
}

static void frame_close(struct router *r, struct frame *f)
{
    for (uint32_t i = 0; i < f->n; i++)
        leave_node(r, f->pin[i].node);
    if (f->pin != f->room)
        free(f->pin);
}

/* All plain subscriptions of a pinned node. */
static size_t deliver_plain(struct node *n, uint32_t len, const struct router_msg *m)
{
    size_t taken = 0;

    for (uint32_t i = 0; i < len; i++) {
        struct router_sub **slot = node_slots(n), *s = slot[i]; /* subscribing may move them */
        if (i + 4 < len)
            __builtin_prefetch(slot[i + 4]);
        if (MF_LIKELY(sub_alive(s)))
            taken += s->deliver(s, m);
    }
    return taken;
}

/* Delivers to one member of the `count` pinned groups that share a name: tries all members from a
 * random one on, until one accepts. */
static bool deliver_group(const struct pin *p, uint32_t count, const struct router_msg *m)
{
    uint32_t total = 0, k = 0, at;

    for (uint32_t i = 0; i < count; i++)
        total += p[i].len;
    at = total > 1 ? rand_below(total) : 0;
    for (; k + 1 < count && at >= p[k].len; k++)
        at -= p[k].len;
    for (uint32_t asked = 0; asked < total; asked++) {
        struct router_sub *s = node_slots(p[k].node)[at];
        if (sub_alive(s) && s->deliver(s, m))
            return true;
        if (++at == p[k].len) {
            at = 0;
            k = k + 1 == count ? 0 : k + 1;
        }
    }
    return false;
}

static size_t deliver_frame(struct router *r, struct answer a, const struct router_msg *m)
{
    struct frame f;
    size_t taken = 0;

    if (!frame_open(&f, a)) {
        r->starved = true;
        return 0;
    }
    for (uint32_t i = 0, next; i < f.n; i = next) {
        next = i + 1;
        if (!f.pin[i].group) {
            taken += deliver_plain(f.pin[i].node, f.pin[i].len, m);
            continue;
        }
        while (next < f.n && f.pin[next].same)
            next++;
        taken += deliver_group(&f.pin[i], next - i, m);
    }
    frame_close(r, &f);
    return taken;
}

static inline size_t publish_message(struct router *r, const struct router_msg *m)
{
    r->matches++;
    r->starved = false;
    if (r->subs == 0)
        return 0;
    struct answer a = look_up(r, m->route, &r->hits);
    if (a.n != 1)
        return a.n == 0 ? 0 : deliver_frame(r, a, m);
    /* The most frequent case: one pattern. */
    struct node *n = item_node(a.item[0]);
    bool group = a.item[0] & ITEM_GROUP;
    size_t taken;
    n->busy++;
    if (group)
        taken = deliver_group(&(struct pin){n, n->len, true, false}, 1, m);
    else
        taken = deliver_plain(n, n->len, m);
    leave_node(r, n);
    return taken;
}

size_t router_publish(struct router *r, const struct router_msg *m)
{
    size_t taken;

    lend_enter();
    taken = publish_message(r, m);
    lend_leave();
    return taken;
}

static bool any_alive(struct node *n)
{
    if (n->tomb == 0)
        return n->len > 0;
    for (uint32_t i = 0; i < n->len; i++)
        if (sub_alive(node_slots(n)[i]))
            return true;
    return false;
}

bool router_search_failed(const struct router *r)
{
    return r->starved;
}

bool router_has_interest(struct router *r, struct mf_slice subject)
{
    uint64_t unused = 0;

    r->starved = false;
    if (r->subs == 0)
        return false;
    struct answer a = look_up(r, subject, &unused);
    for (uint32_t i = 0; i < a.n; i++)
        if (any_alive(item_node(a.item[i])))
            return true;
    return false;
}

bool router_has_exact(struct router *r, struct mf_slice subject, struct mf_slice queue)
{
    uint64_t unused = 0;

    r->starved = false;
    if (r->subs == 0)
        return false;
    struct answer a = look_up(r, subject, &unused);
    for (uint32_t i = 0; i < a.n; i++) {
        struct node *n = item_node(a.item[i]);
        bool group = a.item[i] & ITEM_GROUP;
        if (node_of_pattern(n)->wild || group != (queue.len > 0))
            continue;
        if ((!group || mf_eq(node_token(n), queue)) && any_alive(n))
            return true;
    }
    return false;
}

void router_match(struct router *r, struct mf_slice subject,
                  void (*visit)(void *arg, struct router_sub *s), void *arg)
{
    struct frame f;
    uint64_t unused = 0;

    if (!frame_open(&f, look_up(r, subject, &unused))) {
        r->starved = true;
        return;
    }
    for (uint32_t i = 0; i < f.n; i++) {
        for (uint32_t k = 0; k < f.pin[i].len; k++) {
            struct router_sub *s = node_slots(f.pin[i].node)[k];
            if (sub_alive(s))
                visit(arg, s);
        }
    }
    frame_close(r, &f);
}

/* --- searching ----------------------------------------------------------------------------- */

struct each {
    void (*visit)(void *arg, struct router_sub *s);
    void *arg;
};

static void each_of_node(void *arg, struct node *n)
{
    const struct each *e = arg;

    for (uint32_t i = 0; i < n->len; i++)
        if (sub_alive(node_slots(n)[i]))
            e->visit(e->arg, node_slots(n)[i]);
}

void router_each(struct router *r, void (*visit)(void *arg, struct router_sub *s), void *arg)
{
    struct each e = {visit, arg};

    trie_each(&r->trie, each_of_node, &e);
}

static uint64_t count_fanout(const struct cache_entry *e)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < e->n; i++)
        if ((e->item[i] & ITEM_SAME) == 0)
            n += e->item[i] & ITEM_GROUP ? 1 : item_node(e->item[i])->len;
    return n;
}

void router_stats(struct router *r, struct router_stats *out)
{
    uint64_t sum = 0, fresh = 0;

    *out = (struct router_stats){.subs = r->subs,
                                 .inserts = r->inserts,
                                 .removes = r->removes,
                                 .matches = r->matches,
                                 .cache_hits = r->hits};
    for (uint32_t i = 0; i < r->cache.sets * CACHE_WAYS; i++) {
        const struct cache_entry *e = r->cache.set[i / CACHE_WAYS].way[i % CACHE_WAYS];
        if (e == NULL || !cache_fresh(&r->cache, e))
            continue; /* nodes of a stale entry may be freed */
        uint64_t n = count_fanout(e);
        fresh++;
        sum += n;
        if (n > out->max_fanout)
            out->max_fanout = n;
    }
    out->cache = fresh;
    if (fresh > 0)
        out->avg_fanout = (double)sum / (double)fresh;
}
