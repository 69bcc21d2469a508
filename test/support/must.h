/* must.h: what a long random test demands; says where it was in the run, and ends it. */
#ifndef TEST_MUST_H
#define TEST_MUST_H

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

/* Printed before every complaint: how to come here again.  NULL: nothing. */
extern void (*must_where)(FILE *to);

_Noreturn void must_fail(const char *file, int line, const char *fmt, ...) MF_PRINTF(3, 4);

#define MUST(what, ...)                                                                            \
    do {                                                                                           \
        if (!(what))                                                                               \
            must_fail(__FILE__, __LINE__, __VA_ARGS__);                                            \
    } while (0)

/* realloc(old, n * size), or the end.  Tests that make allocations fail spare those made here. */
void *must_alloc(void *old, size_t n, size_t size);
extern bool must_allocating;
/* What is logged goes nowhere: a test that breaks things on purpose need not say so a thousand
 * times. */
void must_quiet(void);
/* The number after `--name=` among the arguments, or in the environment, or `otherwise`. */
uint64_t must_number(int argc, char **argv, const char *name, const char *env, uint64_t otherwise);

#endif
