/* bench_proto.c: how many commands one core parses, and how many MSG lines it writes, per second.
 * No sockets: a 64 KiB buffer of equal commands, as a read delivers it, parsed again and again. */
#include "proto/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BUFFER = 64 * 1024, ROUNDS = 5 };
static const int64_t ROUND_NS = 200 * 1000 * 1000;

/* Processor time: what else runs on the machine does not count. */
static int64_t now_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Fills buf with whole copies of cmd; returns the bytes used. */
static size_t fill(uint8_t *buf, const char *cmd, size_t payload)
{
    size_t line = strlen(cmd), each = line + payload + (payload > 0 ? 2 : 0), used = 0;

    while (used + each <= BUFFER) {
        memcpy(buf + used, cmd, line);
        used += line;
        if (payload > 0) {
            memset(buf + used, 'x', payload);
            memcpy(buf + used + payload, "\r\n", 2);
            used += payload + 2;
        }
    }
    return used;
}

/* Commands in one pass over the buffer; the sum keeps the compiler honest. */
static uint64_t parse_all(const uint8_t *buf, size_t len, const struct proto_limits *lim,
                          uint64_t *sum)
{
    struct proto_cmd cmd;
    uint64_t n = 0;
    size_t pos = 0;

    while (pos < len) {
        ssize_t rc = proto_parse(buf + pos, len - pos, lim, &cmd);

        if (rc <= 0) {
            fprintf(stderr, "bench_proto: parse failed: %zd\n", rc);
            exit(1);
        }
        *sum += cmd.subject.len + cmd.payload.len;
        pos += (size_t)rc;
        n++;
    }
    return n;
}

static void bench_parse(const char *name, const char *line, size_t payload)
{
    static uint8_t buf[BUFFER];
    struct proto_limits lim = {4096, 1 << 20, true, false};
    size_t len = fill(buf, line, payload);
    uint64_t sum = 0;
    double best = 0;

    for (int r = 0; r < ROUNDS; r++) {
        int64_t start = now_ns(), spent;
        uint64_t n = 0;
        double rate;

        do {
            for (int i = 0; i < 16; i++)
                n += parse_all(buf, len, &lim, &sum);
            spent = now_ns() - start;
        } while (spent < ROUND_NS);
        rate = (double)n * 1e3 / (double)spent;
        best = rate > best ? rate : best;
    }
    printf("parse %-28s %8.1f M/s %8.1f ns  (%llu)\n", name, best, 1e3 / best,
           (unsigned long long)sum % 10);
}

static void bench_write(const char *name, const char *subject, const char *reply, size_t payload)
{
    uint8_t line[256];
    struct mf_slice subj = mf_str(subject), sid = MF_LIT("42"), re = mf_str(reply);
    uint64_t sum = 0;
    double best = 0;

    for (int r = 0; r < ROUNDS; r++) {
        int64_t start = now_ns(), spent;
        uint64_t n = 0;
        double rate;

        do {
            for (int i = 0; i < 10000; i++, n++)
                sum += proto_msg_line(line, subj, sid, re, 0, payload) + line[n % 8];
            spent = now_ns() - start;
        } while (spent < ROUND_NS);
        rate = (double)n * 1e3 / (double)spent;
        best = rate > best ? rate : best;
    }
    printf("write %-28s %8.1f M/s %8.1f ns  (%llu)\n", name, best, 1e3 / best,
           (unsigned long long)sum % 10);
}

int main(void)
{
    bench_parse("PUB a 1", "PUB a 1\r\n", 1);
    bench_parse("PUB orders.created 16", "PUB orders.created 16\r\n", 16);
    bench_parse("PUB with reply, 128", "PUB $JS.API.INFO _INBOX.8Lk2pQzXw1.0042 128\r\n", 128);
    bench_parse("PUB 1 KiB", "PUB orders.created 1024\r\n", 1024);
    bench_parse("HPUB 44 16", "HPUB orders.created 44 60\r\n", 60);
    bench_parse("SUB", "SUB orders.* workers 17\r\n", 0);
    bench_parse("PING", "PING\r\n", 0);
    bench_write("MSG", "orders.created", NULL, 16);
    bench_write("MSG with reply", "orders.created", "_INBOX.8Lk2pQzXw1.0042", 1024);
    return 0;
}
