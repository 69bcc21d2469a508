/* check_store.c: verifies one store from its files: the order of the steps, and the list of
 * findings. */
#include "cli/check/check_impl.h"
#include "base/array.h"

#include "codec/checksum.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define MAX_NOTES 64

const char *check_kind_text(enum check_kind kind)
{
    static const char *const text[] = {
#define CHECK_KIND_TEXT(name, word) [name] = (word),
        CHECK_KINDS(CHECK_KIND_TEXT)
#undef CHECK_KIND_TEXT
    };
    return text[kind];
}

const char *check_cp_text(enum check_cp state)
{
    static const char *const text[] = {
        [CHECK_CP_NONE] = "none",       [CHECK_CP_DAMAGED] = "damaged",
        [CHECK_CP_OLD] = "old",         [CHECK_CP_MATCHES] = "matches",
        [CHECK_CP_DIFFERS] = "differs", [CHECK_CP_EXPLAINED] = "explained",
        [CHECK_CP_UNREAD] = "unread",
    };
    return text[state];
}

/* --- findings --------------------------------------------------------------------------------- */

struct check_damage *check_found(struct ctx *c, enum check_kind kind, uint64_t segment,
                                 uint64_t offset, uint64_t length, const char *fmt, ...)
{
    struct check_result *res = c->res;
    struct check_damage *d;
    va_list ap;

    res->damage_count++;
    if (res->damages == CHECK_MAX_DAMAGE)
        return NULL;
    if (mf_array_reserve(&res->damage, &res->damage_cap, res->damages + 1, sizeof *d) != 0) {
        c->nomem = true;
        return NULL;
    }
    d = &res->damage[res->damages++];
    *d =
        (struct check_damage){.kind = kind, .segment = segment, .offset = offset, .length = length};
    if (segment == 0)
        memcpy(d->file, CHECKPOINT_NAME, sizeof CHECKPOINT_NAME);
    else
        check_seg_name(d->file, segment);
    va_start(ap, fmt);
    (void)vsnprintf(d->what, sizeof d->what, fmt, ap);
    va_end(ap);
    return d;
}

void check_note(struct ctx *c, const char *fmt, ...)
{
    struct check_result *res = c->res;
    va_list ap;

    if (res->notes == MAX_NOTES)
        return;
    if (mf_array_reserve(&res->note, &res->note_cap, res->notes + 1, sizeof *res->note) != 0) {
        c->nomem = true;
        return;
    }
    va_start(ap, fmt);
    (void)vsnprintf(res->note[res->notes++], sizeof *res->note, fmt, ap);
    va_end(ap);
}

void check_result_fini(struct check_result *r)
{
    free(r->damage);
    free(r->segment);
    free(r->note);
    *r = (struct check_result){.damage = NULL};
}

/* --- reading ---------------------------------------------------------------------------------- */

static void forget_run(struct ctx *c, struct run *r)
{
    check_model_fini(r->m);
    c->res->damages = 0;
    c->res->damage_count = 0;
    c->res->records = 0;
    c->crypt.plain_records = 0;
    for (size_t i = 0; i < c->segs; i++)
        c->res->segment[i] =
            (struct check_segment){.number = c->seg[i].number, .bytes = c->seg[i].actual};
}

/* Where reading begins, once a reading from `from` has seen which commits count: at the greatest
 * first segment that one of them names, or, with none, the checkpoint. */
static uint64_t first_segment(const struct run *r, const struct cp *cp)
{
    if (r->seen_first != 0)
        return r->seen_first;
    return cp->header_ok && cp->first > r->first ? cp->first : r->first;
}

/* Reads the log from its lowest file on, and again where a commit that counts says that it begins
 * later, or one knows of more that was synced (check_log.c).  A commit that does not count says
 * nothing of where the log begins.  The bound is there because a file may change while it is read
 * without the lock. */
static int read_log(struct ctx *c, struct cp *cp, struct run *r, struct mf_error *e)
{
    uint64_t first = c->segs > 0 ? c->seg[0].number : 1;
    struct model *m = r->m;
    bool doubts = r->doubt.want;

    *r = (struct run){.c = c, .m = m, .cp = cp->header_ok ? cp : NULL};
    if (check_log_guess(r, e) != 0)
        return e->code;
    for (int attempt = 0; attempt < 6; attempt++) {
        struct run seen = *r;

        check_doubt_fini(&r->doubt);
        *r = (struct run){
            .c = c,
            .m = m,
            .cp = seen.cp,
            .synced = seen.seen_synced,
            .seen_synced = seen.seen_synced,
            .first = first,
            .doubt = {.want = doubts},
        };
        if (cp->header_ok && pos_before(r->synced, cp->pos))
            r->synced = cp->pos;
        cp->at_record = cp->chain_differs = false;
        /* The first record of all follows nothing; that of a later first segment, we cannot know.
         */
        r->chain_known = r->last_known = r->first == 1;
        forget_run(c, r);
        if (check_log_run(r, (struct check_pos){r->first, HEADER_PAGE}, e) != 0) {
            free(r->seen_erased);
            return e->code;
        }
        first = first_segment(r, cp);
        if (!check_log_erased(r) && first == r->first &&
            pos_equal(r->seen_synced, seen.seen_synced))
            break;
    }
    return 0;
}

