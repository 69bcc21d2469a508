// markers.mjs: the message that says that a subject has lost its last one.
import assert from "node:assert/strict";
import { Kvm } from "@nats-io/kv";
import { headers } from "@nats-io/transport-node";
import { SECOND, at, group, markerBlock } from "./lib/js.mjs";
import { isMayfly } from "./lib/server.mjs";
import { collect } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const MARKED = { subject_delete_marker_ttl: SECOND };
const KEPT = { subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 }; // markers that stay to be looked at
const ttl = (v = "1") => ({ "Nats-TTL": v });

// Waits until a message that came later has run its time, so that what should not happen could have happened.
async function meanwhile(c) {
  const clock = c.another();
  await clock.create({ allow_msg_ttl: true });
  await clock.gone(await clock.pub("tick", "x", ttl()));
}

// --- what creates one ----------------------------------------------------------------------------------

check("by Nats-TTL and by max_age, with the same reason", async (c) => {
  const aged = c.another();
  await c.create(KEPT);
  await aged.create({ ...MARKED, max_age: SECOND });
  await c.pub("a", "x", ttl());
  await aged.pub("a", "x");
  assert.equal((await c.marker("a")).hdr, markerBlock("MaxAge", "1m0s"));
  assert.equal((await aged.marker("a")).hdr, markerBlock("MaxAge", "1s"));
});

check("one for each subject, none for a subject that has another message", async (c) => {
  await c.create(MARKED);
  const a = await c.pub("a", "x", ttl());
  await c.pub("b", "older");
  const b = await c.pub("b", "x", ttl());
  const d = await c.pub("d", "x", ttl());
  await c.pub("d", "newer");
  await c.marker("a");
  await Promise.all([a, b, d].map((seq) => c.gone(seq)));
  assert.equal((await c.last("b")).data, "older");
  assert.equal((await c.last("d")).data, "newer");
  assert.equal((await c.state()).last_seq, 6);
});

check("several of one subject expire together, or in reverse: one marker, after the last", async (c) => {
  const reverse = c.another();
  await Promise.all([c.create({ ...MARKED, max_msgs_per_subject: 10 }), reverse.create(MARKED)]);
  for (let i = 0; i < 5; i++) await c.pub("a", "x", ttl());
  for (const v of ["3s", "2s", "1s"]) await reverse.pub("a", "x", ttl(v));
  assert.equal((await c.marker("a")).seq, 6);
  assert.equal((await reverse.marker("a")).seq, 4);
  assert.equal((await c.empty()).last_seq, 6);
  assert.equal((await reverse.empty()).last_seq, 4);
});

check("one that follows other deaths closely is republished too", async (c) => {
  await Promise.all(Array.from({ length: 20 }, async () => {
    const one = c.another();
    await one.create({ ...MARKED, max_msgs_per_subject: 10 });
    for (let i = 0; i < 5; i++) await one.pub("a", "x", ttl());
    assert.equal((await one.marker("a")).seq, 6);
  }));
});

check("an expiring KV DEL: a tombstone is no news; 2.15.1 marks it", { strict: true }, async (c) => {
  const kv = { ...KEPT, subjects: [`$KV.${c.id}.>`] };
  await c.create(kv);
  const key = `$KV.${c.id}.k`;
  const seq = await c.pub(key, "", { "KV-Operation": "DEL", ...ttl() });
  if (c.strict) return assert.equal((await c.marker(key)).seq, seq + 1);
  assert.equal((await c.empty()).last_seq, seq);
});

for (const [what, lines] of [
  ["KV PURGE", ["KV-Operation: PURGE"]],
  ["a foreign marker", ["Nats-Marker-Reason: MaxAge"]],
  ["a marker with a reason of its own", ["Nats-Marker-Reason: Whatever"]],
])
  check(`an expiring ${what} earns no marker`, async (c) => {
    await c.create(MARKED);
    const seq = await c.pub("a", "", [...lines, "Nats-TTL: 1"]);
    assert.equal((await c.empty()).last_seq, seq);
  });

