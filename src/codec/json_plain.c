/* json_plain.c: scalar values, and Go's errors for a value of the wrong type. */
#include "codec/json_read_impl.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

int json_nomem(struct json_reader *r)
{
    return mf_fail(r->e, MF_NOMEM, "JSON");
}

/* --- errors ----------------------------------------------------------------------------------- */

int json_unknown(struct json_reader *r, struct mf_slice name)
{
    struct json_text t = {.len = 0};

    json_text_puts(&t, "json: unknown field ");
    json_text_quote(&t, name);
    return mf_fail(r->e, MF_UNSUPPORTED, "%s", t.at);
}

static const char *value_word(uint8_t first)
{
    switch (first) {
    case '"':
        return "string";
    case '{':
        return "object";
    case '[':
        return "array";
    case 't':
    case 'f':
        return "bool";
    default:
        return "number";
    }
}

static void add_type(struct json_text *t, const struct json_field *f)
{
    static const char *const plain[] = {
        [JSON_BOOL] = "bool",
        [JSON_I64] = "int64",
        [JSON_INT] = "int",
        [JSON_DURATION] = "time.Duration",
        [JSON_I32] = "int32",
        [JSON_U64] = "uint64",
        [JSON_F64] = "float64",
        [JSON_STR] = "string",
        [JSON_TIME] = "time.Time",
        [JSON_STRS] = "[]string",
        [JSON_DURATIONS] = "[]time.Duration",
        [JSON_MAP] = "map[string]string",
        [JSON_OBJECT] = "server.",
        [JSON_POINTER] = "server.",
        [JSON_OBJECTS] = "[]server.",
        [JSON_POINTERS] = "[]*server.",
        [JSON_ENUM] = "int",
        [JSON_RAW] = "json.RawMessage",
    };

    json_text_puts(t, plain[f->kind]);
    if (f->type != NULL)
        json_text_puts(t, f->type->go_name);
}

/* One step of a JSON pointer, whose own '~' and '/' are escaped. */
static void add_step(struct json_text *t, const struct json_path *p)
{
    char index[24];

    if (p->in_array) {
        snprintf(index, sizeof index, "%zu", p->index);
        json_text_puts(t, index);
        return;
    }
    for (size_t i = 0; i < p->name.len;) {
        size_t n = 0;

        while (i + n < p->name.len && p->name.ptr[i + n] != '~' && p->name.ptr[i + n] != '/')
            n++;
        json_text_add(t, mf_slice(p->name.ptr + i, n));
        i += n;
        if (i < p->name.len)
            json_text_puts(t, p->name.ptr[i++] == '~' ? "~0" : "~1");
    }
}

static void add_path(struct json_text *t, const struct json_path *p)
{
    if (p->up != NULL) { /* as deep as the types are, no deeper */
        add_path(t, p->up);
        json_text_puts(t, ".");
    }
    add_step(t, p);
}

/* Does the path end in an index?  Then Go's error names no struct field. */
static bool ends_in_index(const struct json_text *path)
{
    const char *dot = strrchr(path->at, '.');
    const char *last = dot == NULL ? path->at : dot + 1;

    return *last != '\0' && last[strspn(last, "0123456789")] == '\0';
}

int json_mismatch(struct json_reader *r, const struct json_field *f, const struct json_path *path,
                  bool with_value)
{
    struct json_text t = {.len = 0}, where = {.len = 0};
    struct mf_slice raw;

    json_text_puts(&t, "json: cannot unmarshal ");
    json_text_puts(&t, value_word(json_scan_peek(&r->scan)));
    if (with_value && json_read_raw(r, &raw) == 0) {
        json_text_puts(&t, " ");
        json_text_add(&t, raw);
    }
    if (path == NULL) {
        json_text_puts(&t, " into Go value of type ");
    } else {
        add_path(&where, path);
        json_text_puts(&t, ends_in_index(&where) ? " into " : " into Go struct field ");
        json_text_puts(&t, r->root->go_name);
        json_text_puts(&t, ".");
        json_text_add(&t, mf_slice(where.at, where.len));
        json_text_puts(&t, " of type ");
    }
    add_type(&t, f);
    return mf_fail(r->e, MF_INVAL, "%s", t.at);
}

/* --- values ----------------------------------------------------------------------------------- */

bool json_read_null(struct json_reader *r)
{
    if (json_scan_peek(&r->scan) != 'n')
        return false;
    r->scan.pos += strlen("null");
    return true;
}

int json_read_raw(struct json_reader *r, struct mf_slice *out)
{
    size_t start = r->scan.pos;

    if (json_scan_value(&r->scan) != 0)
        return MF_INVAL; /* cannot be: the document was checked */
    *out = mf_slice(r->scan.text.ptr + start, r->scan.pos - start);
    return 0;
}

int json_read_raw_copy(struct json_reader *r, struct mf_slice *out)
{
    struct mf_slice raw;
    char *copy;

    if (json_read_raw(r, &raw) != 0)
        return MF_INVAL;
    if ((copy = arena_dup(r->mem, raw)) == NULL)
        return json_nomem(r);
    *out = mf_slice(copy, raw.len);
    return 0;
}

