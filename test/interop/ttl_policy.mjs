// ttl_policy.mjs: who decides how long a message lives when its writer does not say: the server's block,
// namespaces, patterns, bounds, and unchanged clients.  Names of scenarios begin with the requirements they show.
import assert from "node:assert/strict";
import { Kvm } from "@nats-io/kv";
import { Objm } from "@nats-io/obj";
import { headers } from "@nats-io/transport-node";
import { group, jetstreamBlock, onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { NEVER_DENIED, life, lives, policy, span, told } from "./lib/ttl.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const DAY = 86400;
const ours = { only: "mayfly" };
const plain = group();
const MINE = `ttl { default: "30d", patterns { p: "40s" }, namespaces: [ { stream: "NS*", storage: memory, default: "15m" } ] }\n`;
const governed = group({ config: MINE });
const bucket = (c, options = {}, name = c.id) => new Kvm(c.js).create(name, { timeout: LIMIT_MS, ...options });

// --- the server's default --------------------------------------------------------------------------

governed("R000_07_R000_23_R000_86_a_stream_that_says_nothing_gets_the_default_of_the_server", ours, async (c) => {
  await c.create();
  await c.pub("a", "x");
  const r = await lives(c, "a", 30 * DAY, "server");
  assert.equal(r.ttl, "720h0m0s");
  assert.equal((await c.last("a")).hdr, "", "no header is added");
});

governed("a stream with max_age is left alone by the default of the server", ours, async (c) => {
  await c.create({ max_age: 3600e9 });
  await c.pub("a", "x");
  await lives(c, "a", 3600, "max_age");
});

governed("R000_16_a_work_queue_needs_no_ttl", ours, async (c) => {
  await c.create({ retention: "workqueue" });
  await c.pub("a", "x");
  await lives(c, "a", "none");
  const interest = c.another();
  await interest.create({ retention: "interest" });
  await interest.api(`CONSUMER.CREATE.${interest.id}.d`, { stream_name: interest.id, config: { name: "d", durable_name: "d", ack_policy: "explicit" } });
  await interest.pub("a", "x");
  await lives(interest, "a", "none");
});

governed("R000_17_a_bucket_is_known_by_its_name_and_lives_30_days", ours, async (c) => {
  const kv = await bucket(c);
  await kv.put("k", "v");
  await lives(c, `$KV.${c.id}.k`, 30 * DAY, "server", `KV_${c.id}`);
});

governed("R000_21_no_chunk_of_an_object_ends_before_its_meta", ours, async (c) => {
  const os = await new Objm(c.js).create(c.id);
  await os.put({ name: "o", options: { max_chunk_size: 100 } }, new Blob([Buffer.alloc(300, "x")]).stream());
  const stream = `OBJ_${c.id}`;
  const info = await c.api(`STREAM.INFO.${stream}`, { subjects_filter: ">" });
  assert.equal(info.state.messages, 4);
  const all = [];
  for (let seq = 1; seq <= 4; seq++) all.push((await c.nc.request(`$MAYFLY.TTL.GET.${stream}`, JSON.stringify({ seq }), { timeout: LIMIT_MS })).json());
  const meta = all.find((r) => r.subject.startsWith(`$O.${c.id}.M.`));
  assert.equal(span(meta), 90 * DAY);
  for (const r of all) assert.ok(Date.parse(r.expires) >= Date.parse(meta.expires), JSON.stringify(r));
});

governed("R000_10_a_default_may_depend_on_the_storage", ours, async (c) => {
  for (const [storage, seconds] of [["memory", 900], ["file", 30 * DAY]]) {
    const name = `NS_${c.id}_${storage}`;
    const r = await c.api(`STREAM.CREATE.${name}`, { name, subjects: [`${c.prefix}.${storage}.>`], storage });
    assert.equal(r.error, undefined, JSON.stringify(r.error));
    await c.pub(`${storage}.a`, "x");
    await lives(c, `${storage}.a`, seconds, storage === "memory" ? "default" : "server", name);
  }
});

scenario("R000_01_a_default_of_the_server_ends_data_and_gives_the_disk_back", ours, async (t) => {
  const s = await t.server({ config: `${jetstreamBlock()}ttl { default: "2s" }\n`, monitor: true });
  const c = (await onServer(t, s)).stream("S");
  await c.create();
  const disk = async () => Number(/^mayfly_stream_disk_bytes\{[^}]*\} (\d+)/m.exec((await s.page("/metrics")).text)[1]);
  await Promise.all(Array.from({ length: 10000 }, (_, i) => c.js.publish(c.subject("a"), Buffer.alloc(1000, i))));
  const st = await c.empty();
  assert.equal(st.last_seq, 10000);
  await until("the disk", async () => (await disk()) < 10e6);
});

