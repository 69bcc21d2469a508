/* damage.c: list of damaged places on disk, and whether they still matter.
 *
 * Damage found by recovery: the messages there are missing from the index, so it matters while
 * its file is part of the log.  Damage found later: the index knows the messages there.  A
 * census, some entries in each turn, lists these messages.  The place is settled when none of
 * them exists any more (removed, expired, purged).  Removals in a damaged place do not matter:
 * the checkpoint that is requested here holds their outcome. */
#include "store/store_impl.h"

#include "base/array.h"
#include "base/log.h"

#include <stdlib.h>

#define CENSUS_STEP 4096   /* index entries in a turn */
#define SEQS_MAX    65536u /* messages listed for one place; more: it is settled with its file */

/* --- one place -------------------------------------------------------------------------------- */

/* 0: it is no segment's. */
static uint64_t segment_of(const struct damage *d)
{
    char *end;
    uint64_t number = strtoull(d->pub.file, &end, 16);

    return strcmp(end, ".log") == 0 ? number : 0;
}

static bool overlaps_damage(const struct store *s, const struct damage *d, uint32_t id)
{
    uint64_t place = index_place(s->ix, id), at = place_offset(place);
    uint64_t end = at + record_message_size(view_entry_totals(s, id).bytes, 0, 0) + store_box(s);

    return place_segment(place) == (segment_of(d) & 0x3FFFF) &&
           at < d->pub.offset + d->pub.length && d->pub.offset < end;
}

static bool lies_in(const struct store *s, const struct damage *d, uint64_t seq)
{
    uint32_t id = index_find(s->ix, seq);

    return id != INDEX_NONE && view_accepted(s, id) && overlaps_damage(s, d, id);
}

static void add_seq(struct damage *d, uint64_t seq)
{
    if (d->seqs == SEQS_MAX)
        return;
    if (mf_array_reserve(&d->seq, &d->seq_cap, d->seqs + 1, sizeof *d->seq) != 0) {
        d->uncounted = true;
        return;
    }
    d->seq[d->seqs++] = seq;
    d->uncounted |= d->seqs == SEQS_MAX;
}

static bool out_of_log(const struct store *s, const struct damage *d)
{
    uint64_t number = segment_of(d);

    if (number == 0)
        return s->stats.checkpoints > 0; /* a newer one exists */
    return number < segs_first(s)->number;
}

static void settle_damage(const struct store *s, struct damage *d)
{
    size_t n = 0;

    if (d->settled)
        return;
    d->settled = out_of_log(s, d);
    if (d->settled || d->at_open || !d->counted || d->uncounted || d->pub.offset < SEGMENT_PAGE)
        return;
    for (size_t i = 0; i < d->seqs; i++)
        if (lies_in(s, d, d->seq[i]))
            d->seq[n++] = d->seq[i];
    d->seqs = n;
    d->settled = n == 0;
}

/* --- the census ------------------------------------------------------------------------------- */

static void look_at(struct store *s, uint32_t id)
{
    for (size_t i = 0; i < s->damage.census_upto; i++) {
        struct damage *d = &s->damage.at[i];
        if (!d->counted && !d->at_open && overlaps_damage(s, d, id))
            add_seq(d, index_seq(s->ix, id));
    }
}

static void report_damage(const struct store *s, const struct damage *d)
{
    if (d->seqs == 0)
        log_warn("store %s: %s at %llu: no existing message lies in the damage", s->name,
                 d->pub.file, (unsigned long long)d->pub.offset);
    else
        log_error("store %s: %s at %llu: %zu messages cannot be read, the first is sequence %llu",
                  s->name, d->pub.file, (unsigned long long)d->pub.offset, d->seqs,
                  (unsigned long long)d->seq[0]);
}

static void census_run(struct loop_defer *defer)
{
    struct store *s = mf_container(defer, struct store, damage.census);
    uint32_t id = index_next(s->ix, s->damage.census_seq);

    for (int i = 0; i < CENSUS_STEP && id != INDEX_NONE; i++) {
        look_at(s, id);
        s->damage.census_seq = index_seq(s->ix, id) + 1;
        id = index_next(s->ix, s->damage.census_seq);
    }
    if (id != INDEX_NONE) {
        loop_next(s->loop, &s->damage.census);
        return;
    }
    for (size_t i = 0; i < s->damage.census_upto; i++)
        if (!s->damage.at[i].counted && !s->damage.at[i].at_open) {
            s->damage.at[i].counted = true;
            report_damage(s, &s->damage.at[i]);
        }
    s->damage.census_upto = 0;
    damage_count(s); /* more may have been found meanwhile */
}

void damage_count(struct store *s)
{
    bool wanted = false;

    if (s->damage.census_upto > 0 || s->close.begun || s->loop == NULL)
        return;
    for (size_t i = 0; i < s->damage.count; i++)
        wanted |= !s->damage.at[i].counted && !s->damage.at[i].at_open;
    if (!wanted)
        return;
    s->damage.census_upto = s->damage.count;
    s->damage.census_seq = 0;
    s->damage.census.fn = census_run;
    loop_next(s->loop, &s->damage.census);
}

/* --- all of them ------------------------------------------------------------------------------ */

bool damage_add(struct store *s, const struct store_damage *d)
{
    for (size_t i = 0; i < s->damage.count; i++)
        if (s->damage.at[i].pub.offset == d->offset &&
            strcmp(s->damage.at[i].pub.file, d->file) == 0)
            return false;
    log_error("store %s: %s at %llu, %llu bytes: %s (sequences %llu to %llu); /healthz and "
              "`mayfly check` say what to do",
              s->name, d->file, (unsigned long long)d->offset, (unsigned long long)d->length,
              d->what, (unsigned long long)d->first_seq, (unsigned long long)d->last_seq);
    if (mf_array_reserve(&s->damage.at, &s->damage.cap, s->damage.count + 1,
                         sizeof *s->damage.at) != 0)
        return true; /* it is in the log at least */
    struct damage *x = &s->damage.at[s->damage.count++];
    *x = (struct damage){.pub = *d, .at_open = s->loop == NULL};
    if (!x->at_open && d->first_seq != 0 && d->first_seq == d->last_seq) {
        x->counted = true;
        add_seq(x, d->first_seq);
    }
    return true;
}

void damage_fini(struct store *s)
{
    for (size_t i = 0; i < s->damage.count; i++)
        free(s->damage.at[i].seq);
    free(s->damage.at);
}

size_t store_damage_count(const struct store *s)
{
    return s->damage.count;
}

const struct store_damage *store_damage(const struct store *s, size_t i)
{
    return &s->damage.at[i].pub;
}

size_t store_damage_open(struct store *s, uint64_t *messages, bool *found_at_start)
{
    size_t open = 0;

    *messages = 0;
    *found_at_start = false;
    for (size_t i = 0; i < s->damage.count; i++) {
        struct damage *d = &s->damage.at[i];
        settle_damage(s, d);
        if (d->settled)
            continue;
        open++;
        *found_at_start |= d->at_open;
        if (!d->at_open && d->counted)
            *messages += d->seqs;
        else if (d->pub.first_seq != 0)
            *messages += d->pub.last_seq - d->pub.first_seq + 1;
    }
    return open;
}

size_t store_damage_messages(struct store *s, uint64_t *dst, size_t max)
{
    size_t n = 0;

    for (size_t i = 0; i < s->damage.count; i++)
        for (size_t k = 0; k < s->damage.at[i].seqs && !s->damage.at[i].settled && n < max; k++)
            dst[n++] = s->damage.at[i].seq[k];
    return n;
}
