/* backup.c: a stream into a folder.
 *
 * Happy path: the request is answered with configuration and state; chunks arrive on our inbox;
 * each is written, looked at by the scan, and acknowledged, so the server never has more than its
 * window under way.  An empty message is the end. Failure: a status in the empty message, silence,
 * a lost connection, a full disk, a damaged archive: the partial files are removed, a finished
 * backup in the folder stays. */
#include "cli/ops/backup.h"

#include "base/clock.h"

#include "cli/human.h"
#include "cli/ops/backup_dir.h"
#include "cli/request.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>

#define CHUNK   (128 << 10)
#define WINDOW  (8 << 20)
#define IDLE_NS (15 * CLOCK_S) /* a server gives up after 5 s */

const struct cli_flag backup_flags[] = {
    {"all", 0, CLI_SWITCH, NULL, "every stream of the account, each in a folder DIR/STREAM"},
    {"no-consumers", 0, CLI_SWITCH, NULL, "messages only"},
    {"consumers", 0, CLI_SWITCH, NULL, "with the consumers and their places (the default)"},
    {"check", 0, CLI_SWITCH, NULL, "the server checks the stream's files first"},
    {"force", 0, CLI_SWITCH, NULL, "replace a finished backup in the folder"},
    {0},
};

struct transfer {
    struct cli *c;
    const char *stream, *dir;
    natsSubscription *sub;
    json_t *meta;
    struct backup_scan scan;
    struct backup_writer out;
    struct term_progress progress;
    bool ended;
};

/* --- one stream ------------------------------------------------------------------------------- */

static int ask_snapshot(struct transfer *t)
{
    struct cli *c = t->c;
    char inbox[CONNECT_INBOX];
    json_t *body;
    natsStatus s;
    int rc;

    connect_make_inbox(c, inbox);
    s = natsConnection_SubscribeSync(&t->sub, connect_get(c), inbox);
    if (s == NATS_OK)
        s = natsSubscription_SetPendingLimits(t->sub, -1, -1); /* the window is the limit */
    if (s != NATS_OK)
        return connect_fail(c, s, "backup of %s", t->stream);
    body = json_pack("{s:s, s:i, s:i, s:b, s:b}", "deliver_subject", inbox, "chunk_size", CHUNK,
                     "window_size", WINDOW, "no_consumers", cli_on(c, "no-consumers"), "jsck",
                     cli_on(c, "check"));
    rc = request_api(c, body, t->stream, &t->meta, NULL, "STREAM.SNAPSHOT.%s", t->stream);
    json_decref(body);
    return rc;
}

/* The empty message: an end, or the reason why there is no more. */
static int read_end(struct transfer *t, natsMsg *m)
{
    const char *status = NULL, *text = NULL;

    t->ended = true;
    if (natsMsgHeader_Get(m, "Status", &status) != NATS_OK || strcmp(status, "204") == 0)
        return 0;
    (void)natsMsgHeader_Get(m, "Description", &text);
    return cli_fail(t->c, CLI_REFUSED, "backup of %s: the server ended it: %s %s", t->stream,
                    status, text == NULL ? "" : text);
}

static int take_chunk(struct transfer *t, natsMsg *m)
{
    struct mf_slice bytes = mf_slice(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m));
    const char *reply = natsMsg_GetReply(m);
    struct mf_error e;
    natsStatus s;

    if (bytes.len == 0)
        return read_end(t, m);
    if (backup_writer_add(&t->out, bytes, &e) != 0 || backup_scan_feed(&t->scan, bytes, &e) != 0)
        return cli_fail(t->c, CLI_USAGE, "backup of %s: %s", t->stream, e.text);
    term_progress_set(&t->progress, t->scan.unpacked);
    if (reply == NULL || reply[0] == '\0')
        return 0;
    s = natsConnection_Publish(connect_get(t->c), reply, NULL, 0);
    return s == NATS_OK ? 0 : connect_fail(t->c, s, "backup of %s", t->stream);
}

