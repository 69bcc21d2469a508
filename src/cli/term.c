/* term.c: the window, colours, bars, and text that cannot harm the terminal. */
#include "cli/term.h"

#include "base/clock.h"
#include "base/utf8.h"

#include "cli/human.h"

#include <langinfo.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

/* A terminal without UTF-8: bytes from 0x80 on may be control characters there. */
static bool ascii_only;

void term_resize(struct term *t)
{
    struct winsize size;
    uint64_t columns;

    t->width = t->tty ? 80 : INT_MAX;
    t->height = 24;
    if (t->tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        t->width = size.ws_col;
        t->height = size.ws_row > 0 ? size.ws_row : 24;
    } else if (t->tty && mf_parse_u64(mf_str(getenv("COLUMNS")), &columns) == 0 && columns > 0 &&
               columns < INT_MAX)
        t->width = (int)columns;
}

void term_init(struct term *t, bool no_color)
{
    const char *kind = getenv("TERM"), *none = getenv("NO_COLOR");

    (void)setlocale(LC_CTYPE, "");
    t->out = stdout;
    t->tty = isatty(STDOUT_FILENO) == 1;
    t->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    if (!t->utf8 && getenv("LC_ALL") == NULL && getenv("LC_CTYPE") == NULL &&
        getenv("LANG") == NULL)
        /* No locale at all, as in many containers: terminals there show UTF-8. */
        t->utf8 = setlocale(LC_CTYPE, "C.UTF-8") != NULL;
    t->cursor = kind != NULL && strcmp(kind, "dumb") != 0;
    t->colours = t->tty && t->cursor && !no_color && (none == NULL || none[0] == '\0');
    ascii_only = t->tty && !t->utf8;
    term_resize(t);
}

const char *term_on(const struct term *t, enum term_style s)
{
    static const char *const on[] = {
        [TERM_PLAIN] = "",        [TERM_BOLD] = "\033[1m",    [TERM_DIM] = "\033[2m",
        [TERM_RED] = "\033[31m",  [TERM_YELLOW] = "\033[33m", [TERM_GREEN] = "\033[32m",
        [TERM_BLUE] = "\033[36m",
    };

    return t->colours ? on[s] : "";
}

const char *term_off(const struct term *t)
{
    return t->colours ? "\033[0m" : "";
}

/* --- text ------------------------------------------------------------------------------------- */

/* Control characters of ASCII and of Latin-1, line ends of Unicode, and marks that turn the
 * direction of writing or take no room. */
static bool is_harmful(uint32_t rune)
{
    return rune < 0x20 || (rune >= 0x7f && rune < 0xa0) || (rune >= 0x200b && rune <= 0x200f) ||
           (rune >= 0x2028 && rune <= 0x202e) || (rune >= 0x2060 && rune <= 0x206f) ||
           rune == 0x061c || rune == 0xfeff || (rune >= 0xe0000 && rune <= 0xe007f);
}

void term_safe(struct mf_buf *out, struct mf_slice s)
{
    for (size_t i = 0; i < s.len;) {
        uint32_t rune = 0;
        size_t n = utf8_next(s.ptr + i, s.len - i, &rune);

        if (n == 0)
            mf_buf_printf(out, "\\x%02x", s.ptr[i]);
        else if (!is_harmful(rune) && (rune < 0x80 || !ascii_only))
            mf_buf_append(out, s.ptr + i, n);
        else if (rune < 0x80)
            mf_buf_printf(out, rune == '\n' ? "\\n" : rune == '\t' ? "\\t" : "\\x%02x", rune);
        else
            mf_buf_printf(out, "\\u%04x", rune);
        i += n == 0 ? 1 : n;
    }
}

bool term_is_safe(struct mf_slice s)
{
    for (size_t i = 0; i < s.len;) {
        uint32_t rune = 0;
        size_t n = utf8_next(s.ptr + i, s.len - i, &rune);

        if (n == 0 || (rune != '\n' && is_harmful(rune)) || (rune >= 0x80 && ascii_only))
            return false;
        i += n;
    }
    return true;
}

void term_print_safe(const struct term *t, struct mf_slice s)
{
    struct mf_buf out = MF_BUF_INIT;

    term_safe(&out, s);
    (void)fputs(mf_buf_cstr(&out), t->out);
    mf_buf_fini(&out);
}

size_t term_columns(struct mf_slice s)
{
    size_t columns = 0;

    for (size_t i = 0; i < s.len;) {
        uint32_t rune = 0;
        size_t n;

        if (s.ptr[i] == '\033') {
            while (i < s.len && s.ptr[i] != 'm')
                i++;
            i++;
            continue;
        }
        n = utf8_next(s.ptr + i, s.len - i, &rune);
        if (n > 0) {
            int w = wcwidth((wchar_t)rune);

            columns += w < 0 ? 1 : (size_t)w;
        }
        i += n == 0 ? 1 : n;
    }
    return columns;
}

void term_bar(const struct term *t, struct mf_buf *out, double share, int width)
{
    static const char *const part[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths, full, i;

    share = share > 1 ? 1 : share > 0 ? share : 0; /* also for NaN */
    eighths = (int)(share * width * 8 + 0.5);
    if (share > 0 && eighths == 0)
        eighths = 1; /* a little is not nothing */
    full = eighths / 8;
    for (i = 0; i < full; i++)
        mf_buf_puts(out, t->utf8 ? "█" : "#");
    if (i < width && eighths % 8 != 0) {
        mf_buf_puts(out, t->utf8 ? part[eighths % 8] : eighths % 8 >= 4 || full == 0 ? "#" : " ");
        i++;
    }
    for (; i < width; i++)
        mf_buf_byte(out, ' ');
}

/* --- progress --------------------------------------------------------------------------------- */

void term_progress_begin(struct term_progress *p, const struct term *t, const char *label,
                         uint64_t total)
{
    struct mf_buf safe = MF_BUF_INIT;

    *p = (struct term_progress){.term = t, .total = total, .began_ns = clock_mono_ns()};
    term_safe(&safe, mf_str(label));
    (void)snprintf(p->label, sizeof p->label, "%.40s", mf_buf_cstr(&safe));
    mf_buf_fini(&safe);
    p->shows = t->cursor && isatty(STDERR_FILENO) == 1;
}

void term_progress_set(struct term_progress *p, uint64_t done)
{
    int64_t now = clock_mono_ns();
    char bytes[HUMAN_TEXT], rate[HUMAN_TEXT];
    struct mf_buf bar = MF_BUF_INIT;
    double seconds, share;

    p->done = done;
    if (!p->shows || (p->shown_ns != 0 && now - p->shown_ns < 100 * CLOCK_MS))
        return;
    p->shown_ns = now;
    seconds = (double)(now - p->began_ns) / CLOCK_S;
    share = p->total == 0 ? 0 : (double)done / (double)p->total;
    if (p->total > 0)
        term_bar(p->term, &bar, share, 24);
    (void)fprintf(stderr, "\r%s  %s", p->label, mf_buf_cstr(&bar));
    if (p->total > 0)
        (void)fprintf(stderr, " %3.0f %%", share > 1 ? 100 : share * 100);
    (void)fprintf(stderr, "  %s  %s/s\033[K", human_bytes(bytes, done),
                  human_bytes(rate, seconds > 0.01 ? (uint64_t)((double)done / seconds) : 0));
    mf_buf_fini(&bar);
}

void term_progress_end(struct term_progress *p)
{
    if (p->shows && p->shown_ns != 0)
        (void)fputs("\r\033[K", stderr);
    p->shows = false;
}
