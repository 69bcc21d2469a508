// ttl_tool.mjs: `mayfly ttl ...` and `mayfly demo` as scripts run them: answers, --json, exit codes, refusals.
import assert from "node:assert/strict";
import fs from "node:fs";
import { headers } from "@nats-io/transport-node";
import { other } from "./lib/backup.mjs";
import { scenario } from "./lib/scenario.mjs";
import { expect, json, live, mayfly } from "./lib/tool.mjs";
import { ask } from "./lib/ttl_api.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const JS = 'jetstream { store_dir: "DIR/js" }\n';
const only = { only: "mayfly" };

// A server with the bucket drafts: { s, nc, put(key, ttl), get(key) }.
async function drafts(t, { metadata = {}, config = {}, more = "", options = {} } = {}) {
  const s = await t.server({ config: JS + more });
  const nc = await t.connect(s, options);
  const c = { s, nc };
  c.api = async (subject, body = "") => (await nc.request(`$JS.API.${subject}`, JSON.stringify(body))).json();
  c.create = (name, over) => c.api(`STREAM.CREATE.${name}`, { name, ...over });
  c.publish = async (subject, ttl) => {
    const h = headers();
    if (ttl) h.set("Nats-TTL", ttl);
    return (await nc.request(subject, "hello", { headers: h })).json();
  };
  c.put = (key, ttl) => c.publish(`$KV.drafts.${key}`, ttl);
  c.get = (key) => ask(c, `GET.KV_drafts.$KV.drafts.${key}`);
  const made = await c.create("KV_drafts", {
    subjects: ["$KV.drafts.>"], max_msgs_per_subject: 1, allow_msg_ttl: true, allow_direct: true, subject_delete_marker_ttl: 60e9,
    metadata: { "mayfly.ttl.default": "24h", ...metadata }, ...config,
  });
  assert.equal(made.error, undefined, JSON.stringify(made.error));
  return c;
}

scenario("ttl stats: counts by state, shares, the price of what expired", only, async (t) => {
  const c = await drafts(t);
  await c.put("a");
  await c.put("b", "30m");
  await c.put("c");
  await ask(c, "PERSIST.KV_drafts.$KV.drafts.c");
  const text = await expect(0, c.s, "ttl", "stats", "drafts", "--price", "50");
  assert.match(text, /^\$G\/KV_drafts {3}governed by default 24h \(stream\), enforce on, scope subject, warn 1h$/m);
  assert.match(text, /^ {2}with TTL +2 +66\.7 %$/m);
  assert.match(text, /^ {2}infinite +1 +33\.3 %$/m);
  assert.match(text, /^ {2}without +0 +0\.0 %$/m);
  assert.match(text, /^ {2}expiring, next hour +1 /m);
  assert.match(text, /decided by +client 33 % +default 67 %/);
  assert.match(text, /^ {2}saved +0\.00 a month/m);
  assert.doesNotMatch(text, /[█\x1b]/, "no bars and colours without a terminal");
  const doc = await json(c.s, "ttl", "stats", "drafts");
  assert.deepEqual([doc.type, doc.items_with_ttl, doc.items_infinite_ttl], ["io.mayfly.api.v1.ttl_stats_response", 2, 1]);
  assert.equal((await json(c.s, "ttl", "stats")).streams, 1);
  assert.match(await expect(0, c.s, "ttl", "stats", "drafts", "--depth", "1", "--filter", "a"), /^PREFIX .*\na +1 /m, "tokens of keys, not of $KV.drafts.");
  await expect(2, c.s, "ttl", "stats", "drafts", "--price", "much");
  await expect(2, c.s, "ttl", "stats", "--depth", "1");
});

