/* api_pages.h: what the files about pages share. */
#ifndef API_PAGES_H
#define API_PAGES_H

#include "api_impl.h"

#include "mayfly/monitor.h"

/* jsz.c.  Accounts with JetStream, by name; the array is the caller's.  O(n log n). */
MF_MUSTCHECK int api_enabled_accounts(struct api *a, struct api_account ***out, size_t *n);

/* ttl_metrics.c: lifetimes, of these accounts; O(streams). */
void ttl_metrics_write(struct api *a, struct api_account *const *at, size_t n, struct mf_buf *out);
/* ttl_outlook.c: what ends soon, as of at most 15 s ago while somebody scrapes. */
void ttl_outlook_write(struct api *a, struct api_account *const *at, size_t n, struct mf_buf *out);
void ttl_outlook_free(struct api *a); /* before streams are closed */
/* ttl_page.c: adds /ttlz. */
void ttl_pages(struct api *a, struct monitor *m);

/* api.c.  NULL: no such account.  O(accounts). */
struct api_account *api_account_of(struct api *a, const struct account *acc);
/* Members memory ... api of the open object. */
void api_stats_write(struct api *a, struct jsonw *w);
/* "config" and "limits".  paths: where it stores, too. */
void api_config_write(struct api *a, struct jsonw *w, bool paths);
void api_limits_write(struct api *a, struct jsonw *w);

#endif
