/* ws_echo.h: an echo server behind ws_accept(), on a loop thread, and what to expect of it.
 *
 * It greets with what it learned of the request (paths "/" and "/silent" are not greeted), echoes
 * every byte, and obeys a few lines: !big N     N bytes of pattern          !bye        net_close()
 *     !bye S T   net_close() after ws_set_farewell(S, T)
 * The path "/refuse" is closed instead of taken. */
#ifndef TEST_WS_ECHO_H
#define TEST_WS_ECHO_H

#include "ws/ws.h"
#include "loop_thread.h"
#include "ws_client.h"

#define WS_DEFLATE "Sec-WebSocket-Extensions: permessage-deflate\r\n"
#define WS_CHROME  "User-Agent: Mozilla/5.0 Chrome/120 Safari/537\r\n"
#define WS_SAFARI  "User-Agent: Mozilla/5.0 Version/17 Safari/605\r\n"

void ws_echo_start(const struct ws_options *o);
void ws_echo_start_tls(const struct ws_options *o, struct net_tls *tls);
void ws_echo_stop(void); /* harmless when not started */
int ws_echo_port(void);
void ws_echo_cancel_handshakes(void);
/* Byte i of the pattern is i % 251; but never '!', which begins a command wherever the bytes happen
 * to be cut. */
void ws_echo_pattern(uint8_t *p, size_t n);

/* The next frame is exactly this one. */
void expect_frame(struct tcp_client *c, uint8_t first, const char *payload);
/* A close frame with this status (0: none) and text, and then the end. */
void expect_close(struct tcp_client *c, unsigned status, const char *text);
/* Data frames, however cut or compressed, that hold exactly these bytes. */
void expect_echo(struct tcp_client *c, const void *p, size_t n);

#endif
