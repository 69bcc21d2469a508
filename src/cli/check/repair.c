/* repair.c: decides which messages and blobs of a store the copy gets.  docs/disk-format.md,
 * "Repair". */
#include "cli/check/repair.h"
#include "base/array.h"

#include "base/rand.h"

#include "cli/check/repair_log.h"

#include <stdio.h>
#include <stdlib.h>

#define CONFIG_BLOB MF_LIT("config")
/* Owner flags that the index knows, the bits of lives among them; the others are those of the
 * record. */
#define LOW_FLAGS (3u | 24u)

struct repair {
    struct ctx c;
    const struct repair_opts *o;
    struct repair_result *out;
    struct repair_log log;
    struct run whole;       /* what all of the log says */
    struct run behind;      /* what the checkpoint and the log behind it say */
    struct model m[2];      /* theirs */
    struct run *truth;      /* one of the two */
    struct check_pos since; /* damage before this position hides nothing from `truth` */
    struct mf_buf buf;      /* the message that is being copied */
    int rc;                 /* of the blobs so far */
    struct mf_error *e;
};

/* --- ranges ----------------------------------------------------------------------------------- */

static void add_range(struct repair_ranges *r, uint64_t first, uint64_t last)
{
    r->sequences += last - first + 1;
    if (r->count > 0 && r->at[r->count - 1].last + 1 == first) {
        r->at[r->count - 1].last = last;
        return;
    }
    if (r->count == REPAIR_MAX_RANGES)
        return;
    if (mf_array_reserve(&r->at, &r->cap, r->count + 1, sizeof *r->at) != 0) {
        r->failed = true;
        return;
    }
    r->at[r->count++] = (struct repair_range){first, last};
}

/* --- live messages -----------------------------------------------------------------------------
 */

/* The log is the truth while it is whole.  Damage before the checkpoint's position hides nothing:
 * the checkpoint was written by a server that had read what is damaged now. */
static int choose_truth(struct repair *x, struct cp *cp)
{
    struct check_result *res = x->c.res;
    bool old = false;

    x->truth = &x->whole;
    if (res->log_damages == 0 || !cp->usable)
        return 0;
    if (check_compare_replay(&x->c, cp, &x->whole, &x->behind, &old, x->e) != 0)
        return x->e->code;
    if (!cp->usable || old)
        return 0;
    x->truth = &x->behind;
    x->since = cp->pos;
    x->out->from_checkpoint = true;
    return 0;
}

#define LOOK_MAX (UINT64_C(1) << 20) /* a longer range is listed as it is */

/* Adds the sequences of [first, last] that `truth` does not have: a copy record may have followed.
 */
static void add_unseen(struct repair *x, uint64_t first, uint64_t last)
{
    uint64_t from = first;

    for (uint64_t seq = first; last - first < LOOK_MAX && seq <= last; seq++)
        if (check_model_has(x->truth->m, seq)) {
            if (from < seq)
                add_range(&x->out->unseen, from, seq - 1);
            from = seq + 1;
        }
    if (from <= last)
        add_range(&x->out->unseen, from, last);
}

/* Sequences that were assigned inside damage behind `since`. */
static void list_unseen(struct repair *x)
{
    const struct check_result *res = x->c.res;

    for (size_t i = 0; i < res->log_damages && x->truth->doubt.about.segment != 0; i++) {
        const struct check_damage *d = &res->damage[i];
        struct check_pos end = {d->segment, d->offset + d->length};

        if (d->first_seq != 0 && !d->alone &&
            (d->kind == CHECK_MISSING || pos_before(x->since, end)))
            add_unseen(x, d->first_seq, d->last_seq);
    }
    /* A copy in the damage may be all that was left of a message in a segment given up. */
    if (x->truth->doubt.about.segment != 0 && x->whole.first > 1)
        x->out->moved_upto =
            x->whole.doubt.first_seq != 0 ? x->whole.doubt.first_seq - 1 : x->truth->m->last;
}

