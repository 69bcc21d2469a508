/* tls_setup.h: makes a TLS context of a tls block of the configuration. */
#ifndef MAYFLY_SESSION_TLS_SETUP_H
#define MAYFLY_SESSION_TLS_SETUP_H

#include "config/options.h"
#include "net/net.h"

/* A block that is not set gives NULL. */
MF_MUSTCHECK int tls_setup(struct net_tls **out, const struct options_tls *o, struct mf_error *e);
/* The same for pages: their readers (Prometheus, a browser) need no certificate. */
MF_MUSTCHECK int tls_setup_pages(struct net_tls **out, const struct options_tls *o,
                                 struct mf_error *e);

#endif