scenario("ttl ls: by deadline, with keys instead of subjects, and page after page", only, async (t) => {
  const c = await drafts(t);
  await c.put("late");
  await c.put("soon", "30m");
  await c.put("hand");
  await ask(c, "SET.KV_drafts.$KV.drafts.hand", { ttl: "2h" });
  const lines = (await expect(0, c.s, "ttl", "ls", "drafts")).split("\n");
  assert.match(lines[0], /^KEY +REV +WRITTEN +LEFT +EXPIRES +SIZE +SET BY$/);
  assert.match(lines[1], /^soon +2 .* ago +(29m\d+s|30m) .*Z +\d+ B +client$/);
  assert.match(lines[2], /^hand +3 .* by hand$/);
  assert.match(lines[3], /^late +1 .* default$/);
  assert.equal(lines[4], "3 of 3 expire");
  assert.match(await expect(0, c.s, "ttl", "ls", "kv:drafts", "--within", "1h"), /\n1 of 3 expire within 1h\n$/);
  assert.match(await expect(0, c.s, "ttl", "ls", "KV_drafts", "--limit", "1"), /\nthe first 1 of 3 expire; --limit N or --all/);
  assert.match(await expect(0, c.s, "ttl", "ls", "drafts", "--filter", "s*"), /^0 of 3 expire$/m, "part of a token is no wildcard");
  await expect(0, c.s, "ttl", "ls", "drafts", "--state", "without", "--fail-if-any");
  await expect(1, c.s, "ttl", "ls", "drafts", "--fail-if-any");
  await expect(2, c.s, "ttl", "ls", "drafts", "--state", "odd");
  await expect(2, c.s, "ttl", "ls", "drafts", "--state", "without", "--within", "1h");
  for (let i = 0; i < 1100; i++) c.nc.publish(`$KV.drafts.many.${i}`);
  await c.nc.flush();
  const doc = await json(c.s, "ttl", "ls", "drafts", "--all");
  assert.deepEqual([doc.count, doc.items.length, doc.next], [1103, 1103, undefined]);
  assert.equal(new Set(doc.items.map((i) => i.seq)).size, 1103);
  assert.equal((await expect(0, c.s, "ttl", "ls", "drafts", "--all")).match(/ default$/gm).length, 1101);
});

scenario("ttl show: the life of one message, and its end", only, async (t) => {
  const c = await drafts(t, { config: { subjects: ["$KV.drafts.>", "dead.$KV.drafts.>"] }, metadata: { "mayfly.ttl.on_expire": "dead" } });
  await c.put("a");
  const text = await expect(0, c.s, "ttl", "show", "drafts", "a");
  assert.match(text, /^a {3}rev 1 {3}\d+ B {3}written /);
  assert.match(text, /^ {2}\S+ \S+Z {2}expires \(in (23h59m|1d)\)$/m);
  assert.match(text, /^ {2}TTL 24h0m0s by default \(stream\); touching it now would give 20/m);
  assert.match(text, /^ {2}at its end: a delete marker for 1m0s, then nothing; dead letter dead\.\$KV\.drafts\.a$/m);
  assert.equal((await json(c.s, "ttl", "show", "drafts", "a")).decided_by, "default");
  await ask(c, "PERSIST.KV_drafts.$KV.drafts.a");
  assert.match(await expect(0, c.s, "ttl", "show", "drafts", "a"), /no deadline: it never expires, on purpose\n {2}pinned/);
  assert.equal(await expect(3, c.s, "ttl", "show", "drafts", "k"), "mayfly: no message found: drafts/k (10037)\nhint: `mayfly ttl ls drafts` lists what expires, with --state never what does not\n");
  await expect(2, c.s, "ttl", "show", "drafts", "a.*");
  await c.create("AGED", { subjects: ["aged.>"], max_age: 3600e9, metadata: { "mayfly.ttl.default": "24h" } });
  await c.publish("aged.a");
  const touched = Date.parse((await expect(0, c.s, "ttl", "show", "AGED", "aged.a")).match(/would give (\S+ \S+)$/m)[1].replace(" ", "T"));
  assert.ok(touched < Date.now() + 3601e3, "max_age bounds a touch");
});

