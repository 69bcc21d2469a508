// pull.mjs: pull consumers: requests as nats.js makes them, and every answer to raw ones.
import assert from "node:assert/strict";
import { headers } from "@nats-io/transport-node";
import { group, ownServer } from "./lib/js.mjs";
import { Inbox, MS, add, advisories, drop, fetch, fill, look, nothing, place, placed, pull, settle, tryAdd } from "./lib/consumer.mjs";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const check = group();
const LONG = 60_000 * MS;

const waiting = (c, n, name) => until(`${n} waiting requests`, async () => (await look(c, name)).num_waiting === n);
async function stocked(c, n, config) {
  await c.create();
  await fill(c, n);
  await add(c, config);
}
const pendingPair = (m) => [m.headers.get("Nats-Pending-Messages"), m.headers.get("Nats-Pending-Bytes")].map(Number);

// --- how many ------------------------------------------------------------------------------------

for (const [what, body, n] of [
  ["an empty request", "", 1], ["a number", 3, 3], ["batch", { batch: 4 }, 4], ["batch 0", { batch: 0 }, 1], ["no batch", {}, 1], ["neither JSON nor a number", "[7]", 1],
  ["fields nobody knows", { batch: 2, what: { is: ["this"] } }, 2],
])
  check(`${what} brings ${n}, then nothing more, no status either`, async (c) => {
    await stocked(c, 5);
    const inbox = pull(c, body);
    const got = await inbox.messages(n);
    assert.deepEqual(got.map((m) => [m.subject, m.data, m.seq, m.cseq, m.count, m.pending]),
      got.map((_, i) => [c.subject("a"), `m${i + 1}`, i + 1, i + 1, 1, 4 - i]));
    assert.deepEqual([got[0].stream, got[0].consumer], [c.id, "C"]);
    const rest = pull(c, { batch: 9, no_wait: true }); // what comes after it came
    await rest.messages(5 - n);
    await rest.status("404 No Messages");
    assert.deepEqual(inbox.unread, []);
  });

check("replay original keeps the gaps between messages", async (c) => {
  await c.create();
  const start = Date.now();
  await c.pub("a", "1");
  await until("a gap", () => Date.now() - start > 600);
  await c.pub("a", "2");
  const times = await Promise.all([1, 2].map(async (seq) => Date.parse((await c.get(seq)).time)));
  await add(c, { replay_policy: "original" });
  const from = Date.now();
  const got = await pull(c, { batch: 3, expires: LONG }).messages(2);
  assert.ok(got[1].at - from >= times[1] - times[0] - 50, `${got[1].at - from} ms for a gap of ${times[1] - times[0]}`);
});

check("a message comes as it was stored: subject, headers, bytes, and its time in the reply", async (c) => {
  await c.create();
  const hdr = "NATS/1.0\r\nNats-Msg-Id: one\r\nX: a\r\nx: b\r\nX: c\r\n\r\n";
  await c.pub("deep.down", "\x00\xff\r\n", hdr);
  await add(c);
  const raw = await c.t.raw(c.s);
  await raw.connect({ headers: true, protocol: 0 });
  raw.send("SUB inbox.p 8", `PUB $JS.API.CONSUMER.MSG.NEXT.${c.id}.C inbox.p 0`, "");
  const m = await raw.expect(/^HMSG (\S+) 8 (\S+) (\d+) (\d+)\r\n/);
  const stored = await c.get(1);
  assert.equal(m[1], c.subject("deep.down"));
  const ns = BigInt(Date.parse(stored.time)) * 1_000_000n + BigInt(stored.time.match(/\.\d{3}(\d*)Z/)?.[1].padEnd(6, "0") || 0);
  assert.equal(m[2], `$JS.ACK.${c.id}.C.1.1.1.${ns}.0`);
  assert.deepEqual([Number(m[3]), Number(m[4])], [hdr.length, hdr.length + Buffer.byteLength("\x00\xff\r\n")]);
  await until("the bytes", () => raw.buf.length >= Number(m[4]) + 2);
  assert.equal(raw.buf.slice(0, hdr.length), hdr);
  raw.close();
});

