/* object_put.c: `mayfly object put`: a file becomes chunks and a meta record.
 *
 * Several chunks wait for their publish acks at a time.  The meta record is stored after the last
 * ack, so readers see the old object or the new one.  If anything fails before it, the new chunks
 * are purged. */
#include "cli/data/object.h"

#include "base/clock.h"
#include "cli/data/data_impl.h"
#include "cli/data/publisher.h"
#include "cli/human.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_BYTES 131072
#define CHUNK_MOST  (64 << 20) /* of a server that claims to take more */

const struct cli_flag object_put_flags[] = {
    {"name", 0, CLI_TEXT, "NAME", "name of the object (the file's name)"},
    {"description", 0, CLI_TEXT, "TEXT", "what the object is"},
    {"metadata", 0, CLI_TEXTS, "K=V", "metadata of the object"},
    {"chunk", 0, CLI_SIZE, "SIZE", "bytes of a chunk (128K)"},
    {0},
};

struct upload {
    struct cli *cli;
    const struct object_bucket *bucket;
    FILE *file;
    const char *path;
    json_t *metadata;
    char nuid[64], subject[400];
    uint8_t *chunk;
    size_t chunk_size;
    uint64_t size, chunks;
    struct sha256_state sha;
    struct term_progress progress;
};

static int send_chunks(struct upload *u, struct publisher *p)
{
    for (;;) {
        size_t n = fread(u->chunk, 1, u->chunk_size, u->file);
        int rc;

        if (ferror(u->file))
            return cli_fail(u->cli, CLI_USAGE, "%s: %s", u->path, strerror(errno));
        if (n == 0)
            return publisher_finish(p);
        sha256_add(&u->sha, mf_slice(u->chunk, n));
        rc = publisher_send(p, u->subject, mf_slice(u->chunk, n));
        if (rc != 0)
            return rc;
        u->size += n;
        u->chunks++;
        term_progress_set(&u->progress, u->size);
        if (cli_interrupted())
            return cli_fail(u->cli, CLI_USAGE, "interrupted");
    }
}

static int upload_file(struct upload *u)
{
    struct publisher p;
    struct stat st;
    int rc = publisher_open(&p, u->cli, u->bucket->name);

    if (rc != 0)
        return rc;
    sha256_begin(&u->sha);
    term_progress_begin(
        &u->progress, &u->cli->term, "storing",
        fstat(fileno(u->file), &st) == 0 && S_ISREG(st.st_mode) ? (uint64_t)st.st_size : 0);
    rc = send_chunks(u, &p);
    term_progress_end(&u->progress);
    publisher_close(&p);
    return rc;
}

static json_t *make_meta(struct upload *u, const char *name)
{
    uint8_t digest[SHA256_BYTES];
    char text[64], when[CLOCK_TEXT];
    const char *about = cli_text(u->cli, "description");

    sha256_end(&u->sha, digest);
    object_digest_text(digest, text);
    return json_pack("{s:s, s:s, s:{s:I}, s:s, s:s, s:I, s:I, s:s, s:s, s:b}", "name", name,
                     "description", about == NULL ? "" : about, "options", "max_chunk_size",
                     (json_int_t)u->chunk_size, "bucket", u->bucket->name, "nuid", u->nuid, "size",
                     (json_int_t)u->size, "chunks", (json_int_t)u->chunks, "mtime",
                     clock_rfc3339(when, data_now()), "digest", text, "deleted", 0);
}

static void print_stored(struct cli *c, const struct object_bucket *b, const json_t *meta)
{
    char text[HUMAN_TEXT];

    if (c->json) {
        request_print(c, meta);
        return;
    }
    data_say(c, "%s/%s  %s in %lld chunk%s  %s", b->name, request_text(meta, "name"),
             human_bytes(text, (uint64_t)request_int(meta, "size")),
             (long long)request_int(meta, "chunks"), request_int(meta, "chunks") == 1 ? "" : "s",
             request_text(meta, "digest"));
}

static int store(struct upload *u, const char *name)
{
    json_t *old = NULL, *meta = NULL;
    int rc = object_find(u->cli, u->bucket, name, true, true, &old);

    if (rc != 0)
        return rc;
    rc = upload_file(u);
    if (rc == 0) {
        meta = make_meta(u, name);
        if (meta != NULL && json_object_size(u->metadata) > 0)
            (void)json_object_set(meta, "metadata", u->metadata);
        rc = meta == NULL ? cli_usage(u->cli, "name and description are UTF-8")
                          : object_store_meta(u->cli, u->bucket, name, meta);
    }
    if (rc != 0)
        object_purge_chunks(u->cli, u->bucket, u->nuid);
    else {
        if (old != NULL)
            object_purge_chunks(u->cli, u->bucket, request_text(old, "nuid"));
        print_stored(u->cli, u->bucket, meta);
    }
    json_decref(old);
    json_decref(meta);
    return rc;
}

/* As asked, or as much as the server takes in a message. */
static int make_chunk(struct upload *u, int64_t size)
{
    int64_t most = natsConnection_GetMaxPayload(connect_get(u->cli));

    if (most < 1)
        return cli_fail(u->cli, CLI_REFUSED,
                        "the server takes no payloads: its max_payload is %lld", (long long)most);
    most = most > CHUNK_MOST ? CHUNK_MOST : most;
    u->chunk_size = (size_t)(size > most ? most : size);
    u->chunk = malloc(u->chunk_size);
    return u->chunk == NULL ? cli_fail(u->cli, CLI_USAGE, "out of memory") : 0;
}

static int open_file(struct upload *u)
{
    if (strcmp(u->path, "-") == 0) {
        u->file = stdin;
        return 0;
    }
    u->file = fopen(u->path, "rb");
    return u->file != NULL ? 0 : cli_fail(u->cli, CLI_USAGE, "%s: %s", u->path, strerror(errno));
}

int object_put_run(struct cli *c)
{
    const char *name = cli_text(c, "name");
    char inbox[CONNECT_INBOX];
    struct object_bucket b;
    struct upload u = {.cli = c, .bucket = &b, .path = cli_arg(c, 1)};
    int64_t size = cli_size(c, "chunk", CHUNK_BYTES);
    int rc = object_init(c, cli_arg(c, 0), &b);

    if (name == NULL)
        name = strrchr(u.path, '/') == NULL ? u.path : strrchr(u.path, '/') + 1;
    if (rc == 0 && (*name == '\0' || strcmp(name, "-") == 0))
        rc = cli_usage(c, "the object needs a name: --name NAME");
    if (rc == 0 && size < 1)
        rc = cli_usage(c, "--chunk is at least 1 byte");
    u.metadata = json_object();
    if (rc == 0)
        rc = data_merge_pairs(c, "metadata", "", u.metadata);
    if (rc == 0)
        rc = open_file(&u);
    if (rc == 0)
        rc = connect_open(c);
    if (rc == 0)
        rc = make_chunk(&u, size);
    if (rc == 0) {
        connect_make_inbox(c, inbox);
        (void)snprintf(u.nuid, sizeof u.nuid, "%.60s", strrchr(inbox, '.') + 1);
        (void)snprintf(u.subject, sizeof u.subject, "%s%s", b.chunks, u.nuid);
        rc = store(&u, name);
    }
    free(u.chunk);
    json_decref(u.metadata);
    if (u.file != NULL && u.file != stdin)
        (void)fclose(u.file);
    return rc;
}