scenario("ttl set, touch, persist: one key", only, async (t) => {
  const c = await drafts(t, { metadata: { "mayfly.ttl.max": "48h", "mayfly.ttl.bounds": "reject" } });
  await c.put("k");
  assert.match(await expect(0, c.s, "ttl", "set", "drafts", "k", "1h"), /^k rev 1 expires in (1h0m0s|59m\d+s) \(20.*Z\)\n$/);
  const one = await c.get("k");
  assert.ok(one.pinned && one.left_ms > 3600000 - LIMIT_MS && one.left_ms <= 3600000, JSON.stringify(one));
  assert.match(await expect(0, c.s, "ttl", "set", "drafts", "k", "2h", "--if", "shorter"), /unchanged: --if shorter does not hold/);
  assert.match(await expect(0, c.s, "ttl", "set", "drafts", "k", "1d", "--if", "longer"), /expires in (24h0m0s|23h59m\d+s)/);
  assert.match(await expect(0, c.s, "ttl", "touch", "drafts", "k"), /^k rev 1 expires in (24h0m0s|23h59m\d+s) /);
  assert.equal(await expect(0, c.s, "ttl", "persist", "drafts", "k"), "k rev 1 does not expire any more\n");
  assert.deepEqual([(await c.get("k")).state, (await c.get("k")).pinned], ["infinite", true]);
  assert.match(await expect(0, c.s, "ttl", "touch", "drafts", "k"), /is unchanged/);
  assert.equal((await json(c.s, "ttl", "set", "drafts", "k", "3600")).count, 1, "plain seconds");
  assert.match(await expect(0, c.s, "ttl", "set", "drafts", "k", "--at", "2020-01-01T00:00:00Z"), /^k rev 1 expires now\n$/);
  await until("the end of k", async () => (await c.get("k")).tombstone === true || (await c.get("k")).error);
});

scenario("ttl set, touch, persist: bad input changes nothing, refusals in the server's words", only, async (t) => {
  const c = await drafts(t, { metadata: { "mayfly.ttl.max": "24h", "mayfly.ttl.bounds": "reject" } });
  await c.put("k");
  const before = (await c.get("k")).expires;
  assert.equal(await expect(4, c.s, "ttl", "set", "drafts", "k", "48h"),
    "mayfly: refused: invalid per-message TTL: 48h0m0s is above the maximum of 24h0m0s (10165)\n");
  assert.match(await expect(4, c.s, "ttl", "touch", "drafts", "k", "--rev", "7"), /^mayfly: refused: wrong last sequence: 1 \(10071\)$/m);
  assert.match(await expect(2, c.s, "ttl", "set", "drafts", "k"), /give a TTL or --at TIME/);
  assert.match(await expect(2, c.s, "ttl", "set", "drafts", "k", "1h", "--at", "2030-01-01T00:00:00Z"), /one of both/);
  assert.match(await expect(2, c.s, "ttl", "set", "drafts", "k", "soon"), /"soon" is no TTL/);
  assert.match(await expect(2, c.s, "ttl", "set", "drafts", "k", "never"), /mayfly ttl persist drafts k/);
  assert.match(await expect(2, c.s, "ttl", "set", "drafts", "k", "--at", "tomorrow"), /is no time like/);
  assert.match(await expect(2, c.s, "ttl", "set", "drafts", "k", "1h", "--if", "odd"), /--if must be/);
  for (const key of ["a b", "", ".k", "k.", "a..b", "a\nb"]) assert.match(await expect(2, c.s, "ttl", "persist", "drafts", key), /is no key/);
  assert.match(await expect(3, c.s, "ttl", "touch", "nothing", "k"), /^mayfly: stream not found: nothing \(10059\)$/m);
  assert.equal((await c.get("k")).expires, before);
});

