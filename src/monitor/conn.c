/* conn.c: one HTTP connection: requests in, answers out, one at a time.
 *
 * Happy path: monitor_conn_accept() > on_bytes() until a head is there > serve_request() >
 * render_page() > [time slices of a long page > page_rendered()] > [pack_start() > pack_work() on
 * a worker > pack_done()] > send_answer() > [send_rest() for a long one] > on_drained() > the next
 * request.  A page that needs a second time slice needs one of MONITOR_PLACES until its answer is
 * sent; an urgent one (/healthz) does not.
 * Failure: a bad request is answered, then the connection is closed; a slow one is closed.  Too
 * many long pages: 503.
 * Close: on_closed() frees the connection; a page under way ends, a worker's result is dropped. */
#include "monitor/monitor_impl.h"

#include "base/clock.h"

#include <stdlib.h>

#define BODY_SKIP_MAX   (64u << 10)  /* of a request; a larger one ends the connection */
#define PACK_ASIDE      (128u << 10) /* larger bodies are compressed by a worker */
#define QUEUE_MAX       (256u << 10) /* answers that may wait while we read on */
#define CLOSE_LINGER_MS 1000
#define HEAD_PATIENCE   (1 * CLOCK_S)  /* with a request's head, when others wait for a place */
#define PIECE           (1u << 20)     /* of a large body; the rest follows when it has left */
#define KNOWN_TAGS      256            /* bytes of If-None-Match that are looked at */
#define LONG_PATIENCE   (60 * CLOCK_S) /* with a reader of a long page: it keeps a place */

enum state {
    READING,   /* a head is arriving, or the first one is awaited */
    IDLE,      /* between requests */
    ANSWERING, /* reading is paused until the answer was packed and has left */
    ENDING,    /* as ANSWERING; then the connection closes */
};

struct conn {
    struct mf_list link; /* in m->idle when IDLE, else in m->busy */
    struct monitor *m;   /* NULL: abandoned */
    struct net_conn *net;
    struct loop_timer *timer;
    struct rendering *rendering; /* while a page is made in slices */
    struct packing *packing;     /* while a worker compresses the answer */
    struct mf_buf rest;          /* of a large body, from rest_at */
    size_t rest_at;
    bool placed; /* counts in m->places */
    enum state state;
    int64_t since_ns; /* READING: from when */
    size_t seen;      /* bytes of the head looked at */
    uint64_t skip;    /* bytes of a request's body to throw away */
};

/* A page that is being made. */
struct rendering {
    struct mf_list link; /* in m->waiting, or in itself */
    struct conn *c;
    struct doc doc;
    struct monitor_reply reply;
    struct answer a;
    bool gzip, head_only;
    char known[KNOWN_TAGS]; /* If-None-Match; empty: none, or more than fit */
    struct monitor_request q;
};

/* A body that a worker compresses; belongs to the job, not to the connection. */
struct packing {
    struct loop_job *job;
    struct conn *c; /* NULL: gone */
    struct answer a;
    struct mf_buf in, out;
    int status;
};

/* --- states ----------------------------------------------------------------------------------- */
static void set_state(struct conn *c, enum state s)
{
    struct monitor *m = c->m;

    c->state = s;
    if (m == NULL)
        return;
    mf_list_del(&c->link);
    mf_list_push(s == IDLE ? &m->idle : &m->busy, &c->link);
    c->since_ns = loop_mono_ns(m->loop);
    if (s == READING)
        loop_timer_arm(c->timer, c->since_ns + m->head_timeout_ns);
    else if (s == IDLE)
        loop_timer_arm(c->timer, loop_mono_ns(m->loop) + m->idle_timeout_ns);
    else if (!c->placed)
        loop_timer_stop(c->timer); /* net's write deadline watches now */
}

static void wait_until_left(struct conn *c, enum state s)
{
    set_state(c, s);
    if (c->rendering != NULL)
        return; /* reading continues: a closed connection needs no page */
    net_pause(c->net);
    if (c->packing == NULL)
        net_want_drained(c->net, 0);
}

/* --- places of long pages --------------------------------------------------------------------- */
static void place_free(struct conn *c)
{
    if (!c->placed)
        return;
    c->placed = false;
    if (c->m == NULL)
        return;
    c->m->places--;
    monitor_next_page(c->m);
}

/* --- answering -------------------------------------------------------------------------------- */
static void send_head(struct conn *c, const struct answer *a, size_t length)
{
    struct mf_buf head = MF_BUF_INIT;

    monitor_answer_head(&head, a, length, loop_wall_ns(c->m->loop));
    /* A failed write closes the connection: nothing to add here. */
    if (!mf_buf_failed(&head))
        (void)net_write(c->net, head.ptr, head.len);
    mf_buf_fini(&head);
}