for (const [what, lines] of [
  ["KV-Operation: purge", ["KV-Operation: purge"]],
  ["kv-operation: PURGE", ["kv-operation: PURGE"]],
  ["KV-Operation: PUT", ["KV-Operation: PUT"]],
  ["an empty Nats-Marker-Reason", ["Nats-Marker-Reason: "]],
])
  check(`${what} is no tombstone`, async (c) => {
    await c.create(KEPT);
    const seq = await c.pub("a", "x", [...lines, "Nats-TTL: 1"]);
    assert.equal((await c.marker("a")).seq, seq + 1);
  });

// --- what does not ---------------------------------------------------------------------------------------

check("no marker for max_msgs, max_bytes, per-subject limits and roll-ups", async (c) => {
  const cases = [{ max_msgs: 1 }, { max_bytes: 60 }, { max_msgs_per_subject: 1 }];
  await Promise.all(cases.map(async (over) => {
    const one = c.another();
    await one.create({ ...over, ...MARKED });
    for (const name of over.max_msgs_per_subject ? ["a", "a", "a"] : ["a", "b", "c"]) await one.pub(name, "x".repeat(10));
    const st = await one.state();
    assert.deepEqual([st.messages, st.last_seq], [1, 3]);
  }));
  const rolled = c.another();
  await rolled.create(MARKED);
  await rolled.pub("a", "x");
  await rolled.pub("b", "x", { "Nats-Rollup": "all" });
  assert.equal((await rolled.state()).last_seq, 2);
});

check("no marker for purges of the whole stream, below a sequence, or but for some", async (c) => {
  await c.create(KEPT);
  for (const n of ["a", "b", "c", "d"]) await c.pub(n, "x");
  assert.equal((await c.purge({ seq: 2 })).purged, 1);
  assert.equal((await c.purge({ keep: 2 })).purged, 1);
  assert.equal((await c.purge()).purged, 2);
  const st = await c.state();
  assert.deepEqual([st.messages, st.last_seq, st.first_seq], [0, 4, 5]);
});

check("PURGE knows no flag no_markers", async (c) => {
  await c.create(MARKED);
  assert.deepEqual((await c.purge({ no_markers: true })).error, { code: 400, err_code: 10025, description: 'invalid JSON: json: unknown field "no_markers"' });
});

check("a marker's own end is silent", async (c) => {
  await c.create(MARKED);
  await c.pub("a", "x", ttl());
  const m = await c.marker("a");
  await c.gone(m.seq);
  await meanwhile(c);
  const st = await c.state();
  assert.deepEqual([st.messages, st.last_seq, st.first_seq], [0, m.seq, m.seq + 1]);
});

check("no marker if a newer message comes before the end", async (c) => {
  await c.create(MARKED);
  const one = await c.pub("a", "x", ttl());
  const two = await c.pub("a", "y");
  await c.gone(one);
  await meanwhile(c);
  assert.deepEqual([(await c.last("a")).seq, (await c.state()).last_seq], [two, two]);
});

// --- its exact form ------------------------------------------------------------------------------------------

for (const [seconds, text] of [[1, "1s"], [2, "2s"], [30, "30s"], [60, "1m0s"], [90, "1m30s"], [3600, "1h0m0s"], [3661, "1h1m1s"], [90061, "25h1m1s"], [1.5, "1s"]])
  check(`a marker TTL of ${seconds} s is written ${text}`, async (c) => {
    await c.create({ subject_delete_marker_ttl: seconds * SECOND, max_msgs_per_subject: 1 });
    const seq = await c.pub("a.b", "payload", ["Own: header", "Nats-TTL: 1"]);
    const m = await c.marker("a.b");
    assert.equal(m.hdr, markerBlock("MaxAge", text));
    assert.deepEqual([m.data, m.subject, m.seq], ["", c.subject("a.b"), seq + 1]);
    assert.equal(await c.get(seq), undefined);
  });

// Mayfly hides a value at its deadline; the marker follows, so for a moment there may be neither.
check("its time is the time it was made; the value is never seen beside it", async (c) => {
  await c.create(KEPT);
  const born = Date.now();
  const seq = await c.pub("a", "x", ttl());
  const m = await until("the marker", async () => {
    const { messages } = await c.state();
    const now = await c.last("a");
    assert.ok(messages === 1 || (isMayfly && messages === 0), `${messages} messages`);
    assert.ok(now || isMayfly, "there is always one of the two");
    return now && now.seq !== seq && now;
  });
  assert.equal(await c.get(seq), undefined);
  assert.ok(at(m) >= born + 1000);
  assert.equal((await c.state()).messages, 1);
  assert.equal((await c.state()).last_ts, m.time);
});

