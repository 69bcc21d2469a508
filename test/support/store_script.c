/* store_script.c: see store_script.h. */
#include "store_script.h"

#include "must.h"

/* What a call may answer: with faults anything that the contract names. */
static void answered(const struct script *p, int rc, const char *what)
{
    MUST(rc == 0 || (p->faults && (rc == MF_FULL || rc == MF_READONLY || rc == MF_NOMEM)),
         "%s: %d (%s)", what, rc, mf_err_text(rc));
}

static int64_t some_deadline(struct drive *d, const struct script *p)
{
    uint32_t r = pick_below(&d->pick, 100);

    if (r < 45)
        return 0;
    if (r < 48 && d->now_ns > d->swept_ns) /* past already */
        return d->now_ns - (int64_t)(pick_u64(&d->pick) % (uint64_t)(d->now_ns - d->swept_ns));
    if (r < 60) /* several at the same moment */
        return (d->now_ns / p->step_ns + 1 + pick_below(&d->pick, 4)) * p->step_ns;
    return d->now_ns + 1 + (int64_t)(pick_u64(&d->pick) % (uint64_t)(p->step_ns * 8));
}

static size_t some_length(struct drive *d, const struct script *p)
{
    uint32_t r = pick_below(&d->pick, 1000);

    if (r < 5)
        return pick_below(&d->pick, (uint32_t)p->body_max + 1);
    if (r < 60)
        return pick_below(&d->pick, 3000);
    return pick_below(&d->pick, 160);
}

static void do_append(struct drive *d, struct script *p)
{
    char key[MODEL_KEY];
    size_t head = pick_chance(&d->pick, 30) ? pick_below(&d->pick, 60) : 0;

    drive_pick_key(d, p->keys, key);
    size_t body = some_length(d, p);
    int64_t deadline = some_deadline(d, p);
    uint16_t flags = (uint16_t)(pick_chance(&d->pick, 20) ? pick_u64(&d->pick) : 0);
    int rc = drive_append(d, key, head, body, deadline, flags);
    answered(p, rc, "append");
    p->appends += rc == 0;
}

static void do_touch(struct drive *d, struct script *p)
{
    uint64_t seq = drive_pick_seq(d);

    if (seq == 0)
        return;
    int64_t deadline = some_deadline(d, p);
    uint16_t bits = pick_chance(&d->pick, 50) ? (uint16_t)pick_u64(&d->pick) & MODEL_BITS : 0;
    int rc = drive_touch(d, seq, deadline, model_flags(bits, deadline));
    if (rc != MF_NOTFOUND) /* drive_touch() knows when that is right */
        answered(p, rc, "touch");
    p->touches += rc == 0;
}

static void do_remove(struct drive *d, struct script *p)
{
    uint64_t seq = drive_pick_seq(d);
    int rc;

    if (seq == 0 || pick_chance(&d->pick, 3)) {
        rc = drive_remove(d, 1 + pick_u64(&d->pick) % (d->model.accepted.last_seq + 2));
        MUST(rc == 0 || rc == MF_NOTFOUND || p->faults, "remove: %d", rc);
        return;
    }
    rc = drive_remove(d, seq);
    answered(p, rc, "remove");
    p->removals += rc == 0;
}

static void do_erase(struct drive *d, struct script *p)
{
    uint64_t seq = drive_pick_seq(d);
    int rc = seq == 0 ? MF_NOTFOUND : drive_erase(d, seq);

    if (rc != MF_NOTFOUND && rc != MF_INVAL) /* drive_erase() knows when those are right */
        answered(p, rc, "erase");
    p->erasures += rc == 0;
}

static void do_range(struct drive *d, struct script *p)
{
    uint64_t first = drive_pick_seq(d), last;
    uint32_t r = pick_below(&d->pick, 100);

    if (first == 0)
        first = 1;
    last = first + pick_below(&d->pick, 12);
    if (r < 6) { /* a purge; sometimes the sequence jumps */
        first = 1;
        last = d->model.accepted.last_seq + (r < 2 ? pick_below(&d->pick, 1000) : 0);
        if (last == 0)
            return;
    }
    int rc = drive_range(d, first, last);
    answered(p, rc, "range");
    p->removals += rc == 0;
}

static void do_set(struct drive *d, struct script *p)
{
    uint64_t seqs[24];
    size_t n = 0;
    uint64_t at = drive_pick_seq(d);

    for (unsigned i = pick_below(&d->pick, 24); at != 0 && i > 0; i--) {
        seqs[n++] = at;
        at += 1 + pick_below(&d->pick, 5);
    }
    int rc = drive_set(d, seqs, n);
    answered(p, rc, "set");
    p->removals += rc == 0;
}

static void do_blob(struct drive *d, struct script *p)
{
    char name[MODEL_KEY];
    int rc;

    snprintf(name, sizeof name, "blob-%u", pick_below(&d->pick, 6));
    if (pick_chance(&d->pick, 25)) {
        bool there = state_blob(&d->model.accepted, mf_str(name)) != NULL;
        rc = drive_blob_del(d, name);
        MUST(rc == 0 || (rc == MF_NOTFOUND && !there) || p->faults, "blob_del: %d", rc);
    } else {
        rc = drive_blob(d, name, pick_chance(&d->pick, 10) ? 2000 : pick_below(&d->pick, 120));
        answered(p, rc, "blob_put");
    }
    p->blobs += rc == 0;
}

