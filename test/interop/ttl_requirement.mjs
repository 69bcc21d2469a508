// ttl_requirement.mjs: the requirement (ADR-43) sentence by sentence; the names of the scenarios are its words.
import assert from "node:assert/strict";
import { jetstreamManager } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { SECOND, at, block, group, markerBlock, onServer, ownServer } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { until } from "./lib/wait.mjs";

const check = group();
const BAD_CONFIG = (text) => [500, 10052, text];

// --- Context and motivation ------------------------------------------------------------------------

check("MaxAge causes any message in the Stream to expire at that age", async (c) => {
  await c.create({ max_age: SECOND });
  await c.pub("a", "1");
  await c.pub("b", "2", { X: "y" });
  const born = Date.now();
  await c.pub("a", "3");
  await c.empty();
  assert.ok(Date.now() - born >= 1000);
});

check("KV tombstones could have a TTL to make them expire once not useful anymore", async (c) => {
  const kv = { subjects: [`$KV.${c.id}.>`], max_msgs_per_subject: 1, deny_delete: true, allow_rollup_hdrs: true, discard: "new" };
  await c.create({ ...kv, allow_msg_ttl: true, subject_delete_marker_ttl: SECOND });
  const key = `$KV.${c.id}.key`;
  await c.js.publish(key, "value");
  const h = headers();
  h.set("KV-Operation", "PURGE");
  h.set("Nats-Rollup", "sub");
  const tomb = await c.js.publish(key, "", { headers: h, ttl: "1s" });
  const st = await c.empty();
  assert.equal(st.last_seq, tomb.seq, "a tombstone's end is no news: no marker");
});

check("Server-applied limits can result in tombstones so that consumers can be notified of limits being processed", async (c) => {
  await c.create({ subject_delete_marker_ttl: SECOND, max_msgs_per_subject: 1, republish: { src: ">", dest: `out.${c.id}.>` } });
  const got = collect(c.nc, `out.${c.id}.>`);
  await c.nc.flush();
  await c.js.publish(c.subject("a"), "x", { ttl: "1s" });
  await until("the news", () => got.find((m) => m.headers.get("Nats-Marker-Reason") === "MaxAge"));
  assert.equal(got.length, 2);
});

check("A stream may have a general MaxAge but some messages may have infinite retention", async (c) => {
  await c.create({ max_age: SECOND, allow_msg_ttl: true });
  const schema = await c.js.publish(c.subject("schema"), "int", { ttl: "never" });
  const value = await c.js.publish(c.subject("value"), "1");
  await c.gone(value.seq);
  assert.equal((await c.get(schema.seq)).data, "int");
});

// --- Per-Message TTL -------------------------------------------------------------------------------

check("a message supplies a TTL using a header called Nats-TTL followed by the duration as seconds", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const a = await c.js.publish(c.subject("a"), "x", { ttl: "1" });
  const b = await c.js.publish(c.subject("a"), "x", { ttl: "1000" });
  await c.gone(a.seq);
  assert.equal((await c.get(b.seq)).hdr, block("Nats-TTL: 1000"));
});

check("or as a Go duration string like 1h", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const hour = await c.js.publish(c.subject("a"), "x", { ttl: "1h" });
  const second = await c.js.publish(c.subject("a"), "x", { ttl: "0h0m1s" });
  await c.gone(second.seq);
  assert.ok(await c.get(hour.seq));
});

check("The deadline is based on the message's Stream timestamp and the stated duration", async (c) => {
  await c.create({ allow_msg_ttl: true });
  const seqs = [];
  const born = [];
  for (const ttl of ["2s", "1s", "1500ms", "3s"]) {
    born.push(Date.now());
    seqs.push((await c.js.publish(c.subject("a"), "x", { ttl })).seq);
  }
  const due = [2000, 1000, c.strict ? 1000 : 1500, 3000];
  await Promise.all(seqs.map(async (seq, i) => {
    await c.gone(seq);
    assert.ok(Date.now() - born[i] >= due[i], `${i} left early`);
  }));
});

