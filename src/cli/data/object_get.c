/* object_get.c: `mayfly object get`: the chunks of an object become a file.
 *
 * They are written to a new file FILE.<id>.part, which is renamed when size and digest are right,
 * and removed otherwise.  A link stays a link: the file behind it is replaced.  Devices and FIFOs
 * are written to.  Memory: one batch of chunks. */
#include "cli/data/object.h"

#include "cli/data/data_impl.h"
#include "cli/data/reader.h"
#include "cli/human.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH 8

const struct cli_flag object_get_flags[] = {
    {"output", 'O', CLI_TEXT, "FILE", "the same as FILE"},
    {"force", 'f', CLI_SWITCH, NULL, "overwrite a file that exists"},
    {0},
};

struct download {
    struct cli *cli;
    struct object_bucket bucket;
    json_t *meta, *link;
    FILE *file;
    uint64_t size;
    struct sha256_state sha;
    struct term_progress progress;
};

static int write_chunks(struct download *d, struct reader *r)
{
    int rc = 0;

    while (rc == 0 && !r->ended) {
        struct message m;

        rc = reader_next(r, &m, 1000);
        if (rc == 0 && m.msg != NULL) {
            struct mf_slice data = message_data(m.msg);

            sha256_add(&d->sha, data);
            d->size += data.len;
            if (data.len > 0 && fwrite(data.ptr, 1, data.len, d->file) != data.len)
                rc = cli_fail(d->cli, CLI_USAGE, "the file cannot be written: %s", strerror(errno));
            term_progress_set(&d->progress, d->size);
        }
        message_fini(&m);
        if (rc == 0 && cli_interrupted())
            rc = cli_fail(d->cli, CLI_USAGE, "interrupted");
    }
    return rc;
}

static int receive(struct download *d)
{
    uint64_t size = (uint64_t)request_int(d->meta, "size");
    const char *nuid = request_text(d->meta, "nuid");
    uint8_t digest[SHA256_BYTES];
    char filter[400];
    struct reader r;
    struct reader_options o = {
        .stream = d->bucket.stream, .filter = filter, .what = d->bucket.name, .batch = BATCH};
    int rc = 0;

    sha256_begin(&d->sha);
    (void)snprintf(filter, sizeof filter, "%s%.64s", d->bucket.chunks, nuid);
    if (size > 0 && !data_is_subject(filter, false))
        return cli_fail(d->cli, CLI_REFUSED, "the meta record has a bad nuid");
    if (size > 0)
        rc = reader_open(&r, d->cli, &o);
    if (rc == 0 && size > 0) {
        term_progress_begin(&d->progress, &d->cli->term, "reading", size);
        rc = write_chunks(d, &r);
        term_progress_end(&d->progress);
        reader_close(&r);
    }
    sha256_end(&d->sha, digest);
    if (rc == 0 && d->size != size)
        rc = cli_fail(d->cli, CLI_REFUSED, "the object is damaged: %llu of %llu bytes are there",
                      (unsigned long long)d->size, (unsigned long long)size);
    if (rc == 0 && !object_digest_matches(request_text(d->meta, "digest"), digest))
        rc = cli_fail(d->cli, CLI_REFUSED, "the object is damaged: its digest is not %s",
                      request_text(d->meta, "digest"));
    return rc;
}

/* Receives into a file that is opened with `flags`. */
static int receive_into(struct download *d, const char *path, int flags, mode_t mode)
{
    int fd = open(path, flags | O_WRONLY | O_CLOEXEC | O_NOCTTY, mode), rc;

    d->file = fd < 0 ? NULL : fdopen(fd, "wb");
    if (d->file == NULL)
        return cli_fail(d->cli, CLI_USAGE, "%s: %s", path, strerror(errno));
    rc = receive(d);
    if (fclose(d->file) != 0 && rc == 0)
        rc = cli_fail(d->cli, CLI_USAGE, "%s: %s", path, strerror(errno));
    return rc;
}

