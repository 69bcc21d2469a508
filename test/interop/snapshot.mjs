// snapshot.mjs: STREAM.SNAPSHOT and STREAM.RESTORE: what goes out comes back, in both directions between the
// server under test and nats-server (NATS_SERVER names one), and every way in which it can go wrong.
import assert from "node:assert/strict";
import { createInbox, headers } from "@nats-io/transport-node";
import { framed } from "./lib/archive.mjs";
import { JS, api, archive, ask, configOf, contents, entry, other, ready, restore, snapshot } from "./lib/backup.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { nanoseconds } from "./lib/stamp.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

// 40 messages on 5 subjects, some with headers, one that lives an hour; gaps at the beginning, inside, at the end.
async function fill(nc, name = "S", more = {}) {
  await api(nc, `STREAM.CREATE.${name}`, { name, subjects: ["s.>"], allow_msg_ttl: true, allow_direct: true, ...more });
  for (let i = 1; i <= 40; i++) {
    const h = headers();
    if (i % 3 === 0) h.set("Number", `${i}`);
    if (i === 9) h.set("Nats-TTL", "1h");
    const ack = await nc.request(`s.${i % 5}`, `message ${i} `.repeat(i * 10), { headers: h, timeout: LIMIT_MS });
    assert.equal(ack.json().error, undefined, ack.string());
  }
  for (const seq of [1, 2, 10, 11, 12, 20, 39, 40]) await api(nc, `STREAM.MSG.DELETE.${name}`, { seq });
}

async function moved(from, to, storage) {
  await fill(from, "S", { storage });
  const before = await contents(from);
  const config = await configOf(from);
  const { bytes, answer } = await snapshot(from, "S", { chunk_size: 2048 });
  assert.equal(answer.state.messages, 32);
  if (to === from) await api(from, "STREAM.DELETE.S");
  const made = await restore(to, config, bytes);
  assert.equal(made.error, undefined, JSON.stringify(made.error));
  assert.equal(made.type, "io.nats.jetstream.api.v1.stream_create_response");
  assert.equal(made.did_create, undefined);
  assert.deepEqual(await contents(to), before);
  assert.deepEqual(await configOf(to), config);
  // it goes on where it was
  const ack = await to.request("s.new", "41", { timeout: LIMIT_MS });
  assert.deepEqual(ack.json(), { stream: "S", seq: 41 });
}

for (const storage of ["file", "memory"]) {
  scenario(`a ${storage} stream comes back as it was`, async (t) => {
    const [s, nc] = await ready(t);
    await moved(nc, nc, storage);
    if (storage === "memory") return;
    const before = await contents(nc);
    await nc.close();
    await s.restart();
    assert.deepEqual(await contents(await t.connect(s)), before);
  });
}

if (other) {
  scenario("from nats-server into the server under test", async (t) => {
    const [, theirs] = await ready(t, { ...JS, program: other });
    const [, ours] = await ready(t);
    await moved(theirs, ours, "file");
  });
  scenario("from the server under test into nats-server", async (t) => {
    const [, theirs] = await ready(t, { ...JS, program: other });
    const [, ours] = await ready(t);
    await moved(ours, theirs, "file");
  });
}