static int receive_chunks(struct transfer *t)
{
    int64_t seen = clock_mono_ns();
    int rc = 0;

    while (rc == 0 && !t->ended) {
        natsMsg *m = NULL;
        natsStatus s = natsSubscription_NextMsg(&m, t->sub, 200);

        if (s == NATS_OK) {
            rc = take_chunk(t, m);
            seen = clock_mono_ns();
        } else if (s != NATS_TIMEOUT)
            rc = connect_fail(t->c, s, "backup of %s", t->stream);
        else if (natsConnection_Status(connect_get(t->c)) != NATS_CONN_STATUS_CONNECTED)
            rc = cli_fail(t->c, CLI_USAGE, "backup of %s: the connection is lost; run it again",
                          t->stream);
        else if (clock_mono_ns() - seen > IDLE_NS)
            rc = cli_fail(t->c, CLI_USAGE, "backup of %s: the server sends nothing any more",
                          t->stream);
        if (rc == 0 && cli_interrupted())
            rc = cli_fail(t->c, CLI_USAGE, "backup of %s: interrupted; run it again", t->stream);
        natsMsg_Destroy(m);
    }
    return rc;
}

static int finish_transfer(struct transfer *t, json_t *row)
{
    char digest[BACKUP_SCAN_DIGEST];
    struct mf_error e;

    if (backup_scan_end(&t->scan, digest, &e) != 0 ||
        backup_writer_finish(&t->out, t->meta, &t->scan, digest, &e) != 0)
        return cli_fail(t->c, CLI_USAGE, "backup of %s: %s", t->stream, e.text);
    (void)json_object_set_new(row, "result", json_string("made"));
    (void)json_object_update(row, json_object_get(t->meta, "mayfly"));
    return 0;
}

static int run_transfer(struct transfer *t, json_t *row)
{
    struct mf_error e;
    char label[300];
    int rc;

    if (backup_scan_init(&t->scan, &e) != 0)
        return cli_fail(t->c, CLI_USAGE, "%s", e.text);
    rc = ask_snapshot(t);
    if (rc == 0 && backup_writer_begin(&t->out, t->dir, &e) != 0)
        rc = cli_fail(t->c, CLI_USAGE, "%s", e.text);
    if (rc == 0) {
        (void)snprintf(label, sizeof label, "backing up %s", t->stream);
        term_progress_begin(&t->progress, &t->c->term, label,
                            (uint64_t)request_int(json_object_get(t->meta, "state"), "bytes"));
        rc = receive_chunks(t);
        term_progress_end(&t->progress);
        if (rc == 0)
            rc = finish_transfer(t, row);
        if (rc != 0)
            backup_writer_drop(&t->out);
    }
    natsSubscription_Destroy(t->sub);
    json_decref(t->meta);
    backup_scan_fini(&t->scan);
    return rc;
}

/* Whether the folder holds a finished backup of this stream.  0: back it up; 1: keep it; negative:
 * an exit code. */
static int look_at_folder(struct cli *c, const char *stream, const char *dir, json_t *row)
{
    struct backup_dir d;
    struct mf_error e;
    const char *name;
    int rc = backup_dir_open(&d, dir, &e);

    if (rc == MF_NOTFOUND || cli_on(c, "force")) {
        json_decref(d.meta);
        return 0;
    }
    if (rc != 0)
        return -cli_fail(c, CLI_USAGE, "%s (--force replaces it)", e.text);
    name = request_text(json_object_get(d.meta, "config"), "name");
    if (strcmp(name, stream) != 0)
        rc = -cli_fail(c, CLI_USAGE, "%s holds a backup of %s (--force replaces it)", dir, name);
    else if (!cli_on(c, "all"))
        rc = -cli_fail(c, CLI_USAGE,
                       "%s holds a finished backup of %s; name another folder, or replace it with "
                       "--force",
                       dir, stream);
    else {
        (void)json_object_set_new(row, "result", json_string("kept"));
        (void)json_object_update(row, json_object_get(d.meta, "mayfly"));
        rc = 1;
    }
    json_decref(d.meta);
    return rc;
}

static int back_up_one(struct cli *c, const char *stream, const char *dir, json_t *rows)
{
    struct transfer t = {.c = c, .stream = stream, .dir = dir};
    json_t *row = json_pack("{s:s, s:s, s:s}", "stream", stream, "dir", dir, "result", "failed");
    int rc = look_at_folder(c, stream, dir, row);

    (void)json_array_append_new(rows, row);
    if (rc == 0)
        rc = run_transfer(&t, row);
    else
        rc = rc > 0 ? 0 : -rc;
    return rc;
}

/* --- all streams ------------------------------------------------------------------------------ */

