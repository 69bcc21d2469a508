/* stream.c: the power is cut after every change that a stream makes to its files.
 *
 * A stream with a configuration by seed lives by seed, one operation after the other: values that
 * replace, roll up or push out others, removals, purges, deaths, markers and their end; with a
 * policy also lives that are set, renewed, linked and backfilled, and dead letters.  From each
 * disk that a power cut may leave (crash_io.h) it is opened again, and shows exactly what it showed
 * after the last operation that was answered, or after the one under way: nothing in between, such
 * as a removal without its marker or a value beside the one it replaces.
 *
 *     stream [--seed=S] [--images=N]                also STREAM_SEED, STREAM_IMAGES
 *     stream --seed=S --cut=N --mode=M --variant=V  one disk of the life S */
#include "stream_lives.h"

#include "support/crash_io.h"
#include "support/must.h"

#include "base/clock.h"

#define STEPS    80
#define VARIANTS 4
#define SUBJECTS 6

static struct {
    uint64_t seed, cut, variant;
    enum crash_mode mode;
    bool in_image;
    char deed[80];
} at;

static struct {
    uint64_t images, lives, changes, steps, before, after;
} count;

static struct world w;
static struct stream_config cfg;
static char *subjects[] = {(char *)"k.>"};
static struct pick pick;
static bool governed; /* it has a policy */
static bool answered; /* the operation was: what it did is on disk */

/* What the stream showed after each operation, how many changes it had made when that was answered,
 * and what the operation was. */
static struct step {
    struct mf_buf shown;
    uint64_t changes;
    int64_t now_ns;
    char deed[80];
} step[STEPS + 1];
static size_t steps;

static void where(FILE *to)
{
    char text[200];

    fprintf(to, "stream --seed=%llu", (unsigned long long)at.seed);
    if (at.in_image)
        fprintf(to, " --cut=%llu --mode=%d --variant=%llu   (%s, after: %s; while: %s)",
                (unsigned long long)at.cut, at.mode, (unsigned long long)at.variant,
                crash_mode_name(at.mode), crash_io_describe(w.io, at.cut, text, sizeof text),
                at.deed);
    else
        fprintf(to, ", %s", at.deed);
    fputc('\n', to);
}

/* --- the life --------------------------------------------------------------------------------- */

static void configure(void)
{
    static const int64_t depth[] = {-1, 1, 1, 3}, all[] = {-1, -1, 10};

    cfg = (struct stream_config){.name = (char *)"S",
                                 .subjects = {subjects, 1},
                                 .allow_msg_ttl = true,
                                 .allow_rollup = true,
                                 .max_msgs_per_subject = depth[pick_below(&pick, 4)],
                                 .max_msgs = all[pick_below(&pick, 3)]};
    if (pick_chance(&pick, 70))
        cfg.subject_delete_marker_ttl_ns = (int64_t)(1 + pick_below(&pick, 100)) * CLOCK_S;
    governed = pick_chance(&pick, 60);
    if (governed)
        lives_configure(&pick, &cfg);
}

/* Some are long: a marker and what it tells of lie in different sectors then. */
static const char *some_subject(void)
{
    static char text[700];
    unsigned n = pick_below(&pick, SUBJECTS);

    if (n < SUBJECTS / 2)
        snprintf(text, sizeof text, "k.%u", n);
    else
        snprintf(text, sizeof text, "k.%u%0600d", n, 0);
    return text;
}

static void put(void)
{
    static char payload[1600];
    char lines[120] = "";
    const char *subject = some_subject();
    int n = 0, len = (int)pick_below(&pick, pick_chance(&pick, 20) ? 1500 : 60);

    if (pick_chance(&pick, 30))
        n = snprintf(lines, sizeof lines, "Nats-TTL: %u\r\n", 1 + pick_below(&pick, 60));
    if (pick_chance(&pick, 10))
        snprintf(lines + n, sizeof lines - (size_t)n, "Nats-Rollup: %s\r\n",
                 pick_chance(&pick, 70) ? "sub" : "all");
    snprintf(payload, sizeof payload, "%0*zu", len, steps);
    snprintf(at.deed, sizeof at.deed, "put %.3s, %d bytes, %.*s", subject, len,
             (int)strcspn(lines, "\r"), lines);
    struct world_ack a = world_publish(&w, subject, lines[0] == '\0' ? NULL : lines, payload);
    MUST(a.text[0] == '\0', "a message was refused: %s", a.text);
}

/* A message by chance; 0: there is none. */
static uint64_t some_message(void)
{
    uint64_t n = world_count(&w), seq = stream_next(w.stream, 0);

    for (uint32_t i = n == 0 ? 0 : pick_below(&pick, (uint32_t)n); i > 0; i--)
        seq = stream_next(w.stream, seq + 1);
    return seq;
}

static void act(void)
{
    uint32_t r = pick_below(&pick, 100);
    uint64_t seq = some_message(), keep = 0;
    answered = true;
    int64_t wait = (int64_t)(1 + pick_below(&pick, governed ? 60 : 20)) * CLOCK_S;

    if (governed && seq != 0 && pick_chance(&pick, 40)) {
        answered = lives_act(&w, &pick, seq, at.deed, sizeof at.deed);
    } else if (r < 50 || seq == 0) {
        put();
    } else if (r < 68) {
        snprintf(at.deed, sizeof at.deed, "remove %llu", (unsigned long long)seq);
        MUST(world_remove(&w, seq) == 0, "a removal was refused");
    } else if (r < 80) {
        keep = pick_chance(&pick, 30) ? 1 + pick_below(&pick, 3) : 0;
        const char *filter = pick_chance(&pick, 70) ? some_subject() : "k.*";
        snprintf(at.deed, sizeof at.deed, "purge %.3s, keep %llu", filter,
                 (unsigned long long)keep);
        MUST(world_purge(&w, filter, 0, keep, NULL) == 0, "a purge was refused");
    } else {
        snprintf(at.deed, sizeof at.deed, "%lld seconds pass", (long long)(wait / CLOCK_S));
        world_time(&w, w.now_ns + wait);
        answered = false;
    }
}