// The stream is gone before they are due, so they fire where they were restored to.
async function scheduled(from, to) {
  const config = { name: "S", subjects: ["s.>"], allow_msg_schedules: true, allow_msg_ttl: true };
  await api(from, "STREAM.CREATE.S", config);
  const when = new Date(Math.ceil(Date.now() / 1000 + 3) * 1000).toISOString().replace(".000", "");
  const put = async (name, pattern) => {
    const h = headers();
    h.set("Nats-Schedule", pattern);
    h.set("Nats-Schedule-Target", `s.${name}.fired`);
    const ack = (await from.request(`s.${name}`, name, { headers: h, timeout: LIMIT_MS })).json();
    assert.equal(ack.error, undefined, JSON.stringify(ack.error));
  };
  await put("once", `@at ${when}`);
  await put("cron", "*/2 * * * * *");
  await put("late", "@at 2099-01-01T00:00:00Z");
  const full = await configOf(from);
  const { bytes } = await snapshot(from, "S");
  if (to === from) await api(from, "STREAM.DELETE.S");
  const { state, error } = await restore(to, full, bytes);
  assert.equal(error, undefined, JSON.stringify(error));
  const fired = async (name) => (await ask(to, "STREAM.MSG.GET.S", { last_by_subj: `s.${name}.fired` })).message;
  const once = await until("the delayed one", () => fired("once"));
  assert.equal(Buffer.from(once.data, "base64").toString(), "once");
  assert.ok(once.seq > state.last_seq && Date.parse(once.time) >= Date.parse(when));
  await until("the one that comes again", async () => (await fired("cron"))?.seq > state.last_seq);
  const first = (await fired("cron")).seq;
  await until("it again", async () => (await fired("cron")).seq > first);
  assert.equal((await ask(to, "STREAM.MSG.GET.S", { last_by_subj: "s.once" })).error?.err_code, 10037);
  assert.equal((await ask(to, "STREAM.MSG.GET.S", { last_by_subj: "s.late" })).error, undefined);
  assert.equal(await fired("late"), undefined);
}
scenario("schedules of a restored stream fire", async (t) => {
  const [, nc] = await ready(t);
  await scheduled(nc, nc);
});
if (other)
  scenario("schedules from nats-server fire where they are restored", async (t) => {
    const [, theirs] = await ready(t, { ...JS, program: other });
    const [, ours] = await ready(t);
    await scheduled(theirs, ours);
  });

scenario("streams without messages keep their sequences", async (t) => {
  const [, nc] = await ready(t);
  for (const [name, n] of [["FRESH", 0], ["EMPTIED", 5]]) {
    await api(nc, `STREAM.CREATE.${name}`, { name, subjects: [name], deny_purge: false });
    for (let i = 0; i < n; i++) await nc.request(name, "x", { timeout: LIMIT_MS });
    await api(nc, `STREAM.PURGE.${name}`);
    const before = (await contents(nc, name)).state;
    const config = await configOf(nc, name);
    const { bytes } = await snapshot(nc, name);
    await api(nc, `STREAM.DELETE.${name}`);
    assert.equal((await restore(nc, config, bytes)).error, undefined);
    const after = (await contents(nc, name)).state;
    assert.deepEqual([after.first_seq, after.last_seq, after.messages], [before.first_seq, before.last_seq, 0]);
    assert.equal((await nc.request(name, "x", { timeout: LIMIT_MS })).json().seq, n + 1);
  }
});

scenario("a stream that refuses deletes and purges, transforms and limits is restored all the same", async (t) => {
  const [, nc] = await ready(t);
  const config = {
    name: "S", subjects: ["s.>"], deny_delete: true, deny_purge: true, max_msgs_per_subject: 3, discard: "new",
    subject_transform: { src: "s.>", dest: "s.t.>" },
  };
  await api(nc, "STREAM.CREATE.S", config);
  for (let i = 0; i < 8; i++) await nc.request(`s.${i % 2}`, `${i}`, { timeout: LIMIT_MS });
  const before = await contents(nc);
  const full = await configOf(nc);
  const { bytes } = await snapshot(nc, "S");
  await api(nc, "STREAM.DELETE.S");
  assert.equal((await restore(nc, full, bytes)).error, undefined);
  assert.deepEqual(await contents(nc), before);
  assert.deepEqual(await configOf(nc), full);
});

