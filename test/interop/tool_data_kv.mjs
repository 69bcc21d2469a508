// tool_data_kv.mjs: `mayfly kv`, as scripts run it, and beside @nats-io/kv on the same bucket.
import assert from "node:assert/strict";
import fs from "node:fs";
import { Kvm } from "@nats-io/kv";
import { jetstream } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { expect, json, live, mayfly } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const JS = { config: 'jetstream { store_dir: "DIR/js" }\n' };
const only = { only: "mayfly" };

async function ready(t) {
  const s = await t.server(JS);
  const nc = await t.connect(s);
  const api = async (subject, body) => (await nc.request(`$JS.API.${subject}`, body ? JSON.stringify(body) : "")).json();
  const run = (code, ...args) => expect(code, s, "kv", ...args);
  const stream = async (b) => api(`STREAM.INFO.KV_${b}`);
  return { s, nc, api, run, stream, kvm: new Kvm(jetstream(nc)) };
}
async function all(iter) {
  const got = [];
  for await (const e of await iter) got.push(e);
  return got;
}

scenario("kv create: a bucket as the official clients make it, and its flags", async (t) => {
  const { s, run, stream, kvm } = await ready(t);
  assert.match((await mayfly(s, "kv", "ls")).stderr, /no buckets: `mayfly kv create NAME`/);
  assert.equal(await run(0, "create", "tool"), "bucket tool is created\n");
  assert.equal(await run(0, "create", "tool"), "bucket tool exists already\n");
  await kvm.create("lib", { markerTTL: 1000 });
  const [a, b] = [(await stream("tool")).config, (await stream("lib")).config];
  for (const x of ["name", "subjects", "metadata", "deny_delete"]) delete a[x], delete b[x]; // deny_delete: as the Go client
  assert.deepEqual(a, b);
  await run(0, "create", "full", "--history", "5", "--ttl", "1h", "--marker-ttl", "1m", "--storage", "memory", "--max-bytes", "1MB", "--max-value", "4K", "--description", "d", "--metadata", "team=eu", "--ttl-policy", "default=30m", "--compression");
  const { config } = await stream("full");
  assert.deepEqual([config.max_msgs_per_subject, config.max_age, config.subject_delete_marker_ttl, config.storage, config.max_bytes, config.max_msg_size, config.description, config.metadata.team, config.metadata["mayfly.ttl.default"], config.compression],
    [5, 3600e9, 60e9, "memory", 1 << 20, 4096, "d", "eu", "30m", "s2"]);
  await run(0, "create", "plain", "--marker-ttl", "0s");
  assert.equal((await stream("plain")).config.subject_delete_marker_ttl ?? 0, 0);
  await run(0, "put", "full", "k", "v");
  assert.match(await run(0, "ls"), /^BUCKET +SUBJECTS +BYTES +HISTORY +TTL +STORAGE +LAST\n(.*\n)*full +1 +\d+ B +5 +1h +memory +\S+ ago\n/);
  assert.deepEqual((await json(s, "kv", "ls")).buckets.map((x) => x.config.name).sort(), ["KV_full", "KV_lib", "KV_plain", "KV_tool"]);
  assert.equal(await run(0, "ls", "full"), "k\n");
  assert.match(await run(0, "info", "full"), /^KV_full {3}created(.*\n)*max age +1h\n(.*\n)*marker TTL +1m\n/);
  assert.equal((await json(s, "kv", "info", "kv:full")).config.name, "KV_full");
  assert.match(await run(2, "rm", "full"), /Remove the bucket full with 1 messages .*add --force/);
  assert.equal(await run(0, "rm", "full", "--force"), "bucket full is removed\n");
  assert.match(await run(3, "rm", "full", "--force"), /stream not found: full \(10059\)\nhint: `mayfly kv create full`/);
  assert.match(await run(2, "create", "x", "--markers", "1m"), /unknown flag --markers\n/);
});

