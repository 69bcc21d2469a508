// limits_streams.mjs: what a stream keeps, what it throws away, and what it does to messages on their way in.
import assert from "node:assert/strict";
import { headers } from "@nats-io/transport-node";
import { SECOND, block, group } from "./lib/js.mjs";
import { isMayfly } from "./lib/server.mjs";
import { collect } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const FULL = (text) => [503, 10077, text];
const BAD_CONFIG = (text) => [500, 10052, text];
const SEALED = [400, 10109, "invalid operation on sealed stream"];

// What is in the stream: [seq, "subject data"], oldest first.
async function content(c) {
  const st = await c.state();
  const all = [];
  for (let seq = st.first_seq; seq <= st.last_seq && seq; seq++) {
    const m = await c.get(seq);
    if (m) all.push(`${m.seq} ${m.subject.replace(`${c.prefix}.`, "")}=${m.data}`);
  }
  assert.equal(all.length, st.messages);
  return all;
}
async function fill(c, ...texts) {
  for (const t of texts) await c.pub(...t.split("="));
}

// --- discard old --------------------------------------------------------------------------------------

check("max_msgs, discard old: the oldest go", async (c) => {
  await c.create({ max_msgs: 3 });
  await fill(c, "a=1", "b=2", "a=3", "a=4", "c=5");
  assert.deepEqual(await content(c), ["3 a=3", "4 a=4", "5 c=5"]);
  assert.equal((await c.state()).first_seq, 3);
  assert.equal((await c.state()).num_subjects, 2);
});

check("max_bytes, discard old: as many as needed go", async (c) => {
  const size = (data) => 30 + c.subject("a").length + data.length;
  await c.create({ max_bytes: 3 * size("x") });
  await fill(c, "a=x", "a=y", "a=z");
  assert.equal((await c.state()).bytes, 3 * size("x"));
  await fill(c, "a=w");
  assert.deepEqual(await content(c), ["2 a=y", "3 a=z", "4 a=w"]);
  await fill(c, `a=${"v".repeat(40)}`);
  assert.equal((await c.state()).messages, 1);
  assert.equal((await c.state()).bytes, size("v".repeat(40)));
});

check("bytes are counted as nats-server does, in files and in memory, with headers", async (c) => {
  const mem = c.another();
  await Promise.all([c.create(), mem.create({ storage: "memory" })]);
  const h = block("A: b");
  for (const s of [c, mem]) {
    await s.pub("a", "12345");
    await s.pub("a", "12345", h);
    await s.pub("a", "");
  }
  const len = (s) => s.subject("a").length;
  assert.equal((await c.state()).bytes, 3 * (30 + len(c)) + 10 + 4 + h.length);
  assert.equal((await mem.state()).bytes, 3 * (16 + len(mem)) + 10 + h.length);
});

check("max_msgs_per_subject, discard old", async (c) => {
  await c.create({ max_msgs_per_subject: 2 });
  await fill(c, "a=1", "b=2", "a=3", "a=4", "b=5", "b=6");
  assert.deepEqual(await content(c), ["3 a=3", "4 a=4", "5 b=5", "6 b=6"]);
  const one = c.another();
  await one.create({ max_msgs_per_subject: 1, max_msgs: 2 });
  await fill(one, "a=1", "a=2", "b=3", "c=4", "b=5");
  assert.deepEqual(await content(one), ["4 c=4", "5 b=5"]);
});

check("max_age: whole stream, from the message's own time", async (c) => {
  await c.create({ max_age: SECOND });
  await fill(c, "a=1", "b=2");
  const st = await c.empty();
  assert.deepEqual([st.first_seq, st.last_seq], [3, 2]);
});

check("max_age of a fraction of a second", async (c) => {
  await c.refusedConfig({ max_age: 99_000_000 }, BAD_CONFIG("max age needs to be >= 100ms"));
  const { config } = await c.create({ max_age: 100_000_000 });
  assert.equal(config.duplicate_window, 100_000_000);
  await fill(c, "a=1");
  await c.empty();
});

check("lowering limits takes effect at once, and without markers", async (c) => {
  await c.create({ subject_delete_marker_ttl: 60 * SECOND });
  await fill(c, "a=1", "b=2", "c=3", "d=4", "d=5", "d=6");
  const over = { subject_delete_marker_ttl: 60 * SECOND };
  await c.update({ ...over, max_msgs: 4 });
  assert.deepEqual(await content(c), ["3 c=3", "4 d=4", "5 d=5", "6 d=6"]);
  await c.update({ ...over, max_msgs_per_subject: 2 });
  assert.deepEqual(await content(c), ["3 c=3", "5 d=5", "6 d=6"]);
  await c.update({ ...over, max_bytes: 2 * (30 + c.subject("d").length + 1) });
  assert.deepEqual(await content(c), ["5 d=5", "6 d=6"]);
});

