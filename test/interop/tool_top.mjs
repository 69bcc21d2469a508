// tool_top.mjs: `mayfly top`: a snapshot without a terminal, JSON, and the live screen of a real one.
import assert from "node:assert/strict";
import { headers } from "@nats-io/transport-node";
import { other } from "./lib/backup.mjs";
import { scenario } from "./lib/scenario.mjs";
import { Terminal, expect, json, live, mayfly } from "./lib/tool.mjs";
import { until } from "./lib/wait.mjs";

const only = { only: "mayfly" };

// A server with a bucket; put(KEY, TTL).
async function bucket(t, more = "") {
  const s = await t.server({ config: `server_name: one\njetstream { store_dir: "DIR/js" }\n${more}`, monitor: true });
  const nc = await t.connect(s, { name: "client of the test" });
  await nc.request("$JS.API.STREAM.CREATE.KV_drafts", JSON.stringify({ name: "KV_drafts", subjects: ["$KV.drafts.>"], allow_msg_ttl: true, max_msgs_per_subject: 1 }));
  const put = async (key, ttl) => {
    const h = headers();
    if (ttl) h.set("Nats-TTL", ttl);
    assert.equal((await nc.request(`$KV.drafts.${key}`, "hello", { headers: h })).json().error, undefined);
  };
  return { s, nc, put };
}
// The pages stay at their port when the server starts again.
async function restart(s) {
  s.head = s.head.replace('http: "127.0.0.1:-1"', `http: "${s.http.replace("http://", "")}"`);
  await s.startAgain();
}

scenario("top --json: one snapshot with rates, streams and connections", only, async (t) => {
  const { s, nc, put } = await bucket(t);
  await put("a", "1h");
  const seen = mayfly(s, "top", s.http, "--json", "--interval", "1s");
  await until("the first look", async () => (await s.page("/varz")).json.http_req_stats["/connz"] > 0);
  for (let i = 0; i < 50; i++) await put(`k${i}`);
  const r = await seen;
  assert.equal(r.code, 0, r.stderr);
  const doc = JSON.parse(r.stdout);
  assert.equal(doc.url, s.http);
  assert.ok(doc.seconds > 0.5, `${doc.seconds}`);
  assert.equal(doc.server.name, "one");
  assert.equal(doc.server.connections, 1);
  assert.ok(doc.server.in_msgs_per_second > 0);
  assert.equal(doc.jetstream.streams, 1);
  assert.equal(doc.jetstream.expired, 0);
  const [stream] = doc.streams;
  assert.equal(stream.account, "$G");
  assert.equal(stream.name, "KV_drafts");
  assert.equal(stream.with_ttl, 1);
  assert.ok(stream.last_seq_per_second > 0);
  assert.equal(stream.expired_per_second, 0);
  const [one] = doc.connections;
  assert.equal(one.name, "client of the test");
  assert.ok(one.in_msgs_per_second > 0 && one.out_msgs_per_second > 0, JSON.stringify(one));
  await nc.flush();
});

scenario("top --json --count 3: a document a line, and expiries are seen", only, async (t) => {
  const { s, put } = await bucket(t);
  for (let i = 0; i < 20; i++) await put(`k${i}`, "1s");
  const top = live(t, s, "top", s.http, "--json", "--interval", "100ms", "--count", "300");
  await until("an expiry", () => top.lines.some((l) => JSON.parse(l).streams[0].expired_per_second > 0));
  const total = await until("all of them", () => top.lines.map((l) => JSON.parse(l)).find((d) => d.jetstream.expired === 20));
  assert.equal(total.streams[0].expired, 20);
  assert.equal(await top.end("SIGINT"), 0);
  assert.equal(top.stderr, "");
  const three = await expect(0, s, "top", s.http, "--json", "--interval", "100ms", "--count", "3");
  assert.deepEqual(three.trim().split("\n").map((l) => JSON.parse(l).server.name), ["one", "one", "one"]);
});

scenario("top without a terminal: one plain snapshot with everything", only, async (t) => {
  const { s, put } = await bucket(t);
  await put("a", "1h");
  const text = await expect(0, s, "top", s.http, "--interval", "100ms");
  assert.match(text, /^\d\d:\d\d:\d\d {3}one {3}mayfly \d+\.\d+\.\d+ {3}up /);
  assert.match(text, /^in [\d.,]+\/s .* {3}connections 1 /m);
  assert.match(text, /^streams 1 {3}messages 1 .*expired 0\/s {3}late p99 0\.0 ms {3}overdue 0$/m);
  assert.match(text, /^STREAM +ACCOUNT +MESSAGES +BYTES +CONSUMERS +WITH TTL +STORED +EXPIRED$/m);
  assert.match(text, /^KV_drafts +\$G +1 .* 0 +1 +0\/s +0\/s$/m);
  assert.match(text, /^ *\d+ +client of the test +- +127\.0\.0\.1:\d+ /m);
  // eslint-disable-next-line no-control-regex
  assert.doesNotMatch(text, /\x1b|q leaves/);
});

scenario("top: bad input and a server that is not there", only, async (t) => {
  const { s } = await bucket(t);
  assert.match(await expect(2, s, "top", s.http, "--interval", "1ms"), /--interval is a time from 100ms to 1h/);
  assert.match(await expect(2, s, "top", s.http, "--count", "0"), /--count is a number from 1 on/);
  assert.match(await expect(2, s, "top", "ftp://x"), /not an http:\/\/ or https:\/\/ address/);
  assert.match(await expect(2, s, "top", "http://127.0.0.1:1"), /Connection refused \(start the server with -m PORT, or name its address\)/);
  assert.match(await expect(2, s, "top", `http://127.0.0.1:${s.port}`), /this is the port for clients/);
  assert.match(await expect(2, s, "top", `${s.http}/nowhere`), /\/varz: HTTP status 404/);
});

