// ttl_out.mjs: how lifetimes leave the server: /metrics, /ttlz, the time left on reads, and headers for
// mirrors, sources and backups.  Names of scenarios begin with the requirements they show.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import fs from "node:fs";
import { jetstream } from "@nats-io/jetstream";
import { other, restore, snapshot } from "./lib/backup.mjs";
import { add, look, tryAdd } from "./lib/consumer.mjs";
import { mirrorOf, reaches, sourceOf } from "./lib/copies.mjs";
import { group, jetstreamBlock, onServer } from "./lib/js.mjs";
import { nanoseconds } from "./lib/stamp.mjs";
import { parseMetrics } from "./lib/prometheus.mjs";
import { scenario } from "./lib/scenario.mjs";
import { policy } from "./lib/ttl.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const ours = { only: "mayfly" };
const ttl = async (c, op, body = {}) => {
  const r = JSON.parse((await c.nc.request(`$MAYFLY.TTL.${op}.${c.id}`, JSON.stringify(body), { timeout: LIMIT_MS })).string());
  assert.equal(r.error, undefined, `${op}: ${JSON.stringify(r.error)}`);
  return r;
};

// --- /metrics --------------------------------------------------------------------------------------

const ACCOUNTS = `accounts {
  APP { jetstream: enabled, users: [ { user: a, password: a } ] }
  B { jetstream: enabled, users: [ { user: b, password: b } ] }
  SYS { users: [ { user: s, password: s } ] }
}
system_account: SYS\n`;
const withAccounts = (t) => t.server({ config: `${jetstreamBlock()}${ACCOUNTS}`, monitor: true });
const as = async (t, s, user) => (await onServer(t, s, { user, pass: user })).stream("S");

// value(NAME, { LABEL: VALUE }) of /metrics as it is now.
async function metrics(s) {
  const text = (await s.page("/metrics")).text;
  const all = parseMetrics(text);
  const of = (name) => all.get(name.replace(/_(bucket|sum|count)$/, ""))?.samples ?? all.get(name)?.samples ?? [];
  const value = (name, labels = {}) =>
    of(name).find((x) => x.name === name && Object.entries(labels).every(([k, v]) => x.labels[k] === v))?.value;
  return Object.assign(value, { all, text });
}

// 10 with a TTL, 2 infinite, 3 without: those were stored before the policy.
async function fill(c) {
  await c.create({ allow_msg_ttl: true });
  for (let i = 0; i < 3; i++) await c.pub(`old.${i}`, "x");
  await c.update(policy({ default: "1h", max: "2h", never: "allow" }, { allow_msg_ttl: true }));
  for (let i = 0; i < 9; i++) await c.pub(`new.${i}`, "x");
  await c.pub("long", "x", { "Nats-TTL": "48h" });
  for (let i = 0; i < 2; i++) await c.pub(`ever.${i}`, "x", { "Nats-TTL": "never" });
}

scenario("R000_39_R000_40_R000_41_R000_47_metrics_count_messages_by_the_state_of_their_end", ours, async (t) => {
  const s = await withAccounts(t);
  const [a, b] = [await as(t, s, "a"), await as(t, s, "b")];
  await fill(a);
  await b.create({ allow_msg_ttl: true });
  await b.pub("x", "x");
  const m = await metrics(s);
  const items = (account) => ["with", "infinite", "without"].map((state) => m("mayfly_stream_ttl_items", { account, stream: "S", state }));
  assert.deepEqual(items("APP"), [10, 2, 3]);
  assert.deepEqual(items("B"), [0, 0, 1]);
  const of = (name, more) => m(`mayfly_stream_ttl_${name}`, { account: "APP", ...more });
  assert.deepEqual([of("decided_total", { by: "default" }), of("decided_total", { by: "client" })], [9, 3]);
  assert.deepEqual([of("clamped_total"), of("rejected_total"), of("governed"), of("policy_valid"), of("enforce")], [1, 0, 1, 1, 2]);
  assert.deepEqual(["governed", "policy_valid", "enforce"].map((k) => m(`mayfly_stream_ttl_${k}`, { account: "B" })), [0, 1, 0]);
  const next = of("next_expiry_seconds");
  assert.ok(next > 0 && next <= 3600, `${next}: at the earliest`);
  assert.equal(m("mayfly_stream_ttl_next_expiry_seconds", { account: "B" }), undefined, "nothing ends there");
});

