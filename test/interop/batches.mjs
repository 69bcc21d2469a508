// batches.mjs: atomic batches (all or nothing) and fast batches (many messages, few answers).
import assert from "node:assert/strict";
import { SECOND, block, group, onServer, ownServer } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const few = group({ block: `limits { batch { max_inflight_per_stream: 2, max_msgs: 3, timeout: "5s" } }` });
const ATOMIC = { allow_atomic: true };
const FAST = { allow_batched: true };

const INCOMPLETE = [400, 10176, "atomic publish batch is incomplete"];
const head = (id, seq, commit, more = []) => [
  `Nats-Batch-Id: ${id}`,
  `Nats-Batch-Sequence: ${seq}`,
  ...(commit ? [`Nats-Batch-Commit: ${commit}`] : []),
  ...more,
];
const ok = (c, id, seq, count) => `{"stream":"${c.id}","seq":${seq},"batch":"${id}","count":${count}}`;

// Publishes [name, data, ...header lines] as one batch; all but the last are answered with nothing.
async function batch(c, id, messages, commit = "1") {
  let text;
  for (const [i, [name, data, ...more]] of messages.entries()) {
    const last = i === messages.length - 1;
    text = await c.send(name, data, head(id, i + 1, last && commit, more));
    if (!last) assert.equal(text, "");
  }
  return text;
}
// A batch that must fail when it is committed, and leave nothing.
async function refusedBatch(c, id, messages, [code, err_code, description]) {
  const before = await c.state();
  assert.deepEqual(JSON.parse(await batch(c, id, messages)), {
    error: { code, err_code, description },
    stream: c.id,
    seq: 0,
  });
  const after = await c.state();
  assert.deepEqual([after.messages, after.last_seq], [before.messages, before.last_seq]);
}
const abandoned = (c) => collect(c.nc, `$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.${c.id}`);

// --- atomic ----------------------------------------------------------------------------------------

check("atomic: stored as one, with its headers", async (c) => {
  await c.create(ATOMIC);
  await c.pub("x", "before");
  assert.equal(await batch(c, "id", [["a", "1"], ["b", "2", "Own: h"], ["a", "3"]]), ok(c, "id", 4, 3));
  const m = await Promise.all([2, 3, 4].map((n) => c.get(n)));
  assert.deepEqual(m.map((x) => [x.subject, x.data]), [[c.subject("a"), "1"], [c.subject("b"), "2"], [c.subject("a"), "3"]]);
  assert.equal(m[0].hdr, block("Nats-Batch-Id: id", "Nats-Batch-Sequence: 1"));
  assert.equal(m[1].hdr, block("Nats-Batch-Id: id", "Nats-Batch-Sequence: 2", "Own: h"));
  assert.equal(m[2].hdr, block("Nats-Batch-Id: id", "Nats-Batch-Sequence: 3", "Nats-Batch-Commit: 1"));
});

check("atomic: nothing is there before the commit", async (c) => {
  await c.create(ATOMIC);
  await c.send("a", "1", head("id", 1));
  await c.send("a", "2", head("id", 2));
  assert.equal((await c.state()).messages, 0);
  assert.equal(await c.pub("a", "between"), 1);
  assert.equal(await c.send("a", "3", head("id", 3, "1")), ok(c, "id", 4, 3));
});

check("atomic: eob commits without a message of its own", async (c) => {
  await c.create(ATOMIC);
  assert.equal(await batch(c, "id", [["a", "1"], ["b", "2"], ["c", "not stored"]], "eob"), ok(c, "id", 2, 2));
  assert.equal((await c.get(2)).hdr, block("Nats-Batch-Id: id", "Nats-Batch-Sequence: 2", "Nats-Batch-Commit: 1"));
  assert.equal((await c.state()).messages, 2);
});

