/* options_read.c: typed values out of a configuration tree; tables of known keys. */
#include "config/options_impl.h"

#include <stdio.h>

#define ERROR_ROOM 460 /* of struct mf_error's text, for whole lines */

/* --- errors and warnings ---------------------------------------------------------------------- */

const char *opt_file(struct opt *c, const struct conf_value *at)
{
    if (at == NULL || at->file == NULL)
        return "";
    if (c->last_file != at->file) {
        c->last_file = at->file;
        c->last_file_copy = arena_str(c->a, at->file);
    }
    return c->last_file_copy == NULL ? "" : c->last_file_copy;
}

static void put_place(struct mf_buf *b, const struct conf_value *at)
{
    if (at != NULL)
        mf_buf_printf(b, "%s:%d:%d: ", at->file, at->line, at->col);
}

void opt_error(struct opt *c, const struct conf_value *at, const char *fmt, ...)
{
    struct mf_buf line = MF_BUF_INIT;
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    put_place(&line, at);
    mf_buf_puts(&line, what);
    c->nerrors++;
    if (c->nshown == 0 || c->errors.len + line.len + 1 <= ERROR_ROOM) {
        if (c->nshown++ > 0)
            mf_buf_byte(&c->errors, '\n');
        mf_buf_append(&c->errors, line.ptr, line.len);
    }
    mf_buf_fini(&line);
}

static void warn_line(struct opt *c, const struct conf_value *at, const char *what)
{
    struct mf_buf line = MF_BUF_INIT;
    put_place(&line, at);
    mf_buf_puts(&line, what);
    opt_list_add(c, &c->o->warnings, mf_buf_cstr(&line));
    mf_buf_fini(&line);
}

void opt_warn(struct opt *c, const struct conf_value *at, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    warn_line(c, at, what);
}

void opt_deprecated(struct opt *c, const struct conf_value *at, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    if (c->check)
        opt_error(c, at, "%s", what);
    else
        warn_line(c, at, what);
}

void opt_inactive(struct opt *c, const struct conf_value *at, const char *what)
{
    opt_warn(c, at, "%s: accepted, not active in this version", what);
}

/* --- single values ---------------------------------------------------------------------------- */

static void wrong_type(struct opt *c, const struct conf_value *v, const char *wanted)
{
    if (v->key != NULL)
        opt_error(c, v, "\"%s\" expects %s, got %s", v->key, wanted, conf_type_name(v->type));
    else
        opt_error(c, v, "expected %s, got %s", wanted, conf_type_name(v->type));
}

bool opt_bool(struct opt *c, const struct conf_value *v, bool *out)
{
    if (v->type != CONF_BOOL) {
        wrong_type(c, v, "true or false");
        return false;
    }
    *out = v->u.b;
    return true;
}

/* Would it be an integer without the quotes around it?  Perhaps with a unit. */
static bool is_number(const char *s)
{
    struct mf_error ignored;
    struct conf_value *root = NULL;
    struct mf_buf b = MF_BUF_INIT;
    bool yes = s[0] != '\0' && strspn(s, "0123456789kKmMgGtTpPeEiIbB-") == strlen(s);

    mf_buf_printf(&b, "x: %s", s);
    yes = yes && conf_parse_text(&root, mf_buf_slice(&b), "", NULL, &ignored) == 0 &&
          root->nitems == 1 && root->items[0]->type == CONF_INT;
    mf_buf_fini(&b);
    conf_free(root);
    return yes;
}

bool opt_int(struct opt *c, const struct conf_value *v, int64_t *out)
{
    if (v->type != CONF_INT) {
        if (v->type == CONF_STRING && v->key != NULL && is_number(v->u.s))
            opt_error(c, v, "\"%s\" expects an integer without quotes: write %s", v->key, v->u.s);
        else
            wrong_type(
                c, v, v->type == CONF_STRING ? "an integer such as 100, 10k or 1MB" : "an integer");
        return false;
    }
    *out = v->u.i;
    return true;
}

static bool port_in_range(struct opt *c, const struct conf_value *v, int64_t n, int *out)
{
    if (n < -1 || n > 65535) {
        opt_error(c, v, "port %lld is out of range: expected 1..65535, or -1 for a random one",
                  (long long)n);
        return false;
    }
    *out = (int)n;
    return true;
}

bool opt_port(struct opt *c, const struct conf_value *v, int *out)
{
    int64_t n;
    return opt_int(c, v, &n) && port_in_range(c, v, n, out);
}