scenario("kv put, get, del, purge, history, keys: the tool and the client library see the same", async (t) => {
  const { s, nc, run, kvm } = await ready(t);
  await run(0, "create", "b", "--history", "10");
  const kv = await kvm.open("b");
  const binary = Buffer.from([0, 255, 10, 27]);
  assert.equal(await run(0, "put", "b", "a.1", "one"), "b/a.1 revision 1\n");
  assert.equal(await kv.put("a.1", "two"), 2);
  fs.writeFileSync(s.file("value"), binary);
  await run(0, "put", "b", "bin", "--file", s.file("value"));
  await expect(0, { url: s.url, input: "from stdin\n" }, "kv", "put", "b", "in", "-");
  await expect(0, { url: s.url, input: "" }, "kv", "put", "b", "empty");
  const put = await json(s, "kv", "put", "b", "x=y/z_-", "grüße");
  assert.deepEqual([put.bucket, put.key, put.revision], ["b", "x=y/z_-", 6]);
  assert.deepEqual([(await kv.get("a.1")).string(), (await kv.get("in")).string(), (await kv.get("empty")).length, (await kv.get("x=y/z_-")).string()], ["two", "from stdin\n", 0, "grüße"]);
  assert.ok(Buffer.from((await kv.get("bin")).value).equals(binary));
  assert.equal(await run(0, "get", "b", "a.1"), "two");
  assert.equal(await run(0, "get", "b", "a.1", "--raw"), "two");
  assert.deepEqual((await mayfly(s, "kv", "get", "b", "bin")).raw, binary);
  const doc = await json(s, "kv", "get", "b", "bin");
  assert.deepEqual([doc.value, doc.encoding, doc.revision, doc.operation], ["AP8KGw==", "base64", 3, "put"]);
  assert.equal(await run(0, "get", "b", "a.1", "--revision", "1"), "one");
  assert.match(await run(3, "get", "b", "a.1", "--revision", "3"), /revision 3 is of another key/);
  assert.match(await run(3, "get", "b", "nokey"), /no such key: b\/nokey \(10037\)\nhint: `mayfly kv keys b` lists the keys that have a value\n$/);
  assert.match(await run(3, "get", "b", "nokey", "--revision", "99"), /no such key: b\/nokey revision 99 \(10037\)/);
  await run(0, "create", "small", "--max-bytes", "100");
  assert.match(await run(4, "put", "small", "k", "x".repeat(200)), /maximum bytes exceeded: small\/k \(10077\)\nhint: `mayfly stream edit STREAM --max-bytes SIZE`/);
  const h = headers();
  h.set("Status", "404"); // a header of the application, not of the server
  await nc.request("$KV.b.odd", "found", { headers: h });
  assert.equal(await run(0, "get", "b", "odd"), "found");
  // ends
  assert.equal(await run(0, "del", "b", "a.1"), "b/a.1 is deleted, revision 8\n");
  assert.match(await run(3, "get", "b", "a.1"), /b\/a\.1 has no value: deleted 20/);
  assert.equal((await kv.get("a.1")).operation, "DEL");
  await kv.put("a.1", "three");
  assert.deepEqual((await all(kv.history({ key: "a.1" }))).map((e) => e.operation), ["PUT", "PUT", "DEL", "PUT"]);
  const history = await json(s, "kv", "history", "b", "a.1");
  assert.deepEqual(history.history.map((e) => [e.revision, e.operation, e.value]), [[1, "put", "one"], [2, "put", "two"], [8, "deleted", ""], [9, "put", "three"]]);
  assert.match(await run(0, "history", "b", "a.1"), /^REVISION +OPERATION +AGE +WRITTEN +SIZE +VALUE\n +1 +put +\S+ ago +20\S+ \S+Z +3 B +one\n(.*\n)* +8 +deleted .* 0 B\n/);
  assert.equal(await run(0, "keys", "b"), "bin\nin\nempty\nx=y/z_-\nodd\na.1\n");
  assert.equal(await run(0, "keys", "b", "a.*"), "a.1\n");
  assert.deepEqual((await json(s, "kv", "keys", "b", "a.>")).keys, ["a.1"]);
  assert.equal(await run(0, "purge", "b", "a.1"), "b/a.1 is purged, revision 10\n");
  assert.deepEqual((await all(kv.history({ key: "a.1" }))).map((e) => e.operation), ["PURGE"]);
  assert.deepEqual((await json(s, "kv", "history", "b", "a.1")).history.map((e) => e.operation), ["purged"]);
  await kv.delete("bin");
  assert.match(await run(3, "get", "b", "bin"), /deleted/);
  assert.equal((await json(s, "kv", "del", "b", "in")).revision, 12);
  assert.match(await run(3, "history", "b", "never"), /no revision of b\/never is stored/);
  assert.equal(await run(0, "keys", "b", "a.*"), "");
});

