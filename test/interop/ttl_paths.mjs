// ttl_paths.mjs: every way into a stream meets its policy: batches, duplicates, schedules, sources, mirrors,
// transforms, counters, kinds of storage; and the bounds that an operator sets.
import assert from "node:assert/strict";
import fs from "node:fs";
import { group, jetstreamBlock, onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { Server, runBinary } from "./lib/server.mjs";
import { BAD_POLICY, NEVER_DENIED, life, lives, policy, told } from "./lib/ttl.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const DAY = 86400;
const ours = { only: "mayfly" };
const check = group();
const governed = group({ config: `ttl { default: "30d" }\n` });
const operated = group({ config: `ttl { max: "24h", never: deny }\n` });

// --- time ------------------------------------------------------------------------------------------

// Server and test share a clock: an answer that came before the deadline has the value, one to a later question has not.
check("R000_04_R003_03_a_message_is_there_until_its_deadline_and_never_after", ours, async (c) => {
  await c.create(policy({ default: "1s" }));
  const { end } = await told(c, "a", "x", "1s", "default");
  for (let reads = 0, after = 0; after < 5; reads++) {
    const asked = Date.now();
    const r = await c.direct("a");
    const answered = Date.now();
    if (answered < end) assert.equal(r.data, "x", `read ${reads}, ${end - answered} ms before its end`);
    if (asked > end) assert.equal(r.status, 404, `read ${reads}, ${asked - end} ms after its end`);
    after += asked > end;
  }
});

check("R003_30_R003_31_the_time_left_is_positive_until_there_is_no_message", ours, async (c) => {
  await c.create(policy({ default: "1s" }));
  const ask = async () => (await c.nc.request(`$MAYFLY.TTL.GET.${c.id}.${c.subject("a")}`, "", { timeout: LIMIT_MS })).json();
  assert.deepEqual([(await ask()).error.code, (await ask()).error.err_code], [404, 10037], "absent");
  await c.pub("a", "x");
  const gone = await until("its end", async () => {
    const r = await ask();
    if (!r.error) assert.ok(r.left_ms >= 1 && r.left_ms <= 1000, JSON.stringify(r));
    return r.error;
  });
  assert.deepEqual([gone.code, gone.err_code], [404, 10037]);
});

// The server stamps a message before it is acknowledged, so none is alive that was acknowledged more than its TTL ago.
check("R000_74_at_a_steady_rate_the_storage_is_bounded", ours, async (c) => {
  await c.create(policy({ default: "1s" }));
  const acked = [];
  let most = 0;
  for (const from = Date.now(); Date.now() - from < 4000;) {
    await Promise.all(Array.from({ length: 20 }, (_, i) => c.js.publish(c.subject(`k${i}`), "x")));
    acked.push(...Array(20).fill(Date.now()));
    const asked = Date.now();
    const { messages } = await c.state();
    const lately = acked.filter((t) => t >= asked - 1000).length;
    assert.ok(messages <= lately, `${messages} alive, ${lately} acknowledged within a second`);
    most = Math.max(most, messages);
  }
  assert.ok(acked.length > most, `${acked.length} published, at most ${most} alive`);
  await c.empty();
});

for (const [name, over] of [
  ["R003_12_in_memory", { storage: "memory" }],
  ["R003_12_on_disk_acknowledged_at_once", { persist_mode: "async" }],
  ["R003_12_on_disk", {}],
])
  check(`${name}: a default gives a deadline and ends the message`, ours, async (c) => {
    await c.create({ ...policy({ default: "1s" }), ...over });
    const { seq } = await told(c, "a", "x", "1s", "default");
    await c.gone(seq);
    assert.equal((await c.empty()).last_seq, seq);
  });

// --- ways in ---------------------------------------------------------------------------------------

const member = (id, seq, commit, ...more) => [`Nats-Batch-Id: ${id}`, `Nats-Batch-Sequence: ${seq}`, ...(commit ? ["Nats-Batch-Commit: 1"] : []), ...more];

check("members of an atomic batch are resolved one by one", ours, async (c) => {
  await c.create({ ...policy({ default: "24h" }), allow_atomic: true, allow_msg_ttl: true });
  assert.equal(await c.send("a", "1", member("b", 1, false)), "");
  assert.equal(await c.send("b", "2", member("b", 2, false, "Nats-TTL: 60")), "");
  const a = await c.ack("c", "3", member("b", 3, true));
  assert.equal(a.error, undefined, JSON.stringify(a.error));
  await lives(c, "a", DAY, "default");
  await lives(c, "b", 60, "client");
  await lives(c, "c", DAY, "default");
});

check("one refused member refuses the whole batch", ours, async (c) => {
  await c.create({ ...policy({ default: "24h" }), allow_atomic: true, allow_msg_ttl: true });
  assert.equal(await c.send("a", "1", member("b", 1, false)), "");
  await c.send("b", "2", member("b", 2, false, "Nats-TTL: never"));
  const a = await c.ack("c", "3", member("b", 3, true));
  assert.deepEqual([a.error?.code, a.error?.err_code], NEVER_DENIED.slice(0, 2), JSON.stringify(a));
  assert.equal((await c.state()).messages, 0);
});

check("a duplicate is answered as one, whatever its ttl", ours, async (c) => {
  await c.create({ ...policy({ default: "24h" }), allow_msg_ttl: true });
  const seq = await c.pub("a", "x", { "Nats-Msg-Id": "1" });
  const a = await c.ack("a", "x", { "Nats-Msg-Id": "1", "Nats-TTL": "never" });
  assert.deepEqual([a.error, a.seq, a.duplicate], [undefined, seq, true]);
  await lives(c, "a", DAY);
});

check("a schedule's plan is exempt, its product is not", ours, async (c) => {
  await c.create({ ...policy({ default: "24h" }), allow_msg_schedules: true, allow_msg_ttl: true });
  const soon = new Date(Date.now() + 1500).toISOString();
  await c.pub("plan", "body", [`Nats-Schedule: @at ${soon}`, `Nats-Schedule-Target: ${c.subject("t")}`]);
  assert.equal((await life(c, "plan")).state, "none");
  await until("the product", () => c.last("t"));
  await lives(c, "t", DAY, "default");
});

check("a rule meets the subject behind the stream's transform", ours, async (c) => {
  await c.create({ ...policy({ rules: [{ subject: `${c.prefix}.new.*`, ttl: "2h" }] }), subject_transform: { src: `${c.prefix}.old.*`, dest: `${c.prefix}.new.{{wildcard(1)}}` } });
  await c.pub("old.a", "x");
  await lives(c, "new.a", 7200, "rule:1");
});

check("messages of a source are resolved, and clamped where a client would be refused", ours, async (c) => {
  const from = c.another();
  await from.create({ allow_msg_ttl: true });
  await from.pub("none", "x");
  await from.pub("long", "x", { "Nats-TTL": "48h" });
  await from.pub("never", "x", { "Nats-TTL": "never" });
  await c.create({ ...policy({ default: "1h", max: "24h", bounds: "reject" }), allow_msg_ttl: true, sources: [{ name: from.id }], subjects: [] });
  await until("the copies", async () => (await c.state()).messages === 3);
  const mine = { ...c, subject: (n) => from.subject(n) };
  await lives(mine, "none", 3600, "default", c.id);
  await lives(mine, "long", DAY, undefined, c.id);
  await lives(mine, "never", DAY, undefined, c.id);
});

check("a mirror has no policy of its own", ours, async (c) => {
  const from = c.another();
  await from.create({ allow_msg_ttl: true });
  await from.pub("a", "x");
  await from.pub("b", "x", { "Nats-TTL": "60" });
  await c.create({ ...policy({ default: "1h" }), allow_msg_ttl: true, mirror: { name: from.id }, subjects: undefined });
  await until("the copies", async () => (await c.state()).messages === 2);
  const mine = { ...c, subject: (n) => from.subject(n) };
  await lives(mine, "a", "none", undefined, c.id);
  await lives(mine, "b", 60, undefined, c.id);
});

governed("the default of the server does not govern counters", ours, async (c) => {
  await c.create({ allow_msg_counter: true });
  await c.pub("a", "", { "Nats-Incr": "1" });
  assert.equal((await life(c, "a")).state, "none");
});

check("R000_76_an_ack_tells_the_end_to_those_who_ask", ours, async (c) => {
  await c.create(policy({ default: "24h" }));
  const a = await c.ack("a", "x", { "Mayfly-TTL": "show" });
  const r = await life(c, "a");
  assert.deepEqual([a.ttl, a.expires, a.decided_by], ["24h0m0s", r.expires, "default"]);
  assert.deepEqual(Object.keys(await c.ack("a", "x")), ["stream", "seq"], "others get the ack as ever");
});

// --- the rate limiter: entities that fall silent ------------------------------------------------------

check("R004_04_R004_12_R001_13_idle_entities_leave_nothing_behind", ours, async (c) => {
  await c.create({
    max_msgs_per_subject: 1,
    ...policy({
      rules: [
        { id: "bucket", subject: `${c.prefix}.bucket.*`, ttl: "1 * fill(json(/limits))", permanent_if: `${c.prefix}.config.{{wildcard(1)}}` },
        { id: "sync", subject: `${c.prefix}.config.*`, ttl: "1 * header(Sync-Window)" },
      ],
    }),
  });
  const limits = JSON.stringify({ limits: { capacity: 2, refill_amount: 1, refill_period_seconds: 1 } });
  const all = [];
  for (let i = 0; i < 500; i++) {
    all.push(c.pub(`config.e${i}`, "{}", { "Sync-Window": "1" }));
    all.push(c.pub(`bucket.e${i}`, limits));
  }
  await Promise.all(all);
  const st = await c.empty();
  assert.equal(st.last_seq, 1000);
  assert.equal(st.bytes, 0);
});

// --- an operator's bounds ----------------------------------------------------------------------------

operated("a stream can not lift the maximum or the denial of the server", ours, async (c) => {
  await c.refusedConfig(policy({ max: "48h" }), BAD_POLICY("mayfly.ttl.max 48h0m0s is above the server's 24h0m0s"));
  await c.refusedConfig(policy({ never: "allow" }), BAD_POLICY("never is not allowed here by the server"));
  await c.create({ ...policy({ max: "1h" }), allow_msg_ttl: true });
  await c.refused("a", NEVER_DENIED, "x", { "Nats-TTL": "never" });
  assert.equal((await c.ack("a", "x", { "Nats-TTL": "2h" })).ttl, "1h0m0s");
});

operated("the maximum of the server holds where a stream says nothing", ours, async (c) => {
  await c.create({ allow_msg_ttl: true });
  await c.pub("a", "x");
  await lives(c, "a", DAY, "max");
  assert.equal((await c.ack("a", "x", { "Nats-TTL": "48h" })).ttl, "24h0m0s");
});

scenario("a stream can not switch off what an entry enforces, but what the block does", ours, async (t) => {
  const { stream } = await ownServer(t, { config: `ttl { default: "24h", enforce: on, namespaces: [ { stream: "A*", enforce: on } ] }\n` });
  for (const [name, want] of [["A1", DAY], ["B1", "none"]]) {
    const c = stream(name);
    await c.create(policy({ enforce: "off" }));
    await c.pub("a", "x");
    await lives(c, "a", want);
  }
});

// --- the file ----------------------------------------------------------------------------------------

scenario("the ttl block is checked by -t, with file, line and column", ours, async () => {
  const s = new Server({ listen: false });
  try {
    const file = s.file("bad.conf");
    fs.writeFileSync(file, 'port: -1\nttl {\n  default: 15m\n  namespaces: [\n    { pattern: nope }\n  ]\n}\n');
    const r = await runBinary(["-t", "-c", file]);
    assert.equal(r.code, 1);
    assert.match(r.text, /bad\.conf:3:3: "default" expects a duration such as "15m"/);
    fs.writeFileSync(file, 'port: -1\nttl {\n  namespaces: [\n    { pattern: nope }\n  ]\n}\n');
    assert.match((await runBinary(["-t", "-c", file])).text, /bad\.conf:4:5: no pattern "nope"; known: cache, graph/);
    fs.writeFileSync(file, 'port: -1\nttl { default: "30d" }\n');
    assert.equal((await runBinary(["-t", "-c", file])).code, 0);
  } finally {
    s.remove();
  }
});

scenario("a reload names the streams whose policy changed, and no others", ours, async (t) => {
  const config = (ttl) => `${jetstreamBlock()}ttl { namespaces: [ { stream: A, default: "${ttl}" }, { stream: B, default: "1h" } ] }\n`;
  const s = await t.server({ config: config("24h") });
  const { stream } = await onServer(t, s);
  await stream("A").create();
  await stream("B").create();
  const reloaded = async (text) => {
    const before = s.log().length;
    s.reload(text);
    await until("the reload", () => /Reloaded server configuration/.test(s.log().slice(before)));
    return s.log().slice(before).match(/stream \w+: its TTL policy changed/g) ?? [];
  };
  assert.deepEqual(await reloaded(config("24h")), []);
  assert.deepEqual(await reloaded(`# the same, written again\n${config("24h")}`), []);
  assert.deepEqual(await reloaded(config("12h")), ["stream A: its TTL policy changed"]);
  assert.deepEqual(await reloaded(jetstreamBlock()), ["stream A: its TTL policy changed", "stream B: its TTL policy changed"]);
});

scenario("a policy of the server holds after a restart", ours, async (t) => {
  const { s, stream } = await ownServer(t, { config: `ttl { namespaces: [ { stream: S, default: "24h" } ] }\n` });
  await stream("S").create();
  await s.restart();
  const c = (await onServer(t, s)).stream("S");
  await c.pub("a", "x");
  await lives(c, "a", DAY, "default");
});