check("atomic: a batch of one, and an id used again", async (c) => {
  await c.create(ATOMIC);
  assert.equal(await batch(c, "id", [["a", "1"]]), ok(c, "id", 1, 1));
  assert.equal(await batch(c, "id", [["a", "1"], ["a", "2"]]), ok(c, "id", 3, 2));
});

check("atomic: two batches at a time", async (c) => {
  await c.create(ATOMIC);
  await c.send("a", "1", head("x", 1));
  await c.send("b", "1", head("y", 1));
  assert.equal(await c.send("b", "2", head("y", 2, "1")), ok(c, "y", 2, 2));
  assert.equal(await c.send("a", "2", head("x", 2, "1")), ok(c, "x", 4, 2));
});

check("atomic: disabled, no sequence, bad id", async (c) => {
  await c.create();
  await c.refused("a", [400, 10174, "atomic publish is disabled"], "", head("id", 1));
  await c.update(ATOMIC);
  await c.refused("a", [400, 10175, "atomic publish sequence is missing"], "", ["Nats-Batch-Id: id"]);
  await c.refused("a", [400, 10175, "atomic publish sequence is missing"], "", head("id", "x"));
  await c.refused("a", [400, 10179, "atomic publish batch ID is invalid"], "", head("i".repeat(65), 1));
  assert.equal(await c.send("a", "", head("i".repeat(64), 1, "1")), ok(c, "i".repeat(64), 1, 1));
});

check("atomic: gaps, unknown ids and an empty batch", async (c) => {
  await c.create(ATOMIC);
  const events = abandoned(c);
  await c.refused("a", INCOMPLETE, "", head("u", 2));
  await c.refused("a", INCOMPLETE, "", head("e", 1, "eob"));
  await c.send("a", "", head("g", 1));
  await c.refused("a", INCOMPLETE, "", head("g", 3));
  await c.refused("a", INCOMPLETE, "", head("g", 2, "1")); // it is gone
  await until("two advisories", () => events.length === 2);
  const seen = events.map((m) => m.json());
  assert.deepEqual(seen.map((x) => [x.type, x.stream, x.batch, x.reason]), [
    ["io.nats.jetstream.advisory.v1.stream_batch_abandoned", c.id, "e", "incomplete"],
    ["io.nats.jetstream.advisory.v1.stream_batch_abandoned", c.id, "g", "incomplete"],
  ]);
});

check("atomic: a commit that is none", async (c) => {
  await c.create(ATOMIC);
  await c.send("a", "", head("id", 1));
  await c.refused("a", [400, 10200, "atomic publish batch commit is invalid"], "", head("id", 2, "yes"));
  await c.refused("a", INCOMPLETE, "", head("id", 2, "1"));
});

check("atomic: a thousand messages and no more", async (c) => {
  await c.create(ATOMIC);
  const events = abandoned(c);
  const all = (id, n) => Promise.all(Array.from({ length: n }, (_, i) => c.send("a", "", head(id, i + 1))));
  await all("full", 1000);
  assert.equal(await c.send("a", "", head("full", 1001, "eob")), ok(c, "full", 1000, 1000));
  await all("more", 1000);
  const tooLarge = [400, 10199, "atomic publish batch is too large: 1000"];
  await c.refused("a", tooLarge, "", head("more", 1001, "1"));
  await c.refused("a", tooLarge, "", head("other", 1001));
  await until("an advisory", () => events.length === 1);
  assert.equal(events[0].json().reason, "large");
});

check("atomic: required API level", async (c) => {
  await c.create(ATOMIC);
  const events = abandoned(c);
  assert.equal(await c.send("a", "", head("id", 1, "1", ["Nats-Required-Api-Level: 2"])), ok(c, "id", 1, 1));
  assert.doesNotMatch((await c.get(1)).hdr, /Required/);
  for (const level of ["99", "x"])
    await c.refused("a", [412, 10185, "JetStream minimum api level required"], "", head("id", 1, "1", [`Nats-Required-Api-Level: ${level}`]));
  await until("two advisories", () => events.length === 2);
  assert.equal(events[0].json().reason, "unsupported");
});

