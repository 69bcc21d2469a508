/* conf.h: parses nats-server's configuration language into a tree of values with their places.
 * Grammar, units, includes, variables: docs/configuration.md. */
#ifndef MAYFLY_CONF_H
#define MAYFLY_CONF_H

#include "base/base.h"

enum conf_type { CONF_BOOL, CONF_INT, CONF_FLOAT, CONF_STRING, CONF_DATE, CONF_ARRAY, CONF_MAP };

struct conf_value {
    enum conf_type type;
    const char *file; /* where it stands; file lives as long as the tree */
    int line, col;
    bool used;                         /* a variable referred to it, so an unknown key is fine */
    char *key;                         /* inside a map: as written (compared without case) */
    const struct conf_value *replaced; /* an earlier entry of the same key, which does not count */
    union {
        bool b;
        int64_t i;
        double f;
        char *s; /* NUL-terminated; may hold no NUL */
        int64_t date_ns;
    } u;
    char *text;                /* a number as it was written ("10M"), else NULL */
    struct conf_value **items; /* array elements, or map entries in order, last duplicate wins */
    size_t nitems;
};

MF_MUSTCHECK int conf_parse_file(struct conf_value **out, const char *path, struct mf_error *e);
/* name stands for the file in messages; includes are relative to dir (NULL: refused). */
MF_MUSTCHECK int conf_parse_text(struct conf_value **out, struct mf_slice text, const char *name,
                                 const char *dir, struct mf_error *e);
void conf_free(struct conf_value *v);
/* Entry of a map, or NULL. */
struct conf_value *conf_get(const struct conf_value *map, const char *key);
const char *conf_type_name(enum conf_type t);

#endif
