/* top_draw.c: the screen of mayfly top: facts that wrap with the window, and two tables. */
#include "cli/ops/top_impl.h"

#include "base/clock.h"

#include "cli/human.h"
#include "cli/request.h"
#include "cli/table.h"

#define NARROW 72 /* columns: below, tables show the most important figures only */
#define FRAME  2  /* lines around a table: a blank line and the heads */

/* --- facts ------------------------------------------------------------------------------------ */

/* Facts stand in a row and go on in the next line where the window ends. */
struct facts {
    const struct term *term;
    struct mf_buf *out;
    size_t column;
};

static void put_fact(struct facts *f, enum term_style style, const char *fmt, ...) MF_PRINTF(3, 4);
static void put_fact(struct facts *f, enum term_style style, const char *fmt, ...)
{
    struct mf_buf text = MF_BUF_INIT, safe = MF_BUF_INIT;
    size_t width;
    va_list ap;

    va_start(ap, fmt);
    mf_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    term_safe(&safe, mf_buf_slice(&text));
    width = term_columns(mf_buf_slice(&safe));
    if (f->column > 0 && f->column + 3 + width > (size_t)f->term->width) {
        mf_buf_byte(f->out, '\n');
        f->column = 0;
    }
    mf_buf_printf(f->out, "%s%s%s%s", f->column > 0 ? "   " : "", term_on(f->term, style),
                  mf_buf_cstr(&safe), style == TERM_PLAIN ? "" : term_off(f->term));
    f->column += (f->column > 0 ? 3 : 0) + width;
    mf_buf_fini(&text);
    mf_buf_fini(&safe);
}

static void end_line(struct facts *f)
{
    mf_buf_byte(f->out, '\n');
    f->column = 0;
}

/* A rate, or "-" where there is none yet. */
static const char *rate_text(char dst[HUMAN_TEXT], const json_t *row, const char *key)
{
    const json_t *v = json_object_get(row, key);

    if (v == NULL)
        (void)snprintf(dst, HUMAN_TEXT, "-");
    else
        (void)human_rate(dst, json_number_value(v));
    return dst;
}

static const char *count_text(char dst[HUMAN_TEXT], const json_t *row, const char *key)
{
    if (json_object_get(row, key) == NULL)
        (void)snprintf(dst, HUMAN_TEXT, "-");
    else
        (void)human_count(dst, (uint64_t)pages_number(row, key));
    return dst;
}

static const char *bytes_text(char dst[HUMAN_TEXT], const json_t *row, const char *key)
{
    return human_bytes(dst, (uint64_t)pages_number(row, key));
}

static void put_server(struct facts *f, const json_t *doc)
{
    const json_t *s = json_object_get(doc, "server");
    const char *name = request_text(s, "name"), *mayfly = request_text(s, "mayfly");
    char clock[HUMAN_TEXT], a[HUMAN_TEXT], b[HUMAN_TEXT];

    put_fact(f, TERM_PLAIN, "%s", human_clock(clock, request_time(doc, "time")));
    if (strcmp(name, request_text(s, "id")) == 0) /* it has no name of its own */
        put_fact(f, TERM_BOLD, "%.8s%s", name, f->term->utf8 ? "…" : "...");
    else
        put_fact(f, TERM_BOLD, "%s", name);
    put_fact(f, TERM_PLAIN, "%s %s", mayfly[0] == '\0' ? "nats-server" : "mayfly",
             mayfly[0] == '\0' ? request_text(s, "version") : mayfly);
    put_fact(f, TERM_PLAIN, "up %s", request_text(s, "uptime"));
    put_fact(f, TERM_PLAIN, "cpu %.1f %%", pages_number(s, "cpu"));
    put_fact(f, TERM_PLAIN, "memory %s", bytes_text(a, s, "mem"));
    if (f->term->tty)
        put_fact(f, TERM_DIM, "q leaves");
    end_line(f);
    put_fact(f, TERM_PLAIN, "in %s %s/s", rate_text(a, s, "in_msgs_per_second"),
             bytes_text(b, s, "in_bytes_per_second"));
    put_fact(f, TERM_PLAIN, "out %s %s/s", rate_text(a, s, "out_msgs_per_second"),
             bytes_text(b, s, "out_bytes_per_second"));
    put_fact(f, TERM_PLAIN, "connections %s", count_text(a, s, "connections"));
    put_fact(f, TERM_PLAIN, "subscriptions %s", count_text(a, s, "subscriptions"));
    if (pages_number(s, "slow_consumers") > 0)
        put_fact(f, TERM_RED, "slow consumers %s", count_text(a, s, "slow_consumers"));
    end_line(f);
}

static void put_jetstream(struct facts *f, const json_t *doc)
{
    const json_t *js = json_object_get(doc, "jetstream");
    double late = pages_number(json_object_get(js, "lateness_ms"), "p99");
    char a[HUMAN_TEXT], b[HUMAN_TEXT];

    if (js == NULL) {
        put_fact(f, TERM_PLAIN, "no JetStream (start the server with -js)");
        end_line(f);
        return;
    }
    put_fact(f, TERM_PLAIN, "streams %s", count_text(a, js, "streams"));
    put_fact(f, TERM_PLAIN, "messages %s %s", count_text(a, js, "messages"),
             bytes_text(b, js, "bytes"));
    put_fact(f, TERM_PLAIN, "consumers %s", count_text(a, js, "consumers"));
    if (json_object_get(js, "expired") != NULL) {
        put_fact(f, pages_number(js, "expired_per_second") > 0 ? TERM_GREEN : TERM_PLAIN,
                 "expired %s", rate_text(a, js, "expired_per_second"));
        put_fact(f, TERM_PLAIN, "late p99 %.1f ms", late);
        put_fact(f, pages_number(js, "overdue") > 0 ? TERM_RED : TERM_PLAIN, "overdue %s",
                 count_text(a, js, "overdue"));
    }
    end_line(f);
}