// --- patterns --------------------------------------------------------------------------------------

for (const [name, pattern, want] of [
  ["R000_11_R000_14_cache_lives_15_minutes", "cache", 900],
  ["R000_11_R000_15_session_lives_24_hours", "session", DAY],
  ["R000_16_pubsub_has_no_ttl", "pubsub", "none"],
  ["R000_17_keyvalue_lives_30_days", "keyvalue", 30 * DAY],
  ["R000_18_timeseries_lives_90_days", "timeseries", 90 * DAY],
  ["R000_19_graph_has_no_end", "graph", "infinite"],
  ["R000_20_vector_lives_90_days", "vector", 90 * DAY],
  ["R000_21_object_lives_90_days", "object", 90 * DAY],
])
  plain(name, ours, async (c) => {
    await c.create(policy({ pattern }));
    await c.pub("a", "x");
    await lives(c, "a", want, `pattern:${pattern}`);
  });

// --- precedence ------------------------------------------------------------------------------------

scenario("R000_22_client_before_rule_before_stream_before_pattern_before_server", ours, async (t) => {
  const { stream } = await ownServer(t, { config: `ttl { default: "50s", patterns { p: "40s" } }\n` });
  const c = stream("S");
  const keys = { rules: [{ subject: "s.>", ttl: "20s" }], default: "30s", pattern: "p" };
  await c.create({ ...policy(keys), allow_msg_ttl: true });
  await c.pub("a", "x", { "Nats-TTL": "10s" });
  await lives(c, "a", 10, "client");
  for (const [left, want, by] of [[keys, 20, "rule:1"], [{ default: "30s", pattern: "p" }, 30, "default"], [{ pattern: "p" }, 40, "pattern:p"], [{}, 50, "server"]]) {
    await c.update({ ...policy(left), allow_msg_ttl: true });
    await c.pub("a", "x");
    await lives(c, "a", want, by);
  }
});

plain("R000_09_the_writer_comes_before_the_default", ours, async (c) => {
  await c.create({ ...policy({ default: "24h" }), allow_msg_ttl: true });
  await c.pub("a", "x", { "Nats-TTL": "60" });
  await lives(c, "a", 60, "client");
});

plain("R000_33_client_else_namespace_else_pattern", ours, async (c) => {
  await c.create({ ...policy({ default: "24h", pattern: "cache" }), allow_msg_ttl: true });
  await c.pub("a", "x", { "Nats-TTL": "3600" });
  await lives(c, "a", 3600, "client");
  await c.pub("a", "x");
  await lives(c, "a", DAY, "default");
  await c.update({ ...policy({ pattern: "cache" }), allow_msg_ttl: true });
  await c.pub("a", "x");
  await lives(c, "a", 900, "pattern:cache");
});

plain("R000_24_R000_62_a_request_has_a_field_for_its_ttl", ours, async (c) => {
  await c.create({ allow_msg_ttl: true });
  await c.pub("a", "x", { "Nats-TTL": "3600" });
  await lives(c, "a", 3600);
});

plain("R000_27_a_default_may_be_plain_seconds", ours, async (c) => {
  await c.create(policy({ default: "86400" }));
  await c.pub("a", "x");
  assert.equal((await lives(c, "a", DAY, "default")).ttl, "24h0m0s");
});

plain("the policy decides alone where clients may not use the header", ours, async (c) => {
  await c.create(policy({ default: "24h" }));
  await c.pub("a", "x");
  await lives(c, "a", DAY, "default");
  await c.refused("a", [400, 10166, "per-message TTL is disabled"], "x", { "Nats-TTL": "60" });
});

plain("a message ends when the default says, and not before", ours, async (c) => {
  await c.create(policy({ default: "1s" }));
  const { seq, end } = await told(c, "a", "x", "1s", "default");
  await c.gone(seq);
  assert.ok(Date.now() >= end);
  assert.equal((await c.direct("a")).status, 404);
  assert.equal((await c.empty()).last_seq, seq);
});

// --- never -----------------------------------------------------------------------------------------

