/* pages_leaf_impl.h: what leaf links add to pages, metrics and events. */
#ifndef MAYFLY_STATUS_PAGES_LEAF_IMPL_H
#define MAYFLY_STATUS_PAGES_LEAF_IMPL_H

#include "config/options_leaf.h"
#include "leaf/leaf_view.h"
#include "status/pages_impl.h"

void page_leaf_totals(const struct status *s, struct leaf_totals *out); /* 0 without links */
uint32_t page_leaf_count(const struct status *s);
void page_leaf_config(struct status *s, struct jsonw *w); /* the member "leaf" of /varz */
/* A link as /connz and events show it; borrows from the link. */
void page_leaf_client(const struct leaf_link *l, struct client_info *out);
/* Adds the steps of the metrics of links and remotes. */
void page_leaf_metrics(struct status *s, struct doc *d);

#endif
