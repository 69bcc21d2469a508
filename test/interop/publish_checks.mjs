// publish_checks.mjs: what the server checks in a publish, in which order, and what it answers, to the byte.
import assert from "node:assert/strict";
import { SECOND, block, group, onServer, ownServer } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const check = group();
const BAD = (code, text) => [400, code, text];

// --- the pub ack -----------------------------------------------------------------------------------

check("pub ack: the bytes of success, duplicate and error", async (c) => {
  await c.create();
  assert.equal(await c.send("a", "x"), `{"stream":"${c.id}","seq":1}`);
  assert.equal(await c.send("a", "x", ["Nats-Msg-Id: i"]), `{"stream":"${c.id}","seq":2}`);
  assert.equal(await c.send("a", "x"), `{"stream":"${c.id}","seq":3}`);
  assert.equal(await c.send("a", "x", ["Nats-Msg-Id: i"]), `{"stream":"${c.id}","seq":2,"duplicate": true}`);
  assert.equal(await c.send("a", "x", ["Nats-TTL: bad"]),
    `{"error":{"code":400,"err_code":10165,"description":"invalid per-message TTL"},"stream":"${c.id}","seq":0}`);
});

check("pub ack: no header block, sent by the stream, on a raw connection", async (c) => {
  await c.create();
  const r = await (await c.t.raw(c.s)).connect({ headers: true, no_responders: true });
  await r.ping(); // a second INFO may follow the first
  const ok = `{"stream":"${c.id}","seq":1}`;
  const bad = `{"error":{"code":400,"err_code":10060,"description":"expected stream does not match"},"stream":"${c.id}","seq":0}`;
  r.send("SUB in.box 1", `PUB ${c.subject("a")} in.box 2`, "hi");
  await r.expect(new RegExp(`^MSG in\\.box 1 ${ok.length}\r\n${ok}\r\n`));
  const h = block("Nats-Expected-Stream: NOPE");
  r.send(`HPUB ${c.subject("a")} in.box ${h.length} ${h.length + 2}`, `${h}hi`);
  await r.expect(new RegExp(`^MSG in\\.box 1 ${bad.length}\r\n${bad.replace(/[{}[\]]/g, "\\$&")}\r\n`));
  // Without a reply subject: stored, nobody is told, and errors go nowhere.
  r.send(`PUB ${c.subject("a")} 2`, "hi", `HPUB ${c.subject("a")} ${h.length} ${h.length + 2}`, `${h}hi`);
  assert.equal(await r.ping(), "");
  await until("two messages", async () => (await c.state()).last_seq === 2);
});

check("pub ack: a thousand publishes in one write get a thousand acks, in order", async (c) => {
  await c.create();
  const r = await (await c.t.raw(c.s)).connect({ headers: true });
  const n = 1000;
  r.send("SUB many.* 1");
  r.sendBytes(Array.from({ length: n }, (_, i) => `PUB ${c.subject(`k.${i}`)} many.${i} 1\r\nx\r\n`).join(""));
  await until("all acks", () => (r.buf.match(/"seq":/g) ?? []).length === n);
  const acks = [...r.buf.matchAll(/MSG many\.(\d+) 1 \d+\r\n\{"stream":"\w+","seq":(\d+)\}\r\n/g)];
  assert.deepEqual(acks.map((m) => [m[1], m[2]]), Array.from({ length: n }, (_, i) => [String(i), String(i + 1)]));
});

check("pub ack: a verbose connection, and one that is gone before its messages are stored", async (c) => {
  await c.create();
  const r = await c.t.raw(c.s);
  r.send('CONNECT {"verbose":true,"headers":true}', "SUB verbose.box 1", `PUB ${c.subject("a")} verbose.box 1`, "x");
  await r.expect(/\+OK\r\n\+OK\r\n\+OK\r\n/);
  await r.expect(new RegExp(`MSG verbose\\.box 1 \\d+\r\n\\{"stream":"${c.id}","seq":1\\}\r\n`));
  const gone = await (await c.t.raw(c.s)).connect();
  gone.sendBytes(`PUB ${c.subject("a")} 1\r\nx\r\n`.repeat(100));
  gone.socket.end();
  await gone.closed();
  await until("all of them", async () => (await c.state()).messages === 101);
});

