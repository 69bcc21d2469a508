// import.mjs: `mayfly import` takes the store of a stopped or killed nats-server as that server describes it: messages,
// configurations, consumers.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { jetstream } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { Objm } from "@nats-io/obj";
import { api, contents, ready } from "./lib/backup.mjs";
import { HOUR, check, consumer, create, describe, durable, fetch, imported, made, outcomes, publish, settle } from "./lib/nats_files.mjs";
import { expect, json } from "./lib/tool.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const batch = (id, seq, commit) => {
  const h = headers();
  for (const [k, v] of [["Nats-Batch-Id", id], ["Nats-Batch-Sequence", `${seq}`], ["Nats-Batch-Commit", commit]]) if (v) h.set(k, v);
  return h;
};
const OLD = process.env.NATS_SERVER_OLD;// 2.10, for a comparison by hand

// --- streams: contents ---------------------------------------------------------------------------------------

async function fillBuckets(nc, ttl) {
  await create(nc, { name: "KV_b", subjects: ["$KV.b.>"], max_msgs_per_subject: 2, allow_rollup_hdrs: true, deny_delete: true, allow_direct: true, discard: "new", ...(ttl ? { allow_msg_ttl: true, subject_delete_marker_ttl: HOUR } : {}) });
  for (let i = 0; i < 30; i++) await publish(nc, `$KV.b.k${i % 7}`, `v${i}`, ttl && i % 3 === 0 ? { "Nats-TTL": "1h" } : {});
  await publish(nc, "$KV.b.k1", "", { "KV-Operation": "DEL" });
  await publish(nc, "$KV.b.k2", "", { "KV-Operation": "PURGE", "Nats-Rollup": "sub" });
  const store = await new Objm(jetstream(nc, { timeout: LIMIT_MS })).create("o");
  await store.putBlob({ name: "big", options: { max_chunk_size: 16384 } }, randomBytes(100000));
  await store.putBlob({ name: "gone" }, randomBytes(1000));
  await store.delete("gone");
}
async function fillDeletes(nc) {
  // Blocks of 50 KB.
  await create(nc, { name: "BLOCKS", subjects: ["b.>"], max_bytes: 200000 });
  for (let i = 0; i < 250; i++) await publish(nc, `b.${i % 5}`, `${i} `.repeat(300));
  for (const seq of [101, 102, 150, 249, 250]) await api(nc, "STREAM.MSG.DELETE.BLOCKS", { seq, no_erase: seq === 150 });
  await create(nc, { name: "S2", subjects: ["z.>"], compression: "s2", max_bytes: 3000000 });
  for (let i = 0; i < 60; i++) await publish(nc, `z.${i % 3}`, "compress me ".repeat(3000));
  for (const seq of [2, 3, 30]) await api(nc, "STREAM.MSG.DELETE.S2", { seq });
  for (const [name, body] of [["ALL", {}], ["FILTER", { filter: "p.FILTER.1" }], ["UPTO", { seq: 30 }], ["KEEP", { keep: 4 }]]) {
    await create(nc, { name: `PURGED_${name}`, subjects: [`p.${name}.>`], first_seq: name === "KEEP" ? 1000 : undefined });
    for (let i = 0; i < 50; i++) await publish(nc, `p.${name}.${i % 3}`, "x");
    await api(nc, `STREAM.PURGE.PURGED_${name}`, body);
  }
  await create(nc, { name: "EMPTY", subjects: ["e"] });
  await create(nc, { name: "MEMORY", subjects: ["m"], storage: "memory" });
  await publish(nc, "m", "not on disk");
}
async function fillKinds(nc, ttl) {
  await create(nc, { name: "IDS", subjects: ["i.>"], duplicate_window: HOUR });
  for (let i = 0; i < 5; i++) await publish(nc, "i.a", `${i}`, { "Nats-Msg-Id": `id${i}`, Other: "ü" });
  await api(nc, "STREAM.MSG.DELETE.IDS", { seq: 5 });
  await create(nc, { name: "NEW", subjects: ["n.>"], discard: "new", discard_new_per_subject: true, max_msgs_per_subject: 1, max_msgs: 10 });
  await publish(nc, "n.1", "only one");
  await create(nc, { name: "SEALED", subjects: ["s"] });
  await publish(nc, "s", "for ever");
  const { config } = await api(nc, "STREAM.INFO.SEALED");
  await api(nc, "STREAM.UPDATE.SEALED", { ...config, sealed: true });
  await create(nc, { name: "SHAPED", subjects: ["t.*"], description: "ü <&>", metadata: { team: "a" }, subject_transform: { src: "t.*", dest: "u.{{wildcard(1)}}" }, republish: { src: ">", dest: "copy.>", headers_only: true }, consumer_limits: { inactive_threshold: HOUR, max_ack_pending: 7 }, max_msg_size: 1000, max_consumers: 3, no_ack: false, deny_purge: true });
  await publish(nc, "t.1", "x");
  await create(nc, { name: "MIRROR", mirror: { name: "IDS" } });
  await create(nc, { name: "SOURCED", subjects: ["own"], sources: [{ name: "IDS", subject_transforms: [{ src: "i.>", dest: "j.>" }] }] });
  await publish(nc, "own", "of its own");
  await create(nc, { name: "DRAINED", sources: [{ name: "IDS" }] });
  for (const [name, n] of [["MIRROR", 4], ["SOURCED", 5], ["DRAINED", 4]]) await until(`${n} messages in ${name}`, async () => (await api(nc, `STREAM.INFO.${name}`)).state.messages === n);
  if (ttl) await api(nc, "STREAM.PURGE.DRAINED");
  if (!ttl) return;
  await create(nc, { name: "COUNT", subjects: ["c.>"], allow_msg_counter: true, allow_direct: true });
  for (let i = 0; i < 6; i++) await publish(nc, `c.${i % 2}`, "", { "Nats-Incr": `+${10 ** i}` });
  await create(nc, { name: "PLANS", subjects: ["plan.>", "done.>"], allow_msg_schedules: true, allow_msg_ttl: true });
  await publish(nc, "plan.a", "later", { "Nats-Schedule": "@at 2099-01-01T00:00:00Z", "Nats-Schedule-Target": "done.a" });
  await create(nc, { name: "BATCHES", subjects: ["at.>"], allow_atomic: true });
  nc.publish("at.1", "first", { headers: batch("one", 1) });
  assert.equal((await nc.request("at.2", "second", { headers: batch("one", 2, "1"), timeout: LIMIT_MS })).json().error, undefined);
  nc.publish("at.3", "never committed", { headers: batch("two", 1) });
}

