/* pattern_join.c: comparing two pattern trees, and one subject with a tree.
 *
 * A join is a list of pairs of places, one in each tree, as many tokens from the root, that agree
 * so far.  A pair is replaced by the pairs one token (or one label) further.  Where one place has
 * many children and the other few, the few are looked up among the many.
 *
 * Two places of one tree are either the same or have no pattern in common, because both are equally
 * far from the root. */
#include "subject/pattern_impl.h"

#include "base/array.h"

#include <stdlib.h>

#define END UINT32_MAX /* of a label: the children are next */

struct place {
    const struct pattern_node *n;
    uint32_t at; /* where the next token of the label begins, or END */
};
/* a.n NULL: whatever is at b and below, if its owner counts. */
struct pair {
    struct place a, b;
};
struct join {
    const struct pattern_tree *a, *b;
    struct pattern_query *q;
    struct pair *at;
    size_t n, cap;
    bool failed;
};

static bool wants_overlap(const struct join *j)
{
    return j->q->how == PATTERN_OVERLAP;
}

static void push_pair(struct join *j, struct place a, struct place b)
{
    if (j->n == j->cap && mf_array_reserve(&j->at, &j->cap, j->n + 1, sizeof *j->at) != 0) {
        j->failed = true;
        return;
    }
    j->at[j->n++] = (struct pair){a, b};
}

/* Nothing follows. */
static bool place_last(struct place p)
{
    return p.at == END && p.n->nkids == 0 && p.n->tails == NULL;
}

/* One token further in both trees.  A pattern that ends in only one of them has no match. */
static void push_next(struct join *j, struct place a, struct place b)
{
    if (!(place_last(a) && b.at != END) && !(place_last(b) && a.at != END))
        push_pair(j, a, b);
}

static struct mf_slice place_token(struct place p)
{
    return token_from(node_text(p.n), p.at, p.n->to);
}

static struct place place_after(struct place p, size_t token_len)
{
    p.at += (uint32_t)token_len + 1;
    if (p.at > p.n->to)
        p.at = END;
    return p;
}

/* Behind the first token of a child. */
static struct place place_in(const struct pattern_node *kid)
{
    return place_after((struct place){kid, kid->from}, kid->first);
}

/* --- what was found ------------------------------------------------------------------------- */

static void note_found(struct join *j, uint32_t a, uint32_t b)
{
    uint32_t low = wants_overlap(j) && b < a ? b : a;

    j->q->found = low < j->q->found ? low : j->q->found;
}

/* Can the remaining pairs no longer change the answer? */
static bool is_settled(const struct join *j)
{
    return j->n == 0 || (j->q->any && j->q->found != PATTERN_NONE);
}

/* The first entry of the list, of the second tree, whose owner counts. */
static const struct pattern_entry *skip_excepted(struct join *j, const struct pattern_entry *e)
{
    while (e != NULL && j->q->except != NULL && e->owner == j->q->except) {
        j->q->steps++;
        e = e->next;
    }
    return e;
}

/* A '>' of the second tree takes all that is below a place of the first. */
static void tails_take(struct join *j, const struct pattern_entry *tails, uint32_t low)
{
    const struct pattern_entry *e = skip_excepted(j, tails);

    if (e != NULL && low != PATTERN_NONE)
        note_found(j, low, e->index);
}

/* A '>' of the first tree meets all that is below a place of the second. */
static void tails_meet(struct join *j, const struct pattern_entry *tails,
                       const struct pattern_node *n, bool with_ends)
{
    const struct pattern_entry *e = skip_excepted(j, n->tails);
    uint32_t low = with_ends ? n->low : n->below;

    if (j->q->except == NULL) {
        if (low != PATTERN_NONE)
            note_found(j, tails->index, low);
        return;
    }
    if (e == NULL && with_ends)
        e = skip_excepted(j, n->ends);
    if (e != NULL)
        note_found(j, tails->index, e->index);
    for (const struct pattern_node *k = n->kids; e == NULL && k != NULL; k = k->next) {
        j->q->steps++;
        push_pair(j, (struct place){NULL, tails->index}, (struct place){k, END});
    }
}

/* --- pairs ---------------------------------------------------------------------------------- */