check("pub ack: a stream takes nothing away from plain subscribers, and they see the reply subject", async (c) => {
  await c.create();
  const got = collect(c.nc, c.subject("*"));
  const one = collect(c.nc, c.subject(">"), { queue: "q" });
  const two = collect(c.nc, c.subject(">"), { queue: "q" });
  await c.nc.flush();
  assert.equal(await c.pub("a", "x"), 1);
  await until("the subscribers", () => got.length === 1 && one.length + two.length === 1);
  assert.ok(got[0].reply);
  assert.equal((await c.state()).messages, 1);
});

check("pub ack: a publish to nobody's subject has no responders", async (c) => {
  await c.create();
  await assert.rejects(c.nc.request(`nobody.${c.id}`, "x", { timeout: LIMIT_MS }), /no responders/i);
  // A subject next to the stream's.
  await assert.rejects(c.nc.request(c.prefix, "x", { timeout: LIMIT_MS }), /no responders/i);
});

check("pub ack: counters and batches", async (c) => {
  await c.create({ allow_msg_counter: true });
  assert.equal(await c.send("a", "", ["Nats-Incr: 2"]), `{"stream":"${c.id}","seq":1,"val":"2"}`);
  assert.equal(await c.send("a", "", ["Nats-Incr: +4"]), `{"stream":"${c.id}","seq":2,"val":"6"}`);
  assert.equal(await c.send("a", "", ["Nats-Incr: -36893488147419103232"]), `{"stream":"${c.id}","seq":3,"val":"-36893488147419103226"}`);
  assert.equal((await c.get(3)).data, '{"val":"-36893488147419103226"}');
  const b = c.another();
  await b.create({ allow_atomic: true });
  assert.equal(await b.send("a", "1", ["Nats-Batch-Id: x", "Nats-Batch-Sequence: 1"]), "");
  assert.equal(await b.send("a", "2", ["Nats-Batch-Id: x", "Nats-Batch-Sequence: 2", "Nats-Batch-Commit: 1"]),
    `{"stream":"${b.id}","seq":2,"batch":"x","count":2}`);
});

check("no_ack: never a reply, not even for errors", async (c) => {
  await c.create({ no_ack: true, max_msgs: 2, discard: "new" });
  const r = await (await c.t.raw(c.s)).connect({ headers: true, no_responders: true });
  await r.ping(); // a second INFO may follow the first
  r.send("SUB no.box 1");
  const h = block("Nats-TTL: bad");
  for (let i = 0; i < 4; i++) r.send(`PUB ${c.subject("a")} no.box 2`, "hi");
  r.send(`HPUB ${c.subject("a")} no.box ${h.length} ${h.length + 2}`, `${h}hi`);
  await until("two messages", async () => (await c.state()).last_seq === 2);
  await c.info();
  assert.equal(await r.ping(), "");
});

scenario("pub ack: with a domain", async (t) => {
  const { stream, nc } = await ownServer(t, { block: "domain: hub" });
  const c = stream("D");
  await c.create();
  assert.equal(await c.send("a", "x", ["Nats-Msg-Id: i"]), '{"stream":"D","domain":"hub","seq":1}');
  assert.equal(await c.send("a", "x", ["Nats-Msg-Id: i"]), '{"stream":"D","domain":"hub","seq":1,"duplicate": true}');
  assert.equal(await c.send("a", "x", ["Nats-TTL: bad"]),
    '{"error":{"code":400,"err_code":10165,"description":"invalid per-message TTL"},"stream":"D","seq":0}');
  const r = await nc.request("$JS.hub.API.STREAM.INFO.D", "", { timeout: LIMIT_MS });
  assert.equal(r.json().domain, "hub");
  await assert.rejects(nc.request("$JS.other.API.STREAM.INFO.D", "", { timeout: LIMIT_MS }), /no responders/i);
});

// --- header parsing ------------------------------------------------------------------------------------

