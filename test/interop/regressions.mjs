// regressions.mjs: mistakes that nats-server makes or has made with TTLs and markers.  Where its mistake is quick
// to see the scenario shows it there, and the mended behaviour here.
import assert from "node:assert/strict";
import fs from "node:fs";
import path from "node:path";
import { archive } from "./lib/archive.mjs";
import { SECOND, at, block, group, markerBlock, onServer, ownServer, restore, snapshot } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const mayfly = { only: "mayfly" };
const MARKED = { subject_delete_marker_ttl: SECOND };
const KEPT = { subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 };
const ttl = (v = "1") => ({ "Nats-TTL": v });

// Waits until a message that comes now has run its second: what was due before it is overdue.
async function overdue(c) {
  const clock = c.another();
  await clock.create({ allow_msg_ttl: true });
  await clock.gone(await clock.pub("tick", "x", ttl()));
}
// Stops the server in order and starts it again; the stream on the new connection.
async function again(t, s, c) {
  await c.nc.close();
  await s.restart();
  return (await onServer(t, s)).stream(c.id);
}

// --- known mistakes --------------------------------------------------------------------------------------

scenario("1: never outlives max_age over a restart", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("NEVER");
  await c.create({ allow_msg_ttl: true, max_age: SECOND });
  const kept = await c.pub("a", "x", ttl("never"));
  await c.gone(await c.pub("b", "x"));
  assert.ok(await c.get(kept));
  c = await again(t, s, c);
  assert.equal((await c.get(kept))?.data, isMayfly ? "x" : undefined);
});

check("2: a marker larger than max_msg_size is stored all the same", async (c) => {
  await c.create({ ...KEPT, max_msg_size: 40 });
  const seq = await c.pub("a", "x", ttl());
  await overdue(c);
  if (!isMayfly) return assert.equal((await c.last("a")).seq, seq); // for ever
  assert.equal((await c.marker("a")).hdr, markerBlock("MaxAge", "1m0s"));
});

for (const [what, over] of [["max_msgs", { max_msgs: 1 }], ["max_bytes", { max_bytes: 70 }]])
  check(`3: discard new and ${what} reached: expired keys go, their markers come`, async (c) => {
    await c.create({ ...KEPT, discard: "new", ...over });
    const seq = await c.pub("a", "x", ttl());
    await c.refused("b", [503, 10077, what === "max_msgs" ? "maximum messages exceeded" : "maximum bytes exceeded"], "x".repeat(20));
    await overdue(c);
    // nats-server lets a replacement pass max_msgs, so only bytes stand in its marker's way.
    if (!isMayfly && what === "max_bytes") return assert.equal((await c.last("a")).seq, seq);
    assert.equal((await c.marker("a")).seq, seq + 1);
  });

check("3: the same without a limit per subject", mayfly, async (c) => {
  await c.create({ ...MARKED, discard: "new", max_msgs: 2 });
  await c.pub("a", "x", ttl());
  await c.pub("b", "x", ttl());
  await c.marker("a");
  await c.marker("b");
  await c.empty();
});

scenario("4: a full server still lets go of what has expired", mayfly, async (t) => {
  const { stream } = await ownServer(t, { block: "max_file_store: 100000" });
  const c = stream("FULL");
  await c.create(MARKED);
  await until("a full store", async () => (await c.ack("a", "x".repeat(20000), ttl("2"))).error);
  await c.empty();
  await c.pub("a", "x".repeat(20000));
});

check("5: sealed with markers: what has a TTL leaves, and a marker says so", mayfly, async (c) => {
  await c.create(KEPT);
  await c.pub("a", "x", ttl());
  const { config } = await c.update({ ...KEPT, sealed: true });
  assert.deepEqual([config.sealed, config.deny_purge], [true, true]);
  await c.marker("a");
});

check("5: sealed without markers: what has a TTL leaves", async (c) => {
  await c.create({ allow_msg_ttl: true });
  await c.pub("a", "x", ttl());
  await c.update({ allow_msg_ttl: true, sealed: true });
  await c.empty();
});

