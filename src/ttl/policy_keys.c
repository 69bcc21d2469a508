/* policy_keys.c: reads the values of policy keys and formats them. */
#include "ttl/policy_keys.h"

#include "ttl/policy_keys_impl.h"
#include "base/clock.h"
#include "base/spell.h"
#include "subject/subject.h"

#include <stdio.h>

#define DAY_NS           ((int64_t)86400 * CLOCK_S)
#define SHOWN_MAX        64 /* bytes of a value that an error repeats */
#define ON_EXPIRE_TOKENS 8
#define WORDS_MAX        4

static const char *const key_names[POLICY_KEYS] = {
    [POLICY_DEFAULT] = "default", [POLICY_PATTERN] = "pattern",
    [POLICY_MIN] = "min",         [POLICY_MAX] = "max",
    [POLICY_BOUNDS] = "bounds",   [POLICY_NEVER] = "never",
    [POLICY_SCOPE] = "scope",     [POLICY_SLIDE] = "slide",
    [POLICY_WARN] = "warn",       [POLICY_ON_EXPIRE] = "on_expire",
    [POLICY_ENFORCE] = "enforce", [POLICY_RULES] = "rules",
};

/* The words of a key by their enum's value; [0] is "not set". */
static const char *const key_words[POLICY_KEYS][WORDS_MAX] = {
    [POLICY_BOUNDS] = {"", "clamp", "reject"},     [POLICY_NEVER] = {"", "allow", "deny"},
    [POLICY_SCOPE] = {"", "message", "subject"},   [POLICY_SLIDE] = {"", "write", "read"},
    [POLICY_ENFORCE] = {"", "off", "audit", "on"},
};

const char *policy_key_name(enum policy_key k)
{
    return key_names[k];
}

bool policy_keys_is_word(enum policy_key k)
{
    return key_words[k][0] != NULL;
}

bool policy_keys_is_duration(enum policy_key k)
{
    return k == POLICY_DEFAULT || k == POLICY_MIN || k == POLICY_MAX || k == POLICY_WARN;
}

const char *policy_keys_shown(char dst[KEYS_SHOWN], struct mf_slice value)
{
    size_t n = value.len;

    if (n > SHOWN_MAX) { /* cut before a character, not inside one */
        n = SHOWN_MAX;
        while (n > 0 && (value.ptr[n] & 0xC0) == 0x80)
            n--;
    }
    if (n > 0)
        memcpy(dst, value.ptr, n);
    memcpy(dst + n, value.len > n ? "..." : "", value.len > n ? 4 : 1);
    return dst;
}

/* --- durations -------------------------------------------------------------------------------- */

static bool all_digits(struct mf_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < '0' || s.ptr[i] > '9')
            return false;
    return s.len > 0;
}

static int parse_count(struct mf_slice digits, int64_t unit_ns, int64_t *ns)
{
    uint64_t n;

    if (mf_parse_u64(digits, &n) != 0 || n > (uint64_t)(INT64_MAX / unit_ns))
        return MF_LIMIT;
    *ns = (int64_t)n * unit_ns;
    return 0;
}

int policy_keys_parse_span(struct mf_slice text, int64_t *ns)
{
    if (all_digits(text))
        return parse_count(text, CLOCK_S, ns);
    if (text.len > 1 && text.ptr[text.len - 1] == 'd' &&
        all_digits(mf_slice(text.ptr, text.len - 1)))
        return parse_count(mf_slice(text.ptr, text.len - 1), DAY_NS, ns);
    return clock_parse_duration(text, ns);
}

int policy_parse_duration(struct mf_slice text, int64_t *ns)
{
    int64_t v;

    if (policy_keys_parse_span(text, &v) != 0 || v < POLICY_TTL_MIN_NS || v > POLICY_TTL_MAX_NS)
        return MF_INVAL;
    *ns = (v + CLOCK_MS - 1) / CLOCK_MS * CLOCK_MS; /* never early */
    return 0;
}

int policy_keys_parse_ttl(struct mf_slice text, int64_t *ttl)
{
    if (mf_eq_str(text, "never"))
        *ttl = TTL_NEVER;
    else if (mf_eq_str(text, "none"))
        *ttl = TTL_NONE;
    else
        return policy_parse_duration(text, ttl);
    return 0;
}

const char *policy_ttl_text(char dst[POLICY_TEXT], int64_t ttl)
{
    char text[CLOCK_TEXT] = "";

    if (ttl == TTL_NEVER || ttl == TTL_NONE)
        snprintf(text, sizeof text, "%s", ttl == TTL_NEVER ? "never" : "none");
    else if (ttl != POLICY_UNSET)
        clock_duration(text, ttl);
    snprintf(dst, POLICY_TEXT, "%.*s", POLICY_TEXT - 1, text);
    return dst;
}

/* --- reading ---------------------------------------------------------------------------------- */

