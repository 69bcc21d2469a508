/* ttl_reload.c: the ttl block after a start and a reload: policies of all streams, and the log
 * lines about them. */
#include "api/ttl_api_impl.h"

#include "base/log.h"

struct tally {
    const struct js_account *ja;
    size_t governed, audited, invalid;
};

static void count_policy(struct tally *t, const struct stream *s)
{
    const struct policy *p = stream_policy(s);
    const struct policy_view *v = p == NULL ? NULL : policy_view(p);
    bool audit = v != NULL && v->active && v->keys.enforce == POLICY_ENFORCE_AUDIT;

    if (v == NULL)
        return;
    t->invalid += v->invalid != NULL;
    t->audited += audit;
    t->governed += v->active && v->governed && !audit;
}

static void count_stream(void *arg, struct stream *s)
{
    count_policy(arg, s);
}

static void reload_stream(void *arg, struct stream *s)
{
    struct tally *t = arg;
    int rc = stream_policy_reload(s);

    if (rc == 1)
        log_info("account %s: stream %s: its TTL policy changed", account_name(t->ja->account),
                 stream_name(s));
    else if (rc != 0)
        log_error("account %s: stream %s: its TTL policy is still the former one: out of memory",
                  account_name(t->ja->account), stream_name(s));
    count_policy(t, s);
}

static void each_account(struct api *a, void (*visit)(void *arg, struct stream *s))
{
    struct mf_list *pos;

    mf_list_each(pos, &a->js->list)
    {
        struct tally t = {.ja = mf_container(pos, struct js_account, link)};
        if (t.ja->catalog != NULL)
            catalog_each(t.ja->catalog, MF_SLICE_NONE, visit, &t);
        if (t.governed + t.audited + t.invalid > 0)
            log_info("account %s: TTL policy: %zu streams governed, %zu audited, %zu invalid",
                     account_name(t.ja->account), t.governed, t.audited, t.invalid);
    }
}

void ttl_policies_opened(struct api *a)
{
    each_account(a, count_stream);
}

void ttl_policies_reload(struct api *a)
{
    each_account(a, reload_stream);
}
