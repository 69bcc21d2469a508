/* user_rights.c: permissions, networks, hours and kinds of connection in the claims of a user. */
#include "operator/user_rights.h"

#include "base/civil.h"
#include "base/clock.h"
#include "cron/cron.h"

#include <arpa/inet.h>

/* --- permissions ------------------------------------------------------------------------------ */

static struct options_list list_of(const struct json_strs *from)
{
    return (struct options_list){.items = from->at, .n = from->n};
}

void user_rights_options(struct options_permissions *out, const struct jwt_permissions *p)
{
    *out = (struct options_permissions){.publish = {.allow = list_of(&p->pub.allow),
                                                    .deny = list_of(&p->pub.deny),
                                                    .allow_set = p->pub.allow.n > 0},
                                        .subscribe = {.allow = list_of(&p->sub.allow),
                                                      .deny = list_of(&p->sub.deny),
                                                      .allow_set = p->sub.allow.n > 0}};
    if (p->resp != NULL) {
        out->responses_set = true;
        out->responses_max = p->resp->max;
        out->responses_expires_ns = p->resp->ttl_ns;
    }
}

int user_rights_perms(struct perms **out, const struct jwt_permissions *p, struct mf_error *e)
{
    struct options_permissions o;

    *out = NULL;
    if (jwt_permissions_empty(p))
        return 0;
    user_rights_options(&o, p);
    return perms_new(out, &o, e);
}

/* --- networks --------------------------------------------------------------------------------- */

struct address {
    uint8_t raw[16];
    unsigned bits; /* 32 or 128 */
};

static bool read_address(struct address *a, const char *text)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};

    a->bits = 32;
    if (inet_pton(AF_INET, text, a->raw) == 1)
        return true;
    if (inet_pton(AF_INET6, text, a->raw) != 1)
        return false;
    a->bits = 128;
    if (memcmp(a->raw, mapped, sizeof mapped) == 0) { /* an address of version 4 */
        memmove(a->raw, a->raw + sizeof mapped, 4);
        a->bits = 32;
    }
    return true;
}

static bool same_bits(const uint8_t *a, const uint8_t *b, unsigned n)
{
    unsigned rest = n % 8;

    return memcmp(a, b, n / 8) == 0 && (rest == 0 || (a[n / 8] ^ b[n / 8]) >> (8 - rest) == 0);
}

/* 1: it holds the address; 0: it does not; MF_INVAL: it is no network. */
static int network_holds(const char *cidr, const struct address *a)
{
    const char *slash = cidr == NULL ? NULL : strchr(cidr, '/');
    size_t len = slash == NULL ? 0 : (size_t)(slash - cidr);
    struct address net;
    char ip[64];
    uint64_t bits;

    if (slash == NULL || len >= sizeof ip || mf_parse_u64(mf_str(slash + 1), &bits) != 0)
        return MF_INVAL;
    memcpy(ip, cidr, len);
    ip[len] = '\0';
    if (!read_address(&net, ip))
        return MF_INVAL;
    if (net.bits == 32 && strchr(ip, ':') != NULL) /* ::ffff:10.0.0.0/104 */
        bits = bits < 96 ? 0 : bits - 96;
    if (bits > net.bits)
        return MF_INVAL;
    return net.bits == a->bits && same_bits(net.raw, a->raw, (unsigned)bits);
}

bool user_rights_source(const struct jwt_grant *g, const char *ip)
{
    struct address a;

    if (g->src.n == 0)
        return true;
    if (ip == NULL || !read_address(&a, ip))
        return false;
    for (size_t i = 0; i < g->src.n; i++) {
        int holds = network_holds(g->src.at[i], &a);
        if (holds != 0)
            return holds > 0;
    }
    return false;
}

/* --- kinds of connection ---------------------------------------------------------------------- */

bool user_rights_kind(const struct jwt_grant *g, enum login_kind kind)
{
    for (size_t i = 0; i < g->connection_types.n; i++)
        if (mf_eq_nocase(mf_str(g->connection_types.at[i]), login_kind_text(kind)))
            return true;
    return g->connection_types.n == 0;
}

/* --- hours ------------------------------------------------------------------------------------ */

/* Seconds since midnight of H:MM:SS, with or without a fraction; -1: no such time. */
static int32_t read_time(const char *text)
{
    int32_t part[3] = {0, 0, 0};
    const char *at = text == NULL ? "" : text;

    for (int i = 0; i < 3; i++) {
        if (*at < '0' || *at > '9')
            return -1;
        for (; *at >= '0' && *at <= '9' && part[i] < 100; at++)
            part[i] = part[i] * 10 + (*at - '0');
        if (i < 2 && *at++ != ':')
            return -1;
    }
    return part[0] * 3600 + part[1] * 60 + part[2];
}

/* The second, UTC, at which local time reaches `local`, an offset of *offset_s holding at now_s and
 * before until_s.  Where summer time skips it: the moment of the change. */
static int64_t utc_of(struct mf_slice zone, int64_t local, int32_t offset_s, int64_t until_s)
{
    int64_t at = local - offset_s, again;
    int32_t next_s;

    if (at < until_s || cron_local_time(zone, until_s, &next_s, &again) != 0)
        return at;
    at = local - next_s;
    return at < until_s ? until_s : at;
}

int user_rights_window(const struct jwt_grant *g, int64_t now_ns, int64_t *end_ns)
{
    struct mf_slice zone =
        mf_has_text(g->times_location) ? mf_str(g->times_location) : mf_str("Local");
    const struct jwt_times *times = g->times.at;
    int64_t now_s = now_ns / CLOCK_S, until_s;
    int32_t offset_s;

    *end_ns = 0;
    if (g->times.n == 0)
        return 0;
    if (cron_local_time(zone, now_s, &offset_s, &until_s) != 0)
        return MF_DENIED;
    int64_t local = now_s + offset_s,
            midnight = local - ((local % CIVIL_DAY_S + CIVIL_DAY_S) % CIVIL_DAY_S);
    for (size_t i = 0; i < g->times.n; i++) {
        int32_t start = read_time(times[i].start), end = read_time(times[i].end);
        int32_t of_day = (int32_t)(local - midnight);
        if (start < 0 || end < 0)
            return MF_DENIED;
        bool over_midnight = start > end;
        if (over_midnight ? of_day >= start || of_day < end : of_day >= start && of_day < end) {
            int64_t last = midnight + end + (of_day >= end ? CIVIL_DAY_S : 0);
            *end_ns = utc_of(zone, last, offset_s, until_s) * CLOCK_S;
            return 0;
        }
    }
    return MF_DENIED;
}

int64_t user_rights_deadline(const struct jwt *user, int64_t window_end_ns)
{
    int64_t exp_ns = user->exp <= 0                    ? 0
                     : user->exp > INT64_MAX / CLOCK_S ? INT64_MAX
                                                       : user->exp * CLOCK_S;

    if (exp_ns == 0 || (window_end_ns != 0 && window_end_ns < exp_ns))
        return window_end_ns;
    return exp_ns;
}
