/* grants.c: grants by subject and by age.  All grants of a session live equally long, so the order
 * of their creation is the order of their expiry, and dropping the expired ones costs O(expired).
 */
#include "session/grants.h"

#include "codec/hash.h"

#include <stdlib.h>

struct grant {
    struct table_node node;
    struct mf_list link;
    int64_t expires_ns; /* monotonic; 0: never */
    int64_t left;       /* < 0: no limit */
    uint16_t len;
    char subject[];
};

void grants_init(struct grants *g)
{
    *g = (struct grants){0};
    mf_list_init(&g->order);
}

static void drop_grant(struct grants *g, struct grant *one)
{
    table_del(&g->table, &one->node);
    mf_list_del(&one->link);
    free(one);
}

static struct grant *oldest_grant(struct grants *g)
{
    struct mf_list *n = mf_list_first(&g->order);

    return n == NULL ? NULL : mf_container(n, struct grant, link);
}

static void drop_expired(struct grants *g, int64_t now_ns)
{
    struct grant *one;

    while ((one = oldest_grant(g)) != NULL &&
           ((one->expires_ns != 0 && one->expires_ns <= now_ns) || g->table.count > GRANTS_MAX))
        drop_grant(g, one);
}

static struct grant *find_grant(struct grants *g, struct mf_slice subject, uint64_t hash)
{
    for (struct table_node *n = table_first(&g->table, hash); n != NULL; n = table_next(n)) {
        struct grant *one = mf_container(n, struct grant, node);
        if (mf_eq(mf_slice(one->subject, one->len), subject))
            return one;
    }
    return NULL;
}

void grants_add(struct grants *g, struct mf_slice subject, int64_t answers, int64_t lifetime_ns,
                int64_t now_ns)
{
    uint64_t hash = hash_slice(subject);
    struct grant *one;

    if (subject.len > UINT16_MAX)
        return;
    drop_expired(g, now_ns);
    one = find_grant(g, subject, hash);
    if (one != NULL)
        drop_grant(g, one);
    one = malloc(sizeof *one + subject.len);
    if (one == NULL)
        return;
    one->expires_ns = lifetime_ns > 0 ? now_ns + lifetime_ns : 0;
    one->left = answers;
    one->len = (uint16_t)subject.len;
    memcpy(one->subject, subject.ptr, subject.len);
    if (table_add(&g->table, &one->node, hash) != 0) {
        free(one);
        return;
    }
    mf_list_push(&g->order, &one->link);
}

bool grants_use(struct grants *g, struct mf_slice subject, int64_t now_ns)
{
    struct grant *one;

    drop_expired(g, now_ns);
    one = find_grant(g, subject, hash_slice(subject));
    if (one == NULL)
        return false;
    if (one->left > 0 && --one->left == 0)
        drop_grant(g, one);
    return true;
}

void grants_fini(struct grants *g)
{
    struct grant *one;

    while ((one = oldest_grant(g)) != NULL)
        drop_grant(g, one);
    table_fini(&g->table);
}