check("Setting the header Nats-TTL to never will result in a message that will never be expired", async (c) => {
  await c.create({ allow_msg_ttl: true, max_age: SECOND });
  const kept = await c.js.publish(c.subject("a"), "x", { ttl: "never" });
  const lost = await c.js.publish(c.subject("b"), "x", { ttl: "1s" });
  await c.gone(lost.seq);
  assert.ok(await c.get(kept.seq));
});

check("A TTL of zero will be ignored", { strict: true }, async (c) => {
  await c.create({ allow_msg_ttl: true });
  const zero = c.js.publish(c.subject("a"), "x", { ttl: "0" });
  if (c.strict) return assert.rejects(zero, /invalid per-message TTL/); // 2.15.1 does not do as its document says
  const { seq } = await zero;
  await c.gone(await c.pub("b", "x", { "Nats-TTL": "1" }));
  assert.equal((await c.get(seq)).data, "x");
});

check("any other unparsable value will result in a error reported in the Pub Ack and the message being discarded", async (c) => {
  await c.create({ allow_msg_ttl: true });
  for (const ttl of ["tomorrow", "-1", "1d", "500ms", "1.5", "0x1"])
    await c.refused("a", [400, 10165, "invalid per-message TTL"], "x", { "Nats-TTL": ttl });
  await assert.rejects(c.js.publish(c.subject("a"), "x", { ttl: "soon" }), /invalid per-message TTL/);
  assert.equal((await c.state()).messages, 0);
  assert.equal((await c.js.publish(c.subject("a"), "x")).seq, 1);
});

check("When a message with the Nats-TTL header is published to a stream with the feature disabled the message will be rejected with an error", async (c) => {
  await c.create();
  for (const ttl of ["1", "1h", "never"])
    await c.refused("a", [400, 10166, "per-message TTL is disabled"], "x", { "Nats-TTL": ttl });
  await assert.rejects(c.js.publish(c.subject("a"), "x", { ttl: "1s" }), /per-message TTL is disabled/);
  assert.equal((await c.state()).last_seq, 0);
});

// --- Limit Markers ---------------------------------------------------------------------------------

check("when MaxAge removes the last message in the subject it would place a message with a TTL matching the Stream configuration value", async (c) => {
  await c.create({ max_age: SECOND, subject_delete_marker_ttl: SECOND });
  const seq = await c.pub("a", "x");
  const m = await c.marker("a");
  assert.equal(m.hdr, markerBlock("MaxAge", "1s"));
  assert.equal(m.data, "");
  assert.equal(m.seq, seq + 1);
  assert.equal(await c.get(seq), undefined);
  await c.gone(m.seq);
});

check("the message is the last in the subject: no marker while another one is there", async (c) => {
  await c.create({ subject_delete_marker_ttl: SECOND });
  const first = await c.pub("a", "x", { "Nats-TTL": "1" });
  const second = await c.pub("a", "y");
  await c.gone(first);
  const st = await c.state();
  assert.deepEqual([st.messages, st.last_seq], [1, second]);
});

check("This marker will also be placed for a message removed by the Nats-TTL timer", async (c) => {
  await c.create({ subject_delete_marker_ttl: SECOND });
  const { seq } = await c.js.publish(c.subject("a"), "x", { ttl: "1s" });
  const m = await c.marker("a");
  assert.equal(m.hdr, markerBlock("MaxAge", "1s"));
  assert.equal(m.seq, seq + 1);
});

check("This behaviour is off by default unless opted in on the SubjectDeleteMarkerTTL Stream Configuration", async (c) => {
  const { config } = await c.create({ allow_msg_ttl: true });
  assert.equal("subject_delete_marker_ttl" in config, false);
  const seq = await c.pub("a", "x", { "Nats-TTL": "1" });
  await c.empty();
  assert.equal((await c.state()).last_seq, seq);
});

// --- Delete and Purge API Call Markers ----------------------------------------------------------------

check("When someone calls the delete message API of a stream the server will place Nats-Marker-Reason: Remove", { strict: true }, async (c) => {
  await c.create({ subject_delete_marker_ttl: SECOND });
  const seq = await c.pub("a", "x");
  assert.ok(await c.jsm.streams.deleteMessage(c.id, seq));
  if (c.strict) return assert.equal((await c.state()).last_seq, seq); // "This feature will come later"
  const m = await c.last("a");
  assert.equal(m.hdr, markerBlock("Remove", "1s"));
  assert.deepEqual([m.seq, m.data], [seq + 1, ""]);
  await c.gone(m.seq);
  assert.equal((await c.state()).last_seq, m.seq);
});

