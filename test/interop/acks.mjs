// acks.mjs: consumers on the wire, byte by byte: deliveries, acks and their replies, statuses,
// heartbeats, flow control, and events about consumers.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const MS = 1_000_000; // the API counts nanoseconds
const JS = { config: 'server_name: one\njetstream { store_dir: "DIR" }\n' };

// One raw client with the inboxes in.>, and nats.js for what is not looked at byte by byte.
class Wire {
  static async open(t, server = JS, user) {
    const w = new Wire();
    w.s = await t.server(server);
    w.nc = await t.connect(w.s, user);
    await w.login(t, user);
    return w;
  }
  async login(t, user) {
    this.r = await (await t.raw(this.s)).connect({ headers: true, no_responders: true, ...user });
    this.r.send("SUB in.> 1");
    await this.r.ping();
  }
  async api(op, body = {}) {
    const r = (await this.nc.request(`$JS.API.${op}`, JSON.stringify(body), { timeout: LIMIT_MS })).json();
    assert.equal(r.error, undefined, JSON.stringify(r.error));
    return r;
  }
  // A stream S with messages s.1 "m1", s.2 "m2", ...
  async stock(n = 0, config = {}) {
    await this.api("STREAM.CREATE.S", { name: "S", subjects: ["s.>"], ...config });
    for (let i = 1; i <= n; i++) await this.nc.request(`s.${i}`, `m${i}`, { timeout: LIMIT_MS });
  }
  consumer(name, config = {}) {
    return this.api(`CONSUMER.CREATE.S.${name}`, { stream_name: "S", config: { name, ack_policy: "explicit", ...config } });
  }
  info(name) {
    return this.api(`CONSUMER.INFO.S.${name}`);
  }
  pub(subject, reply = "", data = "", hdr) {
    if (hdr === undefined) return this.r.send(`PUB ${subject} ${reply} ${data.length}`, data);
    const block = `NATS/1.0\r\n${hdr}\r\n\r\n`;
    this.r.send(`HPUB ${subject} ${reply} ${block.length} ${block.length + data.length}`, block + data);
  }
  // Exactly this comes next; <T> stands for a time in nanoseconds, <X> for a word.
  async comes(...lines) {
    const text = lines.map((l) => `${l}\r\n`).join("");
    const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll("<T>", "\\d{19}").replaceAll("<X>", "(\\w+)");
    return this.r.expect(new RegExp(`^${escaped}`));
  }
  // An answer without payload: a status and its headers.
  async status(subject, line, ...headers) {
    const block = [`NATS/1.0 ${line}`, ...headers, ""];
    const n = block.reduce((sum, l) => sum + l.length + 2, 0);
    return this.comes(`HMSG ${subject} 1 ${n} ${n}`, ...block, "");
  }
  nobody(reply, subject) {
    return this.status(reply, "503", `Nats-Subject: ${subject}`);
  }
  // The ack subject of a message that was delivered to in.m.
  async pull(name, body = "") {
    this.pub(`$JS.API.CONSUMER.MSG.NEXT.S.${name}`, "in.m", body);
    return (await this.r.expect(/^H?MSG \S+ 1 (\S+) \d+[^]*?\r\n[^]*?\r\n/))[1];
  }
  // Asks and expects the empty answer.
  async acked(subject, data) {
    this.pub(subject, "in.ack", data);
    await this.comes("MSG in.ack 1 0", "");
  }
}

// --- deliveries ----------------------------------------------------------------------------------

scenario("a pulled message shows its own subject, and all about it in the reply", async (t) => {
  const w = await Wire.open(t);
  await w.stock(2);
  w.pub("s.3", "", "m3", "Kind: one");
  await until("all three", async () => (await w.api("STREAM.INFO.S")).state.messages === 3);
  await w.consumer("C");
  for (const [i, left] of [[1, 2], [2, 1]]) {
    w.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "in.m");
    await w.comes(`MSG s.${i} 1 $JS.ACK.S.C.1.${i}.${i}.<T>.${left} 2`, `m${i}`);
  }
  w.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "in.m", "1");
  await w.comes("HMSG s.3 1 $JS.ACK.S.C.1.3.3.<T>.0 23 25", "NATS/1.0", "Kind: one", "", "m3");
});

