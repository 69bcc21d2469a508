/* operator_share.c: exports, imports and mappings of claims, as options of an account. */
#include "operator/operator_impl.h"

#include "jwt/jwt_activation.h"
#include "subject/subject.h"

#include <stdio.h>

/* --- exports ---------------------------------------------------------------------------------- */

static enum options_response response_of(const char *type)
{
    struct mf_slice s = mf_str(type);

    if (mf_eq_nocase(s, "stream"))
        return OPTIONS_RESPONSE_STREAM;
    return mf_eq_nocase(s, "chunked") ? OPTIONS_RESPONSE_CHUNKED : OPTIONS_RESPONSE_SINGLETON;
}

static int take_exports(struct operator_claims *c, const struct jwt_account *a)
{
    struct options_account *o = &c->options;

    o->exports = arena_alloc(&c->mem, (a->nexports + 1) * sizeof *o->exports);
    c->exports = arena_alloc(&c->mem, (a->nexports + 1) * sizeof *c->exports);
    if (o->exports == NULL || c->exports == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < a->nexports; i++) {
        const struct jwt_export *x = a->exports[i];
        if (x == NULL)
            continue;
        struct options_export *to = &o->exports[o->nexports];
        *to =
            (struct options_export){.service = x->type == JWT_SHARE_SERVICE,
                                    .subject = x->subject,
                                    .restricted = x->token_req,
                                    .response = response_of(x->response_type),
                                    .threshold_ns = x->response_threshold_ns,
                                    .allow_trace = x->allow_trace,
                                    .account_token_position = (unsigned)x->account_token_position};
        if (to->service && x->latency != NULL) {
            to->latency_subject = x->latency->results;
            to->latency_percent = x->latency->sampling == 0 ? -1 : x->latency->sampling;
        }
        c->exports[o->nexports++] = x;
    }
    return 0;
}

/* --- imports ---------------------------------------------------------------------------------- */

static char *text_or_null(char *s)
{
    return s == NULL || s[0] == '\0' ? NULL : s;
}

/* "a.$2.$1" is "a.*.*". */
static char *plain_pattern(struct arena *mem, const char *s)
{
    struct mf_slice rest = mf_str(s), token;
    struct mf_buf b = MF_BUF_INIT;
    char *out;

    while (subject_next_token(&rest, &token)) {
        if (b.len > 0)
            mf_buf_byte(&b, '.');
        if (token.len > 1 && token.ptr[0] == '$' && token.ptr[1] >= '0' && token.ptr[1] <= '9')
            mf_buf_byte(&b, '*');
        else
            mf_buf_append(&b, token.ptr, token.len);
    }
    out = mf_buf_failed(&b) ? NULL : arena_dup(mem, mf_buf_slice(&b));
    mf_buf_fini(&b);
    return out;
}

/* Without local_subject, the deprecated `to` is the exporter's name of a service, or the prefix of
 * a stream. */
static void name_import(struct options_import *o, const struct jwt_import *i)
{
    o->subject = i->subject;
    if (text_or_null(i->local_subject) != NULL) {
        o->to = i->local_subject;
    } else if (text_or_null(i->to) != NULL && o->service) {
        o->subject = i->to;
        o->to = i->subject;
    } else {
        o->prefix = text_or_null(i->to);
    }
}

static void read_token(struct operator_token *t, struct arena *mem, const struct jwt_import *i)
{
    struct jwt *j;

    if (text_or_null(i->token) == NULL ||
        jwt_decode_as(&j, JWT_ACTIVATION, mf_str(i->token), NULL) != 0)
        return;
    t->iat = j->iat;
    t->exp = j->exp;
    t->nbf = j->nbf;
    t->kind = j->activation->kind;
    t->iss = arena_str(mem, j->iss);
    t->sub = arena_str(mem, j->sub);
    t->subject = arena_str(mem, j->activation->subject);
    t->issuer_account = arena_str(mem, j->activation->issuer_account);
    t->present = true;
    jwt_free(j);
}

static int take_imports(struct operator_claims *c, const struct jwt_account *a)
{
    struct options_account *o = &c->options;

    o->imports = arena_alloc(&c->mem, (a->nimports + 1) * sizeof *o->imports);
    c->tokens = arena_alloc(&c->mem, (a->nimports + 1) * sizeof *c->tokens);
    if (o->imports == NULL || c->tokens == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < a->nimports; i++) {
        const struct jwt_import *im = a->imports[i];
        struct options_import *to = &o->imports[o->nimports];
        if (im == NULL)
            continue;
        *to = (struct options_import){.service = im->type == JWT_SHARE_SERVICE,
                                      .account = im->account,
                                      .share = im->share,
                                      .allow_trace = im->allow_trace};
        name_import(to, im);
        to->local = to->prefix != NULL
                        ? arena_printf(&c->mem, "%s%s%s", to->prefix,
                                       mf_ends(mf_str(to->prefix), ".") ? "" : ".", to->subject)
                        : plain_pattern(&c->mem, to->to != NULL ? to->to : to->subject);
        c->tokens[o->nimports] = (struct operator_token){0};
        read_token(&c->tokens[o->nimports++], &c->mem, im);
    }
    return 0;
}

/* --- mappings --------------------------------------------------------------------------------- */

static int take_mappings(struct operator_claims *c, const struct jwt_account *a)
{
    struct options_account *o = &c->options;

    o->mappings = arena_alloc(&c->mem, (a->nmappings + 1) * sizeof *o->mappings);
    if (o->mappings == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < a->nmappings; i++) {
        const struct jwt_mapping *m = &a->mappings[i];
        struct options_mapping *to = &o->mappings[o->nmappings++];
        *to = (struct options_mapping){.source = m->source};
        to->dests = arena_alloc(&c->mem, (m->nto + 1) * sizeof *to->dests);
        if (to->dests == NULL)
            return MF_NOMEM;
        for (size_t k = 0; k < m->nto; k++) {
            int weight = m->to[k].weight == 0 ? 100 : m->to[k].weight;
            to->dests[to->ndests++] =
                (struct options_mapping_dest){.subject = m->to[k].subject,
                                              .weight = weight,
                                              .cluster = text_or_null(m->to[k].cluster)};
        }
    }
    return 0;
}

int operator_share_take(struct operator_claims *c)
{
    const struct jwt_account *a = c->jwt->account;

    if (take_exports(c, a) != 0 || take_imports(c, a) != 0 || take_mappings(c, a) != 0 ||
        c->mem.failed)
        return MF_NOMEM;
    return 0;
}
