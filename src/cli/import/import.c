/* import.c: `mayfly import DIR`: streams of a stopped nats-server become streams of a running
 * server.
 *
 * All files are read and checked first; only then is anything sent.  A stream is imported whole or
 * not at all: a refused one leaves nothing behind, and the others go on. */
#include "cli/import/import_commands.h"
#include "cli/import/import_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ENCRYPTED                                                                                  \
    "encrypted: files alone cannot be read; start nats-server with its key, then `mayfly backup` " \
    "(or `nats stream backup`) from it, and restore that here"

const char *import_name(const struct import_stream *x)
{
    return x->store == NULL ? x->folder : x->store->name;
}

void import_refuse(struct import_stream *x, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(x->why, sizeof x->why, fmt, ap);
    va_end(ap);
    x->outcome = IMPORT_REFUSED;
}

static void free_import(struct import *m)
{
    for (size_t i = 0; i < m->n; i++) {
        nats_store_free(m->streams[i].store);
        json_decref(m->streams[i].stored);
        free(m->streams[i].dir);
        free(m->streams[i].folder);
    }
    for (size_t i = 0; i < m->naccounts; i++)
        free(m->accounts[i]);
    free(m->accounts);
    free(m->streams);
}

/* --- reading -------------------------------------------------------------------------------- */

/* Mayfly is one server: a stream has one copy. */
static void fit_config(struct nats_store *s)
{
    json_int_t n = json_integer_value(json_object_get(s->config, "num_replicas"));

    if (n > 1) {
        json_object_set_new(s->config, "num_replicas", json_integer(1));
        nats_notes_add(
            &s->remarks,
            "num_replicas %lld becomes 1; this is one of the copies, which may lack what "
            "others had",
            (long long)n);
    }
    if (json_object_del(s->config, "placement") == 0)
        nats_notes_add(&s->remarks, "placement is left out");
}

static int show_progress(void *arg, uint64_t bytes)
{
    term_progress_set(arg, bytes);
    return cli_interrupted() ? MF_CLOSED : 0;
}

static void check_damage(struct import *m, struct import_stream *x)
{
    if (x->store->damage.n == 0)
        return;
    if (cli_on(m->c, "keep-readable"))
        nats_notes_add(&x->store->remarks, "damaged: imported without what cannot be read");
    else
        import_refuse(x, "damaged, see below; --keep-readable imports what can be read");
}

static void read_stream(struct import *m, struct import_stream *x)
{
    struct term_progress bar;
    struct mf_error e = {.code = 0};
    char label[80];
    int rc;

    if (import_mark(&x->marks, x->dir) != 0) {
        import_refuse(x, "%s cannot be read", x->dir);
        return;
    }
    rc = nats_store_open(&x->store, x->dir, &e);
    if (rc != 0) {
        import_refuse(x, "%s", rc == MF_UNSUPPORTED ? ENCRYPTED : e.text);
        return;
    }
    fit_config(x->store);
    (void)snprintf(label, sizeof label, "checking %.40s", import_name(x));
    term_progress_begin(&bar, &m->c->term, label, 0);
    rc = nats_store_scan(x->store, show_progress, &bar, &e);
    term_progress_end(&bar);
    if (rc != 0)
        import_refuse(x, "%s", rc == MF_CLOSED ? "interrupted" : e.text);
    else if (import_changed(x))
        import_refuse(x, "files changed while they were read: stop nats-server first");
    else
        check_damage(m, x);
}

static int check_unused(struct import *m)
{
    char real[4096];
    pid_t pid = realpath(m->dir, real) == NULL ? 0 : import_user_of(real);

    if (pid == 0)
        return 0;
    return cli_fail(m->c, CLI_FOUND,
                    "process %ld uses %s: stop nats-server first (its store changes while it "
                    "runs)",
                    (long)pid, m->dir);
}

/* --- sending -------------------------------------------------------------------------------- */

