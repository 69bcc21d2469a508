/* realm.c: the interest of one account, counted by subject and queue, and announced to its links.
 *
 * An entry counts what this server's own subscribers want (local), and what was learned from links:
 * from spokes (leafs) and from hubs apart, because a spoke does not tell a hub what another hub
 * wants.  These numbers alone decide what a link is told (interest_for), so nothing is kept per
 * link: a change compares the value before and after for each link.
 *
 * Happy path: realm_enter() counts all subscriptions of the account when its first link becomes
 * usable, and announces them; the router's observer counts each change from then on.
 * Close: the end of the last link of the account frees the realm (learn.c). */
#include "leaf/realm_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "codec/hash.h"
#include "subject/subject.h"

#include <stdio.h>
#include <stdlib.h>

#define ANNOUNCE_AT_ONCE 1024       /* entries: about a millisecond */
#define ANNOUNCE_ROOM    (4u << 20) /* bytes that wait for the peer: the rest comes later */
#define ENDING_MOST      8          /* ending links that a question about interest looks at */

static struct mf_slice subject_of(const struct interest *i)
{
    return mf_slice(i->text, i->subject_len);
}

static struct mf_slice queue_of(const struct interest *i)
{
    return mf_slice(i->text + i->subject_len, i->queue_len);
}

uint64_t realm_key(struct mf_slice subject, struct mf_slice queue)
{
    return hash_slice(subject) ^ (queue.len == 0 ? 0 : hash_slice(queue) * 0x9e3779b97f4a7c15u);
}

/* --- subscriptions of links ------------------------------------------------------------------- */

struct leaf_sub *realm_find_sub(const struct leaf_link *l, struct mf_slice subject,
                                struct mf_slice queue, uint64_t hash)
{
    for (struct table_node *n = table_first(&l->subs, hash); n != NULL; n = table_next(n)) {
        struct leaf_sub *s = mf_container(n, struct leaf_sub, node);
        if (mf_eq(s->rs.pattern, subject) && mf_eq(s->rs.queue, queue))
            return s;
    }
    return NULL;
}

/* --- entries ---------------------------------------------------------------------------------- */

struct interest *realm_find_interest(const struct leaf_realm *r, struct mf_slice subject,
                                     struct mf_slice queue, uint64_t hash)
{
    for (struct table_node *n = table_first(&r->interest, hash); n != NULL; n = table_next(n)) {
        struct interest *i = mf_container(n, struct interest, node);
        if (mf_eq(subject_of(i), subject) && mf_eq(queue_of(i), queue))
            return i;
    }
    return NULL;
}

struct interest *realm_get_interest(struct leaf_realm *r, struct mf_slice subject,
                                    struct mf_slice queue)
{
    uint64_t hash = realm_key(subject, queue);
    struct interest *i = realm_find_interest(r, subject, queue, hash);

    if (i != NULL)
        return i;
    i = calloc(1, sizeof *i + subject.len + queue.len);
    if (i == NULL || table_add(&r->interest, &i->node, hash) != 0) {
        free(i);
        return NULL;
    }
    i->subject_len = (uint32_t)subject.len;
    i->queue_len = (uint32_t)queue.len;
    memcpy(i->text, subject.ptr, subject.len);
    if (queue.len > 0)
        memcpy(i->text + subject.len, queue.ptr, queue.len);
    i->mark = mf_starts(subject, "$LDS.");
    mf_list_init(&i->in_marks);
    if (i->mark)
        mf_list_push(&r->marks, &i->in_marks);
    return i;
}

struct leaf_sub *realm_sub_of(const struct leaf_link *l, const struct interest *i)
{
    return realm_find_sub(l, subject_of(i), queue_of(i), i->node.hash);
}

/* The part of links of other clusters that ended before this link began, and whose subscriptions
 * are still ending: it is not told of interest that is leaving.  Of many such links only some are
 * looked at, and the peer is told of the rest and of its end. */
static uint64_t ending_weight(const struct leaf_link *to, const struct interest *i, bool hubs)
{
    const struct mf_list *pos;
    uint64_t n = 0;
    unsigned looked = 0;

    mf_list_each(pos, &to->realm->ending)
    {
        const struct leaf_link *l = mf_container(pos, struct leaf_link, in_realm);
        const struct leaf_sub *s;
        if (looked++ == ENDING_MOST)
            break;
        if ((l->family != NULL && l->family == to->family) || (l->spoke && !hubs) ||
            l->left >= to->entered)
            continue;
        to->realm->looks++;
        if ((s = realm_sub_of(l, i)) != NULL)
            n += s->weight;
    }
    return n;
}