check("waiting requests are served by turns, first come first, one message each", async (c) => {
  await c.create();
  await add(c);
  const one = pull(c, { batch: 2, expires: LONG });
  const two = pull(c, { batch: 2, expires: LONG });
  const three = pull(c, { batch: 1, expires: LONG });
  await waiting(c, 3);
  await fill(c, 5);
  assert.deepEqual([await one.seqs(2), await two.seqs(2), await three.seqs(1)], [[1, 4], [2, 5], [3]]);
  await waiting(c, 0);
});

check("a request whose inbox has no subscription any more takes no message", async (c) => {
  await c.create();
  await add(c);
  const gone = pull(c, { batch: 5, expires: LONG });
  const stays = pull(c, { batch: 2, expires: LONG });
  await waiting(c, 2);
  gone.stop();
  await c.nc.flush();
  await fill(c, 2);
  const got = await stays.messages(2);
  assert.deepEqual(got.map((m) => [m.seq, m.count]), [[1, 1], [2, 1]]);
  await waiting(c, 0);
});

// --- how long ------------------------------------------------------------------------------------

check("expires: 408 with what was not delivered, byte by byte", async (c) => {
  await stocked(c, 1);
  const raw = await c.t.raw(c.s);
  await raw.connect({ headers: true, protocol: 0 });
  const body = JSON.stringify({ batch: 5, expires: 300 * MS });
  raw.send("SUB inbox.x 3", `PUB $JS.API.CONSUMER.MSG.NEXT.${c.id}.C inbox.x ${body.length}`, body);
  await raw.expect(/^MSG \S+ 3 \$JS\.ACK\S+ 2\r\nm1\r\n/);
  await raw.expect(/^HMSG inbox\.x 3 81 81\r\nNATS\/1\.0 408 Request Timeout\r\nNats-Pending-Messages: 4\r\nNats-Pending-Bytes: 0\r\n\r\n\r\n/);
  raw.close();
  await waiting(c, 0);
});

check("expires is not early", async (c) => {
  await stocked(c, 0);
  const start = Date.now();
  const m = await pull(c, { batch: 2, expires: 400 * MS }).status("408 Request Timeout");
  assert.ok(m.at - start >= 399, `after ${m.at - start} ms`);
});

check("no_wait: 404 at once, or after the messages that are there", async (c) => {
  await stocked(c, 2);
  const some = pull(c, { batch: 5, no_wait: true });
  assert.deepEqual(await some.seqs(2), [1, 2]);
  const end = await some.status("404 No Messages");
  assert.deepEqual([end.subject, end.reply || "", end.data], [some.subject, "", ""]);
  const none = await pull(c, { batch: 5, no_wait: true }).status("404 No Messages");
  assert.equal(none.headers.get("Nats-Pending-Messages"), "");
});

check("no_wait with expires: waits when nothing is there, ends with 408; ends early after what came", async (c) => {
  await stocked(c, 0);
  assert.deepEqual(pendingPair(await pull(c, { batch: 3, no_wait: true, expires: 200 * MS }).status("408 Request Timeout")), [3, 0]);
  await fill(c, 2);
  const some = pull(c, { batch: 3, no_wait: true, expires: LONG });
  assert.deepEqual(await some.seqs(2), [1, 2]);
  await some.status("404 No Messages");
});

check("no_wait while max_ack_pending holds everything back stays open", async (c) => {
  await stocked(c, 3, { max_ack_pending: 1 });
  const [m] = await fetch(c, 1);
  const inbox = pull(c, { batch: 1, no_wait: true });
  await waiting(c, 1);
  await settle(c, m);
  assert.deepEqual(await inbox.seqs(1), [2]);
});

check("no_wait behind requests that will take all there is: 408 Requests Pending", async (c) => {
  await stocked(c, 3, { max_ack_pending: 1 });
  const [m] = await fetch(c, 1);
  const first = pull(c, { batch: 5, expires: LONG });
  await waiting(c, 1);
  await pull(c, { batch: 1, no_wait: true }).status("408 Requests Pending");
  await settle(c, m);
  assert.deepEqual(await first.seqs(1), [2]);
});

check("a request without an end is served whenever something comes", async (c) => {
  await stocked(c, 0);
  const inbox = pull(c, { batch: 2 });
  await waiting(c, 1);
  await fill(c, 2);
  assert.deepEqual(await inbox.seqs(2), [1, 2]);
});

// --- bytes ---------------------------------------------------------------------------------------

