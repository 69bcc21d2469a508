// limits.mjs: what the server does with too much, too many, too slow and too silent.
import assert from "node:assert/strict";
import { headers } from "@nats-io/transport-node";
import { collect, scenario } from "./lib/scenario.mjs";
import { steadily, until } from "./lib/wait.mjs";

scenario("max_payload: told in INFO, enforced by the server", async (t) => {
  const s = await t.server({ config: "max_payload: 1KB" });
  const nc = await t.connect(s);
  assert.equal(nc.info.max_payload, 1024);
  assert.throws(() => nc.publish("a", new Uint8Array(1025)), /max_payload|payload/i);
  const r = await (await t.raw(s)).connect();
  r.send("SUB a 1", "PUB a 1024", "x".repeat(1024));
  await r.ping();
  r.send("PUB a 1025", "x".repeat(1025));
  assert.match(await r.closed(), /-ERR 'Maximum Payload Violation'\r\n$/);
});

scenario("max_payload counts headers too", async (t) => {
  const s = await t.server({ config: "max_payload: 1KB" });
  const r = await (await t.raw(s)).connect({ headers: true });
  r.sendBytes("HPUB a 20 1025\r\nNATS/1.0\r\nA: bcd\r\n\r\n" + "x".repeat(1005) + "\r\n");
  assert.match(await r.closed(), /-ERR 'Maximum Payload Violation'/);
});

scenario("max_connections: one too many is told and closed", async (t) => {
  const s = await t.server({ config: "max_connections: 2" });
  const a = await t.connect(s);
  await t.connect(s);
  const r = await t.raw(s, { silent: true });
  assert.match(await r.closed(), /-ERR 'maximum connections exceeded'/i);
  await a.close();
  await until("room again", async () => {
    const again = await t.raw(s, { silent: true });
    await until("an answer", () => again.buf.includes("\r\n"));
    return again.buf.startsWith("INFO") && !again.buf.includes("-ERR");
  });
});

scenario("max_subscriptions: refused, the connection lives on", async (t) => {
  const s = await t.server({ config: "max_subscriptions: 3" });
  const r = await (await t.raw(s)).connect();
  for (let i = 1; i <= 4; i++) r.send(`SUB s.${i} ${i}`);
  assert.equal((await r.ping()).match(/-ERR 'maximum subscriptions exceeded'/gi).length, 1);
  r.send("PUB s.3 0", "", "PUB s.4 0", "");
  const text = await r.ping();
  assert.match(text, /MSG s\.3/);
  assert.doesNotMatch(text, /MSG s\.4/);
});

scenario("max_sub_tokens", async (t) => {
  const s = await t.server({ config: "max_sub_tokens: 3" });
  const r = await (await t.raw(s)).connect();
  r.send("SUB a.b.c 1", "SUB a.b.c.d 2");
  const text = await r.ping();
  assert.equal(text.match(/-ERR/g).length, 1);
  assert.match(text, /Permissions Violation for Subscription to "a\.b\.c\.d", too many tokens/);
});

scenario("max_control_line", async (t) => {
  const s = await t.server({ config: "max_control_line: 512" });
  const r = await (await t.raw(s)).connect();
  r.send(`SUB ${"a".repeat(500)} 1`);
  assert.doesNotMatch(await r.ping(), /-ERR/);
  r.send(`SUB ${"a".repeat(600)} 1`);
  assert.match(await r.closed(), /-ERR 'maximum control line exceeded'/i);
});

scenario("a control line without an end is not waited for", async (t) => {
  const s = await t.server();
  const r = await (await t.raw(s)).connect();
  r.sendBytes("PUB " + "a".repeat(200000));
  assert.match(await r.closed(), /-ERR 'maximum control line exceeded'/i);
});

scenario("a connection that never answers PING is stale", (t) => steadily(async () => {
  const s = await t.server({ config: 'ping_interval: "200ms", ping_max: 2', monitor: true });
  const r = await t.raw(s);
  r.pings = true;
  await r.connect();
  const nc = await t.connect(s);
  assert.match(await r.closed(), /PING\r\n(PING\r\n)?-ERR 'Stale Connection'\r\n$/);
  // The one that answers stays.
  await nc.flush();
  const { json } = await s.page("/connz?state=closed");
  assert.equal(json.connections[0].reason, "Stale Connection");
}));