scenario("chunks, acknowledgements, the end", async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const small = await snapshot(nc, "S", { chunk_size: 1024 });
  const full = small.chunks.filter((m) => m.reply);
  assert.ok(full.length > 2);
  for (const [i, m] of full.entries()) {
    assert.equal(m.data.length, 1024);
    assert.match(m.reply, new RegExp(`^\\$JS\\.SNAPSHOT\\.ACK\\.S\\.\\w{22}\\.1024\\.${i + 1}$`));
  }
  assert.ok(small.chunks.length - full.length <= 1);
  assert.equal(small.end.headers.code, 204);
  const whole = await snapshot(nc, "S");
  assert.deepEqual(whole.chunks.map((m) => m.reply ?? ""), [""]);
  assert.equal(whole.end.headers, undefined);
  // no more than the window without an acknowledgement, then none at all: 5 s
  let n = 0;
  const stalled = await snapshot(nc, "S", { chunk_size: 1024, window_size: 2048 }, () => (n++, false));
  assert.equal(n, 2);
  assert.equal(`${stalled.end.headers.code} ${stalled.end.headers.description}`, "408 No Flow Response");
});

scenario("what a snapshot refuses", async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const type = "io.nats.jetstream.api.v1.stream_snapshot_response";
  const error = (code, err_code, description) => ({ type, error: { code, err_code, description } });
  assert.deepEqual(await ask(nc, "STREAM.SNAPSHOT.S"), error(400, 10003, "bad request"));
  for (const body of [{ deliver_subject: "a.*" }, { deliver_subject: "" }, { no_consumers: true }, { deliver_subject: "a b" }])
    assert.deepEqual(await ask(nc, "STREAM.SNAPSHOT.S", body), error(400, 10015, "deliver subject not valid"));
  assert.deepEqual(await ask(nc, "STREAM.SNAPSHOT.S", { x: 1 }), error(400, 10025, 'invalid JSON: json: unknown field "x"'));
  assert.deepEqual(await ask(nc, "STREAM.SNAPSHOT.NO", { x: 1 }), error(404, 10059, "stream not found"));
});

scenario("what a restore refuses, and what is left then: nothing", async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const { bytes } = await snapshot(nc, "S");
  const config = await configOf(nc);
  const refused = async (body, code, err_code, description) =>
    assert.deepEqual((await ask(nc, "STREAM.RESTORE.S", body)).error, { code, err_code, description });
  await refused("", 400, 10003, "bad request");
  await refused({ config: { name: "X" } }, 400, 10056, "stream name in subject does not match request");
  await refused({ config: { bogus: 1 } }, 400, 10025, 'invalid JSON: json: unknown field "bogus"');
  await refused({ config: { ...config, max_age: -1 } }, 500, 10052, "max age can not be negative");
  await refused({ config, state: {} }, 400, 10130, "stream name already in use, cannot restore");
  await api(nc, "STREAM.DELETE.S");

  const gone = async (pattern, data) => {
    const r = await restore(nc, config, data);
    assert.equal(r.error?.code, 500, JSON.stringify(r));
    assert.equal(r.error.err_code, 10062);
    assert.match(r.error.description, pattern);
    assert.equal((await ask(nc, "STREAM.INFO.S")).error?.err_code, 10059);
  };
  const flipped = Buffer.from(bytes);
  flipped[flipped.length >> 1] ^= 1;
  await gone(/^restore failed: s2: /, flipped);
  await gone(/^restore failed: s2: corrupt input$/, bytes.subarray(0, bytes.length - 20));
  await gone(/^restore failed: s2: corrupt input$/, Buffer.from("garbage".repeat(100)));
  await gone(/^restore failed: EOF$/, Buffer.alloc(0));
  await api(nc, "STREAM.CREATE.O", { name: "O", subjects: ["s.1"] });
  await gone(/^restore failed: error adding stream: subjects overlap with an existing stream/, bytes);
  await api(nc, "STREAM.DELETE.O");
  assert.equal((await restore(nc, config, bytes)).error, undefined);
});