check("header names are matched byte by byte", async (c) => {
  await c.create();
  for (const key of ["nats-msg-id", "NATS-MSG-ID", "Nats-Msg-ID", "X-Nats-Msg-Id", "Nats-Msg-Id ", " Nats-Msg-Id"]) {
    const one = await c.pub("a", "x", [`${key}: i`]);
    assert.equal(await c.pub("a", "x", [`${key}: i`]), one + 1, key);
  }
  await c.pub("a", "x", ["nats-expected-stream: NOPE", "nats-expected-last-sequence: 99", "nats-rollup: sub", "nats-incr: x"]);
});

check("spaces after the colon are skipped, tabs and trailing spaces are part of the value", async (c) => {
  await c.create();
  const seq = await c.pub("a", "x", ["Nats-Msg-Id: i"]);
  for (const same of ["Nats-Msg-Id:i", "Nats-Msg-Id:    i"]) assert.equal((await c.ack("a", "x", [same])).duplicate, true, same);
  for (const other of ["Nats-Msg-Id: i ", "Nats-Msg-Id:\ti", "Nats-Msg-Id: i\t", "Nats-Msg-Id: I"])
    assert.ok((await c.pub("a", "x", [other])) > seq, JSON.stringify(other));
  await c.refused("a", BAD(10060, "expected stream does not match"), "x", [`Nats-Expected-Stream: ${c.id} `]);
  await c.pub("a", "x", [`Nats-Expected-Stream:   ${c.id}`]);
});

check("the first of several lines counts", async (c) => {
  await c.create();
  await c.pub("a", "x", ["Nats-Msg-Id: one", "Nats-Msg-Id: two"]);
  assert.equal((await c.ack("a", "x", ["Nats-Msg-Id: one"])).duplicate, true);
  assert.equal((await c.ack("a", "x", ["Nats-Msg-Id: two"])).duplicate, undefined);
  await c.pub("a", "x", [`Nats-Expected-Stream: ${c.id}`, "Nats-Expected-Stream: NOPE"]);
  await c.refused("a", BAD(10060, "expected stream does not match"), "x", ["Nats-Expected-Stream: NOPE", `Nats-Expected-Stream: ${c.id}`]);
});

check("an empty value is no value", async (c) => {
  await c.create();
  const lines = ["Nats-Msg-Id: ", "Nats-Expected-Stream: ", "Nats-Expected-Last-Sequence: ", "Nats-Expected-Last-Subject-Sequence: ",
    "Nats-Expected-Last-Msg-Id: ", "Nats-Rollup: ", "Nats-TTL: ", "Nats-Incr: "];
  const one = await c.pub("a", "x", lines);
  assert.equal(await c.pub("a", "x", lines), one + 1);
});

check("a status line is reduced to the version; everything else is stored as it came", async (c) => {
  await c.create();
  const seq = await c.pub("a", "x", "NATS/1.0 100 Foo\r\nA: b\r\n\r\n");
  assert.equal((await c.get(seq)).hdr, "NATS/1.0\r\nA: b\r\n\r\n");
  const odd = block("a: 1", "A:2", "a: 1", "Empty:", "X:   spaces   ", "Tab:\tx", `Nats-Expected-Stream: ${c.id}`, "Nats-Msg-Id: m1",
    `Nats-Expected-Last-Sequence: ${seq}`, "Nats-Required-Api-Level: 99", "High: \xe4\xff", "Colon: a:b:c");
  assert.equal((await c.get(await c.pub("a", "x", odd))).hdr, odd);
});

check("Nats-Request-Info is the server's own header: what a client sends is taken out", async (c) => {
  await c.create();
  assert.equal((await c.get(await c.pub("a", "x", ['Nats-Request-Info: {"acc":"X"}', "A: b"]))).hdr, block("A: b"));
});

check("an empty header block and an empty message", async (c) => {
  await c.create();
  assert.equal((await c.get(await c.pub("a", "", block()))).hdr, block());
  const m = await c.get(await c.pub("a"));
  assert.deepEqual([m.hdr, m.data, "hdrs" in m, "data" in m && m.data], ["", "", false, ""]);
});

// --- single rows ------------------------------------------------------------------------------------------

