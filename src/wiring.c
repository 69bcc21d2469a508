/* wiring.c: connects the server with JetStream and status.  Wiring only. */
#include "wiring.h"

#include "api/api.h"
#include "backup/backup.h"
#include "base/clock.h"
#include "status/js_status.h"
#include "status/status.h"

#include <stdlib.h>

static bool client_info(void *arg, const void *origin, struct mf_buf *json)
{
    (void)arg;
    return status_client_info(origin, json);
}

static int open_jetstream(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    struct wiring *w = arg;
    int64_t from_ns = clock_mono_ns();
    char took[CLOCK_TEXT];

    if (!o->jetstream.enabled)
        return 0;
    w->name = mf_slice_dup(mf_str(server_name(s)));
    if (w->name == NULL)
        return mf_fail(e, MF_NOMEM, "server name");
    struct api_setup setup = {.loop = w->loop,
                              .accounts = server_accounts(s),
                              .options = o,
                              .server_name = w->name,
                              .server_id = server_id(s),
                              .version = SERVER_NATS_VERSION,
                              .level = SERVER_API_LEVEL,
                              .client_info = client_info,
                              .extension = &backup_extension};
    log_info("Starting JetStream");
    if (api_open(&w->api, &setup, e) != 0)
        return e->code;
    js_status_log_start(w->api);
    js_status_log_recovered(w->api, clock_mono_ns() - from_ns);
    log_info("Took %s to start JetStream", clock_duration(took, clock_mono_ns() - from_ns));
    return 0;
}

static void reload_jetstream(void *arg, const struct options *o)
{
    struct wiring *w = arg;

    if (w->api != NULL)
        api_reload(w->api, o);
}

static void leave_jetstream(void *arg)
{
    struct wiring *w = arg;

    if (w->api != NULL)
        api_leaving(w->api);
}

static bool close_jetstream(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    struct wiring *w = arg;

    if (w->api == NULL)
        return true;
    api_close(w->api, closed, closed_arg);
    w->api = NULL;
    return false;
}

static int open_status(void *arg, struct server *s, const struct options *o, struct mf_error *e)
{
    struct wiring *w = arg;

    (void)o;
    return status_open(&w->status, s, w->api, e);
}

static void leave_status(void *arg)
{
    status_leaving(((struct wiring *)arg)->status);
}

static bool close_status(void *arg, void (*closed)(void *closed_arg), void *closed_arg)
{
    struct wiring *w = arg;

    (void)closed, (void)closed_arg;
    status_close(w->status);
    w->status = NULL;
    return true;
}

int wiring_start(struct wiring *w, struct server_setup *setup, struct mf_error *e)
{
    w->modules[0] = (struct server_module){.name = "JetStream",
                                           .arg = w,
                                           .open = open_jetstream,
                                           .reload = reload_jetstream,
                                           .leaving = leave_jetstream,
                                           .close = close_jetstream};
    w->modules[1] = (struct server_module){.name = "status",
                                           .arg = w,
                                           .open = open_status,
                                           .leaving = leave_status,
                                           .close = close_status};
    setup->modules = w->modules;
    setup->nmodules = MF_COUNT(w->modules);
    return server_start(&w->server, w->loop, setup, e);
}

void wiring_end(struct wiring *w)
{
    server_free(w->server);
    w->server = NULL;
    free(w->name);
    w->name = NULL;
}
