/* upgrade.c: the checks of RFC 6455 4.2.1 in nats-server's order, and the answer. */
#include "ws/upgrade_impl.h"

#include <openssl/evp.h>

#include <ctype.h>

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
#define PMCE "permessage-deflate"

/* 16 bytes in base64: 22 letters and "==". */
static bool valid_key(struct mf_slice key)
{
    if (key.len != 24 || key.ptr[22] != '=' || key.ptr[23] != '=')
        return false;
    for (size_t i = 0; i < 22; i++)
        if (!isalnum(key.ptr[i]) && key.ptr[i] != '+' && key.ptr[i] != '/')
            return false;
    return true;
}

/* A client may limit the server's window; Mayfly declines, as it keeps zlib's full window. */
static bool limits_our_window(struct mf_slice params)
{
    struct mf_slice param;

    while (http_next(&params, ';', &param))
        if (mf_starts(param, "server_max_window_bits") &&
            !mf_eq_nocase(param, "server_max_window_bits=15"))
            return true;
    return false;
}

/* Offers are separated by commas, their parameters by semicolons.  Our answer asks for no context
 * on either side, which every client must take. */
static bool offers_deflate(const struct http_request *r)
{
    for (size_t i = 0; i < r->nfields; i++) {
        struct mf_slice list = r->field[i].value, offer, name;
        if (!mf_eq_nocase(r->field[i].name, "Sec-WebSocket-Extensions"))
            continue;
        while (http_next(&list, ',', &offer))
            if (http_next(&offer, ';', &name) && mf_eq_nocase(name, PMCE) &&
                !limits_our_window(offer))
                return true;
    }
    return false;
}

static bool contains_text(struct mf_slice s, const char *what)
{
    return s.len > 0 && memmem(s.ptr, s.len, what, strlen(what)) != NULL;
}

static int refuse_upgrade(struct ws_verdict *v, int status, const char *reason)
{
    v->status = status;
    v->reason = reason;
    return -1;
}

static int check_request(const struct http_request *r, const struct ws_options *o,
                         struct ws_verdict *v)
{
    struct mf_slice key = MF_SLICE_NONE;
    const char *reason;

    v->mqtt = mf_ends(r->path, "/mqtt");
    if (v->mqtt && !o->mqtt)
        return refuse_upgrade(v, 404, "mqtt websocket endpoint not enabled");
    if (!mf_eq_str(r->method, "GET"))
        return refuse_upgrade(v, 405, "request method must be GET");
    if (r->host.len == 0)
        return refuse_upgrade(v, 400, "'Host' missing in request");
    if (!http_has_token(r, "Upgrade", "websocket"))
        return refuse_upgrade(v, 400, "invalid value for header 'Upgrade'");
    if (!http_has_token(r, "Connection", "Upgrade"))
        return refuse_upgrade(v, 400, "invalid value for header 'Connection'");
    if (!http_get(r, "Sec-WebSocket-Key", &key) || key.len == 0)
        return refuse_upgrade(v, 400, "key missing");
    if (!valid_key(key))
        return refuse_upgrade(v, 400, "invalid websocket key");
    if (!http_has_token(r, "Sec-WebSocket-Version", "13"))
        return refuse_upgrade(v, 400, "invalid version");
    if (!ws_origin_allowed(r, o, &reason))
        return refuse_upgrade(v, 403, reason);
    return 0;
}

void ws_judge(const struct http_request *r, const struct ws_options *o, struct ws_verdict *v)
{
    struct mf_slice value = MF_SLICE_NONE;

    *v = (struct ws_verdict){.status = 101};
    if (check_request(r, o, v) != 0)
        return;
    v->compress = o->compression && offers_deflate(r);
    v->no_masking = http_get(r, "Nats-No-Masking", &value) && mf_eq_str(value, "true");
    value = MF_SLICE_NONE;
    if (http_get(r, "User-Agent", &value) && mf_starts(value, "Mozilla/")) {
        v->browser = true;
        /* Chrome says Safari too; only Safari itself also says Version. */
        v->whole_deflated = contains_text(value, "Version/") && contains_text(value, "Safari/");
    }
}

void ws_accept_key(char dst[WS_ACCEPT], struct mf_slice key)
{
    uint8_t text[24 + sizeof GUID], digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;

    memcpy(text, key.ptr, 24);
    memcpy(text + 24, GUID, sizeof GUID - 1);
    EVP_Digest(text, 24 + sizeof GUID - 1, digest, &size, EVP_sha1(), NULL);
    EVP_EncodeBlock((unsigned char *)dst, digest, 20);
}

static void answer_error(const struct http_request *r, const struct ws_verdict *v, int64_t wall_ns,
                         struct mf_buf *out)
{
    const char *text = http_status_text(v->status);
    char date[HTTP_DATE];

    mf_buf_printf(out,
                  "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                  "Sec-Websocket-Version: 13\r\nX-Content-Type-Options: nosniff\r\n"
                  "Date: %s\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n",
                  v->status, text, http_date(date, wall_ns), strlen(text) + 1);
    if (!mf_eq_str(r->method, "HEAD"))
        mf_buf_printf(out, "%s\n", text);
}

void ws_answer(const struct http_request *r, const struct ws_options *o, const struct ws_verdict *v,
               int64_t wall_ns, struct mf_buf *out)
{
    struct mf_slice key = MF_SLICE_NONE;
    char accept[WS_ACCEPT];

    if (v->status != 101 || !http_get(r, "Sec-WebSocket-Key", &key)) {
        answer_error(r, v, wall_ns, out);
        return;
    }
    ws_accept_key(accept, key);
    mf_buf_printf(out,
                  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
                  "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n",
                  accept);
    if (v->compress)
        mf_buf_puts(out, "Sec-WebSocket-Extensions: " PMCE
                         "; server_no_context_takeover; client_no_context_takeover\r\n");
    if (v->no_masking)
        mf_buf_puts(out, "Nats-No-Masking: true\r\n");
    if (v->mqtt)
        mf_buf_puts(out, "Sec-WebSocket-Protocol: mqtt\r\n");
    if (o->headers != NULL)
        mf_buf_puts(out, o->headers);
    mf_buf_puts(out, "\r\n");
}
