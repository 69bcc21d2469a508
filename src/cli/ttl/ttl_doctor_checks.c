/* ttl_doctor_checks.c: what may be wrong with the lifetimes of one stream.  Pure: facts in,
 * findings out. */
#include "cli/ttl/ttl_doctor_impl.h"

#include "base/clock.h"
#include "subject/subject.h"

#include "cli/ttl/ttl_draw.h"

#include <inttypes.h>
#include <stdio.h>

#define LATE_MS      1000.0        /* as the alert TTLExpiryLate */
#define HISTORY_MOST 256           /* of scope subject */
#define SKEW_NS      (2 * CLOCK_S) /* clocks that differ by more make deadlines surprising */

static void add_finding(struct doctor *d, const char *level, const char *stream, const char *text,
                        const char *fmt, ...) MF_PRINTF(5, 6);
static void add_finding(struct doctor *d, const char *level, const char *stream, const char *text,
                        const char *fmt, ...)
{
    char advice[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(advice, sizeof advice, fmt, ap);
    va_end(ap);
    (void)json_array_append_new(d->findings,
                                json_pack("{s:s,s:s,s:s,s:s}", "level", level, "stream", stream,
                                          "text", text, "advice", advice));
}

static const char *key_of(const struct doctor_facts *f, const char *key)
{
    return request_text(json_object_get(f->policy, "policy"), key);
}

static const json_t *config_of(const struct doctor_facts *f)
{
    return json_object_get(f->info, "config");
}

static bool is_enforced(const struct doctor_facts *f)
{
    return request_bool(f->policy, "active") && strcmp(key_of(f, "enforce"), "on") == 0;
}

static void check_policy(struct doctor *d, const struct doctor_facts *f)
{
    json_t *notes = json_object_get(f->policy, "notes"), *note;
    char text[600];
    size_t i;

    if (json_is_false(json_object_get(f->policy, "valid"))) {
        (void)snprintf(text, sizeof text, "its policy is not valid and not in force: %s",
                       request_text(f->policy, "invalid"));
        add_finding(d, "WARN", f->stream, text, "mayfly ttl policy %s --set KEY=VALUE", f->stream);
    }
    json_array_foreach(notes, i, note) add_finding(d, "NOTE", f->stream, json_string_value(note),
                                                   "mayfly ttl policy %s", f->stream);
    if (json_object_get(config_of(f), "mirror") != NULL && json_array_size(notes) == 0)
        add_finding(d, "NOTE", f->stream, "mirror: follows its origin, touches do not travel",
                    "renew by a write where the mirror must follow");
}

static void check_without(struct doctor *d, const struct doctor_facts *f)
{
    uint64_t without = (uint64_t)request_int(f->stats, "items_without_ttl");
    uint64_t all = without + (uint64_t)request_int(f->stats, "items_with_ttl") +
                   (uint64_t)request_int(f->stats, "items_infinite_ttl");
    char text[160], count[HUMAN_TEXT], share[DRAW_SHARE];

    if (without == 0 || !is_enforced(f) || !request_bool(f->policy, "governed"))
        return;
    (void)snprintf(text, sizeof text, "%s message%s without TTL (%s)", human_count(count, without),
                   without == 1 ? "" : "s", draw_share(share, without, all));
    add_finding(d, "WARN", f->stream, text, "mayfly ttl backfill %s --dry-run", f->stream);
}

static void check_max_age(struct doctor *d, const struct doctor_facts *f)
{
    int64_t age, ttl;
    char text[200], a[HUMAN_TEXT], b[HUMAN_TEXT];

    if (ttl_duration_ns(request_text(f->policy, "max_age"), &age) != 0 || age == 0 ||
        ttl_duration_ns(key_of(f, "default"), &ttl) != 0 || ttl <= age)
        return;
    (void)snprintf(text, sizeof text, "default %s, but max_age %s wins", human_duration(a, ttl),
                   human_duration(b, age));
    add_finding(d, "WARN", f->stream, text, "raise max_age or lower the default");
}

/* An older value of a key may outlive a newer one. */
static void check_scope(struct doctor *d, const struct doctor_facts *f)
{
    int64_t history = request_int(config_of(f), "max_msgs_per_subject");
    bool lives = (request_bool(f->policy, "governed") && is_enforced(f)) ||
                 request_bool(config_of(f), "allow_msg_ttl");
    char text[160];

    if (history < 2 || history > HISTORY_MOST || !lives ||
        strcmp(key_of(f, "scope"), "subject") == 0 ||
        strcmp(request_text(config_of(f), "retention"), "limits") != 0 ||
        json_object_get(config_of(f), "mirror") != NULL)
        return;
    (void)snprintf(text, sizeof text,
                   "history %" PRId64 ", scope message: an older value may come back", history);
    add_finding(d, "WARN", f->stream, text, "mayfly ttl policy %s --set scope=subject", f->stream);
}

/* A rule or default that gives `never` explains infinite messages. */
static bool gives_never(const struct doctor_facts *f)
{
    json_t *rules = json_object_get(json_object_get(f->policy, "policy"), "rules"), *rule;
    size_t i;

    json_array_foreach(rules, i,
                       rule) if (strcmp(request_text(rule, "ttl"), "never") == 0 ||
                                 json_object_get(rule, "permanent_if") != NULL) return true;
    return strcmp(key_of(f, "default"), "never") == 0 || key_of(f, "pattern")[0] != '\0';
}

static void check_never(struct doctor *d, const struct doctor_facts *f)
{
    json_t *items = json_object_get(f->infinite, "items"), *item;
    uint64_t n = 0;
    char text[160], count[HUMAN_TEXT];
    size_t i;

    if (strcmp(key_of(f, "never"), "deny") != 0 || gives_never(f))
        return;
    json_array_foreach(items, i, item) n += !request_bool(item, "pinned");
    if (n == 0)
        return;
    (void)snprintf(text, sizeof text, "%s%s infinite message%s, though never is denied now",
                   human_count(count, n),
                   json_object_get(f->infinite, "next") != NULL ? " or more" : "",
                   n == 1 ? "" : "s");
    add_finding(d, "WARN", f->stream, text, "mayfly ttl ls %s --state infinite", f->stream);
}

/* --- rules ------------------------------------------------------------------------------------ */

static struct mf_slice rule_subject(const json_t *rule)
{
    const char *subject = request_text(rule, "subject");

    return mf_str(subject[0] == '\0' ? ">" : subject);
}

/* Whether the stream may have messages on the rule's subject.  Sources and transforms may store any
 * subject. */
static bool has_subject(const json_t *config, const json_t *rule)
{
    json_t *subjects = json_object_get(config, "subjects"), *s;
    size_t i;

    if (json_array_size(subjects) == 0 || json_object_get(config, "sources") != NULL ||
        json_object_get(config, "subject_transform") != NULL)
        return true;
    json_array_foreach(
        subjects, i,
        s) if (subject_overlap(rule_subject(rule), mf_str(json_string_value(s)))) return true;
    return false;
}

/* A rule without conditions and with a fixed TTL decides on all messages of its subject. */
static bool decides_always(const json_t *rule)
{
    return json_object_size(json_object_get(rule, "header")) == 0 &&
           json_object_get(rule, "permanent_if") == NULL && request_text(rule, "ttl")[0] != '\0' &&
           strchr(request_text(rule, "ttl"), '(') == NULL;
}

/* The first rule before `at` that leaves it no message; NULL: none. */
static const json_t *find_cover(json_t *rules, size_t at)
{
    const json_t *rule = json_array_get(rules, at);

    for (size_t i = 0; i < at; i++) {
        const json_t *before = json_array_get(rules, i);

        if (decides_always(before) && subject_is_subset(rule_subject(rule), rule_subject(before)))
            return before;
    }
    return NULL;
}

/* Messages on which rules were asked, since the start or the last change of the policy. */
static int64_t asked_messages(const struct doctor_facts *f, json_t *rules, int64_t *decided)
{
    json_t *rule;
    size_t i;

    *decided = 0;
    json_array_foreach(rules, i, rule) *decided += request_int(rule, "decided");
    return *decided + request_int(f->policy, "no_rule");
}

static void add_unused(struct doctor *d, const struct doctor_facts *f, const char *rules, int64_t n)
{
    char text[512];

    (void)snprintf(text, sizeof text,
                   "%s %" PRId64 " message%s since the start or the last change of the policy",
                   rules, n, n == 1 ? "" : "s");
    add_finding(d, "WARN", f->stream, text, "mayfly ttl policy %s --test KEY", f->stream);
}

/* asked: the messages that it could have decided on; 0: it is not asked whether it did. */
static void check_rule(struct doctor *d, const struct doctor_facts *f, json_t *rules, size_t at,
                       int64_t asked)
{
    const json_t *rule = json_array_get(rules, at), *cover = find_cover(rules, at);
    const char *id = request_text(rule, "id");
    char text[400];

    if (!has_subject(config_of(f), rule)) {
        (void)snprintf(text, sizeof text, "rule %s: the stream has no subject like %s", id,
                       request_text(rule, "subject"));
        add_finding(d, "WARN", f->stream, text, "mayfly ttl policy %s", f->stream);
    } else if (cover != NULL) {
        (void)snprintf(text, sizeof text, "rule %s never decides: rule %s comes first", id,
                       request_text(cover, "id"));
        add_finding(d, "WARN", f->stream, text, "mayfly ttl policy %s", f->stream);
    } else if (asked > 0 && request_int(rule, "decided") == 0) {
        (void)snprintf(text, sizeof text, "rule %s decided on none of", id);
        add_unused(d, f, text, asked);
    }
}

static void check_rules(struct doctor *d, const struct doctor_facts *f)
{
    json_t *rules = json_object_get(json_object_get(f->policy, "policy"), "rules");
    size_t n = json_array_size(rules);
    int64_t decided, asked = asked_messages(f, rules, &decided);
    char text[80];

    if (asked > 0 && decided == 0) { /* one line says it for all */
        (void)snprintf(text, sizeof text, "none of its %zu rule%s decided on any of", n,
                       n == 1 ? "" : "s");
        add_unused(d, f, text, asked);
        asked = 0;
    }
    for (size_t i = 0; i < n; i++)
        check_rule(d, f, rules, i, asked);
}

/* --- time ------------------------------------------------------------------------------------- */

/* After its clock was set back, the server goes on with the later time until the clock has caught
 * up, so that no message lives longer: a step shows as a difference, too. */
void doctor_check_clock(struct doctor *d, int64_t server_ns, int64_t before_ns, int64_t after_ns)
{
    int64_t skew = server_ns < before_ns  ? server_ns - before_ns
                   : server_ns > after_ns ? server_ns - after_ns
                                          : 0;
    char text[200], by[HUMAN_TEXT];

    if (server_ns == 0 || (skew < SKEW_NS && skew > -SKEW_NS))
        return;
    (void)snprintf(text, sizeof text,
                   "the server's time is %s %s this machine's: clocks differ, or one was set",
                   human_duration(by, skew < 0 ? -skew : skew), skew < 0 ? "behind" : "ahead of");
    add_finding(d, "WARN", "(server)", text,
                "synchronise both clocks; deadlines follow the server's");
}

/* stats: of any stream; the clock is the server's. */
void doctor_check_steps(struct doctor *d, const json_t *stats)
{
    const json_t *clock = json_object_get(stats, "clock");
    int64_t steps = request_int(clock, "steps"), by_ns = 0;
    const char *last = request_text(clock, "last_step");
    bool back = last[0] == '-';
    char text[200], by[HUMAN_TEXT], at[HUMAN_TEXT];

    if (steps == 0 || ttl_duration_ns(last + back, &by_ns) != 0)
        return;
    (void)snprintf(text, sizeof text,
                   "its clock was set %" PRId64 " time%s since the start, last %s by %s at %s",
                   steps, steps == 1 ? "" : "s", back ? "back" : "forward",
                   human_duration(by, by_ns), human_time(at, request_time(clock, "last_step_at")));
    add_finding(d, "WARN", "(server)", text, "%s; keep chrony or systemd-timesyncd running",
                back ? "TTLs keep their length, but deadlines are ahead of the clock"
                     : "messages written before it ended early");
}

static void check_expiry(struct doctor *d, const struct doctor_facts *f)
{
    double late = request_real(json_object_get(f->stats, "lateness_ms"), "p99");
    const json_t *peak = json_object_get(f->forecast, "peak");
    char text[200], count[HUMAN_TEXT], time[HUMAN_TEXT];

    if (late > LATE_MS) {
        (void)snprintf(text, sizeof text, "messages expired late: p99 %.0f ms in the last hour",
                       late);
        add_finding(d, "WARN", f->stream, text, "is the disk or the machine overloaded?");
    }
    if (request_bool(f->forecast, "cliff")) {
        (void)snprintf(text, sizeof text, "cliff: %s messages a second expire at %s",
                       human_count(count, (uint64_t)request_int(peak, "per_second")),
                       human_time(time, request_time(peak, "at")));
        add_finding(d, "WARN", f->stream, text,
                    "mayfly ttl backfill %s --which all --spread 1h --dry-run", f->stream);
    }
}

static void check_counters(struct doctor *d, const struct doctor_facts *f)
{
    const json_t *totals = json_object_get(f->stats, "totals");
    char text[160], count[HUMAN_TEXT];

    if (request_int(totals, "dead_letters_dropped") > 0) {
        (void)snprintf(text, sizeof text, "%s dead letters were dropped since the start",
                       human_count(count, (uint64_t)request_int(totals, "dead_letters_dropped")));
        add_finding(d, "WARN", f->stream, text, "raise the limits of the stream or the account");
    }
    if (request_int(totals, "rejected") > 0) {
        (void)snprintf(text, sizeof text, "%s publishes were refused for their TTL since the start",
                       human_count(count, (uint64_t)request_int(totals, "rejected")));
        add_finding(d, "NOTE", f->stream, text, "mayfly ttl watch %s", f->stream);
    }
}

void doctor_check(struct doctor *d, const struct doctor_facts *f)
{
    check_policy(d, f);
    check_without(d, f);
    check_max_age(d, f);
    check_scope(d, f);
    check_never(d, f);
    check_rules(d, f);
    check_expiry(d, f);
    check_counters(d, f);
}
