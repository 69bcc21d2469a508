# nats.py: a stand-in for the package nats-py where it is not installed: connect(), jetstream().publish() and close(), for examples.
import asyncio
import json
from urllib.parse import urlparse


class Error(Exception):
    pass


class _JetStream:
    def __init__(self, client):
        self._client = client

    async def publish(self, subject, payload=b"", timeout=None, stream=None, headers=None):
        answer = json.loads(await self._client.request(subject, payload, headers))
        if "error" in answer:
            raise Error(answer["error"]["description"])
        return answer


class _Client:
    async def open(self, url):
        u = urlparse(url)
        self._in, self._out = await asyncio.open_connection(u.hostname, u.port)
        await self._in.readline()  # INFO
        self._out.write(b'CONNECT {"verbose":false,"headers":true,"no_responders":true}\r\nSUB _INBOX.standin 1\r\n')
        return self

    def jetstream(self):
        return _JetStream(self)

    async def request(self, subject, payload, headers):
        head = b"NATS/1.0\r\n" + b"".join(f"{k}: {v}\r\n".encode() for k, v in (headers or {}).items()) + b"\r\n"
        self._out.write(f"HPUB {subject} _INBOX.standin {len(head)} {len(head) + len(payload)}\r\n".encode() + head + payload + b"\r\n")
        while True:
            words = (await self._in.readline()).split()
            if words[:1] == [b"PING"]:
                self._out.write(b"PONG\r\n")
            elif words[:1] == [b"MSG"]:
                data = await self._in.readexactly(int(words[-1]) + 2)
                return data[:-2]
            elif words[:1] != [b"PONG"]:
                raise Error(words)

    async def close(self):
        self._out.close()
        await self._out.wait_closed()


async def connect(url):
    return await _Client().open(url)
