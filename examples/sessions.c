/* sessions.c: a stream server inside a C program: a bucket of sessions that end by themselves.
 *
 *     cc sessions.c $(pkg-config --cflags --libs mayfly) -o sessions && ./sessions FOLDER */
#include <mayfly.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static FILE *in, *out;

/* Reads lines until one holds the text. */
static void expect(const char *text)
{
    char line[8192];

    while (fgets(line, sizeof line, in) != NULL)
        if (strstr(line, text) != NULL)
            return;
    fprintf(stderr, "the server ended before it said %s\n", text);
    exit(1);
}

static void request(const char *subject, const char *body, const char *answer)
{
    fprintf(out, "PUB %s inbox %zu\r\n%s\r\n", subject, strlen(body), body);
    fflush(out);
    expect(answer);
}

static void use_bucket(void)
{
    static const char head[] = "NATS/1.0\r\nNats-TTL: 1s\r\n\r\n";

    fprintf(out, "CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB inbox 1\r\n");
    /* A KV bucket is a stream with this name and these subjects. */
    request(
        "$JS.API.STREAM.CREATE.KV_sessions",
        "{\"name\":\"KV_sessions\",\"subjects\":[\"$KV.sessions.>\"],\"max_msgs_per_subject\":1,"
        "\"allow_rollup_hdrs\":true,\"allow_direct\":true,\"discard\":\"new\","
        "\"allow_msg_ttl\":true,\"subject_delete_marker_ttl\":60000000000}",
        "\"created\"");
    /* A watcher is a consumer of that stream. */
    fprintf(out, "SUB watch 2\r\n");
    request("$JS.API.CONSUMER.CREATE.KV_sessions",
            "{\"stream_name\":\"KV_sessions\",\"config\":{\"deliver_subject\":\"watch\",\"ack_"
            "policy\":\"none\"}}",
            "\"created\"");
    fprintf(out, "HPUB $KV.sessions.alice inbox %zu %zu\r\n%slogged in\r\n", strlen(head),
            strlen(head) + strlen("logged in"), head);
    fflush(out);
    expect("logged in");
    puts("alice is logged in");
    expect("Nats-Marker-Reason: MaxAge");
    puts("the session of alice has expired");
}

int main(int argc, char **argv)
{
    char config[512];
    struct mayfly_options options = {.size = sizeof options, .config = config};
    struct mayfly_error error;
    struct mayfly *server;
    int fd;

    snprintf(config, sizeof config, "jetstream: { store_dir: \"%s\" }",
             argc > 1 ? argv[1] : "sessions.data");
    if (mayfly_start(&server, &options, &error) != 0) {
        fprintf(stderr, "%s\n", error.text);
        return 1;
    }
    fd = mayfly_connect(server, &error);
    if (mayfly_wait_ready(server, -1, &error) != 0 || fd < 0) {
        fprintf(stderr, "%s\n", error.text);
        mayfly_free(server);
        return 1;
    }
    in = fdopen(fd, "r");
    out = fdopen(dup(fd), "w");
    if (in != NULL && out != NULL)
        use_bucket();
    mayfly_free(server); /* everything that was acknowledged is on disk */
    return 0;
}
