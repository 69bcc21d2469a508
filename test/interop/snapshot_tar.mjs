// snapshot_tar.mjs: backups that nats-server up to 2.14 made are restored as they were.
import assert from "node:assert/strict";
import path from "node:path";
import { createInbox, headers } from "@nats-io/transport-node";
import { framed } from "./lib/archive.mjs";
import { JS, api, ask, configOf, contents, ready, restore } from "./lib/backup.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { binary, isMayfly } from "./lib/server.mjs";
import { backup, streamFiles } from "./lib/tar.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const program = isMayfly ? process.env.NATS_SERVER : binary;
const HOUR = 3600e9;
const reference = (name, fn) => program && scenario(name, fn);

const publish = async (nc, subject, data, hdr = {}) => {
  const h = headers();
  for (const [k, v] of Object.entries(hdr)) h.set(k, v);
  const ack = (await nc.request(subject, data, { headers: h, timeout: LIMIT_MS })).json();
  assert.equal(ack.error, undefined, JSON.stringify(ack.error));
  return ack.seq;
};
async function fetch(nc, name, n) {
  const inbox = createInbox();
  const got = collect(nc, inbox);
  nc.publish(`$JS.API.CONSUMER.MSG.NEXT.S.${name}`, JSON.stringify({ batch: n, expires: 10e9 }), { reply: inbox });
  await until(`${n} messages of ${name}`, () => got.length >= n);
  got.sub.unsubscribe();
  return got;
}

// What nats-server leaves on its disk when it stops after fill(nc); and what the stream looked like.
async function made(t, config, fill) {
  const [server, nc] = await ready(t, { ...JS, program });
  await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"], ...config });
  await fill(nc);
  const full = await configOf(nc);
  const before = await contents(nc);
  const consumers = await infos(nc);
  await nc.close();
  await server.stop();
  return { config: full, before, consumers, files: streamFiles(path.join(server.dir, "jetstream/$G/streams/S")) };
}
async function infos(nc) {
  const { consumers } = await api(nc, "CONSUMER.LIST.S");
  return consumers.map(({ name, config, delivered, ack_floor, num_ack_pending, num_redelivered, num_pending }) => {
    for (const x of [delivered, ack_floor]) delete x.last_active;
    for (const key of Object.keys(config.metadata ?? {})) if (/^_nats\.(ver|level)$/.test(key)) delete config.metadata[key];
    return { name, config, delivered, ack_floor, num_ack_pending, num_redelivered, num_pending };
  }).sort((a, b) => (a.name < b.name ? -1 : 1));
}
async function same(t, m, files = m.files) {
  const [, nc] = await ready(t);
  const r = await restore(nc, m.config, backup(files), { step: 30000 });
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  assert.deepEqual(await contents(nc), m.before);
  assert.deepEqual(await configOf(nc), m.config);
  assert.deepEqual(await infos(nc), m.consumers);
  assert.equal(await publish(nc, "s.next", ""), m.before.state.last_seq + 1);
  return nc;
}

reference("messages, headers, gaps and deletes of all kinds come back", async (t) => {
  const m = await made(t, { max_msgs_per_subject: 20, allow_msg_ttl: true }, async (nc) => {
    for (let i = 1; i <= 60; i++)
      await publish(nc, `s.${i % 5}`, `message ${i} `.repeat(i * 20), i % 3 === 0 ? { Number: `${i}`, "Nats-TTL": "1h" } : {});
    for (const seq of [1, 2, 10, 11, 30]) await api(nc, "STREAM.MSG.DELETE.S", { seq });
    await api(nc, "STREAM.MSG.DELETE.S", { seq: 20, no_erase: true });
    await api(nc, "STREAM.PURGE.S", { filter: "s.4", keep: 3 });
    for (let i = 0; i < 25; i++) await publish(nc, "s.1", `pushes others out ${i}`);
    await api(nc, "STREAM.MSG.DELETE.S", { seq: (await api(nc, "STREAM.INFO.S")).state.last_seq });
  });
  assert.ok(m.before.state.num_deleted > 10);
  await same(t, m);
});

reference("a stream of many blocks, most of them thinned out", async (t) => {
  const m = await made(t, { max_msgs: 900, max_bytes: 4000000 }, async (nc) => {
    for (let i = 1; i <= 1200; i++) nc.publish(`s.${i % 7}`, "x".repeat(2000 + i));
    await nc.flush();
    await until("all", async () => (await api(nc, "STREAM.INFO.S")).state.last_seq === 1200);
    await api(nc, "STREAM.PURGE.S", { filter: "s.3" });
    await api(nc, "STREAM.PURGE.S", { seq: 500 });
  });
  await same(t, m);
});

