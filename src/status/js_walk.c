/* js_walk.c: all streams of all accounts, in slices, for documents about JetStream.
 *
 * Accounts are those of the beginning; a closed one has no streams.  Streams and consumers that are
 * added after the position of the walk are visited. */
#include "status/js_pages_impl.h"

#include <stdio.h>
#include <stdlib.h>

static int by_name(const void *a, const void *b)
{
    struct js_account *const *x = a, *const *y = b;

    return strcmp(account_name((*x)->account), account_name((*y)->account));
}

int js_enabled_accounts(struct js_status *st, struct js_account ***out, size_t *n)
{
    struct js_account **at;
    struct mf_list *pos;
    size_t count = 0;

    mf_list_each(pos, &st->js->list) count++;
    at = calloc(count == 0 ? 1 : count, sizeof *at);
    if (at == NULL)
        return MF_NOMEM;
    count = 0;
    mf_list_each(pos, &st->js->list)
    {
        struct js_account *ja = mf_container(pos, struct js_account, link);
        if (ja->catalog != NULL)
            at[count++] = ja;
    }
    if (count > 1)
        qsort(at, count, sizeof *at, by_name);
    *out = at;
    *n = count;
    return 0;
}

/* --- life ------------------------------------------------------------------------------------- */

static int list_accounts(struct js_walk *k)
{
    struct js_account **at;
    size_t n;

    if (js_enabled_accounts(k->st, &at, &n) != 0)
        return MF_NOMEM;
    k->accounts = arena_alloc(&k->mem, (n + 1) * sizeof *k->accounts);
    for (size_t i = 0; i < n && k->accounts != NULL; i++)
        k->accounts[i] = arena_str(&k->mem, account_name(at[i]->account));
    k->n = n;
    free(at);
    return k->mem.failed ? MF_NOMEM : 0;
}

int js_walk_init(struct js_walk *k, struct js_status *st, const char *of)
{
    *k = (struct js_walk){.st = st};
    if (of == NULL)
        return list_accounts(k);
    k->accounts = arena_alloc(&k->mem, sizeof *k->accounts);
    if (k->accounts != NULL)
        k->accounts[k->n++] = arena_str(&k->mem, of);
    return k->mem.failed ? MF_NOMEM : 0;
}

void js_walk_fini(struct js_walk *k)
{
    arena_fini(&k->mem);
}

/* --- accounts --------------------------------------------------------------------------------- */

void js_walk_rewind(struct js_walk *k, size_t account)
{
    k->at = account;
    k->stream[0] = k->consumer[0] = '\0';
    k->slice = 0;
}

void js_walk_next_account(struct js_walk *k)
{
    js_walk_rewind(k, k->at + 1);
}

static struct js_account *find_account(const struct js_walk *k)
{
    struct account *acc = accounts_get(k->st->js->accounts, k->accounts[k->at]);
    struct js_account *ja = acc == NULL ? NULL : js_account_of(k->st->js, acc);

    return ja == NULL || ja->closing ? NULL : ja;
}

struct js_account *js_walk_account(struct js_walk *k, const struct doc *d)
{
    if (k->at >= k->n)
        return NULL;
    if (k->slice != d->slice) {
        k->slice = d->slice;
        k->ja = find_account(k);
        if (k->ja != NULL && k->ja->catalog == NULL)
            k->ja = NULL;
        k->place = k->ja == NULL ? 0 : catalog_behind(k->ja->catalog, mf_str(k->stream));
    }
    return k->ja;
}

/* --- streams and consumers -------------------------------------------------------------------- */

bool js_walk_item(struct js_walk *k, const struct doc *d, struct catalog_item *out)
{
    struct js_account *ja = js_walk_account(k, d);

    if (ja == NULL || !catalog_at(ja->catalog, k->place, out))
        return false;
    k->place++;
    (void)snprintf(k->stream, sizeof k->stream, "%s", out->name);
    k->consumer[0] = '\0';
    k->created_ns = out->stream == NULL ? 0 : stream_created_ns(out->stream);
    return true;
}

struct stream *js_walk_stream(struct js_walk *k, const struct doc *d)
{
    struct js_account *ja = js_walk_account(k, d);
    struct stream *s = ja == NULL ? NULL : catalog_find(ja->catalog, mf_str(k->stream));

    return s != NULL && stream_created_ns(s) == k->created_ns ? s : NULL;
}

struct consumer *js_walk_consumer(struct js_walk *k, struct stream *s)
{
    struct consumers *g = js_consumers(s);
    struct consumer *c = g == NULL ? NULL : consumers_after(g, mf_str(k->consumer));

    if (c != NULL)
        (void)snprintf(k->consumer, sizeof k->consumer, "%s", consumer_name(c));
    return c;
}
