/* fuzz_verb.c: a stream of bytes from another server.  Every slice lies inside the input, a prefix
 * of a good command is incomplete, a prefix of a bad one is incomplete or already that error, and a
 * message that was read can be written and read again. */
#include "fuzz.h"
#include "leaf/verb_impl.h"

#define MAX_PAYLOAD 4096
enum { ALL_CUTS_UP_TO = 64, CUT_COMMANDS = 8 };

static void check_inside(struct mf_slice s, const uint8_t *buf, size_t len)
{
    FUZZ_CHECK(s.len == 0 || (s.ptr >= buf && s.ptr + s.len <= buf + len));
}

static void check_cut(const uint8_t *buf, size_t cut, ssize_t whole)
{
    uint8_t *copy = malloc(cut > 0 ? cut : 1);
    struct verb_cmd cmd;
    ssize_t rc;

    if (copy == NULL)
        return;
    memcpy(copy, buf, cut);
    rc = verb_parse(copy, cut, MAX_PAYLOAD, &cmd);
    FUZZ_CHECK(rc == 0 || rc == whole);
    FUZZ_CHECK(whole <= 0 || rc == 0);
    free(copy);
}

static void check_again(const struct verb_cmd *c)
{
    struct mf_slice *queue = malloc((c->nqueues + 1) * sizeof *queue), rest = c->queues;
    struct verb_line l = {.subject = c->subject,
                          .reply = c->reply,
                          .queue = queue,
                          .nqueues = c->nqueues,
                          .hdr = c->hdr.len,
                          .size = c->hdr.len + c->payload.len};
    struct verb_cmd again;
    uint8_t *text;
    size_t n;

    if (queue == NULL)
        return;
    for (uint32_t i = 0; i < c->nqueues; i++)
        FUZZ_CHECK(verb_next_queue(&rest, &queue[i]));
    text = malloc(verb_line_room(&l) + l.size + 2);
    if (text != NULL) {
        n = verb_line_write(text, &l);
        FUZZ_CHECK(n <= verb_line_room(&l));
        memset(text + n, 'x', l.size);
        memcpy(text + n + l.size, "\r\n", 2);
        ssize_t rc = verb_parse(text, n + l.size + 2, MAX_PAYLOAD, &again);
        FUZZ_CHECK(rc == (ssize_t)(n + l.size + 2) || rc == VERB_E_LINE);
        FUZZ_CHECK(rc < 0 || (mf_eq(again.subject, c->subject) && mf_eq(again.reply, c->reply) &&
                              again.nqueues == c->nqueues && again.hdr.len == c->hdr.len));
    }
    free(text);
    free(queue);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct verb_cmd cmd;

    for (unsigned commands = 0; size > 0; commands++) {
        ssize_t rc = verb_parse(data, size, MAX_PAYLOAD, &cmd);
        FUZZ_CHECK(rc <= (ssize_t)size);
        size_t end = rc > 0 ? (size_t)rc : size;
        for (size_t cut = 0; commands < CUT_COMMANDS && cut < end && cut < ALL_CUTS_UP_TO; cut++)
            check_cut(data, cut, rc);
        if (rc <= 0)
            return 0;
        check_inside(cmd.args, data, end);
        check_inside(cmd.subject, data, end);
        check_inside(cmd.reply, data, end);
        check_inside(cmd.queue, data, end);
        check_inside(cmd.queues, data, end);
        check_inside(cmd.hdr, data, end);
        check_inside(cmd.payload, data, end);
        if (cmd.op == VERB_MSG)
            check_again(&cmd);
        data += rc;
        size -= (size_t)rc;
    }
    return 0;
}