check("atomic: headers that a batch may not have", async (c) => {
  await c.create(ATOMIC);
  const text = "atomic publish unsupported header used: Nats-Expected-Last-Msg-Id";
  await refusedBatch(c, "id", [["a", "1", "Nats-Expected-Last-Msg-Id: x"], ["a", "2"]], [400, 10177, text]);
  await refusedBatch(c, "id", [["a", "1"], ["a", "2", "Nats-Stream-Source: x"]], [400, 10227, "message stream source header is not allowed"]);
  await refusedBatch(c, "id", [["a", "1"], ["a", "2", "Nats-Expected-Stream: other"]], [400, 10060, "expected stream does not match"]);
  await refusedBatch(c, "id", [["a", "1"], ["a", "2", "Nats-Incr: 1"]], [400, 10168, "message counters is disabled"]);
});

check("atomic: repeated ids", async (c) => {
  await c.create(ATOMIC);
  const twice = [400, 10201, "atomic publish batch contains duplicate message id"];
  await refusedBatch(c, "id", [["a", "1", "Nats-Msg-Id: i"], ["a", "2", "Nats-Msg-Id: i"]], twice);
  assert.equal(await batch(c, "id", [["a", "1", "Nats-Msg-Id: i"], ["a", "2", "Nats-Msg-Id: j"]]), ok(c, "id", 2, 2));
  await refusedBatch(c, "id", [["a", "1"], ["a", "2", "Nats-Msg-Id: j"]], twice);
  assert.equal(await c.send("a", "", ["Nats-Msg-Id: i"]), `{"stream":"${c.id}","seq":1,"duplicate": true}`);
});

check("atomic: expected sequences are those before the batch", async (c) => {
  await c.create(ATOMIC);
  await c.pub("a", "1");
  await c.pub("b", "2");
  const last = (n) => `Nats-Expected-Last-Sequence: ${n}`;
  const subject = (n) => `Nats-Expected-Last-Subject-Sequence: ${n}`;
  const constant = [400, 10164, "wrong last sequence"];
  await refusedBatch(c, "id", [["a", "", last(1)], ["b", ""]], [400, 10071, "wrong last sequence: 2"]);
  await refusedBatch(c, "id", [["a", ""], ["b", "", last(2)]], [400, 10071, "wrong last sequence: 3"]);
  await refusedBatch(c, "id", [["a", ""], ["b", "", last(3)]], constant);
  await refusedBatch(c, "id", [["a", "", subject(2)], ["b", ""]], [400, 10071, "wrong last sequence: 1"]);
  await refusedBatch(c, "id", [["a", ""], ["a", "", subject(1)]], constant);
  await refusedBatch(c, "id", [["a", ""], ["b", "", subject(1), `Nats-Expected-Last-Subject-Sequence-Subject: ${c.subject("a")}`]], constant);
  await refusedBatch(c, "id", [["a", ""], ["b", "", `Nats-Expected-Last-Subject-Sequence-Subject: ${c.subject("a")}`]], [400, 10193, "missing sequence for expected last sequence per subject"]);
  assert.equal(await batch(c, "id", [["a", "", last(2), subject(1)], ["b", "", subject(2)], ["c", "", subject(0)]]), ok(c, "id", 5, 3));
});

