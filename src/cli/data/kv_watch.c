/* kv_watch.c: `mayfly kv watch|history|keys`: many entries of a bucket. */
#include "cli/data/kv.h"

#include "cli/data/data_impl.h"
#include "cli/data/reader.h"
#include "cli/human.h"
#include "cli/table.h"

#define VALUE_MAX 200 /* bytes of a value in a line */

const struct cli_flag kv_watch_flags[] = {
    {"count", 0, CLI_NUMBER, "N", "end after N lines"},
    {"new", 0, CLI_SWITCH, NULL, "only what changes from now on"},
    {"history", 0, CLI_SWITCH, NULL, "begin with all stored revisions"},
    {0},
};

/* The argument that names keys, or all. */
static int find_filter(struct cli *c, const struct kv *kv, struct mf_buf *out)
{
    const char *keys = cli_arg(c, 1) == NULL ? ">" : cli_arg(c, 1);
    int rc = kv_check_key(c, keys, true);

    kv_subject(kv, keys, out);
    return rc;
}

/* --- watch ------------------------------------------------------------------------------------ */

static enum term_style style_of(const char *operation)
{
    if (strcmp(operation, "put") == 0)
        return TERM_GREEN;
    return strcmp(operation, "expired") == 0 ? TERM_YELLOW : TERM_RED;
}

/* The beginning of a value, as long as a line has room for it: `columns` are taken. */
static void put_value(const struct cli *c, struct mf_buf *line, struct mf_slice value,
                      size_t columns)
{
    const uint8_t *end = value.len == 0 ? NULL : memchr(value.ptr, '\n', value.len);
    size_t room = (size_t)c->term.width > columns ? (size_t)c->term.width - columns : 0;
    char size[HUMAN_TEXT];
    struct mf_buf text = MF_BUF_INIT;

    if (end != NULL || value.len > VALUE_MAX)
        mf_buf_printf(&text, "(%s) ", human_bytes(size, value.len));
    if (end != NULL)
        value.len = (size_t)(end - value.ptr);
    term_safe(&text, mf_slice(value.ptr, value.len > VALUE_MAX ? VALUE_MAX : value.len));
    if (room > 0)
        table_cut(line, &c->term, mf_buf_slice(&text), room);
    mf_buf_fini(&text);
}

static void print_change(struct cli *c, const struct kv *kv, const struct message *m)
{
    const char *operation = kv_operation(m), *ttl = message_header(m, "Nats-TTL");
    struct mf_buf line = MF_BUF_INIT;
    char when[HUMAN_TEXT];

    if (c->json) {
        json_t *doc = kv_to_json(kv, m, true);

        request_print_line(c, doc);
        json_decref(doc);
        return;
    }
    mf_buf_printf(&line, "%s %s%-7s%s ", human_clock(when, m->time_ns),
                  term_on(&c->term, style_of(operation)), operation, term_off(&c->term));
    term_safe(&line, mf_str(kv_key(kv, m)));
    mf_buf_printf(&line, "  rev %llu", (unsigned long long)m->seq);
    if (message_end(m) == NULL) {
        if (ttl != NULL) {
            mf_buf_puts(&line, "  ttl ");
            term_safe(&line, mf_str(ttl));
        }
        mf_buf_puts(&line, "  ");
        put_value(c, &line, message_data(m->msg), term_columns(mf_buf_slice(&line)));
    }
    (void)fprintf(c->term.out, "%s\n", mf_buf_cstr(&line));
    (void)fflush(c->term.out);
    mf_buf_fini(&line);
}

static int watch(struct cli *c, const struct kv *kv, struct reader *r)
{
    int64_t most = cli_number(c, "count", 0), n = 0;
    int rc = 0;

    while (rc == 0 && !cli_interrupted() && !data_is_output_lost(c) && (most == 0 || n < most)) {
        struct message m;

        rc = reader_next(r, &m, 200);
        if (rc == 0 && m.msg != NULL) {
            print_change(c, kv, &m);
            n++;
        }
        message_fini(&m);
    }
    return cli_interrupted() ? 0 : rc;
}

int kv_watch_run(struct cli *c)
{
    struct mf_buf filter = MF_BUF_INIT;
    struct reader r;
    struct kv kv;
    int rc = kv_init(c, cli_arg(c, 0), &kv);

    if (rc == 0 && cli_on(c, "new") && cli_on(c, "history"))
        rc = cli_usage(c, "give --new or --history, not both");
    if (rc == 0)
        rc = find_filter(c, &kv, &filter);
    if (rc == 0) {
        struct reader_options o = {.stream = kv.stream,
                                   .filter = mf_buf_cstr(&filter),
                                   .what = kv.bucket,
                                   .from = cli_on(c, "new")       ? READER_NEW
                                           : cli_on(c, "history") ? READER_ALL
                                                                  : READER_LAST_PER_SUBJECT,
                                   .live = true};

        rc = reader_open(&r, c, &o);
        if (rc == 0 && c->term.tty && !c->json)
            (void)fprintf(stderr, "watching %s; Ctrl-C ends\n", kv.bucket);
        if (rc == 0) {
            rc = watch(c, &kv, &r);
            reader_close(&r);
        }
    }
    mf_buf_fini(&filter);
    return rc;
}

