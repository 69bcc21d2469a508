/* claims_impl.h: parts of claims that several files read.  Private to src/jwt. */
#ifndef JWT_CLAIMS_IMPL_H
#define JWT_CLAIMS_IMPL_H

#include "jwt/jwt_impl.h"

char *jwt_text(char *s); /* "" for NULL */
/* The members of a JSON object, each name once: the last of several wins.  None for an empty text
 * and for null. */
MF_MUSTCHECK int jwt_split_members(struct json_member **m, size_t *n, struct mf_slice json,
                                   struct arena *mem, struct mf_error *e);
MF_MUSTCHECK int jwt_read_revocations(struct jwt_revocations *out, struct mf_slice json,
                                      struct arena *mem, struct mf_error *e);
MF_MUSTCHECK int jwt_read_exports(struct jwt_account *a, struct mf_slice json, struct arena *mem,
                                  struct mf_error *e);
MF_MUSTCHECK int jwt_read_imports(struct jwt_account *a, struct mf_slice json, struct arena *mem,
                                  struct mf_error *e);
/* For struct json_field: "stream" or "service". */
int jwt_parse_share(struct mf_slice raw, int *out, struct mf_error *e);

#endif