scenario("a pushed message too; a queue group's member gets it under its own sid", async (t) => {
  const w = await Wire.open(t);
  await w.stock(1);
  await w.consumer("P", { deliver_subject: "to.p" });
  await w.consumer("G", { deliver_subject: "to.g", deliver_group: "q", ack_policy: "none" });
  w.r.send("SUB to.p 22");
  await w.comes("MSG s.1 22 $JS.ACK.S.P.1.1.1.<T>.0 2", "m1");
  w.r.send("SUB to.g q 33");
  await w.comes("MSG s.1 33 $JS.ACK.S.G.1.1.1.<T>.0 2", "m1");
});

// --- acks ----------------------------------------------------------------------------------------

scenario("each kind of ack with a reply is answered with nothing, the second one as well", async (t) => {
  const w = await Wire.open(t);
  await w.stock(7);
  await w.consumer("C");
  for (const [data, unacked] of [["", 0], ["+ACK", 0], ["+OK", 0], ["+TERM", 0], ["+TERM no good", 0], ["+WPI", 1], ["never heard of it", 2]]) {
    const subject = await w.pull("C");
    await w.acked(subject, data);
    await w.acked(subject, data);
    await until(`${data} to take effect`, async () => (await w.info("C")).num_ack_pending === unacked);
  }
});

scenario("-NAK: answered, and delivered again with a new count and consumer sequence", async (t) => {
  const w = await Wire.open(t);
  await w.stock(2);
  await w.consumer("C");
  await w.acked(await w.pull("C"), "-NAK");
  w.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "in.m");
  await w.comes("MSG s.1 1 $JS.ACK.S.C.2.1.2.<T>.1 2", "m1");
  w.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "in.m");
  await w.comes("MSG s.2 1 $JS.ACK.S.C.1.2.3.<T>.0 2", "m2");
});

scenario("+NXT: an ack, and a request for more whose inbox is the ack's reply", async (t) => {
  const w = await Wire.open(t);
  await w.stock(4);
  await w.consumer("C");
  w.pub(await w.pull("C"), "in.next", "+NXT");
  await w.comes("MSG s.2 1 $JS.ACK.S.C.1.2.2.<T>.2 2", "m2");
  await until("the ack", async () => (await w.info("C")).num_ack_pending === 1);
  w.pub("$JS.ACK.S.C.1.2.2.1.2", "in.next", '+NXT {"batch":2}');
  await w.comes("MSG s.3 1 $JS.ACK.S.C.1.3.3.<T>.1 2", "m3", "MSG s.4 1 $JS.ACK.S.C.1.4.4.<T>.0 2", "m4");
  w.pub("$JS.ACK.S.C.1.4.4.1.0", "in.next", '+NXT {"batch":1,"no_wait":true}');
  await w.status("in.next", "404 No Messages");
});

scenario("acks of what was never delivered, and numbers that are none: silence", async (t) => {
  const w = await Wire.open(t);
  await w.stock(1);
  await w.consumer("C");
  const good = await w.pull("C");
  for (const tokens of ["1.99.99.1.0", "a.b.c.d.e", "1.-1.-1.1.0"]) w.pub(`$JS.ACK.S.C.${tokens}`, "in.never", "+ACK");
  await w.acked(good, "+ACK"); // and nothing came before it
});

scenario("acks to nobody: no responders", async (t) => {
  const w = await Wire.open(t);
  await w.stock(1);
  await w.consumer("C");
  await w.consumer("N", { ack_policy: "none" });
  await w.consumer("F", { ack_policy: "flow_control", deliver_subject: "to.f", flow_control: true, idle_heartbeat: 1000 * MS, max_ack_pending: 10 });
  const good = await w.pull("C");
  for (const rest of ["S.X.1.1.1.1.0", "Z.C.1.1.1.1.0", "S.N.1.1.1.1.0", "S.F.1.1.1.1.0", "S.C.1.1.1.1", "S.C.1.1.1.1.0.1", "S.C", "_.szMpdrwE.S.C.1.1.1.1.0", "hub.szMpdrwD.S.C.1.1.1.1.0", "_.szMpdrwD.S.X.1.1.1.1.0"]) {
    w.pub(`$JS.ACK.${rest}`, "in.503", "+ACK");
    await w.nobody("in.503", `$JS.ACK.${rest}`);
  }
  assert.equal((await w.info("C")).num_ack_pending, 1);
  await w.acked(good, "+ACK");
});

