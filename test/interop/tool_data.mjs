// tool_data.mjs: `mayfly pub`, `sub`, `req`, `stream` and `consumer`, as scripts run them.
import assert from "node:assert/strict";
import fs from "node:fs";
import { headers } from "@nats-io/transport-node";
import { collect, scenario } from "./lib/scenario.mjs";
import { expect, json, live, mayfly } from "./lib/tool.mjs";
import { steadily, until } from "./lib/wait.mjs";

const JS = { config: 'jetstream { store_dir: "DIR/js" }\n' };
const only = { only: "mayfly" };
const rows = (text) => text.trimEnd().split("\n").map((l) => JSON.parse(l));

async function ready(t, options = JS) {
  const s = await t.server(options);
  const nc = await t.connect(s);
  const api = async (subject, body) => (await nc.request(`$JS.API.${subject}`, body ? JSON.stringify(body) : "")).json();
  const run = (code, ...args) => expect(code, s, ...args);
  const info = async (name) => api(`STREAM.INFO.${name}`);
  return { s, nc, api, run, info, put: (input, ...args) => expect(0, { ...s, url: s.url, input }, ...args) };
}

scenario("pub: payloads from arguments, files and stdin; headers; what is empty or binary", async (t) => {
  const { s, nc, run, put } = await ready(t);
  const got = collect(nc, "a.>");
  await nc.flush();
  const binary = Buffer.from([0, 255, 10, 13, 0, 200]);
  fs.writeFileSync(s.file("payload"), binary);
  await run(0, "pub", "a.1", "hello", "-H", "Trace: 7", "-H", "Trace:8", "--header=Empty:", "--reply", "back.here");
  await run(0, "pub", "a.2", "--file", s.file("payload"));
  await put(binary, "pub", "a.3", "-");
  await put("", "pub", "a.4");
  await put("not read", "pub", "a.5", "");
  await run(0, "pub", "a.ü", "grüße 🙂");
  await until("six messages", () => got.length === 6);
  assert.deepEqual(got.map((m) => m.subject), ["a.1", "a.2", "a.3", "a.4", "a.5", "a.ü"]);
  assert.deepEqual([got[0].string(), got[0].reply, got[0].headers.values("Trace"), got[0].headers.get("Empty")], ["hello", "back.here", ["7", "8"], ""]);
  assert.ok(Buffer.from(got[1].data).equals(binary) && Buffer.from(got[2].data).equals(binary));
  assert.deepEqual([got[3].data.length, got[4].data.length, got[5].string()], [0, 0, "grüße 🙂"]);
});

scenario("pub: count, templates, sleep; --json is one document", async (t) => {
  const { s, nc, run } = await ready(t);
  const got = collect(nc, "n.>");
  await nc.flush();
  assert.deepEqual(await json(s, "pub", "n.{{Count}}", "message {{Count}}", "-H", "Id: {{ID}}", "--count", "3", "--sleep", "1ms"), { subject: "n.{{Count}}", published: 3, bytes: 17 });
  await run(0, "pub", "n.x", "{{Count}} {{Cuont}}", "--no-templates");
  await run(0, "pub", "n.y", '{"a":{"b":{{Count}}}}');
  await until("five messages", () => got.length === 5);
  assert.deepEqual(got.map((m) => `${m.subject} ${m.string()}`), ["n.1 message 1", "n.2 message 2", "n.3 message 3", "n.x {{Count}} {{Cuont}}", 'n.y {"a":{"b":1}}']);
  assert.equal(new Set(got.slice(0, 3).map((m) => m.headers.get("Id"))).size, 3);
  const slow = live(t, s, "pub", "n.z", "x", "--count", "1000", "--sleep", "1h");
  await until("the first of many", () => got.length === 6);
  assert.equal(await slow.end(), 2);
  assert.match(slow.stderr, /interrupted: 1 of 1000 messages are published/);
});

