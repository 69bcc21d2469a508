/* ttl_draw.c: see ttl_draw.h. */
#include "cli/ttl/ttl_draw.h"

#include "base/clock.h"

#include "cli/human.h"

#include <stdio.h>

#define LINE_MAX_COLUMNS 100 /* longer time lines are no clearer */
#define LEAST_DASHES     10  /* a shorter line says nothing */
#define DAY_NS           (86400 * CLOCK_S)

/* --- shares ----------------------------------------------------------------------------------- */

const char *draw_share(char dst[DRAW_SHARE], uint64_t part, uint64_t whole)
{
    double percent = whole == 0 ? 0 : 100.0 * (double)part / (double)whole;

    if (part > 0 && percent < 0.1)
        percent = 0.1;
    if (part < whole && percent > 99.9)
        percent = 99.9;
    (void)snprintf(dst, DRAW_SHARE, "%.1f %%", percent > 100 ? 100 : percent);
    return dst;
}

/* --- the time line ---------------------------------------------------------------------------- */

struct moment {
    int64_t at_ns;
    char text[96];
};
struct line {
    struct moment at[3]; /* written, perhaps the warning, the end */
    size_t n;
};

/* 09:00, or 11-18 09:00 in a life of more than a day; with seconds in one of minutes. */
static void format_moment(char dst[HUMAN_TEXT], const struct draw_life *l, int64_t at_ns)
{
    char text[HUMAN_TEXT];
    int64_t life = l->expires_ns - l->written_ns;

    (void)human_time(text, at_ns); /* 2026-11-18 09:00:00Z */
    if (life > DAY_NS && strlen(text) > 16)
        (void)snprintf(dst, HUMAN_TEXT, "%.11s", text + 5);
    else if (life > 10 * 60 * CLOCK_S && strlen(text) > 16)
        (void)snprintf(dst, HUMAN_TEXT, "%.5s", text + 11);
    else
        (void)human_clock(dst, at_ns);
}

static void add_moment(struct line *line, const struct draw_life *l, int64_t at_ns,
                       const char *word)
{
    struct moment *m = &line->at[line->n++];
    char when[HUMAN_TEXT];

    format_moment(when, l, at_ns);
    m->at_ns = at_ns;
    (void)snprintf(m->text, sizeof m->text, "%s %s", when, word);
}

static void make_line(struct line *line, const struct draw_life *l)
{
    char left[HUMAN_TEXT], word[80];

    line->n = 0;
    add_moment(line, l, l->written_ns, "written");
    if (l->warn_ns > l->written_ns && l->warn_ns < l->expires_ns)
        add_moment(line, l, l->warn_ns, l->warn_ns <= l->now_ns ? "warned" : "warning");
    (void)snprintf(word, sizeof word, "expires (in %s)",
                   human_duration(left, l->expires_ns - l->now_ns));
    add_moment(line, l, l->expires_ns, word);
}

/* Columns for all dashes of the line in this window. */
static int measure_room(const struct term *t, const struct line *line)
{
    int room = (t->width < LINE_MAX_COLUMNS ? t->width : LINE_MAX_COLUMNS) - 3;

    for (size_t i = 0; i < line->n; i++) /* texts, and blanks around the dashes */
        room -= (int)strlen(line->at[i].text) + (i > 0 ? 2 : 0);
    return room;
}

/* Columns of the dashes between moment i and the next one, of `room` in all. */
static int count_dashes(const struct line *line, size_t i, int room)
{
    int64_t whole = line->at[line->n - 1].at_ns - line->at[0].at_ns;
    int first = room;

    if (line->n > 2 && whole > 0)
        first = (int)((double)(line->at[1].at_ns - line->at[0].at_ns) / (double)whole * room + 0.5);
    if (line->n > 2)
        first = first < 2 ? 2 : first > room - 2 ? room - 2 : first;
    return i == 0 ? first : room - first;
}

static void put_dashes(struct mf_buf *out, const struct term *t, int n, int dot)
{
    mf_buf_puts(out, term_on(t, TERM_DIM));
    for (int i = 0; i < n; i++) {
        if (i != dot) {
            mf_buf_puts(out, t->utf8 ? "─" : "-");
            continue;
        }
        mf_buf_puts(out, term_off(t));
        mf_buf_puts(out, term_on(t, TERM_GREEN));
        mf_buf_puts(out, t->utf8 ? "●" : "*");
        mf_buf_puts(out, term_off(t));
        mf_buf_puts(out, term_on(t, TERM_DIM));
    }
    mf_buf_puts(out, term_off(t));
}

/* The dash on which "now" lies, -1 if that is not between these two. */
static int find_dot(const struct line *line, size_t i, int dashes, int64_t now_ns)
{
    int64_t from = line->at[i].at_ns, to = line->at[i + 1].at_ns;
    int dot;

    if (now_ns < from || (now_ns >= to && i + 2 < line->n))
        return -1;
    dot = to <= from ? 0 : (int)((double)(now_ns - from) / (double)(to - from) * dashes);
    return dot >= dashes ? dashes - 1 : dot;
}

static void draw_across(struct mf_buf *out, const struct term *t, const struct line *line,
                        int64_t now_ns)
{
    int room = measure_room(t, line);

    mf_buf_puts(out, "  ");
    for (size_t i = 0; i < line->n; i++) {
        int dashes = i + 1 < line->n ? count_dashes(line, i, room) : 0;

        mf_buf_puts(out, line->at[i].text);
        if (i + 1 == line->n)
            break;
        mf_buf_byte(out, ' ');
        put_dashes(out, t, dashes, find_dot(line, i, dashes, now_ns));
        mf_buf_byte(out, ' ');
    }
    mf_buf_byte(out, '\n');
}

static void put_moment(struct mf_buf *out, int64_t at_ns, const char *word)
{
    char text[HUMAN_TEXT];

    mf_buf_printf(out, "  %s  %s\n", human_time(text, at_ns), word);
}

static void draw_down(struct mf_buf *out, const struct draw_life *l)
{
    bool warns = l->warn_ns > l->written_ns && l->warn_ns < l->expires_ns;
    char left[HUMAN_TEXT], word[80];

    put_moment(out, l->written_ns, "written");
    if (warns && l->warn_ns <= l->now_ns)
        put_moment(out, l->warn_ns, "warned");
    put_moment(out, l->now_ns, "now");
    if (warns && l->warn_ns > l->now_ns)
        put_moment(out, l->warn_ns, "warning");
    (void)snprintf(word, sizeof word, "expires (in %s)",
                   human_duration(left, l->expires_ns - l->now_ns));
    put_moment(out, l->expires_ns, word);
}

void draw_life(struct mf_buf *out, const struct term *t, const struct draw_life *l)
{
    struct line line;

    make_line(&line, l);
    if (t->tty && t->width >= DRAW_LIFE_MIN && measure_room(t, &line) >= LEAST_DASHES)
        draw_across(out, t, &line, l->now_ns);
    else
        draw_down(out, l);
}