/* --- tables ----------------------------------------------------------------------------------- */

static void add_stream(struct table *t, const json_t *row, bool narrow)
{
    double expired = pages_number(row, "expired_per_second");
    char text[HUMAN_TEXT];

    table_cell(t, "%s", request_text(row, "name"));
    if (!narrow)
        table_cell(t, "%s", request_text(row, "account"));
    table_cell(t, "%s", count_text(text, row, "messages"));
    if (!narrow) {
        table_cell(t, "%s", bytes_text(text, row, "bytes"));
        table_cell(t, "%s", count_text(text, row, "consumers"));
        table_cell(t, "%s", count_text(text, row, "with_ttl"));
    }
    table_cell(t, "%s", rate_text(text, row, "last_seq_per_second"));
    table_styled(t, expired > 0 ? TERM_GREEN : TERM_PLAIN, "%s",
                 rate_text(text, row, "expired_per_second"));
}

static const char *name_text(const json_t *row, const char *key)
{
    const char *text = request_text(row, key);

    return text[0] == '\0' ? "-" : text;
}

static void add_connection(struct table *t, const json_t *row, bool narrow)
{
    char text[HUMAN_TEXT];

    table_cell(t, "%.0f", pages_number(row, "cid"));
    table_cell(t, "%s", name_text(row, "name"));
    if (!narrow) {
        table_cell(t, "%s", name_text(row, "account"));
        table_cell(t, "%s:%.0f", request_text(row, "ip"), pages_number(row, "port"));
        table_cell(t, "%s", count_text(text, row, "subscriptions"));
        table_cell(t, "%s", bytes_text(text, row, "pending_bytes"));
    }
    table_cell(t, "%s", rate_text(text, row, "in_msgs_per_second"));
    table_cell(t, "%s", rate_text(text, row, "out_msgs_per_second"));
}

struct kind {
    const char *align, *narrow_align;
    const char *heads[8], *narrow_heads[4];
    void (*add)(struct table *t, const json_t *row, bool narrow);
    const char *what;
};
static const struct kind of_streams = {
    "llrrrrrr",
    "lrrr",
    {"STREAM", "ACCOUNT", "MESSAGES", "BYTES", "CONSUMERS", "WITH TTL", "STORED", "EXPIRED"},
    {"STREAM", "MESSAGES", "STORED", "EXPIRED"},
    add_stream,
    "streams"};
static const struct kind of_connections = {
    "rlllrrrr",
    "rlrr",
    {"ID", "CONNECTION", "ACCOUNT", "ADDRESS", "SUBS", "PENDING", "IN", "OUT"},
    {"ID", "CONNECTION", "IN", "OUT"},
    add_connection,
    "connections"};

/* A blank line, the heads, `rows` rows; where there are more, the last one says how many. */
static void draw_list(const struct term *term, const struct kind *k, const json_t *list,
                      double total, size_t rows, struct mf_buf *out)
{
    bool narrow = term->width < NARROW;
    size_t n = json_array_size(list), shown = n <= rows ? n : rows > 0 ? rows - 1 : 0;
    char text[HUMAN_TEXT];
    struct table t;

    if (n == 0)
        return;
    mf_buf_byte(out, '\n');
    table_init(&t, term, narrow ? k->narrow_align : k->align, narrow ? k->narrow_heads : k->heads);
    for (size_t i = 0; i < shown; i++)
        k->add(&t, json_array_get(list, i), narrow);
    table_write(&t, out);
    if (total > (double)shown)
        mf_buf_printf(out, "and %s more %s\n", human_count(text, (uint64_t)total - shown), k->what);
}

static size_t count_lines(const struct mf_buf *b)
{
    size_t n = 0;

    for (size_t i = 0; i < b->len; i++)
        n += b->ptr[i] == '\n';
    return n;
}

void top_draw(const struct term *t, const json_t *doc, int rows, struct mf_buf *out)
{
    const json_t *streams = json_object_get(doc, "streams");
    const json_t *connections = json_object_get(doc, "connections");
    size_t ns = json_array_size(streams), nc = json_array_size(connections), left, used;
    double all_s = pages_number(json_object_get(doc, "jetstream"), "streams");
    double all_c = pages_number(json_object_get(doc, "server"), "connections");
    struct facts f = {.term = t, .out = out};

    put_server(&f, doc);
    put_jetstream(&f, doc);
    used = count_lines(out) + (ns > 0 ? FRAME : 0) + (nc > 0 ? FRAME : 0);
    left = rows == 0 ? SIZE_MAX / 2 : (size_t)rows > used ? (size_t)rows - used : 0;
    if (ns + nc > left) { /* connections give way first, but keep a third */
        nc = left > ns + left / 3 ? left - ns : nc < left / 3 ? nc : left / 3;
        ns = left - nc;
    }
    draw_list(t, &of_streams, streams, all_s < (double)ns ? (double)ns : all_s, ns, out);
    draw_list(t, &of_connections, connections, all_c < (double)nc ? (double)nc : all_c, nc, out);
}
