/* options_places.c: where each option stands in the file, and a hash of what it says. */
#include "config/options_impl.h"

#include "codec/hash.h"

#include <stdio.h>

/* --- hashes ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t h, uint64_t more)
{
    return (h ^ more) * UINT64_C(0x9e3779b97f4a7c15) + (h >> 29);
}

/* Trees are as deep as the parser allows. */
static uint64_t hash_value(const struct conf_value *v)
{
    uint64_t h = mix((uint64_t)v->type + 1, v->key == NULL ? 0 : hash_slice(mf_str(v->key)));

    switch (v->type) {
    case CONF_BOOL:
        return mix(h, v->u.b);
    case CONF_INT:
        return mix(h, (uint64_t)v->u.i);
    case CONF_DATE:
        return mix(h, (uint64_t)v->u.date_ns);
    case CONF_FLOAT:
        return mix(h, hash_slice(mf_slice(&v->u.f, sizeof v->u.f)));
    case CONF_STRING:
        return mix(h, hash_slice(mf_str(v->u.s)));
    case CONF_ARRAY:
    case CONF_MAP:
        for (size_t i = 0; i < v->nitems; i++)
            h = mix(h, hash_value(v->items[i]));
    }
    return h;
}

/* --- places ----------------------------------------------------------------------------------- */

static void remember(struct opt *c, const char *block, const char *key, const struct conf_value *v)
{
    struct options_impl *impl = c->o->impl;
    struct opt_known *known = arena_grow(c->a, impl->known, impl->nknown, sizeof *known);
    char *name = arena_printf(c->a, "%s%s%s", block, block[0] == '\0' ? "" : ".", key);

    name = name == NULL ? NULL : opt_text_lower(c->a, name);
    if (known == NULL || name == NULL)
        return; /* the arena remembers */
    impl->known = known;
    known[impl->nknown++] = (struct opt_known){
        .name = name,
        .at = {.file = opt_file(c, v), .line = v->line, .col = v->col},
        .hash = hash_value(v),
    };
}

void opt_remember(struct opt *c, const struct conf_value *root)
{
    struct opt_block top = options_top();
    char name[64];

    for (size_t i = 0; i < root->nitems; i++) {
        const struct conf_value *v = root->items[i];
        const struct opt_field *f = opt_find_field(&top, v->key);
        if (f == NULL)
            continue;
        snprintf(name, sizeof name, "%.*s", (int)strcspn(f->names, " "), f->names);
        remember(c, "", name, v);
        for (size_t k = 0; k < v->nitems && v->type == CONF_MAP && v->nitems <= OPT_FEW; k++)
            remember(c, name, v->items[k]->key, v->items[k]);
    }
}

const struct opt_known *opt_known(const struct options *o, const char *name)
{
    for (size_t i = 0; i < o->impl->nknown; i++)
        if (strcmp(o->impl->known[i].name, name) == 0)
            return &o->impl->known[i];
    return NULL;
}

const struct conf_value *opt_place(const struct options *o, const char *name)
{
    const struct opt_known *k = opt_known(o, name);

    return k == NULL ? NULL : &k->at;
}
