/* policy_rules_impl.h: compiled rules, their expressions and links.  Private to ttl. */
#ifndef POLICY_RULES_IMPL_H
#define POLICY_RULES_IMPL_H

#include "ttl/policy_json_find_impl.h"
#include "ttl/policy.h"
#include "ttl/policy_subjects_impl.h"

#define RULES_HEADERS_MAX   64 /* distinct header names of a policy */
#define RULES_CONDITIONS    4  /* headers that one rule asks for */
#define RULES_POINTERS_MAX  4
#define RULES_POINTER_BYTES 64
#define RULES_ID_BYTES      32

/* ttl := "never" | "none" | [factor *] base */
enum expr_base { EXPR_CONST, EXPR_VALUE, EXPR_FILL, EXPR_UNTIL };
enum expr_source { EXPR_HEADER, EXPR_JSON };
struct expr {
    enum expr_base base;
    enum expr_source source;
    unsigned index;    /* of the header's name or of the pointer */
    int64_t constant;  /* EXPR_CONST: the TTL, its factor applied */
    uint32_t num, den; /* the factor; 1/1: none */
};

/* A template of literal tokens and wildcards. */
struct link_token {
    struct mf_slice literal; /* wildcard 0 only */
    unsigned wildcard;       /* the n-th '*' of the rule's subject, from 1; 0: a literal */
};
struct link {
    struct link_token *tokens;
    size_t n;             /* 0: no link */
    const char *filter;   /* all that the template can become: wildcards are '*' */
    struct mf_slice head; /* subject_head() of it */
};

struct condition {
    unsigned header;       /* index of the name */
    struct mf_slice value; /* "*": any */
};
struct rule {
    struct policy_rule_text text;
    struct mf_slice subject;
    struct mf_slice head; /* subject_head() */
    bool all;             /* the subject is ">" */
    struct condition when[RULES_CONDITIONS];
    size_t nwhen;
    bool has_ttl;
    struct expr ttl;
    struct link link;
};
struct rules {
    struct rule *at;
    size_t n;
    struct policy_rule_text *texts;             /* of all, for the view */
    struct mf_slice headers[RULES_HEADERS_MAX]; /* names that some rule asks for */
    size_t nheaders;
    const char *pointers[RULES_POINTERS_MAX];
    size_t npointers;
    bool links;  /* some rule has one */
    bool giving; /* some rule can give a TTL */
    bool never;  /* some rule can give `never` */
};

/* Values of one message, read when a rule first needs them: each header once, each pointer once. */
struct facts {
    const struct rules *rules;
    const struct policy_message *m;
    uint32_t scanned;
    bool headers_read;
    struct mf_slice headers[RULES_HEADERS_MAX]; /* ptr NULL: absent; valid if headers_read */
    struct json_fact {
        bool read, found;           /* the value, */
        bool fill_read, fill_found; /* and what fill() makes of it */
        struct mf_slice value;
        struct limit slowest;
    } json[RULES_POINTERS_MAX];
};
/* policy_facts.c */
void policy_facts_init(struct facts *f, const struct rules *r, const struct policy_message *m);
bool policy_facts_header(struct facts *f, unsigned index, struct mf_slice *value);
bool policy_facts_json(struct facts *f, unsigned index, struct mf_slice *value);
bool policy_facts_json_fill(struct facts *f, unsigned index, struct limit *slowest);

/* policy_expr.c.  Parsing interns header names and pointers in r.  MF_INVAL: no TTL expression, *e
 * is not touched; MF_LIMIT with the text in e: too many names or pointers; MF_NOMEM. */
MF_MUSTCHECK int policy_expr_parse(struct expr *x, struct mf_slice text, struct rules *r,
                                   struct arena *mem, struct mf_error *e);
/* False: the expression has no value for this message. */
bool policy_expr_value(const struct expr *x, struct facts *f, int64_t *ttl);

/* policy_link.c.  MF_INVAL with the text behind "permanent_if: ". */
MF_MUSTCHECK int policy_link_parse(struct link *l, struct mf_slice template,
                                   struct mf_slice subject, struct arena *mem, struct mf_error *e);
/* The linked subject of a message on `subject`; an empty slice: it does not fit into dst. */
#define LINK_SUBJECT_MAX 4096
struct mf_slice policy_link_fill(const struct link *l, struct mf_slice rule_subject,
                                 struct mf_slice subject, char dst[LINK_SUBJECT_MAX]);
/* The filter of the messages that link to `subject`: false if none can. */
bool policy_link_reverse(const struct link *l, struct mf_slice rule_subject,
                         struct mf_slice subject, char dst[LINK_SUBJECT_MAX],
                         struct mf_slice *filter);

/* A name of a header: the index at which it is interned.  MF_LIMIT with the text; MF_NOMEM. */
MF_MUSTCHECK int policy_rules_intern_header(struct rules *r, struct mf_slice name,
                                            struct arena *mem, unsigned *index, struct mf_error *e);
bool policy_rules_header_valid(struct mf_slice name);
/* policy_rules.c: reads the JSON text.  never_denied: the server's configuration allows no
 * `never`. */
MF_MUSTCHECK int policy_rules_read(struct rules *r, struct mf_slice text,
                                   const struct subjects *subjects, bool never_denied,
                                   struct arena *mem, struct mf_error *e);
/* No chains: a subject that a link names has no link itself. */
MF_MUSTCHECK int policy_rules_check_links(const struct rules *r, struct mf_error *e);

#endif
