/* options_compress.c: compression of links to other servers: modes and thresholds. */
#include "config/options_impl.h"
#include "config/options_leaf.h"

static const char *const names[] = {
    [OPTIONS_COMPRESS_UNSET] = "",
    [OPTIONS_COMPRESS_NONE] = "not supported",
    [OPTIONS_COMPRESS_UNCOMPRESSED] = "s2_uncompressed",
    [OPTIONS_COMPRESS_OFF] = "off",
    [OPTIONS_COMPRESS_ACCEPT] = "accept",
    [OPTIONS_COMPRESS_AUTO] = "s2_auto",
    [OPTIONS_COMPRESS_FAST] = "s2_fast",
    [OPTIONS_COMPRESS_BETTER] = "s2_better",
    [OPTIONS_COMPRESS_BEST] = "s2_best",
};

const char *options_compress_name(enum options_compress mode)
{
    return names[mode];
}

int options_compress_agree(enum options_compress own, struct mf_slice theirs,
                           enum options_compress *out)
{
    enum options_compress peer = OPTIONS_COMPRESS_NONE;

    for (size_t i = OPTIONS_COMPRESS_NONE; theirs.len > 0 && i < MF_COUNT(names); i++)
        if (mf_eq_str(theirs, names[i]))
            peer = (enum options_compress)i;
    if (theirs.len > 0 && !mf_eq_str(theirs, names[peer]))
        return MF_INVAL;
    *out = OPTIONS_COMPRESS_OFF;
    if (own == OPTIONS_COMPRESS_NONE || peer == OPTIONS_COMPRESS_NONE)
        *out = OPTIONS_COMPRESS_NONE;
    else if (own >= OPTIONS_COMPRESS_UNCOMPRESSED && peer >= OPTIONS_COMPRESS_ACCEPT)
        *out = own;
    else if (own == OPTIONS_COMPRESS_ACCEPT && peer >= OPTIONS_COMPRESS_UNCOMPRESSED)
        *out = peer == OPTIONS_COMPRESS_AUTO ? OPTIONS_COMPRESS_FAST : peer;
    return 0;
}

enum options_compress options_compress_level(const struct options_compression *p, int64_t rtt_ns)
{
    static const enum options_compress levels[] = {OPTIONS_COMPRESS_UNCOMPRESSED,
                                                   OPTIONS_COMPRESS_FAST, OPTIONS_COMPRESS_BETTER,
                                                   OPTIONS_COMPRESS_BEST};
    unsigned i = 0;

    while (i < p->nrtts && rtt_ns > p->rtt_ns[i])
        i++;
    if (i == p->nrtts && p->nrtts < 3) /* fewer thresholds than levels: the last one named */
        i = p->nrtts - 1;
    return levels[i < 3 ? i : 3];
}

/* Further words of the configuration. */
static const struct {
    const char *word;
    enum options_compress mode;
} words[] = {
    {"on", OPTIONS_COMPRESS_AUTO},       {"enabled", OPTIONS_COMPRESS_AUTO},
    {"true", OPTIONS_COMPRESS_AUTO},     {"not_supported", OPTIONS_COMPRESS_NONE},
    {"disabled", OPTIONS_COMPRESS_OFF},  {"false", OPTIONS_COMPRESS_OFF},
    {"auto", OPTIONS_COMPRESS_AUTO},     {"fast", OPTIONS_COMPRESS_FAST},
    {"better", OPTIONS_COMPRESS_BETTER}, {"best", OPTIONS_COMPRESS_BEST},
};

static bool find_mode(const char *text, enum options_compress *mode)
{
    for (size_t i = OPTIONS_COMPRESS_NONE; i < MF_COUNT(names); i++)
        if (i != OPTIONS_COMPRESS_UNCOMPRESSED && mf_eq_nocase(mf_str(text), names[i])) {
            *mode = (enum options_compress)i;
            return true;
        }
    for (size_t i = 0; i < MF_COUNT(words); i++)
        if (mf_eq_nocase(mf_str(text), words[i].word)) {
            *mode = words[i].mode;
            return true;
        }
    return false;
}

struct reading {
    char *mode;
    struct options_compression *out;
};

/* A 0 skips a level, so it may stand anywhere; zeros at the end say nothing. */
static void read_thresholds(struct opt *c, const struct conf_value *v, void *reading)
{
    struct options_compression *out = ((struct reading *)reading)->out;
    int64_t rtts[4], highest = 0, ns;
    size_t n = 0, used = 0;
    if (!opt_is_array(c, v, "an array of durations"))
        return;
    for (size_t i = 0; i < v->nitems; i++) {
        if (!opt_duration_text(c, v->items[i], &ns))
            return;
        ns = ns < 0 ? 0 : ns;
        if (ns != 0 && ns < highest) {
            opt_error(c, v, "RTT threshold values should be in ascending order");
            return;
        }
        highest = ns > highest ? ns : highest;
        if (n < MF_COUNT(rtts))
            rtts[n] = ns;
        n++;
        used = ns != 0 ? n : used;
    }
    if (used > MF_COUNT(rtts)) {
        opt_error(c, v, "compression should have no more than 4 RTT thresholds");
    } else if (used == 0 && n > 0) {
        opt_error(c, v, "compression requires at least one RTT threshold");
    } else {
        memcpy(out->rtt_ns, rtts, used * sizeof *rtts);
        out->nrtts = (unsigned)used;
    }
}

static const struct opt_field compression_fields[] = {
    {"mode", OPT_STRING, offsetof(struct reading, mode), NULL, 0, 0},
    {"rtt_thresholds thresholds rtts rtt", OPT_FN, 0, read_thresholds, 0, 0},
};

void opt_read_compression(struct opt *c, const struct conf_value *v, void *compression)
{
    struct reading r = {NULL, compression};
    if (v->type == CONF_BOOL) {
        r.out->mode = v->u.b ? OPTIONS_COMPRESS_AUTO : OPTIONS_COMPRESS_OFF;
        return;
    }
    if (v->type == CONF_STRING)
        opt_string(c, v, &r.mode);
    else if (v->type == CONF_MAP)
        opt_map(c, v, OPT_BLOCK(compression_fields), &r);
    else
        opt_error(c, v, "field \"%s\" should be a boolean or a structure, got %s", v->key,
                  conf_type_name(v->type));
    if (r.mode != NULL && r.mode[0] != '\0' && !find_mode(r.mode, &r.out->mode))
        opt_error(c, v,
                  "unsupported compression mode \"%s\"; expected off, accept, s2_auto, s2_fast, "
                  "s2_better or s2_best",
                  r.mode);
}