check("atomic: rollups", async (c) => {
  await c.create({ ...ATOMIC, allow_rollup_hdrs: true });
  for (const name of ["a", "a", "b"]) await c.pub(name, "old");
  const roll = (v) => `Nats-Rollup: ${v}`;
  await refusedBatch(c, "id", [["a", ""], ["a", "", roll("sub")]], [500, 10111, "batch rollup sub invalid"]);
  await refusedBatch(c, "id", [["a", ""], ["b", "", roll("all")]], [500, 10111, "batch rollup all invalid"]);
  await refusedBatch(c, "id", [["a", ""], ["b", "", roll("x")]], [500, 10111, 'rollup value invalid: "x"']);
  assert.equal(await batch(c, "id", [["a", "1", roll("sub")], ["a", "2"]]), ok(c, "id", 5, 2));
  assert.equal((await c.state()).messages, 3);
  assert.equal(await batch(c, "id", [["b", "1", roll("all")], ["a", "2"]]), ok(c, "id", 7, 2));
  assert.deepEqual([(await c.state()).messages, (await c.state()).first_seq], [2, 6]);
  await c.update(ATOMIC);
  await refusedBatch(c, "id", [["a", "", roll("sub")], ["a", ""]], [500, 10111, "rollup not permitted"]);
});

check("atomic: TTLs", async (c) => {
  await c.create(ATOMIC);
  const disabled = [400, 10166, "per-message TTL is disabled"];
  await refusedBatch(c, "id", [["a", "", "Nats-TTL: 1"], ["a", ""]], disabled);
  await refusedBatch(c, "id", [["a", "", "Nats-TTL: x"], ["a", ""]], disabled);
  await c.update({ ...ATOMIC, allow_msg_ttl: true });
  await refusedBatch(c, "id", [["a", ""], ["a", "", "Nats-TTL: x"]], [400, 10165, "invalid per-message TTL"]);
  assert.equal(await batch(c, "id", [["a", "", "Nats-TTL: 1"], ["b", ""]]), ok(c, "id", 2, 2));
  await c.gone(1);
  assert.ok(await c.get(2));
});

check("atomic: discard new counts the whole batch", async (c) => {
  await c.create({ ...ATOMIC, discard: "new", max_msgs: 3, max_msgs_per_subject: 2, discard_new_per_subject: true });
  const full = (what) => [503, 10077, `maximum ${what} exceeded`];
  await c.pub("a", "");
  await refusedBatch(c, "id", [["b", ""], ["c", ""], ["d", ""]], full("messages"));
  await refusedBatch(c, "id", [["a", ""], ["a", ""]], full("messages per subject"));
  assert.equal(await batch(c, "id", [["a", ""], ["b", ""]]), ok(c, "id", 3, 2));
});

check("atomic: discard old pushes out what was there before", async (c) => {
  await c.create({ ...ATOMIC, max_msgs: 2 });
  await c.pub("a", "");
  assert.equal(await batch(c, "id", [["b", ""], ["c", ""]]), ok(c, "id", 3, 2));
  assert.deepEqual([(await c.state()).messages, (await c.state()).first_seq], [2, 2]);
});

check("atomic: counters", async (c) => {
  await c.create({ ...ATOMIC, allow_msg_counter: true });
  await c.pub("a", "", ["Nats-Incr: 5"]);
  assert.equal(await batch(c, "id", [["a", "", "Nats-Incr: 1"], ["b", "", "Nats-Incr: 7"], ["a", "", "Nats-Incr: -10"]]), ok(c, "id", 4, 3));
  assert.deepEqual(await Promise.all([2, 3, 4].map(async (n) => (await c.get(n)).data)), ['{"val":"6"}', '{"val":"7"}', '{"val":"-4"}']);
  await refusedBatch(c, "id", [["a", "", "Nats-Incr: 1"], ["a", ""]], [400, 10169, "message counter increment is missing"]);
  assert.equal((await c.ack("a", "", ["Nats-Incr: 1"])).val, "-3");
});

check("atomic: transformed subjects", async (c) => {
  await c.create({ ...ATOMIC, subject_transform: { src: `${c.prefix}.*`, dest: `${c.prefix}.{{wildcard(1)}}.t` } });
  assert.equal(await batch(c, "id", [["a", "1"], ["b", "2"]]), ok(c, "id", 2, 2));
  assert.equal((await c.get(1)).subject, c.subject("a.t"));
});