plain("R000_28_R000_82_R003_23_never_is_refused_in_a_governed_stream_unless_allowed", ours, async (c) => {
  await c.create({ ...policy({ default: "24h" }), allow_msg_ttl: true });
  await c.refused("a", NEVER_DENIED, "x", { "Nats-TTL": "never" });
  assert.equal((await c.state()).messages, 0);
  await c.update({ ...policy({ default: "24h", never: "allow" }), allow_msg_ttl: true });
  await c.pub("a", "x", { "Nats-TTL": "never" });
  await lives(c, "a", "infinite", "client");
});

plain("R000_25_a_request_may_ask_for_no_expiration", ours, async (c) => {
  await c.create({ ...policy({ default: "24h", never: "allow" }), allow_msg_ttl: true, max_age: 3600e9 });
  await c.pub("a", "x", { "Nats-TTL": "never" });
  await lives(c, "a", "infinite");
});

plain("R000_57_a_refused_never_reaches_the_caller_of_a_stock_client", ours, async (c) => {
  await c.create({ ...policy({ default: "24h" }), allow_msg_ttl: true });
  await assert.rejects(c.js.publish(c.subject("a"), "x", { ttl: "never" }), (e) => e.code === 10165 && /never is not allowed here/.test(e.message));
});

// --- bounds ----------------------------------------------------------------------------------------

plain("a ttl above the maximum is clamped, and the writer is told", ours, async (c) => {
  await c.create({ ...policy({ default: "1h", max: "24h", min: "1m" }), allow_msg_ttl: true });
  const a = await c.ack("a", "x", { "Nats-TTL": "48h" });
  assert.deepEqual([a.error, a.ttl], [undefined, "24h0m0s"]);
  await lives(c, "a", DAY);
  assert.match((await c.last("a")).hdr, /\r\nNats-TTL: 86400\r\n/);
  assert.equal((await c.ack("b", "x", { "Nats-TTL": "5" })).ttl, "1m0s");
  await lives(c, "b", 60);
  assert.equal((await c.ack("c", "x", { "Nats-TTL": "2h" })).ttl, undefined, "within its bounds: an ack as ever");
});

plain("a ttl outside its bounds is refused where the owner wants it so", ours, async (c) => {
  await c.create({ ...policy({ default: "1h", max: "24h", min: "1m", bounds: "reject" }), allow_msg_ttl: true });
  await c.refused("a", [400, 10165, "invalid per-message TTL: 48h0m0s is above the maximum of 24h0m0s"], "x", { "Nats-TTL": "48h" });
  await c.refused("a", [400, 10165, "invalid per-message TTL: 5s is below the minimum of 1m0s"], "x", { "Nats-TTL": "5" });
  assert.equal((await c.state()).messages, 0);
});

plain("a maximum alone is the ttl of a message whose writer says nothing", ours, async (c) => {
  await c.create(policy({ max: "24h" }));
  await c.pub("a", "x");
  await lives(c, "a", DAY, "max");
});

// --- audit -----------------------------------------------------------------------------------------

scenario("R000_81_one_stream_is_enforced_while_another_is_audited", ours, async (t) => {
  const { stream } = await ownServer(t, { config: `ttl { default: "1h", namespaces: [ { stream: "A*", enforce: on }, { enforce: audit } ] }\n` });
  const [a, b] = [stream("A1"), stream("B1")];
  for (const c of [a, b]) {
    await c.create({ allow_msg_ttl: true });
    await c.pub("x", "x");
  }
  await lives(a, "x", 3600, "server");
  await a.refused("x", NEVER_DENIED, "x", { "Nats-TTL": "never" });
  assert.equal((await life(b, "x")).state, "none");
  await b.pub("x", "x", { "Nats-TTL": "never" });
  assert.equal((await life(b, "x")).state, "infinite");
});

plain("enforce off is plain JetStream", ours, async (c) => {
  await c.create({ ...policy({ default: "1h", max: "2h", enforce: "off" }), allow_msg_ttl: true });
  await c.pub("a", "x");
  assert.equal((await life(c, "a")).state, "none");
  await c.pub("a", "x", { "Nats-TTL": "5h" });
  assert.equal(span(await life(c, "a")), 18000);
});

// --- the example of the requirement: three namespaces -----------------------------------------------

const NAMESPACES = `accounts { APP { jetstream: enabled, users: [ { user: u, password: p } ] } }
ttl {
    default: "30d", warn: "1h", max: "365d"
    namespaces: [
        { account: APP, stream: "KV_user-sessions", pattern: cache, default: 86400, never: deny }
        { account: APP, stream: "analytics-*", storage: file, pattern: timeseries, warn: "24h" }
        { stream: "permanent-records", pattern: keyvalue, never: allow }
        { stream: "*", enforce: audit }
    ]
}
`;

