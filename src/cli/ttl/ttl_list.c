/* ttl_list.c: mayfly ttl ls: messages by their deadlines, or those without one, of one stream or of
 * all.  The table: ttl_list_table.c. */
#include "cli/ttl/ttl_list_impl.h"

#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>

#define PAGE 1000 /* the most that LIST gives in one answer */
#define ROWS 100  /* unless --limit or --all */

/* --- pages ------------------------------------------------------------------------------------ */

static json_t *make_body(struct list *l, struct list_part *p, int64_t limit)
{
    json_t *body = json_pack("{s:s,s:I}", "state", p->state, "limit", (json_int_t)limit);
    json_t *next = json_object_get(p->doc, "next");

    ttl_put_duration(l->c, "within", "within", body);
    ttl_put_filter(l->c, &p->stream, body);
    if (next != NULL)
        (void)json_object_set(body, "from", next);
    return body;
}

/* Adds a page to the document.  The last page's `next` stays in it. */
static void merge_page(struct list_part *p, json_t *page)
{
    json_t *items = json_object_get(p->doc, "items");

    if (p->doc == NULL) {
        p->doc = json_incref(page);
        return;
    }
    (void)json_array_extend(items, json_object_get(page, "items"));
    (void)json_object_set_new(p->doc, "count", json_integer((json_int_t)json_array_size(items)));
    (void)json_object_del(p->doc, "next");
    if (json_object_get(page, "next") != NULL)
        (void)json_object_set(p->doc, "next", json_object_get(page, "next"));
}