if (other)
  scenario("top of a nats-server: everything but lifetimes", only, async (t) => {
    const s = await t.server({ config: 'server_name: one\njetstream { store_dir: "DIR/js" }\n', monitor: true, program: other });
    const nc = await t.connect(s);
    await nc.request("$JS.API.STREAM.CREATE.S", JSON.stringify({ name: "S", subjects: ["s"] }));
    const text = await expect(0, s, "top", s.http, "--interval", "100ms");
    assert.match(text, /^\d\d:\d\d:\d\d {3}one {3}nats-server 2\.\d+\.\d+ /);
    assert.match(text, /^streams 1 {3}messages 0 0 B {3}consumers 0$/m);
    assert.match(text, /^S +\$G +0 +0 B +0 +- +0\/s +-$/m);
    const doc = await json(s, "top", s.http, "--interval", "100ms");
    assert.deepEqual([doc.streams[0].name, doc.streams[0].expired, doc.connections.length], ["S", undefined, 1]);
  });

scenario("top: a server without JetStream", only, async (t) => {
  const s = await t.server({ monitor: true });
  assert.match(await expect(0, s, "top", s.http, "--interval", "100ms"), /^no JetStream \(start the server with -js\)$/m);
  assert.equal((await json(s, "top", s.http, "--interval", "100ms")).jetstream, undefined);
});

scenario("top in a terminal: redrawn, q leaves, the screen comes back", only, async (t) => {
  const { s, put } = await bucket(t);
  const top = new Terminal(t, s, ["top", s.http, "--interval", "200ms"]);
  await top.shows(/KV_drafts +\$G +0 .* -/); // no rate before the second look
  await put("a", "5s"); // seen before its end on a busy machine too
  await top.shows(/KV_drafts +\$G +1 /);
  await top.shows(/expired [\d.]+\/s.*\n\nSTREAM.*\nKV_drafts +\$G +0 .* [\d.]*[1-9][\d.]*\/s\n/);
  top.type("q");
  assert.equal(await top.end(), 0);
  assert.ok(top.raw.includes("\x1b[?1049h") && top.raw.trimEnd().endsWith("\x1b[?1049l"), "the screen of before");
});

scenario("top in a narrow window: no line is wider, Ctrl-C leaves", only, async (t) => {
  const { s, nc } = await bucket(t);
  const name = `S_${"x".repeat(80)}`;
  await nc.request(`$JS.API.STREAM.CREATE.${name}`, JSON.stringify({ name, subjects: ["s"] }));
  const top = new Terminal(t, s, ["top", s.http, "--interval", "100ms"], { columns: 40, rows: 14 });
  await top.shows(/STREAM +MESSAGES +STORED +EXPIRED/);
  await top.shows(/S_x+… +0 +0\/s +0\/s/);
  top.type("\x03");
  assert.equal(await top.end(), 0);
  for (const line of top.lines()) assert.ok([...line].length <= 40, `${[...line].length} columns: ${line}`);
});

scenario("top in a low window: the rest is counted", only, async (t) => {
  const { s, nc } = await bucket(t);
  for (let i = 0; i < 20; i++) await nc.request(`$JS.API.STREAM.CREATE.S${i}`, JSON.stringify({ name: `S${i}`, subjects: [`s${i}`] }));
  const top = new Terminal(t, s, ["top", s.http, "--interval", "100ms"], { columns: 100, rows: 16 });
  await top.shows(/and 1\d more streams\n\n *ID +CONNECTION/);
  top.type("q");
  assert.equal(await top.end(), 0);
});

scenario("top in a low window: room for a table that is not there is given to the other", only, async (t) => {
  const s = await t.server({ config: `server_name: one\njetstream { store_dir: "DIR/js" }\n`, monitor: true });
  for (const name of ["ONE", "TWO", "THREE"]) await expect(0, s, "stream", "create", name, "--subjects", `${name}.>`);
  const top = new Terminal(t, s, ["top", s.http, "--interval", "100ms"], { columns: 100, rows: 9 });
  await top.shows(/STREAM[^]*ONE[^]*THREE[^]*TWO/);
  assert.doesNotMatch(top.screen(), /more streams/);
  top.type("q");
  assert.equal(await top.end(), 0);
});

scenario("top in a terminal: a server that restarts is followed", only, async (t) => {
  const { s } = await bucket(t);
  const top = new Terminal(t, s, ["top", s.http, "--interval", "100ms"]);
  await top.shows(/KV_drafts/);
  await s.stop();
  await top.shows(/no answer since \d\d:\d\d:\d\d: .*\n.* one /);
  top.raw = "";
  await restart(s);
  await top.shows(/^(?!.*no answer)[^]*connections 0 [^]*KV_drafts/m);
  top.type("\x03");
  assert.equal(await top.end(), 0);
});

scenario("top without a terminal: a server that stops ends it", only, async (t) => {
  const { s } = await bucket(t);
  const top = live(t, s, "top", s.http, "--json", "--interval", "100ms", "--count", "100000");
  await until("a line", () => top.lines.length > 0);
  await s.stop();
  assert.equal((await top.exited).code, 2);
  assert.match(top.stderr, /Connection refused|Connection reset|not an HTTP response|no answer/);
});
