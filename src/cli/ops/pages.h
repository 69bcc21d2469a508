/* pages.h: JSON pages of a server's monitoring port. */
#ifndef CLI_OPS_PAGES_H
#define CLI_OPS_PAGES_H

#include "cli/cli.h"
#include "cli/http_get.h"

#include <jansson.h>

struct pages {
    struct http_url url;
    char text[512]; /* as the user gave it, without password */
};

/* text NULL: HTTP_GET_DEFAULT.  --timeout counts, and for https the TLS files of a connection.  0
 * or an exit code, printed. */
MF_MUSTCHECK int pages_open(struct cli *c, struct pages *p, const char *text);
/* One page; *out is the caller's to decref, NULL on failure.  optional: a server without this page
 * (404) leaves *out NULL and returns 0.  Nothing is printed: e says why (MF_IO, MF_PROTO). */
MF_MUSTCHECK int pages_try(const struct pages *p, bool optional, const char *path, json_t **out,
                           struct mf_error *e);
/* The same for commands that end with the first failure: 0 or an exit code, printed. */
MF_MUSTCHECK int pages_get(struct cli *c, const struct pages *p, bool optional, json_t **out,
                           const char *fmt, ...) MF_PRINTF(5, 6);

/* Prints why a page could not be had, and what to do; returns the exit code. */
int pages_fail(struct cli *c, const struct pages *p, const struct mf_error *e);

/* Numbers of pages may be larger than jansson's integers: they are read as doubles.  0 if absent.
 */
double pages_number(const json_t *doc, const char *key);
/* Sorts an array of rows; a and b point to json_t pointers. */
void pages_sort(json_t *rows, int (*compare)(const void *a, const void *b));

#endif
