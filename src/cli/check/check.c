/* check.c: the command `mayfly check DIR`: finds the stores, verifies each, shows the findings. */
#include "cli/check/check.h"

#include "base/clock.h"

#include "cli/check/check_find.h"
#include "cli/check/check_key.h"
#include "cli/check/check_report.h"
#include "cli/check/repair.h"
#include "cli/cli.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PROGRESS_MIN    (UINT64_C(64) << 20) /* smaller stores are done before one could look */
#define PROGRESS_PERIOD (100 * CLOCK_MS)

enum { EXIT_CLEAN, EXIT_DAMAGE, EXIT_ERROR, EXIT_LOCKED };

static const char usage[] =
    "usage: mayfly check DIR [--json] [--segments] [--no-lock] [--key-file FILE] [-q]\n"
    "       mayfly check --repair SRC --to DST [OPTIONS]; check --repair --help says more\n"
    "\n"
    "Verifies the store in DIR, or every store below it, and changes nothing.\n"
    "\n"
    "  --json      one JSON document, for scripts\n"
    "  --segments  a table of the segments as well\n"
    "  --no-lock   read although a server has the store; what it writes meanwhile may look torn\n"
    "  -q          print nothing\n" CHECK_KEY_USAGE "\n"
    "Exit code: 0 clean (a torn tail after a crash is), 1 damage, 2 usage or I/O error or a store "
    "of\n"
    "nats-server, 3 a server has the store.  Of several stores the first of 1, 2, 3 that "
    "applies.\n"
    "\n"
    "Examples:\n"
    "  mayfly check /var/lib/mayfly\n"
    "  mayfly check --repair /var/lib/mayfly --to /var/tmp/mayfly\n";

struct args {
    const char *dir;
    bool json, segments, quiet, help;
    struct check_key key;
    struct check_opts o;
};

struct items {
    struct check_item *item;
    size_t count;
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
        else if (check_key_option(&a->key, argc, argv, &i))
            continue;
        else if (s[0] != '-' && a->dir == NULL)
            a->dir = s;
        else {
            (void)cli_fail(NULL, EXIT_ERROR, "check: unexpected %s", s);
            (void)fprintf(stderr, "\n%s", usage);
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

static void show_items(const struct args *a, const struct items *all, struct mf_buf *out)
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

static int take_items(struct items *all, const char *dir, struct mf_error *e)
{
    struct check_paths found;

    if (check_find(&found, dir, e) != 0)
        return e->code;
    all->item = calloc(found.count, sizeof *all->item);
    for (size_t i = 0; i < found.count && all->item != NULL; i++) {
        all->item[all->count++].path = found.path[i];
        found.path[i] = NULL;
    }
    check_paths_fini(&found);
    return all->item != NULL ? 0 : mf_fail(e, MF_NOMEM, "%s", dir);
}

static int check_items(struct args *a, struct items *all, struct mf_buf *out, struct mf_error *e)
{
    struct bar bar = {.shown = false};

    if (check_key_read(&a->key, &a->o.key, e) != 0 || take_items(all, a->dir, e) != 0)
        return e->code;
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
    a->o.arg = NULL;
    show_items(a, all, out);
    return mf_buf_failed(out) ? mf_fail(e, MF_NOMEM, "print the findings") : 0;
}

int check_main(int argc, char **argv)
{
    struct items all = {.item = NULL};
    struct mf_buf out = MF_BUF_INIT;
    struct mf_error e;
    struct args a;
    int code = EXIT_ERROR;

    for (int i = 0; i < argc; i++)
        if (strcmp(argv[i], "--repair") == 0)
            return repair_main(argc, argv);
    if (parse_args(&a, argc, argv) != 0)
        return EXIT_ERROR;
    if (a.help) {
        (void)fputs(usage, stdout);
        return EXIT_CLEAN;
    }
    if (check_items(&a, &all, &out, &e) != 0)
        (void)cli_fail(NULL, code, "%s", e.text);
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
    check_key_fini(&a.key);
    mf_buf_fini(&out);
    return code;
}
