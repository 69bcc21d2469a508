/* learn.c: the interest that the peers of links announce, and its end.
 *
 * Happy path: LS+ becomes a subscription of the link in the account's router, and counts in the
 * realm's entry; LS- ends it.
 * End of a link: up to AT_ONCE subscriptions end at once.  A link with more goes to the realm's
 * list of ending links, where it gets nothing and is told nothing, and a task ends the rest between
 * other work.  The marks that find loops end at once: the same peer may come back a moment later
 * and must not meet its own. */
#include "leaf/realm_impl.h"

#include "subject/subject.h"

#include <stdlib.h>

#define AT_ONCE 1024 /* some milliseconds */

static void add_weight(struct leaf_link *l, struct leaf_sub *s, struct interest *i, uint32_t weight)
{
    uint64_t by = (uint64_t)weight - s->weight;

    if (l->spoke)
        i->hubs += by;
    else
        i->leafs += by;
    family_add(l, i, by);
    s->weight = weight;
}

/* Sets the weight of a subscription to which an entry belongs; 0: it ends.  family_prepare() made
 * room.  O(links) only while some of them may not know the entry. */
static void set_weight(struct leaf_link *l, struct leaf_sub *s, struct interest *i, uint32_t weight)
{
    struct leaf_realm *r = l->realm;
    uint32_t others = i->holders - (family_weight(l, i, true, false) > 0);
    bool settled = realm_is_settled(r, i, others);

    if (!settled)
        realm_change_begin(r, i);
    add_weight(l, s, i, weight);
    i->holders = others + (family_weight(l, i, true, false) > 0);
    if (!settled)
        realm_change_end(r, i);
}

/* Memory for the subject at most: the router has a node for each token that no other subject has.
 */
static size_t room_of(struct mf_slice subject, struct mf_slice queue)
{
    size_t tokens = 1;

    for (size_t i = 0; i < subject.len; i++)
        tokens += subject.ptr[i] == '.';
    return subject.len + queue.len + tokens * LEAF_TOKEN_ROOM;
}

static void sub_end(struct leaf_link *l, struct leaf_sub *s)
{
    struct mf_slice subject = s->rs.pattern, queue = s->rs.queue;
    struct interest *i = realm_find_interest(l->realm, subject, queue, s->node.hash);

    if (i != NULL)
        set_weight(l, s, i, 0);
    table_del(&l->subs, &s->node);
    mf_list_del(&s->mark);
    l->subs_room -= room_of(subject, queue);
    account_unsubscribe(l->account, &s->rs);
    free(s);
}

static bool is_room(struct leaf_link *l, const struct verb_cmd *cmd)
{
    const struct options_account *o = account_options(l->account);
    uint64_t most = LEAF_SUBS_MAX;

    if (l->leaf->options->max_subscriptions > 0)
        most = (uint64_t)l->leaf->options->max_subscriptions;
    if (o != NULL && o->max_subscriptions >= 0 && (uint64_t)o->max_subscriptions < most)
        most = (uint64_t)o->max_subscriptions;
    if (l->max_subs >= 0 && (uint64_t)l->max_subs < most)
        most = (uint64_t)l->max_subs;
    if (l->subs.count < most &&
        l->subs_room + room_of(cmd->subject, cmd->queue) <= LEAF_SUBS_ROOM_MAX)
        return true;
    link_log_error(l,
                   "the other server announced too much: %llu subscriptions with %zu MB are kept",
                   (unsigned long long)l->subs.count, l->subs_room >> 20);
    link_close(l, "maximum subscriptions exceeded", REASON_MAX_SUBS);
    return false;
}

/* The interest of a new link is known when it says so: copies that wait for it ask at once. */
static void note_api(struct leaf_link *l, struct mf_slice subject)
{
    if (mf_starts(subject, "$JS.") && memmem(subject.ptr, subject.len, ".API.", 5) != NULL)
        loop_defer(l->leaf->loop, &l->realm->api_seen);
}

/* An entry that was prepared for nothing. */
static void drop_unused(struct leaf_link *l, struct interest *i)
{
    family_add(l, i, 0);
    realm_change_begin(l->realm, i);
    realm_change_end(l->realm, i);
}

