// ttl_api_access.mjs: who may ask the TTL API for what: permissions, domains, other accounts, the system account.
import assert from "node:assert/strict";
import { Kvm } from "@nats-io/kv";
import { group, jetstreamBlock, onServer, ownServer } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { LITERAL, ask, ms, refusal, ttl } from "./lib/ttl_api.mjs";
import { life, policy } from "./lib/ttl.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const ours = { only: "mayfly" };
const plain = group();
const day = policy({ default: "24h" });
const as = (user) => ({ user, pass: "p" });

// A request that the server refuses for want of a permission.
async function denied(nc, subject, body = "") {
  await assert.rejects(nc.request(subject, body, { timeout: LIMIT_MS }), /permissions violation/i, subject);
}
// The same under another name: the error has the API's own name, so no request of nats.js sees it.
async function deniedAs(nc, subject, own) {
  const got = collect(nc, `_INBOX.none.${nc.info.client_id}`);
  const before = nc.errors.length;
  nc.publish(subject, "", { reply: got.sub.getSubject() });
  await until(`the refusal of ${subject}`, () => nc.errors.length > before);
  assert.match(nc.errors.at(-1).message, /permissions violation/i);
  assert.ok(nc.errors.at(-1).message.includes(own), nc.errors.at(-1).message);
  assert.equal(got.length, 0);
  got.sub.unsubscribe();
}

const USERS = `
authorization { users: [
  { user: root, password: p },
  { user: alice, password: p, permissions: { subscribe: "_INBOX.>", publish: { allow: [
    "$MAYFLY.TTL.GET.KV_drafts.$KV.drafts.alice.>", "$MAYFLY.TTL.TOUCH.KV_drafts.$KV.drafts.alice.>" ] } } },
  { user: editor, password: p, permissions: { publish: { allow: "$MAYFLY.TTL.>", deny: ["$MAYFLY.TTL.PERSIST.>", "$MAYFLY.TTL.BACKFILL.>"] } } },
  { user: auditor, password: p, permissions: { subscribe: "_INBOX.>", publish: { allow: [
    "$MAYFLY.TTL.GET.>", "$MAYFLY.TTL.LIST.>", "$MAYFLY.TTL.STATS.>", "$MAYFLY.TTL.FORECAST.>", "$MAYFLY.TTL.POLICY.>", "$MAYFLY.TTL.POLICY", "$MAYFLY.TTL.STATS" ] } } }
] }\n`;

async function drafts(t, block = "") {
  const s = await t.server({ config: USERS + jetstreamBlock(block) });
  const root = await onServer(t, s, as("root"));
  const c = root.stream("KV_drafts");
  const kv = await new Kvm(c.js).create("drafts", { timeout: LIMIT_MS, ttl: 24 * 3600_000 });
  for (const k of ["alice.1", "bob.1"]) await kv.put(k, "text");
  const user = async (name) => ({ nc: await t.connect(s, as(name)) });
  return { s, c, kv, user };
}

scenario("R003_34_a_user_may_extend_its_own_drafts_only", ours, async (t) => {
  const { c, user } = await drafts(t);
  const alice = await user("alice");
  const own = "$KV.drafts.alice.1";
  const before = await life(c, own);
  const r = await ttl(alice, `TOUCH.KV_drafts.${own}`);
  assert.ok(ms(r.expires) >= ms(before.expires));
  assert.equal((await ttl(alice, `GET.KV_drafts.${own}`)).expires, r.expires);
  const bob = (await life(c, "$KV.drafts.bob.1")).expires;
  const S = "$MAYFLY.TTL";
  const cases = [
    [`${S}.TOUCH.KV_drafts.$KV.drafts.bob.1`], [`${S}.GET.KV_drafts.$KV.drafts.bob.1`], [`${S}.TOUCH.KV_drafts`, '{"subject":"$KV.drafts.bob.1"}'],
    [`${S}.TOUCH.KV_drafts`, '{"filter":">"}'], [`${S}.SET.KV_drafts.${own}`, '{"ttl":"1h"}'], [`${S}.PERSIST.KV_drafts.${own}`], [`${S}.LIST.KV_drafts`], [`${S}.POLICY`], [`${S}.STATS`],
  ];
  for (const [subject, body] of cases) await denied(alice.nc, subject, body);
  // neither the body nor a wildcard leads elsewhere
  for (const body of [{ subject: "$KV.drafts.bob.1" }, { seq: 2 }, { filter: "$KV.drafts.>" }]) assert.equal((await ttl(alice, `TOUCH.KV_drafts.${own}`, body)).subject, own);
  await refusal(alice, "TOUCH.KV_drafts.$KV.drafts.alice.*", "", LITERAL);
  await refusal(alice, "TOUCH.KV_drafts.$KV.drafts.alice.>", "", LITERAL);
  assert.equal((await life(c, "$KV.drafts.bob.1")).expires, bob);
});