check("lowering max_age takes effect at once", async (c) => {
  await c.create();
  await fill(c, "a=1");
  await c.update({ max_age: SECOND });
  await c.empty();
});

check("max_msg_size", async (c) => {
  await c.create({ max_msg_size: 10 });
  await c.pub("a", "x".repeat(10));
  await c.refused("a", [400, 10054, "message size exceeds maximum allowed"], "x".repeat(11));
  await c.update({ max_msg_size: 11 });
  await c.pub("a", "x".repeat(11));
});

// --- discard new ----------------------------------------------------------------------------------------

check("discard new: max_msgs", async (c) => {
  await c.create({ max_msgs: 2, discard: "new" });
  await fill(c, "a=1", "b=2");
  await c.refused("a", FULL("maximum messages exceeded"), "3");
  await c.remove(1);
  await fill(c, "c=3");
  assert.deepEqual(await content(c), ["2 b=2", "3 c=3"]);
});

check("discard new: max_bytes", async (c) => {
  const size = 30 + c.subject("a").length + 1;
  await c.create({ max_bytes: 2 * size, discard: "new" });
  await fill(c, "a=1", "b=2");
  await c.refused("a", FULL("maximum bytes exceeded"), "3");
  await c.purge();
  await c.refused("a", FULL("maximum bytes exceeded"), "x".repeat(size + 2));
  await fill(c, "a=3");
});

check("discard new: an expiry makes room", async (c) => {
  await c.create({ max_msgs: 1, discard: "new", allow_msg_ttl: true });
  await c.pub("a", "x", { "Nats-TTL": "1" });
  await until("room", async () => !(await c.ack("a", "y")).error);
});

check("discard new: within the subject's limit the subject's oldest is replaced, even when full", async (c) => {
  await c.create({ max_msgs: 2, max_msgs_per_subject: 1, discard: "new" });
  await fill(c, "a=1", "b=2", "a=3");
  assert.deepEqual(await content(c), ["2 b=2", "3 a=3"]);
  await c.refused("c", FULL("maximum messages exceeded"), "4");
});

check("discard new: for max_bytes a replacement may not be larger", async (c) => {
  await c.create({ max_bytes: 30 + c.subject("a").length + 5, max_msgs_per_subject: 1, discard: "new" });
  await fill(c, "a=12345", "a=54321", "a=1");
  await c.refused("a", FULL("maximum bytes exceeded"), "123456");
  assert.deepEqual(await content(c), ["3 a=1"]);
});

check("discard new per subject", async (c) => {
  await c.refusedConfig({ discard_new_per_subject: true, max_msgs_per_subject: 1 }, BAD_CONFIG("discard new per subject requires discard new policy to be set"));
  await c.refusedConfig({ discard_new_per_subject: true, discard: "new" }, BAD_CONFIG("discard new per subject requires max msgs per subject > 0"));
  await c.create({ discard_new_per_subject: true, discard: "new", max_msgs_per_subject: 2, allow_rollup_hdrs: true });
  await fill(c, "a=1", "a=2", "b=3");
  await c.refused("a", FULL("maximum messages per subject exceeded"), "4");
  await c.remove(1);
  await fill(c, "a=4");
  // A roll-up replaces what is there, so there is always room for it.
  await c.pub("a", "5", { "Nats-Rollup": "sub" });
  assert.deepEqual(await content(c), ["3 b=3", "5 a=5"]);
});

check("discard new with max_msgs: a roll-up is no way around it", async (c) => {
  await c.create({ discard: "new", max_msgs: 2, allow_rollup_hdrs: true });
  await fill(c, "a=1", "a=2");
  await c.refused("a", FULL("maximum messages exceeded"), "3", { "Nats-Rollup": "sub" });
});

// --- sequences, roll-ups, permissions ------------------------------------------------------------------------

check("first_seq", async (c) => {
  await c.create({ first_seq: 1000 });
  const st = await c.state();
  assert.deepEqual([st.messages, st.first_seq, st.last_seq], [0, 1000, 999]);
  assert.equal(await c.pub("a", "x", { "Nats-Expected-Last-Sequence": 999 }), 1000);
  assert.equal((await c.state()).first_seq, 1000);
});