static void sub_begin(struct leaf_link *l, const struct verb_cmd *cmd, uint64_t hash)
{
    struct leaf_sub *s = calloc(1, sizeof *s);
    struct interest *i = realm_get_interest(l->realm, cmd->subject, cmd->queue);

    if (s == NULL || i == NULL || family_prepare(l, i) != 0 ||
        table_add(&l->subs, &s->node, hash) != 0)
        goto err;
    mf_list_init(&s->mark);
    s->rs.client = true;
    s->rs.remote = &l->peer;
    if (account_subscribe(l->account, cmd->subject, cmd->queue, &s->rs) != 0) {
        table_del(&l->subs, &s->node);
        goto err;
    }
    if (i->mark)
        mf_list_push(&l->marks, &s->mark);
    l->subs_room += room_of(cmd->subject, cmd->queue);
    set_weight(l, s, i, cmd->queue.len > 0 ? cmd->weight : 1);
    note_api(l, cmd->subject);
    return;
err:
    free(s);
    if (i != NULL)
        drop_unused(l, i);
    link_close(l, NULL, REASON_NO_MEMORY);
}

void realm_learn(struct leaf_link *l, const struct verb_cmd *cmd)
{
    uint64_t hash = realm_key(cmd->subject, cmd->queue);
    struct leaf_sub *s = realm_find_sub(l, cmd->subject, cmd->queue, hash);
    struct interest *i;

    if (s == NULL) {
        if (is_room(l, cmd))
            sub_begin(l, cmd, hash);
        return;
    }
    if (cmd->queue.len == 0 || cmd->weight == s->weight)
        return;
    i = realm_get_interest(l->realm, cmd->subject, cmd->queue); /* a new one: the weight was 0 */
    if (i != NULL && family_prepare(l, i) == 0) {
        set_weight(l, s, i, cmd->weight);
        return;
    }
    if (i != NULL)
        drop_unused(l, i);
    link_close(l, NULL, REASON_NO_MEMORY);
}

void realm_forget(struct leaf_link *l, const struct verb_cmd *cmd)
{
    struct leaf_sub *s =
        realm_find_sub(l, cmd->subject, cmd->queue, realm_key(cmd->subject, cmd->queue));

    if (s != NULL)
        sub_end(l, s);
}

/* --- the end of a link ------------------------------------------------------------------------ */

static struct leaf_sub *any_sub(struct leaf_link *l)
{
    struct table_node *n = table_any(&l->subs, &l->rest_at);

    return n == NULL ? NULL : mf_container(n, struct leaf_sub, node);
}

/* All of it has ended. */
static void depart(struct leaf_link *l)
{
    struct leaf_realm *r = l->realm;

    work_cancel(l->leaf->loop, &l->rest);
    mf_list_del(&l->in_realm);
    family_leave(l);
    l->realm = NULL;
    if (mf_list_empty(&r->links) && mf_list_empty(&r->ending))
        realm_close(r);
}

static bool end_some(struct work_task *t)
{
    struct leaf_link *l = mf_container(t, struct leaf_link, rest);
    struct loop *loop = l->leaf->loop;
    struct leaf_sub *s;

    while ((s = any_sub(l)) != NULL) {
        sub_end(l, s);
        if (work_spent(loop))
            return true;
    }
    depart(l);
    link_departed(l);
    return false;
}

static void end_marks(struct leaf_link *l)
{
    struct mf_list *pos;

    for (unsigned n = 0; n < AT_ONCE && (pos = mf_list_first(&l->marks)) != NULL; n++)
        sub_end(l, mf_container(pos, struct leaf_sub, mark));
}

static void begin_end(struct leaf_link *l)
{
    struct leaf_realm *r = l->realm;

    work_cancel(l->leaf->loop, &l->announce);
    realm_end_walk(l);
    mf_list_del(&l->in_realm);
    mf_list_push(&r->ending, &l->in_realm);
    l->left = ++r->moves;
    l->rest_at = 0;
    l->rest.run = end_some;
    l->rest.cause = WORK_CLOSE;
    l->rest.what = "subscriptions of a leaf link";
}

void realm_leave(struct leaf_link *l, bool now)
{
    struct leaf_sub *s;

    if (l->realm == NULL)
        return;
    if (l->left == 0)
        begin_end(l);
    if (!now && l->subs.count > AT_ONCE) {
        end_marks(l);
        work_add(l->leaf->loop, &l->realm->work, &l->rest);
        return;
    }
    while ((s = any_sub(l)) != NULL)
        sub_end(l, s);
    depart(l);
}