/* Some messages, and everything before them goes. */
static void do_roll_up(struct drive *d, struct script *p)
{
    uint64_t last = d->model.accepted.last_seq;

    drive_begin(d, false);
    int rc = store_reserve(d->store, 1);
    for (unsigned i = pick_below(&d->pick, 3); i > 0 && rc == 0; i--)
        do_append(d, p);
    if (rc == 0 && last > 0)
        answered(p, drive_range(d, 1, last), "range");
    rc = drive_end(d);
    answered(p, rc, "end");
    p->batches += rc == 0;
}

static void do_batch(struct drive *d, struct script *p)
{
    bool frees = pick_chance(&d->pick, 30);

    if (pick_chance(&d->pick, 4)) {
        do_roll_up(d, p);
        return;
    }
    drive_begin(d, frees);
    for (unsigned i = pick_below(&d->pick, 7); i > 0; i--) {
        uint32_t r = pick_below(&d->pick, 100);
        if (r < 50)
            do_append(d, p);
        else if (r < 65)
            do_remove(d, p);
        else if (r < 70)
            do_erase(d, p);
        else if (r < 78)
            do_touch(d, p);
        else if (r < 86)
            do_set(d, p);
        else if (r < 92)
            do_range(d, p);
        else
            do_blob(d, p);
    }
    int rc = drive_end(d);
    answered(p, rc, "end");
    p->batches += rc == 0;
}

static void do_expire(struct drive *d, struct script *p)
{
    size_t max = pick_chance(&d->pick, 50) ? 1 + pick_below(&d->pick, 5) : 1000;
    bool more = false;

    if (pick_chance(&d->pick, 80))
        drive_time(d, d->now_ns + (int64_t)(pick_u64(&d->pick) % (uint64_t)p->step_ns));
    d->marker_percent = pick_chance(&d->pick, 50) ? 40 : 0;
    d->more_percent = pick_chance(&d->pick, 20) ? 30 : 0;
    p->deaths += drive_expire(d, max, &more);
    MUST(d->refused == 0 || p->faults, "inside an expiry: %d", d->refused);
    p->expiries++;
}

static bool do_reopen(struct drive *d, struct script *p)
{
    struct mf_error e = {0};

    p->reopens++;
    if (p->faults) { /* somebody waits for all of it, so that it is known what was kept */
        drive_begin(d, true);
        int rc = drive_end(d);
        answered(p, rc, "end");
    }
    drive_close(d);
    if (p->faults && d->model.done < d->model.batches)
        return false;
    int rc = drive_try_open(d, &e);
    MUST(rc == 0 || p->faults, "reopening: %d: %s", rc, e.text);
    return rc == 0;
}

static void trim_live(struct drive *d, struct script *p)
{
    const struct model_state *s = &d->model.accepted;

    if (s->msgs > p->live_max)
        answered(p, drive_range(d, 1, s->msg[s->msgs / 2].seq), "range");
}

static void do_read(struct drive *d, struct script *p)
{
    uint64_t seq = drive_pick_seq(d);
    int rc = seq == 0 ? MF_NOTFOUND : drive_read(d, seq);

    MUST(rc == 0 || rc == MF_NOTFOUND || (p->faults && (rc == MF_NOMEM || rc == MF_CORRUPT)),
         "read: %d", rc);
    p->reads += rc == 0;
}

static void do_upkeep(struct drive *d, struct script *p)
{
    bool scrub = pick_chance(&d->pick, 15);
    int rc = scrub ? drive_scrub(d) : drive_checkpoint(d);

    MUST(rc == 0 || rc == MF_CLOSED || p->faults, "upkeep: %d", rc);
    p->checkpoints += rc == 0 && !scrub;
    p->scrubs += rc == 0 && scrub;
}

static bool act(struct drive *d, struct script *p)
{
    uint32_t r = pick_below(&d->pick, 1000);

    if (r < 480)
        do_append(d, p);
    else if (r < 560)
        do_touch(d, p);
    else if (r < 625)
        do_remove(d, p);
    else if (r < 650)
        do_erase(d, p);
    else if (r < 685)
        do_range(d, p);
    else if (r < 715)
        do_set(d, p);
    else if (r < 790)
        do_batch(d, p);
    else if (r < 900)
        do_expire(d, p);
    else if (r < 940)
        do_blob(d, p);
    else if (r < 965)
        do_read(d, p);
    else if (r < 992)
        do_upkeep(d, p);
    else if (!p->no_reopen) {
        return do_reopen(d, p);
    }
    return true;
}

bool script_step(struct drive *d, struct script *p)
{
    p->steps++;
    if (!act(d, p))
        return false;
    trim_live(d, p);
    if (store_error(d->store) != NULL)
        return !p->faults;
    uint32_t r = pick_below(&d->pick, 100);
    if (r < p->rest && !p->faults)
        drive_idle(d);
    else if (r < p->rest + 20)
        drive_turn(d);
    return true;
}

void script_print(const struct script *p, FILE *to)
{
    fprintf(to,
            "%llu steps: %llu appends, %llu removals, %llu erasures, %llu touches, %llu batches, "
            "%llu expiries of "
            "%llu messages, %llu blobs, %llu reads, %llu checkpoints, %llu scrubs, %llu reopens",
            (unsigned long long)p->steps, (unsigned long long)p->appends,
            (unsigned long long)p->removals, (unsigned long long)p->erasures,
            (unsigned long long)p->touches, (unsigned long long)p->batches,
            (unsigned long long)p->expiries, (unsigned long long)p->deaths,
            (unsigned long long)p->blobs, (unsigned long long)p->reads,
            (unsigned long long)p->checkpoints, (unsigned long long)p->scrubs,
            (unsigned long long)p->reopens);
}
