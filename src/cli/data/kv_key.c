/* kv_key.c: `mayfly kv put|get|del|purge`: one key of a bucket. */
#include "cli/data/kv.h"

#include "base/clock.h"
#include "cli/data/data_impl.h"
#include "cli/human.h"

#define WRONG_LAST      10071
#define WRONG_LAST_ONLY 10164 /* the same, from a server that does not know which */
#define EXPECT          "Nats-Expected-Last-Subject-Sequence"

const struct cli_flag kv_put_flags[] = {
    {"ttl", 0, CLI_TEXT, "TIME", "lifetime of this value: 90s, 1h30m, 7d, never"},
    {"create", 0, CLI_SWITCH, NULL, "only if the key has no value"},
    {"revision", 0, CLI_NUMBER, "N", "only if the key's last revision is N"},
    {"file", 'f', CLI_TEXT, "FILE", "read the value from a file"},
    {0},
};
const struct cli_flag kv_get_flags[] = {
    {"revision", 0, CLI_NUMBER, "N", "the value of revision N"},
    {"raw", 'r', CLI_SWITCH, NULL, "the value only, as without this flag"},
    {0},
};
const struct cli_flag kv_del_flags[] = {
    {"revision", 0, CLI_NUMBER, "N", "only if the key's last revision is N"},
    {0},
};
const struct cli_flag kv_purge_flags[] = {
    {"revision", 0, CLI_NUMBER, "N", "only if the key's last revision is N"},
    {"ttl", 0, CLI_TEXT, "TIME", "how long the note of the purge stays (for ever)"},
    {0},
};

/* A message for the key.  Below another API prefix writes go through that, as the official clients
 * send them. */
static int make_msg(struct cli *c, const struct kv *kv, const char *key, struct mf_slice value,
                    natsMsg **m)
{
    struct mf_buf subject = MF_BUF_INIT;
    const char *prefix = connect_api_prefix(c);
    int rc;

    if (strcmp(prefix, "$JS.API") != 0)
        mf_buf_printf(&subject, "%s.", prefix);
    kv_subject(kv, key, &subject);
    rc = data_new_msg(c, m, mf_buf_cstr(&subject), NULL, value);
    mf_buf_fini(&subject);
    return rc;
}

static int set_header(struct cli *c, natsMsg *m, const char *name, const char *value)
{
    natsStatus s = natsMsgHeader_Set(m, name, value);

    return s == NATS_OK ? 0 : connect_fail(c, s, "header %s", name);
}

static int expect_revision(struct cli *c, natsMsg *m, uint64_t revision)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)revision);
    return set_header(c, m, EXPECT, text);
}

static const char *name_key(char dst[512], const struct kv *kv, const char *key)
{
    (void)snprintf(dst, 512, "%s/%s", kv->bucket, key);
    return dst;
}

/* --- put -------------------------------------------------------------------------------------- */

/* The key was not free: its last message may be a tombstone, which a new value may follow. */
static int create_after_end(struct cli *c, const struct kv *kv, const char *key, natsMsg *m,
                            json_t **ack)
{
    struct mf_buf subject = MF_BUF_INIT;
    struct message last;
    char what[512];
    int rc;

    (void)name_key(what, kv, key);
    kv_subject(kv, key, &subject);
    rc = message_get_last(c, kv->stream, mf_buf_cstr(&subject), what, true, &last);
    mf_buf_fini(&subject);
    if (rc == 0 && last.msg != NULL && message_end(&last) == NULL)
        rc = cli_fail(c, CLI_REFUSED, "refused: %s exists, revision %llu", what,
                      (unsigned long long)last.seq);
    else if (rc == 0) {
        rc = expect_revision(c, m, last.seq); /* 0: it ended just now */
        if (rc == 0)
            rc = data_publish(c, m, what, ack, NULL);
    }
    message_fini(&last);
    return rc;
}

static int store_value(struct cli *c, const struct kv *kv, const char *key, natsMsg *m,
                       json_t **ack)
{
    struct request_error err = {.code = 0};
    char what[512];
    int64_t revision = cli_number(c, "revision", -1);
    int rc = 0;

    (void)name_key(what, kv, key);
    if (cli_on(c, "create"))
        rc = expect_revision(c, m, 0);
    else if (revision >= 0)
        rc = expect_revision(c, m, (uint64_t)revision);
    if (rc == 0)
        rc = data_publish(c, m, what, ack, &err);
    if (rc == 0 && err.code != 0) {
        if (cli_on(c, "create") && (err.err_code == WRONG_LAST || err.err_code == WRONG_LAST_ONLY))
            return create_after_end(c, kv, key, m, ack);
        return request_refused(c, &err, what);
    }
    return rc;
}

static void print_stored(struct cli *c, const struct kv *kv, const char *key, const json_t *ack,
                         int64_t expires)
{
    char left[HUMAN_TEXT], when[CLOCK_TEXT];

    if (c->json) {
        json_t *doc = json_deep_copy(ack);

        if (expires != 0)
            (void)json_object_set_new(doc, "expires", json_string(clock_rfc3339(when, expires)));

        (void)json_object_set_new(doc, "bucket", json_string(kv->bucket));
        (void)json_object_set_new(doc, "key", json_string(key));
        (void)json_object_set_new(doc, "revision", json_integer(request_int(ack, "seq")));
        request_print(c, doc);
        json_decref(doc);
        return;
    }
    expires = expires == 0 ? 0 : (expires - data_now() + CLOCK_S - 1) / CLOCK_S * CLOCK_S;
    data_say(c, "%s/%s revision %lld%s%s", kv->bucket, key, (long long)request_int(ack, "seq"),
             expires == 0 ? "" : ", expires in ",
             expires == 0 ? "" : human_duration(left, expires));
}