bool opt_string(struct opt *c, const struct conf_value *v, char **out)
{
    if (v->type != CONF_STRING) {
        wrong_type(c, v,
                   v->type == CONF_INT || v->type == CONF_FLOAT || v->type == CONF_BOOL ||
                           v->type == CONF_DATE
                       ? "a string (put quotes around it)"
                       : "a string");
        return false;
    }
    *out = arena_str(c->a, v->u.s);
    return *out != NULL;
}

int64_t opt_bounded(int64_t ns)
{
    static const int64_t longest = 100LL * 365 * 86400 * CLOCK_S;

    return ns > longest ? longest : ns < -longest ? -longest : ns;
}

/* 2m without quotes is a number of two million; as a text it is a duration. */
static bool lacks_quotes(const struct conf_value *v)
{
    int64_t ns;
    return v->type == CONF_INT && v->text != NULL &&
           clock_parse_duration(mf_str(v->text), &ns) == 0 && ns != 0;
}

bool opt_duration_text(struct opt *c, const struct conf_value *v, int64_t *out_ns)
{
    int64_t ns;
    if (lacks_quotes(v)) {
        opt_error(c, v, "\"%s\" expects a duration: write \"%s\", with quotes", v->key, v->text);
        return false;
    }
    if (v->type != CONF_STRING) {
        wrong_type(c, v, "a duration such as \"30s\" or \"2m\" (with quotes)");
        return false;
    }
    if (clock_parse_duration(mf_str(v->u.s), &ns) != 0) {
        opt_error(c, v, "error parsing %s: time: invalid duration \"%s\"; expected \"30s\", \"2m\"",
                  v->key == NULL ? "duration" : v->key, v->u.s);
        return false;
    }
    *out_ns = opt_bounded(ns);
    return true;
}

bool opt_duration(struct opt *c, const struct conf_value *v, int64_t *out_ns)
{
    if (v->type != CONF_INT)
        return opt_duration_text(c, v, out_ns);
    int64_t ns;
    if (__builtin_mul_overflow(v->u.i, CLOCK_S, &ns)) {
        opt_error(c, v, "error parsing %s: %s seconds are too many", v->key, v->text);
        return false;
    }
    if (lacks_quotes(v))
        opt_deprecated(c, v,
                       "invalid use of field \"%s\": %s should be converted to a duration (%s "
                       "without quotes is taken as %lld seconds; write \"%s\")",
                       v->key, v->key, v->text, (long long)v->u.i, v->text);
    else
        opt_deprecated(c, v,
                       "invalid use of field \"%s\": %s should be converted to a duration (%s is "
                       "taken as %lld seconds; write \"%llds\")",
                       v->key, v->key, v->text, (long long)v->u.i, (long long)v->u.i);
    *out_ns = opt_bounded(ns);
    return true;
}

bool opt_seconds(struct opt *c, const struct conf_value *v, const char *what, int64_t *out_ns)
{
    double s;
    if (v->type == CONF_STRING) {
        if (clock_parse_duration(mf_str(v->u.s), out_ns) == 0) {
            *out_ns = opt_bounded(*out_ns);
            return true;
        }
        opt_error(c, v, "error parsing %s, '%s' time: invalid duration \"%s\"", what, v->key,
                  v->u.s);
        return false;
    }
    if (v->type != CONF_INT && v->type != CONF_FLOAT) {
        opt_error(c, v, "error parsing %s, '%s' wrong type: expected seconds or \"2s\", got %s",
                  what, v->key, conf_type_name(v->type));
        return false;
    }
    s = v->type == CONF_INT ? (double)v->u.i : v->u.f;
    if (!(s >= 0 && s <= 9e9)) {
        opt_error(c, v, "error parsing %s, '%s' is out of range", what, v->key);
        return false;
    }
    *out_ns = opt_bounded((int64_t)(s * 1e9 + 0.5));
    return true;
}

bool opt_strings(struct opt *c, const struct conf_value *v, struct options_list *out)
{
    if (v->type == CONF_STRING) {
        opt_list_add(c, out, v->u.s);
        return true;
    }
    if (v->type != CONF_ARRAY) {
        wrong_type(c, v, "a string or an array of strings");
        return false;
    }
    for (size_t i = 0; i < v->nitems; i++) {
        if (v->items[i]->type != CONF_STRING) {
            opt_error(c, v->items[i], "error parsing %s: expected a string in the array, got %s",
                      v->key == NULL ? "list" : v->key, conf_type_name(v->items[i]->type));
            return false;
        }
        opt_list_add(c, out, v->items[i]->u.s);
    }
    return true;
}

