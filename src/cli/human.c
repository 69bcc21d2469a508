/* human.c: see human.h. */
#include "cli/human.h"

#include "base/clock.h"
#include "codec/json.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const char *human_count(char dst[HUMAN_TEXT], uint64_t n)
{
    char digits[24];
    size_t len = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, n), at = 0;

    for (size_t i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0)
            dst[at++] = ',';
        dst[at++] = digits[i];
    }
    dst[at] = '\0';
    return dst;
}

const char *human_bytes(char dst[HUMAN_TEXT], uint64_t n)
{
    static const char *const unit[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    double value = (double)n;
    size_t i = 0;

    for (; value >= 1023.95 && i + 1 < MF_COUNT(unit); i++)
        value /= 1024;
    (void)snprintf(dst, HUMAN_TEXT, i == 0 ? "%.0f %s" : "%.1f %s", value, unit[i]);
    return dst;
}

const char *human_rate(char dst[HUMAN_TEXT], double per_second)
{
    if (per_second < 0.05)
        (void)snprintf(dst, HUMAN_TEXT, "0/s");
    else if (per_second < 99.95)
        (void)snprintf(dst, HUMAN_TEXT, "%.1f/s", per_second);
    else {
        char count[HUMAN_TEXT];

        (void)snprintf(dst, HUMAN_TEXT, "%.40s/s",
                       human_count(count, (uint64_t)(per_second + 0.5)));
    }
    return dst;
}

const char *human_duration(char dst[HUMAN_TEXT], int64_t ns)
{
    static const struct {
        int64_t ns;
        const char *name;
    } units[] = {{365 * 86400 * CLOCK_S, "y"},
                 {86400 * CLOCK_S, "d"},
                 {3600 * CLOCK_S, "h"},
                 {60 * CLOCK_S, "m"},
                 {CLOCK_S, "s"},
                 {CLOCK_MS, "ms"},
                 {CLOCK_US, "us"},
                 {1, "ns"}};
    const char *sign = ns < 0 ? "-" : "";
    uint64_t n = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns, whole, rest;
    size_t i = 0;

    while (i + 1 < MF_COUNT(units) && n < (uint64_t)units[i].ns)
        i++;
    if (n == 0) {
        (void)snprintf(dst, HUMAN_TEXT, "0s");
        return dst;
    }
    whole = n / (uint64_t)units[i].ns;
    rest = units[i].ns <= CLOCK_S ? 0 : n % (uint64_t)units[i].ns / (uint64_t)units[i + 1].ns;
    if (rest > 0)
        (void)snprintf(dst, HUMAN_TEXT, "%s%" PRIu64 "%s%" PRIu64 "%s", sign, whole, units[i].name,
                       rest, units[i + 1].name);
    else
        (void)snprintf(dst, HUMAN_TEXT, "%s%" PRIu64 "%s", sign, whole, units[i].name);
    return dst;
}

static const char *format_time(char dst[HUMAN_TEXT], int64_t wall_ns, const char *fmt)
{
    time_t s = (time_t)(wall_ns / CLOCK_S - (wall_ns % CLOCK_S < 0));
    struct tm tm;

    if (gmtime_r(&s, &tm) == NULL || strftime(dst, HUMAN_TEXT, fmt, &tm) == 0)
        (void)snprintf(dst, HUMAN_TEXT, "?");
    return dst;
}

const char *human_time(char dst[HUMAN_TEXT], int64_t wall_ns)
{
    return format_time(dst, wall_ns, "%Y-%m-%d %H:%M:%SZ");
}

const char *human_clock(char dst[HUMAN_TEXT], int64_t wall_ns)
{
    return format_time(dst, wall_ns, "%H:%M:%S");
}

/* A password may hold a comma or a slash, so all up to the last @ before the next scheme is left
 * out. */
const char *human_url(char *dst, size_t size, const char *urls)
{
    size_t n = 0;

    for (;;) {
        const char *scheme = strstr(urls, "://"),
                   *stop = scheme == NULL ? urls + strlen(urls) : scheme;
        const char *at = memrchr(urls, '@', (size_t)(stop - urls)),
                   *from = at == NULL ? urls : at + 1;

        stop += scheme == NULL ? 0 : 3;
        n += (size_t)snprintf(dst + n, size - n, "%.*s", (int)(stop - from), from);
        if (scheme == NULL || n >= size)
            return dst;
        urls = stop;
    }
}

int human_parse_time(const char *text, int64_t *wall_ns)
{
    struct mf_error e;
    int64_t ns;

    /* 0001-01-01 is Go's "none"; years that int64_t cannot hold became the nearest it can. */
    if (json_parse_time(mf_str(text), &ns, &e) != 0 || ns == CLOCK_ZERO || ns <= INT64_MIN + 1 ||
        ns == INT64_MAX)
        return MF_INVAL;
    *wall_ns = ns;
    return 0;
}
