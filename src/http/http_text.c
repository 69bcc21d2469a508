/* http_text.c: the texts around a request: escapes, dates and status lines. */
#include "http/http.h"

#include <stdio.h>
#include <time.h>

static int hex_value(uint8_t c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

ssize_t http_decode(uint8_t *dst, struct mf_slice s, bool plus)
{
    size_t len = 0;

    for (size_t i = 0; i < s.len; i++) {
        uint8_t c = s.ptr[i];
        if (c == '%') {
            int high = i + 2 < s.len ? hex_value(s.ptr[i + 1]) : -1;
            int low = high < 0 ? -1 : hex_value(s.ptr[i + 2]);
            if (low < 0)
                return MF_INVAL;
            c = (uint8_t)(high << 4 | low);
            i += 2;
        } else if (c == '+' && plus) {
            c = ' ';
        }
        if (c == 0)
            return MF_INVAL; /* would cut the caller's string short */
        dst[len++] = c;
    }
    return (ssize_t)len;
}

const char *http_status_text(int status)
{
    static const struct {
        int status;
        const char *text;
    } texts[] = {
        {200, "OK"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {413, "Request Entity Too Large"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
    };

    for (size_t i = 0; i < MF_COUNT(texts); i++)
        if (texts[i].status == status)
            return texts[i].text;
    return "Status";
}

const char *http_date(char dst[HTTP_DATE], int64_t wall_ns)
{
    static const char days[7][4] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char months[12][4] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                       "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    time_t seconds = (time_t)(wall_ns / 1000000000);
    struct tm tm;

    /* strftime() would speak the locale's language. */
    gmtime_r(&seconds, &tm);
    snprintf(dst, HTTP_DATE, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[tm.tm_wday], tm.tm_mday,
             months[tm.tm_mon], (tm.tm_year + 1900) % 10000, tm.tm_hour, tm.tm_min, tm.tm_sec);
    return dst;
}