static int64_t *duration_field(struct policy_keys *to, enum policy_key k)
{
    switch (k) {
    case POLICY_DEFAULT:
        return &to->default_ttl;
    case POLICY_MIN:
        return &to->min_ns;
    case POLICY_MAX:
        return &to->max_ns;
    default:
        return &to->warn_ns;
    }
}

static int read_duration(struct policy_keys *to, enum policy_key k, const char *name,
                         struct mf_slice value, struct mf_error *e)
{
    int64_t v = POLICY_UNSET;
    char shown[KEYS_SHOWN];
    int rc = 0;

    if (k == POLICY_WARN && (mf_eq_str(value, "0") || mf_eq_str(value, "0s")))
        v = 0;
    else if (value.len > 0)
        rc = k == POLICY_DEFAULT ? policy_keys_parse_ttl(value, &v)
                                 : policy_parse_duration(value, &v);
    if (rc != 0)
        return mf_fail(e, MF_INVAL, "%s: \"%s\" is not a duration of 1s to 36500d%s", name,
                       policy_keys_shown(shown, value),
                       k == POLICY_DEFAULT ? ", never or none" : "");
    *duration_field(to, k) = v;
    return 0;
}

static void set_word(struct policy_keys *to, enum policy_key k, unsigned word)
{
    if (k == POLICY_BOUNDS)
        to->bounds = (enum policy_bounds)word;
    else if (k == POLICY_NEVER)
        to->never = (enum policy_never)word;
    else if (k == POLICY_SCOPE)
        to->scope = (enum policy_scope)word;
    else if (k == POLICY_SLIDE)
        to->slide = (enum policy_slide)word;
    else
        to->enforce = (enum policy_enforce)word;
}

static int read_word(struct policy_keys *to, enum policy_key k, const char *name,
                     struct mf_slice value, struct mf_error *e)
{
    const char *const *words = key_words[k];
    char shown[KEYS_SHOWN];

    for (unsigned i = 0; i < WORDS_MAX && words[i] != NULL; i++)
        if (mf_eq_str(value, words[i])) {
            set_word(to, k, i);
            return 0;
        }
    return mf_fail(e, MF_INVAL, "%s: \"%s\" is none of %s, %s%s%s", name,
                   policy_keys_shown(shown, value), words[1], words[2],
                   words[3] == NULL ? "" : ", ", words[3] == NULL ? "" : words[3]);
}

static int read_text(const char **to, const char *name, struct mf_slice value, struct arena *mem,
                     struct mf_error *e)
{
    *to = NULL;
    if (value.len > 0 && (*to = arena_dup(mem, value)) == NULL)
        return mf_fail(e, MF_NOMEM, "%s", name);
    return 0;
}

static int check_prefix(const char *name, struct mf_slice value, struct mf_error *e)
{
    char shown[KEYS_SHOWN];

    if (value.len == 0 ||
        (subject_valid_literal(value) && subject_tokens(value) <= ON_EXPIRE_TOKENS))
        return 0;
    return mf_fail(e, MF_INVAL, "%s: \"%s\" is not a prefix of 1 to 8 tokens without wildcards",
                   name, policy_keys_shown(shown, value));
}

int policy_key_read(struct policy_keys *to, enum policy_key k, const char *name,
                    struct mf_slice value, struct arena *mem, struct mf_error *e)
{
    int rc;

    if (policy_keys_is_duration(k))
        return read_duration(to, k, name, value, e);
    if (policy_keys_is_word(k))
        return read_word(to, k, name, value, e);
    if (k == POLICY_PATTERN)
        return read_text(&to->pattern, name, value, mem, e);
    if (k != POLICY_ON_EXPIRE)
        return mf_fail(e, MF_INVAL, "%s: rules belong into the metadata of a stream", name);
    rc = check_prefix(name, value, e);
    return rc != 0 ? rc : read_text(&to->on_expire, name, value, mem, e);
}

const char *policy_word(const struct policy_keys *k, enum policy_key key)
{
    const unsigned word[POLICY_KEYS] = {
        [POLICY_BOUNDS] = k->bounds, [POLICY_NEVER] = k->never,     [POLICY_SCOPE] = k->scope,
        [POLICY_SLIDE] = k->slide,   [POLICY_ENFORCE] = k->enforce,
    };

    return policy_keys_is_word(key) ? key_words[key][word[key]] : "";
}

/* --- unknown keys ----------------------------------------------------------------------------- */

const char *policy_keys_suggest(struct mf_slice name)
{
    const char *near = NULL;
    unsigned best = UINT32_MAX;

    for (unsigned k = 0; k < POLICY_KEYS; k++) {
        struct mf_slice known = mf_str(key_names[k]);
        unsigned d = spell_distance(name, known);

        if (d < best && d <= (known.len + 2) / 3) {
            best = d;
            near = key_names[k];
        }
    }
    return near;
}

bool policy_key_find(struct mf_slice name, enum policy_key *k)
{
    for (unsigned i = 0; i < POLICY_KEYS; i++)
        if (mf_eq_str(name, key_names[i])) {
            *k = (enum policy_key)i;
            return true;
        }
    return false;
}
