/* answer.c: what the service of an auth callout says, checked in nats-server's order. */
#include "callout/answer.h"

#include "jwt/jwt_callout.h"
#include "jwt/xkey.h"

#include <string.h>

#define SEAL "xkv1"

/* nats-server shows its errors with a capital letter first. */
static int refuse_token(struct mf_error *e)
{
    if (e->text[0] >= 'a' && e->text[0] <= 'z')
        e->text[0] = (char)(e->text[0] - 'a' + 'A');
    return e->code == MF_NOMEM ? MF_NOMEM : MF_DENIED;
}

static int open_seal(struct mf_buf *plain, const struct answer_rules *r, struct mf_slice body,
                     struct mf_error *e)
{
    const char *why = "could not decrypt input";
    int rc = xkey_open(plain, body, r->curve, mf_str(r->xkey));

    if (rc == 0)
        return 0;
    if (rc == MF_NOMEM)
        return mf_fail(e, MF_NOMEM, "auth callout response");
    if (body.len <= XKEY_OVERHEAD - 16)
        why = "encrypted input is not valid";
    else if (!mf_starts(body, SEAL))
        why = "encrypted input wrong version";
    return mf_fail(e, MF_DENIED,
                   "Error decrypting auth callout response on account \"%s\": nkeys: %s",
                   r->account, why);
}

/* The first thing wrong with the contents; NULL: nothing.  Lives in *i. */
static int first_issue(const char **text, struct jwt_issues *i, const struct jwt *j, int64_t now_s)
{
    int rc = jwt_validate(j, now_s, i);

    *text = i->n > 0 ? i->at[0].text : NULL;
    return rc;
}

static int check_response(const struct answer_rules *r, const struct jwt *j, bool sealed,
                          struct mf_error *e)
{
    struct jwt_issues issues = {0};
    const char *issue;
    int rc = 0;

    if (first_issue(&issue, &issues, j, r->now_s) != 0)
        rc = mf_fail(e, MF_NOMEM, "auth callout response");
    else if (issue != NULL)
        rc = mf_fail(e, MF_DENIED, "Authorization response had validation errors: %s", issue);
    else if (strcmp(j->sub, r->user_nkey) != 0)
        rc = mf_fail(e, MF_DENIED,
                     "Auth callout violation: auth callout response is not for expected user");
    else if (strcmp(j->aud, r->server_id) != 0)
        rc = mf_fail(e, MF_DENIED,
                     "Auth callout violation: auth callout response is not for server");
    else if (!sealed && !r->signs(r->arg, j->iss))
        rc = mf_fail(e, MF_DENIED, "Auth callout signing key is unknown");
    else if (j->response->error[0] != '\0')
        rc =
            mf_fail(e, MF_DENIED, "Auth callout service returned an error: %s", j->response->error);
    jwt_issues_fini(&issues);
    return rc;
}

static int check_user(const struct answer_rules *r, const struct jwt *user, struct mf_error *e)
{
    struct jwt_issues issues = {0};
    const char *issue;
    int rc = 0;

    if (first_issue(&issue, &issues, user, r->now_s) != 0)
        rc = mf_fail(e, MF_NOMEM, "auth callout response");
    else if (issue != NULL)
        rc = mf_fail(e, MF_DENIED, "Error validating user JWT: %s", issue);
    else if (strcmp(user->sub, r->user_nkey) != 0)
        rc = mf_fail(e, MF_DENIED,
                     "Expected authorized user of \"%s\" but got \"%s\" on account \"%s\"",
                     r->user_nkey, user->sub, r->account);
    jwt_issues_fini(&issues);
    return rc;
}

static int read_plain(struct jwt **user, const struct answer_rules *r, struct mf_slice text,
                      bool sealed, struct mf_error *e)
{
    struct jwt *response;
    int rc = jwt_decode_as(&response, JWT_AUTH_RESPONSE, text, e);

    if (rc != 0)
        return refuse_token(e);
    rc = check_response(r, response, sealed, e);
    if (rc == 0 && jwt_decode_as(user, JWT_USER, mf_str(response->response->jwt), e) != 0)
        rc = refuse_token(e);
    jwt_free(response);
    return rc;
}

int answer_read(struct jwt **user, const struct answer_rules *r, struct mf_slice body,
                struct mf_error *e)
{
    struct mf_buf plain = MF_BUF_INIT;
    bool sealed = r->curve != NULL && body.len > 0 && !mf_starts(body, "eyJ");
    int rc = 0;

    *user = NULL;
    if (body.len == 0)
        return mf_fail(e, MF_DENIED,
                       "Auth callout violation: \"no reason supplied\" on account \"%s\"",
                       r->account);
    if (sealed)
        rc = open_seal(&plain, r, body, e);
    if (rc == 0)
        rc = read_plain(user, r, sealed ? mf_buf_slice(&plain) : body, sealed, e);
    mf_buf_fini(&plain);
    if (rc == 0 && (rc = check_user(r, *user, e)) != 0) {
        jwt_free(*user);
        *user = NULL;
    }
    return rc;
}
