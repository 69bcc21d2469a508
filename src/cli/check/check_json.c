/* check_json.c: findings for scripts.  The names are documented in mayfly(1) and stay. */
#include "cli/check/check_report.h"

#include "codec/jsonw.h"

#include <stdio.h>

static void put_id(struct jsonw *w, const uint8_t id[16])
{
    char text[33];

    for (int i = 0; i < 16; i++)
        (void)snprintf(text + i * 2, 3, "%02x", id[i]);
    jsonw_str(w, "store_id", text);
}

static void put_log(struct jsonw *w, const struct check_result *r)
{
    jsonw_object(w, "log");
    jsonw_u64(w, "segments", r->segments);
    jsonw_u64(w, "bytes", r->bytes);
    jsonw_u64(w, "records", r->records);
    jsonw_u64(w, "first_segment", r->first_segment);
    jsonw_u64(w, "synced_segment", r->synced_segment);
    jsonw_u64(w, "synced_offset", r->synced_offset);
    jsonw_u64(w, "end_segment", r->end_segment);
    jsonw_u64(w, "end_offset", r->end_offset);
    jsonw_u64(w, "stop_segment", r->stop_segment);
    jsonw_u64(w, "stop_offset", r->stop_offset);
    jsonw_bool(w, "torn", r->torn);
    jsonw_u64(w, "last_sequence", r->last_sequence);
    jsonw_bool(w, "encrypted", r->encrypted);
    jsonw_bool(w, "unread", r->unread);
    jsonw_end(w);
}

static void put_live(struct jsonw *w, const struct check_result *r)
{
    const struct check_live *v = &r->live;

    jsonw_object(w, "live");
    jsonw_u64(w, "messages", v->messages);
    jsonw_u64(w, "bytes", v->bytes);
    jsonw_u64(w, "keys", v->keys);
    jsonw_u64(w, "with_deadline", v->with_deadline);
    jsonw_u64(w, "past_deadline", v->past_deadline);
    jsonw_u64(w, "infinite", v->infinite);
    jsonw_u64(w, "without_both", v->messages - v->with_deadline - v->infinite);
    jsonw_u64(w, "pinned", v->pinned);
    jsonw_u64(w, "first_seq", v->first_seq);
    jsonw_u64(w, "last_seq", v->last_seq);
    jsonw_u64(w, "blobs", v->blobs);
    jsonw_end(w);
}

static void put_checkpoint(struct jsonw *w, const struct check_result *r)
{
    jsonw_object(w, "checkpoint");
    jsonw_str(w, "state", check_cp_text(r->checkpoint));
    jsonw_u64(w, "segment", r->cp_segment);
    jsonw_u64(w, "offset", r->cp_offset);
    jsonw_u64(w, "messages", r->cp_messages);
    jsonw_u64(w, "blobs", r->cp_blobs);
    jsonw_u64(w, "last_sequence", r->cp_last_sequence);
    jsonw_u64(w, "lost", r->lost);
    jsonw_end(w);
}

static void put_damage(struct jsonw *w, const struct check_result *r)
{
    jsonw_u64(w, "damage_count", r->damage_count);
    jsonw_array(w, "damage");
    for (size_t i = 0; i < r->damages; i++) {
        const struct check_damage *d = &r->damage[i];

        jsonw_object(w, NULL);
        jsonw_str(w, "kind", check_kind_text(d->kind));
        jsonw_str(w, "file", d->file);
        jsonw_u64(w, "offset", d->offset);
        jsonw_u64(w, "length", d->length);
        jsonw_str(w, "what", d->what);
        jsonw_u64(w, "first_seq", d->first_seq);
        jsonw_u64(w, "last_seq", d->last_seq);
        jsonw_u64(w, "lost", d->lost);
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_segments(struct jsonw *w, const struct check_result *r)
{
    jsonw_array(w, "segments");
    for (size_t i = 0; i < r->segments; i++) {
        const struct check_segment *s = &r->segment[i];

        jsonw_object(w, NULL);
        jsonw_u64(w, "number", s->number);
        jsonw_u64(w, "bytes", s->bytes);
        jsonw_u64(w, "records", s->records);
        jsonw_u64(w, "used_bytes", s->used);
        jsonw_u64(w, "live", s->live);
        jsonw_u64(w, "live_bytes", s->live_bytes);
        jsonw_u64(w, "dead_bytes", s->used - s->live_bytes);
        jsonw_str(w, "state", s->leftover ? "given_up" : s->after_end ? "behind_end" : "log");
        jsonw_end(w);
    }
    jsonw_end(w);
}

static void put_item(struct jsonw *w, const struct check_item *it, bool segments)
{
    const struct check_result *r = &it->result;

    jsonw_object(w, NULL);
    jsonw_str(w, "path", it->path);
    jsonw_str(w, "state", check_item_state(it));
    if (it->rc != 0) {
        jsonw_str(w, "error", it->error.text);
        jsonw_end(w);
        return;
    }
    put_id(w, r->store_id);
    jsonw_bool(w, "server_running", r->server_pid != 0);
    put_log(w, r);
    put_live(w, r);
    put_checkpoint(w, r);
    put_damage(w, r);
    jsonw_array(w, "notes");
    for (size_t i = 0; i < r->notes; i++)
        jsonw_str(w, NULL, r->note[i]);
    jsonw_end(w);
    if (segments)
        put_segments(w, r);
    jsonw_end(w);
}

void check_report_json(struct mf_buf *out, const char *path, const struct check_item *items,
                       size_t count, bool segments, int exit_code)
{
    uint64_t messages = 0, blobs = 0, bytes = 0, damage = 0;
    struct jsonw w;

    jsonw_begin(&w, out, JSONW_PRETTY);
    jsonw_object(&w, NULL);
    jsonw_str(&w, "path", path);
    jsonw_i64(&w, "exit_code", exit_code);
    jsonw_array(&w, "stores");
    for (size_t i = 0; i < count; i++) {
        put_item(&w, &items[i], segments);
        messages += items[i].result.live.messages;
        bytes += items[i].result.live.bytes;
        blobs += items[i].result.live.blobs;
        damage += items[i].result.damage_count;
    }
    jsonw_end(&w);
    jsonw_object(&w, "total");
    jsonw_u64(&w, "stores", count);
    jsonw_u64(&w, "messages", messages);
    jsonw_u64(&w, "bytes", bytes);
    jsonw_u64(&w, "blobs", blobs);
    jsonw_u64(&w, "damage_count", damage);
    jsonw_end(&w);
    jsonw_end(&w);
    mf_buf_byte(out, '\n');
}
