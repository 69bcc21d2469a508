/* validate.c: checks of contents that several kinds of claims share; operators, users, callouts. */
#include "jwt/claims_impl.h"

#include "base/utf8.h"
#include "cron/cron.h"
#include "subject/subject.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#define INFO_MAX  (8u << 10)
#define TEXT_MAX  4096u /* of one issue: longer ones are cut */
#define QUOTE_MAX 1024u

/* --- issues ------------------------------------------------------------------------------------
 */

void jwt_issue(struct jwt_check *c, enum jwt_severity s, const char *fmt, ...)
{
    struct jwt_issues *out = c->out;
    va_list ap, again;

    if (out->n == JWT_ISSUES_MAX) {
        struct jwt_issue *last = &out->at[out->n - 1];
        last->severity = s > last->severity ? s : last->severity;
        return;
    }
    struct jwt_issue *at = arena_grow(&out->mem, out->at, out->n, sizeof *at);

    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n > (int)TEXT_MAX)
        n = (int)TEXT_MAX;
    char *text = at == NULL || n < 0 ? NULL : arena_alloc(&out->mem, (size_t)n + 1);
    if (text != NULL) {
        vsnprintf(text, (size_t)n + 1, fmt, again);
        out->at = at;
        out->at[out->n++] = (struct jwt_issue){s, text};
    } else {
        c->failed = true;
    }
    va_end(again);
}

/* Controls and bytes that are no UTF-8 are shown as \xff. */
const char *jwt_quote(struct jwt_check *c, const char *text)
{
    struct mf_buf b = MF_BUF_INIT;
    struct mf_slice s = mf_str(text);

    if (c->out->n == JWT_ISSUES_MAX)
        return "";
    mf_buf_byte(&b, '"');
    for (size_t i = 0; i < s.len && i < QUOTE_MAX;) {
        uint32_t r;
        size_t n = utf8_next(s.ptr + i, s.len - i, &r);

        if (n == 0 || r < ' ' || r == 0x7f)
            mf_buf_printf(&b, "\\x%02x", s.ptr[i]);
        else if (r == '"' || r == '\\')
            mf_buf_printf(&b, "\\%c", (char)r);
        else
            mf_buf_append(&b, s.ptr + i, n);
        i += n == 0 ? 1 : n;
    }
    mf_buf_byte(&b, '"');
    char *copy = mf_buf_failed(&b) ? NULL : arena_dup(&c->out->mem, mf_buf_slice(&b));
    mf_buf_fini(&b);
    c->failed = c->failed || copy == NULL;
    return copy == NULL ? "" : copy;
}

bool jwt_issues_blocking(const struct jwt_issues *i)
{
    for (size_t k = 0; k < i->n; k++)
        if (i->at[k].severity == JWT_BLOCKING)
            return true;
    return false;
}

bool jwt_issues_any_but_warnings(const struct jwt_issues *i)
{
    for (size_t k = 0; k < i->n; k++)
        if (i->at[k].severity != JWT_WARNING)
            return true;
    return false;
}

const char *jwt_issues_text(const struct jwt_issues *i, char *dst, size_t size)
{
    enum jwt_severity what = jwt_issues_blocking(i) ? JWT_BLOCKING : JWT_TIME;
    size_t n = (size_t)snprintf(dst, size, "validation errors: [");
    bool first = true;

    for (size_t k = 0; k < i->n && n < size; k++) {
        if (i->at[k].severity != what)
            continue;
        n += (size_t)snprintf(dst + n, size - n, "%s%s", first ? "" : " ", i->at[k].text);
        first = false;
    }
    if (n < size)
        snprintf(dst + n, size - n, "]");
    return dst;
}

void jwt_issues_fini(struct jwt_issues *i)
{
    arena_fini(&i->mem);
    *i = (struct jwt_issues){.at = NULL};
}

/* --- times and subjects ------------------------------------------------------------------------
 */