check("rollup sub takes its subject, rollup all takes the stream", async (c) => {
  await c.create({ allow_rollup_hdrs: true });
  await fill(c, "a=1", "b=2", "a=3", "a.b=4");
  await c.pub("a", "5", { "Nats-Rollup": "sub" });
  assert.deepEqual(await content(c), ["2 b=2", "4 a.b=4", "5 a=5"]);
  assert.equal((await c.get(5)).hdr, block("Nats-Rollup: sub"));
  await c.pub("z", "6", { "Nats-Rollup": "all" });
  assert.deepEqual(await content(c), ["6 z=6"]);
  const st = await c.state();
  assert.deepEqual([st.first_seq, st.last_seq, st.num_subjects], [6, 6, 1]);
});

check("rollups make no markers", async (c) => {
  await c.create({ subject_delete_marker_ttl: 60 * SECOND });
  await fill(c, "a=1", "b=2");
  await c.pub("z", "3", { "Nats-Rollup": "all" });
  assert.deepEqual(await content(c), ["3 z=3"]);
});

check("deny_delete", async (c) => {
  await c.create({ deny_delete: true });
  await fill(c, "a=1");
  assert.deepEqual((await c.remove(1)).error, { code: 500, err_code: 10057, description: "message delete not permitted" });
  await c.refusedConfig({}, BAD_CONFIG("stream configuration update can not cancel deny message deletes"), "UPDATE");
  assert.equal((await c.purge()).purged, 1);
});

check("deny_purge", async (c) => {
  await c.refusedConfig({ deny_purge: true, allow_rollup_hdrs: true }, BAD_CONFIG("roll-ups require the purge permission"));
  await c.create({ deny_purge: true });
  await fill(c, "a=1", "a=2");
  for (const body of ["", {}, { filter: c.subject("a") }, { seq: 2 }, { keep: 1 }])
    assert.deepEqual((await c.purge(body)).error, { code: 500, err_code: 10110, description: "stream purge not permitted" });
  await c.refusedConfig({}, BAD_CONFIG("stream configuration update can not cancel deny purge"), "UPDATE");
  assert.equal((await c.remove(1)).success, true);
});

check("deny_delete and deny_purge do not stop a TTL", async (c) => {
  await c.create({ deny_delete: true, deny_purge: true, allow_msg_ttl: true });
  await c.pub("a", "x", { "Nats-TTL": "1" });
  await c.empty();
});

check("sealed: nothing comes in, nothing is taken out", async (c) => {
  await c.refusedConfig({ sealed: true }, BAD_CONFIG("stream configuration for create can not be sealed"));
  await c.create({ max_age: 3600 * SECOND, allow_rollup_hdrs: true });
  await fill(c, "a=1", "a=2");
  const { config } = await c.update({ sealed: true, max_age: 3600 * SECOND, allow_rollup_hdrs: true });
  assert.deepEqual([config.sealed, config.max_age, config.discard, config.deny_delete, config.deny_purge, config.allow_rollup_hdrs],
    [true, 0, "new", true, true, false]);
  await c.refused("a", SEALED, "3");
  const error = { code: 400, err_code: 10109, description: "invalid operation on sealed stream" };
  assert.deepEqual((await c.remove(1)).error, error);
  assert.deepEqual((await c.purge()).error, error);
  assert.deepEqual(await content(c), ["1 a=1", "2 a=2"]);
  await c.refusedConfig({ discard: "new", deny_delete: true, deny_purge: true }, BAD_CONFIG("stream configuration update can not unseal a sealed stream"), "UPDATE");
});

check("purge by filter, sequence and number", async (c) => {
  await c.create();
  await fill(c, "a=1", "b=2", "a=3", "b=4", "a=5", "c=6");
  assert.equal((await c.purge({ filter: c.subject("a"), keep: 1 })).purged, 2);
  assert.deepEqual(await content(c), ["2 b=2", "4 b=4", "5 a=5", "6 c=6"]);
  assert.equal((await c.purge({ filter: c.subject("b"), seq: 4 })).purged, 1);
  assert.equal((await c.purge({ seq: 5 })).purged, 1);
  assert.equal((await c.purge({ keep: 1 })).purged, 1);
  assert.deepEqual(await content(c), ["6 c=6"]);
  assert.equal((await c.purge({ seq: 1, keep: 1 })).error.err_code, 10003);
  const r = await c.jsm.streams.purge(c.id);
  assert.deepEqual([r.success, r.purged], [true, 1]);
  assert.deepEqual([(await c.state()).first_seq, (await c.state()).last_seq], [7, 6]);
  assert.equal((await c.purge()).purged, 0);
  assert.equal((await c.purge({ seq: 100 })).success, true);
  assert.deepEqual([(await c.state()).first_seq, (await c.state()).last_seq], [100, 99]);
});

