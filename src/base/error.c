/* error.c: texts of the error codes, and the text that an error collects on its way up. */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>

const char *mf_err_text(int code)
{
    switch (code) {
    case 0:
        return "no error";
#define MF_ERR_CASE(name, value, text)                                                             \
    case name:                                                                                     \
        return text;
        MF_ERRORS(MF_ERR_CASE)
#undef MF_ERR_CASE
    default:
        return "unknown error";
    }
}

/* Appends ": cause" to the text, cut where it does not fit. */
static void add_cause(struct mf_error *e, const char *cause)
{
    size_t len = strlen(e->text);

    snprintf(e->text + len, sizeof e->text - len, "%s%s", len == 0 ? "" : ": ", cause);
}

/* The texts of these codes are a full reason, so the caller only names the place.  Other codes
 * need a reason from the caller. */
static bool explains_itself(int code)
{
    return code == MF_NOMEM || code == MF_CORRUPT;
}

int mf_fail(struct mf_error *e, int code, const char *fmt, ...)
{
    if (e == NULL)
        return code;
    e->code = code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    if (e->text[0] == '\0' || explains_itself(code))
        add_cause(e, mf_err_text(code));
    return code;
}

int mf_fail_errno(struct mf_error *e, int code, const char *fmt, ...)
{
    int saved = errno;

    if (e == NULL)
        return code;
    e->code = code;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    char text[128];
    /* The GNU variant: returns the text, which need not be in the buffer. */
    add_cause(e, strerror_r(saved, text, sizeof text));
    errno = saved;
    return code;
}

int mf_wrap(struct mf_error *e, const char *fmt, ...)
{
    if (e == NULL)
        return MF_INVAL;
    char former[sizeof e->text];
    memcpy(former, e->text, sizeof former);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(e->text, sizeof e->text, fmt, ap);
    va_end(ap);
    add_cause(e, former);
    return e->code;
}
