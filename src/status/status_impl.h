/* status_impl.h: what the files of this folder share. */
#ifndef MAYFLY_STATUS_IMPL_H
#define MAYFLY_STATUS_IMPL_H

#include "account/account.h"
#include "auth/auth.h"
#include "base/list.h"
#include "base/table.h"
#include "config/options.h"
#include "loop/loop.h"
#include "loop/work.h"
#include "monitor/monitor.h"
#include "net/net.h"
#include "router/router.h"
#include "server/client_info.h"
#include "server/server_state.h"
#include "status/js_status.h"
#include "status/status.h"

struct sys;

struct status {
    struct server *server;
    struct js_status *js; /* NULL: no JetStream */
    struct leaf *leaf;    /* NULL: no leaf links */
    struct operator* op;  /* NULL: not in operator mode */
    /* The server's, the same for its whole life. */
    struct loop *loop;
    struct accounts *accounts;
    const char *id;

    struct server_observer observer;
    struct sys *sys;                 /* NULL: there is no system account */
    double cpu_percent, cpu_seconds; /* the last sample; pages_process.c */
    int64_t cpu_at_ns;
    size_t unwell; /* problems of the last failed health check in the log; 0: well since */
    int64_t unwell_at_ns;
};

/* --- pages.c ---------------------------------------------------------------------------------- */
MF_MUSTCHECK int pages_register(struct status *s, struct monitor *m);

/* --- request_info.c --------------------------------------------------------------------------- */
void request_info_register(struct accounts *as);

#endif
