/* store_watch.h: notes which writes of a stream share a batch of the store.  Included once, by the
 * test; linked with
 * -Wl,--wrap=store_begin,--wrap=store_end,--wrap=store_append,--wrap=store_remove.
 */
#ifndef TEST_STORE_WATCH_H
#define TEST_STORE_WATCH_H

#include "store/store.h"

/* Since watch_reset(): batches that were ended, writes in the last of them, and writes in none. */
static struct {
    bool open;
    unsigned batches, inside, loose;
} watch;

static inline void watch_reset(void)
{
    watch.batches = watch.inside = watch.loose = 0;
}
static inline int watch_write(int rc)
{
    watch.inside += rc == 0 && watch.open;
    watch.loose += rc == 0 && !watch.open;
    return rc;
}

/* NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp): the linker's names */
void __real_store_begin(struct store *s, bool frees);
int __real_store_end(struct store *s, struct store_wait *w);
int __real_store_append(struct store *s, struct store_append *a);
int __real_store_remove(struct store *s, uint64_t seq, struct store_wait *w);
void __wrap_store_begin(struct store *s, bool frees);
int __wrap_store_end(struct store *s, struct store_wait *w);
int __wrap_store_append(struct store *s, struct store_append *a);
int __wrap_store_remove(struct store *s, uint64_t seq, struct store_wait *w);

void __wrap_store_begin(struct store *s, bool frees)
{
    watch.open = true;
    watch.inside = 0;
    __real_store_begin(s, frees);
}
int __wrap_store_end(struct store *s, struct store_wait *w)
{
    watch.open = false;
    watch.batches++;
    return __real_store_end(s, w);
}
int __wrap_store_append(struct store *s, struct store_append *a)
{
    return watch_write(__real_store_append(s, a));
}
int __wrap_store_remove(struct store *s, uint64_t seq, struct store_wait *w)
{
    return watch_write(__real_store_remove(s, seq, w));
}
/* NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp) */

#endif