scenario("ttl touch with wildcards: page after page, more than one page", only, async (t) => {
  const c = await drafts(t);
  for (let i = 0; i < 1500; i++) c.nc.publish(`$KV.drafts.alice.${i}`);
  await c.put("bob");
  assert.equal(await expect(0, c.s, "ttl", "touch", "drafts", "alice.>"), "1,500 changed, 0 skipped\n");
  assert.deepEqual(await json(c.s, "ttl", "persist", "drafts", "alice.*"), { type: "io.mayfly.api.v1.ttl_persist_response", stream: "KV_drafts", count: 1500, skipped: 0 });
  assert.equal(await expect(0, c.s, "ttl", "set", "drafts", ">", "1h", "--if", "set"), "1 changed, 1,500 skipped\n");
  await expect(2, c.s, "ttl", "touch", "drafts", "alice.*", "--rev", "1");
});

scenario("ttl forecast: buckets add up, and later ones are named", only, async (t) => {
  const c = await drafts(t);
  await c.put("a", "30m");
  await c.put("b", "90m");
  await c.put("c");
  const text = await expect(0, c.s, "ttl", "forecast", "drafts", "--within", "2h", "--buckets", "2");
  assert.match(text, /^ {2}now +1 +\d+ B\n {2}\+1h +1 +\d+ B\n {2}later 1 {4}without 0 {4}infinite 0\n$/, "nothing is projected from the first seconds of a stream");
  const doc = await json(c.s, "ttl", "forecast", "drafts", "--within", "2h", "--buckets", "2");
  assert.deepEqual(doc.buckets.map((b) => b.msgs), [1, 1]);
  assert.ok(doc.steady.msgs > 3 && doc.steady.covered_s > 0, JSON.stringify(doc.steady));
  assert.doesNotMatch(await expect(0, c.s, "ttl", "policy", "drafts", "--set", "default=12h", "--dry-run"), /heading/);
  assert.match(await expect(4, c.s, "ttl", "forecast", "drafts", "--buckets", "201"), /buckets must be 1 to 200 \(10003\)/);
});

scenario("ttl policy: shown, tried, changed, all of them", only, async (t) => {
  const c = await drafts(t, { metadata: { "mayfly.ttl.max": "30d", owner: "me" } });
  await c.put("a");
  const text = await expect(0, c.s, "ttl", "policy", "drafts");
  assert.match(text, /^default +24h0m0s +stream$/m);
  assert.match(text, /^scope +subject +built in$/m);
  assert.match(await expect(0, c.s, "ttl", "policy"), /^KV_drafts +governed by default 24h/m);
  const test = await expect(0, c.s, "ttl", "policy", "drafts", "--test", "alice.x", "--ttl", "48h");
  assert.match(test, /^test alice\.x --ttl 48h: client: 48h0m0s > max 720h0m0s: within > .*expires 20\S+ \S+Z \(48h0m0s by client\)$/m);
  assert.match(await expect(1, c.s, "ttl", "policy", "drafts", "--test", "x", "--ttl", "never"), /refused: invalid per-message TTL: never is not allowed here/);
  assert.match(await expect(0, c.s, "ttl", "policy", "drafts", "--test", "x", "--set", "default=5m", "--dry-run"), /\(5m0s by default\)/);
  const file = c.s.file("payload");
  fs.writeFileSync(file, '{"life":77}');
  const rules = 'rules=[{"ttl":"json(/life)"}]';
  assert.match(await expect(0, c.s, "ttl", "policy", "drafts", "--test", "x", "--payload", `@${file}`, "--set", rules, "--dry-run"), /\(1m17s by rule:1\)/);
  assert.match(await expect(0, c.s, "ttl", "policy", "drafts", "--set", "default=12h", "--dry-run"), /^dry run, nothing was changed[^]*from now +1 would change/m);
  assert.equal((await json(c.s, "ttl", "policy", "drafts")).policy.default, "24h0m0s");
  assert.match(await expect(0, c.s, "ttl", "policy", "drafts", "--set", "default=12h", "--set", "max="), /^default +12h0m0s +stream$/m);
  const { config } = await c.api("STREAM.INFO.KV_drafts");
  assert.deepEqual([config.metadata["mayfly.ttl.default"], config.metadata["mayfly.ttl.max"], config.metadata.owner], ["12h", undefined, "me"]);
  assert.match(await expect(4, c.s, "ttl", "policy", "drafts", "--set", "defualt=1h"), /did you mean "mayfly.ttl.default"\? \(10052\)/);
  for (const args of [["--set", "default"], ["--dry-run"], ["--ttl", "1h"], ["--test", "x", "--set", "max=1d"], ["--test", "x", "--header", "nonsense"]])
    await expect(2, c.s, "ttl", "policy", "drafts", ...args);
  assert.equal((await json(c.s, "ttl", "policy", "drafts")).policy.default, "12h0m0s");
});

