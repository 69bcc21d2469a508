/* conf_parse.c: the tree: maps, arrays, includes, variables and their limits.
 *
 * Everything of one document lives in one arena beside its root.  Limits keep hostile input from
 * costing more than its size: bytes read, nesting, includes, and values (a variable that holds a
 * map copies it, so a few lines could otherwise ask for any amount of memory). */
#include "config/conf.h"

#include "codec/hash.h"

#include "config/conf_lex_impl.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_BYTES    (16u << 20) /* all files of one document together */
#define MAX_VALUES   1000000u
#define MAX_DEPTH    100
#define MAX_INCLUDES 32 /* inside each other */
#define MAX_ENV      8  /* variables inside environment variables */

struct document {
    struct conf_value root;
    struct arena arena;
};

/* A map that is being filled: its entries by key, and where it is nested. */
struct scope {
    struct conf_value *map;
    const struct scope *up;
    uint32_t *slots; /* index + 1 into map->items by hash of the key; 0: free */
    size_t nslots;   /* power of two, at most half full */
};

struct open_file { /* an include inside an include */
    dev_t dev;
    ino_t ino;
    const struct open_file *up;
    int depth;
};

struct env_name { /* a variable whose text is being parsed */
    struct mf_slice name;
    const struct env_name *up;
    int depth;
};

struct parser {
    struct document *doc;
    struct conf_lex lx;
    const char *dir; /* includes are relative to it; NULL: none allowed */
    const struct open_file *file;
    const struct env_name *env;
    size_t *bytes, *values; /* counts of the whole document */
    int depth;
    struct mf_error *e;
};

static int parse_map(struct parser *p, struct conf_value *map, const struct scope *up,
                     enum lex_in in);

