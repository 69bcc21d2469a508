/* fuzz_journal.c: a start with a commit journal that holds anything, beside two stores.  The first
 * byte chooses what the rest is:
 *
 *     'r'  the bytes of the entries, as they are
 *     'p'  a program: entries with parts that fit or do not, wiped parts, flipped bytes (see
 * step())
 *
 * The start must succeed and leave no journal; nothing but whole parts is written, into segments of
 * their own stores, behind the header page; a second journal of the same bytes changes nothing. */
#include "fuzz.h"

#include "base/log.h"
#include "store/journal/journal_impl.h"
#include "support/view_io.h"

#define SEGMENTS     3 /* of store "a.": 1 and 2; of store "b.": 1 */
#define SEGMENT_SIZE 8192u
#define ROOM         32768u /* of the journal's bytes */
#define KEY          7u
#define PARTS_MAX    2048

static const struct place {
    const char *path;
    uint64_t number;
    uint8_t id;
} places[SEGMENTS] = {{"a.", 1, 'a'}, {"a.", 2, 'a'}, {"b.", 1, 'b'}};

struct world {
    struct store_io *all;
    struct mf_buf journal;                /* the entries */
    uint8_t want[SEGMENTS][SEGMENT_SIZE]; /* of a program without damage */
    struct fitting {
        size_t segment, from, to;
        uint8_t byte;
    } part[PARTS_MAX]; /* of a program */
    size_t parts;
    bool damaged;
};

static struct loop *loop;

struct input {
    const uint8_t *p, *end;
};

static uint8_t take(struct input *in)
{
    return in->p < in->end ? *in->p++ : 0;
}

static void must(int rc)
{
    FUZZ_CHECK(rc == 0);
}

/* --- files ------------------------------------------------------------------------------------ */

static void write_file(struct store_io *all, const char *name, const void *bytes, size_t n)
{
    struct store_file *f;

    must(all->open(all, name, true, &f, NULL));
    must(all->truncate(all, f, n, NULL));
    must(all->pwrite(all, f, bytes, n, 0, NULL));
    all->close(all, f);
}

static void name_segment(char dst[48], size_t i)
{
    char name[32];

    segment_name(name, places[i].number);
    snprintf(dst, 48, "%s%s", places[i].path, name);
}

static void world_init(struct world *w)
{
    w->journal = MF_BUF_INIT;
    w->parts = 0;
    w->damaged = false;
    memset(w->want, 0, sizeof w->want);
    must(store_io_memory(&w->all, NULL));
    must(w->all->enter(w->all, NULL));
    for (size_t i = 0; i < SEGMENTS; i++) {
        uint8_t id[STORE_ID];
        char name[48];
        memset(id, places[i].id, sizeof id);
        segment_page_encode(w->want[i], SEGMENT_BITS, id, places[i].number, SEGMENT_SIZE, 1);
        name_segment(name, i);
        write_file(w->all, name, w->want[i], SEGMENT_SIZE);
    }
}

static void world_fini(struct world *w)
{
    mf_buf_fini(&w->journal);
    w->all->leave(w->all);
    w->all->free(w->all);
}

static void read_segment(struct world *w, size_t i, uint8_t dst[SEGMENT_SIZE])
{
    struct store_file *f;
    uint64_t size;
    char name[48];

    name_segment(name, i);
    must(w->all->open(w->all, name, false, &f, NULL));
    must(w->all->size(w->all, f, &size, NULL));
    FUZZ_CHECK(size == SEGMENT_SIZE);
    must(w->all->pread(w->all, f, dst, SEGMENT_SIZE, 0, NULL));
    w->all->close(w->all, f);
}

/* --- a program -------------------------------------------------------------------------------- */

/* The part's bytes lie in the segment whole; MF_NOTFOUND: it belongs to none. */
static size_t place_of(const struct journal_part *p)
{
    for (size_t i = 0; i < SEGMENTS; i++)
        if (p->path_len == 2 && memcmp(p->path, places[i].path, 2) == 0 &&
            p->segment == places[i].number && p->id[0] == places[i].id &&
            p->offset >= SEGMENT_PAGE && p->offset <= SEGMENT_SIZE &&
            p->len <= SEGMENT_SIZE - p->offset)
            return i;
    return SEGMENTS;
}