check("Nats-Expected-Last-Sequence", async (c) => {
  await c.create();
  await c.pub("a", "1", ["Nats-Expected-Last-Sequence: 0"]);
  await c.refused("a", BAD(10071, "wrong last sequence: 1"), "x", ["Nats-Expected-Last-Sequence: 0"]);
  await c.refused("a", BAD(10071, "wrong last sequence: 1"), "x", ["Nats-Expected-Last-Sequence: x"]);
  await c.refused("a", BAD(10071, "wrong last sequence: 1"), "x", ["Nats-Expected-Last-Sequence: -1"]);
  await c.refused("a", BAD(10071, "wrong last sequence: 1"), "x", ["Nats-Expected-Last-Sequence: 1 "]);
  await c.pub("a", "2", ["Nats-Expected-Last-Sequence: 1"]);
  // It is the stream's last sequence, not the last message's.
  await c.remove(2);
  await c.refused("a", BAD(10071, "wrong last sequence: 2"), "x", ["Nats-Expected-Last-Sequence: 1"]);
  assert.equal((await c.js.publish(c.subject("a"), "x", { expect: { lastSequence: 2 } })).seq, 3);
  await assert.rejects(c.js.publish(c.subject("a"), "x", { expect: { lastSequence: 2 } }), /wrong last sequence: 3/);
});

check("Nats-Expected-Last-Subject-Sequence", async (c) => {
  await c.create();
  const a = await c.pub("a", "1", ["Nats-Expected-Last-Subject-Sequence: 0"]);
  const b = await c.pub("b", "1", ["Nats-Expected-Last-Subject-Sequence: 0"]);
  await c.refused("a", BAD(10071, `wrong last sequence: ${a}`), "x", ["Nats-Expected-Last-Subject-Sequence: 0"]);
  await c.refused("a", BAD(10071, `wrong last sequence: ${a}`), "x", [`Nats-Expected-Last-Subject-Sequence: ${b}`]);
  await c.refused("c", BAD(10071, "wrong last sequence: 0"), "x", ["Nats-Expected-Last-Subject-Sequence: 5"]);
  await c.refused("c", BAD(10071, "wrong last sequence: 0"), "x", ["Nats-Expected-Last-Subject-Sequence: x"]);
  const a2 = (await c.js.publish(c.subject("a"), "x", { expect: { lastSubjectSequence: a } })).seq;
  // A removed message does not count.
  await c.remove(a2);
  await c.pub("a", "x", [`Nats-Expected-Last-Subject-Sequence: ${a}`]);
});

check("Nats-Expected-Last-Subject-Sequence-Subject: another subject, or a pattern", async (c) => {
  await c.create();
  const a = await c.pub("k.a", "1");
  const b = await c.pub("k.b", "1");
  const on = (seq, subject) => [`Nats-Expected-Last-Subject-Sequence: ${seq}`, `Nats-Expected-Last-Subject-Sequence-Subject: ${c.subject(subject)}`];
  await c.refused("z", BAD(10071, `wrong last sequence: ${a}`), "x", on(b, "k.a"));
  await c.pub("z", "x", on(a, "k.a"));
  await c.refused("z", BAD(10071, `wrong last sequence: ${b}`), "x", on(a, "k.*"));
  await c.pub("z", "x", on(b, "k.*"));
  await c.pub("z", "x", on(0, "none.>"));
  await c.js.publish(c.subject("z"), "x", { expect: { lastSubjectSequence: b, lastSubjectSequenceSubject: c.subject("k.>") } });
  await c.refused("z", BAD(10193, "missing sequence for expected last sequence per subject"), "x",
    [`Nats-Expected-Last-Subject-Sequence-Subject: ${c.subject("k.a")}`]);
});

check("a marker is the last message of its subject; once it is gone 0 is right again", async (c) => {
  const long = c.another();
  await long.create({ subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 });
  await c.create({ subject_delete_marker_ttl: SECOND });
  for (const s of [long, c]) await s.pub("a", "x", ["Nats-TTL: 1"]);
  const m = await long.marker("a");
  await long.refused("a", BAD(10071, `wrong last sequence: ${m.seq}`), "x", ["Nats-Expected-Last-Subject-Sequence: 0"]);
  await c.gone((await c.marker("a")).seq);
  await c.pub("a", "x", ["Nats-Expected-Last-Subject-Sequence: 0"]);
});

