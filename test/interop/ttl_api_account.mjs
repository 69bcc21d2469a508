// ttl_api_account.mjs: the TTL API about many: STATS of an account, of a filter and in groups, FORECAST of a filter,
// what a change of the policy would do, what audit tells.
import assert from "node:assert/strict";
import { group, ownServer } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { BAD, ask, done, job, ms, refusal, ttl } from "./lib/ttl_api.mjs";
import { life, policy } from "./lib/ttl.mjs";
import { until } from "./lib/wait.mjs";

const ours = { only: "mayfly" };
const plain = group();
const DAY = 86400;
const NOT_THERE = [404, 10059, "stream not found"];
const day = policy({ default: "24h" });

const sizes = async (c, names) => (await Promise.all(names.map(async (n) => (await life(c, n)).size))).reduce((a, b) => a + b, 0);

// --- an account ------------------------------------------------------------------------------------

scenario("R000_47_STATS_without_a_stream_is_the_sum_of_the_account", ours, async (t) => {
  const { nc, stream } = await ownServer(t);
  const empty = await ttl({ nc }, "STATS");
  assert.deepEqual([empty.namespace, empty.streams, empty.items_with_ttl, empty.next_expiry], ["$G", 0, 0, undefined]);
  const [a, b, c] = ["A", "B", "C"].map((id) => stream(id));
  await a.create(policy({ default: "24h" }, { allow_msg_ttl: true, max_msgs_per_subject: 1 }));
  await b.create(policy({ default: "30m", never: "allow" }, { allow_msg_ttl: true }));
  await c.create();
  for (let i = 0; i < 5; i++) await a.pub(`k.${i}`, "x".repeat(i));
  for (let i = 0; i < 3; i++) await b.pub(`k.${i}`, "x", i === 0 ? { "Nats-TTL": "never" } : {});
  await b.pub("del", "", { "KV-Operation": "DEL" });
  for (let i = 0; i < 7; i++) await c.pub(`k.${i}`, "x");
  await a.pub("k.0", "again");
  await ttl(a, "SET.A.a.k.1", { ttl: "10m" });
  await ttl(a, "SET.A.a.k.2", { expires: "2000-01-01T00:00:00Z" });
  const sum = await until("the end of one", async () => {
    const s = await ttl(a, "STATS");
    return s.expired_last_hour === 1 && s;
  });
  const each = await Promise.all([a, b, c].map((x) => ttl(x, `STATS.${x.id}`)));
  assert.deepEqual(Object.keys(sum), [...Object.keys(each[0]), "streams"]);
  assert.deepEqual([sum.namespace, sum.streams], ["$G", 3]);
  const add = (pick) => each.reduce((n, s) => n + pick(s), 0);
  for (const k of [
    "items_with_ttl", "items_without_ttl", "items_infinite_ttl", "expired_last_hour", "expiring_next_hour", "expiring_next_day", "total_bytes", "bytes_to_expire_soon",
    "stored_last_hour", "bytes_stored_last_hour", "bytes_expired_last_hour", "pinned", "markers", "overdue",
  ])
    assert.equal(sum[k], add((s) => s[k]), k);
  for (const part of ["totals", "decided", "audit"])
    for (const k of Object.keys(sum[part])) assert.equal(sum[part][k], add((s) => s[part][k]), `${part}.${k}`);
  assert.deepEqual([sum.items_with_ttl, sum.items_without_ttl, sum.items_infinite_ttl, sum.expiring_next_hour, sum.markers], [7, 7, 1, 4, 1]);
  assert.deepEqual([sum.totals.expired, sum.totals.removed, sum.totals.set], [1, 1, 2]);
  assert.equal(sum.next_expiry, (await life(a, "k.1")).expires, "the first of all");
  assert.equal(sum.requested_s.max, DAY);
  assert.equal(sum.since, each.map((s) => s.since).filter(Boolean).sort()[0]);
});

// --- STATS of a stream -----------------------------------------------------------------------------

