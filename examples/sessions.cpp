// sessions.cpp: a stream server inside a C++ program: a bucket of sessions that end by themselves.
//
//     c++ sessions.cpp $(pkg-config --cflags --libs mayfly) -o sessions && ./sessions FOLDER
#include "mayfly.hpp"

#include <cstdio>
#include <iostream>
#include <unistd.h>

class Client {
    FILE *in, *out;

public:
    explicit Client(int fd) : in(fdopen(fd, "r")), out(fdopen(dup(fd), "w"))
    {
        send("CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB inbox 1\r\n");
    }
    Client(const Client &) = delete;
    ~Client()
    {
        fclose(in);
        fclose(out);
    }
    void send(const std::string &text)
    {
        fwrite(text.data(), 1, text.size(), out);
        fflush(out);
    }
    void expect(const std::string &text)
    {
        char line[8192];
        while (fgets(line, sizeof line, in) != nullptr)
            if (std::string(line).find(text) != std::string::npos)
                return;
        throw std::runtime_error("the server ended before it said " + text);
    }
    void publish(const std::string &subject, const std::string &body, const std::string &head = "")
    {
        send((head.empty() ? "PUB " : "HPUB ") + subject + " inbox " +
             (head.empty() ? "" : std::to_string(head.size()) + " ") +
             std::to_string(head.size() + body.size()) + "\r\n" + head + body + "\r\n");
    }
};

int main(int argc, char **argv)
try {
    Mayfly server("jetstream: { store_dir: \"" + std::string(argc > 1 ? argv[1] : "sessions.data") +
                  "\" }");
    Client client(server.connect());

    // A KV bucket is a stream with this name and these subjects.
    client.publish("$JS.API.STREAM.CREATE.KV_sessions", R"({
        "name": "KV_sessions", "subjects": ["$KV.sessions.>"], "max_msgs_per_subject": 1,
        "allow_rollup_hdrs": true, "allow_direct": true, "discard": "new",
        "allow_msg_ttl": true, "subject_delete_marker_ttl": 60000000000})");
    client.expect("\"created\"");
    // A watcher is a consumer of that stream.
    client.send("SUB watch 2\r\n");
    client.publish("$JS.API.CONSUMER.CREATE.KV_sessions", R"({
        "stream_name": "KV_sessions", "config": {"deliver_subject": "watch", "ack_policy": "none"}})");
    client.expect("\"created\"");
    client.publish("$KV.sessions.alice", "logged in", "NATS/1.0\r\nNats-TTL: 1s\r\n\r\n");
    client.expect("logged in");
    std::cout << "alice is logged in" << std::endl;
    client.expect("Nats-Marker-Reason: MaxAge");
    std::cout << "the session of alice has expired" << std::endl;
} catch (const std::exception &e) {
    std::cerr << e.what() << std::endl;
    return 1;
}
