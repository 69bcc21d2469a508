/* options_ttl.c: Mayfly's own ttl block: TTLs of messages whose writers sent none.
 *
 * Words and durations are those of a stream's metadata (policy_key_read); here they may also be
 * numbers (seconds) and, for enforce, the language's on and off.  A check that needs other parts of
 * the block runs when all of it was read; the check of accounts runs when all of the file was. */
#include "config/options_impl.h"

/* A name fits into every text that shows it (POLICY_BY_TEXT). */
#define PATTERN_NAME_MAX 64
#define NAME_MAX_BYTES   255 /* of a stream or account */

/* --- values ----------------------------------------------------------------------------------- */

/* 15m without quotes is fifteen million, which nobody means; no TTL has a unit of bytes. */
static bool has_unit(const struct conf_value *v)
{
    return v->text != NULL && strpbrk(v->text, "kKmMgGtTpPeE") != NULL;
}

/* The value in the form of a stream's metadata.  false, and an error, if it has none. */
static bool value_text(struct opt *c, const struct conf_value *v, enum policy_key k,
                       struct mf_slice *out)
{
    if (v->type == CONF_BOOL && k == POLICY_ENFORCE) { /* on and off are booleans of the language */
        *out = mf_str(v->u.b ? "on" : "off");
        return true;
    }
    if ((v->type == CONF_INT || v->type == CONF_FLOAT) && has_unit(v)) {
        opt_error(c, v,
                  "\"%s\" expects a duration such as \"15m\", \"24h\" or \"30d\", with quotes: %s "
                  "without them is a number with a unit of size",
                  v->key, v->text);
        return false;
    }
    if (v->type == CONF_INT || v->type == CONF_FLOAT) {
        *out = mf_str(v->text);
        return true;
    }
    if (v->type != CONF_STRING || v->u.s[0] == '\0') {
        opt_error(c, v, "\"%s\" expects a value such as in conf/mayfly.conf, got %s", v->key,
                  v->type == CONF_STRING ? "an empty string; leave the key out instead"
                                         : conf_type_name(v->type));
        return false;
    }
    *out = mf_str(v->u.s);
    return true;
}

static bool read_key(struct opt *c, const struct conf_value *v, enum policy_key k,
                     struct policy_keys *to)
{
    struct mf_error e = {0, ""};
    struct mf_slice text;
    if (!value_text(c, v, k, &text))
        return false;
    if (policy_key_read(to, k, v->key, text, c->a, &e) == 0)
        return true;
    opt_error(c, v, "%s", e.text);
    return false;
}

/* One reader for each key: a field of a table has no argument of its own. */
#define READER(word, key)                                                                          \
    static void read_##word(struct opt *c, const struct conf_value *v, void *keys)                 \
    {                                                                                              \
        (void)read_key(c, v, key, keys);                                                           \
    }
READER(default, POLICY_DEFAULT)
READER(pattern, POLICY_PATTERN)
READER(min, POLICY_MIN)
READER(max, POLICY_MAX)
READER(bounds, POLICY_BOUNDS)
READER(never, POLICY_NEVER)
READER(scope, POLICY_SCOPE)
READER(slide, POLICY_SLIDE)
READER(warn, POLICY_WARN)
READER(on_expire, POLICY_ON_EXPIRE)
READER(enforce, POLICY_ENFORCE)

/* The block's own default: with 0, streams without a policy stay plain JetStream. */
static void read_block_default(struct opt *c, const struct conf_value *v, void *keys)
{
    bool zero = (v->type == CONF_INT && v->u.i == 0) || opt_is_word(v, "0");
    if (!zero)
        read_default(c, v, keys);
}

/* --- patterns --------------------------------------------------------------------------------- */

