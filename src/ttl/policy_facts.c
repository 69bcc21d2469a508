/* policy_facts.c: values of a message, looked up once for all rules. */
#include "ttl/policy_rules_impl.h"

#include "proto/header.h"

void policy_facts_init(struct facts *f, const struct rules *r, const struct policy_message *m)
{
    f->rules = r;
    f->m = m;
    f->scanned = 0;
    f->headers_read = false;
    for (size_t i = 0; i < r->npointers; i++)
        f->json[i].read = f->json[i].fill_read = false;
}

/* One pass over the block; of several lines of a name the first one counts. */
static void read_headers(struct facts *f)
{
    const struct rules *r = f->rules;
    struct mf_slice name, value;
    size_t pos = 0;

    for (size_t i = 0; i < r->nheaders; i++)
        f->headers[i] = MF_SLICE_NONE;
    while (header_next(f->m->hdr, &pos, &name, &value))
        for (size_t i = 0; i < r->nheaders; i++)
            if (f->headers[i].ptr == NULL && mf_eq(r->headers[i], name))
                f->headers[i] = value;
    f->headers_read = true;
}

bool policy_facts_header(struct facts *f, unsigned index, struct mf_slice *value)
{
    if (!f->headers_read)
        read_headers(f);
    *value = f->headers[index];
    return value->ptr != NULL;
}

bool policy_facts_json(struct facts *f, unsigned index, struct mf_slice *value)
{
    struct json_fact *j = &f->json[index];

    if (!j->read) {
        j->read = true;
        j->found =
            policy_json_find(f->m->payload, f->rules->pointers[index], &j->value, &f->scanned);
    }
    *value = j->value;
    return j->found;
}

bool policy_facts_json_fill(struct facts *f, unsigned index, struct limit *slowest)
{
    struct json_fact *j = &f->json[index];

    if (!j->fill_read) {
        j->fill_read = true;
        j->fill_found = policy_json_find_fill(f->m->payload, f->rules->pointers[index], &j->slowest,
                                              &f->scanned);
    }
    *slowest = j->slowest;
    return j->fill_found;
}