scenario("R000_54_making_an_item_infinite_needs_a_permission_of_its_own", ours, async (t) => {
  const { c, user } = await drafts(t);
  const editor = await user("editor");
  for (const form of [".$KV.drafts.alice.1", ""]) await denied(editor.nc, `$MAYFLY.TTL.PERSIST.KV_drafts${form}`, form ? "" : '{"seq":1}');
  await denied(editor.nc, "$MAYFLY.TTL.BACKFILL.KV_drafts", '{"action":"start"}');
  assert.equal((await life(c, "$KV.drafts.alice.1")).state, "ttl");
  await ttl(editor, "SET.KV_drafts.$KV.drafts.alice.1", { ttl: "1h" });
  await refusal(editor, "SET.KV_drafts.$KV.drafts.alice.1", { ttl: "never" }, [400, 10165]);
  await ttl(c, "PERSIST.KV_drafts.$KV.drafts.alice.1");
  assert.equal((await life(c, "$KV.drafts.alice.1")).state, "infinite");
});

scenario("an auditor reads everything and changes nothing", ours, async (t) => {
  const { user } = await drafts(t);
  const auditor = await user("auditor");
  for (const op of ["GET.KV_drafts.$KV.drafts.bob.1", "LIST.KV_drafts", "STATS.KV_drafts", "FORECAST.KV_drafts", "POLICY.KV_drafts", "POLICY", "STATS"]) await ttl(auditor, op);
  for (const op of ["SET", "TOUCH", "PERSIST", "BACKFILL"]) await denied(auditor.nc, `$MAYFLY.TTL.${op}.KV_drafts`);
});

scenario("permissions hold under the name of the domain, too", ours, async (t) => {
  const { c, user } = await drafts(t, "domain: hub");
  const own = "$KV.drafts.alice.1";
  const hub = (x, op, body) => ask(x, op, body, "$MAYFLY.hub.TTL.");
  const r = await hub(c, `TOUCH.KV_drafts.${own}`);
  assert.deepEqual([r.type, r.error, r.subject], ["io.mayfly.api.v1.ttl_touch_response", undefined, own]);
  for (const op of ["GET.KV_drafts.$KV.drafts.bob.1", "LIST.KV_drafts", "STATS.KV_drafts", "FORECAST.KV_drafts", "POLICY.KV_drafts", "POLICY", "STATS"])
    assert.equal((await hub(c, op)).error, undefined, op);
  assert.equal((await hub(c, "BACKFILL.KV_drafts", { action: "status" })).error.err_code, 21002);
  assert.equal((await ask(c, "GET.KV_drafts.none")).error.err_code, 10037);
  await assert.rejects(c.nc.request("$MAYFLY.other.TTL.POLICY", "", { timeout: LIMIT_MS }), /no responders/i);
  const [alice, editor] = [await user("alice"), await user("editor")];
  for (const [nc, op] of [[alice.nc, "TOUCH.KV_drafts.$KV.drafts.bob.1"], [alice.nc, `PERSIST.KV_drafts.${own}`], [editor.nc, `PERSIST.KV_drafts.${own}`]])
    await deniedAs(nc, `$MAYFLY.hub.TTL.${op}`, `$MAYFLY.TTL.${op}`);
  assert.equal((await life(c, own)).state, "ttl");
});

