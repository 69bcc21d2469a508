/* js_server.c: see js_server.h. */
#include "js_server.h"

#include <errno.h>
#include <ftw.h>
#include <signal.h>
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

static void remove_data(struct js_server *s)
{
    nftw(s->data, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

bool js_server_dial(const struct js_server *s, struct js_conn *c)
{
    return s->kind->redis ? js_open_redis(c, s->proc.port) : js_open(c, s->proc.port);
}

/* BENCH_CIPHER=chacha or aes: the server encrypts its streams (encryption.mjs). */
static const char *cipher_settings(char *dst, size_t cap)
{
    const char *cipher = getenv("BENCH_CIPHER");

    dst[0] = '\0';
    if (cipher != NULL && cipher[0] != '\0')
        snprintf(dst, cap, "cipher: %s\n  key: \"a key of the benchmark, long enough\"", cipher);
    return dst;
}

bool js_server_start(struct js_server *s, const struct js_kind *kind)
{
    char config[1800], key[120];

    *s = (struct js_server){.kind = kind, .ask.fd = -1};
    snprintf(s->data, sizeof s->data, "%s/js-XXXXXX",
             getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp");
    if (mkdtemp(s->data) == NULL) {
        fprintf(stderr, "bench: %s: %s\n", s->data, strerror(errno));
        return false;
    }
    if (kind->redis) /* appendfsync decides; save: no dumps beside it */
        snprintf(config, sizeof config,
                 "dir \"%s\"\nappendonly yes\nappendfsync always\nsave \"\"\n", s->data);
    else
        snprintf(config, sizeof config, "jetstream {\n  store_dir: \"%s\"\n  %s\n  %s\n}\n%s",
                 s->data, kind->settings, cipher_settings(key, sizeof key),
                 kind->more != NULL ? kind->more : "");
    if (!proc_start(&s->proc, kind->binary, kind->redis, config)) {
        remove_data(s);
        return false;
    }
    if (kind->ws)
        s->proc.port = s->proc.ws_port;
    if (js_server_dial(s, &s->ask))
        return true;
    js_server_stop(s);
    return false;
}

void js_server_stop(struct js_server *s)
{
    js_close(&s->ask);
    proc_stop(&s->proc);
    remove_data(s);
}

void js_server_end(struct js_server *s, int sig)
{
    js_close(&s->ask);
    proc_end(&s->proc, sig);
}

bool js_server_live(struct js_server *s, const char *stream, uint64_t *live)
{
    static char text[65536];
    char subject[64];

    if (s->kind->redis) {
        if (!js_redis_ask(&s->ask, "DBSIZE", text, sizeof text) || text[0] != ':')
            return false; /* loading */
        *live = strtoull(text + 1, NULL, 10);
        return true;
    }
    snprintf(subject, sizeof subject, "$JS.API.STREAM.INFO.%s", stream);
    if (!js_request(&s->ask, subject, "", text, sizeof text))
        return false;
    *live = js_number(text, "messages", UINT64_MAX);
    return *live != UINT64_MAX;
}

bool js_server_again(struct js_server *s, const char *stream, uint64_t *live)
{
    double until_s = js_now_s() + 60;

    if (!proc_again(&s->proc, s->kind->binary))
        return false;
    while (js_now_s() < until_s) {
        if (s->ask.fd < 0 && !js_server_dial(s, &s->ask))
            continue;
        if (js_server_live(s, stream, live))
            return true;
        js_pause(0.001);
    }
    return false;
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

/* --- disk ------------------------------------------------------------------------------------- */

static double disk_blocks;

static int add_blocks(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)path;
    (void)at;
    if (type == FTW_F)
        disk_blocks += (double)st->st_blocks;
    return 0;
}

double js_server_disk_mb(const struct js_server *s)
{
    disk_blocks = 0;
    nftw(s->data, add_blocks, 16, FTW_PHYS);
    return disk_blocks * 512 / 1e6;
}
