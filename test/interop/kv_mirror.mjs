// kv_mirror.mjs: KV buckets that mirror or source others, as @nats-io/kv makes and reads them.
import assert from "node:assert/strict";
import { Kvm, KvWatchInclude } from "@nats-io/kv";
import { jetstream } from "@nats-io/jetstream";
import { group, jetstreamBlock, onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const check = group();
const PATIENT = { reconnect: true, maxReconnectAttempts: -1, reconnectTimeWait: 20, reconnectJitter: 1, waitOnFirstConnect: true };
const LOST_MS = LIMIT_MS / 4; // a request that is lost with its connection is sent again after this
const bucket = (c, options = {}, name = c.id) => new Kvm(c.js).create(name, { timeout: LIMIT_MS, ...options });
// A mirror holds the origin's subjects: the client reads it as the origin, under the mirror's stream.
async function mirrorOf(c, options = {}, name = c.id) {
  const made = await bucket(c, { ...options, mirror: { name } }, `${name}_M`);
  const kv = await new Kvm(c.js).open(name, { streamName: `KV_${name}_M`, allow_direct: true });
  kv.made = made;
  return kv;
}
const told = (e) => `${e.key} ${e.operation} ${e.string()} ${e.revision}`;

async function all(iter) {
  const got = [];
  for await (const e of await iter) got.push(e);
  return got;
}
async function watch(kv, options) {
  const seen = [];
  const iter = await kv.watch(options);
  (async () => {
    for await (const e of iter) seen.push(told(e));
  })();
  seen.is = async (...expected) => {
    await until("the watcher", () => seen.length >= expected.length).catch(() => {}); // the difference says more
    assert.deepEqual([...seen], expected);
  };
  seen.stop = () => iter.stop();
  return seen;
}
// Waits until a key has this value there.
const shows = (kv, key, value) => until(`${key} to be ${value}`, async () => (await kv.get(key))?.string() === value);

// --- a bucket that mirrors ---------------------------------------------------------------------------------

check("a mirror of a bucket: gets, keys and history are the origin's", async (c) => {
  const kv = await bucket(c, { history: 5 });
  await kv.put("a", "1");
  await kv.put("b", "2");
  await kv.put("a", "3");
  const mirror = await mirrorOf(c, { history: 5 });
  await kv.delete("b");
  await until("the delete", async () => (await mirror.get("b"))?.operation === "DEL");
  assert.deepEqual((await all(mirror.keys())).sort(), ["a"]);
  assert.deepEqual((await all(mirror.history())).map(told), ["a PUT 1 1", "b PUT 2 2", "a PUT 3 3", "b DEL  4"]);
  assert.deepEqual((await all(mirror.history())).map((e) => e.created.getTime()), (await all(kv.history())).map((e) => e.created.getTime()));
  assert.equal((await mirror.get("a", { revision: 1 })).string(), "1");
  assert.equal(await mirror.get("c"), null);
  const { streamInfo } = await mirror.made.status();
  assert.deepEqual([streamInfo.config.mirror.name, streamInfo.config.mirror_direct, streamInfo.config.subjects], [`KV_${c.id}`, true, undefined]);
});

check("a mirror of a bucket: a put through it goes to the origin and comes back", async (c) => {
  const kv = await bucket(c);
  const mirror = await mirrorOf(c);
  assert.equal(await mirror.put("k", "one"), 1);
  assert.equal((await kv.get("k")).string(), "one");
  await shows(mirror, "k", "one");
  assert.equal(await mirror.update("k", "two", 1), 2);
  await assert.rejects(mirror.update("k", "three", 1), /wrong last sequence: 2/);
  await shows(mirror, "k", "two");
  assert.equal(await mirror.create("new", "x"), 3);
  await shows(mirror, "new", "x");
  await assert.rejects(mirror.create("new", "y"), /wrong last sequence: 3/);
  await mirror.delete("k");
  await until("the delete", async () => (await mirror.get("k"))?.operation === "DEL");
  assert.equal((await kv.get("k")).operation, "DEL");
  await mirror.purge("new");
  await until("the purge", async () => (await mirror.get("new"))?.operation === "PURGE");
});

check("a mirror of a bucket: a watcher sees what was there and what comes, once and in order", async (c) => {
  const kv = await bucket(c, { history: 3 });
  await kv.put("a", "1");
  await kv.put("b", "2");
  const mirror = await mirrorOf(c, { history: 3 });
  await shows(mirror, "b", "2");
  const [every, one, news] = [await watch(mirror), await watch(mirror, { key: "b" }), await watch(mirror, { include: KvWatchInclude.UpdatesOnly })];
  await every.is("a PUT 1 1", "b PUT 2 2");
  await kv.put("b", "3");
  await mirror.put("a", "4");
  await kv.delete("a");
  await kv.purge("b");
  await every.is("a PUT 1 1", "b PUT 2 2", "b PUT 3 3", "a PUT 4 4", "a DEL  5", "b PURGE  6");
  await one.is("b PUT 2 2", "b PUT 3 3", "b PURGE  6");
  await news.is("b PUT 3 3", "a PUT 4 4", "a DEL  5", "b PURGE  6");
  for (const w of [every, one, news]) w.stop();
});

check("a mirror of a bucket: a purge takes the older values there too", async (c) => {
  const kv = await bucket(c, { history: 5 });
  for (const v of ["1", "2", "3"]) await kv.put("k", v);
  const mirror = await mirrorOf(c, { history: 5 });
  await shows(mirror, "k", "3");
  await kv.purge("k");
  await until("the purge", async () => (await mirror.get("k"))?.operation === "PURGE");
  assert.deepEqual((await all(mirror.history())).map(told), ["k PURGE  4"]);
});

check("a mirror of a bucket answers direct gets for it when it is gone", async (c) => {
  const kv = await bucket(c);
  await kv.put("k", "one");
  const mirror = await mirrorOf(c);
  await shows(mirror, "k", "one");
  const who = async () => (await c.nc.request(`$JS.API.DIRECT.GET.KV_${c.id}.$KV.${c.id}.k`, "", { timeout: LIMIT_MS })).headers.get("Nats-Stream");
  await until("the mirror to answer", async () => (await who()) === `KV_${c.id}_M`);
  await until("the origin to answer", async () => (await who()) === `KV_${c.id}`);
  await kv.destroy();
  const e = await kv.get("k");
  assert.deepEqual([e.string(), e.revision], ["one", 1]);
});

check("a bucket with TTLs and markers, and its mirror: the key goes in both", async (c) => {
  const kv = await bucket(c, { markerTTL: 3600_000 });
  const name = `KV_${c.id}_M`;
  const mirrorConfig = { name, mirror: { name: `KV_${c.id}` }, max_msgs_per_subject: 1, allow_rollup_hdrs: true, allow_direct: true, mirror_direct: true, allow_msg_ttl: true };
  const r = await c.api(`STREAM.CREATE.${name}`, mirrorConfig);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  const mirror = await new Kvm(c.js).open(c.id, { streamName: name, allow_direct: true });
  await c.js.publish(`$KV.${c.id}.k`, "mortal", { ttl: "2s", timeout: LIMIT_MS });
  await shows(mirror, "k", "mortal");
  await until("the marker", async () => (await mirror.get("k"))?.operation === "PURGE");
  assert.equal((await kv.get("k")).operation, "PURGE");
  assert.deepEqual([(await mirror.get("k")).revision, (await c.api(`STREAM.INFO.${name}`)).state.messages], [2, 1]);
});

// --- a bucket with sources -----------------------------------------------------------------------------------

check("a bucket with sources: the keys of the others under its own name", async (c) => {
  const [one, two] = [await bucket(c), await bucket(c, {}, `${c.id}_2`)];
  await one.put("a", "1");
  await two.put("b", "2");
  const sum = await bucket(c, { history: 3, sources: [{ name: c.id }, { name: `${c.id}_2` }] }, `${c.id}_S`);
  await shows(sum, "a", "1");
  await shows(sum, "b", "2");
  assert.deepEqual((await all(sum.keys())).sort(), ["a", "b"]);
  const seen = await watch(sum, { include: KvWatchInclude.UpdatesOnly });
  await one.put("a", "3");
  await shows(sum, "a", "3");
  await two.put("a", "4");
  await shows(sum, "a", "4");
  await sum.put("own", "5");
  await two.delete("b");
  await seen.is("a PUT 3 3", "a PUT 4 4", "own PUT 5 5", "b DEL  6");
  seen.stop();
  assert.equal(await one.get("own"), null, "nothing goes back");
  assert.deepEqual((await all(sum.history({ key: "a" }))).map((e) => e.string()), ["1", "3", "4"]);
  assert.deepEqual((await all(sum.keys())).sort(), ["a", "own"]);
});

check("a bucket with sources: a purge in the origin purges the key", async (c) => {
  const kv = await bucket(c, { history: 5 });
  for (const v of ["1", "2", "3"]) await kv.put("k", v);
  const sum = await bucket(c, { history: 5, sources: [{ name: c.id }] }, `${c.id}_S`);
  await shows(sum, "k", "3");
  await kv.purge("k");
  await until("the purge", async () => (await sum.get("k"))?.operation === "PURGE");
  assert.deepEqual((await all(sum.history())).map(told), ["k PURGE  4"]);
  assert.deepEqual(await all(sum.keys()), []);
});

check("a bucket with sources: the origin's revisions do not bind, its own do", async (c) => {
  const kv = await bucket(c);
  await kv.put("k", "1");
  assert.equal(await kv.update("k", "2", 1), 2);
  const sum = await bucket(c, { sources: [{ name: c.id }] }, `${c.id}_S`);
  await shows(sum, "k", "2");
  const { revision } = await sum.get("k");
  assert.equal(await sum.update("k", "own", revision), revision + 1);
  await assert.rejects(sum.create("k", "x"), /wrong last sequence/);
  await kv.update("k", "3", 2);
  await shows(sum, "k", "3");
});

// --- restarts ----------------------------------------------------------------------------------------------

for (const how of ["stop", "kill"])
  scenario(`${how}: a watcher of a mirror and one of a sourcing bucket see every change once, over a restart`, async (t) => {
    const { s } = await ownServer(t, { block: "sync_interval: always" });
    const away = await onServer(t, s, PATIENT);
    const js = jetstream(away.nc, { timeout: LIMIT_MS });
    const kv = await new Kvm(js).create("origin", { history: 5 });
    await mirrorOf({ js }, { history: 5 }, "origin");
    await new Kvm(js).create("sum", { history: 5, sources: [{ name: "origin" }] });
    const quick = new Kvm(jetstream(away.nc, { timeout: LOST_MS }));
    const copies = [await quick.open("origin", { streamName: "KV_origin_M", allow_direct: true }), await quick.open("sum", { allow_direct: true })];
    const seen = [];
    for (const copy of copies) seen.push(await watch(copy));
    for (let i = 1; i <= 5; i++) await kv.put(`k${i % 3}`, `${i}`);
    for (const w of seen) await until("five", () => w.length === 5);
    if (how === "kill") await s.kill();
    else await s.stop();
    await s.startAgain();
    s.killed = false;
    const back = await new Kvm(jetstream((await onServer(t, s)).nc, { timeout: LIMIT_MS })).open("origin");
    await until("the watchers' return", () => away.nc.events.some((e) => e.type === "reconnect"));
    await back.put("k9", "back");
    await back.put("k1", "end");
    for (const [i, copy] of copies.entries()) {
      await until("the end", () => seen[i].some((x) => x.includes("PUT end")));
      assert.deepEqual([...seen[i]], ["k1 PUT 1 1", "k2 PUT 2 2", "k0 PUT 3 3", "k1 PUT 4 4", "k2 PUT 5 5", "k9 PUT back 6", "k1 PUT end 7"]);
      assert.equal((await copy.get("k1")).string(), "end");
    }
  });

// --- domains ---------------------------------------------------------------------------------------------------

// nats-server asks its own domain in vain.
scenario("a mirror that names the own domain, as clients of a hub make it: puts go through that name", { only: "mayfly" }, async (t) => {
  const s = await t.server({ config: jetstreamBlock("domain: hub") });
  const { nc } = await onServer(t, s);
  const kvm = new Kvm(jetstream(nc, { timeout: LIMIT_MS }));
  const kv = await kvm.create("origin");
  await kv.put("a", "1");
  const mirror = await kvm.create("mirror", { mirror: { name: "origin", external: { api: "$JS.hub.API", deliver: "" } } });
  await shows(mirror, "a", "1");
  assert.equal(mirror.editPrefix, "$JS.hub.API.$KV.origin");
  await kv.put("b", "2");
  await shows(mirror, "b", "2");
});