static bool check_pattern_name(struct opt *c, const struct conf_value *v)
{
    size_t n = strspn(v->key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
    if (n == 0 || n > PATTERN_NAME_MAX || v->key[n] != '\0') {
        opt_error(c, v, "a pattern's name has 1 to %d of A-Z, a-z, 0-9, _ and -: \"%.100s\"",
                  PATTERN_NAME_MAX, v->key);
        return false;
    }
    /* A file may redefine what it includes, but not itself. */
    if (v->replaced != NULL && strcmp(v->replaced->file, v->file) == 0) {
        opt_error(c, v, "pattern \"%s\" is defined twice, first on line %d; remove one", v->key,
                  v->replaced->line);
        return false;
    }
    return true;
}

static void read_patterns(struct opt *c, const struct conf_value *v, void *server)
{
    struct policy_server *t = server;
    if (!opt_is_map(c, v, "patterns to be a map of names to durations"))
        return;
    if (v->nitems > POLICY_PATTERNS_MAX) {
        opt_error(c, v, "%zu patterns, %d allowed", v->nitems, POLICY_PATTERNS_MAX);
        return;
    }
    t->patterns = arena_alloc(c->a, (v->nitems + 1) * sizeof *t->patterns);
    for (size_t i = 0; i < v->nitems && t->patterns != NULL; i++) {
        struct policy_keys one = POLICY_KEYS_INIT;
        char *name = arena_str(c->a, v->items[i]->key);
        if (check_pattern_name(c, v->items[i]) && read_key(c, v->items[i], POLICY_DEFAULT, &one) &&
            name != NULL)
            t->patterns[t->npatterns++] = (struct policy_pattern){name, one.default_ttl};
    }
}

/* --- namespaces ------------------------------------------------------------------------------- */

#define NS(member) offsetof(struct policy_namespace, member)

/* A stream's name, with '*' for any run of characters, or an account's. */
static void read_name(struct opt *c, const struct conf_value *v, void *out)
{
    char *name;
    if (!opt_string(c, v, &name))
        return;
    size_t n = strlen(name);
    if (n == 0 || n > NAME_MAX_BYTES)
        opt_error(c, v, "\"%s\" expects a name of 1 to %d bytes", v->key, NAME_MAX_BYTES);
    else
        *(const char **)out = name;
}

static void read_stream(struct opt *c, const struct conf_value *v, void *out)
{
    if (v->type == CONF_STRING && strpbrk(v->u.s, " \t\r\n.>/\\") != NULL)
        opt_error(c, v,
                  "\"stream\" expects the name of a stream, in which * stands for any characters; "
                  "no stream is called \"%.100s\"",
                  v->u.s);
    else
        read_name(c, v, out);
}

static void read_storage(struct opt *c, const struct conf_value *v, void *out)
{
    if (opt_is_word(v, "file"))
        *(enum policy_storage *)out = POLICY_STORAGE_FILE;
    else if (opt_is_word(v, "memory"))
        *(enum policy_storage *)out = POLICY_STORAGE_MEMORY;
    else
        opt_error(c, v, "\"storage\" expects file or memory");
}

static void refuse_rules(struct opt *c, const struct conf_value *v, void *keys)
{
    (void)keys;
    opt_error(c, v, "\"rules\" belong to the stream: set its metadata mayfly.ttl.rules");
}

static const struct opt_field namespace_fields[] = {
    {"account", OPT_FN, NS(account), read_name, 0, 0},
    {"stream", OPT_FN, NS(stream), read_stream, 0, 0},
    {"storage", OPT_FN, NS(storage), read_storage, 0, 0},
    {"default", OPT_FN, NS(keys), read_default, 0, 0},
    {"pattern", OPT_FN, NS(keys), read_pattern, 0, 0},
    {"min", OPT_FN, NS(keys), read_min, 0, 0},
    {"max", OPT_FN, NS(keys), read_max, 0, 0},
    {"bounds", OPT_FN, NS(keys), read_bounds, 0, 0},
    {"never", OPT_FN, NS(keys), read_never, 0, 0},
    {"scope", OPT_FN, NS(keys), read_scope, 0, 0},
    {"slide", OPT_FN, NS(keys), read_slide, 0, 0},
    {"warn", OPT_FN, NS(keys), read_warn, 0, 0},
    {"on_expire", OPT_FN, NS(keys), read_on_expire, 0, 0},
    {"enforce", OPT_FN, NS(keys), read_enforce, 0, 0},
    {"rules", OPT_FN, NS(keys), refuse_rules, 0, 0},
};

static void read_namespaces(struct opt *c, const struct conf_value *v, void *server)
{
    struct policy_server *t = server;
    if (!opt_is_array(c, v, "namespaces to be an array of maps"))
        return;
    if (v->nitems > POLICY_NAMESPACES_MAX) {
        opt_error(c, v, "%zu namespaces, %d allowed; one entry may match many streams by '*'",
                  v->nitems, POLICY_NAMESPACES_MAX);
        return;
    }
    t->namespaces = arena_alloc(c->a, (v->nitems + 1) * sizeof *t->namespaces);
    c->o->impl->ttl_places = arena_alloc(c->a, (v->nitems + 1) * sizeof(struct conf_value));
    for (size_t i = 0; i < v->nitems && !c->a->failed; i++) {
        const struct conf_value *entry = v->items[i];
        struct policy_namespace *n = &t->namespaces[t->nnamespaces];
        *n = (struct policy_namespace){.keys = POLICY_KEYS_INIT};
        if (!opt_is_map(c, entry, "a namespace to be a map"))
            continue;
        opt_map(c, entry, OPT_BLOCK(namespace_fields), n);
        c->o->impl->ttl_places[t->nnamespaces++] =
            (struct conf_value){.file = opt_file(c, entry), .line = entry->line, .col = entry->col};
    }
}

/* --- checks of the whole block -----------------------------------------------------------------
 */

/* `block` has the keys that apply where the entry has none; NULL for the block itself. */
static void check_bounds(struct opt *c, const struct conf_value *at, const struct policy_keys *k,
                         const struct policy_keys *block)
{
    char a[POLICY_TEXT], b[POLICY_TEXT];
    int64_t max = k->max_ns == POLICY_UNSET && block != NULL ? block->max_ns : k->max_ns;
    const char *whose = k->max_ns == POLICY_UNSET ? "max of the ttl block," : "max";
    if (k->min_ns != POLICY_UNSET && max != POLICY_UNSET && k->min_ns > max)
        opt_error(c, at, "min %s is above %s %s", policy_ttl_text(a, k->min_ns), whose,
                  policy_ttl_text(b, max));
    if (k->default_ttl == POLICY_UNSET || k->default_ttl <= 0)
        return; /* none and never are no durations */
    if (max != POLICY_UNSET && k->default_ttl > max)
        opt_error(c, at, "default %s is above %s %s", policy_ttl_text(a, k->default_ttl), whose,
                  policy_ttl_text(b, max));
    if (k->min_ns != POLICY_UNSET && k->default_ttl < k->min_ns)
        opt_error(c, at, "default %s is below min %s", policy_ttl_text(a, k->default_ttl),
                  policy_ttl_text(b, k->min_ns));
}

/* Does `a` match every stream that `b` matches?  Of names with '*' only equal ones are compared. */
static bool namespace_covers(const struct policy_namespace *a, const struct policy_namespace *b)
{
    bool account =
        a->account == NULL || (b->account != NULL && strcmp(a->account, b->account) == 0);
    bool all = a->stream == NULL || strcmp(a->stream, "*") == 0;
    bool stream = all || (b->stream != NULL && strcmp(a->stream, b->stream) == 0);
    return account && stream && (a->storage == POLICY_STORAGE_ANY || a->storage == b->storage);
}

static void check_namespace(struct opt *c, const struct policy_server *t, size_t i)
{
    const struct policy_namespace *n = &t->namespaces[i];
    const struct conf_value *at = &c->o->impl->ttl_places[i];
    int64_t ttl;
    check_bounds(c, at, &n->keys, &t->keys);
    if (n->keys.pattern != NULL && !policy_pattern_find(t, n->keys.pattern, &ttl)) {
        const char *known = policy_pattern_names(t, c->a);
        opt_error(c, at, "no pattern \"%s\"; known: %.300s", n->keys.pattern,
                  known == NULL ? "" : known);
    }
    for (size_t k = 0; k < i; k++)
        if (namespace_covers(&t->namespaces[k], n)) {
            opt_warn(c, at,
                     "ttl: namespace %zu is never used: entry %zu matches its streams first; move "
                     "it up",
                     i + 1, k + 1);
            return;
        }
}

#define TTL(member) offsetof(struct policy_server, member)
static const struct opt_field ttl_fields[] = {
    {"default", OPT_FN, TTL(keys), read_block_default, 0, 0},
    {"warn", OPT_FN, TTL(keys), read_warn, 0, 0},
    {"enforce", OPT_FN, TTL(keys), read_enforce, 0, 0},
    {"never", OPT_FN, TTL(keys), read_never, 0, 0},
    {"max", OPT_FN, TTL(keys), read_max, 0, 0},
    {"patterns", OPT_FN, 0, read_patterns, 0, 0},
    {"namespaces", OPT_FN, 0, read_namespaces, 0, 0},
};

void opt_read_ttl(struct opt *c, const struct conf_value *v, void *ttl)
{
    struct policy_server *t = ttl;
    size_t before = c->nerrors;
    if (!opt_is_map(
            c, v, "ttl to be a map: { default, warn, enforce, never, max, patterns, namespaces }"))
        return;
    t->set = true;
    opt_map(c, v, OPT_BLOCK(ttl_fields), t);
    if (c->nerrors > before || c->a->failed)
        return; /* a value that was not read would be reported a second time */
    check_bounds(c, v, &t->keys, NULL);
    for (size_t i = 0; i < t->nnamespaces; i++)
        check_namespace(c, t, i);
}
