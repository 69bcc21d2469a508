// lies.mjs: input that promises what does not come, comes in crumbs, or is plain garbage.
import { createHash } from "node:crypto";
import { check, Client, connected, connectLine, delay, each, until } from "./kit.mjs";

export const scenarios = [];
const scenario = (name, run, options = {}) => scenarios.push({ name, run, ...options });

// Pseudo-random bytes from a seed that a failure prints.
export function dice(seed) {
  let state = seed >>> 0;
  const next = (n) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 4294967296) * n);
  };
  next.bytes = (n) => Buffer.from(Array.from({ length: n }, () => next(256)));
  next.pick = (list) => list[next(list.length)];
  return next;
}

// --- promises ---------------------------------------------------------------------------------------
scenario("payloads announced on 1,000 connections and never sent take no memory", async (t) => {
  const s = await t.thrifty();
  const clients = new Array(1000);
  await each(1000, 200, async (i) => (clients[i] = await connected(s.port)));
  const before = s.rss();
  clients.forEach((c, i) => c.send(i % 2 ? "PUB a 1000000\r\n0123456789"
    : "HPUB a 12 1000000\r\nNATS/1.0\r\n\r\n0123456789"));
  const last = await connected(s.port);
  await last.ping();
  await delay(100);
  await last.ping();
  const grown = s.rss() - before;
  t.note(`${grown} kB more`);
  check(grown < t.atMost(4096), `${grown} kB for 1000 promises`);
  clients.forEach((c) => c.close());
  await s.clientsLeft(1);
  await s.stop();
});

scenario("header lies on 200 connections change nothing for the others", async (t) => {
  const s = await t.server("max_payload: 4096");
  const honest = (await connected(s.port)).count();
  honest.send("SUB honest 1\r\n");
  const roll = dice(42);
  let sent = 0;
  await each(200, 50, async () => {
    const c = await connected(s.port);
    const lie = roll.pick([
      "HPUB honest 10 5\r\nNATS/1.0\r\n\r\n", "HPUB honest 5000 5000\r\n", "HPUB honest 12 12\r\nNATS/1.0\r\n",
      "HPUB honest 999999999 999999999\r\n", "HPUB honest -1 5\r\nhello\r\n", "HPUB honest 5\r\n",
      "HPUB honest 9999999999 9999999999\r\n", "PUB honest 4097\r\n", "HPUB honest 0x10 0x20\r\n",
      "PUB honest 5\r\nhello!!\r\n", "HPUB honest 12 17\r\nNATS/1.0\r\n\r\nhelloXX", "PUB honest 5 5 5 5\r\n",
    ]);
    c.send(lie);
    c.close();
    honest.send("PUB honest 2\r\nok\r\n");
    sent++;
  });
  await until("the honest messages", () => honest.messages >= sent);
  await delay(50);
  check(honest.messages === sent, `${honest.messages} messages, ${sent} were honest`);
  await s.clientsLeft(1);
  await s.stop();
});

scenario("JSON bombs in CONNECT", async (t) => {
  const s = await t.server();
  const bombs = [
    "[".repeat(4000), '{"a":'.repeat(600) + "1" + "}".repeat(600), `{"name":"${"\\u0000".repeat(600)}"}`,
    `{${Array.from({ length: 400 }, (_, i) => `"k${i}":${i}`).join(",")}}`, `{"protocol":1${"0".repeat(3000)}}`,
    '{"user":{"user":{"user":[[[[]]]]}}}', `{"name":"${"\xff\xfe".repeat(500)}"}`, '{"verbose":1e999999}',
    `{"lang":"${"\\ud800".repeat(500)}"}`, '"just text"', "123", "null", "{}{}{}", `{"x":-${"9".repeat(2000)}}`,
  ];
  await each(400, 50, async (i) => {
    const c = new Client(s.port, { connect: null });
    c.send(Buffer.from(`CONNECT ${bombs[i % bombs.length]}\r\nPING\r\n`, "latin1"));
    await until("an answer or the end", () => c.ended || c.text.includes("PONG"));
    c.close();
  });
  await s.clientsLeft(0);
  await s.healthy();
  await s.stop();
});

