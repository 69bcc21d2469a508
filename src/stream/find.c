/* find.c: subjects that match a pattern, and the last or next message of them, in slices.
 *
 * Happy path: a walk over the tree of subjects (or a cursor) is kept between the slices; each call
 * is short, and the caller decides how many of them a turn can afford.
 * Changes: the walk and the cursor survive messages that are stored and removed.  A last message
 * that was removed before the walk is over makes the search begin again. */
#include "stream/stream_impl.h"

#include <stdlib.h>

#define FIND_NODES 64u /* nodes of a step */

/* --- subjects --------------------------------------------------------------------------------- */

struct stream_subjects {
    struct stream *s;
    struct store_keys *walk;
};

struct stream_subjects *stream_subjects_new(struct stream *s, struct mf_slice pattern)
{
    struct stream_subjects *w = malloc(sizeof *w);

    if (w == NULL)
        return NULL;
    w->s = s;
    w->walk = store_keys_new(s->store, pattern);
    if (w->walk == NULL) {
        free(w);
        return NULL;
    }
    return w;
}

bool stream_subjects_next(struct stream_subjects *w, uint32_t *nodes, struct stream_subject *out)
{
    struct mf_slice key;
    struct store_key k;

    stream_look_at_clock(w->s);
    if (!store_keys_some(w->walk, nodes, &key, &k))
        return false;
    *out = (struct stream_subject){key, k.first_seq, k.last_seq, k.count};
    return true;
}

void stream_subjects_unseen(struct stream_subjects *w)
{
    store_keys_unseen(w->walk);
}

void stream_subjects_free(struct stream_subjects *w)
{
    if (w == NULL)
        return;
    store_keys_free(w->walk);
    free(w);
}

/* --- one message ------------------------------------------------------------------------------ */

struct stream_find {
    struct stream *s;
    struct stream_subjects *subjects; /* the last one: all of these are asked; NULL: no need to */
    struct stream_cursor *cursor;     /* the next one */
    uint64_t best;                    /* of the subjects so far */
    struct mf_slice pattern;
    uint8_t text[]; /* the pattern */
};

static struct stream_find *find_new(struct stream *s, struct mf_slice pattern)
{
    struct stream_find *f = calloc(1, sizeof *f + pattern.len);

    if (f == NULL)
        return NULL;
    f->s = s;
    if (pattern.len > 0)
        memcpy(f->text, pattern.ptr, pattern.len);
    f->pattern = mf_slice(f->text, pattern.len);
    return f;
}

struct stream_find *stream_find_last(struct stream *s, struct mf_slice pattern)
{
    struct stream_find *f = find_new(s, pattern);

    if (f == NULL || stream_last_is_known(pattern))
        return f;
    f->subjects = stream_subjects_new(s, pattern);
    if (f->subjects == NULL) {
        free(f);
        return NULL;
    }
    return f;
}

struct stream_find *stream_find_next(struct stream *s, struct mf_slice pattern, uint64_t from_seq)
{
    struct stream_find *f = find_new(s, pattern);

    if (f != NULL && stream_cursor_new(&f->cursor, s, pattern, false, from_seq) != 0) {
        free(f);
        return NULL;
    }
    return f;
}

/* The walk is over.  false: what it found was removed meanwhile, and it begins again. */
static bool find_settled(struct stream_find *f, uint64_t *seq)
{
    struct stream_subjects *again;

    *seq = f->best;
    if (f->best == 0 || stream_next(f->s, f->best) == f->best)
        return true;
    again = stream_subjects_new(f->s, f->pattern);
    if (again == NULL) /* no memory: as if it had been removed a moment later */
        return true;
    stream_subjects_free(f->subjects);
    f->subjects = again;
    f->best = 0;
    return false;
}

bool stream_find_step(struct stream_find *f, uint64_t *seq)
{
    uint32_t nodes = FIND_NODES;
    struct stream_subject x;
    bool more = false;

    if (f->cursor != NULL) {
        *seq = stream_cursor_next(f->cursor, &more);
        return *seq != 0 || !more;
    }
    if (f->subjects == NULL) {
        *seq = stream_last_of(f->s, f->pattern);
        return true;
    }
    while (stream_subjects_next(f->subjects, &nodes, &x))
        if (x.last_seq > f->best)
            f->best = x.last_seq;
    return nodes > 0 && find_settled(f, seq);
}

void stream_find_free(struct stream_find *f)
{
    if (f == NULL)
        return;
    stream_subjects_free(f->subjects);
    stream_cursor_free(f->cursor);
    free(f);
}
