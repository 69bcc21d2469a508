/* options_unix.c: the socket of the file system: listen "unix:PATH" and the block unix_socket. */
#include "config/options_impl.h"

#define AT(member) offsetof(struct options_unix, member)

/* Octal, as chmod takes it: "0660", or 660 without quotes. */
static void read_mode(struct opt *c, const struct conf_value *v, void *out)
{
    const char *text = v->type == CONF_INT ? v->text : v->type == CONF_STRING ? v->u.s : "";
    int64_t mode = 0;
    size_t n = text == NULL ? 0 : strspn(text, "01234567");

    for (size_t i = 0; i < n && mode <= 0777; i++)
        mode = mode * 8 + (text[i] - '0');
    if (n == 0 || text[n] != '\0' || mode > 0777 || mode == 0)
        opt_error(c, v, "\"%s\" expects an octal mode such as \"0660\"", v->key);
    else
        *(int64_t *)out = mode;
}

static void read_path(struct opt *c, const struct conf_value *v, void *out)
{
    char **path = out;

    if (!opt_string(c, v, path))
        return;
    if (**path == '\0')
        *path = NULL; /* none */
    else if (!opt_unix_path_ok(*path))
        opt_error(c, v, "\"%s\" expects a path of 1 to %d bytes", v->key, OPTIONS_UNIX_PATH);
}

static const struct opt_field unix_fields[] = {
    {"path", OPT_FN, AT(path), read_path, 0, 0},
    {"mode", OPT_FN, AT(mode), read_mode, 0, 0},
    {"owner user", OPT_STRING, AT(owner), NULL, 0, 0},
    {"group", OPT_STRING, AT(group), NULL, 0, 0},
};

bool opt_unix_path_ok(const char *path)
{
    return path != NULL && path[0] != '\0' && strlen(path) <= OPTIONS_UNIX_PATH;
}

void opt_read_unix(struct opt *c, const struct conf_value *v, void *out)
{
    opt_map(c, v, OPT_BLOCK(unix_fields), out);
}