void jwt_check_times(struct jwt_check *c, const struct jwt *j)
{
    if (j->exp > 0 && c->now_s > j->exp)
        jwt_issue(c, JWT_TIME, "claim is expired");
    if (j->nbf > 0 && j->nbf > c->now_s)
        jwt_issue(c, JWT_TIME, "claim is not yet valid");
}

void jwt_check_subject(struct jwt_check *c, const char *s)
{
    size_t n = strlen(s);

    if (n == 0) {
        jwt_issue(c, JWT_BLOCKING, "subject cannot be empty");
        return;
    }
    if (strchr(s, ' ') != NULL)
        jwt_issue(c, JWT_BLOCKING, "subject %s cannot have spaces", jwt_quote(c, s));
    if (s[0] == '.' || s[n - 1] == '.')
        jwt_issue(c, JWT_BLOCKING, "subject %s cannot start or end with a `.`", jwt_quote(c, s));
    if (strstr(s, "..") != NULL)
        jwt_issue(c, JWT_BLOCKING, "subject %s cannot contain consecutive `.`", jwt_quote(c, s));
}

bool jwt_subject_inside(const char *inner, const char *outer)
{
    struct mf_slice i = mf_str(inner), o = mf_str(outer), a, b;

    while (subject_next_token(&o, &b)) {
        if (!subject_next_token(&i, &a))
            return false;
        if (mf_eq_str(b, ">") && o.ptr == NULL)
            return true;
        if (!mf_eq(a, b) && !mf_eq_str(b, "*"))
            return false;
    }
    return !subject_next_token(&i, &a);
}

static void check_entry(struct jwt_check *c, const char *entry, bool may_queue)
{
    const char *blank = strchr(entry, ' ');

    if (blank == NULL) {
        jwt_check_subject(c, entry);
        return;
    }
    if (strchr(blank + 1, ' ') != NULL) {
        jwt_issue(c, JWT_BLOCKING, "Permission Subject \"%s\" contains too many spaces", entry);
        return;
    }
    char *subject = arena_dup(&c->out->mem, mf_slice(entry, (size_t)(blank - entry)));
    jwt_check_subject(c, jwt_text(subject));
    jwt_check_subject(c, blank + 1);
    if (!may_queue)
        jwt_issue(c, JWT_BLOCKING, "Permission Subject \"%s\" is not allowed to contain queue",
                  entry);
}

static void check_entries(struct jwt_check *c, const struct json_strs *l, bool may_queue)
{
    for (size_t i = 0; i < l->n; i++)
        check_entry(c, jwt_text(l->at[i]), may_queue);
}

void jwt_check_permissions(struct jwt_check *c, const struct jwt_permissions *p)
{
    check_entries(c, &p->sub.allow, true);
    check_entries(c, &p->sub.deny, true);
    check_entries(c, &p->pub.allow, false);
    check_entries(c, &p->pub.deny, false);
}

/* scheme://host */
static bool is_url(const char *s)
{
    const char *colon = strstr(s, "://");

    return colon != NULL && colon != s && colon[3] != '\0' && colon[3] != '/';
}

void jwt_check_info(struct jwt_check *c, const char *description, const char *url)
{
    if (strlen(description) > INFO_MAX)
        jwt_issue(c, JWT_BLOCKING, "Description is too long");
    if (strlen(url) > INFO_MAX)
        jwt_issue(c, JWT_BLOCKING, "Info URL is too long");
    if (url[0] != '\0' && !is_url(url))
        jwt_issue(c, JWT_BLOCKING, "error parsing info url: no hostname or scheme");
}

/* --- operators ---------------------------------------------------------------------------------
 */

