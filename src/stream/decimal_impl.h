/* decimal_impl.h: whole numbers of any size as decimal text, for counters.  Pure; O(digits).
 *
 * Counters live as text (in headers, in payloads, in answers), so sums are made on the digits
 * themselves: nothing is converted there and back. */
#ifndef DECIMAL_H
#define DECIMAL_H

#include "base/buf.h"

/* More digits than a header block can hold; a number beyond it is refused. */
#define DECIMAL_MAX 65536

/* digits: borrowed, 1..DECIMAL_MAX of them, no leading zero but "0" itself, which is never
 * negative. */
struct decimal {
    struct mf_slice digits;
    bool negative;
};

#define DECIMAL_ZERO ((struct decimal){MF_LIT("0"), false})

/* [+-]?[0-9]+ and nothing else; false: it is not, or it has too many digits. */
bool decimal_parse(struct mf_slice text, struct decimal *out);
/* Appends the text of a + b.  MF_LIMIT: too many digits.  MF_NOMEM. */
MF_MUSTCHECK int decimal_add(struct mf_buf *out, struct decimal a, struct decimal b);

#endif
