// sources.mjs: streams that source others: what they take, under which names, what they write to it and what INFO tells.
import assert from "node:assert/strict";
import { contents, hash, holds, mirrorOf, origin, reaches, seqs, sourceOf, texts } from "./lib/copies.mjs";
import * as consumer from "./lib/consumer.mjs";
import { SECOND, at, block, group } from "./lib/js.mjs";
import { collect } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const drop = (c) => c.api(`STREAM.DELETE.${c.id}`);
// What a source is known by: when it was created.
const identity = async (c) => hash((await c.info()).created);
const fill = async (c, n, names = "abc") => {
  for (let i = 1; i <= n; i++) await c.pub(names[(i - 1) % names.length], `${c.id} ${i}`);
};
async function pair(c, { n = 0, from = {}, source = {}, over = {} } = {}) {
  await c.create(from);
  await fill(c, n);
  const s = c.another();
  await s.create(sourceOf(c, source, over));
  return s;
}
const sourced = (m) => /Nats-Stream-Source: ([^\r]*)\r\n/.exec(m.hdr)?.[1];

// --- what is taken -------------------------------------------------------------------------------------------

check("own sequences and times; subjects, headers and bodies of the origin; the header that tells where it is from", async (c) => {
  await c.create();
  await c.pub("a", "m1");
  await c.pub("b.c", "", ["X: y", "Same: one", "same: two"]);
  await c.remove(await c.pub("a", "not this one"));
  const s = c.another();
  await s.create(sourceOf(c));
  await c.pub("d", "x".repeat(50000), { "Nats-Msg-Id": "id" });
  await reaches(s, { messages: 3, first_seq: 1, last_seq: 3 });
  const [its, got, id] = [await contents(c), await contents(s), await identity(c)];
  assert.deepEqual(got.map((m) => [m.seq, m.subject, m.data]), its.map((m, i) => [i + 1, m.subject, m.data]));
  const line = (seq, name) => `Nats-Stream-Source: ${c.id} ${seq} > > ${c.subject(name)} ${id}`;
  assert.deepEqual(got.map((m) => m.hdr), [
    block(line(1, "a")), block("X: y", "Same: one", "same: two", line(2, "b.c")), block("Nats-Msg-Id: id", line(4, "d")),
  ]);
  assert.ok(got.every((m, i) => at(m) >= at(its[i])));
  assert.ok(at(got[0]) >= Date.parse((await s.info()).created), "the time when it was stored");
});

check("expectations and batches of the origin are not stored", async (c) => {
  const s = await pair(c, { from: { allow_atomic: true } });
  await c.pub("a", "m1", ["X: y", "Nats-Expected-Last-Sequence: 0", "Z: w"]);
  const batch = (seq, more = []) => ["Nats-Batch-Id: batch", `Nats-Batch-Sequence: ${seq}`, ...more];
  await c.send("b", "m2", batch(1));
  await c.pub("b", "m3", batch(2, ["Nats-Batch-Commit: 1"]));
  await holds(s, "m3");
  const id = await identity(c);
  assert.deepEqual((await contents(s)).map((m) => m.hdr), [
    block("X: y", "Z: w", `Nats-Stream-Source: ${c.id} 1 > > ${c.subject("a")} ${id}`),
    block(`Nats-Stream-Source: ${c.id} 2 > > ${c.subject("b")} ${id}`),
    block(`Nats-Stream-Source: ${c.id} 3 > > ${c.subject("b")} ${id}`),
  ]);
});

check("ten thousand that were there and ten thousand that come, in order", async (c) => {
  await c.create();
  const flood = (from) => {
    for (let i = from; i < from + 10000; i++) c.nc.publish(c.subject(`k.${i % 100}`), `m${i}`);
    return c.nc.flush();
  };
  await flood(1);
  const s = c.another();
  await s.create(sourceOf(c));
  await flood(10001);
  await reaches(s, { messages: 20000, last_seq: 20000 });
  for (const seq of [1, 2, 9999, 10000, 10001, 20000]) {
    const [mine, its] = [await s.get(seq), await c.get(seq)];
    assert.deepEqual([mine.data, mine.subject, sourced(mine).split(" ")[1]], [its.data, its.subject, `${seq}`]);
  }
});

