/* keys_walk.c: walks over the keys that match a pattern, and the test of one key.
 *
 * A walk descends the tree of tokens: a token of text finds its child by hash, a wildcard visits
 * all children.  The position of a walk is one node; its ancestors say where to continue after
 * the node's last sibling. */
#include "store/keys/keys_impl.h"

#include <stdlib.h>

static bool is_star(struct mf_slice token)
{
    return token.len == 1 && token.ptr[0] == '*';
}
static bool is_tail(struct mf_slice token)
{
    return token.len == 1 && token.ptr[0] == '>';
}

static struct mf_slice walk_token(const struct keys_walk *w, uint32_t depth)
{
    const uint8_t *text = (const uint8_t *)&w->token[w->tokens + 1];
    return mf_slice(text + w->token[depth], w->token[depth + 1] - w->token[depth] - 1);
}

static bool in_tail(const struct keys_walk *w, uint32_t depth)
{
    return w->tail && depth + 1 >= w->tokens;
}

static bool is_wild(const struct keys_walk *w, uint32_t depth)
{
    return in_tail(w, depth) || is_star(walk_token(w, depth));
}

struct keys_walk *keys_walk_new(struct keys *k, struct mf_slice pattern)
{
    size_t tokens = 1, n = 0;
    struct keys_walk *w;

    if (pattern.len >= UINT32_MAX / 2)
        return NULL;
    for (size_t i = 0; i < pattern.len; i++)
        tokens += pattern.ptr[i] == k->separator;
    w = malloc(sizeof *w + (tokens + 1) * sizeof *w->token + pattern.len);
    if (w == NULL)
        return NULL;
    *w = (struct keys_walk){.keys = k, .next = KEYS_NONE, .tokens = (uint32_t)tokens};
    w->token[n++] = 0;
    for (size_t i = 0; i < pattern.len; i++)
        if (pattern.ptr[i] == k->separator)
            w->token[n++] = (uint32_t)i + 1;
    w->token[n] = (uint32_t)pattern.len + 1;
    if (pattern.len > 0)
        memcpy(&w->token[tokens + 1], pattern.ptr, pattern.len);
    w->tail = is_tail(walk_token(w, w->tokens - 1));
    mf_list_push(&k->walks, &w->in);
    return w;
}

void keys_walk_end(struct keys_walk *w)
{
    if (w == NULL)
        return;
    mf_list_del(&w->in);
    free(w);
}

/* From w->next to the node after it and all below it. */
static void step_node(struct keys_walk *w)
{
    const struct keys_node *n = node_at(w->keys, w->next);

    while (n->next == KEYS_NONE || !is_wild(w, w->depth)) {
        if (w->depth == 0) {
            w->next = KEYS_NONE;
            return;
        }
        w->keys->touched++;
        w->depth--;
        n = node_at(w->keys, n->parent);
    }
    w->next = n->next;
}

/* The child the pattern names. */
static uint32_t named_child(struct keys_walk *w, uint32_t parent, uint32_t depth)
{
    struct keys_want want = {
        .token = walk_token(w, depth), .parent = parent, .inner = depth + 1 < w->tokens};
    uint64_t hash = inner_hash(node_at(w->keys, parent));

    if (want.inner)
        want.token.len++; /* its separator follows it in the pattern too */
    w->keys->touched++;
    return keys_table_find(w->keys, hash_child(w->keys, hash, want.inner, want.token), &want);
}

/* Down from the inner node *node, whose children are at *depth, as far as the pattern has text.
 * True: a wildcard follows for the children of *node.  False: *leaf is the one that matches, or
 * KEYS_NONE. */
static bool descend_text(struct keys_walk *w, uint32_t *node, uint32_t *depth, uint32_t *leaf)
{
    *leaf = KEYS_NONE;
    for (; !is_wild(w, *depth); ++*depth) {
        *node = named_child(w, *node, *depth);
        if (*node == KEYS_NONE)
            return false;
        if (*depth + 1 == w->tokens) {
            *leaf = *node;
            return false;
        }
    }
    return true;
}

/* Do all leaves below the node match, whose children stand at a wildcard of this depth? */
static bool is_whole(const struct keys_walk *w, uint32_t node, uint32_t depth)
{
    return in_tail(w, depth) ||
           (depth + 1 == w->tokens && inner_get(node_at(w->keys, node)).inners == 0);
}

/* Down from an inner node.  True: w->next stands on the first child of a wildcard (the root may
 * have none).  False: *leaf matches, or nothing is left to walk below the node.  sum not NULL: what
 * matches as a whole is added there. */
static bool enter_node(struct keys_walk *w, uint32_t node, uint32_t depth, uint32_t *leaf,
                       struct keys_sum *sum)
{
    if (!descend_text(w, &node, &depth, leaf))
        return false;
    if (sum != NULL && is_whole(w, node, depth)) {
        struct keys_sum all = inner_get(node_at(w->keys, node)).sum;
        w->keys->touched++;
        sum->msgs += all.msgs;
        sum->keys += all.keys;
        return false;
    }
    w->next = node_at(w->keys, node)->a;
    w->depth = depth;
    return true;
}