/* Copying a large body at once would hold up others, and keep it twice. */
static void send_rest(struct conn *c)
{
    size_t left = c->rest.len - c->rest_at, n = left < PIECE ? left : PIECE;

    if (n > 0)
        (void)net_write(c->net, c->rest.ptr + c->rest_at, n);
    c->rest_at += n;
    if (c->rest_at < c->rest.len)
        return;
    mf_buf_fini(&c->rest);
    c->rest_at = 0;
}

/* Takes the body over. */
static void send_answer(struct conn *c, const struct answer *a, struct mf_buf *body, bool head_only)
{
    send_head(c, a, body->len);
    if (head_only || body->len == 0)
        return;
    c->rest = *body;
    *body = MF_BUF_INIT;
    send_rest(c);
}

static void answer_text(struct conn *c, struct answer *a, int status, const char *text,
                        bool head_only)
{
    a->status = status;
    a->content_type = "text/plain; charset=utf-8";
    a->nosniff = true;
    send_head(c, a, strlen(text));
    if (!head_only)
        (void)net_write(c->net, text, strlen(text));
}

static void pack_work(void *arg) /* on a worker: sees only its own buffers */
{
    struct packing *p = arg;

    p->status = monitor_gzip(&p->out, mf_buf_slice(&p->in));
}

static void pack_free(struct packing *p)
{
    loop_job_free(p->job);
    mf_buf_fini(&p->in);
    mf_buf_fini(&p->out);
    free(p);
}

static void pack_done(void *arg) /* back on the loop */
{
    struct packing *p = arg;
    struct conn *c = p->c;

    if (c != NULL) {
        c->packing = NULL;
        p->a.gzip = p->status == 0;
        if (c->m != NULL) {
            send_answer(c, &p->a, p->a.gzip ? &p->out : &p->in, false);
            net_want_drained(c->net, 0);
        }
    }
    pack_free(p);
}

/* Takes the body over; false: out of memory, nothing taken. */
static bool pack_start(struct conn *c, const struct answer *a, struct mf_buf *body)
{
    struct packing *p = calloc(1, sizeof *p);

    if (p == NULL)
        return false;
    p->job = loop_job_new(c->m->loop, LOOP_OUTSIDE, pack_work, pack_done, p);
    if (p->job == NULL) {
        free(p);
        return false;
    }
    p->c = c;
    p->a = *a;
    p->in = *body;
    *body = MF_BUF_INIT;
    c->packing = p;
    loop_job_submit(p->job);
    return true;
}

/* Sends the rendered body, compressed if the client takes that. */
static void answer_body(struct conn *c, struct answer *a, struct mf_buf *body, bool gzip,
                        bool head_only)
{
    struct mf_buf packed = MF_BUF_INIT;

    a->varies = monitor_gzip_wanted(a->content_type, body->len);
    gzip = gzip && a->varies && !head_only;
    if (gzip && body->len > PACK_ASIDE && pack_start(c, a, body))
        return;
    a->gzip = gzip && body->len <= PACK_ASIDE && monitor_gzip(&packed, mf_buf_slice(body)) == 0;
    send_answer(c, a, a->gzip ? &packed : body, head_only);
    mf_buf_fini(&packed);
}

/* --- one request ------------------------------------------------------------------------------ */
static bool is_json(const char *content_type)
{
    return mf_starts(mf_str(content_type), "application/json");
}

/* name(body): the name was checked. */
static void wrap_jsonp(struct mf_buf *body, const char *name)
{
    struct mf_buf out = MF_BUF_INIT;

    mf_buf_printf(&out, "%s(", name);
    mf_buf_append(&out, body->ptr, body->len);
    mf_buf_byte(&out, ')');
    mf_buf_fini(body);
    *body = out;
}

static void rendering_free(struct rendering *r)
{
    if (!mf_list_empty(&r->link) && r->c->m != NULL)
        r->c->m->nwaiting--;
    mf_list_del(&r->link);
    doc_fini(&r->doc);
    free(r);
}

/* The client has the file already. */
static bool is_known(const struct rendering *r)
{
    return r->reply.etag != NULL && r->reply.status == 200 &&
           monitor_etag_known(mf_str(r->known), r->reply.etag);
}

