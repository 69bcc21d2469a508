/* clock.c: reads the clocks. */
#include "base/clock.h"

#include <time.h>

static int64_t read_ns(clockid_t id)
{
    struct timespec t;

    clock_gettime(id, &t); /* fails only for clocks the kernel lacks, and these two are mandatory */
    return (int64_t)t.tv_sec * CLOCK_S + t.tv_nsec;
}

int64_t clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

int64_t clock_mono_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

int64_t clock_boot_ns(void)
{
    return read_ns(CLOCK_BOOTTIME);
}