check("atomic: an update that forbids them ends those under way", async (c) => {
  await c.create(ATOMIC);
  await c.send("a", "", head("id", 1));
  await c.update({});
  await c.update(ATOMIC);
  await c.refused("a", INCOMPLETE, "", head("id", 2, "1"));
});

check("atomic: sealed", async (c) => {
  await c.create(ATOMIC);
  await c.update({ ...ATOMIC, sealed: true });
  await c.refused("a", [400, 10109, "invalid operation on sealed stream"], "", head("id", 1));
});

few("limits from the configuration", async (c) => {
  await c.create({ ...ATOMIC, ...FAST });
  await c.send("a", "", head("x", 1));
  await c.send("a", "", head("y", 1));
  await c.refused("a", [429, 10210, "atomic publish too many inflight"], "", head("z", 1));
  await c.send("a", "", head("x", 2));
  await c.send("a", "", head("x", 3));
  await c.refused("a", [400, 10199, "atomic publish batch is too large: 3"], "", head("x", 4, "1"));
  assert.equal(await c.send("a", "", head("z", 1)), "");
});

few("a silent batch is dropped, and told", async (c) => {
  await c.create(ATOMIC);
  const events = abandoned(c);
  await c.send("a", "", head("id", 1));
  await until("the advisory", () => events.length === 1);
  assert.deepEqual([events[0].json().batch, events[0].json().reason], ["id", "timeout"]);
  await c.refused("a", INCOMPLETE, "", head("id", 2, "1"));
});

// --- fast ------------------------------------------------------------------------------------------

// One fast batch: what the server says to each reply subject, in order.
class Fast {
  constructor(c, id, { flow = 10, gap = "fail" } = {}) {
    Object.assign(this, { c, id, flow, gap, prefix: `fast.${c.id}.${id}.${Math.random()}`.replace("0.", "") });
    this.got = [];
    c.nc.subscribe(`${this.prefix}.>`, {
      callback: (_, m) => this.got.push({ seq: Number(m.subject.split(".").at(-3)), text: m.string() }),
    });
  }
  reply(seq, op) {
    return `${this.prefix}.${this.id}.${this.flow}.${this.gap}.${seq}.${op}.$FI`;
  }
  pub(name, seq, op, data = "", hdr) {
    this.c.nc.publish(this.c.subject(name), data, { reply: this.reply(seq, op), headers: hdr && lines(hdr) });
  }
  // All that came so far, when there are n of them.
  async said(n) {
    await until(`${n} answers to ${this.id}, not ${JSON.stringify(this.got)}`, () => this.got.length >= n);
    await this.c.nc.flush();
    assert.equal(this.got.length, n, JSON.stringify(this.got));
    return this.got.map((x) => x.text);
  }
}
const lines = (hdr) => ({ encode: () => Buffer.from(block(...hdr), "latin1") });
const ack = (seq, msgs) => `{"type":"ack","seq":${seq},"msgs":${msgs}}`;
const gap = (last, seq) => `{"type":"gap","last_seq":${last},"seq":${seq}}`;
const error = (code, err_code, description) => `"error":{"code":${code},"err_code":${err_code},"description":"${description}"}`;
const failed = (c, ...e) => `{${error(...e)},"stream":"${c.id}","seq":0}`;

check("fast: flow messages and the final ack", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id", { flow: 2 });
  f.pub("a", 1, 0, "1", ["Own: h"]);
  for (let i = 2; i <= 5; i++) f.pub("a", i, 1, String(i));
  f.pub("a", 6, 2, "6");
  assert.deepEqual(await f.said(4), [ack(0, 2), ack(2, 2), ack(4, 2), ok(c, "id", 6, 6)]);
  assert.deepEqual(f.got.map((x) => x.seq), [1, 2, 4, 6]);
  assert.equal((await c.get(1)).hdr, block("Own: h"));
  assert.equal((await c.get(6)).data, "6");
});

