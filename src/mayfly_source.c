/* mayfly_source.c: where the options of a server inside another program come from. */
#include "mayfly_impl.h"

#include <stdlib.h>

static int copy_text(char **dst, const char *text)
{
    if (text == NULL)
        return 0;
    *dst = mf_slice_dup(mf_str(text));
    return *dst == NULL ? MF_NOMEM : 0;
}

static int copy_flags(struct mayfly_source *s, const struct mayfly_options *o)
{
    if (o->argc <= 0)
        return 0;
    s->argv = calloc((size_t)o->argc + 1, sizeof *s->argv);
    if (s->argv == NULL)
        return MF_NOMEM;
    for (; s->argc < o->argc; s->argc++)
        if (copy_text(&s->argv[s->argc], o->argv[s->argc]) != 0)
            return MF_NOMEM;
    return 0;
}

static int check_flags(const struct mayfly_options *o, struct mf_error *e)
{
    if (o->argc < 0 || (o->argc > 0 && o->argv == NULL))
        return mf_fail(e, MF_INVAL, "mayfly_options.argv: expected %d texts", o->argc);
    for (int i = 0; i < o->argc; i++)
        if (o->argv[i] == NULL)
            return mf_fail(e, MF_INVAL, "mayfly_options.argv[%d]: expected a text", i);
    return 0;
}

int mayfly_source_init(struct mayfly_source *s, const struct mayfly_options *o, struct mf_error *e)
{
    if (check_flags(o, e) != 0)
        return e->code;
    s->max_memory = o->max_memory;
    s->max_files = o->max_files;
    if (copy_text(&s->text, o->config) != 0 || copy_text(&s->file, o->config_file) != 0 ||
        copy_flags(s, o) != 0)
        return mf_fail(e, MF_NOMEM, "options");
    return 0;
}

void mayfly_source_fini(struct mayfly_source *s)
{
    for (int i = 0; i < s->argc; i++)
        free(s->argv[i]);
    free(s->argv);
    free(s->text);
    free(s->file);
}

/* At most `most`; what is not limited yet (negative or 0) is limited to it. */
static void lower(int64_t *value, uint64_t most)
{
    if (*value <= 0 || (uint64_t)*value > most)
        *value = most > INT64_MAX ? INT64_MAX : (int64_t)most;
}

/* A quarter is kept for files of streams (admission.c); half of that may be held by unused ones. */
static void apply_files(const struct mayfly_source *s, struct options *o)
{
    if (s->max_files > 0)
        o->files_kept = s->max_files < 64     ? 8
                        : s->max_files > 4096 ? 512
                                              : (unsigned)s->max_files / 8;
}

/* Half for streams in memory and for the indexes of all streams; the other half for output that
 * clients have not read yet. */
static int apply_budget(const struct mayfly_source *s, struct options *o, struct mf_error *e)
{
    if (s->max_memory == 0)
        return 0;
    if (s->max_memory < MAYFLY_LEAST_MEMORY)
        return mf_fail(e, MF_INVAL, "max_memory: expected at least %d bytes", MAYFLY_LEAST_MEMORY);
    lower(&o->jetstream.max_memory, s->max_memory / 2);
    lower(&o->jetstream.max_index, s->max_memory / 2);
    lower(&o->max_pending, s->max_memory / 2);
    if (o->max_payload > o->max_pending)
        return mf_fail(e, MF_INVAL,
                       "max_memory: half of %llu bytes holds no message of max_payload",
                       (unsigned long long)s->max_memory);
    return 0;
}

int mayfly_source_load(const struct mayfly_source *s, struct options **out, struct mf_error *e)
{
    const struct options_source from = {
        .text = s->text, .file = s->file, .argc = s->argc, .argv = s->argv};
    int rv = options_load_embedded(out, &from, e);

    if (rv == 0)
        apply_files(s, *out);
    if (rv == 0 && (rv = apply_budget(s, *out, e)) != 0) {
        options_free(*out);
        *out = NULL;
    }
    return rv;
}
