/* restore.c: a folder into a stream.
 *
 * Happy path: the archive is read once and verified (backup_scan.h) before the server hears of it;
 * then it is sent in chunks, the next one after the answer to the one before; an empty chunk is the
 * end, and its answer the new stream.
 * Failure: a server drops a restore that failed or fell silent.  Ctrl-C ends the restore early,
 * which the server refuses as cut off.  nats-server may keep what it had taken: that is deleted,
 * since nobody else can have made this stream while its restore was under way. */
#include "cli/ops/backup.h"

#include "base/clock.h"

#include "cli/human.h"
#include "cli/ops/backup_dir.h"
#include "cli/plain_file.h"
#include "cli/request.h"
#include "cli/table.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CHUNK    (512 << 10)
#define CHUNK_NS (60 * CLOCK_S) /* a server may wait for its disk */
#define EXISTS   10130

const struct cli_flag restore_flags[] = {
    {"stream", 0, CLI_TEXT, "NEWNAME",
     "name of the stream, instead of the one in the backup; not for buckets"},
    {"all", 0, CLI_SWITCH, NULL, "every backup in the folders below DIR (of backup --all)"},
    {"verify", 0, CLI_SWITCH, NULL, "only verify that the backup is whole; needs no server"},
    {0},
};

struct upload {
    struct cli *c;
    const char *dir;
    char name[256], data[BACKUP_DIR_PATH];
    struct backup_dir folder;
    natsSubscription *sub;
    char inbox[CONNECT_INBOX], subject[512];
    FILE *file;
    struct term_progress progress;
};

/* --- verifying -------------------------------------------------------------------------------- */

static int compare_digest(struct upload *u, const char *digest, struct mf_error *e)
{
    if (u->folder.digest == NULL || strcmp(u->folder.digest, digest) == 0)
        return 0;
    return mf_fail(e, MF_CORRUPT, "the archive is not the one that " BACKUP_DIR_META " describes");
}

/* Reads the whole archive once. */
static int verify_archive(struct upload *u, json_t *row)
{
    static uint8_t piece[CHUNK];
    char digest[BACKUP_SCAN_DIGEST];
    struct backup_scan s;
    struct mf_error e;
    size_t n;
    int rc = backup_scan_init(&s, &e);

    if (rc != 0)
        return cli_fail(u->c, CLI_USAGE, "%s", e.text);
    term_progress_begin(&u->progress, &u->c->term, "verifying", u->folder.bytes);
    while (rc == 0 && !cli_interrupted() && (n = fread(piece, 1, sizeof piece, u->file)) > 0) {
        rc = backup_scan_feed(&s, mf_slice(piece, n), &e);
        term_progress_set(&u->progress, s.bytes);
    }
    term_progress_end(&u->progress);
    if (rc == 0 && ferror(u->file) != 0)
        rc = mf_fail_errno(&e, MF_IO, "read");
    if (rc == 0 && cli_interrupted())
        rc = mf_fail(&e, MF_IO, "interrupted");
    if (rc == 0)
        rc = backup_scan_end(&s, digest, &e);
    if (rc == 0)
        rc = compare_digest(u, digest, &e);
    if (rc == 0) {
        (void)json_object_set_new(row, "result", json_string("whole"));
        (void)json_object_set_new(row, "messages", json_integer((json_int_t)s.messages));
        (void)json_object_set_new(row, "consumers", json_integer((json_int_t)s.consumers));
        (void)json_object_set_new(row, "archive_bytes", json_integer((json_int_t)s.bytes));
        (void)json_object_set_new(row, "unpacked_bytes", json_integer((json_int_t)s.unpacked));
    }
    backup_scan_fini(&s);
    rewind(u->file);
    return rc == 0 ? 0 : cli_fail(u->c, CLI_USAGE, "%s: %s", u->data, e.text);
}

/* --- sending ---------------------------------------------------------------------------------- */