plain("STATS has every member in its order", ours, async (c) => {
  await c.create(day);
  await c.pub("a", "x");
  const s = await ttl(c, `STATS.${c.id}`);
  assert.deepEqual(Object.keys(s), [
    "type", "namespace", "items_with_ttl", "items_without_ttl", "items_infinite_ttl", "expired_last_hour", "expiring_next_hour", "expiring_next_day",
    "total_bytes", "bytes_to_expire_soon", "soon", "bytes_sampled", "since", "stored_last_hour", "bytes_stored_last_hour", "bytes_expired_last_hour",
    "pinned", "markers", "next_expiry", "overdue", "totals", "decided", "audit", "lateness_ms", "requested_s", "clock",
  ]);
  assert.deepEqual(Object.keys(s.totals), [
    "expired", "expired_bytes", "removed", "touched", "touched_by_read", "set", "persisted", "warned", "dead_letters", "dead_letters_dropped", "clamped", "rejected",
    "rule_clamped",
  ]);
  assert.deepEqual(Object.keys(s.decided).sort(), ["client", "default", "max", "max_age", "none", "pattern", "rule", "server"]);
  assert.deepEqual([s.decided.default, s.overdue, s.markers], [1, 0, 0]);
});

plain("markers and removed messages are counted", ours, async (c) => {
  await c.create({ ...day, subject_delete_marker_ttl: 60_000_000_000, allow_msg_ttl: true, max_msgs_per_subject: 1 });
  for (let i = 0; i < 4; i++) await c.pub(`k.${i}`, "x");
  await ttl(c, `SET.${c.id}.${c.subject("k.0")}`, { expires: "2000-01-01T00:00:00Z" });
  await c.pub("k.1", "again");
  await c.remove(3);
  const s = await until("both markers", async () => {
    const r = await ttl(c, `STATS.${c.id}`);
    return r.markers === 2 && r;
  });
  assert.deepEqual([s.items_with_ttl, s.totals.expired, s.totals.removed], [4, 1, 2]);
});

plain("R000_61_STATS_groups_kinds_of_data_with_their_ages", ours, async (c) => {
  await c.create({ allow_msg_ttl: true });
  for (let i = 0; i < 6; i++) await c.pub(`user.${i}.name`, "x".repeat(100), { "Nats-TTL": "1h" });
  for (let i = 0; i < 3; i++) await c.pub(`order.${i}`, "x", i === 0 ? { "Nats-TTL": "never" } : {});
  await c.pub("order", "x");
  const two = await ttl(c, `STATS.${c.id}`, { depth: 2 });
  assert.deepEqual(two.groups.map((g) => Object.keys(g)), Array(2).fill(["prefix", "items", "with", "without", "infinite", "bytes", "age_p50_s", "age_p99_s"]));
  assert.deepEqual(
    two.groups.map((g) => [g.prefix, g.items, g.with, g.without, g.infinite, g.bytes]),
    [
      [c.subject("user"), 6, 6, 0, 0, await sizes(c, [0, 1, 2, 3, 4, 5].map((i) => `user.${i}.name`))],
      [c.subject("order"), 4, 0, 3, 1, await sizes(c, ["order", "order.0", "order.1", "order.2"])],
    ],
  );
  for (const g of two.groups) assert.ok(g.age_p50_s >= 0 && g.age_p50_s <= g.age_p99_s && g.age_p99_s < 60, JSON.stringify(g));
  assert.deepEqual([two.ages_sampled, two.items_with_ttl, two.totals.expired], [false, 6, 0], "beside the usual answer");
  assert.equal((await ttl(c, `STATS.${c.id}`)).groups, undefined);
  assert.equal((await ttl(c, `STATS.${c.id}`, { depth: 0 })).groups, undefined);
  const one = await ttl(c, `STATS.${c.id}`, { depth: 1 });
  assert.deepEqual(one.groups.map((g) => [g.prefix, g.items, g.bytes]), [[c.prefix, 10, one.total_bytes]]);
  const eight = await ttl(c, `STATS.${c.id}`, { depth: 8, filter: c.subject("order.*") });
  assert.deepEqual(eight.groups.map((g) => g.prefix).sort(), [0, 1, 2].map((i) => c.subject(`order.${i}`)));
});