check("read by direct get, by MSG.GET and by nats.js, with all its headers", async (c) => {
  await c.create(KEPT);
  await c.pub("a", "x", ttl());
  const m = await c.marker("a");
  const expected = [["Nats-Marker-Reason", "MaxAge"], ["Nats-TTL", "1m0s"], ["Nats-Rollup", "sub"]];
  const place = [["Nats-Stream", c.id], ["Nats-Subject", c.subject("a")], ["Nats-Sequence", String(m.seq)], ["Nats-Time-Stamp", m.time]];
  for (const query of ["a", { seq: m.seq }, { last_by_subj: c.subject("a") }, { next_by_subj: c.subject("*") }]) {
    const d = await c.direct(query);
    assert.deepEqual([...d.headers].map(([k, v]) => [k, v[0]]), [...expected, ...place]);
    assert.equal(d.data, "");
  }
  const stored = await c.jsm.streams.getMessage(c.id, { last_by_subj: c.subject("a") });
  assert.deepEqual([...stored.header].map(([k, v]) => [k, v[0]]), expected);
  assert.equal(stored.data.length, 0);
  const direct = await c.jsm.direct.getMessage(c.id, { seq: m.seq });
  assert.equal(direct.header.get("Nats-Marker-Reason"), "MaxAge");
  assert.equal(direct.data.length, 0);
});

check("republished like any message", async (c) => {
  await c.create({ ...KEPT, republish: { src: ">", dest: `rep.${c.id}.>` } });
  const got = collect(c.nc, `rep.${c.id}.>`);
  await c.nc.flush();
  const seq = await c.pub("a", "x", ttl());
  await until("the marker", () => got.length === 2);
  const m = await c.last("a");
  assert.deepEqual([...got[1].headers].map(([k, v]) => `${k}: ${v}`), ["Nats-Marker-Reason: MaxAge", "Nats-TTL: 1m0s", "Nats-Rollup: sub", `Nats-Stream: ${c.id}`,
    `Nats-Subject: ${c.subject("a")}`, `Nats-Sequence: ${m.seq}`, `Nats-Time-Stamp: ${m.time}`, `Nats-Last-Sequence: ${seq}`]);
  assert.equal(got[1].subject, `rep.${c.id}.${c.subject("a")}`);
  assert.equal(got[1].data.length, 0);
});

check("many at once: each subject has exactly one", async (c) => {
  await c.create({ ...KEPT });
  const n = 500;
  await Promise.all(Array.from({ length: n }, (_, i) => c.pub(`k.${i}`, "x", ttl())));
  const st = await until("all markers", async () => {
    const now = await c.state();
    return now.last_seq === 2 * n && now;
  });
  assert.deepEqual([st.messages, st.num_subjects, st.first_seq], [n, n, n + 1]);
  const seen = new Set();
  for (let seq = n + 1; seq <= 2 * n; seq += 17) seen.add((await c.get(seq)).subject);
  assert.equal(seen.size, Math.ceil(n / 17));
});

// --- its life -----------------------------------------------------------------------------------------------------

check("it lives its own TTL from the moment it was made, or max_age if that is sooner", async (c) => {
  const aged = c.another();
  await Promise.all([c.create({ subject_delete_marker_ttl: 2 * SECOND, max_msgs_per_subject: 1 }), aged.create({ subject_delete_marker_ttl: 5 * SECOND, max_age: SECOND })]);
  await c.pub("a", "x", ttl());
  await aged.pub("a", "x");
  const m = await c.marker("a");
  await aged.gone((await aged.marker("a")).seq);
  await c.gone(m.seq);
  assert.ok(Date.now() - at(m) >= 2000);
});

check("a new value beside it: both stay, the marker goes alone", async (c) => {
  await c.create(MARKED);
  await c.pub("a", "x", ttl());
  const m = await c.marker("a");
  const seq = await c.pub("a", "new");
  await c.gone(m.seq);
  assert.equal((await c.last("a")).seq, seq);
  assert.equal((await c.state()).last_seq, seq);
});

