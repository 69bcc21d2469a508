/* check_rules.c: rules that valid records must keep.  A broken rule is a mistake of the writer,
 * not of the disk. */
#include "cli/check/check_impl.h"

#include <inttypes.h>

static void report_broken(struct run *r, const struct rec *rec, const char *what)
{
    (void)check_found(r->c, CHECK_RULE, r->c->seg[r->c->cur].number, rec->offset, rec->padded,
                      "%s: %s", check_rec_type_text(rec->type), what);
}

void check_rules_open_batch(struct run *r, const struct rec *rec)
{
    if (!r->quiet)
        report_broken(r, rec, "the batch before it is not complete, and does not count");
}

static void padding_rule(struct run *r, const struct rec *rec)
{
    for (uint32_t i = rec->length; i < rec->padded; i++)
        if (rec->p[i] != 0) {
            if (check_rec_data(rec, r->c->key) == REC_OK) /* else it is an erased message */
                report_broken(r, rec, "the padding is not zero");
            return;
        }
}

static void deadline_rule(struct run *r, const struct rec *rec, uint64_t seq, int64_t deadline)
{
    uint32_t version = r->c->seg[r->c->cur].version;

    if (rec->type == REC_DEADLINE && rec->flags != 0 && version != 0 && version < FLAGS_VERSION)
        report_broken(r, rec, "it has flags, which its segment's version does not know");
    if (deadline != 0 && (rec->flags & MSG_INFINITE) != 0)
        report_broken(r, rec, "it calls infinite what has a deadline");
    if (seq == 0)
        report_broken(r, rec, "sequence 0");
    if (deadline < 0)
        report_broken(r, rec, "the deadline is negative");
    else if (model_is_marked(r->m, deadline, seq))
        report_broken(r, rec, "the deadline is at or before the latest mark");
}

static void set_rule(struct run *r, const struct rec *rec)
{
    uint32_t count = rd32(rec->p + 16);
    uint64_t before = 0;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t seq = rd64(rec->p + 32 + (size_t)i * 8);

        if (seq <= before) {
            report_broken(r, rec, "the sequences are not ascending");
            return;
        }
        before = seq;
    }
}

static void commit_rules(struct run *r, const struct rec *rec)
{
    const struct model *m = r->m;
    struct check_pos synced = {rd64(rec->p + 24), rd64(rec->p + 32)};
    struct check_pos end = {r->c->seg[r->c->cur].number, rec->offset + rec->padded};
    int64_t t = (int64_t)rd64(rec->p + 56);
    uint64_t s = rd64(rec->p + 64), first = rd64(rec->p + 40);

    if (r->any_group && rd64(rec->p + 16) <= r->group)
        report_broken(r, rec, "its group does not follow the one before");
    if (pos_before(end, synced))
        report_broken(r, rec, "it calls synced what comes after it");
    if (first > end.segment || first < r->commit_first || first == 0)
        report_broken(r, rec, "its first segment is not possible");
    if (rd64(rec->p + 48) < m->last)
        report_broken(r, rec, "its last sequence is lower than the last one given");
    if (m->marked && (t < m->mark_t || (t == m->mark_t && s < m->mark_s)))
        report_broken(r, rec, "its mark goes back");
    if (r->any_group && (int64_t)rd64(rec->p + 72) < m->clock)
        report_broken(r, rec, "its clock goes back");
}

/* One record that counts, before it is applied. */
void check_rules_record(struct run *r, const struct rec *rec)
{
    const struct model *m = r->m;
    uint64_t a = rd64(rec->p + 16);

    padding_rule(r, rec);
    if ((rec->type == REC_COMMIT || rec->type == REC_SEAL) && rec->last)
        report_broken(r, rec, "it is marked as the end of a batch");
    switch (rec->type) {
    case REC_MESSAGE:
        if (a <= m->last)
            report_broken(r, rec, "its sequence is not greater than all before");
        deadline_rule(r, rec, a, (int64_t)rd64(rec->p + 32));
        break;
    case REC_COPY:
        if (r->last_known && a > m->last)
            report_broken(r, rec, "its sequence was never given");
        deadline_rule(r, rec, a, (int64_t)rd64(rec->p + 32));
        break;
    case REC_RANGE:
        if (a > rd64(rec->p + 24))
            report_broken(r, rec, "its first is greater than its last");
        break;
    case REC_SET:
        set_rule(r, rec);
        break;
    case REC_ERASE: {
        struct check_pos victim = {rd64(rec->p + 24), rd64(rec->p + 32)};
        struct check_pos at = {r->c->seg[r->c->cur].number, rec->offset};

        if (a == 0 || (r->last_known && a > m->last))
            report_broken(r, rec, "its sequence was never given");
        if (!pos_before(victim, at) || victim.offset < HEADER_PAGE || victim.offset % 8 != 0)
            report_broken(r, rec, "no message lies where it says");
        break;
    }
    case REC_DEADLINE:
        deadline_rule(r, rec, a, (int64_t)rd64(rec->p + 24));
        break;
    case REC_MARK:
        if (m->marked &&
            ((int64_t)a < m->mark_t || ((int64_t)a == m->mark_t && rd64(rec->p + 24) < m->mark_s)))
            report_broken(r, rec, "it goes back");
        break;
    case REC_COMMIT:
        commit_rules(r, rec);
        break;
    case REC_SEAL:
        if (a != r->c->seg[r->c->cur].number + 1)
            report_broken(r, rec, "it does not name the next segment");
        break;
    default:
        break;
    }
}
