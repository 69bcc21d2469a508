/* steady.c: a wall clock for deadlines that never goes back and never stands still. */
#include "base/steady.h"

static int64_t add_sat(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum))
        return b > 0 ? INT64_MAX : INT64_MIN;
    return sum;
}
static int64_t sub_sat(int64_t a, int64_t b)
{
    int64_t diff;

    if (__builtin_sub_overflow(a, b, &diff))
        return b < 0 ? INT64_MAX : INT64_MIN;
    return diff;
}

/* The time by the monotonic clock alone, counted from the latest answer. */
static int64_t own_pace(const struct steady *s, int64_t mono_ns)
{
    int64_t passed = sub_sat(mono_ns, s->mono_ns);
    int64_t t = add_sat(s->shown_ns, passed > 0 ? passed : 0);

    return t > s->floor_ns ? t : s->floor_ns;
}

void steady_init(struct steady *s, int64_t wall_ns, int64_t mono_ns, int64_t floor_ns)
{
    s->shown_ns = wall_ns > floor_ns ? wall_ns : floor_ns;
    s->floor_ns = s->shown_ns;
    s->mono_ns = mono_ns;
}

int64_t steady_now(struct steady *s, int64_t wall_ns, int64_t mono_ns)
{
    int64_t t = own_pace(s, mono_ns);

    s->shown_ns = wall_ns > t ? wall_ns : t;
    if (mono_ns > s->mono_ns)
        s->mono_ns = mono_ns;
    return s->shown_ns;
}

void steady_raise(struct steady *s, int64_t floor_ns)
{
    if (floor_ns > s->floor_ns)
        s->floor_ns = floor_ns;
}

int64_t steady_ahead_ns(const struct steady *s, int64_t wall_ns, int64_t mono_ns)
{
    int64_t ahead = sub_sat(own_pace(s, mono_ns), wall_ns);

    return ahead > 0 ? ahead : 0;
}
