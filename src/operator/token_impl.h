/* token_impl.h: the claims of a stored token that a directory needs, without checking its
 * signature: whoever uses the token decodes it.  Private to operator. */
#ifndef MAYFLY_OPERATOR_TOKEN_IMPL_H
#define MAYFLY_OPERATOR_TOKEN_IMPL_H

#include "codec/nkey.h"

struct token_times {
    char sub[NKEY_TEXT];
    int64_t iat, exp; /* seconds; 0: none */
};
/* MF_INVAL: no token of an account.  O(bytes). */
MF_MUSTCHECK int token_peek(struct mf_slice text, struct token_times *out);

#endif
