// imports.mjs: what another account of the hub exports, and the account of the link imports.  A message crosses once, as the link's account
// sees it, however many of the leaf's subscriptions match.
import assert from "node:assert/strict";
import { until } from "../interop/lib/wait.mjs";
import { scenario } from "./lib/setup.mjs";

const hubOf = (t, imports) =>
  t.hub({
    accounts: `accounts {
      S { users: [ {user: s, password: s} ], exports: [ {stream: "ex.>"} ] }
      ACC { jetstream: enabled, imports: [ ${imports} ], users: [ {user: a, password: a} ] } }\n`,
  });
const IMPORT = `{stream: {account: S, subject: "ex.>"}}`;
const S = { user: "s", pass: "s" };

// A raw leaf that has logged in.
async function enter(t, hub, name = "RAW", user = { user: "a", pass: "a" }) {
  const r = await t.rawLeaf(hub);
  r.send(`CONNECT ${JSON.stringify({ name, cluster: name, headers: true, remote_account: "R", ...user })}`);
  await r.expect(/INFO [^\r]*"connect_info":true[^\r]*\r\n/);
  return r;
}

// The lines that cross when the exporting account publishes: subject, queues (sorted), payload.
async function crossed(nc, r, subject) {
  await r.ping(); // the hub has read what the leaf said
  nc.publish(subject, "one");
  await nc.flush();
  const lines = (await r.ping()).matchAll(/LMSG (\S+)(?: \| ([^\r]*))? \d+\r\n([^\r]*)\r\n/g);
  return Array.from(lines, ([, to, queues = "", payload]) => [to, ...queues.split(" ").filter(Boolean).sort(), payload].join(" "));
}

scenario("a message of a stream import crosses once, however many subscriptions match", { quick: true, alone: "hub" }, async (t) => {
  const hub = await hubOf(t, IMPORT);
  const nc = await t.connect(hub, S);
  const r = await enter(t, hub);
  r.send("LS+ ex.a", "LS+ ex.*", "LS+ ex.a q 1");
  await r.ping();
  assert.deepEqual(await crossed(nc, r, "ex.a"), ["ex.a q one"]);
});

scenario("a stream import under another name: one line with all queues, until the last subscription ends", { quick: true, alone: "hub" }, async (t) => {
  const hub = await hubOf(t, `{stream: {account: S, subject: "ex.>"}, prefix: "p"}`);
  const nc = await t.connect(hub, S);
  const r = await enter(t, hub);
  r.send("LS+ p.ex.a", "LS+ p.ex.*", "LS+ p.ex.a q 1", "LS+ p.> r 1", "LS+ p.ex.b other 1");
  await r.ping();
  assert.deepEqual(await crossed(nc, r, "ex.a"), ["p.ex.a q r one"]);
  r.send("LS- p.ex.a", "LS- p.ex.*");
  assert.deepEqual(await crossed(nc, r, "ex.c"), ["p.ex.c r one"]);
  r.send("LS- p.> r");
  assert.deepEqual(await crossed(nc, r, "ex.c"), []);
  assert.deepEqual(await crossed(nc, r, "ex.a"), ["p.ex.a q one"]);
  r.send("LS- p.ex.a q", "LS- p.ex.b other");
  assert.deepEqual(await crossed(nc, r, "ex.a"), []);
});

scenario("a leaf of the exporting account hears what a leaf of the importing one wants, and is heard once", { quick: true, alone: "hub" }, async (t) => {
  const hub = await hubOf(t, `{stream: {account: S, subject: "ex.>"}, prefix: "p"}`);
  const [from, to] = [await enter(t, hub, "FROM", S), await enter(t, hub, "TO")];
  to.send("LS+ p.ex.a", "LS+ p.ex.*", "LS+ p.ex.a q 1");
  await to.ping();
  const told = await from.ping();
  for (const line of ["LS+ ex.a\r\n", "LS+ ex.*\r\n", "LS+ ex.a q 1\r\n"]) assert.ok(told.includes(line), told);
  from.send("LMSG ex.a | q 3", "one");
  await from.ping();
  const lines = (await to.ping()).match(/LMSG [^\r]*/g);
  assert.deepEqual(lines, ["LMSG p.ex.a | q 3"]);
  to.send("LS- p.ex.a q");
  await to.ping();
  assert.match(await from.ping(), /LS- ex\.a q\r\n/);
});

scenario("stream imports come and go by reload, and the link ends: each message crosses once, or not at all", { quick: true, alone: "hub", hub: "mayfly" }, async (t) => {
  const hub = await hubOf(t, IMPORT);
  const nc = await t.connect(hub, S);
  const r = await enter(t, hub);
  const once = (want) => until(`${want} lines`, async () => (await crossed(nc, r, "ex.a")).length === want);
  r.send("LS+ ex.a", "LS+ >", "LS+ ex.* q 1");
  await r.ping();
  assert.equal((await crossed(nc, r, "ex.a")).length, 1);
  const conf = hub.config;
  hub.reload(conf.replace(IMPORT, ""));
  await once(0);
  hub.reload(conf.replace(IMPORT, `${IMPORT}, {stream: {account: S, subject: "ex.*"}, prefix: p}`));
  await once(2); // two imports: each brings its own copy, under its own name
  hub.reload(conf);
  await once(1);
  r.close();
  await until("the end of the link", async () => (await hub.page("/leafz")).json.leafnodes === 0);
  nc.publish("ex.a", "nobody");
  await nc.flush();
  const again = await enter(t, hub);
  again.send("LS+ ex.a", "LS+ ex.*");
  await again.ping();
  assert.equal((await crossed(nc, again, "ex.a")).length, 1);
});
