/* term_live.c: a screen that is redrawn: the alternate screen, keys without echo. */
#include "cli/term.h"

#include "cli/cli.h"

#include <poll.h>
#include <termios.h>
#include <unistd.h>

static struct termios saved;
static bool raw;

static bool is_live(const struct term *t)
{
    return t->tty && t->cursor;
}

void term_live_begin(struct term *t)
{
    struct termios keys;

    if (!is_live(t))
        return;
    if (tcgetattr(STDIN_FILENO, &saved) == 0) {
        keys = saved;
        keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO); /* Ctrl-C stays a signal */
        keys.c_cc[VSUSP] = _POSIX_VDISABLE;         /* Ctrl-Z would leave the screen to the shell */
        raw = tcsetattr(STDIN_FILENO, TCSANOW, &keys) == 0;
    }
    (void)fputs("\033[?1049h\033[?25l", t->out);
}

/* As many lines as the window has, each cut at its width by the terminal (no wrapping). */
void term_live_frame(struct term *t, struct mf_slice text)
{
    const char *p = (const char *)text.ptr, *end = p + text.len;

    if (!is_live(t)) {
        if (text.len > 0)
            (void)fwrite(p, 1, text.len, t->out);
        (void)fflush(t->out);
        return;
    }
    term_resize(t);
    (void)fputs("\033[H\033[?7l", t->out);
    for (int line = 1; p < end && line < t->height; line++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        size_t len = stop == NULL ? (size_t)(end - p) : (size_t)(stop - p);

        (void)fwrite(p, 1, len, t->out);
        (void)fputs("\033[K\r\n", t->out);
        p += len + 1;
    }
    (void)fputs("\033[J\033[?7h", t->out);
    (void)fflush(t->out);
}

bool term_live_wait(struct term *t, int ms)
{
    struct pollfd key = {.fd = STDIN_FILENO, .events = POLLIN};
    char c;

    while (ms > 0 && !cli_interrupted()) {
        int step = ms < 100 ? ms : 100;

        if (is_live(t) && raw && poll(&key, 1, step) > 0) {
            if (read(STDIN_FILENO, &c, 1) != 1)
                raw = false; /* the terminal is gone: wait without it */
            else if (c == 'q' || c == 'Q')
                return false;
        } else if (!is_live(t) || !raw)
            (void)poll(NULL, 0, step);
        ms -= step;
    }
    return !cli_interrupted();
}

void term_live_end(struct term *t)
{
    if (!is_live(t))
        return;
    (void)fputs("\033[?25h\033[?1049l", t->out);
    (void)fflush(t->out);
    if (raw)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &saved);
    raw = false;
}
