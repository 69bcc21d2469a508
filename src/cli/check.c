/* check.c: the command `mayfly check DIR`: finds the stores, verifies each, shows the findings. */
#include "check.h"

#include "mayfly/clock.h"

#include "check_report.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_DEPTH       16
#define PROGRESS_MIN    (UINT64_C(64) << 20) /* smaller stores are done before one could look */
#define PROGRESS_PERIOD (100 * CLOCK_MS)

enum { EXIT_CLEAN, EXIT_DAMAGE, EXIT_ERROR, EXIT_LOCKED };

static const char usage[] =
    "usage: mayfly check DIR [--json] [--segments] [--no-lock] [-q]\n"
    "\n"
    "Verifies the store in DIR, or every store below it, and changes nothing.\n"
    "\n"
    "  --json      one JSON document, for scripts\n"
    "  --segments  a table of the segments as well\n"
    "  --no-lock   read although a server has the store; what it writes meanwhile may look torn\n"
    "  -q          print nothing\n"
    "\n"
    "Exit code: 0 clean (a torn tail after a crash is), 1 damage, 2 usage or I/O error or a store "
    "of\n"
    "nats-server, 3 a server has the store.  Of several stores the first of 1, 2, 3 that "
    "applies.\n";

struct args {
    const char *dir;
    bool json, segments, quiet, help;
    struct check_opts o;
};

struct items {
    struct check_item *item;
    size_t count;
    char *foreign; /* a stream of nats-server: the first one found */
};

/* --- progress --------------------------------------------------------------------------------- */

struct bar {
    int64_t next_ns;
    bool shown;
};

static void bar_clear(struct bar *b)
{
    if (b->shown)
        (void)fputs("\r\033[K", stderr);
    b->shown = false;
}

static void bar_show(void *arg, uint64_t done, uint64_t total)
{
    static const char full[] = "########################################";
    struct bar *b = arg;
    int64_t now = clock_mono_ns();
    int n;

    if (total < PROGRESS_MIN || now < b->next_ns)
        return;
    b->next_ns = now + PROGRESS_PERIOD;
    b->shown = true;
    n = (int)(done * 40 / total);
    (void)fprintf(stderr, "\r[%.*s%*s] %3d %%  %.1f of %.1f GB", n, full, 40 - n, "",
                  (int)(done * 100 / total), (double)done / 1e9, (double)total / 1e9);
}

/* --- finding stores --------------------------------------------------------------------------- */

static int add_item(struct items *all, const char *path)
{
    struct check_item *list = realloc(all->item, (all->count + 1) * sizeof *list);

    if (list == NULL)
        return MF_NOMEM;
    all->item = list;
    list[all->count] = (struct check_item){.path = mf_slice_dup(mf_str(path))};
    if (list[all->count].path == NULL)
        return MF_NOMEM;
    all->count++;
    return 0;
}

static int find_stores(struct items *all, const char *path, int depth, struct mf_error *e);

/* Every stream of nats-server has a meta.inf, and none of ours. */
static int note_foreign(struct items *all, const char *path, const char *name)
{
    if (strcmp(name, "meta.inf") != 0 || all->foreign != NULL)
        return 0;
    all->foreign = mf_slice_dup(mf_str(path));
    return all->foreign == NULL ? MF_NOMEM : 0;
}

/* Below `path`; *store: a file there says that it is a store itself. */
static int look_at(struct items *all, const char *path, const char *name, int depth, bool *store,
                   struct mf_error *e)
{
    struct mf_buf below = MF_BUF_INIT;
    struct stat st;
    int rc = 0;

    mf_buf_printf(&below, "%s%s%s", path, mf_ends(mf_str(path), "/") ? "" : "/", name);
    if (mf_buf_failed(&below) || mf_buf_cstr(&below)[0] == '\0')
        rc = mf_fail(e, MF_NOMEM, "%s", path);
    else if (lstat(mf_buf_cstr(&below), &st) != 0)
        rc = errno == ENOENT ? 0 : mf_fail_errno(e, MF_IO, "%s", mf_buf_cstr(&below));
    else if (!S_ISDIR(st.st_mode) && note_foreign(all, path, name) != 0)
        rc = mf_fail(e, MF_NOMEM, "%s", path);
    else if (!S_ISDIR(st.st_mode))
        *store |= mf_ends(mf_str(name), ".log") || strcmp(name, "checkpoint") == 0;
    else if (depth < MAX_DEPTH)
        rc = find_stores(all, mf_buf_cstr(&below), depth + 1, e);
    mf_buf_fini(&below);
    return rc;
}

static int find_stores(struct items *all, const char *path, int depth, struct mf_error *e)
{
    const struct dirent *ent;
    bool store = false;
    int rc = 0;
    DIR *d = opendir(path);

    if (d == NULL)
        return mf_fail_errno(e, MF_IO, "%s", path);
    while (rc == 0 && (errno = 0, ent = readdir(d)) != NULL)
        if (strcmp(ent->d_name, ".") != 0 && strcmp(ent->d_name, "..") != 0)
            rc = look_at(all, path, ent->d_name, depth, &store, e);
    if (rc == 0 && errno != 0)
        rc = mf_fail_errno(e, MF_IO, "%s", path);
    (void)closedir(d);
    if (rc == 0 && store && add_item(all, path) != 0)
        rc = mf_fail(e, MF_NOMEM, "%s", path);
    return rc;
}

