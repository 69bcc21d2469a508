// snapshot_consumers.mjs: the consumers of a stream in its snapshots: they come back with their configuration and
// go on where they stopped, in both directions between the server under test and nats-server.
import assert from "node:assert/strict";
import { createInbox } from "@nats-io/transport-node";
import { JS, api, archive, ask, configOf, other, ready, restore, snapshot } from "./lib/backup.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const HOUR = 3600e9;

// n messages for a pull consumer, with the numbers their ack subjects tell.
async function fetch(nc, name, n, stream = "S") {
  const inbox = createInbox();
  const got = collect(nc, inbox);
  nc.publish(`$JS.API.CONSUMER.MSG.NEXT.${stream}.${name}`, JSON.stringify({ batch: n, expires: 10e9 }), { reply: inbox });
  await until(`${n} messages of ${name}`, () => got.length >= n);
  got.sub.unsubscribe();
  return got.map((m) => {
    const [count, seq, cseq] = m.reply.split(".").slice(-5).map(Number);
    return { count, seq, cseq, reply: m.reply, text: m.string() };
  });
}
const settle = async (nc, m, word = "+ACK") => nc.request(m.reply, word, { timeout: LIMIT_MS });
const numbers = (list) => list.map((m) => [m.seq, m.cseq, m.count]);

const CONSUMERS = [
  { durable_name: "PULL", ack_policy: "explicit", ack_wait: HOUR, max_deliver: 7, metadata: { who: "me" } },
  { durable_name: "FILTER", ack_policy: "explicit", ack_wait: HOUR, filter_subject: "s.1", description: "every fifth" },
  { durable_name: "ALL", ack_policy: "all", ack_wait: HOUR, max_ack_pending: 12 },
  { durable_name: "NONE", ack_policy: "none" },
  { durable_name: "PUSH", ack_policy: "explicit", deliver_subject: "out.push", backoff: [HOUR, 2 * HOUR], max_deliver: 5 },
  { name: "EPHEMERAL", ack_policy: "explicit", ack_wait: HOUR, inactive_threshold: HOUR },
  { durable_name: "NEW", ack_policy: "explicit", deliver_policy: "new" },
  { durable_name: "LATER", ack_policy: "explicit", deliver_policy: "by_start_sequence", opt_start_seq: 15 },
];
const nameOf = (c) => c.durable_name ?? c.name;
const add = (nc, config, stream = "S") =>
  api(nc, `CONSUMER.CREATE.${stream}.${nameOf(config)}`, { stream_name: stream, config, action: "create" });

// 22 messages, of which 20 were there when the consumers were made; what each of them did with them.
async function fill(nc, more = {}) {
  await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"], ...more });
  for (let i = 1; i <= 20; i++) await nc.request(`s.${i % 5}`, `message ${i}`, { timeout: LIMIT_MS });
  for (const c of CONSUMERS) await add(nc, c);
  const pulled = await fetch(nc, "PULL", 10);
  for (const i of [0, 1, 3]) await settle(nc, pulled[i]);
  await settle(nc, pulled[4], "-NAK");
  const again = await fetch(nc, "PULL", 1);
  assert.deepEqual(numbers(again), [[5, 11, 2]]);
  for (const m of await fetch(nc, "FILTER", 2)) await settle(nc, m);
  await settle(nc, (await fetch(nc, "ALL", 6))[3]);
  await fetch(nc, "NONE", 3);
  await fetch(nc, "EPHEMERAL", 3);
  for (let i = 21; i <= 22; i++) await nc.request(`s.${i % 5}`, `message ${i}`, { timeout: LIMIT_MS });
  return { pulled, again };
}

// All consumers as they say they are, without what tells of a server and of now.
async function infos(nc, stream = "S") {
  const { consumers } = await api(nc, `CONSUMER.LIST.${stream}`);
  const all = [];
  for (const { name } of consumers.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const i = await api(nc, `CONSUMER.INFO.${stream}.${name}`);
    for (const gone of ["created", "ts", "type", "cluster", "push_bound", "num_waiting"]) delete i[gone];
    for (const place of [i.delivered, i.ack_floor]) delete place.last_active;
    for (const key of Object.keys(i.config.metadata ?? {})) if (/^_nats\.(ver|level)$/.test(key)) delete i.config.metadata[key];
    all.push(i);
  }
  return all;
}