check("keep counts over all subjects of a filter", async (c) => {
  await c.create();
  await fill(c, "x.a=1", "x.b=2", "x.a=3", "y=4");
  assert.equal((await c.purge({ filter: c.subject("x.*"), keep: 1 })).purged, 2);
  assert.deepEqual(await content(c), ["3 x.a=3", "4 y=4"]);
});

check("delete: what is there, once", async (c) => {
  await c.create();
  await fill(c, "a=1", "a=2", "a=3");
  assert.equal(await c.jsm.streams.deleteMessage(c.id, 2), true);
  assert.deepEqual((await c.remove(2)).error, { code: 400, err_code: 10043, description: "sequence 2 not found" });
  assert.deepEqual((await c.remove(9)).error, { code: 500, err_code: 10057, description: "stream store EOF" });
  assert.equal((await c.remove(3, { no_erase: true })).success, true);
  assert.deepEqual(await content(c), ["1 a=1"]);
  assert.equal(await c.pub("a", "4"), 4);
  assert.deepEqual((await c.state({ deleted_details: true })).deleted, [2, 3]);
});

// --- subject_transform ------------------------------------------------------------------------------------------

// stream subjects are <prefix>.>; src and dest follow the prefix.
const transforms = [
  ["in.*", "out.$1", "in.x", "out.x"],
  ["in.*", "out.{{wildcard(1)}}", "in.x", "out.x"],
  ["in.*.*", "out.{{wildcard(2)}}.{{wildcard(1)}}", "in.x.y", "out.y.x"],
  ["in.*.*", "out.$2.$1", "in.x.y", "out.y.x"],
  ["in.>", "out.>", "in.x.y.z", "out.x.y.z"],
  ["in.*", "out.{{partition(10,1)}}", "in.x", /^out\.\d$/],
  ["in.*.*", "out.{{partition(3,1,2)}}.{{wildcard(1)}}", "in.x.y", /^out\.[0-2]\.x$/],
  ["in.*", "out.{{split(1,-)}}", "in.a-b-c", "out.a.b.c"],
  ["in.*", "out.{{splitFromLeft(1,2)}}", "in.abcdef", "out.ab.cdef"],
  ["in.*", "out.{{splitFromRight(1,2)}}", "in.abcdef", "out.abcd.ef"],
  ["in.*", "out.{{sliceFromLeft(1,2)}}", "in.abcde", "out.ab.cd.e"],
  ["in.*", "out.{{sliceFromRight(1,2)}}", "in.abcde", "out.a.bc.de"],
  ["in.*", "out.{{left(1,2)}}", "in.abcde", "out.ab"],
  ["in.*", "out.{{right(1,2)}}", "in.abcde", "out.de"],
  ["in.*", "out.{{random(1)}}", "in.x", "out.0"],
  ["in.*", "out.$1", "other.x", "other.x"],
];
check(`subject_transform: ${transforms.length} mappings`, async (c) => {
  await Promise.all(transforms.map(async ([src, dest, from, to]) => {
    const one = c.another();
    await one.create({ subject_transform: { src: one.subject(src), dest: one.subject(dest) } });
    const m = await one.get(await one.pub(from, "x"));
    const stored = m.subject.slice(one.prefix.length + 1);
    if (to instanceof RegExp) assert.match(stored, to);
    else assert.equal(stored, to, `${src} to ${dest}`);
  }));
});

check("subject_transform: a partition depends on the subject alone", async (c) => {
  await c.create({ subject_transform: { src: c.subject("in.*"), dest: c.subject("out.{{partition(100,1)}}.$1") } });
  const seen = new Set();
  for (const k of ["a", "b", "c", "d", "a"]) seen.add((await c.get(await c.pub(`in.${k}`, "x"))).subject);
  assert.equal(seen.size, 4);
  // The numbers are nats-server's (FNV-1a of the token).
  assert.deepEqual([...seen], ["20.a", "77.b", "58.c", "63.d"].map((x) => c.subject(`out.${x}`)));
});

