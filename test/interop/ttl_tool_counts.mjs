// ttl_tool_counts.mjs: what `mayfly ttl` counts: cut lists, tombstones, short histories; and what it leaves out for users who may not ask.
import assert from "node:assert/strict";
import { scenario } from "./lib/scenario.mjs";
import { expect, json, live, mayfly } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const only = { only: "mayfly" };
const JS = 'jetstream { store_dir: "DIR/js" }\n';
const start = (t, more = "") => t.server({ config: JS + more });

scenario("ttl ls: a cut list says how many there are of what was asked for", only, async (t) => {
  const s = await start(t);
  await expect(0, s, "kv", "create", "s");
  for (const [key, ttl] of [["a.1", "10m"], ["a.2", "11m"], ["b.3", "12m"], ["a.4", "5h"], ["a.5", "5h"], ["b.6", "5h"]]) await expect(0, s, "kv", "put", "s", key, "x", "--ttl", ttl);
  const last = async (...args) => (await expect(0, s, "ttl", "ls", ...args)).trimEnd().split("\n").at(-1);
  const more = "; --limit N or --all shows more";
  assert.equal(await last("s", "--within", "1h", "--limit", "2"), `the first 2 of 3 expire within 1h${more}`);
  assert.equal(await last("--within", "1h", "--limit", "2"), `the first 2 of 3 expire within 1h${more}`, "of all streams");
  assert.equal(await last("s", "--within", "1h"), "3 of 6 expire within 1h");
  assert.equal(await last("s", "--filter", "a.*", "--limit", "2"), `the first 2; more expire${more}`);
  assert.equal(await last("s", "--within", "1h", "--filter", "a.*", "--limit", "1"), `the first 1; more expire within 1h${more}`);
  assert.equal(await last("s", "--within", "30s", "--limit", "1"), "0 of 6 expire within 30s");
  assert.equal(await last("s", "--limit", "4"), `the first 4 of 6 expire${more}`);
});

scenario("ttl ls: tombstones are marked, and are no keys that expire", only, async (t) => {
  const s = await start(t);
  await expect(0, s, "kv", "create", "s", "--marker-ttl", "10m");
  await expect(0, s, "kv", "put", "s", "dies", "x", "--ttl", "1s");
  await expect(0, s, "kv", "put", "s", "lives", "x", "--ttl", "20m");
  await expect(0, s, "kv", "put", "s", "forever", "x");
  await expect(0, s, "kv", "put", "s", "kept", "x");
  await expect(0, s, "kv", "del", "s", "forever");
  await until("the end of dies", async () => (await json(s, "ttl", "show", "s", "dies")).tombstone);
  const text = await expect(0, s, "ttl", "ls", "s", "--within", "1h");
  assert.match(text, /^KEY +REV +KIND .*\ndies +\d+ +tombstone .*\nlives +\d+ +value .*\n1 expire within 1h; 1 tombstone\n$/);
  assert.match(await expect(0, s, "ttl", "ls", "--state", "never"), /\nKV_s +kept +\d+ +without +value .*\nKV_s +forever +\d+ +without +tombstone .*\n1 never expire; 1 tombstone\n$/);
  assert.match(await expect(0, s, "ttl", "ls", "s", "--limit", "1"), /\nthe first 1 of 2 expire, tombstones included; --limit N or --all shows more\n$/);
  const { items, markers } = await json(s, "ttl", "ls", "s");
  assert.deepEqual([markers, items.map((i) => i.tombstone)], [2, [true, undefined]]);
  await expect(0, s, "ttl", "ls", "s", "--within", "15m", "--fail-if-any");
  await expect(1, s, "ttl", "ls", "s", "--within", "1h", "--fail-if-any");
  assert.match(await expect(0, s, "ttl", "stats", "s"), /^ {2}of these 2 tombstones$/m);
  assert.match(await expect(0, s, "kv", "ls"), /^BUCKET +SUBJECTS .*\ns +4 /, "keys that ended are subjects as long as their markers last");
});

