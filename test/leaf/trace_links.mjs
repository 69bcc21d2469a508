// trace_links.mjs: messages with Nats-Trace-Dest that cross a link: each server sends a trace, with the number of its hop.
import assert from "node:assert/strict";
import { headers } from "../interop/lib/clients.mjs";
import { collect } from "../interop/lib/scenario.mjs";
import { until } from "../interop/lib/wait.mjs";
import { ACCOUNTS, linked, scenario } from "./lib/setup.mjs";

function hdr(o) {
  const h = headers();
  for (const [k, v] of Object.entries(o)) h.append(k, v);
  return h;
}

// Publishes; returns `n` traces, that of the first server first, without what differs from run to run.
async function traced(from, got, n, subject, { only, dest = "traces.a", reply } = {}) {
  const first = got.length;
  from.publish(subject, "x", { headers: hdr({ "Nats-Trace-Dest": dest, ...(only ? { "Nats-Trace-Only": "true" } : {}) }), reply });
  await until(`${n} traces of ${subject}`, () => got.length >= first + n);
  const all = got.slice(first).map((m) => m.json()).sort((a, b) => hop(a).localeCompare(hop(b)));
  assert.equal(all.length, n);
  for (const t of all) for (const e of t.events) for (const k of ["ts", "cid"]) delete e[k];
  return all;
}
const hop = (t) => t.request.header["Nats-Trace-Hop"]?.[0] ?? "";

const IN = (kind, name, acc, subj) => ({ type: "in", kind, name, acc, subj });
const OVER = (name, number, more = {}) => ({ type: "eg", kind: 4, name, hop: number, ...more });
const OUT = (name, sub, more = {}) => ({ type: "eg", kind: 0, name, sub, ...more });

scenario("both servers trace a message, and a dry run is delivered on neither side", { quick: true }, async (t) => {
  const { hub, leaf } = await t.link({ wire: false });
  const h = await t.connect(hub, { user: "a", pass: "a", name: "h" });
  const l = await t.connect(leaf, { name: "l" });
  for (const [from, to, here, there, accs] of [[l, h, "LF", "N1", ["$G", "ACC"]], [h, l, "N1", "LF", ["ACC", "$G"]]]) {
    const got = collect(to, "foo.*");
    const traces = collect(from, "traces.a");
    await linked(h, l);
    for (const only of [true, false]) {
      const [a, b] = await traced(from, traces, 2, "foo.1", { only });
      const name = from === l ? "l" : "h";
      assert.deepEqual(a.events, [IN(0, name, accs[0], "foo.1"), OVER(there, "1")]);
      assert.equal(a.hops, 1);
      assert.equal(a.server.name, here);
      assert.deepEqual(b.events, [IN(4, here, accs[1], "foo.1"), OUT(name === "l" ? "h" : "l", "foo.*")]);
      assert.equal(hop(b), "1");
      assert.equal(b.hops, undefined);
      assert.equal(b.server.name, there);
    }
    await until("the message", () => got.length > 0);
    await linked(h, l);
    assert.equal(got.length, 1);
    assert.equal(got[0].headers.get("Nats-Trace-Hop"), "1");
    got.sub.unsubscribe();
    traces.sub.unsubscribe();
    await linked(h, l);
  }
});

scenario("a stream behind the link is asked, and the hops of a chain are numbered", {}, async (t) => {
  const { hub, leaf, hubNc } = await t.link({ wire: false });
  const leaf2 = await t.leaf({ name: "LF2", domain: "lf2", to: hub, place: "leaf" });
  const l2 = await t.connect(leaf2, { name: "l2" });
  const l = await t.connect(leaf, { name: "l" });
  await linked(hubNc, l2);
  const got = collect(l2, "far");
  const traces = collect(l, "traces.a");
  await hubNc.request("$JS.API.STREAM.CREATE.FAR", JSON.stringify({ name: "FAR", subjects: ["far"] }));
  await linked(hubNc, l2);
  await linked(hubNc, l);
  for (const only of [true, false]) {
    const [a, b, c] = await traced(l, traces, 3, "far", { only });
    assert.deepEqual(a.events.slice(1), [OVER("N1", "1")]);
    assert.deepEqual(b.events.map((e) => e.stream ?? e.name), ["LF", "FAR", "LF2"]);
    assert.equal(b.events[2].hop, "1.1");
    assert.equal(b.events[1].error, undefined);
    assert.deepEqual(c.events, [IN(4, "N1", "$G", "far"), OUT("l2", "far")]);
  }
  await until("the message", () => got.length === 1);
  const info = (await hubNc.request("$JS.API.STREAM.INFO.FAR", "")).json();
  assert.equal(info.state.messages, 1);
});