scenario("pub --jetstream: acks, TTL, duplicates, and what no stream stores", async (t) => {
  const { s, api, run, info } = await ready(t);
  await api("STREAM.CREATE.ORDERS", { name: "ORDERS", subjects: ["orders.>"], allow_msg_ttl: true });
  assert.equal(await run(0, "pub", "orders.eu", "x", "-J"), "ORDERS seq 1\n");
  assert.match(await run(0, "pub", "orders.eu", "x", "--jetstream", "-H", "Nats-Msg-Id: 1"), /^ORDERS seq 2$/m);
  assert.match(await run(0, "pub", "orders.eu", "x", "--jetstream", "-H", "Nats-Msg-Id: 1"), /seq 2 \(duplicate/);
  const acks = rows(await run(0, "pub", "orders.{{Count}}", "x", "-J", "--count", "2", "--json", "--ttl", "1h30m"));
  assert.deepEqual(acks.map((a) => [a.stream, a.seq]), [["ORDERS", 3], ["ORDERS", 4]]);
  assert.equal((await json(s, "stream", "get", "ORDERS", "4")).headers["Nats-TTL"][0], "5400s");
  await run(0, "pub", "orders.eu", "x", "-J", "--ttl", "never");
  assert.equal((await json(s, "stream", "get", "ORDERS", "5")).headers["Nats-TTL"][0], "never");
  assert.match(await run(3, "pub", "nobody", "x", "-J"), /no stream stores nobody .*\nhint: `mayfly stream ls`/);
  assert.match(await run(4, "pub", "orders.eu", "x", "-J", "--ttl", "10ms"), /refused: .*TTL.* \(10165\)/);
  assert.equal((await info("ORDERS")).state.last_seq, 5);
  // --ttl alone waits for the ack too: what no stream takes, or refuses, is not lost silently
  assert.equal(await run(0, "pub", "orders.eu", "x", "--ttl", "1h"), "ORDERS seq 6\n");
  assert.match(await run(3, "pub", "nobody", "x", "--ttl", "1h"), /no stream stores nobody/);
  await api("STREAM.CREATE.PLAIN", { name: "PLAIN", subjects: ["plain"] });
  assert.match(await run(4, "pub", "plain", "x", "--ttl", "1h"), /refused: .*TTL.* \(10166\)\nhint: .*--allow-msg-ttl/);
});

scenario("pub --jetstream: Mayfly says how long a message lives", only, async (t) => {
  const { api, run } = await ready(t);
  await api("STREAM.CREATE.ORDERS", { name: "ORDERS", subjects: ["orders.>"], allow_msg_ttl: true });
  assert.match(await run(0, "pub", "orders.eu", "x", "-J", "--ttl", "1h", "-H", "Mayfly-TTL: show"), /^ORDERS seq 1, expires in (1h|59m\d+s) \(20.*Z\), decided by client$/m);
});

scenario("pub: bad command lines are refused, and nothing is published", async (t) => {
  const { s, nc, run } = await ready(t, { config: "max_payload: 1000\n" });
  const got = collect(nc, ">");
  await nc.flush();
  const usage = /usage: mayfly pub SUBJECT \[PAYLOAD\] \[FLAGS\] {3}\(mayfly pub --help says more\)/;
  for (const [args, why] of [
    [["a..b", "x"], /"a\.\.b" is no subject: tokens/], [["a.*", "x"], /no wildcards here/], [["a b", "x"], /is no subject/], [["", "x"], /is no subject/],
    [["a", "x", "--cuont", "3"], /unknown flag --cuont; did you mean --count\?/], [["a", "x", "--count", "-3"], /-3 is not a whole number/], [["a", "x", "--count", "1e3"], /not a whole number/],
    [["a", "x", "--count"], /--count needs a value: --count N/], [["a", "x", "--count", "1", "--count", "2"], /given twice/],
    [["a", "x", "--sleep", "5"], /not a duration; write 90s/], [["a", "x", "--ttl", "1x"], /--ttl wants a duration like 90s, 1h30m or 7d, or never; not "1x"/],
    [["a", "x", "-H", "nocolon"], /-H wants "Name: value", not "nocolon"/], [["a", "x", "-H", "Na me: x"], /-H wants/], [["a", "x", "-H", "A: x\r\nB: y"], /no line ends/],
    [["a", "x", "--reply", "b c"], /is no subject/], [["a", "x", "y"], /unexpected y/], [[], /pub needs SUBJECT/], [["a", "x", "--file", "f"], /payload or --file, not both/],
    [["a", "x", "-J", "--reply", "b"], /leave --reply out/], [["a", "x", "--ttl", "1h", "--reply", "b"], /--ttl uses the reply subject itself/],
  ]) {
    const text = await run(2, "pub", ...args);
    assert.match(text, why);
    assert.match(text, usage);
  }
  assert.match(await run(2, "pub", "a", "--file", s.file("none")), /none: No such file or directory/);
  assert.match(await run(2, "pub", "a", "--file", s.dir), /Is a directory/);
  assert.match(await run(2, "pub", "a", "x".repeat(1001)), /more than the 1000 bytes of the server's max_payload/);
  assert.match((await mayfly({ url: s.url, input: "x".repeat(1001) }, "pub", "a")).stderr, /stdin has more than the 1000 bytes .*object put/);
  await nc.flush();
  assert.equal(got.length, 0);
});

scenario("sub: text, raw and JSON lines; --count, --wait and Ctrl-C end it", async (t) => {
  const { s, nc } = await ready(t);
  const text = live(t, s, "sub", "a.>", "--headers", "--timestamps");
  const raw = live(t, s, "sub", "a.>", "--raw", "--count", "3");
  const doc = live(t, s, "sub", "a.>", "--json", "--count", "3");
  const h = headers();
  h.append("K", "v\u0007x");
  const send = async () => {
    nc.publish("a.1", "one\ntwo", { headers: h, reply: "r" });
    nc.publish("a.2", Buffer.from([27, 91, 51, 49, 109, 255]));
    nc.publish("a.3", "");
    await nc.flush();
  };
  // A subscription is there when something of it comes.
  await until("all three listen", async () => {
    if (text.lines.length && (raw.gone || raw.lines.length) && (doc.gone || doc.lines.length)) return true;
    await send();
    return false;
  });
  assert.equal((await raw.exited).code, 0, raw.stderr);
  assert.equal((await doc.exited).code, 0, doc.stderr);
  const got = doc.lines.map((l) => JSON.parse(l)).sort((a, b) => (a.subject < b.subject ? -1 : 1));
  assert.deepEqual(got.map((m) => [m.subject, m.data, m.encoding]), [["a.1", "one\ntwo", "text"], ["a.2", "G1szMW3/", "base64"], ["a.3", "", "text"]]);
  assert.deepEqual([got[0].reply, got[0].headers], ["r", { K: ["v\u0007x"] }]);
  assert.equal(await text.end("SIGINT"), 0, text.stderr);
  const all = text.lines.join("\n");
  assert.match(all, /^#\d+ \d\d:\d\d:\d\d a\.1 {2}7 B {2}reply r\n {2}K: v\\x07x\none\ntwo$/m);
  assert.match(all, /^#\d+ \d\d:\d\d:\d\d a\.2 {2}6 B\n\\x1b\[31m\\xff$/m);
  const waits = await mayfly(s, "sub", "quiet", "--wait", "10ms");
  assert.deepEqual([waits.code, waits.stdout], [0, ""]);
  assert.equal((await mayfly(s, "sub", "a..b")).code, 2);
  assert.match((await mayfly(s, "sub", "a", "--queue", "a b")).stderr, /is no name of a queue group/);
});

scenario("sub: ends when the reader of its pipe has enough", async (t) => {
  const { s, nc } = await ready(t);
  const p = live(t, s, "sub", "a", "--raw");
  p.proc.stdout.once("data", () => p.proc.stdout.destroy());
  await until("the end of sub", async () => {
    nc.publish("a", "x");
    await nc.flush();
    return p.gone;
  });
  assert.notEqual(p.gone.code, "SIGKILL");
});

scenario("sub --queue: each message goes to one member", async (t) => {
  const { s, nc } = await ready(t);
  const members = [1, 2].map(() => live(t, s, "sub", "jobs", "--queue", "workers", "--raw"));
  await until("both members have some", async () => {
    nc.publish("jobs", "x");
    await nc.flush();
    return members.every((m) => m.lines.length > 0);
  });
  const before = members[0].lines.length + members[1].lines.length;
  for (let i = 0; i < 10; i++) nc.publish("jobs", `last ${i}`);
  await until("the ten", () => members.flatMap((m) => m.lines).filter((l) => l.startsWith("last")).length === 10);
  assert.ok(before > 0);
  for (const m of members) assert.equal(await m.end(), 0);
  assert.equal(members.flatMap((m) => m.lines).filter((l) => l.startsWith("last")).length, 10);
});

scenario("req: replies, times, several replies, and nobody there", async (t) => {
  const { s, nc, run } = await ready(t);
  for (let i = 0; i < 3; i++) nc.subscribe("all", { callback: (_, m) => m.respond(`from ${i}`) });
  nc.subscribe("echo", { callback: (_, m) => m.respond(m.data, { headers: m.headers }) });
  nc.subscribe("mute", { callback: () => {} });
  await nc.flush();
  assert.equal(await run(0, "req", "echo", "hello"), "hello\n");
  assert.equal(await run(0, "req", "echo", "hello", "-H", "A: b", "--headers"), "A: b\nhello\n");
  assert.equal(await run(0, "req", "echo", "n {{Count}}", "--raw"), "n 1");
  const many = await mayfly(s, "req", "echo", "{{Count}}", "--count", "3");
  assert.equal(many.stdout, "1\n2\n3\n");
  assert.match(many.stderr, /^3 replies to 3 requests: min [\d.]+ ms, avg [\d.]+ ms, p99 [\d.]+ ms$/m);
  const docs = rows(await run(0, "req", "echo", "x", "--count", "2", "--json"));
  assert.deepEqual(docs.map((d) => d.data ?? d.replies), ["x", "x", 2]);
  assert.deepEqual((await run(0, "req", "all", "--replies", "3")).trim().split("\n").sort(), ["from 0", "from 1", "from 2"]);
  await steadily(async () => assert.equal((await run(0, "req", "all", "--replies", "0", "--timeout", "2s")).trim().split("\n").length, 3));
  assert.equal(await run(2, "req", "nobody", "x"), "mayfly: nobody answers requests to nobody\n");
  assert.match(await run(2, "req", "mute", "x", "--timeout", "1s"), /no reply from mute in time \(--timeout\)/);
  assert.match(await run(2, "req", "a.>", "x"), /no wildcards here/);
});

scenario("stream create, edit, info, ls: flags become the configuration", async (t) => {
  const { s, run, info } = await ready(t);
  assert.match((await mayfly(s, "stream", "ls")).stderr, /no streams: `mayfly stream create NAME/);
  assert.deepEqual(await json(s, "stream", "ls"), { streams: [] });
  assert.equal(await run(0, "stream", "create", "ORDERS", "--subjects", "orders.>,o.*", "--subjects", "x", "--storage", "memory", "--max-age", "7d", "--max-msgs", "1000", "--max-bytes", "10MB",
    "--max-msgs-per-subject", "5", "--max-msg-size", "64K", "--retention", "limits", "--discard", "new", "--allow-msg-ttl", "--marker-ttl", "1m", "--dupe-window", "30s", "--allow-rollup",
    "--max-consumers", "9", "--replicas", "1", "--description", "what\u001b[31m is ordered", "--metadata", "team=eu"), "stream ORDERS is created\n");
  const { config } = await info("ORDERS");
  assert.deepEqual([config.subjects, config.storage, config.max_age, config.max_msgs, config.max_bytes, config.max_msgs_per_subject, config.max_msg_size, config.retention, config.discard, config.allow_msg_ttl, config.subject_delete_marker_ttl, config.duplicate_window, config.allow_rollup_hdrs, config.allow_direct, config.max_consumers, config.metadata.team],
    [["orders.>", "o.*", "x"], "memory", 7 * 86400e9, 1000, 10 << 20, 5, 64 << 10, "limits", "new", true, 60e9, 30e9, true, true, 9, "eu"]);
  await run(0, "pub", "x", "1", "-J");
  assert.match(await run(0, "stream", "ls"), /^NAME +SUBJECTS +STORAGE +MESSAGES +BYTES +CONSUMERS +LAST\nORDERS +orders\.> \+2 +memory +1 +\d+ B +0 +\S+ ago\n$/);
  assert.equal(await run(0, "stream", "ls", "--names"), "ORDERS\n");
  assert.equal(await run(0, "stream", "ls", "--names", "--subject", "none"), "");
  const text = await run(0, "stream", "info", "ORDERS");
  for (const row of [/^description +what\\x1b\[31m is ordered$/m, /^subjects +orders\.>, o\.\*, x$/m, /^max age +7d$/m, /^max bytes +10\.0 MB$/m, /^marker TTL +1m$/m, /^message TTLs +yes$/m, /^team +eu$/m, /^messages +1$/m]) assert.match(text, row);
  assert.equal((await json(s, "stream", "info", "ORDERS")).config.name, "ORDERS");
  // edit: only what was named changes
  assert.equal(await run(0, "stream", "edit", "ORDERS", "--max-age", "14d", "--dry-run"), "ORDERS would change:\n  max_age: 7d -> 14d\n");
  assert.equal((await info("ORDERS")).config.max_age, 7 * 86400e9);
  assert.equal(await run(0, "stream", "edit", "ORDERS", "--max-age", "14d", "--max-msgs", "0", "--metadata", "team=", "--metadata", "boss=me"), "ORDERS changed:\n  max_msgs: 1,000 -> unlimited\n  max_age: 7d -> 14d\n  metadata.team: eu -> unset\n  metadata.boss: unset -> me\n");
  assert.equal(await run(0, "stream", "edit", "ORDERS", "--max-age", "14d"), "ORDERS: nothing to change\n");
  assert.deepEqual(await json(s, "stream", "edit", "ORDERS", "--max-age", "1d"), { stream: "ORDERS", updated: true, changes: { max_age: { from: 14 * 86400e9, to: 86400e9 } } });
  const after = (await info("ORDERS")).config;
  assert.deepEqual([after.max_age, after.max_msgs, after.max_bytes, after.metadata.boss, after.metadata.team], [86400e9, -1, 10 << 20, "me", undefined]);
});

scenario("stream create --config: documents of `stream info --json` and flags over them; mirrors and sources", async (t) => {
  const { s, run, info } = await ready(t);
  await run(0, "stream", "create", "A", "--subjects", "a.>", "--max-age", "1h");
  fs.writeFileSync(s.file("a.json"), await run(0, "stream", "info", "A", "--json"));
  await run(0, "stream", "create", "B", "--config", s.file("a.json"), "--subjects", "b.>");
  const b = (await info("B")).config;
  assert.deepEqual([b.name, b.subjects, b.max_age], ["B", ["b.>"], 3600e9]);
  fs.writeFileSync(s.file("c.json"), '{"max_msgs": 7}');
  await run(0, "stream", "edit", "B", "--config", s.file("c.json"));
  assert.equal((await info("B")).config.max_msgs, 7);
  await run(0, "stream", "create", "M", "--mirror", "A");
  await run(0, "stream", "create", "S", "--source", "A", "--source", "B", "--subjects", "s");
  assert.deepEqual([(await info("M")).config.mirror.name, (await info("S")).config.sources.map((x) => x.name)], ["A", ["A", "B"]]);
  assert.deepEqual(await json(s, "stream", "create", "D", "--dry-run", "--max-age", "1h"), { allow_direct: true, storage: "file", name: "D", max_age: 3600e9 });
  for (const [body, why] of [["{", /line 1/], ["[1]", /no JSON object/], ['{"a":1,"a":2}', /duplicate/]]) {
    fs.writeFileSync(s.file("bad.json"), body);
    assert.match(await run(2, "stream", "create", "E", "--config", s.file("bad.json")), why);
  }
  assert.match(await run(2, "stream", "create", "E", "--config", s.file("none.json")), /none\.json/);
  assert.deepEqual((await run(0, "stream", "ls", "--names")).split("\n").sort(), ["", "A", "B", "M", "S"]);
});

scenario("stream: what is wrong or refused changes nothing and says what to do", async (t) => {
  const { run, info } = await ready(t);
  await run(0, "stream", "create", "A", "--subjects", "a.>");
  const before = await info("A");
  for (const [args, why] of [
    [["create", "A.B"], /"A\.B" is no name of a stream: it has no dots/], [["create", "x\u001b[31m"], /"x\\x1b\[31m" is no name/], [["create", "B", "--subjects", "b..c"], /is no subject/],
    [["create", "B", "--storage", "disk"], /--storage is one of file memory , not "disk"/], [["create", "B", "--max-bytes", "10XB"], /not a size; write 512, 64K/],
    [["create", "B", "--max-age", "7"], /not a duration/], [["create", "B", "--max-msgs", "-1"], /not a whole number/], [["create", "B", "--metadata", "x"], /wants KEY=VALUE/], [["create"], /needs STREAM/],
    [["create", "B", "--mirror", "a.b"], /no name of a stream/], [["info", "a.b"], /no name of a stream or bucket/], [["get", "A"], /give a sequence, --last SUBJECT or --next/], [["get", "A", "0"], /no sequence/],
    [["get", "A", "1", "--last", "a"], /give a sequence/], [["rm-msg", "A", "x"], /no sequence/], [["purge", "A", "--keep", "1", "--seq", "2", "--force"], /give --keep or --seq/],
    [["rm", "A"], /Remove the stream A with 0 messages \(0 B\)\? Nobody is there to ask: add --force/], [["purge", "A"], /add --force/], [["edit", "A", "--discard", "both"], /one of old new/],
  ]) assert.match(await run(2, "stream", ...args), why, args.join(" "));
  for (const args of [["info", "NONE"], ["edit", "NONE", "--max-age", "1h"], ["rm", "NONE", "--force"], ["purge", "NONE", "--force"], ["get", "NONE", "1"], ["rm-msg", "NONE", "1"]])
    assert.match(await run(3, "stream", ...args), /stream not found: NONE \(10059\)\nhint: `mayfly stream ls`/);
  assert.match(await run(3, "stream", "get", "A", "7"), /no message found: A seq 7 \(10037\)/);
  assert.match(await run(3, "stream", "get", "A", "--last", "a.b"), /no message found: A a\.b \(10037\)/);
  assert.match(await run(3, "stream", "rm-msg", "A", "7"), /no message found: A seq 7/);
  assert.match(await run(4, "stream", "create", "A", "--subjects", "a.>", "--max-age", "1h"), /different configuration: A \(10058\)\nhint: `mayfly stream edit`/);
  await run(0, "stream", "create", "SMALL", "--subjects", "small.>", "--max-msg-size", "100");
  assert.match(await run(4, "pub", "small.a", "x".repeat(200), "-J"), /message size exceeds maximum allowed.* \(10054\)\nhint: `mayfly stream edit STREAM --max-msg-size SIZE`/);
  assert.match(await run(3, "stream", "get", "SMALL", "7"), /no message found: SMALL seq 7 \(10037\)\nhint: `mayfly stream info SMALL` shows which sequences there are\n$/);
  assert.match(await run(4, "stream", "create", "B", "--subjects", "a.b"), /overlap.*\(10065\)\nhint: `mayfly stream ls --subject/);
  assert.match(await run(4, "stream", "edit", "A", "--storage", "memory"), /^mayfly: refused: .*storage/);
  assert.match(await run(4, "stream", "create", "B", "--replicas", "3"), /^mayfly: refused: .*replicas/);
  assert.deepEqual((await info("A")).config, before.config);
  assert.equal(await run(0, "stream", "create", "A", "--subjects", "a.>"), "stream A exists already\n"); // the same once more
});

scenario("stream get, rm-msg, purge, rm", async (t) => {
  const { s, nc, run, info } = await ready(t);
  await run(0, "stream", "create", "A", "--subjects", "a.>");
  for (let i = 1; i <= 6; i++) await run(0, "pub", `a.${i % 2}`, `value ${i}`, "-J", "-H", "Status: 404", "-H", "K: v");
  await nc.request("a.bin", Buffer.from([255, 0, 27]));
  assert.match(await run(0, "stream", "get", "A", "2"), /^a\.0 {3}seq 2 {3}20.*Z {3}7 B\n {2}K: v\n {2}Status: 404\nvalue 2\n$/);
  assert.equal(await run(0, "stream", "get", "A", "--last", "a.1", "--raw"), "value 5");
  assert.equal(await run(0, "stream", "get", "A", "2", "--next", "a.1", "--raw"), "value 3");
  assert.equal(await run(0, "stream", "get", "A", "--next", "a.*", "--raw"), "value 1");
  const m = await json(s, "stream", "get", "A", "7");
  assert.deepEqual([m.subject, m.seq, m.data, m.encoding, m.headers], ["a.bin", 7, "/wAb", "base64", {}]);
  assert.deepEqual((await mayfly(s, "stream", "get", "A", "7", "--raw")).raw, Buffer.from([255, 0, 27]));
  assert.match(await run(0, "stream", "get", "A", "7"), /\n\\xff\\x00\\x1b\n$/);
  assert.equal(await run(0, "stream", "rm-msg", "A", "2"), "A seq 2 is removed\n");
  assert.equal((await json(s, "stream", "rm-msg", "A", "3", "--no-erase")).success, true);
  assert.match(await run(3, "stream", "rm-msg", "A", "2"), /no message found: A seq 2/);
  assert.equal(await run(0, "stream", "purge", "A", "--subject", "a.0", "--keep", "1", "--force"), "A: 1 message purged\n");
  assert.equal((await json(s, "stream", "purge", "A", "--seq", "6", "-f")).purged, 2);
  assert.deepEqual([(await info("A")).state.messages, (await info("A")).state.first_seq], [2, 6]);
  assert.equal(await run(0, "stream", "rm", "A", "--force"), "stream A is removed\n");
  assert.equal((await info("A")).error.code, 404);
  await run(0, "stream", "create", "A");
  assert.equal((await json(s, "stream", "rm", "A", "-f")).success, true);
});

scenario("stream ls and consumer ls: more than a page", async (t) => {
  const { s, nc, run } = await ready(t);
  const body = (i) => JSON.stringify({ name: `S${i}`, subjects: [`s.${i}`], storage: "memory" });
  await Promise.all(Array.from({ length: 300 }, (_, i) => nc.request(`$JS.API.STREAM.CREATE.S${i}`, body(i), { timeout: 60000 })));
  assert.equal((await run(0, "stream", "ls", "--names")).trim().split("\n").length, 300);
  assert.equal((await json(s, "stream", "ls")).streams.length, 300);
  await Promise.all(Array.from({ length: 300 }, (_, i) => nc.request(`$JS.API.CONSUMER.CREATE.S0.c${i}`, JSON.stringify({ stream_name: "S0", config: { name: `c${i}`, durable_name: `c${i}`, ack_policy: "explicit" } }), { timeout: 60000 })));
  assert.equal(new Set((await json(s, "consumer", "ls", "S0")).consumers.map((c) => c.name)).size, 300);
});

scenario("consumer create --config: flags win over the file, also where both exclude each other", async (t) => {
  const { s, run } = await ready(t);
  await run(0, "stream", "create", "A", "--subjects", "a.>");
  fs.writeFileSync(s.file("c.json"), JSON.stringify({ deliver_policy: "by_start_sequence", opt_start_seq: 7, filter_subjects: ["a.1", "a.2"], ack_policy: "explicit" }));
  const { config } = await json(s, "consumer", "create", "A", "c", "--config", s.file("c.json"), "--deliver", "all", "--filter", "a.3");
  assert.deepEqual([config.deliver_policy, config.opt_start_seq, config.filter_subject, config.filter_subjects], ["all", undefined, "a.3", undefined]);
  const file = await json(s, "consumer", "create", "A", "d", "--config", s.file("c.json"));
  assert.deepEqual([file.config.opt_start_seq, file.config.filter_subjects], [7, ["a.1", "a.2"]]);
});

scenario("consumer create, ls, info, rm", async (t) => {
  const { s, api, run } = await ready(t);
  await run(0, "stream", "create", "A", "--subjects", "a.>");
  assert.match((await mayfly(s, "consumer", "ls", "A")).stderr, /no consumers: `mayfly consumer create/);
  assert.deepEqual(await json(s, "consumer", "ls", "A"), { consumers: [] });
  await run(0, "pub", "a.1", "x", "-J", "--count", "3");
  assert.equal(await run(0, "consumer", "create", "A", "one", "--filter", "a.1", "--ack-wait", "10s", "--max-deliver", "3", "--max-ack-pending", "50", "--inactive", "1h", "--description", "d", "--metadata", "k=v"), "consumer one of A is there, 3 messages to deliver\n");
  const { config } = await api("CONSUMER.INFO.A.one");
  assert.deepEqual([config.durable_name, config.filter_subject, config.ack_policy, config.ack_wait, config.max_deliver, config.max_ack_pending, config.inactive_threshold, config.deliver_policy, config.description, config.metadata.k],
    ["one", "a.1", "explicit", 10e9, 3, 50, 3600e9, "all", "d", "v"]);
  for (const [from, policy] of [["new", "new"], ["last", "last"], ["last_per_subject", "last_per_subject"], ["2", "by_start_sequence"], ["1h", "by_start_time"]]) {
    const c = await json(s, "consumer", "create", "A", `f_${from}`, "--deliver", from, "--ack", "none", ...(from === "last_per_subject" ? ["--filter", "a.1", "--filter", "a.2"] : []));
    assert.deepEqual([c.config.deliver_policy, c.config.ack_policy], [policy, "none"]);
  }
  assert.match(await run(0, "consumer", "ls", "A"), /^NAME +FILTER +ACK +PENDING +UNACKED +WAITING +LAST\n(.*\n)*one +a\.1 +explicit +3 +0 +0 +-\n/);
  assert.equal((await json(s, "consumer", "ls", "A")).consumers.length, 6);
  const text = await run(0, "consumer", "info", "A", "one");
  for (const row of [/^A > one {3}created 20/, /^filter_subject +a\.1$/m, /^ack_wait +10s$/m, /^k +v$/m, /^to be delivered +3$/m]) assert.match(text, row);
  assert.equal((await json(s, "consumer", "info", "A", "one")).name, "one");
  // wrong, absent, refused
  for (const [args, why] of [[["create", "A", "a.b"], /no name of a consumer/], [["create", "A", "x", "--ack", "some"], /--ack is explicit, all or none/], [["create", "A", "x", "--deliver", "soon"], /--deliver is all, last/],
    [["create", "A", "x", "--filter", "a..b"], /no subject/], [["rm", "A", "one"], /add --force/], [["next", "A", "one", "--count", "0"], /at least 1/], [["next", "A", "one", "--nak", "--no-ack"], /give one of/]])
    assert.match(await run(2, "consumer", ...args), why);
  for (const args of [["info", "A", "none"], ["rm", "A", "none", "--force"]]) assert.match(await run(3, "consumer", ...args), /consumer not found: none \(10014\)\nhint: `mayfly consumer ls/);
  assert.match(await run(3, "consumer", "next", "A", "none", "--wait", "1s"), /no consumer none of A that can be pulled/);
  assert.match(await run(3, "consumer", "ls", "NONE"), /stream not found: NONE/);
  assert.match(await run(4, "consumer", "create", "A", "one", "--ack-wait", "20s"), /^mayfly: refused: .*\(10148\)\nhint: /);
  assert.equal(await run(0, "consumer", "rm", "A", "one", "--force"), "consumer one of A is removed\n");
  assert.equal((await api("CONSUMER.INFO.A.one")).error.code, 404);
});

scenario("consumer commands of a bucket, under each of its names", async (t) => {
  const { run } = await ready(t);
  await run(0, "kv", "create", "b");
  for (const name of ["b", "kv:b", "KV_b"]) {
    assert.match(await run(3, "consumer", "next", name, "none", "--wait", "1s"), /^mayfly: no (consumer none of|message for none)/, name);
    await run(0, "consumer", "create", name, "c");
    await run(0, "kv", "put", "b", "k", "v");
    assert.match(await run(0, "consumer", "next", name, "c", "--raw"), /^v/, name);
    assert.match(await run(0, "consumer", "info", name, "c"), /^acknowledged up to  \d/m);
    assert.match(await run(0, "consumer", "ls", name), /^c /m);
    await run(0, "consumer", "rm", name, "c", "--force");
    for (const args of [["info", name], ["get", name, "--last", "$KV.b.k"], ["edit", name, "--description", name]]) await run(0, "stream", ...args);
  }
  await run(4, "stream", "rm-msg", "kv:b", "1"); // a bucket denies it
  await run(0, "stream", "purge", "kv:b", "--force");
  await run(0, "stream", "rm", "kv:b", "--force");
});

scenario("consumer next: acknowledges, or not, or asks again", async (t) => {
  const { s, api, run } = await ready(t);
  await run(0, "stream", "create", "A", "--subjects", "a.>");
  await run(0, "pub", "a.1", "m {{Count}}", "-J", "--count", "5");
  await run(0, "consumer", "create", "A", "c", "--ack-wait", "1h");
  const state = async () => {
    const i = await api("CONSUMER.INFO.A.c");
    return [i.ack_floor.stream_seq, i.num_ack_pending, i.num_pending];
  };
  assert.match(await run(0, "consumer", "next", "A", "c"), /^a\.1 {3}seq 1 {3}20.*Z {3}3 B\nm 1\n$/);
  assert.deepEqual(await state(), [1, 0, 4]);
  const two = rows(await run(0, "consumer", "next", "A", "c", "--count", "2", "--ack", "--json"));
  assert.deepEqual(two.map((m) => [m.seq, m.data, m.delivered, m.pending]), [[2, "m 2", 1, 3], [3, "m 3", 1, 2]]);
  assert.deepEqual(await state(), [3, 0, 2]);
  assert.equal(await run(0, "consumer", "next", "A", "c", "--nak", "--raw"), "m 4\n");
  const again = rows(await run(0, "consumer", "next", "A", "c", "--no-ack", "--json"));
  assert.deepEqual([again[0].seq, again[0].delivered], [4, 2]);
  assert.deepEqual(await state(), [3, 1, 1]);
  assert.equal(await run(0, "consumer", "next", "A", "c", "--count", "9", "--wait", "0s", "--raw"), "m 5\n");
  assert.match(await run(3, "consumer", "next", "A", "c", "--wait", "0s"), /no message for c within the time \(--wait\)/);
  const waits = live(t, s, "consumer", "next", "A", "c", "--wait", "1h");
  await until("the pull request", async () => (await api("CONSUMER.INFO.A.c")).num_waiting === 1);
  await run(0, "pub", "a.1", "late", "-J");
  assert.equal((await waits.exited).code, 0);
  assert.equal(waits.lines[1], "late");
});

scenario("who may not is told so: exit code 5, and nothing is done", async (t) => {
  const config = `${JS.config}authorization { users: [ { user: app, password: p, permissions: { publish: { allow: ["ok", "_INBOX.>", "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.NAMES"] }, subscribe: { allow: ["_INBOX.>", "ok"] } } }, { user: writer, password: p, permissions: { publish: ["$KV.b.>"], subscribe: ["_INBOX.>"] } }, { user: admin, password: p } ] }\n`;
  const s = await t.server({ config });
  const as = (user) => ({ url: s.url.replace("://", `://${user}:p@`) });
  const app = (...args) => expect(5, as("app"), ...args);
  const admin = (...args) => expect(0, as("admin"), ...args);
  await admin("stream", "create", "A", "--subjects", "a.>");
  await admin("kv", "create", "b");
  await admin("kv", "put", "b", "k", "v");
  await admin("consumer", "create", "A", "c");
  for (const args of [["pub", "secret", "x"], ["pub", "a.1", "x", "-J"], ["sub", "secret"], ["req", "secret", "x"], ["stream", "ls"], ["stream", "create", "B"], ["stream", "rm", "A", "--force"], ["stream", "purge", "A", "--force"],
    ["stream", "edit", "A", "--max-age", "1h"], ["stream", "rm-msg", "A", "1"], ["consumer", "ls", "A"], ["consumer", "next", "A", "c"], ["kv", "put", "b", "k", "w"], ["kv", "get", "b", "k"], ["kv", "del", "b", "k"], ["kv", "watch", "b"], ["object", "create", "o"]])
    assert.match(await app(...args), /^mayfly: not permitted: /, args.join(" "));
  assert.match(await app("stream", "create", "B"), /publish to "\$JS\.API\.STREAM\.CREATE\.B" \(ask for publish permission on it\)/);
  assert.equal(await admin("kv", "get", "b", "k"), "v");
  assert.equal(await expect(0, as("writer"), "kv", "put", "b", "k", "w", "--ttl", "1h"), "b/k revision 2\n"); // without the TTL API
  assert.deepEqual((await admin("stream", "ls", "--names")).trim().split("\n").sort(), ["A", "KV_b"]);
});

scenario("without JetStream and without a server: exit code 2", async (t) => {
  const s = await t.server();
  for (const args of [["stream", "ls"], ["stream", "info", "A"], ["kv", "ls"], ["kv", "keys", "b"], ["object", "ls"], ["consumer", "ls", "A"]])
    assert.match(await expect(2, s, ...args), /no JetStream there: start the server with -js/, args.join(" "));
  assert.match(await expect(3, s, "kv", "put", "b", "k", "v"), /JetStream is off/);
  const gone = { url: s.url };
  await s.stop();
  for (const args of [["pub", "a", "x"], ["sub", "a"], ["req", "a"], ["stream", "ls"], ["consumer", "ls", "A"], ["kv", "get", "b", "k"], ["object", "ls"]])
    assert.match(await expect(2, gone, ...args), /no server at .*-s URL/, args.join(" "));
});

scenario("every data command has a help with flags and an example; the flags in it exist", async () => {
  const all = (await expect(0, {}, "help")).match(/^ {2,}((?:pub|sub|req|stream|consumer|kv|object)(?: [a-z-]+)?)\b/gm).map((l) => l.trim());
  assert.ok(all.length >= 30, all.join(", "));
  for (const command of all) {
    const r = await mayfly({}, ...command.split(" "), "--help");
    assert.deepEqual([r.code, r.stderr], [0, ""], command);
    assert.match(r.stdout, new RegExp(`mayfly ${command}`), command);
    assert.match(r.stdout, /example/i, command);
    const known = new Set(r.stdout.match(/^ +(?:-\w, )?--[a-z-]+/gm).map((f) => f.match(/--[a-z-]+/)[0]));
    for (const f of r.stdout.match(/(?<![\w-])--[a-z-]+/g)) assert.ok(known.has(f), `${command}: ${f}`);
  }
});
