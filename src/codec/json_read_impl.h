/* json_read_impl.h: shared by the files that read JSON into structs.  Private to codec. */
#ifndef BASE_JSON_READ_H
#define BASE_JSON_READ_H

#include "codec/json_scan_impl.h"

struct json_reader {
    struct json_scan scan;
    struct arena *mem;
    struct mf_error *e;
    const struct json_type *root; /* errors name it */
    bool strict;                  /* refuse unknown fields */
    bool many;                    /* documents may follow each other; errors tell their offset */
    bool valid;                   /* the error is about the meaning: the document is JSON */
};

/* The path to the value being read, innermost first, for errors. */
struct json_path {
    const struct json_path *up;
    struct mf_slice name;
    size_t index;
    bool in_array; /* index, not name */
};

/* json.c.  Each reads the value at pos, which is at its first byte, and moves behind it. */
int json_read_object(struct json_reader *r, const struct json_type *t, void *out,
                     const struct json_path *path);
int json_read_pointer(struct json_reader *r, const struct json_type *t, void **out,
                      const struct json_path *path);

/* json_plain.c */
bool json_read_null(struct json_reader *r); /* moves only if it is one */
int json_read_raw(struct json_reader *r, struct mf_slice *out);
/* The same, in the arena, with a NUL behind it. */
int json_read_raw_copy(struct json_reader *r, struct mf_slice *out);
/* null: NULL becomes "", all else stays. */
int json_read_str(struct json_reader *r, char **out, const struct json_path *path);
/* Booleans, numbers, times. */
int json_read_plain(struct json_reader *r, const struct json_field *f, void *out,
                    const struct json_path *path);
/* Reads the next "name": of an object and moves to its value, or over its '}'.  1: *name, in the
 * arena, NUL behind it (c_string: and none in it).  0: the end of the object.  Negative: an error.
 */
int json_read_name(struct json_reader *r, bool c_string, struct mf_slice *name);
/* The value at pos is not of the field's type; with_value: the error shows its text. */
int json_mismatch(struct json_reader *r, const struct json_field *f, const struct json_path *path,
                  bool with_value);
int json_unknown(struct json_reader *r, struct mf_slice name);
int json_nomem(struct json_reader *r);

/* json_map.c: maps are only appended to while a document is read; sorted, each key once, before
 * and after. */
int json_maps_open(struct json_reader *r, const struct json_type *t, void *out);
void json_maps_close(const struct json_type *t, void *out);

#endif
