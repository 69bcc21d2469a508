/* options_leaf_reload.c: what a reload changed in the leafnodes block. */
#include "config/options_leaf.h"

#include <stdio.h>

struct changes {
    enum options_leaf_change most;
    char *text;
    size_t cap, len;
};

static void note_change(struct changes *c, bool same, const char *name,
                        enum options_leaf_change what)
{
    if (same)
        return;
    if (what > c->most)
        c->most = what;
    int n = snprintf(c->text + c->len, c->cap - c->len, "%s%s", c->len > 0 ? ", " : "", name);
    if (n > 0)
        c->len += (size_t)n < c->cap - c->len ? (size_t)n : c->cap - c->len - 1;
}

static struct changes begin_changes(char *text, size_t cap)
{
    text[0] = '\0';
    return (struct changes){OPTIONS_LEAF_SAME, text, cap, 0};
}

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

static bool same_tls(const struct options_tls *a, const struct options_tls *b)
{
    bool same = a->set == b->set && a->ncerts == b->ncerts && same_text(a->ca_file, b->ca_file) &&
                a->verify == b->verify && a->verify_and_map == b->verify_and_map &&
                a->insecure == b->insecure && a->handshake_first == b->handshake_first &&
                a->handshake_first_fallback_ns == b->handshake_first_fallback_ns &&
                a->timeout_ns == b->timeout_ns && a->min_version == b->min_version &&
                same_text(a->ciphers, b->ciphers) && same_text(a->suites, b->suites) &&
                same_text(a->curves, b->curves) && same_list(&a->pinned, &b->pinned) &&
                a->rate_limit == b->rate_limit;
    for (size_t i = 0; same && i < a->ncerts; i++)
        same = strcmp(a->certs[i].key, b->certs[i].key) == 0 &&
               strcmp(a->certs[i].value, b->certs[i].value) == 0;
    return same;
}

static bool same_compression(const struct options_compression *a,
                             const struct options_compression *b)
{
    return a->mode == b->mode && a->nrtts == b->nrtts &&
           memcmp(a->rtt_ns, b->rtt_ns, a->nrtts * sizeof *a->rtt_ns) == 0;
}

/* The level of a running link can change, but not whether it compresses, and what the peer chose
 * for us when we accept anything. */
static enum options_leaf_change compression_change(const struct options_compression *a,
                                                   const struct options_compression *b)
{
    bool levels = a->mode >= OPTIONS_COMPRESS_AUTO && b->mode >= OPTIONS_COMPRESS_AUTO;
    return levels || a->mode == b->mode ? OPTIONS_LEAF_APPLIES : OPTIONS_LEAF_RECONNECTS;
}

static bool same_proxy(const struct options_leaf_proxy *a, const struct options_leaf_proxy *b)
{
    if (!a->set && !b->set)
        return true;
    return a->set == b->set && same_text(a->host, b->host) && a->port == b->port &&
           a->tls == b->tls && same_text(a->user, b->user) && same_text(a->password, b->password) &&
           a->timeout_ns == b->timeout_ns;
}

static bool same_auth(const struct options_auth *a, const struct options_auth *b)
{
    bool same = same_text(a->user, b->user) && same_text(a->password, b->password) &&
                same_text(a->nkey, b->nkey) && same_text(a->account, b->account) &&
                a->users_set == b->users_set && a->nusers == b->nusers &&
                a->proxy_required == b->proxy_required;
    for (size_t i = 0; same && i < a->nusers; i++)
        same = same_text(a->users[i].user, b->users[i].user) &&
               same_text(a->users[i].password, b->users[i].password) &&
               same_text(a->users[i].account, b->users[i].account) &&
               a->users[i].proxy_required == b->users[i].proxy_required;
    return same;
}

const struct options_leaf_remote *options_leaf_find(const struct options_leaf *l,
                                                    const struct options_leaf_remote *like)
{
    for (size_t i = 0; i < l->nremotes; i++)
        if (strcmp(l->remotes[i].identity, like->identity) == 0)
            return &l->remotes[i];
    return NULL;
}

enum options_leaf_change options_leaf_compare(const struct options_leaf_remote *a,
                                              const struct options_leaf_remote *b, char *what,
                                              size_t cap)
{
    const enum options_leaf_change again = OPTIONS_LEAF_RECONNECTS, applies = OPTIONS_LEAF_APPLIES;
    struct changes c = begin_changes(what, cap);

    note_change(&c, a->disabled == b->disabled, "disabled", again);
    note_change(&c, a->hub == b->hub, "hub", again);
    note_change(&c, same_list(&a->deny_imports, &b->deny_imports), "deny_imports", again);
    note_change(&c, same_list(&a->deny_exports, &b->deny_exports), "deny_exports", again);
    note_change(&c, a->isolate == b->isolate, "isolate_leafnode_interest", again);
    note_change(&c, a->request_isolation == b->request_isolation, "request_isolation", again);
    note_change(&c, same_compression(&a->compression, &b->compression), "compression",
                compression_change(&a->compression, &b->compression));
    note_change(&c, same_tls(&a->tls, &b->tls), "tls", applies);
    note_change(&c, a->no_randomize == b->no_randomize, "no_randomize", applies);
    note_change(&c, a->ws_compression == b->ws_compression, "ws_compression", applies);
    note_change(&c, a->ws_no_masking == b->ws_no_masking, "ws_no_masking", applies);
    note_change(&c, a->ignore_discovered == b->ignore_discovered, "ignore_discovered_servers",
                applies);
    note_change(&c, a->first_info_timeout_ns == b->first_info_timeout_ns, "first_info_timeout",
                applies);
    note_change(&c, a->dial_timeout_ns == b->dial_timeout_ns, "dial_timeout", applies);
    note_change(&c, same_proxy(&a->proxy, &b->proxy), "proxy", applies);
    return c.most;
}

enum options_leaf_change options_leaf_compare_block(const struct options_leaf *a,
                                                    const struct options_leaf *b, char *what,
                                                    size_t cap)
{
    const enum options_leaf_change again = OPTIONS_LEAF_RECONNECTS, applies = OPTIONS_LEAF_APPLIES;
    struct changes c = begin_changes(what, cap);

    note_change(&c, same_auth(&a->auth, &b->auth), "authorization", again);
    note_change(&c, same_text(a->min_version, b->min_version), "min_version", again);
    note_change(&c, a->isolate == b->isolate, "isolate_leafnode_interest", again);
    note_change(&c, same_compression(&a->compression, &b->compression), "compression",
                compression_change(&a->compression, &b->compression));
    note_change(&c, a->auth.timeout_ns == b->auth.timeout_ns, "authorization timeout", applies);
    note_change(&c, same_tls(&a->tls, &b->tls), "tls", applies);
    note_change(&c,
                same_text(a->advertise_host, b->advertise_host) &&
                    a->advertise_port == b->advertise_port && a->no_advertise == b->no_advertise,
                "advertise", applies);
    note_change(&c, a->reconnect_ns == b->reconnect_ns, "reconnect", applies);
    note_change(&c, a->dial_timeout_ns == b->dial_timeout_ns, "dial_timeout", applies);
    note_change(&c, a->write_deadline_ns == b->write_deadline_ns, "write_deadline", applies);
    note_change(&c, a->write_timeout == b->write_timeout, "write_timeout", applies);
    return c.most;
}
