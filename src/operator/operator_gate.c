/* operator_gate.c: private exports: whether an activation token lets an account import.
 *
 * A token is decoded once, with the claims that hold it.  Whether it is valid now is asked when
 * imports are made: when claims of one of both accounts change, or when a token expires. */
#include "operator/operator_impl.h"

#include "base/clock.h"
#include "base/log.h"
#include "subject/subject.h"

/* The claims that this option belongs to: those that are being put, or those in force. */
static const struct operator_claims *claims_of_export(const struct operator* op, const char *name,
                                                      const struct options_export *x)
{
    const struct operator_entry *en = operator_entry_find(op, name);
    const struct operator_claims *both[2] = {op->putting, en == NULL ? NULL : en->claims};

    for (size_t i = 0; i < 2; i++)
        if (both[i] != NULL && x >= both[i]->options.exports &&
            x < both[i]->options.exports + both[i]->options.nexports)
            return both[i];
    return NULL;
}

static const struct operator_claims *claims_of_import(const struct operator* op, const char *name,
                                                      const struct options_import *im)
{
    const struct operator_entry *en = operator_entry_find(op, name);
    const struct operator_claims *both[2] = {op->putting, en == NULL ? NULL : en->claims};

    for (size_t i = 0; i < 2; i++)
        if (both[i] != NULL && im >= both[i]->options.imports &&
            im < both[i]->options.imports + both[i]->options.nimports)
            return both[i];
    return NULL;
}

/* Signed by the exporting account, or by a signing key of it that names the account. */
static bool is_signer(const struct operator_token *t, const struct jwt *exporter)
{
    if (t->issuer_account[0] == '\0')
        return strcmp(t->iss, exporter->sub) == 0;
    return strcmp(t->issuer_account, exporter->sub) == 0 &&
           (strcmp(t->iss, exporter->sub) == 0 ||
            jwt_account_signing_key(exporter->account, t->iss) != NULL);
}

static bool opens_gate(void *arg, const struct account *exporter, const struct options_export *x,
                       const struct account *importer, const struct options_import *im)
{
    const struct operator* op = arg;
    const struct operator_claims *from = claims_of_export(op, account_name(exporter), x),
                                 *to = claims_of_import(op, account_name(importer), im);
    int64_t now_s = operator_now_s(op);

    if (from == NULL || to == NULL)
        return false;
    const struct operator_token *t = &to->tokens[im - to->options.imports];
    return t->present && strcmp(t->sub, account_name(importer)) == 0 && is_signer(t, from->jwt) &&
           t->kind == (im->service ? JWT_SHARE_SERVICE : JWT_SHARE_STREAM) &&
           subject_is_subset(mf_str(im->subject), mf_str(t->subject)) &&
           (t->exp == 0 || t->exp > now_s) && t->nbf <= now_s &&
           !jwt_revoked(&from->exports[x - from->options.exports]->revocations, t->sub, t->iat);
}

void operator_gate_open(struct operator* op)
{
    accounts_set_gate(op->setup.accounts, opens_gate, op);
}

/* When a token expires or begins to be valid next, in seconds; 0: never. */
int64_t operator_gate_next(const struct operator_claims *c, int64_t now_s)
{
    int64_t next = 0;

    for (size_t i = 0; i < c->options.nimports; i++) {
        const int64_t times[2] = {c->tokens[i].exp, c->tokens[i].nbf};
        for (size_t k = 0; k < 2; k++)
            if (times[k] > now_s && (next == 0 || times[k] < next))
                next = times[k];
    }
    return next;
}
