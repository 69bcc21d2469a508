/* server_check.h: is a server well?  From its pages /healthz and /varz. */
#ifndef CLI_SERVER_CHECK_H
#define CLI_SERVER_CHECK_H

#include "base/buf.h"

struct server_report {
    bool healthy;           /* /healthz answered 200 and "ok" */
    struct mf_slice health; /* the pages as they came, JSON */
    struct mf_slice varz;
};

/* Judges the two pages.  MF_PROTO when one of them is not the JSON it should be. */
MF_MUSTCHECK int server_report_make(struct server_report *out, int health_status,
                                    struct mf_slice health, struct mf_slice varz,
                                    struct mf_error *e);
/* Two columns for people. */
void server_report_table(struct mf_buf *out, const struct server_report *r, const char *url);
/* {"url":..., "healthy":..., "healthz":{...}, "varz":{...}} for scripts. */
void server_report_json(struct mf_buf *out, const struct server_report *r, const char *url);

/* mayfly server check [URL].  Exit code: 0 well, 1 not well, 2 could not be asked. */
struct cli;
int server_check_run(struct cli *c);

#endif