check("max_bytes counts subject, reply, headers and data; what does not fit ends the request", async (c) => {
  await c.create();
  for (let i = 0; i < 4; i++) await c.pub("a", "x".repeat(100), { H: "v" });
  await add(c);
  const [probe] = await fetch(c, 1);
  const size = probe.subject.length + probe.reply.length + "NATS/1.0\r\nH: v\r\n\r\n".length + 100;
  const exact = pull(c, { batch: 10, max_bytes: 2 * size + 5, expires: LONG });
  const got = await exact.messages(2);
  assert.deepEqual(got.map((m) => m.reply.length), [probe.reply.length, probe.reply.length]);
  assert.deepEqual(pendingPair(await exact.status("409 Message Size Exceeds MaxBytes")), [8, 5]);
  assert.deepEqual(pendingPair(await pull(c, { batch: 1, max_bytes: size - 1, expires: LONG }).status("409 Message Size Exceeds MaxBytes")), [1, size - 1]);
  assert.deepEqual(await pull(c, { batch: 1, max_bytes: size, expires: LONG }).seqs(1), [4]);
});

check("max_bytes with bytes left when the batch is served: 409 Batch Completed", async (c) => {
  await stocked(c, 3);
  const inbox = pull(c, { batch: 2, max_bytes: 10000, expires: LONG });
  const got = await inbox.messages(2);
  const used = got.reduce((n, m) => n + m.subject.length + m.reply.length + m.data.length, 0);
  assert.deepEqual(pendingPair(await inbox.status("409 Batch Completed")), [0, 10000 - used]);
});

check("max_bytes and expires: 408 tells the bytes that were left", async (c) => {
  await stocked(c, 1);
  const inbox = pull(c, { batch: 3, max_bytes: 5000, expires: 250 * MS });
  const [m] = await inbox.messages(1);
  assert.deepEqual(pendingPair(await inbox.status("408 Request Timeout")), [2, 5000 - m.subject.length - m.reply.length - 2]);
});

// --- heartbeats ----------------------------------------------------------------------------------

check("idle heartbeats tell the last sequences, until the request ends", async (c) => {
  await stocked(c, 3);
  await settle(c, (await fetch(c, 1))[0]);
  const inbox = pull(c, { batch: 5, expires: 1000 * MS, idle_heartbeat: 200 * MS });
  await inbox.messages(2);
  const beat = await inbox.status("100 Idle Heartbeat");
  assert.deepEqual([beat.subject, beat.headers.get("Nats-Last-Consumer"), beat.headers.get("Nats-Last-Stream")], [inbox.subject, "3", "3"]);
  assert.equal((await inbox.beyond()).status, "408 Request Timeout");
});

check("heartbeats that are too long for the request: 400", async (c) => {
  await stocked(c, 1);
  for (const body of [{ batch: 1, expires: 300 * MS, idle_heartbeat: 200 * MS }, { batch: 1, idle_heartbeat: 200 * MS }])
    await pull(c, body).status("400 Bad Request - heartbeat value too large");
  assert.equal((await place(c)).delivered, "0/0");
});

// --- refusals ------------------------------------------------------------------------------------

check("what is no request: 400, and nothing is delivered", async (c) => {
  await stocked(c, 1);
  for (const body of ["{", '{"batch":"x"}', '{"expires":"1s"}'])
    assert.match((await pull(c, body).next()).status, /^400 Bad Request - ./, body);
  assert.equal((await place(c)).delivered, "0/0");
  assert.deepEqual(await pull(c, "1").seqs(1), [1]);
});

check("limits of the consumer on batch, expires and bytes", async (c) => {
  await stocked(c, 1, { max_batch: 3, max_expires: 1500 * MS, max_bytes: 1024 });
  await pull(c, { batch: 4 }).status("409 Exceeded MaxRequestBatch of 3");
  await pull(c, 4).status("409 Exceeded MaxRequestBatch of 3");
  await pull(c, { batch: 1, expires: LONG }).status("409 Exceeded MaxRequestExpires of 1.5s");
  await pull(c, { batch: 1, max_bytes: 1025 }).status("409 Exceeded MaxRequestMaxBytes of 1024");
  assert.deepEqual(await pull(c, { batch: 3, expires: 1000 * MS, max_bytes: 1024 }).seqs(1), [1]);
});