scenario("a restore that stalls is given up, and nothing of it remains", async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const { bytes } = await snapshot(nc, "S");
  const config = await configOf(nc);
  await api(nc, "STREAM.DELETE.S");
  const { deliver_subject } = await api(nc, "STREAM.RESTORE.S", { config, state: {} });
  await nc.request(deliver_subject, bytes.subarray(0, bytes.length - 100), { timeout: LIMIT_MS });
  // Asking would keep it alive, so there is nothing to poll: it is given 5 s, and we more than that.
  const from = Date.now();
  await until("7 s to pass", () => Date.now() - from > 7000);
  await assert.rejects(nc.request(deliver_subject, "", { timeout: LIMIT_MS }), (e) =>
    /no responders/i.test(`${e.name} ${e.message} ${e.cause?.message ?? ""}`));
  assert.equal((await ask(nc, "STREAM.INFO.S")).error?.err_code, 10059);
});

scenario("advisories of a snapshot and a restore", async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const got = collect(nc, "$JS.EVENT.ADVISORY.STREAM.>");
  await nc.flush();
  const config = await configOf(nc);
  const { bytes } = await snapshot(nc, "S");
  await until("two", () => got.length === 2);
  await api(nc, "STREAM.DELETE.S");
  await restore(nc, config, bytes);
  await until("all", () => got.length === 6);
  const short = got.map((m) => m.subject.replace("$JS.EVENT.ADVISORY.STREAM.", ""));
  assert.deepEqual(short, ["SNAPSHOT_CREATE.S", "SNAPSHOT_COMPLETE.S", "DELETED.S", "RESTORE_CREATE.S", ...short.slice(4)]);
  assert.deepEqual(short.slice(4).sort(), ["CREATED.S", "RESTORE_COMPLETE.S"]);
  const [create, complete] = got.map((m) => m.json());
  assert.equal(create.type, "io.nats.jetstream.advisory.v1.snapshot_create");
  assert.equal(create.state.messages, 32);
  assert.equal(complete.type, "io.nats.jetstream.advisory.v1.snapshot_complete");
  assert.ok(nanoseconds(complete.start) <= nanoseconds(complete.end) && complete.error === undefined);
  const restored = got.map((m) => m.json()).find((m) => m.type.endsWith("restore_complete"));
  assert.equal(restored.bytes, bytes.length);
  assert.equal(restored.client.acc, "$G");
});