scenario("the trace of a service behind a link comes back through the import", {}, async (t) => {
  const accounts = `accounts { ACC { jetstream: enabled, users: [ {user: a, password: a} ]
      exports: [ { service: "svc.>", allow_trace: true }, { service: "closed.>" } ] }
    B { users: [ {user: b, password: b} ], imports: [ { service: { account: ACC, subject: "svc.>" } }, { service: { account: ACC, subject: "closed.>" } } ] } }\n`;
  const { hub, leaf, hubNc } = await t.link({ wire: false, hub: { accounts } });
  const b = await t.connect(hub, { user: "b", pass: "b", name: "b" });
  const l = await t.connect(leaf, { name: "l" });
  const got = [collect(l, "svc.*"), collect(l, "closed.*")];
  await linked(hubNc, l);
  const traces = collect(b, "traces.b");
  await b.flush();
  const [first, second] = await traced(b, traces, 2, "svc.1", { dest: "traces.b", reply: "answer" });
  assert.deepEqual(first.events, [IN(0, "b", "B", "svc.1"), { type: "si", acc: "ACC", from: "svc.1", to: "svc.1" }, OVER("LF", "1", { acc: "ACC" })]);
  assert.deepEqual(second.events, [IN(4, "N1", "$G", "svc.1"), OUT("l", "svc.*")]);
  const [only] = await traced(b, traces, 1, "closed.1", { dest: "traces.b", reply: "answer" });
  assert.deepEqual(only.events.slice(1), [{ type: "si", acc: "ACC", from: "closed.1", to: "closed.1" }]);
  await until("both messages", () => got.every((g) => g.length === 1));
  assert.match(got[0][0].headers.get("Nats-Trace-Dest"), /^_R_\./);
  assert.equal(got[1][0].headers.get("Nats-Trace-Dest"), "trace disabled");
  await linked(hubNc, l);
  assert.equal(traces.length, 3);
  // Several servers send their traces through one import, whose service gives one answer.
  const l2 = await t.connect(await t.leaf({ name: "LF2", domain: "lf2", to: hub }), { name: "l2" });
  await linked(hubNc, l2);
  collect(l2, "svc.*");
  await linked(hubNc, l2);
  const three = await traced(b, traces, 3, "svc.1", { dest: "traces.b", reply: "answer" });
  assert.deepEqual(three.map((x) => x.server.name).sort(), ["LF", "LF2", "N1"]);
});

// Each exporter has a reply of its own for the traces of other servers; both lead to the destination.
scenario("a message that enters two accounts is traced behind the links of both", {}, async (t) => {
  const hub = await t.hub({ accounts: `accounts {
    ACC { users: [ {user: a, password: a} ], exports: [ { service: "svc.>", allow_trace: true } ] }
    D { users: [ {user: d, password: d} ], exports: [ { service: "more.>", allow_trace: true } ] }
    B { users: [ {user: b, password: b} ], imports: [ { service: { account: ACC, subject: "svc.>" } }, { service: { account: D, subject: "more.1" }, to: "svc.1" } ] } }\n` });
  const leaf = await t.leaf({ accounts: "accounts { LA { users: [ {user: a, password: a} ] }, LD { users: [ {user: d, password: d} ] } }\n",
    remotes: [t.remote(hub, { user: "a:a", more: "account: LA" }), t.remote(hub, { user: "d:d", more: "account: LD" })] });
  const connect = (s, user) => t.connect(s, { user, pass: user, name: user });
  const b = await connect(hub, "b");
  for (const [user, subject] of [["a", "svc.*"], ["d", "more.*"]]) {
    const [near, far] = [await connect(hub, user), await connect(leaf, user)];
    collect(far, subject);
    await linked(near, far);
  }
  const traces = collect(b, "traces.b");
  await b.flush();
  const all = await traced(b, traces, 3, "svc.1", { dest: "traces.b", reply: "answer" });
  assert.deepEqual(all.map((x) => x.server.name).sort(), ["LF", "LF", "N1"]);
});