scenario("acks in the newer form, with domain and account before the stream", async (t) => {
  const w = await Wire.open(t);
  await w.stock(2);
  await w.consumer("C");
  await w.pull("C");
  await w.pull("C");
  await w.acked("$JS.ACK._.szMpdrwD.S.C.1.1.1.1.0", "+ACK");
  await w.acked("$JS.ACK._.szMpdrwD.S.C.1.2.2.1.0.more.of.it", "+ACK");
  await until("both acks", async () => (await w.info("C")).num_ack_pending === 0);
});

scenario("the newer form where there is a domain and an account of another name", async (t) => {
  const config = `${JS.config.replace("}", ", domain: hub }")}\naccounts { A { jetstream: enabled, users: [{user: a, password: a}] } }`;
  const w = await Wire.open(t, { config }, { user: "a", pass: "a" });
  await w.stock(1);
  await w.consumer("C");
  await w.pull("C");
  for (const place of ["_.ABCDEFGH", "hub.szMpdrwD"]) {
    w.pub(`$JS.ACK.${place}.S.C.1.1.1.1.0`, "in.503", "+ACK");
    await w.nobody("in.503", `$JS.ACK.${place}.S.C.1.1.1.1.0`);
  }
  await w.acked(`$JS.ACK.hub.${hashOf("A")}.S.C.1.1.1.1.0`, "+ACK");
  await until("the ack", async () => (await w.info("C")).num_ack_pending === 0);
});

function hashOf(account) {
  const letters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const digest = createHash("sha256").update(account).digest();
  return [...digest.subarray(0, 8)].map((b) => letters[b % 62]).join("");
}

// --- statuses ------------------------------------------------------------------------------------

scenario("statuses of pull requests", async (t) => {
  const w = await Wire.open(t);
  await w.stock(1);
  await w.consumer("C", { filter_subject: "s.none" });
  await w.consumer("B");
  const next = (name, body, hdr) => w.pub(`$JS.API.CONSUMER.MSG.NEXT.S.${name}`, "in.s", body, hdr);
  next("C", '{"no_wait":true}');
  await w.status("in.s", "404 No Messages");
  next("C", '{"batch":4,"expires":50000000}');
  await w.status("in.s", "408 Request Timeout", "Nats-Pending-Messages: 4", "Nats-Pending-Bytes: 0");
  next("B", '{"batch":1,"max_bytes":1000}');
  await w.comes("MSG s.1 1 $JS.ACK.S.B.1.1.1.<T>.0 2", "m1");
  const used = "s.1".length + "$JS.ACK.S.B.1.1.1.1794820990900228713.0".length + 2;
  await w.status("in.s", "409 Batch Completed", "Nats-Pending-Messages: 0", `Nats-Pending-Bytes: ${1000 - used}`);
  next("C", '{"expires":1000000000,"idle_heartbeat":900000000}');
  await w.status("in.s", "400 Bad Request - heartbeat value too large");
  next("C", "", "Nats-Required-Api-Level: 9");
  await w.status("in.s", "412 Required Api Level");
  next("C", '{"batch":1,"expires":900000000,"idle_heartbeat":100000000}');
  await w.status("in.s", "100 Idle Heartbeat", "Nats-Last-Consumer: 0", "Nats-Last-Stream: 1"); // what was skipped counts
  await w.api("CONSUMER.DELETE.S.C");
  await w.r.expect(/^(HMSG in\.s 1 \d+ \d+\r\nNATS\/1\.0 100 Idle Heartbeat\r\n[^]*?\r\n\r\n\r\n)*HMSG in\.s 1 33 33\r\nNATS\/1\.0 409 Consumer Deleted\r\n\r\n\r\n/);
});