check("fast: commit without a message", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id");
  f.pub("a", 1, 0);
  f.pub("a", 2, 1);
  f.pub("a", 3, 3, "not stored");
  assert.deepEqual(await f.said(2), [ack(0, 10), ok(c, "id", 2, 2)]);
});

check("fast: a batch of one is answered once", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id");
  f.pub("a", 1, 2);
  assert.deepEqual(await f.said(1), [ok(c, "id", 1, 1)]);
});

check("fast: the pace asked for", async (c) => {
  for (const [flow, every] of [["0", 10], ["x", 10], ["70000", 500], ["501", 500], ["7", 7]]) {
    const d = c.another();
    await d.create(FAST);
    const f = new Fast(d, "id", { flow });
    f.pub("a", 1, 0);
    assert.deepEqual(await f.said(1), [ack(0, every)]);
  }
});

check("fast: a second batch begins slowly, and both find a pace", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "f", { flow: 4 });
  const g = new Fast(c, "g", { flow: 4 });
  f.pub("a", 1, 0);
  await f.said(1);
  g.pub("a", 1, 0);
  for (let i = 2; i <= 11; i++) g.pub("a", i, 1);
  assert.deepEqual(await g.said(5), [ack(0, 1), ack(1, 2), ack(3, 4), ack(7, 4), ack(11, 4)]);
});

check("fast: disabled, bad patterns, bad id, unknown id", async (c) => {
  await c.create();
  const f = new Fast(c, "id");
  f.pub("a", 1, 0);
  assert.deepEqual(await f.said(1), [failed(c, 400, 10205, "batch publish is disabled")]);
  await c.update(FAST);
  const bad = failed(c, 400, 10206, "batch publish pattern is invalid");
  for (const [seq, op] of [[2, 0], [1, 1], [1, 3], [0, 0], ["x", 1], [1, 5], [1, "x"]]) {
    const b = new Fast(c, "id");
    b.pub("a", seq, op);
    assert.deepEqual(await b.said(1), [bad], `${seq} ${op}`);
  }
  const g = new Fast(c, "id", { gap: "maybe" });
  g.pub("a", 1, 0);
  assert.deepEqual(await g.said(1), [bad]);
  const l = new Fast(c, "i".repeat(65));
  l.pub("a", 1, 0);
  assert.deepEqual(await l.said(1), [failed(c, 400, 10207, "batch publish ID is invalid")]);
  const u = new Fast(c, "u");
  u.pub("a", 2, 1);
  assert.deepEqual(await u.said(1), [failed(c, 400, 10208, "batch publish ID unknown")]);
});

check("fast: the expected last id is heeded", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id");
  f.pub("a", 1, 0, "x", ["Nats-Expected-Last-Msg-Id: m"]);
  assert.deepEqual(await f.said(2), [ack(0, 10), failed(c, 400, 10070, "wrong last msg ID: ")]);
  assert.equal((await c.state()).messages, 0);
});

check("fast: a gap ends a batch that fails on it", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id");
  f.pub("a", 1, 0);
  f.pub("a", 3, 1);
  f.pub("a", 4, 1);
  assert.deepEqual(await f.said(4), [ack(0, 10), gap(2, 3), ok(c, "id", 1, 1), failed(c, 400, 10208, "batch publish ID unknown")]);
});

check("fast: a gap is told to a batch that goes on", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id", { gap: "ok" });
  f.pub("a", 1, 0);
  f.pub("a", 4, 1);
  f.pub("a", 5, 2);
  assert.deepEqual(await f.said(3), [ack(0, 10), gap(2, 4), ok(c, "id", 3, 5)]);
});

