/* options_auth.c: authorization blocks: users, nkeys, permissions. */
#include "config/options_impl.h"

#include <stdio.h>

#define DEFAULT_RESPONSES        1
#define DEFAULT_RESPONSES_EXPIRE (120 * CLOCK_S)

/* --- permissions ------------------------------------------------------------------------------ */

/* A subject; where queues are allowed also "subject queue". */
static bool check_subject(struct opt *c, const struct conf_value *at, const char *s, bool queues)
{
    char subject[512], queue[512], more;
    if (opt_text_subject_valid(s))
        return true;
    if (!queues || strlen(s) > 500 || sscanf(s, " %511s %511s %c", subject, queue, &more) != 2)
        opt_error(c, at, "subject \"%.200s\" is not a valid subject", s);
    else if (!opt_text_subject_valid(subject))
        opt_error(c, at, "subject \"%.200s\" is not a valid subject", subject);
    else if (!opt_text_subject_valid(queue))
        opt_error(c, at, "queue \"%.200s\" is not a valid queue", queue);
    else
        return true;
    return false;
}

bool opt_read_subjects(struct opt *c, const struct conf_value *v, bool queues,
                       struct options_list *out)
{
    size_t before = c->nerrors;
    if (v->type == CONF_STRING) {
        if (check_subject(c, v, v->u.s, queues))
            opt_list_add(c, out, v->u.s);
    } else if (v->type != CONF_ARRAY) {
        opt_error(c, v,
                  "Expected subject permissions to be a subject, or array of subjects, got %s",
                  conf_type_name(v->type));
    } else {
        for (size_t i = 0; i < v->nitems; i++) {
            const struct conf_value *s = v->items[i];
            if (s->type != CONF_STRING)
                opt_error(c, s, "Subject in permissions array must be a string, got %s",
                          conf_type_name(s->type));
            else if (check_subject(c, s, s->u.s, queues))
                opt_list_add(c, out, s->u.s);
        }
    }
    return c->nerrors == before;
}

static void read_allow(struct opt *c, const struct conf_value *v, void *target, bool queues)
{
    struct options_permission *p = target;
    p->allow = (struct options_list){NULL, 0};
    p->allow_set = opt_read_subjects(c, v, queues, &p->allow);
}
static void read_pub_allow(struct opt *c, const struct conf_value *v, void *p)
{
    read_allow(c, v, p, false);
}
static void read_sub_allow(struct opt *c, const struct conf_value *v, void *p)
{
    read_allow(c, v, p, true);
}
static void read_pub_deny(struct opt *c, const struct conf_value *v, void *p)
{
    opt_read_subjects(c, v, false, &((struct options_permission *)p)->deny);
}
static void read_sub_deny(struct opt *c, const struct conf_value *v, void *p)
{
    opt_read_subjects(c, v, true, &((struct options_permission *)p)->deny);
}

static const struct opt_field pub_fields[] = {
    {"allow", OPT_FN, 0, read_pub_allow, 0, 0},
    {"deny", OPT_FN, 0, read_pub_deny, 0, 0},
};
static const struct opt_field sub_fields[] = {
    {"allow", OPT_FN, 0, read_sub_allow, 0, 0},
    {"deny", OPT_FN, 0, read_sub_deny, 0, 0},
};
#define SUBJECT_UNKNOWN                                                                            \
    "Unknown field name ", " parsing subject permissions, only 'allow' or 'deny' are permitted"

static void read_publish(struct opt *c, const struct conf_value *v, void *target)
{
    struct options_permissions *p = target;
    if (v->type == CONF_MAP)
        opt_map(c, v, OPT_BLOCK_AS(pub_fields, SUBJECT_UNKNOWN), &p->publish);
    else
        read_allow(c, v, &p->publish, false);
}

static void read_subscribe(struct opt *c, const struct conf_value *v, void *target)
{
    struct options_permissions *p = target;
    if (v->type == CONF_MAP)
        opt_map(c, v, OPT_BLOCK_AS(sub_fields, SUBJECT_UNKNOWN), &p->subscribe);
    else
        read_allow(c, v, &p->subscribe, true);
}

static void read_responses_max(struct opt *c, const struct conf_value *v, void *target)
{
    struct options_permissions *p = target;
    int64_t n;
    if (opt_int(c, v, &n) && n != 0)
        p->responses_max = n;
}