scenario("requests to nobody: no responders; without an inbox: nothing at all", async (t) => {
  const w = await Wire.open(t);
  await w.stock(1);
  await w.consumer("C");
  for (const rest of ["S.X", "Z.C", "S", "S.C.D"]) {
    w.pub(`$JS.API.CONSUMER.MSG.NEXT.${rest}`, "in.503", "");
    await w.nobody("in.503", `$JS.API.CONSUMER.MSG.NEXT.${rest}`);
    w.pub(`$JS.API.CONSUMER.MSG.NEXT.${rest}`, "in.503", "", "Nats-Required-Api-Level: 9");
    await w.nobody("in.503", `$JS.API.CONSUMER.MSG.NEXT.${rest}`);
  }
  w.pub("$JS.API.CONSUMER.MSG.NEXT.S.C");
  await w.pull("C", '{"no_wait":true}'); // it took no message
  assert.equal((await w.info("C")).num_waiting, 0);
});

// --- push ----------------------------------------------------------------------------------------

scenario("heartbeats of a push consumer", async (t) => {
  const w = await Wire.open(t);
  await w.stock(2);
  await w.consumer("C", { deliver_subject: "in.p", idle_heartbeat: 100 * MS, ack_policy: "none" });
  w.r.send("UNSUB 1", "SUB in.p 1"); // a pattern does not bind it
  await w.comes("MSG s.1 1 $JS.ACK.S.C.1.1.1.<T>.1 2", "m1", "MSG s.2 1 $JS.ACK.S.C.1.2.2.<T>.0 2", "m2");
  for (let i = 0; i < 3; i++) await w.status("in.p", "100 Idle Heartbeat", "Nats-Last-Consumer: 2", "Nats-Last-Stream: 2");
});

scenario("flow control: asked after 1 MiB, stalled after 2, goes on when answered", async (t) => {
  const w = await Wire.open(t);
  await w.api("STREAM.CREATE.S", { name: "S", subjects: ["s.>"] });
  const data = "x".repeat(65536);
  for (let i = 0; i < 100; i++) await w.nc.request("s.1", data, { timeout: LIMIT_MS });
  await w.consumer("C", { deliver_subject: "in.p", idle_heartbeat: 300 * MS, flow_control: true, ack_policy: "none" });
  w.r.send("UNSUB 1", "SUB in.p 1", "SUB in.503 1503");
  const message = (i) => `MSG s\\.1 1 \\$JS\\.ACK\\.S\\.C\\.1\\.${i}\\.${i}\\.\\d{19}\\.${100 - i} 65536\r\n(?:x{256}){256}\r\n`;
  const messages = async (from, to) => {
    for (let i = from; i <= to; i++) await w.r.expect(new RegExp(`^${message(i)}`));
  };
  const request = async () => (await w.comes(`HMSG in.p 1 $JS.FC.S.C.<X> 36 36`, "NATS/1.0 100 FlowControl Request", "", ""))[1];
  await messages(1, 16);
  const one = await request();
  await messages(17, 32);
  const stalled = [`Nats-Last-Consumer: 32`, `Nats-Last-Stream: 32`, `Nats-Consumer-Stalled: $JS.FC.S.C.${one}`];
  await w.status("in.p", "100 Idle Heartbeat", ...stalled);
  for (const [rest, why] of [["S.X.abcd", "no consumer"], ["Z.C.abcd", "no stream"], [`S.C.${one}.x`, "too long"], [`_.szMpdrwE.S.C.${one}`, "another account"]]) {
    w.pub(`$JS.FC.${rest}`, "in.503");
    await w.r.expect(new RegExp(`HMSG in.503 1503 [^]*?Nats-Subject: \\$JS\\.FC\\.${rest.replaceAll(".", "\\.")}\r\n\r\n\r\n`)).catch((e) => assert.fail(`${why}: ${e}`));
  }
  w.pub("$JS.FC.S.C.wrong"); // is not what was asked: still stalled
  await w.status("in.p", "100 Idle Heartbeat", ...stalled);
  w.pub(`$JS.FC.S.C.${one}`);
  // The window doubles with each answer; no request is like the one before.  Heartbeats come while an answer is on its way.
  const beats = "(?:HMSG in\\.p 1 \\d+ \\d+\r\nNATS/1\\.0 100 Idle Heartbeat[^]*?\r\n\r\n\r\n)*";
  for (let next = 33, last = one; next <= 100; ) {
    const m = await w.r.expect(new RegExp(`^${beats}(?:${message(next)}|HMSG in\\.p 1 \\$JS\\.FC\\.S\\.C\\.(\\w+) 36 36\r\nNATS/1\\.0 100 FlowControl Request\r\n\r\n\r\n)`));
    if (m[1] === undefined) {
      next++;
      continue;
    }
    assert.notEqual(m[1], last);
    assert.ok(next - 33 >= 16, `asked again after ${next - 33}`);
    w.pub(`$JS.FC.S.C.${(last = m[1])}`);
  }
});