scenario("users who may ask for some things only: the others are left out, and that is said", only, async (t) => {
  const allow = (name, ...subjects) => `{ user: ${name}, password: p, permissions: { publish: { allow: ${JSON.stringify(subjects)} }, subscribe: ["_INBOX.>", "$JS.EVENT.>"] } }`;
  const s = await start(t, `authorization { users: [ { user: all, password: p }, ${allow("get", "$MAYFLY.TTL.GET.>")}, ${allow("list", "$MAYFLY.TTL.LIST.>", "$JS.API.STREAM.NAMES")},
    ${allow("stats", "$MAYFLY.TTL.STATS.>")}, ${allow("none", "nothing")} ] }\n`);
  const as = (name) => ["--user", name, "--password", "p"];
  await expect(0, s, "kv", "create", "s", "--ttl-policy", "default=30m", "--marker-ttl", "1m", ...as("all"));
  for (const key of ["a", "b"]) await expect(0, s, "kv", "put", "s", key, "x", ...as("all"));
  const show = await mayfly(s, "ttl", "show", "kv:s", "a", ...as("get"));
  assert.equal(show.code, 0, show.stderr);
  assert.match(show.stdout, /^a {3}rev 1 .*\n[^]* {2}TTL 30m0s by default\n$/);
  assert.equal(show.stderr, "mayfly: no answer to $MAYFLY.TTL.POLICY.KV_s: warning, origin, touch and end are left out\n");
  assert.match(await expect(0, s, "ttl", "show", "kv:s", "a", ...as("all")), /at its end: a delete marker/);
  const list = await mayfly(s, "ttl", "ls", "--within", "1h", ...as("list"));
  assert.match(list.stdout, /^STREAM +KEY +REV +WRITTEN +LEFT +EXPIRES +SIZE\nKV_s +a .*\nKV_s +b .*\n2 of 2 expire within 1h\n$/, list.stderr);
  assert.equal(list.stderr, "mayfly: no answer to $MAYFLY.TTL.GET.KV_s: SET BY is left out\n");
  assert.match(await expect(0, s, "ttl", "ls", "--within", "1h", "--limit", "1", ...as("list")), /\nthe first 1; more expire within 1h;/, "FORECAST is not permitted");
  assert.match(await expect(5, s, "ttl", "ls", ...as("none")), /publish to "\$JS\.API\.STREAM\.NAMES" .*\nmayfly: without that permission, or \$MAYFLY\.TTL\.POLICY, name a STREAM\n$/);
  const stats = await mayfly(s, "ttl", "stats", "kv:s", ...as("stats"));
  assert.deepEqual([stats.code, stats.stdout.split("\n")[0]], [0, "$G/KV_s"], stats.stderr);
  assert.match(stats.stdout, /^ {2}with TTL +2 /m);
  assert.equal(stats.stderr, "mayfly: no answer to $MAYFLY.TTL.POLICY.KV_s: the policy is left out\nmayfly: no answer to $MAYFLY.TTL.FORECAST.KV_s: bytes of the next hour are left out\n");
  const watch = live(t, s, "ttl", "watch", "kv:s", ...as("none"));
  await until("an event", async () => {
    await expect(0, s, "ttl", "policy", "s", "--set", `default=${20 + (watch.tries = (watch.tries ?? 0) + 1)}m`, ...as("all"));
    return watch.lines.length > 0;
  });
  assert.equal(await watch.end(), 0, watch.stderr);
});

scenario("ttl stats: counts of a short past say since when, and nothing is projected from them", only, async (t) => {
  const s = await start(t);
  await expect(0, s, "kv", "create", "s");
  for (const key of ["a", "b"]) await expect(0, s, "kv", "put", "s", key, "x");
  const before = await expect(0, s, "ttl", "stats", "s");
  assert.match(before, /^ {2}stored, so far +0 +0 B\n {2}so far: since 20/m, "without a policy the first question begins the count");
  assert.doesNotMatch(before, /last hour|decided/);
  await expect(0, s, "ttl", "policy", "s", "--set", "default=30m");
  await expect(0, s, "kv", "put", "s", "c", "x");
  const text = await expect(0, s, "ttl", "stats", "s", "--price", "1");
  assert.match(text, /^ {2}expired, so far +0 [^]*^ {2}stored, so far +1 +\d+ B\n {2}so far: since 20\S+ \S+Z\n {2}decided by +default 100 %/m);
  assert.doesNotMatch(text, /heading|last hour/);
  assert.match(await expect(0, s, "ttl", "stats"), /^\$G {3}1 stream$/m);
});

