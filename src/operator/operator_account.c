/* operator_account.c: loaded accounts: their claims checked and put in force, their end. */
#include "operator/operator_impl.h"

#include "base/clock.h"
#include "base/log.h"

#define LOOK_MOST_NS (600 * CLOCK_S) /* the wall clock may be set meanwhile */

int64_t operator_now_s(const struct operator* op)
{
    return loop_wall_ns(op->setup.loop) / CLOCK_S;
}

/* --- checks ----------------------------------------------------------------------------------- */

static void log_issues(const struct jwt *j, const struct jwt_issues *issues)
{
    if (issues->n == 0)
        return;
    log_warn("Account [%s] has validation issues:", j->sub);
    for (size_t i = 0; i < issues->n; i++)
        log_warn("  - %s", issues->at[i].text);
}

/* An expired account may be known, not used; one that is not valid yet is refused. */
static int check_claims(const struct operator* op, const struct jwt *j, const char *key,
                        struct mf_error *e)
{
    int64_t now_s = operator_now_s(op);
    struct jwt_issues issues = {0};
    int rc;

    if (strcmp(j->sub, key) != 0)
        return mf_fail(e, MF_DENIED, "subject does not match jwt content");
    if (!trust_signs_accounts(op->trust, j->iss))
        return mf_fail(e, MF_DENIED, "account validation failed: %s is not a trusted operator key",
                       j->iss);
    rc = jwt_validate(j, now_s, &issues);
    if (rc != 0)
        return mf_fail(e, rc, "validation");
    log_issues(j, &issues);
    if (jwt_issues_blocking(&issues)) {
        char text[400];
        rc = mf_fail(e, MF_INVAL, "%s", jwt_issues_text(&issues, text, sizeof text));
    } else if (j->nbf > now_s) {
        rc = mf_fail(e, MF_DENIED, "claim is not yet valid");
    }
    jwt_issues_fini(&issues);
    return rc;
}

/* --- the end ---------------------------------------------------------------------------------- */

static void wait_for_end(struct operator_entry *en)
{
    struct loop *l = en->op->setup.loop;
    int64_t in_ns = en->claims->jwt->exp * CLOCK_S - loop_wall_ns(l);

    loop_timer_arm(en->timer, loop_mono_ns(l) + (in_ns < LOOK_MOST_NS ? in_ns : LOOK_MOST_NS));
}

static void end_reached(void *arg)
{
    struct operator_entry *en = arg;
    const struct operator_setup *s = &en->op->setup;

    if (en->a.expired)
        return;
    if (operator_now_s(en->op) < en->claims->jwt->exp) {
        wait_for_end(en);
        return;
    }
    log_info("Account [%s] expired", en->a.key);
    en->a.expired = true;
    if (s->ended != NULL)
        s->ended(s->arg, &en->a);
}

static void watch_end(struct operator_entry *en)
{
    int64_t exp = en->claims->jwt->exp;

    en->a.expired = exp > 0 && exp <= operator_now_s(en->op);
    if (exp == 0 || en->a.expired) {
        loop_timer_stop(en->timer);
        return;
    }
    if (en->timer == NULL)
        en->timer = loop_timer_new(en->op->setup.loop, end_reached, en);
    if (en->timer == NULL)
        log_error("Account [%s]: out of memory: it does not expire while the server runs",
                  en->a.key);
    else
        wait_for_end(en);
}

/* --- new claims ------------------------------------------------------------------------------- */

static int put_account(struct operator_entry *en, const struct operator_claims *c,
                       struct perms **defaults, struct mf_error *e)
{
    struct account *account;

    *defaults = NULL;
    if (perms_new(defaults, c->options.default_permissions, e) != 0)
        return e->code;
    if (accounts_put(en->op->setup.accounts, &c->options, &account, e) != 0) {
        perms_release(*defaults);
        return e->code;
    }
    if (en->a.account == NULL)
        en->a.account = account_retain(account);
    return 0;
}

/* Takes c over. */
static int replace_claims(struct operator_entry *en, struct operator_claims *c, struct mf_error *e)
{
    const struct operator_setup *s = &en->op->setup;
    struct operator_claims *before = en->claims;
    struct perms *defaults, *old = en->a.defaults;
    int rc = put_account(en, c, &defaults, e);

    if (rc != 0) {
        operator_claims_free(c);
        return rc;
    }
    en->op->nloaded += before == NULL;
    en->claims = c;
    en->deleted = false;
    en->a.jwt = c->jwt;
    en->a.defaults = defaults;
    en->a.updated_ns = loop_wall_ns(s->loop);
    en->a.incomplete = account_each_fault(en->a.account, NULL, NULL) > 0;
    watch_end(en);
    if (s->changed != NULL)
        s->changed(s->arg, &en->a, before == NULL ? NULL : before->jwt);
    perms_release(old);
    operator_claims_free(before);
    return 0;
}

int operator_account_apply(struct operator_entry *en, struct mf_slice text, struct mf_error *e)
{
    struct operator_claims *c;
    struct jwt *j;
    int rc;

    if (jwt_decode_as(&j, JWT_ACCOUNT, text, e) != 0)
        return e->code;
    if (en->claims != NULL && !en->deleted && strcmp(en->claims->jwt->text, j->text) == 0) {
        jwt_free(j);
        return 0;
    }
    rc = check_claims(en->op, j, en->a.key, e);
    if (rc != 0) {
        jwt_free(j);
        return rc;
    }
    if (operator_claims_new(&c, j, e) != 0)
        return e->code;
    return replace_claims(en, c, e);
}
