/* nats_standin.c: `nats req [-H 'Name: value'] SUBJECT BODY` for the examples of docs/ttl.md, with
 * nats.c; the address is in NATS_URL.  Compiled by ttl_examples.mjs. */
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static natsStatus add_header(natsMsg *m, char *line)
{
    char *value = strchr(line, ':');

    if (value == NULL)
        return NATS_INVALID_ARG;
    *value++ = '\0';
    return natsMsgHeader_Set(m, line, value + strspn(value, " "));
}

int main(int argc, char **argv)
{
    natsConnection *nc = NULL;
    natsMsg *m = NULL, *answer = NULL;
    natsStatus s = NATS_INVALID_ARG;
    int at = argc == 6 && strcmp(argv[2], "-H") == 0 ? 4 : 2;

    if (argc == at + 2 && strcmp(argv[1], "req") == 0)
        s = natsConnection_ConnectTo(&nc, getenv("NATS_URL"));
    if (s == NATS_OK)
        s = natsMsg_Create(&m, argv[at], NULL, argv[at + 1], (int)strlen(argv[at + 1]));
    if (s == NATS_OK && at == 4)
        s = add_header(m, argv[3]);
    if (s == NATS_OK)
        s = natsConnection_RequestMsg(&answer, nc, m, 60000);
    if (s == NATS_OK)
        printf("%.*s\n", natsMsg_GetDataLength(answer), natsMsg_GetData(answer));
    else
        fprintf(stderr, "nats: %s\n", natsStatus_GetText(s));
    natsMsg_Destroy(answer);
    natsMsg_Destroy(m);
    natsConnection_Destroy(nc);
    nats_Close();
    return s == NATS_OK ? 0 : 1;
}