/* One chunk and its answer.  *doc: the answer's document, NULL if it is empty. */
static int exchange_chunk(struct upload *u, const void *bytes, size_t n, bool mind_signals,
                          json_t **doc)
{
    natsConnection *nc = connect_get(u->c);
    int64_t until = clock_mono_ns() + CHUNK_NS;
    natsMsg *m = NULL;
    natsStatus s = natsConnection_PublishRequest(nc, u->subject, u->inbox, bytes, (int)n);

    *doc = NULL;
    if (s == NATS_OK)
        s = NATS_TIMEOUT;
    while (s == NATS_TIMEOUT) {
        s = natsSubscription_NextMsg(&m, u->sub, 200);
        if (s != NATS_TIMEOUT)
            break;
        if (mind_signals && cli_interrupted())
            return cli_fail(u->c, CLI_USAGE, "restore of %s: interrupted", u->name);
        if (natsConnection_Status(nc) != NATS_CONN_STATUS_CONNECTED)
            return cli_fail(u->c, CLI_USAGE, "restore of %s: the connection is lost", u->name);
        if (clock_mono_ns() > until)
            return cli_fail(u->c, CLI_USAGE, "restore of %s: no answer to a chunk", u->name);
    }
    if (s != NATS_OK)
        return connect_fail(u->c, s, "restore of %s", u->name);
    if (natsMsg_IsNoResponders(m)) {
        natsMsg_Destroy(m);
        return cli_fail(u->c, CLI_REFUSED, "restore of %s: the server has given it up", u->name);
    }
    if (natsMsg_GetDataLength(m) > 0)
        *doc = json_loadb(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m), 0, NULL);
    natsMsg_Destroy(m);
    return 0;
}

/* An answer with an error in it; 0 if there is none. */
static int refuse_answer(struct upload *u, const json_t *doc)
{
    const json_t *e = json_object_get(doc, "error");

    if (e == NULL)
        return 0;
    (void)cli_fail(u->c, CLI_REFUSED, "refused: restore of %s: %s (%d)", u->name,
                   request_text(e, "description"), (int)request_int(e, "err_code"));
    if (strstr(request_text(e, "description"), "subjects overlap") != NULL)
        (void)fputs("hint: a restored stream has the subjects of the backup: remove the stream "
                    "that has them now\n(`mayfly stream ls --subject SUBJECT`), or restore to "
                    "another server (-s URL)\n",
                    stderr);
    return CLI_REFUSED;
}

static int send_chunks(struct upload *u, json_t **made)
{
    int64_t max = natsConnection_GetMaxPayload(connect_get(u->c));
    size_t size = max > 0 && max < CHUNK ? (size_t)max : CHUNK, n;
    uint8_t *piece = malloc(size);
    uint64_t sent = 0;
    int rc = piece == NULL ? cli_fail(u->c, CLI_USAGE, "out of memory") : 0;
    char label[300];

    (void)snprintf(label, sizeof label, "restoring %s", u->name);
    term_progress_begin(&u->progress, &u->c->term, label, u->folder.bytes);
    while (rc == 0 && (n = fread(piece, 1, size, u->file)) > 0) {
        json_t *doc;

        rc = exchange_chunk(u, piece, n, true, &doc);
        if (rc == 0)
            rc = refuse_answer(u, doc);
        json_decref(doc);
        term_progress_set(&u->progress, sent += n);
    }
    free(piece);
    if (rc == 0 && sent != u->folder.bytes)
        rc = cli_fail(u->c, CLI_USAGE, "%s changed while it was read", u->data);
    if (rc == 0)
        rc = exchange_chunk(u, NULL, 0, true, made);
    if (rc == 0)
        rc = refuse_answer(u, *made);
    term_progress_end(&u->progress);
    return rc;
}

/* --- beginning and giving up ------------------------------------------------------------------ */

static int begin_upload(struct upload *u)
{
    json_t *config = json_deep_copy(json_object_get(u->folder.meta, "config"));
    json_t *state = json_object_get(u->folder.meta, "state"), *body, *doc = NULL;
    struct request_error err;
    natsStatus s;
    int rc;

    (void)json_object_set_new(config, "name", json_string(u->name));
    body = json_pack("{s:o, s:O*}", "config", config, "state", state);
    rc = request_api(u->c, body, u->name, &doc, &err, "STREAM.RESTORE.%s", u->name);
    json_decref(body);
    if (rc == 0 && err.err_code == EXISTS)
        rc =
            cli_fail(u->c, CLI_REFUSED,
                     "refused: stream %s exists; remove it first (mayfly stream rm %s), or restore "
                     "to another server (-s URL) (%d)",
                     u->name, u->name, err.err_code);
    else if (rc == 0 && err.code != 0)
        rc = request_refused(u->c, &err, u->name);
    (void)snprintf(u->subject, sizeof u->subject, "%s", request_text(doc, "deliver_subject"));
    json_decref(doc);
    if (rc == 0 && u->subject[0] == '\0')
        rc = cli_fail(u->c, CLI_REFUSED, "restore of %s: the answer names no subject to send to",
                      u->name);
    if (rc != 0)
        return rc;
    connect_make_inbox(u->c, u->inbox);
    s = natsConnection_SubscribeSync(&u->sub, connect_get(u->c), u->inbox);
    return s == NATS_OK ? 0 : connect_fail(u->c, s, "restore of %s", u->name);
}