static void read_responses_expires(struct opt *c, const struct conf_value *v, void *target)
{
    struct options_permissions *p = target;
    int64_t ns;
    if (v->type != CONF_STRING)
        opt_error(c, v, "error parsing expires, not a duration string; expected \"1m\"");
    else if (opt_duration_text(c, v, &ns) && ns != 0)
        p->responses_expires_ns = ns;
}

static const struct opt_field response_fields[] = {
    {"max max_msgs max_messages max_responses", OPT_FN, 0, read_responses_max, 0, 0},
    {"expires expiration ttl", OPT_FN, 0, read_responses_expires, 0, 0},
};

static void read_responses(struct opt *c, const struct conf_value *v, void *target)
{
    struct options_permissions *p = target;
    if (v->type == CONF_BOOL) {
        p->responses_set = v->u.b;
    } else if (v->type == CONF_MAP) {
        p->responses_set = true;
        opt_map(c, v, OPT_BLOCK_AS(response_fields, "Unknown field ", " parsing permissions"), p);
    } else {
        opt_error(c, v, "error parsing response permissions, expected a boolean or a map");
    }
}

static const struct opt_field permission_fields[] = {
    {"publish pub import", OPT_FN, 0, read_publish, 0, 0},
    {"subscribe sub export", OPT_FN, 0, read_subscribe, 0, 0},
    {"allow_responses publish_allow_responses", OPT_FN, 0, read_responses, 0, 0},
};

struct options_permissions *opt_read_permissions(struct opt *c, const struct conf_value *v)
{
    if (!opt_is_map(c, v, "permissions to be a map/struct"))
        return NULL;
    struct options_permissions *p = arena_alloc(c->a, sizeof *p);
    if (p == NULL)
        return NULL;
    p->responses_max = DEFAULT_RESPONSES;
    p->responses_expires_ns = DEFAULT_RESPONSES_EXPIRE;
    opt_map(c, v, OPT_BLOCK_AS(permission_fields, "Unknown field ", " parsing permissions"), p);
    if (p->responses_set && !p->publish.allow_set)
        p->publish.allow_set = true; /* nothing but responses */
    return p;
}

void opt_apply_default_permissions(struct options_user *users, size_t n,
                                   struct options_permissions *p)
{
    for (size_t i = 0; p != NULL && i < n; i++)
        if (users[i].permissions == NULL)
            users[i].permissions = p;
}

/* --- users ------------------------------------------------------------------------------------ */

static void read_user_permissions(struct opt *c, const struct conf_value *v, void *user)
{
    ((struct options_user *)user)->permissions = opt_read_permissions(c, v);
}

static void read_connection_types(struct opt *c, const struct conf_value *v, void *user)
{
    static const char *const types[] = {"STANDARD", "WEBSOCKET", "LEAFNODE",  "LEAFNODE_WS",
                                        "MQTT",     "MQTT_WS",   "IN_PROCESS"};
    struct options_user *u = user;
    struct options_list given = {NULL, 0};
    if (!opt_strings(c, v, &given))
        return;
    for (size_t i = 0; i < given.n; i++) {
        size_t k = 0;
        while (k < MF_COUNT(types) && !mf_eq_nocase(mf_str(given.items[i]), types[k]))
            k++;
        if (k == MF_COUNT(types))
            opt_error(c, v,
                      "unknown connection type \"%s\": expected STANDARD, WEBSOCKET, LEAFNODE, "
                      "LEAFNODE_WS, MQTT, MQTT_WS or IN_PROCESS",
                      given.items[i]);
        else
            opt_list_add(c, &u->connection_types, types[k]);
    }
}

#define USER(member) offsetof(struct options_user, member)
static const struct opt_field user_fields[] = {
    {"user username", OPT_STRING, USER(user), NULL, 0, 0},
    {"password pass", OPT_STRING, USER(password), NULL, 0, 0},
    {"nkey", OPT_STRING, USER(nkey), NULL, 0, 0},
    {"permissions permission authorization", OPT_FN, 0, read_user_permissions, 0, 0},
    {"allowed_connection_types connection_types clients", OPT_FN, 0, read_connection_types, 0, 0},
    {"proxy_required", OPT_BOOL, USER(proxy_required), NULL, 0, 0},
};

