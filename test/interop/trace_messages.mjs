// trace_messages.mjs: Nats-Trace-Dest and traceparent: what the trace of a message says.
import assert from "node:assert/strict";
import zlib from "node:zlib";
import { headers } from "@nats-io/transport-node";
import { api, ready } from "./lib/backup.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { until } from "./lib/wait.mjs";

function hdr(o) {
  const h = headers();
  for (const [k, v] of Object.entries(o)) for (const x of [].concat(v)) h.append(k, x);
  return h;
}

const PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7";

// What differs from run to run is left out.
function plain(trace) {
  for (const e of trace.events) {
    assert.match(e.ts, /^\d{4}-\d\d-\d\dT.*Z$/);
    delete e.ts;
    if (e.cid !== undefined) assert.ok(e.cid > 0);
    delete e.cid;
  }
  return trace.events;
}

// A traced publish: its events, and all of the trace.  dest is where the traces arrive at `reader`.
class Tracer {
  constructor(nc, reader = nc, dest = "traces.a") {
    Object.assign(this, { nc, dest, got: collect(reader, dest) });
    this.ready = reader.flush();
  }

  async publish(subject, { only, headers: more = {}, payload = "hello", reply, by = { "Nats-Trace-Dest": this.dest } } = {}) {
    await this.ready;
    const n = this.got.length;
    this.nc.publish(subject, payload, { headers: hdr({ ...more, ...by, ...(only ? { "Nats-Trace-Only": "true" } : {}) }), reply });
    await until(`the trace of ${subject}`, () => this.got.length > n);
    const m = this.got[n];
    this.trace = JSON.parse(m.headers?.get("Content-Encoding") === "gzip" ? zlib.gunzipSync(m.data) : m.string());
    return plain(this.trace);
  }
}

// Publishes, and proves with a second message that no trace followed.
async function untraced(t, nc, subject, h) {
  const from = t.got.length;
  nc.publish(subject, "x", { headers: hdr(h) });
  nc.publish(t.dest, "end");
  await until("the end", () => t.got.some((m, i) => i >= from && m.string() === "end"));
  assert.equal(t.got.length, from + 1);
  t.got.pop();
}

const IN = (name, subj, acc = "$G") => ({ type: "in", kind: 0, name, acc, subj });
const OUT = (name, sub, more = {}) => ({ type: "eg", kind: 0, name, sub, ...more });

scenario("a trace names the server, the request and every receiver", async (t) => {
  const s = await t.server({ config: "server_name: traced" });
  const nc = await t.connect(s, { name: "pub", noEcho: true });
  const other = await t.connect(s, { name: "sub" });
  const got = collect(other, "foo");
  collect(other, "fo*", { queue: "none" });
  collect(other, "*", { queue: "q" });
  collect(nc, "foo");
  await other.flush();
  await nc.flush();
  const tr = new Tracer(nc, other);
  const events = await tr.publish("foo", { headers: { "X-y": ["1", "2"], lower: "z" } });
  assert.deepEqual(tr.trace.request, { header: { "Nats-Trace-Dest": ["traces.a"], "X-y": ["1", "2"], lower: ["z"] }, msgsize: 70 });
  assert.deepEqual(Object.keys(tr.trace.request.header), ["Nats-Trace-Dest", "X-y", "lower"]);
  assert.equal(tr.trace.server.name, "traced");
  assert.ok(tr.trace.server.id && tr.trace.server.ver && tr.trace.server.seq > 0);
  assert.equal(tr.trace.hops, undefined);
  assert.deepEqual(events[0], IN("pub", "foo"));
  const rest = events.slice(1).map((e) => JSON.stringify(e)).sort();
  assert.deepEqual(rest, [OUT("pub", "foo", { error: "Not delivered because of no echo" }), OUT("sub", "*", { queue: "q" }), OUT("sub", "foo")]
    .map((e) => JSON.stringify(e)).sort());
  assert.equal(got.length, 1);
  assert.deepEqual(await tr.publish("no.body"), [IN("pub", "no.body")]);
  assert.deepEqual((await tr.publish("foo", { only: true })).length, 4);
  await other.flush();
  assert.equal(got.length, 1);
});