static void check_service_url(struct jwt_check *c, const char *url)
{
    const char *colon = strstr(url, "://");
    struct mf_slice scheme = mf_slice(url, colon == NULL ? 0 : (size_t)(colon - url));

    if (url[0] == '\0')
        return;
    if (strchr(url, '@') != NULL)
        jwt_issue(c, JWT_BLOCKING, "operator service url %s - credentials are not supported",
                  jwt_quote(c, url));
    else if (colon != NULL && strchr(colon + 3, '/') != NULL)
        jwt_issue(c, JWT_BLOCKING, "operator service url %s - paths are not supported",
                  jwt_quote(c, url));
    else if (!mf_eq_nocase(scheme, "nats") && !mf_eq_nocase(scheme, "tls") &&
             !mf_eq_nocase(scheme, "ws") && !mf_eq_nocase(scheme, "wss"))
        jwt_issue(c, JWT_BLOCKING,
                  "operator service url %s - protocol not supported (only 'nats', 'tls', 'ws', "
                  "'wss' only)",
                  jwt_quote(c, url));
}

static bool is_version(const char *s)
{
    for (int part = 0; part < 3; part++) {
        size_t n = strspn(s, "0123456789");

        if (n == 0 || n > 9 || s[n] != (part < 2 ? '.' : '\0'))
            return false;
        s += n + 1;
    }
    return true;
}

void jwt_check_operator(struct jwt_check *c)
{
    const struct jwt_operator *o = c->j->operator_claims;

    if (o->account_server_url[0] != '\0' && strchr(o->account_server_url, ':') == NULL)
        jwt_issue(c, JWT_BLOCKING, "account server url %s requires a protocol",
                  jwt_quote(c, o->account_server_url));
    for (size_t i = 0; i < o->operator_service_urls.n; i++)
        check_service_url(c, jwt_text(o->operator_service_urls.at[i]));
    for (size_t i = 0; i < o->signing_keys.n; i++)
        if (!jwt_is_key(jwt_text(o->signing_keys.at[i]), NKEY_OPERATOR))
            jwt_issue(c, JWT_BLOCKING, "%s is not an operator public key",
                      jwt_text(o->signing_keys.at[i]));
    if (o->system_account[0] != '\0' && !jwt_is_key(o->system_account, NKEY_ACCOUNT))
        jwt_issue(c, JWT_BLOCKING, "%s is not an account public key", o->system_account);
    if (o->assert_server_version[0] != '\0' && !is_version(o->assert_server_version))
        jwt_issue(c, JWT_BLOCKING,
                  "asserted server version must be of the form <major>.<minor>.<update>");
}

/* --- users -------------------------------------------------------------------------------------
 */

/* Go's net.ParseCIDR. */
static bool is_cidr(const char *s)
{
    uint8_t raw[16];
    char ip[64];
    const char *slash = strchr(s, '/');
    uint64_t bits = 0;

    if (slash == NULL || (size_t)(slash - s) >= sizeof ip ||
        mf_parse_u64(mf_str(slash + 1), &bits) != 0)
        return false;
    memcpy(ip, s, (size_t)(slash - s));
    ip[slash - s] = '\0';
    return (inet_pton(AF_INET, ip, raw) == 1 && bits <= 32) ||
           (inet_pton(AF_INET6, ip, raw) == 1 && bits <= 128);
}

/* Digits of one part of a time, at least `least`; false: not so, or above max. */
static bool take_digits(const char **s, int least, int max, char end)
{
    int v = 0, n = 0;

    for (; n < 2 && **s >= '0' && **s <= '9'; n++)
        v = 10 * v + *(*s)++ - '0';
    if (n < least || v > max || (end != '\0' && **s != end))
        return false;
    *s += end != '\0';
    return true;
}

/* As Go's time.Parse("15:04:05") takes it: an hour of one digit and a fraction are fine. */
static bool is_time_of_day(const char *s)
{
    if (!take_digits(&s, 1, 23, ':') || !take_digits(&s, 2, 59, ':') ||
        !take_digits(&s, 2, 59, '\0'))
        return false;
    if ((*s == '.' || *s == ',') && s[1] >= '0' && s[1] <= '9')
        s += 1 + strspn(s + 1, "0123456789");
    return *s == '\0';
}

