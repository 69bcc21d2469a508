/* router.c: subscribing, and delivery of a message to all matching subscriptions.
 *
 * publish: the nodes of the subject come from the cache or the trie; they are pinned (busy),
 * visited and released.  The slots of a busy node do not move and the node is not freed, so a visit
 * is an index that runs up to the length at its start: an unsubscribed slot is a tombstone and is
 * skipped, a new subscription stands beyond the end.  Publishes may nest; none of them needs to
 * know of the others. */
#include "router/router_impl.h"

#include "base/array.h"
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
    r->remotes += s->remote != NULL;
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
    r->remotes -= s->remote != NULL;
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
    bool linked; /* deliver_linked(): servers behind links are to be asked */
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
        f->pin[i] = (struct pin){n, n->len, a.item[i] & ITEM_GROUP, a.item[i] & ITEM_SAME, false};
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

/* --- servers behind links, and traced messages ------------------------------------------------ */

static bool offer_message(struct router_sub *s, const struct router_msg *m)
{
    return m->dry_run && !s->dry_runs ? true : s->deliver(s, m);
}

/* Plain subscriptions of this server.  *linked: there are some behind links, too. */
static size_t deliver_here(struct node *n, uint32_t len, const struct router_msg *m, bool *linked)
{
    size_t taken = 0;

    *linked = false;
    for (uint32_t i = 0; i < len; i++) {
        struct router_sub *s = node_slots(n)[i];
        if (!sub_alive(s))
            continue;
        if (s->remote != NULL)
            *linked = true;
        else
            taken += offer_message(s, m);
    }
    return taken;
}

/* The next member at or behind (*k, *at), in a circle. */
static struct router_sub *next_member(const struct pin *p, uint32_t count, uint32_t *k,
                                      uint32_t *at)
{
    struct router_sub *s = node_slots(p[*k].node)[*at];

    if (++*at == p[*k].len) {
        *at = 0;
        *k = *k + 1 == count ? 0 : *k + 1;
    }
    return s;
}

static uint32_t random_member(const struct pin *p, uint32_t count, uint32_t *k, uint32_t *at)
{
    uint32_t total = 0;

    for (uint32_t i = 0; i < count; i++)
        total += p[i].len;
    *k = 0;
    *at = total > 1 ? rand_below(total) : 0;
    for (; *k + 1 < count && *at >= p[*k].len; ++*k)
        *at -= p[*k].len;
    return total;
}

static bool group_here(const struct pin *p, uint32_t count, const struct router_msg *m)
{
    uint32_t k, at, total = random_member(p, count, &k, &at);

    for (; total > 0; total--) {
        struct router_sub *s = next_member(p, count, &k, &at);
        if (sub_alive(s) && s->remote == NULL && offer_message(s, m))
            return true;
    }
    return false;
}

enum { REMOTE_UNSEEN, REMOTE_TAKES, REMOTE_REFUSES };

/* Whether the server takes the message; asked once a publish. */
static bool remote_takes(struct router_remote *to, const struct router_msg *m,
                         struct router_remote **seen)
{
    if (to->state == REMOTE_UNSEEN) {
        to->state = to->takes(to, m) ? REMOTE_TAKES : REMOTE_REFUSES;
        to->nqueues = 0;
        to->next = *seen;
        *seen = to;
    }
    return to->state == REMOTE_TAKES;
}

/* The server behind a link that has this subscription and takes the message, or NULL. */
static struct router_remote *taker_of(struct router_sub *s, const struct router_msg *m,
                                      struct router_remote **seen)
{
    if (!sub_alive(s) || s->remote == NULL || (s->deliver != NULL && !s->deliver(s, m)))
        return NULL;
    return remote_takes(s->remote, m, seen) ? s->remote : NULL;
}

static void group_behind(const struct pin *p, uint32_t count, const struct router_msg *m,
                         struct router_remote **seen)
{
    uint32_t k, at, total = random_member(p, count, &k, &at);

    for (; total > 0; total--) {
        struct router_remote *to = taker_of(next_member(p, count, &k, &at), m, seen);
        if (to == NULL ||
            mf_array_reserve(&to->queue, &to->room, to->nqueues + 1, sizeof *to->queue) != 0)
            continue;
        to->queue[to->nqueues++] = node_token(p->node);
        return;
    }
}

static void plain_behind(const struct pin *p, const struct router_msg *m,
                         struct router_remote **seen)
{
    for (uint32_t i = 0; i < p->len; i++)
        (void)taker_of(node_slots(p->node)[i], m, seen);
}

static bool is_group_listed(const struct router_msg *m, const struct node *group)
{
    if (m->from == NULL || m->any_queue)
        return true;
    for (uint32_t i = 0; i < m->nqueues; i++)
        if (mf_eq(m->queue[i], node_token(group)))
            return true;
    return false;
}

/* First everything on this server, whose deliver() may do anything; then the links, which call
 * nobody, so that their marks cannot be disturbed by a nested publish. */
static size_t deliver_linked(struct router *r, struct answer a, const struct router_msg *m)
{
    struct router_remote *seen = NULL, *to;
    struct frame f;
    size_t taken = 0;

    if (!frame_open(&f, a)) {
        r->starved = true;
        return 0;
    }
    for (uint32_t i = 0, next; i < f.n; i = next) {
        struct pin *p = &f.pin[i];
        for (next = i + 1; next < f.n && f.pin[next].same; next++)
            continue;
        if (!p->group) {
            taken += deliver_here(p->node, p->len, m, &p->linked);
            continue;
        }
        bool served = !is_group_listed(m, p->node) || group_here(p, next - i, m);
        taken += served && is_group_listed(m, p->node);
        p->linked = !served;
    }
    for (uint32_t i = 0, next; i < f.n; i = next) {
        struct pin *p = &f.pin[i];
        for (next = i + 1; next < f.n && f.pin[next].same; next++)
            continue;
        if (p->linked && p->group)
            group_behind(p, next - i, m, &seen);
        else if (p->linked)
            plain_behind(p, m, &seen);
    }
    while ((to = seen) != NULL) {
        seen = to->next;
        if (to->state == REMOTE_TAKES)
            taken += to->send(to, m, to->queue, to->nqueues);
        to->state = REMOTE_UNSEEN;
    }
    frame_close(r, &f);
    return taken;
}

void router_remote_fini(struct router_remote *r)
{
    free(r->queue);
    r->queue = NULL;
    r->room = 0;
}

/* --- publishing ------------------------------------------------------------------------------- */

static inline size_t publish_message(struct router *r, const struct router_msg *m)
{
    r->matches++;
    r->starved = false;
    if (r->subs == 0)
        return 0;
    struct answer a = look_up(r, m->route, &r->hits);
    if (MF_UNLIKELY(r->remotes > 0 || m->from != NULL || m->trace != NULL))
        return a.n == 0 ? 0 : deliver_linked(r, a, m);
    if (a.n != 1)
        return a.n == 0 ? 0 : deliver_frame(r, a, m);
    /* The most frequent case: one pattern. */
    struct node *n = item_node(a.item[0]);
    bool group = a.item[0] & ITEM_GROUP;
    size_t taken;
    n->busy++;
    if (group)
        taken = deliver_group(&(struct pin){n, n->len, true, false, false}, 1, m);
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
