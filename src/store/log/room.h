/* room.h: the files of the log, and the place of the next record.  A part of store_impl.h. */
#ifndef STORE_ROOM_H
#define STORE_ROOM_H

#include "store/log/image.h"
#include "store/log/record.h"

struct segment;
struct store;

/* segments.c */
struct segment *segs_get(const struct store *s, uint64_t number); /* NULL: no such segment */
struct segment *segs_of(const struct store *s, uint64_t place);
struct segment *segs_first(const struct store *s);
struct segment *segs_current(const struct store *s); /* the last: appends go here */
MF_MUSTCHECK int segs_prepare(struct store *s);      /* memory for one segs_add() */
struct segment *segs_add(struct store *s, uint64_t number, uint64_t size);
void segs_drop_first(struct store *s);
void segs_fini(struct store *s);
uint64_t segs_next_size(const struct store *s, size_t need);
/* The next size to try where the disk has no space for `size`; 0: least was tried.  Whole pages if
 * least is. */
uint64_t segs_smaller(uint64_t size, uint64_t least);
uint64_t segs_modest(const struct store *s, uint64_t size); /* less where little space is free */
int64_t segs_quick_until(const struct store *s); /* mono ns; 0: the log is not written fast */
MF_MUSTCHECK int spare_init(struct store *s);
void spare_trim(struct store *s); /* deletes a spare that is much too large */
void spare_kick(struct store *s); /* prepares a spare if it will be needed soon */
/* Space may be free: tries at once instead of waiting for the timer. */
void spare_again(struct store *s);
void spare_offer(struct store *s, struct store_file *f, uint64_t size); /* a recycled one */
void spare_lacks_space(struct store *s,
                       const struct mf_error *e); /* from now on messages are refused */
void spare_name(uint32_t id, char dst[32]);
/* Makes a file of this name with its space allocated; on failure no file exists.  Any thread. */
MF_MUSTCHECK int segment_file(struct store_io *io, const char *name, uint64_t size,
                              struct store_file **out, struct mf_error *e);
MF_MUSTCHECK int segment_space(struct store_io *io, struct store_file *f, uint64_t size,
                               struct mf_error *e);
void spare_fini(struct store *s);

/* room.c */
/* True if there is room; on a disk that is not full always. */
bool room_left(const struct store *s, size_t need, bool frees);
/* True if room_place() would succeed.  On a disk that is not known to be full, a file may be made
 * for that. */
bool room_for(struct store *s, size_t n, bool frees);
MF_MUSTCHECK int room_prepare(struct store *s);
/* Room for n bytes of whole records in the log, in one segment: where to encode them.  NULL: *code.
 * Nothing else may be placed before room_used(). */
uint8_t *room_place(struct store *s, size_t n, bool frees, struct record_pos *at, int *code);
void room_used(struct store *s, size_t n);
bool room_roll(struct store *s); /* the log continues in a new segment; false: not now */
void room_fini(struct store *s);

#endif