scenario("5: a sealed stream's configuration is the same after a restart", mayfly, async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("SEALED");
  await c.create(KEPT);
  await c.pub("a", "x");
  await c.update({ ...KEPT, sealed: true });
  const before = (await c.info()).config;
  c = await again(t, s, c);
  assert.deepEqual((await c.info()).config, before);
});

check("6: a counter stream with markers is refused, not lost later", async (c) => {
  if (!isMayfly) return c.create({ ...MARKED, allow_msg_counter: true }); // accepted, and gone after a restart
  await c.refusedConfig({ ...MARKED, allow_msg_counter: true }, [500, 10052, "counter stream cannot use message TTLs"]);
});

check("7: a transform whose result it matches again leaves the marker where the value was", mayfly, async (c) => {
  await c.create({ ...KEPT, subject_transform: { src: c.subject("j.>"), dest: c.subject("j.x.>") } });
  const seq = await c.pub("j.a", "x", ttl("3"));
  assert.equal((await c.get(seq)).subject, c.subject("j.x.a"));
  assert.equal((await c.marker("j.x.a")).seq, seq + 1);
  await overdue(c);
  const st = await c.state();
  assert.deepEqual([st.messages, st.last_seq, st.num_subjects], [1, seq + 1, 1]);
});

check("9: a TTL too large for a date is no reason to die", mayfly, async (c) => {
  await c.create({ allow_msg_ttl: true });
  const seq = await c.pub("a", "x", ttl("9223372036854775807"));
  await overdue(c);
  assert.ok(await c.get(seq));
});

check("10: 00 is no TTL, a trailing space is an error", async (c) => {
  await c.create({ allow_msg_ttl: true });
  await c.pub("a", "x", ["Nats-TTL: 00"]);
  await c.refused("a", [400, 10165, "invalid per-message TTL"], "x", ["Nats-TTL: 5 "]);
});

check("11: what has expired is not there, in any answer, from its last moment on", mayfly, async (c) => {
  await c.create({ allow_msg_ttl: true });
  await c.pub("first", "x", ttl("5m"));
  await c.pub("a", "x", ttl());
  const due = Date.now() + 1010; // it was stored before; ten for two clocks of one machine
  const looks = {
    get: async () => !!(await c.get(2)),
    last: async () => !!(await c.last("a")),
    next: async () => !!(await c.get({ seq: 2, next_by_subj: c.subject("*") })),
    direct: async () => (await c.direct({ seq: 2 })).status !== 404,
    "direct last": async () => (await c.direct("a")).status !== 404,
    messages: async () => (await c.state()).messages === 2,
    subjects: async () => c.subject("a") in (await c.state({ subjects_filter: ">" })).subjects,
    bytes: async () => (await c.state()).bytes > 30 + c.subject("first").length + 1 + 4 + block("Nats-TTL: 5m").length,
    expected: async () => !!(await c.ack("a", "x".repeat(9), { "Nats-Expected-Last-Subject-Sequence": 2, "Nats-TTL": "bad" })).error?.description.includes("invalid"),
  };
  await Promise.all(Object.entries(looks).map(([name, look]) => until(`the end in ${name}`, async () => {
    const asked = Date.now();
    const there = await look();
    assert.ok(!there || asked < due, `${name}: asked ${asked - due} ms after its end, and there it was`);
    return !there;
  })));
});

check("12: a TTL on a newer value uncovers the older one, without a marker", async (c) => {
  await c.create(MARKED);
  await c.pub("a", "old");
  const seq = await c.pub("a", "new", ttl());
  await c.gone(seq);
  assert.deepEqual([(await c.last("a")).data, (await c.state()).last_seq], ["old", seq]);
});

check("13: a KV DEL with a TTL leaves nothing when it goes", mayfly, async (c) => {
  await c.create({ ...KEPT, subjects: [`$KV.${c.id}.>`] });
  const seq = await c.pub(`$KV.${c.id}.a`, "", { "KV-Operation": "DEL", ...ttl() });
  assert.equal((await c.empty()).last_seq, seq);
});

