/* js_server.c: see js_server.h. */
#include "js_server.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st;
    (void)type;
    (void)at;
    return remove(path);
}

bool js_server_start(struct js_server *s, const char *binary, const char *settings)
{
    char config[512];

    snprintf(s->data, sizeof s->data, "%s/js-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(s->data) == NULL) {
        fprintf(stderr, "bench: %s: %s\n", s->data, strerror(errno));
        return false;
    }
    snprintf(config, sizeof config, "jetstream {\n  store_dir: \"%s\"\n  %s\n}\n", s->data,
             settings);
    return proc_start(&s->proc, binary, config) && js_open(&s->ask, s->proc.port);
}

void js_server_stop(struct js_server *s)
{
    js_close(&s->ask);
    proc_stop(&s->proc);
    nftw(s->data, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

bool js_server_ask(struct js_server *s, const char *subject, const char *body)
{
    char text[65536];

    if (!js_request(&s->ask, subject, body, text, sizeof text)) {
        fprintf(stderr, "bench: %s: no answer\n", subject);
        return false;
    }
    if (strstr(text, "\"error\"") == NULL)
        return true;
    fprintf(stderr, "bench: %s says %.300s\n", subject, text);
    return false;
}
