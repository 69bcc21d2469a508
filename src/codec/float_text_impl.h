/* float_text_impl.h: a double in the shortest digits that read back the same.  Private to codec. */
#ifndef BASE_FLOAT_TEXT_H
#define BASE_FLOAT_TEXT_H

#define FLOAT_TEXT 40

/* As Go's encoding/json: plain notation for 1e-6 <= |v| < 1e21, otherwise 1e+21, 1.5e-7.  JSON has
 * no infinity or NaN: they are written as 0. */
const char *float_text(char dst[FLOAT_TEXT], double v);

#endif