static int fail_at(struct parser *p, int line, int col, const char *fmt, ...) MF_PRINTF(4, 5);
static int fail_at(struct parser *p, int line, int col, const char *fmt, ...)
{
    char what[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return mf_fail(p->e, MF_INVAL, "%s:%d:%d: %s", p->lx.file, line, col, what);
}

static int no_memory(struct parser *p)
{
    return mf_fail(p->e, MF_NOMEM, "%s: out of memory", p->lx.file);
}

static int too_deep(struct parser *p, int line, int col)
{
    return mf_fail(p->e, MF_LIMIT, "%s:%d:%d: nested deeper than %d levels", p->lx.file, line, col,
                   MAX_DEPTH);
}

static int count_value(struct parser *p)
{
    if (++*p->values > MAX_VALUES)
        return mf_fail(p->e, MF_LIMIT, "%s:%d:%d: more than %u values in one configuration",
                       p->lx.file, p->lx.line, (int)(p->lx.p - p->lx.line_start) + 1, MAX_VALUES);
    return 0;
}

/* --- maps ------------------------------------------------------------------------------------ */

static size_t scope_slot(const struct scope *s, const char *key)
{
    assert(s->slots != NULL);
    size_t i = (size_t)hash_bytes(key, strlen(key)) & (s->nslots - 1);
    while (s->slots[i] != 0 && strcmp(s->map->items[s->slots[i] - 1]->key, key) != 0)
        i = (i + 1) & (s->nslots - 1);
    return i;
}

static int scope_rehash(struct scope *s)
{
    size_t n = s->nslots == 0 ? 16 : s->nslots * 2;
    uint32_t *slots = calloc(n, sizeof *slots);
    if (slots == NULL)
        return MF_NOMEM;
    free(s->slots);
    s->slots = slots;
    s->nslots = n;
    for (size_t i = 0; i < s->map->nitems; i++)
        s->slots[scope_slot(s, s->map->items[i]->key)] = (uint32_t)i + 1;
    return 0;
}

static struct conf_value *scope_get(const struct scope *s, const char *key)
{
    if (s->nslots == 0)
        return NULL;
    uint32_t at = s->slots[scope_slot(s, key)];
    return at == 0 ? NULL : s->map->items[at - 1];
}

static int push_item(struct parser *p, struct conf_value *into, struct conf_value *v)
{
    struct conf_value **items =
        arena_grow(&p->doc->arena, into->items, into->nitems, sizeof(void *));
    if (items == NULL)
        return no_memory(p);
    into->items = items;
    items[into->nitems++] = v;
    return 0;
}

/* The last one of the same key wins. */
static int scope_put(struct parser *p, struct scope *s, struct conf_value *v)
{
    if (s->nslots < (s->map->nitems + 1) * 2 && scope_rehash(s) != 0)
        return no_memory(p);
    size_t slot = scope_slot(s, v->key);
    assert(s->slots != NULL);
    if (s->slots[slot] != 0) {
        v->replaced = s->map->items[s->slots[slot] - 1];
        s->map->items[s->slots[slot] - 1] = v;
        return 0;
    }
    int rc = push_item(p, s->map, v);
    if (rc == 0)
        s->slots[slot] = (uint32_t)s->map->nitems;
    return rc;
}

/* --- variables -------------------------------------------------------------------------------- */

/* A value that must not be repeated in a message. */
static bool is_secret(const char *key)
{
    static const char *const names[] = {"pass",
                                        "password",
                                        "token",
                                        "key",
                                        "ek",
                                        "encryption_key",
                                        "prev_key",
                                        "prev_ek",
                                        "seed",
                                        "nkey",
                                        "prev_encryption_key",
                                        "encryption_password",
                                        "srk_password",
                                        "url",
                                        "urls",
                                        "routes"};
    if (key == NULL)
        return true; /* an element of a list: we do not know */
    for (size_t i = 0; i < MF_COUNT(names); i++)
        if (mf_eq_nocase(mf_str(key), names[i]))
            return true;
    return false;
}

/* A deep copy: the tree stays a tree. */
static int copy_value(struct parser *p, struct conf_value *to, const struct conf_value *from,
                      int depth)
{
    int rc = 0;
    if (depth > MAX_DEPTH)
        return too_deep(p, to->line, to->col);
    to->type = from->type;
    to->u = from->u;
    to->text = from->text;
    for (size_t i = 0; i < from->nitems && rc == 0; i++) {
        struct conf_value *v = arena_alloc(&p->doc->arena, sizeof *v);
        if (v == NULL)
            return no_memory(p);
        rc = count_value(p);
        *v = *from->items[i];
        v->items = NULL;
        v->nitems = 0;
        if (rc == 0)
            rc = copy_value(p, v, from->items[i], depth + 1);
        if (rc == 0)
            rc = push_item(p, to, v);
    }
    return rc;
}

/* The environment's text is itself a value of this language. */
static int env_value(struct parser *p, struct conf_value *v, const struct lex_token *t,
                     const char *text)
{
    struct env_name here = {t->text, p->env, p->env == NULL ? 1 : p->env->depth + 1};
    for (const struct env_name *n = p->env; n != NULL; n = n->up)
        if (mf_eq(n->name, t->text))
            return fail_at(p, t->line, t->col, "variable reference cycle for '%.*s'",
                           MF_FMT(t->text));
    if (here.depth > MAX_ENV)
        return fail_at(p, t->line, t->col, "variables refer to each other too often");
    *p->bytes += strlen(text);
    if (*p->bytes > MAX_BYTES)
        return fail_at(p, t->line, t->col, "variables hold more than %u MB", MAX_BYTES >> 20);
    struct conf_value map = {.type = CONF_MAP};
    char *doc = arena_printf(&p->doc->arena, "pk=%s", text);
    if (doc == NULL)
        return no_memory(p);
    struct mf_error inner = {0, ""};
    struct parser sub = *p;
    sub.env = &here;
    sub.dir = NULL;
    sub.e = &inner;
    conf_lex_init(&sub.lx, mf_str(doc), "environment", &p->doc->arena, &inner);
    int rc = parse_map(&sub, &map, NULL, LEX_TOP);
    struct conf_value *found = rc == 0 ? conf_get(&map, "pk") : NULL;
    if (rc == MF_NOMEM)
        return no_memory(p);
    if (found == NULL) /* its text may be a secret: say no more */
        return fail_at(p, t->line, t->col,
                       "variable reference for '%.*s' on line %d could not be parsed: the "
                       "environment variable is not a value (put quotes around it)",
                       MF_FMT(t->text), t->line);
    return copy_value(p, v, found, p->depth);
}

static int read_variable(struct parser *p, struct conf_value *v, const struct lex_token *t,
                         const struct scope *scope)
{
    struct arena *a = &p->doc->arena;
    char *name = arena_dup(a, t->text);
    if (name == NULL)
        return no_memory(p);
    if (mf_starts(t->text, "2a$")) { /* a bcrypt hash without quotes */
        v->type = CONF_STRING;
        v->u.s = arena_printf(a, "$%s", name);
        return v->u.s == NULL ? no_memory(p) : 0;
    }
    for (const struct scope *s = scope; s != NULL; s = s->up) {
        struct conf_value *found = scope_get(s, name);
        if (found == NULL)
            continue;
        found->used = true;
        return copy_value(p, v, found, p->depth);
    }
    const char *text = getenv(name);
    if (text != NULL)
        return env_value(p, v, t, text);
    if (is_secret(v->key))
        return fail_at(p, t->line, t->col,
                       "variable reference on line %d can not be found (put quotes around a text "
                       "that starts with '$')",
                       t->line);
    return fail_at(p, t->line, t->col, "variable reference for '%s' on line %d can not be found",
                   name, t->line);
}

/* --- values ----------------------------------------------------------------------------------- */

static int read_scalar(struct parser *p, struct conf_value *v, const struct lex_token *t)
{
    char *word = arena_dup(&p->doc->arena, t->text);
    if (word == NULL)
        return no_memory(p);
    v->text = word;
    switch (t->type) {
    case LEX_BOOL:
        v->type = CONF_BOOL;
        v->text = NULL;
        v->u.b = mf_eq_nocase(t->text, "true") || mf_eq_nocase(t->text, "yes") ||
                 mf_eq_nocase(t->text, "on");
        return 0;
    case LEX_INT:
        v->type = CONF_INT;
        if (conf_lex_int(t->text, &v->u.i) != 0)
            return fail_at(p, t->line, t->col,
                           "integer is out of the range (64 bit, after its unit)");
        return 0;
    case LEX_FLOAT:
        v->type = CONF_FLOAT;
        errno = 0;
        v->u.f = strtod(word, NULL);
        return errno == ERANGE ? fail_at(p, t->line, t->col, "float is out of the range") : 0;
    case LEX_DATE:
        v->type = CONF_DATE;
        if (conf_lex_date(t->text, &v->u.date_ns) != 0)
            return fail_at(p, t->line, t->col,
                           "expected Zulu formatted DateTime (2006-01-02T15:04:05Z)");
        return 0;
    default:
        v->type = CONF_STRING;
        v->text = NULL;
        v->u.s = word;
        return 0;
    }
}

static int parse_value(struct parser *p, struct conf_value *v, const struct lex_token *t,
                       const struct scope *scope);

static int parse_array(struct parser *p, struct conf_value *array, const struct scope *scope)
{
    for (;;) {
        struct lex_token t;
        int rc = conf_lex_element(&p->lx, &t);
        if (rc != 0 || t.type == LEX_CLOSE)
            return rc;
        struct conf_value *v = arena_alloc(&p->doc->arena, sizeof *v);
        if (v == NULL)
            return no_memory(p);
        v->file = p->lx.file;
        v->line = t.line;
        v->col = t.col;
        rc = parse_value(p, v, &t, scope);
        if (rc == 0)
            rc = push_item(p, array, v);
        if (rc == 0)
            rc = conf_lex_value_end(&p->lx, LEX_ARRAY, &t);
        if (rc != 0)
            return rc;
    }
}

static int parse_value(struct parser *p, struct conf_value *v, const struct lex_token *t,
                       const struct scope *scope)
{
    int rc = count_value(p);
    if (rc != 0)
        return rc;
    if (t->type == LEX_VARIABLE)
        return read_variable(p, v, t, scope);
    if (t->type != LEX_ARRAY_OPEN && t->type != LEX_MAP_OPEN)
        return read_scalar(p, v, t);
    if (p->depth >= MAX_DEPTH)
        return too_deep(p, t->line, t->col);
    p->depth++;
    v->type = t->type == LEX_MAP_OPEN ? CONF_MAP : CONF_ARRAY;
    rc = v->type == CONF_MAP ? parse_map(p, v, scope, LEX_MAP) : parse_array(p, v, scope);
    p->depth--;
    return rc;
}

/* --- includes --------------------------------------------------------------------------------- */

static int read_file(struct parser *p, const char *path, struct mf_slice *out, struct open_file *id,
                     const char *what)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return mf_fail_errno(p->e, MF_NOTFOUND, "%sopen %s", what, path);
    int rc = MF_IO;
    if (fstat(fd, &st) != 0) {
        mf_fail_errno(p->e, MF_IO, "%sstat %s", what, path);
        goto close;
    }
    if (!S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode) && !S_ISCHR(st.st_mode)) {
        rc = mf_fail(p->e, MF_INVAL, "%sread %s: is not a file", what, path);
        goto close;
    }
    id->dev = st.st_dev;
    id->ino = st.st_ino;
    size_t room = MAX_BYTES - *p->bytes + 1, have = 0;
    if (S_ISREG(st.st_mode) && (uint64_t)st.st_size + 1 < room)
        room = (size_t)st.st_size + 1;
    char *buf = arena_alloc(&p->doc->arena, room);
    rc = buf == NULL ? no_memory(p) : 0;
    while (rc == 0 && have < room) {
        ssize_t n = read(fd, buf + have, room - have);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            rc = mf_fail_errno(p->e, MF_IO, "%sread %s", what, path);
        have += n > 0 ? (size_t)n : 0;
    }
    *p->bytes += have;
    if (rc == 0 && *p->bytes > MAX_BYTES)
        rc = mf_fail(p->e, MF_LIMIT, "%s%s: configuration is larger than %u MB", what, path,
                     MAX_BYTES >> 20);
    *out = mf_slice(buf, have);