/* The weight that the link is to know; 0: nothing. */
static uint32_t interest_for(const struct leaf_link *to, const struct interest *i)
{
    bool hubs = !to->spoke || i->mark;
    uint64_t others = i->leafs + (hubs ? i->hubs : 0);

    if (to->isolated)
        others = 0;
    if (i->queue_len == 0 && i->local > 0)
        return 1;
    if (others > 0)
        others -= family_weight(to, i, true, hubs) + ending_weight(to, i, hubs);
    if (i->queue_len == 0)
        return others > 0;
    others += i->local;
    return others > VERB_WEIGHT_MAX ? VERB_WEIGHT_MAX : (uint32_t)others;
}

/* --- lines ------------------------------------------------------------------------------------ */

static void send_interest(struct leaf_link *l, const struct interest *i, uint32_t weight)
{
    size_t room = 4 + i->subject_len + 1 + i->queue_len + 1 + 20 + 2;
    uint8_t *at, *p;

    if (l->phase != LEAF_USABLE || (at = net_reserve(l->conn, room)) == NULL)
        return;
    memcpy(at, weight > 0 ? "LS+ " : "LS- ", 4);
    memcpy(at + 4, i->text, i->subject_len);
    p = at + 4 + i->subject_len;
    if (i->queue_len > 0) {
        *p++ = ' ';
        memcpy(p, i->text + i->subject_len, i->queue_len);
        p += i->queue_len;
    }
    if (i->queue_len > 0 && weight > 0) {
        int n = snprintf((char *)p, 16, " %u", weight);
        p += n;
    }
    *p++ = '\r';
    *p++ = '\n';
    if (MF_UNLIKELY(log_enabled(LOG_TRACE_)))
        show_sent(l, mf_slice(at, (size_t)(p - at)));
    net_commit(l->conn, (size_t)(p - at));
    link_check_queue(l, NULL);
}

/* --- changes ---------------------------------------------------------------------------------- */

bool realm_is_settled(const struct leaf_realm *r, const struct interest *i, uint32_t holders)
{
    return i->queue_len == 0 && (i->local > 0 || (holders >= 2 && mf_list_empty(&r->ending)));
}

void realm_change_begin(struct leaf_realm *r, const struct interest *i)
{
    struct mf_list *pos;

    mf_list_each(pos, &r->links)
    {
        struct leaf_link *l = mf_container(pos, struct leaf_link, in_realm);
        l->before = interest_for(l, i);
    }
}

void realm_change_end(struct leaf_realm *r, struct interest *i)
{
    struct mf_list *pos;

    mf_list_each(pos, &r->links)
    {
        struct leaf_link *l = mf_container(pos, struct leaf_link, in_realm);
        uint32_t now = interest_for(l, i);
        if (now != l->before &&
            (rules_may_announce(l, subject_of(i)) || (now == 0 && l->walking > LEAF_WALK_FRESH)))
            send_interest(l, i, now);
    }
    if (i->local + i->leafs + i->hubs == 0) {
        table_del(&r->interest, &i->node);
        mf_list_del(&i->in_marks);
        free(i);
    }
}

static void count_local(struct leaf_realm *r, struct mf_slice subject, struct mf_slice queue,
                        bool on)
{
    struct interest *i = on ? realm_get_interest(r, subject, queue)
                            : realm_find_interest(r, subject, queue, realm_key(subject, queue));

    if (i == NULL || (!on && i->local == 0)) {
        if (on)
            log_error("account %s: interest in \"%.*s\" is not announced to other servers: out of "
                      "memory",
                      account_name(r->account), MF_FMT(subject));
        return;
    }
    if (queue.len == 0 && i->local > (on ? 0u : 1u)) { /* the usual case: nobody is told */
        i->local += on ? 1 : (uint64_t)-1;
        return;
    }
    realm_change_begin(r, i);
    i->local += on ? 1 : (uint64_t)-1;
    realm_change_end(r, i);
}

/* --- subscriptions of this server ------------------------------------------------------------- */

/* Subscriptions of the server's own parts that must not be announced: those that are declared one
 * by one, and the services of each server, which would answer beside the other server's.  An auth
 * callout waits for a response that may cross a link. */
static bool is_private(const struct leaf_realm *r, const struct router_sub *s)
{
    if (s->remote != NULL) /* a link's, counted by realm_learn(); or its import, counted here */
        return s->remote->takes == cross_takes;
    if (s->client || s->pattern.ptr[0] != '$')
        return false;
    return mf_eq_str(s->pattern, "$JS.ACK.>") || mf_eq_str(s->pattern, "$JS.FC.>") ||
           mf_eq_str(s->pattern, "$MAYFLY.TTL.>") ||
           (!account_is_system(r->account) && mf_starts(s->pattern, "$SYS.") &&
            !mf_starts(s->pattern, "$SYS._INBOX."));
}

static void on_subscribed(void *arg, const struct router_sub *s)
{
    struct leaf_realm *r = arg;

    if (!is_private(r, s))
        count_local(r, s->pattern, s->queue, true);
}