static json_t *ask_directly(struct upload *u, const char *verb)
{
    natsMsg *reply = NULL;
    json_t *doc = NULL;
    char subject[CONNECT_PREFIX + 300];

    (void)snprintf(subject, sizeof subject, "%s.STREAM.%s.%s", connect_api_prefix(u->c), verb,
                   u->name);
    if (natsConnection_RequestString(&reply, connect_get(u->c), subject, "", 5000) == NATS_OK)
        doc = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, NULL);
    natsMsg_Destroy(reply);
    return doc;
}

/* Leaves no stream behind. */
static void give_up(struct upload *u)
{
    json_t *doc = NULL;

    if (natsConnection_Status(connect_get(u->c)) != NATS_CONN_STATUS_CONNECTED) {
        (void)cli_fail(u->c, 0,
                       "a Mayfly drops what it has of %s in a few seconds; on a nats-server look "
                       "with mayfly stream ls",
                       u->name);
        return;
    }
    (void)natsConnection_PublishRequest(connect_get(u->c), u->subject, u->inbox, NULL, 0);
    for (int64_t until = clock_mono_ns() + 5 * CLOCK_S; clock_mono_ns() < until && doc == NULL;) {
        natsMsg *m = NULL;

        if (natsSubscription_NextMsg(&m, u->sub, 5000) != NATS_OK || natsMsg_IsNoResponders(m))
            until = 0;
        else if (natsMsg_GetDataLength(m) > 0)
            doc = json_loadb(natsMsg_GetData(m), (size_t)natsMsg_GetDataLength(m), 0, NULL);
        natsMsg_Destroy(m);
    }
    json_decref(doc);
    doc = ask_directly(u, "INFO");
    if (doc != NULL && json_object_get(doc, "error") == NULL)
        json_decref(ask_directly(u, "DELETE"));
    json_decref(doc);
}

static int upload_stream(struct upload *u, json_t *row)
{
    json_t *made = NULL;
    int rc = connect_open(u->c);

    if (rc == 0)
        rc = begin_upload(u);
    if (rc == 0 && (rc = send_chunks(u, &made)) != 0)
        give_up(u);
    if (rc == 0) {
        (void)json_object_set_new(row, "result", json_string("restored"));
        (void)json_object_set(row, "state", json_object_get(made, "state"));
    }
    json_decref(made);
    natsSubscription_Destroy(u->sub);
    u->sub = NULL;
    return rc;
}

/* The keys of a bucket are subjects below its name, in the configuration and in each message: under
 * another name nobody would find them. */
static int refuse_new_name(struct upload *u)
{
    const char *old = request_text(json_object_get(u->folder.meta, "config"), "name");
    bool bucket = strncmp(old, "KV_", 3) == 0 || strncmp(old, "OBJ_", 4) == 0;

    if (!bucket || strcmp(old, u->name) == 0)
        return 0;
    return cli_fail(u->c, CLI_USAGE,
                    "--stream: %s holds a bucket, and its keys are found only under its own name; "
                    "remove %s first (mayfly stream rm %s), or restore to another server (-s URL)",
                    u->dir, old, old);
}

/* --- the command ------------------------------------------------------------------------------ */

