/* fuzz_proto.c: a stream of client bytes.  The first byte chooses the limits ('0'..'7': bit 0
 * small limits, bit 1 no headers, bit 2 credentials due).  The parser must agree with its slow
 * model on every command and on every cut of it. */
#include "fuzz.h"
#include "proto/proto.h"
#include "support/proto_model.h"

/* Longer commands are cut at about so many places, later ones not at all: speed finds more. */
enum { ALL_CUTS_UP_TO = 48, CUT_COMMANDS = 8 };

static void check_inside(struct mf_slice s, const uint8_t *buf, size_t len)
{
    FUZZ_CHECK(s.len == 0 || (s.ptr >= buf && s.ptr + s.len <= buf + len));
}

static void check_same(const uint8_t *buf, size_t len, const struct proto_limits *lim)
{
    struct proto_cmd cmd, model;
    ssize_t rc = proto_parse(buf, len, lim, &cmd), want = model_parse(buf, len, lim, &model);
    const char *differs = model_differs(rc, &cmd, want, &model);

    if (differs != NULL)
        fprintf(stderr, "%s differs: %zd, the model says %zd\n", differs, rc, want);
    FUZZ_CHECK(differs == NULL);
    FUZZ_CHECK(rc <= (ssize_t)len);
    FUZZ_CHECK(rc != 0 || cmd.need > len);
}

/* In a block of its own, so that AddressSanitizer sees one byte too many. */
static void check_cut(const uint8_t *buf, size_t cut, ssize_t whole, const struct proto_limits *lim)
{
    uint8_t *copy = malloc(cut > 0 ? cut : 1);
    struct proto_cmd cmd;
    ssize_t rc;

    if (copy == NULL)
        return;
    memcpy(copy, buf, cut);
    check_same(copy, cut, lim);
    rc = proto_parse(copy, cut, lim, &cmd);
    FUZZ_CHECK(rc == 0 || rc == whole);
    FUZZ_CHECK(whole <= 0 || rc == 0);
    free(copy);
}

static void check_command(const uint8_t *buf, size_t len, const struct proto_cmd *cmd)
{
    uint8_t *line;
    size_t room;

    check_inside(cmd->args, buf, len);
    check_inside(cmd->subject, buf, len);
    check_inside(cmd->reply, buf, len);
    check_inside(cmd->queue, buf, len);
    check_inside(cmd->sid, buf, len);
    check_inside(cmd->hdr, buf, len);
    check_inside(cmd->payload, buf, len);
    room = proto_msg_room(cmd->subject, MF_LIT("12"), cmd->reply);
    line = malloc(room);
    if (line == NULL)
        return;
    FUZZ_CHECK(proto_msg_line(line, cmd->subject, MF_LIT("12"), cmd->reply, cmd->hdr.len,
                              cmd->payload.len) <= room);
    free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proto_limits lim = {4096, 1048576, true, false};
    size_t pos = 1, commands = 0;

    if (size == 0)
        return 0;
    if (data[0] & 1)
        lim.max_control_line = 24, lim.max_payload = 16;
    lim.headers = (data[0] & 2) == 0;
    lim.connect_only = (data[0] & 4) != 0;
    while (pos < size) {
        struct proto_cmd cmd;
        ssize_t rc = proto_parse(data + pos, size - pos, &lim, &cmd);
        size_t end = rc > 0 ? (size_t)rc : size - pos;
        size_t step = end <= ALL_CUTS_UP_TO ? 1 : end / ALL_CUTS_UP_TO + 1;

        check_same(data + pos, size - pos, &lim);
        for (size_t cut = 0; cut < end && commands < CUT_COMMANDS; cut += step)
            check_cut(data + pos, cut, rc, &lim);
        if (rc <= 0)
            break;
        check_command(data + pos, size - pos, &cmd);
        if (cmd.op == PROTO_CONNECT)
            lim.connect_only = false;
        pos += (size_t)rc;
        commands++;
    }
    return 0;
}