// --- crumbs -----------------------------------------------------------------------------------------
scenario("giant control lines in tiny pieces are refused, and take no memory", async (t) => {
  const s = await t.thrifty();
  const starts = ["PUB ", "SUB ", "CONNECT {", "UNSUB ", "HPUB ", "INFO {"];
  const clients = Array.from({ length: 90 }, () => new Client(s.port, { connect: null }));
  await Promise.all(clients.map((c) => c.expect("INFO ")));
  const before = s.rss();
  clients.forEach((c, i) => c.send(starts[i % starts.length]));
  for (let i = 0; i < 584; i++) { // 4088 bytes
    clients.forEach((c) => c.send("abcdefg"));
    if (i % 20 === 0) await delay(1);
  }
  await s.healthy();
  check(clients.every((c) => !c.ended), "closed before the line was too long");
  clients.forEach((c) => c.send("abcdefghijklmnopqrstuvwxyz"));
  for (const [i, c] of clients.entries())
    check((await c.closed()).endsWith("-ERR 'maximum control line exceeded'\r\n"),
      `${starts[i % starts.length]}: ${c.text.slice(-80)}`);
  const grown = s.rss() - before;
  check(grown < t.atMost(8192), `${grown} kB more`);
  await s.healthy();
  await s.stop();
});

scenario("a byte at a time is as good as all at once", async (t) => {
  const s = await t.server();
  const dialog = connectLine() + "SUB a.* 1\r\nPUB a.b r 5\r\nhello\r\nHPUB a.c 16 18\r\nNATS/1.0\r\nA:\r\n\r\nhi\r\n" +
    "UNSUB 1 3\r\nPUB a.d 0\r\n\r\nPUB a.e 1\r\nx\r\nPING\r\n";
  const answer = "MSG a.b 1 r 5\r\nhello\r\nHMSG a.c 1 16 18\r\nNATS/1.0\r\nA:\r\n\r\nhi\r\nMSG a.d 1 0\r\n\r\nPONG\r\n";
  const clients = Array.from({ length: 40 }, (_, i) => new Client(s.port, { connect: null, from: `127.0.0.${2 + i % 3}` }));
  // Each in an account of its own would be simpler; here each has its own first token instead.
  const mine = (text, i) => text.replaceAll(" a.", ` ${String.fromCharCode(98 + Math.floor(i / 26)) + String.fromCharCode(97 + i % 26)}.`);
  await Promise.all(clients.map((c) => c.expect("} \r\n")));
  for (let at = 0; at < mine(dialog, 0).length; at++) {
    clients.forEach((c, i) => c.send(mine(dialog, i)[at]));
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const [i, c] of clients.entries()) {
    await c.wait("the last PONG", () => c.text.includes("PONG\r\n"));
    check(c.text === mine(answer, i), `${JSON.stringify(c.text)}`);
  }
  await s.stop();
});

// --- garbage ----------------------------------------------------------------------------------------
const UPGRADE = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n" +
  "Sec-WebSocket-Extensions: permessage-deflate; client_no_context_takeover; server_no_context_takeover\r\n\r\n";

// A WebSocket frame, right or wrong in one respect or the other.
function frame(roll) {
  const payload = roll(2) ? roll.bytes(roll(300)) : Buffer.from(roll.pick(["PING\r\n", connectLine(), "SUB a 1\r\n"]));
  const head = [roll(256), (roll(8) ? 0x80 : 0) | (payload.length < 126 ? payload.length : roll(4) ? 126 : 127)];
  if ((head[1] & 127) === 126) head.push(payload.length >> 8, payload.length & 255);
  if ((head[1] & 127) === 127) head.push(roll(2) ? 0 : 255, 0, 0, 0, 0, 0, payload.length >> 8, payload.length & 255);
  if (roll(4)) head[0] = roll.pick([0x82, 0x81, 0x02, 0x80, 0x89, 0x8a, 0x88, 0xc2]);
  const mask = roll.bytes(4);
  if (head[1] & 0x80) payload.forEach((b, i) => (payload[i] = b ^ mask[i & 3]));
  return Buffer.concat([Buffer.from(head), head[1] & 0x80 ? mask : Buffer.alloc(0), payload]);
}

const NATS_WORDS = ["PUB ", "HPUB ", "SUB ", "UNSUB ", "PING\r\n", "PONG\r\n", "CONNECT ", "+OK\r\n", "-ERR x\r\n", "INFO {}\r\n",
  "a.b ", "> ", "* ", "..", "5\r\n", "hello\r\n", "\r\n", " ", "\t", "0\r\n\r\n", "{}", "{\"verbose\":true}\r\n", "99999999\r\n", "\n"];
const HTTP_WORDS = ["GET ", "POST ", "HEAD ", "/varz", "/connz?subs=1", "/connz?offset=-1&limit=x", "/%00%ff%", " HTTP/1.1\r\n", " HTTP/9.9\r\n",
  "Host: x\r\n", "Content-Length: 5\r\n", "Content-Length: -5\r\n", "Transfer-Encoding: chunked\r\n", "\r\n", ":", "?callback=x(", "\0", "Connection: close\r\n"];

