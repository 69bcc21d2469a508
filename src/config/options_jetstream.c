/* options_jetstream.c: the jetstream block. */
#include "config/options_impl.h"

#define JS(member) offsetof(struct options_jetstream, member)

/* --- jetstream -------------------------------------------------------------------------------- */

static void read_store_dir(struct opt *c, const struct conf_value *v, void *js)
{
    struct options_jetstream *j = js;
    if (j->store_dir != NULL) /* also a top-level key */
        opt_error(c, v, "Duplicate 'store_dir' configuration");
    else
        opt_string(c, v, &j->store_dir);
}

/* Each commit is synced unless a duration is configured. */
static void read_sync(struct opt *c, const struct conf_value *v, void *js)
{
    struct options_jetstream *j = js;
    int64_t ns;
    if (opt_is_word(v, "always")) {
        j->sync_always = true;
        j->sync_interval_ns = 0;
        return;
    }
    if (!opt_duration(c, v, &ns))
        return;
    if (ns < 0) {
        opt_error(c, v, "\"%s\" can not be negative: expected always, or a duration", v->key);
        return;
    }
    j->sync_always = ns == 0;
    j->sync_interval_ns = ns;
}

static void read_scrub(struct opt *c, const struct conf_value *v, void *js)
{
    struct options_jetstream *j = js;
    int64_t ns = 0;
    bool off = opt_is_word(v, "off") || (v->type == CONF_BOOL && !v->u.b);
    if (!off && !opt_duration(c, v, &ns))
        return;
    if (ns != 0 && ns < CLOCK_S)
        opt_error(c, v, "\"%s\" expects a duration of at least 1s, or off", v->key);
    else
        j->scrub_ns = ns;
}

static void read_size(struct opt *c, const struct conf_value *v, void *out)
{
    opt_size(c, v, out);
}

static void read_cipher(struct opt *c, const struct conf_value *v, void *out)
{
    char *name;
    if (!opt_string(c, v, &name))
        return;
    if (opt_is_word(v, "chacha") || opt_is_word(v, "chachapoly") || opt_is_word(v, "aes"))
        *(char **)out = opt_text_lower(c->a, name);
    else
        opt_error(c, v, "Unknown cipher type: \"%s\"; expected chacha or aes", name);
}

/* An empty one is a variable that is not set: streams would be on disk in the clear. */
static void read_key(struct opt *c, const struct conf_value *v, void *out)
{
    if (opt_string(c, v, out) && (*(char **)out)[0] == '\0')
        opt_error(c, v,
                  "jetstream \"%s\" is empty: streams would be on disk in the clear; give a key, "
                  "or take the line out",
                  v->key);
}

static void read_compat(struct opt *c, const struct conf_value *v, void *js)
{
    struct options_jetstream *j = js;
    if (opt_is_word(v, "strict"))
        j->compat_strict = true;
    else if (opt_is_word(v, "mayfly"))
        j->compat_strict = false;
    else
        opt_error(c, v, "\"compat\" expects strict (answer exactly as nats-server) or mayfly");
}

static void read_unique_tag(struct opt *c, const struct conf_value *v, void *out)
{
    char *tag;
    if (!opt_string(c, v, &tag))
        return;
    while (*tag == ' ')
        tag++;
    for (size_t n = strlen(tag); n > 0 && tag[n - 1] == ' '; n--)
        tag[n - 1] = '\0';
    *(char **)out = opt_text_lower(c->a, tag);
}

static void read_ext_hint(struct opt *c, const struct conf_value *v, void *js)
{
    (void)js;
    opt_string(c, v, &c->o->impl->ext_hint);
}

static void read_catchup(struct opt *c, const struct conf_value *v, void *js)
{
    (void)js;
    opt_size(c, v, &c->o->impl->max_catchup);
}

static void read_absolute(struct opt *c, const struct conf_value *v, void *js)
{
    int64_t n;
    (void)js;
    if (opt_size(c, v, &n) && n < 0)
        opt_error(c, v, "Expected an absolute size for \"%s\", got %lld", v->key, (long long)n);
}

static void read_concurrent_io(struct opt *c, const struct conf_value *v, void *js)
{
    (void)js;
    if (v->type != CONF_INT || v->u.i < 4 || v->u.i > 8192)
        opt_error(c, v, "Expected an absolute size for \"%s\" between 4 and 8192", v->key);
}

static void read_duration_text(struct opt *c, const struct conf_value *v, void *out)
{
    opt_duration_text(c, v, out);
}

static const struct opt_field batch_fields[] = {
    {"max_inflight_per_stream", OPT_INT, JS(batch_max_inflight_per_stream), NULL, 0, INT32_MAX},
    {"max_inflight_total", OPT_INT, JS(batch_max_inflight_total), NULL, 0, INT32_MAX},
    {"max_msgs", OPT_INT, JS(batch_max_msgs), NULL, 0, INT32_MAX},
    {"timeout", OPT_FN, JS(batch_timeout_ns), read_duration_text, 0, 0},
};

