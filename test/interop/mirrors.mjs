// mirrors.mjs: streams that mirror another: what they hold, which part of it, and what INFO tells about it.
import assert from "node:assert/strict";
import { contents, holds, mirrorOf, origin, reaches, seqs, texts } from "./lib/copies.mjs";
import { SECOND, group } from "./lib/js.mjs";
import { collect } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const check = group();

// An origin with messages a 1, b 2, c 3, a 4 ... and a copy of it.
async function pair(c, { n = 0, from = {}, mirror, over } = {}) {
  await c.create(from);
  for (let i = 1; i <= n; i++) await c.pub("abc"[(i - 1) % 3], `m${i}`);
  const m = c.another();
  await m.create(mirrorOf(c, mirror, over));
  return m;
}

// --- the same messages -------------------------------------------------------------------------------

check("sequences, subjects, headers, bodies and times are the origin's, before and after its creation", async (c) => {
  await c.create();
  const publish = async (round) => {
    await c.pub("a", `plain ${round}`);
    await c.pub("b.c", "", ["Empty: body", "X:"]);
    await c.pub("b.c", "two", ["Same: one", "same: two", "Same: three"]);
    await c.pub("d", "id", { "Nats-Msg-Id": `id ${round}` });
    await c.pub("d", Buffer.from([0, 13, 10, 255]).toString("latin1"), { Status: "none" });
    await c.pub("e", "x".repeat(100000), { Long: "y".repeat(5000) });
  };
  await publish(1);
  const m = c.another();
  await m.create(mirrorOf(c));
  await publish(2);
  await reaches(m, { last_seq: 12, messages: 12 });
  assert.deepEqual(await contents(m), await contents(c));
  const [mine, its] = [await m.state({ subjects_filter: ">" }), await c.state({ subjects_filter: ">" })];
  assert.deepEqual(mine, its);
});

check("what the origin checked is not stored in the mirror: expectations and batches", async (c) => {
  const m = await pair(c, { from: { allow_atomic: true } });
  await c.pub("a", "one", ["X: y", "Nats-Expected-Last-Sequence: 0", "Nats-Expected-Stream: " + c.id, "Z: w"]);
  await c.pub("a", "two", ["Nats-Expected-Last-Subject-Sequence: 1", "Nats-Expected-Last-Msg-Id: "]);
  const batch = (seq, more = []) => [`Nats-Batch-Id: batch`, `Nats-Batch-Sequence: ${seq}`, "X: y", ...more];
  await c.send("b", "three", batch(1));
  await c.pub("b", "four", batch(2, ["Nats-Batch-Commit: 1"]));
  await holds(m, "four");
  const plain = (text) => text.replace(/Nats-(Expected|Batch)-[^\r]*\r\n/g, "");
  const [its, mine] = [await contents(c), await contents(m)];
  assert.deepEqual(mine.map((x) => x.hdr.replace(/^NATS\/1.0\r\n\r\n$/, "")), its.map((x) => plain(x.hdr).replace(/^NATS\/1.0\r\n\r\n$/, "")));
  assert.match(its[0].hdr, /Nats-Expected-Last-Sequence/, "the origin keeps it");
  assert.deepEqual(mine.map((x) => [x.seq, x.data, x.time]), its.map((x) => [x.seq, x.data, x.time]));
});

check("ten thousand messages that were there, and ten thousand that come", async (c) => {
  await c.create();
  const flood = (from) => {
    for (let i = from; i < from + 10000; i++) c.nc.publish(c.subject(`k.${i % 100}`), `m${i}`);
    return c.nc.flush();
  };
  await flood(1);
  const m = c.another();
  await m.create(mirrorOf(c));
  await flood(10001);
  await reaches(c, { last_seq: 20000 });
  const st = await reaches(m, { last_seq: 20000, messages: 20000 });
  const its = await c.state();
  assert.deepEqual(st, its);
  for (const seq of [1, 2, 9999, 10000, 10001, 15000, 20000]) assert.deepEqual(await m.get(seq), await c.get(seq));
});

