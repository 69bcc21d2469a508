/* rules.c: what may cross a link.
 *
 * Three lists decide: the permissions of the user at the hub (sent to the spoke in INFO), the deny
 * lists of the remote's configuration, and the subjects of JetStream that belong to each server
 * alone: its API under the plain name, and the keys of buckets and object stores. */
#include "leaf/leaf_impl.h"

#include "base/log.h"
#include "subject/subject.h"

#include <stdlib.h>

/* Marks of loops and of gateways pass every list. */
static bool is_exempt_interest(struct mf_slice s)
{
    return mf_starts(s, "$LDS.") || mf_starts(s, "_GR_.") || mf_starts(s, "$GR.");
}

static bool is_answer(struct mf_slice s)
{
    return mf_starts(s, "_R_.") || mf_starts(s, "_GR_.");
}

/* Answers and acks pass the user's permissions. */
static bool is_exempt_message(struct mf_slice s)
{
    return is_answer(s) || mf_starts(s, "$JS.ACK.");
}

/* --- the user --------------------------------------------------------------------------------- */

static void borrow_list(struct options_list *to, const struct json_strs *from)
{
    *to = (struct options_list){.items = from->at, .n = from->n};
}

static void borrow_subjects(struct options_permission *to, const struct hello_subjects *from)
{
    if (from == NULL)
        return;
    to->allow_set = from->allow.n > 0;
    borrow_list(&to->allow, &from->allow);
    borrow_list(&to->deny, &from->deny);
}

int rules_set_user(struct leaf_link *l, const struct hello_subjects *import,
                   const struct hello_subjects *export)
{
    struct options_permissions p = {.responses_set = false};
    struct perms *made = NULL, *old = l->perms;
    struct mf_error e;

    borrow_subjects(&p.subscribe, import);
    borrow_subjects(&p.publish, export);
    if ((import != NULL || export != NULL) && perms_new(&made, &p, &e) != 0) {
        link_log_error(l, "permissions of the hub's user: %s", e.text);
        return e.code;
    }
    l->perms = made;
    realm_announce_again(l, old);
    perms_release(old);
    return 0;
}

/* --- denies ----------------------------------------------------------------------------------- */

struct deny_lists {
    struct arena mem;
    struct options_list out, in;
    bool failed;
};

static void add_deny(struct deny_lists *d, struct options_list *to, const char *subject)
{
    char **items = arena_grow(&d->mem, to->items, to->n, sizeof(char *));
    char *text = arena_str(&d->mem, subject);

    if (items == NULL || text == NULL || !subject_valid(mf_str(subject))) {
        d->failed = d->failed || items == NULL || text == NULL;
        return;
    }
    to->items = items;
    to->items[to->n++] = text;
}

static void add_both(struct deny_lists *d, const char *subject)
{
    add_deny(d, &d->out, subject);
    add_deny(d, &d->in, subject);
}

static bool skips_denies(const struct leaf_link *l)
{
    const struct options *o = l->leaf->options;
    const struct options_pairs *p = &o->default_js_domains;

    if (o->default_js_domain != NULL && strcmp(account_name(l->account), ACCOUNT_GLOBAL) == 0)
        return o->default_js_domain[0] == '\0';
    for (size_t i = 0; i < p->n; i++)
        if (strcmp(p->items[i].key, account_name(l->account)) == 0)
            return p->items[i].value == NULL || p->items[i].value[0] == '\0';
    return false;
}

static void deny_own(struct deny_lists *d)
{
    add_both(d, "$JS.API.>");
    add_both(d, "$MAYFLY.TTL.>");
    add_both(d, "$KV.>");
    add_both(d, "$OBJ.>");
}

/* Each server keeps its own API, keys and objects; the other one reaches them by the domain. */
static void deny_jetstream(struct leaf_link *l, struct deny_lists *d)
{
    const char *domain = leaf_domain(l->leaf);
    char label[LINK_LABEL];

    if (account_is_system(l->account)) {
        if (l->domain == NULL || strcmp(domain, l->domain) != 0)
            deny_own(d);
        add_both(d, "$JSC.>");
        add_both(d, "$NRG.>");
        return;
    }
    if (skips_denies(l)) {
        log_debug("%s - Skipping deny of JetStream subjects for account \"%s\": default_js_domain",
                  link_label(l, label), account_name(l->account));
        return;
    }
    deny_own(d);
    add_deny(d, &d->out, "$SYS.REQ.USER.INFO"); /* a client would get two answers */
    if (domain[0] != '\0' && l->leaf->options->jetstream.enabled)
        add_deny(d, &d->out, arena_printf(&d->mem, "$JS.%s.API.>", domain));
}