const ACCOUNTS = `
accounts {
  APP { jetstream: enabled, users: [ {user: app, password: p} ], exports: [
    { service: "$MAYFLY.TTL.GET.S.>", accounts: [WEB] }, { service: "$MAYFLY.TTL.TOUCH.S.>", accounts: [WEB] },
    { service: "$MAYFLY.TTL.STATS", accounts: [WEB] } ] }
  WEB { users: [ {user: web, password: p} ], imports: [
    { service: { account: APP, subject: "$MAYFLY.TTL.GET.S.>" }, to: "ttl.get.>" }, { service: { account: APP, subject: "$MAYFLY.TTL.TOUCH.S.>" }, to: "ttl.touch.>" },
    { service: { account: APP, subject: "$MAYFLY.TTL.STATS" }, to: "ttl.stats" } ] }
  JSON { jetstream: enabled, users: [ {user: other, password: p} ] }
  SYS { users: [ {user: sys, password: p} ] }
}
system_account: SYS\n`;

scenario("R000_47_accounts_are_apart_and_ask_each_other_by_services", ours, async (t) => {
  const s = await t.server({ config: ACCOUNTS + jetstreamBlock() });
  const app = (await onServer(t, s, as("app"))).stream("S");
  const other = (await onServer(t, s, as("other"))).stream("S");
  for (const c of [app, other]) await c.create(day);
  await app.pub("a", "x");
  for (let i = 0; i < 3; i++) await other.pub(`o${i}`, "x");
  assert.deepEqual(await Promise.all([app, other].map(async (c) => Object.values(await ttl(c, "STATS.S")).slice(1, 3))), [["APP/S", 1], ["JSON/S", 3]]);
  const web = { nc: await t.connect(s, as("web")) };
  const got = await ask(web, "s.a", "", "ttl.get.");
  assert.deepEqual([got.type, got.subject, got.seq], ["io.mayfly.api.v1.ttl_get_response", "s.a", 1]);
  const r = await ask(web, "s.a", "", "ttl.touch.");
  assert.equal(r.expires, (await life(app, "a")).expires);
  assert.deepEqual((await ask(web, "s.o0", "", "ttl.touch.")).error, { code: 404, err_code: 10037, description: "no message found" });
  const sum = await ask(web, "stats", "", "ttl.");
  assert.deepEqual([sum.type, sum.namespace, sum.streams, sum.items_with_ttl], ["io.mayfly.api.v1.ttl_stats_response", "APP", 1, 1]);
  for (const op of ["GET.S.s.a", "SET.S.s.a", "TOUCH.S.s.a", "PERSIST.S.s.a", "LIST.S", "STATS.S", "STATS", "FORECAST.S", "POLICY.S", "POLICY", "BACKFILL.S"])
    await refusal(web, op, "", [503, 10039, "JetStream not enabled for account"]);
  const sys = await t.connect(s, as("sys"));
  for (const op of ["GET.S.s.a", "SET.S.s.a", "TOUCH.S.s.a", "PERSIST.S.s.a", "LIST.S", "STATS.S", "STATS", "FORECAST.S", "POLICY.S", "POLICY", "BACKFILL.S"])
    await assert.rejects(sys.request(`$MAYFLY.TTL.${op}`, "", { timeout: LIMIT_MS }), /no responders/i, op);
});

