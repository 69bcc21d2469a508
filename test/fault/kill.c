/* kill.c: a store on the real disk, killed with SIGKILL at a random moment under load, again and
 * again.
 *
 *     kill [ROUNDS [SEED]]
 *
 * The child writes: messages, some with deadlines, removals, re-deadlines, batches, blobs,
 * checkpoints, expiry.  Through a pipe it tells the parent, the observer, what it is about to do
 * and what was acknowledged.  The parent kills it, opens the store, and compares with what it was
 * told: nothing acknowledged may be lost, nothing gone may be back, whatever the clock says. */
#include "base/clock.h"
#include "base/log.h"
#include "loop/loop.h"
#include "store/store.h"
#include "support/secret.h"

#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum told {
    ACKED = 1, /* seq, deadline, the number its body is made of */
    REMOVING,  /* from here on seq may be gone */
    REMOVED,   /* seq is */
    TOUCHING,  /* seq may get the deadline */
    TOUCHED,   /* seq has it */
    EXPIRING,  /* seq may be gone */
    EXPIRED,   /* seq is, for ever */
    BLOBBING,  /* the blob may be number */
    BLOBBED,   /* it is, or a later one */
};
struct line {
    uint64_t what, seq, number; /* number: of a re-deadline its bits */
    int64_t deadline_ns;
};

/* What the observer knows of a sequence. */
struct fate {
    bool acked, maybe_gone, gone;
    unsigned touching; /* re-deadlines under way: then any of theirs will do */
    uint64_t number;
    int64_t deadline_ns;
    uint16_t bits; /* infinite, pinned */
};

#define SEQ_MAX   4000000u
#define IN_FLIGHT 64

static char dir[256];
static struct fate *fates;
static uint64_t last_acked, blob_acked, blob_maybe, checked;
static uint64_t state;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void fail(const char *what, uint64_t seq)
{
    fprintf(stderr, "kill: %s, sequence %llu, in %s\n", what, (unsigned long long)seq, dir);
    exit(1);
}

static void make_body(char dst[64], uint64_t number)
{
    memset(dst, 0, 64);
    snprintf(dst, 64, "body %020llu of a message that must not be lost",
             (unsigned long long)number);
}

static struct store *open_store(struct loop *l)
{
    struct mf_error e;
    struct store_io *io;
    struct store *s;
    struct store_opts o = {.name = "kill",
                           .segment_min = 64u << 10,
                           .segment_max = 256u << 10,
                           .now_ns = 1,
                           .secret = test_secret()};

    if (store_io_dir(&io, dir, &e) != 0 || store_open(&s, &o, io, &e) != 0 ||
        store_attach(s, l, &e) != 0) {
        fprintf(stderr, "kill: %s\n", e.text);
        exit(1);
    }
    return s;
}

/* --- the child ------------------------------------------------------------------------------ */

struct op {
    struct store_append append; /* its wait is used by every kind */
    struct line after;          /* told when it is acknowledged */
    bool busy;
};
static struct op ops[IN_FLIGHT];
static int out;

static void tell(const struct line *l)
{
    if (write(out, l, sizeof *l) != (ssize_t)sizeof *l)
        _exit(3);
}

static void on_done(struct store_wait *w, int status)
{
    struct op *o = mf_container(mf_container(w, struct store_append, wait), struct op, append);

    if (status != 0)
        _exit(4);
    o->busy = false;
    if (o->after.what == ACKED)
        o->after.seq = o->append.seq;
    tell(&o->after);
}

static void do_append(struct store *s, struct op *o, uint64_t number, int64_t now)
{
    char key[32], body[64];

    snprintf(key, sizeof key, "k.%u", (unsigned)(next_random() % 300));
    make_body(body, number);
    o->append.key = mf_str(key);
    o->append.body = mf_slice(body, sizeof body);
    o->append.ts_ns = now;
    o->append.deadline_ns =
        next_random() % 3 == 0 ? now + (int64_t)(next_random() % 400) * CLOCK_MS : 0;
    o->after = (struct line){.what = ACKED, .number = number, .deadline_ns = o->append.deadline_ns};
    if (store_append(s, &o->append) == 0)
        o->busy = true;
}

/* What is removed or touched must have been acknowledged: then the observer knows it. */
static void do_change(struct store *s, struct op *o, int64_t now)
{
    struct store_state st;

    store_state(s, &st);
    uint64_t seq = store_next(s, st.first_seq + next_random() % (st.last_seq - st.first_seq + 2));
    if (seq == 0)
        return;
    if (next_random() % 2 == 0) {
        bool ends = next_random() % 6 != 0;
        int64_t deadline = ends ? now + (int64_t)(next_random() % 900) * CLOCK_MS : 0;
        uint16_t bits = (uint16_t)(next_random() & (ends ? STORE_PINNED : STORE_BITS));
        struct line l = {.what = TOUCHING, .seq = seq, .number = bits, .deadline_ns = deadline};
        tell(&l);
        l.what = TOUCHED;
        o->after = l;
        o->busy = store_set_deadline(s, seq, deadline, bits, &o->append.wait) == 0;
        return;
    }
    struct line l = {.what = REMOVING, .seq = seq};
    tell(&l);
    l.what = REMOVED;
    o->after = l;
    o->busy = store_remove(s, seq, &o->append.wait) == 0;
}

