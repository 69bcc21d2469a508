/* civil.h: days since 1970 and the Gregorian calendar, both ways.  O(1); any year within
 * +-10^9. */
#ifndef MAYFLY_CIVIL_H
#define MAYFLY_CIVIL_H

#include <stdbool.h>
#include <stdint.h>

#define CIVIL_DAY_S 86400

struct civil {
    int64_t year;
    int month, day; /* from 1 */
};

/* Rounds down, before 1970 too. */
static inline int64_t civil_floor(int64_t a, int64_t b)
{
    return a / b - (a % b < 0 ? 1 : 0);
}

/* Counted in years that begin with March, so that the leap day is the last one: the days before a
 * month are then 153 for every five months.  146097 days are 400 years. */
static inline int64_t civil_days(int64_t year, int month, int day)
{
    int64_t y = month > 2 ? year : year - 1, era = civil_floor(y, 400), of_era = y - era * 400;
    int64_t of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

static inline struct civil civil_of(int64_t days)
{
    int64_t z = days + 719468, era = civil_floor(z, 146097), of_era = z - era * 146097;
    int64_t y = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * y + y / 4 - y / 100);
    int m = (int)((5 * of_year + 2) / 153);
    struct civil c = {era * 400 + y, m < 10 ? m + 3 : m - 9,
                      (int)(of_year - (153 * m + 2) / 5) + 1};

    if (c.month <= 2)
        c.year++;
    return c;
}

static inline int civil_weekday(int64_t days) /* 0: Sunday */
{
    return (int)(((days + 4) % 7 + 7) % 7);
}

static inline bool civil_leap(int64_t year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static inline int civil_month_days(int64_t year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};

    return month == 2 && civil_leap(year) ? 29 : days[month - 1];
}

#endif