scenario("kv put --create and --revision: only one writer wins", async (t) => {
  const { s, run, kvm } = await ready(t);
  await run(0, "create", "b");
  const kv = await kvm.open("b");
  await run(0, "put", "b", "k", "1", "--create");
  assert.equal(await run(4, "put", "b", "k", "2", "--create"), "mayfly: refused: b/k exists, revision 1\n");
  await run(0, "put", "b", "k", "2", "--revision", "1");
  assert.match(await run(4, "put", "b", "k", "3", "--revision", "1"), /refused: wrong last sequence: 2: b\/k \(10071\)/);
  assert.match(await run(4, "del", "b", "k", "--revision", "1"), /wrong last sequence/);
  assert.match(await run(4, "purge", "b", "k", "--revision", "1"), /wrong last sequence/);
  assert.equal((await kv.get("k")).string(), "2");
  await run(0, "del", "b", "k", "--revision", "2");
  await run(0, "put", "b", "k", "4", "--create"); // a deleted key is free
  await kv.purge("k");
  await run(0, "put", "b", "k", "5", "--create", "--ttl", "1h");
  assert.match(await run(2, "put", "b", "k", "6", "--create", "--revision", "1"), /give --create or --revision, not both/);
  const racers = await Promise.all(Array.from({ length: 6 }, (_, i) => mayfly(s, "kv", "put", "b", "race", `${i}`, "--create")));
  assert.deepEqual(racers.map((r) => r.code).sort(), [0, 4, 4, 4, 4, 4]);
});

scenario("kv: TTLs, markers and their reasons in watch, history and the library", async (t) => {
  const { s, nc, run, kvm } = await ready(t);
  await run(0, "create", "b", "--history", "2", "--marker-ttl", "1s");
  const kv = await kvm.open("b");
  const watch = live(t, s, "kv", "watch", "b", "--json");
  const text = live(t, s, "kv", "watch", "b");
  const seen = [];
  const iter = await kv.watch();
  (async () => {
    for await (const e of iter) seen.push(`${e.key} ${e.operation}`);
  })().catch(() => {});
  await until("all three to watch", async () => (await json(s, "kv", "info", "b")).state.consumer_count === 3);
  await run(0, "put", "b", "soon", "v", "--ttl", "1s");
  await run(0, "put", "b", "late", "v", "--ttl", "3s");
  await expect(0, s, "stream", "edit", "kv:b", "--marker-ttl", "1h"); // TTLs of later puts would be raised to it
  await run(0, "put", "b", "long", "v", "--ttl", "never");
  await run(0, "put", "b", "plain", "a\nb\u001b[31m");
  await run(0, "del", "b", "plain");
  await run(0, "purge", "b", "long", "--ttl", "1h");
  await until("the expiry to be seen by all", () => [watch, text].every((w) => w.lines.filter((l) => l.includes("expired")).length === 2) && seen.length >= 8);
  const docs = watch.lines.map((l) => JSON.parse(l));
  const byKey = (key) => docs.filter((d) => d.key === key).map((d) => [d.operation, d.ttl, d.value]);
  assert.deepEqual(byKey("soon"), [["put", docs[0].ttl, "v"], ["expired", undefined, ""]]);
  assert.deepEqual(byKey("long"), [["put", "never", "v"], ["purged", undefined, ""]]);
  assert.deepEqual(byKey("plain"), [["put", undefined, "a\nb\u001b[31m"], ["deleted", undefined, ""]]);
  assert.ok(seen.includes("soon PURGE") || seen.includes("soon DEL"), seen.join(", "));
  const lines = text.lines.join("\n");
  assert.match(lines, /^\d\d:\d\d:\d\d put +soon {2}rev 1 {2}ttl \S+ {2}v$/m);
  assert.match(lines, /^\d\d:\d\d:\d\d put +plain {2}rev \d+ {2}\(8 B\) a$/m);
  assert.match(lines, /^\d\d:\d\d:\d\d expired +soon {2}rev \d+$/m);
  for (const w of [watch, text]) assert.equal(await w.end("SIGINT"), 0, w.stderr);
  await until("no consumers are left by the watchers", async () => (await (await nc.request("$JS.API.STREAM.INFO.KV_b")).json()).state.consumer_count <= 1); // the library's stays
  iter.stop();
  assert.deepEqual((await json(s, "kv", "history", "b", "late")).history.map((e) => e.operation), ["expired"]);
  assert.match(await run(0, "history", "b", "late"), /^ +\d+ +expired /m);
  assert.match(await run(3, "get", "b", "late"), /b\/late has no value: expired 20/);
  assert.equal(await run(0, "keys", "b"), "");
});

