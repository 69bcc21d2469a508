/* js_other.c: see js_other.h. */
#include "js_other.h"

#include "js_load.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool publish(struct js_other *o, const char *body)
{
    char line[200], answer[256] = "";
    bool ok;

    snprintf(line, sizeof line, "SET %s %s", o->subject, body);
    ok = o->conn.redis ? js_redis_ask(&o->conn, line, answer, sizeof answer) && answer[0] == '+'
                       : js_request(&o->conn, o->subject, body, answer, sizeof answer) &&
                             strstr(answer, "\"error\"") == NULL;
    if (!ok)
        fprintf(stderr, "bench: the other publisher: %s\n", answer);
    return ok;
}

static void *other_main(void *arg)
{
    struct js_other *o = arg;
    char body[129];

    memset(body, 'y', 128);
    body[128] = '\0';
    while (!o->failed && !atomic_load(&o->stop)) {
        unsigned i = atomic_load(&o->done);
        double start = js_now_s();
        o->failed = !publish(o, body);
        if (i < o->cap)
            o->us[i] = (js_now_s() - start) * 1e6;
        atomic_store(&o->done, i + 1);
    }
    return NULL;
}

bool js_other_start(struct js_other *o, const struct js_server *s, const char *subject)
{
    *o = (struct js_other){.subject = subject, .cap = 1u << 20, .conn.fd = -1};
    o->us = calloc(o->cap, sizeof *o->us);
    if (o->us != NULL && js_server_dial(s, &o->conn) &&
        pthread_create(&o->thread, NULL, other_main, o) == 0)
        return true;
    js_close(&o->conn);
    free(o->us);
    return false;
}

unsigned js_other_done(struct js_other *o)
{
    return atomic_load(&o->done);
}

bool js_other_stop(struct js_other *o)
{
    atomic_store(&o->stop, true);
    pthread_join(o->thread, NULL);
    js_close(&o->conn);
    return !o->failed;
}

double js_other_us(struct js_other *o, unsigned from, unsigned to, double share)
{
    to = to < o->cap ? to : o->cap;
    return to > from ? js_quantile(o->us + from, to - from, share) : 0;
}

void js_other_fini(struct js_other *o)
{
    free(o->us);
}