/* The document is whole, or there will be none. */
static void answer_page(struct conn *c, struct rendering *r)
{
    struct mf_buf *body = &r->doc.body;
    struct answer *a = &r->a;
    const char *callback = monitor_param(&r->q, "callback");

    a->status = r->reply.status;
    a->content_type = r->reply.content_type;
    a->etag = r->reply.etag;
    a->headers = r->reply.headers;
    a->open_to_all = is_json(r->reply.content_type);
    if (callback == NULL || callback[0] == '\0' || !a->open_to_all)
        callback = NULL;
    if (callback != NULL && monitor_callback_valid(callback)) {
        wrap_jsonp(body, callback);
        a->content_type = "application/javascript";
        a->nosniff = true;
        callback = NULL;
    }
    if (r->doc.rc != 0)
        answer_text(c, a, 500, r->doc.e.text, r->head_only);
    else if (mf_buf_failed(body))
        answer_text(c, a, 500, "Internal Server Error\n", r->head_only);
    else if (callback != NULL)
        answer_text(c, a, 400, "Invalid callback name\n", r->head_only);
    else if (is_known(r)) {
        a->status = 304;
        send_head(c, a, 0);
    } else
        answer_body(c, a, body, r->gzip, r->head_only);
    rendering_free(r);
}

static void page_rendered(struct doc *d)
{
    struct rendering *r = mf_container(d, struct rendering, doc);
    struct conn *c = r->c;

    c->rendering = NULL;
    answer_page(c, r);
    wait_until_left(c, c->state);
}

void monitor_next_page(struct monitor *m)
{
    struct mf_list *link;

    while (m->places < MONITOR_PLACES && (link = mf_list_pop(&m->waiting)) != NULL) {
        struct rendering *r = mf_container(link, struct rendering, link);
        mf_list_init(&r->link);
        m->nwaiting--;
        m->places++;
        r->c->placed = true;
        loop_timer_arm(r->c->timer, loop_mono_ns(m->loop) + LONG_PATIENCE);
        doc_start(&r->doc, &m->work, page_rendered);
    }
}

/* The page takes longer than one time slice. */
static void render_later(struct conn *c, struct rendering *r)
{
    struct monitor *m = c->m;

    if (r->reply.urgent) {
        c->rendering = r;
        doc_start(&r->doc, &m->work, page_rendered);
        return;
    }
    if (m->nwaiting >= MONITOR_WAITING) {
        answer_text(c, &r->a, 503, "Too many pages are being made. Try again later.\n",
                    r->head_only);
        rendering_free(r);
        return;
    }
    c->rendering = r;
    mf_list_push(&m->waiting, &r->link);
    m->nwaiting++;
    monitor_next_page(m);
}

static void render_page(struct conn *c, struct page *page, struct rendering *r)
{
    page->hits++;
    mf_list_init(&r->link);
    r->c = c;
    doc_init(&r->doc, c->m->loop, JSONW_PRETTY);
    r->reply = (struct monitor_reply){
        .status = 200, .content_type = "application/json", .body = &r->doc.body, .doc = &r->doc};
    page->render(page->arg, &r->q, &r->reply);
    if (doc_begin(&r->doc))
        render_later(c, r);
    else
        answer_page(c, r);
}

static void note_known(struct rendering *x, const struct http_request *r)
{
    struct mf_slice tags;

    x->known[0] = '\0';
    if (!http_get(r, "If-None-Match", &tags) || tags.len >= sizeof x->known)
        return;
    memcpy(x->known, tags.ptr, tags.len);
    x->known[tags.len] = '\0';
}

/* Answers, or leaves it to page_rendered() or pack_done(). */
static void serve_request(struct conn *c, const struct http_request *r)
{
    bool head_only = mf_eq_str(r->method, "HEAD");
    struct answer a = {
        .keep_alive = http_keep_alive(r) && !r->chunked && r->body <= BODY_SKIP_MAX,
        .http10 = r->minor == 0,
    };
    struct rendering *x;
    struct page *page = NULL;

    c->skip = r->body;
    c->state = a.keep_alive ? ANSWERING : ENDING;
    if (!head_only && !mf_eq_str(r->method, "GET")) {
        a.allow = "GET, HEAD";
        answer_text(c, &a, 405, "Method Not Allowed\n", false);
        return;
    }
    x = malloc(sizeof *x); /* strings of q point into it: it stays where it is */
    if (x == NULL) {
        answer_text(c, &a, 500, "Internal Server Error\n", head_only);
        return;
    }
    if (monitor_request_init(&x->q, r, c->m->base_path) == 0)
        page = monitor_find(c->m, x->q.path);
    if (page == NULL) {
        answer_text(c, &a, 404, "404 page not found\n", head_only);
        free(x);
        return;
    }
    x->a = a;
    x->gzip = http_accepts(r, "gzip");
    note_known(x, r);
    x->head_only = head_only;
    render_page(c, page, x);
}

static void refuse_head(struct conn *c, const char *fault)
{
    struct mf_buf out = MF_BUF_INIT;

    mf_buf_printf(&out,
                  "HTTP/1.1 %s\r\nContent-Type: text/plain; charset=utf-8\r\n"
                  "Connection: close\r\n\r\n%s",
                  fault, fault);
    if (!mf_buf_failed(&out))
        (void)net_write(c->net, out.ptr, out.len);
    mf_buf_fini(&out);
    wait_until_left(c, ENDING);
}