static bool check_user(struct opt *c, const struct conf_value *at, struct options_user *u)
{
    if (u->user != NULL && u->user[0] == '\0')
        u->user = NULL;
    if (u->nkey != NULL && u->nkey[0] == '\0')
        u->nkey = NULL;
    if (u->nkey == NULL && u->user == NULL)
        opt_error(c, at, "User entry requires a user");
    else if (u->nkey != NULL && !opt_text_nkey_valid(u->nkey, 'U'))
        opt_error(c, at, "Not a valid public nkey for a user");
    else if (u->nkey != NULL && (u->user != NULL || u->password != NULL))
        opt_error(c, at, "Nkey users do not take usernames or passwords");
    else
        return true;
    return false;
}

void opt_read_users(struct opt *c, const struct conf_value *v, struct options_user **users,
                    size_t *n)
{
    if (!opt_is_array(c, v, "users field to be an array"))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        const struct conf_value *m = v->items[i];
        if (!opt_is_map(c, m, "user entry to be a map/struct"))
            continue;
        struct options_user u = {.line = m->line, .col = m->col, .file = opt_file(c, m)};
        opt_map(c, m, OPT_BLOCK(user_fields), &u);
        if (!check_user(c, m, &u))
            continue;
        struct options_user *grown = arena_grow(c->a, *users, *n, sizeof u);
        if (grown == NULL)
            return;
        *users = grown;
        grown[(*n)++] = u;
    }
}

/* --- blocks ----------------------------------------------------------------------------------- */

static void read_auth_timeout(struct opt *c, const struct conf_value *v, void *auth)
{
    struct options_auth *a = auth;
    char text[CLOCK_TEXT];
    if (!opt_seconds(c, v, "authorization config", &a->timeout_ns))
        return;
    bool bare =
        v->type == CONF_INT && v->text != NULL && v->text[strspn(v->text, "0123456789")] != '\0';
    if (a->timeout_ns > 60 * CLOCK_S)
        opt_deprecated(c, v,
                       "invalid use of field \"%s\": timeout of %s is high, consider keeping it "
                       "under 60 seconds. possibly caused by unquoted duration; use '%s' instead "
                       "of %s, for example",
                       v->key, clock_duration(text, a->timeout_ns), bare ? v->text : "1m",
                       bare ? v->text : "1m");
}

static void read_auth_users(struct opt *c, const struct conf_value *v, void *auth)
{
    struct options_auth *a = auth;
    a->users_set = true;
    opt_read_users(c, v, &a->users, &a->nusers);
}

static void read_auth_default_permissions(struct opt *c, const struct conf_value *v, void *auth)
{
    ((struct options_auth *)auth)->default_permissions = opt_read_permissions(c, v);
}

static void read_callout(struct opt *c, const struct conf_value *v, void *auth)
{
    opt_read_auth_callout(c, v, auth);
}

#define AUTH(member) offsetof(struct options_auth, member)
static const struct opt_field auth_fields[] = {
    {"user username", OPT_STRING, AUTH(user), NULL, 0, 0},
    {"password pass", OPT_STRING, AUTH(password), NULL, 0, 0},
    {"token", OPT_STRING, AUTH(token), NULL, 0, 0},
    {"timeout", OPT_FN, 0, read_auth_timeout, 0, 0},
    {"users", OPT_FN, 0, read_auth_users, 0, 0},
    {"default_permissions default_permission permissions", OPT_FN, 0, read_auth_default_permissions,
     0, 0},
    {"auth_callout auth_hook", OPT_FN, 0, read_callout, 0, 0},
    {"proxy_required", OPT_BOOL, AUTH(proxy_required), NULL, 0, 0},
};

void opt_read_auth_block(struct opt *c, const struct conf_value *v, struct options_auth *a)
{
    if (!opt_is_map(c, v, "authorization to be a map"))
        return;
    a->set = true;
    opt_map(c, v, OPT_BLOCK(auth_fields), a);
    opt_apply_default_permissions(a->users, a->nusers, a->default_permissions);
}

static bool is_text(const char *s)
{
    return s != NULL && s[0] != '\0';
}

