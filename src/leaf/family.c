/* family.c: what the links of one cluster announced together.
 *
 * A link is told of nothing that its own cluster announced.  The family of the cluster keeps the
 * sum for each subject and queue, so the answer is one lookup however many links the cluster has.
 */
#include "leaf/realm_impl.h"

#include <stdlib.h>

struct share { /* of one entry; exists while a sum is not 0 */
    struct table_node node;
    const struct interest *of;
    uint64_t leafs, hubs;
};

struct leaf_family {
    struct table_node node; /* leaf_realm.families */
    struct table shares;    /* by the hash of the entry */
    uint32_t links;         /* usable and ending */
    char cluster[];
};

int family_enter(struct leaf_link *l)
{
    struct table *all = &l->realm->families;
    struct leaf_family *f = NULL;
    size_t len;

    if (l->cluster == NULL)
        return 0;
    for (struct table_node *n = table_first(all, l->cluster_hash); n != NULL; n = table_next(n)) {
        f = mf_container(n, struct leaf_family, node);
        if (strcmp(f->cluster, l->cluster) == 0)
            break;
        f = NULL;
    }
    if (f == NULL) {
        len = strlen(l->cluster) + 1;
        f = calloc(1, sizeof *f + len);
        if (f == NULL || table_add(all, &f->node, l->cluster_hash) != 0) {
            free(f);
            return MF_NOMEM;
        }
        memcpy(f->cluster, l->cluster, len);
    }
    f->links++;
    l->family = f;
    return 0;
}

void family_leave(struct leaf_link *l)
{
    struct leaf_family *f = l->family;

    l->family = NULL;
    if (f == NULL || --f->links > 0)
        return;
    table_del(&l->realm->families, &f->node);
    table_fini(&f->shares);
    free(f);
}

static struct share *find_share(const struct leaf_family *f, const struct interest *i)
{
    for (struct table_node *n = table_first(&f->shares, i->node.hash); n != NULL;
         n = table_next(n)) {
        struct share *s = mf_container(n, struct share, node);
        if (s->of == i)
            return s;
    }
    return NULL;
}

/* The parts of the family, or of a link without one. */
uint64_t family_weight(const struct leaf_link *l, const struct interest *i, bool leafs, bool hubs)
{
    const struct share *s;
    const struct leaf_sub *own;

    l->realm->looks++;
    if (l->family != NULL) {
        s = find_share(l->family, i);
        return s == NULL ? 0 : (leafs ? s->leafs : 0) + (hubs ? s->hubs : 0);
    }
    own = l->spoke ? hubs ? realm_sub_of(l, i) : NULL : leafs ? realm_sub_of(l, i) : NULL;
    return own == NULL ? 0 : own->weight;
}

int family_prepare(struct leaf_link *l, const struct interest *i)
{
    struct share *s;

    if (l->family == NULL || find_share(l->family, i) != NULL)
        return 0;
    s = calloc(1, sizeof *s);
    if (s == NULL || table_add(&l->family->shares, &s->node, i->node.hash) != 0) {
        free(s);
        return MF_NOMEM;
    }
    s->of = i;
    return 0;
}

void family_add(struct leaf_link *l, struct interest *i, uint64_t by)
{
    struct share *s = l->family == NULL ? NULL : find_share(l->family, i);

    if (s == NULL)
        return;
    if (l->spoke)
        s->hubs += by;
    else
        s->leafs += by;
    if (s->leafs + s->hubs == 0) {
        table_del(&l->family->shares, &s->node);
        free(s);
    }
}
