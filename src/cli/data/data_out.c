/* data_out.c: output of the data commands, publish acks, lists, files of JSON. */
#include "cli/data/data.h"

#include "codec/base64.h"

#include <stdlib.h>

void data_bytes_to_json(json_t *doc, const char *key, struct mf_slice bytes)
{
    json_t *text = json_stringn(bytes.len > 0 ? (const char *)bytes.ptr : "", bytes.len);

    if (text != NULL) {
        (void)json_object_set_new(doc, key, text);
        (void)json_object_set_new(doc, "encoding", json_string("text"));
    } else {
        struct mf_buf b = MF_BUF_INIT;

        base64_write(&b, bytes, BASE64_STANDARD);
        (void)json_object_set_new(doc, key, json_stringn((const char *)b.ptr, b.len));
        (void)json_object_set_new(doc, "encoding", json_string("base64"));
        mf_buf_fini(&b);
    }
}

void data_print_lines(struct cli *c, struct mf_slice bytes, const char *indent)
{
    struct mf_buf b = MF_BUF_INIT;

    while (bytes.len > 0) {
        const uint8_t *end = memchr(bytes.ptr, '\n', bytes.len);
        size_t n = end == NULL ? bytes.len : (size_t)(end - bytes.ptr);

        mf_buf_puts(&b, indent);
        term_safe(&b, mf_slice(bytes.ptr, n));
        if (end == NULL)
            break;
        mf_buf_byte(&b, '\n');
        bytes = mf_slice(bytes.ptr + n + 1, bytes.len - n - 1);
    }
    if (b.len > 0)
        (void)fwrite(b.ptr, 1, b.len, c->term.out);
    mf_buf_fini(&b);
}

void data_print_bytes(struct cli *c, struct mf_slice bytes)
{
    if (!c->term.tty) {
        if (bytes.len > 0)
            (void)fwrite(bytes.ptr, 1, bytes.len, c->term.out);
        return;
    }
    data_print_lines(c, bytes, "");
    if (bytes.len > 0 && bytes.ptr[bytes.len - 1] != '\n')
        (void)fputc('\n', c->term.out);
}

void data_print_text(struct cli *c, const char *text)
{
    term_print_safe(&c->term, mf_str(text));
}

bool data_is_output_lost(const struct cli *c)
{
    return ferror(c->term.out) != 0;
}

void data_say(struct cli *c, const char *fmt, ...)
{
    struct mf_buf text = MF_BUF_INIT;
    va_list ap;

    va_start(ap, fmt);
    mf_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    term_print_safe(&c->term, mf_buf_slice(&text));
    (void)fputc('\n', c->term.out);
    mf_buf_fini(&text);
}

json_t *data_json_text(const char *text)
{
    json_t *doc = json_string(text);
    struct mf_buf safe = MF_BUF_INIT;

    if (doc != NULL)
        return doc;
    term_safe(&safe, mf_str(text));
    doc = json_string(mf_buf_cstr(&safe));
    mf_buf_fini(&safe);
    return doc;
}

int data_flush(struct cli *c)
{
    natsConnection *nc = connect_get(c);
    const char *text = NULL;
    natsStatus s = natsConnection_FlushTimeout(nc, connect_timeout_ms(c));

    if (s != NATS_OK)
        return connect_fail(c, s, "no answer from %s", connect_url(c));
    /* The server's answer to the flush follows its refusal, and nats.c stores that at once. */
    s = natsConnection_GetLastError(nc, &text);
    if (s == NATS_OK || text == NULL || *text == '\0')
        return 0;
    if (strstr(text, "ermissions") != NULL)
        return cli_fail(c, CLI_DENIED, "not permitted: %s", text);
    return cli_fail(c, CLI_REFUSED, "refused: %s", text);
}

static int read_ack(struct cli *c, natsMsg *reply, const char *what, json_t **ack,
                    struct request_error *err)
{
    struct request_error own;
    json_error_t e;

