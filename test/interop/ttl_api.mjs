// ttl_api.mjs: the TTL API, $MAYFLY.TTL.>: every request, its answer and its refusals.  Names of scenarios begin
// with the requirements they show.
import assert from "node:assert/strict";
import { SECOND, group, onServer, ownServer } from "./lib/js.mjs";
import { scenario } from "./lib/scenario.mjs";
import { BAD, FILTER, LIMIT, LITERAL, ONE, ms, refusal, ttl } from "./lib/ttl_api.mjs";
import { life, lives, policy } from "./lib/ttl.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const HOUR = 3600_000;
const ours = { only: "mayfly" };
const plain = group();
const ONE_OF_TWO = BAD("give exactly one of subject, seq");
const NOT_FOUND = [404, 10037, "no message found"];
const TTL = (text) => [400, 10165, `invalid per-message TTL: ${text}`];
const day = policy({ default: "24h" });
const DAY = 24 * HOUR;

// The answer has these members in this order, and `left_ms` agrees with `expires`.
function members(r, want) {
  assert.deepEqual(Object.keys(r), want.split(" "));
  if (r.expires === undefined) return;
  assert.ok(r.left_ms >= 1 && r.left_ms <= Date.parse(r.expires) - Date.now() + LIMIT_MS, JSON.stringify(r));
}
// A change made between two moments gives a deadline between them.
async function endsIn(span, fn) {
  const from = Date.now();
  const r = await fn();
  const end = ms(r.expires);
  assert.ok(end >= from + span - 2 && end <= Date.now() + span + 2, `${r.expires} is not ${span} ms from now`);
  return r;
}

// --- GET -------------------------------------------------------------------------------------------

plain("GET tells all about one message", ours, async (c) => {
  await c.create({ ...day, allow_msg_ttl: true });
  await c.pub("a", "x");
  await c.pub("a", "xy");
  const r = await ttl(c, `GET.${c.id}.${c.subject("a")}`);
  members(r, "type stream subject seq time state expires left_ms ttl decided_by pinned tombstone history size");
  assert.deepEqual(
    [r.type, r.stream, r.subject, r.seq, r.state, r.ttl, r.decided_by, r.pinned, r.tombstone, r.history],
    ["io.mayfly.api.v1.ttl_get_response", c.id, c.subject("a"), 2, "ttl", "24h0m0s", "default", false, false, 2],
  );
  assert.equal(ms(r.expires) - ms(r.time), DAY);
  const first = await ttl(c, `GET.${c.id}`, { seq: 1 });
  assert.equal(r.size, first.size + 1);
  assert.equal((await c.state()).bytes, r.size + first.size, "size is what the stream counts");
  assert.equal((await ttl(c, `GET.${c.id}`, { subject: c.subject("a") })).seq, 2);
  assert.equal((await ttl(c, `GET.${c.id}.${c.subject("a")}`, { seq: 1 })).seq, 2, "the subject in the subject wins");
});

plain("GET without a deadline has no expires", ours, async (c) => {
  await c.create(policy({ pattern: "graph" }));
  await c.pub("a", "x");
  members(await life(c, "a"), "type stream subject seq time state ttl decided_by pinned tombstone history size");
  assert.equal((await life(c, "a")).state, "infinite");
  const n = c.another();
  await n.create();
  await n.pub("a", "x");
  const r = await life(n, "a");
  assert.deepEqual([r.state, r.ttl, r.decided_by], ["none", "none", "none"]);
});

plain("a tombstone says so", ours, async (c) => {
  await c.create(day);
  await c.pub("a", "", { "KV-Operation": "DEL" });
  assert.equal((await life(c, "a")).tombstone, true);
});

plain("GET refuses what names no message, or two", ours, async (c) => {
  await c.create(day);
  await c.pub("a", "x");
  const S = c.id;
  for (const [op, body, want] of [
    [`GET.${S}`, {}, ONE_OF_TWO],
    [`GET.${S}`, "", ONE_OF_TWO],
    [`GET.${S}`, "null", ONE_OF_TWO],
    [`GET.${S}`, { subject: c.subject("a"), seq: 1 }, ONE_OF_TWO],
    [`GET.${S}`, { subject: c.subject(">") }, LITERAL],
    [`GET.${S}.${c.prefix}.*`, "", LITERAL],
    [`GET.${S}.>`, "", LITERAL],
    [`GET.${S}`, `{"subject":"${"x".repeat(65536)}"}`, BAD("the body has more than 65536 bytes")],
    [`GET.${S}`, { seq: 0 }, NOT_FOUND],
    [`GET.${S}`, { seq: 99 }, NOT_FOUND],
    [`GET.${S}.${c.subject("none")}`, "", NOT_FOUND],
    [`GET.NO${S}.a`, "", [404, 10059, "stream not found"]],
    [`GET.${S}`, "{", [400, 10025, "invalid JSON: unexpected EOF"]],
    [`GET.${S}`, { filter: "a" }, [400, 10025, 'invalid JSON: json: unknown field "filter"']],
  ])
    await refusal(c, op, body, want);
});