/* Into a new file beside it, which then gets its name. */
static int replace_file(struct download *d, const char *path, mode_t mode)
{
    struct mf_buf part = MF_BUF_INIT;
    char inbox[CONNECT_INBOX];
    int rc;

    connect_make_inbox(d->cli, inbox);
    mf_buf_printf(&part, "%s.%s.part", path, strrchr(inbox, '.') + 1);
    rc = receive_into(d, mf_buf_cstr(&part), O_CREAT | O_EXCL | O_NOFOLLOW, mode);
    if (rc == 0 && rename(mf_buf_cstr(&part), path) != 0)
        rc = cli_fail(d->cli, CLI_USAGE, "%s: %s", path, strerror(errno));
    if (rc != 0)
        (void)unlink(mf_buf_cstr(&part));
    mf_buf_fini(&part);
    return rc;
}

static int receive_file(struct download *d, const char *path)
{
    char text[HUMAN_TEXT], *behind;
    struct stat st;
    int rc;

    if (lstat(path, &st) != 0)
        rc = replace_file(d, path, 0666);
    else if (!cli_on(d->cli, "force"))
        rc = cli_fail(d->cli, CLI_USAGE, "%s exists: add --force to overwrite it", path);
    else if (stat(path, &st) != 0 || (behind = realpath(path, NULL)) == NULL)
        rc = cli_fail(d->cli, CLI_USAGE, "%s: the link leads nowhere: %s", path, strerror(errno));
    else {
        rc = S_ISREG(st.st_mode) ? replace_file(d, behind, st.st_mode & 0777)
                                 : receive_into(d, path, 0, 0);
        free(behind);
    }
    if (rc == 0 && d->cli->json)
        request_print(d->cli, d->meta);
    else if (rc == 0)
        data_say(d->cli, "%s  %s, digest is right", path, human_bytes(text, d->size));
    return rc;
}

/* A link names another object, in this or another bucket. */
static int follow_link(struct download *d)
{
    json_t *link = json_object_get(json_object_get(d->meta, "options"), "link"), *old = d->meta;
    int rc;

    if (link == NULL || json_is_null(link))
        return 0;
    if (*request_text(link, "name") == '\0')
        return cli_fail(d->cli, CLI_REFUSED, "the object is a link to a whole bucket");
    rc = object_init(d->cli, request_text(link, "bucket"), &d->bucket);
    if (rc == 0)
        rc = object_find(d->cli, &d->bucket, request_text(link, "name"), false, false, &d->meta);
    else
        d->meta = NULL;
    if (rc == 0 && json_is_object(json_object_get(json_object_get(d->meta, "options"), "link")))
        rc = cli_fail(d->cli, CLI_REFUSED, "the object is a link to a link");
    d->link = old; /* holds the bucket's name */
    return rc;
}

int object_get_run(struct cli *c)
{
    const char *path = cli_arg(c, 2), *name = cli_arg(c, 1);
    struct download d = {.cli = c};
    int rc = object_init(c, cli_arg(c, 0), &d.bucket);

    if (rc == 0 && path != NULL && cli_text(c, "output") != NULL)
        rc = cli_usage(c, "give FILE or --output, not both");
    if (path == NULL)
        path = cli_text(c, "output");
    if (rc == 0 && path == NULL && c->term.tty)
        path = strrchr(name, '/') == NULL ? name : strrchr(name, '/') + 1;
    if (rc == 0 && path != NULL &&
        (*path == '\0' || strcmp(path, ".") == 0 || strcmp(path, "..") == 0))
        rc = cli_usage(c, "\"%s\" is no name of a file: give FILE", path);
    if (rc == 0 && c->json && (path == NULL || strcmp(path, "-") == 0))
        rc = cli_usage(c, "--json and the object do not share stdout: give FILE");
    if (rc == 0)
        rc = connect_open(c);
    if (rc == 0)
        rc = object_find(c, &d.bucket, name, false, false, &d.meta);
    if (rc == 0)
        rc = follow_link(&d);
    if (rc == 0 && path != NULL && strcmp(path, "-") != 0) {
        rc = receive_file(&d, path);
    } else if (rc == 0) {
        d.file = c->term.out;
        rc = receive(&d);
    }
    json_decref(d.meta);
    json_decref(d.link);
    return rc;
}