/* One place is at the end of its label, the other is not.  swapped: the first is of tree b. */
static void meet_label(struct join *j, const struct pattern_node *n, struct place other,
                       bool swapped)
{
    const struct pattern_tree *t = swapped ? j->b : j->a;
    struct mf_slice token = place_token(other);
    struct place next = place_after(other, token.len);
    bool star = token_is_star(token);
    const struct pattern_node *named = NULL;

    if (n->tails != NULL && swapped)
        tails_take(j, n->tails, other.n->low);
    else if (n->tails != NULL && wants_overlap(j))
        tails_meet(j, n->tails, other.n, true);
    if (star && (wants_overlap(j) || !swapped)) { /* it takes whatever comes */
        for (const struct pattern_node *k = n->kids; k != NULL; k = k->next) {
            j->q->steps++;
            push_next(j, swapped ? next : place_in(k), swapped ? place_in(k) : next);
        }
        return;
    }
    j->q->steps++;
    named = pattern_child(t, n, token);
    if (named != NULL)
        push_next(j, swapped ? next : place_in(named), swapped ? place_in(named) : next);
    if (n->star != NULL && n->star != named && (wants_overlap(j) || swapped))
        push_next(j, swapped ? next : place_in(n->star), swapped ? place_in(n->star) : next);
}

/* Children with the same first token. */
static void meet_named(struct join *j, const struct pattern_node *a, const struct pattern_node *b)
{
    bool fewer = a->nkids <= b->nkids;

    for (const struct pattern_node *k = fewer ? a->kids : b->kids; k != NULL; k = k->next) {
        const struct pattern_node *other =
            pattern_child(fewer ? j->b : j->a, fewer ? b : a, node_first(k));
        j->q->steps++;
        if (other != NULL)
            push_next(j, place_in(fewer ? k : other), place_in(fewer ? other : k));
    }
}

/* The '*' of the second tree and all other children of the first. */
static void meet_star(struct join *j, const struct pattern_node *a, const struct pattern_node *star)
{
    for (const struct pattern_node *k = a->kids; star != NULL && k != NULL; k = k->next) {
        j->q->steps++;
        if (k != a->star)
            push_next(j, place_in(k), place_in(star));
    }
}

static void meet_nodes(struct join *j, const struct pattern_node *a, const struct pattern_node *b)
{
    if (a->ends != NULL && b->ends != NULL) {
        const struct pattern_entry *e = skip_excepted(j, b->ends);
        if (e != NULL)
            note_found(j, a->ends->index, e->index);
    }
    if (b->tails != NULL)
        tails_take(j, b->tails, a->below);
    if (a->tails != NULL && wants_overlap(j))
        tails_meet(j, a->tails, b, false);
    if (a->nkids == 0 || b->nkids == 0)
        return;
    meet_named(j, a, b);
    meet_star(j, a, b->star);
    for (const struct pattern_node *k = b->kids; wants_overlap(j) && a->star != NULL && k != NULL;
         k = k->next) {
        j->q->steps++;
        if (k != b->star)
            push_next(j, place_in(a->star), place_in(k));
    }
}

/* A node and itself: no pattern meets itself. */
static void meet_self(struct join *j, const struct pattern_node *n)
{
    const struct pattern_entry *tail = n->tails;

    if (n->ends != NULL && n->ends->next != NULL)
        note_found(j, n->ends->index, n->ends->index);
    if (tail != NULL && tail->next != NULL)
        note_found(j, tail->index, tail->index);
    for (const struct pattern_node *k = n->kids; k != NULL; k = k->next) {
        j->q->steps++;
        if (tail != NULL)
            note_found(j, k->low, tail->index);
        push_pair(j, (struct place){k, END}, (struct place){k, END});
    }
    meet_star(j, n, n->star);
}

/* Can this pair still change the answer? */
static bool is_promising(const struct join *j, const struct pair *p)
{
    uint32_t low = p->a.n == NULL ? p->a.at : p->a.n->low;

    if (j->q->except != NULL && p->b.n->owner == j->q->except)
        return false;
    if (j->q->any)
        return true;
    return low < j->q->found || (wants_overlap(j) && p->b.n->low < j->q->found);
}