check("When someone calls the purge subject API of a stream the server will place Nats-Marker-Reason: Purge", { strict: true }, async (c) => {
  await c.create({ subject_delete_marker_ttl: SECOND });
  for (const name of ["a", "b", "c"]) await c.pub(name, "x");
  const r = await c.jsm.streams.purge(c.id, { filter: c.subject("a") });
  assert.equal(r.purged, 1);
  if (c.strict) return assert.equal((await c.state()).last_seq, 3);
  const m = await c.last("a");
  assert.equal(m.hdr, markerBlock("Purge", "1s"));
  assert.deepEqual([m.seq, m.data], [4, ""]);
  await c.gone(m.seq);
  assert.deepEqual([(await c.state()).messages, (await c.state()).last_seq], [2, 4]);
});

// --- Sources and Mirrors -----------------------------------------------------------------------------
// mayflyd learns to copy streams later; until then these show only that the questions are right.
const copies = { only: "nats-server" };

for (const kind of ["Sources", "Mirrors"])
  check(`${kind} will always accept and store messages with Nats-TTL header present, even if AllowMsgTTL is disabled; the messages are just stored`, copies, async (c) => {
    const copy = c.another();
    await c.create({ allow_msg_ttl: true });
    await copy.create(kind === "Mirrors" ? { subjects: undefined, mirror: { name: c.id } } : { subjects: undefined, sources: [{ name: c.id }] });
    const seq = await c.pub("a", "x", { "Nats-TTL": "1" });
    await c.gone(seq);
    await until("the copy", async () => (await copy.state()).messages === 1);
    assert.match((await copy.get(1)).hdr, /\r\nNats-TTL: 1\r\n/);
  });

check("If the AllowMsgTTL setting is enabled then processing continues with messages removed after the TTL", copies, async (c) => {
  const [mirror, source] = [c.another(), c.another()];
  await c.create({ allow_msg_ttl: true });
  await mirror.create({ subjects: undefined, mirror: { name: c.id }, allow_msg_ttl: true });
  await source.create({ subjects: undefined, sources: [{ name: c.id }], allow_msg_ttl: true });
  await c.pub("a", "x", { "Nats-TTL": "1" });
  for (const copy of [mirror, source]) {
    await until("the copy", async () => (await copy.state()).last_seq === 1);
    await copy.empty();
  }
});

check("Sources may set the SubjectDeleteMarkerTTL option and processing of messages with the Nats-TTL will place tombstones", copies, async (c) => {
  const source = c.another();
  await c.create({ allow_msg_ttl: true });
  await source.create({ subjects: undefined, sources: [{ name: c.id }], subject_delete_marker_ttl: SECOND });
  await c.pub("a", "x", { "Nats-TTL": "1" });
  const m = await until("a tombstone", async () => {
    const last = await source.get({ last_by_subj: c.subject("a") });
    return last?.seq === 2 && last;
  });
  assert.equal(m.hdr, markerBlock("MaxAge", "1s"));
});

check("a Stream with this feature enabled can replicate to one with it disabled and all the messages that would have been TTLed will be retained", copies, async (c) => {
  const audit = c.another();
  await c.create({ subject_delete_marker_ttl: SECOND });
  await audit.create({ subjects: undefined, sources: [{ name: c.id }] });
  await c.pub("a", "x", { "Nats-TTL": "1" });
  await c.marker("a");
  await c.empty();
  await until("value and marker", async () => (await audit.state()).messages === 2);
});

check("Sources may set the SubjectDeleteMarkerTTL option: the configuration is accepted", async (c) => {
  await c.create({ subjects: undefined, sources: [{ name: "ELSEWHERE" }], subject_delete_marker_ttl: SECOND, allow_direct: false });
});

// --- Stream Configuration ------------------------------------------------------------------------------

