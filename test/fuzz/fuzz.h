/* fuzz.h: what every harness needs.  A harness is one file with LLVMFuzzerTestOneInput(); built
 * with --enable-fuzz it becomes a libFuzzer program, otherwise replay_main.c runs its corpus. */
#ifndef TEST_FUZZ_H
#define TEST_FUZZ_H

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A property of the code under test; unlike assert() it stays in every build. */
#define FUZZ_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: property broken: %s\n", __FILE__, __LINE__, #condition);       \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

#endif
