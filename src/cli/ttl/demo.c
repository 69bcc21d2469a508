/* demo.c: mayfly demo: a bucket whose keys die in front of the user's eyes.
 *
 * Each step is one sentence and the command with which a user would do the same.  The demo does it
 * through the same requests, in a bucket of its own, which it removes at its end: after Ctrl-C too.
 */
#include "cli/ttl/demo_impl.h"

#include "base/clock.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { ALICE, BOB, CAROL, DAVE };

struct pace {
    int ttl_s, long_s, warn_s, read_ms; /* read_ms: time to read a step */
};
static const struct pace slow = {.ttl_s = 12, .long_s = 16, .warn_s = 5, .read_ms = 2000};
static const struct pace fast = {.ttl_s = 4, .long_s = 5, .warn_s = 2, .read_ms = 0};

/* --- waiting ---------------------------------------------------------------------------------- */

/* Shows news until `done` or for `ms` at most.  done may be NULL. */
static int follow(struct demo *d, int ms, bool (*done)(const struct demo *))
{
    int64_t end = clock_mono_ns() + ms * CLOCK_MS;
    struct demo_news n;
    int rc = 0;

    while (rc == 0 && !cli_interrupted() && (done == NULL || !done(d))) {
        int64_t left = (end - clock_mono_ns()) / CLOCK_MS;

        if (left <= 0)
            break;
        demo_show_lives(d);
        rc = demo_next(d, left < 100 ? (int)left : 100, &n);
        if (n.kind != DEMO_NOTHING)
            demo_hide_lives(d);
        demo_show_news(d, &n);
    }
    demo_hide_lives(d);
    return rc;
}

static bool both_warned(const struct demo *d)
{
    return d->keys[ALICE].warned && d->keys[BOB].warned;
}

static bool others_ended(const struct demo *d)
{
    return d->keys[BOB].ended && d->keys[CAROL].ended;
}

static bool all_ended(const struct demo *d)
{
    return others_ended(d) && d->keys[ALICE].ended;
}

/* --- the steps -------------------------------------------------------------------------------- */

static int step_put(struct demo *d)
{
    char command[200];
    int rc = 0;

    (void)snprintf(command, sizeof command, "mayfly kv put %s session.alice hello --ttl %ds",
                   d->bucket, d->keys[ALICE].ttl_s);
    demo_say(d, command,
             "Four keys. Two live for %d seconds, one for %d, and the last one says nothing%s.",
             d->keys[ALICE].ttl_s, d->keys[CAROL].ttl_s,
             d->mayfly ? ": the bucket's policy gives it 10 minutes" : " and stays for ever");
    for (size_t i = 0; rc == 0 && i < d->nkeys; i++)
        rc = demo_put(d, &d->keys[i]);
    return rc == 0 ? follow(d, 100, NULL) : rc;
}

static int step_list(struct demo *d)
{
    static const char *const heads[] = {"    KEY", "LEFT", "EXPIRES"};
    size_t prefix = strlen(d->key_prefix), i;
    json_t *doc = demo_ask(d, "LIST", "{}"), *item;
    struct table t;
    char command[100], text[HUMAN_TEXT];

    if (doc == NULL)
        return CLI_USAGE;
    (void)snprintf(command, sizeof command, "mayfly ttl ls %s", d->bucket);
    demo_say(d, command, "The server lists them by deadline, the next one first.");
    if (d->c->json) {
        demo_print_json(d, doc);
        return 0;
    }
    table_init(&t, &d->c->term, "lrl", heads);
    json_array_foreach(json_object_get(doc, "items"), i, item)
    {
        const char *subject = request_text(item, "subject");

        table_cell(&t, "    %s", strlen(subject) > prefix ? subject + prefix : subject);
        table_cell(&t, "%s", human_duration(text, request_int(item, "left_ms") * CLOCK_MS));
        table_cell(&t, "%s", human_time(text, request_time(item, "expires")));
    }
    table_print(&t);
    json_decref(doc);
    return 0;
}

static int step_warn(struct demo *d)
{
    char command[100];

    (void)snprintf(command, sizeof command, "mayfly ttl watch %s --warnings", d->bucket);
    demo_say(d, command, "Nobody polls: the server sends an event %d to %d s before an end.",
             d->warn_s, d->warn_s + 1);
    return follow(d, (d->keys[ALICE].ttl_s + 2) * 1000, both_warned);
}

static int step_touch(struct demo *d)
{
    char command[100];
    int rc;

    (void)snprintf(command, sizeof command, "mayfly ttl touch %s session.alice", d->bucket);
    demo_say(d, command,
             "Alice is still there: a touch gives her %d seconds from now, without a write.",
             d->keys[ALICE].ttl_s);
    rc = demo_touch(d, &d->keys[ALICE]);
    if (rc == CLI_NOT_FOUND) { /* this machine stood still for seconds */
        demo_say(d, "", "Too late: session.alice has expired before the touch.");
        return 0;
    }
    if (rc == 0 && !d->c->json) {
        char time[HUMAN_TEXT];

        (void)fprintf(d->c->term.out, "    session.alice now expires %s\n",
                      human_time(time, d->keys[ALICE].expires_ns));
    }
    return rc;
}

static int step_ends(struct demo *d)
{
    char command[100];

    (void)snprintf(command, sizeof command, "mayfly kv watch %s", d->bucket);
    demo_say(d, command,
             "Watchers see the end of a key as a delete marker, in order and exactly once.");
    return follow(d, (d->keys[CAROL].ttl_s + 5) * 1000, d->mayfly ? others_ended : all_ended);
}

