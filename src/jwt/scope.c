/* scope.c: templates of scoped signing keys. */
#include "jwt/jwt_impl.h"

#include "subject/subject.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS_MAX 16         /* in one entry */
#define WORK_MAX      (4u << 20) /* tags looked at and bytes written, for a whole template */

int jwt_scope_check(const struct jwt_signing_key *k, const struct jwt *user, struct mf_error *e)
{
    const struct jwt_grant *g = &user->user->grant;

    if (strcmp(user->iss, k->key) != 0)
        return mf_fail(e, MF_DENIED, "issuer not the scoped signer");
    if (jwt_permissions_empty(&g->perms) && g->src.n == 0 && g->times.n == 0 &&
        !mf_has_text(g->times_location) && g->subs == 0 && g->data == 0 && g->payload == 0 &&
        !g->bearer_token && !g->proxy_required && g->connection_types.n == 0)
        return 0;
    return mf_fail(e, MF_DENIED, "scoped users require no permissions or limits set");
}

/* --- one entry ---------------------------------------------------------------------------------
 */

struct expansion {
    const struct jwt *user, *account;
    struct arena *mem;
    struct mf_error *e;
    size_t work; /* tags looked at and bytes written, for all entries */
};
/* Text before a function, and the function's values. */
struct piece {
    struct mf_slice before;
    struct mf_slice *values;
    size_t n;
};
struct entry {
    struct piece at[FUNCTIONS_MAX];
    size_t n;
    struct mf_slice rest;
    size_t combinations;
};

static int add_value(struct expansion *x, struct piece *p, struct mf_slice v)
{
    struct mf_slice *at = arena_grow(x->mem, p->values, p->n, sizeof *at);

    if (p->n == JWT_SCOPE_MAX)
        return mf_fail(x->e, MF_DENIED, "template generated too many subjects");
    if (at == NULL)
        return mf_fail(x->e, MF_NOMEM, "template");
    p->values = at;
    p->values[p->n++] = v;
    return 0;
}

/* name: what follows "tag(".  The values are the tags that begin with it and a colon. */
static int take_tags(struct expansion *x, struct piece *p, const struct jwt *of, const char *name)
{
    size_t n = strlen(name);
    int err = 0;

    if (n == 0 || name[n - 1] != ')')
        return MF_INVAL;
    char *prefix = arena_printf(x->mem, "%.*s:", (int)(n - 1), name);
    if (prefix == NULL)
        return mf_fail(x->e, MF_NOMEM, "template");
    x->work += of->tags.n;
    if (x->work > WORK_MAX)
        return mf_fail(x->e, MF_DENIED, "template generated too many subjects");
    for (size_t i = 0; i < of->tags.n && err == 0; i++)
        if (of->tags.at[i] != NULL && strncmp(of->tags.at[i], prefix, n) == 0)
            err = add_value(x, p, mf_str(of->tags.at[i] + n));
    return err;
}

/* name: what stands between the braces. */
static int take_function(struct expansion *x, struct piece *p, struct mf_slice name)
{
    char *op = arena_dup(x->mem, mf_trim(name));
    int err = 0;

    if (op == NULL)
        return mf_fail(x->e, MF_NOMEM, "template");
    for (char *c = op; *c != '\0'; c++)
        *c = (char)tolower((unsigned char)*c);
    if (strcmp(op, "name()") == 0)
        err = add_value(x, p, mf_str(x->user->name));
    else if (strcmp(op, "subject()") == 0)
        err = add_value(x, p, mf_str(x->user->sub));
    else if (strcmp(op, "account-name()") == 0)
        err = add_value(x, p, mf_str(x->account->name));
    else if (strcmp(op, "account-subject()") == 0)
        err = add_value(x, p, mf_str(jwt_user_account(x->user)));
    else if (strncmp(op, "tag(", 4) == 0)
        err = take_tags(x, p, x->user, op + 4);
    else if (strncmp(op, "account-tag(", 12) == 0)
        err = take_tags(x, p, x->account, op + 12);
    else
        err = MF_INVAL;
    if (err == MF_INVAL)
        return mf_fail(x->e, MF_DENIED, "template operation %.60s is not defined", op);
    return err;
}

static const uint8_t *find_pair(struct mf_slice s, uint8_t c)
{
    for (size_t i = 0; i + 1 < s.len; i++)
        if (s.ptr[i] == c && s.ptr[i + 1] == c)
            return s.ptr + i;
    return NULL;
}

