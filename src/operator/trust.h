/* trust.h: operator keys that this server trusts.
 *
 * An account is trusted if its JWT is signed by a trusted key: an operator's own key, or one of its
 * signing keys.  An operator with strict_signing_key_usage signs accounts with signing keys alone,
 * and so do its accounts with their users.  Every call is O(1) in the number of accounts, O(keys of
 * operators). */
#ifndef MAYFLY_TRUST_H
#define MAYFLY_TRUST_H

#include "config/options_operator.h"

struct trust;
/* o must outlive it.  now_s: seconds since 1970.  MF_DENIED: an operator's JWT expired. */
MF_MUSTCHECK int trust_new(struct trust **out, const struct options *o, int64_t now_s,
                           struct mf_error *e);
/* Another configuration, with the same operators. */
void trust_move(struct trust *t, const struct options *o);
void trust_free(struct trust *t); /* NULL is fine */

/* May this key sign accounts? */
bool trust_signs_accounts(const struct trust *t, const char *key);
/* May it order the server to delete accounts?  As above, and the own key of a strict operator
 * may not. */
bool trust_is_operator(const struct trust *t, const char *key);
/* The account was signed by this key: must its users be signed by signing keys? */
bool trust_wants_signing_keys(const struct trust *t, const char *issuer);
/* The system account's key; NULL: none. */
const char *trust_system_account(const struct trust *t);
/* May users of this account connect? (resolver_pinned_accounts) O(pinned). */
bool trust_admits_account(const struct trust *t, const char *account);
/* "Trusted Operators" and what each JWT says, as nats-server logs it at the start. */
void trust_log(const struct trust *t);

#endif