// --- gaps ----------------------------------------------------------------------------------------------

check("what was deleted or purged before is missing in the mirror under the same sequences", async (c) => {
  await c.create();
  for (let i = 1; i <= 12; i++) await c.pub("abc"[(i - 1) % 3], `m${i}`);
  await c.purge({ seq: 4 });
  await c.remove(6);
  await c.remove(7);
  await c.purge({ filter: c.subject("a") }); // 4, 7, 10
  const m = c.another();
  await m.create(mirrorOf(c));
  const st = await reaches(m, { last_seq: 12, messages: 5 });
  assert.deepEqual(await seqs(m), [5, 8, 9, 11, 12]);
  assert.deepEqual(await contents(m), await contents(c));
  assert.deepEqual([st.first_seq, st.num_deleted], [5, 3]);
  assert.deepEqual((await m.state({ deleted_details: true })).deleted, [6, 7, 10]);
});

check("the last message was deleted: the mirror is there only with the next", async (c) => {
  await c.create();
  for (let i = 1; i <= 3; i++) await c.pub("a", `m${i}`);
  await c.remove(3);
  const m = c.another();
  await m.create(mirrorOf(c));
  await reaches(m, { messages: 2 });
  await c.pub("a", "m4");
  await reaches(m, { messages: 3, first_seq: 1, last_seq: 4, num_deleted: 1 });
  assert.deepEqual(await contents(m), await contents(c));
});

check("a mirror of what was purged to its end begins where the origin goes on", async (c) => {
  await c.create();
  for (let i = 1; i <= 5; i++) await c.pub("a", `m${i}`);
  await c.purge();
  const m = c.another();
  await m.create(mirrorOf(c));
  await reaches(m, { messages: 0, first_seq: 6, last_seq: 5 });
  assert.equal(await c.pub("a", "m6"), 6);
  await reaches(m, { messages: 1, first_seq: 6, last_seq: 6 });
  assert.deepEqual(await contents(m), await contents(c));
});

check("what the origin loses later stays in the mirror", async (c) => {
  const m = await pair(c, { n: 6 });
  await reaches(m, { last_seq: 6 });
  await c.remove(2);
  await c.purge();
  await c.pub("a", "m7");
  await reaches(m, { last_seq: 7, messages: 7, first_seq: 1 });
  assert.deepEqual(await texts(m), ["m1", "m2", "m3", "m4", "m5", "m6", "m7"]);
});

check("what is deleted or purged in the mirror does not come back", async (c) => {
  const m = await pair(c, { n: 6 });
  await reaches(m, { last_seq: 6 });
  assert.equal((await m.remove(2)).success, true);
  assert.equal((await m.purge({ filter: c.subject("a") })).purged, 2); // 1, 4
  await c.pub("a", "m7");
  await reaches(m, { last_seq: 7, messages: 4 });
  assert.deepEqual(await seqs(m), [3, 5, 6, 7]);
  await m.purge();
  await c.pub("a", "m8");
  await reaches(m, { last_seq: 8, messages: 1, first_seq: 8 });
  assert.equal((await c.state()).messages, 8);
});

check("an origin that begins with a first sequence", async (c) => {
  const m = await pair(c, { n: 3, from: { first_seq: 1000 } });
  await reaches(m, { messages: 3, first_seq: 1000, last_seq: 1002 });
  assert.deepEqual(await contents(m), await contents(c));
});

// --- a part of it ----------------------------------------------------------------------------------------

