// mayfly.hpp: a server as a C++ object: it starts in the constructor and ends in the destructor.
#pragma once
#include <mayfly.h>
#include <stdexcept>
#include <string>
#include <utility>

class Mayfly {
    mayfly *server = nullptr;

    static int check(int rv, const mayfly_error &e)
    {
        if (rv < 0)
            throw std::runtime_error(e.text);
        return rv;
    }

public:
    explicit Mayfly(const std::string &config)
    {
        mayfly_options o{};
        mayfly_error e{};
        o.size = sizeof o;
        o.config = config.c_str();
        check(mayfly_start(&server, &o, &e), e);
        if (int rv = mayfly_wait_ready(server, -1, &e)) {
            mayfly_free(server);
            check(rv, e);
        }
    }
    Mayfly(Mayfly &&other) noexcept : server(std::exchange(other.server, nullptr)) {}
    Mayfly(const Mayfly &) = delete;
    Mayfly &operator=(Mayfly) = delete;
    ~Mayfly() { mayfly_free(server); }

    // A connected socket that speaks NATS; the caller closes it.
    int connect()
    {
        mayfly_error e{};
        return check(mayfly_connect(server, &e), e);
    }
};