// --- SET -------------------------------------------------------------------------------------------

plain("R000_52_the_ttl_of_one_message_can_be_set_to_an_hour", ours, async (c) => {
  await c.create(day);
  await c.pub("key123", "x");
  const r = await endsIn(HOUR, () => ttl(c, `SET.${c.id}`, { subject: c.subject("key123"), ttl: "1h" }));
  members(r, "type stream count skipped subject seq state expires left_ms clamped");
  assert.deepEqual([r.type, r.count, r.skipped, r.seq, r.state, r.clamped], ["io.mayfly.api.v1.ttl_set_response", 1, 0, 1, "ttl", false]);
  const g = await life(c, "key123");
  assert.deepEqual([g.expires, g.pinned, g.ttl, g.decided_by], [r.expires, true, "24h0m0s", "default"]);
  assert.ok(g.left_ms <= HOUR, JSON.stringify(g));
  for (const q of [{ seq: 1 }, { filter: c.subject(">") }]) await ttl(c, `SET.${c.id}`, { ...q, ttl: "2h" });
  assert.ok((await life(c, "key123")).left_ms > HOUR);
});

plain("SET takes a moment, and a moment that is past ends the message with its marker", ours, async (c) => {
  await c.create({ ...day, allow_msg_ttl: true, subject_delete_marker_ttl: 100 * SECOND });
  await c.pub("a", "x");
  const expires = new Date(Date.now() + 2 * HOUR).toISOString();
  assert.equal(ms((await ttl(c, `SET.${c.id}.${c.subject("a")}`, { expires })).expires), ms(expires));
  await ttl(c, `SET.${c.id}.${c.subject("a")}`, { expires: new Date(Date.now() - 1).toISOString() });
  assert.match((await c.marker("a")).hdr, /Nats-Marker-Reason: MaxAge/);
  await refusal(c, `GET.${c.id}`, { seq: 1 }, NOT_FOUND);
});

// 0 says "no deadline" inside the server, and years 1 and 9999 do not fit into 64 bits of nanoseconds.
plain("SET takes moments that are far away", ours, async (c) => {
  for (const [i, config] of [{}, day, policy({ default: "24h", min: "1h", max: "48h" })].entries()) {
    const n = c.another();
    await n.create(config);
    const past = ["1970-01-01T00:00:00Z", "0001-01-01T00:00:00Z", "1960-01-01T00:00:00Z", "1677-09-21T00:12:43.145224192Z"];
    for (const [k, expires] of past.entries()) {
      await n.pub(`p${k}`, "x");
      const r = await ttl(n, `SET.${n.id}.${n.subject(`p${k}`)}`, { expires });
      assert.deepEqual([r.count, r.state, r.left_ms, r.clamped], [1, "ttl", 1, false], `${expires}: ${JSON.stringify(r)}`);
      await refusal(n, `GET.${n.id}.${n.subject(`p${k}`)}`, "", NOT_FOUND);
    }
    await until("they are counted", async () => (await ttl(n, `STATS.${n.id}`)).totals.expired === past.length);
    assert.ok((await ttl(n, `STATS.${n.id}`)).lateness_ms.max < 3600e3, "what is set to end at once is not years late");
    for (const [k, expires] of ["9999-12-31T23:59:59Z", "2262-04-11T23:47:16.854775807Z"].entries()) {
      await n.pub(`f${k}`, "x");
      const r = await ttl(n, `SET.${n.id}.${n.subject(`f${k}`)}`, { expires });
      assert.deepEqual([r.count, r.state, r.clamped], [1, "ttl", i === 2], `${expires}: ${JSON.stringify(r)}`);
      if (i < 2) assert.match(r.expires, /^2262-04-11T23:47:16/);
    }
    const l = await ttl(n, `LIST.${n.id}`);
    assert.deepEqual([l.total, l.count], [2, 2], "both are listed");
    await refusal(n, `SET.${n.id}.${n.subject("f0")}`, { expires: "292277026596-01-01T00:00:00Z" }, [400, 10025]);
  }
});

