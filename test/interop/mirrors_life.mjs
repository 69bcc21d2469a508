// mirrors_life.mjs: mirrors and their origins over time: who comes first, who goes first, what INFO tells, promotion.
import assert from "node:assert/strict";
import { contents, hash, holds, mirrorOf, origin, reaches, seqs, texts } from "./lib/copies.mjs";
import * as consumer from "./lib/consumer.mjs";
import { SECOND, group } from "./lib/js.mjs";
import { collect } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const gone = (c) => c.api(`STREAM.DELETE.${c.id}`);

async function pair(c, n = 3, over = {}) {
  await c.create();
  for (let i = 1; i <= n; i++) await c.pub("a", `m${i}`);
  const m = c.another();
  await m.create(mirrorOf(c, {}, over));
  await reaches(m, { last_seq: n });
  return m;
}

// --- the origin comes late, goes, comes again ------------------------------------------------------------

check("an origin that is made later", async (c) => {
  const m = c.another();
  const r = await m.create(mirrorOf(c));
  assert.deepEqual(r.config.mirror, { name: c.id });
  assert.equal(r.config.subjects, undefined);
  assert.equal((await origin(m)).active, -1);
  await c.create();
  for (let i = 1; i <= 3; i++) await c.pub("a", `m${i}`);
  await reaches(m, { messages: 3, first_seq: 1, last_seq: 3 });
  assert.deepEqual(await contents(m), await contents(c));
});

check("an origin that is deleted: the mirror keeps what it has", async (c) => {
  const m = await pair(c);
  assert.equal((await gone(c)).success, true);
  assert.deepEqual(await texts(m), ["m1", "m2", "m3"]);
  assert.equal((await m.info()).mirror.name, c.id);
});

check("an origin that is made anew with a first sequence behind the end: the mirror goes on there", async (c) => {
  const m = await pair(c);
  await gone(c);
  await c.create({ first_seq: 11 });
  assert.equal(await c.pub("a", "new 11"), 11);
  await c.pub("a", "new 12");
  await reaches(m, { last_seq: 12, messages: 5 });
  assert.deepEqual(await seqs(m), [1, 2, 3, 11, 12]);
});

check("an origin that is made anew and begins at 1: what stands before the mirror's end is not taken", async (c) => {
  const m = await pair(c);
  await gone(c);
  await c.create();
  for (let i = 1; i <= 5; i++) await c.pub("a", `new ${i}`);
  await reaches(m, { last_seq: 5, messages: 5 });
  assert.deepEqual(await texts(m), ["m1", "m2", "m3", "new 4", "new 5"]);
});

check("a mirror that is deleted and made anew has all again", async (c) => {
  const m = await pair(c);
  await gone(m);
  await c.pub("a", "m4");
  await m.create(mirrorOf(c));
  await reaches(m, { messages: 4, first_seq: 1 });
  assert.deepEqual(await contents(m), await contents(c));
});

check("a mirror of a mirror, three deep: the same sequences and times", async (c) => {
  const two = await pair(c);
  const [three, four] = [c.another(), c.another()];
  await three.create(mirrorOf(two));
  await four.create(mirrorOf(three));
  await c.pub("b", "m4", { X: "y" });
  await c.remove(4);
  await c.pub("b", "m5");
  await reaches(four, { last_seq: 5 });
  assert.deepEqual(await contents(four), await contents(two));
  assert.deepEqual((await texts(four)).filter((x) => x !== "m4"), ["m1", "m2", "m3", "m5"]);
});

check("three mirrors of one origin", async (c) => {
  const all = [await pair(c), c.another(), c.another()];
  await all[1].create(mirrorOf(c, { filter_subject: c.subject("b") }));
  await all[2].create(mirrorOf(c, { opt_start_seq: 3 }));
  await c.pub("b", "m4");
  for (const m of all) await holds(m, "m4");
  assert.deepEqual(await Promise.all(all.map(texts)), [["m1", "m2", "m3", "m4"], ["m4"], ["m3", "m4"]]);
});

// --- what INFO tells -----------------------------------------------------------------------------------------

check("info: name, lag, active; a second of silence is bridged by heartbeats", async (c) => {
  const m = await pair(c);
  const told = await until("the lag to be nothing", async () => {
    const o = await origin(m);
    return o.lag === 0 && o.active >= 0 && o;
  });
  assert.deepEqual(Object.keys(told).sort(), ["active", "lag", "name"]);
  assert.equal(told.name, c.id);
  let most = 0;
  const end = Date.now() + 2500;
  let [wasHigh, fell] = [false, false];
  await until("active to fall again without a message", async () => {
    const { active } = await origin(m);
    if (active < most) fell = true;
    most = Math.max(most, active);
    wasHigh ||= active > 500e6;
    return wasHigh && fell && Date.now() > end - 2500;
  });
  assert.equal((await m.info()).sources, undefined);
});