static int by_path(const void *a, const void *b)
{
    const struct check_item *x = a, *y = b;

    return strcmp(x->path, y->path);
}

/* --- the command ------------------------------------------------------------------------------ */

static int parse_args(struct args *a, int argc, char **argv)
{
    *a = (struct args){.dir = NULL};
    for (int i = 0; i < argc; i++) {
        const char *s = argv[i];

        if (strcmp(s, "--json") == 0)
            a->json = true;
        else if (strcmp(s, "--segments") == 0)
            a->segments = true;
        else if (strcmp(s, "--no-lock") == 0)
            a->o.no_lock = true;
        else if (strcmp(s, "-q") == 0)
            a->quiet = true;
        else if (strcmp(s, "-h") == 0 || strcmp(s, "--help") == 0)
            a->help = true;
        else if (s[0] != '-' && a->dir == NULL)
            a->dir = s;
        else {
            (void)fprintf(stderr, "mayfly: check: unexpected %s\n\n%s", s, usage);
            return MF_INVAL;
        }
    }
    if (a->dir == NULL && !a->help) {
        (void)fprintf(stderr, "mayfly: check: which directory?\n\n%s", usage);
        return MF_INVAL;
    }
    return 0;
}

static int exit_code(const struct items *all)
{
    bool seen[EXIT_LOCKED + 1] = {false};

    for (size_t i = 0; i < all->count; i++) {
        const struct check_item *it = &all->item[i];

        if (it->rc != 0)
            seen[it->rc == MF_EXISTS ? EXIT_LOCKED : EXIT_ERROR] = true;
        else if (it->result.damage_count > 0)
            seen[EXIT_DAMAGE] = true;
    }
    for (int code = EXIT_DAMAGE; code <= EXIT_LOCKED; code++)
        if (seen[code])
            return code;
    return EXIT_CLEAN;
}

static void show(const struct args *a, const struct items *all, struct mf_buf *out)
{
    bool tree = all->count > 1;

    if (a->json) {
        check_report_json(out, a->dir, all->item, all->count, a->segments, exit_code(all));
        return;
    }
    if (tree)
        check_report_table(out, all->item, all->count);
    for (size_t i = 0; i < all->count; i++) {
        const struct check_item *it = &all->item[i];

        if (tree && it->rc == 0 && it->result.damage_count == 0 && !a->segments)
            continue;
        if (tree)
            mf_buf_byte(out, '\n');
        check_report_text(out, it, a->segments);
    }
}

static int run(struct args *a, struct items *all, struct mf_buf *out, struct mf_error *e)
{
    struct bar bar = {.shown = false};

    if (find_stores(all, a->dir, 0, e) != 0)
        return e->code;
    if (all->foreign != NULL)
        return mf_fail(e, MF_UNSUPPORTED,
                       "%s is a stream of nats-server: its files cannot be checked, and no mayflyd "
                       "starts on them. Move it with nats stream backup and restore",
                       all->foreign);
    if (all->count == 0)
        return mf_fail(e, MF_NOTFOUND,
                       "%s: no store here or below (a store has *.log files): name the server's "
                       "store_dir",
                       a->dir);
    qsort(all->item, all->count, sizeof *all->item, by_path);
    a->o.now_ns = clock_wall_ns();
    if (!a->json && !a->quiet && isatty(STDERR_FILENO)) {
        a->o.progress = bar_show;
        a->o.arg = &bar;
    }
    for (size_t i = 0; i < all->count; i++) {
        struct check_item *it = &all->item[i];

        it->rc = check_store(it->path, &a->o, &it->result, &it->error);
        bar_clear(&bar);
    }
    show(a, all, out);
    return mf_buf_failed(out) ? mf_fail(e, MF_NOMEM, "print the findings") : 0;
}

int check_main(int argc, char **argv)
{
    struct items all = {.item = NULL};
    struct mf_buf out = MF_BUF_INIT;
    struct mf_error e;
    struct args a;
    int code = EXIT_ERROR;

    if (parse_args(&a, argc, argv) != 0)
        return EXIT_ERROR;
    if (a.help) {
        (void)fputs(usage, stdout);
        return EXIT_CLEAN;
    }
    if (run(&a, &all, &out, &e) != 0)
        (void)fprintf(stderr, "mayfly: %s\n", e.text);
    else {
        code = exit_code(&all);
        if (!a.quiet && (fputs(mf_buf_cstr(&out), stdout) == EOF || fflush(stdout) != 0))
            code = EXIT_ERROR;
    }
    for (size_t i = 0; i < all.count; i++) {
        check_result_fini(&all.item[i].result);
        free(all.item[i].path);
    }
    free(all.item);
    free(all.foreign);
    mf_buf_fini(&out);
    return code;
}
