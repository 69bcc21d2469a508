/* pages.h: a monitor with a few pages on a loop thread, and a client that takes answers apart.
 *
 *     /        {"hello":"root"}          /show    path, base path, parameters a to c
 *     /varz    {"hello":"varz"}          /typed   parameters auth (bool), limit (int), cid (uint64)
 *     /down    503                       /big     n bytes of text, as application/json
 *     /long    as /big, in n steps; without n it never ends */
#ifndef TEST_PAGES_H
#define TEST_PAGES_H

#include "monitor/monitor.h"
#include "tcp_client.h"

void pages_start(struct monitor_options o); /* host and port are chosen here */
void pages_stop(void);                      /* harmless when not started */
int pages_port(void);
uint64_t pages_hits(const char *path);
char pages_big_byte(uint64_t i); /* of /big */
unsigned pages_long(void);       /* of /long: those that are being made */

extern char head[2048];    /* of the last answer */
extern struct mf_buf body; /* as sent */
/* Takes one answer off the connection; false when it ended before. */
bool take_answer(struct tcp_client *c, bool no_body);
/* Asks on a connection of its own; headers: more lines, "Name: value\r\n" each. */
void get(const char *target, const char *headers);
void assert_body(const char *want);
void assert_in_head(const char *want);
void assert_not_in_head(const char *what);

#endif