plain("changes are audited, and one request has one answer", ours, async (c) => {
  await c.create(day);
  await c.pub("a", "x");
  const audits = collect(c.nc, "$JS.EVENT.ADVISORY.API");
  const inbox = `answers.${c.id}`;
  const answers = collect(c.nc, inbox);
  const ops = [["SET", { seq: 1, ttl: "1h" }], ["TOUCH", { seq: 1, get: true }], ["PERSIST", { seq: 1 }], ["GET", { seq: 1 }], ["LIST", {}], ["STATS", {}], ["FORECAST", {}], ["POLICY", {}]];
  for (const [op, body] of ops) c.nc.publish(`$MAYFLY.TTL.${op}.${c.id}`, JSON.stringify(body), { reply: inbox });
  await until("all answers", () => answers.length >= ops.length);
  const mine = () => audits.map((m) => m.json().subject).filter((x) => x.endsWith(`.${c.id}`) && x.startsWith("$MAYFLY.TTL.")).sort();
  await until("the audits", () => mine().length >= 3);
  assert.deepEqual(mine(), ["PERSIST", "SET", "TOUCH"].map((op) => `$MAYFLY.TTL.${op}.${c.id}`));
  assert.equal(answers.length, ops.length);
  // nobody waits for these
  for (const [op, body] of ops) c.nc.publish(`$MAYFLY.TTL.${op}.${c.id}`, JSON.stringify(body));
  await c.nc.flush();
  assert.equal((await life(c, "a")).state, "infinite");
});

plain("a stream that takes requests of the TTL API does not acknowledge them", ours, async (c) => {
  await c.create(day);
  await c.pub("a", "x");
  const catcher = c.another();
  const op = `$MAYFLY.TTL.TOUCH.${c.id}.${c.subject("a")}`;
  for (const subject of [op, `$MAYFLY.TTL.TOUCH.${c.id}.>`, "$MAYFLY.TTL.>", "$MAYFLY.>"])
    await catcher.refusedConfig({ subjects: [subject] }, [500, 10052, "subjects that overlap with TTL api require no-ack to be true"]);
  await catcher.create({ subjects: [op], no_ack: true });
  const answers = collect(c.nc, `caught.${c.id}`);
  c.nc.publish(op, "", { reply: `caught.${c.id}` });
  await until("the request to be stored", async () => (await catcher.state()).messages === 1);
  await until("the answer", () => answers.length > 0);
  await c.nc.flush();
  assert.deepEqual(answers.map((m) => m.json().count), [1]);
  const events = c.another();
  await events.create({ subjects: [`$MAYFLY.EVENT.TTL.EXPIRING.${c.id}.>`] });
});

scenario("nothing brings back what is past its deadline, and nothing ends before it", ours, async (t) => {
  const { stream } = await ownServer(t);
  const c = stream("S");
  await c.create({ allow_msg_ttl: true, ...policy({ default: "1s", min: "1s" }) });
  const N = 50;
  for (let i = 0; i < N; i++) await c.pub(`k.${i}`, "x");
  // each is touched up to its last moment: alive with a new end, or gone for good
  const gone = new Set();
  await until("some to be gone", async () => {
    const at = Date.now();
    const all = await Promise.all(Array.from({ length: N }, (_, i) => ask(c, `TOUCH.S.${c.subject(`k.${i}`)}`)));
    for (const [i, r] of all.entries()) {
      if (gone.has(i)) assert.equal(r.error?.err_code, 10037, "it came back");
      else if (r.error) gone.add(i);
      else assert.ok(ms(r.expires) >= at + 990, `${r.expires} is no second from ${at}`);
    }
    if (gone.size === 0) await c.gone(1); // untouched, it ends: others may live a moment longer
    return gone.size > 0;
  });
  await c.empty();
});

// What is too much is dropped, as requests of JetStream are (request_queue_limit).
scenario("a hundred thousand pipelined touches are answered once each, or dropped", ours, async (t) => {
  const { nc, stream } = await ownServer(t);
  const c = stream("S");
  await c.create(day);
  for (let i = 0; i < 10; i++) await c.pub(`k.${i}`, "x");
  const answers = collect(nc, "answers");
  const N = 100000;
  for (let i = 0; i < N; i++) nc.publish(`$MAYFLY.TTL.TOUCH.S.s.k.${i % 10}`, "", { reply: "answers" });
  await nc.flush();
  const touched = async () => (await ttl(c, "STATS.S")).totals.touched;
  await until("as many answers as touches", async () => answers.length > 0 && (await touched()) === answers.length);
  assert.ok(answers.length >= 1000 && answers.length <= N, `${answers.length}`);
  for (const m of answers) assert.equal(m.json().count, 1);
  assert.equal((await ttl(c, "STATS.S")).items_with_ttl, 10);
});
