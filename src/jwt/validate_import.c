/* validate_import.c: imports of an account's claims, with the activation tokens in them. */
#include "jwt/claims_impl.h"

#include "subject/subject.h"

#include <stdlib.h>

void jwt_check_activation(struct jwt_check *c, const struct jwt *activation, bool times)
{
    const struct jwt_activation *a = activation->activation;

    if (times)
        jwt_check_times(c, activation);
    if (a->kind == JWT_SHARE_UNKNOWN)
        jwt_issue(c, JWT_BLOCKING, "invalid import type: \"unknown\"");
    jwt_check_subject(c, a->subject);
    if (a->issuer_account[0] != '\0' && !jwt_is_key(a->issuer_account, NKEY_ACCOUNT))
        jwt_issue(c, JWT_BLOCKING, "account_id is not an account public key");
}

/* --- local subjects ----------------------------------------------------------------------------
 */

static bool ends_open(const char *s)
{
    return strcmp(s, ">") == 0 || mf_ends(mf_str(s), ".>");
}

static unsigned count_stars(const char *s)
{
    struct mf_slice rest = mf_str(s), token;
    unsigned n = 0;

    while (subject_next_token(&rest, &token))
        n += mf_eq_str(token, "*");
    return n;
}

/* "$2" is 2; 0: no reference. */
static uint64_t reference_of(struct mf_slice token)
{
    uint64_t n = 0;

    if (token.len < 2 || token.ptr[0] != '$' ||
        mf_parse_u64(mf_slice(token.ptr + 1, token.len - 1), &n) != 0)
        return 0;
    return n;
}

static void check_local(struct jwt_check *c, const struct jwt_import *i)
{
    struct mf_slice rest = mf_str(i->local_subject), token;
    unsigned stars = count_stars(i->subject), used = 0;

    jwt_check_subject(c, i->local_subject);
    if (i->subject[0] == '\0')
        jwt_issue(c, JWT_BLOCKING, "subject cannot be empty");
    if (ends_open(i->local_subject) != ends_open(i->subject))
        jwt_issue(c, JWT_BLOCKING,
                  "both, renaming subject and subject, need to end or not end in >");
    while (subject_next_token(&rest, &token)) {
        uint64_t n = reference_of(token);

        used += mf_eq_str(token, "*") || (n > 0 && n <= stars);
        if (n > stars)
            jwt_issue(c, JWT_BLOCKING, "Reference $%llu in %s reference * in %s that do not exist",
                      (unsigned long long)n, jwt_quote(c, i->local_subject),
                      jwt_quote(c, i->subject));
    }
    if (used != stars)
        jwt_issue(c, JWT_BLOCKING,
                  "subject does not contain enough * or reference wildcards $[0-9]");
}

/* --- tokens ------------------------------------------------------------------------------------
 */

static void check_token(struct jwt_check *c, const struct jwt_import *i)
{
    struct jwt *t;

    if (i->token[0] == '\0')
        return;
    if (jwt_decode_as(&t, JWT_ACTIVATION, mf_str(i->token), NULL) != 0) {
        jwt_issue(c, JWT_BLOCKING, "import %s contains an invalid activation token",
                  jwt_quote(c, i->subject));
        return;
    }
    const struct jwt_activation *a = t->activation;
    if (strcmp(t->iss, i->account) != 0 && strcmp(a->issuer_account, i->account) != 0)
        jwt_issue(c, JWT_BLOCKING, "activation token doesn't match account for import %s",
                  jwt_quote(c, i->subject));
    if (strcmp(t->sub, c->j->sub) != 0)
        jwt_issue(c, JWT_BLOCKING,
                  "activation token doesn't match account it is being included in, %s",
                  jwt_quote(c, i->subject));
    if (a->kind != i->type)
        jwt_issue(c, JWT_BLOCKING, "mismatch between token import type %s and type of import %s",
                  jwt_share_word(a->kind), jwt_share_word(i->type));
    jwt_check_activation(c, t, false);
    const char *subject = i->type == JWT_SHARE_SERVICE && i->to[0] != '\0' ? i->to : i->subject;
    if (!jwt_subject_inside(subject, a->subject))
        jwt_issue(c, JWT_BLOCKING, "activation token import subject %s doesn't match import %s",
                  jwt_quote(c, a->subject), jwt_quote(c, i->subject));
    jwt_free(t);
}

