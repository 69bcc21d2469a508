/* modules.c: parts of the program above the server that live as long as the server.
 *
 * Modules are opened in the order of the setup, before anybody is served, and closed in the reverse
 * order, one after the other, after the last client. */
#include "server/server_impl.h"

int modules_open(struct server *s, struct mf_error *e)
{
    for (size_t i = 0; i < s->setup.nmodules; i++) {
        const struct server_module *m = &s->setup.modules[i];
        if (m->open(m->arg, s, s->opts, e) != 0)
            return mf_wrap(e, "Can't start %s", m->name);
        s->modules_open++;
    }
    return 0;
}

void modules_reload(struct server *s)
{
    for (size_t i = 0; i < s->modules_open; i++)
        if (s->setup.modules[i].reload != NULL)
            s->setup.modules[i].reload(s->setup.modules[i].arg, s->opts);
}

void modules_leaving(struct server *s)
{
    for (size_t i = 0; i < s->modules_open; i++)
        if (s->setup.modules[i].leaving != NULL)
            s->setup.modules[i].leaving(s->setup.modules[i].arg);
}

static void module_closed(void *arg)
{
    struct server *s = arg;

    s->modules_open--;
    if (modules_close(s))
        s->modules_closed(s);
}

/* true: all are closed; false: s->modules_closed() is called when they are. */
bool modules_close(struct server *s)
{
    while (s->modules_open > 0) {
        const struct server_module *m = &s->setup.modules[s->modules_open - 1];
        if (!m->close(m->arg, module_closed, s))
            return false;
        s->modules_open--;
    }
    return true;
}
