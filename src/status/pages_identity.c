/* pages_identity.c: operator mode on pages and in events: users by their JWTs, accounts by theirs,
 * operators.  A JWT is shown where nats-server shows it, but never one that is enough to log in. */
#include "status/pages_impl.h"

#include "base/clock.h"
#include "config/options_operator.h"
#include "operator/operator.h"
#include "session/login.h"

/* --- users ------------------------------------------------------------------------------------ */

static void show_tags(struct jsonw *w, char *const *tags, size_t n)
{
    if (n == 0)
        return;
    jsonw_array(w, "tags");
    for (size_t i = 0; i < n; i++)
        jsonw_str(w, NULL, tags[i]);
    jsonw_end(w);
}

void page_user_identity(struct jsonw *w, const struct client_info *i, const char *name_tag,
                        bool with_jwt)
{
    const struct login_user *who = i->who;

    if (who != NULL && with_jwt)
        jsonw_opt_str(w, "jwt", who->jwt);
    jsonw_opt_str(w, "issuer_key", i->issuer);
    jsonw_opt_str(w, "name_tag", name_tag);
    if (who != NULL && !i->refused)
        show_tags(w, who->tags, who->ntags);
}

/* --- accounts --------------------------------------------------------------------------------- */

static const struct operator_account *account_of(const struct status *s, const struct account *a)
{
    return s->op == NULL ? NULL : operator_account_find(s->op, account_name(a));
}

void page_account_times(struct status *s, const struct account *a, struct jsonw *w)
{
    const struct operator_account *oa = account_of(s, a);

    jsonw_time(w, "update_time", oa != NULL ? oa->updated_ns : server_config_load_ns(s->server));
    jsonw_opt_bool(w, "is_system", account_is_system(a));
    jsonw_bool(w, "expired", oa != NULL && oa->expired);
    jsonw_bool(w, "complete", oa == NULL || !operator_account_incomplete(oa));
}

struct jwt_export *const *page_export_claims(struct status *s, const struct account *a)
{
    const struct operator_account *oa = account_of(s, a);

    return oa == NULL ? NULL : oa->jwt->account->exports;
}

void page_revocations(struct jsonw *w, const char *key, const struct jwt_revocations *r)
{
    if (r->n == 0)
        return;
    jsonw_object(w, key);
    for (size_t i = 0; i < r->n; i++)
        jsonw_time(w, r->at[i].key, r->at[i].at * CLOCK_S);
    jsonw_end(w);
}

/* As of now: an import may have expired since the claims came.  O(bytes of the JWT). */
static void show_issues(struct jsonw *w, const struct jwt *j, int64_t now_s)
{
    struct jwt_issues issues = {0};

    if (jwt_validate(j, now_s, &issues) == 0 && issues.n > 0) {
        jsonw_array(w, "validation_result_jwt");
        for (size_t i = 0; i < issues.n; i++) {
            jsonw_object(w, NULL);
            jsonw_str(w, "description", issues.at[i].text);
            jsonw_bool(w, "blocking", issues.at[i].severity == JWT_BLOCKING);
            jsonw_bool(w, "time_check", issues.at[i].severity == JWT_TIME);
            jsonw_end(w);
        }
        jsonw_end(w);
    }
    jwt_issues_fini(&issues);
}

void page_account_claims(struct status *s, const struct account *a, struct jsonw *w)
{
    const struct operator_account *oa = account_of(s, a);
    const struct jwt *j = oa == NULL || operator_account_stand_in(oa) ? NULL : oa->jwt;

    if (j != NULL) {
        jsonw_str(w, "jwt", j->text);
        jsonw_str(w, "issuer_key", j->iss);
    }
    jsonw_str(w, "name_tag", account_tag(a));
    if (j == NULL)
        return;
    show_tags(w, j->tags.at, j->tags.n);
    jsonw_raw(w, "decoded_jwt", mf_str(j->claims));
    show_issues(w, j, loop_wall_ns(s->loop) / CLOCK_S);
    page_revocations(w, "revoked_user", &j->account->revocations);
}

/* --- operators -------------------------------------------------------------------------------- */

void page_operators(const struct status *s, struct jsonw *w)
{
    const struct options_operator *p = server_options(s->server)->operators;

    if (p->noperators == 0)
        return;
    jsonw_array(w, "trusted_operators_jwt");
    for (size_t i = 0; i < p->noperators; i++)
        jsonw_str(w, NULL, p->operators[i]->text);
    jsonw_end(w);
    jsonw_array(w, "trusted_operators_claim");
    for (size_t i = 0; i < p->noperators; i++)
        jsonw_raw(w, NULL, mf_str(p->operators[i]->claims));
    jsonw_end(w);
}