check("with one message per subject a new value replaces it", async (c) => {
  await c.create(KEPT);
  await c.pub("a", "x", ttl());
  const m = await c.marker("a");
  const seq = await c.pub("a", "new", { "Nats-Expected-Last-Subject-Sequence": m.seq });
  assert.equal(await c.get(m.seq), undefined);
  assert.deepEqual([(await c.state()).messages, (await c.last("a")).seq], [1, seq]);
});

check("after it the subject is unknown", async (c) => {
  await c.create({ ...MARKED, max_msgs_per_subject: 1 });
  await c.pub("a", "x", ttl());
  await c.gone((await c.marker("a")).seq);
  assert.equal((await c.direct("a")).status, 404);
  assert.equal((await c.state({ subjects_filter: ">" })).subjects, undefined);
  await c.pub("a", "x", { "Nats-Expected-Last-Subject-Sequence": 0 });
});

check("switched on, changed and off by update; markers that exist keep their TTL", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const none = await c.pub("a", "x", ttl());
  await c.gone(none);
  await c.update({ subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 });
  await c.pub("a", "x", ttl());
  const kept = await c.marker("a");
  await c.update({ subject_delete_marker_ttl: SECOND, max_msgs_per_subject: 1 });
  await c.pub("b", "x", ttl());
  await c.gone((await c.marker("b")).seq);
  assert.equal((await c.get(kept.seq)).hdr, markerBlock("MaxAge", "1m0s"));
  const { config } = await c.update({ allow_msg_ttl: true, max_msgs_per_subject: 1 });
  assert.deepEqual([config.subject_delete_marker_ttl, config.allow_rollup_hdrs], [undefined, false]);
  const last = await c.pub("c", "x", ttl());
  await c.gone(last);
  assert.equal((await c.state()).last_seq, last);
  assert.ok(await c.get(kept.seq));
});

check("discard new per subject does not stop it", async (c) => {
  await c.create({ ...MARKED, max_msgs_per_subject: 1, discard: "new", discard_new_per_subject: true });
  await c.pub("a", "x", ttl());
  await c.refused("a", [503, 10077, "maximum messages per subject exceeded"], "y");
  await c.marker("a");
});

check("interest retention without interest: nothing is stored, so nothing is marked", async (c) => {
  await c.create({ ...MARKED, retention: "interest" });
  await c.pub("a", "x", ttl());
  await meanwhile(c);
  assert.deepEqual([(await c.state()).messages, (await c.state()).last_seq], [0, 1]);
});

check("workqueue retention: an unread message that expires is marked", async (c) => {
  await c.create({ ...KEPT, retention: "workqueue" });
  const seq = await c.pub("a", "x", ttl());
  assert.equal((await c.marker("a")).seq, seq + 1);
});

// --- Remove and Purge, Mayfly's own ------------------------------------------------------------------------------------

const own = { strict: true };

check("MSG.DELETE of the last message of a subject leaves Remove", own, async (c) => {
  await c.create(KEPT);
  const [a, b] = [await c.pub("a", "x"), await c.pub("b", "x")];
  assert.equal((await c.remove(a)).success, true);
  assert.equal((await c.remove(b, { no_erase: true })).success, true);
  const st = await c.state();
  if (c.strict) return assert.deepEqual([st.messages, st.last_seq], [0, 2]);
  assert.deepEqual([st.messages, st.last_seq, st.first_seq], [2, 4, 3]);
  assert.equal((await c.last("a")).hdr, markerBlock("Remove", "1m0s"));
  assert.equal((await c.last("b")).hdr, markerBlock("Remove", "1m0s"));
});

check("MSG.DELETE of one of several leaves nothing", async (c) => {
  await c.create(MARKED);
  for (let i = 0; i < 3; i++) await c.pub("a", "x");
  await c.remove(3);
  await c.remove(1);
  assert.deepEqual([(await c.state()).messages, (await c.state()).last_seq], [1, 3]);
});

check("MSG.DELETE of a marker or a tombstone leaves nothing", async (c) => {
  await c.create(KEPT);
  await c.pub("a", "x", ttl());
  const m = await c.marker("a");
  const kv = await c.pub("b", "", { "KV-Operation": "PURGE" });
  await c.remove(m.seq);
  await c.remove(kv);
  assert.deepEqual([(await c.state()).messages, (await c.state()).last_seq], [0, kv]);
});