check("info: without an origin active is -1, and the reason is told", async (c) => {
  const m = c.another();
  const r = await m.create(mirrorOf(c, { filter_subject: "x.>" }));
  assert.deepEqual([r.mirror?.name ?? c.id, r.did_create], [c.id, true]);
  const { filter_subject, ...told } = await until("the reason", async () => (await origin(m)).error && origin(m));
  assert.deepEqual(told, { name: c.id, lag: 0, active: -1, error: { code: 404, err_code: 10059, description: "stream not found" } });
});

// Until the former origin is left, both are known for a moment.
check("LIST while a mirror becomes a stream with sources: a valid document each time", async (c) => {
  const m = await pair(c);
  const { mirror, ...config } = (await m.info()).config;
  const replies = [];
  const sub = c.nc.subscribe(`list.${m.id}`, { callback: (e, msg) => replies.push(msg.string()) });
  const ask = (n) => Array.from({ length: n }, () => c.nc.publish("$JS.API.STREAM.LIST", "", { reply: `list.${m.id}` }));
  const done = m.api(`STREAM.UPDATE.${m.id}`, { ...config, sources: [{ name: c.id, filter_subject: c.subject("none") }] });
  let asked = 0, answer;
  done.then((a) => (answer = a));
  for (; answer === undefined; asked += 5) {
    ask(5);
    await c.nc.flush();
  }
  assert.equal(answer.error, undefined, JSON.stringify(answer));
  await until("all answers", () => replies.length >= asked);
  sub.unsubscribe();
  for (const text of replies) JSON.parse(text);
});

check("info, LIST and NAMES: a mirror is a stream without subjects", async (c) => {
  const m = await pair(c);
  const all = (await c.api("STREAM.LIST")).streams.find((s) => s.config.name === m.id);
  assert.equal(all.mirror.name, c.id);
  assert.deepEqual([all.config.subjects, all.config.duplicate_window, all.state.messages], [undefined, undefined, 3]);
  assert.deepEqual((await c.api("STREAM.NAMES", { subject: c.subject("a") })).streams, [c.id]);
});

check("alternates: the origin tells of its mirrors", async (c) => {
  const m = await pair(c);
  const { alternates } = await c.info();
  if (alternates) assert.deepEqual(alternates.map((x) => x.name).sort(), [c.id, m.id].sort());
});

// --- publishing ----------------------------------------------------------------------------------------------

check("nobody publishes to a mirror: the origin alone answers, and once", async (c) => {
  const m = await pair(c);
  const got = collect(c.nc, `answers.${c.id}`);
  c.nc.publish(c.subject("a"), "m4", { reply: `answers.${c.id}` });
  await holds(m, "m4");
  await c.nc.flush();
  assert.deepEqual(got.map((x) => x.json()), [{ stream: c.id, seq: 4 }]);
  assert.equal((await m.state()).messages, 4);
});

check("ids: a mirror takes all that has a sequence, whatever its id", async (c) => {
  await c.create({ duplicate_window: SECOND / 10 });
  await c.pub("a", "m1", { "Nats-Msg-Id": "same" });
  await until("the window to end", async () => !(await c.ack("a", "m2", { "Nats-Msg-Id": "same" })).duplicate);
  const m = c.another();
  await m.create(mirrorOf(c, {}, { duplicate_window: 3600 * SECOND }));
  await reaches(m, { messages: 2, last_seq: 2 });
  assert.deepEqual(await contents(m), await contents(c));
});

check("an update of other fields does not stop it", async (c) => {
  const m = await pair(c);
  await m.update(mirrorOf(c, {}, { description: "changed", max_msgs: 3 }));
  await c.pub("a", "m4");
  await reaches(m, { messages: 3, first_seq: 2, last_seq: 4 });
  assert.equal((await m.info()).config.description, "changed");
});

check("the mirror itself can not be changed", async (c) => {
  const m = await pair(c);
  const NOT = [400, 10055, "stream mirror configuration can not be updated"];
  await m.refusedConfig(mirrorOf(c, { filter_subject: "x" }), NOT, "UPDATE");
  await m.refusedConfig(mirrorOf(c, { name: "OTHER" }), NOT, "UPDATE");
  await c.pub("a", "m4");
  await holds(m, "m4");
});

// --- promotion -------------------------------------------------------------------------------------------------

check("promotion: without its mirror it is a stream of its own, behind what it has", async (c) => {
  const m = await pair(c, 3);
  await gone(c);
  const r = await m.update({ subjects: [`${c.prefix}.>`] });
  assert.deepEqual([r.config.mirror, r.mirror, r.config.subjects], [undefined, undefined, [`${c.prefix}.>`]]);
  const ack = await c.ack("b", "m4");
  assert.deepEqual(ack, { stream: m.id, seq: 4 });
  assert.deepEqual(await texts(m), ["m1", "m2", "m3", "m4"]);
  assert.equal((await m.info()).mirror, undefined);
});