check("max_waiting: one more is refused, silently when it has heartbeats", async (c) => {
  await stocked(c, 0, { max_waiting: 2 });
  const open = [pull(c, { batch: 1, expires: LONG }), pull(c, { batch: 1, expires: LONG })];
  await waiting(c, 2);
  await pull(c, { batch: 1, expires: LONG }).status("409 Exceeded MaxWaiting");
  const silent = pull(c, { batch: 1, expires: LONG, idle_heartbeat: 100 * MS });
  await pull(c, { batch: 1, expires: LONG }).status("409 Exceeded MaxWaiting");
  await fill(c, 2);
  for (const inbox of open) await inbox.messages(1);
  await waiting(c, 0);
  await fill(c, 1);
  assert.deepEqual(await pull(c, { batch: 1, no_wait: true }).seqs(1), [3], "nobody else was waiting");
  assert.deepEqual(silent.unread, []);
});

check("max_waiting comes before a pause, an empty stream before both", async (c) => {
  await stocked(c, 0, { max_waiting: 1 });
  pull(c, { batch: 1, expires: LONG });
  await waiting(c, 1);
  await c.api(`CONSUMER.PAUSE.${c.id}.C`, { pause_until: "2099-01-01T00:00:00Z" });
  await pull(c, { batch: 1, no_wait: true }).status("404 No Messages");
  await fill(c, 2);
  await pull(c, { batch: 1, no_wait: true }).status("409 Exceeded MaxWaiting");
});

check("deleting the consumer or its stream ends what waits: 409 Consumer Deleted", async (c) => {
  await stocked(c, 0);
  const one = pull(c, { batch: 1, expires: LONG });
  await waiting(c, 1);
  assert.equal((await drop(c)).success, true);
  await one.status("409 Consumer Deleted");
  await add(c);
  const two = pull(c, { batch: 1 });
  await waiting(c, 1);
  assert.equal((await c.api(`STREAM.DELETE.${c.id}`)).success, true);
  await two.status("409 Consumer Deleted");
});

check("no consumer, no responders", async (c) => {
  await stocked(c, 1);
  for (const name of ["D", "C.x"])
    await assert.rejects(c.nc.request(`$JS.API.CONSUMER.MSG.NEXT.${c.id}.${name}`, "", { timeout: LIMIT_MS }), /no responders/i);
});

check("a push consumer cannot be pulled: 409", async (c) => {
  await stocked(c, 1, { deliver_subject: "somewhere.else" });
  await pull(c, 1).status("409 Consumer is push based");
});

check("an API level that is not there yet: 412", async (c) => {
  await stocked(c, 1);
  const hdr = headers();
  hdr.set("Nats-Required-Api-Level", "100");
  await pull(c, 1, { hdr }).status("412 Required Api Level");
  hdr.set("Nats-Required-Api-Level", "1");
  assert.deepEqual(await pull(c, 1, { hdr }).seqs(1), [1]);
});

check("fields of priority groups on a consumer that has none: 400", async (c) => {
  await stocked(c, 1);
  for (const body of [{ batch: 1, min_pending: 1 }, { batch: 1, min_ack_pending: 1 }])
    await pull(c, body).status("400 Bad Request - Not a Overflow Priority consumer");
  await pull(c, { batch: 1, id: "x" }).status("400 Bad Request - Not a Pinned Client Priority consumer");
  await pull(c, { batch: 1, priority: 10 }).status("400 Bad Request - Priority must be between 0 and 9");
  await pull(c, { batch: 1, priority: -1 }).status("400 Bad Request - Priority must be between 0 and 9");
  assert.deepEqual(await pull(c, { batch: 1, group: "whatever" }).seqs(1), [1]);
});

scenario("a server that stops says so: 409 Server Shutdown", async (t) => {
  const { s, stream } = await ownServer(t);
  const c = stream("S");
  await c.create();
  await fill(c, 1);
  await add(c);
  const inbox = pull(c, { batch: 3, max_bytes: 1000, expires: LONG });
  const [m] = await inbox.messages(1);
  await s.stop();
  const end = await inbox.status("409 Server Shutdown");
  assert.deepEqual(pendingPair(end), [2, 1000 - m.subject.length - m.reply.length - 2]);
});

// --- priority groups -----------------------------------------------------------------------------