plain("SET if set, unset, longer and shorter", ours, async (c) => {
  await c.create();
  await c.pub("a", "x");
  const set = (more) => ttl(c, `SET.${c.id}.${c.subject("a")}`, more);
  const counts = async (more) => Object.values(await set(more)).slice(2, 4);
  // no deadline counts as the longest
  assert.deepEqual(await counts({ ttl: "1h", if: "set" }), [0, 1]);
  assert.equal((await life(c, "a")).state, "none");
  assert.deepEqual(await counts({ ttl: "1h", if: "longer" }), [0, 1]);
  assert.deepEqual(await counts({ ttl: "2h", if: "shorter" }), [1, 0]);
  assert.deepEqual(await counts({ ttl: "1h", if: "unset" }), [0, 1]);
  assert.deepEqual(await counts({ ttl: "1h", if: "longer" }), [0, 1]);
  assert.deepEqual(await counts({ ttl: "3h", if: "longer" }), [1, 0]);
  assert.deepEqual(await counts({ ttl: "4h", if: "shorter" }), [0, 1]);
  assert.deepEqual(await counts({ ttl: "1h", if: "shorter" }), [1, 0]);
  assert.deepEqual(await counts({ ttl: "5h", if: "set" }), [1, 0]);
  const r = await set({ ttl: "1h", if: "unset" });
  assert.ok(r.left_ms > 4 * HOUR, "a skipped one tells of the deadline it keeps");
  await ttl(c, `PERSIST.${c.id}.${c.subject("a")}`);
  assert.deepEqual(await counts({ ttl: "1h", if: "set" }), [0, 1]);
  assert.deepEqual(await counts({ ttl: "1h", if: "unset" }), [1, 0]);
  await refusal(c, `SET.${c.id}.${c.subject("a")}`, { ttl: "1h", if: "bigger" }, BAD("if must be set, unset, longer or shorter"));
});

plain("SET obeys the bounds of the policy", ours, async (c) => {
  await c.create(policy({ default: "24h", min: "1m", max: "48h" }));
  await c.pub("a", "x");
  const op = `SET.${c.id}.${c.subject("a")}`;
  assert.equal((await endsIn(48 * HOUR, () => ttl(c, op, { ttl: "49h" }))).clamped, true);
  assert.equal((await endsIn(60_000, () => ttl(c, op, { ttl: "1s" }))).clamped, true);
  assert.equal((await endsIn(48 * HOUR, () => ttl(c, op, { expires: "2100-01-01T00:00:00Z" }))).clamped, true);
  await c.update(policy({ default: "24h", min: "1m", max: "48h", bounds: "reject" }));
  await refusal(c, op, { ttl: "49h" }, TTL("49h0m0s is above the maximum of 48h0m0s"));
  await refusal(c, op, { ttl: "1s" }, TTL("1s is below the minimum of 1m0s"));
  await ttl(c, op, { ttl: "48h" });
});