/* --- messages --------------------------------------------------------------------------------- */

static int read_at(struct repair *x, const struct seg *s, uint64_t off, size_t n, size_t *got)
{
    const struct check_source *src = x->c.src;
    char name[24];
    uint8_t *p;

    mf_buf_clear(&x->buf);
    p = mf_buf_reserve(&x->buf, n);
    if (p == NULL)
        return mf_fail(x->e, MF_NOMEM, "read a message");
    check_seg_name(name, s->number);
    return src->pread(src->arg, name, p, n, off, got, x->e);
}

/* *ok: the message's record is in order, and *rec is it. */
static int read_message(struct repair *x, uint64_t seq, const struct entry *en, struct rec *rec,
                        bool *ok)
{
    const struct seg *s = &x->c.seg[en->segment];
    uint64_t off = (uint64_t)en->off8 * 8, limit = s->size < s->actual ? s->size : s->actual;
    uint64_t key = check_rec_key(x->c.res->store_id, s->number), room, n;
    size_t got = 0;

    *ok = false;
    if (off + 56 > limit)
        return 0;
    room = (limit - off) / 8 * 8;
    n = (56 + (x->c.crypt.there ? SEAL_ROOM : 0) + (uint64_t)en->length + 7) / 8 * 8;
    n = n < MAX_FIXED ? MAX_FIXED : n;
    n = n < room ? n : room;
    if (read_at(x, s, off, (size_t)n, &got) != 0)
        return x->e->code;
    if (got < n || check_rec_fixed(x->buf.ptr, room, off, key, rec) != REC_OK)
        return 0;
    if (rec->padded > n) {
        if (read_at(x, s, off, rec->padded, &got) != 0)
            return x->e->code;
        if (got < rec->padded)
            return 0;
        rec->p = x->buf.ptr;
    }
    *ok = check_rec_data(rec, key) == REC_OK &&
          (rec->type == REC_MESSAGE || rec->type == REC_COPY) && rd64(rec->p + 16) == seq;
    return 0;
}

/* The mark expired it, by the deadline that can be read.  That is certain if a mark from before
 * the damage did. */
static void judge_expired(struct repair *x, uint64_t seq, const struct entry *en)
{
    if (check_doubt_covers(&x->truth->doubt, entry_pos(&x->c, en), seq) &&
        check_doubt_deadline(x->truth, seq, en))
        add_range(&x->out->expired, seq, seq);
}

static int copy_message(void *arg, uint64_t seq, const struct entry *en)
{
    struct repair *x = arg;
    struct repair_result *out = x->out;
    struct rec rec;
    bool ok = false;
    uint16_t flags;

    if (model_is_marked(x->truth->m, en->deadline, seq)) {
        judge_expired(x, seq, en);
        return 0;
    }
    if (en->segment != NO_SEGMENT && read_message(x, seq, en, &rec, &ok) != 0)
        return x->e->code;
    if (!ok) {
        add_range(&out->lost, seq, seq);
        return 0;
    }
    if (check_doubt_covers(&x->truth->doubt, entry_pos(&x->c, en), seq)) {
        add_range(&out->unknown, seq, seq);
        if (!x->o->keep_unknown)
            return 0;
    }
    flags = (uint16_t)((rec.flags & ~LOW_FLAGS) | (en->flags & LOW_FLAGS));
    if (repair_log_message(&x->log, &rec, en->deadline, flags, x->e) != 0)
        return x->e->code;
    out->kept++;
    out->kept_bytes += check_rec_length(&rec);
    return 0;
}

/* --- blobs ------------------------------------------------------------------------------------ */

static bool blob_unsure(const struct repair *x, const struct blob *b)
{
    struct check_pos at = x->since; /* of the checkpoint */

    if (x->truth->doubt.blobs.segment == 0)
        return false;
    if (b->segment != NO_SEGMENT)
        at = (struct check_pos){x->c.seg[b->segment].number, (uint64_t)b->off8 * 8};
    return !pos_before(x->truth->doubt.blobs, at);
}