const grouped = (policy, more) => ({ priority_groups: ["g"], priority_policy: policy, ...more });

check("a grouped consumer wants the group in a request, but for plain numbers", async (c) => {
  await stocked(c, 2, grouped("overflow"));
  await pull(c, { batch: 1 }).status("400 Bad Request - Priority Group missing");
  await pull(c, { batch: 1, group: "h" }).status("400 Bad Request - Invalid Priority Group");
  assert.deepEqual(await pull(c, 1).seqs(1), [1]);
  assert.deepEqual(await pull(c, { batch: 1, group: "g" }).seqs(1), [2]);
});

check("overflow: served while enough is pending or unacknowledged", async (c) => {
  await stocked(c, 6, grouped("overflow"));
  const over = pull(c, { batch: 5, group: "g", min_pending: 6, expires: LONG });
  assert.deepEqual(await over.seqs(1), [1]);
  await waiting(c, 1);
  const plain = pull(c, { batch: 2, group: "g", expires: LONG });
  assert.deepEqual(await plain.seqs(2), [2, 3]);
  assert.deepEqual(over.unread, []);
  const acks = pull(c, { batch: 1, group: "g", min_ack_pending: 4, expires: LONG });
  await waiting(c, 2);
  assert.deepEqual(await pull(c, { batch: 1, group: "g", expires: LONG }).seqs(1), [4]);
  assert.deepEqual(await acks.seqs(1), [5]); // four are unacknowledged now
  await fill(c, 5);
  assert.equal((await over.messages(1))[0].seq, 6);
});

check("pinned: one client gets all, under its id, until unpinned", async (c) => {
  await stocked(c, 1, grouped("pinned_client", { priority_timeout: LONG }));
  const told = advisories(c);
  await c.nc.flush();
  const one = pull(c, { batch: 1, group: "g", expires: LONG });
  const [m] = await one.messages(1);
  const id = m.headers.get("Nats-Pin-Id");
  assert.match(id, /^[0-9A-Za-z]{22}$/);
  const pin = await told.of("PINNED");
  assert.deepEqual([pin.account, pin.stream, pin.consumer, pin.group, pin.pinned_id, pin.type],
    ["$G", c.id, "C", "g", id, "io.nats.jetstream.advisory.v1.consumer_group_pinned"]);
  const groups = (await look(c)).priority_groups;
  assert.deepEqual([groups[0].group, groups[0].pinned_client_id], ["g", id]);
  const two = pull(c, { batch: 1, group: "g", expires: LONG });
  await waiting(c, 1);
  await pull(c, { batch: 1, group: "g", id: "wrong", expires: LONG }).status("423 Nats-Pin-Id mismatch");
  await fill(c, 2);
  const more = await pull(c, { batch: 2, group: "g", id, expires: LONG }).messages(2);
  assert.deepEqual(more.map((x) => [x.seq, x.headers.get("Nats-Pin-Id")]), [[2, id], [3, id]]);
  assert.deepEqual(two.unread, []);
  assert.equal((await c.api(`CONSUMER.UNPIN.${c.id}.C`, { group: "g" })).error, undefined);
  const un = await told.of("UNPINNED");
  assert.deepEqual([un.group, un.reason, un.type], ["g", "admin", "io.nats.jetstream.advisory.v1.consumer_group_unpinned"]);
  await fill(c, 1);
  const [next] = await two.messages(1);
  assert.equal(next.seq, 4);
  assert.notEqual(next.headers.get("Nats-Pin-Id"), id);
});

check("pinned: silence unpins, and the next one is pinned; stale ids hear 423", async (c) => {
  await stocked(c, 1, grouped("pinned_client", { priority_timeout: 500 * MS }));
  const told = advisories(c);
  await c.nc.flush();
  const one = pull(c, { batch: 1, group: "g", expires: LONG });
  const id = (await one.messages(1))[0].headers.get("Nats-Pin-Id");
  const two = pull(c, { batch: 2, group: "g", expires: LONG });
  assert.equal((await told.of("UNPINNED")).reason, "timeout");
  await fill(c, 1);
  const [m] = await two.messages(1);
  assert.notEqual(m.headers.get("Nats-Pin-Id"), id);
  await pull(c, { batch: 1, group: "g", id, expires: LONG }).status("423 Nats-Pin-Id mismatch");
});