static int step_forecast(struct demo *d)
{
    json_t *doc = demo_ask(d, "FORECAST", "{\"within\":\"15m\",\"buckets\":3}"), *b;
    int64_t from = request_time(doc, "from");
    char command[100], text[HUMAN_TEXT];
    size_t i;

    if (doc == NULL)
        return CLI_USAGE;
    (void)snprintf(command, sizeof command, "mayfly ttl forecast %s --within 15m --buckets 3",
                   d->bucket);
    demo_say(d, command,
             "The server knows what ends when: keys, and markers, which last a minute.");
    if (d->c->json) {
        demo_print_json(d, doc);
        return 0;
    }
    json_array_foreach(json_object_get(doc, "buckets"), i, b)
    {
        struct mf_buf bar = MF_BUF_INIT;

        term_bar(&d->c->term, &bar, (double)request_int(b, "msgs") / 4, 20);
        (void)fprintf(d->c->term.out, "    within %-5s %s %" PRId64 "\n",
                      human_duration(text, request_time(b, "to") - from),
                      d->c->term.tty ? mf_buf_cstr(&bar) : "", request_int(b, "msgs"));
        mf_buf_fini(&bar);
    }
    json_decref(doc);
    return 0;
}

static int step_last(struct demo *d)
{
    demo_say(d, "",
             d->keys[ALICE].ended
                 ? "Alice was touched, so she outlived Bob."
                 : "Alice was touched, so she outlives the others. Here is her end:");
    return follow(d, (d->keys[ALICE].ttl_s + 5) * 1000, all_ended);
}

/* --- the whole -------------------------------------------------------------------------------- */

static int run_steps(struct demo *d, const struct pace *p)
{
    int (*const steps[])(struct demo *) = {step_put,  step_list,     step_warn, step_touch,
                                           step_ends, step_forecast, step_last};
    int (*const few[])(struct demo *) = {step_put, step_ends};
    int (*const *todo)(struct demo *) = d->mayfly ? steps : few;
    size_t n = d->mayfly ? MF_COUNT(steps) : MF_COUNT(few);
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < n && !cli_interrupted(); i++) {
        rc = todo[i](d);
        if (rc == 0)
            rc = follow(d, i < 2 ? p->read_ms : 0, NULL);
    }
    return rc;
}

static void init_demo(struct demo *d, const struct pace *p)
{
    d->keys[ALICE] = (struct demo_key){.name = "session.alice", .ttl_s = p->ttl_s};
    d->keys[BOB] = (struct demo_key){.name = "session.bob", .ttl_s = p->ttl_s};
    d->keys[CAROL] = (struct demo_key){.name = "cart.carol", .ttl_s = p->long_s};
    d->keys[DAVE] = (struct demo_key){.name = "draft.dave"};
    d->nkeys = DEMO_KEYS;
    d->warn_s = p->warn_s;
    (void)snprintf(d->bucket, sizeof d->bucket, "demo_%08x",
                   (unsigned)(clock_wall_ns() / CLOCK_US) ^ ((unsigned)getpid() << 16));
    (void)snprintf(d->stream, sizeof d->stream, "KV_%s", d->bucket);
    (void)snprintf(d->key_prefix, sizeof d->key_prefix, "$KV.%s.", d->bucket);
}

static void say_what_is_there(struct demo *d)
{
    char command[160];

    if (d->denied)
        demo_say(d, "",
                 "This user may not ask the TTL API (publish to $MAYFLY.TTL.>): warnings, touch, "
                 "lists of deadlines and the forecast are left out.");
    else if (!d->mayfly)
        demo_say(d, "",
                 "%s is no Mayfly: TTLs and delete markers work there; warnings, touch, lists of "
                 "deadlines, policies and the forecast are missing.",
                 connect_url(d->c));
    (void)snprintf(command, sizeof command, "mayfly kv create %s --marker-ttl 1m", d->bucket);
    demo_say(d, command,
             "A bucket of its own on %s: keys may have a TTL, and leave a delete marker.",
             connect_url(d->c));
    (void)snprintf(command, sizeof command, "mayfly ttl policy %s --set default=10m --set warn=%ds",
                   d->bucket, d->warn_s);
    if (d->mayfly)
        demo_say(d, command,
                 "Its policy: 10 minutes for keys without a TTL, a warning before the end.");
}

static void say_end(struct demo *d, int rc)
{
    if (cli_on(d->c, "keep"))
        demo_say(d, "", "The bucket %s stays.", d->bucket);
    else
        demo_say(d, "", "The bucket %s is removed.", d->bucket);
    if (rc == 0 && !d->c->json && !cli_interrupted())
        (void)fputs("Your turn: mayfly ttl --help\n", d->c->term.out);
}

/* A terminal that is closed sends SIGHUP: the bucket is removed then, too. */
static void end_demo(int sig)
{
    (void)sig;
    (void)raise(SIGTERM);
}

static void catch_hangup(void)
{
    struct sigaction sa = {.sa_handler = end_demo}, old;

    (void)sigemptyset(&sa.sa_mask);
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN) /* nohup */
        (void)sigaction(SIGHUP, &sa, NULL);
}

int demo_run(struct cli *c)
{
    const struct pace *p = cli_on(c, "fast") ? &fast : &slow;
    struct demo d = {.c = c};
    int rc;

    init_demo(&d, p);
    catch_hangup();
    rc = demo_look(&d);
    if (rc != 0)
        return rc;
    rc = demo_make_bucket(&d);
    if (rc == 0) {
        say_what_is_there(&d);
        rc = demo_watch(&d);
    }
    if (rc == 0)
        rc = run_steps(&d, p);
    if (d.made)
        say_end(&d, rc);
    demo_remove(&d);
    return rc;
}