static void add_entry(struct world *w, struct input *in)
{
    static const char *const paths[] = {"a.", "b.", "none.", ""};
    static uint8_t bytes[4][64];
    struct journal_part part[4];
    size_t n = 1 + take(in) % MF_COUNT(part);

    for (size_t i = 0; i < n; i++) {
        uint8_t choice = take(in);
        memset(bytes[i], choice, sizeof bytes[i]);
        part[i] = (struct journal_part){.segment = take(in) % 4,
                                        .offset = take(in) * 64u + take(in),
                                        .len = take(in) % (sizeof bytes[i] + 1),
                                        .path = paths[choice % MF_COUNT(paths)],
                                        .bytes = bytes[i]};
        part[i].path_len = strlen(part[i].path);
        memset(part[i].id, choice & 0x80 ? 'x' : choice % 2 == 0 ? 'a' : 'b', STORE_ID);
        size_t at = place_of(&part[i]);
        if (at == SEGMENTS)
            continue;
        memcpy(w->want[at] + part[i].offset, bytes[i], part[i].len);
        w->part[w->parts++] =
            (struct fitting){at, part[i].offset, part[i].offset + part[i].len, choice};
    }
    must(journal_entry_encode(&w->journal, part, n, KEY, JOURNAL_PAGE + w->journal.len));
}

static void step(struct world *w, struct input *in)
{
    uint8_t op = take(in) % 8;

    if (op < 6) {
        add_entry(w, in);
    } else if (w->journal.len > 0) {
        size_t at = (size_t)(take(in) << 8 | take(in)) % w->journal.len;
        size_t n = op == 6 ? 1 : take(in);
        for (size_t i = at; i < at + n && i < w->journal.len; i++)
            w->journal.ptr[i] = op == 6 ? w->journal.ptr[i] ^ take(in) : 0;
        w->damaged = true;
    }
}

/* Some part of the program has this byte at this place. */
static bool is_of_a_part(const struct world *w, size_t segment, size_t at, uint8_t byte)
{
    for (size_t i = 0; i < w->parts; i++)
        if (w->part[i].segment == segment && w->part[i].from <= at && at < w->part[i].to &&
            w->part[i].byte == byte)
            return true;
    return false;
}

static void check_damaged(const struct world *w, size_t segment, const uint8_t *bytes)
{
    for (size_t at = SEGMENT_PAGE; at < SEGMENT_SIZE; at++)
        FUZZ_CHECK(bytes[at] == 0 || is_of_a_part(w, segment, at, bytes[at]));
}

/* --- a start ---------------------------------------------------------------------------------- */

static int find_store(void *arg, const char *path, struct store_io **out, struct mf_error *e)
{
    struct store_io *all = arg;

    if (path[0] == '\0' || !view_io_any(all, path))
        return mf_fail(e, MF_NOTFOUND, "%s", path);
    *out = view_io_new(all, path);
    return 0;
}

static int sync_all(void *arg, struct mf_error *e)
{
    return view_io_sync_all(arg, e);
}

static void start(struct world *w)
{
    struct store_journal_opts o = {
        .find = find_store, .sync_all = sync_all, .arg = w->all, .sync_each = 1};
    struct journal_head h = {.generation = 3, .key = KEY};
    struct store_journal *j;
    struct mf_buf b = MF_BUF_INIT;
    struct mf_error e;

    FUZZ_CHECK(mf_buf_reserve(&b, JOURNAL_PAGE + w->journal.len) != NULL);
    journal_page_encode(b.ptr, &h);
    if (w->journal.len > 0)
        memcpy(b.ptr + JOURNAL_PAGE, w->journal.ptr, w->journal.len);
    write_file(w->all, "j.1.journal", b.ptr, JOURNAL_PAGE + w->journal.len);
    mf_buf_fini(&b);
    must(store_journal_new(&j, loop, &o, view_io_new(w->all, "j."), &e));
    FUZZ_CHECK(!view_io_any(w->all, "j."));
    store_journal_abandon(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    static uint8_t first[SEGMENTS][SEGMENT_SIZE], second[SEGMENT_SIZE];
    static struct world w;
    uint8_t mode = take(&in);

    if (loop == NULL) {
        must(log_open(&(struct log_options){.guest = true}, NULL)); /* lines are dropped */
        must(loop_new(&loop, NULL));
    }
    world_init(&w);
    if (mode == 'p')
        while (in.p < in.end && w.journal.len < ROOM && w.parts + 4 < PARTS_MAX)
            step(&w, &in);
    else
        mf_buf_append(&w.journal, in.p, (size_t)(in.end - in.p) % ROOM);
    start(&w);
    for (size_t i = 0; i < SEGMENTS; i++) {
        read_segment(&w, i, first[i]);
        FUZZ_CHECK(memcmp(first[i], w.want[i], SEGMENT_PAGE) == 0);
        if (mode == 'p' && w.damaged)
            check_damaged(&w, i, first[i]);
        else if (mode == 'p')
            FUZZ_CHECK(memcmp(first[i], w.want[i], SEGMENT_SIZE) == 0);
    }
    start(&w);
    for (size_t i = 0; i < SEGMENTS; i++) {
        read_segment(&w, i, second);
        FUZZ_CHECK(memcmp(first[i], second, SEGMENT_SIZE) == 0);
    }
    world_fini(&w);
    return 0;
}