/* Cuts an entry at its functions.  A pair of braces around nothing, or without its end, is text. */
static int parse_entry(struct expansion *x, struct entry *en, const char *text)
{
    struct mf_slice rest = mf_str(text);

    *en = (struct entry){.combinations = 1};
    for (;;) {
        const uint8_t *open = find_pair(rest, '{');
        struct mf_slice inner = open == NULL
                                    ? MF_SLICE_NONE
                                    : mf_slice(open + 2, rest.len - 2 - (size_t)(open - rest.ptr));
        const uint8_t *close = find_pair(inner, '}');
        if (close == NULL || close == inner.ptr)
            break;
        if (en->n == FUNCTIONS_MAX)
            return mf_fail(x->e, MF_DENIED, "template has more than %d functions", FUNCTIONS_MAX);
        struct piece *p = &en->at[en->n++];
        p->before = mf_slice(rest.ptr, (size_t)(open - rest.ptr));
        int err = take_function(x, p, mf_slice(inner.ptr, (size_t)(close - inner.ptr)));
        if (err != 0)
            return err;
        en->combinations *= p->n;
        if (en->combinations > JWT_SCOPE_MAX)
            return mf_fail(x->e, MF_DENIED, "template generated too many subjects");
        rest = mf_slice(close + 2, inner.len - 2 - (size_t)(close - inner.ptr));
    }
    en->rest = rest;
    return 0;
}

/* The k-th combination. */
static char *write_combination(const struct entry *en, size_t k, struct arena *mem)
{
    struct mf_buf b = MF_BUF_INIT;

    for (size_t i = 0; i < en->n; i++) {
        const struct piece *p = &en->at[i];
        struct mf_slice v = p->values[k % p->n];

        k /= p->n;
        mf_buf_append(&b, p->before.ptr, p->before.len);
        mf_buf_append(&b, v.ptr, v.len);
    }
    mf_buf_append(&b, en->rest.ptr, en->rest.len);
    char *text = mf_buf_failed(&b) ? NULL : arena_dup(mem, mf_buf_slice(&b));
    mf_buf_fini(&b);
    return text;
}

/* --- lists -------------------------------------------------------------------------------------
 */

static int add_text(struct expansion *x, struct json_strs *to, char *text)
{
    char **at = text == NULL ? NULL : arena_grow(x->mem, to->at, to->n, sizeof *at);

    if (at == NULL)
        return mf_fail(x->e, MF_NOMEM, "template");
    to->at = at;
    to->at[to->n++] = text;
    return 0;
}

static int expand_entry(struct expansion *x, struct json_strs *to, const char *text, bool deny)
{
    struct entry en;
    int err = parse_entry(x, &en, text);

    if (err != 0)
        return err;
    if (en.n == 0)
        return add_text(x, to, (char *)(uintptr_t)text);
    if (en.combinations == 0 && deny)
        return mf_fail(x->e, MF_DENIED, "generated invalid subject");
    for (size_t k = 0; k < en.combinations && err == 0; k++) {
        char *subject = write_combination(&en, k, x->mem);

        if (subject == NULL)
            return mf_fail(x->e, MF_NOMEM, "template");
        x->work += strlen(subject) + 1;
        if (x->work > WORK_MAX)
            return mf_fail(x->e, MF_DENIED, "template generated too many subjects");
        if (subject_valid(mf_str(subject)))
            err = add_text(x, to, subject);
        else if (deny)
            return mf_fail(x->e, MF_DENIED, "generated invalid subject");
    }
    return err;
}

static int expand_list(struct expansion *x, struct json_strs *l, bool deny)
{
    struct json_strs to = {NULL, 0};
    int err = 0;

    for (size_t i = 0; i < l->n && err == 0; i++)
        err = expand_entry(x, &to, l->at[i] == NULL ? "" : l->at[i], deny);
    *l = to;
    return err;
}

static int expand_permission(struct expansion *x, struct jwt_permission *p)
{
    bool had = p->allow.n > 0;
    int err = expand_list(x, &p->allow, false);

    if (err == 0)
        err = expand_list(x, &p->deny, true);
    if (err == 0 && had && p->allow.n == 0)
        err = add_text(x, &p->deny, arena_str(x->mem, ">"));
    return err;
}

int jwt_scope_expand(struct jwt_grant *out, const struct jwt_grant *template_grant,
                     const struct jwt *user, const struct jwt *account, struct arena *mem,
                     struct mf_error *e)
{
    struct expansion x = {user, account, mem, e, 0};
    int err;

    *out = *template_grant;
    err = expand_permission(&x, &out->perms.pub);
    return err != 0 ? err : expand_permission(&x, &out->perms.sub);
}