/* "c/<id>": u8 version, i64 created, u16 length of the name, name (src/consumer/state_blob_impl.h).
 */
static void note_consumer(struct repair *x, const struct blob *b)
{
    struct repair_result *out = x->out;
    struct repair_consumer *c;
    char state[256];
    int n =
        snprintf(state, sizeof state, "cs/%.*s", (int)b->name_len - 2, (const char *)b->name + 2);
    const struct blob *s = check_model_find_blob(x->truth->m, mf_slice(state, (size_t)n));
    size_t len = b->body_len >= 11 ? rd16(b->body + 9) : 0;

    c = realloc(out->consumer, (out->consumers + 1) * sizeof *c);
    if (c == NULL) {
        x->rc = mf_fail(x->e, MF_NOMEM, "list the consumers");
        return;
    }
    out->consumer = c;
    c += out->consumers++;
    if (len > b->body_len - (len > 0 ? 11u : 0u))
        len = 0;
    (void)snprintf(c->name, sizeof c->name, "%.*s", len > 0 ? (int)len : (int)b->name_len,
                   len > 0 ? (const char *)b->body + 11 : (const char *)b->name);
    c->unsure = blob_unsure(x, b) || s == NULL || blob_unsure(x, s);
}

static void copy_blob(void *arg, const struct blob *b)
{
    struct repair *x = arg;
    struct mf_slice name = mf_slice(b->name, b->name_len);
    bool config = mf_eq(name, CONFIG_BLOB);

    if (x->rc != 0)
        return;
    if (config) {
        x->out->config_missing = false;
        x->out->config_unsure = blob_unsure(x, b);
    }
    if (config && x->o->config.len > 0)
        return; /* the user's takes its place */
    if (mf_starts(name, "c/"))
        note_consumer(x, b);
    x->out->blobs++;
    if (x->rc == 0)
        x->rc = repair_log_blob(&x->log, name, mf_slice(b->body, b->body_len), x->e);
}

static int copy_blobs(struct repair *x)
{
    struct repair_result *out = x->out;

    out->config_missing = true;
    out->blobs_hidden = x->truth->doubt.blobs.segment != 0;
    check_model_each_blob(x->truth->m, copy_blob, x);
    if (x->rc == 0 && x->o->config.len > 0) {
        out->config_given = true;
        out->config_missing = out->config_unsure = false;
        out->blobs++;
        x->rc = repair_log_blob(&x->log, CONFIG_BLOB, x->o->config, x->e);
    }
    return x->rc;
}

/* --- all of it -------------------------------------------------------------------------------- */

static int write_copy(struct repair *x)
{
    struct model *m = x->truth->m;
    struct repair_result *out = x->out;
    uint64_t last = m->last + x->truth->doubt.unseen;
    int rc;

    check_doubt_settle(&x->truth->doubt);
    if (x->c.crypt.there) /* its key file names the store it belongs to */
        memcpy(x->log.id, check_crypt_owner(&x->c.crypt), sizeof x->log.id);
    else
        rand_bytes(x->log.id, sizeof x->log.id);
    x->log.now_ns = x->o->now_ns;
    x->log.mark_t = m->mark_t;
    x->log.mark_s = m->mark_s;
    x->log.clock = x->whole.m->clock > m->clock ? x->whole.m->clock : m->clock;
    if (repair_log_begin(&x->log, x->e) != 0)
        return x->e->code;
    m->show_marked = true;
    rc = check_model_each(m, copy_message, x);
    if (rc == MF_NOMEM)
        return mf_fail(x->e, MF_NOMEM, "copy the messages");
    if (rc != 0 || (rc = copy_blobs(x)) != 0 || (rc = repair_log_end(&x->log, last, x->e)) != 0)
        return rc;
    memcpy(out->store_id, x->log.id, sizeof out->store_id);
    out->last_sequence = last;
    out->segments = x->log.segments;
    out->bytes = x->log.bytes;
    out->kept_unknown = x->o->keep_unknown;
    return 0;
}

