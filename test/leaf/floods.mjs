// floods.mjs: peers that want to do harm: lies, floods, and what they may not.  The server stays whole, and serves everybody else.
import assert from "node:assert/strict";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { ask, jetstreamOf, logged, scenario } from "./lib/setup.mjs";
import { PlayedHub } from "./lib/played.mjs";

const A = { user: "a", pass: "a" };
const mayflyHub = { quick: true, alone: "hub", hub: "mayfly" };
const mayflyLeaf = { quick: true, alone: "leaf", leaf: "mayfly" };

const hello = (name, more = {}) => `CONNECT ${JSON.stringify({ name, cluster: name, headers: true, remote_account: "R", ...A, ...more })}`;

// A raw leaf that has logged in.
async function enter(t, hub, name = "RAW", more = {}) {
  const r = await t.rawLeaf(hub);
  r.send(hello(name, more));
  await r.expect(/INFO [^\r]*"connect_info":true[^\r]*\r\n/);
  return r;
}

// Another client is served, and so is another leaf.
async function serves(t, hub) {
  const nc = await t.connect(hub, A);
  await nc.flush();
  const r = await enter(t, hub, "OTHER");
  await r.ping();
  r.close();
  await nc.close();
}

/* --- before the login ------------------------------------------------------------------------- */

for (const [what, line] of [["an error", "-ERR 'x'"], ["+OK", "+OK"], ["PONG", "PONG"], ["a message", "LMSG x 0\r\n"]])
  scenario(`a stranger who says ${what} is refused`, mayflyHub, async (t) => {
    const hub = await t.hub();
    const r = await t.rawLeaf(hub);
    r.send(line);
    assert.match(await r.closed(), /Authorization Violation/);
    await serves(t, hub);
  });

scenario("a stranger's login that cannot be read is not shown in the log", mayflyHub, async (t) => {
  const hub = await t.hub();
  for (const line of [`CONNECT {"pass":"hunter2","x":"${"y".repeat(70000)}"}`, `connect{"pass":"hunter2"}`, `CONNECT {"pass":"hunter2",}`]) {
    const r = await t.rawLeaf(hub);
    r.send(line);
    await r.closed();
  }
  await logged(hub, /Leafnode connection closed/, 3);
  assert.doesNotMatch(hub.log(), /hunter2/);
});

scenario("a login that breaks off at each byte leaves nothing behind", mayflyHub, async (t) => {
  const hub = await t.hub();
  const text = `${hello("CUT")}\r\nLS+ a\r\nLMSG a 1\r\nx\r\n`;
  for (let n = 0; n <= text.length; n++) {
    const r = await t.rawLeaf(hub);
    r.socket.end(text.slice(0, n), "latin1");
    await r.closed();
    r.close();
  }
  await serves(t, hub);
  await until("no link to be left", async () => (await hub.page("/leafz")).json.leafs.length === 0);
});

const bombs = [
  ["nested lists", `{"name":${"[".repeat(60000)}`],
  ["nested objects", `{"x":${'{"a":'.repeat(12000)}1${"}".repeat(12000)}}`],
  ["a list of thousands", `{"deny_pub":[${Array(15000).fill('"a"').join(",")}]}`],
  ["wrong types", `{"name":{},"deny_pub":"x","headers":"yes","protocol":1e400}`],
  ["names with line ends", `{"name":"x\\r\\n[INF] forged","cluster":"y\\nz","server_id":"\\u0000","remote_account":"\\n"}`],
];
for (const [what, json] of bombs)
  scenario(`CONNECT with ${what}`, mayflyHub, async (t) => {
    const hub = await t.hub();
    const r = await t.rawLeaf(hub);
    r.send(`CONNECT ${json}`);
    await r.closed();
    await serves(t, hub);
    assert.doesNotMatch(hub.log(), /^\[INF\] forged/m);
  });

scenario("a thousand links at once", { alone: "hub", hub: "mayfly" }, async (t) => {
  const hub = await t.hub({ leafnodes: "authorization { timeout: 60 }" });
  const all = await Promise.all(Array.from({ length: 1000 }, (_, i) => enter(t, hub, `L${i}`)));
  const nc = await t.connect(hub, A);
  for (const r of all) r.send("LS+ to.all", "PING");
  await Promise.all(all.map((r) => r.expect(/PONG/)));
  nc.publish("to.all", "x");
  await Promise.all(all.map((r) => r.expect(/LMSG to\.all 1\r\nx\r\n/)));
  await serves(t, hub);
  for (const r of all) r.close();
  await until("all to be gone", async () => (await hub.page("/leafz")).json.leafs.length === 0);
});