scenario("ttl backfill: dry run, run, what would end at once, the job's actions", only, async (t) => {
  const c = await drafts(t);
  await c.create("EVENTS", { subjects: ["events.>"] });
  for (let i = 0; i < 10; i++) await c.publish(`events.${i}`);
  assert.match(await expect(4, c.s, "ttl", "backfill", "EVENTS", "--dry-run"), /the stream has no TTL policy \(21004\)/);
  await expect(0, c.s, "ttl", "policy", "EVENTS", "--set", "default=30d");
  assert.match(await expect(3, c.s, "ttl", "backfill", "EVENTS", "status"), /there is no backfill of this stream: EVENTS \(21002\)/);
  assert.match(await expect(0, c.s, "ttl", "backfill", "EVENTS", "--dry-run"),
    /^dry run done: which without, from now\n {3}10 seen {3}10 get a deadline \(default 10\) {3}0 unchanged {3}0 pinned {3}0 would end at once\n$/);
  assert.equal((await json(c.s, "ttl", "stats", "EVENTS")).items_without_ttl, 10);
  const { job } = await json(c.s, "ttl", "backfill", "EVENTS", "--spread", "1h", "--rate", "1000");
  assert.deepEqual([job.state, job.set, job.spread], ["done", 10, "1h0m0s"]);
  assert.match(await expect(0, c.s, "ttl", "backfill", "EVENTS", "status"), /^done: which without, from now, spread 1h\n/);
  await expect(2, c.s, "ttl", "backfill", "EVENTS", "begin");
  await expect(2, c.s, "ttl", "backfill", "EVENTS", "stop", "--dry-run");
  await expect(2, c.s, "ttl", "backfill", "EVENTS", "--which", "some");
  await expect(0, c.s, "ttl", "policy", "EVENTS", "--set", "default=1s");
  await until("a second to pass", async () => (await json(c.s, "ttl", "backfill", "EVENTS", "--dry-run", "--which", "all", "--from", "written")).job.expire_now === 10);
  assert.match(await expect(4, c.s, "ttl", "backfill", "EVENTS", "--which", "all", "--from", "written"), /would expire 10 messages at once/);
  await c.create("OLD", { subjects: ["old.>"], metadata: { "mayfly.ttl.default": "1h" } });
  await c.publish("old.1");
  await expect(0, c.s, "ttl", "policy", "OLD", "--set", "default=1s");
  await until("old.1 to be a second old", async () => (await json(c.s, "ttl", "policy", "OLD", "--set", "default=1s", "--dry-run")).backfill.from_written.expire_now === 1);
  const failed = await mayfly(c.s, "ttl", "backfill", "OLD", "--which", "all", "--from", "written"); // no dry run before: the job meets it
  assert.equal(failed.code, 4, failed.stdout + failed.stderr);
  assert.match(failed.stdout, /^failed: which all, from written\n/);
  assert.match(failed.stderr, /^mayfly: refused: .*expire/);
  assert.equal((await json(c.s, "ttl", "stats", "OLD")).items_with_ttl, 1);
  assert.match(await expect(0, c.s, "ttl", "backfill", "OLD", "--which", "all", "--from", "written", "--expire-now", "1"), / 1 ended at once$/m);
});