reference("a stream that is empty keeps its sequences", async (t) => {
  for (const n of [0, 5]) {
    const m = await made(t, {}, async (nc) => {
      for (let i = 0; i < n; i++) await publish(nc, "s.1", "");
      if (n > 0) await api(nc, "STREAM.PURGE.S");
    });
    const [, nc] = await ready(t);
    const r = await restore(nc, m.config, backup(m.files));
    assert.equal(r.error, undefined, JSON.stringify(r.error));
    assert.deepEqual([r.state.messages, r.state.first_seq, r.state.last_seq], [0, n && n + 1, n]);
    assert.equal(await publish(nc, "s.next", ""), n + 1);
  }
});

reference("without index.db what was deleted stays so", async (t) => {
  const m = await made(t, {}, async (nc) => {
    for (let i = 1; i <= 20; i++) await publish(nc, `s.${i}`, `${i}`);
    for (const seq of [1, 2, 9, 20]) await api(nc, "STREAM.MSG.DELETE.S", { seq, no_erase: seq === 9 });
  });
  await same(t, m, m.files.filter(([name]) => name !== "msgs/index.db"));
});

reference("consumers of such a backup go on where they stopped", async (t) => {
  const long = "N".repeat(120); // its path does not fit into a plain tar header
  const m = await made(t, {}, async (nc) => {
    for (let i = 1; i <= 20; i++) await publish(nc, `s.${i % 5}`, `${i}`);
    const add = (c) => api(nc, `CONSUMER.CREATE.S.${c.durable_name}`, { stream_name: "S", config: { ack_policy: "explicit", ack_wait: HOUR, ...c } });
    await add({ durable_name: "PULL" });
    await add({ durable_name: long, filter_subject: "s.2" });
    await add({ durable_name: "NEW", deliver_policy: "new" });
    const got = await fetch(nc, "PULL", 8);
    for (const i of [0, 1, 4]) await nc.request(got[i].reply, "+ACK", { timeout: LIMIT_MS });
    await nc.request(got[5].reply, "-NAK", { timeout: LIMIT_MS });
    await fetch(nc, "PULL", 1);
    await fetch(nc, long, 2);
  });
  assert.equal(m.consumers.length, 3);
  const nc = await same(t, m);
  const [next] = await fetch(nc, "PULL", 1);
  assert.match(next.reply, /\.1\.9\.10\.\d+\.\d+$/);
});

reference("backups that are damaged are refused, and nothing remains", async (t) => {
  const m = await made(t, {}, async (nc) => {
    for (let i = 1; i <= 5; i++) await publish(nc, "s.1", `${i}`.repeat(50), { A: "b" });
    await api(nc, "CONSUMER.CREATE.S.C", { stream_name: "S", config: { durable_name: "C", ack_policy: "explicit" } });
    await fetch(nc, "C", 2);
  });
  if (!isMayfly) return; // nats-server takes what it can of most of these
  const [, nc] = await ready(t);
  const refused = async (pattern, bytes) => {
    const r = await restore(nc, m.config, bytes);
    assert.match(r.error?.description ?? JSON.stringify(r), pattern);
    assert.equal((await ask(nc, "STREAM.INFO.S")).error?.err_code, 10059);
  };
  const changed = (name, change) => m.files.map(([n, b]) => (n === name ? [n, change(Buffer.from(b))] : [n, b]));
  const flip = (at) => (b) => ((b[at < 0 ? b.length + at : at] ^= 1), b);
  await refused(/^restore failed: message block 1: invalid checksum$/, backup(changed("msgs/1.blk", flip(60))));
  await refused(/^restore failed: message block 1: cut off$/, backup(changed("msgs/1.blk", (b) => b.subarray(0, b.length - 3))));
  await refused(/^restore failed: message block 1: not a record$/, backup(changed("msgs/1.blk", (b) => (b.writeUInt32LE(5, 0), b))));
  await refused(/^restore failed: stream names do not match$/, backup(changed("meta.inf", (b) => Buffer.from(b.toString().replace('"name":"S"', '"name":"X"')))));
  await refused(/^restore failed: error in meta.inf: /, backup(changed("meta.inf", (b) => b.subarray(0, 20))));
  await refused(/^restore failed: expected meta.inf first$/, backup(m.files.slice(1)));
  await refused(/^restore failed: consumer "C" is missing state$/, backup(m.files.filter(([n]) => n !== "obs/C/o.dat")));
  await refused(/^restore failed: failed to set consumer "C" state: corrupt state file$/, backup(changed("obs/C/o.dat", (b) => b.subarray(0, 4))));
  await refused(/^restore failed: failed to decode consumer "C" config: /, backup(changed("obs/C/meta.inf", () => Buffer.from("{"))));
  await refused(/^restore failed: the backup itself failed: no space$/, backup([...m.files, ["errors.txt", "no space"]]));
  await refused(/^restore failed: EOF$/, backup(m.files, { end: false }));
  await refused(/^restore failed: unexpected content/, backup(m.files, { type: "2" }));
  await refused(/^restore failed: archive\/tar: invalid tar header$/, framed(Buffer.alloc(4096, "garbage")));
  assert.equal((await restore(nc, m.config, backup(m.files))).error, undefined);
});