static int load_pages(struct list *l, struct list_part *p)
{
    int64_t left = l->most;

    do {
        json_t *body = make_body(l, p, left < PAGE ? left : PAGE);
        json_t *page = NULL;
        struct request_error err = {.code = 0};
        int rc = request_ttl(l->c, body, NULL, &page, &err, "LIST.%s", p->stream.name);

        json_decref(body);
        if (rc == 0 && err.code != 0) {
            json_decref(page);
            /* Of all streams one may have been removed since they were listed. */
            return l->all_streams && err.code == 404
                       ? 0
                       : request_refused(l->c, &err, err.code == 404 ? cli_arg(l->c, 0) : NULL);
        }
        if (rc != 0)
            return rc;
        left -= (int64_t)json_array_size(json_object_get(page, "items"));
        merge_page(p, page);
        json_decref(page);
    } while (left > 0 && json_object_get(p->doc, "next") != NULL && !cli_interrupted());
    l->more |= json_object_get(p->doc, "next") != NULL;
    return 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

static int add_part(struct list *l, const struct request_stream *s, const char *state)
{
    if (mf_array_reserve(&l->parts, &l->parts_cap, l->nparts + 1, sizeof *l->parts) != 0)
        return cli_fail(l->c, CLI_USAGE, "out of memory");
    l->parts[l->nparts++] = (struct list_part){.stream = *s, .state = state};
    return 0;
}

/* Keys that never expire are without a deadline on purpose, or because nobody has set one. */
static int add_stream(struct list *l, const struct request_stream *s)
{
    int rc;

    if (strcmp(l->state, "never") != 0)
        return add_part(l, s, l->state);
    rc = add_part(l, s, "infinite");
    return rc == 0 ? add_part(l, s, "without") : rc;
}

static int add_named(struct list *l, const char *name)
{
    struct request_stream s;

    request_name_stream(&s, name);
    return add_stream(l, &s);
}

/* For those who may not ask for policies. */
static int add_by_names(struct list *l)
{
    size_t seen = 0, i;
    int64_t total = 1;
    int rc = 0;

    while (rc == 0 && seen < (uint64_t)total && !cli_interrupted()) {
        json_t *body = json_pack("{s:I}", "offset", (json_int_t)seen), *doc = NULL, *name;
        const json_t *names;

        rc = request_api(l->c, body, NULL, &doc, NULL, "STREAM.NAMES");
        if (rc == CLI_DENIED)
            (void)cli_fail(l->c, rc,
                           "without that permission, or $MAYFLY.TTL.POLICY, name a STREAM");
        names = json_object_get(doc, "streams");
        json_array_foreach((json_t *)names, i, name) if (rc == 0) rc =
            add_named(l, json_string_value(name));
        total = request_int(doc, "total");
        seen = json_array_size(names) == 0 ? (size_t)total : seen + json_array_size(names);
        json_decref(body);
        json_decref(doc);
    }
    return rc;
}

static int add_all_streams(struct list *l)
{
    json_t *policies, *p;
    bool denied;
    int rc = connect_open(l->c);
    size_t i;

    if (rc != 0)
        return rc;
    json_decref(ttl_ask_one(l->c, NULL, &denied, "POLICY"));
    if (denied)
        return add_by_names(l);
    if ((policies = ttl_policies(l->c, &rc)) == NULL)
        return rc;
    json_array_foreach(policies, i, p) if (rc == 0) rc = add_named(l, request_text(p, "stream"));
    json_decref(policies);
    return rc;
}

static int load_parts(struct list *l)
{
    struct request_stream s;
    int rc;

    if (l->all_streams)
        rc = add_all_streams(l);
    else if ((rc = ttl_open_stream(l->c, &s)) == 0)
        rc = add_stream(l, &s);
    for (size_t i = 0; rc == 0 && i < l->nparts && !cli_interrupted(); i++)
        rc = load_pages(l, &l->parts[i]);
    return rc;
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Of several streams the next end comes first; other lists stay as the server sorted them. */
static int compare_rows(const void *a, const void *b)
{
    const struct list_row *x = a, *y = b;
    int64_t one = request_time(x->item, "expires"), two = request_time(y->item, "expires");

    if (one != two)
        return one < two ? -1 : 1;
    if (x->part != y->part)
        return x->part < y->part ? -1 : 1;
    return request_int(x->item, "seq") < request_int(y->item, "seq") ? -1 : 1;
}

static int make_rows(struct list *l)
{
    size_t n = 0, i;
    json_t *item;

    for (size_t p = 0; p < l->nparts; p++)
        n += json_array_size(json_object_get(l->parts[p].doc, "items"));
    if ((l->rows = calloc(n + 1, sizeof *l->rows)) == NULL)
        return cli_fail(l->c, CLI_USAGE, "out of memory");
    for (size_t p = 0; p < l->nparts; p++)
        json_array_foreach(json_object_get(l->parts[p].doc, "items"), i, item) l->rows[l->nrows++] =
            (struct list_row){&l->parts[p], item};
    if (l->nparts > 1)
        qsort(l->rows, l->nrows, sizeof *l->rows, compare_rows);
    if ((uint64_t)l->most < l->nrows) {
        l->nrows = (size_t)l->most;
        l->more = true;
    }
    for (size_t r = 0; r < l->nrows; r++)
        l->tombstones += request_bool(l->rows[r].item, "tombstone");
    return 0;
}

static struct ttl_ask *make_asks(struct list *l, const char *request, json_t *body)
{
    struct ttl_ask *asks = calloc(l->nparts + 1, sizeof *asks);
    char subject[TTL_SUBJECT];

    for (size_t i = 0; asks != NULL && i < l->nparts; i++) {
        (void)ttl_subject(subject, l->c, "%s.%s", request, l->parts[i].stream.name);
        asks[i].subject = strdup(subject);
        asks[i].body = json_incref(body);
    }
    json_decref(body);
    return asks;
}

/* How many end within the time, of all streams together: of a cut list.  Without permission, or for
 * less than a minute, that stays unknown. */
static int load_forecast(struct list *l)
{
    json_t *body = json_pack("{s:i}", "buckets", 1);
    struct ttl_ask *asks;
    int rc;

    ttl_put_duration(l->c, "within", "within", body);
    if ((asks = make_asks(l, "FORECAST", body)) == NULL)
        return cli_fail(l->c, CLI_USAGE, "out of memory");
    rc = ttl_ask_all(l->c, asks, l->nparts, true);
    l->total_known = true;
    for (size_t i = 0; i < l->nparts; i++) {
        const json_t *all = json_array_get(json_object_get(asks[i].answer, "buckets"), 0);

        l->total_known &= all != NULL;
        l->total_about |= request_bool(asks[i].answer, "counts_approximate");
        l->total += (uint64_t)request_int(all, "msgs");
    }
    ttl_ask_free(asks, l->nparts);
    return rc;
}

/* LIST says the total only without a filter and a time. */
static int load_total(struct list *l)
{
    bool within = cli_duration(l->c, "within", -1) >= 0;
    int rc = 0;

    for (size_t i = 0; i < l->nparts; i++)
        l->marked |= request_int(l->parts[i].doc, "markers") > 0;
    if (l->more && cli_text(l->c, "filter") != NULL)
        return 0;
    if (l->more && within)
        return load_forecast(l);
    if (!l->more && l->marked) /* the number of rows is enough */
        return 0;
    for (size_t i = 0; rc == 0 && i < l->nparts; i++) {
        json_t *body = json_pack("{s:s,s:i}", "state", l->parts[i].state, "limit", 1);
        json_t *doc = json_incref(l->parts[i].doc);

        if (doc != NULL && json_object_get(doc, "total") == NULL) {
            json_decref(doc);
            rc = ttl_request(l->c, body, NULL, &doc, "LIST.%s", l->parts[i].stream.name);
        }
        l->total += (uint64_t)request_int(doc, "total");
        json_decref(body);
        json_decref(doc);
    }
    l->total_known = rc == 0;
    return rc;
}

/* LIST does not say who decided: GET does, of all rows side by side. */
static int load_decisions(struct list *l)
{
    char subject[TTL_SUBJECT];
    int rc;

    if ((l->by = calloc(l->nrows + 1, sizeof *l->by)) == NULL)
        return cli_fail(l->c, CLI_USAGE, "out of memory");
    for (size_t i = 0; i < l->nrows; i++) {
        (void)ttl_subject(subject, l->c, "GET.%s", l->rows[i].part->stream.name);
        l->by[i].subject = strdup(subject);
        l->by[i].body = json_pack("{s:I}", "seq", (json_int_t)request_int(l->rows[i].item, "seq"));
        if (l->by[i].subject == NULL)
            return cli_fail(l->c, CLI_USAGE, "out of memory");
    }
    rc = ttl_ask_all(l->c, l->by, l->nrows, true);
    l->undecided = l->nrows > 0 && l->by[0].answer == NULL;
    if (rc == 0 && l->undecided && !cli_interrupted())
        (void)cli_fail(l->c, 0, "no answer to %s: SET BY is left out", l->by[0].subject);
    return rc;
}

/* --- the command ------------------------------------------------------------------------------ */

static int read_flags(struct list *l)
{
    static const char *const states[] = {"with", "without", "infinite", "never"};
    struct cli *c = l->c;
    size_t i = 0;

    l->all_streams = cli_arg(c, 0) == NULL;
    l->state = cli_text(c, "state") == NULL ? "with" : cli_text(c, "state");
    l->most = cli_on(c, "all") ? INT64_MAX : cli_number(c, "limit", ROWS);
    while (i < MF_COUNT(states) && strcmp(l->state, states[i]) != 0)
        i++;
    if (i == MF_COUNT(states))
        return cli_usage(c, "--state must be with, without, infinite or never");
    if (i > 0 && cli_duration(c, "within", -1) >= 0)
        return cli_usage(c, "--within goes with --state with alone");
    if (cli_on(c, "all") && cli_number(c, "limit", -1) >= 0)
        return cli_usage(c, "give --limit or --all, not both");
    return l->most < 1 ? cli_usage(c, "--limit must be 1 or more") : 0;
}

/* The answer of LIST; of several streams or states all of them, in one document. */
static void print_json(struct list *l)
{
    json_t *all = json_array(), *doc;

    if (l->nparts == 1 && !l->all_streams) {
        request_print(l->c, l->parts[0].doc);
        json_decref(all);
        return;
    }
    for (size_t i = 0; i < l->nparts; i++) {
        ttl_put_text(l->parts[i].state, "state", l->parts[i].doc);
        (void)json_array_append(all, l->parts[i].doc);
    }
    doc = json_pack("{s:o}", "lists", all);
    request_print(l->c, doc);
    json_decref(doc);
}

static void free_list(struct list *l)
{
    ttl_ask_free(l->by, l->nrows);
    for (size_t i = 0; i < l->nparts; i++)
        json_decref(l->parts[i].doc);
    free(l->parts);
    free(l->rows);
}

int ttl_list_run(struct cli *c)
{
    struct list l = {.c = c};
    int rc = read_flags(&l);

    if (rc == 0)
        rc = load_parts(&l);
    if (rc == 0)
        rc = make_rows(&l);
    if (rc == 0 && c->json)
        print_json(&l);
    else if (rc == 0) {
        rc = load_total(&l);
        if (rc == 0 && list_is_wide(&l))
            rc = load_decisions(&l);
        if (rc == 0)
            list_print(&l);
    }
    if (rc == 0 && cli_on(c, "fail-if-any") && (l.nrows > l.tombstones || l.more))
        rc = CLI_FOUND;
    free_list(&l);
    return rc;
}
