// roles.mjs: a server between others: who learns of which interest, hub and spoke, isolation, gossip.
import assert from "node:assert/strict";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { ask, crosses, leafz, linked, logged, nobody, scenario } from "./lib/setup.mjs";
import { freePort } from "./lib/ports.mjs";

const A = { user: "a", pass: "a" };
const quiet = { callback: () => {} };

// H <- M <- X, X2: M is a leaf of H, and X and X2 are leafs of M.  A client c* and a proxy p* at each.
async function chain(t, { leafnodes = "", remote = "", isolate = "" } = {}) {
  const H = await t.hub({ name: "H", domain: "hub", leafnodes: "no_advertise: true" });
  const pm = await t.proxy(H);
  const port = await freePort();
  const M = await t.leaf({ name: "M", domain: "mid", place: "leaf", to: pm, remote, leafnodes: `listen: "127.0.0.1:${port}", no_advertise: true\n${leafnodes}` });
  const [px, px2] = [await t.proxy({ leafPort: port }), await t.proxy({ leafPort: port })];
  const X = await t.leaf({ name: "X", domain: "x", place: "hub", to: px, user: "", remote: isolate });
  const X2 = await t.leaf({ name: "X2", domain: "x2", place: "hub", to: px2, user: "" });
  const [ch, cm, cx, cx2] = [await t.connect(H, A), await t.connect(M), await t.connect(X), await t.connect(X2)];
  await linked(ch, cm);
  await linked(cm, cx);
  await linked(cm, cx2);
  return { H, M, X, X2, pm, px, px2, ch, cm, cx, cx2 };
}

scenario("three in a row: interest and messages of each reach each other", { quick: true }, async (t) => {
  const w = await chain(t);
  const all = [w.ch, w.cm, w.cx, w.cx2];
  for (const a of all) for (const b of all) if (a !== b) await crosses(a, b);
  const got = all.map((nc) => collect(nc, "news.>"));
  for (const a of all) for (const b of all) if (a !== b) await crosses(a, b);
  all.forEach((nc, i) => nc.publish(`news.${i}`, `${i}`));
  await until("all of them everywhere", () => got.every((g) => g.length >= 4));
  for (const a of all) for (const b of all) if (a !== b) await crosses(a, b);
  for (const g of got) assert.deepEqual(g.texts().sort(), ["0", "1", "2", "3"]);
});

scenario("three in a row: JetStream of the far end by its domain", { quick: true }, async (t) => {
  const w = await chain(t);
  for (const [nc, domain] of [[w.ch, "x"], [w.cx, "hub"], [w.cx, "x2"], [w.cm, "x"], [w.ch, "mid"]]) {
    await until(`the API of ${domain}`, async () => (await ask(nc, `$JS.${domain}.API.INFO`, "", { timeout: 2000 }).catch(() => "")).domain === domain);
  }
});

scenario("queue weights are summed on their way", { quick: true }, async (t) => {
  const w = await chain(t);
  for (const [nc, n] of [[w.cx, 3], [w.cx2, 2], [w.cm, 1]]) for (let i = 0; i < n; i++) nc.subscribe("sum", { queue: "Q", ...quiet });
  await w.pm.seen("up", /^LS\+ sum Q 6$/);
  await w.px.seen("down", /^LS\+ sum Q 3$/);
  await w.px2.seen("down", /^LS\+ sum Q 4$/);
  await w.cx.close();
  await until("the weight without X", () => w.pm.lines("up", /^LS\+ sum Q/).at(-1) === "LS+ sum Q 3");
});

scenario("a leaf that is gone: its interest is withdrawn along the whole row", { quick: true }, async (t) => {
  const w = await chain(t);
  w.cx.subscribe("far", quiet);
  await w.pm.seen("up", /^LS\+ far$/);
  await w.px2.seen("down", /^LS\+ far$/);
  await w.px.cut();
  await w.pm.seen("up", /^LS- far$/);
  await w.px2.seen("down", /^LS- far$/);
  await nobody(w.ch, "far");
  await w.px.restore();
  await until("it is told again", () => w.pm.lines("up", /^LS\+ far$/).length === 2);
});

scenario("two hubs of one leaf do not learn of each other's interest", { quick: true }, async (t) => {
  const [H1, H2] = [await t.hub({ name: "H1", domain: "h1", leafnodes: "no_advertise: true" }), await t.hub({ name: "H2", domain: "h2", leafnodes: "no_advertise: true" })];
  const [p1, p2] = [await t.proxy(H1), await t.proxy(H2)];
  const M = await t.leaf({ name: "M", domain: "mid", remotes: [t.remote(p1), t.remote(p2)] });
  const [c1, c2, cm] = [await t.connect(H1, A), await t.connect(H2, A), await t.connect(M)];
  await linked(c1, cm);
  await linked(c2, cm);
  c1.subscribe("only.h1", quiet);
  cm.subscribe("of.m", quiet);
  await p1.seen("up", /^LS\+ of\.m$/);
  await p2.seen("up", /^LS\+ of\.m$/);
  await linked(c1, cm);
  await linked(c2, cm);
  assert.deepEqual(p2.lines("up", /^LS\+ only\.h1$/), []);
  assert.equal(await ask(c2, "only.h1"), "503");
});

