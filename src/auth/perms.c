/* perms.c: permissions to publish and subscribe: allow and deny lists, compiled and counted. */
#include "auth/auth.h"

#include "base/clock.h"
#include "subject/subject.h"
#include "auth/patset_impl.h"

#include <stdatomic.h>
#include <stdlib.h>

#define DEFAULT_RESPONSES    1
#define DEFAULT_RESPONSES_NS (120 * CLOCK_S)

/* A list that is not set is NULL: no allow list allows all, no deny list denies nothing. */
struct perms {
    atomic_uint refs; /* credentials are checked in workers, and each success takes a reference */
    struct patset *pub_allow, *pub_deny, *sub_allow, *sub_deny;
    struct options_permissions made_from; /* a copy: a reload frees the original */
};

/* --- copies of the options -------------------------------------------------------------------- */

static void list_fini(struct options_list *l)
{
    for (size_t i = 0; i < l->n; i++)
        free(l->items[i]);
    free(l->items);
    *l = (struct options_list){NULL, 0};
}

static int list_copy(struct options_list *dst, const struct options_list *src)
{
    if (src->n == 0)
        return 0;
    dst->items = calloc(src->n, sizeof *dst->items);
    if (dst->items == NULL)
        return MF_NOMEM;
    for (size_t i = 0; i < src->n; i++) {
        dst->items[i] = mf_slice_dup(mf_str(src->items[i]));
        if (dst->items[i] == NULL)
            return MF_NOMEM;
        dst->n++;
    }
    return 0;
}

static int options_copy(struct options_permissions *dst, const struct options_permissions *src)
{
    *dst = *src;
    dst->publish.allow = dst->publish.deny = (struct options_list){NULL, 0};
    dst->subscribe.allow = dst->subscribe.deny = (struct options_list){NULL, 0};
    if (src->responses_max == 0)
        dst->responses_max = DEFAULT_RESPONSES;
    if (src->responses_expires_ns == 0)
        dst->responses_expires_ns = DEFAULT_RESPONSES_NS;
    if (list_copy(&dst->publish.allow, &src->publish.allow) != 0 ||
        list_copy(&dst->publish.deny, &src->publish.deny) != 0 ||
        list_copy(&dst->subscribe.allow, &src->subscribe.allow) != 0 ||
        list_copy(&dst->subscribe.deny, &src->subscribe.deny) != 0)
        return MF_NOMEM;
    return 0;
}

/* --- compiling -------------------------------------------------------------------------------- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v';
}

static struct mf_slice next_word(const char **at)
{
    const char *start;

    while (is_blank(**at))
        (*at)++;
    start = *at;
    while (**at != '\0' && !is_blank(**at))
        (*at)++;
    return mf_slice(start, (size_t)(*at - start));
}

/* "subject" or, for subscriptions, "subject queue". */
static int entry_parse(const char *text, bool queues, struct mf_slice *subject,
                       struct mf_slice *queue, struct mf_error *e)
{
    const char *at = text;

    *subject = mf_str(text);
    *queue = MF_SLICE_NONE;
    if (subject_valid(*subject))
        return 0;
    *subject = next_word(&at);
    *queue = next_word(&at);
    if (!queues || queue->len == 0 || next_word(&at).len > 0 || !subject_valid(*subject))
        return mf_fail(e, MF_INVAL, "subject \"%s\" is not a valid subject", text);
    if (!subject_valid(*queue))
        return mf_fail(e, MF_INVAL, "queue \"%.*s\" is not a valid queue", MF_FMT(*queue));
    return 0;
}

static int compile_list(struct patset **out, const struct options_list *l, bool queues,
                        struct mf_error *e)
{
    struct mf_slice subject, queue;

    if (patset_new(out) != 0)
        return mf_fail(e, MF_NOMEM, "compile permissions");
    for (size_t i = 0; i < l->n; i++) {
        if (entry_parse(l->items[i], queues, &subject, &queue, e) != 0)
            return MF_INVAL;
        if (patset_add(*out, subject, queue) != 0)
            return mf_fail(e, MF_NOMEM, "compile permissions");
    }
    return 0;
}

static void perms_free(struct perms *p)
{
    patset_free(p->pub_allow);
    patset_free(p->pub_deny);
    patset_free(p->sub_allow);
    patset_free(p->sub_deny);
    list_fini(&p->made_from.publish.allow);
    list_fini(&p->made_from.publish.deny);
    list_fini(&p->made_from.subscribe.allow);
    list_fini(&p->made_from.subscribe.deny);
    free(p);
}

int perms_new(struct perms **out, const struct options_permissions *o, struct mf_error *e)
{
    struct perms *p;
    int rc = MF_NOMEM;

    *out = NULL;
    if (o == NULL)
        return 0;
    p = calloc(1, sizeof *p);
    if (p == NULL)
        return mf_fail(e, MF_NOMEM, "permissions");
    atomic_init(&p->refs, 1);
    if (options_copy(&p->made_from, o) != 0) {
        rc = mf_fail(e, MF_NOMEM, "permissions");
        goto err;
    }
    /* A user that may only answer gets an empty allow list. */
    if ((o->publish.allow_set || o->responses_set) &&
        (rc = compile_list(&p->pub_allow, &o->publish.allow, false, e)) != 0)
        goto err;
    if (o->publish.deny.n > 0 && (rc = compile_list(&p->pub_deny, &o->publish.deny, false, e)) != 0)
        goto err;
    if (o->subscribe.allow_set &&
        (rc = compile_list(&p->sub_allow, &o->subscribe.allow, true, e)) != 0)
        goto err;
    if (o->subscribe.deny.n > 0 &&
        (rc = compile_list(&p->sub_deny, &o->subscribe.deny, true, e)) != 0)
        goto err;
    *out = p;
    return 0;
err:
    perms_free(p);
    return rc;
}

