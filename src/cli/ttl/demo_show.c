/* demo_show.c: what users see of the demo: sentences, events, and lives that run out. */
#include "cli/ttl/demo_impl.h"

#include "base/clock.h"

#include <stdio.h>

#define BAR       8
#define NARROW    84 /* columns below which events are shown in short */
#define BARS_FROM 96 /* columns of a window that has room for four bars */

void demo_print_json(struct demo *d, json_t *doc)
{
    (void)json_dumpf(doc, d->c->term.out, JSON_COMPACT);
    (void)fputc('\n', d->c->term.out);
    (void)fflush(d->c->term.out);
    json_decref(doc);
}

/* As many words a line as the window has room for. */
static void print_words(const struct term *t, const char *text)
{
    size_t used = 0;

    while (*text != '\0') {
        size_t len = strcspn(text, " ");

        if (used > 0 && used + 1 + len >= (size_t)t->width) {
            (void)fputc('\n', t->out);
            used = 0;
        }
        (void)fprintf(t->out, "%s%.*s", used > 0 ? " " : "", (int)len, text);
        used += len + (used > 0);
        text += len;
        text += strspn(text, " ");
    }
}

void demo_say(struct demo *d, const char *command, const char *fmt, ...)
{
    struct term *t = &d->c->term;
    char text[512];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (d->c->json) {
        demo_print_json(d, json_pack("{s:s,s:s}", "step", text, "command", command));
        return;
    }
    (void)fprintf(t->out, "\n%s", term_on(t, TERM_BOLD));
    print_words(t, text);
    (void)fprintf(t->out, "%s\n", term_off(t));
    if (command[0] != '\0')
        (void)fprintf(t->out, "%s  $ %s%s\n", term_on(t, TERM_BLUE), command, term_off(t));
    (void)fflush(t->out);
}

/* --- events ----------------------------------------------------------------------------------- */

void demo_show_news(struct demo *d, const struct demo_news *n)
{
    static const char *const words[] = {
        [DEMO_PUT] = "put", [DEMO_WARNING] = "warning", [DEMO_END] = "expired"};
    static const enum term_style styles[] = {
        [DEMO_PUT] = TERM_GREEN, [DEMO_WARNING] = TERM_YELLOW, [DEMO_END] = TERM_RED};
    struct term *t = &d->c->term;
    bool narrow = t->width < NARROW;
    char clock[HUMAN_TEXT];

    if (n->kind == DEMO_NOTHING)
        return;
    if (d->c->json) {
        demo_print_json(d, json_pack("{s:s,s:s,s:s,s:f,s:I}", "event", words[n->kind], "key",
                                     n->key->name, "reason", n->reason, "late_ms",
                                     (double)n->late_ns / CLOCK_MS, "left_ms",
                                     (json_int_t)n->left_ms));
        return;
    }
    (void)fprintf(t->out, "  %s%s%s%s%-8s%s  %-14s", narrow ? "" : "  ",
                  narrow ? "" : human_clock(clock, clock_wall_ns()), narrow ? "" : "  ",
                  term_on(t, styles[n->kind]), words[n->kind], term_off(t), n->key->name);
    if (n->kind == DEMO_PUT && n->key->ttl_s > 0)
        (void)fprintf(t->out, " for %ds", n->key->ttl_s);
    else if (n->kind == DEMO_PUT)
        (void)fputs(d->mayfly ? " by policy" : " for ever", t->out);
    else if (n->kind == DEMO_WARNING)
        (void)fprintf(t->out, " %.1f s left", (double)n->left_ms / 1000);
    else if (n->kind == DEMO_END && narrow && n->late_ns >= 999 * CLOCK_MS)
        (void)fprintf(t->out, " %.1f s late", (double)n->late_ns / CLOCK_S);
    else if (n->kind == DEMO_END && narrow)
        (void)fprintf(t->out, " %.1f ms late", (double)n->late_ns / CLOCK_MS);
    else if (n->kind == DEMO_END)
        (void)fprintf(t->out, " delete marker, reason %s, %.1f ms after the deadline", n->reason,
                      (double)n->late_ns / CLOCK_MS);
    (void)fputc('\n', t->out);
    (void)fflush(t->out);
}

/* --- lives ------------------------------------------------------------------------------------ */

/* "bob ████▌    7s": how much of its life a key has left. */
static void put_life(const struct demo *d, struct mf_buf *out, const struct demo_key *k,
                     int64_t now_ns)
{
    const struct term *t = &d->c->term;
    const char *name = strchr(k->name, '.') == NULL ? k->name : strchr(k->name, '.') + 1;
    int64_t left = k->expires_ns > now_ns ? k->expires_ns - now_ns : 0;
    int64_t whole = k->ttl_s > 0 ? k->ttl_s * CLOCK_S : left;
    char text[HUMAN_TEXT];

    mf_buf_printf(out, "%s%s ", out->len == 0 ? "" : "  ", name);
    if (k->ended) {
        mf_buf_printf(out, "%sgone%s", term_on(t, TERM_RED), term_off(t));
        return;
    }
    mf_buf_puts(out, term_on(t, k->warned ? TERM_YELLOW : TERM_GREEN));
    if (t->width >= BARS_FROM)
        term_bar(t, out, whole == 0 ? 0 : (double)left / (double)whole, BAR);
    mf_buf_puts(out, term_off(t));
    mf_buf_printf(out, "%s%4s", t->width >= BARS_FROM ? " " : "",
                  human_duration(text, (left + CLOCK_S - 1) / CLOCK_S * CLOCK_S));
}

void demo_show_lives(struct demo *d)
{
    struct term *t = &d->c->term;
    struct mf_buf line = MF_BUF_INIT;
    int64_t now = clock_wall_ns();

    if (!t->tty || !t->cursor || d->c->json)
        return;
    term_resize(t);
    for (size_t i = 0; i < d->nkeys; i++) {
        size_t before = line.len;

        if (d->keys[i].expires_ns == 0 && !d->keys[i].ended)
            continue; /* not put yet, or for ever */
        put_life(d, &line, &d->keys[i], now);
        if (term_columns(mf_buf_slice(&line)) + 5 > (size_t)t->width)
            line.len = before; /* a narrow window shows those that fit */
    }
    (void)fprintf(t->out, "\r    %.*s\033[K", (int)line.len, (const char *)line.ptr);
    (void)fflush(t->out);
    d->lives_shown = true;
    mf_buf_fini(&line);
}

void demo_hide_lives(struct demo *d)
{
    if (d->lives_shown)
        (void)fputs("\r\033[K", d->c->term.out);
    d->lives_shown = false;
}
