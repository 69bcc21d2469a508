/* patset.c: a set of subject patterns as a tree of tokens. */
#include "auth/patset_impl.h"

#include "codec/hash.h"
#include "subject/subject.h"
#include "base/table.h"

#include <stdlib.h>

/* The entries of one pattern. */
struct ends {
    bool plain;
    char **queues;
    size_t nqueues;
};

struct node {
    struct table_node in_table;
    const struct node *parent;
    char *token; /* NULL for the root and for '*' */
    size_t token_len;
    struct node *star;
    struct node *next_star;  /* all '*' nodes, for freeing */
    struct ends here, below; /* patterns that end here; patterns with '>' below here */
};

struct patset {
    struct node root;
    struct table literals; /* by parent and token */
    struct node *stars;
};

int patset_new(struct patset **out)
{
    struct patset *s = calloc(1, sizeof *s);

    if (s == NULL)
        return MF_NOMEM;
    *out = s;
    return 0;
}

static void ends_fini(struct ends *e)
{
    for (size_t i = 0; i < e->nqueues; i++)
        free(e->queues[i]);
    free(e->queues);
}

static void node_fini(struct node *n)
{
    ends_fini(&n->here);
    ends_fini(&n->below);
    free(n->token);
}

void patset_free(struct patset *s)
{
    struct table_node *t;
    size_t start = 0;

    if (s == NULL)
        return;
    while ((t = table_any(&s->literals, &start)) != NULL) {
        struct node *n = mf_container(t, struct node, in_table);
        table_del(&s->literals, t);
        node_fini(n);
        free(n);
    }
    table_fini(&s->literals);
    while (s->stars != NULL) {
        struct node *n = s->stars;
        s->stars = n->next_star;
        node_fini(n);
        free(n);
    }
    node_fini(&s->root);
    free(s);
}

static bool is_token(struct mf_slice t, char c)
{
    return t.len == 1 && t.ptr[0] == (uint8_t)c;
}

/* The parent is mixed in, so that equal tokens below different nodes do not share a chain. */
static uint64_t child_hash(const struct node *parent, struct mf_slice token)
{
    return hash_slice(token) ^ ((uint64_t)(uintptr_t)parent * 0x9e3779b97f4a7c15u);
}

static struct node *child_find(const struct patset *s, const struct node *parent,
                               struct mf_slice token)
{
    struct table_node *t;

    for (t = table_first(&s->literals, child_hash(parent, token)); t != NULL; t = table_next(t)) {
        struct node *n = mf_container(t, struct node, in_table);
        if (n->parent == parent && mf_eq(mf_slice(n->token, n->token_len), token))
            return n;
    }
    return NULL;
}

static struct node *star_make(struct patset *s, struct node *parent)
{
    struct node *n = calloc(1, sizeof *n);

    if (n == NULL)
        return NULL;
    n->parent = parent;
    n->next_star = s->stars;
    s->stars = n;
    parent->star = n;
    return n;
}

static struct node *child_make(struct patset *s, struct node *parent, struct mf_slice token)
{
    struct node *n = calloc(1, sizeof *n);

    if (n == NULL)
        return NULL;
    n->parent = parent;
    n->token = mf_slice_dup(token);
    n->token_len = token.len;
    if (n->token == NULL || table_add(&s->literals, &n->in_table, child_hash(parent, token)) != 0) {
        free(n->token);
        free(n);
        return NULL;
    }
    return n;
}

static int ends_add(struct ends *e, struct mf_slice queue)
{
    char **grown, *copy;

    if (queue.len == 0) {
        e->plain = true;
        return 0;
    }
    grown = realloc(e->queues, (e->nqueues + 1) * sizeof *grown);
    if (grown == NULL)
        return MF_NOMEM;
    e->queues = grown;
    copy = mf_slice_dup(queue);
    if (copy == NULL)
        return MF_NOMEM;
    e->queues[e->nqueues++] = copy;
    return 0;
}

int patset_add(struct patset *s, struct mf_slice pattern, struct mf_slice queue)
{
    struct node *n = &s->root, *next;
    struct mf_slice rest = pattern, token;

    while (subject_next_token(&rest, &token)) {
        if (is_token(token, '>'))
            return ends_add(&n->below, queue);
        if (is_token(token, '*'))
            next = n->star != NULL ? n->star : star_make(s, n);
        else if ((next = child_find(s, n, token)) == NULL)
            next = child_make(s, n, token);
        if (next == NULL)
            return MF_NOMEM;
        n = next;
    }
    return ends_add(&n->here, queue);
}

/* --- matching --------------------------------------------------------------------------------- */

struct question {
    const struct patset *set;
    struct mf_slice queue;
    enum patset_tail tail;
    struct patset_hit hit;
};

/* '*' and '>' are also valid queue names, so the literal name is tried first. */
static bool queue_matches(struct mf_slice queue, const char *entry)
{
    struct mf_slice e = mf_str(entry);

    return mf_eq(queue, e) || (subject_has_wildcard(e) && subject_is_subset(queue, e));
}

static void add_ends(struct question *q, const struct ends *e)
{
    q->hit.plain |= e->plain;
    if (e->nqueues == 0)
        return;
    q->hit.queued = true;
    for (size_t i = 0; i < e->nqueues && !q->hit.queue_hit; i++)
        q->hit.queue_hit = q->queue.len > 0 && queue_matches(q->queue, e->queues[i]);
}

/* Recursion only where a '*' offers a second way, so its depth is bounded by the patterns. */
static void walk_tokens(struct question *q, const struct node *n, struct mf_slice rest)
{
    struct mf_slice token;

    while (subject_next_token(&rest, &token)) {
        add_ends(q, &n->below);
        if (q->tail == PATSET_SUBSET && is_token(token, '>'))
            return;
        if (n->star != NULL)
            walk_tokens(q, n->star, rest);
        n = child_find(q->set, n, token);
        if (n == NULL)
            return;
    }
    add_ends(q, &n->here);
}

static bool has_empty_token(struct mf_slice subject)
{
    struct mf_slice token;

    if (subject.len == 0)
        return true;
    while (subject_next_token(&subject, &token)) {
        if (token.len == 0)
            return true;
    }
    return false;
}

struct patset_hit patset_match(const struct patset *s, struct mf_slice subject,
                               struct mf_slice queue, enum patset_tail tail)
{
    struct question q = {.set = s, .queue = queue, .tail = tail};

    if (!has_empty_token(subject))
        walk_tokens(&q, &s->root, subject);
    return q.hit;
}
