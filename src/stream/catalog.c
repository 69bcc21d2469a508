/* catalog.c: finding and listing streams; the entries behind it; closing. */
#include "stream/catalog_impl.h"

#include "base/array.h"
#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>

/* --- entries ------------------------------------------------------------------------------- */

struct entry *entry_find(const struct catalog *c, struct mf_slice name, size_t *at)
{
    size_t low = 0, high = c->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int d = mf_compare(name, mf_str(c->at[middle]->name));
        if (d == 0) {
            *at = middle;
            return c->at[middle];
        }
        if (d > 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return NULL;
}

struct entry *entry_add(struct catalog *c, struct mf_slice name)
{
    struct entry *e = calloc(1, sizeof *e);
    size_t at;

    if (e == NULL || (e->name = mf_slice_dup(name)) == NULL) {
        free(e);
        return NULL;
    }
    if (mf_array_reserve(&c->at, &c->cap, c->count + 1, sizeof(struct entry *)) != 0) {
        free(e->name);
        free(e);
        return NULL;
    }
    e->c = c;
    mf_list_init(&e->waits);
    stream_config_init(&e->cfg);
    (void)entry_find(c, name, &at);
    memmove(c->at + at + 1, c->at + at, (c->count - at) * sizeof(struct entry *));
    c->at[at] = e;
    c->count++;
    return e;
}

void entry_told(struct entry *e)
{
    struct mf_list waits, *n;

    mf_list_init(&waits);
    mf_list_move(&waits, &e->waits);
    while ((n = mf_list_pop(&waits)) != NULL) {
        struct catalog_wait *w = mf_container(n, struct catalog_wait, node);
        w->done(w);
    }
}

void entry_drop(struct entry *e)
{
    struct catalog *c = e->c;
    struct mf_list waits;
    size_t at;

    if (entry_find(c, mf_str(e->name), &at) == e) {
        memmove(c->at + at, c->at + at + 1, (c->count - at - 1) * sizeof(struct entry *));
        c->count--;
    }
    mf_list_init(&waits);
    mf_list_move(&waits, &e->waits);
    loop_job_free(e->job);
    claims_drop(&e->claims, c);
    claims_drop(&e->wanted, c);
    stream_config_fini(&e->cfg);
    free(e->reason);
    free(e->name);
    free(e);
    for (struct mf_list *n; (n = mf_list_pop(&waits)) != NULL;) {
        struct catalog_wait *w = mf_container(n, struct catalog_wait, node);
        w->done(w);
    }
}

/* Part by part from the root down. */
static int open_parts(struct catalog *c, unsigned flags, struct store_folder **out,
                      struct mf_error *e)
{
    struct store_folder *at = store_folder_retain(c->o.root), *next = NULL;
    const char *part = c->dir;
    int rc = 0;

    while (rc == 0 && *part != '\0') {
        size_t n = strcspn(part, "/");
        char *name = mf_slice_dup(mf_slice(part, n));
        rc = name == NULL ? mf_fail(e, MF_NOMEM, "streams")
                          : store_folder_open(&next, at, name, flags, e);
        free(name);
        store_folder_release(at);
        at = next;
        next = NULL;
        part += n + (part[n] == '/');
    }
    if (rc == 0)
        *out = at;
    return rc;
}

int catalog_folder(struct catalog *c, bool make, struct store_folder **out, struct mf_error *e)
{
    int rc = 0;

    pthread_mutex_lock(&c->mutex);
    if (c->folder == NULL)
        rc = open_parts(c, make ? STORE_FOLDER_MAKE : 0, &c->folder, e);
    *out = c->folder;
    pthread_mutex_unlock(&c->mutex);
    return rc;
}

void entry_store_opts(const struct entry *e, const struct stream_config *cfg, struct store_opts *o)
{
    const struct catalog_opts *c = &e->c->o;
    bool memory = cfg->storage == STORAGE_MEMORY;

    *o = (struct store_opts){.sync = STORE_SYNC_ALWAYS,
                             .first_seq = cfg->first_seq,
                             .no_checkpoint = memory,
                             .gather = true,
                             .patrol = memory ? NULL : c->host->patrol,
                             .secret = memory ? NULL : c->secret,
                             .name = e->name};
    if (memory) {
        o->sync = STORE_SYNC_NEVER;
    } else if (cfg->persist_mode == PERSIST_ASYNC || c->sync_interval_ns > 0) {
        o->sync = STORE_SYNC_INTERVAL;
        o->sync_interval_ns = c->sync_interval_ns > 0 ? c->sync_interval_ns : 1000000000;
    }
}

/* Its folder has its name, which the journal's entries state. */
void entry_share(const struct entry *e, struct store *s, const struct stream_config *cfg)
{
    struct mf_buf path = MF_BUF_INIT;
    struct store_opts o;

    entry_store_opts(e, cfg, &o);
    if (e->c->o.host->journal == NULL || o.sync != STORE_SYNC_ALWAYS)
        return;
    mf_buf_printf(&path, "%s/%s", e->c->dir, e->name);
    const char *text = mf_buf_cstr(&path);
    if (text == NULL || store_join_journal(s, e->c->o.host->journal, text) != 0)
        log_warn("stream %s: no memory for the commit journal: its commits are synced alone",
                 e->name);
    mf_buf_fini(&path);
}

/* --- finding ------------------------------------------------------------------------------- */

struct stream *catalog_find(struct catalog *c, struct mf_slice name)
{
    size_t at;
    struct entry *e = entry_find(c, name, &at);