// As nats.go does it, and with it the nats CLI: the subject is one of the inbox of requests, which a wildcard
// matches from the beginning; only after the answer it is subscribed to itself.
async function late(from, name) {
  const prefix = createInbox();
  const inbox = `${prefix}.backup`;
  const others = collect(from, `${prefix}.*`);
  await from.flush();
  await api(from, `STREAM.SNAPSHOT.${name}`, { deliver_subject: inbox, chunk_size: 1024, window_size: 4096 });
  const before = Date.now();
  await until("a moment to pass", () => Date.now() - before > 300);
  const got = [];
  from.subscribe(inbox, { callback: (_, m) => { got.push(m); if (m.reply) m.respond(); } });
  await until("the end of the snapshot", () => got.at(-1)?.data.length === 0);
  assert.equal(got.at(-1).headers?.code, 204);
  others.sub.unsubscribe();
  return Buffer.concat(got.map((m) => m.data));
}
async function movedLate(from, to) {
  await fill(from);
  const before = await contents(from);
  const config = await configOf(from);
  const bytes = await late(from, "S");
  if (to === from) await api(from, "STREAM.DELETE.S");
  assert.equal((await restore(to, config, bytes)).error, undefined);
  assert.deepEqual(await contents(to), before);
}
scenario("a snapshot waits for its receiver, whatever patterns match the subject", async (t) => {
  const [, nc] = await ready(t);
  await movedLate(nc, nc);
});
if (other) {
  scenario("a late receiver's snapshot goes from nats-server into the server under test", async (t) => {
    const [, theirs] = await ready(t, { ...JS, program: other });
    await movedLate(theirs, (await ready(t))[1]);
  });
  scenario("a late receiver's snapshot goes from the server under test into nats-server", async (t) => {
    const [, theirs] = await ready(t, { ...JS, program: other });
    await movedLate((await ready(t))[1], theirs);
  });
}
scenario("a receiver with a wildcard gets its snapshot, a moment later", async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const prefix = createInbox();
  const got = collect(nc, `${prefix}.*`);
  await api(nc, "STREAM.SNAPSHOT.S", { deliver_subject: `${prefix}.x` });
  await until("the end", () => got.at(-1)?.data.length === 0);
  assert.ok(got.length === 2 && got[0].data.length > 1000);
});
scenario("nothing is sent where nobody listens, and a receiver that goes away is missed beside others", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const ends = collect(nc, "$JS.EVENT.ADVISORY.STREAM.SNAPSHOT_COMPLETE.S");
  await api(nc, "STREAM.SNAPSHOT.S", { deliver_subject: createInbox() });
  await until("its end", () => ends.length === 1);
  assert.equal(ends[0].json().error, "no interest");
  const prefix = createInbox();
  collect(nc, `${prefix}.*`);
  const got = collect(nc, `${prefix}.x`);
  await api(nc, "STREAM.SNAPSHOT.S", { deliver_subject: `${prefix}.x`, chunk_size: 1024, window_size: 1024 });
  await until("a chunk", () => got.length === 1);
  got.sub.unsubscribe();
  await until("its end", () => ends.length === 2);
  assert.equal(ends[1].json().error, "no interest");
});
scenario("an account has 16 snapshots under way, not more", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const got = collect(nc, "chunks.*");
  const more = { chunk_size: 1024, window_size: 1024 };
  for (let i = 0; i < 16; i++) {
    collect(nc, `chunks.${i}`);
    await api(nc, "STREAM.SNAPSHOT.S", { deliver_subject: `chunks.${i}`, ...more });
  }
  assert.deepEqual((await ask(nc, "STREAM.SNAPSHOT.S", { deliver_subject: "chunks.16", ...more })).error,
    { code: 500, err_code: 10064, description: "snapshot failed: too many snapshots are under way" });
  await until("one chunk of each", () => got.length === 16);
  const acks = new Set();
  await until("their end", () => {
    for (const m of got) if (m.reply && !acks.has(m.reply)) acks.add(m.reply), nc.publish(m.reply);
    return got.filter((m) => m.data.length === 0).length === 16;
  });
  await api(nc, "STREAM.SNAPSHOT.S", { deliver_subject: "chunks.0" });
});

scenario("a receiver that goes away ends the snapshot", async (t) => {
  const [, nc] = await ready(t);
  await fill(nc);
  const ends = collect(nc, "$JS.EVENT.ADVISORY.STREAM.SNAPSHOT_COMPLETE.S");
  const inbox = createInbox();
  const got = collect(nc, inbox);
  await api(nc, "STREAM.SNAPSHOT.S", { deliver_subject: inbox, chunk_size: 1024, window_size: 1024 });
  await until("a chunk", () => got.length === 1);
  got.sub.unsubscribe();
  await until("its end", () => ends.length === 1);
  assert.equal(ends[0].json().error, "no interest");
  assert.equal((await snapshot(nc, "S")).chunks.length, 1);
});

// --- archives made by hand ---------------------------------------------------------------------------------

const ttl = (value) => `NATS/1.0\r\nNats-TTL: ${value}\r\n\r\n`;
const TTL = { name: "S", subjects: ["s.>"], allow_msg_ttl: true };
const seqs = async (nc) => (await contents(nc)).msgs.map((m) => m.seq);