/* --- events ----------------------------------------------------------------------------------- */
static size_t skip_body(struct conn *c, size_t n)
{
    size_t piece = c->skip < n ? (size_t)c->skip : n;

    c->skip -= piece;
    return piece;
}

/* At most one request in a turn: a page may be costly, and others wait. */
static size_t on_bytes(void *arg, const uint8_t *p, size_t n)
{
    struct conn *c = arg;
    struct http_request r;
    const char *fault;
    size_t used;
    ssize_t head;

    if (c->rendering != NULL) {
        if (n >= MONITOR_HEAD_MAX)
            net_pause(c->net);
        return 0; /* they are shown again when this answer has left */
    }
    if (c->m == NULL || c->state == ENDING)
        return n;
    used = skip_body(c, n);
    if (used == n)
        return n;
    head = http_parse(p + used, n - used, c->seen, MONITOR_HEAD_MAX, &r, &fault);
    if (head == 0) {
        if (c->state != READING)
            set_state(c, READING);
        c->seen = n - used;
        return used;
    }
    c->seen = 0;
    if (head < 0) {
        refuse_head(c, fault);
        return n;
    }
    serve_request(c, &r);
    used += (size_t)head;
    if (c->state == ANSWERING && c->packing == NULL && c->rendering == NULL && c->rest.len == 0 &&
        used == n && net_queued(c->net) <= QUEUE_MAX)
        set_state(c, IDLE); /* the usual case: nothing else was sent meanwhile */
    else
        wait_until_left(c, c->state);
    return used;
}

static void on_drained(void *arg)
{
    struct conn *c = arg;

    if (c->m != NULL && c->rest.len > 0) {
        send_rest(c);
        net_want_drained(c->net, 0);
        return;
    }
    place_free(c);
    if (c->m == NULL || c->state == ENDING) {
        net_close(c->net, CLOSE_LINGER_MS);
        return;
    }
    set_state(c, IDLE);
    net_resume(c->net);
}

static void on_secured(void *arg)
{
    (void)arg; /* the client speaks first */
}

static void on_timeout(void *arg)
{
    struct conn *c = arg;

    net_close(c->net, 0);
}

static void on_closed(void *arg, enum net_why why, const char *text)
{
    struct conn *c = arg;

    (void)why;
    (void)text;
    if (c->m != NULL)
        c->m->nconns--;
    if (c->packing != NULL)
        c->packing->c = NULL;
    if (c->rendering != NULL)
        rendering_free(c->rendering);
    mf_buf_fini(&c->rest);
    place_free(c);
    mf_list_del(&c->link);
    loop_timer_free(c->timer);
    free(c);
}

static const struct net_handler handler = {
    .bytes = on_bytes,
    .drained = on_drained,
    .secured = on_secured,
    .closed = on_closed,
};

/* --- life ------------------------------------------------------------------------------------- */
void monitor_conn_accept(struct monitor *m, struct net_conn *net)
{
    struct conn *c = calloc(1, sizeof *c);

    if (c != NULL)
        c->timer = loop_timer_new(m->loop, on_timeout, c);
    if (c == NULL || c->timer == NULL) {
        free(c);
        net_close(net, 0);
        return;
    }
    c->m = m;
    c->net = net;
    m->nconns++;
    mf_list_init(&c->link);
    set_state(c, READING);
    net_conn_start(net, &handler, c);
    net_set_write_deadline(net, m->write_timeout_ns);
    if (m->tls != NULL && net_conn_secure(net, m->tls, NULL) != 0)
        net_close(net, 0);
}

void monitor_conn_abandon(struct mf_list *link)
{
    struct conn *c = mf_container(link, struct conn, link);

    mf_list_del(&c->link);
    if (c->rendering != NULL)
        rendering_free(c->rendering);
    c->rendering = NULL;
    c->m = NULL;
    loop_timer_stop(c->timer);
    net_close(c->net, net_queued(c->net) > 0 ? CLOSE_LINGER_MS : 0);
}

static void send_away(struct conn *c)
{
    set_state(c, ENDING);
    net_close(c->net, 0);
}

bool monitor_conn_evict(struct monitor *m)
{
    int64_t now = loop_mono_ns(m->loop);
    struct mf_list *pos;

    mf_list_each(pos, &m->idle)
    {
        struct conn *c = mf_container(pos, struct conn, link);
        if (net_queued(c->net) > 0)
            continue; /* its answer is still on the way */
        send_away(c);
        return true;
    }
    mf_list_each(pos, &m->busy) /* who dawdles must not keep a health check out */
    {
        struct conn *c = mf_container(pos, struct conn, link);
        if (c->state != READING || now - c->since_ns < HEAD_PATIENCE)
            continue;
        send_away(c);
        return true;
    }
    return false;
}
