/* repair_main.c: the command `mayfly check --repair SRC --to DST`. */
#include "cli/check/repair.h"

#include "base/clock.h"

#include "cli/check/check_dir.h"
#include "cli/check/check_find.h"
#include "cli/check/check_key.h"
#include "cli/check/repair_dir.h"
#include "cli/cli.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { EXIT_WHOLE, EXIT_LOST, EXIT_ERROR, EXIT_LOCKED };

static const char usage[] =
    "usage: mayfly check --repair SRC --to DST [--keep-unknown] [--config FILE]\n"
    "       [--key-file FILE] [--json] [-q]\n"
    "\n"
    "Copies the store in SRC, or every store below it, to DST without its damage.  SRC is only\n"
    "read; DST must not be there, or be empty.  Stop the server first: as it ends it writes down\n"
    "what is alive, and then nothing is unknown.\n"
    "\n"
    "  --keep-unknown  keep messages whose removal may lie in the damage; without it they are "
    "left\n"
    "                  out, because what was removed must not come back\n"
    "  --config FILE   the stream's configuration as JSON (that of nats stream info --json), "
    "where\n"
    "                  it was lost; SRC is the folder of that one stream then\n" CHECK_KEY_USAGE
    "  --json          one JSON document, for scripts\n"
    "  -q              print nothing\n"
    "\n"
    "Exit code: 0 nothing is lost, 1 the copy is there and something is lost or unknown, 2 usage "
    "or\n"
    "I/O error or a store of nats-server (there is no copy), 3 a server has the store.\n";

struct args {
    const char *src, *to, *config;
    bool json, quiet, help, repair;
    struct check_key key;
    struct repair_opts o;
};

/* --- the command line ------------------------------------------------------------------------- */

/* The value of an option, or NULL; *i moves on to it. */
static const char *value_of(int argc, char **argv, int *i)
{
    return *i + 1 < argc && argv[*i + 1][0] != '-' ? argv[++*i] : NULL;
}

static int refuse_usage(const char *what)
{
    (void)cli_fail(NULL, EXIT_ERROR, "check --repair: %s", what);
    (void)fprintf(stderr, "\n%s", usage);
    return MF_INVAL;
}

static int parse_arg(struct args *a, int argc, char **argv, int *i)
{
    const char *s = argv[*i];
    char text[200];

    if (strcmp(s, "--json") == 0)
        a->json = true;
    else if (strcmp(s, "-q") == 0)
        a->quiet = true;
    else if (strcmp(s, "-h") == 0 || strcmp(s, "--help") == 0)
        a->help = true;
    else if (strcmp(s, "--keep-unknown") == 0)
        a->o.keep_unknown = true;
    else if (strcmp(s, "--repair") == 0)
        a->repair = true;
    else if (check_key_option(&a->key, argc, argv, i))
        return 0;
    else if (strcmp(s, "--to") == 0 && a->to == NULL) {
        if ((a->to = value_of(argc, argv, i)) == NULL)
            return refuse_usage("--to: which folder?");
    } else if (strcmp(s, "--config") == 0 && a->config == NULL) {
        if ((a->config = value_of(argc, argv, i)) == NULL)
            return refuse_usage("--config: which file?");
    } else if (s[0] != '-' && a->src == NULL)
        a->src = s;
    else {
        (void)snprintf(text, sizeof text, "unexpected %.150s", s);
        return refuse_usage(text);
    }
    return 0;
}

static int parse_args(struct args *a, int argc, char **argv)
{
    *a = (struct args){.src = NULL};
    for (int i = 0; i < argc; i++)
        if (parse_arg(a, argc, argv, &i) != 0)
            return MF_INVAL;
    if (a->help)
        return 0;
    if (a->src == NULL)
        return refuse_usage("which directory?");
    return a->to == NULL ? refuse_usage("where to? --to names the folder of the copy") : 0;
}

/* --- the configuration ------------------------------------------------------------------------ */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? path : slash + 1;
}

/* Either the configuration alone or a document that has it as "config".  *out: malloc'd. */
static int read_config(const char *path, const char *name, char **out, struct mf_error *e)
{
    json_error_t why;
    json_t *doc = json_load_file(path, 0, &why);
    const json_t *config =
        json_is_object(json_object_get(doc, "config")) ? json_object_get(doc, "config") : doc;
    const char *named = json_string_value(json_object_get(config, "name"));
    int rc = 0;

    *out = NULL;
    if (doc == NULL)
        rc = mf_fail(e, MF_INVAL, "--config %s: line %d: %s", path, why.line, why.text);
    else if (named == NULL)
        rc = mf_fail(e, MF_INVAL, "--config %s: it holds no stream's configuration: no \"name\"",
                     path);
    else if (strcmp(named, name) != 0)
        rc = mf_fail(e, MF_INVAL,
                     "--config %s is that of stream %s, and a server takes %s for the name of the "
                     "stream in that folder",
                     path, named, name);
    else if ((*out = json_dumps(config, JSON_COMPACT)) == NULL)
        rc = mf_fail(e, MF_NOMEM, "--config %s", path);
    json_decref(doc);
    return rc;
}

/* --- one store after the other ---------------------------------------------------------------- */

