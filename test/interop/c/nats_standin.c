/* nats_standin.c: `nats req SUBJECT BODY` for the examples of docs/ttl.md, with nats.c; the address
 * is in NATS_URL. Compiled by ttl_examples.mjs. */
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    natsConnection *nc = NULL;
    natsMsg *answer = NULL;
    natsStatus s = NATS_INVALID_ARG;

    if (argc == 4 && strcmp(argv[1], "req") == 0)
        s = natsConnection_ConnectTo(&nc, getenv("NATS_URL"));
    if (s == NATS_OK)
        s = natsConnection_RequestString(&answer, nc, argv[2], argv[3], 60000);
    if (s == NATS_OK)
        printf("%.*s\n", natsMsg_GetDataLength(answer), natsMsg_GetData(answer));
    else
        fprintf(stderr, "nats: %s\n", natsStatus_GetText(s));
    natsMsg_Destroy(answer);
    natsConnection_Destroy(nc);
    nats_Close();
    return s == NATS_OK ? 0 : 1;
}
