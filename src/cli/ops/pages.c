/* pages.c: see pages.h. */
#include "cli/ops/pages.h"

#include "cli/connect.h"
#include "cli/human.h"

#include <stdio.h>
#include <stdlib.h>

int pages_open(struct cli *c, struct pages *p, const char *text)
{
    struct mf_error e;

    if (text == NULL && cli_text(c, "server") != NULL)
        return cli_usage(c, "-s names the port for clients; this command asks the monitoring port: "
                            "give its URL, for example http://127.0.0.1:8222");
    text = text == NULL ? HTTP_GET_DEFAULT : text;
    (void)human_url(p->text, sizeof p->text, text);
    if (http_url_parse(&p->url, text, &e) != 0)
        return cli_usage(c, "%s", e.text);
    p->url.timeout_ms = connect_timeout_ms(c);
    return p->url.secure ? connect_tls_files(c, &p->url.tls) : 0;
}

static bool is_of_number(uint8_t b)
{
    return b != '\0' && strchr("0123456789.eE+-", b) != NULL;
}

/* Is it an integer beyond 63 bits? */
static bool is_large(struct mf_slice number)
{
    static const char most[] = "9223372036854775807";
    size_t sign = number.len > 0 && number.ptr[0] == '-';

    for (size_t i = sign; i < number.len; i++)
        if (number.ptr[i] < '0' || number.ptr[i] > '9')
            return false;
    number = mf_slice(number.ptr + sign, number.len - sign);
    return number.len > sizeof most - 1 ||
           (number.len == sizeof most - 1 && memcmp(number.ptr, most, number.len) > 0);
}

/* jansson holds integers up to 2^63 - 1.  Larger ones (limits of nats-server that mean "none")
 * become real numbers: ".0" behind them; all others stay what they are. */
static void mark_large(struct mf_slice text, struct mf_buf *out)
{
    bool quoted = false;
    size_t n;

    for (size_t i = 0; i < text.len; i += n) {
        uint8_t b = text.ptr[i];

        n = 1;
        if (b == '"')
            quoted = !quoted;
        else if (quoted && b == '\\' && i + 1 < text.len)
            n = 2;
        else if (!quoted)
            while (is_of_number(b) && i + n < text.len && is_of_number(text.ptr[i + n]))
                n++;
        mf_buf_append(out, text.ptr + i, n);
        if (n >= 19 && !quoted && is_large(mf_slice(text.ptr + i, n)))
            mf_buf_puts(out, ".0");
    }
}

static int read_page(struct mf_slice body, int status, json_t **out, struct mf_error *e)
{
    struct mf_buf text = MF_BUF_INIT;
    json_error_t why;

    if (status != 200)
        return mf_fail(e, MF_PROTO, "HTTP status %d", status);
    *out = json_loadb((const char *)body.ptr, body.len, 0, &why);
    if (*out == NULL) {
        mark_large(body, &text);
        *out = json_loadb((const char *)text.ptr, text.len, 0, &why);
        mf_buf_fini(&text);
    }
    if (json_is_object(*out))
        return 0;
    json_decref(*out);
    *out = NULL;
    return mf_fail(e, MF_PROTO, "the page holds no JSON object");
}

int pages_try(const struct pages *p, bool optional, const char *path, json_t **out,
              struct mf_error *e)
{
    struct mf_buf raw = MF_BUF_INIT;
    struct mf_slice body;
    int status = 0, rc;

    *out = NULL;
    rc = http_get(&p->url, path, &raw, &status, &body, e);
    if (rc == 0 && !(optional && status == 404) && read_page(body, status, out, e) != 0)
        rc = mf_wrap(e, "%s", path);
    mf_buf_fini(&raw);
    return rc;
}

int pages_get(struct cli *c, const struct pages *p, bool optional, json_t **out, const char *fmt,
              ...)
{
    struct mf_error e;
    char path[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(path, sizeof path, fmt, ap);
    va_end(ap);
    if (pages_try(p, optional, path, out, &e) == 0)
        return 0;
    return pages_fail(c, p, &e);
}

int pages_fail(struct cli *c, const struct pages *p, const struct mf_error *e)
{
    return cli_fail(c, CLI_USAGE, "%s: %s%s", p->text, e->text,
                    e->code == MF_IO ? " (start the server with -m PORT, or name its address)"
                                     : "");
}

double pages_number(const json_t *doc, const char *key)
{
    return json_number_value(json_object_get(doc, key));
}

void pages_sort(json_t *rows, int (*compare)(const void *a, const void *b))
{
    size_t n = json_array_size(rows);
    json_t **list = calloc(n + 1, sizeof *list);

    if (list == NULL)
        return; /* unsorted is still right */
    for (size_t i = 0; i < n; i++)
        list[i] = json_incref(json_array_get(rows, i));
    qsort(list, n, sizeof *list, compare);
    (void)json_array_clear(rows);
    for (size_t i = 0; i < n; i++)
        (void)json_array_append_new(rows, list[i]);
    free(list);
}