plain("STATS of a filter counts these subjects alone", ours, async (c) => {
  await c.create({ allow_msg_ttl: true });
  for (const [i, ttl] of ["30m", "3h", "48h"].entries()) await c.pub(`a.${i}`, "x".repeat(10 * i), { "Nats-TTL": ttl });
  await c.pub("a.never", "x", { "Nats-TTL": "never" });
  await c.pub("a.none", "x");
  for (let i = 0; i < 5; i++) await c.pub(`b.${i}`, "x", { "Nats-TTL": "1m" });
  await ttl(c, `SET.${c.id}.${c.subject("a.1")}`, { ttl: "2h" });
  const s = await ttl(c, `STATS.${c.id}`, { filter: c.subject("a.*") });
  assert.deepEqual(Object.keys(s), [
    "type", "namespace", "filter", "items_with_ttl", "items_without_ttl", "items_infinite_ttl", "expiring_next_hour", "expiring_next_day", "total_bytes",
    "bytes_to_expire_soon", "soon", "bytes_sampled", "pinned", "markers", "next_expiry", "overdue",
  ]);
  const names = ["a.0", "a.1", "a.2", "a.never", "a.none"];
  assert.deepEqual(
    [s.namespace, s.filter, s.items_with_ttl, s.items_without_ttl, s.items_infinite_ttl, s.expiring_next_hour, s.expiring_next_day, s.pinned, s.total_bytes],
    [`$G/${c.id}`, c.subject("a.*"), 3, 1, 1, 1, 2, 1, await sizes(c, names)],
  );
  assert.equal(s.bytes_to_expire_soon, await sizes(c, ["a.0", "a.1"]));
  assert.equal(s.next_expiry, (await life(c, "a.0")).expires);
  const none = await ttl(c, `STATS.${c.id}`, { filter: "nothing.here", depth: 1 });
  assert.deepEqual([none.items_with_ttl, none.total_bytes, none.next_expiry, none.groups], [0, 0, undefined, []]);
  const whole = await ttl(c, `STATS.${c.id}`, { filter: ">" });
  assert.deepEqual([whole.items_with_ttl, whole.total_bytes], [8, (await c.state()).bytes]);
  const long = `${"x.".repeat(16000)}x`;
  assert.equal((await ttl(c, `STATS.${c.id}`, { filter: long, depth: 8 })).total_bytes, 0);
});

// --- FORECAST --------------------------------------------------------------------------------------

plain("FORECAST of a filter, and the bytes that end later", ours, async (c) => {
  await c.create({ allow_msg_ttl: true });
  for (const [i, ttl] of ["30m", "3h", "48h", "100h"].entries()) await c.pub(`a.${i}`, "x".repeat(10 * i), { "Nats-TTL": ttl });
  await c.pub("a.none", "x");
  for (let i = 0; i < 5; i++) await c.pub(`b.${i}`, "xx", { "Nats-TTL": "90m" });
  const f = await ttl(c, `FORECAST.${c.id}`, { filter: c.subject("a.*"), within: "6h", buckets: 6 });
  assert.deepEqual(Object.keys(f), ["type", "stream", "filter", "from", "within", "buckets", "later", "without", "infinite", "bytes_sampled", "peak", "cliff"]);
  assert.deepEqual(f.buckets.map((b) => b.msgs), [1, 0, 1, 0, 0, 0]);
  assert.deepEqual([f.later, f.without, f.infinite, f.peak.msgs, f.cliff], [{ msgs: 2, bytes: await sizes(c, ["a.2", "a.3"]) }, 1, 0, 1, false]);
  const all = await ttl(c, `FORECAST.${c.id}`, { within: "6h", buckets: 6 });
  assert.deepEqual(Object.keys(all), ["type", "stream", "from", "within", "buckets", "later", "without", "infinite", "bytes_sampled", "peak", "cliff", "steady"]);
  assert.deepEqual(all.buckets.map((b) => b.msgs), [1, 5, 1, 0, 0, 0]);
  assert.deepEqual([all.later, all.bytes_sampled], [f.later, false]);
  assert.ok(all.peak.msgs >= 1 && all.peak.msgs <= 5 && all.peak.per_second === all.peak.msgs, JSON.stringify(all.peak));
});

