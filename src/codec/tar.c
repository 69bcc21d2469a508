/* tar.c: headers of a tar archive. */
#include "codec/tar.h"

#define BLOCK   512u
#define PAX_MAX (64u << 10)

static void skip_bytes(struct mf_slice *in, size_t n)
{
    *in = mf_slice(in->ptr + n, in->len - n);
}

void tar_take(struct tar_reader *t, struct mf_slice *in, size_t n)
{
    t->left -= n;
    skip_bytes(in, n);
}

/* Octal, between blanks and NULs; or base 256 when the highest bit is set. */
static bool parse_number(const uint8_t *p, size_t n, uint64_t *out)
{
    uint64_t v = 0;
    size_t i = 0;

    if ((p[0] & 0x80) != 0) {
        for (v = p[0] & 0x7f, i = 1; i < n; i++) {
            if (v >> 55 != 0)
                return false;
            v = v << 8 | p[i];
        }
        *out = v;
        return true;
    }
    while (i < n && p[i] == ' ')
        i++;
    for (; i < n && p[i] >= '0' && p[i] <= '7'; i++) {
        if (v >> 60 != 0)
            return false;
        v = v << 3 | (uint64_t)(p[i] - '0');
    }
    for (; i < n; i++)
        if (p[i] != ' ' && p[i] != '\0')
            return false;
    *out = v;
    return true;
}

static bool all_zero(const uint8_t *p)
{
    for (size_t i = 0; i < BLOCK; i++)
        if (p[i] != 0)
            return false;
    return true;
}

static bool sum_matches(const uint8_t *p)
{
    uint64_t want, sum = 8 * ' ';

    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= 148 && i < 156 ? 0 : p[i];
    return parse_number(p + 148, 8, &want) && want == sum;
}

static struct mf_slice field_text(const uint8_t *p, size_t n)
{
    const uint8_t *end = memchr(p, '\0', n);

    return mf_slice(p, end == NULL ? n : (size_t)(end - p));
}

static bool set_name(struct tar_reader *t, struct mf_slice prefix, struct mf_slice name)
{
    size_t slash = prefix.len > 0;

    if (prefix.len + slash + name.len > TAR_NAME_MAX)
        return false;
    if (prefix.len > 0) {
        memcpy(t->name, prefix.ptr, prefix.len);
        t->name[prefix.len] = '/';
    }
    if (name.len > 0)
        memcpy(t->name + prefix.len + slash, name.ptr, name.len);
    t->name[prefix.len + slash + name.len] = '\0';
    return true;
}

/* Records "<length of the record> <key>=<value>\n". */
static bool read_pax(struct tar_reader *t, struct mf_slice s)
{
    while (s.len > 0) {
        const uint8_t *blank = memchr(s.ptr, ' ', s.len), *equals;
        struct mf_slice key, value;
        uint64_t n;
        size_t digits;

        if (blank == NULL)
            return false;
        digits = (size_t)(blank - s.ptr);
        if (mf_parse_u64(mf_slice(s.ptr, digits), &n) != 0 || n > s.len || n < digits + 3 ||
            s.ptr[n - 1] != '\n')
            return false;
        equals = memchr(blank + 1, '=', (size_t)n - digits - 2);
        if (equals == NULL)
            return false;
        key = mf_slice(blank + 1, (size_t)(equals - blank - 1));
        value = mf_slice(equals + 1, (size_t)(s.ptr + n - 1 - equals - 1));
        if (mf_eq_str(key, "path")) {
            if (!set_name(t, MF_SLICE_NONE, value))
                return false;
            t->has_path = true;
        } else if (mf_eq_str(key, "size")) {
            if (mf_parse_u64(value, &t->size) != 0)
                return false;
            t->has_size = true;
        }
        skip_bytes(&s, (size_t)n);
    }
    return true;
}

static int file_header(struct tar_reader *t, const uint8_t *p, uint64_t size)
{
    bool ustar = memcmp(p + 257, "ustar", 5) == 0;

    if (p[156] != '0' && p[156] != '\0')
        return MF_UNSUPPORTED;
    if (!t->has_path &&
        !set_name(t, ustar ? field_text(p + 345, 155) : MF_SLICE_NONE, field_text(p, 100)))
        return MF_CORRUPT;
    t->left = t->has_size ? t->size : size;
    if (t->left > INT64_MAX)
        return MF_CORRUPT;
    t->pad = (unsigned)(-t->left & (BLOCK - 1));
    t->has_path = t->has_size = false;
    return 0;
}

/* One block; *found: it was a file's. */
static int next_block(struct tar_reader *t, struct mf_slice *in, bool *found)
{
    const uint8_t *p = in->ptr;
    uint64_t size, whole;
    int rc;

    if (in->len < BLOCK)
        return MF_AGAIN;
    if (all_zero(p)) {
        skip_bytes(in, BLOCK);
        t->ended = ++t->zeroes == 2;
        return t->ended ? MF_AGAIN : 0;
    }
    if (t->zeroes > 0 || !sum_matches(p) || !parse_number(p + 124, 12, &size))
        return MF_CORRUPT;
    if (p[156] != 'x' && p[156] != 'g') {
        rc = file_header(t, p, size);
        if (rc == 0)
            skip_bytes(in, BLOCK);
        *found = rc == 0;
        return rc;
    }
    if (size > PAX_MAX)
        return MF_CORRUPT;
    whole = BLOCK + (size + BLOCK - 1) / BLOCK * BLOCK;
    if (in->len < whole)
        return MF_AGAIN;
    if (p[156] == 'x' && !read_pax(t, mf_slice(p + BLOCK, (size_t)size)))
        return MF_CORRUPT;
    skip_bytes(in, (size_t)whole);
    return 0;
}

int tar_next(struct tar_reader *t, struct mf_slice *in)
{
    bool found = false;
    int rc = 0;

    if (t->ended)
        return MF_AGAIN;
    if (t->pad > 0) {
        size_t n = in->len < t->pad ? in->len : t->pad;

        skip_bytes(in, n);
        t->pad -= (unsigned)n;
        if (t->pad > 0)
            return MF_AGAIN;
    }
    while (rc == 0 && !found)
        rc = next_block(t, in, &found);
    return rc;
}