int rules_set_denies(struct leaf_link *l, const struct json_strs *peer_deny)
{
    struct deny_lists d = {.failed = false};
    struct options_permissions p = {.responses_set = false};
    struct perms *made = NULL;
    struct mf_error e = {.code = MF_NOMEM};
    const struct options_leaf_remote *opt = l->remote != NULL ? l->remote->opt : NULL;

    l->open_api = !l->spoke && leaf_domain(l->leaf)[0] == '\0';
    deny_jetstream(l, &d);
    for (size_t i = 0; opt != NULL && i < opt->deny_exports.n; i++)
        add_deny(&d, &d.out, opt->deny_exports.items[i]);
    for (size_t i = 0; opt != NULL && i < opt->deny_imports.n; i++)
        add_deny(&d, &d.in, opt->deny_imports.items[i]);
    for (size_t i = 0; peer_deny != NULL && i < peer_deny->n; i++)
        add_deny(&d, &d.out, peer_deny->at[i]);
    p.publish.deny = d.out;
    p.subscribe.deny = d.in;
    if (!d.failed && (d.out.n + d.in.n == 0 || perms_new(&made, &p, &e) == 0)) {
        perms_release(l->denies);
        l->denies = made;
        e.code = 0;
    }
    arena_fini(&d.mem);
    return e.code;
}

/* --- questions -------------------------------------------------------------------------------- */

/* The user of the accepting server publishes what the soliciting one sends, and subscribes to what
 * that one receives, whichever of them is the hub. */
static bool user_allows(const struct leaf_link *l, struct mf_slice subject, bool publish)
{
    if (MF_LIKELY(l->perms == NULL) || is_exempt_message(subject))
        return true;
    return publish ? perms_can_publish(l->perms, subject)
                   : perms_can_subscribe(l->perms, subject, MF_SLICE_NONE);
}

bool rules_may_send(const struct leaf_link *l, struct mf_slice subject)
{
    /* Answers to others of the account are not for a user who may not read them. */
    if (MF_UNLIKELY(l->perms != NULL) && l->remote == NULL && is_answer(subject) &&
        !perms_can_subscribe(l->perms, subject, MF_SLICE_NONE))
        return false;
    return !perms_denies_publish(l->denies, subject) && user_allows(l, subject, l->remote != NULL);
}

/* A hub without a domain serves its own JetStream under the plain names; the lists of the
 * configuration stay. */
static bool opens_subject(const struct leaf_link *l, struct mf_slice subject)
{
    const struct options_leaf_remote *opt = l->remote != NULL ? l->remote->opt : NULL;

    if (!l->open_api || mf_starts(subject, "$MAYFLY."))
        return false;
    for (size_t i = 0; opt != NULL && i < opt->deny_imports.n; i++)
        if (subject_match(mf_str(opt->deny_imports.items[i]), subject))
            return false;
    return true;
}

bool rules_may_receive(const struct leaf_link *l, struct mf_slice subject)
{
    if (MF_UNLIKELY(!perms_can_deliver(l->denies, subject)) && !opens_subject(l, subject))
        return false;
    return user_allows(l, subject, l->remote == NULL);
}

/* Literal interest must be allowed; a pattern may be wider than the permissions, because each of
 * its messages is checked; but not as narrow as what is denied. */
static bool allows_interest(const struct leaf_link *l, struct mf_slice pattern, bool publish)
{
    if (l->perms == NULL)
        return true;
    if (!subject_has_wildcard(pattern))
        return user_allows(l, pattern, publish);
    const struct options_permissions *o = perms_options(l->perms);
    const struct options_list *deny = publish ? &o->publish.deny : &o->subscribe.deny;
    for (size_t i = 0; i < deny->n; i++)
        if (subject_is_subset(pattern, mf_str(deny->items[i])))
            return false;
    return true;
}

static bool denies_interest(const struct leaf_link *l, struct mf_slice pattern, bool out)
{
    const struct options_permissions *o;
    const struct options_list *deny;

    if (l->denies == NULL)
        return false;
    o = perms_options(l->denies);
    deny = out ? &o->publish.deny : &o->subscribe.deny;
    for (size_t i = 0; i < deny->n; i++)
        if (subject_is_subset(pattern, mf_str(deny->items[i])))
            return true;
    return false;
}

bool rules_may_announce(const struct leaf_link *l, struct mf_slice pattern)
{
    if (is_exempt_interest(pattern))
        return true;
    if (l->open_api && mf_eq_str(pattern, "$JS.API.>"))
        return true;
    return !denies_interest(l, pattern, false) && allows_interest(l, pattern, l->remote == NULL);
}

/* The spoke itself said that it does not want the subject. */
static bool is_peer_deny(const struct leaf_link *l, struct mf_slice subject)
{
    for (size_t i = 0; i < l->peer_deny.n; i++)
        if (subject_match(mf_str(l->peer_deny.at[i]), subject))
            return true;
    return false;
}

/* A spoke knows the permissions of its user, so literal interest beyond them closes the link, as in
 * nats-server.  Interest in what each server serves alone is ignored. */
enum rules_verdict rules_learn(const struct leaf_link *l, struct mf_slice pattern)
{
    if (is_exempt_interest(pattern) ||
        (!denies_interest(l, pattern, true) && allows_interest(l, pattern, l->remote != NULL)))
        return RULES_YES;
    if (l->spoke || subject_has_wildcard(pattern))
        return RULES_IGNORE;
    return !allows_interest(l, pattern, l->remote != NULL) || is_peer_deny(l, pattern)
               ? RULES_VIOLATION
               : RULES_IGNORE;
}
