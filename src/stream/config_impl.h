/* config_impl.h: declarations that the files about stream configurations share. */
#ifndef STREAM_CONFIG_IMPL_H
#define STREAM_CONFIG_IMPL_H

#include "base/buf.h"
#include "subject/pattern_set.h"
#include "stream/stream_config.h"

#define CONFIG_REQ_LEVEL "_nats.req.level"
#define CONFIG_VERSION   "_nats.ver"
#define CONFIG_LEVEL     "_nats.level"

/* Fills *e with JS_STREAM_INVALID_CONFIG and this text. */
#define config_invalid(e, ...) js_error_set_text((e), JS_STREAM_INVALID_CONFIG, __VA_ARGS__)

static inline bool config_empty(const char *s) /* NULL and "" mean the same */
{
    return s == NULL || *s == '\0';
}
static inline const char *config_text(const char *s)
{
    return s == NULL ? "" : s;
}
static inline bool config_same(const char *a, const char *b)
{
    return strcmp(config_text(a), config_text(b)) == 0;
}
static inline struct stream_source *config_source_at(const struct stream_config *c, size_t i)
{
    return ((struct stream_source **)c->sources.at)[i];
}
static inline const struct stream_mapping *config_mapping_at(const struct json_objects *list,
                                                             size_t i)
{
    return &((const struct stream_mapping *)list->at)[i];
}
bool config_mapping_equal(const struct stream_mapping *a, const struct stream_mapping *b);
bool config_source_equal(const struct stream_source *a, const struct stream_source *b);

/* Overlap as nats-server has it: as in subject.h, but a malformed pattern overlaps itself, and an
 * empty one (all subjects) overlaps ">". */
bool config_overlap(struct mf_slice a, struct mf_slice b);

/* A subject_transform(s) entry.  The source's error takes "invalid subject X", the destination's
 * the mapping's own words.  MF_DENIED, MF_NOMEM. */
MF_MUSTCHECK int config_check_mapping(const struct stream_mapping *m, enum js_err source_error,
                                      enum js_err dest_error, struct js_error *e);
/* Subjects: their default, their syntax, and reserved subjects that they must not match. */
MF_MUSTCHECK int config_check_subjects(struct stream_config *c, struct js_error *e);
/* Mirror, sources, their prefixes, cycles (docs/checks.md, Mirrors and sources). */
MF_MUSTCHECK int config_check_sources(struct stream_config *c, const struct stream_config_world *w,
                                      struct js_error *e);
/* Subjects of mirrors and sources (docs/checks.md, Stream create, 12).  id: the error of CREATE or
 * UPDATE. */
MF_MUSTCHECK int config_check_filters(const struct stream_config *c, enum js_err id,
                                      struct js_error *e);

/* config_policy.c: the keys mayfly.ttl.* of the metadata.  MF_DENIED with *e, MF_NOMEM. */
MF_MUSTCHECK int config_check_policy(struct stream_config *c, const struct stream_config_world *w,
                                     struct js_error *e);

#endif