static void check_range(struct jwt_check *c, const struct jwt_times *t)
{
    const char *start = jwt_text(t->start), *end = jwt_text(t->end);

    if (start[0] == '\0')
        jwt_issue(c, JWT_BLOCKING, "time ranges start must contain a start");
    else if (!is_time_of_day(start))
        jwt_issue(c, JWT_BLOCKING, "start in time range is invalid %s", jwt_quote(c, start));
    if (end[0] == '\0')
        jwt_issue(c, JWT_BLOCKING, "time ranges end must contain an end");
    else if (!is_time_of_day(end))
        jwt_issue(c, JWT_BLOCKING, "end in time range is invalid %s", jwt_quote(c, end));
}

void jwt_check_user(struct jwt_check *c)
{
    const struct jwt_user *u = c->j->user;
    const struct jwt_grant *g = &u->grant;
    const struct jwt_times *times = g->times.at;

    jwt_check_permissions(c, &g->perms);
    for (size_t i = 0; i < g->src.n; i++)
        if (!is_cidr(jwt_text(g->src.at[i])))
            jwt_issue(c, JWT_BLOCKING, "invalid cidr %s in user src limits",
                      jwt_quote(c, jwt_text(g->src.at[i])));
    for (size_t i = 0; i < g->times.n; i++)
        check_range(c, &times[i]);
    if (mf_has_text(g->times_location) && cron_check_zone(mf_str(g->times_location)) != 0)
        jwt_issue(c, JWT_BLOCKING, "could not parse iana time zone by name: unknown time zone %s",
                  g->times_location);
    if (mf_has_text(u->issuer_account) && !jwt_is_key(u->issuer_account, NKEY_ACCOUNT))
        jwt_issue(c, JWT_BLOCKING, "account_id is not an account public key");
}

/* --- callouts ----------------------------------------------------------------------------------
 */

static void check_request(struct jwt_check *c)
{
    const char *key = c->j->request->user_nkey;

    if (key[0] == '\0')
        jwt_issue(c, JWT_BLOCKING, "User nkey is required");
    else if (!jwt_is_key(key, NKEY_USER))
        jwt_issue(c, JWT_BLOCKING, "User nkey %s is not a valid user public key",
                  jwt_quote(c, key));
}

static void check_response(struct jwt_check *c)
{
    const struct jwt_auth_response *r = c->j->response;

    if (!jwt_is_key(c->j->sub, NKEY_USER))
        jwt_issue(c, JWT_BLOCKING, "Subject must be a user public key");
    if (!jwt_is_key(c->j->aud, NKEY_SERVER))
        jwt_issue(c, JWT_BLOCKING, "Audience must be a server public key");
    if (r->error[0] == '\0' && r->jwt[0] == '\0')
        jwt_issue(c, JWT_BLOCKING, "Error or Jwt is required");
    if (r->error[0] != '\0' && r->jwt[0] != '\0')
        jwt_issue(c, JWT_BLOCKING, "Only Error or Jwt can be set");
    if (r->issuer_account[0] != '\0' && !jwt_is_key(r->issuer_account, NKEY_ACCOUNT))
        jwt_issue(c, JWT_BLOCKING, "issuer_account is not an account public key");
}

/* --- all ---------------------------------------------------------------------------------------
 */

int jwt_validate(const struct jwt *j, int64_t now_s, struct jwt_issues *out)
{
    struct jwt_check c = {.out = out, .now_s = now_s, .j = j};
    bool times_last = j->kind == JWT_AUTH_REQUEST || j->kind == JWT_AUTH_RESPONSE;

    if (!times_last)
        jwt_check_times(&c, j);
    if (j->kind == JWT_OPERATOR)
        jwt_check_operator(&c);
    else if (j->kind == JWT_ACCOUNT)
        jwt_check_account(&c);
    else if (j->kind == JWT_USER)
        jwt_check_user(&c);
    else if (j->kind == JWT_ACTIVATION)
        jwt_check_activation(&c, j, false);
    else if (j->kind == JWT_AUTH_REQUEST)
        check_request(&c);
    else if (j->kind == JWT_AUTH_RESPONSE)
        check_response(&c);
    if (times_last)
        jwt_check_times(&c, j);
    return c.failed || out->mem.failed ? MF_NOMEM : 0;
}
