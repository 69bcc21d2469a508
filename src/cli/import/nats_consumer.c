/* nats_consumer.c: the consumers of a stream of nats-server, as entries of an archive. */
#include "cli/import/nats_store_impl.h"

#include "base/array.h"
#include "codec/jsonw.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define META_MAX  (1u << 20)
#define STATE_MAX (64u << 20)

static void write_pair(struct jsonw *w, const char *key, uint64_t consumer, uint64_t stream)
{
    jsonw_object(w, key);
    jsonw_u64(w, "consumer_seq", consumer);
    jsonw_u64(w, "stream_seq", stream);
    jsonw_end(w);
}

static int write_maps(struct jsonw *w, struct natsfile_consumer *x)
{
    uint64_t sseq, dseq;
    int64_t sent;
    char key[24];

    jsonw_object(w, "pending");
    while (x->pending > 0) {
        if (natsfile_consumer_pending(x, &sseq, &dseq, &sent) != 0)
            return MF_CORRUPT;
        (void)snprintf(key, sizeof key, "%llu", (unsigned long long)sseq);
        jsonw_object(w, key);
        jsonw_u64(w, "Sequence", dseq);
        jsonw_i64(w, "Timestamp", sent);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_object(w, "redelivered");
    while (x->redelivered > 0) {
        if (natsfile_consumer_again(x, &sseq, &dseq) != 0)
            return MF_CORRUPT;
        (void)snprintf(key, sizeof key, "%llu", (unsigned long long)sseq);
        jsonw_u64(w, key, dseq);
    }
    jsonw_end(w);
    return 0;
}

static int write_doc(struct mf_buf *out, const char *config, struct natsfile_consumer *x)
{
    struct jsonw w;
    int rc;

    jsonw_begin(&w, out, JSONW_COMPACT);
    jsonw_object(&w, NULL);
    jsonw_raw(&w, "config", mf_str(config));
    jsonw_object(&w, "state");
    write_pair(&w, "delivered", x->dseq, x->sseq);
    write_pair(&w, "ack_floor", x->floor_dseq, x->floor_sseq);
    rc = write_maps(&w, x);
    jsonw_end(&w);
    jsonw_end(&w);
    return rc == 0 && mf_buf_failed(out) ? MF_NOMEM : rc;
}

/* A consumer that never wrote its state starts where its policy says.  false: that depends on
 * messages. */
static bool start_state(const json_t *config, struct natsfile_consumer *x)
{
    const char *policy = json_string_value(json_object_get(config, "deliver_policy"));
    json_int_t seq = json_integer_value(json_object_get(config, "opt_start_seq"));

    *x = (struct natsfile_consumer){.version = 2};
    if (policy == NULL || strcmp(policy, "all") == 0)
        return true;
    if (strcmp(policy, "by_start_sequence") != 0)
        return false;
    x->sseq = x->floor_sseq = seq > 0 ? (uint64_t)seq - 1 : 0;
    return true;
}

static void fit_config(struct nats_store *s, json_t *config, const char *name)
{
    json_object_del(config, "Created"); /* not of the configuration */
    json_object_del(config, "Name");
    json_object_del(config, "created");
    if (json_integer_value(json_object_get(config, "num_replicas")) > 1) {
        json_object_set_new(config, "num_replicas", json_integer(1));
        nats_notes_add(&s->remarks, "consumer %s: num_replicas becomes 1", name);
    }
}

static int add_consumer(struct nats_store *s, const char *name, json_t *config,
                        struct natsfile_consumer *x)
{
    struct nats_consumer *c;
    char *text;
    int rc;

    if (mf_array_reserve(&s->consumers, &s->consumers_cap, s->nconsumers + 1,
                         sizeof *s->consumers) != 0)
        return MF_NOMEM;
    fit_config(s, config, name);
    text = json_dumps(config, JSON_COMPACT);
    if (text == NULL)
        return MF_NOMEM;
    c = &s->consumers[s->nconsumers];
    *c = (struct nats_consumer){.doc = MF_BUF_INIT};
    (void)snprintf(c->name, sizeof c->name, "%s", name);
    rc = write_doc(&c->doc, text, x);
    free(text);
    if (rc == 0)
        s->nconsumers++;
    else
        mf_buf_fini(&c->doc);
    return rc;
}

/* Reads the files of one consumer.  Damage is noted; the consumer is left out. */
static int read_consumer(struct nats_store *s, const char *dir, const char *name)
{
    struct mf_buf meta = MF_BUF_INIT, sum = MF_BUF_INIT, state = MF_BUF_INIT;
    struct natsfile_consumer x;
    json_t *config = NULL;
    char key[600];
    int rc;

    rc = nats_store_read(dir, "meta.inf", META_MAX, &meta, NULL);
    if (rc == MF_NOTFOUND) /* creating or deleting it was cut short */
        nats_notes_add(&s->remarks, "obs/%s: no consumer (no meta.inf); ignored", name);
    else if (rc != 0)
        nats_notes_add(&s->damage, "obs/%s/meta.inf: cannot be read; the consumer is left out",
                       name);
    if (rc != 0) {
        mf_buf_fini(&meta);
        return 0;
    }
    (void)snprintf(key, sizeof key, "%s/%s", s->name, name);
    rc = nats_store_read(dir, "meta.sum", 64, &sum, NULL);
    if (rc != 0 || !nats_store_sum_matches(mf_buf_slice(&meta), mf_buf_slice(&sum), key))
        nats_notes_add(&s->damage, "obs/%s/meta.inf: %s", name,
                       rc != 0 ? "meta.sum is missing" : "wrong checksum");
    config = json_loadb((const char *)meta.ptr, meta.len, 0, NULL);
    rc = nats_store_read(dir, "o.dat", STATE_MAX, &state, NULL);
    if (!json_is_object(config))
        nats_notes_add(&s->damage, "obs/%s/meta.inf: not JSON; the consumer is left out", name);
    else if (rc == MF_NOTFOUND && !start_state(config, &x))
        nats_notes_add(&s->damage, "obs/%s/o.dat: missing; the consumer is left out", name);
    else if (rc != MF_NOTFOUND &&
             (rc != 0 || natsfile_consumer_open(&x, mf_buf_slice(&state)) != 0))
        nats_notes_add(&s->damage, "obs/%s/o.dat: damaged; the consumer is left out", name);
    else if (add_consumer(s, name, config, &x) != 0)
        nats_notes_add(&s->damage, "obs/%s: out of memory; the consumer is left out", name);
    json_decref(config);
    mf_buf_fini(&meta);
    mf_buf_fini(&sum);
    mf_buf_fini(&state);
    return 0;
}

int nats_consumers_load(struct nats_store *s, struct mf_error *e)
{
    char path[4096], one[4096 + 300];
    struct dirent **list;
    int n, rc = 0;

    (void)snprintf(path, sizeof path, "%s/obs", s->dir);
    errno = 0;
    n = scandir(path, &list, NULL, alphasort);
    if (n < 0 && errno != ENOENT)
        return mf_fail_errno(e, MF_IO, "%s", path);
    if (n < 0)
        return 0; /* never had a consumer */
    for (int i = 0; i < n; i++) {
        const char *name = list[i]->d_name;

        if (name[0] != '.' && rc == 0) {
            (void)snprintf(one, sizeof one, "%s/%s", path, name);
            rc = read_consumer(s, one, name);
        }
        free(list[i]);
    }
    free(list);
    return rc == 0 ? 0 : mf_fail(e, rc, "%s", path);
}
