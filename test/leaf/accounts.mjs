// accounts.mjs: mappings, exports and imports of an account, and the link.
import assert from "node:assert/strict";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { ask, crosses, linked, scenario } from "./lib/setup.mjs";

// On the leaf, account G is the link's.
const accountsOf = (g, c) => `accounts {
  G { jetstream: enabled, users: [ {user: g, password: g} ]\n${g} }
  C { users: [ {user: c, password: c} ]\n${c} }
  SYS { users: [ {user: s, password: s} ] }
}
system_account: SYS\n`;
const G = { user: "g", pass: "g" };
const C = { user: "c", pass: "c" };
const linkWith = (t, g, c = "") => t.link({ leaf: { accounts: accountsOf(g, c), remote: "account: G", client: G } });

scenario("a mapping of the leaf's account is announced, and maps what comes", { quick: true }, async (t) => {
  const w = await linkWith(t, "mappings: { m.in: m.out }");
  const got = collect(w.leafNc, "m.out");
  await w.proxy.seen("up", /^LS\+ m\.in$/);
  await linked(w.hubNc, w.leafNc);
  w.hubNc.publish("m.in", "x");
  await until("the message", () => got.length === 1);
  assert.equal(got[0].string(), "x");
});

scenario("a stream import: the subscriber's interest reaches the hub through the exporting account", { quick: true }, async (t) => {
  const w = await linkWith(t, `exports: [ {stream: "c.>"} ]`, `imports: [ {stream: {account: G, subject: "c.>"}, prefix: fromg} ]`);
  const nc = await t.connect(w.leaf, C);
  const got = collect(nc, "fromg.c.>");
  await w.proxy.seen("up", /^LS\+ c\.>$/);
  await linked(w.hubNc, w.leafNc);
  w.hubNc.publish("c.one", "1");
  await until("the message", () => got.length === 1);
  assert.deepEqual([got[0].subject, got[0].string()], ["fromg.c.one", "1"]);
  got.sub.unsubscribe();
  await w.proxy.seen("up", /^LS- c\.>$/);
});

scenario("a service import to the link's account: the hub's service answers another account's client", { quick: true }, async (t) => {
  const w = await linkWith(t, `exports: [ {service: "svc.b"} ]`, `imports: [ {service: {account: G, subject: "svc.b"}, to: "svc.c"} ]`);
  w.hubNc.subscribe("svc.b", { queue: "q", callback: (_, m) => m.respond(`${m.string()}!`) });
  await linked(w.hubNc, w.leafNc);
  const nc = await t.connect(w.leaf, C);
  for (let i = 0; i < 5; i++) assert.equal(await ask(nc, "svc.c", `${i}`), `${i}!`);
});

scenario("a service of another account, imported by the link's: the hub's client is answered", { quick: true }, async (t) => {
  const w = await linkWith(t, `imports: [ {service: {account: C, subject: "inner"}, to: "outer"} ]`, `exports: [ {service: "inner"} ]`);
  const nc = await t.connect(w.leaf, C);
  nc.subscribe("inner", { callback: (_, m) => m.respond(`in ${m.string()}`) });
  await nc.flush();
  await w.proxy.seen("up", /^LS\+ outer$/);
  for (let i = 0; i < 5; i++) assert.equal(await ask(w.hubNc, "outer", `${i}`), `in ${i}`);
});

scenario("other accounts stay apart: nothing of theirs is announced or crosses", { quick: true }, async (t) => {
  const w = await linkWith(t, "");
  const nc = await t.connect(w.leaf, C);
  const got = collect(nc, "private.>");
  const hub = collect(w.hubNc, "private.>");
  await nc.flush();
  await linked(w.hubNc, w.leafNc);
  w.hubNc.publish("private.x", "1");
  nc.publish("private.y", "2");
  await nc.flush();
  await crosses(w.leafNc, w.hubNc);
  await crosses(w.hubNc, w.leafNc);
  assert.deepEqual([got.texts(), hub.texts()], [["2"], ["1"]]);
  assert.deepEqual(w.proxy.lines("up", /private/), []);
});