scenario("metrics: what was changed by hand, refused, or only looked at", ours, async (t) => {
  const s = await t.server({ config: jetstreamBlock(), monitor: true });
  const c = (await onServer(t, s)).stream("S");
  const keys = { default: "1h", max: "2h", bounds: "reject" };
  await c.create(policy(keys, { allow_msg_ttl: true }));
  for (const k of ["a", "b", "d"]) await c.pub(k, "x");
  await ttl(c, "SET", { subject: c.subject("a"), ttl: "30m" });
  await ttl(c, "TOUCH", { filter: c.subject(">") });
  await ttl(c, "PERSIST", { subject: c.subject("b") });
  assert.equal((await c.ack("a", "x", { "Nats-TTL": "48h" })).error.err_code, 10165);
  await c.update(policy({ ...keys, enforce: "audit" }, { allow_msg_ttl: true }));
  await c.pub("a", "x", { "Nats-TTL": "48h" });
  await c.pub("a", "x");
  const m = await metrics(s);
  const of = (name, more) => m(`mayfly_stream_ttl_${name}`, more);
  assert.equal(of("set_total"), 1);
  assert.equal(of("touched_total", { by: "read" }), 0);
  assert.ok(of("touched_total", { by: "api" }) >= 1);
  assert.deepEqual([of("persisted_total"), of("rejected_total"), of("enforce")], [1, 1, 1]);
  assert.deepEqual(["set", "clamp", "reject"].map((would) => of("audit_total", { would })), [1, 0, 1]);
});

scenario("R000_03_metrics_count_the_bytes_that_expired_and_how_late", ours, async (t) => {
  const s = await t.server({ config: jetstreamBlock(), monitor: true });
  const c = (await onServer(t, s)).stream("S");
  await c.create({ allow_msg_ttl: true });
  for (let i = 0; i < 5; i++) await c.pub(`k.${i}`, "x".repeat(1000), { "Nats-TTL": "1" });
  const bytes = (await c.state()).bytes;
  let m;
  await until("the end of all five", async () => (m = await metrics(s))("mayfly_stream_expired_total") === 5);
  assert.equal(m("mayfly_stream_expired_bytes_total"), bytes);
  const late = "mayfly_jetstream_expiry_late_seconds";
  const counts = m.all.get(late).samples.filter((x) => x.name === `${late}_bucket`);
  assert.deepEqual(counts.map((x) => x.labels.le), ["0.0005", "0.001", "0.002", "0.005", "0.01", "0.05", "0.1", "0.5", "1", "5", "+Inf"]);
  assert.deepEqual(counts.map((x) => x.value), counts.map((x) => x.value).sort((x, y) => x - y), "they are sums");
  assert.deepEqual([counts.at(-1).value, m(`${late}_count`)], [5, 5]);
  assert.ok(m(`${late}_sum`) > 0);
});

scenario("metrics: dead letters and warnings are counted", ours, async (t) => {
  const s = await t.server({ config: jetstreamBlock(), monitor: true });
  const c = (await onServer(t, s)).stream("S");
  await c.create(policy({ default: "1s", on_expire: "dead", rules: [{ subject: "dead.>", ttl: "1h" }] }, { subjects: ["s.>", "dead.s.>"] }));
  await c.pub("a", "x");
  let m;
  await until("the dead letter", async () => (m = await metrics(s))("mayfly_stream_ttl_dead_letters_total", { result: "stored" }) === 1);
  assert.equal(m("mayfly_stream_ttl_dead_letters_total", { result: "dropped" }), 0);
  assert.equal(m("mayfly_stream_ttl_warned_total"), 0);
});

