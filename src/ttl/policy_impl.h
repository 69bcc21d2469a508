/* policy_impl.h: a compiled policy.  Private to ttl. */
#ifndef POLICY_IMPL_H
#define POLICY_IMPL_H

#include "ttl/policy.h"
#include "ttl/policy_rules_impl.h"
#include "ttl/policy_subjects_impl.h"

/* The keys of each level for one stream. */
struct levels {
    struct policy_keys own;           /* of the metadata */
    bool any_own;                     /* some key of the metadata is set, rules too */
    struct mf_slice rules;            /* their text; empty: none */
    const struct policy_keys *entry;  /* of the first namespace that matches, or NULL */
    unsigned entry_no;                /* from 1 */
    const struct policy_keys *block;  /* or NULL */
    enum policy_never operator_never; /* the entry's, else the block's */
    bool letters_fit;                 /* on_expire lies within the subjects */
    int64_t operator_max;             /* the entry's, else the block's, or POLICY_UNSET */
};

struct policy {
    struct arena mem;
    struct policy_view view;
    int64_t fallback; /* the TTL of steps 3 to 7, which no message changes; before bounds */
    enum policy_by fallback_by;
    const char *const *why; /* lines of the trace about steps 3 to 7 */
    size_t nwhy;
    int64_t min_ns, max_ns;       /* 0: none */
    int64_t floor_ns, max_age_ns; /* 0: none */
    bool reject;                  /* bounds: reject */
    bool deny_never;
    bool object; /* an object store: chunks live longer than what names them */
    struct rules rules;
};

/* policy_levels.c: reads the metadata, finds the entry, and does the checks that come before the
 * rules. The errors are those of policy_compile(). */
MF_MUSTCHECK int policy_levels_read(struct levels *l, const struct policy_stream *s,
                                    const struct policy_server *srv, struct arena *mem,
                                    struct mf_error *e);
MF_MUSTCHECK int policy_levels_check(const struct levels *l, const struct policy_stream *s,
                                     const struct policy_server *srv, struct mf_error *e);
/* The checks that come after the rules in the documented order. */
MF_MUSTCHECK int policy_levels_check_late(struct levels *l, const struct policy_stream *s,
                                          struct subjects *subjects, const struct rules *rules,
                                          struct mf_error *e);
bool policy_levels_need_subjects(const struct levels *l);
bool policy_levels_reach(const struct levels *l,
                         const struct policy_stream *s); /* is there a policy? */
bool policy_levels_default_reaches(const struct levels *l, const struct policy_stream *s);
bool policy_levels_scope_fits(const struct policy_stream *s);
/* Does this pattern give `never`, and is it no offer of the operator's own? */
bool policy_levels_pattern_evades(const char *pattern, const struct policy_server *srv);

/* policy_merge.c: fills p->view and all that policy_resolve() needs but the rules. */
void policy_merge_levels(struct policy *p, const struct levels *l, const struct policy_stream *s,
                         const struct policy_server *srv);
void policy_merge_note(struct policy *p,
                       const char *line); /* a sentence of the notes, not copied */

#endif