scenario("R000_26_R000_30_R000_31_R000_32_three_namespaces_in_the_configuration_of_the_server", ours, async (t) => {
  const s = await t.server({ config: NAMESPACES + jetstreamBlock() });
  const { stream, jsm } = await onServer(t, s, { user: "u", pass: "p" });
  const c = stream("X");
  const send = async (name, header, want) => {
    await jsm.streams.add({ name, subjects: [`in.${name}.>`], allow_msg_ttl: true }).catch((e) => assert.equal(e.code, 10058));
    const h = headers();
    if (header !== undefined) h.set("Nats-TTL", header);
    const a = (await c.nc.request(`in.${name}.a`, "x", { timeout: LIMIT_MS, headers: h })).json();
    if (want === "refused") return assert.deepEqual([a.error?.err_code, a.error?.description], NEVER_DENIED.slice(1));
    assert.equal(a.error, undefined, JSON.stringify(a.error));
    const r = (await c.nc.request(`$MAYFLY.TTL.GET.${name}.in.${name}.a`, "", { timeout: LIMIT_MS })).json();
    return assert.equal(span(r) ?? r.state, want, JSON.stringify(r));
  };
  await send("KV_user-sessions", "3600", 3600);
  await send("KV_user-sessions", undefined, DAY); // not the 15 minutes of cache
  await send("KV_user-sessions", "never", "refused");
  await send("permanent-records", "3600", 3600);
  await send("permanent-records", undefined, 30 * DAY);
  await send("permanent-records", "never", "infinite");
  await send("analytics-events", undefined, 90 * DAY);
  await send("analytics-events", "never", "refused");
  await send("other", undefined, "none"); // audited only
});

scenario("R000_63_a_reload_gives_a_namespace_another_default", ours, async (t) => {
  const config = (ttl) => `${jetstreamBlock()}ttl { namespaces: [ { stream: S, default: "${ttl}" } ] }\n`;
  const s = await t.server({ config: config("24h") });
  const c = (await onServer(t, s)).stream("S");
  await c.create();
  await c.pub("old", "x");
  await lives(c, "old", DAY, "default");
  s.reload(config("12h"));
  await s.logged(/Reloaded server configuration/);
  await c.pub("new", "x");
  await lives(c, "new", DAY / 2, "default");
  assert.equal(span(await life(c, "old")), DAY, "stored messages keep their deadline");
});

scenario("a reload that denies never holds for streams that give it, at once", ours, async (t) => {
  const config = (ttl) => `${jetstreamBlock()}ttl { ${ttl} }\n`;
  const s = await t.server({ config: config('warn: "1h"') });
  const nc = await onServer(t, s);
  const [c, d] = [nc.stream("S"), nc.stream("T")];
  await c.create(policy({ default: "never" }));
  await d.create(policy({ rules: JSON.stringify([{ id: "all", ttl: "never" }]), pattern: "cache" }));
  await c.pub("old", "x");
  assert.equal((await life(c, "old")).state, "infinite");
  s.reload(config('max: "24h", never: deny'));
  await s.logged(/Reloaded server configuration/);
  for (const x of [c, d]) {
    await x.pub("new", "x");
    await lives(x, "new", DAY, "max");
    const p = (await x.nc.request(`$MAYFLY.TTL.POLICY.${x.id}`, "", { timeout: LIMIT_MS })).json();
    assert.ok(p.notes.some((n) => /not in force: the server denies/.test(n)), JSON.stringify(p));
  }
  assert.equal((await life(c, "old")).state, "infinite", "stored messages keep their deadline");
  s.reload(config("never: deny"));
  await until("the second reload", async () => (await life(d, "new")).decided_by === "pattern:cache");
  await d.pub("next", "x");
  await lives(d, "next", 900, "pattern:cache");
  await c.pub("next", "x");
  assert.equal((await life(c, "next")).state, "none");
});

// --- unchanged clients -----------------------------------------------------------------------------

plain("R000_06_R000_56_R003_26_a_stock_put_without_ttl_gets_one", ours, async (c) => {
  const kv = await bucket(c, policy({ default: "24h" }));
  await kv.put("k", "v");
  assert.equal((await lives(c, `$KV.${c.id}.k`, DAY, "default", `KV_${c.id}`)).state, "ttl");
});

