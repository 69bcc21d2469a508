/* js_error.h: JetStream's error table: code, err_code and text, exactly as clients know them. */
#ifndef MAYFLY_JS_ERROR_H
#define MAYFLY_JS_ERROR_H

#include "base/base.h"
#include "stream/js_error_table.h"

struct js_error {
    uint16_t code;     /* as in HTTP: 400, 404, 500... */
    uint16_t err_code; /* NATS's own number */
    char text[1024];
};

enum js_err {
#define JS_ERR_ENUM(id, code, err_code, text) id,
    JS_ERRORS(JS_ERR_ENUM)
#undef JS_ERR_ENUM
        JS_ERR_COUNT
};
/* The err_code of each entry: JS_STREAM_NOT_FOUND_CODE. */
enum js_err_code {
#define JS_ERR_CODE(id, code, err_code, text) id##_CODE = (err_code),
    JS_ERRORS(JS_ERR_CODE)
#undef JS_ERR_CODE
};
/* Fills e (may be NULL) with the entry of the table; the arguments replace each %s of its text.
 * Always returns MF_DENIED. */
int js_error_set(struct js_error *e, enum js_err id, ...);
/* The same codes with another text: for entries whose text in nats-server is that of its cause
 * (JS_STREAM_INVALID_CONFIG, JS_INVALID_JSON and others). */
int js_error_set_text(struct js_error *e, enum js_err id, const char *fmt, ...) MF_PRINTF(3, 4);
/* e has the err_code of this entry. */
bool js_error_is(const struct js_error *e, enum js_err id);

#endif
