/* subject.h: grammar of subjects and patterns.  Tokens are split by '.'; '*' and '>' are wildcards
 * only as whole tokens, '>' only as the last one, where it stands for one or more tokens.  No
 * allocation; O(length) each.
 *
 * A subject or pattern with an empty token ("", ".a", "a..b", "a.") matches nothing, is a subset of
 * nothing and overlaps nothing, not even itself: no subscription can receive it. */
#ifndef MAYFLY_SUBJECT_H
#define MAYFLY_SUBJECT_H

#include "base/base.h"

/* A pattern a client may subscribe to: no empty token, '>' only last, no blanks or line ends. */
bool subject_valid(struct mf_slice pattern);
/* A subject without wildcard tokens (and valid). */
bool subject_valid_literal(struct mf_slice subject);
/* Some token is '*' or '>', wherever it stands. */
bool subject_has_wildcard(struct mf_slice pattern);
/* The text before the first wildcard token: each subject that the pattern matches begins with it.
 */
struct mf_slice subject_head(struct mf_slice pattern);
unsigned subject_tokens(struct mf_slice subject); /* "" has none */
/* The tokens of `literal` are taken as they are, even '*' and '>'. */
bool subject_match(struct mf_slice pattern, struct mf_slice literal);
/* Every subject `sub` can match, `super` matches too. */
bool subject_is_subset(struct mf_slice sub, struct mf_slice super);
/* Some subject is matched by both. */
bool subject_overlap(struct mf_slice a, struct mf_slice b);
/* Walks tokens: first call with *rest = the subject.  false when there is none left.  Empty tokens
 * are handed out like any other.  *rest is the walker's own between calls. */
bool subject_next_token(struct mf_slice *rest, struct mf_slice *token);
/* The first token has index 0.  Empty when beyond. */
struct mf_slice subject_token(struct mf_slice subject, unsigned index);

#endif