    *ack = json_loadb(natsMsg_GetData(reply), (size_t)natsMsg_GetDataLength(reply), 0, &e);
    if (!json_is_object(*ack)) {
        json_decref(*ack);
        *ack = NULL;
        return cli_fail(c, CLI_USAGE, "the answer is no publish ack: another service listens to %s",
                        what);
    }
    request_read_error(*ack, &own);
    if (own.code == 0)
        return 0;
    json_decref(*ack);
    *ack = NULL;
    if (err == NULL)
        return request_refused(c, &own, what);
    *err = own;
    return 0;
}

int data_read_ack(struct cli *c, natsMsg *reply, const char *what, json_t **ack,
                  struct request_error *err)
{
    *ack = NULL;
    if (err != NULL)
        err->code = err->err_code = 0;
    if (!natsMsg_IsNoResponders(reply))
        return read_ack(c, reply, what, ack, err);
    int rc = cli_fail(c, CLI_NOT_FOUND, "no stream stores %s (or JetStream is off)", what);
    request_hint_absent(c, what);
    return rc;
}

int data_publish(struct cli *c, natsMsg *m, const char *what, json_t **ack,
                 struct request_error *err)
{
    natsMsg *reply = NULL;
    int rc = request_send(c, m, &reply);

    *ack = NULL;
    if (err != NULL)
        err->code = err->err_code = 0;
    if (rc != 0)
        return rc;
    rc = data_read_ack(c, reply, what, ack, err);
    natsMsg_Destroy(reply);
    return rc;
}

int data_read_json(struct cli *c, const char *path, json_t **out)
{
    json_error_t e;

    *out = json_load_file(path, JSON_REJECT_DUPLICATES, &e);
    if (*out == NULL && e.line > 0)
        return cli_fail(c, CLI_USAGE, "%s: line %d: %s", path, e.line, e.text);
    if (*out == NULL)
        return cli_fail(c, CLI_USAGE, "%s: %s", path, e.text);
    if (json_is_object(*out))
        return 0;
    json_decref(*out);
    *out = NULL;
    return cli_fail(c, CLI_USAGE, "%s: the document is no JSON object", path);
}

int data_merge_pairs(struct cli *c, const char *flag, const char *prefix, json_t *to)
{
    const char *text;

    for (size_t i = 0; (text = cli_text_at(c, flag, i)) != NULL; i++) {
        const char *eq = strchr(text, '=');
        char key[256];

        if (eq == NULL || eq == text || (size_t)(eq - text) + strlen(prefix) >= sizeof key)
            return cli_usage(c, "--%s wants KEY=VALUE, not \"%s\"", flag, text);
        (void)snprintf(key, sizeof key, "%s%.*s", prefix, (int)(eq - text), text);
        if (eq[1] == '\0')
            (void)json_object_del(to, key);
        else if (json_object_set_new(to, key, json_string(eq + 1)) != 0)
            return cli_usage(c, "--%s \"%s\" is no UTF-8", flag, text);
    }
    return 0;
}

void data_print_list(struct cli *c, const char *member, json_t *list, const char *none,
                     void (*print)(struct cli *c, const json_t *list))
{
    if (c->json) {
        json_t *doc = json_pack("{s:O}", member, list);

        request_print(c, doc);
        json_decref(doc);
    } else if (json_array_size(list) == 0)
        (void)fprintf(stderr, "%s\n", none);
    else
        print(c, list);
}

int data_list(struct cli *c, const char *subject, json_t *body, const char *what, const char *list,
              json_t *all)
{
    size_t seen = 0, total = 0;
    int rc;

    body = body == NULL ? json_object() : json_incref(body);
    do {
        json_t *doc = NULL;
        const json_t *page;

        (void)json_object_set_new(body, "offset", json_integer((json_int_t)seen));
        rc = request_api(c, body, what, &doc, NULL, "%s", subject);
        if (rc != 0)
            break;
        page = json_object_get(doc, list);
        total = (size_t)request_int(doc, "total");
        seen += json_array_size(page);
        if (!request_add_page(all, page))
            total = 0; /* what was counted is gone meanwhile */
        json_decref(doc);
    } while (seen < total);
    json_decref(body);
    return rc;
}
