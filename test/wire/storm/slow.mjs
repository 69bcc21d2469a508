// slow.mjs: peers that do not read, read slowly, or do not answer.
import { check, Client, connected, delay, LIMIT_MS, steadily, until } from "./kit.mjs";

export const scenarios = [];
const scenario = (name, run, options = {}) => scenarios.push({ name, run, ...options });

async function subscriber(server, subject) {
  const c = await connected(server.port);
  c.send(`SUB ${subject} 1\r\n`);
  await c.ping();
  return c;
}

// Publishes in blocks of about 64 KB, no faster than the server takes them; nor than `reader` reads
// them (half a megabyte behind at most), for on a busy machine an honest one may be late as well.
async function publish(client, subject, size, count, reader) {
  const one = `PUB ${subject} ${size}\r\n${"x".repeat(size)}\r\n`;
  const most = Math.max(1, Math.floor(65536 / size));
  const from = reader.messages;
  for (let sent = 0; sent < count;) {
    const n = Math.min(count - sent, most);
    client.send(Buffer.from(one.repeat(n)));
    sent += n;
    await client.drain();
    if (reader.messages - from < sent - 8 * most)
      await until("the honest reader to read", () => reader.messages - from >= sent - 8 * most || reader.ended);
  }
}

const closedReasons = async (s) =>
  (await s.json("/connz?state=closed&limit=1000")).connections.map((c) => c.reason);

scenario("readers that never read are closed at max_pending; the others get everything", (t) => steadily(async () => {
  const s = await t.server("max_pending: 1MB");
  const deaf = [];
  for (let i = 0; i < 5; i++) deaf.push((await subscriber(s, "news")).deaf());
  const good = (await subscriber(s, "news")).count();
  const other = await subscriber(s, "elsewhere");
  const publisher = await connected(s.port);
  const before = s.rss();
  const done = publish(publisher, "news", 4096, 6000, good);
  let worst = 0;
  while (good.messages < 6000) { // meanwhile others are served at once
    const from = Date.now();
    await other.ping();
    worst = Math.max(worst, Date.now() - from);
    check(!good.ended, "the honest reader was closed");
    await delay(5);
  }
  await done;
  check(good.messages === 6000, `${good.messages} of 6000`);
  await until("the five to go", async () => (await s.json("/varz")).slow_consumers === 5);
  check((await closedReasons(s)).filter((r) => r === "Slow Consumer (Pending Bytes)").length === 5,
    `reasons: ${await closedReasons(s)}`);
  t.note(`${s.rss() - before} kB more, a PING took ${worst} ms at most`);
  check(s.rss() - before < t.atMost(24 * 1024), `${s.rss() - before} kB for 5 slow readers`);
  check(worst < t.soon(5000), `a PING took ${worst} ms`); // less than the write deadline
  await s.stop();
}));

scenario("a reader that never reads holds up a publisher of small messages for a moment only", async (t) => {
  const s = await t.server("max_pending: 8MB");
  const deaf = (await subscriber(s, "ticks")).deaf();
  const good = (await subscriber(s, "ticks")).count();
  const publisher = await connected(s.port);
  const from = Date.now();
  await publish(publisher, "ticks", 256, 100000, good); // three times what it may leave unread
  await until("all of it", () => good.messages === 100000);
  const v = await s.json("/varz");
  t.note(`100,000 messages in ${Date.now() - from} ms, held up ${v.stalled_clients} times`);
  check(v.slow_consumers === 1, "it was not closed");
  check(v.stalled_clients < 1500, `held up ${v.stalled_clients} times`); // 5 ms each
  deaf.close();
  await s.stop();
}, { ours: true });

scenario("readers that never read are closed at the write deadline", async (t) => {
  const s = await t.server('write_deadline: "700ms"');
  const deaf = (await subscriber(s, "news")).deaf();
  const good = (await subscriber(s, "news")).count();
  const publisher = await connected(s.port);
  await publish(publisher, "news", 16384, 700, good); // more than the kernel keeps, less than max_pending
  await until("all of it", () => good.messages === 700);
  await until("the slow one to go", async () => (await s.json("/varz")).slow_consumers === 1);
  check((await closedReasons(s)).includes("Slow Consumer (Write Deadline)"), await closedReasons(s));
  await good.ping();
  deaf.close();
  await s.stop();
});

// The server's own answers count as well as messages do.
for (const [what, line, options] of [
  ["PONG", "PING\r\n"],
  ["+OK", "PUB x 0\r\n\r\n"],
  ["-ERR", "SUB .. 1\r\n", { ours: true }],
  ["503", "PUB nobody inbox 0\r\n\r\n"],
]) scenario(`who asks for ${what} and never reads is closed at max_pending`, async (t) => {
  const s = await t.server("max_pending: 1MB");
  const c = await connected(s.port, { connect: { verbose: what === "+OK" } });
  c.send("SUB inbox 1\r\n");
  await c.ping();
  c.deaf();
  const before = s.rss();
  const block = line.repeat(8000);
  const gone = async () => (await s.json("/varz")).slow_consumers === 1;
  for (let i = 0; i < 600 && !(await gone()); i++) {
    c.send(block);
    await c.drain(1000).catch(() => {}); // the end of a peer that does not read is not seen
  }
  await until("the end of it", gone);
  check(s.rss() - before < t.atMost(16 * 1024), `${s.rss() - before} kB more`);
  await s.healthy();
  c.close();
  await s.stop();
}, options);

