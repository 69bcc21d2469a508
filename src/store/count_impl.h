/* count_impl.h: counts of messages by pattern, at once (count.c) and kept for readers (tally.c).
 * Included by store_impl.h. */
#ifndef STORE_COUNT_H
#define STORE_COUNT_H

/* count.c: sums of what is not hidden; false: more than `budget` nodes (or no memory). */
bool count_sums(const struct index *ix, struct mf_slice pattern, size_t budget,
                struct keys_sum *sum);
/* True if every message matches.  False also where that is not known in a few steps. */
bool count_covers(const struct index *ix, struct mf_slice pattern);
/* Counts as store_count() does.  COUNT_LONG: not counted, that would be many steps.
 * COUNT_FROM_ENDS: counted, but a range further inside may be long. */
enum count_way { COUNT_CHEAP, COUNT_FROM_ENDS, COUNT_LONG };
enum count_way count_briefly(struct store *s, struct mf_slice pattern, uint64_t first,
                             uint64_t last, uint64_t *out);
/* The greatest sequence of those that match and count; 0: none.  O(keys that match) at worst. */
uint64_t count_newest(const struct store *s, const struct index *ix, struct mf_slice pattern,
                      bool (*counts)(const struct store *s, uint32_t id));

/* tally.c: called for every message that watch_notify() reports; O(tallies). */
void tally_gone(struct store *s, const struct index *ix, uint32_t id);
void tally_drop_all(struct store *s);

#endif