check("several sources: each in its order; own subjects between them", async (c) => {
  const from = [c, c.another(), c.another()];
  for (const x of from) {
    await x.create();
    await fill(x, 3);
  }
  const s = c.another();
  await s.create({ sources: from.map((x) => ({ name: x.id })) });
  await reaches(s, { messages: 9 });
  assert.equal(await s.pub("own", "own 1"), 10);
  for (const x of from) await fill(x, 3);
  await reaches(s, { messages: 19 });
  const got = await contents(s);
  for (const x of from)
    assert.deepEqual(got.filter((m) => m.subject.startsWith(`${x.prefix}.`)).map((m) => sourced(m)?.split(" ").slice(0, 2)), [1, 2, 3, 4, 5, 6].map((i) => [x.id, `${i}`]));
  assert.deepEqual(got.filter((m) => !sourced(m)).map((m) => m.data), ["own 1"]);
  await c.refused("a", [400, 10227, "message stream source header is not allowed"], "x", { "Nats-Stream-Source": "x 1" });
});

check("a source of a sourcing stream: the header tells of the last step", async (c) => {
  const two = await pair(c, { n: 2 });
  await reaches(two, { messages: 2 });
  const three = c.another();
  await three.create(sourceOf(two));
  await reaches(three, { messages: 2 });
  const id = await identity(two);
  assert.deepEqual((await contents(three)).map((m) => m.hdr), ["a", "b"].map((n, i) => block(`Nats-Stream-Source: ${two.id} ${i + 1} > > ${c.subject(n)} ${id}`)));
  assert.deepEqual(await texts(three), await texts(c));
});

check("a mirror of a sourcing stream, a source of a mirror", async (c) => {
  const s = await pair(c, { n: 3 });
  const [m, back] = [c.another(), c.another()];
  await m.create(mirrorOf(s));
  await back.create(sourceOf(m));
  await reaches(back, { messages: 3 });
  assert.deepEqual(await contents(m), await contents(s));
  const id = await identity(m);
  assert.equal((await back.get(1)).hdr, block(`Nats-Stream-Source: ${m.id} 1 > > ${c.subject("a")} ${id}`));
});

// --- a part of it -----------------------------------------------------------------------------------------

check("filter_subject: named in the header, no gaps in the copy", async (c) => {
  const s = await pair(c, { n: 9, source: { filter_subject: c.subject("b") } });
  const st = await reaches(s, { messages: 3, first_seq: 1, last_seq: 3 });
  assert.equal(st.num_deleted, undefined);
  const id = await identity(c);
  assert.deepEqual((await contents(s)).map(sourced), [2, 5, 8].map((i) => `${c.id} ${i} ${c.subject("b")} > ${c.subject("b")} ${id}`));
});

check("subject_transforms: new names; the header has filters, destinations and the old name", async (c) => {
  const [f1, f2] = [c.subject("a.*"), c.subject("b.>")];
  const transforms = [{ src: f1, dest: "new.{{wildcard(1)}}.a" }, { src: f2, dest: "" }];
  await c.create();
  const s = c.another();
  await s.create(sourceOf(c, { subject_transforms: transforms }));
  for (const [i, n] of ["a.1", "b.1.2", "c.1", "a.2"].entries()) await c.pub(n, `m${i + 1}`);
  await reaches(s, { messages: 3 });
  const got = await contents(s);
  assert.deepEqual(got.map((m) => [m.subject, m.data]), [["new.1.a", "m1"], [c.subject("b.1.2"), "m2"], ["new.2.a", "m4"]]);
  const id = await identity(c);
  assert.deepEqual(got.map(sourced), [[1, "a.1"], [2, "b.1.2"], [4, "a.2"]].map(([i, n]) => `${c.id} ${i} ${f1}\f${f2} new.{{wildcard(1)}}.a\f> ${c.subject(n)} ${id}`));
  assert.deepEqual((await origin(s)).subject_transforms, transforms);
});

check("one transform; then the stream's own; republish tells of the result", async (c) => {
  const told = collect(c.nc, `told.${c.id}.>`);
  await c.create();
  const s = c.another();
  const over = { subject_transform: { src: "mid.*", dest: "end.$1" }, republish: { src: "end.>", dest: `told.${c.id}.>` } };
  await s.create(sourceOf(c, { subject_transforms: [{ src: c.subject("*"), dest: "mid.$1" }] }, over));
  await c.pub("a", "m1", { X: "y" });
  await reaches(s, { messages: 1 });
  const [m] = await contents(s);
  assert.deepEqual([m.subject, sourced(m)], ["end.a", `${c.id} 1 ${c.subject("*")} mid.$1 ${c.subject("a")} ${await identity(c)}`]);
  await until("the news", () => told.length === 1);
  assert.deepEqual([told[0].subject, told[0].headers.get("Nats-Stream"), told[0].headers.get("Nats-Subject"), told[0].headers.get("X")], [`told.${c.id}.a`, s.id, "end.a", "y"]);
});