check("unpin: groups that are not there", async (c) => {
  await stocked(c, 0, grouped("pinned_client"));
  const unpin = async (body) => (await c.api(`CONSUMER.UNPIN.${c.id}.C`, body)).error;
  assert.deepEqual(await unpin({ group: "h" }), { code: 400, err_code: 10160, description: "Provided priority group does not exist for this consumer" });
  assert.deepEqual(await unpin({}), { code: 400, err_code: 10025, description: "invalid JSON: consumer group not specified" });
});

check("prioritized: the lower number first, then first come first", async (c) => {
  await stocked(c, 0, grouped("prioritized"));
  const order = [5, 0, 9, 0, 5].map((priority) => pull(c, { batch: 1, group: "g", priority, expires: LONG }));
  await waiting(c, 5);
  await fill(c, 5);
  const seqs = [];
  for (const inbox of order) seqs.push((await inbox.seqs(1))[0]);
  assert.deepEqual(seqs, [3, 1, 5, 2, 4]);
});

check("prioritized: a request keeps its place until its batch is full", async (c) => {
  await stocked(c, 0, grouped("prioritized"));
  const late = pull(c, { batch: 2, group: "g", priority: 1, expires: LONG });
  await waiting(c, 1);
  const early = pull(c, { batch: 3, group: "g", priority: 0, expires: LONG });
  await waiting(c, 2);
  await fill(c, 5);
  assert.deepEqual([await early.seqs(3), await late.seqs(2)], [[1, 2, 3], [4, 5]]);
});

// --- as nats.js does it --------------------------------------------------------------------------

// nats.js gives up when it hears nothing for its whole time: that is not to be a busy machine's stall.
check("nats.js fetch: by number, by bytes, and with too little there", async (c) => {
  await stocked(c, 20);
  const consumer = await c.js.consumers.get(c.id, "C");
  const take = async (options) => {
    const got = [];
    try {
      for await (const m of await consumer.fetch(options)) {
        got.push(m.seq);
        await m.ackAck({ timeout: LIMIT_MS });
      }
    } catch (e) {
      assert.match(e.message, /message size exceeds maxbytes/); // the end of a fetch by bytes
    }
    return got;
  };
  assert.deepEqual(await take({ max_messages: 5, expires: 30000 }), [1, 2, 3, 4, 5]);
  const bytes = await take({ max_bytes: 300, expires: 30000 });
  assert.ok(bytes.length >= 2 && bytes.length <= 6, String(bytes));
  assert.deepEqual(bytes, bytes.map((_, i) => 6 + i));
  const rest = await take({ max_messages: 100, expires: 5000 });
  assert.equal(rest.at(-1), 20);
  assert.equal(rest.length, 15 - bytes.length);
  await placed(c, { delivered: "20/20", floor: "20/20", unacked: 0, pending: 0 });
});

check("nats.js next: a message, or null after its time", async (c) => {
  await stocked(c, 1);
  const consumer = await c.js.consumers.get(c.id, "C");
  assert.equal((await consumer.next({ expires: 30000 })).string(), "m1");
  assert.equal(await consumer.next({ expires: 5000 }), null);
});

check("nats.js consume: thousands in order, small batches, acked each", async (c) => {
  await stocked(c, 0);
  const consumer = await c.js.consumers.get(c.id, "C");
  const got = [];
  const messages = await consumer.consume({ max_messages: 50 });
  const done = (async () => {
    for await (const m of messages) {
      got.push(m.seq);
      m.ack();
      if (got.length === 2000) return;
    }
  })();
  await fill(c, 2000);
  await done;
  assert.deepEqual(got, Array.from({ length: 2000 }, (_, i) => i + 1));
  await messages.close();
  await placed(c, { floor: "2000/2000", unacked: 0, pending: 0, again: 0 });
});

check("nats.js consume: two of them share, each message once", async (c) => {
  await stocked(c, 0);
  const seen = new Map();
  const all = [];
  for (const who of [1, 2]) {
    const consumer = await c.js.consumers.get(c.id, "C");
    all.push(await consumer.consume({ max_messages: 10, callback: (m) => {
      seen.set(m.seq, [...(seen.get(m.seq) ?? []), who]);
      m.ack();
    } }));
  }
  await fill(c, 500);
  await until("all messages", () => seen.size === 500);
  assert.ok([...seen.values()].every((w) => w.length === 1), "one came twice");
  await placed(c, { unacked: 0, floor: "500/500" });
  for (const m of all) await m.close();
});