check("filter_subject: the others are gaps", async (c) => {
  const m = await pair(c, { n: 9, mirror: { filter_subject: c.subject("b") } });
  await reaches(m, { messages: 3, last_seq: 8 });
  assert.deepEqual(await contents(m), (await contents(c)).filter((x) => x.subject === c.subject("b")));
  await c.pub("a", "m10");
  await c.pub("b", "m11");
  const st = await reaches(m, { messages: 4, last_seq: 11 });
  assert.deepEqual([st.num_subjects, (await origin(m)).filter_subject], [1, c.subject("b")]);
  assert.deepEqual((await m.state({ deleted_details: true })).deleted.filter((s) => s > 2), [3, 4, 6, 7, 9, 10]);
});

check("subject_transforms: several parts, with new names or their own; the first that fits", async (c) => {
  const transforms = [{ src: c.subject("a.*"), dest: "new.{{wildcard(1)}}.a" }, { src: c.subject("b.>"), dest: "" }];
  await c.create();
  const m = c.another();
  await m.create(mirrorOf(c, { subject_transforms: transforms }));
  for (const [i, s] of ["a.1", "b.1", "c.1", "a.2", "b.1.2", "a", "a.3"].entries()) await c.pub(s, `m${i + 1}`, { X: "y" });
  await reaches(m, { last_seq: 7, messages: 5 });
  const got = await contents(m);
  assert.deepEqual(got.map((x) => [x.seq, x.subject, x.data]), [
    [1, "new.1.a", "m1"], [2, c.subject("b.1"), "m2"], [4, "new.2.a", "m4"], [5, c.subject("b.1.2"), "m5"], [7, "new.3.a", "m7"],
  ]);
  const its = await contents(c);
  assert.deepEqual(got.map((x) => [x.hdr, x.time]), got.map((x) => its.find((y) => y.seq === x.seq)).map((x) => [x.hdr, x.time]));
  assert.deepEqual((await origin(m)).subject_transforms, transforms);
});

check("the mirror's own subject_transform and republish follow", async (c) => {
  const told = collect(c.nc, `told.${c.id}.>`);
  const over = { subject_transform: { src: "mid.*", dest: "end.$1" }, republish: { src: "end.>", dest: `told.${c.id}.>` } };
  await c.create();
  const m = c.another();
  await m.create(mirrorOf(c, { subject_transforms: [{ src: c.subject("*"), dest: "mid.$1" }] }, over));
  await c.pub("a", "m1", { X: "y" });
  await c.pub("b", "m2");
  await reaches(m, { messages: 2 });
  assert.deepEqual((await contents(m)).map((x) => x.subject), ["end.a", "end.b"]);
  await until("both", () => told.length === 2);
  assert.deepEqual(told.map((x) => [x.subject, x.string(), x.headers.get("Nats-Stream"), x.headers.get("Nats-Sequence"), x.headers.get("Nats-Subject")]), [
    [`told.${c.id}.a`, "m1", m.id, "1", "end.a"], [`told.${c.id}.b`, "m2", m.id, "2", "end.b"],
  ]);
  assert.equal(told[0].headers.get("X"), "y");
  assert.equal(told[0].headers.get("Nats-Time-Stamp"), (await c.get(1)).time);
});

check("opt_start_seq: from there on", async (c) => {
  const m = await pair(c, { n: 9, mirror: { opt_start_seq: 6 } });
  const st = await reaches(m, { messages: 4, first_seq: 6, last_seq: 9 });
  assert.equal(st.num_deleted, undefined);
  assert.deepEqual(await contents(m), (await contents(c)).slice(5));
});

check("opt_start_seq beyond the end: waits for it", async (c) => {
  const m = await pair(c, { n: 3, mirror: { opt_start_seq: 6 } });
  await until("the contact", async () => (await origin(m)).active >= 0);
  for (let i = 4; i <= 7; i++) await c.pub("a", `m${i}`);
  await reaches(m, { messages: 2, first_seq: 6, last_seq: 7 });
  assert.deepEqual(await texts(m), ["m6", "m7"]);
});

