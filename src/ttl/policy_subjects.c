/* policy_subjects.c: a stream's subjects in a tree of tokens. */
#include "ttl/policy_subjects_impl.h"

#include "subject/subject.h"

int policy_subjects_init(struct subjects *s, const struct json_strs *list)
{
    *s = (struct subjects){.list = list != NULL && list->n > 0 ? list : NULL};
    if (s->list == NULL)
        return 0;
    return pattern_set_strings(&s->set, s->list->at, s->list->n, NULL);
}

void policy_subjects_fini(struct subjects *s)
{
    if (s->list != NULL)
        pattern_set_fini(&s->set);
}

/* One pattern against all subjects. */
static int join_one(const struct subjects *s, struct mf_slice pattern, enum pattern_relation how)
{
    struct pattern_entry one = {.text = pattern};
    struct pattern_query q = {.how = how, .any = true, .most = PATTERN_STEPS};
    struct pattern_tree t = {.root = NULL};
    int rc = pattern_tree_add(&t, &one);

    if (rc == 0)
        rc = pattern_tree_join(&t, &s->set.tree, &q);
    pattern_tree_fini(&t);
    return rc != 0 ? rc : q.found != PATTERN_NONE;
}

int policy_subjects_overlap(const struct subjects *s, struct mf_slice pattern)
{
    return join_one(s, pattern, PATTERN_OVERLAP);
}

/* The patterns that match `pattern` as a literal subject cover it: only '*' matches its '*'.  Its
 * last '>' is an exception: '*' matches it and does not cover it. */
int policy_subjects_cover(struct subjects *s, struct mf_slice pattern)
{
    if (mf_ends(pattern, ">"))
        return join_one(s, pattern, PATTERN_WITHIN);
    return pattern_tree_match(&s->set.tree, pattern);
}
