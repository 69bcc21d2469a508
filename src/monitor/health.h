/* health.h: what is not well, as /healthz tells it: those who look tell those who write the page.
 */
#ifndef MAYFLY_HEALTH_H
#define MAYFLY_HEALTH_H

/* What to look at; NULL and "" mean all of them. */
struct health_query {
    const char *account, *stream, *consumer;
};
/* Valid during the call it is given to. */
struct health_problem {
    int status;       /* of HTTP: 404 there is no such thing, 503 it is ill */
    const char *type; /* "ACCOUNT", "STREAM", "CONSUMER", "JETSTREAM" */
    const char *account, *stream, *consumer; /* NULL: not about one */
    const char *text;
};
typedef void (*health_tell)(void *arg, const struct health_problem *p);

#endif