scenario("R000_43_R000_44_R000_46_metrics_tell_what_ends_within_an_hour_and_a_day", ours, async (t) => {
  const s = await t.server({ config: jetstreamBlock(), monitor: true });
  const { jsm, stream } = await onServer(t, s);
  const [c, gone] = [stream("S"), stream("GONE")];
  await c.create({ allow_msg_ttl: true });
  for (const [k, v] of Object.entries({ a: "30m", b: "59m", c: "61m", d: "23h", e: "25h" })) await c.pub(k, "x".repeat(1000), { "Nats-TTL": v });
  await gone.create();
  const { bytes } = await c.state();
  let m;
  await until("the first look", async () => (m = await metrics(s))("mayfly_stream_ttl_expiring", { stream: "S" }) !== undefined);
  const of = (name) => ["1h", "1d"].map((within) => m(`mayfly_stream_ttl_${name}`, { account: "$G", stream: "S", within }));
  assert.deepEqual(of("expiring"), [2, 4]);
  assert.deepEqual(of("expiring_bytes"), [(bytes / 5) * 2, (bytes / 5) * 4]);
  const st = await ttl(c, "STATS");
  assert.deepEqual([st.expiring_next_hour, st.expiring_next_day, st.bytes_to_expire_soon], [2, 4, (bytes / 5) * 4]);
  assert.equal(m("mayfly_stream_ttl_expiring", { stream: "GONE", within: "1d" }), 0);
  await jsm.streams.delete("GONE");
  assert.equal((await metrics(s))("mayfly_stream_ttl_expiring", { stream: "GONE" }), undefined);
});

scenario("R000_68_every_metric_of_the_alerts_and_the_dashboard_exists", ours, async (t) => {
  const s = await withAccounts(t);
  await fill(await as(t, s, "a"));
  let m;
  await until("the first look ahead", async () => (m = await metrics(s)).all.has("mayfly_stream_ttl_expiring"));
  const file = (name) => fs.readFileSync(new URL(`../../${name}`, import.meta.url), "utf8");
  const asked = ["conf/prometheus/mayfly-ttl.rules.yml", "conf/grafana/mayfly-ttl.json"].flatMap((f) => file(f).match(/\bmayfly_[a-z_]+/g));
  assert.ok(new Set(asked).size > 10);
  for (const name of new Set(asked))
    assert.ok(m.all.has(name) || m.all.has(name.replace(/_bucket$/, "")), `/metrics has no ${name}`);
  for (const line of file("test/prometheus/metrics.txt").split("\n").filter((l) => l !== "" && !l.startsWith("#"))) {
    const [name, type, label] = line.split(" ");
    assert.equal(m.all.get(name)?.type, type, name);
    if (label !== undefined) assert.ok(m.all.get(name).samples.every((x) => x.labels[label] !== undefined), `${name} has ${label}`);
  }
});

scenario("promtool accepts what /metrics says about lifetimes", ours, async (t) => {
  const s = await withAccounts(t);
  await fill(await as(t, s, "a"));
  const { text } = await metrics(s);
  const mine = text.split("\n").filter((l) => /mayfly_(stream_ttl|stream_expired_bytes|jetstream_expiry_late_seconds)/.test(l));
  assert.ok(mine.length > 30);
  execFileSync(process.env.PROMTOOL ?? "promtool", ["check", "metrics"], { input: `${mine.join("\n")}\n`, stdio: "pipe" });
});

// --- /ttlz -----------------------------------------------------------------------------------------

scenario("R000_13_ttlz_shows_the_policies_of_all_accounts_and_their_counts", ours, async (t) => {
  const s = await withAccounts(t);
  const [a, b] = [await as(t, s, "a"), await as(t, s, "b")];
  await fill(a);
  await b.create();
  const page = async (query = "") => (await s.page(`/ttlz${query}`)).json;
  const names = (p) => p.streams.map((x) => `${x.account}/${x.stream}`);
  const all = await page();
  assert.deepEqual([all.total, all.offset, all.limit, names(all), all.clock], [2, 0, 100, ["APP/S", "B/S"], { steps: 0 }]);
  const one = all.streams[0];
  assert.deepEqual([one.governed, one.valid, one.policy.default, one.origin.default, one.policy.max], [true, true, "1h0m0s", "stream", "2h0m0s"]);
  const { items_with_ttl, items_infinite_ttl, items_without_ttl, totals, total_bytes } = one.stats;
  assert.deepEqual([items_with_ttl, items_infinite_ttl, items_without_ttl, totals.clamped], [10, 2, 3, 1]);
  assert.equal(total_bytes, (await a.state()).bytes);
  assert.deepEqual(names(await page("?acc=B")), ["B/S"]);
  assert.deepEqual([names(await page("?stream=S")).length, names(await page("?stream=T")).length], [2, 0]);
  const second = await page("?offset=1&limit=1");
  assert.deepEqual([names(second), second.total], [["B/S"], 2]);
  for (const q of ["?limit=1001", "?limit=0", "?offset=-1", "?limit=x"]) assert.equal((await s.page(`/ttlz${q}`)).status, 400, q);
});