check("subject_transform: limits and expectations look at the new subject; the destination may be anywhere", async (c) => {
  await c.create({ subject_transform: { src: c.subject("in.*"), dest: `elsewhere.${c.prefix}` }, max_msgs_per_subject: 1 });
  await c.pub("in.a", "1");
  const two = await c.pub("in.b", "2");
  assert.equal((await c.state()).messages, 1);
  await c.refused("in.c", [400, 10071, `wrong last sequence: ${two}`], "x", { "Nats-Expected-Last-Subject-Sequence": 0 });
  assert.deepEqual((await c.state({ subjects_filter: ">" })).subjects, { [`elsewhere.${c.prefix}`]: 1 });
});

check("subject_transform: refused when it makes no sense", async (c) => {
  await c.refusedConfig({ subject_transform: { src: "a..b", dest: "x" } }, [400, 10155, "stream transform source: invalid subject a..b"]);
  await c.refusedConfig({ subject_transform: { src: c.subject("*"), dest: "x.{{wildcard(2)}}" } },
    [400, 10156, "stream transform: invalid mapping destination: wildcard index out of range in {{wildcard(2)}}: [2]"]);
});

// --- republish -----------------------------------------------------------------------------------------------------

check("republish: the message with its place in the stream", async (c) => {
  await c.create({ republish: { src: c.subject("a.>"), dest: `rep.${c.id}.>` } });
  const got = collect(c.nc, `rep.${c.id}.>`);
  await c.nc.flush();
  await c.pub("b.x", "no");
  const one = await c.pub("a.x", "1", ["Own: header"]);
  const two = await c.pub("a.x", "2");
  await until("both", () => got.length === 2);
  const time = (await c.get(one)).time;
  assert.equal(got[0].subject, `rep.${c.id}.x`);
  assert.deepEqual([...got[0].headers].map(([k, v]) => `${k}: ${v}`), ["Own: header", `Nats-Stream: ${c.id}`, `Nats-Subject: ${c.subject("a.x")}`,
    `Nats-Sequence: ${one}`, `Nats-Time-Stamp: ${time}`, "Nats-Last-Sequence: 0"]);
  assert.deepEqual(got.texts(), ["1", "2"]);
  assert.equal(got[1].headers.get("Nats-Last-Sequence"), String(one));
  assert.equal(got[1].headers.get("Nats-Sequence"), String(two));
  assert.equal(got[1].reply, "");
});

check("republish: headers_only says the size instead", async (c) => {
  await c.create({ republish: { src: ">", dest: `rep.${c.id}.>`, headers_only: true } });
  const got = collect(c.nc, `rep.${c.id}.>`);
  await c.nc.flush();
  await c.pub("a", "12345", ["Own: header"]);
  await c.pub("a", "");
  await until("both", () => got.length === 2);
  assert.deepEqual(got.map((m) => [m.data.length, m.headers.get("Nats-Msg-Size"), m.headers.get("Own")]), [[0, "5", "header"], [0, "0", ""]]);
  assert.equal(got[0].subject, `rep.${c.id}.${c.subject("a")}`);
});

check("republish: in raw bytes", async (c) => {
  await c.create({ republish: { src: c.subject("*"), dest: `rep.${c.id}.$1` } });
  const r = await (await c.t.raw(c.s)).connect({ headers: true });
  r.send(`SUB rep.${c.id}.> 7`);
  await r.ping();
  await c.pub("k", "v");
  const m = await r.expect(new RegExp(`HMSG rep\\.${c.id}\\.k 7 (\\d+) (\\d+)\r\n(NATS/1\\.0\r\n[^]*?\r\n\r\n)v\r\n`));
  const time = (await c.get(1)).time;
  assert.equal(m[3], block(`Nats-Stream: ${c.id}`, `Nats-Subject: ${c.subject("k")}`, "Nats-Sequence: 1", `Nats-Time-Stamp: ${time}`, "Nats-Last-Sequence: 0"));
  assert.deepEqual([Number(m[1]), Number(m[2])], [m[3].length, m[3].length + 1]);
});

check("republish: refused messages and duplicates are not repeated", async (c) => {
  await c.create({ republish: { src: ">", dest: `rep.${c.id}.>` } });
  const got = collect(c.nc, `rep.${c.id}.>`);
  await c.nc.flush();
  await c.ack("a", "x", { "Nats-TTL": "bad" });
  await c.pub("a", "1", { "Nats-Msg-Id": "i" });
  await c.pub("a", "2", { "Nats-Msg-Id": "i" });
  await c.pub("a", "3");
  await until("the last", () => got.texts().includes("3"));
  assert.deepEqual(got.texts(), ["1", "3"]);
});

