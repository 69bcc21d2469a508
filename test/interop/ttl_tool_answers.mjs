// ttl_tool_answers.mjs: questions that `mayfly ttl` answers with one command, of one stream and of all, and every kind of event and finding.
import assert from "node:assert/strict";
import { headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { expect, json, live, mayfly } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const only = { only: "mayfly" };

// A server with the bucket drafts and the stream EVENTS.
async function start(t, { more = "", options = {}, metadata = {} } = {}) {
  const s = await t.server({ config: `jetstream { store_dir: "DIR/js" }\n${more}` });
  const nc = await t.connect(s, options);
  const c = { s, nc };
  c.create = async (name, over) => {
    const { error } = (await nc.request(`$JS.API.STREAM.CREATE.${name}`, JSON.stringify({ name, allow_msg_ttl: true, ...over }))).json();
    assert.equal(error, undefined, JSON.stringify(error));
  };
  c.publish = async (subject, ttl) => {
    const h = headers();
    if (ttl) h.set("Nats-TTL", ttl);
    return (await nc.request(subject, "hello", { headers: h })).json();
  };
  await c.create("KV_drafts", { subjects: ["$KV.drafts.>"], max_msgs_per_subject: 1, subject_delete_marker_ttl: 60e9, metadata: { "mayfly.ttl.default": "24h", ...metadata } });
  await c.create("EVENTS", { subjects: ["ev.>"] });
  return c;
}

scenario("what expires in the next hour: one command, of all streams, the next end first", only, async (t) => {
  const c = await start(t);
  await c.publish("ev.third", "50m");
  await c.publish("$KV.drafts.second", "40m");
  await c.publish("ev.first", "30m");
  await c.publish("ev.later", "2h");
  await c.publish("$KV.drafts.day");
  const text = await expect(0, c.s, "ttl", "ls", "--within", "1h");
  assert.match(text, /^STREAM +KEY +REV +WRITTEN +LEFT +EXPIRES +SIZE +SET BY\nEVENTS +ev\.first .* client\nKV_drafts +second .* client\nEVENTS +ev\.third .*\n3 of 5 expire within 1h\n$/);
  assert.match(await expect(0, c.s, "ttl", "ls", "--limit", "2"), /\nKV_drafts +second .*\nthe first 2 of 5 expire; --limit N or --all shows more\n$/);
  assert.match(await expect(0, c.s, "ttl", "ls", "--filter", "second"), /^KV_drafts +second .*\n1 of 5 expire\n$/m, "a key of a bucket");
  const { lists } = await json(c.s, "ttl", "ls", "--within", "1h");
  assert.deepEqual(lists.map((l) => [l.stream, l.state, l.items.length]), [["EVENTS", "with", 2], ["KV_drafts", "with", 1]]);
  await expect(1, c.s, "ttl", "ls", "--within", "1h", "--fail-if-any");
  await expect(0, c.s, "ttl", "ls", "--within", "1m", "--fail-if-any");
});

scenario("which keys never expire: one command, on purpose or because nobody has set a deadline", only, async (t) => {
  const c = await start(t);
  await c.publish("ev.none");
  await c.publish("ev.never", "never");
  await c.publish("$KV.drafts.mortal");
  await c.publish("$KV.drafts.kept");
  assert.match(await expect(0, c.s, "ttl", "ls", "--state", "never", "--within", "1h").catch((e) => e.message), /--within goes with --state with alone/);
  await expect(0, c.s, "ttl", "persist", "drafts", "kept");
  assert.match(await expect(0, c.s, "ttl", "ls", "--state", "never"),
    /^STREAM +KEY +REV +STATE +WRITTEN +SIZE +SET BY\nEVENTS +ev\.never +2 +infinite .* client\nEVENTS +ev\.none +1 +without .* none\nKV_drafts +kept +2 +infinite .* by hand\n3 of 3 never expire\n$/);
  assert.match(await expect(0, c.s, "ttl", "ls", "drafts", "--state", "never"), /^kept +2 +infinite .*\n1 of 1 never expire\n$/m);
  const { lists } = await json(c.s, "ttl", "ls", "EVENTS", "--state", "never");
  assert.deepEqual(lists.map((l) => [l.state, l.total]), [["infinite", 1], ["without", 1]]);
  assert.match(await expect(2, c.s, "ttl", "ls", "--state", "immortal"), /--state must be with, without, infinite or never/);
});

scenario("what does a stream cost: messages, bytes and money, of one stream and of the account", only, async (t) => {
  const c = await start(t);
  const big = "x".repeat(500000);
  for (let i = 0; i < 10; i++) await c.nc.request(`ev.${i}`, big);
  const text = await expect(0, c.s, "ttl", "stats", "EVENTS", "--price", "1000");
  const { total_bytes } = await json(c.s, "ttl", "stats", "EVENTS");
  assert.match(text, /^ {2}stored, now +10 +4\.8 MB$/m);
  assert.ok(text.includes(`  costs        ${((total_bytes / 2 ** 30) * 1000).toFixed(2)} a month: 4.8 MB stored now (a GB is 1024 MB)\n`), text);
  assert.doesNotMatch(text, /1970|last hour|decided by|saved/, "nothing has a TTL there, so nothing is saved");
  assert.match(await expect(0, c.s, "ttl", "stats", "drafts", "--price", "1000"), /^ {2}saved {8}0\.00 a month: 0 B expired since 20/m);
  assert.match(await expect(0, c.s, "ttl", "stats", "--price", "0.000001"), /^ {2}costs {8}below 0\.01 a month: 4\.8 MB stored now \(a GB is 1024 MB\)$/m);
  assert.match(await expect(0, c.s, "ttl", "stats", "EVENTS", "--depth", "1"), /^PREFIX +ITEMS +WITH +WITHOUT +INFINITE +BYTES +AGE P50 +AGE P99\nev +10 +0 +10 +0 +4\.8 MB /m);
  assert.match(await expect(4, c.s, "ttl", "stats", "EVENTS", "--depth", "9"), /depth must be .* \(10003\)/);
  for (const [words, text] of [[["ls"], /What expires in the next hour\? +--within 1h[^]*Which keys never expire\? +--state never/], [["stats"], /What does a stream cost\? +--price/]])
    assert.match(await expect(0, c.s, "ttl", ...words, "--help"), text);
});

scenario("ttl watch: REJECTED, AUDIT, BACKFILL, POLICY, and dead letters of an EXPIRED", only, async (t) => {
  const c = await start(t, { metadata: { "mayfly.ttl.max": "24h", "mayfly.ttl.bounds": "reject" } });
  await c.create("TRIAL", { subjects: ["trial.>"], metadata: { "mayfly.ttl.default": "1h", "mayfly.ttl.enforce": "audit" } });
  await c.create("LETTERS", { subjects: ["l.>", "dead.l.>"], metadata: { "mayfly.ttl.default": "1h", "mayfly.ttl.on_expire": "dead" } });
  const w = live(t, c.s, "ttl", "watch");
  const shown = (pattern) => until(`${pattern} in ${w.lines.join("\n")}`, () => w.lines.some((l) => pattern.test(l)));
  await until("it listens", async () => {
    await c.publish("$KV.drafts.k", "48h");
    return w.lines.length > 0;
  });
  await shown(/^\d\d:\d\d:\d\d {2}REJECTED {2}KV_drafts {2}\d+ {2}\$KV\.drafts\.k.* asked for 48h0m0s, limit 24h0m0s$/);
  await c.publish("trial.a");
  await shown(/AUDIT {5}TRIAL {2}would set 1 {2}clamp 0 {2}reject 0 {2}trial\.a$/);
  await c.publish("l.a", "1s");
  await shown(/EXPIRED {3}LETTERS {2}1 {2}\d+ B {2}late \d+\.\d ms {2}l\.a {2}dead letters 1$/);
  await c.publish("ev.old");
  await expect(0, c.s, "ttl", "policy", "drafts", "--set", "default=12h");
  await shown(/POLICY {4}KV_drafts {2}changed: governed by default 12h \(stream\), enforce on, scope subject, warn 1h$/);
  await expect(0, c.s, "ttl", "policy", "EVENTS", "--set", "default=1h");
  await expect(0, c.s, "ttl", "backfill", "EVENTS");
  await shown(/BACKFILL {2}EVENTS {2}done {2}1 of 1 seen, 1 set$/);
  assert.equal(await w.end(), 0, w.stderr);
});

scenario("ttl forecast: a cliff is marked beside its part of the time", only, async (t) => {
  const c = await start(t);
  const h = headers();
  h.set("Nats-TTL", "90m");
  for (let i = 0; i < 10500; i++) c.nc.publish(`ev.${i}`, "", { headers: h });
  await c.nc.flush();
  await until("all stored", async () => (await json(c.s, "ttl", "stats", "EVENTS")).items_with_ttl === 10500);
  const text = await expect(0, c.s, "ttl", "forecast", "EVENTS", "--within", "4h", "--buckets", "4");
  assert.match(text, /^ {2}now +0 +0 B\n {2}\+1h +10,500 +\S+ KB +cliff: [\d,]+ a second at \d\d:\d\d:\d\d\n {2}\+2h +0 /m);
  assert.match(await expect(1, c.s, "ttl", "doctor", "EVENTS"), /^WARN +EVENTS +cliff: [\d,]+ messages a second expire at 20.* mayfly ttl backfill EVENTS --which all --spread 1h --dry-run$/m);
});

scenario("ttl doctor: rules behind others, notes of the marker floor and mirrors, names of accounts", only, async (t) => {
  const more = 'accounts { APP { jetstream: enabled, users: [ { user: app, password: p } ] } }\n';
  const c = await start(t, { more, options: { user: "app", pass: "p" } });
  const app = ["--user", "app", "--password", "p"];
  assert.equal(await expect(0, c.s, "ttl", "doctor", ...app), "nothing found in 2 streams\n");
  await c.create("ORDERS", { subjects: ["o.>"], subject_delete_marker_ttl: 60e9, metadata: { "mayfly.ttl.default": "30s" } });
  await c.create("COPY", { allow_msg_ttl: undefined, mirror: { name: "EVENTS" } });
  const rules = '[{"id":"all","subject":"r.>","ttl":"1h"},{"id":"tmp","subject":"r.tmp.>","ttl":"1m"}]';
  await c.create("RULED", { subjects: ["r.>"], metadata: { "mayfly.ttl.rules": rules } });
  const text = await expect(1, c.s, "ttl", "doctor", ...app);
  for (const line of [
    /^NOTE +APP\/ORDERS +TTLs below 1m0s are raised: subject_delete_marker_ttl/m,
    /^NOTE +APP\/COPY +mirror: follows its origin, touches do not travel/m,
    /^WARN +APP\/RULED +rule tmp never decides: rule all comes first +mayfly ttl policy RULED$/m,
  ]) assert.match(text, line);
  assert.match(await expect(1, c.s, "ttl", "doctor", "RULED", ...app), /^WARN +APP\/RULED .*\n$/);
  await c.create("UNUSED", { subjects: ["u.>"], metadata: { "mayfly.ttl.rules": '[{"id":"a","subject":"u.a","ttl":"1h"},{"id":"b","subject":"u.b","ttl":"1h"}]' } });
  for (const s of ["u.a", "u.a", "u.a"]) await c.nc.request(s, "");
  assert.match(await expect(1, c.s, "ttl", "doctor", "UNUSED", ...app),
    /^WARN +APP\/UNUSED\s+rule b decided on none of 3 messages since the start or the last change of the policy\s+mayfly ttl policy UNUSED --test KEY\n$/);
  const doc = JSON.parse((await mayfly(c.s, "ttl", "doctor", "RULED", "--json", ...app)).stdout);
  assert.deepEqual([doc.findings[0].stream, doc.findings[0].namespace], ["RULED", "APP/RULED"]);
  assert.equal(await expect(3, c.s, "ttl", "doctor", "NOWHERE", ...app), "mayfly: stream not found: NOWHERE (10059)\nhint: `mayfly stream ls` lists the streams of this account\n");
});

scenario("an auditor, who may only look at lifetimes: ls, stats and doctor work, changes are not permitted", only, async (t) => {
  const look = ["GET", "LIST", "STATS", "FORECAST", "POLICY"].map((op) => `"$MAYFLY.TTL.${op}.>"`).join(", ");
  const more = `authorization { users: [ { user: all, password: p },
    { user: auditor, password: p, permissions: { publish: { allow: [${look}, "$MAYFLY.TTL.STATS", "$MAYFLY.TTL.POLICY"] }, subscribe: "_INBOX.>" } } ] }\n`;
  const c = await start(t, { more, options: { user: "all", pass: "p" } });
  await c.publish("$KV.drafts.k", "30m");
  const auditor = ["--user", "auditor", "--password", "p"];
  assert.match(await expect(0, c.s, "ttl", "ls", "--within", "1h", ...auditor), /^KV_drafts +k .* client\n1 of 1 expire within 1h$/m);
  assert.match(await expect(0, c.s, "ttl", "stats", ...auditor), /2 streams/);
  const doctor = await mayfly(c.s, "ttl", "doctor", ...auditor);
  assert.deepEqual([doctor.code, doctor.stdout], [0, "nothing found in 2 streams\n"], doctor.stderr);
  assert.match(doctor.stderr, /^mayfly: no answer to \$JS\.API\.STREAM\.INFO\.EVENTS: history, mirrors and subjects are left out\n$/);
  assert.match(await expect(5, c.s, "ttl", "touch", "kv:drafts", "k", ...auditor), /ask for publish permission on \$MAYFLY\.TTL\.TOUCH\.>/);
  assert.match(await expect(5, c.s, "ttl", "ls", "drafts", ...auditor), /^mayfly: not permitted: publish to "\$JS\.API\.STREAM\.INFO\.drafts" .*\nmayfly: without that permission name a bucket kv:drafts\n$/, "it says how to name a bucket without asking");
});

scenario("--json: one document of each command, the API's answer where it is one", only, async (t) => {
  const c = await start(t);
  await c.publish("$KV.drafts.k");
  const type = (word) => `io.mayfly.api.v1.ttl_${word}_response`;
  for (const [word, ...args] of [["stats", "stats", "drafts"], ["stats", "stats"], ["list", "ls", "drafts"], ["get", "show", "drafts", "k"], ["set", "set", "drafts", "k", "1h"], ["touch", "touch", "drafts", "k"],
    ["persist", "persist", "drafts", "k"], ["forecast", "forecast", "drafts"], ["policy", "policy", "drafts"], ["policy", "policy", "drafts", "--test", "k"], ["policy", "policy", "drafts", "--set", "default=2h", "--dry-run"],
    ["policy", "policy", "drafts", "--set", "default=2h"], ["backfill", "backfill", "drafts"], ["backfill", "backfill", "drafts", "status"]])
    assert.equal((await json(c.s, "ttl", ...args)).type, type(word), args.join(" "));
  const all = await json(c.s, "ttl", "policy");
  assert.deepEqual([all.total, all.streams.map((p) => p.stream)], [2, ["EVENTS", "KV_drafts"]]);
  assert.equal((await json(c.s, "ttl", "doctor")).streams, 2);
  assert.equal((await json(c.s, "ttl", "top")).streams.length, 2);
  const refused = await mayfly(c.s, "ttl", "show", "drafts", "nothing", "--json");
  assert.deepEqual([refused.code, refused.stdout], [3, ""], "an error is no document");
});

scenario("a domain, names of buckets, and what the operator denies", only, async (t) => {
  const s = await t.server({ config: 'jetstream { store_dir: "DIR/js", domain: hub }\nttl { default: "30d", never: deny }\n' });
  const nc = await t.connect(s);
  await nc.request("$JS.API.STREAM.CREATE.KV_drafts", JSON.stringify({ name: "KV_drafts", subjects: ["$KV.drafts.>"], max_msgs_per_subject: 1, allow_direct: true }));
  await nc.request("$KV.drafts.k", "hello");
  for (const name of ["drafts", "kv:drafts", "KV_drafts"])
    for (const key of ["k", "$KV.drafts.k"]) {
      const text = await expect(0, s, "ttl", "show", name, key, "--js-domain", "hub");
      assert.match(text, /^k {3}rev 1 [^]* {2}TTL 720h0m0s by server/);
    }
  assert.match(await expect(0, s, "ttl", "ls", "--js-domain", "hub"), /^KV_drafts +k +1 .* server$/m);
  assert.match(await expect(2, s, "ttl", "ls", "--js-domain", "moon"), /^mayfly: no TTL API there: is it a Mayfly\?/);
  assert.equal(await expect(4, s, "ttl", "persist", "drafts", "k"), "mayfly: refused: invalid per-message TTL: never is not allowed here by the server (10165)\n");
  assert.match(await expect(2, s, "ttl", "show", "drafts", "k".repeat(513)), /a key of 513 bytes is too long for this tool: at most 512/);
  for (const name of ["a b", "a.b", "*", "", "kv:", "kv:a/b"]) assert.match(await expect(2, s, "ttl", "stats", name), /is no name of a stream or bucket/);
});