check("promotion while the origin lives: they go separate ways", async (c) => {
  const m = await pair(c, 3);
  await m.update({ subjects: [m.subject(">")] });
  await c.pub("a", "origin");
  assert.equal(await m.pub("a", "own"), 4);
  await c.pub("a", "origin");
  assert.equal(await m.pub("a", "own"), 5);
  assert.deepEqual(await texts(m), ["m1", "m2", "m3", "own", "own"]);
  await c.api(`STREAM.UPDATE.${m.id}`, m.config(mirrorOf(c))).then((r) => assert.equal(r.error.err_code, 10055));
});

check("promotion without subjects, with subjects later, with sources", async (c) => {
  const m = await pair(c, 3);
  const other = c.another();
  await other.create();
  await other.pub("x", "sourced");
  await m.update({ subjects: undefined, sources: [{ name: other.id }] });
  await holds(m, "sourced");
  assert.deepEqual(await seqs(m), [1, 2, 3, 4]);
  assert.deepEqual((await m.info()).sources.map((x) => x.name), [other.id]);
});

// --- the origin's side ---------------------------------------------------------------------------------------

check("the origin's consumers: the mirror's is not listed and not counted", async (c) => {
  const told = collect(c.nc, `$JS.EVENT.ADVISORY.CONSUMER.*.${c.id}.>`);
  await c.create({ max_consumers: 1 });
  await c.pub("a", "m1");
  const m = c.another();
  await m.create(mirrorOf(c));
  await reaches(m, { messages: 1 });
  assert.equal((await c.state()).consumer_count, 0);
  const names = await c.api(`CONSUMER.NAMES.${c.id}`);
  assert.deepEqual([names.total, names.consumers ?? []], [0, []]);
  assert.equal((await c.api(`CONSUMER.LIST.${c.id}`)).total, 0);
  // The one that it may have.
  const r = await c.api(`CONSUMER.CREATE.${c.id}.C`, { stream_name: c.id, config: { durable_name: "C", ack_policy: "explicit" } });
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  await c.pub("a", "m2");
  await reaches(m, { messages: 2 });
  assert.equal((await c.state()).consumer_count, 1);
  await gone(m);
  await c.nc.flush();
  assert.deepEqual(told.filter((x) => !/\.(CREATED|DELETED)\.\w+\.(JS_MIRROR_[\w-]+|C)$/.test(x.subject)).map((x) => x.subject), []);
});

for (const retention of ["interest", "workqueue"])
  check(`an origin with ${retention} retention: what is mirrored is done with, the mirror's consumer is durable`, async (c) => {
    await c.create({ retention });
    const m = c.another();
    await m.create(mirrorOf(c));
    const named = await until("the mirror's consumer", async () => (await c.api(`CONSUMER.NAMES.${c.id}`)).consumers?.[0]);
    assert.equal(named, `JS_MIRROR_${hash(`${m.id} $G`)}`);
    for (let i = 1; i <= 5; i++) await c.pub("a", `m${i}`);
    await reaches(m, { messages: 5, first_seq: 1, last_seq: 5 });
    await reaches(c, { messages: 0, last_seq: 5 });
    const { config } = await c.api(`CONSUMER.INFO.${c.id}.${named}`);
    const { deliver_subject, metadata, ...rest } = config;
    assert.match(deliver_subject, /^\$JS\.M\.\w{8}$/);
    assert.deepEqual([metadata["_nats.mirror.stream"], metadata["_nats.mirror.acc"]], [m.id, "$G"]);
    assert.deepEqual(rest, {
      name: named, durable_name: named, ack_policy: "flow_control", deliver_policy: "all", flow_control: true, idle_heartbeat: SECOND,
      max_ack_pending: 1000, max_deliver: -1, num_replicas: 0, replay_policy: "instant", sourcing: true,
    });
    await gone(m);
    await until("its consumer to go", async () => (await c.state()).consumer_count === 0);
  });

check("a mirror with workqueue retention: what is acknowledged leaves it, and not the origin", async (c) => {
  const m = await pair(c, 3, { retention: "workqueue" });
  const r = await m.api(`CONSUMER.CREATE.${m.id}.C`, { stream_name: m.id, config: { durable_name: "C", ack_policy: "explicit" } });
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  const [got] = await consumer.fetch(m, 1);
  await consumer.settle(m, got);
  await reaches(m, { messages: 2, first_seq: 2 });
  await c.pub("a", "m4");
  await reaches(m, { messages: 3, last_seq: 4 });
  assert.equal((await c.state()).messages, 4);
});