static void do_blob(struct store *s, struct op *o, uint64_t number)
{
    char body[64];

    make_body(body, number);
    struct line l = {.what = BLOBBING, .number = number};
    tell(&l);
    l.what = BLOBBED;
    o->after = l;
    o->busy =
        store_blob_put(s, MF_LIT("config"), mf_slice(body, sizeof body), &o->append.wait) == 0;
}

static uint64_t dead[1000];
static size_t deads;

static bool on_death(void *arg, const struct store_expiry *d)
{
    struct line l = {.what = EXPIRING, .seq = d->seq};

    (void)arg;
    tell(&l);
    dead[deads++] = d->seq;
    return true;
}

struct burial {
    struct store_wait wait;
    size_t count;
    uint64_t seq[];
};

static void on_buried(struct store_wait *w, int status)
{
    struct burial *b = mf_container(w, struct burial, wait);

    if (status != 0)
        _exit(5);
    for (size_t i = 0; i < b->count; i++)
        tell(&(struct line){.what = EXPIRED, .seq = b->seq[i]});
    free(b);
}

static void do_expire(struct store *s, int64_t now)
{
    bool more;

    deads = 0;
    store_expire(s, now, 1000, on_death, NULL, &more);
    if (deads == 0)
        return;
    struct burial *b = malloc(sizeof *b + deads * sizeof b->seq[0]);
    b->wait.done = on_buried;
    b->count = deads;
    memcpy(b->seq, dead, deads * sizeof dead[0]);
    /* An empty set: called when all before it is on disk. */
    if (store_remove_set(s, NULL, 0, &b->wait) != 0)
        free(b);
}

static void on_checkpoint(struct store_wait *w, int status)
{
    (void)status;
    free(w);
}

static void child(uint64_t numbers)
{
    struct mf_error e;
    struct loop *l;

    if (loop_new(&l, &e) != 0)
        _exit(2);
    struct store *s = open_store(l);
    for (;;) {
        int64_t now = clock_wall_ns();
        store_now(s, now);
        for (size_t i = 0; i < IN_FLIGHT; i++) {
            struct op *o = &ops[i];
            uint64_t pick = next_random() % 100;
            if (o->busy)
                continue;
            o->append.wait.done = on_done;
            if (pick < 55)
                do_append(s, o, numbers++, now);
            else if (pick < 85)
                do_change(s, o, now);
            else if (pick < 87)
                do_blob(s, o, numbers++);
        }
        do_expire(s, now);
        if (next_random() % 400 == 0) {
            struct store_wait *w = malloc(sizeof *w);
            w->done = on_checkpoint;
            if (store_checkpoint(s, w) != 0)
                free(w);
        }
        loop_turn(l);
    }
}

/* --- the observer --------------------------------------------------------------------------- */

static void hear(const struct line *l)
{
    struct fate *f = l->seq < SEQ_MAX ? &fates[l->seq] : NULL;

    if (f == NULL)
        fail("too many sequences for this test", l->seq);
    switch ((enum told)l->what) {
    case ACKED:
        f->acked = true;
        f->number = l->number;
        f->deadline_ns = l->deadline_ns;
        last_acked = l->seq > last_acked ? l->seq : last_acked;
        break;
    case REMOVING:
    case EXPIRING:
        f->maybe_gone = true;
        break;
    case REMOVED:
    case EXPIRED:
        f->gone = true;
        break;
    case TOUCHING:
        f->touching++;
        break;
    case TOUCHED:
        f->touching--;
        f->deadline_ns = l->deadline_ns;
        f->bits = (uint16_t)l->number;
        break;
    case BLOBBING:
        blob_maybe = l->number;
        break;
    case BLOBBED:
        blob_acked = l->number;
        break;
    }
}

static void listen_until(int fd, int64_t until)
{
    static uint8_t buf[1 << 16];
    static size_t have;

    have = 0;
    for (;;) {
        int64_t left = until - clock_mono_ns();
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (until != 0 && left <= 0)
            return;
        if (poll(&p, 1, until == 0 ? -1 : (int)(left / CLOCK_MS) + 1) <= 0)
            continue;
        ssize_t n = read(fd, buf + have, sizeof buf - have);
        if (n <= 0)
            return; /* its end */
        have += (size_t)n;
        size_t at = 0;
        for (; have - at >= sizeof(struct line); at += sizeof(struct line)) {
            struct line l;
            memcpy(&l, buf + at, sizeof l);
            hear(&l);
        }
        memmove(buf, buf + at, have - at);
        have -= at;
        if (until == 0)
            continue;
    }
}