scenario("R000_13_the_system_account_may_ask_for_ttlz", ours, async (t) => {
  const s = await withAccounts(t);
  await fill(await as(t, s, "a"));
  const sys = await t.connect(s, { user: "s", pass: "s" });
  const ask = async (body) => JSON.parse((await sys.request(`$SYS.REQ.SERVER.${sys.info.server_id}.TTLZ`, body, { timeout: LIMIT_MS })).string());
  const all = await ask("");
  assert.deepEqual([all.data.server_id, all.data.total, all.data.streams[0].stats.items_with_ttl], [sys.info.server_id, 1, 10]);
  assert.equal((await ask('{"account":"B"}')).data.total, 0);
  assert.deepEqual((await ask('{"limit":5000}')).error.code, 400);
});

// --- the time left on reads ------------------------------------------------------------------------

const plain = group();
const SHOW = { "Mayfly-TTL": "show" };
const block = (hdr) => ({ encode: () => Buffer.from(`NATS/1.0\r\n${Object.entries(hdr).map(([k, v]) => `${k}: ${v}\r\n`).join("")}\r\n`) });
const shown = (h) => [h.get("Mayfly-Expires"), h.get("Mayfly-TTL-Left")];
const directly = (c, tail, body, hdr) =>
  c.nc.request(`$JS.API.DIRECT.GET.${c.id}${tail}`, body, { timeout: LIMIT_MS, headers: hdr && block(hdr) });

// Expires an hour after the message's time, and what is left of it is less than that and not much less.
function lastsAnHour(time, expires, left) {
  assert.equal(Date.parse(expires) - Date.parse(time), 3600_000, `${time} ${expires}`);
  assert.match(left, /^\d+\.\d{3}$/);
  assert.ok(Number(left) > 3600 - LIMIT_MS / 1000 && Number(left) <= 3600, left);
}

async function three(c) {
  await c.create(policy({ default: "1h", never: "allow" }, { allow_msg_ttl: true }));
  await c.pub("a", "x");
  await c.pub("b", "x", { "Nats-TTL": "never", Mine: "1" });
  await c.update(policy({ enforce: "off" }, { allow_msg_ttl: true }));
  await c.pub("c", "x");
}

plain("a direct get shows the time left if it is asked to, and nothing otherwise", ours, async (c) => {
  await three(c);
  const a = await directly(c, `.${c.subject("a")}`, "", SHOW);
  lastsAnHour(a.headers.get("Nats-Time-Stamp"), ...shown(a.headers));
  const b = await directly(c, "", JSON.stringify({ last_by_subj: c.subject("b") }), SHOW);
  assert.deepEqual([...shown(b.headers), b.headers.get("Mine")], ["never", "", "1"]);
  assert.deepEqual(shown((await directly(c, "", '{"seq":3}', SHOW)).headers), ["none", ""]);
  for (const hdr of [undefined, { "Mayfly-TTL": "hide" }])
    assert.deepEqual(shown((await directly(c, `.${c.subject("a")}`, "", hdr)).headers), ["", ""]);
  const bare = await directly(c, "", '{"seq":1,"no_hdr":true}', SHOW);
  assert.equal(bare.headers?.get("Mayfly-Expires") ?? "", "");
});

