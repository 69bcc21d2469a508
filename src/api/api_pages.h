/* api_pages.h: what the files about pages share. */
#ifndef API_PAGES_H
#define API_PAGES_H

#include "api_impl.h"

#include "mayfly/monitor.h"

/* jsz.c.  Accounts with JetStream, by name; the array is the caller's.  O(n log n). */
MF_MUSTCHECK int api_enabled_accounts(struct api *a, struct api_account ***out, size_t *n);

/* ttl_metrics.c: lifetimes, of these accounts; O(streams). */
void ttl_metrics_write(struct api *a, struct api_account *const *at, size_t n, struct mf_buf *out);
/* ttl_outlook.c: what ends within an hour [0] and a day [1], as of the last look; one that is older
 * than 15 s makes this call start another.  at: all accounts, by name.  The first 1000 streams. */
struct ttl_soon {
    char *account, *stream;
    int64_t created_ns;
    bool known; /* false: nothing is known of it, or it is gone */
    uint64_t msgs[2], bytes[2];
};
const struct ttl_soon *ttl_outlook(struct api *a, struct api_account *const *at, size_t n,
                                   size_t *count);
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
/* js_pages.c.  Of a stream, where neither it nor its account has a limit; negative: none. */
int64_t api_default_max_consumers(const struct options_jetstream *js);

#endif