check("the same origin twice, with other filters and other names", async (c) => {
  await c.create();
  const s = c.another();
  await s.create({ subjects: undefined, sources: [
    { name: c.id, filter_subject: c.subject("a") },
    { name: c.id, subject_transforms: [{ src: c.subject("b"), dest: "other.b" }] },
    { name: c.id, subject_transforms: [{ src: c.subject("b"), dest: "third.b" }] },
  ] });
  await fill(c, 6);
  await reaches(s, { messages: 6 });
  const got = (await contents(s)).map((m) => `${m.subject} ${m.data}`).sort();
  assert.deepEqual(got, [
    `other.b ${c.id} 2`, `other.b ${c.id} 5`, `${c.subject("a")} ${c.id} 1`, `${c.subject("a")} ${c.id} 4`, `third.b ${c.id} 2`, `third.b ${c.id} 5`,
  ].sort());
  const { sources } = await s.info();
  assert.deepEqual(sources.map((x) => x.name), [c.id, c.id, c.id]);
  assert.equal((await c.state()).consumer_count, 0);
});

check("opt_start_seq and opt_start_time", async (c) => {
  await c.create();
  await fill(c, 6);
  const [seq, time, both] = [c.another(), c.another(), c.another()];
  await seq.create(sourceOf(c, { opt_start_seq: 5 }));
  await time.create(sourceOf(c, { opt_start_time: (await c.get(3)).time }));
  await both.create(sourceOf(c, { opt_start_time: (await c.get(3)).time, opt_start_seq: 6 }));
  await reaches(seq, { messages: 2, first_seq: 1, last_seq: 2 });
  await reaches(time, { messages: 4 });
  await reaches(both, { messages: 1 });
  assert.deepEqual((await texts(seq)).concat(await texts(time)), [5, 6, 3, 4, 5, 6].map((i) => `${c.id} ${i}`));
});

// --- updates -----------------------------------------------------------------------------------------------

check("update: a source more, which begins at its start; a source less, which stops", async (c) => {
  const two = c.another();
  await two.create();
  await fill(two, 3);
  const s = await pair(c, { n: 3 });
  await reaches(s, { messages: 3 });
  await s.update({ subjects: undefined, sources: [{ name: c.id }, { name: two.id }] });
  await reaches(s, { messages: 6 });
  assert.deepEqual((await texts(s)).slice(3), [1, 2, 3].map((i) => `${two.id} ${i}`));
  await s.update({ subjects: undefined, sources: [{ name: two.id }] });
  assert.deepEqual((await s.info()).sources.map((x) => x.name), [two.id]);
  await c.pub("a", "not taken");
  await two.pub("a", "taken");
  await holds(s, "taken");
  assert.equal((await s.state()).messages, 7);
  await s.update({ subjects: [s.subject(">")] });
  await two.pub("a", "not taken either");
  assert.equal(await s.pub("a", "own"), 8);
  assert.equal((await s.info()).sources, undefined);
});

check("update: a source that was taken away and comes back goes on behind what it brought", async (c) => {
  const two = c.another();
  await two.create();
  const s = await pair(c, { n: 3 });
  await reaches(s, { messages: 3 });
  await s.update(sourceOf(two));
  await c.pub("a", "missed");
  await s.update({ subjects: undefined, sources: [{ name: two.id }, { name: c.id }] });
  await c.pub("a", "m5");
  await holds(s, "m5");
  assert.deepEqual((await texts(s)).slice(3), ["missed", "m5"]);
});

check("update: other fields alone do not disturb the sources", async (c) => {
  const s = await pair(c, { n: 3 });
  await reaches(s, { messages: 3 });
  for (const description of ["one", "two", "three"]) {
    await s.update(sourceOf(c, {}, { description }));
    await c.pub("a", description);
    await holds(s, description);
  }
  assert.equal((await s.state()).messages, 6);
});

