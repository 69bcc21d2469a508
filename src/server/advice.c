/* advice.c: warnings about a configuration that works and is perhaps not meant so. */
#include "server/server_impl.h"

#include "base/log.h"

#include <stdio.h>

static bool asks_for_credentials(const struct options_auth *a)
{
    return a->user != NULL || a->token != NULL || a->nusers > 0 || a->callout || a->proxy_required;
}

static bool has_account_users(const struct options *o)
{
    for (size_t i = 0; i < o->naccounts; i++)
        if (o->accounts[i].nusers > 0)
            return true;
    return false;
}

static bool asks_for_certificate(const struct options_tls *t)
{
    return t->set && (t->verify || t->verify_and_map);
}

/* The port at which anybody who reaches the machine can connect without credentials, or NULL. */
static const int *open_port(const struct options *o)
{
    const struct options_websocket *w = &o->websocket;

    if (asks_for_credentials(&o->auth) || has_account_users(o) || o->operator_set)
        return NULL;
    if (!o->dont_listen && ports_is_any(o->host) && !asks_for_certificate(&o->tls))
        return &o->port;
    if (w->set && ports_is_any(w->host) && !asks_for_credentials(&w->auth) &&
        !asks_for_certificate(&w->tls))
        return &w->port;
    return NULL;
}

static bool is_plain(const char *password)
{
    return password != NULL && password[0] != '\0' && !password_is_bcrypt(password);
}

static bool has_plain_users(const struct options_user *users, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (is_plain(users[i].password))
            return true;
    return false;
}

static bool has_plain_passwords(const struct options *o)
{
    bool plain = is_plain(o->auth.password) || has_plain_users(o->auth.users, o->auth.nusers);

    for (size_t i = 0; i < o->naccounts && !plain; i++)
        plain = has_plain_users(o->accounts[i].users, o->accounts[i].nusers);
    return plain;
}

static bool has_warning(const struct options *o, const char *text)
{
    for (size_t i = 0; o != NULL && i < o->warnings.n; i++)
        if (strcmp(o->warnings.items[i], text) == 0)
            return true;
    return false;
}

void server_advise(const struct options *o, const struct options *said,
                   void (*say)(void *arg, const char *text), void *arg)
{
    char text[400], remedy[64];
    const int *port;

    for (size_t i = 0; i < o->warnings.n; i++)
        if (!has_warning(said, o->warnings.items[i]))
            say(arg, o->warnings.items[i]);
    if (has_plain_passwords(o) && (said == NULL || !has_plain_passwords(said)))
        say(arg, "Plaintext passwords detected, use nkeys or bcrypt");
    port = open_port(o);
    if (port != NULL && (said == NULL || open_port(said) == NULL)) {
        if (port == &o->port)
            snprintf(remedy, sizeof remedy, "-a 127.0.0.1 (listen: \"127.0.0.1:%d\")", *port);
        else
            snprintf(remedy, sizeof remedy, "websocket { listen: \"127.0.0.1:%d\" }", *port);
        snprintf(text, sizeof text,
                 "Everybody who reaches this machine can connect and read all messages: port %d "
                 "listens on all addresses and no users are configured. Restrict it with %s, or "
                 "add an authorization block",
                 *port, remedy);
        say(arg, text);
    }
}

static void log_advice(void *arg, const char *text)
{
    (void)arg;
    log_warn("%s", text);
}

void advice_log(const struct options *o, const struct options *said)
{
    server_advise(o, said, log_advice, NULL);
}
