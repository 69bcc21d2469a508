/* pipe_impl.h: WebSocket framing as a filter inside a net connection. */
#ifndef MAYFLY_WS_PIPE_H
#define MAYFLY_WS_PIPE_H

#include "ws/pool_impl.h"
#include "ws/upgrade_impl.h"

enum { WS_CLOSE_NORMAL = 1000, WS_CLOSE_GOING_AWAY = 1001, WS_CLOSE_PROTOCOL = 1002 };
enum { WS_CLOSE_BAD_DATA = 1007, WS_CLOSE_TOO_BIG = 1009, WS_CLOSE_INTERNAL = 1011 };

/* A message is a run of frames; `in_message` from its first frame to the end of its final one.
 * reader is NULL at a frame boundary, inflater outside compressed messages. */
struct ws_pipe {
    struct ws_reader *reader;
    struct ws_inflater *inflater;
    size_t max_message;
    uint64_t inflated; /* bytes of this message so far */
    bool masked;       /* the peer must mask */
    bool masks;        /* what is sent is masked: a client's */
    bool compress, browser, whole_deflated;
    bool in_message, message_deflated, inflate_done;
    bool close_sent;   /* nothing may follow a close frame */
    bool close_chosen; /* what stands below is final */
    uint8_t close_len; /* 0: a close frame without a status */
    uint8_t close[WS_CONTROL_MAX];
};

/* 10,000 idle connections should cost few megabytes: look twice before this grows. */
_Static_assert(sizeof(struct ws_pipe) <= 256, "struct ws_pipe has grown");

extern const struct net_filter ws_pipe_filter;

/* NULL when out of memory.  Freed by the filter's free(). */
struct ws_pipe *ws_pipe_new(const struct ws_verdict *v, size_t max_message);

/* The frames of the read side: 0, MF_CLOSED after the peer's close frame, or another code. */
int ws_pipe_decode(void *state, struct net_conn *c, const uint8_t *p, size_t n);
/* One frame to the wire, through wslay. */
int ws_pipe_send(const struct ws_pipe *w, struct net_conn *c, unsigned opcode, bool fin,
                 bool deflated, const uint8_t *p, size_t n);
/* Chooses status and text of the close frame; the first choice wins. */
void ws_pipe_choose_close(struct ws_pipe *w, unsigned status, const void *text, size_t n);

#endif