plain("searches and batches of direct gets show the time left, too", ours, async (c) => {
  await three(c);
  const next = await directly(c, "", JSON.stringify({ next_by_subj: c.subject("*"), seq: 1 }), SHOW);
  lastsAnHour(next.headers.get("Nats-Time-Stamp"), ...shown(next.headers));
  const many = async (body) => {
    const got = [];
    const sub = c.nc.subscribe(`in.${c.id}.*`);
    const reply = `in.${c.id}.${Math.random().toString(36).slice(2)}`;
    c.nc.publish(`$JS.API.DIRECT.GET.${c.id}`, JSON.stringify(body), { reply, headers: block(SHOW) });
    for await (const m of sub) {
      if (m.headers.code === 204) break;
      got.push(m.headers);
    }
    sub.unsubscribe();
    return got;
  };
  for (const body of [{ seq: 1, batch: 10 }, { multi_last: [c.subject(">")] }]) {
    const got = await many(body);
    assert.equal(got.length, 3, JSON.stringify(body));
    lastsAnHour(got[0].get("Nats-Time-Stamp"), ...shown(got[0]));
    assert.deepEqual([shown(got[1]), shown(got[2])], [["never", ""], ["none", ""]]);
  }
});

plain("MSG.GET puts the time left into hdrs if it is asked to", ours, async (c) => {
  await three(c);
  const get = async (body, hdr) => {
    const r = await c.api(`STREAM.MSG.GET.${c.id}`, body, hdr);
    return { ...r.message, text: Buffer.from(r.message.hdrs ?? "", "base64").toString() };
  };
  const a = await get({ seq: 1 }, SHOW);
  const m = a.text.match(/^NATS\/1\.0\r\nMayfly-Expires: (\S+)\r\nMayfly-TTL-Left: (\S+)\r\n\r\n$/);
  lastsAnHour(a.time, m?.[1], m?.[2]);
  assert.equal((await get({ last_by_subj: c.subject("b") }, SHOW)).text, "NATS/1.0\r\nNats-TTL: never\r\nMine: 1\r\nMayfly-Expires: never\r\n\r\n");
  assert.equal((await get({ seq: 3 }, SHOW)).text, "NATS/1.0\r\nMayfly-Expires: none\r\n\r\n");
  assert.equal((await get({ seq: 1 })).text, "");
  assert.equal((await get({ seq: 2 })).text, "NATS/1.0\r\nNats-TTL: never\r\nMine: 1\r\n\r\n");
  assert.equal((await get({ seq: 1, no_hdr: true }, SHOW)).text, "");
});

plain("TOUCH with get shows the new end", ours, async (c) => {
  await three(c);
  await ttl(c, "SET", { subject: c.subject("a"), ttl: "10m" });
  const m = await c.nc.request(`$MAYFLY.TTL.TOUCH.${c.id}.${c.subject("a")}`, '{"get":true}', { timeout: LIMIT_MS });
  assert.equal(m.string(), "x");
  const now = JSON.parse((await c.nc.request(`$MAYFLY.TTL.GET.${c.id}.${c.subject("a")}`, "", { timeout: LIMIT_MS })).string());
  assert.equal(m.headers.get("Mayfly-Expires"), now.expires);
  assert.ok(Number(m.headers.get("Mayfly-TTL-Left")) > 0);
});

// --- the time left on deliveries -------------------------------------------------------------------

const SHOWN = { "mayfly.ttl.show": "on" };

// A stock consumer of this kind.  Ordered ones of nats.js take no metadata from their users: they are put in on the way.
async function consumerOf(c, js, kind, metadata) {
  const name = `${kind}${metadata ? 1 : 0}`;
  if (kind === "ordered") {
    const create = js.consumers.api.add;
    js.consumers.api.add = (stream, config, ...rest) => create.call(js.consumers.api, stream, { ...config, metadata }, ...rest);
    return js.consumers.get(c.id);
  }
  const push = kind === "push";
  await add(c, { name, durable_name: name, ack_policy: "none", metadata, deliver_subject: push ? `to.${c.id}.${name}` : undefined });
  return push ? js.consumers.getPushConsumer(c.id, name) : js.consumers.get(c.id, name);
}