scenario("a client that never reads is cut off, the others notice nothing", async (t) => {
  const s = await t.server({ config: 'max_pending: 1MB, write_deadline: "2s"', monitor: true });
  const slow = await (await t.raw(s)).connect();
  slow.send("SUB flood 1");
  await slow.ping();
  slow.socket.pause();
  const quick = await t.connect(s);
  const got = collect(quick, "flood");
  await quick.flush();
  const pub = await t.connect(s);
  const chunk = new Uint8Array(32768);
  let sent = 0;
  await until("the slow consumer to be counted", async () => {
    for (let i = 0; i < 16; i++, sent++) pub.publish("flood", chunk);
    await until("everything at the quick one", () => got.length === sent); // so it is never slow itself
    return (await s.varz()).slow_consumers > 0;
  });
  await s.logged(/Slow Consumer Detected/i);
  slow.socket.resume();
  assert.doesNotMatch(await slow.closed(), /-ERR/);
  const { json } = await s.page("/connz?state=closed");
  assert.match(json.connections[0].reason, /Slow Consumer/);
});

scenario("too many connections at once, all served", async (t) => {
  const s = await t.server({ monitor: true });
  const all = await Promise.all(Array.from({ length: 300 }, async (_, i) => {
    const r = await (await t.raw(s)).connect({ name: `c${i}` });
    r.send("SUB hello 1");
    await r.ping();
    return r;
  }));
  assert.equal((await s.varz()).connections, 300);
  all[0].send("PUB hello 2", "hi");
  await Promise.all(all.map((r) => r.expect(/MSG hello 1 2\r\nhi\r\n/)));
  for (const r of all) r.close();
  await until("all gone", async () => (await s.varz()).connections === 0);
  assert.equal((await s.varz()).total_connections, 300);
});

scenario("bytes that come one at a time", async (t) => {
  const s = await t.server();
  const r = await t.raw(s);
  r.socket.setNoDelay(true);
  const text = 'CONNECT {"verbose":false,"headers":true}\r\nSUB a.> 7\r\nHPUB a.b r.x 20 25\r\nNATS/1.0\r\nA: bcd\r\n\r\nhello\r\nPUB a.c 3\r\nxyz\r\nPING\r\n';
  for (const c of text) {
    r.sendBytes(c);
    await new Promise((ok) => setImmediate(ok));
  }
  await r.expect(/HMSG a\.b 7 r\.x 20 25\r\nNATS\/1\.0\r\nA: bcd\r\n\r\nhello\r\nMSG a\.c 7 3\r\nxyz\r\nPONG\r\n/);
});

scenario("a connection that ends in the middle of a payload leaves nothing behind", async (t) => {
  const s = await t.server({ monitor: true });
  const nc = await t.connect(s);
  const got = collect(nc, ">");
  await nc.flush();
  for (const half of ["PUB a 100\r\nonly half", "PUB a 5\r\nhello", "PUB a", "HPUB a 20 30\r\nNATS/1.0\r\n"]) {
    const r = await (await t.raw(s)).connect({ headers: true });
    r.sendBytes(half);
    r.socket.end();
    await r.closed();
  }
  await until("only one connection", async () => (await s.varz()).connections === 1);
  await nc.flush();
  assert.equal(got.length, 0);
});

// 292 years are the most a duration can say, and no clock plus that can be counted with.
scenario("the longest durations there are: a server serves with them", async (t) => {
  const long = '"2562047h47m16.854775807s"';
  const s = await t.server({
    config: `ping_interval: ${long}, write_deadline: ${long}, lame_duck_duration: ${long}
      jetstream { store_dir: "DIR/js", limits { batch { timeout: ${long} } } }
      accounts {
        A { jetstream: enabled, users: [ {user: a, password: p, permissions: { publish: ["$JS.API.>", "s.>"], subscribe: ">", allow_responses: { expires: ${long} } }} ]
            exports: [ {service: ask, threshold: ${long}}, {service: silence, threshold: ${long}} ] }
        B { users: [ {user: b, password: p} ], imports: [ {service: {account: A, subject: ask}}, {service: {account: A, subject: silence}} ] }
      }`,
  });
  const a = await t.connect(s, { user: "a", pass: "p" });
  const raw = await t.raw(s);
  raw.pings = true;
  raw.send('CONNECT {"verbose":false,"user":"b","pass":"p"}', "SUB back 1", "PUB silence back 0", "");
  a.subscribe("ask", { callback: (_, m) => m.respond("yes") });
  collect(a, "silence");
  await a.flush();
  raw.send("PUB ask back 0", "");
  await raw.expect(/MSG back 1 3\r\nyes\r\n/);
  const ask = async (subject, body, headers) => (await a.request(subject, body, { timeout: 60_000, headers })).string();
  assert.doesNotMatch(await ask("$JS.API.STREAM.CREATE.S", JSON.stringify({ name: "S", subjects: ["s.>"], allow_atomic: true, storage: "memory" })), /error/);
  const batch = headers();
  batch.set("Nats-Batch-Id", "b");
  batch.set("Nats-Batch-Sequence", "1");
  assert.equal(await ask("s.a", "x", batch), "");
  await raw.expect(/PING\r\n/); // two seconds after it came; replies and the batch were looked at by then
  raw.send("PONG", "PING");
  await raw.expect(/PONG\r\n/);
  assert.deepEqual(a.errors, []);
});
