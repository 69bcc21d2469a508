/* operator_account.c: loaded accounts: their claims checked and put in force, their end. */
#include "operator/operator_impl.h"

#include "base/clock.h"
#include "base/log.h"

#define LOOK_MOST_S 600 /* the wall clock may be set meanwhile */

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

/* --- times ------------------------------------------------------------------------------------ */

static void wait_for_time(struct operator_entry *en);

static void account_expired(struct operator_entry *en)
{
    const struct operator_setup *s = &en->op->setup;

    en->a.expired = true;
    if (s->ended != NULL)
        s->ended(s->arg, &en->a);
}

/* The account expired, or a token of its imports did, or became valid. */
static void time_reached(void *arg)
{
    struct operator_entry *en = arg;
    int64_t exp = en->claims->jwt->exp;
    struct mf_error e;

    if (!en->a.expired && exp > 0 && exp <= operator_now_s(en->op)) {
        log_info("Account [%s] expired", en->a.key);
        account_expired(en);
    } else if (en->claims->options.nimports > 0 &&
               accounts_recheck(en->op->setup.accounts, en->a.account, &e) != 0) {
        log_error("Account [%s]: imports: %s", en->a.key, e.text);
    }
    wait_for_time(en);
}

static void wait_for_time(struct operator_entry *en)
{
    struct loop *l = en->op->setup.loop;
    int64_t now_s = operator_now_s(en->op), exp = en->claims->jwt->exp,
            next = operator_gate_next(en->claims, now_s), in_ns;

    if (exp > now_s && (next == 0 || exp < next))
        next = exp;
    if (next > 0 && en->timer == NULL)
        en->timer = loop_timer_new(l, time_reached, en);
    if (next > 0 && en->timer == NULL)
        log_error("Account [%s]: out of memory: it does not expire while the server runs",
                  en->a.key);
    if (next == 0) {
        loop_timer_stop(en->timer);
    } else if (en->timer != NULL) {
        in_ns =
            next > now_s + LOOK_MOST_S ? LOOK_MOST_S * CLOCK_S : next * CLOCK_S - loop_wall_ns(l);
        loop_timer_arm(en->timer, loop_mono_ns(l) + in_ns);
    }
}

/* --- claims without effect -------------------------------------------------------------------- */

static bool maps_by_cluster(const struct jwt_account *a)
{
    for (size_t i = 0; i < a->nmappings; i++)
        for (size_t k = 0; k < a->mappings[i].nto; k++)
            if (a->mappings[i].to[k].cluster != NULL && a->mappings[i].to[k].cluster[0] != '\0')
                return true;
    return false;
}

static void log_without_effect(const struct operator_claims *c)
{
    const struct jwt_account *a = c->jwt->account;

    if (a->cluster_traffic[0] != '\0')
        log_info("Account [%s]: cluster_traffic has no effect: this server is not a cluster",
                 c->jwt->sub);
    if (maps_by_cluster(a))
        log_info("Account [%s]: mappings for a cluster have no effect: this server is not one",
                 c->jwt->sub);
    if (c->options.js.none)
        log_warn("Account [%s]: no tier R1 in its JetStream limits: streams on this server have "
                 "one replica, so the account stores nothing here",
                 c->jwt->sub);
}

/* --- new claims ------------------------------------------------------------------------------- */

static int put_account(struct operator_entry *en, const struct operator_claims *c,
                       struct perms **defaults, struct mf_error *e)
{
    struct account *account;

    int rc;

    *defaults = NULL;
    if (perms_new(defaults, c->options.default_permissions, e) != 0)
        return e->code;
    en->op->putting = c;
    rc = accounts_put(en->op->setup.accounts, &c->options, &account, e);
    en->op->putting = NULL;
    if (rc != 0) {
        perms_release(*defaults);
        return rc;
    }
    if (en->a.account == NULL)
        en->a.account = account_retain(account);
    return 0;
}

int operator_account_replace(struct operator_entry *en, struct operator_claims *c,
                             struct mf_error *e)
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
    en->a.expired = c->jwt->exp > 0 && c->jwt->exp <= operator_now_s(en->op);
    wait_for_time(en);
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
    log_without_effect(c);
    return operator_account_replace(en, c, e);
}

/* --- the end ---------------------------------------------------------------------------------- */

void operator_account_delete(struct operator_entry *en)
{
    const struct operator_setup *s = &en->op->setup;

    en->deleted = en->a.expired = true;
    en->claims->options.js.enabled = false; /* its files stay */
    if (s->changed != NULL)
        s->changed(s->arg, &en->a, en->a.jwt);
    account_expired(en);
}

static void account_gone(void *arg, struct account *a)
{
    struct operator_entry *en = arg;
    const struct operator_setup *s = &en->op->setup;

    (void)a;
    if (s->gone != NULL)
        s->gone(s->arg, &en->a);
}

void operator_account_drop(struct operator_entry *en)
{
    struct mf_error e;

    log_info("Reloaded: deleting account [removed]: \"%s\"", en->a.key);
    if (accounts_drop(en->op->setup.accounts, en->a.key, account_gone, en, &e) != 0) {
        log_error("Account [%s] stays: %s", en->a.key, e.text);
        operator_load_answer(en);
        return;
    }
    loop_timer_stop(en->timer); /* the entry may survive: somebody waits for it */
    operator_load_needs_end(en);
    operator_claims_free(en->claims);
    en->claims = NULL;
    en->a.jwt = NULL;
    en->op->nloaded--;
    account_release(en->a.account);
    en->a.account = NULL;
    operator_load_answer(en);
}

bool operator_account_incomplete(const struct operator_account *a)
{
    return account_each_fault(a->account, NULL, NULL) > 0;
}