check("update: another filter is another source, and begins anew", async (c) => {
  const s = await pair(c, { n: 6, source: { filter_subject: c.subject("a") } });
  await reaches(s, { messages: 2 });
  await s.update(sourceOf(c, { filter_subject: c.subject("b") }));
  await reaches(s, { messages: 4 });
  assert.deepEqual(await texts(s), [1, 4, 2, 5].map((i) => `${c.id} ${i}`));
});

// --- what the target refuses ----------------------------------------------------------------------------------

check("discard new: a full target takes the rest as soon as there is room, in order", async (c) => {
  const s = await pair(c, { n: 7, over: { max_msgs: 3, discard: "new" } });
  await reaches(s, { messages: 3 });
  assert.deepEqual(await texts(s), [1, 2, 3].map((i) => `${c.id} ${i}`));
  await s.purge();
  await reaches(s, { messages: 3, last_seq: 6 });
  await s.remove(4);
  await reaches(s, { messages: 3, last_seq: 7 });
  assert.deepEqual(await texts(s), [5, 6, 7].map((i) => `${c.id} ${i}`));
});

check("ids: what is a duplicate for the target is passed over", async (c) => {
  const two = c.another();
  await two.create();
  await c.create();
  const id = (v) => ({ "Nats-Msg-Id": v });
  await c.pub("a", "c 1", id("same"));
  const s = c.another();
  await s.create({ sources: [{ name: c.id }, { name: two.id }], duplicate_window: 60 * SECOND });
  await reaches(s, { messages: 1 });
  await two.pub("a", "two 1", id("same"));
  await two.pub("a", "two 2", id("other"));
  await reaches(s, { messages: 2 });
  assert.deepEqual(await texts(s), ["c 1", "two 2"]);
  assert.equal((await s.ack("own", "x", id("other"))).duplicate, true);
  await s.pub("own", "own", id("own"));
  await c.pub("a", "c 2", id("own"));
  await c.pub("a", "c 3");
  await holds(s, "c 3");
  assert.deepEqual(await texts(s), ["c 1", "two 2", "own", "c 3"]);
});

check("purge and deletions in the target: nothing comes back", async (c) => {
  const s = await pair(c, { n: 5 });
  await reaches(s, { messages: 5 });
  await s.remove(5);
  await s.purge();
  await s.update(sourceOf(c, {}, { description: "set up again" }));
  await c.pub("a", "m6");
  await reaches(s, { messages: 1, last_seq: 6 });
});

// --- origins come and go ----------------------------------------------------------------------------------------

check("an origin that is made later", async (c) => {
  const s = c.another();
  const r = await s.create(sourceOf(c));
  assert.deepEqual([r.config.subjects, r.config.sources], [undefined, [{ name: c.id }]]);
  const [told] = await until("the reason", async () => (await s.info()).sources[0].error && (await s.info()).sources);
  assert.deepEqual(told, { name: c.id, lag: 0, active: -1, error: { code: 404, err_code: 10059, description: "stream not found" } });
  await c.create();
  await fill(c, 3);
  await reaches(s, { messages: 3 });
  assert.equal((await origin(s)).error, undefined);
});

check("an origin that is made anew is another: all of it is taken", async (c) => {
  const s = await pair(c, { n: 3 });
  await reaches(s, { messages: 3 });
  const before = await identity(c);
  await drop(c);
  await c.create();
  await c.pub("a", "new 1");
  await c.pub("a", "new 2");
  const after = await identity(c);
  assert.notEqual(before, after);
  await reaches(s, { messages: 5, last_seq: 5 });
  assert.deepEqual((await contents(s)).map((m) => sourced(m).split(" ").at(-1)), [before, before, before, after, after]);
  assert.deepEqual((await texts(s)).slice(3), ["new 1", "new 2"]);
});

check("info: name, lag, active and the last sequence, in the order of the configuration", async (c) => {
  const two = c.another();
  await two.create();
  await c.create();
  await fill(c, 4);
  const s = c.another();
  await s.create({ subjects: undefined, sources: [{ name: two.id }, { name: c.id, filter_subject: c.subject("a") }] });
  await reaches(s, { messages: 2 });
  const sources = await until("both to be told", async () => {
    const all = (await s.info()).sources;
    return all.every((x) => x.lag === 0 && x.active >= 0) && all;
  });
  if (!isMayfly) sources.sort((a) => (a.name === two.id ? -1 : 1)); // there they come in any order
  assert.deepEqual(sources.map((x) => ({ ...x, active: 0 })), [{ name: two.id, lag: 0, active: 0 }, { name: c.id, lag: 0, active: 0, filter_subject: c.subject("a"), seq: 4 }]);
});

