/* prom.c: Prometheus' text format. */
#include "monitor/prom.h"

void prom_head(struct mf_buf *b, const char *name, const char *type, const char *help)
{
    mf_buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

void prom_value(struct mf_buf *b, const char *end, double value)
{
    mf_buf_printf(b, "%s %.17g\n", end, value);
}

void prom_metric(struct mf_buf *b, const char *name, const char *type, const char *help,
                 double value)
{
    prom_head(b, name, type, help);
    prom_value(b, name, value);
}

void prom_label(struct mf_buf *b, const char *name, char before, const char *label,
                const char *value)
{
    mf_buf_printf(b, "%s%c%s=\"", name, before, label);
    for (; *value != '\0'; value++) { /* names may hold anything a configuration may */
        if (*value == '\\' || *value == '"')
            mf_buf_byte(b, '\\');
        if (*value == '\n')
            mf_buf_puts(b, "\\n");
        else
            mf_buf_byte(b, (uint8_t)*value);
    }
    mf_buf_byte(b, '"');
}