bool opt_size(struct opt *c, const struct conf_value *v, int64_t *out)
{
    static const char units[] = "KMGT";
    if (v->type == CONF_INT)
        return opt_int(c, v, out);
    if (v->type != CONF_STRING) {
        opt_error(c, v, "%s must be int64 or string: 10GB, or \"10G\"", v->key);
        return false;
    }
    size_t n = strlen(v->u.s);
    const char *unit = n == 0 ? NULL : strchr(units, v->u.s[n - 1]);
    bool minus = v->u.s[0] == '-';
    uint64_t number;
    int64_t value;
    if (n == 0) {
        *out = 0;
        return true;
    }
    if (unit == NULL || mf_parse_u64(mf_slice(v->u.s + minus, n - 1 - minus), &number) != 0) {
        opt_error(c, v, "%s sizes defined as strings must end in K, M, G, T", v->key);
        return false;
    }
    if (number > INT64_MAX ||
        __builtin_mul_overflow((int64_t)number, (int64_t)1 << (10 * (unit - units + 1)), &value)) {
        opt_error(c, v, "%s is out of range", v->key);
        return false;
    }
    *out = minus ? -value : value;
    return true;
}

/* "host:port", "[::1]:port" or ":port". */
static bool split_listen(struct opt *c, const struct conf_value *v, struct mf_slice *host,
                         const char **port)
{
    const char *s = v->u.s, *colon = strrchr(s, ':');
    if (colon == NULL)
        goto bad;
    *host = mf_slice(s, (size_t)(colon - s));
    *port = colon + 1;
    if (s[0] == '[') {
        if (host->len < 2 || host->ptr[host->len - 1] != ']')
            goto bad;
        *host = mf_slice(s + 1, host->len - 2);
    } else if (memchr(host->ptr, ':', host->len) != NULL) {
        goto bad; /* IPv6 needs brackets */
    }
    return true;
bad:
    opt_error(c, v, "could not parse address string \"%s\": expected a port or \"host:port\"", s);
    return false;
}

bool opt_listen(struct opt *c, const struct conf_value *v, char **host, int *port)
{
    struct mf_slice h;
    const char *p;
    uint64_t n;
    if (v->type == CONF_INT)
        return opt_port(c, v, port);
    if (v->type != CONF_STRING) {
        opt_error(c, v, "expected port or host:port, got %s", conf_type_name(v->type));
        return false;
    }
    if (!split_listen(c, v, &h, &p))
        return false;
    bool minus = p[0] == '-';
    if (mf_parse_u64(mf_str(p + minus), &n) != 0 || n > 1000000) {
        opt_error(c, v, "could not parse port \"%s\"", p);
        return false;
    }
    if (!port_in_range(c, v, minus ? -(int64_t)n : (int64_t)n, port))
        return false;
    *host = h.len == 0 ? NULL : arena_dup(c->a, h);
    return true;
}

bool opt_is_word(const struct conf_value *v, const char *word)
{
    return v->type == CONF_STRING && mf_eq_nocase(mf_str(v->u.s), word);
}

bool opt_percent(const struct conf_value *v, int *out)
{
    uint64_t n = 0;

    if (v->type == CONF_STRING) {
        struct mf_slice s = mf_str(v->u.s);
        if (s.len > 0 && s.ptr[s.len - 1] == '%')
            s.len--;
        if (mf_parse_u64(s, &n) != 0)
            return false;
    } else if (v->type == CONF_INT && v->u.i > 0) {
        n = (uint64_t)v->u.i;
    }
    *out = (int)n;
    return n >= 1 && n <= 100;
}

/* --- lists ------------------------------------------------------------------------------------ */

void opt_list_add(struct opt *c, struct options_list *l, const char *s)
{
    char **items = arena_grow(c->a, l->items, l->n, sizeof *items);
    char *copy = arena_str(c->a, s);
    if (items == NULL || copy == NULL)
        return; /* the arena remembers */
    l->items = items;
    items[l->n++] = copy;
}

void opt_pair_add(struct opt *c, struct options_pairs *l, const char *key, const char *value)
{
    struct options_pair *items = arena_grow(c->a, l->items, l->n, sizeof *items);
    char *k = arena_str(c->a, key), *v = arena_str(c->a, value);
    if (items == NULL || k == NULL || v == NULL)
        return;
    l->items = items;
    items[l->n++] = (struct options_pair){k, v};
}

/* --- maps ------------------------------------------------------------------------------------- */

bool opt_is_map(struct opt *c, const struct conf_value *v, const char *text)
{
    if (v->type != CONF_MAP)
        opt_error(c, v, "Expected %s, got %s", text, conf_type_name(v->type));
    return v->type == CONF_MAP;
}