plain("SET, TOUCH and PERSIST refuse what they cannot read", ours, async (c) => {
  await c.create(day);
  await c.pub("a", "x");
  const a = c.subject("a");
  const DURATION = TTL("not a duration of 1s to 36500d");
  for (const text of ["never", "0", "-1s", "", "x", "36501d", "1e3", "99999999999999999999", "9223372036s", "1h junk"])
    await refusal(c, `SET.${c.id}.${a}`, { ttl: text }, DURATION);
  for (const [op, body, want] of [
    ["SET", { subject: a }, BAD("give exactly one of ttl, expires")],
    ["SET", { subject: a, ttl: "1h", expires: "2100-01-01T00:00:00Z" }, BAD("give exactly one of ttl, expires")],
    ["SET", { ttl: "1h" }, ONE],
    ["TOUCH", {}, ONE],
    ["TOUCH", { subject: a, seq: 1 }, ONE],
    ["TOUCH", { subject: a, filter: a }, ONE],
    ["TOUCH", { subject: c.subject("*") }, LITERAL],
    ["TOUCH", { filter: "a..b" }, FILTER],
    ["TOUCH", { filter: a, get: true }, BAD("get goes with subject or seq")],
    ["TOUCH", { filter: a, expect_seq: 1 }, BAD("expect_seq goes with subject alone")],
    ["TOUCH", { seq: 1, expect_seq: 1 }, BAD("expect_seq goes with subject alone")],
    ["TOUCH", { seq: 1, limit: 1 }, BAD("limit and from_seq go with filter alone")],
    ["TOUCH", { subject: a, from_seq: 1 }, BAD("limit and from_seq go with filter alone")],
    ["PERSIST", { filter: a, limit: 0 }, LIMIT],
    ["PERSIST", { filter: a, limit: -1 }, LIMIT],
    ["PERSIST", { filter: a, limit: 1001 }, LIMIT],
    ["PERSIST", { filter: a, limit: 2 ** 53 }, LIMIT],
  ])
    await refusal(c, `${op}.${c.id}`, body, want);
  for (const [op, body] of [
    ["PERSIST", { subject: a, ttl: "1h" }],
    ["TOUCH", { subject: a, if: "set" }],
    ["SET", { subject: a, ttl: 3600 }],
    ["SET", { subject: a, expires: 3600 }],
    ["SET", { subject: a, expires: "tomorrow" }],
    ["TOUCH", { seq: -1 }],
    ["TOUCH", { seq: 1.5 }],
    ["TOUCH", { filter: a, limit: 1e30 }],
    ["TOUCH", "[".repeat(30000)],
    ["TOUCH", '{"get":'.repeat(8000)],
  ])
    await refusal(c, `${op}.${c.id}`, body, [400, 10025]);
  for (const op of ["SET", "TOUCH", "PERSIST"]) {
    const more = op === "SET" ? { ttl: "1h" } : {};
    await refusal(c, `${op}.${c.id}.${c.prefix}.*`, more, LITERAL);
    await refusal(c, `${op}.NO${c.id}.a`, more, [404, 10059, "stream not found"]);
    await refusal(c, `${op}.${c.id}.${c.subject("none")}`, more, NOT_FOUND);
    await refusal(c, `${op}.${c.id}`, { seq: 99, ...more }, NOT_FOUND);
    await refusal(c, `${op}.${c.id}.${a}`, { expect_seq: 7, ...more }, [400, 10071, "wrong last sequence: 1"]);
  }
  await lives(c, "a", 86400, "default");
});

plain("a sealed stream and a mirror are not changed", ours, async (c) => {
  await c.create(day);
  await c.pub("a", "x");
  const m = c.another();
  await m.create({ subjects: undefined, mirror: { name: c.id }, mirror_direct: true });
  await until("the mirror", async () => (await m.state()).messages === 1);
  const changes = [["SET", { seq: 1, ttl: "1h" }], ["TOUCH", { seq: 1 }], ["PERSIST", { seq: 1 }], ["BACKFILL", { action: "start" }]];
  for (const [op, body] of changes) await refusal(m, `${op}.${m.id}`, body, [409, 21005, "a mirror follows its origin"]);
  await c.update({ ...day, sealed: true });
  for (const [op, body] of changes) await refusal(c, `${op}.${c.id}`, body, [400, 10109, "invalid operation on sealed stream"]);
  assert.equal((await ttl(c, `GET.${c.id}`, { seq: 1 })).state, "ttl");
});

// --- TOUCH -----------------------------------------------------------------------------------------

plain("R003_17_R003_21_a_touch_renews_and_watchers_stay_silent", ours, async (c) => {
  await c.create({ ...day, allow_msg_ttl: true });
  await c.pub("a", "x", { "Nats-TTL": "100s" });
  await c.pub("b", "x");
  const told = await c.js.consumers.get(c.id, { deliver_policy: "new" });
  const before = await c.get(1);
  const r = await endsIn(100_000, () => ttl(c, `TOUCH.${c.id}.${c.subject("a")}`));
  members(r, "type stream count skipped subject seq state expires left_ms clamped");
  assert.deepEqual([r.type, r.count, r.seq], ["io.mayfly.api.v1.ttl_touch_response", 1, 1]);
  assert.deepEqual(await c.get(1), before, "the message itself is as it was");
  await endsIn(DAY, () => ttl(c, `TOUCH.${c.id}.${c.subject("b")}`));
  assert.equal((await told.info()).num_pending, 0);
  assert.equal((await c.state()).last_seq, 2);
});