check("nats.js consume by bytes", async (c) => {
  await c.create();
  await fill(c, 50, ["a"], () => "x".repeat(1000));
  await add(c);
  const consumer = await c.js.consumers.get(c.id, "C");
  const got = [];
  const messages = await consumer.consume({ max_bytes: 5000 });
  for await (const m of messages) {
    got.push(m.seq);
    m.ack();
    if (got.length === 50) break;
  }
  assert.deepEqual(got, Array.from({ length: 50 }, (_, i) => i + 1));
});

check("nats.js consume is told when the consumer is deleted", async (c) => {
  await stocked(c, 1);
  const consumer = await c.js.consumers.get(c.id, "C");
  const messages = await consumer.consume({ callback: (m) => m.ack() });
  const told = (async () => {
    for await (const s of messages.status()) if (s.type === "consumer_deleted") return s;
  })();
  await placed(c, { unacked: 0, delivered: "1/1" });
  await drop(c);
  assert.equal((await told).code, 409);
  await messages.close();
});

check("nats.js ordered pull consumer: all in order, from a sequence, for a filter, last of each", async (c) => {
  await c.create();
  await fill(c, 300, ["a", "b", "c"]);
  const take = async (options, n) => {
    const consumer = await c.js.consumers.get(c.id, options);
    const got = [];
    for await (const m of await consumer.consume()) if (got.push(m.seq) === n) break;
    return got;
  };
  assert.deepEqual(await take({}, 300), Array.from({ length: 300 }, (_, i) => i + 1));
  assert.deepEqual(await take({ filter_subjects: c.subject("b") }, 100), Array.from({ length: 100 }, (_, i) => 3 * i + 2));
  assert.deepEqual(await take({ deliver_policy: "by_start_sequence", opt_start_seq: 290 }, 11), Array.from({ length: 11 }, (_, i) => 290 + i));
  assert.deepEqual(await take({ deliver_policy: "last_per_subject", filter_subjects: [c.subject("a"), c.subject("c")] }, 2), [298, 300]);
});

check("nats.js priority groups: overflow fetch and consume that holds its pin", async (c) => {
  await stocked(c, 10, grouped("overflow"));
  const consumer = await c.js.consumers.get(c.id, "C");
  const got = [];
  for await (const m of await consumer.fetch({ max_messages: 3, expires: 30000, group: "g", min_pending: 3 })) got.push(m.seq);
  assert.deepEqual(got, [1, 2, 3]);
  const pinned = c.another();
  await stocked(pinned, 10, grouped("pinned_client", { priority_timeout: LONG }));
  const holder = await c.js.consumers.get(pinned.id, "C");
  const ids = new Set();
  let n = 0;
  for await (const m of await holder.consume({ max_messages: 3, group: "g" })) {
    ids.add(m.headers.get("Nats-Pin-Id"));
    m.ack();
    if (++n === 10) break;
  }
  assert.equal(ids.size, 1);
});

check("pull requests meet a consumer that changed its limits meanwhile", async (c) => {
  await stocked(c, 4);
  await add(c, { max_batch: 2 });
  await pull(c, { batch: 3 }).status("409 Exceeded MaxRequestBatch of 2");
  await add(c, {});
  assert.deepEqual(await pull(c, { batch: 3 }).seqs(3), [1, 2, 3]);
  const r = await tryAdd(c, { deliver_subject: "x" });
  assert.deepEqual(r.error, { code: 500, err_code: 10012, description: "can not update pull consumer to push based" });
  await nothingLeft(c);
});
async function nothingLeft(c) {
  assert.deepEqual(await fetch(c, 1).then((l) => l.map((m) => m.seq)), [4]);
  await nothing(c);
}

check("a flood of requests for nothing: each is answered, none is left", async (c) => {
  await stocked(c, 0);
  const inbox = new Inbox(c);
  for (let i = 0; i < 2000; i++) pull(c, { batch: 1, no_wait: true }, { inbox });
  await until("all answers", () => inbox.all.length === 2000);
  assert.ok(inbox.all.every((m) => m.status === "404 No Messages"));
  assert.equal((await look(c)).num_waiting, 0);
});
