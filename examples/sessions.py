"""sessions.py: a stream server inside a Python program: a bucket of sessions that end by themselves.

    python3 sessions.py FOLDER
"""
import ctypes
import os
import socket
import sys


class Options(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("config", ctypes.c_char_p),
        ("config_file", ctypes.c_char_p),
        ("argc", ctypes.c_int),
        ("argv", ctypes.POINTER(ctypes.c_char_p)),
        ("flags", ctypes.c_uint),
        ("log", ctypes.c_void_p),
        ("log_arg", ctypes.c_void_p),
        ("max_memory", ctypes.c_uint64),
        ("max_files", ctypes.c_uint64),
    ]


class Error(ctypes.Structure):
    _fields_ = [("code", ctypes.c_int), ("text", ctypes.c_char * 512)]


class Mayfly:
    """A server; `with Mayfly(config) as server:` ends it."""

    lib = ctypes.CDLL(os.environ.get("LIBMAYFLY", "libmayfly.so.0"))
    lib.mayfly_free.restype = None

    def __init__(self, config):
        self.server, error = ctypes.c_void_p(), Error()
        options = Options(size=ctypes.sizeof(Options), config=config.encode())
        self._check(self.lib.mayfly_start(ctypes.byref(self.server), ctypes.byref(options), ctypes.byref(error)), error)
        try:
            self._check(self.lib.mayfly_wait_ready(self.server, -1, ctypes.byref(error)), error)
        except OSError:
            self.close()
            raise

    @staticmethod
    def _check(result, error):
        if result < 0:
            raise OSError(error.text.decode())
        return result

    def connect(self):
        error = Error()
        return socket.socket(fileno=self._check(self.lib.mayfly_connect(self.server, ctypes.byref(error)), error))

    def close(self):
        server, self.server = self.server, ctypes.c_void_p()
        self.lib.mayfly_free(server)

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        self.close()


def main(folder):
    with Mayfly(f'jetstream: {{ store_dir: "{folder}" }}') as server, server.connect() as client:
        lines = client.makefile("rb")

        def publish(subject, body, head=b""):
            sizes = f"{len(head)} {len(head) + len(body)}" if head else f"{len(body)}"
            verb = "HPUB" if head else "PUB"
            client.sendall(f"{verb} {subject} inbox {sizes}\r\n".encode() + head + body + b"\r\n")

        def expect(text):
            if not any(text in line for line in lines):
                sys.exit(f"the server ended before it said {text}")

        client.sendall(b'CONNECT {"verbose":false,"headers":true}\r\nSUB inbox 1\r\n')
        # A KV bucket is a stream with this name and these subjects.
        publish(
            "$JS.API.STREAM.CREATE.KV_sessions",
            b'{"name":"KV_sessions","subjects":["$KV.sessions.>"],"max_msgs_per_subject":1,'
            b'"allow_rollup_hdrs":true,"allow_direct":true,"discard":"new",'
            b'"allow_msg_ttl":true,"subject_delete_marker_ttl":60000000000}',
        )
        expect(b'"created"')
        # A watcher is a consumer of that stream.
        client.sendall(b"SUB watch 2\r\n")
        publish(
            "$JS.API.CONSUMER.CREATE.KV_sessions",
            b'{"stream_name":"KV_sessions","config":{"deliver_subject":"watch","ack_policy":"none"}}',
        )
        expect(b'"created"')
        publish("$KV.sessions.alice", b"logged in", b"NATS/1.0\r\nNats-TTL: 1s\r\n\r\n")
        expect(b"logged in")
        print("alice is logged in", flush=True)
        expect(b"Nats-Marker-Reason: MaxAge")
        print("the session of alice has expired", flush=True)


main(sys.argv[1] if len(sys.argv) > 1 else "sessions.data")
