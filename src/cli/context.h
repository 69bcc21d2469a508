/* context.h: contexts of the nats CLI: JSON files with the settings of a connection.
 *
 * They are in $XDG_CONFIG_HOME/nats/context (~/.config/nats/context); context.txt beside that
 * folder holds the name of the selected one. */
#ifndef CLI_CONTEXT_H
#define CLI_CONTEXT_H

#include "base/base.h"

#include <jansson.h>

/* Loads the context `name`, or the selected one if name is NULL.  *out is NULL if none is selected.
 * MF_NOTFOUND, MF_INVAL, MF_UNSUPPORTED: e says which file and why. */
MF_MUSTCHECK int context_load(const char *name, json_t **out, struct mf_error *e);

#endif
