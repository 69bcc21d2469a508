/* options_store_dir.c: the default directory of the streams. */
#include "base/buf.h"
#include "config/options.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* An absolute path in the environment, or NULL. */
static const char *path_in(const char *variable)
{
    const char *path = getenv(variable);

    return path != NULL && path[0] == '/' ? path : NULL;
}

static bool is_directory(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

bool options_store_dir_temporary(const struct options *o)
{
    const char *home = path_in("HOME");

    return o->jetstream.store_dir == NULL && path_in("XDG_STATE_HOME") == NULL &&
           (home == NULL || !is_directory(home));
}

char *options_store_dir(const struct options *o)
{
    const char *state = path_in("XDG_STATE_HOME"), *tmp = path_in("TMPDIR");
    struct mf_buf b = MF_BUF_INIT;
    char *dir;

    if (o->jetstream.store_dir != NULL)
        mf_buf_puts(&b, o->jetstream.store_dir);
    else if (options_store_dir_temporary(o))
        mf_buf_printf(&b, "%s/mayfly-%ld", tmp == NULL ? "/tmp" : tmp, (long)geteuid());
    else if (state != NULL)
        mf_buf_printf(&b, "%s/mayfly", state);
    else
        mf_buf_printf(&b, "%s/.local/state/mayfly", path_in("HOME"));
    dir = mf_buf_failed(&b) ? NULL : mf_slice_dup(mf_buf_slice(&b));
    mf_buf_fini(&b);
    return dir;
}