check("opt_start_time: what came at that time or later", async (c) => {
  await c.create();
  for (let i = 1; i <= 6; i++) await c.pub("a", `m${i}`);
  const m = c.another();
  await m.create(mirrorOf(c, { opt_start_time: (await c.get(4)).time }));
  await reaches(m, { messages: 3, first_seq: 4, last_seq: 6 });
  const later = c.another();
  await later.create(mirrorOf(c, { opt_start_time: new Date(Date.now() + 3600e3).toISOString() }));
  await until("the contact", async () => (await origin(later)).active >= 0);
  assert.equal((await later.state()).messages, 0);
});

check("opt_start_seq and opt_start_time: the sequence counts", async (c) => {
  await c.create();
  for (let i = 1; i <= 6; i++) await c.pub("a", `m${i}`);
  const m = c.another();
  await m.create(mirrorOf(c, { opt_start_time: (await c.get(5)).time, opt_start_seq: 3 }));
  await reaches(m, { messages: 4, first_seq: 3, last_seq: 6 });
});

// --- limits of the mirror itself --------------------------------------------------------------------------

check("max_msgs, max_msgs_per_subject, max_bytes and max_age of the mirror alone", async (c) => {
  await c.create();
  for (let i = 1; i <= 9; i++) await c.pub("abc"[(i - 1) % 3], `m${i}`);
  const [few, each, aged, small] = [c.another(), c.another(), c.another(), c.another()];
  await few.create(mirrorOf(c, {}, { max_msgs: 2 }));
  await each.create(mirrorOf(c, {}, { max_msgs_per_subject: 1 }));
  await aged.create(mirrorOf(c, {}, { max_age: 3 * SECOND }));
  await small.create(mirrorOf(c, {}, { max_bytes: 150 }));
  await reaches(few, { messages: 2, first_seq: 8, last_seq: 9 });
  await reaches(each, { messages: 3, first_seq: 7, last_seq: 9 });
  const st = await reaches(small, { last_seq: 9 });
  assert.ok(st.bytes <= 150 && st.messages > 1 && st.messages < 9, JSON.stringify(st));
  await reaches(aged, { messages: 0, last_seq: 9 });
  await c.pub("a", "m10");
  await reaches(few, { messages: 2, first_seq: 9, last_seq: 10 });
  assert.deepEqual(await seqs(each), [8, 9, 10]);
  assert.equal((await c.state()).messages, 10);
});

check("what is older than the mirror's max_age when it comes: it does not stay, and what follows is there", async (c) => {
  await c.create();
  for (let i = 1; i <= 3; i++) await c.pub("a", `m${i}`);
  const old = Date.parse((await c.get(3)).time);
  await until("a second and more", () => Date.now() > old + 1100);
  const m = c.another();
  await m.create(mirrorOf(c, {}, { max_age: SECOND }));
  await c.pub("a", "m4");
  await reaches(m, { last_seq: 4, messages: 0 });
});

// nats-server does not ask again for what a full mirror refused.
check("discard new: a full mirror stops, and goes on when there is room", { only: "mayfly" }, async (c) => {
  const m = await pair(c, { n: 5, over: { max_msgs: 3, discard: "new" } });
  await reaches(m, { messages: 3, last_seq: 3 });
  await m.remove(1);
  await reaches(m, { messages: 3, last_seq: 4 });
  await m.purge();
  await reaches(m, { messages: 1, last_seq: 5 });
  assert.deepEqual(await texts(m), ["m5"]);
});

check("a mirror in memory, a mirror that compresses", async (c) => {
  await c.create();
  for (let i = 1; i <= 3; i++) await c.pub("a", "long ".repeat(1000), { X: `${i}` });
  const [memory, packed] = [c.another(), c.another()];
  await memory.create(mirrorOf(c, {}, { storage: "memory" }));
  await packed.create(mirrorOf(c, {}, { compression: "s2" }));
  for (const m of [memory, packed]) {
    await reaches(m, { messages: 3 });
    assert.deepEqual(await contents(m), await contents(c));
  }
});
