// kv.mjs: KV buckets as @nats-io/kv uses them, and watchers that see every change once and in order.
import assert from "node:assert/strict";
import { Kvm, KvWatchInclude } from "@nats-io/kv";
import { headers } from "@nats-io/transport-node";
import { jetstream } from "@nats-io/jetstream";
import { group, ownServer, onServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const check = group();
const bucket = (c, options = {}, name = c.id) => new Kvm(c.js).create(name, { timeout: LIMIT_MS, ...options });
const PATIENT = { reconnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 20, reconnectJitter: 1, waitOnFirstConnect: true };
const LOST_MS = LIMIT_MS / 4; // a request that is lost with its connection is sent again after this

async function all(iter) {
  const got = [];
  for await (const e of await iter) got.push(e);
  return got;
}
const told = (e) => `${e.key} ${e.operation} ${e.string()} ${e.revision}`;

// A watcher that keeps what it is told, as text: key, operation, value, revision.
async function watch(kv, options) {
  const seen = [];
  const iter = await kv.watch(options);
  seen.stop = () => iter.stop();
  seen.entries = [];
  (async () => {
    for await (const e of iter) {
      seen.push(told(e));
      seen.entries.push(e);
    }
  })();
  seen.is = async (...expected) => {
    try {
      await until("the watcher", () => seen.length >= expected.length);
    } catch {
      // the difference says more
    }
    assert.deepEqual([...seen], expected);
  };
  return seen;
}
const putTtl = (c, key, value, ttl) => c.js.publish(`$KV.${c.id}.${key}`, value, { ttl, timeout: LIMIT_MS });

// --- one key -------------------------------------------------------------------------------------

check("put, get, update by revision, delete, purge", async (c) => {
  const kv = await bucket(c, { history: 5 });
  assert.equal(await kv.get("k"), null);
  assert.equal(await kv.put("k", "one"), 1);
  const e = await kv.get("k");
  assert.deepEqual([e.bucket, e.key, e.string(), e.revision, e.operation, e.length], [c.id, "k", "one", 1, "PUT", 3]);
  assert.equal(await kv.update("k", "two", 1), 2);
  await assert.rejects(kv.update("k", "three", 1), /wrong last sequence: 2/);
  assert.equal((await kv.get("k", { revision: 1 })).string(), "one");
  assert.equal(await kv.get("k", { revision: 9 }), null);
  await kv.delete("k");
  assert.deepEqual([(await kv.get("k")).operation, (await kv.get("k")).length], ["DEL", 0]);
  assert.deepEqual((await all(kv.history({ key: "k" }))).map(told), ["k PUT one 1", "k PUT two 2", "k DEL  3"]);
  await kv.purge("k");
  assert.deepEqual((await all(kv.history({ key: "k" }))).map(told), ["k PURGE  4"]);
});

check("create: only when it is not there, or was deleted", async (c) => {
  const kv = await bucket(c);
  assert.equal(await kv.create("k", "one"), 1);
  await assert.rejects(kv.create("k", "two"), /wrong last sequence: 1/);
  await kv.delete("k");
  assert.equal(await kv.create("k", "two"), 3);
  await kv.purge("k");
  assert.equal(await kv.create("k", "three"), 5);
});

check("delete and purge by revision", async (c) => {
  const kv = await bucket(c);
  await kv.put("k", "one");
  await assert.rejects(kv.delete("k", { previousSeq: 9 }), /wrong last sequence: 1/);
  await kv.delete("k", { previousSeq: 1 });
  await assert.rejects(kv.purge("k", { previousSeq: 1 }), /wrong last sequence: 2/);
  await kv.purge("k", { previousSeq: 2 });
  assert.equal((await kv.get("k")).operation, "PURGE");
});

check("history keeps as many as asked", async (c) => {
  const kv = await bucket(c, { history: 3 });
  for (let i = 1; i <= 5; i++) await kv.put("k", `v${i}`);
  await kv.put("other", "x");
  assert.deepEqual((await all(kv.history({ key: "k" }))).map(told), ["k PUT v3 3", "k PUT v4 4", "k PUT v5 5"]);
  assert.equal((await all(kv.history())).length, 4);
});

check("keys: all, by filters, none; deleted ones are not there", async (c) => {
  const kv = await bucket(c);
  assert.deepEqual(await all(kv.keys()), []);
  for (const k of ["a", "a.b", "a.c", "b.c", "x/y=z_-"]) await kv.put(k, "v");
  await kv.delete("b.c");
  assert.deepEqual((await all(kv.keys())).sort(), ["a", "a.b", "a.c", "x/y=z_-"]);
  assert.deepEqual((await all(kv.keys("a.*"))).sort(), ["a.b", "a.c"]);
  assert.deepEqual((await all(kv.keys(["a", "a.c"]))).sort(), ["a", "a.c"]);
  assert.deepEqual(await all(kv.keys("none")), []);
});

check("many keys: each once, the last value of each", async (c) => {
  const kv = await bucket(c, { history: 2 });
  const N = 2000;
  await Promise.all(Array.from({ length: N }, (_, i) => kv.put(`k.${i}`, "old")));
  await Promise.all(Array.from({ length: N }, (_, i) => kv.put(`k.${i}`, `v${i}`)));
  const keys = await all(kv.keys());
  assert.deepEqual([keys.length, new Set(keys).size], [N, N]);
  const seen = await watch(kv);
  await until("all values", () => seen.length >= N);
  assert.ok(seen.entries.every((e) => e.string() === `v${e.key.slice(2)}`));
  assert.equal(seen.entries.filter((e) => e.isUpdate).length, 1); // the last one says: this was all
  assert.ok(seen.entries.every((e, i) => i === 0 || e.revision > seen.entries[i - 1].revision));
  assert.deepEqual(seen.entries.map((e) => e.delta), Array.from({ length: N }, (_, i) => N - 1 - i));
});

check("status, metadata, limits, destroy", async (c) => {
  const kv = await bucket(c, { description: "d", history: 4, ttl: 3600_000, max_bytes: 1 << 20, maxValueSize: 100, metadata: { who: "us" }, compression: true });
  await kv.put("k", "v");
  const st = await kv.status();
  assert.deepEqual([st.bucket, st.values, st.description, st.history, st.ttl, st.max_bytes, st.maxValueSize, st.storage, st.replicas, st.metadata.who, st.compression],
    [c.id, 1, "d", 4, 3600_000, 1 << 20, 100, "file", 1, "us", true]);
  assert.ok(st.size > 0);
  await assert.rejects(kv.put("k", "x".repeat(200)), /message size exceeds maximum allowed/);
  const names = [];
  for await (const s of new Kvm(c.js).list()) names.push(s.bucket);
  assert.ok(names.includes(c.id));
  const again = await new Kvm(c.js).open(c.id);
  assert.equal((await again.get("k")).string(), "v");
  assert.equal(await kv.destroy(), true);
  await assert.rejects(new Kvm(c.js).open(c.id).then((b) => b.status()), /not found/);
});

// --- watching ------------------------------------------------------------------------------------

check("watch: last values, then each put, delete and purge once and in order", async (c) => {
  const kv = await bucket(c, { history: 10 });
  await kv.put("a", "1");
  await kv.put("b", "2");
  await kv.put("a", "3");
  const seen = await watch(kv);
  await seen.is("b PUT 2 2", "a PUT 3 3");
  await kv.put("a", "4");
  await kv.delete("a");
  await kv.put("c", "6");
  await kv.purge("b");
  await kv.create("a", "8");
  await seen.is("b PUT 2 2", "a PUT 3 3", "a PUT 4 4", "a DEL  5", "c PUT 6 6", "b PURGE  7", "a PUT 8 8");
  assert.deepEqual(seen.entries.map((e) => e.isUpdate), [false, true, true, true, true, true, true]);
});

check("watch: options", async (c) => {
  const kv = await bucket(c, { history: 10 });
  for (const [k, v] of [["a.1", "x"], ["b.1", "y"], ["a.1", "z"]]) await kv.put(k, v);
  await kv.delete("a.2");
  const [history, updates, noDeletes, filtered, several, light, resumed] = await Promise.all([
    watch(kv, { include: KvWatchInclude.AllHistory }), watch(kv, { include: KvWatchInclude.UpdatesOnly }), watch(kv, { ignoreDeletes: true }),
    watch(kv, { key: "a.*" }), watch(kv, { key: ["b.1", "a.2"] }), watch(kv, { headers_only: true, key: "b.>" }), watch(kv, { resumeFromRevision: 3 }),
  ]);
  await history.is("a.1 PUT x 1", "b.1 PUT y 2", "a.1 PUT z 3", "a.2 DEL  4");
  await noDeletes.is("b.1 PUT y 2", "a.1 PUT z 3");
  await filtered.is("a.1 PUT z 3", "a.2 DEL  4");
  await several.is("b.1 PUT y 2", "a.2 DEL  4");
  await resumed.is("a.1 PUT z 3", "a.2 DEL  4");
  await kv.put("b.1", "last");
  await updates.is("b.1 PUT last 5");
  await several.is("b.1 PUT y 2", "a.2 DEL  4", "b.1 PUT last 5");
  await light.is("b.1 PUT  2", "b.1 PUT  5");
  assert.deepEqual(light.entries.map((e) => e.length), [1, 4]);
  await filtered.is("a.1 PUT z 3", "a.2 DEL  4");
});

check("watch an empty bucket, then its first key", async (c) => {
  const kv = await bucket(c);
  const seen = await watch(kv);
  await kv.put("k", "v");
  await seen.is("k PUT v 1");
});

check("fifty watchers see the same", async (c) => {
  const kv = await bucket(c, { history: 64 });
  const seen = await Promise.all(Array.from({ length: 50 }, () => watch(kv, { include: KvWatchInclude.AllHistory })));
  const expected = [];
  for (let i = 1; i <= 100; i++) {
    await kv.put(`k${i % 7}`, `v${i}`);
    expected.push(`k${i % 7} PUT v${i} ${i}`);
  }
  for (const s of seen) await s.is(...expected);
});

// --- life and death ------------------------------------------------------------------------------

check("a key with a TTL expires: its watchers are told, once", async (c) => {
  const kv = await bucket(c, { markerTTL: 60_000 });
  const seen = await watch(kv);
  await kv.create("k", "short", "3s");
  await kv.put("stays", "v");
  await seen.is("k PUT short 1", "stays PUT v 2", "k PURGE  3");
  const marker = await kv.get("k");
  assert.equal(marker.operation, "PURGE");
  assert.equal(await kv.create("k", "again"), 4);
  await seen.is("k PUT short 1", "stays PUT v 2", "k PURGE  3", "k PUT again 4");
});

check("a bucket's own TTL: each key's end is told", async (c) => {
  const kv = await bucket(c, { ttl: 1000, markerTTL: 1000 });
  const seen = await watch(kv);
  await kv.put("a", "1");
  await kv.put("b", "2");
  await until("both ends", () => seen.length >= 4);
  assert.deepEqual(seen.slice(0, 2), ["a PUT 1 1", "b PUT 2 2"]);
  assert.deepEqual(seen.slice(2).map((s) => s.replace(/ \d+$/, "")).sort(), ["a PURGE ", "b PURGE "]);
  await until("nothing left", async () => (await kv.status()).values === 0);
  assert.equal(seen.length, 4);
  assert.equal(await kv.get("a"), null);
});

check("purge with a TTL: the tombstone goes silently", async (c) => {
  const kv = await bucket(c, { markerTTL: 1000 });
  const seen = await watch(kv);
  await kv.put("k", "v");
  await kv.purge("k", { ttl: "1s" });
  await until("its end", async () => (await kv.get("k")) === null);
  await kv.put("k", "next");
  await seen.is("k PUT v 1", "k PURGE  2", "k PUT next 3");
});

check("put over a key that would have expired: no end is told", async (c) => {
  const kv = await bucket(c, { markerTTL: 60_000 });
  const seen = await watch(kv);
  await putTtl(c, "k", "short", "3s");
  await kv.put("k", "stays");
  await putTtl(c, "other", "short", "1s");
  await seen.is("k PUT short 1", "k PUT stays 2", "other PUT short 3", "other PURGE  4");
  assert.equal((await kv.get("k")).string(), "stays");
});

check("API removal and API purge are told: DEL and PURGE, once", { only: "mayfly" }, async (c) => {
  const kv = await bucket(c, { history: 5, markerTTL: 60_000 });
  const seen = await watch(kv);
  for (const k of ["a", "b", "c", "c"]) await kv.put(k, "v");
  assert.equal((await c.api(`STREAM.MSG.DELETE.KV_${c.id}`, { seq: 1 })).success, true);
  await seen.is("a PUT v 1", "b PUT v 2", "c PUT v 3", "c PUT v 4", "a DEL  5");
  assert.equal((await c.api(`STREAM.PURGE.KV_${c.id}`, { filter: `$KV.${c.id}.b` })).purged, 1);
  await seen.is("a PUT v 1", "b PUT v 2", "c PUT v 3", "c PUT v 4", "a DEL  5", "b PURGE  6");
  // Not its last message: no news.
  assert.equal((await c.api(`STREAM.MSG.DELETE.KV_${c.id}`, { seq: 3 })).success, true);
  await kv.put("end", "v");
  await seen.is("a PUT v 1", "b PUT v 2", "c PUT v 3", "c PUT v 4", "a DEL  5", "b PURGE  6", "end PUT v 7");
  assert.deepEqual((await all(kv.keys())).sort(), ["c", "end"]);
});

check("a tombstone that expires is no news", { only: "mayfly" }, async (c) => {
  const kv = await bucket(c, { markerTTL: 1000 });
  const seen = await watch(kv);
  await kv.put("k", "v");
  const h = headers();
  h.set("KV-Operation", "DEL");
  await c.js.publish(`$KV.${c.id}.k`, "", { headers: h, ttl: "1s", timeout: LIMIT_MS });
  await until("its end", async () => (await kv.get("k")) === null);
  await kv.put("k", "next");
  await seen.is("k PUT v 1", "k DEL  2", "k PUT next 3");
});

// --- across reconnects and restarts --------------------------------------------------------------

scenario("a watcher that reconnects misses nothing and sees nothing twice", async (t) => {
  const { s, stream } = await ownServer(t);
  const c = stream("B");
  const kv = await bucket(c, { history: 64 });
  const away = (await onServer(t, s, PATIENT)).stream("B");
  const seen = await watch(await new Kvm(jetstream(away.nc, { timeout: LOST_MS })).open("B"), { include: KvWatchInclude.AllHistory });
  const expected = [];
  for (let i = 1; i <= 300; i++) {
    const k = `k${i % 11}`;
    await kv.put(k, `v${i}`);
    expected.push(`${k} PUT v${i} ${i}`);
    if (i % 70 === 0) await away.nc.reconnect();
  }
  await until("the reconnect", () => away.nc.events.filter((e) => e.type === "reconnect").length >= 4);
  await kv.put("end", "x"); // a client learns of a gap by the next message
  expected.push("end PUT x 301");
  await seen.is(...expected);
});

for (const how of ["kill", "stop"])
  scenario(`${how} and restart: a watcher goes on where it was, expiries included`, async (t) => {
    const { s, stream } = await ownServer(t);
    const c = stream("B");
    const kv = await bucket(c, { history: 64, markerTTL: 1000 });
    const away = (await onServer(t, s, PATIENT)).stream("B");
    const seen = await watch(await new Kvm(jetstream(away.nc, { timeout: LOST_MS })).open("B"), { include: KvWatchInclude.AllHistory });
    for (let i = 1; i <= 50; i++) await kv.put(`k${i % 5}`, `v${i}`);
    await c.js.publish("$KV.B.short", "x", { ttl: "1s", timeout: LIMIT_MS });
    await until("all so far", () => seen.length === 51);
    await (how === "kill" ? s.kill() : s.stop());
    await c.nc.close();
    await s.startAgain();
    s.killed = false;
    const back = (await onServer(t, s)).stream("B");
    const kv2 = await new Kvm(back.js).open("B");
    await until("the watcher's return", () => away.nc.events.some((e) => e.type === "reconnect"));
    for (let i = 1; i <= 20; i++) await kv2.put(`k${i % 5}`, `w${i}`);
    await until("all of it", () => seen.some((x) => x.includes(" w20 ")) && seen.some((x) => x.startsWith("short PURGE")));
    const revisions = seen.entries.map((e) => e.revision);
    assert.deepEqual(revisions, Array.from({ length: 72 }, (_, i) => i + 1));
    assert.equal(seen.filter((x) => x.startsWith("short")).length, 2);
    await away.nc.close();
  });

check("two clients on one key: exactly one update wins each time", async (c) => {
  const kv = await bucket(c);
  await kv.put("n", "0");
  const other = await new Kvm(jetstream(await c.t.connect(c.s), { timeout: LIMIT_MS })).open(c.id);
  const add = async (b) => {
    for (let done = 0; done < 50; ) {
      const e = await b.get("n");
      try {
        await b.update("n", String(Number(e.string()) + 1), e.revision);
        done++;
      } catch (x) {
        assert.match(x.message, /wrong last sequence/);
      }
    }
  };
  await Promise.all([add(kv), add(other), add(kv)]);
  assert.equal((await kv.get("n")).string(), "150");
});