static void check_message(struct store *s, uint64_t seq, struct fate *f)
{
    struct store_rec rec;
    char body[64];
    int64_t deadline = 0;
    uint16_t flags = 0;
    bool there = store_deadline(s, seq, &deadline);

    if (f->gone && there)
        fail("gone came back", seq);
    if (f->acked && !f->gone && !f->maybe_gone && !there)
        fail("an acknowledged message is lost", seq);
    if (!there) {
        f->gone = true; /* and must stay so */
        return;
    }
    if (!f->acked)
        return; /* it may be there */
    /* One that was past already is raised to the present: by 1 ns here. */
    if (f->touching == 0 && deadline != f->deadline_ns && deadline != f->deadline_ns + 1)
        fail("another deadline than acknowledged", seq);
    f->deadline_ns = deadline;
    if (store_flags(s, seq, &flags) && f->touching == 0 && (flags & STORE_BITS) != f->bits)
        fail("other bits than acknowledged", seq);
    f->bits = flags & STORE_BITS;
    int rc = store_peek(s, seq, &rec);
    make_body(body, f->number);
    if (rc != MF_AGAIN && (rc != 0 || !mf_eq(rec.body, mf_slice(body, sizeof body))))
        fail("a body is not what was stored", seq);
    checked++;
}

static void on_closed(void *arg)
{
    *(bool *)arg = true;
}

static void observe(void)
{
    struct mf_error e;
    struct loop *l;
    struct mf_slice blob = MF_SLICE_NONE;
    struct store_state st;
    bool closed = false;

    if (loop_new(&l, &e) != 0)
        fail("loop", 0);
    struct store *s = open_store(l); /* its time is 1970: expired must be gone all the same */
    store_state(s, &st);
    if (st.last_seq < last_acked)
        fail("the last sequence went back", st.last_seq);
    if (store_damage_count(s) != 0)
        fail("damage after a kill", store_damage(s, 0)->first_seq);
    for (uint64_t seq = 1; seq <= st.last_seq; seq++)
        check_message(s, seq, &fates[seq]);
    if (blob_acked != 0 && !store_blob_get(s, MF_LIT("config"), &blob))
        fail("the blob is lost", 0);
    if (blob_acked != 0) {
        uint64_t n = strtoull((const char *)blob.ptr + 5, NULL, 10);
        if (n < blob_acked || n > blob_maybe)
            fail("the blob is an old one", n);
        blob_acked = n;
    }
    for (uint64_t seq = 1; seq <= st.last_seq; seq++) {
        fates[seq].maybe_gone = false;
        fates[seq].touching = 0;
    }
    /* Sometimes a clean end in between. */
    if (next_random() % 4 == 0) {
        store_close(s, on_closed, &closed);
        while (!closed)
            loop_turn(l);
    } else {
        while (!store_idle(s))
            loop_turn(l);
        store_abandon(s);
    }
    loop_free(l);
}

static void remove_dir(void)
{
    char path[600];
    DIR *d = opendir(dir);
    struct dirent *n;

    while (d != NULL && (n = readdir(d)) != NULL) {
        snprintf(path, sizeof path, "%s/%s", dir, n->d_name);
        if (n->d_name[0] != '.')
            unlink(path);
    }
    if (d != NULL)
        closedir(d);
    rmdir(dir);
}

static void round_of(uint64_t numbers)
{
    int pipes[2];

    if (pipe(pipes) != 0)
        fail("pipe", 0);
    pid_t pid = fork();
    if (pid == 0) {
        close(pipes[0]);
        out = pipes[1];
        child(numbers);
    }
    close(pipes[1]);
    listen_until(pipes[0], clock_mono_ns() + (int64_t)(20 + next_random() % 300) * CLOCK_MS);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    listen_until(pipes[0], 0);
    close(pipes[0]);
    observe();
}

int main(int argc, char **argv)
{
    unsigned rounds = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 12;
    const char *tmp = getenv("TMPDIR");

    state = argc > 2 ? strtoull(argv[2], NULL, 10) : (uint64_t)clock_wall_ns() | 1;
    printf("kill: %u rounds, seed %llu\n", rounds, (unsigned long long)state);
    snprintf(dir, sizeof dir, "%s/mayfly-kill-XXXXXX", tmp == NULL ? "/var/tmp" : tmp);
    fates = calloc(SEQ_MAX, sizeof *fates);
    if (fates == NULL || mkdtemp(dir) == NULL)
        fail("a directory", 0);
    for (unsigned i = 0; i < rounds; i++) {
        next_random();
        round_of((uint64_t)(i + 1) * 1000000000u);
    }
    remove_dir();
    printf("kill: %u kills survived, last sequence %llu, %llu messages compared\n", rounds,
           (unsigned long long)last_acked, (unsigned long long)checked);
    free(fates);
    return 0;
}