static void read_batch(struct opt *c, const struct conf_value *v, void *js)
{
    if (opt_is_map(c, v, "a map to define batch limits"))
        opt_map(c, v, OPT_BLOCK(batch_fields), js);
}

static const struct opt_field limit_fields[] = {
    {"max_ack_pending", OPT_INT, JS(max_ack_pending), NULL, 0, 0},
    {"max_ha_assets", OPT_INT, JS(max_ha_assets), NULL, 0, 0},
    {"max_request_batch", OPT_INT, JS(max_request_batch), NULL, 0, 0},
    {"default_max_consumers", OPT_INT, JS(default_max_consumers), NULL, 0, 0},
    {"duplicate_window", OPT_FN, JS(duplicate_window_ns), read_duration_text, 0, 0},
    {"batch", OPT_FN, 0, read_batch, 0, 0},
};

static void read_limits(struct opt *c, const struct conf_value *v, void *js)
{
    if (opt_is_map(c, v, "a map to define JetStreamLimits"))
        opt_map(c, v, OPT_BLOCK(limit_fields), js);
}

static const struct opt_field tpm_fields[] = {
    {"keys_file", OPT_STRING, OPT_DROP, NULL, 0, 0},
    {"encryption_password", OPT_STRING, OPT_DROP, NULL, 0, 0},
    {"srk_password", OPT_STRING, OPT_DROP, NULL, 0, 0},
    {"pcr", OPT_INT, OPT_DROP, NULL, 0, 0},
    {"cipher", OPT_FN, JS(cipher), read_cipher, 0, 0},
};

static void read_tpm(struct opt *c, const struct conf_value *v, void *js)
{
    if (!opt_is_map(c, v, "a map to define the TPM"))
        return;
    opt_map(c, v, OPT_BLOCK(tpm_fields), js);
    ((struct options_jetstream *)js)->tpm = true;
}

static const struct opt_field js_fields[] = {
    {"enabled enable", OPT_BOOL, JS(enabled), NULL, 0, 0},
    {"store_dir store storedir", OPT_FN, 0, read_store_dir, 0, 0},
    {"max_memory_store max_mem_store max_mem", OPT_FN, JS(max_memory), read_size, 0, 0},
    {"max_file_store max_file", OPT_FN, JS(max_store), read_size, 0, 0},
    {"domain", OPT_STRING, JS(domain), NULL, 0, 0},
    {"sync_interval sync", OPT_FN, 0, read_sync, 0, 0},
    {"scrub", OPT_FN, 0, read_scrub, 0, 0},
    {"strict", OPT_BOOL, JS(strict), NULL, 0, 0},
    {"compat", OPT_FN, 0, read_compat, 0, 0},
    {"key ek encryption_key", OPT_FN, JS(key), read_key, 0, 0},
    {"prev_key prev_ek prev_encryption_key", OPT_STRING, JS(prev_key), NULL, 0, 0},
    {"cipher", OPT_FN, JS(cipher), read_cipher, 0, 0},
    {"unique_tag", OPT_FN, JS(unique_tag), read_unique_tag, 0, 0},
    {"limits", OPT_FN, 0, read_limits, 0, 0},
    {"tpm", OPT_FN, 0, read_tpm, 0, 0},
    {"extension_hint", OPT_FN, 0, read_ext_hint, 0, 0},
    {"request_queue_limit", OPT_INT, JS(request_queue_limit), NULL, 0, 0},
    {"info_queue_limit", OPT_INT, OPT_DROP, NULL, 0, 0},
    {"max_outstanding_catchup", OPT_FN, 0, read_catchup, 0, 0},
    {"max_buffered_size", OPT_FN, 0, read_absolute, 0, 0},
    {"max_buffered_msgs", OPT_INT, OPT_DROP, NULL, 0, 0},
    {"meta_compact", OPT_FN, 0, read_absolute, 0, 0},
    {"meta_compact_size", OPT_FN, 0, read_absolute, 0, 0},
    {"meta_compact_sync", OPT_BOOL, OPT_DROP, NULL, 0, 0},
    {"max_concurrent_io", OPT_FN, 0, read_concurrent_io, 0, 0},
};

void opt_read_jetstream(struct opt *c, const struct conf_value *v, void *options)
{
    struct options_jetstream *j = &((struct options *)options)->jetstream;
    if (v->type == CONF_BOOL) {
        j->enabled = v->u.b;
    } else if (opt_is_word(v, "enabled") || opt_is_word(v, "enable")) {
        j->enabled = true;
    } else if (opt_is_word(v, "disabled") || opt_is_word(v, "disable")) {
        j->enabled = false;
    } else if (v->type == CONF_STRING) {
        opt_error(c, v, "Expected 'enabled' or 'disabled' for string value, got '%s'", v->u.s);
    } else if (opt_is_map(c, v, "map, bool or string to define JetStream")) {
        j->enabled = true;
        opt_map(c, v, OPT_BLOCK(js_fields), j);
    }
}
