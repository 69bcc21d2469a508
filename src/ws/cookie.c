/* cookie.c: one cookie out of a Cookie header. */
#include "ws/ws.h"

#include "http/http.h"

static bool valid_value(struct mf_slice s)
{
    for (size_t i = 0; i < s.len; i++)
        if (s.ptr[i] < ' ' || s.ptr[i] >= 0x7f || s.ptr[i] == '"' || s.ptr[i] == '\\')
            return false;
    return true;
}

struct mf_slice ws_cookie(const char *header, const char *name)
{
    struct mf_slice list = mf_str(header), pair, found = MF_SLICE_NONE;

    while (http_next(&list, ';', &pair)) {
        const uint8_t *eq = pair.len == 0 ? NULL : memchr(pair.ptr, '=', pair.len);
        struct mf_slice value;
        if (eq == NULL || !mf_eq_str(mf_slice(pair.ptr, (size_t)(eq - pair.ptr)), name))
            continue;
        value = mf_slice(eq + 1, pair.len - (size_t)(eq + 1 - pair.ptr));
        if (value.len >= 2 && value.ptr[0] == '"' && value.ptr[value.len - 1] == '"')
            value = mf_slice(value.ptr + 1, value.len - 2);
        if (valid_value(value))
            found = value;
    }
    return found;
}
