// ttl_api_walks.mjs: requests of the TTL API about a whole stream: LIST, STATS, FORECAST, POLICY, BACKFILL.
import assert from "node:assert/strict";
import { group, onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { nanoseconds } from "./lib/stamp.mjs";
import { BAD, FILTER, LIMIT, ask, done, job, ms, pages, refusal, ttl } from "./lib/ttl_api.mjs";
import { life, lives, policy } from "./lib/ttl.mjs";
import { until } from "./lib/wait.mjs";

const ours = { only: "mayfly" };
const plain = group();
const DAY = 86400;
const day = policy({ default: "24h" });

// Thirteen messages: ten with a TTL, of them two within the hour and four within the day; three without, of which two
// are infinite on purpose below.
async function thirteen(c, config = {}) {
  await c.create({ ...config, allow_msg_ttl: true });
  const hours = [0.5, 0.75, 10, 20, 30, 40, 50, 60, 70, 80];
  for (const [i, h] of hours.entries()) await c.pub(`with.${i}`, "x".repeat(i), { "Nats-TTL": `${h * 3600}s` });
  for (let i = 0; i < 3; i++) await c.pub(`without.${i}`, "x");
}

// --- LIST ------------------------------------------------------------------------------------------

plain("R000_51_items_that_expire_within_a_day_are_listed_in_order_and_by_pages", ours, async (c) => {
  await thirteen(c);
  const all = await ttl(c, `LIST.${c.id}`, { within: "24h" });
  assert.deepEqual(Object.keys(all), ["type", "stream", "items", "count"]);
  assert.deepEqual(all.items.map((i) => i.subject), [0, 1, 2, 3].map((i) => c.subject(`with.${i}`)));
  const [first] = all.items;
  assert.deepEqual(Object.keys(first), ["subject", "seq", "time", "expires", "left_ms", "pinned", "size"]);
  const g = await life(c, "with.0");
  assert.deepEqual([first.seq, first.time, first.expires, first.pinned, first.size], [g.seq, g.time, g.expires, g.pinned, g.size]);
  for (const limit of [1, 2, 3, 4, 5, 1000]) assert.deepEqual((await pages(c, { within: "24h", limit })).map((i) => i.seq), [1, 2, 3, 4], `${limit} a page`);
});

plain("LIST is sorted by deadline then sequence, exact, whatever the page", ours, async (c) => {
  await c.create(day);
  await Promise.all(Array.from({ length: 500 }, (_, i) => c.pub(`k.${i}`, "x")));
  // many with one and the same deadline, in the reverse order of sequences
  const expires = new Date(Date.now() + 7200_000).toISOString();
  for (const [lo, when] of [[3, expires], [2, expires], [1, new Date(Date.now() + 3600_000).toISOString()]])
    await ttl(c, `SET.${c.id}`, { filter: c.subject("k.>"), from_seq: lo * 100, limit: 100, expires: when });
  const whole = await ttl(c, `LIST.${c.id}`, { limit: 1000 });
  assert.deepEqual([whole.total, whole.count, whole.next], [500, 500, undefined]);
  const order = whole.items.map((i) => [i.expires, i.seq]);
  const moment = (o) => nanoseconds(o[0]);
  assert.deepEqual(order, order.toSorted((a, b) => (a[0] === b[0] ? a[1] - b[1] : moment(a) < moment(b) ? -1 : 1)));
  for (const limit of [7, 100]) assert.deepEqual((await pages(c, { limit })).map((i) => i.seq), order.map((o) => o[1]), `${limit} a page`);
  const some = (await pages(c, { limit: 3, filter: c.subject("k.1*") })).length;
  assert.equal(some, 0, "a star is a whole token");
  const filtered = await pages(c, { limit: 3, filter: c.subject("k.42") });
  assert.deepEqual(filtered.map((i) => i.subject), [c.subject("k.42")]);
  assert.equal((await ttl(c, `LIST.${c.id}`, { filter: ">" })).total, undefined);
});

plain("R000_59_data_without_a_ttl_is_found", ours, async (c) => {
  await thirteen(c);
  for (const limit of [1, 2, 3, 100]) {
    const items = await pages(c, { state: "without", limit });
    assert.deepEqual(items.map((i) => i.subject), [0, 1, 2].map((i) => c.subject(`without.${i}`)), `${limit} a page`);
    assert.deepEqual(Object.keys(items[0]), ["subject", "seq", "time", "pinned", "size"]);
  }
  await ttl(c, `PERSIST.${c.id}.${c.subject("without.1")}`);
  assert.deepEqual((await pages(c, { state: "without", limit: 1 })).map((i) => i.seq), [11, 13]);
  assert.deepEqual((await pages(c, { state: "infinite", limit: 1 })).map((i) => [i.seq, i.pinned]), [[12, true]]);
  assert.deepEqual((await pages(c, { state: "without", filter: c.subject("*.2") })).map((i) => i.seq), [13]);
  assert.equal((await ttl(c, `LIST.${c.id}`, { state: "without" })).total, 2);
  // behind the last sequence of all there is nothing
  const end = await ttl(c, `LIST.${c.id}`, '{"state":"without","from":{"seq":18446744073709551615}}');
  assert.deepEqual(end.items, []);
});

plain("LIST, STATS, FORECAST and BACKFILL refuse what they cannot read", ours, async (c) => {
  await c.create(day);
  const within = BAD("within must be a duration of 1s to 36500d");
  const ahead = BAD("within must be a duration of 1m to 36500d");
  const buckets = BAD("buckets must be 1 to 200");
  const depth = BAD("depth must be 0 to 8");
  const action = BAD("action must be start, status, pause, resume or stop");
  const rate = BAD("rate must be 1 to 1000000");
  const subjects = BAD("filter must be a valid subject filter of at most 255 bytes");
  for (const [op, body, want] of [
    ["LIST", { limit: 0 }, LIMIT], ["LIST", { limit: -5 }, LIMIT], ["LIST", { limit: 1001 }, LIMIT],
    ["LIST", { state: "dead" }, BAD("state must be with, without or infinite")], ["LIST", { filter: "a..b" }, FILTER],
    ["LIST", { within: "soon" }, within], ["LIST", { within: "-1h" }, within], ["LIST", { within: "36501d" }, within],
    ["LIST", { within: "1h", state: "without" }, BAD("within goes with state with alone")],
    ["STATS", { depth: -1 }, depth], ["STATS", { depth: 9 }, depth], ["STATS", { depth: 2 ** 40 }, depth], ["STATS", { filter: "a..b" }, FILTER],
    ["STATS", { filter: ">.a", depth: 1 }, FILTER], ["STATS", { filter: "." }, FILTER], ["STATS", { filter: " " }, FILTER],
    ["FORECAST", { buckets: 0 }, buckets], ["FORECAST", { buckets: 201 }, buckets], ["FORECAST", { buckets: -1 }, buckets],
    ["FORECAST", { within: "59s" }, ahead], ["FORECAST", { within: "36501d" }, ahead], ["FORECAST", { filter: "a.>.b" }, FILTER],
    ["BACKFILL", {}, action], ["BACKFILL", { action: "go" }, action],
    ["BACKFILL", { action: "start", which: "some" }, BAD("which must be without or all")],
    ["BACKFILL", { action: "start", from: "then" }, BAD("from must be now or written")],
    ["BACKFILL", { action: "start", rate: -1 }, rate], ["BACKFILL", { action: "start", rate: 1000001 }, rate],
    ["BACKFILL", { action: "start", spread: "far" }, BAD("spread must be 0 or a duration of 1s to 36500d")],
    ["BACKFILL", { action: "start", filter: "a..b" }, subjects], ["BACKFILL", { action: "start", filter: "x".repeat(300) }, subjects],
    ["POLICY", { test: {} }, BAD("test needs a subject without wildcards and empty tokens")],
    ["POLICY", { test: { subject: c.subject("a"), payload: "x".repeat(16385) } }, BAD("payload must be at most 16384 bytes")],
    ["POLICY", { test: { subject: c.subject("a"), headers: { "a b": "x" } } }, BAD("headers have a name or a value that no header can have")],
  ])
    await refusal(c, `${op}.${c.id}`, body, want);
  for (const op of ["LIST", "STATS", "FORECAST", "BACKFILL", "POLICY"]) {
    await refusal(c, `${op}.NO${c.id}`, op === "BACKFILL" ? { action: "status" } : "", [404, 10059, "stream not found"]);
    for (const body of ["{", "[]", '{"x":1}', '{"x":'.repeat(5000), "\u0000", `{"within":${"9".repeat(400)}}`]) await refusal(c, `${op}.${c.id}`, body, [400, 10025]);
  }
  await refusal(c, `BACKFILL.${c.id}`, { action: "start", expire_now: -1 }, [400, 10025]);
  await refusal(c, "POLICY", { limit: 257 }, BAD("offset must be 0 or more, limit 1 to 256"));
  for (const body of [{ filter: ">" }, { depth: 1 }]) await refusal(c, "STATS", body, BAD("filter and depth need a stream: $MAYFLY.TTL.STATS.<stream>"));
});

// --- STATS and FORECAST ----------------------------------------------------------------------------

plain("R000_12_R000_40_R000_45_STATS_counts_what_ends_when", ours, async (c) => {
  await thirteen(c, policy({ pattern: "pubsub" }));
  await ttl(c, `PERSIST.${c.id}`, { filter: c.subject("without.*"), limit: 2 });
  const s = await ttl(c, `STATS.${c.id}`);
  assert.deepEqual(Object.keys(s).slice(0, 10), [
    "type", "namespace", "items_with_ttl", "items_without_ttl", "items_infinite_ttl", "expired_last_hour", "expiring_next_hour", "expiring_next_day",
    "total_bytes", "bytes_to_expire_soon",
  ]);
  const sizes = await Promise.all([0, 1, 2, 3].map(async (i) => (await life(c, `with.${i}`)).size));
  assert.deepEqual(
    [s.namespace, s.items_with_ttl, s.items_without_ttl, s.items_infinite_ttl, s.expiring_next_hour, s.expiring_next_day, s.bytes_to_expire_soon],
    [`$G/${c.id}`, 10, 1, 2, 2, 4, sizes.reduce((a, b) => a + b)],
  );
  assert.equal(s.total_bytes, (await c.state()).bytes);
  assert.deepEqual([s.pinned, s.totals.persisted, s.totals.touched, s.totals.set, s.stored_last_hour, s.soon, s.bytes_sampled], [2, 2, 0, 0, 13, "24h0m0s", false]);
  assert.equal(s.requested_s.max, 80 * 3600);
  const next = ms(s.next_expiry);
  assert.ok(next > Date.now() && next <= ms((await life(c, "with.0")).expires), s.next_expiry);
  // five end
  for (let i = 5; i < 10; i++) await ttl(c, `SET.${c.id}.${c.subject(`with.${i}`)}`, { expires: "2000-01-01T00:00:00Z" });
  const t = await until("five to be counted", async () => {
    const r = await ttl(c, `STATS.${c.id}`);
    return r.expired_last_hour === 5 && r;
  });
  assert.deepEqual([t.items_with_ttl, t.totals.expired, t.totals.set, t.bytes_expired_last_hour], [5, 5, 5, s.total_bytes - (await c.state()).bytes]);
});

plain("R000_50_FORECAST_tells_the_distribution_of_a_stream", ours, async (c) => {
  await thirteen(c);
  const f = await ttl(c, `FORECAST.${c.id}`, { within: "24h", buckets: 24 });
  assert.deepEqual([f.within, f.buckets.length, f.without, f.infinite, f.bytes_sampled, f.cliff], ["24h0m0s", 24, 3, 0, false, false]);
  const full = f.buckets.flatMap((b, i) => Array(b.msgs).fill(i));
  assert.deepEqual(full, [0, 0, 9, 19]);
  assert.equal(f.later.msgs, 6);
  assert.equal(f.buckets[9].bytes, (await life(c, "with.2")).size);
  assert.equal(ms(f.buckets[23].to) - ms(f.from), DAY * 1000);
  const one = await ttl(c, `FORECAST.${c.id}`, { within: "36500d", buckets: 1 });
  assert.deepEqual([one.buckets.length, one.buckets[0].msgs, one.later.msgs], [1, 10, 0]);
  assert.equal(one.buckets[0].bytes, (await Promise.all([...Array(10).keys()].map(async (i) => (await life(c, `with.${i}`)).size))).reduce((a, b) => a + b));
  const many = await ttl(c, `FORECAST.${c.id}`, { buckets: 200 });
  assert.equal(many.buckets.reduce((n, b) => n + b.msgs, 0), 4);
  const empty = c.another();
  await empty.create();
  const e = await ttl(c, `FORECAST.${empty.id}`);
  assert.deepEqual([e.later.msgs, e.peak, e.steady.msgs], [0, undefined, 0]);
});

// --- POLICY ----------------------------------------------------------------------------------------

scenario("R000_13_each_value_is_shown_with_its_origin", ours, async (t) => {
  const { stream } = await ownServer(t, { config: `ttl { default: "30d", max: "90d", namespaces: [ { stream: "S", pattern: cache } ] }\n` });
  const c = stream("S");
  await c.create(policy({ default: "24h", min: "10s" }));
  const p = await ttl(c, "POLICY.S");
  assert.deepEqual([p.governed, p.valid, p.policy.default, p.policy.pattern, p.policy.min, p.policy.max], [true, true, "24h0m0s", "cache", "10s", "2160h0m0s"]);
  assert.deepEqual([p.origin.default, p.origin.min, p.origin.max, p.origin.never], ["stream", "stream", "server", "built in"]);
  assert.match(p.origin.pattern, /^namespace/);
  for (const id of ["A", "B"]) await stream(id).create();
  const all = await ttl(c, "POLICY", { limit: 2, offset: 1 });
  assert.deepEqual([all.total, all.offset, all.limit, all.streams.length], [3, 1, 2, 2]);
  assert.equal(all.streams.at(-1).stream, "S");
});

// --- BACKFILL --------------------------------------------------------------------------------------

plain("R000_08_R000_66_after_enforcing_and_backfilling_nothing_is_without_a_ttl", ours, async (c) => {
  await thirteen(c);
  await refusal(c, `BACKFILL.${c.id}`, { action: "start" }, [409, 21004, "the stream has no TTL policy"]);
  await c.update({ ...day, allow_msg_ttl: true });
  await refusal(c, `BACKFILL.${c.id}`, { action: "status" }, [404, 21002, "there is no backfill of this stream"]);
  await refusal(c, `BACKFILL.${c.id}`, { action: "stop" }, [404, 21002, "there is no backfill of this stream"]);
  await job(c, "start", { dry_run: true });
  const dry = await done(c);
  assert.deepEqual([dry.dry_run, dry.seen, dry.total, dry.set, dry.unchanged, dry.decided], [true, 13, 13, 3, 10, { default: 3 }]);
  assert.equal((await ttl(c, `STATS.${c.id}`)).items_without_ttl, 3, "a dry run writes nothing");
  const started = await job(c, "start");
  assert.deepEqual(Object.keys(started), [
    "id", "state", "dry_run", "which", "filter", "from", "spread", "started", "base", "seen", "total", "set", "infinite", "unchanged", "pinned", "expire_now",
    "errors", "per_second", "left_s", "decided",
  ]);
  const real = await done(c);
  assert.deepEqual([real.id, real.seen, real.set, real.unchanged, real.errors, real.which, real.from, real.filter], [started.id, 13, 3, 10, 0, "without", "now", ">"]);
  const s = await ttl(c, `STATS.${c.id}`);
  assert.deepEqual([s.items_without_ttl, s.items_with_ttl], [0, 13]);
  for (let i = 0; i < 3; i++) assert.equal(ms((await life(c, `without.${i}`)).expires), ms(real.base) + DAY * 1000);
  await c.pub("new", "x");
  assert.equal((await ttl(c, `STATS.${c.id}`)).items_without_ttl, 0);
});

plain("R003_33_a_change_to_72_hours_also_for_what_is_stored", ours, async (c) => {
  await c.create({ ...day, allow_msg_ttl: true });
  await c.pub("a", "x");
  await c.pub("own", "x", { "Nats-TTL": "100s" });
  await c.pub("hand", "x");
  const hand = await ttl(c, `SET.${c.id}.${c.subject("hand")}`, { ttl: "1h" });
  await c.update({ ...policy({ default: "72h" }), allow_msg_ttl: true });
  await lives(c, "a", DAY);
  await job(c, "start", { which: "all", from: "written" });
  const j = await done(c);
  assert.deepEqual([j.set, j.unchanged, j.pinned], [1, 1, 1]);
  await lives(c, "a", 3 * DAY, "default");
  await lives(c, "own", 100, "client");
  assert.equal((await life(c, "hand")).expires, hand.expires, "what was set by hand stays");
});

plain("BACKFILL from written asks before messages end at once", ours, async (c) => {
  await c.create();
  for (let i = 0; i < 5; i++) await c.pub(`k.${i}`, "x");
  await c.update(policy({ default: "1s" }));
  await until("a second to pass", async () => Date.now() - ms((await life(c, "k.4")).time) > 1000);
  await job(c, "start", { from: "written", dry_run: true });
  assert.equal((await done(c)).expire_now, 5);
  const want = [400, 21003, 'backfill would expire 5 messages at once; confirm with "expire_now": 5'];
  await refusal(c, `BACKFILL.${c.id}`, { action: "start", from: "written", expire_now: 4 }, want);
  await job(c, "start", { from: "written", expire_now: 4, filter: c.subject(">") });
  const failed = await done(c, "failed");
  assert.match(failed.error, /confirm with a larger "expire_now"/);
  assert.ok(failed.expire_now <= 4, JSON.stringify(failed));
  assert.ok((await c.state()).messages >= 1);
  await job(c, "start", { from: "written", expire_now: 5 });
  await done(c);
  await c.empty();
});

scenario("a failed BACKFILL says why, also after a restart", ours, async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("S");
  await c.create();
  for (let i = 0; i < 3; i++) await c.pub(`k.${i}`, "x");
  await c.update(policy({ default: "1s" }));
  await until("a second to pass", async () => Date.now() - ms((await life(c, "k.2")).time) > 1000);
  for (const expire_now of [1, 0]) {
    await job(c, "start", { from: "written", expire_now });
    const before = await done(c, "failed");
    assert.match(before.error, new RegExp(`^backfill would expire more than ${expire_now} messages at once; confirm`));
    await s.restart();
    c = (await onServer(t, s)).stream("S");
    const after = await done(c, "failed");
    assert.deepEqual([after.id, after.error], [before.id, before.error]);
    await until("the first to be gone", async () => (await c.state()).messages <= 2);
    assert.equal((await c.state()).messages, 2, "nothing more ended");
  }
});