scenario("ttl backfill: paused, resumed and stopped while it runs", only, async (t) => {
  const c = await drafts(t);
  await c.create("EVENTS", { subjects: ["events.>"] });
  for (let i = 0; i < 3000; i++) c.nc.publish(`events.${i}`);
  await c.publish("events.last");
  await expect(0, c.s, "ttl", "policy", "EVENTS", "--set", "default=30d");
  assert.match(await expect(0, c.s, "ttl", "backfill", "EVENTS", "--rate", "1", "--no-wait"), /it goes on: mayfly ttl backfill EVENTS status/);
  assert.match(await expect(4, c.s, "ttl", "backfill", "EVENTS"), /a backfill of this stream is running \(21001\)/);
  for (const [action, state] of [["pause", "paused"], ["resume", "running"], ["stop", "stopped"]])
    assert.match(await expect(0, c.s, "ttl", "backfill", "EVENTS", action), new RegExp(`^${state}: `));
});

scenario("ttl doctor: finds each kind of mistake, and nothing where there is none", only, async (t) => {
  const c = await drafts(t);
  assert.equal(await expect(0, c.s, "ttl", "doctor"), "nothing found in 1 stream\n");
  await c.create("EVENTS", { subjects: ["events.>"] });
  await c.publish("events.1");
  await expect(0, c.s, "ttl", "policy", "EVENTS", "--set", "default=30d");
  await c.create("CACHE", { subjects: ["cache.>"], max_age: 7 * 86400e9, metadata: { "mayfly.ttl.default": "30d" } });
  await c.create("FLAGS", { subjects: ["flags.>"], max_msgs_per_subject: 5, allow_msg_ttl: true });
  await c.create("COPY", { mirror: { name: "EVENTS" } });
  await c.create("RULED", { subjects: ["ruled.>"], metadata: { "mayfly.ttl.default": "1h", "mayfly.ttl.rules": '[{"subject":"ruled.odd.>","ttl":"1m"}]' } });
  await c.publish("ruled.even");
  await c.create("KEPT", { subjects: ["kept.>"], allow_msg_ttl: true });
  await c.publish("kept.a", "never");
  await expect(0, c.s, "ttl", "policy", "KEPT", "--set", "default=1h");
  const text = await expect(1, c.s, "ttl", "doctor");
  for (const line of [
    /^WARN +EVENTS +1 message without TTL \(100\.0 %\) +mayfly ttl backfill EVENTS --dry-run$/m,
    /^WARN +CACHE +default 30d, but max_age 7d wins +raise max_age or lower the default$/m,
    /^WARN +FLAGS +history 5, scope message: an older value may come back +mayfly ttl policy FLAGS --set scope=subject$/m,
    /^NOTE +COPY +mirror: follows its origin, touches do not travel/m,
    /^WARN +RULED +none of its 1 rule decided on any of 1 message since/m,
    /^WARN +KEPT +1 infinite message, though never is denied now/m,
  ]) assert.match(text, line);
  assert.doesNotMatch(text, /KV_drafts/);
  const doc = JSON.parse((await mayfly(c.s, "ttl", "doctor", "FLAGS", "--json")).stdout);
  assert.deepEqual([doc.streams, doc.findings.length, doc.findings[0].level], [1, 1, "WARN"]);
});

