/* json.c: documents into structs, by tables.
 *
 * json_scan.c checks a whole document first, so the readers here see valid JSON only. Reading
 * recurses along the types, never along the text: the scanner skips unknown values.  The first
 * error ends it, as in Go. */
#include "codec/json.h"

#include "codec/json_read_impl.h"

bool json_is_document(struct mf_slice text)
{
    struct json_scan s = {.text = text};

    json_scan_blank(&s);
    return json_scan_peek(&s) == '{' || json_scan_peek(&s) == '[';
}

/* --- names ------------------------------------------------------------------------------------ */

/* Go folds all of Unicode; besides A to Z only two characters fold to letters of ASCII. */
static size_t fold_char(struct mf_slice s, size_t i, uint8_t *out)
{
    if (i + 1 < s.len && s.ptr[i] == 0xc5 && s.ptr[i + 1] == 0xbf) { /* U+017F, long s */
        *out = 's';
        return 2;
    }
    if (i + 2 < s.len && s.ptr[i] == 0xe2 && s.ptr[i + 1] == 0x84 && s.ptr[i + 2] == 0xaa) {
        *out = 'k'; /* U+212A, the Kelvin sign */
        return 3;
    }
    *out = s.ptr[i] >= 'A' && s.ptr[i] <= 'Z' ? (uint8_t)(s.ptr[i] + 32) : s.ptr[i];
    return 1;
}

static bool same_folded(struct mf_slice name, const char *field) /* field is lower case */
{
    size_t i = 0;

    for (; i < name.len && *field != '\0'; field++) {
        uint8_t c;

        i += fold_char(name, i, &c);
        if (c != (uint8_t)*field)
            return false;
    }
    return i == name.len && *field == '\0';
}

static const struct json_field *find_field(const struct json_type *t, struct mf_slice name)
{
    for (size_t i = 0; i < t->nfields; i++)
        if (mf_eq_str(name, t->fields[i].name))
            return &t->fields[i];
    for (size_t i = 0; i < t->nfields; i++)
        if (same_folded(name, t->fields[i].name))
            return &t->fields[i];
    return NULL;
}

/* --- arrays and maps -------------------------------------------------------------------------- */

/* How many elements has the array at pos?  Its memory is taken once, in the size it needs. */
static int count_elements(struct json_reader *r, size_t *n)
{
    struct json_scan s = r->scan;

    *n = 0;
    s.pos++;
    json_scan_blank(&s);
    if (json_scan_peek(&s) == ']')
        return 0;
    do {
        if (json_scan_value(&s) != 0)
            return MF_INVAL;
        json_scan_blank(&s);
        (*n)++;
    } while (s.text.ptr[s.pos++] == ',');
    return 0;
}

static size_t element_size(const struct json_field *f)
{
    if (f->kind == JSON_DURATIONS)
        return sizeof(int64_t);
    return f->kind == JSON_OBJECTS ? f->type->size : sizeof(void *);
}

static int read_element(struct json_reader *r, const struct json_field *f, char *at,
                        const struct json_path *path)
{
    if (f->kind == JSON_STRS)
        return json_read_str(r, (char **)(void *)at, path);
    if (f->kind == JSON_DURATIONS)
        return json_read_plain(r, &(struct json_field){.kind = JSON_DURATION}, at, path);
    if (f->kind == JSON_POINTERS)
        return json_read_pointer(r, f->type, (void **)(void *)at, path);
    return json_read_object(r, f->type, at, path);
}

/* Strings, numbers, structs or pointers.  The old element at an index stays where the text has
 * null, and a struct is read over it: Go reuses the elements of a slice it reads into. */
static int read_array(struct json_reader *r, const struct json_field *f, void **at, size_t *n,
                      const struct json_path *path)
{
    size_t size = element_size(f), count, old = *n;
    char *made = NULL;

    if (json_read_null(r)) {
        *at = NULL;
        *n = 0;
        return 0;
    }
    if (json_scan_peek(&r->scan) != '[')
        return json_mismatch(r, f, path, false);
    if (count_elements(r, &count) != 0)
        return MF_INVAL;
    if (count > 0) {
        if (count > SIZE_MAX / 4 / size || (made = arena_alloc(r->mem, count * size)) == NULL)
            return json_nomem(r);
        if (old > 0)
            memcpy(made, *at, (old < count ? old : count) * size);
    }
    r->scan.pos++;
    for (size_t i = 0; i < count; i++) {
        struct json_path here = {.up = path, .index = i, .in_array = true};
        int err;

        json_scan_blank(&r->scan);
        if ((err = read_element(r, f, made + i * size, &here)) != 0)
            return err;
        json_scan_blank(&r->scan);
        r->scan.pos++; /* the ',' or ']' */
    }
    if (count == 0) {
        json_scan_blank(&r->scan);
        r->scan.pos++;
    }
    *at = made;
    *n = count;
    return 0;
}

/* Pairs are only appended here, in the order of the text.  json_maps_close() sorts them once: a
 * text that repeats a large map would else cost a sort each time. */