check("fast: going back ends a batch", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id", { gap: "ok" });
  f.pub("a", 1, 0);
  f.pub("a", 2, 1);
  f.pub("a", 2, 1);
  assert.deepEqual(await f.said(3), [ack(0, 10), gap(3, 2), ok(c, "id", 2, 2)]);
});

check("fast: ping tells how far it is, and finds gaps", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id", { flow: 2, gap: "ok" });
  f.pub("a", 1, 0);
  f.pub("a", 2, 1);
  f.pub("a", 2, 4);
  f.pub("a", 5, 4);
  f.pub("a", 6, 2);
  assert.deepEqual(await f.said(6), [ack(0, 2), ack(2, 2), ack(2, 2), gap(3, 6), ack(4, 2), ok(c, "id", 3, 6)]);
  const g = new Fast(c, "g");
  g.pub("a", 1, 0);
  g.pub("a", 3, 4);
  assert.deepEqual(await g.said(3), [ack(0, 10), gap(2, 4), ok(c, "g", 4, 1)]);
});

const wrong = ["Nats-Expected-Last-Sequence: 77"];

check("fast: an error of the first message is answered as any publish", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id");
  f.pub("a", 1, 0, "", wrong);
  assert.deepEqual(await f.said(2), [ack(0, 10), failed(c, 400, 10071, "wrong last sequence: 0")]);
  f.pub("a", 2, 1);
  assert.equal((await f.said(3))[2], failed(c, 400, 10208, "batch publish ID unknown"));
});

check("fast: an error ends a batch that fails on it", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id");
  f.pub("a", 1, 0);
  f.pub("a", 2, 1, "", wrong);
  assert.deepEqual(await f.said(3), [
    ack(0, 10),
    `{"type":"err","seq":2,${error(400, 10071, "wrong last sequence: 1")}}`,
    ok(c, "id", 1, 1),
  ]);
});

check("fast: an error is told to a batch that goes on", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id", { gap: "ok" });
  f.pub("a", 1, 0, "", wrong);
  f.pub("a", 2, 1);
  f.pub("a", 3, 2, "", wrong);
  assert.deepEqual(await f.said(4), [
    ack(0, 10),
    `{"type":"err","seq":1,${error(400, 10071, "wrong last sequence: 0")}}`,
    `{"type":"err","seq":3,${error(400, 10071, "wrong last sequence: 1")}}`,
    ok(c, "id", 1, 2),
  ]);
});

check("fast: what is there already is passed over", async (c) => {
  await c.create(FAST);
  await c.pub("a", "", ["Nats-Msg-Id: i"]);
  const f = new Fast(c, "id", { flow: 2 });
  f.pub("a", 1, 0, "", ["Nats-Msg-Id: i"]);
  f.pub("a", 2, 1, "", ["Nats-Msg-Id: i"]);
  f.pub("a", 3, 2, "", ["Nats-Msg-Id: j"]);
  assert.deepEqual(await f.said(3), [ack(0, 2), ack(2, 2), ok(c, "id", 2, 3)]);
  const g = new Fast(c, "g");
  g.pub("a", 1, 2, "", ["Nats-Msg-Id: i"]);
  assert.deepEqual(await g.said(1), [`{"stream":"${c.id}","seq":1,"duplicate": true,"batch":"g","count":1}`]);
});

check("fast: required API level", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id");
  f.pub("a", 1, 2, "", ["Nats-Required-Api-Level: 99"]);
  assert.deepEqual(await f.said(1), [failed(c, 412, 10185, "JetStream minimum api level required")]);
  const g = new Fast(c, "g");
  g.pub("a", 1, 2, "", ["Nats-Required-Api-Level: 4", "Own: h"]);
  assert.deepEqual(await g.said(1), [ok(c, "g", 1, 1)]);
  assert.equal((await c.get(1)).hdr, block("Own: h"));
});

