/* top.c: mayfly top: asks for the pages again and again, and shows what changed.
 *
 * On a terminal a server that does not answer is asked again until it does: the screen keeps the
 * last figures and says since when they are old.  Without a terminal the command ends instead. */
#include "cli/ops/top.h"

#include "base/clock.h"

#include "cli/human.h"
#include "cli/ops/top_impl.h"
#include "cli/request.h"

#define INTERVAL_LEAST (100 * CLOCK_MS)
#define INTERVAL_MOST  (3600 * CLOCK_S)

const struct cli_flag top_flags[] = {
    {"interval", 'i', CLI_DURATION, "TIME", "time between two looks, from 100ms on (1s)"},
    {"count", 0, CLI_NUMBER, "N", "end after N looks (on a terminal: no end, otherwise 1)"},
    {0},
};

struct top {
    struct cli *c;
    struct pages pages;
    json_t *doc; /* the last round */
    int64_t taken_ns, interval_ns;
    int64_t rounds;    /* to show until the end, -1: no end */
    int64_t silent_ns; /* since when the server does not answer, 0: it does */
    struct mf_error why;
    bool live;
};

static int load_round(struct top *t)
{
    int64_t now = clock_mono_ns();
    json_t *doc;
    int rc =
        top_load(&t->pages, t->doc, (double)(now - t->taken_ns) / (double)CLOCK_S, &doc, &t->why);

    if (rc != 0) {
        t->silent_ns = t->silent_ns == 0 ? clock_wall_ns() : t->silent_ns;
        return rc;
    }
    json_decref(t->doc);
    t->doc = doc;
    t->taken_ns = now;
    t->silent_ns = 0;
    return 0;
}

static void show_round(struct top *t)
{
    struct term *term = &t->c->term;
    struct mf_buf out = MF_BUF_INIT;
    char clock[HUMAN_TEXT];
    int rows;

    top_sort(t->doc);
    if (t->c->json) {
        (void)json_dumpf(t->doc, term->out, JSON_COMPACT | JSON_REAL_PRECISION(9));
        (void)fputc('\n', term->out);
        (void)fflush(term->out);
        return;
    }
    term_resize(term);
    if (t->silent_ns != 0)
        mf_buf_printf(&out, "%sno answer since %s: %s%s\n", term_on(term, TERM_RED),
                      human_clock(clock, t->silent_ns), t->why.text, term_off(term));
    rows = !t->live ? 0 : term->height - 1 - (t->silent_ns != 0);
    top_draw(term, t->doc, rows, &out);
    term_live_frame(term, mf_buf_slice(&out));
    mf_buf_fini(&out);
}

/* A rate needs two looks: without a terminal nothing is shown before the second. */
static int run_rounds(struct top *t)
{
    int rc = 0;

    if (t->live)
        show_round(t);
    while (rc == 0 && t->rounds != 0 && ferror(t->c->term.out) == 0 &&
           term_live_wait(&t->c->term, (int)(t->interval_ns / CLOCK_MS))) {
        rc = load_round(t);
        if (cli_interrupted())
            return 0;
        if (rc == 0 || t->live)
            show_round(t);
        t->rounds -= t->rounds > 0;
        rc = t->live ? 0 : rc;
    }
    return rc;
}

int top_run(struct cli *c)
{
    struct top t = {.c = c, .live = c->term.tty && !c->json};
    int rc;

    t.interval_ns = cli_duration(c, "interval", CLOCK_S);
    t.rounds = cli_number(c, "count", t.live ? -1 : 1);
    if (t.interval_ns < INTERVAL_LEAST || t.interval_ns > INTERVAL_MOST)
        return cli_usage(c, "--interval is a time from 100ms to 1h");
    if (t.rounds == 0)
        return cli_usage(c, "--count is a number from 1 on");
    rc = pages_open(c, &t.pages, cli_arg(c, 0));
    if (rc != 0)
        return rc;
    rc = load_round(&t);
    if (rc == 0) {
        if (t.live)
            term_live_begin(&c->term);
        rc = run_rounds(&t);
        if (t.live)
            term_live_end(&c->term);
    }
    json_decref(t.doc);
    if (rc == 0 || cli_interrupted())
        return CLI_OK;
    return pages_fail(c, &t.pages, &t.why);
}
