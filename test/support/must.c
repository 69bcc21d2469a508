/* must.c: see must.h. */
#include "must.h"

#include "base/log.h"

void (*must_where)(FILE *to);
bool must_allocating;

void must_fail(const char *file, int line, const char *fmt, ...)
{
    va_list ap;

    fflush(stdout);
    fprintf(stderr, "FAIL %s:%d: ", file, line);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    if (must_where != NULL)
        must_where(stderr);
    fflush(stderr);
    /* Not exit(): what was allocated on the way here is no leak worth reading about. */
    _Exit(1);
}

void *must_alloc(void *old, size_t n, size_t size)
{
    must_allocating = true;
    void *p = realloc(old, n * size == 0 ? 1 : n * size);
    must_allocating = false;
    MUST(p != NULL, "the test itself is out of memory");
    return p;
}

void must_quiet(void)
{
    struct mf_error e;

    MUST(log_open(&(struct log_options){.file = "/dev/null"}, &e) == 0, "%s", e.text);
}

uint64_t must_number(int argc, char **argv, const char *name, const char *env, uint64_t otherwise)
{
    size_t n = strlen(name);
    const char *text = env == NULL ? NULL : getenv(env);

    for (int i = 1; i < argc; i++)
        if (strncmp(argv[i], "--", 2) == 0 && strncmp(argv[i] + 2, name, n) == 0 &&
            argv[i][2 + n] == '=')
            text = argv[i] + 3 + n;
    return text == NULL ? otherwise : strtoull(text, NULL, 0);
}