/* --- what a peer may not ---------------------------------------------------------------------- */

scenario("a subject behind the reply does not decide where a message is stored", mayflyHub, async (t) => {
  const hub = await t.hub({ accounts: `accounts { ACC { jetstream: enabled, users: [ {user: a, password: a}, {user: low, password: low, permissions: { publish: "in.>", subscribe: "_INBOX.>" }} ] } }\n` });
  const nc = await t.connect(hub, A);
  const { jsm } = await jetstreamOf(nc);
  await jsm.streams.add({ name: "IN", subjects: ["in.>"] });
  const r = await enter(t, hub, "LOW", { user: "low", pass: "low" });
  for (const [i, shown] of ["secret.key", "in.*", "in.>", "a..b", ".", "x".repeat(5000)].entries()) r.send(`LMSG in.${i} $JS.ACK.a.b.c.d.e.f.g@${shown} 1`, "x");
  await r.ping();
  const st = await until("the messages to be stored", async () => ((s) => s.messages === 6 && s)((await jsm.streams.info("IN", { subjects_filter: ">" })).state));
  assert.deepEqual(Object.keys(st.subjects).sort(), ["in.0", "in.1", "in.2", "in.3", "in.4", "in.5"]);
});

scenario("requests to this server's own APIs do not cross by their plain names", { quick: true, hub: "mayfly", leaf: "mayfly" }, async (t) => {
  const w = await t.link();
  const got = collect(w.leafNc, ">");
  await until("interest in everything to be known", () => w.proxy.lines("up", /^LS\+ >$/).length > 0);
  const { jsm } = await jetstreamOf(w.hubNc);
  await jsm.streams.add({ name: "S", subjects: ["s"] });
  for (const api of ["$JS.API.STREAM.INFO.S", "$MAYFLY.TTL.STATS", "$MAYFLY.TTL.GET.S"]) w.hubNc.publish(api, "");
  w.hubNc.publish("after", "");
  await until("what follows to arrive", () => got.some((m) => m.subject === "after"));
  assert.deepEqual(w.proxy.lines("down", /^[LH]MSG \$(JS\.API|MAYFLY\.TTL)\./), []);
});

scenario("a leaf does not reach $MAYFLY.TTL.> by its plain name", mayflyHub, async (t) => {
  const hub = await t.hub();
  const nc = await t.connect(hub, A);
  const r = await enter(t, hub);
  r.send("LS+ reply.here", "LMSG $MAYFLY.TTL.STATS reply.here 0", "");
  const said = await r.ping();
  assert.ok((await ask(nc, "$MAYFLY.TTL.STATS")).type);
  assert.doesNotMatch(said + (await r.ping()), /LMSG reply\.here/); // and the link stays
});

for (const api of ["$JS.API.INFO", "$KV.b.k", "$OBJ.x"])
  scenario(`a leaf does not reach ${api} by its plain name`, mayflyHub, async (t) => {
    const hub = await t.hub();
    const nc = await t.connect(hub, A);
    const got = collect(nc, "$KV.>");
    await nc.flush();
    const r = await enter(t, hub);
    r.send("LS+ reply.here", `LMSG ${api} reply.here 0`, "");
    assert.match(await r.closed(), /Permissions Violation for Publish to/);
    assert.equal(got.length, 0);
  });

scenario("a remote in the hub's role keeps what it is not to import, without a domain too", mayflyLeaf, async (t) => {
  const h = await PlayedHub.open(t);
  const leaf = await t.leaf({ domain: null, to: h, user: "", remote: `hub: true, deny_imports: "not.this"` });
  const nc = await t.connect(leaf);
  const got = collect(nc, "not.this");
  await nc.flush();
  const r = await h.link();
  await r.ping();
  r.send("LMSG not.this 1", "x");
  await r.expect(/Permissions Violation for Publish to "not.this"/);
  assert.equal(got.length, 0);
});