int kv_put_run(struct cli *c)
{
    struct mf_buf value = MF_BUF_INIT;
    struct kv kv;
    natsMsg *m = NULL;
    json_t *ack = NULL;
    bool given = false;
    int rc = kv_init(c, cli_arg(c, 0), &kv);

    if (rc == 0)
        rc = kv_check_key(c, cli_arg(c, 1), false);
    if (rc == 0 && cli_on(c, "create") && cli_number(c, "revision", -1) >= 0)
        rc = cli_usage(c, "give --create or --revision, not both");
    if (rc == 0)
        rc = connect_open(c);
    if (rc == 0)
        rc = data_read_payload(c, cli_arg(c, 2), &value, &given);
    if (rc == 0 && !given)
        rc = cli_usage(c, "no value: give it as an argument, with --file, or on stdin");
    if (rc == 0)
        rc = make_msg(c, &kv, cli_arg(c, 1), mf_buf_slice(&value), &m);
    if (rc == 0)
        rc = data_add_ttl(c, m);
    if (rc == 0)
        rc = store_value(c, &kv, cli_arg(c, 1), m, &ack);
    if (rc == 0) {
        uint64_t seq = (uint64_t)request_int(ack, "seq");

        print_stored(c, &kv, cli_arg(c, 1), ack,
                     cli_text(c, "ttl") == NULL ? 0 : kv_expiry(c, &kv, cli_arg(c, 1), seq));
    }
    json_decref(ack);
    natsMsg_Destroy(m);
    mf_buf_fini(&value);
    return rc;
}

/* --- get -------------------------------------------------------------------------------------- */

static int get_revision(struct cli *c, const struct kv *kv, const char *key, int64_t revision,
                        struct message *m)
{
    char what[512];
    int rc;

    (void)snprintf(what, sizeof what, "%s/%s revision %lld", kv->bucket, key, (long long)revision);
    rc =
        message_get(c, kv->stream, json_pack("{s:I}", "seq", (json_int_t)revision), what, false, m);
    if (rc == 0 && strcmp(kv_key(kv, m), key) != 0) {
        message_fini(m);
        rc = cli_fail(c, CLI_NOT_FOUND, "revision %lld is of another key than %s",
                      (long long)revision, key);
    }
    return rc;
}

static int get_value(struct cli *c, const struct kv *kv, const char *key, struct message *m)
{
    struct mf_buf subject = MF_BUF_INIT;
    char what[512];
    int rc;

    kv_subject(kv, key, &subject);
    rc = message_get_last(c, kv->stream, mf_buf_cstr(&subject), name_key(what, kv, key), false, m);
    mf_buf_fini(&subject);
    return rc;
}

int kv_get_run(struct cli *c)
{
    const char *key = cli_arg(c, 1), *end;
    int64_t revision = cli_number(c, "revision", -1);
    struct message m = {.msg = NULL};
    char when[HUMAN_TEXT];
    struct kv kv;
    int rc = kv_open_key(c, &kv);

    if (rc == 0)
        rc = revision >= 0 ? get_revision(c, &kv, key, revision, &m) : get_value(c, &kv, key, &m);
    if (rc != 0)
        return rc;
    end = message_end(&m);
    if (end != NULL) {
        rc = cli_fail(c, CLI_NOT_FOUND, "%s/%s has no value: %s %s", kv.bucket, key, end,
                      human_time(when, m.time_ns));
    } else if (c->json) {
        json_t *doc = kv_to_json(&kv, &m, true);

        request_print(c, doc);
        json_decref(doc);
    } else {
        data_print_bytes(c, message_data(m.msg));
    }
    message_fini(&m);
    return rc;
}

/* --- del and purge ---------------------------------------------------------------------------- */

static int end_key(struct cli *c, bool purge)
{
    const char *key = cli_arg(c, 1);
    int64_t revision = cli_number(c, "revision", -1);
    natsMsg *m = NULL;
    json_t *ack = NULL;
    char what[512];
    struct kv kv;
    int rc = kv_open_key(c, &kv);

    if (rc == 0)
        rc = make_msg(c, &kv, key, MF_SLICE_NONE, &m);
    if (rc == 0)
        rc = set_header(c, m, "KV-Operation", purge ? "PURGE" : "DEL");
    if (rc == 0 && purge)
        rc = set_header(c, m, "Nats-Rollup", "sub");
    if (rc == 0 && purge)
        rc = data_add_ttl(c, m);
    if (rc == 0 && revision >= 0)
        rc = expect_revision(c, m, (uint64_t)revision);
    if (rc == 0)
        rc = data_publish(c, m, name_key(what, &kv, key), &ack, NULL);
    if (rc == 0 && c->json)
        print_stored(c, &kv, key, ack, 0);
    else if (rc == 0)
        (void)fprintf(c->term.out, "%s/%s is %s, revision %lld\n", kv.bucket, key,
                      purge ? "purged" : "deleted", (long long)request_int(ack, "seq"));
    json_decref(ack);
    natsMsg_Destroy(m);
    return rc;
}

int kv_del_run(struct cli *c)
{
    return end_key(c, false);
}

int kv_purge_run(struct cli *c)
{
    return end_key(c, true);
}