static int restore_one(struct cli *c, const char *dir, json_t *rows)
{
    struct upload u = {.c = c, .dir = dir};
    const char *name = cli_text(c, "stream");
    struct mf_error e;
    json_t *row;
    int rc;

    if (backup_dir_open(&u.folder, dir, &e) != 0 ||
        backup_dir_path(u.data, dir, BACKUP_DIR_DATA, &e) != 0)
        return cli_fail(c, e.code == MF_NOTFOUND ? CLI_NOT_FOUND : CLI_USAGE, "%s", e.text);
    if (name == NULL)
        name = request_text(json_object_get(u.folder.meta, "config"), "name");
    (void)snprintf(u.name, sizeof u.name, "%s", name);
    row = json_pack("{s:s, s:s, s:s}", "stream", u.name, "dir", dir, "result", "failed");
    (void)json_array_append_new(rows, row);
    rc = cli_on(c, "verify") ? 0 : refuse_new_name(&u);
    u.file = plain_file_open(u.data, &e);
    if (rc == 0)
        rc = u.file == NULL ? cli_fail(c, CLI_USAGE, "%s", e.text) : verify_archive(&u, row);
    if (rc == 0 && !cli_on(c, "verify")) {
        (void)json_object_set_new(row, "result", json_string("failed"));
        rc = upload_stream(&u, row);
    }
    if (u.file != NULL)
        (void)fclose(u.file);
    json_decref(u.folder.meta);
    return rc;
}

/* One that fails does not keep the others from being restored. */
static int restore_all(struct cli *c, const char *dir, json_t *rows)
{
    struct dirent **list = NULL;
    char path[BACKUP_DIR_PATH], meta[BACKUP_DIR_PATH];
    int n = scandir(dir, &list, NULL, alphasort), worst = 0, seen = 0;

    if (n < 0)
        return cli_fail(c, CLI_NOT_FOUND, "%s: %s", dir, strerror(errno));
    for (int i = 0; i < n; i++) {
        if (list[i]->d_name[0] != '.' && !cli_interrupted() &&
            backup_dir_path(path, dir, list[i]->d_name, NULL) == 0 &&
            backup_dir_path(meta, path, BACKUP_DIR_META, NULL) == 0 && access(meta, F_OK) == 0) {
            int rc = restore_one(c, path, rows);

            seen++;
            worst = rc != 0 ? rc : worst;
        }
        free(list[i]);
    }
    free(list);
    if (seen == 0)
        return cli_fail(c, CLI_NOT_FOUND, "no folder below %s holds a finished backup", dir);
    return worst;
}

static void print_rows(struct cli *c, const json_t *rows)
{
    static const char *const heads[] = {"STREAM", "RESULT", "MESSAGES", "CONSUMERS", "ARCHIVE"};
    char text[HUMAN_TEXT];
    struct table t;
    json_t *row;
    size_t i;

    table_init(&t, &c->term, "llrrr", heads);
    json_array_foreach(rows, i, row)
    {
        const json_t *state = json_object_get(row, "state");
        const char *result = request_text(row, "result");
        bool known = state != NULL;

        table_cell(&t, "%s", request_text(row, "stream"));
        table_styled(&t, strcmp(result, "failed") == 0 ? TERM_RED : TERM_GREEN, "%s", result);
        table_cell(&t, "%s",
                   human_count(text, (uint64_t)request_int(known ? state : row, "messages")));
        table_cell(&t, "%s",
                   human_count(text, (uint64_t)(known ? request_int(state, "consumer_count")
                                                      : request_int(row, "consumers"))));
        table_cell(&t, "%s", human_bytes(text, (uint64_t)request_int(row, "archive_bytes")));
    }
    table_print(&t);
}

int restore_run(struct cli *c)
{
    bool all = cli_on(c, "all");
    json_t *rows, *doc;
    int rc;

    if (all && cli_text(c, "stream") != NULL)
        return cli_usage(c, "--all keeps the names; --stream is for one backup");
    if (cli_text(c, "stream") != NULL && !backup_dir_is_name(cli_text(c, "stream")))
        return cli_usage(c, "--stream: a stream's name holds no blanks and none of . * > / \\");
    rows = json_array();
    rc = all ? restore_all(c, cli_arg(c, 0), rows) : restore_one(c, cli_arg(c, 0), rows);
    if (c->json) {
        doc = json_pack("{s:O}", "streams", rows);
        request_print(c, doc);
        json_decref(doc);
    } else if (json_array_size(rows) > 0 && (rc == 0 || all))
        print_rows(c, rows);
    json_decref(rows);
    return rc;
}
