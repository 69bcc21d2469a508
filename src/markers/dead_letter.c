/* dead_letter.c: subject and headers of dead letters. */
#include "markers/dead_letter.h"

#include "base/clock.h"
#include "proto/header.h"
#include "proto/proto.h"

bool dead_letter_wanted(const char *prefix, struct mf_slice subject, bool tombstone, bool covered)
{
    size_t n = strlen(prefix);

    if (tombstone || covered)
        return false;
    return !(mf_starts(subject, prefix) && subject.len > n && subject.ptr[n] == '.');
}

void dead_letter_subject(struct mf_buf *out, const struct dead_letter_facts *f)
{
    mf_buf_puts(out, f->prefix);
    mf_buf_byte(out, '.');
    mf_buf_append(out, f->subject.ptr, f->subject.len);
}

/* Headers that would act again, and those of an earlier dead letter. */
static bool is_left_out(struct mf_slice name)
{
    static const char *const whole[] = {"Nats-TTL", "Nats-Msg-Id", "Nats-Rollup"};
    static const char *const begins[] = {"Nats-Expected-", "Nats-Schedule", "Nats-Batch-",
                                         "Mayfly-Expired-"};

    for (size_t i = 0; i < MF_COUNT(whole); i++)
        if (mf_eq_str(name, whole[i]))
            return true;
    for (size_t i = 0; i < MF_COUNT(begins); i++)
        if (mf_starts(name, begins[i]))
            return true;
    return false;
}

static void copy_lines(struct mf_buf *to, struct mf_slice head)
{
    struct mf_slice name, value;
    size_t pos = 0;

    while (head.len > 0 && header_next(head, &pos, &name, &value)) {
        if (is_left_out(name))
            continue;
        mf_buf_append(to, name.ptr, name.len);
        mf_buf_puts(to, ": ");
        mf_buf_append(to, value.ptr, value.len);
        mf_buf_puts(to, "\r\n");
    }
}

void dead_letter_header(struct mf_buf *out, const struct dead_letter_facts *f, struct mf_slice head)
{
    char text[CLOCK_TEXT], number[24];

    header_begin(out, NULL);
    copy_lines(out, head);
    header_add(out, "Mayfly-Expired-Subject", f->subject);
    header_add(out, "Mayfly-Expired-Sequence",
               mf_slice(number, proto_put_u64((uint8_t *)number, f->seq)));
    header_add(out, "Mayfly-Expired-Time", mf_slice(text, clock_put_rfc3339(text, f->ts_ns)));
    header_add(out, "Mayfly-Expired-At", mf_slice(text, clock_put_rfc3339(text, f->deadline_ns)));
    header_add(out, "Mayfly-Expired-Reason", f->aged ? MF_LIT("MaxAge") : MF_LIT("TTL"));
    header_end(out);
}