check("Nats-Expected-Stream and Nats-Expected-Last-Msg-Id", async (c) => {
  await c.create();
  await c.refused("a", BAD(10060, "expected stream does not match"), "x", ["Nats-Expected-Stream: s1"]);
  await c.refused("a", BAD(10070, "wrong last msg ID: "), "x", ["Nats-Expected-Last-Msg-Id: i"]);
  await c.js.publish(c.subject("a"), "x", { msgID: "i1", expect: { streamName: c.id } });
  await c.refused("a", BAD(10070, "wrong last msg ID: i1"), "x", ["Nats-Expected-Last-Msg-Id: i0"]);
  await c.js.publish(c.subject("a"), "x", { msgID: "i2", expect: { lastMsgID: "i1" } });
  await assert.rejects(c.js.publish(c.subject("a"), "x", { expect: { lastMsgID: "i1" } }), /wrong last msg ID: i2/);
  await c.pub("a", "x"); // one without an id clears it
  await c.refused("a", BAD(10070, "wrong last msg ID: "), "x", ["Nats-Expected-Last-Msg-Id: i2"]);
});

check("a marker clears the last msg id", async (c) => {
  await c.create({ subject_delete_marker_ttl: SECOND });
  await c.pub("a", "x", ["Nats-TTL: 1", "Nats-Msg-Id: i"]);
  await c.marker("a");
  await c.refused("a", BAD(10070, "wrong last msg ID: "), "x", ["Nats-Expected-Last-Msg-Id: i"]);
});

check("rollups: permission, then value; both spellings of case", async (c) => {
  await c.create();
  await c.refused("a", [500, 10111, "rollup not permitted"], "x", ["Nats-Rollup: sub"]);
  await c.refused("a", [500, 10111, "rollup not permitted"], "x", ["Nats-Rollup: foo"]);
  const on = c.another();
  await on.create({ allow_rollup_hdrs: true });
  await on.refused("a", [500, 10111, 'rollup value invalid: "foo"'], "x", ["Nats-Rollup: foo"]);
  for (const v of ["sub", "SUB", "Sub", "all", "ALL"]) await on.pub("a", "x", [`Nats-Rollup: ${v}`]);
});

check("rollup on a subject with a wildcard takes all subjects that match", async (c) => {
  await c.create({ allow_rollup_hdrs: true });
  for (const name of ["a", "b", "a", "c.d", "b", "*", "x.*"]) await c.pub(name);
  assert.equal(await c.pub("*", "", ["Nats-Rollup: sub"]), 8);
  const left = async () => Object.keys((await c.state({ subjects_filter: ">" })).subjects).sort();
  assert.deepEqual(await left(), ["*", "c.d", "x.*"].map((n) => c.subject(n)));
  assert.deepEqual((await c.state({ deleted_details: true })).deleted, [5, 6]);
  await c.pub("x.>", "", ["Nats-Rollup: sub"]);
  assert.deepEqual(await left(), ["*", "c.d", "x.>"].map((n) => c.subject(n)));
  await c.pub(">", "", ["Nats-Rollup: sub"]);
  assert.deepEqual(await left(), [c.subject(">")]);
});

check("counters: increments and what may not stand beside them", async (c) => {
  await c.create({ allow_msg_counter: true });
  await c.refused("a", BAD(10169, "message counter increment is missing"), "x");
  for (const v of ["1.5", "0x10", "1_000", "one", "+", "--1", "1 "]) await c.refused("a", BAD(10171, "message counter increment is invalid"), "", [`Nats-Incr: ${v}`]);
  await c.refused("a", BAD(10170, "message counter has payload"), "x", ["Nats-Incr: 1"]);
  for (const h of ["Nats-Rollup: sub", `Nats-Expected-Stream: ${c.id}`, "Nats-Expected-Last-Msg-Id: x", "Nats-Expected-Last-Sequence: 0", "Nats-Expected-Last-Subject-Sequence: 0",
    `Nats-Expected-Last-Subject-Sequence-Subject: ${c.subject("a")}`])
    await c.refused("a", BAD(10171, "message counter increment is invalid"), "", ["Nats-Incr: 1", h]);
  assert.equal((await c.ack("a", "", ["Nats-Incr: 0", "Nats-Msg-Id: i"])).val, "0");
  assert.equal((await c.ack("a", "", ["Nats-Incr: 0", "Nats-Msg-Id: i"])).duplicate, true);
});