close:
    close(fd);
    return rc;
}

static char *dir_of(struct arena *a, const char *path)
{
    const char *slash = strrchr(path, '/');
    if (slash == NULL)
        return arena_str(a, ".");
    return arena_dup(a, mf_slice(path, slash == path ? 1 : (size_t)(slash - path)));
}

/* Parses the file into map, with variables of its own. */
static int parse_path(struct parser *p, const char *path, struct conf_value *map, const char *what)
{
    struct mf_slice text = MF_SLICE_NONE;
    struct open_file here = {0, 0, p->file, p->file == NULL ? 0 : p->file->depth + 1};
    if (here.depth > MAX_INCLUDES)
        return mf_fail(p->e, MF_LIMIT, "%smore than %d includes inside each other", what,
                       MAX_INCLUDES);
    int rc = read_file(p, path, &text, &here, what);
    if (rc != 0)
        return rc;
    for (const struct open_file *f = p->file; f != NULL; f = f->up)
        if (f->dev == here.dev && f->ino == here.ino)
            return mf_fail(p->e, MF_INVAL, "%s%s: a file can not include itself", what, path);
    struct parser sub = *p;
    sub.file = &here;
    sub.dir = dir_of(&p->doc->arena, path);
    char *name = arena_str(&p->doc->arena, path);
    if (name == NULL || sub.dir == NULL)
        return no_memory(p);
    conf_lex_init(&sub.lx, text, name, &p->doc->arena, p->e);
    return parse_map(&sub, map, NULL, LEX_TOP);
}

