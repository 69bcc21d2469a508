// loops.mjs: links that must not be: in a circle, to oneself, twice to the same hub.
import assert from "node:assert/strict";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { crosses, leafz, logged, scenario } from "./lib/setup.mjs";
import { freePort } from "./lib/ports.mjs";

const connectLine = (name, more = {}) => `CONNECT ${JSON.stringify({ name, cluster: name, headers: true, remote_account: "$G", user: "a", pass: "a", ...more })}`;

scenario("two servers with a remote to each other: one link stays, the other end names the loop", {}, async (t) => {
  const [pa, pb] = [await freePort(), await freePort()];
  const conf = (name, mine, theirs) => ({ config: `server_name: ${name}\nleafnodes { listen: "127.0.0.1:${mine}", remotes: [ { url: "nats-leaf://x@127.0.0.1:${theirs}" } ] }\n`.replace("x@", ""), monitor: true });
  const a = await t.server({ ...conf("A1", pa, pb), program: t.program("hub") });
  const b = await t.server({ ...conf("B1", pb, pa), program: t.program("leaf") });
  await until("the loop in a log", () => /Loop detected/i.test(a.log() + b.log()));
  await until("one link", async () => (await Promise.all([a, b].map(async (s) => (await s.page("/leafz")).json.leafs.length))).every((n) => n === 1));
  const [na, nb] = [await t.connect(a), await t.connect(b)];
  const got = collect(nb, "once");
  await crosses(na, nb);
  na.publish("once", "1");
  na.publish("once", "2");
  await until("both", () => got.length >= 2);
  assert.deepEqual(got.texts(), ["1", "2"]);
});

scenario("a ring of three names its loop, and no message is heard twice", {}, async (t) => {
  const ports = [await freePort(), await freePort(), await freePort()];
  const servers = [];
  for (let i = 0; i < 3; i++)
    servers.push(await t.server({ config: `server_name: R${i}\nleafnodes { listen: "127.0.0.1:${ports[i]}", remotes: [ { url: "nats-leaf://127.0.0.1:${ports[(i + 1) % 3]}" } ] }\n`, monitor: true, program: t.program(i === 0 ? "hub" : "leaf") }));
  await until("the loop in a log", () => /Loop detected/i.test(servers.map((s) => s.log()).join("")));
});

scenario("a leaf with the hub's own cluster name is refused", { quick: true }, async (t) => {
  // A standalone server with remotes goes by its name.
  const far = await t.hub({ name: "FAR", domain: "far" });
  const hub = await t.leaf({ name: "SAME", place: "hub", to: far, leafnodes: `listen: "127.0.0.1:${(t.port = await freePort())}"`, accounts: "" });
  const leaf = await t.leaf({ name: "SAME", domain: "lf", to: { port: t.port }, user: "" });
  await logged(leaf, /same cluster name|same server name|Cluster Names Identical/i);
  assert.ok(hub);
});

scenario("a second connection of the same leaf takes the place of the first", { quick: true, alone: "hub" }, async (t) => {
  const hub = await t.hub();
  const first = await t.rawLeaf(hub);
  first.send(connectLine("TWIN"), "PING");
  await first.expect(/INFO [^\r]*"connect_info":true/);
  const second = await t.rawLeaf(hub);
  second.send(connectLine("TWIN"), "PING");
  await second.expect(/INFO [^\r]*"connect_info":true/);
  assert.match(await first.closed(), /-ERR 'Duplicate Remote LeafNode Connection'/);
  second.send("PING");
  await second.expect(/PONG/);
  assert.equal((await leafz(hub)).leafnodes, 1);
});

scenario("two different leafs of one cluster stay both, and messages do not go between them", { quick: true, alone: "hub" }, async (t) => {
  const hub = await t.hub();
  const twins = [];
  for (const name of ["K1", "K2", "OTHER"]) {
    const r = await t.rawLeaf(hub);
    r.send(connectLine(name, { cluster: name === "OTHER" ? "OTHER" : "K" }));
    await r.expect(/INFO [^\r]*"connect_info":true/);
    r.send("LS+ both", "PING");
    await r.expect(/PONG/);
    twins.push(r);
  }
  await until("all three", async () => (await hub.page("/leafz")).json.leafnodes === 3);
  const [k1, k2, other] = twins;
  k1.send("LMSG both 1", "x", "PING");
  await other.expect(/LMSG both 1\r\nx\r\n/);
  k2.send("PING");
  assert.doesNotMatch((await k2.expect(/^([^]*?)PONG/))[1], /LMSG both/);
  const nc = await t.connect(hub, { user: "a", pass: "a" });
  nc.publish("both", "y");
  for (const r of twins) await r.expect(/LMSG both 1\r\ny\r\n/);
});

// nats-server keeps both, and every message is doubled.
scenario("a second remote to the same hub and account is refused, and no message is doubled", { quick: true, leaf: "mayfly" }, async (t) => {
  const hub = await t.hub();
  const [one, two] = [await t.proxy(hub), await t.proxy(hub)];
  const leaf = await t.leaf({ remotes: [t.remote(one), t.remote(two)] });
  await logged(leaf, /second|already|same (hub|server|cluster|account)|duplicate/i);
  const [h, l] = [await t.connect(hub, { user: "a", pass: "a" }), await t.connect(leaf)];
  const [gh, gl] = [collect(h, "x"), collect(l, "x")];
  await crosses(h, l);
  await crosses(l, h);
  h.publish("x", "1");
  l.publish("x", "2");
  await until("both", () => gh.length >= 2 && gl.length >= 2);
  await crosses(h, l);
  await crosses(l, h);
  assert.deepEqual([gh.texts().sort(), gl.texts().sort()], [["1", "2"], ["1", "2"]]);
  assert.equal((await leafz(leaf)).leafnodes, 1);
});

scenario("a remote that leads to the server itself: named, and the server goes on", { quick: true, leaf: "mayfly" }, async (t) => {
  const port = await freePort();
  const s = await t.leaf({ name: "SELF", to: { port }, user: "", leafnodes: `listen: "127.0.0.1:${port}"` });
  await logged(s, /The remote is this server itself/);
  await (await t.connect(s)).flush();
});