check("Whether or not a stream supports this behavior is a configuration opt-in; clients definitely know", async (c) => {
  const { config } = await c.create();
  assert.equal(config.allow_msg_ttl, false);
  const on = c.another();
  const si = await c.jsm.streams.add({ name: on.id, subjects: [`${on.prefix}.>`], allow_msg_ttl: true });
  assert.equal(si.config.allow_msg_ttl, true);
  assert.equal((await c.jsm.streams.info(on.id)).config.allow_msg_ttl, true);
});

check("AllowMsgTTL is allow_msg_ttl, SubjectDeleteMarkerTTL is subject_delete_marker_ttl and left out when zero", async (c) => {
  const { config } = await c.create({ allow_msg_ttl: false, subject_delete_marker_ttl: 0 });
  assert.deepEqual([config.allow_msg_ttl, "subject_delete_marker_ttl" in config], [false, false]);
  const on = c.another();
  const r = await on.create({ allow_msg_ttl: true, subject_delete_marker_ttl: 90 * SECOND });
  assert.deepEqual([r.config.allow_msg_ttl, r.config.subject_delete_marker_ttl], [true, 90 * SECOND]);
});

check("Enables server markers for delete, purge and max age limits: enabling markers enables TTLs", async (c) => {
  const { config } = await c.create({ subject_delete_marker_ttl: SECOND });
  assert.equal(config.allow_msg_ttl, true);
  await c.js.publish(c.subject("a"), "x", { ttl: "1h" });
  const p = c.another();
  await p.refusedConfig({ subject_delete_marker_ttl: SECOND, allow_rollup_hdrs: true, pedantic: true },
    BAD_CONFIG("subject delete marker cannot be set if message TTLs are disabled"));
});

// --- Restrictions ------------------------------------------------------------------------------------------

check("The AllowMsgTTL field can be enabled on existing streams but not disabled", async (c) => {
  await c.create();
  await c.pub("a", "x");
  await c.refused("a", [400, 10166, "per-message TTL is disabled"], "x", { "Nats-TTL": "1" });
  assert.equal((await c.update({ allow_msg_ttl: true })).config.allow_msg_ttl, true);
  const seq = await c.pub("a", "x", { "Nats-TTL": "1" });
  await c.refusedConfig({ allow_msg_ttl: false }, BAD_CONFIG("message TTL status can not be disabled"), "UPDATE");
  assert.equal((await c.info()).config.allow_msg_ttl, true);
  await c.gone(seq);
});

check("The AllowMsgTTL and SubjectDeleteMarkerTTL has a minimum value of 1 second", async (c) => {
  for (const ns of [1, SECOND / 2, SECOND - 1])
    await c.refusedConfig({ subject_delete_marker_ttl: ns }, BAD_CONFIG("subject delete marker TTL must be at least 1 second"));
  await c.refusedConfig({ subject_delete_marker_ttl: -1 }, BAD_CONFIG("subject delete marker TTL must not be negative"));
  await c.create({ subject_delete_marker_ttl: SECOND });
  for (const ttl of ["1ns", "1ms", "999ms", "0.999s"])
    await c.refused("a", [400, 10165, "invalid per-message TTL"], "x", { "Nats-TTL": ttl });
  await c.pub("a", "x", { "Nats-TTL": "1s" });
});

check("The SubjectDeleteMarkerTTL setting may not be set on a Mirror Stream", async (c) => {
  const mirror = { subjects: undefined, mirror: { name: "ELSEWHERE" }, allow_direct: false, subject_delete_marker_ttl: SECOND };
  await c.refusedConfig(mirror, BAD_CONFIG("subject delete markers forbidden on mirrors"));
  await c.refusedConfig({ ...mirror, allow_msg_ttl: true, allow_rollup_hdrs: true, pedantic: true },
    BAD_CONFIG("subject delete markers forbidden on mirrors"));
});

