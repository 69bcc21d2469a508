/* trust.c: operator keys that this server trusts. */
#include "operator/trust.h"

#include "base/civil.h"
#include "base/clock.h"
#include "base/log.h"

#include <stdlib.h>
#include <time.h>

struct trust {
    const struct options *o;
    const struct options_operator *p;
};

static bool has_key(const struct options_list *l, const char *key)
{
    for (size_t i = 0; i < l->n; i++)
        if (strcmp(l->items[i], key) == 0)
            return true;
    return false;
}

static bool is_signing_key(const struct jwt *operator_jwt, const char *key)
{
    const struct json_strs *keys = &operator_jwt->operator_claims->signing_keys;

    for (size_t i = 0; i < keys->n; i++)
        if (strcmp(keys->at[i], key) == 0)
            return true;
    return false;
}

static void show_time(char *dst, size_t cap, int64_t at_s)
{
    time_t t = (time_t)at_s;
    struct tm tm;

    if (gmtime_r(&t, &tm) == NULL || strftime(dst, cap, "%Y-%m-%d %H:%M:%S +0000 UTC", &tm) == 0)
        dst[0] = '\0';
}

int trust_new(struct trust **out, const struct options *o, int64_t now_s, struct mf_error *e)
{
    const struct options_operator *p = o->operators;
    char at[40];

    for (size_t i = 0; i < p->noperators; i++) {
        const struct jwt *j = p->operators[i];
        if (j->exp > 0 && now_s > j->exp) {
            show_time(at, sizeof at, j->exp);
            return mf_fail(e, MF_DENIED, "operator %s expired at %s", j->sub, at);
        }
        if (j->nbf > now_s) {
            show_time(at, sizeof at, j->nbf);
            return mf_fail(e, MF_DENIED, "operator %s is not valid before %s", j->sub, at);
        }
    }
    struct trust *t = calloc(1, sizeof *t);
    if (t == NULL)
        return mf_fail(e, MF_NOMEM, "trusted keys");
    t->o = o;
    t->p = p;
    *out = t;
    return 0;
}

void trust_move(struct trust *t, const struct options *o)
{
    t->o = o;
    t->p = o->operators;
}

void trust_free(struct trust *t)
{
    free(t);
}

bool trust_signs_accounts(const struct trust *t, const char *key)
{
    return has_key(&t->p->trusted, key);
}

bool trust_is_operator(const struct trust *t, const char *key)
{
    for (size_t i = 0; i < t->p->noperators; i++) {
        const struct jwt *j = t->p->operators[i];
        bool own = strcmp(j->sub, key) == 0 && !j->operator_claims->strict_signing_key_usage;
        if (own || is_signing_key(j, key))
            return true;
    }
    return false;
}

bool trust_wants_signing_keys(const struct trust *t, const char *issuer)
{
    for (size_t i = 0; i < t->p->noperators; i++) {
        const struct jwt *j = t->p->operators[i];
        if (j->operator_claims->strict_signing_key_usage &&
            (strcmp(j->sub, issuer) == 0 || is_signing_key(j, issuer)))
            return true;
    }
    return false;
}

const char *trust_system_account(const struct trust *t)
{
    return t->o->system_account;
}

bool trust_admits_account(const struct trust *t, const char *account)
{
    return t->p->pinned.n == 0 || has_key(&t->p->pinned, account);
}

void trust_log(const struct trust *t)
{
    if (t->p->noperators > 0)
        log_info("Trusted Operators");
    for (size_t i = 0; i < t->p->noperators; i++) {
        const struct jwt *j = t->p->operators[i];
        char at[40];
        log_info("  System  : \"%s\"", j->aud);
        log_info("  Operator: \"%s\"", j->name);
        show_time(at, sizeof at, j->iat);
        log_info("  Issued  : %s", at);
        show_time(at, sizeof at, j->exp);
        log_info("  Expires : %s", j->exp == 0 ? "Never" : at);
    }
}