bool opt_is_array(struct opt *c, const struct conf_value *v, const char *text)
{
    if (v->type != CONF_ARRAY)
        opt_error(c, v, "Expected %s, got %s", text, conf_type_name(v->type));
    return v->type == CONF_ARRAY;
}

bool opt_is_few(struct opt *c, const struct conf_value *v)
{
    if (v->nitems > OPT_FEW)
        opt_error(c, v, "more than %d entries in one list", OPT_FEW);
    return v->nitems <= OPT_FEW;
}

const struct opt_field *opt_find_field(const struct opt_block *b, const char *key)
{
    for (size_t i = 0; i < b->n; i++) {
        const char *name = b->fields[i].names;
        while (name != NULL) {
            const char *space = strchr(name, ' ');
            size_t len = space == NULL ? strlen(name) : (size_t)(space - name);
            if (strlen(key) == len && mf_eq_nocase(mf_slice(name, len), key))
                return &b->fields[i];
            name = space == NULL ? NULL : space + 1;
        }
    }
    return NULL;
}

static void unknown_key(struct opt *c, const struct opt_block *b, const struct conf_value *v)
{
    char buf[64];
    struct opt_block top = options_top();
    const char *near = opt_nearest(b, v->key, buf, sizeof buf);
    const char *before = b->before == NULL ? "unknown field " : b->before;
    const char *after = b->after == NULL ? "" : b->after;
    if (near != NULL)
        opt_error(c, v, "%s\"%s\"%s; did you mean \"%s\"?", before, v->key, after, near);
    else if (b->fields != top.fields && opt_find_field(&top, v->key) != NULL)
        opt_error(c, v, "%s\"%s\"%s; it belongs at the top level", before, v->key, after);
    else
        opt_error(c, v, "%s\"%s\"%s", before, v->key, after);
}

static void read_int(struct opt *c, const struct conf_value *v, const struct opt_field *f,
                     int64_t *out)
{
    int64_t n;
    if (!opt_int(c, v, &n))
        return;
    if (f->lo != f->hi && n > f->hi)
        opt_error(c, v, "%s value is too big: at most %lld", v->key, (long long)f->hi);
    else if (f->lo != f->hi && n < f->lo)
        opt_error(c, v, "%s value is too small: at least %lld%s", v->key, (long long)f->lo,
                  n < 0 && f->lo >= 0 ? " (it can not be negative)" : "");
    else
        *out = n;
}

static void read_field(struct opt *c, const struct conf_value *v, const struct opt_field *f,
                       void *target)
{
    union {
        bool b;
        int64_t i;
        int port;
        char *s;
        struct options_list l;
    } unused = {0};
    void *at = f->off == OPT_DROP ? (void *)&unused : (char *)target + f->off;
    switch (f->kind) {
    case OPT_BOOL:
        opt_bool(c, v, at);
        break;
    case OPT_INT:
        read_int(c, v, f, at);
        break;
    case OPT_PORT:
        opt_port(c, v, at);
        break;
    case OPT_STRING:
        opt_string(c, v, at);
        break;
    case OPT_DURATION:
        opt_duration(c, v, at);
        break;
    case OPT_STRINGS:
        opt_strings(c, v, at);
        break;
    case OPT_FN:
        f->fn(c, v, f->off == OPT_DROP ? NULL : at);
        break;
    }
}

void opt_map(struct opt *c, const struct conf_value *map, struct opt_block b, void *target)
{
    for (size_t i = 0; i < map->nitems; i++) {
        const struct conf_value *v = map->items[i];
        const struct opt_field *f = opt_find_field(&b, v->key);
        if (f != NULL)
            read_field(c, v, f, target);
        else if (!v->used) /* a key that only serves as a variable may have any name */
            unknown_key(c, &b, v);
    }
}

/* --- the end ---------------------------------------------------------------------------------- */

void opt_begin(struct opt *c, struct options *o, bool check)
{
    *c = (struct opt){.o = o, .a = &o->impl->arena, .errors = MF_BUF_INIT, .check = check};
}

int opt_done(struct opt *c, struct mf_error *e)
{
    int rc = 0;
    if (c->a->failed || mf_buf_failed(&c->errors))
        rc = mf_fail(e, MF_NOMEM, "configuration");
    else if (c->nerrors > c->nshown)
        rc = mf_fail(e, MF_INVAL, "%s\nand %zu more errors", mf_buf_cstr(&c->errors),
                     c->nerrors - c->nshown);
    else if (c->nerrors > 0)
        rc = mf_fail(e, MF_INVAL, "%s", mf_buf_cstr(&c->errors));
    mf_buf_fini(&c->errors);
    return rc;
}
