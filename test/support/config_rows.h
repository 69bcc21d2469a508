/* config_rows.h: stream configurations written as tables, for tests; included by each of them once.
 */
#ifndef TEST_CONFIG_ROWS_H
#define TEST_CONFIG_ROWS_H

#include "stream/stream_config.h"

#define CR_S  1000000000LL
#define CR_MS 1000000LL
/* Literals where the struct wants char *: tests copy a row before they let anybody change it. */
#define CR_T(s) ((char *)(s))
#define CR_STRS(...)                                                                               \
    {                                                                                              \
        (char **)(const char *[]){__VA_ARGS__},                                                    \
            sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)                                 \
    }
#define CR_SOURCE(...) (&(struct stream_source){__VA_ARGS__})
#define CR_SOURCES(...)                                                                            \
    {                                                                                              \
        (struct stream_source *[]){__VA_ARGS__},                                                   \
            sizeof((struct stream_source *[]){__VA_ARGS__}) / sizeof(struct stream_source *)       \
    }
#define CR_MAPS(...)                                                                               \
    {                                                                                              \
        (struct stream_mapping[]){__VA_ARGS__},                                                    \
            sizeof((struct stream_mapping[]){__VA_ARGS__}) / sizeof(struct stream_mapping)         \
    }
#define CR_MAP(s, d)                                                                               \
    {                                                                                              \
        CR_T(s), CR_T(d)                                                                           \
    }
#define CR_MAPPING(s, d)   (&(struct stream_mapping)CR_MAP(s, d))
#define CR_EXTERNAL(a, d)  (&(struct stream_external){CR_T(a), CR_T(d)})
#define CR_CONSUMER(n, d)  (&(struct stream_source_consumer){CR_T(n), CR_T(d)})
#define CR_REPUBLISH(s, d) (&(struct stream_republish){CR_T(s), CR_T(d), false})
#define CR_META(k, v)                                                                              \
    {                                                                                              \
        (struct json_pair[]){{CR_T(k), CR_T(v)}}, 1, true                                          \
    }
#define CR_X16   "xxxxxxxxxxxxxxxx"
#define CR_X64   CR_X16 CR_X16 CR_X16 CR_X16
#define CR_X256  CR_X64 CR_X64 CR_X64 CR_X64
#define CR_X1K   CR_X256 CR_X256 CR_X256 CR_X256
#define CR_X4K   CR_X1K CR_X1K CR_X1K CR_X1K
#define CR_X16K  CR_X4K CR_X4K CR_X4K CR_X4K
#define CR_X64K  CR_X16K CR_X16K CR_X16K CR_X16K
#define CR_X128K CR_X64K CR_X64K

struct config_row {
    struct stream_config c; /* without a name it is called S */
    uint16_t code, err_code;
    const char *text; /* NULL: accepted */
    bool entangled;   /* its fields change what others mean: not to be combined blindly */
};

#define CR_REFUSED(code, err_code, text, ...)                                                      \
    {                                                                                              \
        {__VA_ARGS__}, (code), (err_code), (text), false                                           \
    }
#define CR_ENTANGLED(code, err_code, text, ...)                                                    \
    {                                                                                              \
        {__VA_ARGS__}, (code), (err_code), (text), true                                            \
    }
#define CR_INVALID(text, ...) CR_REFUSED(500, 10052, text, __VA_ARGS__)
#define CR_ACCEPTED(...)      CR_REFUSED(0, 0, NULL, __VA_ARGS__)

#define CR_FIELD(f)                                                                                \
    {                                                                                              \
        offsetof(struct stream_config, f), sizeof(((struct stream_config *)0)->f)                  \
    }
static const struct {
    size_t at, size;
} config_row_fields[] = {
    CR_FIELD(name),
    CR_FIELD(description),
    CR_FIELD(subjects),
    CR_FIELD(retention),
    CR_FIELD(max_consumers),
    CR_FIELD(max_msgs),
    CR_FIELD(max_bytes),
    CR_FIELD(max_age_ns),
    CR_FIELD(max_msgs_per_subject),
    CR_FIELD(max_msg_size),
    CR_FIELD(discard),
    CR_FIELD(storage),
    CR_FIELD(replicas),
    CR_FIELD(no_ack),
    CR_FIELD(duplicate_window_ns),
    CR_FIELD(placement),
    CR_FIELD(mirror),
    CR_FIELD(sources),
    CR_FIELD(first_seq),
    CR_FIELD(subject_transform),
    CR_FIELD(republish),
    CR_FIELD(discard_new_per_subject),
    CR_FIELD(deny_purge),
    CR_FIELD(allow_rollup),
    CR_FIELD(allow_msg_ttl),
    CR_FIELD(subject_delete_marker_ttl_ns),
    CR_FIELD(allow_msg_counter),
    CR_FIELD(allow_atomic),
    CR_FIELD(allow_msg_schedules),
    CR_FIELD(allow_batched),
    CR_FIELD(persist_mode),
    CR_FIELD(metadata),
    CR_FIELD(pedantic),
};

/* Both rows in one configuration; false if they want different things of one field. */
static inline bool config_row_merge(struct stream_config *to, const struct stream_config *a,
                                    const struct stream_config *b)
{
    static const unsigned char zero[sizeof(struct stream_config)];

    *to = *a;
    for (size_t i = 0; i < sizeof config_row_fields / sizeof config_row_fields[0]; i++) {
        size_t at = config_row_fields[i].at, size = config_row_fields[i].size;
        const char *x = (const char *)a + at, *y = (const char *)b + at;
        if (memcmp(y, zero, size) == 0)
            continue;
        if (memcmp(x, zero, size) != 0 && memcmp(x, y, size) != 0)
            return false;
        memcpy((char *)to + at, y, size);
    }
    return true;
}

/* A copy that may be changed, and what the check makes of it. */
static inline int config_row_check(struct stream_config *out, const struct stream_config *c,
                                   const struct stream_config_world *w, struct js_error *e)
{
    struct stream_config named = *c;
    if (named.name == NULL)
        named.name = CR_T("S");
    memset(e, 0, sizeof *e);
    int rc = stream_config_copy(out, &named);
    return rc != 0 ? rc : stream_config_check(out, w, e);
}

#endif