// The three messages, and one that is stored when the consumer has seen everything: it takes the short way.
async function deliveries(c, kind, metadata) {
  const consumer = await consumerOf(c, jetstream(c.nc, { timeout: LIMIT_MS }), kind, metadata);
  const messages = await consumer.consume();
  const got = [];
  for await (const m of messages) {
    got.push(m);
    if (got.length === 3) await c.pub("d", "x");
    if (got.length === 4) break;
  }
  await c.api(`STREAM.PURGE.${c.id}`, { filter: c.subject("d") });
  return got;
}

for (const kind of ["push", "pull", "ordered"])
  plain(`${kind}: a consumer with mayfly.ttl.show delivers the time left, others do not`, ours, async (c) => {
    await three(c);
    await c.update(policy({ default: "1h", never: "allow" }, { allow_msg_ttl: true }));
    const got = await deliveries(c, kind, SHOWN);
    for (const m of [got[0], got[3]]) lastsAnHour(m.timestamp, ...shown(m.headers));
    assert.deepEqual([...shown(got[1].headers), got[1].headers.get("Mine")], ["never", "", "1"]);
    assert.deepEqual([shown(got[2].headers), got[2].string()], [["none", ""], "x"]);
    for (const m of await deliveries(c, kind)) assert.equal(m.headers?.get("Mayfly-Expires") ?? "", "");
  });

plain("a consumer's mayfly.ttl.show is on or off, and can be changed", ours, async (c) => {
  await three(c);
  const make = (value, more = {}) => tryAdd(c, { metadata: { "mayfly.ttl.show": value }, ...more });
  const bad = await make("yes");
  assert.deepEqual([bad.error.code, bad.error.err_code, bad.error.description], [500, 10012, 'mayfly.ttl.show: "yes" is none of on, off']);
  assert.equal((await look(c)).error.err_code, 10014);
  const js = jetstream(c.nc, { timeout: LIMIT_MS });
  const next = async () => (await (await js.consumers.get(c.id, "C")).next({ expires: LIMIT_MS })).headers;
  assert.equal((await make("off")).config.metadata["mayfly.ttl.show"], "off");
  assert.equal((await next())?.get("Mayfly-Expires") ?? "", "");
  await make("on", { headers_only: true });
  const both = await next();
  assert.deepEqual([...shown(both), both.get("Nats-Msg-Size")], ["never", "", "1"]);
});

// --- the way out: mirrors, sources, backups --------------------------------------------------------

// Lives as they may be, without headers that would tell; what the copy's header must say.
async function lifetimes(c, more = {}) {
  await c.create(more);
  await c.pub("plain", "x"); // nobody decides
  await c.update(policy({ default: "1h" }, more));
  await c.pub("default", "x", { Mine: "1" });
  for (const k of ["set", "ever"]) await c.pub(k, "x");
  await ttl(c, "SET", { subject: c.subject("set"), ttl: "10m" });
  await ttl(c, "PERSIST", { subject: c.subject("ever") });
}
const NAMES = ["plain", "default", "set", "ever"];
const lifeOf = async (c, name, of) => {
  const r = JSON.parse((await c.nc.request(`$MAYFLY.TTL.GET.${c.id}.${of.subject(name)}`, "", { timeout: LIMIT_MS })).string());
  assert.equal(r.error, undefined, `${name}: ${JSON.stringify(r.error)}`);
  return r;
};
const header = (m, name) => m.hdr.match(new RegExp(`^${name}: ([^\\r]*)\\r$`, "m"))?.[1];

// Every copy ends when its original does, at most a second later, and never earlier.
async function endAlike(copy, c) {
  for (const name of NAMES) {
    const [was, is] = [await lifeOf(c, name, c), await lifeOf(copy, name, c)];
    assert.equal(is.state, was.state, name);
    if (was.state !== "ttl") continue;
    const late = nanoseconds(is.expires) - nanoseconds(was.expires);
    assert.ok(late >= 0n && late <= 1_000_000_000n, `${name}: ${late} ns`);
  }
}
// The stored headers of the original have nothing of it; those of the copy have what is needed, and no more.
async function told(copy, c) {
  const seconds = async (name) => {
    const r = await lifeOf(c, name, c);
    return String((nanoseconds(r.expires) - nanoseconds(r.time) + 999_999_999n) / 1_000_000_000n);
  };
  const get = (x, name) => x.get({ last_by_subj: c.subject(name) });
  for (const name of NAMES) assert.equal(header(await get(c, name), "Nats-TTL"), undefined, name);
  const want = { plain: undefined, default: "3600", set: await seconds("set"), ever: "never" };
  for (const name of NAMES) assert.equal(header(await get(copy, name), "Nats-TTL"), want[name], name);
  assert.equal(header(await get(copy, "default"), "Mine"), "1");
}

