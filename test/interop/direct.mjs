// direct.mjs: DIRECT.GET in all its forms, byte by byte where it matters, and every way to ask wrongly.
import assert from "node:assert/strict";
import { createInbox, headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const JS = { config: 'server_name: one\njetstream { store_dir: "DIR" }\n' };
const encode = (body) => (typeof body === "string" ? body : JSON.stringify(body));

async function api(nc, subject, body = "") {
  const r = (await nc.request(`$JS.API.${subject}`, encode(body), { timeout: LIMIT_MS })).json();
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  return r;
}

// A stream D with messages a.1 (1), a.2 (2), b.1 (3), a.1 (4), b.2 (5), a.3 (6); 2 is deleted afterwards.
async function filled(t, more = {}) {
  const s = await t.server(JS);
  const nc = await t.connect(s);
  await api(nc, "STREAM.CREATE.D", { name: "D", subjects: ["a.>", "b.>"], allow_direct: true, ...more });
  const h = headers();
  h.set("Kind", "one");
  for (const [i, subject] of ["a.1", "a.2", "b.1", "a.1", "b.2", "a.3"].entries())
    await nc.request(subject, `m${i + 1}`, { timeout: LIMIT_MS, ...(i === 3 && { headers: h }) });
  await api(nc, "STREAM.MSG.DELETE.D", { seq: 2 });
  return [s, nc];
}

// One request, all its replies: until EOB, a status, or `n` of them.  Each one as text: status or sequence.
async function get(nc, body, { subject = "", n = 1, level } = {}) {
  const inbox = createInbox();
  const got = [];
  const sub = nc.subscribe(inbox, { callback: (_, m) => got.push(m) });
  const h = headers();
  if (level !== undefined) h.set("Nats-Required-Api-Level", level);
  nc.publish(`$JS.API.DIRECT.GET.D${subject}`, encode(body), { reply: inbox, ...(level !== undefined && { headers: h }) });
  const ended = (m) => m.headers?.code > 0;
  await until("all replies", () => got.length >= n || (got.length > 0 && ended(got.at(-1))));
  await nc.flush();
  sub.unsubscribe();
  return got;
}
const status = (m) => (m.headers?.code ? `${m.headers.code} ${m.headers.description}` : undefined);
const seq = (m) => Number(m.headers.get("Nats-Sequence"));

// A batch: the sequences, Num-Pending of each, and of the end.
async function batch(nc, body) {
  const got = await get(nc, body, { n: Infinity });
  const end = got.pop();
  assert.equal(status(end), "204 EOB");
  assert.equal(end.string(), "");
  let last = 0;
  for (const m of got) {
    assert.equal(m.headers.get("Nats-Last-Sequence"), `${last}`);
    last = seq(m);
  }
  assert.equal(end.headers.get("Nats-Last-Sequence"), `${last}`);
  return {
    seqs: got.map(seq),
    pending: got.map((m) => Number(m.headers.get("Nats-Num-Pending"))),
    left: Number(end.headers.get("Nats-Num-Pending")),
    upTo: end.headers.get("Nats-UpTo-Sequence"),
  };
}

// The raw bytes of one reply, from HMSG or MSG on.
async function raw(t, s, subject, body) {
  const r = await (await t.raw(s)).connect({ headers: true, no_responders: true });
  r.send("SUB inbox 1", `PUB $JS.API.DIRECT.GET.${subject} inbox ${body.length}`, body);
  const m = await r.expect(/H?MSG inbox 1 [^]*?\r\n[^]*$/);
  await r.ping().then((text) => (m[0] += text));
  return m[0];
}

scenario("the headers of one message, in their order, behind its own", async (t) => {
  const [s] = await filled(t);
  const time = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/.source;
  assert.match(
    await raw(t, s, "D", '{"seq":1}'),
    new RegExp(`^HMSG inbox 1 \\d+ \\d+\r\nNATS/1.0\r\nNats-Stream: D\r\nNats-Subject: a.1\r\nNats-Sequence: 1\r\n` +
      `Nats-Time-Stamp: ${time}\r\n\r\nm1\r\n$`),
  );
  assert.match(
    await raw(t, s, "D.a.1", ""),
    new RegExp(`^HMSG inbox 1 \\d+ \\d+\r\nNATS/1.0\r\nKind: one\r\nNats-Stream: D\r\nNats-Subject: a.1\r\n` +
      `Nats-Sequence: 4\r\nNats-Time-Stamp: ${time}\r\n\r\nm4\r\n$`),
  );
  assert.equal(await raw(t, s, "D.a.1", '{"no_hdr":true}'), "MSG inbox 1 2\r\nm4\r\n");
  assert.equal(await raw(t, s, "D", '{"seq":1,"no_hdr":true}'), "MSG inbox 1 2\r\nm1\r\n");
});

scenario("one message: by sequence, last, next, subject, time", async (t) => {
  const [, nc] = await filled(t);
  const one = async (body, subject) => {
    const [m, ...rest] = await get(nc, body, { subject });
    assert.deepEqual(rest, []);
    return status(m) ?? seq(m);
  };
  assert.equal(await one({ seq: 3 }), 3);
  assert.equal(await one({ seq: 2 }), "404 Message Not Found");
  assert.equal(await one({ seq: 7 }), "404 Message Not Found");
  assert.equal(await one({ last_by_subj: "a.1" }), 4);
  assert.equal(await one({ last_by_subj: "a.*" }), 6);
  assert.equal(await one({ last_by_subj: "c" }), "404 Message Not Found");
  assert.equal(await one({ next_by_subj: "b.>" }), 3);
  assert.equal(await one({ next_by_subj: "a.1" }), 1);
  assert.equal(await one({ next_by_subj: "a.1", seq: 2 }), 4);
  assert.equal(await one({ next_by_subj: "a.1", seq: 5 }), "404 Message Not Found");
  assert.equal(await one("", ".b.2"), 5);
  assert.equal(await one("", ".a.2"), "404 Message Not Found");
  assert.equal(await one("{}", ".b.2"), 5);
  assert.equal(await one({ seq: 3, unknown: 1 }), 3); // not strict
  assert.equal(await one({ batch: 0, seq: 3 }), 3);
  const at = (await get(nc, { seq: 4 }))[0].headers.get("Nats-Time-Stamp");
  assert.equal(await one({ start_time: at }), 4);
  assert.equal(await one({ start_time: "2000-01-01T00:00:00Z" }), 1);
  assert.equal(await one({ start_time: "2100-01-01T00:00:00Z" }), "404 Message Not Found");
  assert.equal(await one({ start_time: at, next_by_subj: "b.>" }), 5);
});

scenario("asked wrongly", async (t) => {
  const [, nc] = await filled(t);
  const why = async (body, options) => status((await get(nc, body, options))[0]);
  const time = "2020-01-01T00:00:00Z";
  for (const body of ["", "{}", '{"batch":3}', '{"up_to_seq":1}', '{"max_bytes":1}', '{"no_hdr":true}', '{"seq":0}'])
    assert.equal(await why(body), "408 Empty Request", body);
  for (const body of ["x", "{", '{"seq":"1"}', '{"seq":-1}', '{"start_time":"today"}', '{"multi_last":"a"}'])
    assert.equal(await why(body), "408 Malformed Request", body);
  for (const body of [
    { seq: 1, last_by_subj: "a.1" },
    { seq: 1, start_time: time },
    { start_time: time, last_by_subj: "a.1" },
    { last_by_subj: "a.1", next_by_subj: "a.1" },
    { last_by_subj: "a.1", batch: 2 },
    { last_by_subj: "a.1", multi_last: ["a.1"] },
    { next_by_subj: "a.1", multi_last: ["a.1"] },
    { seq: 1, up_to_seq: 2, up_to_time: time },
  ])
    assert.equal(await why(body), "408 Bad Request", JSON.stringify(body));
  for (const body of [
    { seq: 1 }, { last_by_subj: "a.1" }, { next_by_subj: "a.1" }, { multi_last: ["a.1"] }, { batch: 1 },
    { start_time: time }, { up_to_seq: 1 }, { up_to_time: time },
  ])
    assert.equal(await why(body, { subject: ".a.1" }), "408 Bad Request", JSON.stringify(body));
  assert.equal(await why("x", { subject: ".a.1" }), "408 Malformed Request");
  assert.equal(await why({ seq: 1 }, { level: "99" }), "412 Required Api Level");
  assert.equal(await why({ seq: 1 }, { level: "x" }), "412 Required Api Level");
  assert.equal(await why("", { subject: ".a.1", level: "99" }), "412 Required Api Level");
  assert.equal(await why({ seq: 1 }, { level: "1" }), undefined);
});

scenario("without allow_direct, or without such a stream, nobody answers", async (t) => {
  const [, nc] = await filled(t, { allow_direct: false });
  const refused = (p) => assert.rejects(p, (e) => /no responders/i.test(`${e.message} ${e.cause?.message ?? ""} ${e.name}`));
  await refused(nc.request("$JS.API.DIRECT.GET.D", '{"seq":1}', { timeout: LIMIT_MS }));
  await refused(nc.request("$JS.API.DIRECT.GET.D.a.1", "", { timeout: LIMIT_MS }));
  await refused(nc.request("$JS.API.DIRECT.GET.NONE", '{"seq":1}', { timeout: LIMIT_MS }));
  const d = (await api(nc, "STREAM.INFO.D")).config;
  delete d.metadata;
  await api(nc, "STREAM.UPDATE.D", { ...d, allow_direct: true });
  assert.equal(seq((await get(nc, { seq: 1 }))[0]), 1);
});

scenario("a batch: order, pending, its end", async (t) => {
  const [, nc] = await filled(t);
  assert.deepEqual(await batch(nc, { seq: 1, batch: 3 }), { seqs: [1, 3, 4], pending: [4, 3, 2], left: 2, upTo: "" });
  assert.deepEqual(await batch(nc, { seq: 2, batch: 10 }), { seqs: [3, 4, 5, 6], pending: [3, 2, 1, 0], left: 0, upTo: "" });
  assert.deepEqual(await batch(nc, { seq: 4, batch: 1 }), { seqs: [4], pending: [2], left: 2, upTo: "" });
  assert.deepEqual(await batch(nc, { next_by_subj: "a.>", batch: 2 }), { seqs: [1, 4], pending: [2, 1], left: 1, upTo: "" });
  assert.deepEqual(await batch(nc, { next_by_subj: "a.>", seq: 2, batch: 9 }), { seqs: [4, 6], pending: [1, 0], left: 0, upTo: "" });
  assert.deepEqual(await batch(nc, { next_by_subj: "a.1", seq: 2, batch: 9 }), { seqs: [4], pending: [0], left: 0, upTo: "" });
  const at = (await get(nc, { seq: 5 }))[0].headers.get("Nats-Time-Stamp");
  assert.deepEqual(await batch(nc, { start_time: at, batch: 9 }), { seqs: [5, 6], pending: [1, 0], left: 0, upTo: "" });
  // nothing at all: no end either
  for (const body of [{ seq: 7, batch: 2 }, { next_by_subj: "c", batch: 2 }, { start_time: "2100-01-01T00:00:00Z", batch: 2 }]) {
    const got = await get(nc, body, { n: Infinity });
    assert.deepEqual(got.map(status), ["404 Message Not Found"]);
  }
  // without headers: only the end has any, and nothing was counted down
  const bare = await get(nc, { seq: 1, batch: 2, no_hdr: true }, { n: Infinity });
  assert.deepEqual(bare.slice(0, 2).map((m) => [m.headers, m.string()]), [[undefined, "m1"], [undefined, "m3"]]);
  assert.equal(status(bare[2]), "204 EOB");
  assert.equal(bare[2].headers.get("Nats-Num-Pending"), "5");
  assert.equal(bare[2].headers.get("Nats-Last-Sequence"), "3");
});

scenario("max_bytes ends a batch behind the message that reaches it", async (t) => {
  const [, nc] = await filled(t);
  // subject and payload are 5 bytes, 4 has headers as well
  assert.deepEqual((await batch(nc, { seq: 1, batch: 10, max_bytes: 1 })).seqs, [1]);
  assert.deepEqual((await batch(nc, { seq: 1, batch: 10, max_bytes: 5 })).seqs, [1]);
  assert.deepEqual((await batch(nc, { seq: 1, batch: 10, max_bytes: 6 })).seqs, [1, 3]);
  assert.deepEqual(await batch(nc, { seq: 1, batch: 10, max_bytes: 11 }), { seqs: [1, 3, 4], pending: [4, 3, 2], left: 2, upTo: "" });
  assert.deepEqual((await batch(nc, { multi_last: [">"], max_bytes: 6 })).seqs, [3, 4]);
});

scenario("the last ones of several subjects", async (t) => {
  const [, nc] = await filled(t);
  const all = { seqs: [3, 4, 5, 6], pending: [3, 2, 1, 0], left: 0, upTo: "6" };
  assert.deepEqual(await batch(nc, { multi_last: [">"] }), all);
  assert.deepEqual(await batch(nc, { multi_last: ["a.1", "b.*", "a.>", "c"] }), all);
  assert.deepEqual(await batch(nc, { multi_last: [">"], no_hdr: true }), all);
  assert.deepEqual(await batch(nc, { multi_last: [">"], batch: 2 }), { seqs: [3, 4], pending: [3, 2], left: 2, upTo: "6" });
  assert.deepEqual(await batch(nc, { multi_last: [">"], seq: 5 }), { seqs: [5, 6], pending: [1, 0], left: 0, upTo: "6" });
  assert.deepEqual(await batch(nc, { multi_last: ["a.*"], up_to_seq: 3 }), { seqs: [1], pending: [0], left: 0, upTo: "3" });
  assert.deepEqual(await batch(nc, { multi_last: [">"], up_to_seq: 3 }), { seqs: [1, 3], pending: [1, 0], left: 0, upTo: "3" });
  const at = (await get(nc, { seq: 4 }))[0].headers.get("Nats-Time-Stamp");
  assert.deepEqual(await batch(nc, { multi_last: [">"], up_to_time: at }), { seqs: [1, 3], pending: [1, 0], left: 0, upTo: "3" });
  assert.deepEqual((await batch(nc, { multi_last: [">"], up_to_time: "2100-01-01T00:00:00Z" })).seqs, all.seqs);
  for (const body of [{ multi_last: ["c"] }, { multi_last: ["b.*"], up_to_seq: 2 }, { multi_last: [">"], up_to_time: "2000-01-01T00:00:00Z" }])
    assert.deepEqual((await get(nc, body, { n: Infinity })).map(status), ["404 No Results"]);
});

scenario("more than 1024 subjects are too many, 1024 are not", async (t) => {
  const [, nc] = await filled(t);
  for (let i = 0; i < 1020; i++) nc.publish(`b.x.${i}`, "");
  await nc.flush();
  await until("all to be stored", async () => (await api(nc, "STREAM.INFO.D")).state.messages === 1025);
  assert.equal((await batch(nc, { multi_last: [">"] })).seqs.length, 1024);
  nc.publish("b.y", "");
  await until("one more", async () => (await api(nc, "STREAM.INFO.D")).state.messages === 1026);
  for (const body of [{ multi_last: [">"] }, { multi_last: [">"], batch: 2 }])
    assert.deepEqual((await get(nc, body, { n: Infinity })).map(status), ["413 Too Many Results"]);
  assert.equal((await batch(nc, { multi_last: ["b.>"] })).seqs.length, 1023);
});

scenario("a large batch comes whole and in order, while others are served", async (t) => {
  const [, nc] = await filled(t);
  for (let i = 0; i < 3000; i++) nc.publish("b.big", "x".repeat(1000));
  await nc.flush();
  await until("all to be stored", async () => (await api(nc, "STREAM.INFO.D")).state.messages === 3005);
  const all = batch(nc, { seq: 7, batch: 5000 });
  assert.equal(seq((await get(nc, { seq: 1 }))[0]), 1);
  const { seqs, left } = await all;
  assert.equal(seqs.length, 3000);
  assert.ok(seqs.every((n, i) => n === i + 7));
  assert.equal(left, 0);
  assert.deepEqual((await batch(nc, { next_by_subj: "b.*", batch: 1000, seq: 4 })).seqs.length, 1000);
});

scenario("a request that wants no reply gets none, and a deleted stream answers nothing", async (t) => {
  const [, nc] = await filled(t);
  nc.publish("$JS.API.DIRECT.GET.D", '{"seq":1}');
  nc.publish("$JS.API.DIRECT.GET.D.a.1", "");
  assert.equal(seq((await get(nc, { seq: 1 }))[0]), 1);
  await api(nc, "STREAM.DELETE.D");
  await assert.rejects(nc.request("$JS.API.DIRECT.GET.D", '{"seq":1}', { timeout: LIMIT_MS }));
});

scenario("messages that are read from disk after a restart", async (t) => {
  const [s, nc] = await filled(t);
  await nc.close();
  await s.restart();
  const again = await t.connect(s);
  assert.deepEqual(await batch(again, { seq: 1, batch: 10 }), { seqs: [1, 3, 4, 5, 6], pending: [4, 3, 2, 1, 0], left: 0, upTo: "" });
  const [m] = await get(again, "", { subject: ".a.1" });
  assert.deepEqual([seq(m), m.string(), m.headers.get("Kind")], [4, "m4", "one"]);
  assert.deepEqual((await batch(again, { multi_last: [">"] })).seqs, [3, 4, 5, 6]);
  assert.equal(seq((await get(again, { start_time: "2000-01-01T00:00:00Z" }))[0]), 1);
});

scenario("batches of a long stream count what is left, whatever comes and goes between them", async (t) => {
  const nc = await t.connect(await t.server(JS));
  await api(nc, "STREAM.CREATE.D", { name: "D", subjects: ["s.>"], allow_direct: true });
  const there = new Map(); // sequence: subject
  let last = 0;
  const add = async (n) => {
    for (let i = 0; i < n; i++) {
      const subject = `s.${Math.floor(last / 3) % 2 ? "a" : "b"}.${last % 7}`;
      nc.publish(subject, "x");
      there.set(++last, subject);
    }
    await until("all of it", async () => (await api(nc, "STREAM.INFO.D")).state.last_seq === last);
  };
  await add(14000);
  const walks = [["s.a.>", 1], ["s.a.>", 6000], ["s.*.3", 5000], ["s.b.2", 1]].map(([filter, seq]) => ({ filter, seq, match: new RegExp(`^${filter.replaceAll(".", "\\.").replace("*", "\\w").replace(">", ".*")}$`) }));
  for (let round = 0; round < 12; round++) {
    for (const w of walks) {
      const got = await batch(nc, { seq: w.seq, next_by_subj: w.filter, batch: 100 });
      const left = [...there].filter(([seq, subject]) => seq >= w.seq && w.match.test(subject)).map(([seq]) => seq);
      assert.deepEqual(got.seqs, left.slice(0, 100), w.filter);
      assert.equal(got.left, left.length - got.seqs.length, `${w.filter} from ${w.seq}`);
      assert.deepEqual(got.pending, got.seqs.map((_, i) => left.length - 1 - i));
      w.seq = got.seqs.at(-1) + 1;
      for (const seq of [w.seq, w.seq + 5, w.seq + 70, 9000 + round]) {
        if (there.delete(seq)) await api(nc, "STREAM.MSG.DELETE.D", { seq });
      }
    }
    await add(11);
  }
});