scenario("mappings, permissions and destinations decide before a message is traced", async (t) => {
  const s = await t.server({ config: `mappings { "m.*": "mapped.$1" }
    authorization { users: [
      { user: a, password: a, permissions: { publish: { deny: ["denied", "no.>"] } } }
      { user: b, password: b, permissions: { subscribe: { deny: "secret.x" } } } ] }` });
  const nc = await t.connect(s, { name: "a", user: "a", pass: "a" });
  const b = await t.connect(s, { name: "b", user: "b", pass: "b" });
  const got = collect(b, "mapped.*");
  collect(b, "secret.*");
  await b.flush();
  const tr = new Tracer(nc);
  assert.deepEqual(await tr.publish("m.1"), [IN("a", "m.1"), { type: "sm", to: "mapped.1" }, OUT("b", "mapped.*")]);
  const error = 'Permissions Violation for Publish to "denied"';
  for (const only of [false, true]) assert.deepEqual(await tr.publish("denied", { only }), [{ ...IN("a", "denied"), error }]);
  const reply = 'Permissions Violation for Publish with Reply of "_R_.x"';
  assert.deepEqual(await tr.publish("mapped.1", { reply: "_R_.x" }), [{ ...IN("a", "mapped.1"), error: reply }]);
  const deny = "Not delivered because subscription denies this subject";
  assert.deepEqual(await tr.publish("secret.x"), [IN("a", "secret.x"), OUT("b", "secret.*", { error: deny })]);
  await until("the errors", () => nc.errors.length === 3);
  await b.flush();
  assert.equal(got.length, 1);
  // delivered and not traced
  for (const dest of ["a.*", "trace disabled", "", "a..b"]) await untraced(tr, nc, "mapped.1", { "Nats-Trace-Dest": dest });
  await untraced(tr, nc, "mapped.1", { "Nats-Trace-Only": "true" });
  await untraced(tr, nc, "mapped.1", { "nats-trace-dest": "traces.a" });
  await b.flush();
  assert.equal(got.length, 7);
  // neither
  await untraced(tr, nc, "mapped.1", { "Nats-Trace-Dest": "no.a" });
  await untraced(tr, nc, "mapped.1", { "Nats-Trace-Dest": "a.*", "Nats-Trace-Only": "on" });
  await until("the error", () => nc.errors.length === 4);
  assert.match(String(nc.errors[3]), /Permissions Violation for Publish to "no.a"/);
  // a trace of an old server
  await untraced(tr, nc, "mapped.1", { "Nats-Trace-Dest": "traces.a", "Nats-Trace-Origin-Account": "A" });
  await untraced(tr, nc, "mapped.1", { "Nats-Trace-Dest": "traces.a", "Nats-Trace-Origin-Account": "A", "Nats-Trace-Only": "1" });
  await b.flush();
  assert.equal(got.length, 8);
  assert.equal(got[7].headers.get("Nats-Trace-Dest"), "trace disabled");
});