check("schedules: each way to get them wrong", async (c) => {
  await c.create({ allow_msg_schedules: true });
  const to = `Nats-Schedule-Target: ${c.subject("t")}`;
  const rows = [
    [10189, "message schedules pattern is invalid", ["Nats-Schedule: whenever", to]],
    [10189, "message schedules pattern is invalid", ["Nats-Schedule: * * * * *", to]],
    [10190, "message schedules target is invalid", ["Nats-Schedule: @every 1h"]],
    [10190, "message schedules target is invalid", ["Nats-Schedule: @every 1h", `Nats-Schedule-Target: ${c.subject("a")}`]],
    [10190, "message schedules target is invalid", ["Nats-Schedule: @every 1h", "Nats-Schedule-Target: foreign.subject"]],
    [10192, "message schedules invalid rollup", ["Nats-Schedule: @every 1h", to, "Nats-Schedule-Rollup: all"]],
    [10203, "message schedules source is invalid", ["Nats-Schedule: @every 1h", to, `Nats-Schedule-Source: ${c.subject("*")}`]],
    [10223, "message schedules time zone is invalid", ["Nats-Schedule: 0 0 0 * * *", to, "Nats-Schedule-Time-Zone: Mars/Phobos"]],
    [10223, "message schedules time zone is invalid", ["Nats-Schedule-Time-Zone: Mars/Phobos"]],
    [10166, "per-message TTL is disabled", ["Nats-Schedule: @every 1h", to, "Nats-Schedule-TTL: 1h"]],
    [10212, "message schedules invalid scheduler", ["Nats-Schedule-Next: purge"]],
  ];
  for (const [code, text, lines] of rows) await c.refused("a", BAD(code, text), "x", lines);
  const ttl = c.another();
  await ttl.create({ allow_msg_schedules: true, allow_msg_ttl: true });
  await ttl.refused("a", BAD(10191, "message schedules invalid per-message TTL"), "x",
    ["Nats-Schedule: @every 1h", `Nats-Schedule-Target: ${ttl.subject("t")}`, "Nats-Schedule-TTL: soon"]);
});

check("interest retention without interest: the sequence is used, nothing is stored", async (c) => {
  await c.create({ retention: "interest" });
  assert.equal(await c.pub("a", "x"), 1);
  // docs/checks.md, Publish: interest is checked after "TTL allowed" and before "TTL valid".
  assert.equal(await c.pub("a", "x", ["Nats-TTL: bad"]), 2);
  await c.refused("a", BAD(10166, "per-message TTL is disabled"), "x", ["Nats-TTL: 1h"]);
  const st = await c.state();
  assert.deepEqual([st.messages, st.first_seq, st.last_seq], [0, 3, 2]);
});

check("max_msg_size counts headers; the header block may have 65535 bytes", async (c) => {
  await c.create({ max_msg_size: 100 });
  const h = block("A: b");
  await c.pub("a", "x".repeat(100));
  await c.pub("a", "x".repeat(100 - h.length), h);
  await c.refused("a", BAD(10054, "message size exceeds maximum allowed"), "x".repeat(101));
  await c.refused("a", BAD(10054, "message size exceeds maximum allowed"), "x".repeat(101 - h.length), h);
  const big = c.another();
  await big.create();
  const of = (n) => block(`A: ${"x".repeat(n - block("A: ").length)}`);
  await big.pub("a", "x", of(65535));
  await big.refused("a", BAD(10097, "header size exceeds maximum allowed of 64k"), "x", of(65536));
});