static void check_import(struct jwt_check *c, const struct jwt_import *i)
{
    bool service = i->type == JWT_SHARE_SERVICE;

    if (i->type == JWT_SHARE_UNKNOWN)
        jwt_issue(c, JWT_BLOCKING, "invalid import type: \"unknown\"");
    if (service && i->allow_trace)
        jwt_issue(c, JWT_BLOCKING, "AllowTrace only valid for stream import");
    if (i->account[0] == '\0')
        jwt_issue(c, JWT_BLOCKING, "account to import from is not specified");
    if (i->to[0] != '\0')
        jwt_issue(c, JWT_WARNING, "the field to has been deprecated (use LocalSubject instead)");
    jwt_check_subject(c, i->subject);
    if (i->local_subject[0] != '\0') {
        check_local(c, i);
        if (i->to[0] != '\0')
            jwt_issue(c, JWT_BLOCKING, "Local Subject replaces To");
    }
    if (i->share && !service)
        jwt_issue(c, JWT_BLOCKING,
                  "sharing information (for latency tracking) is only valid for services: %s",
                  jwt_quote(c, i->subject));
    check_token(c, i);
}

/* --- overlaps ----------------------------------------------------------------------------------
 */

/* The name a service has here: references become '*'. */
static const char *own_name(struct jwt_check *c, const struct jwt_import *i)
{
    if (i->to[0] != '\0')
        return i->subject;
    if (i->local_subject[0] == '\0')
        return i->subject;
    struct mf_buf b = MF_BUF_INIT;
    struct mf_slice rest = mf_str(i->local_subject), token;
    while (subject_next_token(&rest, &token)) {
        if (b.len > 0)
            mf_buf_byte(&b, '.');
        if (reference_of(token) > 0)
            mf_buf_byte(&b, '*');
        else
            mf_buf_append(&b, token.ptr, token.len);
    }
    const char *name = jwt_text(arena_dup(&c->out->mem, mf_buf_slice(&b)));
    mf_buf_fini(&b);
    return name;
}

static void check_overlap(struct jwt_check *c, const struct jwt_account *a, const char **names,
                          size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (names[k] != NULL && strcmp(a->imports[k]->account, a->imports[i]->account) == 0 &&
            (jwt_subject_inside(names[k], names[i]) || jwt_subject_inside(names[i], names[k])))
            jwt_issue(c, JWT_BLOCKING,
                      "overlapping subject namespace for %s and %s in same account %s",
                      jwt_quote(c, names[i]), jwt_quote(c, names[k]),
                      jwt_quote(c, a->imports[i]->account));
}

void jwt_check_imports(struct jwt_check *c)
{
    const struct jwt_account *a = c->j->account;
    const char **names = arena_alloc(&c->out->mem, (a->nimports + 1) * sizeof *names);

    if (names == NULL || a->nimports * a->nimports > JWT_PAIRS_MAX) {
        jwt_issue(c, JWT_BLOCKING, "the account contains more imports than can be compared");
        return;
    }
    for (size_t i = 0; i < a->nimports; i++) {
        const struct jwt_import *im = a->imports[i];

        if (im == NULL) {
            jwt_issue(c, JWT_BLOCKING, "null import is not allowed");
            continue;
        }
        if (im->type == JWT_SHARE_SERVICE) {
            names[i] = own_name(c, im);
            check_overlap(c, a, names, i);
        }
        check_import(c, im);
    }
}
