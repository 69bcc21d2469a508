/* check.c: walks every invariant of a router, for tests. */
#include "router/router_impl.h"

#include "subject/subject.h"

struct walk {
    const struct trie *t;
    const char *wrong;
    uint64_t subs;
    uint32_t nodes;
};

/* The text of the pattern equals its path, from the last token to the first. */
static bool path_is_pattern(const struct trie *t, const struct node *n)
{
    struct mf_slice p = node_pattern(n);

    for (; n != t->root; n = n->parent) {
        struct mf_slice token = node_token(n);
        if (p.len < token.len || !mf_eq(mf_slice(p.ptr + p.len - token.len, token.len), token))
            return false;
        p.len -= token.len;
        if (n->parent != t->root && (p.len == 0 || p.ptr[--p.len] != '.'))
            return false;
    }
    return p.len == 0;
}

static const char *check_sub(struct node *n, uint32_t i)
{
    struct router_sub *s = node_slots(n)[i];
    struct node *pattern = node_of_pattern(n);

    if (s->pos != i || s->node != n)
        return "subscription does not know its place";
    if (s->pattern.ptr != pattern->pattern || s->pattern.len != pattern->pattern_len)
        return "subscription does not know its pattern";
    if (n->kind == NODE_GROUP ? !mf_eq(s->queue, node_token(n)) : s->queue.len != 0)
        return "subscription does not know its queue";
    return NULL;
}

static const char *check_slots(struct walk *w, struct node *n)
{
    uint32_t tombs = 0;

    if (n->len > 1u << n->cap_log || (n->cap_log != 0 && n->len == 0))
        return "node has the wrong capacity";
    if (n->busy == 0 && n->tomb != 0)
        return "tombstone in an idle node";
    for (uint32_t i = 0; i < n->len; i++) {
        if (!sub_alive(node_slots(n)[i])) {
            tombs++;
            continue;
        }
        const char *wrong = check_sub(n, i);
        if (wrong != NULL)
            return wrong;
        w->subs++;
    }
    for (uint32_t link = n->tomb; link != 0; tombs--)
        link = (uint32_t)((uintptr_t)node_slots(n)[link - 1] >> 1);
    return tombs == 0 ? NULL : "tombstone out of its chain";
}

static const char *check_pattern_node(const struct trie *t, const struct node *n)
{
    uint32_t star = 0, tail = 0;

    if ((n->len > 0 || n->groups != NULL) && n->pattern == NULL)
        return "node does not know its pattern";
    if (n->pattern != NULL && !path_is_pattern(t, n))
        return "pattern differs from the path";
    if (n->pattern != NULL && !n->whole && n->len == 0 && n->groups == NULL)
        return "pattern of an inner node was kept";
    if (n->pattern != NULL && n->wild != subject_has_wildcard(node_pattern(n)))
        return "wild flag is wrong";
    star = n->has_star && trie_wild_child(t, n, NODE_STAR) == NULL;
    tail = n->has_tail && trie_wild_child(t, n, NODE_TAIL) == NULL;
    if (star || tail)
        return "flag of a wildcard child that is not there";
    for (const struct node *g = n->groups; g != NULL; g = g->next_group)
        if (g->parent != n || g->kind != NODE_GROUP || *g->prev_group != g)
            return "list of groups is broken";
    return NULL;
}

/* kids is checked by counting down from every child and finding 0 everywhere; see below. */
static void check_node(void *arg, struct node *n)
{
    struct walk *w = arg;
    const char *wrong = NULL;

    w->nodes++;
    if (w->wrong != NULL)
        return;
    if (n->len == 0 && n->kids == 0)
        wrong = "node that leads nowhere";
    else if (n->kind == NODE_STAR && !n->parent->has_star)
        wrong = "'*' its parent does not know of";
    else if (n->kind == NODE_TAIL && !n->parent->has_tail)
        wrong = "'>' its parent does not know of";
    else if (n->busy > 0 && n->len == 0)
        wrong = "busy node without slots";
    else if (n->kind != NODE_GROUP)
        wrong = check_pattern_node(w->t, n);
    w->wrong = wrong != NULL ? wrong : check_slots(w, n);
}

static void take_from_parent(void *arg, struct node *n)
{
    (void)arg;
    n->parent->kids--;
}

static void give_to_parent(void *arg, struct node *n)
{
    (void)arg;
    n->parent->kids++;
}

static void check_no_kids(void *arg, struct node *n)
{
    struct walk *w = arg;

    if (n->kids != 0)
        w->wrong = "wrong number of children";
}

static const char *check_table(const struct trie *t)
{
    if (t->half > t->buckets || t->buckets >= 2 * t->half || t->buckets > t->cap)
        return "table: wrong size";
    for (uint32_t i = 0; i < t->buckets; i++) {
        for (const struct node *n = t->bucket[i]; n != NULL; n = n->chain) {
            uint32_t at = n->hash & (2 * t->half - 1);
            if ((at < t->buckets ? at : at - t->half) != i)
                return "table: node in the wrong bucket";
        }
    }
    return NULL;
}

/* Every fresh entry gives what the trie gives now, in the same order but for groups of one name. */
static const char *check_answers(struct router *r)
{
    struct cache *c = &r->cache;

    for (uint32_t i = 0; i < c->sets * CACHE_WAYS; i++) {
        const struct cache_entry *e = c->set[i / CACHE_WAYS].way[i % CACHE_WAYS];
        if (e == NULL || !cache_fresh(c, e))
            continue;
        uint32_t n = trie_split(&r->trie, mf_slice(cache_subject(e), e->len)), same = 0;
        if (!trie_match(&r->trie, n))
            return "out of memory";
        const struct trie_list *found = &r->trie.found;
        for (uint32_t k = 0; k < found->n; k++)
            for (uint32_t j = 0; j < e->n; j++)
                same += item_node(found->v[k]) == item_node(e->item[j]);
        if (found->n != e->n || same != e->n)
            return "cache: fresh entry with wrong nodes";
    }
    return NULL;
}

const char *router_check(struct router *r)
{
    struct walk w = {.t = &r->trie};
    const char *wrong = check_table(&r->trie);

    if (wrong != NULL)
        return wrong;
    trie_each(&r->trie, check_node, &w);
    trie_each(&r->trie, take_from_parent, NULL);
    if (w.wrong == NULL && r->trie.root->kids != 0)
        w.wrong = "wrong number of children of the root";
    if (w.wrong == NULL)
        trie_each(&r->trie, check_no_kids, &w);
    trie_each(&r->trie, give_to_parent, NULL);
    if (w.wrong != NULL)
        return w.wrong;
    if (w.nodes != r->trie.nodes || w.subs != r->subs)
        return "wrong number of nodes or subscriptions";
    wrong = cache_check(&r->cache);
    return wrong != NULL ? wrong : check_answers(r);
}