scenario("ttl watch: a line for each event, lateness, warnings, one JSON document a line", only, async (t) => {
  const c = await drafts(t, { metadata: { "mayfly.ttl.default": "1h", "mayfly.ttl.warn": "5s", "mayfly.ttl.max": "1h" } });
  const text = live(t, c.s, "ttl", "watch", "drafts", "--warnings");
  const docs = live(t, c.s, "ttl", "watch", "--json");
  const one = live(t, c.s, "ttl", "watch", "drafts", "--count", "1");
  await until("both to listen", async () => {
    await c.put(`x${text.lines.length}`, "2h"); // clamped
    return text.lines.some((l) => l.includes("CLAMPED")) && docs.lines.length > 0;
  });
  await c.put("soon", "7s"); // the warning has five seconds, on a busy machine too
  await until("the end", () => text.lines.some((l) => l.includes("EXPIRED")) && docs.lines.some((l) => l.includes("ttl_expired")));
  assert.ok(text.lines.some((l) => /^\d\d:\d\d:\d\d {2}CLAMPED +\d+ {2}x.* asked for 2h0m0s, limit 1h0m0s$/.test(l)), text.lines.join("\n"));
  assert.ok(text.lines.some((l) => /EXPIRING {2}soon {2}in \d/.test(l)), text.lines.join("\n"));
  assert.ok(text.lines.some((l) => /EXPIRED +1 {2}\d+ B {2}late \d+\.\d ms {2}soon {2}markers 1$/.test(l)), text.lines.join("\n"));
  for (const line of docs.lines) assert.equal(JSON.parse(line).stream, "KV_drafts");
  assert.deepEqual([(await one.exited).code, one.lines.length], [0, 1], "--count 1");
  assert.equal(await text.end(), 0, text.stderr);
  assert.equal(await docs.end("SIGTERM"), 0, docs.stderr);
});

scenario("ttl top: without a terminal one table, N of them, or lines of JSON", only, async (t) => {
  const c = await drafts(t);
  await c.put("a", "30m");
  const text = await expect(0, c.s, "ttl", "top");
  assert.match(text, /^STREAM +EXPIRED +LATE P99 +OVERDUE +NEXT HOUR +WITH +WITHOUT\nKV_drafts +0\/s +0\.0 ms +0 +1 +1 +0$/m);
  const top = live(t, c.s, "ttl", "top", "--count", "3", "--json");
  await until("a round", () => top.lines.length > 0);
  await c.put("b", "1s");
  assert.equal((await top.exited).code, 0, top.stderr);
  const rounds = top.lines.map((l) => JSON.parse(l));
  assert.deepEqual([rounds.length, rounds[0].streams[0].stream], [3, "KV_drafts"]);
  assert.ok(rounds.some((r) => r.streams[0].expired_per_second > 0.3), top.lines.join("\n"));
});

scenario("ttl: no permission, no server, no TTL API: exit codes 5 and 2", only, async (t) => {
  const users = `authorization { users: [ { user: all, password: p },
    { user: list, password: p, permissions: { publish: { allow: ["$MAYFLY.TTL.LIST.>"] }, subscribe: "_INBOX.>" } },
    { user: app, password: p, permissions: { publish: { allow: ["$MAYFLY.TTL.GET.>", "$MAYFLY.TTL.POLICY.>"] }, subscribe: "_INBOX.>" } } ] }\n`;
  const c = await drafts(t, { more: users, options: { user: "all", pass: "p" } });
  await c.put("k");
  const app = ["--user", "app", "--password", "p"];
  await expect(0, c.s, "ttl", "show", "kv:drafts", "k", ...app);
  assert.equal(await expect(5, c.s, "ttl", "persist", "kv:drafts", "k", ...app),
    'mayfly: not permitted: publish to "$MAYFLY.TTL.PERSIST.KV_drafts.$KV.drafts.k" (ask for publish permission on $MAYFLY.TTL.PERSIST.>)\n');
  assert.equal((await c.get("k")).state, "ttl");
  assert.match(await expect(5, c.s, "ttl", "watch", "kv:drafts", ...app), /^mayfly: not permitted: .*Subscription/);
  const list = await expect(0, c.s, "ttl", "ls", "kv:drafts", "--within", "48h", "--user", "list", "--password", "p");
  assert.match(list, /^k +1 .* B\n1 of 1 expire within 2d\n$/m, "GET is not permitted: SET BY is empty");
  assert.match(await expect(5, c.s, "ttl", "show", "kv:drafts", "k", "--user", "app", "--password", "wrong"), /refused the credentials/);
  await c.s.stop();
  await expect(2, c.s, "ttl", "stats", "drafts");
});