/* No file has a store id: fine for a store that was just created, else everything is lost. */
static int no_identity(struct ctx *c, struct mf_error *e)
{
    for (size_t i = 0; i < c->segs; i++) {
        uint64_t at = 0;

        if (check_seg_begin(c, i, e) != 0 || check_seg_load(c, c->limit, e) != 0)
            return e->code;
        while (at < c->limit && c->buf[at] == 0)
            at++;
        if (at < c->limit)
            (void)check_found(c, CHECK_HEADER, c->seg[i].number, 0, HEADER_PAGE,
                              "neither copy of the header is valid: its records cannot be told");
    }
    return 0;
}

static bool any_identity(const struct ctx *c, const struct cp *cp)
{
    bool any = cp->header_ok;

    for (size_t i = 0; i < c->segs; i++)
        any |= c->seg[i].copy_ok[0] || c->seg[i].copy_ok[1];
    return any;
}

static void take_result(struct ctx *c, struct run *r, struct cp *cp)
{
    struct check_result *res = c->res;
    size_t leftovers = 0;

    res->first_segment = r->first;
    res->synced_segment = r->synced.segment;
    res->synced_offset = r->synced.offset;
    res->end_segment = r->end.segment;
    res->end_offset = r->end.offset;
    res->stop_segment = r->stop.segment;
    res->stop_offset = r->stop.offset;
    res->torn = r->ended && (r->follows || r->batch_open ||
                             (r->last_type != 0 && r->last_type != REC_COMMIT &&
                              !(r->last_type == REC_SEAL && r->tied)));
    res->last_sequence = r->m->last;
    /* Damage nothing follows: the checkpoint may know how far the sequences went. */
    for (size_t i = r->unresolved; i < res->damages; i++) {
        struct check_damage *d = &res->damage[i];
        uint64_t upto = cp->header_ok && cp->last_seq > r->m->last ? cp->last_seq : r->m->last;

        if (d->first_seq != 0 && d->first_seq <= upto)
            d->last_seq = upto;
        else
            d->first_seq = 0;
    }
    if (r->unfinished > 0)
        check_note(c,
                   "%" PRIu64 " erased messages still hold some of their bytes: the next start "
                   "overwrites them",
                   r->unfinished);
    for (size_t i = 0; i < c->segs; i++)
        leftovers += res->segment[i].leftover;
    if (leftovers > 0)
        check_note(c,
                   "%zu segments before %016" PRIx64 ".log were given up: the next start deletes "
                   "them",
                   leftovers, r->first);
    if (cp->header_ok) {
        res->cp_segment = cp->pos.segment;
        res->cp_offset = cp->pos.offset;
    }
}

static void report_checkpoint(struct ctx *c, const struct cp *cp)
{
    if (!c->has_checkpoint || cp->usable)
        return;
    c->res->checkpoint = CHECK_CP_DAMAGED;
    (void)check_found(c, CHECK_CHECKPOINT, 0, cp->why_offset, cp->why_length,
                      "%s; the server reads the whole log instead", cp->why);
}

int check_begin(struct ctx *c, struct cp *cp, struct run *r, struct mf_error *e)
{
    if (check_seg_scan(c, e) != 0)
        return e->code;
    if (c->segs == 0 && !c->has_checkpoint)
        return mf_fail(e, MF_NOTFOUND, "no store here: no *.log and no checkpoint");
    if (check_crypt_begin(c, e) != 0 || check_cp_open(c, cp, e) != 0)
        return e->code;
    check_seg_choose_id(c, cp->header_ok ? cp->id : NULL);
    if (any_identity(c, cp))
        check_crypt_compare(c);
    if (cp->header_ok && memcmp(cp->id, c->res->store_id, 16) != 0) {
        cp->header_ok = false;
        check_cp_bad(cp, 16, 16, "it belongs to another store");
    }
    c->res->segment = calloc(c->segs + 1, sizeof *c->res->segment);
    if (c->res->segment == NULL)
        return mf_fail(e, MF_NOMEM, "list the segments");
    c->res->segments = c->segs;
    if (read_log(c, cp, r, e) != 0)
        return e->code;
    take_result(c, r, cp);
    c->res->log_damages = c->res->damages;
    check_seg_report(c, r->synced, r->first);
    if (!any_identity(c, cp) && no_identity(c, e) != 0)
        return e->code;
    return 0;
}

static int verify_store(struct ctx *c, struct model *m, struct summary *log, struct mf_error *e)
{
    struct cp cp = {.usable = false};
    struct run r = {.m = m};
    int rc = check_begin(c, &cp, &r, e);

    check_doubt_fini(&r.doubt);
    if (rc != 0)
        return rc;
    if (check_live_count(c, m, cp.usable, log) != 0)
        return mf_fail(e, MF_NOMEM, "count what lives");
    check_model_fini(m);
    if (cp.usable && check_compare_checkpoint(c, &cp, &r, log, e) != 0)
        return e->code;
    report_checkpoint(c, &cp);
    check_crypt_report(c);
    return 0;
}

void check_ctx_fini(struct ctx *c)
{
    check_crypt_end(c);
    free(c->seg);
    free(c->erased);
    free(c->buf);
}

int check_files(const struct check_source *src, const struct check_opts *o,
                struct check_result *out, struct mf_error *e)
{
    struct mf_error own;
    struct ctx c = {.src = src, .o = o, .res = out};
    struct summary log = {.line = NULL};
    struct model m;
    int rc;

    if (e == NULL)
        e = &own;
    *out = (struct check_result){.damage = NULL};
    check_model_init(&m);
    rc = verify_store(&c, &m, &log, e);
    if (rc == 0 && c.nomem)
        rc = mf_fail(e, MF_NOMEM, "list the findings");
    check_model_fini(&m);
    check_summary_fini(&log);
    check_ctx_fini(&c);
    if (rc != 0)
        check_result_fini(out);
    return rc;
}