scenario("a message whose TTL is over when it is restored becomes a gap", async (t) => {
  const [, nc] = await ready(t);
  const bytes = archive({ first_seq: 5, last_seq: 12 }, [
    ["s.1", 5, 100, "", "plain"],
    ["s.1", 6, 100, ttl("10s"), "over"],
    ["s.2", 7, 100, ttl("1h"), "lives"],
    ["s.3", 9, 100, ttl("never"), "stays"],
    ["s.4", 10, 100, ttl("1"), "over"],
  ]);
  const r = await restore(nc, TTL, bytes);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  assert.deepEqual(await seqs(nc), [5, 7, 9]);
  assert.deepEqual([r.state.messages, r.state.first_seq, r.state.last_seq, r.state.num_deleted], [3, 5, 12, 5]);
  assert.equal((await nc.request("s.5", "", { timeout: LIMIT_MS })).json().seq, 13);
});

// nats-server aborts the whole restore because of one such message.
scenario("a TTL that means nothing is kept as it is", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t);
  const bytes = archive({ first_seq: 1, last_seq: 3 }, [
    ["s.1", 1, 100, ttl("soon"), "odd"], ["s.2", 2, 100, ttl("-5s"), "odd"], ["s.3", 3, 100, "", "plain"],
  ]);
  assert.equal((await restore(nc, TTL, bytes)).error, undefined);
  assert.deepEqual(await seqs(nc), [1, 2, 3]);
  const [m] = (await contents(nc)).msgs;
  assert.equal(Buffer.from(m.hdrs, "base64").toString(), ttl("soon"));
});

scenario("archives that are not in order", async (t) => {
  const [, nc] = await ready(t);
  let n = 0; // a name of its own for each: nats-server keeps what it had taken
  const refused = async (pattern, bytes, more = {}) => {
    const name = `S${++n}`;
    assert.match((await restore(nc, { ...TTL, name, subjects: [`${n}`], ...more }, bytes)).error?.description ?? "", pattern);
    if (isMayfly) assert.equal((await ask(nc, `STREAM.INFO.${name}`)).error?.err_code, 10059);
  };
  const state = { first_seq: 1, last_seq: 3 };
  const m = (seq, subject = "s.1") => [subject, seq, 1, "", "x"];
  await refused(/^restore failed: message sequence 2 out of order$/, archive(state, [m(1), m(2), m(2)]));
  await refused(/^restore failed: message sequence 1 out of order$/, archive(state, [m(2), m(1)]));
  await refused(/^restore failed: EOF$/, archive(state, [m(1), m(2)], { end: false }));
  await refused(/^restore failed: message sequence 2 exceeds maximum message size$/,
    archive(state, [m(1), ["s.1", 2, 1, "", "x".repeat(100)]]), { max_msg_size: 50 });
  await refused(/^restore failed: message sequence 2 exceeds maximum payload size$/,
    archive(state, [m(1), ["s.1", 2, 1, "", "x".repeat(1100000)]]));
  const headless = framed(Buffer.concat([Buffer.from("NATSARC1"), entry("s.1", 1, 1)]));
  await refused(/^restore failed: expected state.json first$/, headless);
});

scenario("a server that is killed in the middle of a restore starts without the half of it", { only: "mayfly" }, async (t) => {
  const [s, nc] = await ready(t);
  await fill(nc);
  const { bytes } = await snapshot(nc, "S");
  const config = await configOf(nc);
  await api(nc, "STREAM.DELETE.S");
  const { deliver_subject } = await api(nc, "STREAM.RESTORE.S", { config, state: {} });
  await nc.request(deliver_subject, bytes.subarray(0, bytes.length - 100), { timeout: LIMIT_MS });
  await s.kill();
  await s.startAgain();
  s.killed = false;
  const again = await t.connect(s);
  await until("the half to be gone", async () => (await ask(again, "STREAM.NAMES")).total === 0);
  assert.equal((await restore(again, config, bytes)).error, undefined);
  assert.equal((await contents(again)).state.messages, 32);
});