scenario("ttl: keys of others cannot harm the terminal", only, async (t) => {
  const c = await drafts(t);
  await c.put("evil\x1b[2Jred");
  const text = await expect(0, c.s, "ttl", "ls", "drafts");
  assert.match(text, /^evil\\x1b\[2Jred /m);
  assert.ok(!text.includes("\x1b"));
});

scenario("demo: keys die, one is touched, and the bucket is removed", only, async (t) => {
  const c = await drafts(t);
  const [text, docs] = await Promise.all([expect(0, c.s, "demo", "--fast"), expect(0, c.s, "demo", "--fast", "--keep", "--json")]);
  for (const line of [
    /mayfly kv put demo_\w+ session\.alice hello --ttl 4s/,
    /warning +session\.alice +\d\.\d s left[^]*mayfly ttl touch demo_\w+ session\.alice/,
    /expired +session\.bob +delete marker, reason MaxAge, \d+\.\d ms after the deadline[^]*expired +session\.alice/,
    /mayfly ttl forecast/,
  ]) assert.match(text, line);
  const events = docs.trim().split("\n").map((l) => JSON.parse(l)).filter((d) => d.event === "expired");
  assert.deepEqual(events.map((d) => d.key).sort(), ["cart.carol", "session.alice", "session.bob"]);
  for (const d of events) assert.ok(d.late_ms >= 0 && d.late_ms < 10000, JSON.stringify(d));
  const removed = `KV_${text.match(/demo_\w+/)[0]}`, kept = `KV_${docs.match(/demo_\w+/)[0]}`;
  assert.deepEqual((await c.api("STREAM.NAMES")).streams.sort(), ["KV_drafts", kept].sort());
  assert.notEqual(removed, kept);
});

scenario("demo: without JetStream it says how to start one", only, async (t) => {
  const s = await t.server();
  assert.match(await expect(2, s, "demo", "--fast"), /JetStream is off on nats:.*mayflyd -js -sd DIR/);
});

if (other)
  scenario("ttl and demo against nats-server: no TTL API there, and the demo says what is missing", only, async (t) => {
    const s = await t.server({ config: JS, program: other });
    const nc = await t.connect(s);
    await nc.request("$JS.API.STREAM.CREATE.S", '{"name":"S","subjects":["s.>"]}');
    for (const args of [["stats", "S"], ["ls", "S"], ["show", "S", "s.a"], ["set", "S", "s.a", "1h"], ["touch", "S", "s.>"], ["persist", "S", "s.a"], ["forecast", "S"],
      ["watch", "S"], ["watch"], ["top"], ["policy", "S"], ["policy", "S", "--set", "default=1h"], ["backfill", "S"], ["doctor"], ["doctor", "S"], ["ls"], ["stats"], ["policy"]])
      assert.match(await expect(2, s, "ttl", ...args), /^mayfly: no TTL API there: is it a Mayfly\?/, args.join(" "));
    assert.equal((await nc.request("$JS.API.STREAM.INFO.S")).json().config.metadata?.["mayfly.ttl.default"], undefined);
    const text = await expect(0, s, "demo", "--fast");
    assert.match(text, /is no Mayfly: TTLs and delete markers work there; warnings, touch, .* are missing/);
    assert.match(text, /expired +cart\.carol +delete marker, reason MaxAge/);
    assert.equal((await nc.request("$JS.API.STREAM.NAMES")).json().streams.length, 1);
  });
