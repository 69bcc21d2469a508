/* excuse.c: see excuse.h. */
#include "excuse.h"

#include "support/must.h"

#include "store/log/record.h"

struct disk disk;
struct disk_span *spans;
size_t spans_count;
uint8_t *excused;
bool blobs_excused, nothing_after;

static uint64_t last_seq;

void excuse_init(uint64_t last)
{
    last_seq = last;
    excused = must_alloc(NULL, last + 2, 1);
}

void excuse_fini(void)
{
    free(excused);
}

bool excuse_touches(const struct change *c, size_t file, uint64_t from, uint64_t to)
{
    for (size_t i = 0; i < c->stretches; i++)
        if (c->at[i].file == file && c->at[i].from < to && from < c->at[i].to)
            return true;
    return false;
}

static void excuse(uint64_t first, uint64_t last)
{
    for (uint64_t s = first; s <= last && s <= last_seq; s++)
        excused[s] = 1;
}

static void excuse_span(const struct disk_span *s)
{
    blobs_excused |= s->type == RECORD_BLOB;
    if (s->first != 0)
        excuse(s->first, s->last);
    for (uint32_t k = 0; k < s->count; k++)
        excuse(s->set[k], s->set[k]);
}

static bool is_touched(const struct change *c, const struct disk_span *s)
{
    return excuse_touches(c, s->file, s->offset, s->offset + s->size);
}

/* Is the damage the end of the log?  It is, if nothing that is left says that the place was synced:
 * no checkpoint and no commit.  Then nothing from there on counts. */
static bool end_moves(const struct change *c, const struct disk_span *first)
{
    const struct disk_file *cp = disk_find(&disk, "checkpoint");

    if (cp != NULL && !excuse_touches(c, (size_t)(cp - disk.file), 0, UINT64_MAX))
        return false;
    for (size_t i = 0; i < spans_count; i++) {
        const struct disk_span *s = &spans[i];
        if (s->type == RECORD_COMMIT && !is_touched(c, s) &&
            (s->synced_segment > first->segment ||
             (s->synced_segment == first->segment && s->synced_offset > first->offset)))
            return false;
    }
    return true;
}

/* The record is gone, or nothing is left that calls it synced. */
static bool erase_lost(const struct change *c, uint64_t seq)
{
    for (size_t i = 0; i < spans_count; i++)
        if (spans[i].type == RECORD_ERASE && spans[i].first == seq &&
            (is_touched(c, &spans[i]) || end_moves(c, &spans[i])))
            return true;
    return false;
}

/* Its bytes, or the record that says why its data is gone. */
static bool is_hit(const struct change *c, const struct disk_span *s)
{
    return is_touched(c, s) ||
           ((s->type == RECORD_MESSAGE || s->type == RECORD_COPY) && erase_lost(c, s->first));
}

void excuse_find(const struct change *c)
{
    const struct disk_span *first = NULL; /* of the end; spans are in the order of the log */

    memset(excused, 0, last_seq + 2);
    blobs_excused = nothing_after = false;
    /* Of two places the earlier one may be known to be synced, and the later one not. */
    for (size_t i = 0; i < spans_count; i++)
        if (is_hit(c, &spans[i])) {
            excuse_span(&spans[i]);
            if (first == NULL && end_moves(c, &spans[i]))
                first = &spans[i];
        }
    if (first == NULL)
        return;
    nothing_after = true;
    for (size_t i = 0; i < spans_count; i++) {
        const struct disk_span *s = &spans[i];
        if (s->batch != first->batch && s < first)
            continue;
        excuse_span(s); /* the beginning of a batch that lost its end is lost, too */
        nothing_after &= s <= first || is_touched(c, s);
    }
}

/* Does this stretch of a file cover a changed byte? */
bool excuse_covers(const struct change *c, const char *file, uint64_t offset, uint64_t length)
{
    for (size_t i = 0; i < c->stretches; i++)
        if (strcmp(disk.file[c->at[i].file].name, file) == 0 && offset < c->at[i].to &&
            c->at[i].from < offset + length)
            return true;
    return false;
}

bool excuse_erased(const struct change *c, const char *file, uint64_t offset, uint64_t length)
{
    for (size_t i = 0; i < spans_count; i++) {
        const struct disk_span *s = &spans[i];
        if ((s->type == RECORD_MESSAGE || s->type == RECORD_COPY) && s->offset < offset + length &&
            offset < s->offset + s->size && strcmp(disk.file[s->file].name, file) == 0 &&
            erase_lost(c, s->first))
            return true;
    }
    return false;
}