function noise(roll, words) {
  const parts = [];
  for (let n = 1 + roll(12); n > 0; n--)
    parts.push(roll(3) ? Buffer.from(roll.pick(words)) : roll.bytes(roll(60)));
  return Buffer.concat(parts);
}

// Every way to end: politely, with a reset, or by waiting for the other side.
async function leave(roll, c) {
  await delay(roll(20));
  if (roll(3) === 0) c.reset();
  else c.close();
}

scenario("random garbage on every listener", async (t) => {
  const seed = Date.now() & 0xffffff;
  const roll = dice(seed);
  t.onFailure(`seed ${seed}`);
  const s = await t.server(`websocket { listen: "127.0.0.1:-1", no_tls: true, compression: true }
    leafnodes { listen: "127.0.0.1:-1" }\ncluster { name: c, listen: "127.0.0.1:-1" }`);
  const leaf = Number((await s.said(/leafnode connections on [^:]*:(\d+)/))[1]);
  const watcher = await connected(s.port);
  await each(800, 40, async (i) => {
    const port = [s.port, s.ws, s.ws, s.http, leaf][i % 5];
    const c = new Client(port, { connect: null });
    if (port === s.ws && roll(4)) {
      c.send(UPGRADE);
      await c.wait("the upgrade", () => c.text.includes("\r\n\r\n")).catch(() => {});
      for (let n = roll(8); n > 0 && !c.ended; n--) c.send(frame(roll));
    } else {
      c.send(noise(roll, port === s.http || port === s.ws ? HTTP_WORDS : NATS_WORDS));
    }
    await leave(roll, c);
  });
  await watcher.ping();
  await s.healthy();
  await s.clientsLeft(1);
  await s.stop();
});

// Ten bytes of it become thousands: what it may become is limited, before and after CONNECT.
scenario("a WebSocket client that packs zeros by the gigabyte", async (t) => {
  const { deflateRawSync } = await import("node:zlib");
  const s = await t.thrifty('websocket { listen: "127.0.0.1:-1", no_tls: true, compression: true }');
  const packed = deflateRawSync(Buffer.concat([Buffer.from("PUB a 1000000\r\n"), Buffer.alloc(100 << 20)]));
  const head = Buffer.from([0xc2, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]); // masked with zeros
  head.writeUInt32BE(packed.length, 6);
  const before = s.rss();
  await each(20, 10, async () => {
    const c = new Client(s.ws, { connect: null });
    c.send(UPGRADE);
    await c.wait("the upgrade", () => c.text.includes("\r\n\r\n"));
    c.send(head);
    c.send(packed);
    await c.closed();
  });
  const grown = s.rss() - before;
  t.note(`${grown} kB more`);
  check(grown < t.atMost(16 * 1024), `${grown} kB more`);
  await s.healthy();
  await s.stop();
});

scenario("WebSocket clients that end in every way", async (t) => {
  const s = await t.server(`websocket { listen: "127.0.0.1:-1", no_tls: true }\nmax_payload: 100`);
  const accept = createHash("sha1").update("dGhlIHNhbXBsZSBub25jZQ==258EAFA5-E914-47DA-95CA-C5AB0DC85B11").digest("base64");
  const send = (c, text) => {
    const body = Buffer.from(text); // shorter than 126, and masked with zeros
    c.send(Buffer.concat([Buffer.from([0x82, 0x80 | body.length, 0, 0, 0, 0]), body]));
  };
  const open = async () => {
    const c = new Client(s.ws, { connect: null });
    c.send(UPGRADE);
    await c.expect(accept);
    await c.expect("INFO ");
    return c;
  };
  const ends = {
    "a close frame": (c) => c.send(Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8])),
    "a protocol violation": (c) => send(c, "NONSENSE\r\n"),
    "too large a payload": (c) => send(c, "PUB a 101\r\n"),
    "an unmasked frame": (c) => c.send(Buffer.from([0x82, 0x01, 0x41])),
    "a silent parse error": (c) => send(c, "PUB a b c d e f\r\n"),
    "half a frame": (c) => (c.send(Buffer.from([0x82, 0xff, 0, 0])), c.sock.end()),
    "a reset": (c) => c.reset(),
  };
  for (const [name, end] of Object.entries(ends)) {
    const c = await open();
    send(c, connectLine() + "SUB a 1\r\nPUB a 2\r\nhi\r\nPING\r\n");
    await c.expect("MSG a 1 2\r\nhi\r\n");
    end(c);
    await c.closed().catch(() => check(false, `${name} did not end it`));
  }
  await s.clientsLeft(0);
  const still = await open(); // and at shutdown
  send(still, connectLine() + "PING\r\n");
  await still.expect("PONG");
  await s.stop();
});