scenario("flow control answered where there is none: no responders", async (t) => {
  const w = await Wire.open(t);
  await w.stock(0);
  await w.consumer("C");
  w.pub("$JS.FC.S.C.abcd", "in.503");
  await w.nobody("in.503", "$JS.FC.S.C.abcd");
});

// --- across accounts -----------------------------------------------------------------------------

scenario("an account that imports the API of another pulls and acks there", async (t) => {
  const config = `${JS.config}
accounts {
  A { jetstream: enabled, users: [{user: a, password: a}],
      exports: [{service: "$JS.API.>", response: stream}, {service: "$JS.ACK.>"}] }
  B { users: [{user: b, password: b}],
      imports: [{service: {account: A, subject: "$JS.API.>"}}, {service: {account: A, subject: "$JS.ACK.>"}}] }
}`;
  const w = await Wire.open(t, { config }, { user: "a", pass: "a" });
  await w.stock(3);
  await w.consumer("C");
  await w.login(t, { user: "b", pass: "b" });
  w.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "in.m", "2");
  await w.comes("MSG s.1 1 $JS.ACK.S.C.1.1.1.<T>.2 2", "m1", "MSG s.2 1 $JS.ACK.S.C.1.2.2.<T>.1 2", "m2");
  await w.acked("$JS.ACK.S.C.1.1.1.1.2", "+ACK");
  await w.acked("$JS.ACK.S.C.1.2.2.1.1", "-NAK");
  w.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "in.m");
  await w.comes("MSG s.2 1 $JS.ACK.S.C.2.2.3.<T>.1 2", "m2");
  w.pub("$JS.ACK.S.X.1.1.1.1.1", "in.503", "+ACK");
  await w.nobody("in.503", "$JS.ACK.S.X.1.1.1.1.1");
  assert.equal((await w.info("C")).num_ack_pending, 1);
});

scenario("acks from another account reach nobody, or that account's own consumer of the same name; another connection's of the same account count", async (t) => {
  const users = (n) => `${n} { jetstream: enabled, users: [{user: ${n}, password: p}] }`;
  const w = await Wire.open(t, { config: `${JS.config}accounts { ${users("A")}, ${users("B")} }` }, { user: "A", pass: "p" });
  await w.stock(3);
  await w.consumer("C");
  const subject = await w.pull("C");
  const owner = w.r;
  await w.login(t, { user: "B", pass: "p" });
  const all = [subject, subject.replace("$JS.ACK.", `$JS.ACK._.${hashOf("A")}.`), subject.replace("$JS.ACK.", `$JS.ACK._.${hashOf("B")}.`)];
  for (const word of ["+ACK", "-NAK", "+TERM", "+NXT"])
    for (const s of all) {
      w.pub(s, "in.503", word);
      await w.nobody("in.503", s);
    }
  for (const op of ["CONSUMER.MSG.NEXT.S.C", "DIRECT.GET.S"]) {
    w.pub(`$JS.API.${op}`, "in.503");
    await w.nobody("in.503", `$JS.API.${op}`);
  }
  const theirs = Object.assign(new Wire(), { s: w.s, r: w.r, nc: await t.connect(w.s, { user: "B", pass: "p" }) });
  await theirs.stock(3);
  await theirs.consumer("C");
  const own = await theirs.pull("C");
  await theirs.acked(own, "+ACK");
  theirs.pub(subject, "in.ack", "+TERM"); // the same numbers in the other account
  await theirs.comes("MSG in.ack 1 0", "");
  const places = async () => [await w.info("C"), await theirs.info("C")].map((i) => [i.num_ack_pending, i.ack_floor.stream_seq, i.delivered.stream_seq]);
  assert.deepEqual(await places(), [[1, 0, 1], [0, 1, 1]]);
  owner.close();
  await w.login(t, { user: "A", pass: "p" });
  await w.acked(subject, "+ACK");
  assert.deepEqual(await places(), [[0, 1, 1], [0, 1, 1]]);
});

