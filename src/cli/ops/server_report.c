/* server_report.c: see server_report.h.  Pages are fetched piece by piece (offset, limit), so that
 * no page becomes large. */
#include "cli/ops/server_report.h"

#include "base/clock.h"

#include "cli/human.h"
#include "cli/ops/pages.h"
#include "cli/request.h"
#include "cli/table.h"

const struct cli_flag server_report_flags[] = {
    {"account", 0, CLI_TEXT, "NAME", "only this account"},
    {"sort", 0, CLI_TEXT, "COLUMN", "largest first: by a column with numbers, else by name"},
    {0},
};

#define PAGE 256

/* --- gathering -------------------------------------------------------------------------------- */

/* Appends the rows of a page's `list`, or those of --account, whose name stands in the row's member
 * `account`. */
static int gather(struct cli *c, const struct pages *p, const char *path, const char *list,
                  const char *account, json_t *rows)
{
    const char *only = cli_text(c, "account");
    json_t *all = json_array();
    size_t got = PAGE;
    int rc = 0;

    for (size_t offset = 0; rc == 0 && got == PAGE; offset += got) {
        json_t *page, *part, *one;
        size_t i;

        rc = pages_get(c, p, false, &page, "%s&offset=%zu&limit=%d", path, offset, PAGE);
        part = json_object_get(page, list);
        got = request_add_page(all, part) ? json_array_size(part) : 0;
        json_array_foreach(part, i, one)
        {
            if (got > 0 && (only == NULL || strcmp(only, request_text(one, account)) == 0))
                (void)json_array_append(rows, one);
        }
        json_decref(page);
    }
    json_decref(all);
    return rc;
}

/* All streams (or consumers) of all accounts, each with its account's name. */
static json_t *flatten(const json_t *accounts, bool consumers)
{
    json_t *rows = json_array(), *account, *stream, *consumer;
    size_t a, s, k;

    json_array_foreach(accounts, a, account)
    {
        json_array_foreach(json_object_get(account, "stream_detail"), s, stream)
        {
            (void)json_object_set(stream, "account", json_object_get(account, "name"));
            if (!consumers)
                (void)json_array_append(rows, stream);
            json_array_foreach(json_object_get(stream, "consumer_detail"), k, consumer)
            {
                if (!consumers)
                    break;
                (void)json_object_set(consumer, "account", json_object_get(account, "name"));
                (void)json_array_append(rows, consumer);
            }
        }
    }
    return rows;
}

/* --- sorting ---------------------------------------------------------------------------------- */

/* Keys are paths such as "state.messages". */
static const json_t *find_path(const json_t *row, const char *path)
{
    char word[64];

    while (row != NULL && *path != '\0') {
        size_t n = strcspn(path, ".");

        (void)snprintf(word, sizeof word, "%.*s", (int)n, path);
        row = json_object_get(row, word);
        path += n;
        path += *path == '.';
    }
    return row;
}

static const char *sort_path;

static int compare_rows(const void *a, const void *b)
{
    const json_t *x = find_path(*(json_t *const *)a, sort_path);
    const json_t *y = find_path(*(json_t *const *)b, sort_path);

    if (json_is_string(x) && json_is_string(y))
        return strcmp(json_string_value(x), json_string_value(y));
    return (json_number_value(x) < json_number_value(y)) -
           (json_number_value(x) > json_number_value(y));
}

/* --- tables ----------------------------------------------------------------------------------- */

struct column {
    const char *head, *path;
    char kind; /* t text, n number, b bytes */
};
struct kind {
    const char *name; /* what the rows are */
    struct column columns[9];
};

static const struct kind kinds[] = {
    {"streams",
     {{"STREAM", "name", 't'},
      {"ACCOUNT", "account", 't'},
      {"STORAGE", "config.storage", 't'},
      {"MESSAGES", "state.messages", 'n'},
      {"BYTES", "state.bytes", 'b'},
      {"SUBJECTS", "state.num_subjects", 'n'},
      {"DELETED", "state.num_deleted", 'n'},
      {"CONSUMERS", "state.consumer_count", 'n'}}},
    {"consumers",
     {{"STREAM", "stream_name", 't'},
      {"CONSUMER", "name", 't'},
      {"ACCOUNT", "account", 't'},
      {"UNPROCESSED", "num_pending", 'n'},
      {"UNACKED", "num_ack_pending", 'n'},
      {"REDELIVERED", "num_redelivered", 'n'},
      {"WAITING", "num_waiting", 'n'},
      {"DELIVERED", "delivered.stream_seq", 'n'}}},
    {"connections",
     {{"ID", "cid", 'n'},
      {"NAME", "name", 't'},
      {"ACCOUNT", "account", 't'},
      {"ADDRESS", "ip", 't'},
      {"UPTIME", "uptime", 't'},
      {"IN", "in_msgs", 'n'},
      {"OUT", "out_msgs", 'n'},
      {"PENDING", "pending_bytes", 'b'},
      {"SUBS", "subscriptions", 'n'}}},
    {"accounts",
     {{"ACCOUNT", "acc", 't'},
      {"CONNECTIONS", "conns", 'n'},
      {"SUBS", "num_subscriptions", 'n'},
      {"IN", "received.msgs", 'n'},
      {"IN BYTES", "received.bytes", 'b'},
      {"OUT", "sent.msgs", 'n'},
      {"OUT BYTES", "sent.bytes", 'b'},
      {"SLOW", "slow_consumers", 'n'}}},
};

