/* removing_impl.h: messages whose removal is accepted and not yet committed; hidden messages;
 * lengths.  Every removal passes through here.  Included by store_impl.h. */
#ifndef STORE_REMOVING_H
#define STORE_REMOVING_H

struct length {
    struct table_node node;
    struct length *gone; /* lengths_purge() */
    uint64_t seq, len;
};
MF_MUSTCHECK int lengths_add(struct store *s, uint64_t seq, uint64_t len); /* if it is one */
void lengths_del(struct store *s, uint64_t seq, uint64_t len);
void lengths_fini(struct store *s);
struct totals view_entry_totals_in(const struct store *s, const struct index *ix, uint32_t id);
uint64_t view_entry_bytes_in(const struct store *s, const struct index *ix, uint32_t id);
static inline struct totals view_entry_totals(const struct store *s, uint32_t id)
{
    return view_entry_totals_in(s, s->ix, id);
}
void lengths_purge(struct store *s, uint64_t upto); /* O(long messages) */
void removing_reset(struct store *s);               /* nothing in the index is removing */
void removing_add(struct store *s, uint32_t id);    /* once for each */
void view_hide(struct store *s, uint32_t id);       /* dooms if need be; a committed one */
bool view_key_is_new(const struct store *s,
                     uint32_t id);                 /* does none of its key count before it? */
void view_key_shown(struct store *s, uint32_t id); /* a new message: its key counts again */
/* watch.c */
void watch_notify(struct store *s, const struct index *ix, uint32_t id);
void removing_done(struct store *s, uint32_t id);
uint32_t removing_of_key(const struct store *s, uint32_t key);
void removing_key_grew(struct store *s, uint32_t id); /* a message was added to its key */
/* Takes what expired out of the index, some of it each turn: reads do not see it anyway. */
void hidden_free(struct store *s);

#endif