check("When AllowMsgTTL or SubjectDeleteMarkerTTL are set the Stream should require API level 1", async (c) => {
  const levels = [[{}, "0"], [{ allow_msg_ttl: true }, "1"], [{ subject_delete_marker_ttl: SECOND }, "1"]];
  for (const [over, level] of levels) {
    const one = c.another();
    const { config } = await one.create(over);
    assert.equal(config.metadata["_nats.req.level"], level);
    assert.ok(Number(config.metadata["_nats.level"]) >= 1);
    assert.equal((await one.info()).config.metadata["_nats.req.level"], level);
  }
  await c.create();
  assert.equal((await c.update({ allow_msg_ttl: true })).config.metadata["_nats.req.level"], "1");
  assert.ok((await c.api("INFO")).api.level >= 1);
});

check("AllowRollup must be true, stream update and create should set this unless pedantic mode is enabled", async (c) => {
  const r = await c.create({ subject_delete_marker_ttl: SECOND, allow_rollup_hdrs: false });
  assert.equal(r.config.allow_rollup_hdrs, true);
  const p = c.another();
  const wanted = { allow_msg_ttl: true, subject_delete_marker_ttl: SECOND, pedantic: true };
  await p.refusedConfig(wanted, BAD_CONFIG("subject delete marker cannot be set if roll-ups are disabled"));
  await p.create({ ...wanted, allow_rollup_hdrs: true });
  const u = c.another();
  await u.create();
  await u.refusedConfig(wanted, BAD_CONFIG("subject delete marker cannot be set if roll-ups are disabled"), "UPDATE");
  assert.equal((await u.update({ subject_delete_marker_ttl: SECOND })).config.allow_rollup_hdrs, true);
});

check("DenyPurge must be false, stream update and create should set this unless pedantic mode is enabled", async (c) => {
  const r = await c.create({ subject_delete_marker_ttl: SECOND, deny_purge: true });
  assert.equal(r.config.deny_purge, false);
  const p = c.another();
  await p.refusedConfig({ allow_msg_ttl: true, subject_delete_marker_ttl: SECOND, deny_purge: true, allow_rollup_hdrs: true, pedantic: true },
    BAD_CONFIG("roll-ups require the purge permission"));
  await p.refusedConfig({ subject_delete_marker_ttl: SECOND, deny_purge: true, allow_rollup_hdrs: true },
    BAD_CONFIG("roll-ups require the purge permission"));
  const u = c.another();
  await u.create({ deny_purge: true });
  await u.refusedConfig({ subject_delete_marker_ttl: SECOND, deny_purge: true },
    BAD_CONFIG("stream configuration update can not cancel deny purge"), "UPDATE");
});

check("The server should treat SubjectDeleteMarkerTTL as the minimum for Nats-TTL but not reject messages that do not satisfy that", async (c) => {
  const long = c.another();
  await long.create({ subject_delete_marker_ttl: 60 * SECOND });
  const kept = await c.js.publish(long.subject("a"), "x", { ttl: "1s" });
  assert.equal((await long.get(kept.seq)).hdr, block("Nats-TTL: 60"));
  await c.create({ subject_delete_marker_ttl: 2 * SECOND });
  const born = Date.now();
  const { seq } = await c.js.publish(c.subject("a"), "x", { ttl: "1s" });
  await c.gone(seq);
  assert.ok(Date.now() - born >= 2000);
});

// --- all of it once more, after a restart -----------------------------------------------------------------

scenario("a stock client keeps its settings and its deadlines over a restart", async (t) => {
  const { s, jsm, stream } = await ownServer(t);
  const c = stream("KEPT");
  await jsm.streams.add({ name: "KEPT", subjects: ["kept.>"], allow_msg_ttl: true, subject_delete_marker_ttl: 60 * SECOND, max_msgs_per_subject: 1 });
  const born = Date.now();
  await c.js.publish("kept.a", "x", { ttl: "2s" });
  const never = await c.js.publish("kept.b", "x", { ttl: "never" });
  await c.nc.close();
  await s.restart();
  const again = (await onServer(t, s)).stream("KEPT");
  const m = await again.marker("a");
  assert.ok(at(m) >= born + 2000);
  assert.equal(m.hdr, markerBlock("MaxAge", "1m0s"));
  assert.ok(await again.get(never.seq));
  const { config } = (await (await jetstreamManager(again.nc)).streams.info("KEPT"));
  assert.deepEqual([config.allow_msg_ttl, config.subject_delete_marker_ttl], [true, 60 * SECOND]);
});