scenario("answers of services are read by nobody who may not", mayflyHub, async (t) => {
  const hub = await t.hub({
    accounts: `accounts {
      S { users: [ {user: s, password: s}, {user: spy, password: spy, permissions: { publish: "in.>", subscribe: "ok.>" }} ], exports: [ {service: "svc"} ] }
      ACC { jetstream: enabled, imports: [ {service: {account: S, subject: "svc"}} ], users: [ {user: a, password: a},
        {user: low, password: low, permissions: { publish: "in.>", subscribe: "ok.>" }} ] } }\n`,
  });
  const [server, nc] = [await t.connect(hub, { user: "s", pass: "s" }), await t.connect(hub, A)];
  const spy = await enter(t, hub, "SPY", { user: "spy", pass: "spy" });
  spy.send("LS+ >", "LS+ _R_.>", "LS+ *.*.*", "LS+ _GR_.>");
  await spy.ping();
  server.subscribe("svc", { callback: (_, m) => m.respond("secret answer") });
  await server.flush();
  const r = await enter(t, hub, "LOW", { user: "low", pass: "low" });
  r.send("LS+ >", "LS+ _R_.>", "LS+ *.*.*", "LS+ _GR_.>");
  await r.ping();
  assert.equal(await ask(nc, "svc"), "secret answer");
  nc.publish("_GR_.aaaaaa.bbbbbb.secret.subject", "secret answer");
  nc.publish("ok.here", "seen");
  await nc.flush();
  const [said] = await r.expect(/^[^]*LMSG ok\.here 4\r\nseen/);
  assert.doesNotMatch(said, /secret answer/);
  assert.doesNotMatch(await spy.ping(), /secret answer/);
});

/* --- interest --------------------------------------------------------------------------------- */

scenario("sums of huge weights can be read by the next server", mayflyHub, async (t) => {
  const hub = await t.hub();
  const [a, b, c] = [await enter(t, hub, "A"), await enter(t, hub, "B"), await enter(t, hub, "C")];
  for (const r of [a, b]) r.send("LS+ heavy q 999999999", "LS+ mark q 1");
  await c.expect(/^([^]*)LS\+ mark q 2\r\n/).then(([, said]) => {
    for (const [line, weight] of said.matchAll(/LS\+ heavy q (\d+)/g)) assert.ok(Number(weight) <= 999999999, line);
  });
});

scenario("a weight of 0 that grows is told to others", mayflyHub, async (t) => {
  const hub = await t.hub();
  const [a, b] = [await enter(t, hub, "A"), await enter(t, hub, "B")];
  a.send("LS+ light q 0", "LS+ light q 5");
  await b.expect(/LS\+ light q 5\r\n/);
  a.send("LS+ light q 0");
  await b.expect(/LS- light q\r\n/);
});

for (const weight of ["2147483648", "-1", "99999999999999999999", "1.5", "0x10"])
  scenario(`a weight of ${weight} ends the link`, mayflyHub, async (t) => {
    const hub = await t.hub();
    const r = await enter(t, hub);
    r.send(`LS+ s q ${weight}`);
    await r.closed();
    await serves(t, hub);
  });

scenario("queues of every name, and withdrawn again", mayflyHub, async (t) => {
  const hub = await t.hub();
  const r = await enter(t, hub);
  const names = ["*", ">", "a.b", "+", "|", "..", "$", "\x01", "\x7f", "é", "q".repeat(60000)];
  for (const way of ["LS+", "LS-"]) for (const n of names) r.send(`${way} s ${n}${way === "LS+" ? " 1" : ""}`);
  await r.ping();
  await serves(t, hub);
  await until("nothing to be left", async () => (await hub.page("/leafz?subs=1")).json.leafs.find((l) => l.name === "RAW").subscriptions === 0);
});

scenario("a line to a peer stays within what the peer reads", mayflyHub, async (t) => {
  const hub = await t.hub();
  const nc = await t.connect(hub, A);
  const r = await enter(t, hub);
  for (let i = 0; i < 3000; i++) r.send(`LS+ many ${"q".repeat(30)}${i} 1`);
  await r.ping();
  nc.publish("many", "x");
  await nc.flush();
  await r.ping().then((said) => {
    const [line] = said.match(/LMSG many [^\r]*\r\n/) ?? [""];
    assert.ok(line.length > 0 && line.length <= 65536, `a line of ${line.length} bytes`);
  });
});

scenario("a flood of deep interest is bounded", { alone: "hub", hub: "mayfly" }, async (t) => {
  const hub = await t.hub();
  const r = await enter(t, hub);
  let sent = 0;
  for (; sent < 500 && !r.ended; sent++) {
    if (!r.socket.write(`LS+ d${sent}${".a".repeat(30000)}\r\n`)) await until("room", () => r.ended || r.socket.writableLength === 0);
  }
  assert.match(await r.closed(), /maximum subscriptions exceeded/);
  await serves(t, hub);
});