check("15: Remove and Purge markers exist", mayfly, async (c) => {
  await c.create(KEPT);
  await c.pub("a", "x");
  await c.pub("b", "x");
  await c.remove(1);
  await c.purge({ filter: c.subject("b") });
  assert.deepEqual([(await c.last("a")).hdr, (await c.last("b")).hdr], [markerBlock("Remove", "1m0s"), markerBlock("Purge", "1m0s")]);
});

// Seen once on nats-server: a marker behind a write that came in the same moment.
check("16: a write that races with an expiry is never lost", mayfly, async (c) => {
  await c.create({ ...MARKED, max_msgs_per_subject: 5 });
  const keys = Array.from({ length: 200 }, (_, i) => `k.${i}`);
  const due = Date.now() + 1000;
  const born = await Promise.all(keys.map((k) => c.pub(k, "old", ttl())));
  // Around the last moment: some come before it, some after.
  const wrote = await Promise.all(keys.map(async (k, i) => {
    await until("its moment", () => Date.now() >= due - 20 + (i % 100));
    return c.pub(k, `new ${k}`);
  }));
  await Promise.all(born.map((seq) => c.gone(seq)));
  await overdue(c); // markers, where there were some, are gone too
  for (const [i, k] of keys.entries()) {
    const m = await c.last(k);
    assert.deepEqual([m?.seq, m?.data], [wrote[i], `new ${k}`]);
  }
  assert.equal((await c.state()).messages, keys.length);
});

check("17: thousands of never at the head do not stand in the way of those that age", async (c) => {
  await c.create({ allow_msg_ttl: true, max_age: SECOND });
  await Promise.all(Array.from({ length: 3000 }, (_, i) => c.pub(`n.${i}`, "x", ttl("never"))));
  const seq = await c.pub("a", "x");
  await c.gone(seq);
  assert.equal((await c.state()).messages, 3000);
});

check("18: a marker TTL's fraction is kept in the configuration, whole seconds are used", async (c) => {
  const { config } = await c.create({ subject_delete_marker_ttl: 1.5 * SECOND, max_msgs_per_subject: 1 });
  assert.equal(config.subject_delete_marker_ttl, 1.5 * SECOND);
  await c.pub("a", "x", ttl());
  assert.equal((await c.marker("a")).hdr, markerBlock("MaxAge", "1s"));
});

check("19: a restore leaves out what has expired meanwhile and keeps the rest", async (c) => {
  await c.create({ allow_msg_ttl: true });
  await c.pub("a", "1", ttl());
  await c.pub("b", "2", ttl("never"));
  await c.pub("c", "3", ttl("1h"));
  await c.pub("d", "4", ["H: v"]);
  const snap = await snapshot(c);
  await c.gone(1);
  assert.equal((await c.api(`STREAM.DELETE.${c.id}`)).success, true);
  const r = await restore(c, snap);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  assert.equal(await c.get(1), undefined);
  assert.deepEqual([(await c.get(2)).data, (await c.get(3)).data, (await c.get(4)).hdr], ["2", "3", block("H: v")]);
  assert.deepEqual([(await c.state()).messages, (await c.state()).last_seq], [3, 4]);
  assert.equal(await c.pub("a", "5"), 5);
});

check("19: one bad TTL in a snapshot does not stop the restore", async (c) => {
  const born = Date.now() - 5000;
  const of = (seq, name, value) => ({ subject: c.subject(name), seq, time: born, hdr: block(`Nats-TTL: ${value}`), data: "x" });
  const snap = archive(c.config({ allow_msg_ttl: true }), [of(3, "a", "1h"), of(4, "b", "bad"), of(6, "c", "2s"), of(7, "d", "1m")]);
  if (!isMayfly) return assert.rejects(async () => assert.equal((await restore(c, snap)).error, undefined)); // all is lost
  assert.equal((await restore(c, snap)).error, undefined);
  const st = await c.state();
  assert.deepEqual([st.messages, st.first_seq, st.last_seq], [3, 3, 7]);
  assert.equal((await c.get(4)).hdr, block("Nats-TTL: bad"));
  assert.equal(await c.get(6), undefined);
});