/* Does the server have it already?  Then it is refused or skipped. */
static int check_absent(struct import *m, struct import_stream *x)
{
    struct request_error err = {.code = 0};
    json_t *doc = NULL;
    int rc = request_api(m->c, NULL, import_name(x), &doc, &err, "STREAM.INFO.%s", import_name(x));

    json_decref(doc);
    if (rc != 0 || err.code == 404)
        return rc;
    if (err.code != 0)
        return request_refused(m->c, &err, import_name(x));
    if (cli_on(m->c, "skip-existing")) {
        x->outcome = IMPORT_SKIPPED;
        (void)snprintf(x->why, sizeof x->why, "the server has a stream of that name");
    } else
        import_refuse(x, "the server has a stream of that name; --skip-existing passes over it, or "
                         "remove it there first");
    return 0;
}

/* Does a stream of the server store one of its subjects? */
static int check_subjects(struct import *m, struct import_stream *x)
{
    const json_t *subject;
    size_t i;
    int rc = 0;

    json_array_foreach(json_object_get(x->store->config, "subjects"), i, subject)
    {
        struct request_error err = {.code = 0};
        json_t *body = json_pack("{s:O}", "subject", subject), *doc = NULL;
        const char *other;

        rc = request_api(m->c, body, import_name(x), &doc, &err, "STREAM.NAMES");
        other = json_string_value(json_array_get(json_object_get(doc, "streams"), 0));
        if (rc == 0 && err.code != 0)
            rc = request_refused(m->c, &err, import_name(x));
        else if (rc == 0 && other != NULL)
            import_refuse(x, "stream %.60s of the server has messages on %.200s, or could have",
                          other, json_string_value(subject));
        json_decref(body);
        json_decref(doc);
        if (rc != 0 || x->outcome != IMPORT_READY)
            break;
    }
    return rc;
}

static int send_stream(struct import *m, struct import_stream *x)
{
    int rc = check_absent(m, x);

    return rc == 0 && x->outcome == IMPORT_READY ? import_send(m, x) : rc;
}

/* Asks for the obstacles that an import would meet at the server. */
static int try_stream(struct import *m, struct import_stream *x)
{
    int rc = check_absent(m, x);

    if (rc == 0 && x->outcome == IMPORT_READY)
        rc = check_subjects(m, x);
    if (rc == 0 && x->outcome == IMPORT_READY)
        import_check_size(m, x);
    return rc;
}

/* --dry-run without a server checks the files alone. */
static int try_streams(struct import *m)
{
    int rc = 0;

    m->asked = connect_open(m->c) == 0;
    if (!m->asked)
        (void)cli_fail(m->c, 0,
                       "only the files are checked: nobody is asked whether the streams have room "
                       "there");
    for (size_t i = 0; m->asked && rc == 0 && i < m->n; i++)
        if (m->streams[i].outcome == IMPORT_READY)
            rc = cli_interrupted() ? CLI_USAGE : try_stream(m, &m->streams[i]);
    return rc;
}

static bool has_origin(const struct import_stream *x, const char *name)
{
    const char *text =
        json_string_value(json_object_get(json_object_get(x->store->config, "mirror"), "name"));
    const json_t *source;
    size_t i;

    if (text != NULL && strcmp(text, name) == 0)
        return true;
    json_array_foreach(json_object_get(x->store->config, "sources"), i, source)
    {
        text = json_string_value(json_object_get(source, "name"));
        if (text != NULL && strcmp(text, name) == 0)
            return true;
    }
    return false;
}

/* Does it copy a stream that is still to be sent?  A copy that exists already would see its origin
 * while that is being restored. */
static bool must_wait(const struct import *m, const struct import_stream *x)
{
    for (size_t i = 0; i < m->n; i++)
        if (&m->streams[i] != x && m->streams[i].outcome == IMPORT_READY &&
            has_origin(x, import_name(&m->streams[i])))
            return true;
    return false;
}