check("republish: a circle is refused", async (c) => {
  await c.refusedConfig({ republish: { src: ">", dest: `${c.prefix}.again.>` } }, BAD_CONFIG("stream configuration for republish destination forms a cycle"));
});

// --- no_ack, dedup ----------------------------------------------------------------------------------------------------

check("no_ack: stored in silence, with TTLs and markers", async (c) => {
  await c.create({ no_ack: true, subject_delete_marker_ttl: SECOND, max_msgs_per_subject: 1 });
  const h = headers();
  h.set("Nats-TTL", "1");
  c.nc.publish(c.subject("a"), "x", { headers: h });
  await c.marker("a");
});

check("dedup: within the window the first sequence is told, nothing is stored", async (c) => {
  await c.create();
  const one = await c.js.publish(c.subject("a"), "x", { msgID: "i" });
  assert.deepEqual([one.seq, one.duplicate], [1, false]);
  const two = await c.js.publish(c.subject("b"), "other", { msgID: "i" });
  assert.deepEqual([two.seq, two.duplicate], [1, true]);
  assert.equal((await c.state()).last_seq, 1);
});

check("dedup: after the window the id is new again", async (c) => {
  await c.create({ duplicate_window: 100_000_000 });
  await c.pub("a", "x", { "Nats-Msg-Id": "i" });
  await until("the id to be forgotten", async () => !(await c.ack("a", "x", { "Nats-Msg-Id": "i" })).duplicate);
  assert.equal((await c.state()).messages, 2);
});

check("dedup: ids outlive their messages: deleted, purged, expired, replaced", async (c) => {
  await c.create({ allow_msg_ttl: true, max_msgs_per_subject: 1 });
  const id = (i) => ({ "Nats-Msg-Id": i });
  await c.pub("a", "x", id("deleted"));
  await c.remove(1);
  await c.pub("b", "x", id("purged"));
  await c.purge();
  await c.pub("c", "x", id("replaced"));
  await c.pub("c", "y");
  const seq = await c.pub("d", "x", { "Nats-TTL": "1", ...id("expired") });
  await c.gone(seq);
  for (const i of ["deleted", "purged", "replaced", "expired"]) assert.equal((await c.ack("z", "x", id(i))).duplicate, true, i);
});

check("dedup: refused messages leave no id behind", async (c) => {
  await c.create();
  await c.ack("a", "x", { "Nats-Msg-Id": "i", "Nats-TTL": "bad" });
  assert.equal((await c.ack("a", "x", { "Nats-Msg-Id": "i" })).duplicate, undefined);
});

check("dedup: the window is two minutes, or max_age if that is less; it can be changed", async (c) => {
  assert.equal((await c.create()).config.duplicate_window, 120 * SECOND);
  await c.pub("a", "x", { "Nats-Msg-Id": "i" });
  assert.equal((await c.update({ duplicate_window: 100_000_000 })).config.duplicate_window, 100_000_000);
  await until("the id to be forgotten", async () => !(await c.ack("a", "x", { "Nats-Msg-Id": "i" })).duplicate);
  const two = c.another();
  assert.equal((await two.create({ max_age: 60 * SECOND })).config.duplicate_window, 60 * SECOND);
  const three = c.another();
  await three.refusedConfig({ max_age: SECOND, duplicate_window: 2 * SECOND }, BAD_CONFIG("duplicates window can not be larger then max age"));
  await three.refusedConfig({ duplicate_window: 99_000_000 }, BAD_CONFIG("duplicates window needs to be >= 100ms"));
});

check("compression: what is read is what was written", async (c) => {
  await c.create({ compression: "s2", allow_msg_ttl: true });
  const text = "abc".repeat(1000);
  await c.pub("a", text, ["H: v"]);
  const m = await c.get(1);
  assert.deepEqual([m.data, m.hdr], [text, block("H: v")]);
  // Mayfly counts what it has stored, nats-server what it would have stored.
  const plain = 30 + c.subject("a").length + 4 + m.hdr.length + text.length;
  const { bytes } = await c.state();
  if (isMayfly) assert.ok(bytes > 30 && bytes < plain / 4, `${bytes} of ${plain}`);
  else assert.equal(bytes, plain);
});