static void on_unsubscribed(void *arg, const struct router_sub *s)
{
    struct leaf_realm *r = arg;

    if (!is_private(r, s))
        count_local(r, s->pattern, s->queue, false);
}

static void on_declared(void *arg, struct mf_slice pattern, bool on)
{
    count_local(arg, pattern, MF_SLICE_NONE, on);
}

static void count_sub(void *arg, struct router_sub *s)
{
    on_subscribed(arg, s);
}

static void count_declared(void *arg, struct mf_slice pattern)
{
    on_declared(arg, pattern, true);
}

/* --- sources of mappings ---------------------------------------------------------------------- */

static void keep_fixed(void *arg, struct mf_slice pattern)
{
    struct leaf_realm *r = arg;
    char **at = arena_grow(&r->fixed_mem, r->fixed.at, r->fixed.n, sizeof(char *));
    char *text = arena_dup(&r->fixed_mem, pattern);

    if (at == NULL || text == NULL)
        return;
    r->fixed.at = at;
    at[r->fixed.n++] = text;
    count_local(r, mf_str(text), MF_SLICE_NONE, true);
}

static void drop_fixed(struct leaf_realm *r)
{
    for (size_t i = 0; i < r->fixed.n; i++)
        count_local(r, mf_str(r->fixed.at[i]), MF_SLICE_NONE, false);
    r->fixed = (struct json_strs){NULL, 0};
    arena_fini(&r->fixed_mem);
    r->fixed_mem = (struct arena){.chunks = NULL};
}

void realm_reload(struct leaf_realm *r)
{
    struct leaf_realm old = {.fixed = r->fixed, .fixed_mem = r->fixed_mem};

    /* The new ones first: what stays is not withdrawn in between. */
    r->fixed = (struct json_strs){NULL, 0};
    r->fixed_mem = (struct arena){.chunks = NULL};
    account_each_mapping(r->account, keep_fixed, r);
    for (size_t i = 0; i < old.fixed.n; i++)
        count_local(r, mf_str(old.fixed.at[i]), MF_SLICE_NONE, false);
    arena_fini(&old.fixed_mem);
}

/* --- begin and end of a realm ----------------------------------------------------------------- */

static void tell_api(struct loop_defer *d)
{
    account_linked(mf_container(d, struct leaf_realm, api_seen)->account);
}

static void realm_free(struct leaf_realm *r)
{
    size_t at = 0;
    struct table_node *n;

    account_set_linker(r->account, NULL);
    router_unobserve(&r->observer);
    loop_defer_cancel(r->leaf->loop, &r->api_seen);
    while ((n = table_any(&r->interest, &at)) != NULL) {
        table_del(&r->interest, n);
        free(mf_container(n, struct interest, node));
    }
    table_fini(&r->interest);
    table_fini(&r->families);
    arena_fini(&r->fixed_mem);
    mf_list_del(&r->link);
    account_release(r->account);
    free(r);
}

void realm_close(struct leaf_realm *r)
{
    drop_fixed(r);
    realm_free(r);
}

static struct leaf_realm *realm_new(struct leaf *lf, struct account *a)
{
    struct leaf_realm *r = calloc(1, sizeof *r);
    char unique[RAND_NUID + 1];

    if (r == NULL)
        return NULL;
    r->leaf = lf;
    r->account = account_retain(a);
    r->work.name = account_name(a);
    mf_list_init(&r->links);
    mf_list_init(&r->ending);
    mf_list_init(&r->marks);
    mf_list_push(&lf->realms, &r->link);
    rand_nuid(unique);
    (void)snprintf(r->lds, sizeof r->lds, "$LDS.%s", unique);
    r->api_seen.fn = tell_api;
    r->observer = (struct router_observer){
        .subscribed = on_subscribed, .unsubscribed = on_unsubscribed, .arg = r};
    r->linker = (struct account_linker){.arg = r, .declared = on_declared};
    account_set_linker(a, &r->linker);
    router_each(account_router(a), count_sub, r);
    account_each_declared(a, count_declared, r);
    account_each_mapping(a, keep_fixed, r);
    count_local(r, mf_str(r->lds), MF_SLICE_NONE, true);
    router_observe(account_router(a), &r->observer);
    return r;
}

static struct leaf_realm *realm_find(struct leaf *lf, const struct account *a)
{
    struct mf_list *pos;

    mf_list_each(pos, &lf->realms)
    {
        struct leaf_realm *r = mf_container(pos, struct leaf_realm, link);
        if (r->account == a)
            return r;
    }
    return NULL;
}

static void announce_entry(struct leaf_link *l, const struct interest *i)
{
    uint32_t weight = interest_for(l, i);

    if (weight > 0 && rules_may_announce(l, subject_of(i)))
        send_interest(l, i, weight);
}

