/* import_report.c: what `mayfly import` found and took: a table and remarks, or JSON. */
#include "cli/import/import_impl.h"

#include "cli/human.h"
#include "cli/table.h"

#include <stdio.h>

static const char *const outcomes[] = {[IMPORT_READY] = "ready",
                                       [IMPORT_TAKEN] = "imported",
                                       [IMPORT_SKIPPED] = "skipped",
                                       [IMPORT_REFUSED] = "refused"};

/* The files that decide which messages exist, and the compression. */
static void describe_format(const struct nats_store *s, char *out, size_t size)
{
    if (s->indexed)
        (void)snprintf(out, size, "index v%u%s", s->version, s->packed ? ", S2" : "");
    else
        (void)snprintf(out, size, "blocks%s", s->packed ? ", S2" : "");
}

/* Messages that the server did not keep: expired meanwhile, or over a limit. */
static int64_t count_missing(const struct import_stream *x)
{
    return x->stored == NULL ? 0 : (int64_t)x->store->count - request_int(x->stored, "messages");
}

/* --- for people ----------------------------------------------------------------------------- */

static void add_row(struct table *t, const struct import_stream *x)
{
    char n[HUMAN_TEXT], format[40];
    const struct nats_store *s = x->store;

    table_cell(t, "%s", import_name(x));
    if (s != NULL) {
        table_cell(t, "%s", human_count(n, s->count));
        table_cell(t, "%s", human_bytes(n, s->bytes));
        table_cell(t, "%s", human_count(n, s->deleted));
        table_cell(t, "%s", human_count(n, s->with_ttl));
        table_cell(t, "%s", human_count(n, s->nconsumers));
        describe_format(s, format, sizeof format);
        table_cell(t, "%s", format);
    } else {
        for (int i = 0; i < 6; i++)
            table_cell(t, "-");
    }
    table_styled(t, x->outcome == IMPORT_REFUSED ? TERM_RED : TERM_PLAIN, "%s",
                 outcomes[x->outcome]);
}

static void print_note(struct import *m, const struct import_stream *x, const char *text)
{
    struct mf_buf line = MF_BUF_INIT;

    mf_buf_printf(&line, "%s: %s", import_name(x), text);
    term_print_safe(&m->c->term, mf_buf_slice(&line));
    fputc('\n', m->c->term.out);
    mf_buf_fini(&line);
}

static void print_notes(struct import *m, const struct import_stream *x)
{
    const struct nats_store *s = x->store;
    char text[120];

    if (x->why[0] != '\0')
        print_note(m, x, x->why);
    for (size_t i = 0; s != NULL && i < s->damage.n; i++)
        print_note(m, x, s->damage.at[i]);
    for (size_t i = 0; s != NULL && i < s->remarks.n; i++)
        print_note(m, x, s->remarks.at[i]);
    if (count_missing(x) > 0) {
        (void)snprintf(text, sizeof text,
                       "%lld messages have expired meanwhile, or limits removed them",
                       (long long)count_missing(x));
        print_note(m, x, text);
    }
}

static size_t count_outcome(const struct import *m, enum import_outcome o)
{
    size_t n = 0;

    for (size_t i = 0; i < m->n; i++)
        n += m->streams[i].outcome == o;
    return n;
}

static void print_table(struct import *m, bool dry_run)
{
    static const char *const heads[] = {"STREAM",   "MESSAGES",  "BYTES",  "DELETED",
                                        "WITH TTL", "CONSUMERS", "FORMAT", "OUTCOME"};
    FILE *out = m->c->term.out;
    struct table t;

    table_init(&t, &m->c->term, "lrrrrrll", heads);
    for (size_t i = 0; i < m->n; i++)
        add_row(&t, &m->streams[i]);
    table_print(&t);
    for (size_t i = 0; i < m->n; i++)
        print_notes(m, &m->streams[i]);
    if (dry_run)
        fprintf(out,
                "%zu can be imported, %zu skipped, %zu refused%s; nothing was changed "
                "(--dry-run).\n",
                count_outcome(m, IMPORT_READY), count_outcome(m, IMPORT_SKIPPED),
                count_outcome(m, IMPORT_REFUSED), m->asked ? "" : ", by their files alone");
    else
        fprintf(out, "%zu imported, %zu skipped, %zu refused.\n", count_outcome(m, IMPORT_TAKEN),
                count_outcome(m, IMPORT_SKIPPED), count_outcome(m, IMPORT_REFUSED));
    fprintf(out, "Streams and consumers with storage in memory are not on disk.\n");
}

/* --- for programs --------------------------------------------------------------------------- */

static json_t *list_notes(const struct nats_notes *l)
{
    json_t *list = json_array();

    for (size_t i = 0; i < l->n; i++)
        json_array_append_new(list, json_string(l->at[i]));
    return list;
}

static void set_count(json_t *o, const char *key, uint64_t n)
{
    json_object_set_new(o, key, json_integer((json_int_t)n));
}

static json_t *describe_stream(const struct import_stream *x)
{
    const struct nats_store *s = x->store;
    json_t *o = json_object();
    char format[40];

    json_object_set_new(o, "name", json_string(import_name(x)));
    json_object_set_new(o, "outcome", json_string(outcomes[x->outcome]));
    if (x->why[0] != '\0')
        json_object_set_new(o, "reason", json_string(x->why));
    if (s != NULL) {
        set_count(o, "messages", s->count);
        set_count(o, "bytes", s->bytes);
        set_count(o, "first_seq", s->first_seq);
        set_count(o, "last_seq", s->last_seq);
        set_count(o, "deleted", s->deleted);
        set_count(o, "with_ttl", s->with_ttl);
        set_count(o, "consumers", s->nconsumers);
        describe_format(s, format, sizeof format);
        json_object_set_new(o, "format", json_string(format));
        json_object_set_new(o, "damage", list_notes(&s->damage));
        json_object_set_new(o, "remarks", list_notes(&s->remarks));
    }
    if (x->stored != NULL)
        json_object_set(o, "stored", x->stored);
    return o;
}

static void print_json(struct import *m, bool dry_run)
{
    json_t *doc = json_object(), *list = json_array();

    json_object_set_new(doc, "directory", json_string(m->dir));
    json_object_set_new(doc, "account", json_string(m->account));
    json_object_set_new(doc, "dry_run", json_boolean(dry_run));
    if (dry_run)
        json_object_set_new(doc, "server_asked", json_boolean(m->asked));
    for (size_t i = 0; i < m->n; i++)
        json_array_append_new(list, describe_stream(&m->streams[i]));
    json_object_set_new(doc, "streams", list);
    request_print(m->c, doc);
    json_decref(doc);
}

void import_print(struct import *m, bool dry_run)
{
    if (m->c->json)
        print_json(m, dry_run);
    else
        print_table(m, dry_run);
}