// They go on where they were: acks of messages sent by the other server count, then the next one comes.
async function goesOn(nc, { pulled, again }) {
  const place = async (name) => {
    const i = await api(nc, `CONSUMER.INFO.S.${name}`);
    return [i.delivered.consumer_seq, i.ack_floor.stream_seq, i.num_ack_pending, i.num_redelivered];
  };
  assert.deepEqual(await place("PULL"), [11, 2, 7, 1]);
  await settle(nc, pulled[2]);
  assert.deepEqual(await place("PULL"), [11, 4, 6, 1]);
  await settle(nc, again[0], "-NAK");
  assert.deepEqual(numbers(await fetch(nc, "PULL", 1)), [[5, 12, 3]]);
  assert.deepEqual(numbers(await fetch(nc, "PULL", 2)), [[11, 13, 1], [12, 14, 1]]);
  assert.deepEqual(numbers(await fetch(nc, "FILTER", 1)), [[11, 3, 1]]);
  assert.deepEqual(numbers(await fetch(nc, "ALL", 1)), [[7, 7, 1]]);
  assert.deepEqual(numbers(await fetch(nc, "NONE", 1)), [[4, 4, 1]]);
  assert.deepEqual(numbers(await fetch(nc, "EPHEMERAL", 1)), [[4, 4, 1]]);
  assert.deepEqual(numbers(await fetch(nc, "NEW", 2)), [[21, 1, 1], [22, 2, 1]]);
  assert.deepEqual(numbers(await fetch(nc, "LATER", 1)), [[15, 1, 1]]);
  const pushed = collect(nc, "out.push");
  await until("the push consumer", () => pushed.length === 22);
  assert.equal(pushed[0].string(), "message 1");
}

async function moved(from, to, more = {}) {
  const sent = await fill(from, more);
  const before = await infos(from);
  assert.equal(before.length, CONSUMERS.length);
  const config = await configOf(from);
  const { bytes } = await snapshot(from, "S", { chunk_size: 2048 });
  if (to === from) await api(from, "STREAM.DELETE.S");
  const made = await restore(to, config, bytes);
  assert.equal(made.error, undefined, JSON.stringify(made.error));
  assert.equal(made.state.consumer_count, CONSUMERS.length);
  assert.deepEqual(await infos(to), before);
  return sent;
}

for (const storage of ["file", "memory"])
  scenario(`consumers of a ${storage} stream come back and go on where they stopped`, async (t) => {
    const [, nc] = await ready(t);
    await goesOn(nc, await moved(nc, nc, { storage }));
  });

scenario("consumers that were restored survive a restart", async (t) => {
  const [s, nc] = await ready(t);
  const sent = await moved(nc, nc);
  const before = (await infos(nc)).filter((i) => i.name !== "EPHEMERAL");
  await nc.close();
  await s.restart();
  const again = await t.connect(s);
  assert.deepEqual((await infos(again)).filter((i) => i.name !== "EPHEMERAL"), before);
  await settle(again, sent.pulled[2]);
  assert.deepEqual(numbers(await fetch(again, "PULL", 1)), [[11, 12, 1]]);
});

if (other) {
  scenario("consumers go from nats-server into the server under test", async (t) => {
    const [, theirs] = await ready(t, { ...JS, program: other });
    const [, ours] = await ready(t);
    await goesOn(ours, await moved(theirs, ours));
  });
  scenario("consumers go from the server under test into nats-server", async (t) => {
    const [, theirs] = await ready(t, { ...JS, program: other });
    const [, ours] = await ready(t);
    await goesOn(theirs, await moved(ours, theirs));
  });
}

scenario("a snapshot with no_consumers has none", async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const config = await configOf(nc);
  const { bytes } = await snapshot(nc, "S", { no_consumers: true });
  await api(nc, "STREAM.DELETE.S");
  const made = await restore(nc, config, bytes);
  assert.equal(made.error, undefined, JSON.stringify(made.error));
  assert.equal(made.state.consumer_count, 0);
  assert.deepEqual(await infos(nc), []);
});