check("a purge with a filter leaves Purge on each subject it emptied", own, async (c) => {
  await c.create({ subject_delete_marker_ttl: 60 * SECOND });
  for (const n of ["k.a", "k.b", "k.a", "other", "k.c.d"]) await c.pub(n, "x");
  assert.equal((await c.purge({ filter: c.subject("k.*") })).purged, 3);
  const st = await c.state();
  if (c.strict) return assert.deepEqual([st.messages, st.last_seq], [2, 5]);
  assert.deepEqual([st.messages, st.last_seq], [4, 7]);
  for (const n of ["k.a", "k.b"]) assert.equal((await c.last(n)).hdr, markerBlock("Purge", "1m0s"));
  // Once more: only markers are left of them, and those leave nothing.
  assert.equal((await c.purge({ filter: c.subject("k.*") })).purged, 2);
  assert.deepEqual([(await c.state()).messages, (await c.state()).last_seq], [2, 7]);
});

check("a purge with a filter that keeps some marks only what it emptied", own, async (c) => {
  await c.create({ subject_delete_marker_ttl: 60 * SECOND });
  for (const n of ["k.a", "k.b", "k.a"]) await c.pub(n, "x");
  assert.equal((await c.purge({ filter: c.subject("k.*"), seq: 3 })).purged, 2);
  assert.equal((await c.last("k.a")).data, "x");
  if (c.strict) return assert.equal(await c.last("k.b"), undefined);
  assert.equal((await c.last("k.b")).hdr, markerBlock("Purge", "1m0s"));
  assert.equal((await c.state()).last_seq, 4);
});

check("markers of delete and purge end after the stream's marker TTL", { only: "mayfly" }, async (c) => {
  await c.create(MARKED);
  await c.pub("a", "x");
  await c.pub("b", "x");
  await c.remove(1);
  await c.purge({ filter: c.subject("b") });
  const [a, b] = [await c.marker("a"), await c.marker("b")];
  assert.deepEqual([a.hdr, b.hdr], [markerBlock("Remove", "1s"), markerBlock("Purge", "1s")]);
  assert.equal((await c.empty()).last_seq, 4);
  assert.ok(Date.now() - at(b) >= 1000);
});

check("on KV subjects markers also say KV-Operation, so that every client reads them right", own, async (c) => {
  await c.create({ ...KEPT, subjects: [`$KV.${c.id}.>`], allow_rollup_hdrs: true });
  const key = (k) => `$KV.${c.id}.${k}`;
  for (const k of ["a", "b", "c"]) await c.pub(key(k), "x", k === "c" ? ttl() : undefined);
  await c.remove(1);
  await c.purge({ filter: key("b") });
  if (c.strict) {
    assert.equal((await c.state()).num_subjects, 1);
    return assert.equal((await c.marker(key("c"))).hdr, markerBlock("MaxAge", "1m0s"));
  }
  const expected = { a: ["Remove", "DEL"], b: ["Purge", "PURGE"] };
  for (const [k, [reason, op]] of Object.entries(expected)) {
    const m = await c.jsm.direct.getMessage(c.id, { last_by_subj: key(k) });
    const h = Object.fromEntries([...m.header].map(([name, v]) => [name, v[0]]));
    for (const own of ["Nats-Stream", "Nats-Subject", "Nats-Sequence", "Nats-Time-Stamp"]) delete h[own];
    assert.deepEqual(h, { "Nats-Marker-Reason": reason, "Nats-TTL": "1m0s", "Nats-Rollup": "sub", "KV-Operation": op });
  }
  assert.equal((await c.marker(key("c"))).hdr, markerBlock("MaxAge", "1m0s", "KV-Operation: PURGE"));
});

check("Remove and Purge are republished too", { only: "mayfly" }, async (c) => {
  await c.create({ ...KEPT, republish: { src: ">", dest: `rep.${c.id}.>` } });
  const got = collect(c.nc, `rep.${c.id}.>`);
  await c.nc.flush();
  await c.pub("a", "x");
  await c.pub("b", "x");
  await c.remove(1);
  await c.purge({ filter: c.subject("b") });
  await until("both", () => got.length === 4);
  assert.deepEqual(got.slice(2).map((m) => [m.headers.get("Nats-Marker-Reason"), m.headers.get("Nats-Last-Sequence")]), [["Remove", "1"], ["Purge", "2"]]);
});

