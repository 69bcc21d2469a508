/* request_stream.c: streams and keys as users name them. */
#include "cli/request.h"

#include <stdio.h>

/* Names with blanks, dots or wildcards would make another subject of the request. */
static bool is_stream_name(const char *s)
{
    return s[0] != '\0' && strlen(s) < 200 && strpbrk(s, " \t\r\n.*>/\\") == NULL;
}

static void set_stream(struct request_stream *out, const char *prefix, const char *name)
{
    (void)snprintf(out->name, sizeof out->name, "%s%s", prefix, name);
    out->bucket[0] = out->key_prefix[0] = '\0';
    if (strncmp(out->name, "KV_", 3) == 0) {
        (void)snprintf(out->bucket, sizeof out->bucket, "%s", out->name + 3);
        (void)snprintf(out->key_prefix, sizeof out->key_prefix, "$KV.%s.", out->bucket);
    }
}

void request_name_stream(struct request_stream *out, const char *name)
{
    set_stream(out, "", name);
}

int request_find_stream(struct cli *c, const char *text, struct request_stream *out)
{
    struct request_error err = {.code = 0};
    json_t *doc = NULL;
    const char *name = strncmp(text, "kv:", 3) == 0    ? text + 3
                       : strncmp(text, "obj:", 4) == 0 ? text + 4
                                                       : text;
    int rc;

    if (!is_stream_name(name))
        return cli_usage(c, "%s is no name of a stream or bucket", text);
    set_stream(out, name == text ? "" : text[0] == 'k' ? "KV_" : "OBJ_", name);
    if (name != text || strncmp(text, "KV_", 3) == 0)
        return connect_open(c); /* callers rely on a connection */
    rc = request_api(c, NULL, text, &doc, &err, "STREAM.INFO.%s", name);
    json_decref(doc);
    if (rc == CLI_DENIED)
        return cli_fail(c, rc, "without that permission name a bucket kv:%s", name);
    if (rc != 0)
        return rc;
    if (err.code != 404)
        return err.code == 0 ? 0 : request_refused(c, &err, text);
    rc = request_api(c, NULL, text, &doc, &err, "STREAM.INFO.KV_%s", name);
    json_decref(doc);
    if (rc != 0)
        return rc;
    if (err.code == 0)
        set_stream(out, "KV_", name);
    return err.code == 0 ? 0 : request_refused(c, &err, text);
}

void request_subject(const struct request_stream *s, const char *key, struct mf_buf *out)
{
    size_t len = strlen(s->key_prefix);
    bool whole = len > 0 && strncmp(key, s->key_prefix, len) == 0;

    mf_buf_puts(out, whole ? "" : s->key_prefix);
    mf_buf_puts(out, key);
}

const char *request_key(const struct request_stream *s, const char *subject)
{
    size_t len = strlen(s->key_prefix);

    return strncmp(subject, s->key_prefix, len) == 0 ? subject + len : subject;
}