scenario("what waited for its ack is delivered again when its time is over", async (t) => {
  const [, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"] });
  for (let i = 0; i < 3; i++) await nc.request("s.1", `${i}`, { timeout: LIMIT_MS });
  await add(nc, { durable_name: "C", ack_policy: "explicit", ack_wait: 1e9 });
  await fetch(nc, "C", 2);
  const config = await configOf(nc);
  const { bytes } = await snapshot(nc, "S");
  await api(nc, "STREAM.DELETE.S");
  assert.equal((await restore(nc, config, bytes)).error, undefined);
  const seen = [];
  while (seen.length < 3) seen.push(...numbers(await fetch(nc, "C", 1)));
  const counts = (list) => list.map(([seq, , count]) => `${seq}/${count}`).sort();
  assert.deepEqual(counts(seen), ["1/2", "2/2", "3/1"]);
});

for (const retention of ["workqueue", "interest"])
  scenario(`a stream kept by ${retention} keeps what its consumers still need`, async (t) => {
    const [, nc] = await ready(t);
    await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"], retention });
    await add(nc, { durable_name: "C", ack_policy: "explicit", ack_wait: HOUR });
    for (let i = 1; i <= 6; i++) await nc.request("s.1", `${i}`, { timeout: LIMIT_MS });
    const got = await fetch(nc, "C", 4);
    for (const i of [0, 2]) await settle(nc, got[i]);
    await until("two to go", async () => (await api(nc, "STREAM.INFO.S")).state.messages === 4);
    const before = await infos(nc);
    const config = await configOf(nc);
    const { bytes } = await snapshot(nc, "S");
    await api(nc, "STREAM.DELETE.S");
    const made = await restore(nc, config, bytes);
    assert.equal(made.error, undefined, JSON.stringify(made.error));
    assert.equal(made.state.messages, 4);
    assert.deepEqual(await infos(nc), before);
    await settle(nc, got[1]);
    await until("an acked one to go", async () => (await api(nc, "STREAM.INFO.S")).state.messages === 3);
    for (const m of await fetch(nc, "C", 2)) await settle(nc, m);
    await until("all but one to go", async () => (await api(nc, "STREAM.INFO.S")).state.messages === 1);
  });

// --- parts that are damaged -----------------------------------------------------------------------------------

const state = (delivered, floor, more = {}) => ({
  delivered: { consumer_seq: delivered, stream_seq: delivered }, ack_floor: { consumer_seq: floor, stream_seq: floor }, ...more,
});
const config = (more = {}) => ({
  durable_name: "C", name: "C", deliver_policy: "all", ack_policy: "explicit", ack_wait: HOUR, replay_policy: "instant", ...more,
});
const MESSAGES = [1, 2, 3].map((seq) => ["s.1", seq, 1, "", `${seq}`]);
const SEQS = { first_seq: 1, last_seq: 3 };
const made = (doc, more = {}) => archive(SEQS, MESSAGES, { consumers: [["C", doc]], ...more });
const pend = (seq) => ({ [seq]: { Sequence: 1, Timestamp: 1700000000000000000 } });

scenario("consumers that are damaged in an archive are refused, and nothing remains", async (t) => {
  const [, nc] = await ready(t);
  let n = 0;
  const refused = async (pattern, bytes) => {
    const name = `S${++n}`;
    const r = await restore(nc, { name, subjects: [`${n}.>`] }, bytes);
    assert.match(r.error?.description ?? JSON.stringify(r), pattern);
    assert.equal(r.error.err_code, 10062);
    if (isMayfly) // nats-server keeps what it had taken
      assert.equal((await ask(nc, `STREAM.INFO.${name}`)).error?.err_code, 10059);
  };
  await refused(/^restore failed: failed to decode consumer "C" state: /, made("{"));
  await refused(/^restore failed: failed to decode consumer "C" state: /, made({ config: config(), state: { delivered: 5 } }));
  await refused(/^restore failed: failed to decode consumer "C" state: /, made({ config: config(), state: state(2, 1, { pending: { x: {} } }) }));
  await refused(/^restore failed: failed to decode consumer "C" state: /, made({ config: config(), state: state(2, 1, { pending: { 2: 7 } }) }));
  await refused(/^restore failed: failed to decode consumer "C" state: /, made({ config: config(), state: state(2, 1, { redelivered: { 2: "x" } }) }));
  await refused(/^restore failed: consumer "C" is missing config$/, made({ state: state(2, 1) }));
  await refused(/^restore failed: consumer "C" is missing state$/, made({ config: config() }));
  await refused(/^restore failed: failed to set consumer "C" state: bad ack floor for consumer$/, made({ config: config(), state: state(1, 2) }));
  if (!isMayfly) // it writes such after a purge
    await refused(/^restore failed: failed to set consumer "C" state: bad pending entry, sequence \[1\] out of range$/,
      made({ config: config(), state: state(2, 1, { pending: pend(1) }) }));
  await refused(/^restore failed: failed to set consumer "C" state: bad pending entry, sequence \[1\] out of range$/,
    made({ config: config({ ack_policy: "all" }), state: state(2, 1, { pending: pend(1) }) }));
  await refused(/^restore failed: failed to set consumer "C" state: bad pending entry, sequence \[3\] out of range$/,
    made({ config: config(), state: state(2, 1, { pending: pend(3) }) }));
  await refused(/^restore failed: failed to add consumer "C": max deliver is required to be > length of backoff values \(10116\)$/,
    made({ config: config({ max_deliver: 1, backoff: [1e9, 2e9] }), state: state(0, 0) }));
  await refused(/^restore failed: expected consumer, found "s\.1"$/, archive({ ...SEQS, consumer_count: 1 }, MESSAGES));
  await refused(/^restore failed: expected message sequence$/, archive({ ...SEQS, consumer_count: 0 }, MESSAGES, {
    consumers: [["C", { config: config(), state: state(0, 0) }]],
  }));
  const good = await restore(nc, { name: "S", subjects: ["s.>"] }, made({ config: config(), state: state(2, 1, { pending: pend(2), redelivered: { 2: 3 } }) }));
  assert.equal(good.error, undefined, JSON.stringify(good.error));
  const i = await api(nc, "CONSUMER.INFO.S.C");
  assert.deepEqual([i.delivered.stream_seq, i.ack_floor.stream_seq, i.num_ack_pending, i.num_redelivered, i.num_pending], [2, 1, 1, 1, 1]);
});

scenario("a consumer that waits for messages which are gone does not wait for ever", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t);
  const doc = { config: config(), state: state(3, 0, { pending: { ...pend(1), ...pend(2), ...pend(3) } }) };
  const bytes = archive(SEQS, [MESSAGES[2]], { consumers: [["C", doc]] });
  const r = await restore(nc, { name: "S", subjects: ["s.>"] }, bytes);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  const i = await api(nc, "CONSUMER.INFO.S.C");
  assert.equal(i.num_ack_pending, 1);
});