// --- the order: of two reasons to refuse, the earlier one is told -----------------------------------------------

// Each breaks one rule on a stream that is full (row 25 is broken by all), holds one message with id "one"
// on another subject, and permits neither TTLs, roll-ups, counters nor schedules.
const LINE = (...lines) => ({ lines });
const rules = [
  ["max_msg_size", { data: "x".repeat(200001) }, BAD(10054, "message size exceeds maximum allowed")],
  ["64k of headers", LINE(`Big: ${"x".repeat(66000)}`), BAD(10097, "header size exceeds maximum allowed of 64k")],
  ["Nats-Incr bad", LINE("Nats-Incr: x"), BAD(10171, "message counter increment is invalid"), "incr"],
  ["Nats-Incr", LINE("Nats-Incr: 1"), BAD(10168, "message counters is disabled"), "incr"],
  ["Nats-Expected-Stream", LINE("Nats-Expected-Stream: NOPE"), BAD(10060, "expected stream does not match")],
  ["Nats-TTL disabled", LINE("Nats-TTL: 1h"), BAD(10166, "per-message TTL is disabled"), "ttl"],
  ["Expected-Last-Subject-Sequence", LINE("Nats-Expected-Last-Subject-Sequence: 7"), BAD(10071, "wrong last sequence: 0")],
  ["Expected-Last-Sequence", LINE("Nats-Expected-Last-Sequence: 9"), BAD(10071, "wrong last sequence: 1")],
  ["Nats-Schedule", LINE("Nats-Schedule: @every 1h"), BAD(10188, "message schedules is disabled")],
  ["Nats-Schedule-Next", LINE("Nats-Schedule-Next: purge"), BAD(10212, "message schedules invalid scheduler")],
  ["Nats-Stream-Source", LINE("Nats-Stream-Source: O 1 > > o.a"), BAD(10227, "message stream source header is not allowed")],
  ["duplicate", LINE("Nats-Msg-Id: one"), "duplicate"],
  ["Expected-Last-Msg-Id", LINE("Nats-Expected-Last-Msg-Id: zzz"), BAD(10070, "wrong last msg ID: one")],
  ["Nats-Rollup", LINE("Nats-Rollup: sub"), [500, 10111, "rollup not permitted"]],
  ["Nats-TTL bad", LINE("Nats-TTL: bad"), BAD(10165, "invalid per-message TTL"), "ttl"],
  ["discard new", {}, [503, 10077, "maximum messages exceeded"]],
];

async function fullStream(c, over = {}) {
  await c.create({ max_msg_size: 200000, max_msgs: 1, discard: "new", ...over });
  await c.pub("first", "x", ["Nats-Msg-Id: one"]);
}
async function told(c, parts, answer, what) {
  const lines = parts.flatMap((p) => p.lines ?? []);
  const data = parts.find((p) => p.data)?.data ?? "";
  const got = await c.ack("second", data, lines.length ? lines : undefined);
  if (answer === "duplicate") assert.deepEqual(got, { stream: c.id, seq: 1, duplicate: true }, what);
  else assert.deepEqual([got.error?.code, got.error?.err_code, got.error?.description], answer, what);
}

rules.forEach(([name, part, answer, kind], i) => {
  check(`order: ${name} comes before ${rules.length - 1 - i} others`, async (c) => {
    await fullStream(c);
    await told(c, [part], answer, name);
    for (const [other, more, , same] of rules.slice(i + 1)) {
      if (kind && kind === same) continue; // both are the same header
      // Whatever the order of the lines.
      await told(c, [part, more], answer, `${name}, ${other}`);
      await told(c, [more, part], answer, `${other}, ${name}`);
    }
    assert.equal((await c.state()).messages, 1);
  });
});

check("order: all rules broken at once, and mended one by one", async (c) => {
  await fullStream(c);
  const chain = rules.filter(([name]) => !["Nats-Incr", "Nats-TTL disabled"].includes(name));
  for (let i = 0; i < chain.length; i++) await told(c, chain.slice(i).map((r) => r[1]), chain[i][2], chain[i][0]);
});