check("what an origin purges before it was taken is passed over", async (c) => {
  await c.create();
  await fill(c, 6);
  await c.purge({ seq: 4 });
  await c.remove(5);
  const s = c.another();
  await s.create(sourceOf(c));
  await reaches(s, { messages: 2, first_seq: 1 });
  assert.deepEqual(await texts(s), [4, 6].map((i) => `${c.id} ${i}`));
  await c.purge();
  await c.pub("a", "m7");
  await holds(s, "m7");
  assert.deepEqual(await seqs(s), [1, 2, 3]);
});

// --- retention ----------------------------------------------------------------------------------------------

for (const retention of ["interest", "workqueue"])
  check(`an origin with ${retention} retention: what is taken is done with, the consumer is durable`, async (c) => {
    await c.create({ retention });
    const s = c.another();
    await s.create(sourceOf(c));
    const named = await until("the consumer", async () => (await c.api(`CONSUMER.NAMES.${c.id}`)).consumers?.[0]);
    assert.equal(named, `JS_SRC_${hash(hash(`${s.id} $G`))}`);
    await fill(c, 5);
    await reaches(s, { messages: 5 });
    await reaches(c, { messages: 0, last_seq: 5 });
    const { config } = await c.api(`CONSUMER.INFO.${c.id}.${named}`);
    assert.deepEqual([config.ack_policy, config.max_ack_pending, config.sourcing, config.metadata["_nats.src.stream"], config.metadata["_nats.src.acc"]], ["flow_control", 1000, true, s.id, "$G"]);
    await s.update({ subjects: undefined });
    await until("its consumer to go", async () => (await c.state()).consumer_count === 0);
  });

check("a target with workqueue retention: acknowledged messages leave it", async (c) => {
  const s = await pair(c, { n: 3, over: { retention: "workqueue" } });
  await reaches(s, { messages: 3 });
  await consumer.add(s);
  for (const m of await consumer.fetch(s, 3)) await consumer.settle(s, m);
  await reaches(s, { messages: 0, last_seq: 3 });
  await c.pub("a", "m4");
  assert.deepEqual((await consumer.fetch(s, 1)).map((m) => [m.seq, m.data]), [[4, "m4"]]);
  assert.equal((await c.state()).messages, 4);
});

check("a target with interest retention: what nobody wants is taken and gone", async (c) => {
  const s = await pair(c, { n: 3, over: { retention: "interest" } });
  await reaches(s, { messages: 0, last_seq: 3 });
  await consumer.add(s);
  await c.pub("a", "m4");
  await reaches(s, { messages: 1, last_seq: 4 });
});

check("the origin's consumers: the source's is not listed and not counted", async (c) => {
  await c.create({ max_consumers: 1 });
  await c.pub("a", "m1");
  const s = c.another();
  await s.create(sourceOf(c));
  await reaches(s, { messages: 1 });
  assert.deepEqual([(await c.state()).consumer_count, (await c.api(`CONSUMER.NAMES.${c.id}`)).total], [0, 0]);
  await consumer.add(c);
  await c.pub("a", "m2");
  await holds(s, "m2");
  assert.equal((await c.state()).consumer_count, 1);
});

// --- counters -----------------------------------------------------------------------------------------------

check("counters: the sums of the origins, told apart in a header", async (c) => {
  const two = c.another();
  const s = c.another();
  for (const x of [c, two]) await x.create({ allow_msg_counter: true });
  const one = (x) => ({ name: x.id, subject_transforms: [{ src: `${x.prefix}.*`, dest: `${s.prefix}.$1` }] });
  await s.create({ allow_msg_counter: true, sources: [one(c), one(two)] });
  const add = (x, n) => x.pub("hits", "", { "Nats-Incr": n });
  await add(c, "+5");
  await add(c, "-2");
  await add(two, "+10");
  await reaches(s, { messages: 3 });
  const m = await s.last("hits");
  assert.equal(JSON.parse(m.data).val, "13");
  const from = JSON.parse(/Nats-Counter-Sources: ([^\r]*)\r\n/.exec(m.hdr)[1]);
  assert.deepEqual(from, { [c.id]: { [c.subject("hits")]: "3" }, [two.id]: { [two.subject("hits")]: "10" } });
  await add(s, "+1");
  assert.equal(JSON.parse((await s.last("hits")).data).val, "14");
});