scenario("a client that may publish little may ack what it was sent", async (t) => {
  const config = `${JS.config}
authorization { users: [
  {user: a, password: a},
  {user: b, password: b, permissions: {publish: ["$JS.API.CONSUMER.MSG.NEXT.>", "$JS.ACK.>"], subscribe: ["in.>"]}},
  {user: c, password: c, permissions: {publish: ["$JS.API.CONSUMER.MSG.NEXT.>"], subscribe: ["in.>"], allow_responses: {max: 2, expires: "1m"}}},
] }`;
  const w = await Wire.open(t, { config }, { user: "a", pass: "a" });
  await w.stock(2);
  await w.consumer("C");
  for (const [i, user] of [[1, "b"], [2, "c"]]) {
    await w.login(t, { user, pass: user });
    const subject = await w.pull("C");
    assert.match(subject, new RegExp(`^\\$JS\\.ACK\\.S\\.C\\.1\\.${i}\\.${i}\\.`));
    await w.acked(subject, "+ACK");
    await until("the ack", async () => (await w.info("C")).num_ack_pending === 0);
  }
});

// --- inboxes that lead somewhere else ------------------------------------------------------------

// What a consumer sends is a message, not a command, wherever its inbox points to.
scenario("an inbox that is the API's or an ack's own subject does no harm", { only: "mayfly" }, async (t) => {
  const w = await Wire.open(t);
  await w.stock(20);
  await w.consumer("C");
  for (const inbox of ["$JS.API.CONSUMER.DELETE.S.C", "$JS.API.STREAM.DELETE.S", "$JS.API.CONSUMER.MSG.NEXT.S.C", "$JS.ACK.S.C.1.1.1.1.0", "$JS.FC.S.C.abcd", "s.21"]) {
    w.r.send(`PUB $JS.API.CONSUMER.MSG.NEXT.S.C ${inbox.startsWith("$JS.ACK.") ? "in.x" : inbox} 1`, "1");
    w.pub("$JS.ACK.S.C.1.1.1.1.0", inbox.startsWith("$JS.ACK.") ? "in.x" : inbox, "-NAK");
  }
  await w.r.ping();
  assert.equal((await w.info("C")).name, "C");
  assert.ok((await w.api("STREAM.INFO.S")).state.messages >= 20);
});

// --- events --------------------------------------------------------------------------------------

