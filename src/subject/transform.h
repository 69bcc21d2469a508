/* transform.h: subject mapping, as nats-server's `mappings` and `subject_transform` do it:
 *     orders.* -> shard.{{partition(8,1)}}.{{wildcard(1)}}
 * Functions: wildcard(n) and $n, partition(n[,token...]), splitFromLeft(t,pos), splitFromRight,
 * sliceFromLeft(t,size), sliceFromRight, split(t,delimiter), left(t,n), right(t,n), random(n).
 * Each fills a whole token; n and t count the '*' of the source, from 1.
 * Compiled once; applying is O(subject + result) and allocates nothing.  A transform belongs to one
 * thread: applying uses room inside it. */
#ifndef MAYFLY_TRANSFORM_H
#define MAYFLY_TRANSFORM_H

#include "base/base.h"

struct transform;
/* src "" means ">".  Errors in nats-server's words.  An empty dest is an error here: callers that
 * allow "no mapping" make no transform. */
MF_MUSTCHECK int transform_new(struct transform **out, struct mf_slice src, struct mf_slice dest,
                               struct mf_error *e);
/* For imports: wildcard() is the only function allowed, and dest has at least as many of them as
 * src has wildcards. */
MF_MUSTCHECK int transform_new_strict(struct transform **out, struct mf_slice src,
                                      struct mf_slice dest, struct mf_error *e);
void transform_free(struct transform *t); /* NULL is fine */
struct mf_slice transform_source(const struct transform *t);
struct mf_slice transform_dest(const struct transform *t);
/* Bytes written to dst, 0 if src does not match, MF_LIMIT if cap is too small, MF_INVAL if the
 * result is empty (a split of nothing but delimiters).  As in nats-server a result may have empty
 * tokens ("--a" split by "-"): no subscription receives it then.  A '*' token of the subject
 * matches a '*' of src, a last '>' only a '>'. */
ssize_t transform_apply(const struct transform *t, struct mf_slice subject, char *dst, size_t cap);
/* The mapping of a *pattern* (an import's subscription): wildcards map onto wildcards.  0 also when
 * pattern is not a subset of src, or the mapping uses other functions than wildcard(). */
ssize_t transform_pattern(const struct transform *t, struct mf_slice pattern, char *dst,
                          size_t cap);
/* The opposite direction of a strict one, or NULL: out of memory, or some '*' of src is not in
 * dest and so cannot be restored. */
struct transform *transform_reverse(const struct transform *t);

/* Between the two ways to write an import.  Bytes written, or MF_LIMIT.
 *     tokenize:   foo.*.bar.*                     -> foo.$1.bar.$2
 *     untokenize: foo.$2.bar.{{wildcard(1)}}      -> foo.*.bar.* */
ssize_t transform_tokenize(struct mf_slice pattern, char *dst, size_t cap);
ssize_t transform_untokenize(struct mf_slice dest, char *dst, size_t cap);

#endif