// --- consumers -----------------------------------------------------------------------------------------------

async function fillConsumers(nc, ttl) {
  await create(nc, { name: "WORK", subjects: ["w.>"], retention: "workqueue" });
  for (let i = 0; i < 20; i++) await publish(nc, `w.${i}`, `job ${i}`);
  await durable(nc, "WORK", "C");
  const jobs = await fetch(nc, "WORK", "C", 9);
  for (const i of [0, 1, 4]) await settle(nc, jobs[i]);
  await settle(nc, jobs[2], "-NAK");
  await fetch(nc, "WORK", "C", 1);
  await create(nc, { name: "INTEREST", subjects: ["x.>"], retention: "interest" });
  await durable(nc, "INTEREST", "one");
  await durable(nc, "INTEREST", "two", { filter_subjects: ["x.1", "x.2"] });
  for (let i = 0; i < 9; i++) await publish(nc, `x.${i % 3}`, `${i}`);
  for (const m of (await fetch(nc, "INTEREST", "one", 5)).slice(1)) await settle(nc, m);
  for (const m of (await fetch(nc, "INTEREST", "two", 3)).slice(0, 2)) await settle(nc, m);
  await create(nc, { name: "LIMITS", subjects: ["l.>"] });
  for (let i = 0; i < 20; i++) await publish(nc, `l.${i % 4}`, `${i}`);
  await fillLimits(nc, ttl);
}
async function fillLimits(nc, ttl) {
  const stream = "LIMITS";
  await durable(nc, stream, "untouched", { description: "never used", metadata: { a: "b" }, max_deliver: 3, backoff: [1e9, 2e9], sample_freq: "50", headers_only: true });
  await durable(nc, stream, "from", { deliver_policy: "by_start_sequence", opt_start_seq: 7 });
  await durable(nc, stream, "all", { ack_policy: "all" });
  await settle(nc, (await fetch(nc, stream, "all", 6))[3]);
  await durable(nc, stream, "none", { ack_policy: "none", ack_wait: undefined });
  await fetch(nc, stream, "none", 4);
  await durable(nc, stream, "again", { ack_wait: HOUR });
  const some = await fetch(nc, stream, "again", 4);
  for (const m of some) await settle(nc, m, "-NAK");
  const twice = await fetch(nc, stream, "again", 4);
  await settle(nc, twice[1], "-NAK");
  await settle(nc, twice[2], "+TERM");
  await fetch(nc, stream, "again", 1);
  await durable(nc, stream, "last", { deliver_policy: "last_per_subject", filter_subject: "l.>" });
  await settle(nc, (await fetch(nc, stream, "last", 2))[0]);
  for (const [name, more] of [["pushed", {}], ["grouped", { deliver_group: "g" }]]) {
    const sub = nc.subscribe(`deliver.${name}`, { queue: more.deliver_group, callback: (_, m) => m.info || m.reply && m.seqNo++ });
    await durable(nc, stream, name, { deliver_subject: `deliver.${name}`, max_ack_pending: 5, ...more });
    await until(`5 messages of ${name}`, async () => (await api(nc, `CONSUMER.INFO.${stream}.${name}`)).num_ack_pending === 5);
    sub.unsubscribe();
  }
  await consumer(nc, stream, "passing", { inactive_threshold: HOUR });
  await settle(nc, (await fetch(nc, stream, "passing", 3))[0]);
  await durable(nc, stream, "forgetful", { mem_storage: true });
  if (!ttl) return;
  await durable(nc, stream, "paused", { pause_until: "2099-01-01T00:00:00Z" });
  await durable(nc, stream, "shared", { priority_policy: "overflow", priority_groups: ["a"] });
}

