/* sys_page.c: pages requested by messages, in slices where they are long.
 *
 * Happy path: sys_page_answer() > first_step() > the steps of the page > the answer is published.
 * All of it is one call if the page is complete after its first slice and its account has no other
 * page waiting.  Otherwise the page waits in its account's list; accounts take turns, PLACES pages
 * are made at a time, one for each account, so the answers to an account keep the order of its
 * requests. Failure: the usual answer with "error"; without memory no answer.  More than WAITING:
 * code 503. Drop: a page whose reply subject has no subscriber ends; the pages of an account end
 * with the account. */
#include "status/sys_impl.h"

#include <stdlib.h>

#define PLACES  4
#define WAITING 256 /* pages of one account */

struct sys_page {
    struct mf_list link; /* sys_account.pages, or in itself */
    struct sys_account *x;
    const struct sys_endpoint *endpoint;
    struct sys_request q;
    struct mf_msg msg;
    struct doc doc;
    bool placed;    /* counts in sys.places */
    uint8_t text[]; /* subject, reply and payload of the request */
};

/* --- life ------------------------------------------------------------------------------------- */

static struct mf_slice copy_slice(uint8_t **to, struct mf_slice from)
{
    struct mf_slice kept = mf_slice(*to, from.len);

    if (from.len > 0)
        memcpy(*to, from.ptr, from.len);
    *to += from.len;
    return kept;
}

/* Whether the reply subject has a subscriber; true without memory to search. */
static bool has_reader(const struct doc *d)
{
    const struct sys_page *p = mf_container(d, struct sys_page, doc);
    struct router *r = account_router(p->q.account);

    return router_has_interest(r, p->msg.reply) || router_search_failed(r);
}

static struct sys_page *page_new(struct sys_request *q, const struct sys_endpoint *endpoint)
{
    const struct mf_msg *m = q->msg;
    struct sys_page *p = malloc(sizeof *p + m->subject.len + m->reply.len + m->payload.len);
    uint8_t *to;

    if (p == NULL)
        return NULL;
    to = p->text;
    *p = (struct sys_page){.endpoint = endpoint, .q = *q};
    p->msg.subject = copy_slice(&to, m->subject);
    p->msg.reply = copy_slice(&to, m->reply);
    p->msg.payload = copy_slice(&to, m->payload);
    p->q.msg = &p->msg;
    p->q.doc = &p->doc;
    q->options = NULL;
    mf_list_init(&p->link);
    doc_init(&p->doc, q->status->loop, JSONW_COMPACT);
    p->doc.wanted = has_reader;
    return p;
}

/* Removes it from its list without freeing it. */
static void page_leave(struct sys_page *p)
{
    if (p->placed)
        p->q.sys->places--;
    p->placed = false;
    if (!mf_list_empty(&p->link))
        p->x->npages--;
    mf_list_del(&p->link);
}

static void page_free(struct sys_page *p)
{
    doc_fini(&p->doc);
    json_decref(p->q.options);
    free(p);
}

/* --- rendering -------------------------------------------------------------------------------- */

/* Calls the endpoint, which writes all of the page or adds steps. */
static bool first_step(struct doc *d, void *state)
{
    struct sys_page *p = state;
    struct mf_error e = {0, ""};
    int rc;

    sys_answer_begin(&p->q, &d->w);
    rc = p->endpoint->page(&p->q, &d->w, &e);
    if (rc != 0) {
        p->q.sys->seq--; /* the server part that was begun is not sent */
        doc_fail(d, rc, "%s", e.text);
    }
    return false;
}

static void page_answer(struct sys_page *p)
{
    struct doc *d = &p->doc;

    if (d->rc == 0) {
        jsonw_end(&d->w);
        sys_publish(p->q.sys, p->q.account, p->msg.reply, MF_SLICE_NONE, &d->body);
    } else if (d->rc != MF_AGAIN && d->rc != MF_CLOSED) {
        sys_answer_failed(&p->q, d->rc == MF_PROTO ? 400 : 500, d->e.text, d->rc != MF_PROTO);
    }
}

static void next_pages(struct sys *y);

/* The account waits for another turn if it has more pages. */
static void page_done(struct doc *d)
{
    struct sys_page *p = mf_container(d, struct sys_page, doc);
    struct sys *y = p->q.sys;
    struct sys_account *x = p->x;

    page_leave(p);
    if (x->npages > 0 && mf_list_empty(&x->pages_link))
        mf_list_push(&y->asking, &x->pages_link);
    next_pages(y); /* before the answer: the publish may free x */
    page_answer(p);
    page_free(p);
}

static void next_pages(struct sys *y)
{
    struct mf_list *link;

    while (y->places < PLACES && (link = mf_list_pop(&y->asking)) != NULL) {
        struct sys_account *x = mf_container(link, struct sys_account, pages_link);
        struct sys_page *p = mf_container(mf_list_first(&x->pages), struct sys_page, link);
        p->placed = true;
        y->places++;
        doc_start(&p->doc, &x->work, page_done);
    }
}

/* --- in and out ------------------------------------------------------------------------------- */

static void page_wait(struct sys_account *x, struct sys_page *p)
{
    struct sys *y = p->q.sys;

    mf_list_push(&x->pages, &p->link);
    p->q.from = NULL; /* the client may close before */
    if (x->npages++ == 0)
        mf_list_push(&y->asking, &x->pages_link);
    next_pages(y);
}

void sys_page_answer(struct sys_request *q, const struct sys_endpoint *endpoint)
{
    static const doc_step steps[] = {first_step, NULL};
    struct sys_account *x = sys_account_find(q->sys, q->account);
    bool asked = q->msg->reply.len > 0 && x != NULL;
    struct sys_page *p = NULL;

    if (asked && x->npages >= WAITING && !endpoint->at_once)
        sys_answer_failed(q, 503, "too many requests for pages wait", false);
    else if (asked)
        p = page_new(q, endpoint);
    if (p == NULL) {
        json_decref(q->options);
        return;
    }
    p->x = x;
    doc_add(&p->doc, steps, p, NULL);
    if ((x->npages > 0 && !endpoint->at_once) || doc_begin(&p->doc)) {
        page_wait(x, p);
        return;
    }
    page_answer(p);
    page_free(p);
}

void sys_page_drop(struct sys *y, struct sys_account *x)
{
    struct mf_list *link;

    mf_list_del(&x->pages_link);
    while ((link = mf_list_first(&x->pages)) != NULL) {
        struct sys_page *p = mf_container(link, struct sys_page, link);
        page_leave(p);
        page_free(p);
    }
    next_pages(y);
}