static int list_streams(struct cli *c, json_t *names)
{
    int64_t total = 1;
    int rc = 0;

    while (rc == 0 && (int64_t)json_array_size(names) < total) {
        json_t *body = json_pack("{s:I}", "offset", (json_int_t)json_array_size(names));
        json_t *doc = NULL, *part;

        rc = request_api(c, body, NULL, &doc, NULL, "STREAM.NAMES");
        part = json_object_get(doc, "streams");
        total = request_add_page(names, part) ? request_int(doc, "total") : 0;
        json_decref(doc);
        json_decref(body);
    }
    return rc;
}

/* One that fails does not keep the others from being backed up. */
static int back_up_all(struct cli *c, const char *dir, json_t *rows)
{
    json_t *names = json_array(), *name;
    int rc = list_streams(c, names), worst = 0;
    char path[BACKUP_DIR_PATH];
    struct mf_error e;
    size_t i;

    json_array_foreach(names, i, name)
    {
        if (rc != 0 || cli_interrupted())
            break;
        if (!json_is_string(name) || !backup_dir_is_name(json_string_value(name)))
            worst =
                cli_fail(c, CLI_USAGE, "the server names a stream in a way no stream is called");
        else if (backup_dir_path(path, dir, json_string_value(name), &e) != 0)
            worst = cli_fail(c, CLI_USAGE, "%s", e.text);
        else {
            int one = back_up_one(c, json_string_value(name), path, rows);

            worst = one != 0 ? one : worst;
        }
    }
    json_decref(names);
    return rc != 0 ? rc : worst;
}

/* --- the report ------------------------------------------------------------------------------- */

static void print_rows(struct cli *c, const json_t *rows)
{
    static const char *const heads[] = {"STREAM",   "RESULT",  "MESSAGES", "CONSUMERS",
                                        "UNPACKED", "ARCHIVE", "FOLDER"};
    char text[HUMAN_TEXT];
    struct table t;
    json_t *row;
    size_t i;

    table_init(&t, &c->term, "llrrrrl", heads);
    json_array_foreach(rows, i, row)
    {
        const char *result = request_text(row, "result");

        table_cell(&t, "%s", request_text(row, "stream"));
        table_styled(&t, strcmp(result, "failed") == 0 ? TERM_RED : TERM_GREEN, "%s", result);
        table_cell(&t, "%s", human_count(text, (uint64_t)request_int(row, "messages")));
        table_cell(&t, "%s", human_count(text, (uint64_t)request_int(row, "consumers")));
        table_cell(&t, "%s", human_bytes(text, (uint64_t)request_int(row, "unpacked_bytes")));
        table_cell(&t, "%s", human_bytes(text, (uint64_t)request_int(row, "archive_bytes")));
        table_cell(&t, "%s", request_text(row, "dir"));
    }
    table_print(&t);
}

/* A folder that is used again keeps old backups: nobody should take them for new ones. */
static void warn_of_kept(const json_t *rows)
{
    json_t *row;
    int kept = 0;
    size_t i;

    json_array_foreach(rows, i, row) kept += strcmp(request_text(row, "result"), "kept") == 0;
    if (kept > 0)
        (void)fprintf(
            stderr,
            "mayfly: %d finished backup%s kept as %s; --force or another folder makes new "
            "ones\n",
            kept, kept == 1 ? " was" : "s were", kept == 1 ? "it is" : "they are");
}

int backup_run(struct cli *c)
{
    bool all = cli_on(c, "all");
    struct request_stream found;
    json_t *rows, *doc;
    int rc;

    if (all && c->nargs != 1)
        return cli_usage(c, "--all takes the folder alone");
    if (!all && c->nargs != 2)
        return cli_usage(c, "name the stream and the folder, or --all and the folder");
    if (cli_on(c, "consumers") && cli_on(c, "no-consumers"))
        return cli_usage(c, "--consumers and --no-consumers exclude each other");
    rc = connect_open(c);
    if (rc == 0 && !all)
        rc = request_find_stream(c, cli_arg(c, 0), &found);
    if (rc != 0)
        return rc;
    rows = json_array();
    rc =
        all ? back_up_all(c, cli_arg(c, 0), rows) : back_up_one(c, found.name, cli_arg(c, 1), rows);
    if (c->json) {
        doc = json_pack("{s:O}", "streams", rows);
        request_print(c, doc);
        json_decref(doc);
    } else if (rc == 0 || all)
        print_rows(c, rows);
    warn_of_kept(rows);
    json_decref(rows);
    return rc;
}
