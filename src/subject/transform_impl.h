/* transform_impl.h: the compiled form of a subject mapping, shared by its parser and its users. */
#ifndef MAYFLY_TRANSFORM_IMPL_H
#define MAYFLY_TRANSFORM_IMPL_H

#include "subject/transform.h"

enum piece_kind {
    PIECE_LITERAL,
    PIECE_WILDCARD,
    PIECE_PARTITION,
    PIECE_SPLIT_FROM_LEFT,
    PIECE_SPLIT_FROM_RIGHT,
    PIECE_SLICE_FROM_LEFT,
    PIECE_SLICE_FROM_RIGHT,
    PIECE_RIGHT,
    PIECE_LEFT,
    PIECE_SPLIT,
    PIECE_RANDOM,
};

/* One token of the destination.
 * After transform_piece_parse(): index[] holds wildcard numbers as written (1 is the first '*').
 * In a transform: positions of source tokens (0 is the first token), each below `sources`. */
struct piece {
    enum piece_kind kind;
    int32_t arg;           /* buckets, size or position */
    uint32_t first, count; /* its part of the index list */
    struct mf_slice text;  /* literal: the token; split: the delimiter */
};

/* A growing list of wildcard numbers; partition() takes any number of them. */
struct index_list {
    int64_t *v;
    uint32_t n;
    size_t cap;
};

/* Parses one token of a destination; p->text borrows from token.  0, MF_INVAL with the error in
 * nats-server's words, or MF_NOMEM. */
MF_MUSTCHECK int transform_piece_parse(struct mf_slice token, struct piece *p,
                                       struct index_list *list, struct mf_error *e);
/* For tests: bytes scanned for calls so far. */
extern _Thread_local uint64_t transform_piece_steps;
/* "{{...}}": must be a function that exists. */
bool transform_piece_is_function(struct mf_slice token);
bool transform_piece_is_known(struct mf_slice token);
/* A call of wildcard() with one argument, right or wrong. */
bool transform_piece_is_wildcard(struct mf_slice token);

/* src and dest live behind the struct, in the same allocation, as do pieces, index and scratch.
 * Invariant: sources is the number of tokens of src; scratch has room for as many. */
struct transform {
    struct mf_slice src, dest;
    uint32_t sources, pieces;
    bool tail; /* both end in '>', which is not among the pieces */
    struct piece *piece;
    uint32_t *index;
    struct mf_slice *scratch; /* tokens of the subject at hand */
};

#endif
