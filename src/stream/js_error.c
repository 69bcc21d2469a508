/* js_error.c: errors filled in from the table. */
#include "stream/js_error.h"

#include "base/utf8.h"

#include <assert.h>
#include <stdio.h>

static const struct {
    uint16_t code, err_code;
    const char *text;
} table[JS_ERR_COUNT] = {
#define JS_ERR_ROW(id, code, err_code, text) [id] = {code, err_code, text},
    JS_ERRORS(JS_ERR_ROW)
#undef JS_ERR_ROW
};

/* A text that did not fit must not end in half a character: it becomes JSON. */
static void cut_whole(char *text, size_t len)
{
    size_t start = len;
    uint32_t rune;

    while (start > 0 && len - start < 3 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
        start--;
    if (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0xc0 &&
        utf8_next((const uint8_t *)text + start - 1, len - start + 1, &rune) == 0)
        text[start - 1] = '\0';
}

static int fill_error(struct js_error *e, enum js_err id, const char *fmt, va_list ap)
{
    assert(id < JS_ERR_COUNT);
    if (e == NULL)
        return MF_DENIED;
    e->code = table[id].code;
    e->err_code = table[id].err_code;
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);
    if (n < 0)
        e->text[0] = '\0';
    else if ((size_t)n >= sizeof e->text)
        cut_whole(e->text, sizeof e->text - 1);
    return MF_DENIED;
}

int js_error_set(struct js_error *e, enum js_err id, ...)
{
    va_list ap;
    va_start(ap, id);
    int rc = fill_error(e, id, table[id].text, ap);
    va_end(ap);
    return rc;
}

int js_error_set_text(struct js_error *e, enum js_err id, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int rc = fill_error(e, id, fmt, ap);
    va_end(ap);
    return rc;
}

bool js_error_is(const struct js_error *e, enum js_err id)
{
    return e->err_code == table[id].err_code;
}