static int read_map(struct json_reader *r, const struct json_field *f, struct json_map *m,
                    const struct json_path *path)
{
    struct mf_slice name;
    int err;

    if (json_read_null(r)) {
        *m = (struct json_map){NULL, 0, false};
        return 0;
    }
    if (json_scan_peek(&r->scan) != '{')
        return json_mismatch(r, f, path, false);
    m->set = true;
    r->scan.pos++;
    while ((err = json_read_name(r, true, &name)) > 0) {
        struct json_path here = {.up = path, .name = name};
        struct json_pair *at = arena_grow(r->mem, m->at, m->n, sizeof *at);
        char *value = NULL;

        if (at == NULL)
            return json_nomem(r);
        m->at = at;
        if ((err = json_read_str(r, &value, &here)) != 0)
            return err;
        m->at[m->n++] = (struct json_pair){(char *)(uintptr_t)name.ptr, value};
    }
    return err;
}

/* --- fields ----------------------------------------------------------------------------------- */

static int read_enum(struct json_reader *r, const struct json_field *f, int *out)
{
    struct mf_slice raw;

    if (json_read_raw(r, &raw) != 0)
        return MF_INVAL;
    return f->parse(raw, out, r->e);
}

static int read_value(struct json_reader *r, const struct json_field *f, char *base,
                      const struct json_path *path)
{
    void *at = base + f->offset;

    switch (f->kind) {
    case JSON_STR:
        return json_read_str(r, at, path);
    case JSON_OBJECT:
        return json_read_object(r, f->type, at, path);
    case JSON_POINTER:
        return json_read_pointer(r, f->type, at, path);
    case JSON_STRS: {
        struct json_strs *s = at;
        void *list = s->at;
        int err = read_array(r, f, &list, &s->n, path);
        s->at = list;
        return err;
    }
    case JSON_DURATIONS: {
        struct json_durations *d = at;
        void *list = d->at;
        int err = read_array(r, f, &list, &d->n, path);
        d->at = list;
        return err;
    }
    case JSON_OBJECTS:
    case JSON_POINTERS: {
        struct json_objects *o = at;
        return read_array(r, f, &o->at, &o->n, path);
    }
    case JSON_MAP:
        return read_map(r, f, at, path);
    case JSON_ENUM:
        return read_enum(r, f, at);
    case JSON_RAW:
        return json_read_raw_copy(r, at);
    case JSON_BOOL:
    case JSON_I64:
    case JSON_INT:
    case JSON_DURATION:
    case JSON_I32:
    case JSON_U64:
    case JSON_F64:
    case JSON_TIME:
        break;
    }
    return json_read_plain(r, f, at, path);
}

static int read_field(struct json_reader *r, const struct json_field *f, char *base,
                      const struct json_path *path)
{
    bool null = json_scan_peek(&r->scan) == 'n';
    int err = read_value(r, f, base, path);

    if (err == 0 && f->set_offset != 0)
        memcpy(base + f->set_offset, &(bool){!null}, sizeof(bool));
    return err;
}

int json_read_object(struct json_reader *r, const struct json_type *t, void *out,
                     const struct json_path *path)
{
    struct mf_slice name;
    int err;

    if (json_read_null(r))
        return 0;
    if (json_scan_peek(&r->scan) != '{')
        return json_mismatch(r, &(struct json_field){.kind = JSON_OBJECT, .type = t}, path, false);
    r->scan.pos++;
    while ((err = json_read_name(r, false, &name)) > 0) {
        const struct json_field *f = find_field(t, name);
        struct json_path here = {.up = path, .name = name};

        if (f != NULL)
            err = read_field(r, f, out, &here);
        else if (r->strict)
            err = json_unknown(r, name);
        else
            err = json_scan_value(&r->scan);
        if (err != 0)
            return err;
    }
    return err;
}

int json_read_pointer(struct json_reader *r, const struct json_type *t, void **out,
                      const struct json_path *path)
{
    if (json_read_null(r)) {
        *out = NULL;
        return 0;
    }
    if (*out == NULL && (*out = arena_alloc(r->mem, t->size)) == NULL)
        return json_nomem(r);
    return json_read_object(r, t, *out, path);
}

/* --- documents -------------------------------------------------------------------------------- */

/* The document at pos: checked, then read. */
static int read_document(struct json_reader *r, const struct json_type *t, void *out)
{
    size_t start = r->scan.pos;

    if (json_scan_value(&r->scan) != 0)
        return MF_INVAL;
    if (!r->many) {
        json_scan_blank(&r->scan);
        if (json_scan_more(&r->scan))
            return json_scan_stray(&r->scan, "after top-level value");
    }
    r->scan.pos = start;
    int err = json_read_object(r, t, out, NULL);
    r->valid = err != 0;
    return err;
}