static bool was_announced(struct leaf_link *l, const struct interest *i)
{
    struct perms *now = l->perms;
    bool was;

    l->perms = l->walk_from;
    was = rules_may_announce(l, subject_of(i));
    l->perms = now;
    return was;
}

/* Permissions changed: some interest may be announced now, some not any more.  ALL: more than one
 * change has happened since the peer was told of everything, and it is told again. */
static void announce_change(struct leaf_link *l, const struct interest *i)
{
    bool may = rules_may_announce(l, subject_of(i));
    uint32_t weight = interest_for(l, i);

    if (weight > 0 && (l->walking == LEAF_WALK_ALL || may != was_announced(l, i)))
        send_interest(l, i, may ? weight : 0);
}

/* Changes are sent meanwhile, wherever the walk is: a peer takes an LS+ twice, and an LS- of what
 * it does not know. */
static void announce_node(void *arg, struct table_node *n)
{
    struct leaf_link *l = arg;
    const struct interest *i = mf_container(n, struct interest, node);

    if (l->walking != LEAF_WALK_FRESH)
        announce_change(l, i);
    else if (!i->mark || !l->marks_first)
        announce_entry(l, i);
}

void realm_end_walk(struct leaf_link *l)
{
    l->walking = LEAF_WALK_NONE;
    perms_release(l->walk_from);
    l->walk_from = NULL;
}

/* One piece; false: that was all. */
static bool walk_on(struct leaf_link *l)
{
    if (table_scan(&l->realm->interest, &l->walk, announce_node, l))
        return true;
    realm_end_walk(l);
    return false;
}

/* No more than a peer that does not read may have waiting for it. */
static size_t announce_room(const struct leaf_link *l)
{
    size_t share = (size_t)l->leaf->options->max_pending / 8;

    return share < ANNOUNCE_ROOM ? share : ANNOUNCE_ROOM;
}

/* The rest of a walk, as a task. */
static bool announce_some(struct work_task *t)
{
    struct leaf_link *l = mf_container(t, struct leaf_link, announce);
    struct loop *loop = l->leaf->loop;

    do {
        if (l->phase != LEAF_USABLE || l->walking == LEAF_WALK_NONE)
            return false;
        if (net_queued(l->conn) > announce_room(l)) {
            net_want_drained(l->conn, announce_room(l) / 2);
            return false; /* realm_announce_more() */
        }
        if (!walk_on(l))
            return false;
    } while (!work_spent_every(loop, 8));
    return true;
}

void realm_announce_more(struct leaf_link *l)
{
    if (l->phase == LEAF_USABLE && l->walking != LEAF_WALK_NONE)
        work_add(l->leaf->loop, &l->realm->work, &l->announce);
}

/* Messages go round a loop until the link is told of the marks: these are first.  If they are
 * too many, all come with the rest, and some of them twice. */
static void announce_marks(struct leaf_link *l)
{
    const struct mf_list *pos;
    unsigned n = 0;

    l->marks_first = true;
    mf_list_each(pos, &l->realm->marks)
    {
        if (n++ == ANNOUNCE_AT_ONCE || net_queued(l->conn) > announce_room(l)) {
            l->marks_first = false;
            return;
        }
        announce_entry(l, mf_container(pos, const struct interest, in_marks));
    }
}

/* An account with little interest is walked at once. */
static void begin_walk(struct leaf_link *l, enum leaf_walk walking)
{
    unsigned n = 0;

    l->walking = walking;
    l->announce.run = announce_some;
    l->announce.cause = WORK_WRITE;
    l->announce.what = "interest for a leaf link";
    table_scan_begin(&l->walk, &l->realm->interest);
    while (n++ < ANNOUNCE_AT_ONCE && net_queued(l->conn) <= announce_room(l))
        if (!walk_on(l))
            return;
    realm_announce_more(l);
}

void realm_announce_again(struct leaf_link *l, struct perms *old)
{
    bool unfinished = l->walking != LEAF_WALK_NONE;

    if (l->realm == NULL || l->phase != LEAF_USABLE)
        return;
    realm_end_walk(l);
    l->walk_from = old == NULL ? NULL : perms_retain(old);
    begin_walk(l, unfinished ? LEAF_WALK_ALL : LEAF_WALK_CHANGE);
}

int realm_enter(struct leaf_link *l)
{
    struct leaf_realm *r = realm_find(l->leaf, l->account);

    if (r == NULL && (r = realm_new(l->leaf, l->account)) == NULL)
        return MF_NOMEM;
    l->realm = r;
    l->entered = ++r->moves;
    mf_list_push(&r->links, &l->in_realm);
    if (family_enter(l) != 0)
        return MF_NOMEM;
    announce_marks(l);
    begin_walk(l, LEAF_WALK_FRESH);
    return 0;
}