/* Origins before their copies; those of a circle in any order. */
static struct import_stream *next_to_send(struct import *m)
{
    struct import_stream *any = NULL;

    for (size_t i = 0; i < m->n; i++) {
        struct import_stream *x = &m->streams[i];

        if (x->outcome == IMPORT_READY && !must_wait(m, x))
            return x;
        any = any == NULL && x->outcome == IMPORT_READY ? x : any;
    }
    return any;
}

static int send_streams(struct import *m)
{
    struct import_stream *x;
    int rc = 0;

    while (rc == 0 && (x = next_to_send(m)) != NULL)
        rc = cli_interrupted() ? CLI_USAGE : send_stream(m, x);
    return rc;
}

static int exit_code(const struct import *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->streams[i].outcome == IMPORT_REFUSED)
            return CLI_FOUND;
    return CLI_OK;
}

/* Whether anything was decided before an error ended the command: if not, a table would only hide
 * the error. */
static bool has_begun(const struct import *m)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->streams[i].outcome != IMPORT_READY)
            return true;
    return false;
}

static int import_streams(struct import *m)
{
    bool dry = cli_on(m->c, "dry-run");
    int rc = import_find(m);

    if (rc == 0)
        rc = check_unused(m);
    if (rc == 0 && !dry)
        rc = connect_open(m->c);
    for (size_t i = 0; rc == 0 && i < m->n; i++)
        read_stream(m, &m->streams[i]);
    if (rc == 0)
        rc = dry ? try_streams(m) : send_streams(m);
    if (m->n > 0 && (rc == 0 || has_begun(m)))
        import_print(m, dry);
    else if (rc == 0)
        rc = cli_fail(m->c, CLI_NOT_FOUND, "account %s of %s has no streams on disk", m->account,
                      m->dir);
    return rc != 0 ? rc : exit_code(m);
}

static int run_import(struct cli *c)
{
    struct import m = {.c = c, .dir = cli_arg(c, 0)};
    int rc = import_streams(&m);

    free_import(&m);
    return rc;
}

/* --- the table ------------------------------------------------------------------------------ */

static const struct cli_flag flags[] = {
    {"account", 0, CLI_TEXT, "NAME", "the account of the store whose streams are imported"},
    {"stream", 0, CLI_TEXTS, "NAME", "only this stream; may be given several times"},
    {"skip-existing", 0, CLI_SWITCH, NULL, "pass over streams that the server has already"},
    {"keep-readable", 0, CLI_SWITCH, NULL, "import damaged streams without what cannot be read"},
    {"dry-run", 0, CLI_SWITCH, NULL,
     "check the store, and that the server has no such streams; change nothing"},
    {0},
};

const struct cli_command import_commands[] = {
    {.name = "import",
     .args = "DIR",
     .about = "streams of a stopped nats-server, from its files",
     .help =
         "DIR is the store_dir of nats-server 2.10 to 2.15, its folder jetstream, the folder of "
         "an\n"
         "account or that of a stream.  The files are only read.  Messages keep their sequences,\n"
         "times, headers and TTLs; consumers keep their places.  Streams and consumers in memory "
         "leave\n"
         "no files, so they are not there.\n"
         "\n"
         "Streams are created in the account of the connection.  A store with several accounts "
         "takes\n"
         "one run for each: --account names the one that is read, the user (--user, --creds, ...)\n"
         "decides where its streams go.\n"
         "\n"
         "A stream is imported whole or not at all.  A damaged, encrypted or existing one is "
         "refused,\n"
         "and the others are imported: exit code 1.  Run it again with --skip-existing for the "
         "rest.\n",
     .flags = flags,
     .example = "mayfly import /var/lib/nats --dry-run\n"
                "mayfly import /var/lib/nats --account '$G' --stream KV_sessions\n",
     .run = run_import},
    {0},
};
