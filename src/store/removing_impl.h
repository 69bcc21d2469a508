/* removing_impl.h: messages whose removal is accepted and not yet committed; hidden messages;
 * lengths.  Every removal passes through here.  Included by store_impl.h. */
#ifndef STORE_REMOVING_H
#define STORE_REMOVING_H

/* Lengths of messages that are too long for their place. */
struct length {
    struct table_node node;
    struct length *gone; /* lengths_purge() */
    uint64_t seq, len;
};
MF_MUSTCHECK int lengths_add(struct store *s, uint64_t seq, uint64_t len); /* short ones: nothing */
void lengths_del(struct store *s, uint64_t seq, uint64_t len);
void lengths_purge(struct store *s, uint64_t upto); /* O(long messages) */
void lengths_fini(struct store *s);

/* The share of one entry in all counts. */
struct totals view_entry_totals_in(const struct store *s, const struct index *ix, uint32_t id);
uint64_t view_entry_bytes_in(const struct store *s, const struct index *ix, uint32_t id);
static inline struct totals view_entry_totals(const struct store *s, uint32_t id)
{
    return view_entry_totals_in(s, s->ix, id);
}

/* A removal was accepted; once for each message. */
void removing_add(struct store *s, uint32_t id);
/* The removal is committed: the entry leaves the index. */
void removing_done(struct store *s, uint32_t id);
/* Number of messages of a key that are in removal. */
uint32_t removing_of_key(const struct store *s, uint32_t key);
/* A message was added to its key. */
void removing_key_grew(struct store *s, uint32_t id);
/* No entry of the index is in removal any more. */
void removing_reset(struct store *s);

/* Hides a committed message; it is in removal from then on, too. */
void view_hide(struct store *s, uint32_t id);
/* Frees hidden entries of the index, some in each turn: readers do not see them anyway. */
void hidden_free(struct store *s);
/* True if no earlier message of its key counts for readers. */
bool view_key_is_new(const struct store *s, uint32_t id);
/* A new message was added: its key may count again. */
void view_key_shown(struct store *s, uint32_t id);
/* watch.c: calls gone() of store_watch(). */
void watch_notify(struct store *s, const struct index *ix, uint32_t id);

#endif
