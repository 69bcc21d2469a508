/* template.h: {{Count}} and its like in subjects, headers and payloads of the command line.
 *
 * As in the nats CLI: {{Count}} (from 1 on), {{Time}}, {{TimeStamp}}, {{Unix}}, {{UnixNano}},
 * {{ID}} (22 random letters and digits) and {{Random 10 100}} (10 to 100 of them).  Other words in
 * braces stay as they are. */
#ifndef CLI_DATA_TEMPLATE_H
#define CLI_DATA_TEMPLATE_H

#include "base/buf.h"

/* Appends text to out; `count` is the number of the message. */
void template_expand(struct mf_buf *out, struct mf_slice text, uint64_t count);

#endif