plain("R003_11_steady_is_the_rate_times_the_mean_ttl", ours, async (c) => {
  await c.create(policy({ default: "60s" }));
  for (let i = 0; i < 100; i++) await c.pub(`k.${i}`, "x");
  const { steady } = await ttl(c, `FORECAST.${c.id}`);
  assert.equal(Math.round(steady.mean_ttl_s), 60);
  assert.ok(Math.abs(steady.msgs - steady.per_second * 60) <= 1, JSON.stringify(steady));
  const size = (await c.state()).bytes / 100;
  assert.ok(Math.abs(steady.bytes - steady.msgs * size) <= size, JSON.stringify(steady));
});

scenario("more than ten thousand that end in one minute are a cliff", ours, async (t) => {
  const { nc, stream } = await ownServer(t);
  const c = stream("S");
  await c.create(day);
  const expires = new Date(Date.now() + 7200_000).toISOString();
  for (let i = 0; i < 11000; i++) nc.publish(`s.k.${i}`, "x");
  await nc.flush();
  await until("all to be stored", async () => (await c.state()).messages === 11000);
  assert.equal((await ttl(c, "FORECAST.S")).cliff, true, "they came in one minute, or nearly so");
  for (let from_seq = 1; from_seq; ) {
    const r = await ttl(c, "SET.S", { filter: "s.k.>", from_seq, limit: 1000, expires });
    from_seq = r.from_seq;
  }
  const f = await ttl(c, "FORECAST.S");
  assert.deepEqual([f.cliff, f.peak.msgs, f.peak.per_second, ms(f.peak.at)], [true, 11000, 11000, Math.floor(Date.parse(expires) / 1000) * 1000]);
});

// --- POLICY what_if --------------------------------------------------------------------------------

const whatIf = (c, keys) => ttl(c, `POLICY.${c.id}`, { what_if: policy(keys).metadata });
const DEFAULT_12H = { what_if: { "mayfly.ttl.default": "12h" } };

plain("R000_70_what_if_tells_how_many_messages_a_change_would_touch", ours, async (c) => {
  await c.create({ ...day, allow_msg_ttl: true });
  for (let i = 0; i < 8; i++) await c.pub(`k.${i}`, "x");
  await c.pub("own", "x", { "Nats-TTL": "1h" });
  await c.pub("hand", "x");
  await ttl(c, `PERSIST.${c.id}.${c.subject("hand")}`);
  const before = await Promise.all(["k.0", "own", "hand"].map((n) => life(c, n)));
  const r = await whatIf(c, { default: "12h" });
  assert.deepEqual([r.policy.default, r.origin.default, r.governed, r.valid], ["12h0m0s", "stream", true, true]);
  assert.deepEqual(r.backfill, {
    which: "all", seen: 10, pinned: 1,
    from_now: { change: 9, set: 9, infinite: 0, unchanged: 0, expire_now: 0 },
    from_written: { change: 8, set: 8, infinite: 0, unchanged: 1, expire_now: 0 },
    decided: { client: 1, default: 8 },
  });
  assert.deepEqual(Object.keys(r.steady), ["msgs", "bytes", "per_second", "mean_ttl_s", "covered_s"]);
  // nothing was written, and the policy is the same
  const after = await Promise.all(["k.0", "own", "hand"].map((n) => life(c, n)));
  assert.deepEqual(after.map((x) => [x.expires, x.state]), before.map((x) => [x.expires, x.state]));
  assert.equal((await ttl(c, `POLICY.${c.id}`)).policy.default, "24h0m0s");
  assert.equal((await ask(c, `BACKFILL.${c.id}`, { action: "status" })).error.err_code, 21002);
  // the same policy changes nothing; one that is audited or off neither
  for (const keys of [{}, { default: "12h", enforce: "audit" }, { enforce: "off" }])
    assert.equal((await whatIf(c, keys)).backfill.from_written.change, 0, JSON.stringify(keys));
  const never = (await whatIf(c, { default: "never", never: "allow" })).backfill;
  assert.deepEqual([never.from_written.infinite, never.from_written.set, never.from_now.infinite], [8, 0, 8]);
  // and BACKFILL does what was foretold
  await c.update({ ...policy({ default: "12h" }), allow_msg_ttl: true });
  await job(c, "start", { which: "all", from: "written" });
  const j = await done(c);
  assert.deepEqual([j.set, j.infinite, j.unchanged, j.pinned], [8, 0, 1, 1]);
});