/* The scanner's error in the form that nats-server sends. */
static int syntax_error(const struct json_reader *r)
{
    const struct json_scan *s = &r->scan;

    if (s->ended)
        return mf_fail(r->e, MF_INVAL, r->many ? "unexpected EOF" : "unexpected end of JSON input");
    if (!r->many)
        return mf_fail(r->e, MF_INVAL, "%s", s->what.at);
    return mf_fail(r->e, MF_INVAL, "%s at offset %zu", s->what.at, s->offset);
}

static int read_documents(struct json_reader *r, const struct json_type *t, void *out)
{
    int err = 0;

    r->root = t;
    do {
        json_scan_blank(&r->scan);
        if (!json_scan_more(&r->scan) && r->many)
            break;
        err = read_document(r, t, out);
    } while (err == 0 && r->many);
    if (err == MF_INVAL && !r->valid)
        err = syntax_error(r);
    return err;
}

static int read_text(struct json_reader *r, const struct json_type *t, void *out)
{
    int err = json_maps_open(r, t, out);

    if (err == 0)
        err = read_documents(r, t, out);
    json_maps_close(t, out); /* after an error, too: half filled, but sound */
    return err;
}

int json_read(struct mf_slice text, const struct json_type *t, void *out, struct arena *mem,
              bool strict, struct mf_error *e)
{
    struct mf_error first = {0, ""};
    struct json_reader r = {
        .scan.text = text, .mem = mem, .e = &first, .strict = true, .many = true};
    int err = read_text(&r, t, out);

    if ((err == MF_INVAL || err == MF_UNSUPPORTED) && !strict)
        return json_unmarshal(text, t, out, mem, e);
    if (err != 0 && e != NULL)
        *e = first;
    return err;
}

int json_unmarshal(struct mf_slice text, const struct json_type *t, void *out, struct arena *mem,
                   struct mf_error *e)
{
    struct json_reader r = {.scan.text = text, .mem = mem, .e = e};

    return read_text(&r, t, out);
}

/* --- one array, its elements unread ------------------------------------------------------------
 */

static int fail_split(const struct json_scan *s, size_t *offset, struct mf_error *e)
{
    *offset = s->ended ? s->text.len : s->offset;
    if (s->ended)
        return mf_fail(e, MF_INVAL, "unexpected end of JSON input");
    return mf_fail(e, MF_INVAL, "%s", s->what.at);
}

/* Valid, and one document: pos is at its first byte then. */
static int check_document(struct json_reader *r)
{
    if (json_scan_value(&r->scan) != 0)
        return MF_INVAL;
    json_scan_blank(&r->scan);
    if (json_scan_more(&r->scan))
        return json_scan_stray(&r->scan, "after top-level value");
    r->scan.pos = 0;
    json_scan_blank(&r->scan);
    return 0;
}

/* The document is checked: only its elements' ends are looked for. */
static int list_elements(struct json_scan *s, struct mf_slice *items, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        s->pos++; /* the '[' or ',' */
        json_scan_blank(s);
        size_t start = s->pos;
        if (json_scan_value(s) != 0)
            return MF_INVAL;
        items[i] = mf_slice(s->text.ptr + start, s->pos - start);
        json_scan_blank(s);
    }
    return 0;
}

int json_split_array(struct mf_slice text, struct mf_slice **items, size_t *n, size_t *offset,
                     struct arena *mem, struct mf_error *e)
{
    struct json_reader r = {.scan.text = text};
    size_t count;

    if (check_document(&r) != 0)
        return fail_split(&r.scan, offset, e);
    *offset = 0;
    if (json_scan_peek(&r.scan) != '[')
        return mf_fail(e, MF_INVAL, "not an array");
    if (count_elements(&r, &count) != 0)
        return MF_INVAL;
    *items = arena_alloc(mem, count * sizeof **items);
    if (*items == NULL)
        return mf_fail(e, MF_NOMEM, "JSON");
    *n = count;
    return list_elements(&r.scan, *items, count);
}

/* --- one object, its values unread -------------------------------------------------------------
 */

int json_split_object(struct mf_slice text, struct json_member **members, size_t *n,
                      struct arena *mem, struct mf_error *e)
{
    struct json_reader r = {.scan.text = text, .mem = mem, .e = e};
    struct mf_slice name;
    size_t offset;
    int err;

    *members = NULL;
    *n = 0;
    if (check_document(&r) != 0)
        return fail_split(&r.scan, &offset, e);
    if (json_scan_peek(&r.scan) != '{')
        return mf_fail(e, MF_INVAL, "not an object");
    r.scan.pos++;
    while ((err = json_read_name(&r, true, &name)) > 0) {
        size_t start = r.scan.pos;
        struct json_member *at = arena_grow(mem, *members, *n, sizeof *at);

        if (at == NULL)
            return json_nomem(&r);
        *members = at;
        if (json_scan_value(&r.scan) != 0)
            return MF_INVAL;
        at[(*n)++] = (struct json_member){(char *)(uintptr_t)name.ptr,
                                          mf_slice(text.ptr + start, r.scan.pos - start)};
    }
    return err;
}
