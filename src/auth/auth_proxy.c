/* auth_proxy.c: proxies in front of the server: they sign the nonce of a connection, beside the
 * client's own signature. */
#include "auth/auth.h"

enum auth_proxy auth_proxy_check(const struct options *o, const char *sig, struct mf_slice nonce,
                                 const char **key)
{
    const struct options_list *trusted = &o->trusted_proxies;

    *key = NULL;
    if (sig == NULL || sig[0] == '\0' || trusted->n == 0)
        return AUTH_PROXY_NONE;
    for (size_t i = 0; i < trusted->n; i++) {
        if (nkey_verify_any(mf_str(trusted->items[i]), nonce, mf_str(sig))) {
            *key = trusted->items[i];
            return AUTH_PROXY_TRUSTED;
        }
    }
    return AUTH_PROXY_UNKNOWN;
}

bool auth_proxy_trusted(const struct options *o, const char *key)
{
    for (size_t i = 0; i < o->trusted_proxies.n; i++)
        if (strcmp(o->trusted_proxies.items[i], key) == 0)
            return true;
    return false;
}
