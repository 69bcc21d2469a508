/* dn_impl.h: distinguished names (RFC 4514) of certificates in a form that can be compared. */
#ifndef MAYFLY_AUTH_DN_H
#define MAYFLY_AUTH_DN_H

#include "base/base.h"

/* Canonical texts: types in lower case, values unescaped, the parts of a multi-valued RDN sorted.
 */
struct dn {
    char *ordered; /* RDNs as they stand */
    char *sorted;  /* RDNs in sorted order: equal for names that differ in order only */
    char *plain; /* sorted, only attributes Go prints in a certificate's subject (no DC, e-mail) */
};
/* MF_INVAL: not a distinguished name; MF_NOMEM.  On success dn_fini() frees. */
MF_MUSTCHECK int dn_parse(struct dn *out, struct mf_slice text);
void dn_fini(struct dn *d);

#endif
