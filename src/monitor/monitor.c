/* monitor.c: the listener and the table of pages. */
#include "monitor/monitor_impl.h"

#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>

#define DEFAULT_CONNS  256
#define BUSY_LINGER_MS 1000

/* --- too many connections --------------------------------------------------------------------- */
static size_t ignore_bytes(void *arg, const uint8_t *p, size_t n)
{
    (void)arg;
    (void)p;
    return n;
}

static void ignore_secured(void *arg)
{
    (void)arg;
}

static void ignore_closed(void *arg, enum net_why why, const char *text)
{
    (void)arg;
    (void)why;
    (void)text;
}

static const struct net_handler ignore = {
    .bytes = ignore_bytes,
    .secured = ignore_secured,
    .closed = ignore_closed,
};

static void turn_away(struct monitor *m, struct net_conn *net)
{
    static const char text[] = "Service Unavailable\n";
    struct answer a = {
        .status = 503,
        .content_type = "text/plain; charset=utf-8",
        .nosniff = true,
    };
    struct mf_buf out = MF_BUF_INIT;

    net_conn_start(net, &ignore, NULL);
    if (m->tls != NULL) {
        net_close(net, 0); /* a handshake only to say no would cost more than it helps */
        return;
    }
    monitor_answer_head(&out, &a, sizeof text - 1, loop_wall_ns(m->loop));
    mf_buf_puts(&out, text);
    if (!mf_buf_failed(&out))
        (void)net_write(net, out.ptr, out.len);
    mf_buf_fini(&out);
    net_close(net, BUSY_LINGER_MS);
}

static void on_accepted(void *arg, struct net_conn *net)
{
    struct monitor *m = arg;

    if (m->nconns >= m->max_conns && !monitor_conn_evict(m))
        turn_away(m, net);
    else
        monitor_conn_accept(m, net);
}

/* --- life ------------------------------------------------------------------------------------- */
static int64_t or_default(int64_t ns, int64_t fallback)
{
    return ns > 0 ? ns : fallback;
}

int monitor_open(struct monitor **out, struct loop *l, const struct monitor_options *o,
                 struct mf_error *e)
{
    struct monitor *m = calloc(1, sizeof *m);
    int rc = MF_NOMEM;

    if (m == NULL)
        return mf_fail(e, MF_NOMEM, "monitoring");
    m->loop = l;
    mf_list_init(&m->busy);
    mf_list_init(&m->idle);
    mf_list_init(&m->waiting);
    m->max_conns = o->max_conns > 0 ? o->max_conns : DEFAULT_CONNS;
    m->head_timeout_ns = or_default(o->head_timeout_ns, 5 * CLOCK_S);
    m->idle_timeout_ns = or_default(o->idle_timeout_ns, 120 * CLOCK_S);
    m->write_timeout_ns = or_default(o->write_timeout_ns, 30 * CLOCK_S);
    m->base_path = mf_slice_dup(mf_str(o->base_path));
    if (m->base_path == NULL) {
        mf_fail(e, MF_NOMEM, "monitoring");
        goto err_free;
    }
    if ((rc = net_listen(&m->listener, l, o->host, o->port, on_accepted, m, e)) != 0) {
        mf_wrap(e, "can't listen to the monitor port");
        goto err_path;
    }
    m->tls = o->tls == NULL ? NULL : net_tls_retain(o->tls);
    *out = m;
    return 0;
err_path:
    free(m->base_path);
err_free:
    free(m);
    return rc;
}

void monitor_close(struct monitor *m)
{
    struct mf_list *link;

    if (m == NULL)
        return;
    net_listener_close(m->listener);
    while ((link = mf_list_first(&m->busy)) != NULL || (link = mf_list_first(&m->idle)) != NULL)
        monitor_conn_abandon(link);
    for (size_t i = 0; i < m->npages; i++)
        free(m->pages[i].path);
    free(m->pages);
    free(m->base_path);
    net_tls_release(m->tls);
    free(m);
}

int monitor_port(const struct monitor *m)
{
    return net_listener_port(m->listener);
}

const char *monitor_host(const struct monitor *m)
{
    return net_listener_host(m->listener);
}

void monitor_set_tls(struct monitor *m, struct net_tls *tls)
{
    struct net_tls *former = m->tls;

    m->tls = tls == NULL ? NULL : net_tls_retain(tls);
    net_tls_release(former);
}

/* --- pages ------------------------------------------------------------------------------------ */
struct page *monitor_find(struct monitor *m, const char *path)
{
    for (size_t i = 0; i < m->npages; i++)
        if (strcmp(m->pages[i].path, path) == 0)
            return &m->pages[i];
    return NULL;
}

int monitor_add(struct monitor *m, const char *path, monitor_page page, void *arg)
{
    struct page *pages;
    char *copy;

    assert(path[0] == '/');
    if (monitor_find(m, path) != NULL)
        return MF_EXISTS;
    copy = mf_slice_dup(mf_str(path));
    if (copy == NULL)
        return MF_NOMEM;
    pages = realloc(m->pages, (m->npages + 1) * sizeof *pages);
    if (pages == NULL) {
        free(copy);
        return MF_NOMEM;
    }
    m->pages = pages;
    m->pages[m->npages++] = (struct page){.path = copy, .render = page, .arg = arg};
    return 0;
}

uint64_t monitor_hits(const struct monitor *m, const char *path)
{
    for (size_t i = 0; i < m->npages; i++)
        if (strcmp(m->pages[i].path, path) == 0)
            return m->pages[i].hits;
    return 0;
}