scenario("ttl stats: what is stored is counted without a policy, from the first question on", only, async (t) => {
  const s = await start(t);
  await expect(0, s, "kv", "create", "ttls");
  await expect(0, s, "kv", "create", "plain");
  await expect(0, s, "kv", "put", "ttls", "a", "x", "--ttl", "1h");
  assert.equal((await json(s, "ttl", "stats", "ttls")).stored_last_hour, 0);
  for (const key of ["b", "c"]) await expect(0, s, "kv", "put", "ttls", key, "x", "--ttl", "1h");
  assert.equal((await json(s, "ttl", "stats", "ttls")).stored_last_hour, 2);
  await expect(0, s, "kv", "put", "plain", "a", "x");
  assert.equal((await json(s, "ttl", "stats", "plain")).stored_last_hour, 0);
  await expect(0, s, "kv", "put", "plain", "b", "x");
  const plain = await json(s, "ttl", "stats", "plain");
  assert.deepEqual([plain.stored_last_hour, plain.bytes_stored_last_hour > 0, plain.items_without_ttl], [1, true, 2]);
});

scenario("ttl ls and show: a server's delete marker is set by nobody, it is a marker", only, async (t) => {
  const s = await start(t);
  await expect(0, s, "kv", "create", "s", "--marker-ttl", "10m");
  await expect(0, s, "kv", "put", "s", "dies", "x", "--ttl", "1s");
  await expect(0, s, "kv", "put", "s", "lives", "x", "--ttl", "5m");
  await until("the end of dies", async () => (await json(s, "ttl", "show", "s", "dies")).tombstone);
  assert.match(await expect(0, s, "ttl", "ls", "s"), /^lives +\d+ +value .* client$\n^dies +\d+ +tombstone .* marker$/m);
  assert.match(await expect(0, s, "ttl", "show", "s", "dies"), /^ {2}TTL 10m0s by marker; touching it/m);
});

scenario("ttl watch --warnings: one line for each warning", only, async (t) => {
  const s = await start(t);
  await expect(0, s, "kv", "create", "s", "--ttl-policy", "default=24h", "--ttl-policy", "warn=1h", "--ttl-policy", "max=24h");
  const all = live(t, s, "ttl", "watch", "s", "--warnings"), sums = live(t, s, "ttl", "watch", "s");
  await until("both to listen", async () => {
    await expect(0, s, "kv", "put", "s", "long", "x", "--ttl", "48h"); // clamped: an event each second
    return all.lines.length > 0 && sums.lines.length > 0;
  });
  await expect(0, s, "kv", "put", "s", "letter", "x", "--ttl", "3630s");
  await until("the sum", () => sums.lines.some((l) => /EXPIRING {2}1 {2}in 1h {2}letter$/.test(l)));
  await expect(0, s, "kv", "put", "s", "long", "x", "--ttl", "48h");
  await until("an event behind it", () => /CLAMPED/.test(all.lines.at(-1)) && all.lines.some((l) => /EXPIRING/.test(l)));
  assert.deepEqual(all.lines.filter((l) => /EXPIRING/.test(l)).map((l) => l.slice(10)), ["EXPIRING  letter  in 1h"]);
  await Promise.all([all.end(), sums.end()]);
});

scenario("ttl: refusals say what to type", only, async (t) => {
  const s = await start(t);
  assert.equal(await expect(3, s, "ttl", "ls", "nosuch"), "mayfly: stream not found: nosuch (10059)\nhint: `mayfly stream ls` lists the streams of this account\n");
  await expect(0, s, "kv", "create", "s", "--ttl-policy", "default=1h");
  await expect(0, s, "kv", "put", "s", "k", "x");
  for (const long of ["99999999h", "99999999d"]) assert.match(await expect(2, s, "ttl", "set", "s", "k", long), /is no TTL: .*; 1s to 36500d\n/);
  const hint = "hint: `mayfly ttl policy STREAM --set never=allow` allows it\n";
  assert.ok((await expect(4, s, "kv", "put", "s", "k", "x", "--ttl", "never")).endsWith(hint));
  for (const args of [["show", "s", "nokey"], ["set", "s", "nokey", "1h"], ["touch", "s", "nokey"], ["persist", "s", "nokey"]])
    assert.equal(await expect(3, s, "ttl", ...args), "mayfly: no message found: s/nokey (10037)\nhint: `mayfly ttl ls s` lists what expires, with --state never what does not\n", args[0]);
  const off = await t.server();
  assert.match(await expect(2, off, "ttl", "ls"), /^mayfly: no TTL API there: is it a Mayfly\? Then start it with -js \(nats:/);
});