plain("R000_37_a_mirror_of_a_stream_with_a_policy_ends_its_copies_in_time", ours, async (c) => {
  await lifetimes(c);
  const m = c.another();
  await m.create(mirrorOf(c, {}, { allow_msg_ttl: true }));
  await reaches(m, { messages: 4 });
  await endAlike(m, c);
  await told(m, c);
  await c.pub("later", "x"); // one that the mirror is told of at once
  await reaches(m, { messages: 5 });
  assert.equal(header(await m.get(5), "Nats-TTL"), "3600");
});

plain("a header of the writer that does not lead to the deadline is replaced for a mirror", ours, async (c) => {
  await c.create(policy({ default: "1h" }, { allow_msg_ttl: true }));
  for (const k of ["kept", "set"]) await c.pub(k, "x", { A: "1", "Nats-TTL": "1h30m", B: "2" });
  await ttl(c, "SET", { subject: c.subject("set"), expires: new Date(Date.now() + 600_000).toISOString() });
  const m = c.another();
  await m.create(mirrorOf(c, {}, { allow_msg_ttl: true }));
  await reaches(m, { messages: 2 });
  assert.equal((await m.get(1)).hdr, "NATS/1.0\r\nA: 1\r\nNats-TTL: 1h30m\r\nB: 2\r\n\r\n");
  assert.match((await m.get(2)).hdr, /^NATS\/1\.0\r\nA: 1\r\nNats-TTL: (599|60[01])\r\nB: 2\r\n\r\n$/);
});

plain("a source of a stream with a policy is told its TTLs, and counts them from its own time", ours, async (c) => {
  await lifetimes(c);
  const s = c.another();
  await s.create(sourceOf(c, {}, { allow_msg_ttl: true }));
  await reaches(s, { messages: 4 });
  await told(s, c);
  const r = await lifeOf(s, "default", c);
  assert.equal(Date.parse(r.expires) - Date.parse(r.time), 3600_000);
});

plain("a header that does not count in the origin does not count in its mirror", ours, async (c) => {
  const [from, m] = [c.another(), c.another()];
  await from.create({ allow_msg_ttl: true });
  await from.pub("a", "x", { "Nats-TTL": "100" });
  await c.create(policy({ default: "1h" }, sourceOf(from)));
  await reaches(c, { messages: 1 });
  await m.create(mirrorOf(c, {}, { allow_msg_ttl: true }));
  await reaches(m, { messages: 1 });
  assert.deepEqual([header(await c.get(1), "Nats-TTL"), header(await m.get(1), "Nats-TTL")], ["100", "3600"]);
  const [audited, copy] = [c.another(), c.another()];
  await audited.create(policy({ default: "1h", enforce: "audit" }, sourceOf(from)));
  await reaches(audited, { messages: 1 });
  await copy.create(mirrorOf(audited, {}, { allow_msg_ttl: true }));
  await reaches(copy, { messages: 1 });
  assert.deepEqual([header(await audited.get(1), "Nats-TTL"), header(await copy.get(1), "Nats-TTL")], ["100", undefined]);
});

plain("consumers of clients see the headers as they were stored", ours, async (c) => {
  await lifetimes(c);
  await c.api(`CONSUMER.CREATE.${c.id}.d`, { stream_name: c.id, config: { name: "d", durable_name: "d", ack_policy: "none" } });
  const got = await (await c.js.consumers.get(c.id, "d")).fetch({ max_messages: 4, expires: LIMIT_MS });
  let n = 0;
  for await (const m of got) {
    assert.equal(m.headers?.get("Nats-TTL") ?? "", "");
    if (++n === 4) break;
  }
});

