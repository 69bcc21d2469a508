// ttl_moments.mjs: what happens to a life between its beginning and its end: reads that renew it, dead letters,
// warnings.  Names of scenarios begin with the requirements they show.
import assert from "node:assert/strict";
import { Kvm } from "@nats-io/kv";
import { group } from "./lib/js.mjs";
import { collect } from "./lib/scenario.mjs";
import { life, policy } from "./lib/ttl.mjs";
import { LIMIT_MS, until, within } from "./lib/wait.mjs";

const ours = { only: "mayfly" };
const check = group();
const ask = async (c, op, body = "") => (await c.nc.request(`$MAYFLY.TTL.${op}`, body, { timeout: LIMIT_MS })).json();
const totals = async (c, stream = c.id) => (await ask(c, `STATS.${stream}`)).totals;
const end = async (c, name, stream) => Date.parse((await life(c, name, stream)).expires);

// --- slide: read -----------------------------------------------------------------------------------

check("a read of the last value renews its life, a read by sequence does not", ours, async (c) => {
  await c.create(policy({ default: "32s", slide: "read" }));
  const { seq } = await c.js.publish(c.subject("a"), "x");
  const first = await end(c, "a");
  await until("a 64th of its life is used", () => Date.now() > first - 31000);
  const get = (body) => c.nc.request(`$JS.API.DIRECT.GET.${c.id}`, JSON.stringify(body), { timeout: LIMIT_MS });
  await get({ seq });
  await get({ multi_last: [c.subject("a")] });
  await c.api(`STREAM.MSG.GET.${c.id}`, { seq });
  assert.equal(await end(c, "a"), first);
  assert.equal((await get({ last_by_subj: c.subject("a") })).string(), "x");
  const second = await end(c, "a");
  assert.ok(second >= first + 1000, `${second - first}`);
  await until("a 64th of its life is used again", () => Date.now() > second - 31000);
  await c.api(`STREAM.MSG.GET.${c.id}`, { last_by_subj: c.subject("a") });
  assert.ok((await end(c, "a")) >= second + 1000);
  assert.equal((await totals(c)).touched_by_read, 2);
});

check("a bucket's get renews a key and watchers see nothing of it", ours, async (c) => {
  const stream = `KV_${c.id}`, key = `$KV.${c.id}.k`;
  const kv = await new Kvm(c.js).create(c.id, { timeout: LIMIT_MS, metadata: policy({ default: "32s", slide: "read" }).metadata });
  const revision = await kv.put("k", "v");
  const first = await end(c, key, stream);
  const seen = [];
  const watch = await kv.watch();
  (async () => { for await (const e of watch) seen.push(e.revision); })();
  await until("a 64th of its life is used", () => Date.now() > first - 31000);
  assert.equal((await kv.get("k")).revision, revision);
  assert.ok((await end(c, key, stream)) >= first + 1000);
  assert.equal(await kv.put("k", "w"), revision + 1);
  await until("the watcher knows of the write", () => seen.includes(revision + 1));
  watch.stop();
  assert.deepEqual(seen, [revision, revision + 1]);
});

// --- dead letters ----------------------------------------------------------------------------------

check("R003_20_an_expired_draft_is_readable_as_a_dead_letter", ours, async (c) => {
  const stream = `KV_${c.id}`, key = `$KV.${c.id}.x`, letters = `dead.$KV.${c.id}.>`;
  const r = await c.api(`STREAM.CREATE.${stream}`, {
    name: stream, subjects: [`$KV.${c.id}.>`, letters], allow_direct: true, allow_rollup_hdrs: true, max_msgs_per_subject: 5, discard: "new",
    ...policy({ default: "1s", on_expire: "dead", rules: [{ id: "dead", subject: letters, ttl: "7d" }] }),
  });
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  const kv = await new Kvm(c.js).open(c.id);
  await kv.put("x", "old");
  const revision = await kv.put("x", "the draft");
  const expires = (await life(c, key, stream)).expires;
  await until("the draft has ended", async () => (await kv.get("x")) === null);
  const get = () => c.nc.request(`$JS.API.DIRECT.GET.${stream}.dead.${key}`, "", { timeout: LIMIT_MS });
  const letter = await until("its letter is there", async () => { const m = await get(); return m.headers.code === 0 && m; });
  assert.equal(letter.string(), "the draft");
  assert.equal(letter.headers.get("Mayfly-Expired-Subject"), key);
  assert.equal(letter.headers.get("Mayfly-Expired-Sequence"), `${revision}`);
  assert.equal(letter.headers.get("Mayfly-Expired-At"), expires);
  assert.equal(letter.headers.get("Mayfly-Expired-Reason"), "TTL");
  const kept = await ask(c, `GET.${stream}.dead.${key}`);
  assert.equal(kept.ttl, "168h0m0s", JSON.stringify(kept));
  const t = await totals(c, stream);
  assert.deepEqual([t.dead_letters, t.dead_letters_dropped], [1, 0]);
});