static void put_value(struct table *t, const json_t *row, const struct column *col)
{
    const json_t *v = find_path(row, col->path);
    char text[HUMAN_TEXT];

    if (col->kind == 't')
        table_cell(t, "%s", json_is_string(v) ? json_string_value(v) : "-");
    else if (col->kind == 'b')
        table_cell(t, "%s", human_bytes(text, (uint64_t)json_number_value(v)));
    else
        table_cell(t, "%s", human_count(text, (uint64_t)json_number_value(v)));
}

static void print_rows(struct cli *c, const struct kind *k, const json_t *rows)
{
    char align[MF_COUNT(k->columns) + 1] = "";
    const char *heads[MF_COUNT(k->columns)];
    char count[HUMAN_TEXT];
    struct table t;
    json_t *row;
    size_t n = 0, i;

    for (; n < MF_COUNT(k->columns) && k->columns[n].head != NULL; n++) {
        heads[n] = k->columns[n].head;
        align[n] = k->columns[n].kind == 't' ? 'l' : 'r';
    }
    table_init(&t, &c->term, align, heads);
    json_array_foreach(rows, i, row) for (size_t col = 0; col < n; col++)
        put_value(&t, row, &k->columns[col]);
    table_print(&t);
    (void)fprintf(c->term.out, "%s %.*s\n", human_count(count, json_array_size(rows)),
                  (int)(strlen(k->name) - (json_array_size(rows) == 1)), k->name);
}

static json_t *select_accounts(const json_t *list, const char *only)
{
    json_t *rows = json_array(), *one;
    size_t i;

    json_array_foreach(list, i, one)
    {
        if (only == NULL || strcmp(only, request_text(one, "acc")) == 0)
            (void)json_array_append(rows, one);
    }
    return rows;
}

static int gather_rows(struct cli *c, const struct pages *p, const struct kind *k, json_t **rows)
{
    json_t *accounts = json_array(), *page = NULL;
    int rc;

    *rows = NULL;
    if (strcmp(k->name, "connections") == 0) {
        *rows = json_array();
        rc = gather(c, p, "/connz?auth=true", "connections", "account", *rows);
    } else if (strcmp(k->name, "accounts") == 0) {
        rc = pages_get(c, p, false, &page, "/accstatz?unused=1");
        *rows = select_accounts(json_object_get(page, "account_statz"), cli_text(c, "account"));
    } else {
        rc = gather(c, p, "/jsz?accounts=true&streams=true&consumers=true&config=true",
                    "account_details", "name", accounts);
        *rows = flatten(accounts, strcmp(k->name, "consumers") == 0);
    }
    json_decref(page);
    json_decref(accounts);
    return rc;
}

/* The path of the column that --sort names; NULL: there is none. */
static const char *find_sort(const struct kind *k, const char *name)
{
    if (name == NULL)
        return k->columns[0].path;
    for (size_t i = 0; i < MF_COUNT(k->columns) && k->columns[i].head != NULL; i++)
        if (mf_eq_nocase(mf_str(k->columns[i].head), name))
            return k->columns[i].path;
    return NULL;
}

int server_report_run(struct cli *c)
{
    const struct kind *k = NULL;
    struct pages p;
    const char *path;
    json_t *rows = NULL;
    int rc;

    for (size_t i = 0; i < MF_COUNT(kinds); i++)
        if (strcmp(kinds[i].name, cli_arg(c, 0)) == 0)
            k = &kinds[i];
    if (k == NULL)
        return cli_usage(c,
                         "there is no report of %s; there are streams, consumers, connections "
                         "and accounts",
                         cli_arg(c, 0));
    path = find_sort(k, cli_text(c, "sort"));
    if (path == NULL)
        return cli_usage(c, "--sort: the report of %s has no column %s", k->name,
                         cli_text(c, "sort"));
    rc = pages_open(c, &p, cli_arg(c, 1));
    if (rc == 0)
        rc = gather_rows(c, &p, k, &rows);
    if (rc == 0) {
        sort_path = path;
        pages_sort(rows, compare_rows);
        if (c->json)
            request_print(c, rows);
        else
            print_rows(c, k, rows);
    }
    json_decref(rows);
    return rc;
}