/* Streams that were being created or deleted: the server's next start removes them. */
static bool is_going(const char *path)
{
    return strstr(path, "/.gone-") != NULL || strstr(path, "/.new-") != NULL;
}

static int repair_one(struct repair_item *it, const struct args *a, struct repair_dir *to,
                      const char *below)
{
    struct check_opts o = {.no_lock = false};
    struct check_dir d;
    struct mf_error *e = &it->error;

    it->rc = check_dir_open(&d, it->path, &o, e);
    if (it->rc != 0)
        return it->rc;
    d.forgive = true;
    it->rc = repair_dir_store(to, below, e);
    if (it->rc == 0)
        it->rc = repair_files(&d.src, &a->o, &to->sink, &it->result, e);
    if (it->rc == 0)
        it->rc = repair_dir_store_end(to, e);
    check_dir_close(&d);
    return it->rc == 0 ? 0 : mf_wrap(e, "%s", it->path);
}

struct items {
    struct repair_item *item;
    size_t count;
};

static int repair_each(const struct args *a, struct items *all, const struct check_paths *found,
                       struct repair_dir *to, struct mf_error *e)
{
    size_t n = strlen(a->src);

    for (size_t i = 0; i < found->count; i++) {
        struct repair_item *it = &all->item[all->count];
        const char *below = found->path[i] + (strlen(found->path[i]) < n ? 0 : n);
        struct mf_buf text = MF_BUF_INIT;

        if (is_going(found->path[i]))
            continue;
        while (*below == '/')
            below++;
        mf_buf_printf(&text, "%s%s%s", to->to, *below == '\0' ? "" : "/", below);
        it->path = mf_slice_dup(mf_str(found->path[i]));
        it->to = mf_buf_failed(&text) ? NULL : mf_slice_dup(mf_buf_slice(&text));
        mf_buf_fini(&text);
        all->count++;
        if (it->path == NULL || it->to == NULL)
            return mf_fail(e, MF_NOMEM, "%s", found->path[i]);
        if (repair_one(it, a, to, below) != 0) {
            *e = it->error;
            return e->code;
        }
    }
    return 0;
}

static int repair_items(struct args *a, struct items *all, struct mf_error *e)
{
    struct check_paths found;
    struct repair_dir to;
    char *config = NULL;
    int rc = check_key_read(&a->key, &a->o.key, e);

    if (rc != 0 || (rc = check_find(&found, a->src, e)) != 0)
        return rc;
    all->item = calloc(found.count, sizeof *all->item);
    if (all->item == NULL)
        rc = mf_fail(e, MF_NOMEM, "%s", a->src);
    if (rc == 0 && a->config != NULL && found.count > 1)
        rc = mf_fail(e, MF_INVAL,
                     "--config is for one stream, and %s holds %zu: name the folder "
                     "of the stream",
                     a->src, found.count);
    if (rc == 0 && a->config != NULL)
        rc = read_config(a->config, base_name(a->to), &config, e);
    if (rc == 0) {
        a->o.now_ns = clock_wall_ns();
        a->o.config = config == NULL ? MF_SLICE_NONE : mf_str(config);
        rc = repair_dir_begin(&to, a->src, a->to, e);
        if (rc == 0)
            rc = repair_each(a, all, &found, &to, e);
        if (rc == 0)
            rc = repair_dir_end(&to, e);
        repair_dir_fini(&to);
    }
    free(config);
    check_paths_fini(&found);
    return rc;
}

static int show_items(const struct args *a, const struct items *all, int code)
{
    struct mf_buf out = MF_BUF_INIT;

    if (a->json)
        repair_report_json(&out, a->src, a->to, all->item, all->count, code);
    for (size_t i = 0; i < all->count && !a->json; i++)
        repair_report_text(&out, &all->item[i]);
    if (mf_buf_failed(&out) || fputs(mf_buf_cstr(&out), stdout) == EOF || fflush(stdout) != 0)
        code = EXIT_ERROR;
    mf_buf_fini(&out);
    return code;
}

int repair_main(int argc, char **argv)
{
    struct items all = {.item = NULL};
    struct mf_error e;
    struct args a;
    int code = EXIT_WHOLE, rc;

    if (parse_args(&a, argc, argv) != 0)
        return EXIT_ERROR;
    if (a.help) {
        (void)fputs(usage, stdout);
        return 0;
    }
    rc = repair_items(&a, &all, &e);
    if (rc != 0) {
        bool locked = all.count > 0 && all.item[all.count - 1].rc == MF_EXISTS;

        (void)cli_fail(NULL, EXIT_ERROR, "%s; there is no copy", e.text);
        code = locked ? EXIT_LOCKED : EXIT_ERROR;
    } else {
        for (size_t i = 0; i < all.count; i++)
            if (!repair_lossless(&all.item[i].result))
                code = EXIT_LOST;
        if (!a.quiet)
            code = show_items(&a, &all, code);
    }
    for (size_t i = 0; i < all.count; i++) {
        repair_result_fini(&all.item[i].result);
        free(all.item[i].path);
        free(all.item[i].to);
    }
    free(all.item);
    check_key_fini(&a.key);
    return code;
}