static int read_include(struct parser *p, const struct lex_token *t, struct scope *s)
{
    struct arena *a = &p->doc->arena;
    char *given = arena_dup(a, t->text);
    char *what = arena_printf(a, "%s:%d:%d: error parsing include file '%.100s', ", p->lx.file,
                              t->line, t->col, given == NULL ? "" : given);
    if (given == NULL || what == NULL)
        return no_memory(p);
    if (p->dir == NULL)
        return mf_fail(p->e, MF_DENIED, "%sno files may be included here", what);
    const char *path = given[0] == '/' || strcmp(p->dir, ".") == 0
                           ? given
                           : arena_printf(a, "%s/%s", p->dir, given);
    struct conf_value map = {.type = CONF_MAP};
    if (path == NULL)
        return no_memory(p);
    int rc = parse_path(p, path, &map, what);
    for (size_t i = 0; rc == 0 && i < map.nitems; i++)
        rc = scope_put(p, s, map.items[i]);
    return rc;
}

/* --- entries of a map ------------------------------------------------------------------------- */

static int parse_entry(struct parser *p, const struct lex_token *key, struct scope *s,
                       enum lex_in in)
{
    struct lex_token t;
    struct conf_value *v = arena_alloc(&p->doc->arena, sizeof *v);
    if (v == NULL || (v->key = arena_dup(&p->doc->arena, key->text)) == NULL)
        return no_memory(p);
    v->file = p->lx.file;
    v->line = key->line; /* an entry stands where its key does */
    v->col = key->col;
    int rc = conf_lex_value(&p->lx, in, key->text, &t);
    if (rc == 0)
        rc = parse_value(p, v, &t, s);
    if (rc == 0)
        rc = scope_put(p, s, v);
    return rc;
}

