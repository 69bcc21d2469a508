/* tls_setup.c: makes a TLS context of a tls block. */
#include "session/tls_setup.h"

#include <stdlib.h>

int tls_setup(struct net_tls **out, const struct options_tls *o, struct mf_error *e)
{
    struct net_tls_pair *pairs;
    int rv;

    *out = NULL;
    if (!o->set)
        return 0;
    pairs = calloc(o->ncerts + 1, sizeof *pairs);
    if (pairs == NULL)
        return mf_fail(e, MF_NOMEM, "TLS");
    for (size_t i = 0; i < o->ncerts; i++)
        pairs[i] = (struct net_tls_pair){o->certs[i].key, o->certs[i].value};
    rv = net_tls_new(out,
                     &(struct net_tls_options){
                         .pairs = pairs,
                         .npairs = o->ncerts,
                         .ca_file = o->ca_file,
                         .verify = o->verify || o->verify_and_map,
                         .insecure = o->insecure,
                         .min_version = o->min_version,
                         .ciphers = o->ciphers,
                         .suites = o->suites,
                         .curves = o->curves,
                     },
                     e);
    free(pairs);
    if (rv != 0 && o->file != NULL)
        return mf_wrap(e, "%s:%d:%d", o->file, o->line, o->col);
    return rv;
}

int tls_setup_pages(struct net_tls **out, const struct options_tls *o, struct mf_error *e)
{
    struct options_tls pages = *o; /* borrows its strings */

    pages.verify = pages.verify_and_map = false;
    return tls_setup(out, &pages, e);
}