scenario("events about consumers: members and their order", async (t) => {
  const w = await Wire.open(t);
  await w.stock(3);
  const got = [];
  w.nc.subscribe("$JS.EVENT.>", { callback: (_, m) => m.subject.includes(".CONSUMER.") && got.push(m) });
  await w.nc.flush();
  const event = async (kind, type, rest) => {
    const m = await until(kind, () => got.find((x) => x.subject === `$JS.EVENT.${kind}`));
    got.splice(got.indexOf(m), 1);
    const { type: its, id, timestamp, ...members } = m.json();
    assert.equal(its, `io.nats.jetstream.${type}`);
    assert.match(id, /^\w{22}$/);
    assert.match(timestamp, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
    assert.deepEqual(Object.keys(m.json()).slice(0, 3), ["type", "id", "timestamp"]);
    if (members.ack_time !== undefined) members.ack_time = members.ack_time > 0;
    assert.equal(JSON.stringify(members), JSON.stringify(rest));
  };
  const who = { stream: "S", consumer: "C" };
  await w.consumer("C", { max_deliver: 2, ack_wait: 30_000 * MS, sample_freq: "100" });
  await event("ADVISORY.CONSUMER.CREATED.S.C", "advisory.v1.consumer_action", { ...who, action: "create" });
  await w.acked(await w.pull("C"), "+ACK");
  await event("METRIC.CONSUMER.ACK.S.C", "metric.v1.consumer_ack", { ...who, consumer_seq: 1, stream_seq: 1, ack_time: true, deliveries: 1 });
  await w.acked(await w.pull("C"), "+TERM  no good ");
  await event("ADVISORY.CONSUMER.MSG_TERMINATED.S.C", "advisory.v1.terminated", { ...who, consumer_seq: 2, stream_seq: 2, deliveries: 1, reason: "no good" });
  await w.acked(await w.pull("C"), "-NAK");
  await event("ADVISORY.CONSUMER.MSG_NAKED.S.C", "advisory.v1.nak", { ...who, consumer_seq: 3, stream_seq: 3, deliveries: 1 });
  await w.acked(await w.pull("C"), "-NAK");
  await event("ADVISORY.CONSUMER.MSG_NAKED.S.C", "advisory.v1.nak", { ...who, consumer_seq: 4, stream_seq: 3, deliveries: 2 });
  w.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "in.m", '{"no_wait":true}'); // nats-server finds out when it would deliver it
  await event("ADVISORY.CONSUMER.MAX_DELIVERIES.S.C", "advisory.v1.max_deliver", { ...who, stream_seq: 3, deliveries: 2 });
  const until_ = "2100-01-02T03:04:05Z";
  await w.api("CONSUMER.PAUSE.S.C", { pause_until: until_ });
  await event("ADVISORY.CONSUMER.PAUSE.S.C", "advisory.v1.consumer_pause", { ...who, paused: true, pause_until: until_ });
  await w.api("CONSUMER.PAUSE.S.C");
  await event("ADVISORY.CONSUMER.PAUSE.S.C", "advisory.v1.consumer_pause", { ...who, paused: false, pause_until: "0001-01-01T00:00:00Z" });
  await w.api("CONSUMER.DELETE.S.C");
  await event("ADVISORY.CONSUMER.DELETED.S.C", "advisory.v1.consumer_action", { ...who, action: "delete" });
  assert.deepEqual(got.map((m) => m.subject), []);
});

scenario("events about pins, and about consumers that go with their stream", async (t) => {
  const w = await Wire.open(t, { config: JS.config.replace("}", ", domain: hub }") });
  await w.stock(1);
  const got = [];
  w.nc.subscribe("$JS.EVENT.ADVISORY.>", { callback: (_, m) => /\.(UN)?PINNED|\.DELETED/.test(m.subject) && got.push(m) });
  await w.nc.flush();
  const next = async () => {
    const m = await until("an event", () => got.shift());
    const { type, id, timestamp, ...members } = m.json();
    return [m.subject.replace("$JS.EVENT.ADVISORY.", ""), type.replace("io.nats.jetstream.advisory.v1.", ""), members];
  };
  await w.consumer("C", { priority_groups: ["g"], priority_policy: "pinned_client", priority_timeout: 60_000 * MS });
  w.pub("$JS.API.CONSUMER.MSG.NEXT.S.C", "in.m", '{"group":"g","expires":5000000000}');
  const [, pin] = await w.r.expect(/^HMSG s\.1 1 \S+ \d+ \d+\r\nNATS\/1\.0\r\nNats-Pin-Id: (\w{22})\r\n\r\nm1\r\n/);
  const who = { account: "$G", stream: "S", consumer: "C", domain: "hub", group: "g" };
  assert.equal(JSON.stringify(await next()), JSON.stringify(["CONSUMER.PINNED.S.C", "consumer_group_pinned", { ...who, pinned_id: pin }]));
  await w.api("CONSUMER.UNPIN.S.C", { group: "g" });
  assert.equal(JSON.stringify(await next()), JSON.stringify(["CONSUMER.UNPINNED.S.C", "consumer_group_unpinned", { ...who, reason: "admin" }]));
  await w.api("STREAM.DELETE.S");
  assert.equal(JSON.stringify(await next()), JSON.stringify(["CONSUMER.DELETED.S.C", "consumer_action", { stream: "S", consumer: "C", action: "delete", domain: "hub" }]));
  assert.equal((await next())[0], "STREAM.DELETED.S");
});
