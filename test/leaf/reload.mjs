// reload.mjs: remotes come, go and change by reload of the dialling end, and users by reload of the accepting end.
import assert from "node:assert/strict";
import { until } from "../interop/lib/wait.mjs";
import { crosses, leafz, linked, logged, scenario } from "./lib/setup.mjs";

const A = { user: "a", pass: "a" };
const none = (s) => until("no link", async () => (await s.page("/leafz")).json.leafnodes === 0);

scenario("a reload brings the first leafnodes block of a server: its remote is dialled, a listener is refused", { quick: true }, async (t) => {
  const hub = await t.hub();
  const bare = "server_name: LF\n";
  const leaf = await t.server({ config: bare, monitor: true, program: t.program("leaf") });
  leaf.reload(`${bare}\nleafnodes { remotes [ ${t.remote(hub)} ] }\n`);
  await crosses(await t.connect(leaf), await t.connect(hub, A));
  leaf.reload(`${bare}\nleafnodes { listen: "127.0.0.1:-1"\nremotes [ ${t.remote(hub)} ] }\n`);
  await logged(leaf, /config reload not supported for LeafNode/);
  await leafz(leaf);
});

scenario("a remote is added, taken away, and disabled", { quick: true }, async (t) => {
  const [h1, h2] = [await t.hub({ name: "H1", domain: "h1" }), await t.hub({ name: "H2", domain: "h2" })];
  const leaf = await t.leaf({ remotes: [t.remote(h1)] });
  const nc = await t.connect(leaf);
  await crosses(nc, await t.connect(h1, A));
  const id = (await leafz(leaf)).leafs[0].id;
  const conf = leaf.config;
  const both = conf.replace(t.remote(h1), `${t.remote(h1)}\n${t.remote(h2)}`);
  leaf.reload(both);
  await crosses(nc, await t.connect(h2, A));
  assert.ok((await leafz(leaf, 2)).leafs.some((l) => l.id === id), "the first link did not change");
  leaf.reload(conf);
  await none(h2);
  assert.equal((await leafz(leaf)).leafs[0].id, id);
  leaf.reload(conf.replace(t.remote(h1), t.remote(h1, { more: "disabled: true" })));
  await none(h1);
  await nc.flush();
  leaf.reload(conf);
  await linked(nc, await t.connect(h1, A));
});

scenario("a change elsewhere in the file: the link stays", { quick: true }, async (t) => {
  const w = await t.link();
  w.leaf.reload(`${w.leaf.config}\nmax_payload: 900000\n`);
  w.hub.reload(`${w.hub.config}\nmax_payload: 900000\n`);
  for (const s of [w.hub, w.leaf]) await until("the reload", async () => (await s.varz()).max_payload === 900000);
  await linked(w.hubNc, w.leafNc);
  assert.equal(w.proxy.links.length, 1);
});

scenario("a remote moves to another hub", { quick: true }, async (t) => {
  const [h1, h2] = [await t.hub({ name: "H1", domain: "h1" }), await t.hub({ name: "H2", domain: "h2" })];
  const leaf = await t.leaf({ remotes: [t.remote(h1)] });
  const nc = await t.connect(leaf);
  await crosses(nc, await t.connect(h1, A));
  leaf.reload(leaf.config.replace(t.remote(h1), t.remote(h2)));
  await crosses(nc, await t.connect(h2, A));
  await none(h1);
});

scenario("the hub's user is taken away: its link ends, another user's stays", { quick: true, hub: "mayfly" }, async (t) => {
  const accounts = `accounts { ACC { users: [ {user: a, password: a}, {user: b, password: b} ] }, SYS { users: [ {user: s, password: s} ] } }\nsystem_account: SYS\n`;
  const hub = await t.hub({ accounts, domain: null });
  await t.leaf({ name: "LA", domain: null, to: hub, user: "a:a" });
  await t.leaf({ name: "LB", domain: null, to: hub, user: "b:b" });
  await leafz(hub, 2);
  hub.reload(hub.config.replace(", {user: b, password: b}", ""));
  await until("LB to be gone", async () => {
    const names = (await hub.page("/leafz")).json.leafs.map((l) => l.name);
    return names.length === 1 && names[0] === "LA";
  });
});
