/* import_running.c: does a running nats-server use a store?
 *
 * A nats-server without traffic has no files open.  Its command line names the store, or a
 * configuration that does: every word of both is compared with the folder. */
#include "cli/import/import_impl.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define WORD_MAX 4096u
#define TEXT_MAX (1u << 20)

struct words {
    const char *dir;    /* that is looked for */
    char cwd[PATH_MAX]; /* of the process */
    bool found;
};

/* Reads a file of /proc too: these have no size. */
static void read_text(const char *path, struct mf_buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t n = 1;

    while (fd >= 0 && n > 0 && out->len < TEXT_MAX) {
        uint8_t *to = mf_buf_reserve(out, WORD_MAX);

        n = to == NULL ? 0 : read(fd, to, WORD_MAX);
        out->len += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        (void)close(fd);
}

static bool resolve_word(const struct words *w, struct mf_slice word, char out[PATH_MAX])
{
    char path[PATH_MAX + WORD_MAX + 2];
    bool absolute = word.len > 0 && word.ptr[0] == '/';

    if (word.len == 0 || word.len >= WORD_MAX)
        return false;
    (void)snprintf(path, sizeof path, "%s/%.*s", absolute ? "" : w->cwd, (int)word.len,
                   (const char *)word.ptr);
    return realpath(path, out) != NULL;
}

/* Is it store_dir, and dir the same, its folder jetstream, or below that?  Or is it that folder
 * itself? */
static void compare_word(struct words *w, struct mf_slice word)
{
    size_t len, have = strlen(w->dir);
    char real[PATH_MAX];

    if (!resolve_word(w, word, real))
        return;
    len = strlen(real);
    if (strcmp(real, w->dir) == 0 ||
        (strncmp(w->dir, real, len) == 0 && strncmp(w->dir + len, "/jetstream", 10) == 0) ||
        (strncmp(real, w->dir, have) == 0 && strcmp(real + have, "/jetstream") == 0))
        w->found = true;
}

static void compare_words(struct words *w, struct mf_slice text, const char *between)
{
    size_t from = 0;

    for (size_t i = 0; i <= text.len && !w->found; i++)
        if (i == text.len || text.ptr[i] == '\0' || strchr(between, text.ptr[i]) != NULL) {
            compare_word(w, mf_slice(text.ptr + from, i - from));
            from = i + 1;
        }
}

static void compare_config(struct words *w, struct mf_slice name)
{
    struct mf_buf text = MF_BUF_INIT;
    char path[PATH_MAX];

    if (resolve_word(w, name, path))
        read_text(path, &text);
    compare_words(w, mf_buf_slice(&text), " \t\r\n\"'=:;,{}[]");
    mf_buf_fini(&text);
}

/* Arguments: NUL behind each.  Without -sd and -c the store is below the folder for temporary
 * files. */
static void compare_line(struct words *w, struct mf_slice line)
{
    struct mf_slice arg, last = MF_SLICE_NONE;
    bool named = false;

    compare_words(w, line, "=");
    for (size_t from = 0, i = 0; i < line.len && !w->found; i++) {
        if (line.ptr[i] != '\0')
            continue;
        arg = mf_slice(line.ptr + from, i - from);
        from = i + 1;
        if (mf_eq_str(last, "-c") || mf_eq_str(last, "-config") || mf_eq_str(last, "--config"))
            compare_config(w, arg);
        if (mf_starts(arg, "-c=") || mf_starts(arg, "--config="))
            compare_config(w, mf_slice(arg.ptr + (arg.ptr[1] == 'c' ? 3 : 9),
                                       arg.len - (arg.ptr[1] == 'c' ? 3 : 9)));
        named = named || mf_starts(arg, "-c") || mf_starts(arg, "--config") ||
                mf_starts(arg, "-sd") || mf_starts(arg, "--store_dir") ||
                mf_starts(arg, "-store_dir");
        last = arg;
    }
    if (!named)
        compare_word(w, MF_LIT("/tmp/nats"));
}

bool import_runs_on(const char *pid, const char *dir)
{
    struct mf_buf text = MF_BUF_INIT;
    struct words w = {.dir = dir};
    char path[64];
    ssize_t n;

    (void)snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
    read_text(path, &text);
    if (mf_eq_str(mf_trim(mf_buf_slice(&text)), "nats-server")) {
        (void)snprintf(path, sizeof path, "/proc/%.20s/cwd", pid);
        n = readlink(path, w.cwd, sizeof w.cwd - 1);
        w.cwd[n > 0 ? n : 0] = '\0';
        (void)snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
        mf_buf_clear(&text);
        read_text(path, &text);
        compare_line(&w, mf_buf_slice(&text));
    }
    mf_buf_fini(&text);
    return w.found;
}