plain("what_if tells what would end at once, and reads rules and payloads", ours, async (c) => {
  await c.create();
  for (let i = 0; i < 5; i++) await c.pub(`a.${i}`, JSON.stringify({ keep: i % 2 ? "1s" : "1h" }));
  await c.pub("b", "x");
  await until("a second to pass", async () => Date.now() - ms((await life(c, "b")).time) > 1100);
  const rules = [{ subject: c.subject("a.*"), ttl: "json(/keep)" }];
  const r = await whatIf(c, { rules });
  assert.deepEqual([r.backfill.seen, r.backfill.from_now, r.backfill.from_written], [
    6, { change: 5, set: 5, infinite: 0, unchanged: 1, expire_now: 0 }, { change: 5, set: 5, infinite: 0, unchanged: 1, expire_now: 2 },
  ]);
  assert.deepEqual([r.backfill.decided, (await c.state()).messages], [{ rule: 5 }, 6]);
});

plain("R003_24_seven_days_instead_of_one_hold_seven_times_as_much", ours, async (c) => {
  await c.create(day);
  for (let i = 0; i < 50; i++) await c.pub(`k.${i}`, "x".repeat(100));
  const week = await whatIf(c, { default: "168h" });
  const near = (a, b) => assert.ok(Math.abs(a / b - 1) < 0.001, `${a} ${b}: ${JSON.stringify(week)}`);
  near(week.steady.msgs, 7 * week.steady_before.msgs);
  near(week.steady.bytes, 7 * week.steady_before.bytes);
  near(week.steady.mean_ttl_s, 7 * DAY);
  const hour = await whatIf(c, { default: "1h" });
  near(24 * hour.steady.msgs, hour.steady_before.msgs);
  // a stream that has no policy yet
  const plain = c.another();
  await plain.create();
  for (let i = 0; i < 50; i++) await plain.pub(`k.${i}`, "x");
  const first = await whatIf(plain, { default: "24h" });
  assert.deepEqual([first.steady_before.msgs, Math.round(first.steady.mean_ttl_s), first.backfill.from_now.set], [0, DAY, 50]);
  assert.ok(first.steady.msgs > 0 && first.steady.bytes > first.steady.msgs, JSON.stringify(first.steady));
  const empty = c.another();
  await empty.create(day);
  const none = await whatIf(empty, { default: "1h" });
  assert.deepEqual([none.backfill.seen, none.steady.msgs], [0, 0]);
});

plain("what_if refuses bad keys with the texts of a configuration", ours, async (c) => {
  await c.create(day);
  for (const [keys, text] of [
    [{ "mayfly.ttl.defualt": "1h" }, 'unknown TTL policy key "mayfly.ttl.defualt"; did you mean "mayfly.ttl.default"?'],
    [{ "mayfly.ttl.max": "1 day" }, 'mayfly.ttl.max: "1 day" is not a duration of 1s to 36500d'],
    [{ "mayfly.ttl.max": "1h" }, "mayfly.ttl.default 24h0m0s is above mayfly.ttl.max 1h0m0s"],
    [{ "mayfly.ttl.never": "maybe" }, 'mayfly.ttl.never: "maybe" is none of allow, deny'],
  ])
    await refusal(c, `POLICY.${c.id}`, { what_if: keys }, [500, 10052, text]);
  for (const more of [{ policy: {} }, { test: { subject: "a" } }])
    await refusal(c, `POLICY.${c.id}`, { ...DEFAULT_12H, ...more }, BAD("what_if goes without test and policy"));
  await refusal(c, `POLICY.${c.id}`, { what_if: { "mayfly.ttl.default": 12 } }, [400, 10025]);
  await refusal(c, `POLICY.${c.id}`, { what_if: ["12h"] }, [400, 10025]);
  await refusal(c, `POLICY.NO${c.id}`, DEFAULT_12H, NOT_THERE);
  await refusal(c, "POLICY", DEFAULT_12H, [400, 10025]);
});

