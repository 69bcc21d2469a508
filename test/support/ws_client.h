/* ws_client.h: a raw WebSocket client: any frame, right or wrong, byte by byte if need be. */
#ifndef TEST_WS_CLIENT_H
#define TEST_WS_CLIENT_H

#include "tcp_client.h"

#define WS_SAMPLE_KEY    "dGhlIHNhbXBsZSBub25jZQ=="
#define WS_SAMPLE_ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

/* Opcodes and bits of the first byte. */
enum { WS_CONT = 0, WS_TEXT = 1, WS_BIN = 2, WS_CLOSE = 8, WS_PING = 9, WS_PONG = 10 };
enum { WS_FIN = 0x80, WS_RSV1 = 0x40, WS_RSV2 = 0x20, WS_RSV3 = 0x10 };

struct ws_frame {
    uint8_t first; /* bits and opcode */
    bool masked;
    uint64_t length;
    uint8_t *payload; /* NUL-terminated; the caller frees it */
};

/* A request with these extra header lines ("Name: value\r\n" each) to out. */
void ws_request_text(struct mf_buf *out, const char *path, const char *headers);
/* Sends it and takes the answer: true for a 101. */
bool ws_dial(struct tcp_client *c, int port, const char *headers);
/* A masked frame to out. */
void ws_put(struct mf_buf *out, uint8_t first, const void *p, size_t n);
bool ws_send(struct tcp_client *c, uint8_t first, const void *p, size_t n);
/* The next frame of the server; false when it ended. */
bool ws_next(struct tcp_client *c, struct ws_frame *f);
/* Payloads of data frames (inflated when marked) until n bytes are there; pongs are skipped. */
bool ws_collect(struct tcp_client *c, struct mf_buf *out, size_t n);
/* One message as permessage-deflate sends it. */
void ws_compress(struct mf_buf *out, const void *p, size_t n);

#endif