// --- warnings --------------------------------------------------------------------------------------

check("R003_09_R003_16_R003_29_a_draft_is_told_of_on_its_own_subject_before_it_ends", ours, async (c) => {
  await c.create(policy({ default: "7s", warn: "5s" }));
  const events = c.nc.subscribe(`$MAYFLY.EVENT.TTL.EXPIRING.${c.id}.>`);
  await c.nc.flush();
  const { seq } = await c.js.publish(c.subject("draft"), "x");
  const expires = (await life(c, "draft")).expires;
  const m = await within("the event", events[Symbol.asyncIterator]().next());
  assert.equal(m.value.subject, `$MAYFLY.EVENT.TTL.EXPIRING.${c.id}.${c.subject("draft")}`);
  const { left_ms, ...e } = m.value.json();
  assert.deepEqual(e, { type: "io.mayfly.event.v1.ttl_expiring", stream: c.id, subject: c.subject("draft"), seq, expires, warn: "5s" });
  assert.ok(left_ms > 4500 && left_ms <= 6000, `${left_ms}`); // a machine under load may be late
  assert.equal((await totals(c)).warned, 1);
});

// --- summaries -------------------------------------------------------------------------------------

check("summaries tell what bounds, ends, changes of the policy and backfills do", ours, async (c) => {
  const events = collect(c.nc, `$JS.EVENT.ADVISORY.STREAM.TTL.*.${c.id}`);
  await c.nc.flush();
  await c.create(policy({ default: "1s", max: "24h" }, { allow_msg_ttl: true, allow_direct: true }));
  const of = (kind) => until(`${kind} of ${c.id}`, () => events.find((m) => m.subject.split(".")[5] === kind)?.json());
  await c.pub("a", "x");
  await c.ack("b", "x", { "Nats-TTL": "48h" });
  await c.ack("c", "x", { "Nats-TTL": "never" });
  const clamped = await of("CLAMPED");
  assert.equal(clamped.type, "io.mayfly.advisory.v1.ttl_clamped");
  assert.equal(clamped.stream, c.id);
  assert.equal(clamped.count, 1);
  assert.deepEqual(clamped.first, { subject: c.subject("b"), asked: "48h0m0s", limit: "24h0m0s" });
  assert.deepEqual((await of("REJECTED")).last, { subject: c.subject("c"), asked: "never", limit: "deny" });
  const expired = await of("EXPIRED");
  assert.deepEqual([expired.type, expired.count, expired.first, expired.markers, expired.dead_letters], ["io.mayfly.advisory.v1.ttl_expired", 1, { subject: c.subject("a"), seq: 1 }, 0, 0]);
  assert.ok(expired.bytes > 0 && expired.late_max_ms >= 0);
  await c.update(policy({ default: "2h", max: "24h" }, { allow_msg_ttl: true, allow_direct: true }));
  const changed = await of("POLICY");
  assert.deepEqual([changed.policy.default, changed.origin.default], ["2h0m0s", "stream"]);
  await ask(c, `BACKFILL.${c.id}`, JSON.stringify({ action: "start", which: "all" }));
  assert.equal((await of("BACKFILL")).job.state, "done");
});