static int parse_entries(struct parser *p, struct scope *s, enum lex_in in);

static int parse_block(struct parser *p, struct scope *s)
{
    if (p->depth >= MAX_DEPTH)
        return too_deep(p, p->lx.line, (int)(p->lx.p - p->lx.line_start));
    p->depth++;
    int rc = parse_entries(p, s, LEX_BLOCK);
    p->depth--;
    return rc;
}

static int parse_entries(struct parser *p, struct scope *s, enum lex_in in)
{
    for (;;) {
        struct lex_token t;
        int rc = conf_lex_key(&p->lx, in, &t);
        if (rc != 0 || t.type == LEX_CLOSE || t.type == LEX_END)
            return rc;
        if (t.type == LEX_OPEN)
            rc = parse_block(p, s); /* braces around the whole file */
        else if (t.type == LEX_INCLUDE)
            rc = read_include(p, &t, s);
        else
            rc = parse_entry(p, &t, s, in);
        if (rc == 0)
            rc = conf_lex_value_end(&p->lx, in, &t);
        if (rc != 0)
            return rc;
    }
}

static int parse_map(struct parser *p, struct conf_value *map, const struct scope *up,
                     enum lex_in in)
{
    struct scope s = {.map = map, .up = up};
    int rc = parse_entries(p, &s, in);
    free(s.slots);
    return rc;
}

/* --- documents -------------------------------------------------------------------------------- */

static int parse_document(struct conf_value **out, const char *path, struct mf_slice text,
                          const char *name, const char *dir, struct mf_error *e)
{
    size_t bytes = text.len, values = 0;
    struct document *doc = calloc(1, sizeof *doc);
    if (doc == NULL)
        return mf_fail(e, MF_NOMEM, "configuration");
    doc->root.type = CONF_MAP;
    struct parser p = {.doc = doc, .bytes = &bytes, .values = &values, .e = e};
    int rc;
    if (path != NULL) {
        rc = parse_path(&p, path, &doc->root, "");
    } else if (text.len > MAX_BYTES) {
        rc = mf_fail(e, MF_LIMIT, "%s: configuration is larger than %u MB", name, MAX_BYTES >> 20);
    } else {
        const char *file = arena_str(&doc->arena, name);
        p.dir = arena_str(&doc->arena, dir);
        conf_lex_init(&p.lx, text, file == NULL ? "" : file, &doc->arena, e);
        rc = parse_map(&p, &doc->root, NULL, LEX_TOP);
    }
    doc->root.file = arena_str(&doc->arena, path != NULL ? path : name);
    doc->root.line = doc->root.col = 1;
    if (rc == 0 && doc->arena.failed)
        rc = mf_fail(e, MF_NOMEM, "configuration");
    if (rc != 0)
        conf_free(&doc->root);
    else
        *out = &doc->root;
    return rc;
}

int conf_parse_file(struct conf_value **out, const char *path, struct mf_error *e)
{
    return parse_document(out, path, MF_SLICE_NONE, NULL, NULL, e);
}

int conf_parse_text(struct conf_value **out, struct mf_slice text, const char *name,
                    const char *dir, struct mf_error *e)
{
    return parse_document(out, NULL, text, name, dir, e);
}

void conf_free(struct conf_value *v)
{
    if (v == NULL)
        return;
    struct document *doc = mf_container(v, struct document, root);
    arena_fini(&doc->arena);
    free(doc);
}

struct conf_value *conf_get(const struct conf_value *map, const char *key)
{
    for (size_t i = map == NULL || map->type != CONF_MAP ? 0 : map->nitems; i > 0; i--)
        if (mf_eq_nocase(mf_str(map->items[i - 1]->key), key))
            return map->items[i - 1];
    return NULL;
}

const char *conf_type_name(enum conf_type t)
{
    static const char *const names[] = {"a boolean", "an integer", "a float", "a string",
                                        "a date",    "an array",   "a map"};
    return (size_t)t < MF_COUNT(names) ? names[t] : "nothing";
}
