/* template.c: see template.h. */
#include "cli/data/template.h"

#include "base/clock.h"
#include "base/rand.h"
#include "cli/human.h"

#include <inttypes.h>

#define MOST_RANDOM 65536

static void put_random(struct mf_buf *out, uint64_t fewest, uint64_t most)
{
    uint64_t left = fewest + rand_below((uint32_t)(most - fewest) + 1);

    while (left > 0) {
        char id[RAND_NUID + 1];
        size_t n = left < RAND_NUID ? (size_t)left : RAND_NUID;

        rand_nuid(id);
        mf_buf_append(out, id, n);
        left -= n;
    }
}

/* "Random 10 100": false if the numbers are none. */
static bool expand_random(struct mf_buf *out, struct mf_slice word)
{
    struct mf_slice rest = mf_trim(mf_slice(word.ptr + 6, word.len - 6));
    const uint8_t *blank = rest.len == 0 ? NULL : memchr(rest.ptr, ' ', rest.len);
    size_t n = blank == NULL ? 0 : (size_t)(blank - rest.ptr);
    uint64_t fewest, most;

    if (n == 0 || mf_parse_u64(mf_slice(rest.ptr, n), &fewest) != 0 ||
        mf_parse_u64(mf_trim(mf_slice(blank, rest.len - n)), &most) != 0 || most < fewest ||
        most > MOST_RANDOM)
        return false;
    put_random(out, fewest, most);
    return true;
}

static bool is_word(struct mf_slice word, const char *name)
{
    return word.len == strlen(name) && memcmp(word.ptr, name, word.len) == 0;
}

/* False if the word is unknown. */
static bool expand_word(struct mf_buf *out, struct mf_slice word, uint64_t count)
{
    int64_t now = clock_wall_ns();
    char text[HUMAN_TEXT], when[CLOCK_TEXT], id[RAND_NUID + 1];

    if (is_word(word, "Count"))
        mf_buf_printf(out, "%" PRIu64, count);
    else if (is_word(word, "Time"))
        mf_buf_puts(out, human_clock(text, now));
    else if (is_word(word, "TimeStamp"))
        mf_buf_puts(out, clock_rfc3339(when, now));
    else if (is_word(word, "Unix"))
        mf_buf_printf(out, "%" PRId64, (int64_t)(now / CLOCK_S));
    else if (is_word(word, "UnixNano"))
        mf_buf_printf(out, "%" PRId64, now);
    else if (is_word(word, "ID")) {
        rand_nuid(id);
        mf_buf_puts(out, id);
    } else
        return word.len > 7 && memcmp(word.ptr, "Random ", 7) == 0 && expand_random(out, word);
    return true;
}

void template_expand(struct mf_buf *out, struct mf_slice text, uint64_t count)
{
    while (text.len > 0) {
        const uint8_t *from = memmem(text.ptr, text.len, "{{", 2), *to = NULL;
        size_t before = from == NULL ? text.len : (size_t)(from - text.ptr);

        mf_buf_append(out, text.ptr, before);
        text = mf_slice(text.ptr + before, text.len - before);
        if (text.len > 0)
            to = memmem(text.ptr, text.len, "}}", 2);
        if (to == NULL) {
            mf_buf_append(out, text.ptr, text.len);
            return;
        }
        before = (size_t)(to - text.ptr) + 2;
        if (!expand_word(out, mf_trim(mf_slice(text.ptr + 2, before - 4)), count)) {
            mf_buf_append(out, text.ptr, 1); /* a template may begin with the next brace */
            before = 1;
        }
        text = mf_slice(text.ptr + before, text.len - before);
    }
}
