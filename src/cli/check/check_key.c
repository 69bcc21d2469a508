/* check_key.c: reads a key from a file or the environment: never from the command line, where
 * others see it. */
#include "cli/check/check_key.h"

#include "codec/seal.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY_MAX 65536u

bool check_key_option(struct check_key *k, int argc, char **argv, int *i)
{
    const char **to = strcmp(argv[*i], "--key-file") == 0  ? &k->file
                      : strcmp(argv[*i], "--key-env") == 0 ? &k->env
                                                           : NULL;

    if (to == NULL || *i + 1 >= argc || k->file != NULL || k->env != NULL)
        return false;
    *to = argv[++*i];
    return true;
}

static int read_file(struct check_key *k, struct mf_error *e)
{
    FILE *f = fopen(k->file, "rb");
    size_t n;

    if (f == NULL)
        return mf_fail_errno(e, MF_IO, "--key-file %s", k->file);
    k->text = calloc(1, KEY_MAX + 1);
    n = k->text == NULL ? 0 : fread(k->text, 1, KEY_MAX + 1, f);
    bool bad = ferror(f) != 0;
    (void)fclose(f);
    if (k->text == NULL)
        return mf_fail(e, MF_NOMEM, "--key-file %s", k->file);
    if (bad || n > KEY_MAX)
        return mf_fail(e, MF_IO, "--key-file %s: it cannot be read, or is no key", k->file);
    while (n > 0 && (k->text[n - 1] == '\n' || k->text[n - 1] == '\r'))
        n--;
    k->text[n] = '\0';
    return 0;
}

int check_key_read(struct check_key *k, struct mf_slice *key, struct mf_error *e)
{
    *key = MF_SLICE_NONE;
    if (k->file == NULL && k->env == NULL)
        return 0;
    if (k->file != NULL && read_file(k, e) != 0)
        return e->code;
    if (k->env != NULL) {
        const char *value = getenv(k->env);
        if (value != NULL && (k->text = mf_slice_dup(mf_str(value))) == NULL)
            return mf_fail(e, MF_NOMEM, "--key-env %s", k->env);
    }
    if (k->text == NULL || k->text[0] == '\0')
        return mf_fail(e, MF_INVAL, "--key-%s %s: it holds no key",
                       k->file != NULL ? "file" : "env", k->file != NULL ? k->file : k->env);
    *key = mf_str(k->text);
    return 0;
}

void check_key_fini(struct check_key *k)
{
    if (k->text != NULL)
        seal_wipe(k->text, strlen(k->text));
    free(k->text);
    k->text = NULL;
}