check("order: sealed comes before everything", async (c) => {
  await fullStream(c);
  await c.update({ sealed: true, max_msg_size: 200000, max_msgs: 1, discard: "new" });
  for (const [name, part] of rules) await told(c, [part], BAD(10109, "invalid operation on sealed stream"), name);
});

check("order: a bad roll-up value after the last msg id, before the TTL", async (c) => {
  await fullStream(c, { allow_rollup_hdrs: true });
  const bad = LINE("Nats-Rollup: foo");
  const at = rules.findIndex(([name]) => name === "Nats-Rollup");
  const answer = [500, 10111, 'rollup value invalid: "foo"'];
  for (const [name, part, first] of rules.slice(0, at)) await told(c, [bad, part], first, name);
  for (const [name, part] of rules.slice(at + 1)) if (name !== "Nats-TTL disabled") await told(c, [part, bad], answer, name);
});

check("order: discard new per subject, then messages, then bytes", async (c) => {
  const size = 30 + c.another().subject("a").length + 1; // what one message counts
  const per = { discard: "new", discard_new_per_subject: true, max_msgs_per_subject: 1 };
  await c.create({ ...per, max_msgs: 1, max_bytes: size });
  await c.pub("a", "x");
  await c.refused("a", [503, 10077, "maximum messages per subject exceeded"], "x");
  await c.refused("b", [503, 10077, "maximum messages exceeded"], "x");
  const bytes = c.another();
  await bytes.create({ ...per, max_bytes: size + 10 });
  await bytes.pub("a", "x");
  await bytes.refused("a", [503, 10077, "maximum messages per subject exceeded"], "x");
  await bytes.refused("b", [503, 10077, "maximum bytes exceeded"], "x");
});

check("order: consequences for TTL and duplicates", async (c) => {
  await c.create();
  await c.pub("a", "x", ["Nats-Msg-Id: i"]);
  assert.equal((await c.ack("a", "x", ["Nats-Msg-Id: i", "Nats-TTL: bad"])).duplicate, true);
  await c.refused("a", BAD(10166, "per-message TTL is disabled"), "x", ["Nats-Msg-Id: i", "Nats-TTL: 1h"]);
  await c.refused("a", BAD(10071, "wrong last sequence: 1"), "x", ["Nats-Msg-Id: i", "Nats-Expected-Last-Sequence: 5"]);
  await c.refused("a", BAD(10165, "invalid per-message TTL"), "x", ["Nats-TTL: bad"]);
});

// --- limits of the server ------------------------------------------------------------------------------------------

scenario("a server without room refuses with insufficient resources", async (t) => {
  const { stream } = await ownServer(t, { block: "max_file_store: 100000" });
  const c = stream("FULL");
  await c.create();
  const data = "x".repeat(20000);
  await until("the refusal", async () => (await c.ack("a", data)).error);
  await c.refused("a", [503, 10023, "insufficient resources"], data);
  await c.refused("a", [503, 10023, "insufficient resources"], data, ["Nats-TTL: bad"]); // row 21 before row 24
});

scenario("an account without room refuses with resource limits exceeded", async (t) => {
  const { s } = await ownServer(t, {
    config: "accounts { A { users: [{ user: a, password: a }], jetstream { max_file: 100000 } } }\nno_auth_user: a\n",
  });
  const c = (await onServer(t, s)).stream("FULL");
  await c.create();
  const data = "x".repeat(20000);
  await until("the refusal", async () => (await c.ack("a", data)).error);
  await c.refused("a", [400, 10002, "resource limits exceeded for account"], data);
});

scenario("a record of more than 32 MiB does not fit into a file, whatever else is wrong with it", async (t) => {
  const { stream } = await ownServer(t, { config: "max_payload: 60MB\nmax_pending: 100MB\n" });
  const c = stream("BIG");
  await c.create();
  await c.refused("a", [503, 10077, "message too large"], Buffer.alloc(33 << 20));
  await c.refused("a", [503, 10077, "message too large"], Buffer.alloc(33 << 20), ["Nats-Expected-Stream: NOPE"]);
  await c.pub("a", Buffer.alloc((32 << 20) - 200));
});