const own = async (t, program) => (await onServer(t, await t.server({ config: jetstreamBlock(), program }))).stream("S");
const carry = async (from, to, change = (x) => x) => {
  const { answer, bytes } = await snapshot(from.nc, "S");
  const r = await restore(to.nc, change(answer.config), bytes);
  assert.equal(r.error, undefined, JSON.stringify(r.error));
};

for (const allow_msg_ttl of [false, true])
  scenario(`a backup keeps the deadlines of a policy, allow_msg_ttl ${allow_msg_ttl}`, ours, async (t) => {
    const [c, copy] = [await own(t), await own(t)];
    await lifetimes(c, { allow_msg_ttl });
    await carry(c, copy);
    await endAlike(copy, c);
    await told(copy, c);
    assert.equal((await ttl(copy, "POLICY")).policy.default, "1h0m0s");
  });

scenario("a backup keeps the deadlines of a policy that is not in force", ours, async (t) => {
  const [c, copy] = [await own(t), await own(t)];
  await lifetimes(c);
  await c.update(policy({ default: "1h", enforce: "off" }));
  await carry(c, copy);
  await endAlike(copy, c);
});

scenario("a policy that is not understood here is restored out of force, and shown", ours, async (t) => {
  const [c, copy] = [await own(t), await own(t)];
  await lifetimes(c);
  await carry(c, copy, (x) => ({ ...x, metadata: { ...x.metadata, "mayfly.ttl.moon": "full" } }));
  const p = await ttl(copy, "POLICY");
  assert.deepEqual([p.valid, p.active], [false, false]);
  assert.match(p.invalid, /unknown TTL policy key "mayfly.ttl.moon"/);
  await endAlike(copy, c);
  const r = await copy.api("STREAM.CREATE.T", { name: "T", subjects: ["t"], metadata: { "mayfly.ttl.moon": "full" } });
  assert.equal(r.error.err_code, 10052, "a new stream must be right");
});

scenario("a policy that is not understood evades no bound of the server", ours, async (t) => {
  const c = await own(t);
  await lifetimes(c, { allow_msg_ttl: true });
  const s = await t.server({ config: `${jetstreamBlock()}ttl { max: "2h", never: deny }\n` });
  let copy = (await onServer(t, s)).stream("S");
  await carry(c, copy, (x) => ({ ...x, metadata: { "mayfly.ttl.moon": "full", "mayfly.ttl.default": "never" } }));
  for (const round of ["restored", "started again"]) {
    const p = await ttl(copy, "POLICY");
    assert.deepEqual([p.valid, p.active, p.governed, p.policy.max], [false, true, true, "2h0m0s"], round);
    assert.ok(p.notes.includes("the stream's own keys are not understood: those of the server alone are in force"), JSON.stringify(p));
    await copy.pub("new", "x");
    const got = await ttl(copy, "GET", { subject: copy.subject("new") });
    assert.deepEqual([got.ttl, got.decided_by], ["2h0m0s", "max"], round);
    await copy.refused("new", [400, 10165, "invalid per-message TTL: never is not allowed here"], "x", { "Nats-TTL": "never" });
    await s.kill();
    await s.start();
    copy = (await onServer(t, s)).stream("S");
  }
});

if (other) {
  scenario("a backup of a policy's stream ends in time on nats-server, and comes back", ours, async (t) => {
    const [c, theirs, back] = [await own(t), await own(t, other), await own(t)];
    await lifetimes(c, { allow_msg_ttl: true });
    await c.pub("short", "x");
    await ttl(c, "SET", { subject: c.subject("short"), ttl: "4s" });
    const end = Date.parse((await lifeOf(c, "short", c)).expires);
    await carry(c, theirs);
    await told(theirs, c);
    await carry(theirs, back);
    await endAlike(back, c);
    await told(back, c);
    await until("the end of the short one", async () => (await theirs.get({ last_by_subj: c.subject("short") })) === undefined);
    assert.ok(Date.now() >= end, "too early");
  });
}