static void show(struct world *x, struct mf_buf *out)
{
    if (!governed) {
        world_text(x, out);
        return;
    }
    lives_settle(x);
    lives_show(x, out);
}

static void note(void)
{
    struct step *s = &step[steps];
    uint64_t changes = crash_io_ops(w.io);

    world_turns(&w);
    show(&w, &s->shown);
    world_turns(&w);
    s->now_ns = w.now_ns;
    s->changes = answered ? changes : crash_io_ops(w.io);
    memcpy(s->deed, at.deed, sizeof s->deed);
    steps++;
}

static void live(void)
{
    struct store_io *io;
    struct mf_error e;

    pick = (struct pick){at.seed};
    configure();
    world_init(&w);
    MUST(crash_io_new(&io, NULL, &e) == 0, "%s", e.text);
    world_files(&w, io);
    world_open(&w, &cfg);
    snprintf(at.deed, sizeof at.deed, "made");
    steps = 0;
    note();
    while (steps <= STEPS) {
        act();
        note();
    }
    count.lives++;
    count.steps += STEPS;
    count.changes += crash_io_ops(w.io);
}

/* --- one disk --------------------------------------------------------------------------------- */

static bool same(const struct mf_buf *a, const struct mf_buf *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->ptr, b->ptr, a->len) == 0);
}

static void print(const char *what, const struct mf_buf *b)
{
    fprintf(stderr, "%s:\n%.*s", what, (int)b->len, b->len == 0 ? "" : (const char *)b->ptr);
}

/* `done` operations were answered before the cut. */
static void look(size_t done)
{
    static struct mf_buf now;
    struct world x;
    struct store_io *disk;

    at.in_image = true;
    memcpy(at.deed, step[done < steps ? done : steps - 1].deed, sizeof at.deed);
    world_init(&x);
    MUST(crash_io_image(w.io, at.cut, at.mode, at.seed + at.variant, &disk) == 0, "no image");
    world_files(&x, disk);
    /* At the time before the operation: nothing more is due than was swept.  At its own time, if
     * something of it is on disk that happened then.  Without a policy no time counts but that on
     * disk. */
    if (governed) {
        x.now_ns = step[done - 1].now_ns;
        x.later_ns = step[done < steps ? done : steps - 1].now_ns;
    }
    world_open(&x, &cfg);
    show(&x, &now);
    bool after = done < steps && same(&now, &step[done].shown);
    if (!after && !same(&now, &step[done - 1].shown)) {
        print("before", &step[done - 1].shown);
        if (done < steps)
            print("after", &step[done].shown);
        print("now", &now);
        MUST(false, "the stream shows something in between");
    }
    world_kill(&x);
    world_fini(&x);
    count.images++;
    count.after += after;
    count.before += !after;
    at.in_image = false;
}

/* From the first answer on. */
static void cut_everywhere(void)
{
    size_t done = 1;

    for (at.cut = step[0].changes; at.cut <= crash_io_ops(w.io); at.cut++) {
        struct crash_unsynced u;
        while (done < steps && step[done].changes <= at.cut)
            done++;
        MUST(crash_io_unsynced(w.io, at.cut, &u) == 0, "no such cut");
        bool settled = u.writes + u.names == 0;
        for (int mode = 0; mode < (settled ? 1 : (int)CRASH_MODES); mode++)
            for (at.variant = 0; at.variant < (settled ? 1 : VARIANTS); at.variant++) {
                at.mode = (enum crash_mode)mode;
                look(done);
            }
    }
}

static void look_once(int argc, char **argv, uint64_t cut)
{
    size_t done = 1;

    at.cut = cut;
    at.mode = (enum crash_mode)must_number(argc, argv, "mode", NULL, 0);
    at.variant = must_number(argc, argv, "variant", NULL, 0);
    while (done < steps && step[done].changes <= cut)
        done++;
    look(done);
}

int main(int argc, char **argv)
{
    uint64_t images = must_number(argc, argv, "images", "STREAM_IMAGES", 5000);
    uint64_t cut = must_number(argc, argv, "cut", NULL, UINT64_MAX);

    at.seed = must_number(argc, argv, "seed", "STREAM_SEED", 1);
    must_where = where;
    must_quiet();
    printf("seed %llu\n", (unsigned long long)at.seed);
    for (; count.images < images; at.seed++) {
        live();
        if (cut != UINT64_MAX)
            look_once(argc, argv, cut);
        else
            cut_everywhere();
        world_kill(&w);
        world_fini(&w);
        if (cut != UINT64_MAX)
            break;
    }
    for (size_t i = 0; i <= STEPS; i++)
        mf_buf_fini(&step[i].shown);
    printf("stream: %llu disks after a power cut, %llu showed the operation under way, %llu did "
           "not; %llu lives of %llu operations, %llu changes of files\n",
           (unsigned long long)count.images, (unsigned long long)count.after,
           (unsigned long long)count.before, (unsigned long long)count.lives,
           (unsigned long long)count.steps, (unsigned long long)count.changes);
    return 0;
}
