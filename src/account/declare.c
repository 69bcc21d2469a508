/* declare.c: what links to other servers must know of an account besides its subscriptions. */
#include "account/account_impl.h"

void account_set_declarer(struct account *a, const struct account_declarer *d)
{
    a->declarer = d;
}

void account_set_linker(struct account *a, const struct account_linker *l)
{
    a->linker = l;
}

bool account_has_linker(const struct account *a)
{
    return a->linker != NULL;
}

void account_declare(struct account *a, struct mf_slice pattern, bool on)
{
    if (a->linker != NULL)
        a->linker->declared(a->linker->arg, pattern, on);
}

void account_each_declared(const struct account *a, void (*visit)(void *v, struct mf_slice pattern),
                           void *v)
{
    if (a->declarer != NULL)
        a->declarer->each(a->declarer->arg, visit, v);
}

void account_each_mapping(const struct account *a, void (*visit)(void *v, struct mf_slice pattern),
                          void *v)
{
    mappings_each(a->sharing->mappings, visit, v);
}

void account_linked(struct account *a)
{
    if (a->declarer != NULL)
        a->declarer->linked(a->declarer->arg);
}