/* --- history and keys ------------------------------------------------------------------------- */

/* Calls `each` for all messages that are there now. */
static int read_all(struct cli *c, struct reader_options *o,
                    void (*each)(struct cli *c, const struct message *m, void *arg), void *arg)
{
    struct reader r;
    int rc = reader_open(&r, c, o);

    if (rc != 0)
        return rc;
    while (rc == 0 && !r.ended && !data_is_output_lost(c)) {
        struct message m;

        rc = reader_next(&r, &m, 1000);
        if (rc == 0 && m.msg != NULL)
            each(c, &m, arg);
        message_fini(&m);
        if (rc == 0 && cli_interrupted())
            rc = cli_fail(c, CLI_USAGE, "interrupted");
    }
    reader_close(&r);
    return rc;
}

struct listing {
    const struct kv *kv;
    struct table table;
    json_t *list;
    size_t n;
};

static void add_revision(struct cli *c, const struct message *m, void *arg)
{
    struct listing *l = arg;
    struct mf_slice value = message_data(m->msg);
    struct mf_buf shown = MF_BUF_INIT;
    char text[HUMAN_TEXT];

    l->n++;
    if (c->json) {
        (void)json_array_append_new(l->list, kv_to_json(l->kv, m, true));
        return;
    }
    term_safe(&shown, mf_slice(value.ptr, value.len > VALUE_MAX ? VALUE_MAX : value.len));
    table_cell(&l->table, "%llu", (unsigned long long)m->seq);
    table_styled(&l->table, style_of(kv_operation(m)), "%s", kv_operation(m));
    table_cell(&l->table, "%s ago", human_duration(text, data_now() - m->time_ns));
    table_cell(&l->table, "%s", human_time(text, m->time_ns));
    table_cell(&l->table, "%s", human_bytes(text, value.len));
    table_cell(&l->table, "%s", mf_buf_cstr(&shown));
    mf_buf_fini(&shown);
}

int kv_history_run(struct cli *c)
{
    static const char *const heads[] = {"REVISION", "OPERATION", "AGE", "WRITTEN", "SIZE", "VALUE"};
    struct mf_buf filter = MF_BUF_INIT, unused = MF_BUF_INIT;
    struct kv kv;
    struct listing l = {.kv = &kv};
    int rc = kv_init(c, cli_arg(c, 0), &kv);

    if (rc == 0)
        rc = kv_check_key(c, cli_arg(c, 1), false);
    if (rc != 0)
        return rc;
    kv_subject(&kv, cli_arg(c, 1), &filter);
    l.list = json_array();
    table_init(&l.table, &c->term, "rlRLRl", heads);
    {
        struct reader_options o = {
            .stream = kv.stream, .filter = mf_buf_cstr(&filter), .what = kv.bucket};

        rc = read_all(c, &o, add_revision, &l);
    }
    if (rc == 0 && l.n == 0)
        rc = cli_fail(c, CLI_NOT_FOUND, "no revision of %s/%s is stored", kv.bucket, cli_arg(c, 1));
    else if (rc == 0 && c->json) {
        json_t *doc = json_pack("{s:O}", "history", l.list);

        request_print(c, doc);
        json_decref(doc);
    }
    if (rc == 0 && !c->json)
        table_print(&l.table);
    else
        table_write(&l.table, &unused);
    json_decref(l.list);
    mf_buf_fini(&unused);
    mf_buf_fini(&filter);
    return rc;
}

static void add_key(struct cli *c, const struct message *m, void *arg)
{
    struct listing *l = arg;
    const char *key = kv_key(l->kv, m);

    if (message_end(m) != NULL)
        return;
    l->n++;
    if (c->json) {
        struct mf_buf safe = MF_BUF_INIT;

        term_safe(&safe, mf_str(key));
        (void)json_array_append_new(l->list, json_string(mf_buf_cstr(&safe)));
        mf_buf_fini(&safe);
    } else {
        data_print_text(c, key);
        (void)fputc('\n', c->term.out);
    }
}

int kv_keys_run(struct cli *c)
{
    struct mf_buf filter = MF_BUF_INIT;
    struct kv kv;
    struct listing l = {.kv = &kv};
    int rc = kv_init(c, cli_arg(c, 0), &kv);

    if (rc == 0)
        rc = find_filter(c, &kv, &filter);
    if (rc != 0) {
        mf_buf_fini(&filter);
        return rc;
    }
    l.list = json_array();
    {
        struct reader_options o = {.stream = kv.stream,
                                   .filter = mf_buf_cstr(&filter),
                                   .what = kv.bucket,
                                   .from = READER_LAST_PER_SUBJECT,
                                   .headers_only = true};

        rc = read_all(c, &o, add_key, &l);
    }
    if (rc == 0 && c->json) {
        json_t *doc = json_pack("{s:O}", "keys", l.list);

        request_print(c, doc);
        json_decref(doc);
    }
    json_decref(l.list);
    mf_buf_fini(&filter);
    return rc;
}