async function fillAll(nc, ttl) {
  await fillBuckets(nc, ttl);
  await fillDeletes(nc);
  await fillKinds(nc, ttl);
  await fillConsumers(nc, ttl);
}
// What is not on disk is not imported.
function onDisk(said) {
  delete said.MEMORY;
  for (const s of Object.values(said)) {
    s.consumers = s.consumers.filter((c) => !c.config.mem_storage);
    s.state.consumer_count = s.consumers.length;
  }
  return said;
}
// Copies continue where they were, and ids are still known.
async function goOn(nc) {
  assert.equal((await publish(nc, "i.a", "again", { "Nats-Msg-Id": "id1" })).duplicate, true);
  const { seq } = await publish(nc, "i.a", "new");
  for (const [name, last] of [["MIRROR", seq], ["SOURCED", 6], ["DRAINED", 5]]) {
    await until(`message ${last} in ${name}`, async () => (await api(nc, `STREAM.INFO.${name}`)).state.last_seq >= last);
    assert.equal((await api(nc, `STREAM.INFO.${name}`)).state.last_seq, last, name);
    assert.equal(Buffer.from((await api(nc, `STREAM.MSG.GET.${name}`, { seq: last })).message.data, "base64").toString(), "new");
  }
}
// A killed server may have removed messages whose acks are not in the files yet: it still waits for these acks when it starts
// again, mayflyd does not.
function forgetAcks(c) {
  for (const k of ["ack_floor", "num_ack_pending", "num_redelivered"]) delete c[k];
}
const all = (kill, server) => async (t) => {
  const ttl = server === undefined;
  const store = await made(t, (nc) => fillAll(nc, ttl), { kill, server });
  const want = onDisk(store.said);
  if (ttl) want.DRAINED.config.sources[0].opt_start_seq = 5; // its place is not in its messages
  const { code, stderr, stdout, doc, nc } = await imported(t, store);
  assert.equal(code, 0, stdout + stderr);
  assert.deepEqual(outcomes(doc), Object.fromEntries(Object.keys(want).map((n) => [n, "imported"])));
  const have = await describe(nc);
  for (const name of Object.keys(want)) {
    if (kill && want[name].config.retention !== "limits") [have, want].forEach((x) => x[name].consumers.forEach(forgetAcks));
    assert.deepEqual(have[name], want[name], name);
  }
  for (const s of doc.streams) {
    const { state, consumers } = want[s.name];
    assert.deepEqual([s.stored.messages, s.last_seq, s.consumers], [state.messages, state.last_seq, consumers.length], s.name);
    if (!kill) assert.deepEqual([s.messages, s.deleted], [state.messages, state.num_deleted ?? 0], s.name); // else limits are enforced after it was read
    assert.deepEqual(s.damage, [], s.name);
  }
  await goOn(nc);
};
for (const kill of [false, true]) {
  check(`a ${kill ? "killed" : "stopped"} server's streams and consumers are what it says`, all(kill));
  if (OLD) check(`a ${kill ? "killed" : "stopped"} server's streams and consumers are what it says (2.10)`, all(kill, OLD));
}

// Small stores of old servers; their README says what these servers said.
const assets = path.join(path.dirname(fileURLToPath(import.meta.url)), "../assets/nats-store");
check("stores of 2.10 are read, those of 2.9 are refused with the way out", async (t) => {
  const [server, nc] = await ready(t);
  for (const [name, format] of [["2.10-stopped", "index v1"], ["2.10-killed", "blocks"]]) {
    const [s] = (await json(server, "import", path.join(assets, name))).streams;
    assert.deepEqual([s.name, s.outcome, s.format], ["A", "imported", format]);
    const { state, msgs } = await contents(nc, "A");
    assert.deepEqual([state.messages, state.last_seq, state.deleted, msgs.map((m) => m.subject + Buffer.from(m.data, "base64"))], [4, 6, [3, 4], ["a.0v0", "a.1v1", "a.1v4", "a.2v5"]]);
    const c = await api(nc, "CONSUMER.INFO.A.C");
    assert.deepEqual([c.delivered.stream_seq, c.ack_floor.stream_seq, c.num_ack_pending], [2, 1, 1]);
    await api(nc, "STREAM.DELETE.A");
  }
  const [old] = JSON.parse(await expect(1, server, "import", path.join(assets, "2.9"), "--json")).streams;
  assert.match(old.reason, /2\.9 or older.*start nats-server 2\.10 or newer on a copy once/);
});