plain("BACKFILL spreads ends by subject and keeps to its filter", ours, async (c) => {
  await c.create();
  for (let i = 0; i < 50; i++) await c.pub(`${i % 2 ? "odd" : "even"}.${i}`, "x");
  await c.update(day);
  await job(c, "start", { spread: "1h", filter: c.subject("odd.*") });
  const j = await done(c);
  assert.deepEqual([j.set, j.filter, j.spread], [25, c.subject("odd.*"), "1h0m0s"]);
  const late = (await pages(c, {})).map((i) => ms(i.expires) - ms(j.base) - DAY * 1000);
  assert.equal(late.length, 25);
  assert.ok(late.every((n) => n >= 0 && n < 3600_000) && new Set(late).size > 20, late.join());
  assert.equal((await pages(c, { state: "without" })).length, 25);
  // what an answer says can be asked for again
  const { which, filter, from, spread } = await job(c, "start", { dry_run: true });
  await done(c);
  assert.equal((await job(c, "start", { which, filter, from, spread, dry_run: true })).spread, "0s");
});

scenario("BACKFILL is paused, resumed, stopped, and goes on after kill -9 with its base", ours, async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("S");
  await c.create();
  const N = 3000;
  await Promise.all(Array.from({ length: N }, (_, i) => c.pub(`k.${i}`, "x")));
  await c.update(day);
  const first = await job(c, "start", { rate: 20 });
  await refusal(c, "BACKFILL.S", { action: "start" }, [409, 21001, "a backfill of this stream is running"]);
  assert.equal((await job(c, "pause")).state, "paused");
  await refusal(c, "BACKFILL.S", { action: "start" }, [409, 21001, "a backfill of this stream is running"]);
  const kill = async () => {
    await s.kill();
    await s.startAgain();
    s.killed = false;
    c = (await onServer(t, s)).stream("S");
  };
  await kill();
  const paused = await job(c, "status");
  assert.deepEqual([paused.id, paused.state, paused.base], [first.id, "paused", first.base]);
  assert.equal((await job(c, "resume")).state, "running");
  await kill();
  assert.equal((await job(c, "status")).state, "running");
  assert.equal((await job(c, "stop")).state, "stopped");
  await refusal(c, "BACKFILL.S", { action: "resume" }, [404, 21002, "there is no backfill of this stream"]);
  await kill();
  assert.equal((await job(c, "status")).state, "stopped");
  const { set } = await job(c, "status");
  const again = await job(c, "start", { rate: 2000 });
  await kill();
  const j = await done(c);
  assert.deepEqual([j.id, j.base, j.errors], [again.id, again.base, 0]);
  const items = await pages(c, { limit: 1000 });
  assert.equal(items.length, N);
  const ends = items.filter((i) => ms(i.expires) !== ms(again.base) + DAY * 1000).length;
  assert.ok(ends >= set && ends < N, `${ends} ends of the first job, which told of ${set}`);
  assert.equal((await ttl(c, "STATS.S")).items_without_ttl, 0);
  await kill();
  assert.equal((await job(c, "status")).state, "done");
});

plain("a stream deleted meanwhile answers what waits", ours, async (c) => {
  for (let round = 0; round < 5; round++) {
    await c.create(day);
    await Promise.all(Array.from({ length: 600 }, (_, i) => c.pub(`k.${i}`, "x")));
    const asked = [
      ["LIST", { limit: 1000 }], ["STATS"], ["FORECAST"], ["TOUCH", { filter: c.subject(">"), limit: 1000 }], ["BACKFILL", { action: "start", which: "all" }],
      ["BACKFILL", { action: "pause" }], ["SET", { filter: c.subject(">"), ttl: "1h" }], ["LIST", { state: "without" }], ["TOUCH", { seq: 5, get: true }], ["GET", { seq: 3 }],
    ];
    const send = () => asked.map(([op, body]) => ask(c, `${op}.${c.id}`, body).catch((e) => e));
    const before = send();
    const gone = c.api(`STREAM.DELETE.${c.id}`);
    const all = await Promise.all([...before, ...send()]);
    assert.equal((await gone).success, true);
    for (const r of all.slice(asked.length)) assert.equal(r.error?.err_code, 10059, `${r.type ?? r}`);
  }
});