plain("TOUCH makes a deadline by hand its own again, and gives none to what has none", ours, async (c) => {
  await c.create(day);
  await c.pub("a", "x");
  const touch = () => ttl(c, `TOUCH.${c.id}.${c.subject("a")}`);
  await ttl(c, `SET.${c.id}.${c.subject("a")}`, { ttl: "1h" });
  await endsIn(DAY, touch);
  assert.equal((await life(c, "a")).pinned, false);
  await ttl(c, `PERSIST.${c.id}.${c.subject("a")}`);
  const r = await touch();
  assert.deepEqual([r.count, r.skipped, r.state], [0, 1, "infinite"]);
  // the policy says never now
  await ttl(c, `SET.${c.id}.${c.subject("a")}`, { ttl: "1h" });
  await c.update(policy({ default: "never", never: "allow" }));
  assert.equal((await touch()).state, "infinite");
});

plain("TOUCH with expect_seq touches the revision that was read", ours, async (c) => {
  await c.create(day);
  const op = `TOUCH.${c.id}.${c.subject("a")}`;
  await refusal(c, op, { expect_seq: 3 }, [400, 10071, "wrong last sequence: 0"]);
  await refusal(c, op, { expect_seq: 0 }, NOT_FOUND);
  await c.pub("a", "x");
  await c.pub("a", "x");
  await refusal(c, op, { expect_seq: 1 }, [400, 10071, "wrong last sequence: 2"]);
  assert.equal((await ttl(c, op, { expect_seq: 2 })).seq, 2);
  // writes that are on their way count
  const acks = Promise.all([c.pub("a", "y"), c.pub("a", "y")]);
  assert.equal((await ttl(c, op)).seq, 4);
  await acks;
});

plain("TOUCH with get answers the message", ours, async (c) => {
  await c.create(day);
  await c.pub("a", "body", { My: "header" });
  const get = (op, body) => c.nc.request(`$MAYFLY.TTL.TOUCH.${c.id}${op}`, JSON.stringify({ get: true, ...body }), { timeout: LIMIT_MS });
  for (const m of [await get(`.${c.subject("a")}`), await get("", { seq: 1 })]) {
    assert.equal(m.string(), "body");
    assert.deepEqual(["My", "Nats-Stream", "Nats-Subject", "Nats-Sequence"].map((h) => m.headers.get(h)), ["header", c.id, c.subject("a"), "1"]);
  }
  const r = await life(c, "a");
  assert.ok(ms(r.expires) - ms(r.time) > DAY, JSON.stringify(r));
  assert.equal((await get(`.${c.subject("none")}`)).json().error.err_code, 10037);
});

plain("a filter changes the last message of each subject, page by page", ours, async (c) => {
  await c.create({ ...policy({ default: "24h", scope: "message" }), max_msgs_per_subject: 2 });
  for (let i = 0; i < 25; i++) await Promise.all([c.pub(`k.${i}`, "1"), c.pub(`k.${i}`, "2")]);
  await c.pub("other", "x");
  await ttl(c, `PERSIST.${c.id}.${c.subject("k.3")}`);
  let [count, skipped, from_seq, n] = [0, 0, 0, 0];
  for (let r = { more: true }; r.more; n++) {
    r = await ttl(c, `SET.${c.id}`, { filter: c.subject("k.>"), ttl: "1h", if: "set", limit: 10, ...(from_seq && { from_seq }) });
    members(r, r.more ? "type stream count skipped more from_seq" : "type stream count skipped");
    assert.ok(r.count + r.skipped <= 10);
    count += r.count;
    skipped += r.skipped;
    from_seq = r.from_seq;
  }
  assert.deepEqual([count, skipped, n], [24, 1, 3]);
  const s = await ttl(c, `STATS.${c.id}`);
  assert.deepEqual([s.expiring_next_hour, s.pinned, s.items_infinite_ttl], [24, 25, 1], "older revisions are left alone");
  assert.deepEqual(Object.values(await ttl(c, `TOUCH.${c.id}`, { filter: c.subject("nothing.>") })).slice(2), [0, 0]);
});

// --- PERSIST ---------------------------------------------------------------------------------------

