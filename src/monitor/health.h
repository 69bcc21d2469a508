/* health.h: problems that /healthz shows, from the folders that find them to the page. */
#ifndef MAYFLY_HEALTH_H
#define MAYFLY_HEALTH_H

/* The objects to check; NULL and "" mean all of them. */
struct health_query {
    const char *account, *stream, *consumer;
};
/* Valid during the call it is given to. */
struct health_problem {
    int status;                              /* of HTTP: 404 not found, 503 unhealthy */
    const char *type;                        /* "ACCOUNT", "STREAM", "CONSUMER", "JETSTREAM" */
    const char *account, *stream, *consumer; /* NULL: not about one */
    const char *text;
};
typedef void (*health_report_fn)(void *arg, const struct health_problem *p);

#endif