// A raw leaf that has logged in.
async function enter(t, hub, connect) {
  const r = await t.rawLeaf(hub);
  r.send(`CONNECT ${JSON.stringify({ name: "RAW", cluster: "RAW", headers: true, user: "a", pass: "a", ...connect })}`);
  await r.expect(/INFO [^\r]*"connect_info":true[^\r]*\r\n/);
  return r;
}

scenario("a server that traces nothing gets no dry run", { quick: true, alone: "hub" }, async (t) => {
  const hub = await t.hub();
  const nc = await t.connect(hub, { user: "a", pass: "a", name: "h" });
  const r = await enter(t, hub, { protocol: 1 });
  r.send("LS+ foo");
  await r.ping();
  const traces = collect(nc, "traces.a");
  await nc.flush();
  const [dry] = await traced(nc, traces, 1, "foo", { only: true });
  assert.deepEqual(dry.events.slice(1), [OVER("RAW", "1", { error: "Not delivered because remote does not support message tracing" })]);
  assert.doesNotMatch(await r.ping(), /HMSG/);
  const [sent] = await traced(nc, traces, 1, "foo");
  const why = "Message delivered but remote does not support message tracing so no trace event generated from there";
  assert.deepEqual(sent.events.slice(1), [OVER("RAW", "1", { error: why })]);
  assert.match(await r.ping(), /HMSG foo [^]*Nats-Trace-Hop: ?1\r\n/);
});

scenario("a trace goes where the user of the link may publish", { quick: true, alone: "hub" }, async (t) => {
  const accounts = `accounts { ACC { users: [ {user: a, password: a, permissions: { publish: { deny: "no.>" } } }, { user: b, password: b } ] } }\n`;
  const hub = await t.hub({ accounts });
  const nc = await t.connect(hub, { user: "b", pass: "b", name: "h" });
  const got = collect(nc, "foo");
  const traces = [collect(nc, "yes.a"), collect(nc, "no.a")];
  await nc.flush();
  const r = await enter(t, hub, { protocol: 3 });
  const send = (dest, more = "") => {
    const h = `NATS/1.0\r\nNats-Trace-Dest: ${dest}\r\n${more}\r\n`;
    r.send(`HMSG foo ${h.length} ${h.length}`, h);
  };
  send("no.a");
  send("yes.a", "Nats-Trace-Hop: 7.1\r\n");
  await until("the trace", () => traces[0].length === 1);
  const trace = traces[0][0].json();
  assert.equal(hop(trace), "7.1");
  assert.deepEqual(trace.events.map((e) => [e.type, e.kind, e.name]), [["in", 4, "RAW"], ["eg", 0, "h"]]);
  await nc.flush();
  assert.equal(got.length, 1);
  assert.equal(traces[1].length, 0);
  await r.expect(/-ERR 'Permissions Violation for Publish to "no.a"'/);
  await hub.logged(/Publish Violation/);
});

scenario("a traceparent over a link needs no permission for the account's destination", { quick: true, alone: "hub", hub: "mayfly" }, async (t) => {
  const accounts = `accounts { ACC { msg_trace: { dest: no.a }, users: [ {user: a, password: a, permissions: { publish: { deny: "no.>" } } }, { user: b, password: b } ] } }\n`;
  const hub = await t.hub({ accounts });
  const nc = await t.connect(hub, { user: "b", pass: "b", name: "h" });
  const [got, traces] = [collect(nc, "foo"), collect(nc, "no.a")];
  await nc.flush();
  const r = await enter(t, hub, { protocol: 3 });
  const h = "NATS/1.0\r\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n\r\n";
  r.send(`HMSG foo ${h.length} ${h.length}`, h);
  await until("the message and its trace", () => got.length === 1 && traces.length === 1);
});