// nats-server writes such a state after a purge, and cannot read it.
scenario("a state whose floor lies over what waits is restored with the floor before it", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t);
  const r = await restore(nc, { name: "S", subjects: ["s.>"] }, made({ config: config(), state: state(2, 1, { pending: { ...pend(1), ...pend(2) } }) }));
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  const i = await api(nc, "CONSUMER.INFO.S.C");
  assert.deepEqual([i.num_ack_pending, i.ack_floor.stream_seq, i.delivered.stream_seq], [2, 0, 2]);
});

scenario("an interest stream keeps what was given up after a restore too", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"], retention: "interest" });
  await add(nc, { durable_name: "ONCE", ack_policy: "explicit", ack_wait: HOUR, max_deliver: 1 });
  await add(nc, { durable_name: "C", ack_policy: "explicit", ack_wait: HOUR });
  await nc.request("s.1", "", { timeout: LIMIT_MS });
  const [m] = await fetch(nc, "ONCE", 1);
  nc.publish(m.reply, "-NAK");
  const none = await nc.request("$JS.API.CONSUMER.MSG.NEXT.S.ONCE", JSON.stringify({ batch: 1, no_wait: true }), { timeout: LIMIT_MS });
  assert.equal(none.headers?.code, 404);
  const config = await configOf(nc);
  const { bytes } = await snapshot(nc, "S");
  await api(nc, "STREAM.DELETE.S");
  const r = await restore(nc, config, bytes);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  for (const x of await fetch(nc, "C", 1)) await settle(nc, x);
  assert.equal((await api(nc, "STREAM.INFO.S")).state.messages, 1);
  await settle(nc, m);
  assert.equal((await api(nc, "STREAM.INFO.S")).state.messages, 0);
});

// As without a restore: the list is that of the consumer's creation.  nats-server forgets it and goes on with all messages.
scenario("what is left of the last messages per subject comes after a restore too", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"] });
  for (const n of [1, 2, 3, 3, 2, 1]) await nc.request(`s.${n}`, "", { timeout: LIMIT_MS });
  await add(nc, { durable_name: "C", ack_policy: "explicit", ack_wait: HOUR, deliver_policy: "last_per_subject", filter_subject: "s.>" });
  assert.deepEqual(numbers(await fetch(nc, "C", 1)), [[4, 1, 1]]);
  await nc.request("s.2", "", { timeout: LIMIT_MS });
  const before = await infos(nc);
  const config = await configOf(nc);
  const { bytes } = await snapshot(nc, "S");
  await api(nc, "STREAM.DELETE.S");
  assert.equal((await restore(nc, config, bytes)).error, undefined);
  assert.deepEqual((await infos(nc))[0].delivered, before[0].delivered);
  assert.deepEqual(numbers(await fetch(nc, "C", 3)), [[5, 2, 1], [6, 3, 1], [7, 4, 1]]);
});

scenario("a consumer of a cluster has as many replicas as its stream here", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t);
  const r = await restore(nc, { name: "S", subjects: ["s.>"] }, made({ config: config({ num_replicas: 3 }), state: state(0, 0) }));
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  assert.equal((await api(nc, "CONSUMER.INFO.S.C")).config.num_replicas, 1);
});
