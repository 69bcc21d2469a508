// core.mjs: publish and subscribe, as nats.js users know it.
import assert from "node:assert/strict";
import { Empty, createInbox, headers } from "@nats-io/transport-node";
import { collect, scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

scenario("INFO announces what current clients look for", async (t) => {
  const s = await t.server({ config: "server_name: crane" });
  const nc = await t.connect(s, { name: "watcher" });
  assert.match(nc.info.version, /^2\.(1[4-9]|[2-9]\d)\.\d+/);
  assert.equal(nc.info.proto, 1);
  assert.equal(nc.info.headers, true);
  assert.equal(nc.info.server_name, "crane");
  assert.match(nc.info.server_id, /^N[A-Z2-7]{55}$/);
  assert.equal(nc.info.max_payload, 1048576);
  assert.equal(nc.info.client_ip, "127.0.0.1");
  assert.ok(nc.info.client_id > 0);
  assert.ok(nc.info.api_lvl >= 1);
  assert.equal(nc.info.port, s.port);
  // The official client for Python reads it without asking whether it is there.
  assert.ok(nc.info.go?.length > 0);
  if (isMayfly) assert.match(nc.info.mayfly, /^\d+\.\d+\.\d+/);
});

scenario("after the first PING a second INFO names the account", async (t) => {
  const s = await t.server();
  const r = await t.raw(s);
  r.send('CONNECT {"verbose":false,"protocol":1}', "PING");
  const info = JSON.parse((await r.expect(/^PONG\r\nINFO ({.*}) ?\r\n/))[1]);
  assert.equal(info.connect_info, true);
  assert.equal(info.remote_account, "$G");
  assert.equal(info.nonce, undefined);
});

scenario("a message reaches its subscribers and nobody else", async (t) => {
  const s = await t.server();
  const a = await t.connect(s);
  const b = await t.connect(s);
  const one = collect(a, "greet.bob");
  const two = collect(b, "greet.bob");
  const other = collect(b, "greet.eve");
  await a.flush();
  await b.flush();
  a.publish("greet.bob", "hello");
  await a.flush();
  await b.flush();
  assert.deepEqual(one.texts(), ["hello"]);
  assert.deepEqual(two.texts(), ["hello"]);
  assert.equal(other.length, 0);
});

scenario("a publisher's messages arrive in order", async (t) => {
  const s = await t.server();
  const a = await t.connect(s);
  const b = await t.connect(s);
  const got = collect(b, "seq.>");
  await b.flush();
  for (let i = 0; i < 5000; i++) a.publish(`seq.${i % 7}`, String(i));
  await a.flush();
  await until("5000 messages", () => got.length === 5000);
  assert.deepEqual(got.texts(), Array.from({ length: 5000 }, (_, i) => String(i)));
});

const matches = [
  ["foo", "foo", true], ["foo", "bar", false], ["foo", "foo.bar", false],
  ["*", "foo", true], ["*", "foo.bar", false], [">", "foo", true], [">", "a.b.c.d", true],
  ["foo.*", "foo.bar", true], ["foo.*", "foo", false], ["foo.*", "foo.bar.baz", false],
  ["foo.>", "foo.bar", true], ["foo.>", "foo.a.b.c", true], ["foo.>", "foo", false],
  ["*.bar", "foo.bar", true], ["*.bar", "bar", false], ["foo.*.baz", "foo.x.baz", true],
  ["foo.*.baz", "foo.x.y.baz", false], ["*.*", "a.b", true], ["*.>", "a.b.c", true],
  ["foo.*x", "foo.ax", false], ["foo.*x", "foo.*x", true], ["Foo", "foo", false],
  ["caf\u00e9.\u65e5\u672c", "caf\u00e9.\u65e5\u672c", true],
];
scenario(`wildcards: ${matches.length} pairs of pattern and subject`, async (t) => {
  const s = await t.server();
  const nc = await t.connect(s);
  for (const [pattern, subject, match] of matches) {
    const got = collect(nc, pattern);
    nc.publish(subject, "x");
    await nc.flush();
    assert.equal(got.length, match ? 1 : 0, `${pattern} against ${subject}`);
    got.sub.unsubscribe();
    await nc.flush();
  }
});

scenario("wildcard tokens in a published subject are literal", async (t) => {
  const s = await t.server();
  const r = await (await t.raw(s)).connect();
  r.send("SUB foo.* 1", "SUB foo.bar 2", "SUB foo.> 3", "PUB foo.* 1", "x", "PUB a.>.b 1", "y");
  assert.deepEqual((await r.ping()).match(/MSG \S+ \d/g).sort(), ["MSG foo.* 1", "MSG foo.* 3"]);
});

scenario("request and reply, muxed and with an inbox of its own", async (t) => {
  const s = await t.server();
  const a = await t.connect(s);
  const b = await t.connect(s);
  b.subscribe("upper", { callback: (_, m) => m.respond(m.string().toUpperCase()) });
  await b.flush();
  assert.equal((await a.request("upper", "abc", { timeout: 60000 })).string(), "ABC");
  const noMux = await a.request("upper", "def", { timeout: 60000, noMux: true, reply: createInbox() });
  assert.equal(noMux.string(), "DEF");
  const all = await Promise.all(Array.from({ length: 200 }, (_, i) => a.request("upper", `m${i}`, { timeout: 60000 })));
  assert.deepEqual(all.map((m) => m.string()), Array.from({ length: 200 }, (_, i) => `M${i}`));
});

scenario("one request, many replies", async (t) => {
  const s = await t.server();
  const nc = await t.connect(s);
  for (const n of [1, 2, 3]) nc.subscribe("poll", { callback: (_, m) => m.respond(`r${n}`) });
  const it = await nc.requestMany("poll", "?", { strategy: "count", maxMessages: 3, maxWait: 60000 });
  const got = [];
  for await (const m of it) got.push(m.string());
  assert.deepEqual(got.sort(), ["r1", "r2", "r3"]);
});

scenario("a request without a responder fails at once", async (t) => {
  const s = await t.server();
  const nc = await t.connect(s);
  await assert.rejects(nc.request("nobody.here", "", { timeout: 60000 }), /no responders/i); // and not /timeout/
});

scenario("no responders: status, subject and no payload, byte for byte", async (t) => {
  const s = await t.server();
  const r = await (await t.raw(s)).connect({ headers: true, no_responders: true });
  r.send("SUB inbox.* 9", "PUB lost inbox.1 2", "hi");
  const text = await r.ping();
  assert.equal(text.replace(/INFO .*\r\n/, ""), "HMSG inbox.1 9 36 36\r\nNATS/1.0 503\r\nNats-Subject: lost\r\n\r\n\r\n");
});

scenario("queue groups: one member each, everybody gets a share", async (t) => {
  const s = await t.server();
  const pub = await t.connect(s);
  const members = [];
  for (let i = 0; i < 4; i++) {
    const nc = await t.connect(s);
    members.push(collect(nc, "work.*", { queue: "crew" }));
    await nc.flush();
  }
  const all = collect(pub, "work.>");
  for (let i = 0; i < 2000; i++) pub.publish(`work.${i % 5}`, String(i));
  await pub.flush();
  const total = () => members.reduce((n, m) => n + m.length, 0);
  await until("all messages", () => total() >= 2000 && all.length === 2000);
  assert.equal(total(), 2000);
  const seen = new Set(members.flatMap((m) => m.texts()));
  assert.equal(seen.size, 2000);
  // 500 expected each; a fair choice stays far above half of that.
  for (const m of members) assert.ok(m.length > 300, `shares ${members.map((x) => x.length)}`);
});

scenario("overlapping subjects of one queue name still mean one delivery", async (t) => {
  const s = await t.server();
  const r = await (await t.raw(s)).connect();
  r.send("SUB a.* q 1", "SUB a.b q 2", "SUB a.> q 3", "SUB a.b other 4", "SUB a.b 5");
  for (let i = 0; i < 50; i++) r.send("PUB a.b 1", "x");
  const sids = (await r.ping()).match(/MSG a\.b (\d)/g).map((m) => m.at(-1));
  assert.equal(sids.filter((x) => "123".includes(x)).length, 50);
  assert.equal(sids.filter((x) => x === "4").length, 50);
  assert.equal(sids.filter((x) => x === "5").length, 50);
});

scenario("headers travel, with several values and any text", async (t) => {
  const s = await t.server();
  const a = await t.connect(s);
  const b = await t.connect(s);
  const got = collect(b, "h");
  await b.flush();
  const h = headers();
  h.append("Color", "red");
  h.append("Color", "gr\u00fcn");
  h.set("Empty", "");
  h.set("x-Case", "Kept");
  a.publish("h", "body", { headers: h });
  a.publish("h", Empty, { headers: h });
  await a.flush();
  await until("two messages", () => got.length === 2);
  assert.deepEqual(got[0].headers.values("Color"), ["red", "gr\u00fcn"]);
  assert.equal(got[0].headers.get("x-Case"), "Kept");
  assert.ok(got[0].headers.has("Empty"));
  assert.equal(got[0].string(), "body");
  assert.equal(got[1].data.length, 0);
  assert.deepEqual(got[1].headers.values("Color"), ["red", "gr\u00fcn"]);
});

scenario("a client without headers gets the payload only", async (t) => {
  const s = await t.server();
  const old = await (await t.raw(s)).connect({ headers: false });
  const nc = await t.connect(s);
  old.send("SUB h 1");
  await old.ping();
  const h = headers();
  h.set("A", "b");
  nc.publish("h", "body", { headers: h });
  await nc.flush();
  await old.expect(/^MSG h 1 4\r\nbody\r\n/);
});

scenario("payloads of 0, 1, 4096, 65537 bytes and of max_payload", async (t) => {
  const s = await t.server();
  const a = await t.connect(s);
  const b = await t.connect(s);
  const got = collect(b, "big");
  await b.flush();
  const sizes = [0, 1, 4096, 65537, a.info.max_payload];
  for (const n of sizes) a.publish("big", new Uint8Array(n).map((_, i) => i * 31));
  await a.flush();
  await until("all sizes", () => got.length === sizes.length);
  got.forEach((m, i) => {
    assert.equal(m.data.length, sizes[i]);
    assert.ok(m.data.every((v, k) => v === ((k * 31) & 255)));
  });
});

scenario("unsubscribe ends it, unsubscribe with a number ends it then", async (t) => {
  const s = await t.server();
  const nc = await t.connect(s);
  const max = collect(nc, "n", { max: 3 });
  const now = collect(nc, "n");
  nc.publish("n", "1");
  await nc.flush();
  now.sub.unsubscribe();
  for (let i = 2; i < 10; i++) nc.publish("n", String(i));
  await nc.flush();
  assert.deepEqual(max.texts(), ["1", "2", "3"]);
  assert.deepEqual(now.texts(), ["1"]);
  // The server must have forgotten the subscription, not only the client.
  const r = await (await t.raw(s)).connect();
  r.send("SUB q 1", "UNSUB 1 2", "PUB q 1", "a", "PUB q 1", "b", "PUB q 1", "c", "SUB q 1", "PUB q 1", "d");
  assert.deepEqual((await r.ping()).match(/MSG q 1 1\r\n./g).map((m) => m.at(-1)), ["a", "b", "d"]);
});

scenario("echo off: own messages do not come back", async (t) => {
  const s = await t.server();
  const quiet = await t.connect(s, { noEcho: true });
  const other = await t.connect(s);
  const mine = collect(quiet, "e");
  const theirs = collect(other, "e");
  await quiet.flush();
  await other.flush();
  quiet.publish("e", "from quiet");
  await quiet.flush();
  other.publish("e", "from other");
  await other.flush();
  await until("the other's message", () => mine.length === 1);
  assert.deepEqual(mine.texts(), ["from other"]);
  assert.deepEqual(theirs.texts(), ["from quiet", "from other"]);
});

scenario("verbose: +OK for each command; pedantic: bad subjects are told", async (t) => {
  const s = await t.server();
  const r = await t.raw(s);
  r.send('CONNECT {"verbose":true,"pedantic":true,"protocol":1}', "SUB a 1", "PUB a 1", "x", "UNSUB 1");
  r.send("PUB a..b 1", "y", "SUB c. 2");
  const text = (await r.ping()).replace(/INFO .*\r\n/g, "");
  assert.match(text, /^\+OK\r\n\+OK\r\n/);
  assert.equal(text.match(/\+OK/g).length, 5);
  assert.match(text, /MSG a 1 1\r\nx\r\n/);
  assert.match(text, /-ERR 'Invalid Publish Subject'/);
  assert.match(text, /-ERR 'Invalid Subject'/);
});

scenario("drain delivers what is on the way, then leaves", async (t) => {
  const s = await t.server();
  const a = await t.connect(s);
  const b = await t.connect(s);
  const got = collect(b, "d", { queue: "q" });
  await b.flush();
  for (let i = 0; i < 1000; i++) a.publish("d", String(i));
  await a.flush();
  await b.drain();
  assert.equal(got.length, 1000);
  assert.ok(b.isClosed());
  const c = await t.connect(s);
  const sub = collect(c, "d2");
  await c.flush();
  a.publish("d2", "1");
  await a.flush();
  await sub.sub.drain();
  a.publish("d2", "2");
  await a.flush();
  await c.flush();
  assert.deepEqual(sub.texts(), ["1"]);
});

scenario("flush waits for the server, rtt measures it", async (t) => {
  const s = await t.server();
  const nc = await t.connect(s);
  for (let i = 0; i < 50; i++) await nc.flush();
  assert.ok((await nc.rtt()) < 60000);
});

scenario("ten thousand subscriptions on one connection", async (t) => {
  const s = await t.server({ monitor: true });
  const a = await t.connect(s);
  const b = await t.connect(s);
  let n = 0;
  for (let i = 0; i < 10000; i++) a.subscribe(`many.${i}`, { callback: () => n++ });
  await a.flush();
  for (let i = 0; i < 10000; i += 10) b.publish(`many.${i}`, "x");
  await b.flush();
  await until("1000 deliveries", () => n === 1000);
  await a.close();
  await until("no subscription left behind", async () => (await s.varz()).subscriptions < 500);
});
