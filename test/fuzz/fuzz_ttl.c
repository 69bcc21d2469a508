/* fuzz_ttl.c: a Nats-TTL and a Nats-Schedule as any publisher may send them.  The first byte says
 * which zone a schedule has; the rest is the value, read as both. */
#include "fuzz.h"
#include "base/clock.h"
#include "cron/cron.h"
#include "ttl/ttl.h"

#define NOW (1790000000 * CLOCK_S)

/* What is a TTL here may be none there only if it is zero or too large; never the other way. */
static void check_ttl(struct mf_slice value)
{
    int64_t ours = 0, strict = 0, at;
    bool good = ttl_parse(value, false, &ours) == 0,
         good_strict = ttl_parse(value, true, &strict) == 0;

    FUZZ_CHECK(good || !good_strict);
    if (good) {
        FUZZ_CHECK(ours == TTL_NONE || ours == TTL_NEVER || ours >= CLOCK_S);
        at = ttl_deadline(NOW, ours, false);
        FUZZ_CHECK(at == 0 || at - NOW == ours);
        if (!good_strict)
            FUZZ_CHECK(ours == TTL_NONE || ours == TTL_NEVER);
    }
    if (good_strict) {
        FUZZ_CHECK(strict >= TTL_NEVER);
        at = ttl_deadline(NOW, strict, true);
        FUZZ_CHECK((at == 0) == (strict <= 0) && at >= 0);
        if (ours > 0)
            FUZZ_CHECK(ours >= strict || ours > 90000000 * CLOCK_S); /* no float rounds up below */
    }
}

static void check_cron(struct mf_slice pattern, struct mf_slice zone)
{
    struct cron *c;
    int64_t next, later;
    int rc = cron_parse(&c, pattern, zone);

    if (rc != 0) {
        FUZZ_CHECK(rc == CRON_BAD_PATTERN || rc == CRON_BAD_ZONE || rc == CRON_NO_MEMORY);
        return;
    }
    FUZZ_CHECK(cron_check_zone(zone) == 0);
    next = cron_next(c, NOW, NOW);
    if (cron_once(c)) {
        FUZZ_CHECK(next > 0 && next == cron_next(c, next, INT64_MAX));
    } else if (next != 0) {
        FUZZ_CHECK(next > NOW);
        later = cron_next(c, next, NOW);
        FUZZ_CHECK(later == 0 || later > next || next == INT64_MAX);
        /* No firing lies between: from any moment before it, it is still the next. */
        if (pattern.ptr[0] != '@')
            FUZZ_CHECK(cron_next(c, NOW + (next - NOW) / 2, NOW) == next);
    }
    cron_free(c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Names that need no file, so that a run is the same on each machine; and one that has none. */
    static const char *const zones[] = {NULL, "UTC", "", "../UTC"};
    struct mf_slice value;

    if (size == 0)
        return 0;
    value = mf_slice(data + 1, size - 1);
    check_ttl(value);
    check_cron(value, mf_str(zones[data[0] % MF_COUNT(zones)]));
    return 0;
}
