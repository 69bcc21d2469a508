// hostile.mjs: peers that lie, flood or never read: the accepting end lives, with bounded memory, and its clients are served.
import assert from "node:assert/strict";
import fs from "node:fs";
import net from "node:net";
import { until } from "../interop/lib/wait.mjs";
import { leafz, scenario } from "./lib/setup.mjs";

const hello = (more = {}) => `CONNECT ${JSON.stringify({ name: "RAW", cluster: "RAW", headers: true, user: "a", pass: "a", ...more })}`;
const memory = (s) => Number(/^VmRSS:\s+(\d+)/m.exec(fs.readFileSync(`/proc/${s.proc.pid}/status`, "utf8"))[1]) / 1024;

async function rawLink(t, hub, more) {
  const r = await t.rawLeaf(hub);
  r.send(hello(more));
  await r.expect(/INFO [^\r]*"connect_info":true[^\r]*\r\n/);
  return r;
}

scenario("200,000 subjects announced at once, and withdrawn by hanging up", { alone: "hub" }, async (t) => {
  const hub = await t.hub();
  const nc = await t.connect(hub, { user: "a", pass: "a" });
  const r = await rawLink(t, hub);
  for (let i = 0; i < 200000; i += 1000) {
    const lines = Array.from({ length: 1000 }, (_, k) => `LS+ flood.${i + k}.x\r\n`).join("");
    if (!r.socket.write(lines)) await new Promise((ok) => r.socket.once("drain", ok));
    r.buf = "";
  }
  r.send("PING");
  await r.expect(/PONG/);
  assert.equal((await leafz(hub)).leafs[0].subscriptions, 200000);
  await nc.flush();
  nc.publish("flood.777.x", "hello");
  await r.expect(/LMSG flood\.777\.x 5\r\nhello\r\n/);
  r.close();
  await until("all withdrawn", async () => (await hub.page("/leafz")).json.leafnodes === 0);
  await nc.flush();
});

scenario("a peer that never reads: closed in the end, and nobody else waits", { hub: "mayfly", alone: "hub" }, async (t) => {
  const hub = await t.hub({ leafnodes: "write_deadline: 1s", more: `max_pending: 8MB` });
  const nc = await t.connect(hub, { user: "a", pass: "a" });
  const r = await rawLink(t, hub);
  r.send("LS+ much", "PING");
  await r.expect(/PONG/);
  r.socket.pause();
  const before = memory(hub);
  const payload = Buffer.alloc(100000);
  const other = await t.connect(hub, { user: "a", pass: "a" });
  let closed = false;
  for (let i = 0; !closed && i < 20000; i++) {
    nc.publish("much", payload);
    if (i % 20 === 19) {
      await nc.flush();
      await other.flush();
      closed = (await hub.page("/leafz")).json.leafnodes === 0;
    }
  }
  assert.ok(closed, "the link is closed");
  assert.ok(memory(hub) - before < 200, `${memory(hub) - before} MB more`);
  assert.ok((await hub.varz()).slow_consumer_stats.leafs >= 1);
});

scenario("more connections that say nothing than are kept: closed at once, and the log says so once", { hub: "mayfly", alone: "hub" }, async (t) => {
  const hub = await t.hub();
  const dial = () => net.connect({ host: "127.0.0.1", port: hub.leafPort });
  const kept = Array.from({ length: 1024 }, dial);
  let greeted = 0;
  for (const s of kept) s.on("error", () => {}).once("data", () => greeted++);
  t.after(() => kept.forEach((s) => s.destroy()));
  await until("all to be greeted", () => greeted === kept.length);
  for (let i = 0; i < 2; i++) {
    let bytes = 0;
    const late = dial().on("data", (b) => (bytes += b.length));
    await new Promise((ok) => late.on("error", () => {}).on("close", ok));
    assert.equal(bytes, 0);
  }
  assert.equal(hub.log().match(/Leafnode: 1024 connections have not logged in yet/g).length, 1);
  kept.forEach((s) => s.destroy());
  await until("a link", async () => rawLink(t, hub).then(() => true, () => false));
});

scenario("a hundred connections that say nothing: closed after the auth timeout", { alone: "hub" }, async (t) => {
  // patient() of the harness leaves a timeout that is given.
  const hub = await t.hub({ leafnodes: "authorization { timeout: 2, user: l, password: p, account: ACC }" });
  const sockets = Array.from({ length: 100 }, () => net.connect({ host: "127.0.0.1", port: hub.leafPort }));
  let ended = 0;
  for (const s of sockets) s.on("error", () => {}).on("close", () => ended++).resume();
  t.after(() => sockets.forEach((s) => s.destroy()));
  await until("all of them to be closed", () => ended === 100);
  await (await t.connect(hub, { user: "a", pass: "a" })).flush();
});

scenario("random bytes instead of a handshake, and after one", { quick: true, alone: "hub" }, async (t) => {
  const { randomBytes } = await import("node:crypto");
  const hub = await t.hub();
  for (let i = 0; i < 20; i++) {
    const r = i % 2 ? await rawLink(t, hub) : await t.rawLeaf(hub);
    r.socket.write(randomBytes(2000));
    r.send("", "", "");
    await r.closed();
  }
  await (await t.connect(hub, { user: "a", pass: "a" })).flush();
});

scenario("two links of the same peer and account: one series of metrics, their sum", { quick: true, hub: "mayfly", alone: "hub" }, async (t) => {
  const hub = await t.hub();
  await rawLink(t, hub);
  await rawLink(t, hub);
  await rawLink(t, hub, { name: "OTHER", cluster: "OTHER" });
  await until("three links", async () => (await hub.page("/leafz")).json.leafnodes === 3);
  const lines = (await hub.page("/metrics")).text.split("\n").filter((l) => l.startsWith("mayfly_leaf_up{"));
  assert.deepEqual(lines.sort(), ['mayfly_leaf_up{account="ACC",peer="OTHER",role="hub"} 1', 'mayfly_leaf_up{account="ACC",peer="RAW",role="hub"} 2']);
});