plain("R003_19_R003_32_PERSIST_keeps_a_message_for_ever", ours, async (c) => {
  await c.create({ ...policy({ default: "2s" }) });
  await c.pub("a", "x");
  const end = await c.pub("b", "x");
  const r = await ttl(c, `PERSIST.${c.id}.${c.subject("a")}`);
  members(r, "type stream count skipped subject seq state clamped");
  assert.deepEqual([r.type, r.state], ["io.mayfly.api.v1.ttl_persist_response", "infinite"]);
  await c.gone(end);
  const g = await life(c, "a");
  assert.deepEqual([g.state, g.pinned], ["infinite", true]);
});

scenario("an operator who denies never denies PERSIST", ours, async (t) => {
  const { stream } = await ownServer(t, { config: `ttl { never: deny }\n` });
  const c = stream("S");
  await c.create(day);
  await c.pub("a", "x");
  await refusal(c, `PERSIST.S.${c.subject("a")}`, "", TTL("never is not allowed here by the server"));
  await lives(c, "a", 86400, "default");
});

// --- durable ---------------------------------------------------------------------------------------

scenario("R000_41_what_SET_TOUCH_and_PERSIST_answered_survives_a_kill_and_is_counted", ours, async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("S");
  await c.create({ ...day, allow_msg_ttl: true });
  for (const k of ["set", "touch", "persist", "past"]) await c.pub(k, "x", k === "past" ? {} : { "Nats-TTL": "100000s" });
  const set = await ttl(c, `SET.S.${c.subject("set")}`, { ttl: "7h" });
  await ttl(c, `SET.S.${c.subject("past")}`, { expires: "1970-01-01T00:00:00Z" });
  await ttl(c, `PERSIST.S.${c.subject("persist")}`);
  const touch = await ttl(c, `TOUCH.S.${c.subject("touch")}`);
  await s.kill();
  await s.startAgain();
  s.killed = false;
  c = (await onServer(t, s)).stream("S");
  const got = await Promise.all(["set", "touch", "persist"].map((k) => life(c, k)));
  assert.deepEqual(got.map((r) => [r.state, r.expires, r.pinned]), [["ttl", set.expires, true], ["ttl", touch.expires, false], ["infinite", undefined, true]]);
  await refusal(c, `GET.S.${c.subject("past")}`, "", NOT_FOUND);
  await refusal(c, `TOUCH.S.${c.subject("past")}`, "", NOT_FOUND);
  const { items_infinite_ttl, pinned } = await ttl(c, "STATS.S");
  assert.deepEqual([items_infinite_ttl, pinned], [1, 2]);
});

scenario("killed amid changes, pages are whole and the last acknowledged change of a key stays", ours, async (t) => {
  const { s, stream } = await ownServer(t);
  let c = stream("S");
  await c.create(day);
  const K = 50;
  for (const kind of ["one", "page"]) await Promise.all(Array.from({ length: K }, (_, i) => c.pub(`${kind}.${i}`, "x")));
  const base = Date.now() + HOUR;
  // each change has a moment of its own: sent[i] in order, acked[i] the number of the last one answered
  const [sent, acked] = [Array(K + 1).fill(0), Array(K + 1).fill(0)];
  const moment = (n) => base + n * 1000;
  const change = async (i) => {
    const body = () => ({ expires: new Date(moment(++sent[i])).toISOString() });
    try {
      for (;;) {
        const n = sent[i] + 1;
        if (i < K) await ttl(c, `SET.S.${c.subject(`one.${i}`)}`, body());
        else await ttl(c, "SET.S", { filter: c.subject("page.*"), limit: 1000, ...body() });
        acked[i] = n;
      }
    } catch (e) {
      assert.ok(s.gone || s.killed, e.message); // the connection ended with the server
    }
  };
  const all = Array.from({ length: K + 1 }, (_, i) => change(i));
  await until("every one to be changed", () => acked.every((n) => n > 2));
  await s.kill();
  await Promise.all(all);
  await s.startAgain();
  s.killed = false;
  c = (await onServer(t, s)).stream("S");
  const within = (r, i) => assert.ok(ms(r.expires) >= moment(acked[i]) && ms(r.expires) <= moment(sent[i]), `${r.subject}: ${r.expires}, acknowledged ${acked[i]}, sent ${sent[i]}`);
  for (let i = 0; i < K; i++) within(await life(c, `one.${i}`), i);
  const pages = await Promise.all(Array.from({ length: K }, (_, i) => life(c, `page.${i}`)));
  assert.equal(new Set(pages.map((r) => r.expires)).size, 1, "a page is one batch");
  within(pages[0], K);
});
