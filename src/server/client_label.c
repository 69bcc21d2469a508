/* client_label.c: the label of a client in log lines, in nats-server's form. */
#include "server/server_impl.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* The client's own words in CONNECT: "v1.2:go:name", or the given parts of it. */
static void label_client(struct mf_buf *b, const struct connect_opts *o)
{
    struct mf_buf text = MF_BUF_INIT;

    mf_buf_printf(&text, "%s%s", o->version != NULL ? "v" : "", o->version ? o->version : "");
    for (int i = 0; i < 2; i++) {
        const char *part = i == 0 ? o->lang : o->name;
        if (part != NULL && *part != '\0')
            mf_buf_printf(&text, "%s%s", text.len > 0 ? ":" : "", part);
    }
    if (text.len > 0) {
        mf_buf_puts(b, " - ");
        utf8_quote(b, mf_buf_slice(&text));
    }
    mf_buf_fini(&text);
}

/* Of a login service: "ACCOUNT/its name/jwt:KEY". */
static void write_login_user(struct mf_buf *text, const struct client *c)
{
    const struct login_user *u = c->who;
    const char *kind = mf_has_text(c->opts.nkey) ? "nkey" : "jwt";

    mf_buf_printf(text, "%s/", account_name(c->account));
    if (u->account_name != NULL)
        mf_buf_printf(text, "%s/", u->account_name);
    if (c->user != NULL && (u->key == NULL || strcmp(c->user, u->key) != 0))
        mf_buf_printf(text, "user:%s", c->user);
    else
        mf_buf_printf(text, "%s:%s", kind, u->key != NULL ? u->key : "");
}

/* The authenticated user: "ACCOUNT/user:name". */
static void label_user(struct mf_buf *b, const struct client *c)
{
    const struct connect_opts *o = &c->opts;
    const char *name = c->user != NULL ? c->user : o->nkey != NULL ? o->nkey : o->user;
    struct mf_buf text = MF_BUF_INIT;

    if (c->account == NULL || (name == NULL && !c->by_token && c->who == NULL))
        return;
    if (c->who != NULL)
        write_login_user(&text, c);
    else if (name == NULL)
        mf_buf_printf(&text, "%s/token", account_name(c->account));
    else
        mf_buf_printf(&text, "%s/%s:%s", account_name(c->account),
                      o->nkey != NULL ? "nkey" : "user", name);
    mf_buf_puts(b, " - ");
    utf8_quote(b, mf_buf_slice(&text));
    mf_buf_fini(&text);
}

const char *client_label(const struct client *c, char *dst, size_t cap)
{
    struct mf_buf b = MF_BUF_INIT;

    (void)snprintf(dst, cap, "%s:%d - %s:%llu", client_ip(c), client_port(c),
                   c->kind == CLIENT_WS ? "wid" : "cid", (unsigned long long)c->cid);
    label_client(&b, &c->opts);
    label_user(&b, c);
    size_t n = strlen(dst);
    if (!mf_buf_failed(&b) && b.len > 0)
        (void)snprintf(dst + n, cap - n, "%s", mf_buf_cstr(&b));
    mf_buf_fini(&b);
    return dst;
}