scenario("a stream says whether it stored the message, and why not", async (t) => {
  const [, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"], max_msgs: 3, discard: "new", max_msg_size: 1000 });
  await api(nc, "STREAM.CREATE.X", { name: "X", subjects: ["x.>"], subject_transform: { src: "x.>", dest: "y.>" } });
  const tr = new Tracer(nc);
  const acks = collect(nc, "acks");
  const js = async (subject, more, only) => {
    const n = acks.length;
    const [first, event, ...rest] = await tr.publish(subject, { headers: more, only, reply: "acks" });
    assert.equal(first.subj, subject);
    assert.deepEqual(rest, []);
    await nc.flush();
    assert.equal(event.type, "js");
    delete event.type;
    return [event, acks.length > n ? acks[n].json() : null];
  };
  assert.deepEqual(await js("s.1", { "Nats-Msg-Id": "1" }), [{ stream: "S", subject: "s.1" }, { stream: "S", seq: 1 }]);
  assert.deepEqual(await js("x.1"), [{ stream: "X", subject: "y.1" }, { stream: "X", seq: 1 }]);
  assert.deepEqual(await js("x.1", {}, true), [{ stream: "X", subject: "y.1" }, null]);
  assert.deepEqual(await js("s.1", { "Nats-Msg-Id": "2" }, true), [{ stream: "S", subject: "s.1" }, null]);
  const refusals = [
    [{ "Nats-Msg-Id": "1" }, "msgid is duplicate"],
    [{ "Nats-Expected-Last-Sequence": "10" }, "last sequence mismatch: 10 vs 1"],
    [{ "Nats-Expected-Last-Subject-Sequence": "17" }, "last sequence by subject mismatch: 17 vs 1"],
    [{ "Nats-Expected-Stream": "T" }, "expected stream does not match"],
    [{ "Nats-Expected-Last-Msg-Id": "X" }, 'last msgid mismatch: "X" vs "1"'],
    [{ "Nats-Rollup": "all" }, "rollup not permitted"],
    [{ "Nats-TTL": "1s" }, "message TTL disabled"],
    [{ "Nats-Batch-Id": "b", "Nats-Batch-Sequence": "1" }, "atomic publish is disabled (10174)"],
    [{ "Nats-Incr": "1" }, "message counters is disabled (10168)"],
    [{ fill: "x".repeat(1000) }, "maximum payload exceeded"],
  ];
  for (const [more, error] of refusals) {
    for (const only of [false, true]) {
      const [event, ack] = await js("s.1", more, only);
      assert.equal(event.error, error);
      assert.equal(event.stream, "S");
      assert.ok(ack.error ?? ack.duplicate, `${error}: ${JSON.stringify(ack)}`);
    }
  }
  await js("s.1");
  await js("s.1");
  const [full, ack] = await js("s.1");
  assert.deepEqual(full, { stream: "S", subject: "s.1", error: "maximum messages exceeded" });
  assert.equal(ack.error.err_code, 10077);
  // A dry run ends before the stream's own limits are looked at.
  assert.deepEqual(await js("s.1", {}, true), [{ stream: "S", subject: "s.1" }, null]);
  assert.equal((await api(nc, "STREAM.INFO.S")).state.last_seq, 3);
  assert.equal((await api(nc, "STREAM.INFO.X")).state.last_seq, 1);
  const { message } = await api(nc, "STREAM.MSG.GET.S", { seq: 2 });
  assert.match(Buffer.from(message.hdrs, "base64").toString(), /^NATS\/1\.0\r\nNats-Trace-Dest: trace disabled\r\n\r\n$/);
});

scenario("a stream without interest says so; a consumer's delivery is not traced", async (t) => {
  const [, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.I", { name: "I", subjects: ["i.>"], retention: "interest" });
  const tr = new Tracer(nc);
  const lost = { type: "js", stream: "I", subject: "i.1", nointerest: true };
  assert.deepEqual((await tr.publish("i.1", { only: true }))[1], lost);
  assert.deepEqual((await tr.publish("i.1"))[1], lost);
  const got = collect(nc, "deliver");
  await api(nc, "CONSUMER.CREATE.I", { stream_name: "I", config: { deliver_subject: "deliver", ack_policy: "none" } });
  assert.deepEqual((await tr.publish("i.1"))[1], { type: "js", stream: "I", subject: "i.1" });
  await until("the delivery", () => got.length === 1);
  assert.equal(got[0].headers.get("Nats-Trace-Dest"), "trace disabled");
  await nc.flush();
  assert.equal(tr.got.length, 3);
});

scenario("the JetStream API is traced as a service of the system account, and not called in a dry run", async (t) => {
  const [, nc] = await ready(t);
  const tr = new Tracer(nc);
  const answers = collect(nc, "answers");
  const si = { type: "si", acc: "$SYS", from: "$JS.API.INFO", to: "$JS.API.INFO" };
  assert.deepEqual((await tr.publish("$JS.API.INFO", { only: true, payload: "", reply: "answers" })).slice(1), [si]);
  await nc.flush();
  assert.deepEqual(answers.map((m) => m.headers?.code), [503]);
  assert.deepEqual((await tr.publish("$JS.API.INFO", { payload: "", reply: "answers" })).slice(1), [si]);
  await until("the answer", () => answers.length === 2);
  assert.match(answers[1].json().type, /account_info_response/);
});

const ACCOUNTS = `accounts {
  A { users: [{ user: a, password: a }]
      exports: [{ stream: "ex.>" }, { service: "svc.>", allow_trace: true }, { service: "closed.>" }] }
  B { users: [{ user: b, password: b }]
      imports: [{ stream: { account: A, subject: "ex.>" }, prefix: "imp", allow_trace: true },
                { service: { account: A, subject: "svc.>" }, to: "b.>" }, { service: { account: A, subject: "closed.>" } }] }
  C { users: [{ user: c, password: c }], imports: [{ stream: { account: A, subject: "ex.>" }, to: "cimp.>" }] }
}`;

scenario("imported streams and services are shown, and traced further where that is allowed", async (t) => {
  const s = await t.server({ config: ACCOUNTS });
  const [a, b, c] = await Promise.all(["a", "b", "c"].map((user) => t.connect(s, { name: user, user, pass: user })));
  const got = { imp: collect(b, "imp.>"), cimp: collect(c, "cimp.>"), svc: collect(a, "svc.*"), closed: collect(a, "closed.*") };
  await Promise.all([a.flush(), b.flush(), c.flush()]);
  const tr = new Tracer(a);
  for (const only of [true, false]) {
    const events = await tr.publish("ex.1", { only });
    const at = events.findIndex((e) => e.acc === "B");
    assert.deepEqual(events.slice(at, at + 2), [{ type: "se", acc: "B", to: "imp.ex.1" }, OUT("b", "ex.>", { acc: "B" })]);
    assert.deepEqual(events.filter((e) => e.acc === "C"), [{ type: "se", acc: "C", to: "cimp.1" }]);
    assert.equal(events.length, 4);
  }
  const tb = new Tracer(b);
  const reply = collect(b, "reply");
  for (const only of [true, false]) {
    const open = await tb.publish("b.1", { only, reply: "reply" });
    assert.deepEqual(open, [IN("b", "b.1", "B"), { type: "si", acc: "A", from: "b.1", to: "svc.1" }, OUT("a", "svc.*", { acc: "A" })]);
    const closed = await tb.publish("closed.1", { only, reply: "reply" });
    assert.deepEqual(closed, [IN("b", "closed.1", "B"), { type: "si", acc: "A", from: "closed.1", to: "closed.1" }]);
  }
  assert.deepEqual((await tb.publish("b.1.2")).slice(1), [{ type: "si", acc: "A", from: "b.1.2", to: "svc.1.2" }]);
  await Promise.all([a.flush(), b.flush(), c.flush()]);
  for (const [name, list] of Object.entries(got)) assert.equal(list.length, 1, name);
  assert.equal(got.imp[0].headers.get("Nats-Trace-Dest"), "traces.a");
  // The destination as account A knows it, and no destination for those who may not trace.
  assert.match(got.svc[0].headers.get("Nats-Trace-Dest"), /^_R_\./);
  assert.equal(got.closed[0].headers.get("Nats-Trace-Dest"), "trace disabled");
  // Nobody receives a dry run that ends at the border.
  assert.deepEqual(reply.map((m) => m.headers?.code), [503]);
  // The answer finds its way, and its own trace ends at the border.
  got.svc[0].respond("answer", { headers: hdr({ "Nats-Trace-Dest": "traces.a" }) });
  await until("the answer", () => reply.length === 2);
  assert.equal(reply[1].string(), "answer");
  assert.equal(reply[1].headers.get("Nats-Trace-Dest"), "trace disabled");
  await until("the trace of the answer", () => tr.got.length === 3);
  const { events } = tr.got[2].json();
  // nats-server shows the inbox of the requestor.
  assert.deepEqual(events.map((e) => [e.type, e.acc, e.to]), [["in", "A", undefined], ["si", "B", isMayfly ? got.svc[0].reply : "reply"]]);
});

// nats-server shows both.
scenario("a trace shows neither a requestor's inbox nor mappings of an exporter that allows no traces", { only: "mayfly" }, async (t) => {
  const s = await t.server({ config: ACCOUNTS.replace("A {", 'A { mappings: { "closed.1": secret, "svc.1": open },').replace("B {", "B { mappings: { reply: inner },") });
  const [a, b] = await Promise.all(["a", "b"].map((user) => t.connect(s, { name: user, user, pass: user })));
  const [closed, got] = [collect(a, "secret"), collect(a, "open")];
  await a.flush();
  const [ta, tb] = [new Tracer(a), new Tracer(b)];
  const imported = (from, to) => ({ type: "si", acc: "A", from, to });
  for (const only of [true, false]) {
    assert.deepEqual((await tb.publish("closed.1", { only, reply: "reply" })).slice(1), [imported("closed.1", "closed.1")]);
    assert.deepEqual((await tb.publish("b.1", { only, reply: "reply" }))[1], imported("b.1", "open"));
  }
  await until("both requests", () => closed.length === 1 && got.length === 1);
  const to = closed[0].reply;
  for (const only of [true, false]) assert.deepEqual((await ta.publish(to, { only })).slice(1), [{ type: "si", acc: "B", from: to, to }]);
});

scenario("an account traces messages with traceparent, and samples them", async (t) => {
  const config = (more) => `accounts { T { users: [{ user: t, password: t }], ${more} } }`;
  const s = await t.server({ config: config("msg_trace: { dest: traces.a, sampling: 100% }") });
  const nc = await t.connect(s, { name: "t", user: "t", pass: "t" });
  const got = collect(nc, "foo");
  const tr = new Tracer(nc);
  for (const name of ["traceparent", "TraceParent"]) {
    const events = await tr.publish("foo", { by: { [name]: `${PARENT}-01` }, only: true }); // "only" is for the other header
    assert.deepEqual(events, [IN("t", "foo", "T"), OUT("t", "foo")]);
  }
  for (const flags of ["00", "02", "1", "ff"]) await untraced(tr, nc, "foo", { traceparent: `${PARENT}-${flags}` });
  await untraced(tr, nc, "foo", { traceparent: "00-01" });
  await untraced(tr, nc, "foo", { traceparent: `${PARENT}-01`, "Nats-Trace-Dest": "trace disabled" });
  assert.equal(got.length, 8);
  s.reload(config("limits: {}"));
  await s.logged(/Reloaded server configuration/);
  await untraced(tr, nc, "foo", { traceparent: `${PARENT}-01` });
  s.reload(config("trace_dest: traces.b"));
  const b = new Tracer(nc, nc, "traces.b");
  await until("the reload", async () => {
    nc.publish("foo", "", { headers: hdr({ traceparent: `${PARENT}-01` }) });
    await nc.flush();
    return b.got.length > 0;
  });
});

// nats-server refuses the message: "Permissions Violation for Publish" to a subject that its publisher never named.
scenario("a traceparent needs no permission for the account's destination", { only: "mayfly" }, async (t) => {
  const s = await t.server({ config: `accounts { T { msg_trace: { dest: traces.a }, users: [
    { user: few, password: few, permissions: { publish: "foo" } }, { user: all, password: all } ] } }` });
  const few = await t.connect(s, { name: "few", user: "few", pass: "few" });
  const all = await t.connect(s, { user: "all", pass: "all" });
  const got = collect(all, "foo");
  const tr = new Tracer(few, all);
  assert.deepEqual((await tr.publish("foo", { by: { traceparent: `${PARENT}-01` } }))[0], IN("few", "foo", "T"));
  assert.equal(got.length, 1);
  // A destination that the publisher names is checked.
  few.publish("foo", "", { headers: hdr({ "Nats-Trace-Dest": "traces.a" }) });
  await until("the error", () => few.errors.length === 1);
  assert.match(String(few.errors[0]), /Permissions Violation for Publish to "traces.a"/);
  await all.flush();
  assert.deepEqual([got.length, tr.got.length], [1, 1]);
});

scenario("a trace is compressed as the message asks for", async (t) => {
  const s = await t.server({});
  const nc = await t.connect(s, { name: "z" });
  const tr = new Tracer(nc);
  const coding = () => tr.got.at(-1).headers?.get("Content-Encoding");
  assert.deepEqual(await tr.publish("foo", { headers: { "Accept-Encoding": "gzip" } }), [IN("z", "foo")]);
  assert.equal(coding(), "gzip");
  assert.deepEqual(await tr.publish("foo", { headers: { "Accept-Encoding": "br" } }), [IN("z", "foo")]);
  assert.equal(coding(), "identity");
  assert.deepEqual(await tr.publish("foo"), [IN("z", "foo")]);
  assert.equal(coding(), undefined);
  for (const name of ["s2", "gzip, Snappy"]) {
    const n = tr.got.length;
    nc.publish("foo", "", { headers: hdr({ "Nats-Trace-Dest": "traces.a", "Accept-Encoding": name }) });
    await until("the trace", () => tr.got.length > n);
    assert.equal(coding(), "snappy");
    assert.equal(Buffer.from(tr.got.at(-1).data).subarray(4, 10).toString(), "sNaPpY");
  }
});

// nats-server sends them however large they are.
scenario("a trace fits into max_payload", { only: "mayfly" }, async (t) => {
  const s = await t.server({ config: "max_payload: 8192" });
  const nc = await t.connect(s, { name: "n" });
  const long = `${"s".repeat(500)}.`;
  for (let i = 0; i < 50; i++) collect(nc, `${long}*`);
  const tr = new Tracer(nc);
  for (const more of [{}, { "Accept-Encoding": "snappy" }, { fill: "<".repeat(3000) }]) {
    const n = tr.got.length;
    nc.publish(`${long}x`, "", { headers: hdr({ ...more, "Nats-Trace-Dest": "traces.a" }) });
    await until("the trace", () => tr.got.length > n);
    const m = tr.got[n];
    assert.ok(m.data.length <= 8192, `${m.data.length}`);
    if (m.headers?.get("Content-Encoding")) continue;
    const trace = m.json();
    assert.equal(trace.events.length + trace.omitted, 51);
    assert.ok(trace.events.length > 8);
    assert.equal(trace.request.omitted, more.fill ? 1 : undefined);
  }
});

// nats-server keeps such a message for its batch.
scenario("a dry run joins no batch", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t);
  await api(nc, "STREAM.CREATE.B", { name: "B", subjects: ["b"], allow_atomic: true });
  const tr = new Tracer(nc);
  const acks = collect(nc, "acks");
  const member = (seq, more = {}) => ({ headers: { "Nats-Batch-Id": "x", "Nats-Batch-Sequence": `${seq}`, ...more }, reply: "acks" });
  const stored = { type: "js", stream: "B", subject: "b" };
  assert.deepEqual((await tr.publish("b", member(1)))[1], stored);
  assert.deepEqual((await tr.publish("b", { ...member(2), only: true }))[1], stored);
  assert.deepEqual((await tr.publish("b", member(2, { "Nats-Batch-Commit": "1" })))[1], stored);
  await until("the acks", () => acks.length === 2);
  const { stream, count } = acks[1].json();
  assert.deepEqual({ stream, count }, { stream: "B", count: 2 });
  assert.equal((await api(nc, "STREAM.INFO.B")).state.messages, 2);
});