// --- audit -----------------------------------------------------------------------------------------

plain("R000_83_a_hundred_publishes_that_audit_would_change_are_one_event", ours, async (c) => {
  await c.create(policy({ default: "24h", enforce: "audit" }));
  const events = collect(c.nc, `$JS.EVENT.ADVISORY.STREAM.TTL.AUDIT.${c.id}`);
  await c.nc.flush();
  await Promise.all(Array.from({ length: 100 }, (_, i) => c.pub(`k.${i}`, "x")));
  const [e] = await until("the event", () => events.length > 0 && events.map((m) => m.json()));
  assert.equal(e.type, "io.mayfly.advisory.v1.ttl_audit");
  assert.deepEqual([e.stream, e.count, e.would_set, e.would_clamp, e.would_reject], [c.id, 100, 100, 0, 0]);
  assert.deepEqual([e.first.subject, e.last.subject], [c.subject("k.0"), c.subject("k.99")]);
  const s = await ttl(c, `STATS.${c.id}`);
  assert.deepEqual([s.audit.would_set, s.items_without_ttl], [100, 100], "nothing was changed");
  assert.equal(events.length, 1);
});

// --- meanwhile -------------------------------------------------------------------------------------

plain("a stream deleted during a walk over its subjects answers what waits", ours, async (c) => {
  for (let round = 0; round < 5; round++) {
    await c.create(day);
    await Promise.all(Array.from({ length: 1000 }, (_, i) => c.pub(`k.${i}`, "x")));
    const asked = [["STATS", { depth: 3 }], ["STATS", { filter: c.subject("k.*") }], ["FORECAST", { filter: c.subject(">") }], ["POLICY", DEFAULT_12H]];
    const send = () => asked.map(([op, body]) => ask(c, `${op}.${c.id}`, body));
    const before = [...send(), ask(c, "STATS")];
    const gone = c.api(`STREAM.DELETE.${c.id}`);
    const all = await Promise.all([...before, ...send()]);
    assert.equal((await gone).success, true);
    assert.equal(all[asked.length].error, undefined);
    for (const r of all.slice(asked.length + 1)) assert.deepEqual(r.error, { code: 404, err_code: 10059, description: "stream not found" });
  }
  await refusal(c, `STATS.${c.id}`, { depth: 1 }, NOT_THERE);
});

scenario("a client that leaves during a walk leaves nothing behind", ours, async (t) => {
  const { nc, s, stream } = await ownServer(t);
  const c = stream("S");
  await c.create(day);
  for (let i = 0; i < 20000; i++) nc.publish(`s.${i % 100}.${i}`, "x");
  await nc.flush();
  await until("all to be stored", async () => (await c.state()).messages === 20000);
  for (let round = 0; round < 10; round++) {
    const guest = await t.connect(s);
    for (const [op, body] of [["STATS.S", { depth: 2 }], ["STATS.S", { filter: ">" }], ["FORECAST.S", { filter: ">" }], ["STATS", {}], ["POLICY.S", DEFAULT_12H]])
      for (let i = 0; i < 5; i++) guest.request(`$MAYFLY.TTL.${op}`, JSON.stringify(body)).catch(() => {});
    await guest.flush();
    await guest.close();
  }
  assert.equal((await ttl(c, "STATS.S", { depth: 2 })).groups.length, 100);
});
