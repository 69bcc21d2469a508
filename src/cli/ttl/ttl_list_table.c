/* ttl_list_table.c: the table of `mayfly ttl ls`, as wide as the window allows. */
#include "cli/ttl/ttl_list_impl.h"

#include "base/clock.h"

#include <stdio.h>

#define BAR       10
#define BARS_FROM 100 /* columns of a window that has room for bars */
#define ALL_FROM  80  /* and for all columns */
#define TIME_FROM 56  /* and for the time of the end beside the time left */
#define COLUMNS   12

struct columns {
    bool stream, left, bar, time, all, state, kind, by;
    int64_t scale_ns; /* of a full bar */
    int64_t now_ns;   /* the server's */
};

bool list_is_wide(const struct list *l)
{
    return l->c->term.width >= ALL_FROM;
}

/* As the rows tell it; this machine's where none has a deadline. */
static int64_t server_now(const struct list *l)
{
    const json_t *first = l->rows[0].item;
    int64_t expires = request_time(first, "expires");

    return expires != 0 ? expires - request_int(first, "left_ms") * CLOCK_MS : clock_wall_ns();
}

static struct columns choose_columns(const struct list *l)
{
    const struct term *t = &l->c->term;
    const json_t *last = l->rows[l->nrows - 1].item;
    struct columns k = {.stream = l->all_streams,
                        .left = strcmp(l->state, "with") == 0,
                        .state = strcmp(l->state, "never") == 0,
                        .kind = l->tombstones > 0,
                        .all = list_is_wide(l),
                        .by = list_is_wide(l) && !l->undecided,
                        .now_ns = server_now(l)};

    k.bar = k.left && t->tty && t->width >= BARS_FROM;
    k.time = k.left && t->width >= TIME_FROM;
    k.scale_ns = cli_duration(l->c, "within", request_int(last, "left_ms") * CLOCK_MS);
    return k;
}

static const char *decided_by(const struct list *l, size_t i)
{
    if (request_bool(l->rows[i].item, "pinned"))
        return "by hand";
    return l->by == NULL ? "" : request_text(l->by[i].answer, "decided_by");
}

static void add_left(const struct list *l, struct table *t, const struct columns *k,
                     const json_t *item)
{
    int64_t left = request_int(item, "left_ms") * CLOCK_MS;
    struct mf_buf bar = MF_BUF_INIT;
    char text[HUMAN_TEXT];

    if (k->bar) {
        term_bar(&l->c->term, &bar, k->scale_ns <= 0 ? 0 : (double)left / (double)k->scale_ns, BAR);
        table_cell(t, "%s", mf_buf_cstr(&bar));
    }
    table_cell(t, "%s", human_duration(text, left));
    if (k->time)
        table_cell(t, "%s", human_time(text, request_time(item, "expires")));
    mf_buf_fini(&bar);
}

static void add_row(const struct list *l, struct table *t, const struct columns *k, size_t i)
{
    const struct list_part *p = l->rows[i].part;
    const json_t *item = l->rows[i].item;
    char text[HUMAN_TEXT];

    if (k->stream)
        table_cell(t, "%s", p->stream.name);
    table_cell(t, "%s", request_key(&p->stream, request_text(item, "subject")));
    table_cell(t, "%lld", (long long)request_int(item, "seq"));
    if (k->state)
        table_cell(t, "%s", p->state);
    if (k->kind)
        table_cell(t, "%s", request_bool(item, "tombstone") ? "tombstone" : "value");
    if (k->all)
        table_cell(t, "%s ago", human_duration(text, k->now_ns - request_time(item, "time")));
    if (k->left)
        add_left(l, t, k, item);
    if (k->all)
        table_cell(t, "%s", human_bytes(text, (uint64_t)request_int(item, "size")));
    if (k->by)
        table_cell(t, "%s", decided_by(l, i));
}

struct heads {
    const char *text[COLUMNS];
    char align[COLUMNS];
    size_t n;
};

static void add_head(struct heads *h, bool shown, const char *text, char align)
{
    if (!shown)
        return;
    h->text[h->n] = text;
    h->align[h->n++] = align;
    h->align[h->n] = '\0';
}

static void choose_heads(const struct list *l, const struct columns *k, struct heads *h)
{
    bool keys = k->stream || l->parts[0].stream.bucket[0] != '\0';

    *h = (struct heads){.n = 0};
    add_head(h, k->stream, "STREAM", 'l');
    add_head(h, true, keys ? "KEY" : "SUBJECT", 'l');
    add_head(h, true, keys ? "REV" : "SEQ", 'r');
    add_head(h, k->state, "STATE", 'l');
    add_head(h, k->kind, "KIND", 'l');
    add_head(h, k->all, "WRITTEN", 'r');
    add_head(h, k->bar, "LEFT", 'b');
    add_head(h, k->left, k->bar ? "" : "LEFT", 'r');
    add_head(h, k->time, "EXPIRES", 'r');
    add_head(h, k->all, "SIZE", 'r');
    add_head(h, k->by, "SET BY", 'l');
}

static void print_table(struct list *l)
{
    struct columns k = choose_columns(l);
    struct heads heads;
    struct table t;

    choose_heads(l, &k, &heads);
    table_init(&t, &l->c->term, heads.align, heads.text);
    for (size_t i = 0; i < l->nrows; i++)
        add_row(l, &t, &k, i);
    table_print(&t);
}

/* Tombstones are rows, but no keys that expire. */
static void print_tombstones(const struct list *l)
{
    char count[HUMAN_TEXT];

    if (l->tombstones > 0)
        (void)fprintf(l->c->term.out, "; %s tombstone%s", human_count(count, l->tombstones),
                      l->tombstones == 1 ? "" : "s");
}

/* "2 of 2,388", "the first 100 of 2,388", "the first 100; more" */
static void print_numbers(const struct list *l)
{
    char count[HUMAN_TEXT], total[HUMAN_TEXT];
    FILE *out = l->c->term.out;

    if (l->more)
        (void)fprintf(out, "the first %s", human_count(count, l->nrows));
    else
        (void)fprintf(out, "%s", human_count(count, l->nrows - l->tombstones));
    if (l->total_known)
        (void)fprintf(out, " of %s%s", l->total_about ? "about " : "",
                      human_count(total, l->total));
    else if (l->more)
        (void)fputs("; more", out);
}

/* "2 of 2,388 expire within 1h" */
static void print_end(struct list *l)
{
    static const char *const texts[][2] = {{"with", "expire"},
                                           {"without", "have no deadline"},
                                           {"infinite", "never expire"},
                                           {"never", "never expire"}};
    char within[HUMAN_TEXT];
    size_t i = 0;

    while (strcmp(texts[i][0], l->state) != 0)
        i++;
    print_numbers(l);
    (void)fprintf(l->c->term.out, " %s", texts[i][1]);
    if (cli_duration(l->c, "within", -1) >= 0)
        (void)fprintf(l->c->term.out, " within %s",
                      human_duration(within, cli_duration(l->c, "within", 0)));
    if (!l->more)
        print_tombstones(l);
    else if (l->marked)
        (void)fputs(", tombstones included", l->c->term.out);
    (void)fputs(l->more ? "; --limit N or --all shows more\n" : "\n", l->c->term.out);
}

void list_print(struct list *l)
{
    if (l->nrows > 0)
        print_table(l);
    print_end(l);
}