check("19: a restored message has its old time, so its old deadline", async (c) => {
  const born = Date.now() - 60_000;
  const of = (seq, name, value) => ({ subject: c.subject(name), seq, time: born, hdr: block(`Nats-TTL: ${value}`), data: "x" });
  const snap = archive(c.config({ allow_msg_ttl: true }), [of(1, "a", "1h"), of(2, "b", "62s"), of(3, "c", "never")]);
  const r = await restore(c, snap);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  assert.equal(at(await c.get(1)), born);
  await c.gone(2);
  assert.ok(Date.now() >= born + 62_000);
  assert.equal((await c.state()).messages, 2);
});

scenario("20: ids of expired messages are known after a restart", mayfly, async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("IDS");
  await c.create({ allow_msg_ttl: true });
  const seq = await c.pub("a", "x", { ...ttl(), "Nats-Msg-Id": "i" });
  await c.gone(seq);
  c = await again(t, s, c);
  assert.deepEqual(await c.ack("a", "x", { "Nats-Msg-Id": "i" }), { stream: "IDS", seq, duplicate: true });
});

check("21: a bad TTL is called bad, also where TTLs are off", async (c) => {
  await c.create();
  await c.refused("a", [400, 10165, "invalid per-message TTL"], "x", ttl("bad"));
});

scenario("22: first_seq changed by update does not empty the stream at the next start", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("FIRST");
  await c.create();
  for (let i = 0; i < 5; i++) await c.pub("a", String(i));
  const r = await c.api("STREAM.UPDATE.FIRST", c.config({ first_seq: 4 })); // refused or not
  assert.ok(!r.error || isMayfly);
  c = await again(t, s, c);
  assert.equal((await c.state()).messages, isMayfly ? 5 : 0);
});

check("23: deadlines that share a slot of a 4096 s wheel do not share a fate", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const rest = [];
  for (const v of [4096, 4097, 4098, 8193, 16777217, 268435457]) rest.push(await c.pub("a", String(v), ttl(v)));
  await c.gone(await c.pub("a", "1", ttl()));
  await c.gone(await c.pub("a", "2", ttl("2")));
  for (const seq of rest) assert.ok(await c.get(seq));
});

// --- mended long ago -----------------------------------------------------------------------------------------

scenario("past: a TTL is honoured after an orderly restart, also that of the very last message", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("AGAIN");
  await c.create({ allow_msg_ttl: true });
  const early = await c.pub("a", "x", ttl("2"));
  const kept = await c.pub("b", "x");
  const born = Date.now();
  const last = await c.pub("c", "x", ttl("2"));
  c = await again(t, s, c);
  await Promise.all([c.gone(early), c.gone(last)]);
  assert.ok(Date.now() >= born + 2000);
  assert.ok(await c.get(kept));
  // And one that comes after the restart.
  await c.gone(await c.pub("d", "x", ttl()));
});

scenario("past: max_age at the start leaves markers", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("AGED");
  await c.create({ subject_delete_marker_ttl: SECOND, max_age: SECOND });
  await c.pub("a", "x");
  const due = Date.now() + 1010;
  await c.nc.close();
  await s.stop();
  await until("its age", () => Date.now() > due);
  await s.startAgain();
  c = (await onServer(t, s)).stream("AGED");
  const m = await until("a trace", async () => {
    const st = await c.state();
    return st.last_seq === 2 && ((await c.get(2)) ?? "came and went");
  });
  if (m !== "came and went") assert.equal(m.hdr, markerBlock("MaxAge", "1s"));
  assert.equal(await c.get(1), undefined);
});