// It is honest as long as we are let: a machine that keeps us from reading makes it a slow one.
scenario("a fast producer and an honest, slower reader: nothing is lost", (t) => steadily(async () => {
  const s = await t.server("max_pending: 4MB");
  const count = 24000;
  const reader = await subscriber(s, "stream");
  let next = 0;
  reader.count((payload) => {
    check(Number(payload.toString("latin1", 0, 8)) === next++, "out of order");
  });
  let taken = 0;
  const start = Date.now();
  reader.sock.on("data", (d) => { // at most 6 MB in a second
    const early = start + (taken += d.length) / 6000 - Date.now();
    if (early < 1) return;
    reader.sock.pause();
    setTimeout(() => reader.sock.resume(), early);
  });
  const producer = await connected(s.port);
  for (let i = 0; i < count; i += 50) {
    let block = "";
    for (let k = i; k < i + 50; k++)
      block += `PUB stream 1024\r\n${String(k).padStart(8, "0")}${"x".repeat(1016)}\r\n`;
    producer.send(block);
    await producer.drain();
  }
  await until("all messages", () => reader.messages === count || reader.ended);
  check(reader.messages === count, `${reader.messages} of ${count} arrived`);
  const v = await s.json("/varz");
  check(v.slow_consumers === 0, "it counts as a slow consumer");
  t.note(`producer held up ${v.stalled_clients} times`);
  await s.stop();
}, 30), { ours: true });

scenario("peers that vanish: unanswered PINGs end them, and only them", (t) => steadily(async () => {
  const s = await t.server('ping_interval: "300ms"\nping_max: 2');
  const alive = (await connected(s.port)).count(); // answers PINGs
  const gone = await Promise.all(Array.from({ length: 50 }, () => connected(s.port)));
  const talks = await connected(s.port); // never answers, but asks
  const asking = setInterval(() => talks.send("PING\r\nPONG\r\n"), 100);
  await Promise.all(gone.map((c) => c.closed())).finally(() => clearInterval(asking));
  for (const c of gone)
    check(c.text.endsWith("-ERR 'Stale Connection'\r\n"), `said: ${c.text.slice(-80)}`);
  check(!alive.ended && !talks.ended, "a living one was closed");
  const v = await s.json("/varz");
  check((v.stale_connections ?? 50) === 50, `stale_connections is ${v.stale_connections}`);
  await s.stop();
}, 200));

scenario("a peer that vanished in the middle of a message holds nothing for ever", async (t) => {
  const s = await t.server('ping_interval: "300ms"\nping_max: 1');
  const c = await connected(s.port);
  c.send(`PUB a 1000000\r\n${"x".repeat(300000)}`);
  check((await c.closed()).endsWith("-ERR 'Stale Connection'\r\n"), c.text.slice(-80));
  await s.clientsLeft(0);
  await s.stop();
});

// --- slowloris --------------------------------------------------------------------------------------
// Sends text a byte at a time to every connection, for as long as one is open.
async function trickle(clients, text, everyMs) {
  const deadline = Date.now() + LIMIT_MS;
  for (let i = 0; clients.some((c) => !c.ended); i++) {
    check(Date.now() < deadline, `${clients.filter((c) => !c.ended).length} are still there`);
    clients.forEach((c) => c.ended || c.send(text[i % text.length]));
    await delay(everyMs);
  }
}

scenario("slowloris on the client port: the authentication timeout ends it", async (t) => {
  const s = await t.server("authorization { user: u, password: p, timeout: 1 }");
  const slow = Array.from({ length: 300 }, () => new Client(s.port, { connect: null }));
  // A second is little on a busy machine, for an honest one too.
  const good = await until("a login in time", () => connected(s.port, { connect: { user: "u", pass: "p" } }).catch(() => undefined));
  const all = trickle(slow, 'CONNECT {"user":"u","name":"' + "x".repeat(500), 50);
  for (let i = 0; i < 5; i++) {
    await good.ping();
    await delay(100);
  }
  await all;
  for (const c of slow)
    check(c.text.endsWith("-ERR 'Authentication Timeout'\r\n"), `said: ${c.text.slice(-80)}`);
  await good.ping();
  await s.clientsLeft(1);
  await s.stop();
});

scenario("slowloris on the WebSocket port, which has credentials of its own", (t) => steadily(async () => {
  const s = await t.server(`websocket { listen: "127.0.0.1:-1", no_tls: true,
    authorization { user: u, password: p, timeout: 1 } }`);
  const head = "GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n" +
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n";
  const silent = Array.from({ length: 100 }, () => new Client(s.ws, { connect: null }));
  silent.forEach((c) => c.send(head));
  // nats-server waits for the rest of a request for as long as it takes.
  const slow = Array.from({ length: t.ours ? 100 : 0 }, () => new Client(s.ws, { connect: null }));
  await trickle(slow, head.slice(0, -4) + "X".repeat(9999), 50);
  for (const c of silent) {
    check((await c.closed()).includes("-ERR 'Authentication Timeout'\r\n"), `said: ${c.text.slice(-80)}`);
    check(c.text.includes('"auth_required":true'), "INFO does not say that credentials are required");
  }
  await (await connected(s.port)).ping(); // the other port asks for none
  await s.stop();
}, 500));

scenario("slowloris on the monitoring port: others are answered, and it ends", (t) => steadily(async () => {
  const s = await t.server();
  const slow = Array.from({ length: 400 }, () => new Client(s.http, { connect: null }));
  await until("them to be there", () => s.openFiles() > 250);
  const all = trickle(slow, "GET /varz HTTP/1.1\r\nX-Slow: " + "y".repeat(4000), 100);
  const from = Date.now(); // they may keep others out for a moment, not until their time is over
  await until("an answer", () => s.healthy().then(() => true, () => false));
  check(Date.now() - from < t.soon(4000), `the first answer came after ${Date.now() - from} ms`);
  for (let i = 0; i < 10; i++) await s.healthy();
  await all;
  await s.healthy();
  await s.stop();
}));
