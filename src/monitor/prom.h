/* prom.h: writes Prometheus' text format.  All series of one name follow each other, under one
 * head:
 *
 *     prom_metric(b, "mayfly_up", "gauge", "1.", 1);
 *     prom_head(b, "mayfly_x", "counter", "Of each account.");
 *     prom_label(b, "mayfly_x", '{', "account", "A");  prom_label(b, "", ',', "stream", "S");
 *     prom_value(b, "}", 1);
 */
#ifndef MAYFLY_PROM_H
#define MAYFLY_PROM_H

#include "base/buf.h"

/* A metric without labels: its head and its value. */
void prom_metric(struct mf_buf *b, const char *name, const char *type, const char *help,
                 double value);
void prom_head(struct mf_buf *b, const char *name, const char *type, const char *help);
/* One label of a series: name of the metric ("" but for the first), the character before it, and
 * the label; the value is escaped. */
void prom_label(struct mf_buf *b, const char *name, char before, const char *label,
                const char *value);
void prom_value(struct mf_buf *b, const char *end, double value); /* ends a series */

#endif