/* Looks at w->next and moves it on; gives a leaf that matches or KEYS_NONE. */
static uint32_t look_at_node(struct keys_walk *w, struct keys_sum *sum)
{
    uint32_t id = w->next, leaf = KEYS_NONE;
    bool last = w->depth + 1 >= w->tokens;

    w->keys->touched++;
    if (!node_inner(w->keys, id)) {
        leaf = last ? id : KEYS_NONE;
    } else if (in_tail(w, w->depth)) {
        w->next = node_at(w->keys, id)->a;
        w->depth++;
        return KEYS_NONE;
    } else if (!last && enter_node(w, id, w->depth + 1, &leaf, sum)) {
        return KEYS_NONE;
    }
    step_node(w);
    return leaf;
}

static uint32_t start_walk(struct keys_walk *w, struct keys_sum *sum)
{
    uint32_t leaf = KEYS_NONE;

    if (w->keys != NULL && !w->started) {
        w->started = true;
        enter_node(w, ROOT, 0, &leaf, sum);
    }
    return leaf;
}

uint32_t keys_walk_next(struct keys_walk *w)
{
    uint32_t leaf = start_walk(w, NULL);

    while (leaf == KEYS_NONE && w->keys != NULL && w->next != KEYS_NONE)
        leaf = look_at_node(w, NULL);
    if (leaf == KEYS_NONE)
        keys_walk_end(w);
    return leaf;
}

uint32_t keys_walk_sum(struct keys_walk *w, struct keys_sum *sum, size_t *budget)
{
    uint32_t leaf = start_walk(w, sum);

    while (leaf == KEYS_NONE && w->keys != NULL && w->next != KEYS_NONE) {
        uint64_t before = w->keys->touched;
        if (*budget == 0)
            return KEYS_NONE;
        leaf = look_at_node(w, sum);
        size_t used = (size_t)(w->keys->touched - before);
        *budget -= used < *budget ? used : *budget;
    }
    if (leaf == KEYS_NONE) {
        keys_walk_end(w);
        *budget += *budget == 0;
    }
    return leaf;
}

void keys_walks_leave(struct keys *k, uint32_t id)
{
    struct mf_list *l;

    mf_list_each(l, &k->walks)
    {
        struct keys_walk *w = mf_container(l, struct keys_walk, in);
        if (w->next == id)
            step_node(w);
    }
}

void keys_walks_stop(struct keys *k)
{
    struct mf_list *l;

    while ((l = mf_list_pop(&k->walks)) != NULL)
        mf_container(l, struct keys_walk, in)->keys = NULL;
}

/* Takes the last token, and the separator before it, off the pattern; *more: that was not all. */
static struct mf_slice take_last(const struct keys *k, struct mf_slice *pattern, bool *more)
{
    const uint8_t *sep =
        pattern->len == 0 ? NULL : memrchr(pattern->ptr, k->separator, pattern->len);
    struct mf_slice token = *pattern;

    *more = sep != NULL;
    if (sep != NULL) {
        size_t before = (size_t)(sep - pattern->ptr);
        token = mf_slice(sep + 1, pattern->len - before - 1);
        pattern->len = before;
    }
    return token;
}

/* Up from a leaf to the node of the token that stands before the ">", which is number `tokens` - 2
 * from the root; KEYS_NONE: the key has fewer than `tokens`. */
static uint32_t above_tail(const struct keys *k, uint32_t id, size_t tokens)
{
    size_t depth = 0;

    for (uint32_t i = id; i != ROOT; i = node_at(k, i)->parent)
        depth++;
    if (depth < tokens)
        return KEYS_NONE;
    for (; depth >= tokens; depth--)
        id = node_at(k, id)->parent;
    return id;
}

bool keys_matches(const struct keys *k, uint32_t id, struct mf_slice pattern)
{
    struct mf_slice rest = pattern;
    bool more, inner = false;

    if (is_tail(take_last(k, &rest, &more))) {
        size_t tokens = 1;
        for (size_t i = 0; i < pattern.len; i++)
            tokens += pattern.ptr[i] == k->separator;
        id = above_tail(k, id, tokens);
        if (id == KEYS_NONE || !more)
            return id != KEYS_NONE;
        inner = true;
    } else {
        rest = pattern;
    }
    for (more = true; more && id != ROOT; inner = true) {
        const struct keys_node *n = node_at(k, id);
        struct mf_slice want = take_last(k, &rest, &more), have = node_token(n, inner);
        have.len -= inner; /* the separator */
        if (!is_star(want) && !mf_eq(want, have))
            return false;
        id = n->parent;
    }
    return !more && id == ROOT;
}