int json_read_str(struct json_reader *r, char **out, const struct json_path *path)
{
    struct mf_slice raw = MF_LIT("\"\""), s;

    if (json_read_null(r)) {
        if (*out != NULL)
            return 0;
    } else if (json_scan_peek(&r->scan) != '"') {
        return json_mismatch(r, &(struct json_field){.kind = JSON_STR}, path, false);
    } else if (json_read_raw(r, &raw) != 0) {
        return MF_INVAL;
    }
    if (json_unquote(raw, r->mem, true, &s) != 0)
        return json_nomem(r);
    *out = (char *)(uintptr_t)s.ptr;
    return 0;
}

int json_read_name(struct json_reader *r, bool c_string, struct mf_slice *name)
{
    struct mf_slice raw;

    json_scan_blank(&r->scan);
    if (json_scan_peek(&r->scan) == ',') {
        r->scan.pos++;
        json_scan_blank(&r->scan);
    }
    if (json_scan_peek(&r->scan) == '}') {
        r->scan.pos++;
        return 0;
    }
    if (json_read_raw(r, &raw) != 0)
        return MF_INVAL;
    if (json_unquote(raw, r->mem, c_string, name) != 0)
        return json_nomem(r);
    json_scan_blank(&r->scan);
    r->scan.pos++; /* the ':' */
    json_scan_blank(&r->scan);
    return 1;
}

/* Digits behind an optional '-', nothing else, within [-max-1, max] or, unsigned, [0, max]. */
static int parse_int(struct mf_slice s, bool is_signed, uint64_t max, int64_t *out)
{
    bool negative = is_signed && s.len > 0 && s.ptr[0] == '-';
    uint64_t n;

    if (negative)
        s = mf_slice(s.ptr + 1, s.len - 1);
    if (mf_parse_u64(s, &n) != 0 || n > max + (negative ? 1 : 0))
        return MF_INVAL;
    *out = (int64_t)(negative ? 0 - n : n);
    return 0;
}

static int read_int(struct json_reader *r, const struct json_field *f, void *out,
                    const struct json_path *path)
{
    bool is_signed = f->kind != JSON_U64;
    uint64_t max = f->kind == JSON_U64 ? UINT64_MAX : f->kind == JSON_I32 ? INT32_MAX : INT64_MAX;
    size_t start = r->scan.pos;
    struct mf_slice raw;
    int64_t n;

    if (json_read_raw(r, &raw) != 0)
        return MF_INVAL;
    if (parse_int(raw, is_signed, max, &n) != 0) {
        r->scan.pos = start;
        return json_mismatch(r, f, path, true);
    }
    if (f->kind == JSON_I32)
        memcpy(out, &(int32_t){(int32_t)n}, sizeof(int32_t));
    else
        memcpy(out, &n, sizeof n);
    return 0;
}

static int read_float(struct json_reader *r, const struct json_field *f, double *out,
                      const struct json_path *path)
{
    size_t start = r->scan.pos;
    struct mf_slice raw = MF_SLICE_NONE;
    int rc = json_read_raw_copy(r, &raw);

    if (rc != 0)
        return rc;
    *out = strtod((const char *)raw.ptr, NULL); /* a copy ends with NUL */
    if (isinf(*out)) {
        r->scan.pos = start;
        return json_mismatch(r, f, path, true);
    }
    return 0;
}

/* A time with a flag is a pointer in Go, and null empties it; without, null leaves it. */
static int read_time(struct json_reader *r, const struct json_field *f, int64_t *out,
                     const struct json_path *path)
{
    struct mf_slice raw, s;

    if (json_scan_peek(&r->scan) != '"')
        return json_mismatch(r, f, path, false);
    if (json_read_raw(r, &raw) != 0)
        return MF_INVAL;
    if (json_unquote(raw, r->mem, false, &s) != 0)
        return json_nomem(r);
    return json_parse_time(s, out, r->e);
}

int json_read_plain(struct json_reader *r, const struct json_field *f, void *out,
                    const struct json_path *path)
{
    uint8_t c = json_scan_peek(&r->scan);

    if (json_read_null(r)) {
        if (f->kind == JSON_TIME && f->set_offset != 0)
            *(int64_t *)out = 0;
        return 0;
    }
    if (f->kind == JSON_TIME)
        return read_time(r, f, out, path);
    if (f->kind == JSON_BOOL) {
        if (c != 't' && c != 'f')
            return json_mismatch(r, f, path, false);
        *(bool *)out = c == 't';
        r->scan.pos += c == 't' ? strlen("true") : strlen("false");
        return 0;
    }
    if (c != '-' && (c < '0' || c > '9'))
        return json_mismatch(r, f, path, false);
    return f->kind == JSON_F64 ? read_float(r, f, out, path) : read_int(r, f, out, path);
}

/* --- words ------------------------------------------------------------------------------------ */

int json_refuse_word(struct mf_slice raw, struct mf_error *e)
{
    struct json_text t = {.len = 0};

    json_text_puts(&t, "can not unmarshal ");
    json_text_quote(&t, raw);
    return mf_fail(e, MF_UNSUPPORTED, "%s", t.at);
}

int json_parse_string(struct mf_slice raw, char **out, struct arena *mem, struct mf_error *e)
{
    struct json_reader r = {.scan.text = raw, .mem = mem, .e = e};

    return json_read_str(&r, out, NULL);
}
