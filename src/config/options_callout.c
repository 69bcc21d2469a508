/* options_callout.c: authorization { auth_callout }. */
#include "config/options_callout.h"

#include "config/options_impl.h"

/* A seed in the wrong place must not be printed. */
static const char *shown_key(const char *text)
{
    return text[0] == 'S' ? "a seed" : text;
}

static void read_issuer(struct opt *c, const struct conf_value *v, void *callout)
{
    struct options_callout *k = callout;
    if (opt_string(c, v, &k->issuer) && !opt_text_nkey_valid(k->issuer, 'A'))
        opt_error(c, v, "Expected callout user to be a valid public account nkey, got \"%.60s\"",
                  shown_key(k->issuer));
}

static void read_xkey(struct opt *c, const struct conf_value *v, void *callout)
{
    struct options_callout *k = callout;
    if (opt_string(c, v, &k->xkey) && !opt_text_nkey_valid(k->xkey, 'X'))
        opt_error(c, v, "Expected callout xkey to be a valid public xkey, got \"%.60s\"",
                  shown_key(k->xkey));
}

static void read_callout_users(struct opt *c, const struct conf_value *v, void *callout)
{
    if (opt_is_array(c, v, "auth_users field to be an array"))
        opt_strings(c, v, &((struct options_callout *)callout)->users);
}

static void read_allowed_accounts(struct opt *c, const struct conf_value *v, void *callout)
{
    if (opt_is_array(c, v, "allowed accounts field to be an array"))
        opt_strings(c, v, &((struct options_callout *)callout)->allowed);
}

static const struct opt_field callout_fields[] = {
    {"issuer", OPT_FN, 0, read_issuer, 0, 0},
    {"account acc", OPT_STRING, offsetof(struct options_callout, account), NULL, 0, 0},
    {"auth_users users", OPT_FN, 0, read_callout_users, 0, 0},
    {"xkey key", OPT_FN, 0, read_xkey, 0, 0},
    {"allowed_accounts", OPT_FN, 0, read_allowed_accounts, 0, 0},
};

void opt_read_auth_callout(struct opt *c, const struct conf_value *v, struct options_auth *auth)
{
    struct options_callout *k;
    if (!opt_is_map(c, v, "authorization callout to be a map/struct"))
        return;
    k = arena_alloc(c->a, sizeof *k);
    if (k == NULL)
        return;
    opt_map(c, v, OPT_BLOCK_AS(callout_fields, "Unknown field ", " parsing authorization callout"),
            k);
    if (k->issuer == NULL)
        opt_error(c, v, "Authorization callouts require an issuer to be specified");
    if (k->users.n == 0)
        opt_error(c, v, "Authorization callouts require authorized users to be specified");
    if (!mf_has_text(k->account))
        k->account = arena_str(c->a, "$G");
    auth->callout = k;
}

static bool is_listed(const struct options_list *l, const char *text)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], text) == 0)
            return true;
    return false;
}

bool options_callout_asks(const struct options_callout *k, const char *user, const char *account,
                          bool leaf)
{
    if (mf_has_text(user) && is_listed(&k->users, user))
        return false;
    return leaf || user == NULL || k->allowed.n == 0 || strcmp(account, "$G") == 0 ||
           is_listed(&k->allowed, account);
}

/* --- reload ----------------------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b)
{
    return strcmp(a == NULL ? "" : a, b == NULL ? "" : b) == 0;
}

static bool same_list(const struct options_list *a, const struct options_list *b)
{
    bool same = a->n == b->n;
    for (size_t i = 0; same && i < a->n; i++)
        same = strcmp(a->items[i], b->items[i]) == 0;
    return same;
}

bool opt_same_callout(const struct options_callout *a, const struct options_callout *b)
{
    if (a == NULL || b == NULL)
        return a == b;
    return same_text(a->issuer, b->issuer) && same_text(a->account, b->account) &&
           same_text(a->xkey, b->xkey) && same_list(&a->users, &b->users) &&
           same_list(&a->allowed, &b->allowed);
}

static void show_list(struct mf_buf *b, const struct options_list *l)
{
    mf_buf_puts(b, "[");
    for (size_t i = 0; i < l->n; i++)
        mf_buf_printf(b, "%s%s", i > 0 ? " " : "", l->items[i]);
    mf_buf_puts(b, "]");
}

void opt_show_callout(struct mf_buf *b, const struct options_callout *k)
{
    if (k == NULL) {
        mf_buf_puts(b, "<nil>");
        return;
    }
    mf_buf_printf(b, "&{%s %s ", k->issuer, k->account);
    show_list(b, &k->users);
    mf_buf_printf(b, " %s ", k->xkey != NULL ? k->xkey : "");
    show_list(b, &k->allowed);
    mf_buf_puts(b, "}");
}