/* The key of the copy is that of the source; both copies in the file are good then. */
static int put_key(struct repair *x)
{
    const struct crypt *k = &x->c.crypt;
    uint8_t file[KEY_BYTES];

    check_crypt_copies(k, file);
    return x->log.to->put(x->log.to->arg, KEY_NAME, file, sizeof file, x->e);
}

static int repair_store(struct repair *x)
{
    struct cp cp;
    int rc;

    for (int i = 0; i < 2; i++) {
        check_model_init(&x->m[i]);
        x->m[i].keep_bodies = true;
    }
    x->whole = (struct run){.m = &x->m[0], .doubt = {.want = true}};
    x->behind = (struct run){.m = &x->m[1], .doubt = {.want = true}};
    if (check_begin(&x->c, &cp, &x->whole, x->e) != 0)
        return x->e->code;
    if (x->c.crypt.there && x->c.crypt.good == 0)
        return mf_fail(x->e, MF_CORRUPT,
                       "both copies of the key in " KEY_NAME " are damaged: put it back from a "
                       "backup, nothing can be read without it");
    if (x->c.crypt.foreign)
        return mf_fail(x->e, MF_DENIED,
                       KEY_NAME " belongs to another stream: put the file of this one back from "
                                "a backup");
    if (x->c.crypt.unread)
        return x->c.crypt.there
                   ? mf_fail(x->e, MF_DENIED,
                             "it is encrypted: give the server's key with "
                             "--key-file FILE")
                   : mf_fail(x->e, MF_NOTFOUND, "it is encrypted, and " KEY_NAME " is missing");
    if (choose_truth(x, &cp) != 0)
        return x->e->code;
    x->log.seal = x->c.crypt.seal;
    if (x->c.crypt.seal != NULL && put_key(x) != 0)
        return x->e->code;
    if (cp.header_ok && cp.last_seq > x->truth->m->last)
        check_model_saw(x->truth->m, cp.last_seq);
    list_unseen(x);
    rc = write_copy(x);
    if (rc == 0 && (x->c.nomem || x->out->lost.failed || x->out->unseen.failed ||
                    x->out->unknown.failed || x->out->expired.failed))
        rc = mf_fail(x->e, MF_NOMEM, "list what is lost");
    return rc;
}

int repair_files(const struct check_source *src, const struct repair_opts *o,
                 const struct repair_sink *to, struct repair_result *out, struct mf_error *e)
{
    struct check_opts look = {
        .now_ns = o->now_ns, .key = o->key, .progress = o->progress, .arg = o->arg};
    struct mf_error own;
    struct repair x = {.o = o, .out = out, .log = {.to = to}};
    int rc;

    *out = (struct repair_result){.blobs = 0};
    x.e = e == NULL ? &own : e;
    *x.e = (struct mf_error){.code = 0};
    x.c = (struct ctx){.src = src, .o = &look, .res = &out->source};
    rc = repair_store(&x);
    for (int i = 0; i < 2; i++)
        check_model_fini(&x.m[i]);
    check_doubt_fini(&x.whole.doubt);
    check_doubt_fini(&x.behind.doubt);
    repair_log_fini(&x.log);
    mf_buf_fini(&x.buf);
    check_ctx_fini(&x.c);
    if (rc != 0)
        repair_result_fini(out);
    return rc;
}

bool repair_lossless(const struct repair_result *r)
{
    return r->lost.sequences + r->unseen.sequences + r->unknown.sequences + r->expired.sequences ==
               0 &&
           r->moved_upto == 0 && !r->config_missing && !r->config_unsure && !r->blobs_hidden;
}

void repair_result_fini(struct repair_result *r)
{
    check_result_fini(&r->source);
    free(r->lost.at);
    free(r->unseen.at);
    free(r->unknown.at);
    free(r->expired.at);
    free(r->consumer);
    *r = (struct repair_result){.blobs = 0};
}