    return e != NULL && entry_found(e) ? e->stream : NULL;
}

bool catalog_busy(struct catalog *c, struct mf_slice name, struct catalog_wait *w)
{
    size_t at;
    struct entry *e = entry_find(c, name, &at);

    if (e == NULL || e->op == NULL) /* who makes, changes or deletes it waits for that */
        return false;
    mf_list_push(&e->waits, &w->node);
    return true;
}

size_t catalog_count(const struct catalog *c)
{
    return c->ready;
}

bool catalog_touches(const struct stream *s, struct mf_slice subject)
{
    for (size_t i = 0; i < s->cfg.subjects.n; i++)
        if (subject_overlap(mf_str(s->cfg.subjects.at[i]), subject))
            return true;
    return false;
}

size_t catalog_behind(const struct catalog *c, struct mf_slice name)
{
    size_t at;

    if (name.len == 0)
        return 0;
    return entry_find(c, name, &at) != NULL ? at + 1 : at;
}

static const char *reason_of(const struct entry *e)
{
    return e->reason != NULL ? e->reason : "unknown";
}

bool catalog_at(const struct catalog *c, size_t place, struct catalog_item *out)
{
    const struct entry *e;

    if (place >= c->count)
        return false;
    e = c->at[place];
    *out = (struct catalog_item){.name = e->name,
                                 .stream = entry_found(e) ? e->stream : NULL,
                                 .reason = e->state == ENTRY_OFFLINE ? reason_of(e) : NULL};
    return true;
}

void catalog_each(struct catalog *c, struct mf_slice subject,
                  void (*visit)(void *arg, struct stream *s), void *arg)
{
    for (size_t i = 0; i < c->count; i++)
        if (entry_found(c->at[i]) &&
            (subject.len == 0 || catalog_touches(c->at[i]->stream, subject)))
            visit(arg, c->at[i]->stream);
}

void catalog_each_offline(struct catalog *c,
                          void (*visit)(void *arg, const char *name, const char *reason), void *arg)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->at[i]->state == ENTRY_OFFLINE)
            visit(arg, c->at[i]->name, reason_of(c->at[i]));
}

const char *catalog_offline(struct catalog *c, struct mf_slice name)
{
    size_t at;
    struct entry *e = entry_find(c, name, &at);

    if (e == NULL || e->state != ENTRY_OFFLINE)
        return NULL;
    return reason_of(e);
}

static const struct stream_config *config_of(const struct entry *e)
{
    if (e->state == ENTRY_MAKING)
        return &e->cfg;
    return entry_found(e) ? &e->stream->cfg : NULL;
}

const struct stream_config *catalog_config(struct catalog *c, struct mf_slice name)
{
    size_t at;
    const struct entry *e = entry_find(c, name, &at);

    return e == NULL ? NULL : config_of(e);
}