/* The list and one more entry, with the same texts: perms_new() copies them.  items may be NULL. */
static struct options_list list_with(const struct options_list *l, const char *subject)
{
    struct options_list more = {.items = calloc(l->n + 1, sizeof *more.items), .n = l->n + 1};

    for (size_t i = 0; more.items != NULL && i < l->n; i++)
        more.items[i] = l->items[i];
    if (more.items != NULL)
        more.items[l->n] = (char *)subject;
    return more;
}

int perms_new_without(struct perms **out, const struct options_permissions *p, const char *subject,
                      bool hears, struct mf_error *e)
{
    struct options_permissions more = p != NULL ? *p : (struct options_permissions){0};
    struct options_list publish = list_with(&more.publish.deny, subject),
                        subscribe = list_with(&more.subscribe.deny, subject);
    int rc;

    *out = NULL;
    more.publish.deny = publish;
    if (!hears)
        more.subscribe.deny = subscribe;
    rc = publish.items == NULL || subscribe.items == NULL ? mf_fail(e, MF_NOMEM, "permissions")
                                                          : perms_new(out, &more, e);
    free(publish.items);
    free(subscribe.items);
    return rc;
}

struct perms *perms_retain(struct perms *p)
{
    if (p != NULL)
        atomic_fetch_add_explicit(&p->refs, 1, memory_order_relaxed);
    return p;
}

void perms_release(struct perms *p)
{
    if (p != NULL && atomic_fetch_sub_explicit(&p->refs, 1, memory_order_acq_rel) == 1)
        perms_free(p);
}

/* --- checks ----------------------------------------------------------------------------------- */

bool perms_denies_publish(const struct perms *p, struct mf_slice subject)
{
    return p != NULL && p->pub_deny != NULL &&
           patset_match(p->pub_deny, subject, MF_SLICE_NONE, PATSET_LITERAL).plain;
}

bool perms_can_publish(const struct perms *p, struct mf_slice subject)
{
    if (p == NULL)
        return true;
    if (p->pub_allow != NULL &&
        !patset_match(p->pub_allow, subject, MF_SLICE_NONE, PATSET_LITERAL).plain)
        return false;
    return !perms_denies_publish(p, subject);
}

static bool is_denied(const struct perms *p, struct mf_slice subject, struct mf_slice queue)
{
    struct patset_hit h = patset_match(p->sub_deny, subject, queue, PATSET_LITERAL);

    return h.plain || h.queue_hit;
}

bool perms_can_subscribe(const struct perms *p, struct mf_slice pattern, struct mf_slice queue)
{
    if (p == NULL)
        return true;
    if (p->sub_allow != NULL) {
        struct patset_hit h = patset_match(p->sub_allow, pattern, queue, PATSET_SUBSET);
        /* Entries that name queues for this subject decide about queue subscriptions alone:
         * "foo" with "foo v1" allows plain ones, and of the queues only v1. */
        if (queue.len > 0 && h.queued ? !h.queue_hit : !h.plain)
            return false;
    }
    return p->sub_deny == NULL || !is_denied(p, pattern, queue);
}

static bool overlaps_list(const struct options_list *l, struct mf_slice pattern,
                          struct mf_slice queue)
{
    struct mf_slice subject, entry_queue;

    for (size_t i = 0; i < l->n; i++) {
        if (entry_parse(l->items[i], true, &subject, &entry_queue, NULL) == 0 &&
            (entry_queue.len == 0 || queue.len > 0) && subject_overlap(subject, pattern))
            return true;
    }
    return false;
}

bool perms_filter_needed_queue(const struct perms *p, struct mf_slice pattern,
                               struct mf_slice queue)
{
    return p != NULL && p->sub_deny != NULL && subject_has_wildcard(pattern) &&
           overlaps_list(&p->made_from.subscribe.deny, pattern, queue);
}

bool perms_can_deliver_queue(const struct perms *p, struct mf_slice subject, struct mf_slice queue)
{
    return p == NULL || p->sub_deny == NULL || !is_denied(p, subject, queue);
}

bool perms_filter_needed(const struct perms *p, struct mf_slice pattern)
{
    return perms_filter_needed_queue(p, pattern, MF_SLICE_NONE);
}

bool perms_can_deliver(const struct perms *p, struct mf_slice subject)
{
    return perms_can_deliver_queue(p, subject, MF_SLICE_NONE);
}

bool perms_tracks_responses(const struct perms *p, int64_t *max, int64_t *expires_ns)
{
    if (p == NULL || !p->made_from.responses_set)
        return false;
    *max = p->made_from.responses_max;
    *expires_ns = p->made_from.responses_expires_ns;
    return true;
}

const struct options_permissions *perms_options(const struct perms *p)
{
    return p == NULL ? NULL : &p->made_from;
}