check("past: the header is rewritten when the floor is applied", async (c) => {
  await c.create({ subject_delete_marker_ttl: 10 * SECOND });
  assert.equal((await c.get(await c.pub("a", "x", ["Nats-TTL: 2s", "A: b"]))).hdr, block("A: b", "Nats-TTL: 10"));
});

check("past: no marker on a KV PURGE", async (c) => {
  await c.create({ ...MARKED, subjects: [`$KV.${c.id}.>`] });
  await c.pub(`$KV.${c.id}.a`, "v");
  const seq = await c.pub(`$KV.${c.id}.a`, "", { "KV-Operation": "PURGE", "Nats-Rollup": "sub", ...ttl() });
  assert.equal((await c.empty()).last_seq, seq);
});

check("past: no marker in between when several of a subject expire, in order or not", async (c) => {
  await c.create(MARKED);
  await Promise.all(["1s", "2s", "1s", "3s", "2s"].map((v) => c.pub("a", "x", ttl(v))));
  const m = await c.marker("a");
  assert.equal(m.seq, 6);
  assert.equal((await c.empty()).last_seq, 6);
});

check("past: no marker if a newer message came before a delayed removal", async (c) => {
  await c.create(MARKED);
  const due = Date.now() + 1000;
  const one = await c.pub("a", "x", ttl());
  await until("almost its moment", () => Date.now() > due - 50);
  const two = await c.pub("a", "y", ttl("never"));
  await c.gone(one);
  await overdue(c);
  // Whichever came first: the value is there, and it is the last one.
  assert.equal((await c.last("a")).seq, two);
});

check("past: a direct get of a marker has its headers", async (c) => {
  await c.create(KEPT);
  await c.pub("a", "x", ttl());
  const m = await c.marker("a");
  const d = await c.direct({ seq: m.seq });
  assert.deepEqual([d.headers.get("Nats-Marker-Reason"), d.headers.get("Nats-TTL"), d.headers.get("Nats-Sequence")], ["MaxAge", "1m0s", String(m.seq)]);
});

check("past: enabling TTLs later makes stored headers live, from their own timestamps", async (c) => {
  const born = Date.now() - 60_000;
  const of = (seq, value) => ({ subject: c.subject("a"), seq, time: born, hdr: block(`Nats-TTL: ${value}`), data: "x" });
  const r = await restore(c, archive(c.config(), [of(1, "63s"), of(2, "1h"), of(3, "never")]));
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  assert.equal((await c.info()).config.allow_msg_ttl, false);
  await until("the end of the first", () => Date.now() > born + 63_000);
  await overdue(c);
  assert.equal((await c.get(1)).data, "x", "with TTLs off it is just stored");
  await c.update({ allow_msg_ttl: true });
  await c.gone(1);
  assert.deepEqual([(await c.get(2)).data, (await c.state()).messages], ["x", 2]);
});

scenario("past: a malformed file of deadlines is ignored: they are read from the messages", async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("TORN");
  await c.create({ subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 });
  await c.pub("a", "x", ttl("2"));
  await c.pub("b", "x", ttl("1h"));
  await c.pub("c", "x", ttl("never"));
  await c.nc.close();
  await s.stop();
  const spoilt = filesOf(s.file("js")).filter((f) => (isMayfly ? /checkpoint$/ : /thw\.db$/).test(f));
  assert.ok(spoilt.length > 0, "there is such a file");
  for (const f of spoilt) fs.writeFileSync(f, Buffer.alloc(fs.statSync(f).size, 0xa5));
  await s.startAgain();
  c = (await onServer(t, s)).stream("TORN");
  assert.equal((await c.marker("a")).seq, 4);
  assert.deepEqual([(await c.last("b")).seq, (await c.last("c")).seq, (await c.state()).messages], [2, 3, 3]);
});

function filesOf(dir) {
  return fs.readdirSync(dir, { withFileTypes: true }).flatMap((e) => (e.isDirectory() ? filesOf(path.join(dir, e.name)) : [path.join(dir, e.name)]));
}
