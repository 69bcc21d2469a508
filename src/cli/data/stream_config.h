/* stream_config.h: flags of `stream create` and `stream edit` as fields of a stream's config. */
#ifndef CLI_DATA_STREAM_CONFIG_H
#define CLI_DATA_STREAM_CONFIG_H

#include "cli/data/data.h"
#include "cli/table.h"

/* The flags that were given change the config; the others leave it.  0 or CLI_USAGE, printed. */
MF_MUSTCHECK int stream_config_apply(struct cli *c, json_t *config);
/* --config FILE.json, or an empty object. */
MF_MUSTCHECK int stream_config_load(struct cli *c, json_t **config);
/* {"field": {"from": ..., "to": ...}} for all that differs; members of metadata one by one. */
json_t *stream_config_compare(const json_t *from, const json_t *to);
void stream_config_print_changes(struct cli *c, const json_t *changes);
/* A field as people read it: 1h0m0s for times, 10.0 MB for sizes, "unlimited".  NULL: unset. */
void stream_config_text(const char *field, const json_t *value, struct mf_buf *out);
/* A row of a table with two columns; one for each metadata that is not the server's own. */
void stream_config_add_row(struct table *t, const char *name, const char *field,
                           const json_t *value);
void stream_config_add_metadata(struct table *t, const json_t *config);

#endif
