/* declare.c: what the consumers of an account receive, for links to other servers.
 *
 * One subscription serves the acks of all consumers, and another one all flow control.  Announced
 * as they are, they would draw the acks of every server to this one; so links announce what each
 * consumer needs: its own acks, if it wants any, and its flow control.  Nothing is kept: the
 * consumers are walked when the first link of the account becomes usable. */
#include "jetstream/jetstream_impl.h"

#include <stdio.h>

struct visit {
    void (*fn)(void *v, struct mf_slice pattern);
    void *v;
};

static void visit_text(const struct visit *to, const char *format, const struct consumer *c)
{
    char text[1024];
    int n = snprintf(text, sizeof text, format, stream_name(consumers_stream(consumer_set_of(c))),
                     consumer_name(c));

    if (n > 0 && (size_t)n < sizeof text)
        to->fn(to->v, mf_slice(text, (size_t)n));
}

static void visit_consumer(const struct visit *to, const struct consumer *c)
{
    const struct consumer_config *cfg = consumer_config(c);

    if (cfg->ack_policy != ACK_NONE && cfg->ack_policy != ACK_FLOW_CONTROL)
        visit_text(to, "$JS.ACK.%s.%s.*.*.*.*.*", c);
    if (cfg->flow_control)
        visit_text(to, "$JS.FC.%s.%s.*", c);
}

/* --- changes ---------------------------------------------------------------------------------- */

struct change {
    struct account *account;
    bool on;
};

static void declare(void *v, struct mf_slice pattern)
{
    const struct change *ch = v;

    account_declare(ch->account, pattern, ch->on);
}

void declare_present(void *js_account, const struct consumer *c, bool on)
{
    struct js_account *ja = js_account;
    struct change ch = {ja->account, on};

    if (account_has_linker(ja->account))
        visit_consumer(&(struct visit){declare, &ch}, c);
}

static void leave(void *arg, struct consumer *c)
{
    declare_present(arg, c, false);
}

void declare_absent(struct js_account *ja, struct consumers *g)
{
    if (account_has_linker(ja->account))
        consumers_each(g, leave, ja);
}

/* --- all that there is ------------------------------------------------------------------------ */

static void each_consumer(void *arg, struct consumer *c)
{
    visit_consumer(arg, c);
}

static void each_stream(void *arg, struct stream *s)
{
    struct consumers *g = js_consumers(s);

    if (g != NULL)
        consumers_each(g, each_consumer, arg);
}

static void each_declared(void *arg, void (*visit)(void *v, struct mf_slice pattern), void *v)
{
    struct js_account *ja = arg;
    struct visit to = {visit, v};

    if (ja->catalog != NULL && !ja->closing)
        catalog_each(ja->catalog, MF_SLICE_NONE, each_stream, &to);
}

static void link_up(void *arg)
{
    struct js_account *ja = arg;

    if (!ja->closing)
        sources_linked(&js_wire(ja)->source_host);
}

void declare_init(struct js_account *ja)
{
    struct account_declarer *d = &js_wire(ja)->declarer;

    *d = (struct account_declarer){.arg = ja, .each = each_declared, .linked = link_up};
    account_set_declarer(ja->account, d);
}

void declare_fini(struct js_account *ja)
{
    account_set_declarer(ja->account, NULL);
}