plain("R000_55_a_stock_client_sends_its_own_ttl", ours, async (c) => {
  const kv = await bucket(c, { ...policy({ default: "24h" }), markerTTL: 1000 });
  await kv.create("k", "v", "3600s");
  await lives(c, `$KV.${c.id}.k`, 3600, "client", `KV_${c.id}`);
});

scenario("R000_64_the_deadline_is_the_same_after_kill_9", ours, async (t) => {
  const { s, stream } = await ownServer(t);
  const c = stream("S");
  await c.create(policy({ default: "24h" }));
  await c.pub("a", "x");
  const before = await life(c, "a");
  await s.kill();
  await s.startAgain();
  const again = (await onServer(t, s)).stream("S");
  const after = await life(again, "a");
  assert.deepEqual([after.expires, after.time, after.state], [before.expires, before.time, "ttl"]);
});

// --- drafts ----------------------------------------------------------------------------------------

const draft = (c, key) => [`$KV.${c.id}.${key}`, `KV_${c.id}`];

plain("R003_05_R003_06_R003_14_R003_18_a_draft_lives_24_hours_from_its_write_by_one_key", ours, async (c) => {
  const kv = await bucket(c, policy({ default: "86400" }));
  await kv.put("d", "one");
  const [subject, stream] = draft(c, "d");
  const first = await lives(c, subject, DAY, "default", stream);
  await kv.put("d", "two");
  const second = await lives(c, subject, DAY, "default", stream);
  assert.ok(Date.parse(second.expires) >= Date.parse(first.expires) && second.seq > first.seq);
});

plain("R003_01_a_draft_of_500_KB", ours, async (c) => {
  const kv = await bucket(c, policy({ default: "24h" }));
  const value = Buffer.alloc(500 * 1024, "draft");
  await kv.put("d", value);
  assert.deepEqual(Buffer.from((await kv.get("d")).value), value);
});

plain("R003_07_R003_13_an_update_starts_anew", ours, async (c) => {
  const kv = await bucket(c, { ...policy({ default: "24h" }), history: 5 });
  const [subject, stream] = draft(c, "d");
  let last = 0;
  for (let i = 0; i < 36; i++) {
    await kv.put("d", `edit ${i}`);
    const r = await lives(c, subject, DAY, "default", stream);
    assert.ok(Date.parse(r.expires) >= last && r.seq === i + 1);
    last = Date.parse(r.expires);
  }
});

// The older value would live for an hour by itself.
plain("R003_07_no_older_value_comes_back_when_the_newest_ends", ours, async (c) => {
  const kv = await bucket(c, { ...policy({ default: "2s" }), history: 5, markerTTL: 1000 });
  const [subject, stream] = draft(c, "d");
  await kv.create("d", "one", "1h");
  await lives(c, subject, 3600, "client", stream);
  const rev = await kv.put("d", "two");
  const seen = new Set();
  await until("its end", async () => {
    const e = await kv.get("d");
    seen.add(e?.string());
    return e === null || e.revision > rev;
  });
  await until("its marker's end", async () => (await c.api(`STREAM.INFO.${stream}`)).state.messages === 0);
  assert.equal(await kv.get("d"), null);
  assert.ok(!seen.has("one"), [...seen].join());
});

plain("R003_08_R003_15_R003_28_a_published_draft_is_deleted_at_once_by_its_revision", ours, async (c) => {
  const kv = await bucket(c, policy({ default: "24h" }));
  const rev = await kv.put("d", "x".repeat(100000));
  await assert.rejects(kv.delete("d", { previousSeq: rev + 7 }), /wrong last sequence/);
  assert.equal((await kv.get("d")).length, 100000);
  await kv.delete("d", { previousSeq: rev });
  assert.equal((await kv.get("d")).operation, "DEL");
  const st = (await c.api(`STREAM.INFO.KV_${c.id}`)).state;
  assert.ok(st.bytes < 1000, JSON.stringify(st));
});

plain("R003_27_R004_16_a_conflict_changes_no_deadline", ours, async (c) => {
  const kv = await bucket(c, policy({ default: "24h" }));
  const rev = await kv.put("d", "one");
  const [subject, stream] = draft(c, "d");
  const before = await life(c, subject, stream);
  await assert.rejects(kv.update("d", "two", rev + 1), (e) => e.code === 10071);
  assert.deepEqual((await life(c, subject, stream)).expires, before.expires);
  await kv.update("d", "two", rev);
  assert.ok(Date.parse((await life(c, subject, stream)).expires) >= Date.parse(before.expires));
});
