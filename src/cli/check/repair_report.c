/* repair_report.c: kept and lost messages of a repair, as text and JSON.  The names of the JSON
 * document are in mayfly(1) and stay. */
#include "cli/check/repair.h"

#include "codec/jsonw.h"

#include <inttypes.h>
#include <stdio.h>

#define SHOWN 20 /* ranges in a line of text */

static void put_ranges(struct mf_buf *out, const struct repair_ranges *r)
{
    for (size_t i = 0; i < r->count && i < SHOWN; i++) {
        mf_buf_printf(out, "%s%" PRIu64, i == 0 ? "" : ", ", r->at[i].first);
        if (r->at[i].last != r->at[i].first)
            mf_buf_printf(out, "..%" PRIu64, r->at[i].last);
    }
    if (r->count > SHOWN)
        mf_buf_puts(out, ", more with --json");
}

static void put_row(struct mf_buf *out, const char *name, const struct repair_ranges *r,
                    const char *what)
{
    if (r->sequences == 0)
        return;
    mf_buf_printf(out, "  %-13s %" PRIu64 " %s: sequences ", name, r->sequences, what);
    put_ranges(out, r);
    mf_buf_byte(out, '\n');
}

static void put_consumers(struct mf_buf *out, const struct repair_result *r)
{
    size_t unsure = 0;

    for (size_t i = 0; i < r->consumers; i++)
        unsure += r->consumer[i].unsure;
    mf_buf_printf(out, "  %-13s %zu\n", "consumers", r->consumers);
    if (unsure == 0 && !r->blobs_hidden)
        return;
    mf_buf_printf(out,
                  "  %-13s consumers and configuration written in the damage are lost; these "
                  "may be older than they were, or deleted:",
                  "");
    for (size_t i = 0; i < r->consumers; i++)
        if (r->consumer[i].unsure)
            mf_buf_printf(out, " %s", r->consumer[i].name);
    if (r->config_unsure)
        mf_buf_puts(out, " (the configuration)");
    mf_buf_byte(out, '\n');
}

void repair_report_text(struct mf_buf *out, const struct repair_item *it)
{
    const struct repair_result *r = &it->result;

    mf_buf_printf(out, "%s: copied to %s: %s\n", it->path, it->to,
                  repair_lossless(r) ? "nothing is lost" : "not everything could be kept");
    mf_buf_printf(out,
                  "  %-13s %" PRIu64 " messages, %" PRIu64 " bytes; last sequence %" PRIu64 "\n",
                  "kept", r->kept, r->kept_bytes, r->last_sequence);
    put_row(out, "lost", &r->lost, "messages that cannot be read");
    put_row(out, "unseen", &r->unseen,
            "given where the damage is, which may have been messages or removed already");
    put_row(out, "unknown", &r->unknown,
            r->kept_unknown ? "messages kept although their removal may lie in the damage"
                            : "messages left out, because their removal may lie in the damage "
                              "(--keep-unknown keeps them)");
    put_row(out, "expired", &r->expired,
            "messages left out as expired, of which a later deadline may lie in the damage");
    if (r->moved_upto != 0)
        mf_buf_printf(
            out,
            "  %-13s messages up to sequence %" PRIu64
            " had been moved to the end of the log; those moved into the damage are lost, "
            "and nothing tells which\n",
            "moved", r->moved_upto);
    put_consumers(out, r);
    if (r->config_missing)
        mf_buf_printf(out,
                      "  %-13s lost: repair it once more with --config FILE, or the stream "
                      "stays offline\n",
                      "configuration");
    mf_buf_printf(out, "  %-13s %" PRIu64 " places in the source; `mayfly check` lists them\n",
                  "damage", r->source.damage_count);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_ranges(struct jsonw *w, const char *key, const struct repair_ranges *r)
{
    jsonw_object(w, key);
    jsonw_u64(w, "count", r->sequences);
    jsonw_array(w, "ranges");
    for (size_t i = 0; i < r->count; i++) {
        jsonw_object(w, NULL);
        jsonw_u64(w, "first", r->at[i].first);
        jsonw_u64(w, "last", r->at[i].last);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_end(w);
}

static void json_item(struct jsonw *w, const struct repair_item *it)
{
    const struct repair_result *r = &it->result;

    jsonw_object(w, NULL);
    jsonw_str(w, "path", it->path);
    jsonw_str(w, "to", it->to);
    jsonw_bool(w, "lossless", repair_lossless(r));
    jsonw_u64(w, "messages", r->kept);
    jsonw_u64(w, "bytes", r->kept_bytes);
    jsonw_u64(w, "blobs", r->blobs);
    jsonw_u64(w, "last_sequence", r->last_sequence);
    jsonw_bool(w, "by_checkpoint", r->from_checkpoint);
    json_ranges(w, "lost", &r->lost);
    json_ranges(w, "unseen", &r->unseen);
    json_ranges(w, "unknown", &r->unknown);
    jsonw_bool(w, "unknown_kept", r->kept_unknown);
    json_ranges(w, "expired", &r->expired);
    jsonw_u64(w, "moved_upto", r->moved_upto);
    jsonw_str(w, "configuration",
              r->config_missing  ? "lost"
              : r->config_given  ? "given"
              : r->config_unsure ? "may_be_older"
                                 : "kept");
    jsonw_bool(w, "consumers_may_be_lost", r->blobs_hidden);
    jsonw_array(w, "consumers");
    for (size_t i = 0; i < r->consumers; i++) {
        jsonw_object(w, NULL);
        jsonw_str(w, "name", r->consumer[i].name);
        jsonw_bool(w, "may_be_older", r->consumer[i].unsure);
        jsonw_end(w);
    }
    jsonw_end(w);
    jsonw_u64(w, "damage_count", r->source.damage_count);
    jsonw_end(w);
}

void repair_report_json(struct mf_buf *out, const char *from, const char *to,
                        const struct repair_item *items, size_t count, int exit_code)
{
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_PRETTY);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "path", from);
    jsonw_str(&w, "to", to);
    jsonw_i64(&w, "exit_code", exit_code);
    jsonw_array(&w, "stores");
    for (size_t i = 0; i < count; i++)
        json_item(&w, &items[i]);
    jsonw_end(&w);
    jsonw_end(&w);
    mf_buf_byte(out, '\n');
}
