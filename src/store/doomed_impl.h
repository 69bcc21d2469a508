/* doomed.h: messages whose removal is on its way to disk: every removal goes through here. Included
 * by store_impl.h. */
#ifndef STORE_DOOMED_H
#define STORE_DOOMED_H

struct big {
    struct table_node node;
    struct big *gone; /* big_purge() */
    uint64_t seq, len;
};
MF_MUSTCHECK int big_add(struct store *s, uint64_t seq, uint64_t len); /* if it is one */
void big_del(struct store *s, uint64_t seq, uint64_t len);
void big_fini(struct store *s);
struct totals entry_totals_in(const struct store *s, const struct index *ix, uint32_t id);
uint64_t entry_bytes_in(const struct store *s, const struct index *ix, uint32_t id);
static inline struct totals entry_totals(const struct store *s, uint32_t id)
{
    return entry_totals_in(s, s->ix, id);
}
void big_purge(struct store *s, uint64_t upto);      /* O(long messages) */
void doomed_reset(struct store *s);                  /* nothing in the index is doomed */
void doom(struct store *s, uint32_t id);             /* once for each */
void hide(struct store *s, uint32_t id);             /* dooms if need be; a committed one */
bool key_is_new(const struct store *s, uint32_t id); /* does none of its key count before it? */
void key_shown(struct store *s, uint32_t id);        /* a new message: its key counts again */
/* watch.c */
void watch_tell(struct store *s, const struct index *ix, uint32_t id);
void entry_gone(struct store *s, uint32_t id);
uint32_t doomed_of(const struct store *s, uint32_t key);
void doomed_grew(struct store *s, uint32_t id); /* a message was added to its key */
/* Takes what expired out of the index, some of it each turn: reads do not see it anyway. */
void graves_dig(struct store *s);

#endif
