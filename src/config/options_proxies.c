/* options_proxies.c: proxies that sign the nonce of connections, and what a reload changes of
 * them. */
#include "config/options_impl.h"

#include <stdio.h>

static void read_proxy_key(struct opt *c, const struct conf_value *v, void *keys)
{
    char *key;

    if (!opt_string(c, v, &key))
        return;
    if (opt_text_nkey_valid(key, 0))
        opt_list_add(c, keys, key);
    else
        opt_error(c, v, "invalid proxy key \"%.60s\"", key);
}

static const struct opt_field trusted_fields[] = {
    {"key public_key", OPT_FN, 0, read_proxy_key, 0, 0},
};

static void read_trusted(struct opt *c, const struct conf_value *v, void *keys)
{
    if (!opt_is_array(c, v, "proxies' trusted field to be an array") || !opt_is_few(c, v))
        return;
    for (size_t i = 0; i < v->nitems; i++)
        if (opt_is_map(c, v->items[i], "proxies' trusted entry to be a map/struct"))
            opt_map(c, v->items[i], OPT_BLOCK(trusted_fields), keys);
}

static const struct opt_field proxies_fields[] = {
    {"trusted", OPT_FN, 0, read_trusted, 0, 0},
};

void opt_read_proxies(struct opt *c, const struct conf_value *v, void *options)
{
    if (opt_is_map(c, v, "proxies to be a map/struct"))
        opt_map(c, v, OPT_BLOCK(proxies_fields), &((struct options *)options)->trusted_proxies);
}

/* --- reload ----------------------------------------------------------------------------------- */

static bool holds(const struct options_list *l, const char *key)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], key) == 0)
            return true;
    return false;
}

/* As Go prints a list of strings. */
static void say_keys(const struct options_list *from, const struct options_list *without,
                     const char *what, void (*say)(void *arg, const char *text), void *arg)
{
    struct mf_buf text = MF_BUF_INIT;
    const char *before = "proxies trusted keys [\"";

    for (size_t i = 0; i < from->n; i++) {
        if (holds(without, from->items[i]))
            continue;
        mf_buf_puts(&text, before);
        mf_buf_puts(&text, from->items[i]);
        before = "\" \"";
    }
    if (text.len > 0) {
        mf_buf_printf(&text, "\"] were %s", what);
        say(arg, mf_buf_cstr(&text));
    }
    mf_buf_fini(&text);
}

void opt_say_proxies(const struct options *old, const struct options *now,
                     void (*say)(void *arg, const char *text), void *arg)
{
    say_keys(&old->trusted_proxies, &now->trusted_proxies, "removed", say, arg);
    say_keys(&now->trusted_proxies, &old->trusted_proxies, "added", say, arg);
}
