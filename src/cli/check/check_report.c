/* check_report.c: findings as text. */
#include "cli/check/check_report.h"

#include <inttypes.h>
#include <stdio.h>

const char *check_item_state(const struct check_item *it)
{
    if (it->rc != 0)
        return it->rc == MF_EXISTS ? "locked" : "error";
    return it->result.damage_count == 0 ? "clean" : "damaged";
}

/* 1536 as "1.5 KB". */
static const char *bytes_text(char dst[32], uint64_t n)
{
    static const char *const unit[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    double value = (double)n;
    size_t i = 0;

    for (; value >= 1024 && i + 1 < MF_COUNT(unit); i++)
        value /= 1024;
    (void)snprintf(dst, 32, i == 0 ? "%.0f %s" : "%.1f %s", value, unit[i]);
    return dst;
}

static void put_row(struct mf_buf *out, const char *name, const char *fmt, ...) MF_PRINTF(3, 4);
static void put_row(struct mf_buf *out, const char *name, const char *fmt, ...)
{
    va_list ap;

    mf_buf_printf(out, "  %-12s ", name);
    va_start(ap, fmt);
    mf_buf_vprintf(out, fmt, ap);
    va_end(ap);
    mf_buf_byte(out, '\n');
}

static uint64_t dead_bytes(const struct check_result *r)
{
    uint64_t dead = 0;

    for (size_t i = 0; i < r->segments; i++)
        dead += r->segment[i].used - r->segment[i].live_bytes;
    return dead;
}

static void damage_line(struct mf_buf *out, const struct check_damage *d)
{
    mf_buf_printf(out, "    %s  offset %" PRIu64 "  length %" PRIu64 "  %s: %s", d->file, d->offset,
                  d->length, check_kind_text(d->kind), d->what);
    if (d->first_seq != 0)
        mf_buf_printf(out, "; sequences %" PRIu64 "..%" PRIu64, d->first_seq, d->last_seq);
    else if (d->kind == CHECK_RECORDS || d->kind == CHECK_MISSING)
        mf_buf_puts(out, "; no sequence is missing, removals and copies may be");
    if (d->lost != 0)
        mf_buf_printf(out, "; %" PRIu64 " live messages lost", d->lost);
    mf_buf_byte(out, '\n');
}

static void damage_lines(struct mf_buf *out, const struct check_result *r)
{
    for (size_t i = 0; i < r->damages; i++)
        damage_line(out, &r->damage[i]);
    if (r->damage_count > r->damages)
        mf_buf_printf(out, "    and %" PRIu64 " more\n", r->damage_count - r->damages);
}

static void segment_lines(struct mf_buf *out, const struct check_result *r)
{
    mf_buf_printf(out, "\n  %-20s %10s %10s %12s %12s %6s\n", "segment", "records", "live",
                  "live bytes", "dead bytes", "fill");
    for (size_t i = 0; i < r->segments; i++) {
        const struct check_segment *s = &r->segment[i];
        double room = s->bytes > 4096 ? (double)(s->bytes - 4096) : 1;

        mf_buf_printf(out,
                      "  %016" PRIx64 ".log %10" PRIu64 " %10" PRIu64 " %12" PRIu64 " %12" PRIu64
                      " %5.1f%%%s\n",
                      s->number, s->records, s->live, s->live_bytes, s->used - s->live_bytes,
                      100 * (double)s->used / room,
                      s->leftover    ? "  given up"
                      : s->after_end ? "  behind the end"
                                     : "");
    }
}

static void log_rows(struct mf_buf *out, const struct check_result *r)
{
    char a[32], b[32];

    put_row(out, "log", "%zu segment%s, %s; %" PRIu64 " record%s, %s of removed messages",
            r->segments, r->segments == 1 ? "" : "s", bytes_text(a, r->bytes), r->records,
            r->records == 1 ? "" : "s", bytes_text(b, dead_bytes(r)));
    put_row(out, "end", "%016" PRIx64 ".log offset %" PRIu64 ", %s", r->end_segment, r->end_offset,
            !r->torn
                ? "clean"
                : "a torn tail: the last group was cut short, as after a crash; the next start "
                  "cuts it off");
}

static const char *keys_text(char text[40], const struct check_result *r)
{
    if (r->unread)
        return "keys unread";
    (void)snprintf(text, 40, "%" PRIu64 " keys", r->live.keys);
    return text;
}

static void live_rows(struct mf_buf *out, const struct check_result *r)
{
    const struct check_live *v = &r->live;
    char a[32], keys[40];

    if (v->messages == 0)
        put_row(out, "messages", "0 live, last sequence %" PRIu64, r->last_sequence);
    else
        put_row(out, "messages",
                "%" PRIu64 " live, %s, %s, sequences %" PRIu64 "..%" PRIu64
                ", last sequence %" PRIu64,
                v->messages, bytes_text(a, v->bytes), keys_text(keys, r), v->first_seq, v->last_seq,
                r->last_sequence);
    put_row(out, "deadlines",
            "%" PRIu64 " with a deadline, %" PRIu64 " of them past; %" PRIu64
            " that never expire (TTL never), %" PRIu64 " without a TTL; %" PRIu64
            " changed by hand",
            v->with_deadline, v->past_deadline, v->infinite,
            v->messages - v->with_deadline - v->infinite, v->pinned);
    if (r->unread)
        put_row(out, "blobs", "unread");
    else
        put_row(out, "blobs", "%" PRIu64, v->blobs);
    if (r->encrypted)
        put_row(out, "encryption", r->unread ? "contents were not read: no key was given" : "on");
}

static void checkpoint_row(struct mf_buf *out, const struct check_result *r)
{
    switch (r->checkpoint) {
    case CHECK_CP_NONE:
        put_row(out, "checkpoint", "none: the next start reads the whole log");
        break;
    case CHECK_CP_DAMAGED:
        put_row(out, "checkpoint",
                "damaged: the next start reads the whole log; nothing is lost by it");
        break;
    case CHECK_CP_OLD:
        put_row(out, "checkpoint", "older than the log: the next start reads the whole log");
        break;
    case CHECK_CP_MATCHES:
        put_row(out, "checkpoint", "matches the log, position %016" PRIx64 ".log offset %" PRIu64,
                r->cp_segment, r->cp_offset);
        break;
    case CHECK_CP_DIFFERS:
        put_row(out, "checkpoint", "differs from the log: delete the file, the log is the truth");
        break;
    case CHECK_CP_EXPLAINED:
        put_row(out, "checkpoint", "differs from the log, which is damaged: keep the file");
        break;
    case CHECK_CP_UNREAD:
        put_row(out, "checkpoint", "encrypted: its checks are right, its contents were not read");
        break;
    }
}

/* The verdict and the next command, before the figures. */
static void verdict_rows(struct mf_buf *out, const struct check_item *it)
{
    const struct check_result *r = &it->result;

    if (r->server_pid != 0)
        put_row(out, "warning",
                "read while a server was writing: run it again without --no-lock "
                "before you believe in damage");
    if (r->damage_count == 0) {
        put_row(out, "damage", "none");
        return;
    }
    put_row(out, "damage", "%" PRIu64 " found:", r->damage_count);
    damage_lines(out, r);
    put_row(out, "next",
            "copy the folder before a server starts on it again; then, for a copy "
            "without the damage:");
    put_row(out, "", "mayfly check --repair '%s' --to NEWDIR", it->path);
}

void check_report_text(struct mf_buf *out, const struct check_item *it, bool segments)
{
    const struct check_result *r = &it->result;

    if (it->rc != 0) {
        mf_buf_printf(out, "%s: %s\n", check_item_state(it), it->error.text);
        return;
    }
    mf_buf_printf(out, "%s: %s\n", it->path, check_item_state(it));
    verdict_rows(out, it);
    log_rows(out, r);
    live_rows(out, r);
    checkpoint_row(out, r);
    for (size_t i = 0; i < r->notes; i++)
        put_row(out, "note", "%s", r->note[i]);
    if (segments)
        segment_lines(out, r);
}

void check_report_table(struct mf_buf *out, const struct check_item *items, size_t count)
{
    uint64_t segments = 0, messages = 0, bytes = 0, blobs = 0, damage = 0;
    int width = 5;
    char a[32];

    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(items[i].path);

        width = len < 60 && (int)len > width ? (int)len : width;
    }
    mf_buf_printf(out, "%-*s %8s %12s %10s %8s %8s  %s\n", width, "store", "segments", "messages",
                  "bytes", "blobs", "damage", "state");
    for (size_t i = 0; i < count; i++) {
        const struct check_result *r = &items[i].result;

        mf_buf_printf(out, "%-*s %8zu %12" PRIu64 " %10s %8" PRIu64 " %8" PRIu64 "  %s%s\n", width,
                      items[i].path, r->segments, r->live.messages, bytes_text(a, r->live.bytes),
                      r->live.blobs, r->damage_count, check_item_state(&items[i]),
                      r->torn ? ", torn tail" : "");
        segments += r->segments;
        messages += r->live.messages;
        bytes += r->live.bytes;
        blobs += r->live.blobs;
        damage += r->damage_count;
    }
    mf_buf_printf(out,
                  "%-*s %8" PRIu64 " %12" PRIu64 " %10s %8" PRIu64 " %8" PRIu64 "  %zu stores\n",
                  width, "total", segments, messages, bytes_text(a, bytes), blobs, damage, count);
}