static void meet_pair(struct join *j, struct pair p)
{
    j->q->steps++;
    if (p.a.n == NULL) {
        struct pattern_entry tail = {.index = p.a.at};
        tails_meet(j, &tail, p.b.n, true);
        return;
    }
    if (p.a.n == p.b.n) {
        meet_self(j, p.a.n);
        return;
    }
    while (p.a.at != END && p.b.at != END) {
        struct mf_slice a = place_token(p.a), b = place_token(p.b);
        j->q->steps++;
        if (!token_is_star(b) && !(wants_overlap(j) && token_is_star(a)) && !mf_eq(a, b))
            return;
        p.a = place_after(p.a, a.len);
        p.b = place_after(p.b, b.len);
    }
    if (p.a.at == END && p.b.at == END)
        meet_nodes(j, p.a.n, p.b.n);
    else if (p.a.at == END)
        meet_label(j, p.a.n, p.b, false);
    else
        meet_label(j, p.b.n, p.a, true);
}

int pattern_tree_join(const struct pattern_tree *a, const struct pattern_tree *b,
                      struct pattern_query *q)
{
    struct join j = {.a = a, .b = b, .q = q};

    q->steps = 0;
    q->found = PATTERN_NONE;
    if (a->root == NULL || b->root == NULL)
        return 0;
    push_pair(&j, (struct place){a->root, END}, (struct place){b->root, END});
    while (!is_settled(&j) && !j.failed && q->steps <= q->most) {
        struct pair p = j.at[--j.n];
        if (is_promising(&j, &p))
            meet_pair(&j, p);
        else
            q->steps++;
    }
    free(j.at);
    if (j.failed)
        return MF_NOMEM;
    return is_settled(&j) ? 0 : MF_LIMIT;
}

/* --- one subject ---------------------------------------------------------------------------- */

/* A '*' to be tried later: this child, with the subject from here on. */
struct pattern_branch {
    const struct pattern_node *n;
    size_t at;
};

/* Does the rest of a label take tokens from *at on?  Moves *at behind them. */
static bool label_takes(struct place p, struct mf_slice subject, size_t *at)
{
    while (p.at != END) {
        struct mf_slice want = place_token(p), have;
        if (*at > subject.len)
            return false;
        have = token_from(subject.ptr, (uint32_t)*at, (uint32_t)subject.len);
        if (have.len == 0 || (!token_is_star(want) && !mf_eq(want, have)))
            return false;
        *at += have.len + 1;
        p = place_after(p, want.len);
    }
    return true;
}

static bool no_empty_token(struct mf_slice subject, size_t at)
{
    for (; at <= subject.len; at++) {
        size_t len = token_from(subject.ptr, (uint32_t)at, (uint32_t)subject.len).len;
        if (len == 0)
            return false;
        at += len;
    }
    return true;
}

/* Follows the tokens of the subject from node n on. */
static bool follow_branch(struct pattern_tree *t, struct mf_slice subject, struct pattern_branch b,
                          uint32_t *aside)
{
    const struct pattern_node *n = b.n;
    size_t at = b.at;

    while (at <= subject.len) {
        struct mf_slice token = token_from(subject.ptr, (uint32_t)at, (uint32_t)subject.len);
        if (token.len == 0)
            return false;
        if (n->tails != NULL && no_empty_token(subject, at))
            return true;
        if (n->star != NULL)
            t->aside[(*aside)++] = (struct pattern_branch){n->star, at + token.len + 1};
        n = token_is_star(token) ? NULL : pattern_child(t, n, token);
        at += token.len + 1;
        if (n == NULL || !label_takes(place_in(n), subject, &at))
            return false;
    }
    return n->ends != NULL;
}

int pattern_tree_match(struct pattern_tree *t, struct mf_slice subject)
{
    uint32_t aside = 0;

    if (t->root == NULL || subject.len == 0 || subject.len >= UINT32_MAX)
        return 0;
    if (t->asides < t->tokens + 1) { /* at most one is put aside for each token of a pattern */
        struct pattern_branch *p = realloc(t->aside, (t->tokens + 1) * sizeof *p);
        if (p == NULL)
            return MF_NOMEM;
        t->aside = p;
        t->asides = t->tokens + 1;
    }
    if (follow_branch(t, subject, (struct pattern_branch){t->root, 0}, &aside))
        return 1;
    while (aside > 0) {
        struct pattern_branch b = t->aside[--aside];
        size_t at = b.at;
        if (label_takes(place_in(b.n), subject, &at) &&
            follow_branch(t, subject, (struct pattern_branch){b.n, at}, &aside))
            return 1;
    }
    return 0;
}