int claims_add(struct claims *claims, struct entry *e, const struct stream_config *cfg)
{
    size_t n = cfg->subjects.n, size = 0, i;
    struct pattern_entry *at;
    char *text;
    int rc = 0;

    *claims = (struct claims){NULL, 0};
    if (n == 0) /* a mirror, or sources alone */
        return 0;
    for (i = 0; i < n; i++)
        size += strlen(cfg->subjects.at[i]);
    at = malloc(n * sizeof *at + size);
    if (at == NULL)
        return MF_NOMEM;
    *claims = (struct claims){at, 0};
    text = (char *)(at + n);
    for (i = 0; rc == 0 && i < n; i++) {
        size_t len = strlen(cfg->subjects.at[i]);
        memcpy(text, cfg->subjects.at[i], len);
        at[i] = (struct pattern_entry){.text = mf_slice(text, len), .owner = e};
        text += len;
        rc = pattern_tree_add(&e->c->subjects, &at[i]);
        claims->n += rc == 0;
    }
    if (rc != 0)
        claims_drop(claims, e->c);
    return rc;
}

void claims_drop(struct claims *claims, struct catalog *c)
{
    for (size_t i = 0; i < claims->n; i++)
        pattern_tree_del(&c->subjects, &claims->at[i]);
    free(claims->at);
    *claims = (struct claims){NULL, 0};
}

int catalog_overlaps(struct catalog *c, const struct stream_config *cfg, const char *except)
{
    struct pattern_set set;
    size_t at;
    int rc = pattern_set_strings(&set, cfg->subjects.at, cfg->subjects.n, NULL);

    if (rc == 0)
        rc = pattern_set_overlaps(&set, &c->subjects, entry_find(c, mf_str(except), &at));
    pattern_set_fini(&set);
    return rc;
}

void catalog_reserved(struct catalog *c, struct stream_usage *out)
{
    *out = (struct stream_usage){0};
    for (size_t i = 0; i < c->count; i++) {
        const struct stream_config *cfg = config_of(c->at[i]);
        if (cfg == NULL || cfg->max_bytes <= 0)
            continue;
        if (cfg->storage == STORAGE_MEMORY)
            out->memory += cfg->max_bytes;
        else
            out->file += cfg->max_bytes;
    }
}

/* --- closing ------------------------------------------------------------------------------- */

void catalog_free(struct catalog *c)
{
    while (c->count > 0)
        entry_drop(c->at[c->count - 1]);
    store_folder_release(c->folder);
    pthread_mutex_destroy(&c->mutex);
    free(c->at);
    free(c->dir);
    free(c);
}

void catalog_check_closed(struct catalog *c)
{
    if (!c->closing || c->jobs > 0 || c->closing_streams > 0)
        return;
    for (size_t i = 0; i < c->count; i++)
        if (c->at[i]->state == ENTRY_READY)
            return; /* finished being made just now: it is closed next */
    void (*closed)(void *) = c->closed;
    void *arg = c->closed_arg;
    catalog_free(c);
    closed(arg);
}

static void stream_gone(void *arg)
{
    struct entry *e = arg;
    struct catalog *c = e->c;

    c->closing_streams--;
    e->stream = NULL;
    catalog_check_closed(c);
}

static void store_gone(void *arg)
{
    struct catalog *c = arg;

    c->closing_streams--;
    catalog_check_closed(c);
}

static void close_ready(struct catalog *c)
{
    /* Closing one may end others' waiting, but never changes the list: no request is served any
     * more. */
    for (size_t i = 0; i < c->count; i++) {
        struct entry *e = c->at[i];
        if (e->state == ENTRY_OFFLINE && e->store != NULL) {
            struct store *st = e->store;
            e->store = NULL;
            c->closing_streams++;
            store_close(st, store_gone, c);
        }
        if (e->state != ENTRY_READY || e->moving) /* the latter comes back when it is done */
            continue;
        e->state = ENTRY_DELETING;
        c->closing_streams++;
        c->o.removed(c->o.arg, e->stream);
        stream_close(e->stream, stream_gone, e);
    }
}

void catalog_close(struct catalog *c, void (*closed)(void *arg), void *arg)
{
    c->closing = true;
    c->closed = closed;
    c->closed_arg = arg;
    c->closing_streams++; /* so that it does not end inside the loop */
    close_ready(c);
    c->closing_streams--;
    catalog_check_closed(c);
}