/* --- a hub that lies -------------------------------------------------------------------------- */

scenario("pages are shown while a removed remote's link ends", mayflyLeaf, async (t) => {
  const h = await PlayedHub.open(t);
  const leaf = await t.leaf({ to: h, user: "" });
  const r = await h.link();
  await r.ping();
  r.socket.on("end", () => {}); // it never ends its side
  leaf.reload(leaf.config.replace(/remotes: \[[^]*?\] }\n/, "remotes: [] }\n"));
  await leaf.logged(/Reloaded: LeafNode Remote .* removed/);
  for (const p of ["/metrics", "/varz", "/leafz", "/connz", "/accountz"]) assert.equal((await leaf.page(p)).status, 200, p);
});

const infos = [
  ["nested lists", (h) => `INFO {"x":${"[".repeat(60000)}`],
  ["wrong types", () => `INFO {"server_name":1,"client_id":"x"}`],
  ["thousands of addresses", (h) => h.info({ leafnode_urls: Array.from({ length: 2500 }, (_, i) => `127.0.0.1:${i + 1}`) })],
  ["bad addresses", (h) => h.info({ leafnode_urls: ["", ":", ":1", "a:99999", "[::1]", "[]:1", "a:-1", "x".repeat(5000) + ":1", "\u0000:1"] })],
  ["itself as a name with line ends", (h) => h.info({ server_name: "x\r\n[INF] forged", cluster: "y\nz" })],
];
for (const [what, line] of infos)
  scenario(`INFO with ${what}`, mayflyLeaf, async (t) => {
    const h = await PlayedHub.open(t);
    const leaf = await t.leaf({ to: h, user: "" });
    const nc = await t.connect(leaf);
    const r = await h.next();
    r.send(line(h));
    await until("an answer or the end", () => r.ended || /CONNECT/.test(r.buf) || leaf.log().includes("Leafnode connection closed"));
    await nc.flush();
    assert.doesNotMatch(leaf.log(), /^\[INF\] forged/m);
  });

scenario("permissions that cannot be read are named as such", mayflyLeaf, async (t) => {
  const h = await PlayedHub.open(t);
  const leaf = await t.leaf({ to: h, user: "" });
  const r = await h.link();
  await r.ping();
  r.send(h.info({ export: { allow: ["bad..subject"] } }));
  await leaf.logged(/Leafnode connection closed/);
  assert.match(leaf.log(), /bad\.\.subject/);
  assert.doesNotMatch(leaf.log(), /Out of Memory/);
});

scenario("INFO at every moment, with other permissions each time", mayflyLeaf, async (t) => {
  const h = await PlayedHub.open(t);
  const leaf = await t.leaf({ to: h, user: "" });
  const nc = await t.connect(leaf);
  for (let i = 0; i < 200; i++) nc.subscribe(`s${i % 7}.x${i}`, { callback: () => {} });
  await nc.flush();
  const r = await h.link();
  await r.ping();
  for (let i = 0; i < 300; i++) r.send(h.info(i % 3 ? { import: { allow: [`s${i % 7}.>`, "_INBOX.>"] }, export: { deny: [`s${i % 5}.>`] } } : { import: { deny: ["s1.*"] } }), `LMSG s${i % 7}.x${i % 200} 1`, "x");
  await r.ping();
  await nc.flush();
});

scenario("a hub that breaks off at every few bytes is dialled again", mayflyLeaf, async (t) => {
  const h = await PlayedHub.open(t);
  const leaf = await t.leaf({ to: h, user: "", leafnodes: "reconnect: 0.02s" });
  const text = `${h.info()}\r\n`;
  for (let n = 0; n < 12; n++) {
    const r = await h.next();
    r.socket.end(text.slice(0, Math.floor((n * text.length) / 12)), "latin1");
    await r.closed();
    r.close();
  }
  const r = await h.link();
  await r.ping();
  await leaf.logged(/is usable/);
});

scenario("shutdown in each phase of dialling", mayflyLeaf, async (t) => {
  for (const upTo of [0, 1, 2, 3]) {
    const h = await PlayedHub.open(t);
    const leaf = await t.leaf({ name: `P${upTo}`, to: h, user: "" });
    const r = await h.next();
    if (upTo > 0) r.send(h.info());
    if (upTo > 1) await r.expect(/CONNECT/);
    if (upTo > 2) {
      r.send(h.answer());
      await r.ping();
    }
    await leaf.stop();
  }
});