void opt_read_authorization(struct opt *c, const struct conf_value *v, void *options)
{
    struct options_auth *a = &((struct options *)options)->auth;
    opt_read_auth_block(c, v, a);
    if ((is_text(a->user) || is_text(a->password)) && is_text(a->token))
        opt_error(c, v, "Cannot have a user/pass and token");
    else if (a->users_set && is_text(a->user))
        opt_error(c, v, "Can not have a single user/pass and a users array");
    else if (a->users_set && is_text(a->token))
        opt_error(c, v, "Can not have a token and a users array");
}

static const struct opt_field simple_fields[] = {
    {"user username", OPT_STRING, AUTH(user), NULL, 0, 0},
    {"password pass", OPT_STRING, AUTH(password), NULL, 0, 0},
    {"token", OPT_STRING, AUTH(token), NULL, 0, 0},
    {"timeout", OPT_FN, 0, read_auth_timeout, 0, 0},
};

void opt_read_simple_auth(struct opt *c, const struct conf_value *v, void *auth)
{
    struct options_auth *a = auth;
    if (!opt_is_map(c, v, "authorization to be a map"))
        return;
    a->set = true;
    opt_map(c, v, OPT_BLOCK(simple_fields), a);
}

/* --- leaf nodes ------------------------------------------------------------------------------- */

static const struct opt_field leaf_user_fields[] = {
    {"user username", OPT_STRING, USER(user), NULL, 0, 0},
    {"password pass", OPT_STRING, USER(password), NULL, 0, 0},
    {"account", OPT_STRING, USER(account), NULL, 0, 0},
    {"proxy_required", OPT_BOOL, USER(proxy_required), NULL, 0, 0},
};

static void read_leaf_users(struct opt *c, const struct conf_value *v, void *auth)
{
    struct options_auth *a = auth;
    if (!opt_is_array(c, v, "users field to be an array") || !opt_is_few(c, v))
        return;
    a->users_set = true;
    for (size_t i = 0; i < v->nitems; i++) {
        const struct conf_value *m = v->items[i];
        if (!opt_is_map(c, m, "user entry to be a map/struct"))
            continue;
        struct options_user u = {.line = m->line, .col = m->col, .file = opt_file(c, m)};
        opt_map(c, m, OPT_BLOCK(leaf_user_fields), &u);
        if (u.account != NULL)
            opt_list_add(c, &c->o->impl->leaf_accounts, u.account);
        for (size_t k = 0; k < a->nusers; k++)
            if (a->users[k].user != NULL && u.user != NULL && strcmp(a->users[k].user, u.user) == 0)
                opt_error(c, m, "duplicate user \"%s\" detected in leafnode authorization", u.user);
        struct options_user *grown = arena_grow(c->a, a->users, a->nusers, sizeof u);
        if (grown == NULL)
            return;
        a->users = grown;
        grown[a->nusers++] = u;
    }
}

static void read_leaf_nkey(struct opt *c, const struct conf_value *v, void *auth)
{
    struct options_auth *a = auth;
    if (opt_string(c, v, &a->nkey) && !opt_text_nkey_valid(a->nkey, 'U'))
        opt_error(c, v, "Not a valid public nkey for leafnode authorization");
}

static const struct opt_field leaf_auth_fields[] = {
    {"user username", OPT_STRING, AUTH(user), NULL, 0, 0},
    {"password pass", OPT_STRING, AUTH(password), NULL, 0, 0},
    {"nkey", OPT_FN, 0, read_leaf_nkey, 0, 0},
    {"timeout", OPT_FN, 0, read_auth_timeout, 0, 0},
    {"users", OPT_FN, 0, read_leaf_users, 0, 0},
    {"account", OPT_STRING, AUTH(account), NULL, 0, 0},
    {"proxy_required", OPT_BOOL, AUTH(proxy_required), NULL, 0, 0},
};

void opt_read_leaf_auth(struct opt *c, const struct conf_value *v, void *auth)
{
    struct options_auth *a = auth;
    if (!opt_is_map(c, v, "authorization to be a map"))
        return;
    a->set = true;
    opt_map(c, v, OPT_BLOCK(leaf_auth_fields), a);
    if (a->account != NULL)
        opt_list_add(c, &c->o->impl->leaf_accounts, a->account);
    if (a->nusers > 0 && is_text(a->user))
        opt_error(c, v, "can not have a single user/pass and a users array");
    if (a->nusers > 0 && is_text(a->nkey))
        opt_error(c, v, "can not have a single nkey and a users array");
}