scenario("kv watch: filters, --new, --history, --count; it survives a restart of the server", async (t) => {
  const { s, run } = await ready(t);
  await run(0, "create", "b", "--history", "5");
  for (const v of ["1", "2"]) await run(0, "put", "b", "a.x", v);
  await run(0, "put", "b", "b.x", "3");
  assert.deepEqual((await run(0, "watch", "b", "--count", "2")).trim().split("\n").map((l) => l.split("  ").at(-1)), ["2", "3"]);
  assert.equal((await run(0, "watch", "b", "a.*", "--history", "--count", "2")).trim().split("\n").length, 2);
  const fresh = live(t, s, "kv", "watch", "b", "--new", "--json");
  await until("the watcher's consumer", async () => (await json(s, "stream", "info", "KV_b")).state.consumer_count === 1);
  await run(0, "put", "b", "a.x", "4");
  await until("the change", () => fresh.lines.length === 1);
  await s.restart();
  await until("a put after the restart", async () => (await mayfly(s, "kv", "put", "b", "a.x", "5")).code === 0);
  await until("the change after the restart", () => fresh.lines.length === 2);
  assert.deepEqual(fresh.lines.map((l) => JSON.parse(l).value), ["4", "5"]);
  assert.equal(await fresh.end("SIGTERM"), 0);
  assert.match(await run(2, "watch", "b", "--new", "--history"), /give --new or --history, not both/);
  assert.match(await run(3, "watch", "none"), /stream not found: none/);
});