scenario("a remote with hub: true: the roles are swapped", { quick: true }, async (t) => {
  const [H1, H2] = [await t.hub({ name: "H1", domain: "h1", leafnodes: "no_advertise: true" }), await t.hub({ name: "H2", domain: "h2", leafnodes: "no_advertise: true" })];
  const [p1, p2] = [await t.proxy(H1), await t.proxy(H2)];
  const M = await t.leaf({ name: "M", domain: "mid", remotes: [t.remote(p1, { more: "hub: true" }), t.remote(p2)] });
  const [c1, c2, cm] = [await t.connect(H1, A), await t.connect(H2, A), await t.connect(M)];
  await linked(c1, cm);
  await linked(c2, cm);
  assert.equal(p1.links[0].up.list[0].json.is_hub, true);
  c2.subscribe("of.h2", quiet);
  await p1.seen("up", /^LS\+ of\.h2$/, "M tells H1, its spoke, of H2's interest");
  c1.subscribe("of.h1", quiet);
  await p2.seen("up", /^LS\+ of\.h1$/);
  await crosses(c1, c2);
  await crosses(c2, c1);
  assert.equal((await leafz(H1)).leafs[0].is_spoke, true);
  assert.deepEqual((await leafz(M, 2)).leafs.map((l) => [l.name, l.is_spoke]).sort(), [["H1", false], ["H2", true]]);
});

for (const [what, options] of [["isolate_leafnode_interest of the block", { leafnodes: "isolate_leafnode_interest: true" }], ["request_isolation of a remote", { isolate: "request_isolation: true" }]])
  scenario(`${what}: a leaf is not told of other leafs, and messages to it flow`, { quick: true }, async (t) => {
    const w = await chain(t, options);
    w.cx2.subscribe("of.x2", { callback: (_, m) => m.respond("x2") });
    await until("M to know it", async () => (await ask(w.cm, "of.x2")) === "x2");
    w.cm.subscribe("of.m", quiet);
    await w.px.seen("down", /^LS\+ of\.m$/);
    assert.deepEqual(w.px.lines("down", /^LS\+ of\.x2$/), []);
    assert.equal(await ask(w.cx, "of.x2"), "503");
    const got = collect(w.cx, "of.x");
    await until("the message", () => (w.cm.publish("of.x", "1"), got.length > 0));
    assert.equal((await leafz(w.M, 3)).leafs.find((l) => l.name === "X").is_isolated, true);
  });

scenario("gossip: the leaf learns of the cluster's members, and moves to another when its own is gone", { cluster: true }, async (t) => {
  const nodes = await t.cluster();
  const leaf = await t.leaf({ to: nodes[0] });
  const nc = await t.connect(leaf);
  await linked(await t.connect(nodes[1], A), nc);
  await nodes[0].stop();
  const start = Date.now();
  const z = await until("another member", async () => {
    const leafs = (await leaf.page("/leafz")).json.leafs;
    return leafs.length === 1 && leafs[0].name && leafs[0].name !== "N1" && leafs[0];
  });
  assert.ok([nodes[1].leafPort, nodes[2].leafPort].includes(z.port), `${z.port}`);
  await linked(await t.connect(nodes[2], A), nc);
  console.log(`# on ${z.name} after ${Date.now() - start} ms`);
});

scenario("gossip: ignore_discovered_servers stays with its own URLs", { cluster: true }, async (t) => {
  const nodes = await t.cluster();
  const leaf = await t.leaf({ to: nodes[0], remote: "ignore_discovered_servers: true" });
  const nc = await t.connect(leaf);
  await linked(await t.connect(nodes[1], A), nc);
  await nodes[0].stop();
  await logged(leaf, new RegExp(`Error trying to connect as leafnode.*${nodes[0].leafPort}`), 2);
  assert.equal((await leaf.page("/leafz")).json.leafnodes, 0);
  await nodes[0].startAgain();
  await linked(await t.connect(nodes[0], A), nc);
});

scenario("several URLs: the next one is dialled when the first does not answer", { quick: true }, async (t) => {
  const hub = await t.hub();
  const dead = { port: await freePort() };
  const leaf = await t.leaf({ to: [dead, hub], remote: "no_randomize: true" });
  await linked(await t.connect(hub, A), await t.connect(leaf));
});

// Three nats-servers of one cluster, each with a link of its own to the hub.
scenario("a cluster of three attaches as leafs: each message is heard once everywhere", { leaf: "nats" }, async (t) => {
  const hub = await t.hub({ leafnodes: "no_advertise: true" });
  const routes = await Promise.all([freePort(), freePort(), freePort()]);
  const list = routes.map((p) => `"nats://127.0.0.1:${p}"`).join(", ");
  const leafs = await Promise.all(routes.map((p, i) => t.leaf({ name: `K${i}`, domain: "k", to: hub, more: `cluster { name: K, listen: "127.0.0.1:${p}", routes: [ ${list} ] }` })));
  await leafz(hub, 3);
  const [h, ...ks] = [await t.connect(hub, A), ...(await Promise.all(leafs.map((l) => t.connect(l))))];
  for (const k of ks) await linked(h, k);
  for (const k of ks) await crosses(ks[0] === k ? ks[1] : ks[0], k);
  const got = [h, ...ks].map((nc) => collect(nc, "news"));
  const group = [...ks].map((nc) => collect(nc, "job", { queue: "q" }));
  await until("all to be known", async () => {
    const subs = (await leafz(hub, 3, "?subs=1")).leafs;
    return subs.every((l) => l.subscriptions_list.includes("news"));
  });
  for (const k of ks) await linked(h, k);
  [h, ...ks].forEach((nc, i) => nc.publish("news", `${i}`));
  for (let i = 0; i < 30; i++) h.publish("job", `${i}`);
  await until("all news and jobs", () => got.every((g) => g.length >= 4) && group.reduce((n, g) => n + g.length, 0) >= 30);
  for (const k of ks) await linked(h, k);
  for (const g of got) assert.deepEqual(g.texts().sort(), ["0", "1", "2", "3"]);
  assert.equal(group.reduce((n, g) => n + g.length, 0), 30);
});