check("fast: counters and TTLs", async (c) => {
  await c.create({ ...FAST, allow_msg_counter: true });
  const f = new Fast(c, "id");
  f.pub("a", 1, 0, "", ["Nats-Incr: 2"]);
  f.pub("a", 2, 2, "", ["Nats-Incr: 3"]);
  assert.deepEqual(await f.said(2), [ack(0, 10), ok(c, "id", 2, 2)]);
  assert.equal((await c.get(2)).data, '{"val":"5"}');
  const d = c.another();
  await d.create({ ...FAST, allow_msg_ttl: true });
  const g = new Fast(d, "id");
  g.pub("a", 1, 2, "", ["Nats-TTL: 1"]);
  assert.deepEqual(await g.said(1), [ok(d, "id", 1, 1)]);
  await d.gone(1);
});

check("fast: an update that forbids them ends those under way", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "id");
  f.pub("a", 1, 0);
  await f.said(1);
  await c.update({});
  await c.update(FAST);
  f.pub("a", 2, 1);
  assert.equal((await f.said(2))[1], failed(c, 400, 10208, "batch publish ID unknown"));
});

few("fast: limits from the configuration, and silence", async (c) => {
  await c.create(FAST);
  const f = new Fast(c, "f");
  const g = new Fast(c, "g");
  const h = new Fast(c, "h");
  f.pub("a", 1, 0);
  g.pub("a", 1, 0);
  h.pub("a", 1, 0);
  await f.said(1);
  await g.said(2);
  assert.deepEqual(await h.said(1), [failed(c, 429, 10211, "batch publish too many inflight")]);
  const unknown = failed(c, 400, 10208, "batch publish ID unknown");
  await until("the silent batch to be forgotten", async () => {
    const again = new Fast(c, "h");
    again.pub("a", 1, 2);
    return (await again.said(1))[0].includes('"batch":"h"');
  });
  f.pub("a", 2, 1);
  assert.equal((await f.said(2))[1], unknown);
});

// --- restart ---------------------------------------------------------------------------------------

scenario("atomic: after a kill a committed batch is there, one under way is not", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("B");
  await c.create({ ...ATOMIC, duplicate_window: 60 * SECOND });
  assert.equal(await batch(c, "id", [["a", "1", "Nats-Msg-Id: i"], ["b", "2"], ["c", "3"]]), ok(c, "id", 3, 3));
  await c.send("a", "", head("half", 1));
  await c.send("a", "", head("half", 2));
  await s.kill();
  await s.startAgain();
  s.killed = false;
  c = (await onServer(t, s)).stream("B");
  const st = await c.state();
  assert.deepEqual([st.messages, st.last_seq], [3, 3]);
  await c.refused("a", INCOMPLETE, "", head("half", 3, "1"));
  await refusedBatch(c, "id", [["a", "", "Nats-Msg-Id: i"]], [400, 10201, "atomic publish batch contains duplicate message id"]);
});

scenario("atomic: killed in the middle of many batches, all of them are whole", async (t) => {
  const { s, nc, stream } = await ownServer(t);
  let c = stream("M");
  await c.create(ATOMIC);
  const acked = [];
  nc.subscribe("done", { callback: (_, m) => acked.push(m.json()) });
  for (let i = 0; i < 2000; i++)
    for (let n = 1; n <= 5; n++)
      nc.publish(c.subject(`${n}`), `${i}`, { headers: lines(head(`b${i}`, n, n === 5 && "1")), reply: n === 5 ? "done" : undefined });
  await until("some to be acknowledged", () => acked.length >= 20);
  await s.kill();
  await s.startAgain();
  s.killed = false;
  c = (await onServer(t, s)).stream("M");
  const st = await c.state({ subjects_filter: ">" });
  assert.equal(st.messages % 5, 0);
  assert.ok(st.messages >= acked.length * 5, `${st.messages} messages, ${acked.length} batches acknowledged`);
  for (let n = 1; n <= 5; n++) assert.equal(st.subjects[c.subject(`${n}`)], st.messages / 5);
});