scenario("kv ttl: asked of Mayfly, reckoned elsewhere", async (t) => {
  const { s, run } = await ready(t);
  const mayflyThere = (await mayfly(s, "ttl", "stats")).code !== 2;
  const note = mayflyThere ? "" : ", reckoned: this server has no TTL API";
  await run(0, "create", "b");
  assert.match(await run(0, "put", "b", "hour", "v", "--ttl", "1h"), mayflyThere ? /^b\/hour revision 1, expires in (1h|59m\d+s)\n$/ : /^b\/hour revision 1\n$/);
  assert.equal("expires" in (await json(s, "kv", "put", "b", "hour", "v", "--ttl", "1h")), mayflyThere);
  await run(0, "put", "b", "never", "v", "--ttl", "never");
  await run(0, "put", "b", "none", "v");
  assert.match(await run(0, "ttl", "b", "hour"), new RegExp(`^(1h|59m\\d+s) \\(expires 20.*Z\\)${note}\n$`));
  assert.equal(await run(0, "ttl", "b", "never"), `does not expire (never)${note}\n`);
  assert.equal(await run(0, "ttl", "b", "none"), `does not expire (no TTL)${note}\n`);
  const doc = await json(s, "kv", "ttl", "b", "hour");
  assert.deepEqual([doc.bucket, doc.key, doc.state, doc.reckoned], ["b", "hour", "ttl", !mayflyThere]);
  assert.ok(doc.left_ms <= 3600e3 && doc.left_ms > 0 && Date.parse(doc.expires) > 0);
  assert.match(await run(3, "ttl", "b", "nokey"), /no such key: b\/nokey/);
  await run(0, "del", "b", "none");
  assert.match(await run(3, "ttl", "b", "none"), /b\/none has no value/);
  await run(0, "create", "aged", "--ttl", "2h");
  await run(0, "put", "aged", "k", "v");
  assert.match(await run(0, "ttl", "aged", "k"), /^(2h|1h59m) \(expires/);
  if (!mayflyThere) assert.match(await expect(2, s, "ttl", "stats"), /no TTL API there/);
});

scenario("kv --ttl-policy: Mayfly gives values the TTL that writers forget", only, async (t) => {
  const { s, run } = await ready(t);
  await run(0, "create", "b", "--ttl-policy", "default=24h", "--ttl-policy", "max=48h");
  await run(0, "put", "b", "k", "v");
  assert.match(await run(0, "ttl", "b", "k"), /^(1d|23h59m) /);
  assert.match(await run(4, "create", "c", "--ttl-policy", "defualt=24h"), /did you mean "mayfly\.ttl\.default"\?/);
  assert.equal((await json(s, "kv", "ls")).buckets.length, 1);
});

scenario("kv: what is wrong or absent changes nothing and says what to do", async (t) => {
  const { s, run, stream } = await ready(t);
  await run(0, "create", "b", "--max-value", "100");
  for (const [args, why] of [
    [["create", "a.b"], /"a\.b" is no name of a bucket: letters, digits, - and _/], [["create", "x\u001b[31m"], /"x\\x1b\[31m" is no name/], [["create", "c", "--history", "65"], /--history is 1 to 64/], [["create", "c", "--history", "0"], /1 to 64/],
    [["create", "c", "--storage", "disk"], /--storage is file or memory/], [["create", "c", "--ttl", "1"], /not a duration/], [["create", "c", "--max-bytes", "lots"], /not a size/], [["create", "c", "k", "v"], /unexpected k/],
    [["put", "b", "k k", "v"], /"k k" is no key: letters/], [["put", "b", ".k", "v"], /no key/], [["put", "b", "a..b", "v"], /no key/], [["put", "b", "k.*", "v"], /no key/], [["put", "b", "", "v"], /no key/], [["put", "b", "ü", "v"], /no key/],
    [["put", "b", "k", "v", "--ttl", "0s"], /--ttl wants a duration/], [["put", "b", "k", "v", "--ttl", "soon"], /--ttl wants/], [["put", "b", "k", "v", "w"], /unexpected w/], [["put", "b", "k", "v", "--file", "f"], /not both/],
    [["put", "b", "k", "v", "--revision", "x"], /not a whole number/], [["put", "b", "k", "--file", "/nonexistent"], /No such file/], [["put", "b"], /needs BUCKET KEY/], [["get", "b", "a*"], /no key/], [["watch", "b", "a.>.b"], /no key.*whole tokens/],
    [["keys", "b", "a b"], /no key/], [["purge", "b", "k", "--ttl", "x"], /--ttl wants/],
  ]) assert.match(await run(2, ...args), why, args.join(" "));
  for (const args of [["put", "none", "k", "v"], ["get", "none", "k"], ["del", "none", "k"], ["keys", "none"], ["history", "none", "k"], ["ttl", "none", "k"], ["info", "none"], ["ls", "none"]])
    assert.match(await run(3, ...args), /\nhint: `mayfly kv create none` makes the bucket, `mayfly kv ls` lists buckets\n$/, args.join(" "));
  assert.match(await run(4, "put", "b", "k", "x".repeat(101)), /refused: .*size exceeds maximum/);
  assert.match(await run(4, "put", "b", "k", "v", "--ttl", "10ms"), /refused: .*\(10165\)/);
  assert.match(await run(4, "create", "b", "--history", "3"), /\(10058\)/);
  await expect(0, s, "stream", "create", "KV_old", "--subjects", "$KV.old.>");
  assert.match(await run(4, "put", "old", "k", "v", "--ttl", "1h"), /\(10166\)\nhint: `mayfly stream edit STREAM --allow-msg-ttl`/);
  assert.equal((await stream("b")).state.last_seq, 0);
});

scenario("kv keys, history and watch: more than a batch", async (t) => {
  const { s, nc, run } = await ready(t);
  await run(0, "create", "b", "--history", "64");
  const send = (key, n) => Promise.all(Array.from({ length: n }, (_, i) => nc.request(`$KV.b.${key}${i}`, `${i}`, { timeout: 60000 })));
  await send("k.", 1000);
  for (let i = 0; i < 70; i++) await nc.request("$KV.b.one", `${i}`);
  assert.equal((await run(0, "keys", "b")).trim().split("\n").length, 1001);
  assert.equal((await json(s, "kv", "keys", "b", "k.*")).keys.length, 1000);
  assert.deepEqual((await json(s, "kv", "history", "b", "one")).history.map((e) => e.value), Array.from({ length: 64 }, (_, i) => `${i + 6}`));
  assert.equal((await run(0, "watch", "b", "k.>", "--count", "1000")).trim().split("\n").length, 1000);
});

scenario("kv and object below a JetStream domain", async (t) => {
  const s = await t.server({ config: 'jetstream { store_dir: "DIR/js", domain: hub }\n' });
  const hub = (code, ...args) => expect(code, s, ...args, "--js-domain", "hub");
  await hub(0, "kv", "create", "b");
  await hub(0, "kv", "put", "b", "k", "v", "--ttl", "1h");
  assert.equal(await hub(0, "kv", "get", "b", "k"), "v");
  assert.equal(await hub(0, "kv", "keys", "b"), "k\n");
  assert.match(await hub(0, "kv", "watch", "b", "--count", "1"), /put +k {2}rev 1 {2}ttl \S+ {2}v/);
  assert.match(await hub(0, "kv", "ttl", "b", "k"), /^(1h|59m\d+s) /);
  await hub(0, "object", "create", "files");
  await expect(0, { url: s.url, input: "hello" }, "object", "put", "files", "-", "--name", "x", "--js-domain", "hub");
  assert.equal(await hub(0, "object", "get", "files", "x"), "hello");
  assert.match(await expect(2, s, "kv", "ls", "--js-domain", "nowhere"), /no JetStream there: .*--js-domain/);
});
