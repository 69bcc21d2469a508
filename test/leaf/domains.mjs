// domains.mjs: which JetStream answers, for each way in which the two sides may have domains.
import assert from "node:assert/strict";
import { until } from "../interop/lib/wait.mjs";
import { ask, becomes, crosses, linked, scenario } from "./lib/setup.mjs";

const A = { user: "a", pass: "a" };
const ACC_PLAIN = `accounts { ACC { users: [ {user: a, password: a} ] }, SYS { users: [ {user: s, password: s} ] } }\nsystem_account: SYS\n`;

// [what, the hub's domain, the leaf's domain, more of the leaf's configuration, answers to a leaf client, answers to a hub client].
// Answers to $JS.API.INFO, $JS.hub.API.INFO and $JS.lf.API.INFO: a domain, "" for one without a domain, or 503.
const rows = [
  ["a domain on each side", "hub", "lf", "", ["lf", "hub", "lf"], ["hub", "hub", "lf"]],
  ["a hub with a domain, a leaf without JetStream", "hub", null, "", ["503", "hub", "503"], ["hub", "hub", "503"]],
  ["no domain on either side", "", "", "", ["", "503", "503"], ["", "503", "503"]],
  ["a hub without a domain, a leaf with one", "", "lf", "", ["lf", "503", "lf"], ["", "503", "lf"]],
  ["a hub without JetStream, a leaf with a domain", null, "lf", "", ["lf", "503", "lf"], ["503", "503", "lf"]],
  ["the same domain on both sides", "hub", "hub", "", ["hub", "hub", "503"], ["hub", "hub", "503"]],
  ["a leaf without JetStream whose default domain is the hub's", "hub", null, `default_js_domain: { "$G": "hub" }`, ["hub", "hub", "503"], ["hub", "hub", "503"]],
  ["a leaf without JetStream whose default domain is the hub's, which has none", "", null, `default_js_domain: { "$G": "" }`, ["", "503", "503"], ["", "503", "503"]],
];

for (const [what, hubDomain, leafDomain, more, leafSees, hubSees] of rows)
  scenario(what, { quick: true }, async (t) => {
    const w = await t.link({ hub: { domain: hubDomain, ...(hubDomain === null && { accounts: ACC_PLAIN }) }, leaf: { domain: leafDomain, more } });
    const sees = async (nc) => {
      const got = [];
      for (const subject of ["$JS.API.INFO", "$JS.hub.API.INFO", "$JS.lf.API.INFO"]) {
        const r = await ask(nc, subject, "", { timeout: 10000 }).catch(() => "no answer");
        got.push(typeof r === "string" ? r : r.error ? "503" : (r.domain ?? ""));
      }
      return got;
    };
    await becomes("what the leaf's client sees", () => sees(w.leafNc), leafSees);
    await becomes("what the hub's client sees", () => sees(w.hubNc), hubSees);
    await linked(w.leafNc, w.hubNc);
  });

scenario("a stream on each side with the same subjects: both store, each ack names its domain", { quick: true }, async (t) => {
  const w = await t.link();
  const make = (nc, name) => ask(nc, `$JS.API.STREAM.CREATE.${name}`, JSON.stringify({ name, subjects: ["both.>"] }));
  await make(w.hubNc, "X");
  await make(w.leafNc, "Y");
  await w.proxy.seen("down", /^LS\+ both\.>$/);
  await w.proxy.seen("up", /^LS\+ both\.>$/);
  await linked(w.leafNc, w.hubNc);
  const acks = [];
  w.leafNc.subscribe("acks", { callback: (_, m) => acks.push(m.json()) });
  await crosses(w.hubNc, w.leafNc);
  w.leafNc.publish("both.a", "1", { reply: "acks" });
  // An ack comes when its side has the message on disk, so their order is open.
  await becomes("two acks", () => acks.map((a) => [a.stream, a.domain, a.seq]).sort(), [["X", "hub", 1], ["Y", "lf", 1]]);
});

scenario("a link of system accounts between two domains: no streams are joined", { quick: true }, async (t) => {
  const hub = await t.hub();
  const sys = `accounts { G1 { jetstream: enabled, users: [ {user: g, password: g} ] }, SYS { users: [ {user: s, password: s} ] } }\nsystem_account: SYS\n`;
  const leaf = await t.leaf({ accounts: sys, remotes: [t.remote(hub, { user: "a:a", more: "account: G1" }), t.remote(hub, { user: "s:s", more: "account: SYS" })] });
  const [h, l] = [await t.connect(hub, A), await t.connect(leaf, { user: "g", pass: "g" })];
  await linked(h, l);
  assert.equal((await ask(l, "$JS.API.INFO")).domain, "lf");
  assert.equal((await ask(h, "$JS.API.INFO")).domain, "hub");
  assert.equal((await ask(l, "$JS.hub.API.INFO")).domain, "hub");
});

// Between nats-servers this would extend the hub's domain to the leaf.
scenario("a link of system accounts with the same domain is refused in words", { leaf: "mayfly" }, async (t) => {
  const hub = await t.hub();
  const sys = `accounts { SYS { users: [ {user: s, password: s} ] } }\nsystem_account: SYS\n`;
  const leaf = await t.leaf({ domain: "hub", accounts: sys, remotes: [t.remote(hub, { user: "s:s", more: "account: SYS" })] });
  const { logged } = await import("./lib/setup.mjs");
  await logged(leaf, /system account.*domain|domain.*system account/i);
  await (await t.connect(leaf)).flush();
});

scenario("equal domains are warned of", { quick: true, leaf: "mayfly" }, async (t) => {
  const w = await t.link({ leaf: { domain: "hub" } });
  await until("the warning", () => /\[WRN\].*domain/i.test(w.leaf.log()));
});
