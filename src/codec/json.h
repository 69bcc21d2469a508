/* json.h: reads JSON documents into plain structs, by tables, as Go's encoding/json does it: the
 * same strictness, the same error texts (clients show them), 64 bits for integers.  O(bytes);
 * memory from an arena. (jansson holds no unsigned 64 bit numbers and has other words for errors.)
 */
#ifndef MAYFLY_JSON_H
#define MAYFLY_JSON_H

#include "base/arena.h"

enum json_kind {
    JSON_BOOL,     /* bool */
    JSON_I64,      /* int64_t: Go's int64 */
    JSON_INT,      /* int64_t: Go's int (the same range, another word in errors) */
    JSON_DURATION, /* int64_t nanoseconds: Go's time.Duration (and another) */
    JSON_I32,      /* int32_t */
    JSON_U64,      /* uint64_t */
    JSON_F64,      /* double */
    JSON_STR,      /* char *, in the arena, NUL-terminated; U+0000 in the text becomes U+FFFD */
    JSON_TIME, /* int64_t ns since 1970, CLOCK_ZERO for Go's zero time; RFC 3339 with any offset */
    JSON_STRS, /* struct json_strs */
    JSON_DURATIONS, /* struct json_durations */
    JSON_MAP,       /* struct json_map: object of strings, sorted by key */
    JSON_OBJECT,    /* the struct itself, embedded */
    JSON_POINTER,   /* pointer to a struct in the arena; null: NULL */
    JSON_OBJECTS,   /* struct json_objects: array of structs */
    JSON_POINTERS,  /* struct json_objects of pointers: array whose entries may be null */
    JSON_ENUM,      /* int; json_field.parse turns the raw JSON value into it */
    JSON_RAW,       /* struct mf_slice of the value's own text, in the arena */
};

struct json_strs {
    char **at;
    size_t n;
};
struct json_durations { /* nanoseconds */
    int64_t *at;
    size_t n;
};
struct json_pair {
    char *key, *value;
};
struct json_map {
    struct json_pair *at;
    size_t n;
    bool set; /* the field was there, perhaps as {} */
};
struct json_objects {
    void *at; /* n structs, or n pointers */
    size_t n;
};

struct json_type;
struct json_field {
    const char *name;
    enum json_kind kind;
    size_t offset;
    const struct json_type *type; /* JSON_OBJECT, _POINTER, _OBJECTS, _POINTERS */
    /* JSON_ENUM: raw is the value as it stands in the text.  0 and *out, or with the text in e:
     * MF_UNSUPPORTED for an unknown word, else MF_INVAL. */
    int (*parse)(struct mf_slice raw, int *out, struct mf_error *e);
    ptrdiff_t set_offset; /* of a bool: the field was there, not null; 0: none */
};
struct json_type {
    const char *go_name; /* "StreamConfig", as errors show it (package server) */
    size_t size;
    const struct json_field *fields;
    size_t nfields;
};

/* Reads as nats-server reads its requests.  Fields that are not in the text stay as they are in
 * *out; names match exactly, else in any case; of several the last wins; null leaves plain values
 * as they are.  Several documents one after the other are read in turn onto the same struct; none
 * at all is fine.  strict: unknown fields are refused.  Not strict: when that fails, the text is
 * read again as json_unmarshal() would.  The error's text is Go's, without "invalid JSON: ", cut to
 * what struct mf_error holds.  MF_INVAL, MF_NOMEM; MF_UNSUPPORTED: a field or a word is unknown, so
 * a later version may know it.  *out may be half filled after an error. Memory:
 * a small multiple of the text's length; the stack in use depends on the types alone. */
MF_MUSTCHECK int json_read(struct mf_slice text, const struct json_type *t, void *out,
                           struct arena *mem, bool strict, struct mf_error *e);
/* Go's json.Unmarshal: exactly one document, unknown fields are skipped. */
MF_MUSTCHECK int json_unmarshal(struct mf_slice text, const struct json_type *t, void *out,
                                struct arena *mem, struct mf_error *e);
/* For json_field.parse, which gets one checked value.  Fails with nats-server's text for an
 * unknown word: always MF_UNSUPPORTED. */
int json_refuse_word(struct mf_slice raw, struct mf_error *e);
/* The value as a string, as Go's json.Unmarshal reads it (null: ""). */
MF_MUSTCHECK int json_parse_string(struct mf_slice raw, char **out, struct arena *mem,
                                   struct mf_error *e);
/* One document that is an array: the texts of its elements, borrowed from `text`; their list is in
 * the arena.  MF_INVAL with Go's text in e and *offset: the offending byte, from 1, or the length
 * where the text ends too early; 0: the text is empty, or JSON but no array. */
MF_MUSTCHECK int json_split_array(struct mf_slice text, struct mf_slice **items, size_t *n,
                                  size_t *offset, struct arena *mem, struct mf_error *e);
/* The same for an object: the names of its members, decoded, and the texts of their values, in the
 * order of the text; a name that repeats is listed each time. */
struct json_member {
    char *name;
    struct mf_slice value;
};
MF_MUSTCHECK int json_split_object(struct mf_slice text, struct json_member **members, size_t *n,
                                   struct arena *mem, struct mf_error *e);
/* RFC 3339 as Go's time.Parse takes it, which is more than the RFC allows (one digit for the hour,
 * a comma before the fraction).  Times that int64_t cannot hold become the nearest it can.  0, or
 * MF_INVAL with Go's text in e.  No allocation. */
MF_MUSTCHECK int json_parse_time(struct mf_slice text, int64_t *out, struct mf_error *e);
/* Does the body hold a document at all: is its first byte after blanks a '{' or '['? */
bool json_is_document(struct mf_slice text);

#endif