check("without the setting neither delete nor purge leaves anything", async (c) => {
  await c.create({ allow_msg_ttl: true });
  await c.pub("a", "x");
  await c.pub("b", "x");
  await c.remove(1);
  await c.purge({ filter: c.subject("b") });
  assert.deepEqual([(await c.state()).messages, (await c.state()).last_seq], [0, 2]);
});

check("a nats.js client sees the end of its own message", async (c) => {
  await c.create({ ...KEPT, republish: { src: ">", dest: `rep.${c.id}.>` } });
  const sub = c.nc.subscribe(`rep.${c.id}.>`);
  const h = headers();
  h.set("Trace", "1");
  await c.js.publish(c.subject("lock"), "mine", { ttl: "1s", headers: h });
  for await (const m of sub) if (m.headers.get("Nats-Marker-Reason")) break;
  const m = await c.jsm.direct.getMessage(c.id, { last_by_subj: c.subject("lock") });
  assert.equal(m.header.get("Trace"), "", "nothing of the value is left in the marker");
});

// --- the stock KV client, but for its watchers -------------------------------------------------------------------

check("a nats.js bucket: keys with a TTL end as PURGE, and can be created again", async (c) => {
  const kv = await new Kvm(c.nc).create(`B${c.id}`, { history: 1, markerTTL: 60_000 });
  const { config } = (await kv.status()).streamInfo;
  assert.deepEqual([config.allow_msg_ttl, config.subject_delete_marker_ttl, config.allow_rollup_hdrs], [true, 60 * SECOND, true]);
  const rev = await kv.create("key", "value", "1s");
  const end = await until("its end", async () => {
    const e = await kv.get("key");
    return e?.operation === "PURGE" && e;
  });
  assert.deepEqual([end.revision, end.value.length], [rev + 1, 0]);
  assert.equal(await kv.create("key", "again"), rev + 2);
  await assert.rejects(kv.create("key", "too late"), /wrong last sequence/);
  assert.equal((await kv.get("key")).string(), "again");
});

check("a nats.js bucket: a purge with a TTL leaves nothing", async (c) => {
  const kv = await new Kvm(c.nc).create(`B${c.id}`, { history: 5, markerTTL: 1000 });
  await kv.put("key", "1");
  await kv.put("key", "2");
  await kv.purge("key", { ttl: "1s" });
  await until("nothing", async () => (await kv.get("key")) === null);
  assert.equal(await kv.create("key", "3"), 4, "no marker was made");
});

check("a nats.js bucket with a ttl: old keys end as PURGE", async (c) => {
  const kv = await new Kvm(c.nc).create(`B${c.id}`, { ttl: 1000, markerTTL: 60_000 });
  await kv.put("key", "1");
  const ops = new Set();
  await until("nothing", async () => {
    const e = await kv.get("key");
    if (e) ops.add(`${e.operation} ${e.revision}`);
    return e === null; // max_age takes the marker as well
  });
  for (const o of ops) assert.ok(["PUT 1", "PURGE 2"].includes(o), o);
  assert.equal(await kv.create("key", "2"), 3);
});

// What a refusal names can be read: a client that is told of the marker's sequence looks for it at once.
check("creating a key in the moment of its end works, or says which marker is in the way", async (c) => {
  await c.create(KEPT);
  const heirs = [];
  for (let i = 0; i < 100; i++) {
    const name = `k.${i}`;
    await c.pub(name, "x", ttl()); // one after the other: each has a moment of its own
    heirs.push(inherit(c, name));
    heirs.at(-1).catch(() => {}); // it is looked at below
  }
  await Promise.all(heirs);
});
async function inherit(c, name) {
  await until("its end", async () => (await c.last(name))?.data !== "x");
  const a = await c.ack(name, "y", { "Nats-Expected-Last-Subject-Sequence": "0" });
  const now = await c.last(name);
  if (!a.error) return assert.equal(now.seq, a.seq);
  assert.equal(a.error.err_code, 10071);
  assert.equal(a.error.description, `wrong last sequence: ${now?.seq}`, "the marker is there, but cannot be read yet");
}
