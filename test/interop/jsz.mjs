// jsz.mjs: what operators see of JetStream: /jsz with all its parameters, its part of the other pages,
// the same over $SYS, /healthz.  Field lists are nats-server 2.15.1's, in its order.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { onServer } from "./lib/js.mjs";
import { parseMetrics } from "./lib/prometheus.mjs";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const config = `server_name: heron
  jetstream { store_dir: "DIR/js", domain: hub, max_mem: 100MB, max_file: 1GB, sync_interval: "2m"
    limits { max_ack_pending: 5000, duplicate_window: 90s, max_request_batch: 77, batch { max_msgs: 500, timeout: 3s } } }
  accounts {
    A { jetstream { max_mem: 1MB, max_file: 10MB, max_streams: 5 }, users: [ {user: a, password: p} ] }
    B { jetstream: enabled, users: [ {user: b, password: p} ] }
    C { users: [ {user: c, password: p} ] }
    SYS { users: [ {user: sys, password: p} ] } }
  system_account: SYS`;
const words = (text) => text.split(/\s+/).filter(Boolean);
const has = (o, list, what) => assert.deepEqual(Object.keys(o), words(list), what);

// Three streams in two accounts, five messages, four requests of which one fails.
async function filled(t) {
  const s = await t.server({ monitor: true, config });
  const by = {};
  for (const user of ["a", "b", "sys"]) by[user] = await t.connect(s, { user, pass: "p" });
  const create = async (user, c) => assert.equal((await api(by[user], `STREAM.CREATE.${c.name}`, c)).error, undefined);
  await create("a", { name: "ONE", subjects: ["one.>"], max_bytes: 1000000 });
  await create("a", { name: "MEM", subjects: ["mem.>"], storage: "memory" });
  await create("b", { name: "BB", subjects: ["bb"] });
  assert.equal((await api(by.b, "STREAM.INFO.NOPE")).error.err_code, 10059);
  for (const [user, subject, text] of [["a", "one.0", "hello"], ["a", "one.1", "hello"], ["a", "one.2", "hello"], ["a", "mem.1", "x"], ["b", "bb", "zz"]])
    await by[user].request(subject, text, { timeout: LIMIT_MS });
  return { s, by, jsz: async (q = "") => (await s.page(`/jsz${q}`)).json };
}
async function api(nc, op, body = "") {
  return ask(nc, `$JS.API.${op}`, body);
}
async function ask(nc, subject, body = "") {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return JSON.parse((await nc.request(subject, text, { timeout: LIMIT_MS })).string());
}
const names = (list) => list?.map((x) => x.name);
const stats = { memory: 22, storage: 154, reserved_memory: 0, reserved_storage: 1000000, accounts: 2, ha_assets: 0, api: { level: 5, total: 4, errors: 1 } };
const limits = { max_request_batch: 77, max_ack_pending: 5000, max_duplicate_window: 90e9, max_batch_size: 500, max_batch_timeout: 3e9, default_max_consumers: isMayfly ? 100000 : 1000 };
const setup = (s, paths) => ({ max_memory: 104857600, max_storage: 1073741824, ...(paths && { store_dir: s.file("js/jetstream") }),
  sync_interval: 120e9, domain: "hub", compress_ok: true, strict: true });
const JSZ = `memory storage reserved_memory reserved_storage accounts ha_assets api server_id now config limits
  streams consumers messages bytes total`;
const DETAILS = JSZ.replace("total", "account_details total");
const ACCOUNT = "name id memory storage reserved_memory reserved_storage accounts ha_assets api";
const STATE = "messages bytes first_seq first_ts last_seq last_ts num_subjects consumer_count";

scenario("jsz: every field, in order", async (t) => {
  const { s, jsz } = await filled(t);
  const j = await jsz();
  has(j, JSZ);
  const { server_id, now, config: c, limits: l, streams, consumers, messages, bytes, total, ...rest } = j;
  assert.deepEqual(rest, stats);
  has(rest.api, "level total errors");
  assert.equal(JSON.stringify(c), JSON.stringify(setup(s, true)));
  assert.equal(JSON.stringify(l), JSON.stringify(limits));
  assert.deepEqual([streams, consumers, messages, bytes, total], [3, 0, 5, 176, 2]);
  assert.equal(server_id, (await s.varz()).server_id);
  assert.ok(Math.abs(Date.parse(now) - Date.now()) < 60000);
  has(await jsz("?raft=1"), JSZ.replace("streams", "streams streams_leader"));
  assert.equal((await jsz("?raft=1")).streams_leader, 3);
  for (const q of ["leader-only=1", "streams=0", "config=T", "acc=C", "acc=NOPE", "acc=NOPE&streams=1"]) has(await jsz(`?${q}`), JSZ, q);
});

scenario("jsz: accounts, one of them, pages of them", async (t) => {
  const { jsz } = await filled(t);
  const listed = async (q) => names((await jsz(q)).account_details);
  const all = await jsz("?accounts=1");
  has(all, DETAILS);
  for (const a of all.account_details) has(a, ACCOUNT);
  assert.deepEqual(all.account_details[0], { name: "A", id: "A", memory: 22, storage: 120, reserved_memory: 1048576,
    reserved_storage: 10485760, accounts: 0, ha_assets: 0, api: { level: 0, total: 2, errors: 0 } });
  assert.deepEqual(all.account_details[1].api, { level: 0, total: 2, errors: 1 });
  assert.equal(all.account_details[1].reserved_storage, 2 ** 64); // 2^64-1: no limit
  assert.deepEqual(await listed("?acc=A"), ["A"]);
  assert.deepEqual(await listed("?acc=B&offset=1&limit=1"), ["B"]);
  assert.deepEqual(await listed("?acc=NOPE&accounts=1"), ["A", "B"]);
  assert.deepEqual(await listed("?accounts=true&offset=1"), ["B"]);
  assert.deepEqual(await listed("?accounts=true&limit=1"), ["A"]);
  assert.deepEqual(await listed("?accounts=true&offset=-1"), ["A", "B"]);
  assert.deepEqual((await listed("?accounts=true&offset=1&limit=-1")).sort(), ["A", "B"]);
  assert.equal(await listed("?accounts=true&offset=9"), undefined);
  assert.equal((await jsz("?accounts=1&limit=1")).total, 2);
});

scenario("jsz: streams, their configuration, where they come from", async (t) => {
  const { by, jsz } = await filled(t);
  const streams = async (q) => {
    const list = (await jsz(q)).account_details.flatMap((a) => a.stream_detail ?? []);
    return Object.fromEntries(list.map((x) => [x.name, x]));
  };
  assert.deepEqual(Object.keys(await streams("?streams=1")).sort(), ["BB", "MEM", "ONE"]);
  assert.deepEqual(Object.keys(await streams("?consumers=1&direct-consumers=1")).sort(), ["BB", "MEM", "ONE"]);
  assert.deepEqual(Object.keys(await streams("?acc=B&streams=1&stream-leader-only=1&raft=1")), ["BB"]);
  const { ONE } = await streams("?acc=A&streams=1");
  has(ONE, "name created cluster state");
  has(ONE.state, STATE);
  assert.deepEqual(ONE.cluster, { leader: "heron" });
  assert.deepEqual([ONE.state.messages, ONE.state.bytes, ONE.state.num_subjects], [3, 120, 3]);
  const asked = (await streams("?acc=A&streams=1&config=1")).ONE;
  has(asked, "name created cluster config state");
  assert.deepEqual([asked.config.subjects, asked.config.duplicate_window, asked.config.metadata], [["one.>"], 90e9, { "_nats.req.level": "0" }]);

  await api(by.b, "STREAM.MSG.DELETE.BB", { seq: 1 });
  await api(by.b, "STREAM.CREATE.M", { name: "M", mirror: { name: "GONE" } });
  await api(by.b, "STREAM.CREATE.S", { name: "S", sources: [{ name: "GONE" }] });
  const { BB, M, S } = await streams("?acc=B&streams=1");
  assert.deepEqual([BB.state.first_seq, BB.state.last_seq, BB.state.first_ts], [2, 1, "0001-01-01T00:00:00Z"]);
  has(M, "name created cluster state mirror");
  const told = ({ error, ...rest }) => (assert.ok(error === undefined || error.err_code === 10059), rest); // as soon as it has asked
  assert.deepEqual([told(M.mirror), S.sources.map(told)], [{ name: "GONE", lag: 0, active: -1 }, [{ name: "GONE", lag: 0, active: -1 }]]);
});

const CONSUMER = "stream_name name created delivered ack_floor num_ack_pending num_redelivered num_waiting num_pending ts";
const withConfig = (fields) => fields.replace("created", "created config");
async function consuming(t) {
  const x = await filled(t);
  const create = async (user, stream, c) => assert.equal((await api(x.by[user], `CONSUMER.CREATE.${stream}.${c.name}`, { stream_name: stream, config: c })).error, undefined);
  await create("a", "ONE", { name: "slow", durable_name: "slow", ack_policy: "explicit", ack_wait: 60e9 });
  await create("a", "ONE", { name: "tap", deliver_subject: "tap.it", ack_policy: "none" });
  await create("b", "BB", { name: "b", durable_name: "b", ack_policy: "explicit" });
  assert.equal((await x.by.a.request("$JS.API.CONSUMER.MSG.NEXT.ONE.slow", "1", { timeout: LIMIT_MS, noMux: true })).string(), "hello");
  return x;
}

scenario("jsz: consumers are counted, and told one by one", async (t) => {
  const { by, jsz } = await consuming(t);
  const stream = async (q, name = "ONE") => (await jsz(q)).account_details[0].stream_detail.find((s) => s.name === name);
  const raft = await jsz("?raft=1");
  assert.deepEqual([raft.consumers, raft.consumers_leader], [3, 3]);
  assert.equal((await stream("?acc=A&streams=1")).consumer_detail, undefined);
  const ONE = await stream("?acc=A&consumers=1");
  has(ONE, "name created cluster state consumer_detail");
  assert.deepEqual([ONE.state.consumer_count, names(ONE.consumer_detail)], [2, ["slow", "tap"]]);
  for (const c of ONE.consumer_detail) has(c, CONSUMER, c.name);
  const { stream_name, delivered, ack_floor, num_ack_pending, num_redelivered, num_waiting, num_pending } = ONE.consumer_detail[0];
  assert.deepEqual([stream_name, delivered.consumer_seq, delivered.stream_seq, ack_floor.stream_seq], ["ONE", 1, 1, 0]);
  assert.deepEqual([num_ack_pending, num_redelivered, num_waiting, num_pending], [1, 0, 0, 2]);
  assert.equal((await stream("?acc=A&consumers=1", "MEM")).consumer_detail, undefined);
  const asked = await stream("?acc=A&accounts=1&streams=1&consumers=1&config=1");
  has(asked, "name created cluster config state consumer_detail");
  has(asked.consumer_detail[0], withConfig(CONSUMER));
  assert.deepEqual([asked.consumer_detail[0].config.durable_name, asked.consumer_detail[1].config.deliver_subject], ["slow", "tap.it"]);

  const server = (o) => ask(by.sys, "$SYS.REQ.SERVER.PING.JSZ", o);
  const account = (o) => ask(by.sys, "$SYS.REQ.ACCOUNT.A.JSZ", o);
  const of = (list) => names(list.find((s) => s.name === "ONE").consumer_detail);
  assert.deepEqual(of((await server({ account: "A", consumer: true })).data.account_details[0].stream_detail), ["slow", "tap"]);
  assert.deepEqual(of((await account({ streams: true, consumer: true })).data.stream_detail), ["slow", "tap"]);
});

// Mirrors and sources read with consumers that nobody made: they are shown where they are asked for, and not counted.
scenario("jsz: consumers of mirrors are shown apart", async (t) => {
  const { by, jsz } = await consuming(t);
  await api(by.b, "STREAM.CREATE.COPY", { name: "COPY", mirror: { name: "BB" } });
  const BB = async (q) => (await jsz(q)).account_details[0].stream_detail.find((s) => s.name === "BB");
  const direct = await until("the mirror's consumer", async () =>
    (await BB("?acc=B&consumers=1&direct-consumers=1&config=1")).direct_consumer_detail?.find((c) => c.push_bound));
  has(direct, withConfig(CONSUMER).replace("ts", "push_bound ts"));
  assert.equal(direct.config.direct, true);
  for (const q of ["?acc=B&streams=1&direct-consumers=1", "?acc=B&consumers=1"]) assert.equal((await BB(q)).direct_consumer_detail, undefined, q);
  assert.deepEqual([(await jsz()).consumers, (await BB("?acc=B&streams=1")).state.consumer_count], [3, 1]);
});

const refusals = [
  ["accounts=x", "Error decoding boolean for 'accounts': strconv.ParseBool: parsing \"x\": invalid syntax"],
  ["stream-leader-only=2", "Error decoding boolean for 'stream-leader-only': strconv.ParseBool: parsing \"2\": invalid syntax"],
  ["limit=x", "Error decoding int for 'limit': strconv.Atoi: parsing \"x\": invalid syntax"],
  ["offset=1.5", "Error decoding int for 'offset': strconv.Atoi: parsing \"1.5\": invalid syntax"],
];
scenario("jsz: parameters that are none", async (t) => {
  const on = await t.server({ monitor: true, config });
  const off = await t.server({ monitor: true });
  for (const s of [on, off])
    for (const [q, text] of refusals) {
      const r = await s.page(`/jsz?${q}`);
      assert.deepEqual([r.status, r.text], [400, text]);
    }
  const r = await off.page("/jsz?leader-only=1"); // without JetStream nobody leads
  assert.deepEqual([r.status, r.text], [400, "filtered response: not leader"]);
  assert.equal((await off.page("/jsz?accounts=1")).json.disabled, true);
});

scenario("jsz: JetStream in varz, statsz, accountz, INFO and the log", async (t) => {
  const { s, by } = await filled(t);
  const block = (paths) => JSON.stringify({ config: setup(s, paths), stats, limits });
  assert.equal(JSON.stringify((await s.varz()).jetstream), block(true));
  const m = await ask(by.sys, "$SYS.REQ.SERVER.PING.STATSZ");
  assert.equal(JSON.stringify(m.statsz.jetstream), block(false)); // not where it stores
  assert.deepEqual([m.server.jetstream, m.server.flags, m.server.domain], [true, 7, "hub"]);
  for (const [name, yes] of [["A", true], ["B", true], ["C", false], ["SYS", false]]) {
    assert.equal((await s.page(`/accountz?acc=${name}`)).json.account_detail.jetstream_enabled, yes, name);
    assert.equal((await ask(by.sys, `$SYS.REQ.ACCOUNT.${name}.INFO`)).data.jetstream_enabled, yes, name);
  }
  assert.deepEqual([by.a.info.jetstream, by.a.info.domain], [true, "hub"]);
  for (const line of ["Starting JetStream", "- JETSTREAM -", "  Strict:          true", "  Max Memory:      100.00 MB", "  Max Storage:     1.00 GB",
    `  Store Directory: "${s.file("js/jetstream")}"`, "  Domain:          hub", "  API Level:       5", " to start JetStream"])
    assert.ok(s.log().includes(line), line);
});

scenario("jsz: JetStream derives its limits, and says what is not the default", async (t) => {
  const s = await t.server({ monitor: true, config: 'jetstream { store_dir: "DIR/js", sync_interval: always, unique_tag: az, limits { batch { max_inflight_per_stream: 3, max_inflight_total: 4 } } }' });
  const { config: c, limits: l } = (await s.varz()).jetstream;
  has(c, "max_memory max_storage store_dir sync_interval sync_always unique_tag strict");
  assert.ok(c.max_memory > 2 ** 20 && c.max_storage > 2 ** 20);
  assert.deepEqual(l, { max_batch_inflight_per_stream: 3, max_batch_inflight_total: 4, default_max_consumers: isMayfly ? 100000 : 1000 });
});

scenario("jsz: over $SYS, of the server and of one account", async (t) => {
  const { by } = await filled(t);
  const server = (o) => ask(by.sys, "$SYS.REQ.SERVER.PING.JSZ", o);
  const account = (name, o) => ask(by.sys, `$SYS.REQ.ACCOUNT.${name}.JSZ`, o);
  has((await server()).data, JSZ);
  const { data } = await server({ account: "A", consumer: true, config: true, raft: true });
  has(data, DETAILS.replace("streams", "streams streams_leader"));
  assert.deepEqual(names(data.account_details[0].stream_detail).sort(), ["MEM", "ONE"]);
  has(data.account_details[0].stream_detail[0], "name created cluster config state");
  assert.deepEqual(names((await server({ accounts: true, offset: 1 })).data.account_details), ["B"]);
  has((await server({ leader_only: true, unknown: 1, server_name: "her" })).data, JSZ);
  assert.deepEqual((await server({ account: 5 })).error,
    { code: 400, description: "json: cannot unmarshal number into Go struct field JszEventOptions.account of type string" });

  has((await account("A")).data, ACCOUNT);
  has((await account("A", { consumer: true })).data, ACCOUNT); // only /jsz takes it for streams, too
  const a = (await account("A", { streams: true, config: true })).data;
  has(a, `${ACCOUNT} stream_detail`);
  has(a.stream_detail[0], "name created cluster config state");
  for (const [name, text] of [["C", 'account "C" not jetstream enabled'], ["NOPE", 'account "NOPE" not found']]) {
    const r = await account(name);
    assert.deepEqual([r.data, r.error], [null, { code: 500, description: text }]);
  }
});

scenario("jsz: an account that loses JetStream by a reload is no longer there", async (t) => {
  const { s, jsz } = await filled(t);
  s.reload(config.replace("B { jetstream: enabled,", "B {"));
  await until("B without JetStream", async () => !(await s.page("/accountz?acc=B")).json.account_detail.jetstream_enabled);
  const j = await until("one account less", async () => ((await jsz("?accounts=1")).total === 1 ? jsz("?streams=1") : undefined));
  assert.deepEqual([j.accounts, j.streams, j.messages, names(j.account_details)], [1, 2, 4, ["A"]]);
  assert.deepEqual(j.account_details[0].stream_detail[0].cluster, { leader: "heron" }); // the name outlives the old options
});

const sick = (error) => `{"status":"unavailable","error":${JSON.stringify(error)}}`;
const checks = [
  ["", 200], ["js-enabled-only=1", 200], ["js-enabled=true&account=Z", 200], ["js-server-only=1&account=Z", 200], ["js-meta-only=1", 200],
  ["account=A", 200], ["account=A&stream=ONE", 200], ["account=A&stream=ONE&details=1", 200],
  ["account=Z", 404, sick('JetStream account "Z" not found')],
  ["account=C", 404, sick('JetStream account "C" not found')],
  ["account=SYS", 404, sick('JetStream account "SYS" not found')],
  ["account=A&stream=NOPE", 404, sick('JetStream stream "NOPE" not found on account "A"')],
  ["account=B&stream=ONE", 404, sick('JetStream stream "ONE" not found on account "B"')],
  ["account=A&stream=ONE&consumer=c", 404, sick('JetStream consumer "c" not found for stream "ONE" on account "A"')],
  ["account=A&stream=NOPE&details=1", 404,
    '{"status":"error","errors":[{"type":"STREAM","account":"A","stream":"NOPE","error":"JetStream stream \\"NOPE\\" not found on account \\"A\\""}]}'],
  ["account=Z&stream=X&details=1", 404, '{"status":"error","errors":[{"type":"ACCOUNT","account":"Z","error":"JetStream account \\"Z\\" not found"}]}'],
  ["account=A&stream=ONE&consumer=c&details=1", 404,
    '{"status":"error","errors":[{"type":"CONSUMER","account":"A","stream":"ONE","consumer":"c","error":"JetStream consumer \\"c\\" not found for stream \\"ONE\\" on account \\"A\\""}]}'],
  ["stream=ONE", 400, '{"status":"error","error":"\\"account\\" must not be empty when checking stream health"}'],
];
scenario("healthz: accounts, streams and consumers that are not there", async (t) => {
  const { s, by } = await filled(t);
  for (const [q, status, text = '{"status":"ok"}'] of checks) {
    const r = await s.page(`/healthz?${q}`);
    assert.deepEqual([r.status, r.text], [status, text], q);
  }
  assert.deepEqual((await ask(by.sys, "$SYS.REQ.SERVER.PING.HEALTHZ", { account: "A", stream: "NOPE" })).data,
    { status: "unavailable", status_code: 404, error: 'JetStream stream "NOPE" not found on account "A"' });
  assert.deepEqual((await ask(by.sys, "$SYS.REQ.SERVER.PING.HEALTHZ")).data, { status: "ok", status_code: 200 });
});

// Whoever balances load must hear of streams that lost something, by name, and of nothing else.
scenario("healthz: streams that are damaged or cannot be opened are named", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true, config: 'jetstream { store_dir: "DIR/js" }' });
  const { nc } = await onServer(t, s);
  for (const name of ["GOOD", "LOST", "ALIEN"]) {
    assert.equal((await api(nc, `STREAM.CREATE.${name}`, { name, subjects: [`${name}.>`] })).error, undefined);
    for (let i = 0; i < 20; i++) await nc.request(`${name}.${i}`, "x".repeat(1000), { timeout: LIMIT_MS });
  }
  assert.equal((await s.page("/healthz")).text, '{"status":"ok"}');
  await nc.close();
  await s.stop();
  const dir = (name) => s.file(`js/jetstream/$G/streams/${name}`);
  for (const f of files(dir("LOST"))) scratch(f, "x".repeat(500));
  fs.renameSync(dir("ALIEN"), dir("MOVED")); // a folder with another stream in it is not served
  await s.startAgain();

  const one = async (name) => (await s.page(`/healthz?account=$G&stream=${name}`)).json;
  assert.deepEqual(await one("GOOD"), { status: "ok" });
  assert.match((await one("LOST")).error, /^JetStream stream '\$G > LOST' is damaged on disk: 1 message .*mayfly check --repair SRC --to DST/);
  assert.match((await one("MOVED")).error, /^JetStream stream '\$G > MOVED' could not be recovered: ./);
  const all = await s.page("/healthz?details=true");
  assert.equal(all.status, 503);
  assert.deepEqual([all.json.status, all.json.errors.map((e) => `${e.type} ${e.account} ${e.stream}`).sort()],
    ["error", ["STREAM $G LOST", "STREAM $G MOVED"]]);
  const first = await s.page("/healthz");
  assert.deepEqual([first.status, first.json.status], [503, "unavailable"]);
  assert.equal((await s.page("/healthz?js-enabled-only=1")).status, 200);
  const value = await metrics(s);
  assert.deepEqual([value("mayfly_jetstream_streams"), value("mayfly_jetstream_streams_offline"), value("mayfly_jetstream_streams_unhealthy")], [2, 1, 1]);
  assert.deepEqual([value("mayfly_stream_healthy", "LOST"), value("mayfly_stream_healthy", "GOOD")], [0, 1]);
});

// What /metrics says now: value(NAME, [STREAM]).
async function metrics(s) {
  const all = parseMetrics((await s.page("/metrics")).text);
  const value = (name, stream) => all.get(name)?.samples.find((x) => x.labels.stream === stream)?.value;
  return Object.assign(value, { all });
}
function files(dir) {
  return fs.readdirSync(dir, { recursive: true }).map((f) => path.join(dir, f)).filter((f) => fs.statSync(f).isFile());
}
// Changes one byte in the middle of the first place that holds this text.
function scratch(file, text) {
  const bytes = fs.readFileSync(file);
  const at = bytes.indexOf(text);
  if (at < 0) return;
  bytes[at + 100] ^= 1;
  fs.writeFileSync(file, bytes);
}

scenario("metrics: streams, what came and went, how late", { only: "mayfly" }, async (t) => {
  const { s, by } = await filled(t);
  await api(by.b, "STREAM.CREATE.TTL", { name: "TTL", subjects: ["ttl.>"], allow_msg_ttl: true, subject_delete_marker_ttl: 1e9, duplicate_window: 10e9, max_msg_size: 100 });
  const send = async (body, hdr) => {
    const lines = Object.entries(hdr).map(([k, v]) => `${k}: ${v}\r\n`).join("");
    return JSON.parse((await by.b.request("ttl.x", body, { timeout: LIMIT_MS, headers: { encode: () => Buffer.from(`NATS/1.0\r\n${lines}\r\n`) } })).string());
  };
  await send("1", { "Nats-TTL": "1s", "Nats-Msg-Id": "m" });
  assert.equal((await send("1", { "Nats-TTL": "1s", "Nats-Msg-Id": "m" })).duplicate, true);
  assert.ok((await send("1".repeat(200), {})).error);
  let value = await metrics(s);
  assert.equal(value("mayfly_jetstream_deadlines"), 1);
  await until("the marker", async () => {
    value = await metrics(s);
    // It is counted when it is written, and there when it is on disk.
    return value("mayfly_jetstream_markers_total") === 1 && value("mayfly_jetstream_messages") === 7 - value("mayfly_stream_expired_total", "TTL");
  });
  const dead = value("mayfly_stream_expired_total", "TTL"); // on a slow machine the marker, too
  assert.ok(dead === 1 || dead === 2);
  assert.deepEqual(["streams", "accounts", "messages", "consumers"].map((k) => value(`mayfly_jetstream_${k}`)), [4, 2, 7 - dead, 0]);
  assert.deepEqual(["published", "markers", "duplicates", "refused"].map((k) => value(`mayfly_stream_${k}_total`, "TTL")), [1, 1, 1, 1]);
  assert.deepEqual(["published", "refused"].map((k) => value(`mayfly_jetstream_${k}_total`)), [6, 1]);
  const late = value("mayfly_stream_expiry_late_max_seconds", "TTL");
  assert.ok(late > 0);
  assert.ok((await metrics(s))("mayfly_stream_expiry_late_max_seconds", "TTL") >= late, "one scraper does not take it from another");
  assert.deepEqual([value("mayfly_jetstream_api_requests_total"), value("mayfly_jetstream_api_errors_total")], [5, 1]);
  assert.equal(value("mayfly_jetstream_storage_max_bytes"), 1073741824);
  assert.ok(value("mayfly_jetstream_disk_bytes") > 0);
  assert.deepEqual([value("mayfly_stream_messages", "ONE"), value("mayfly_stream_bytes", "MEM"), value("mayfly_stream_disk_bytes", "MEM")], [3, 22, 0]);
});

scenario("metrics: commits of several streams in one sync", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true, config: 'jetstream { store_dir: "DIR/js" }' });
  const { nc } = await onServer(t, s);
  const names = ["A", "B", "C"];
  for (const name of names) await api(nc, `STREAM.CREATE.${name}`, { name, subjects: [name] });
  const value = await until("a sync for several streams", async () => {
    await Promise.all(names.map((name) => nc.request(name, "x", { timeout: LIMIT_MS })));
    const v = await metrics(s);
    return v("mayfly_journal_entries_total") > 0 && v;
  });
  const [entries, commits, bytes, away] = ["entries", "commits", "bytes", "turned_away"].map((k) => value(`mayfly_journal_${k}_total`));
  assert.ok(commits >= 2 * entries && bytes > 50 * commits && away >= 0, `${entries} ${commits} ${bytes} ${away}`);
  assert.ok(value("mayfly_jetstream_published_total") >= commits);
});

const FAMILIES = "pending ack_pending redelivered lag waiting_pulls delivered_seq ack_floor_seq paused";
scenario("metrics: consumers, one by one and in sum", { only: "mayfly" }, async (t) => {
  const { s, by } = await consuming(t);
  let value = await metrics(s);
  const of = (consumer) => words(FAMILIES).map((f) => value.all.get(`mayfly_consumer_${f}`).samples.find((x) => x.labels.consumer === consumer).value);
  assert.deepEqual(value.all.get("mayfly_consumer_lag").samples.map((x) => Object.values(x.labels).join(" ")), ["A ONE slow", "A ONE tap", "B BB b"]);
  assert.deepEqual(of("slow"), [2, 1, 0, 3, 0, 1, 0, 0]);
  assert.deepEqual(of("b"), [1, 0, 0, 1, 0, 0, 0, 0]);
  const sums = () => ["consumers", "consumers_unlisted", "consumers_pending", "consumers_ack_pending", "consumers_redelivered", "consumers_waiting_pulls"].map((k) => value(`mayfly_jetstream_${k}`));
  assert.deepEqual(sums(), [3, 0, 6, 1, 0, 0]);
  await api(by.a, "CONSUMER.PAUSE.ONE.slow", { pause_until: "2100-01-01T00:00:00Z" });
  await api(by.a, "CONSUMER.DELETE.ONE.tap");
  by.b.subscribe("wait.here");
  by.b.publish("$JS.API.CONSUMER.MSG.NEXT.BB.b", JSON.stringify({ batch: 5, expires: 60e9 }), { reply: "wait.here" });
  value = await until("a pull that waits", async () => ((value = await metrics(s)), value("mayfly_jetstream_consumers_waiting_pulls") === 1 && value));
  assert.deepEqual([of("slow").at(-1), value("mayfly_stream_consumers", "ONE"), value("mayfly_jetstream_consumers")], [1, 1, 2]);
});

// What Prometheus' own checker says of the page: of an empty server, and of one with everything in it.
scenario("metrics: promtool accepts the page", { only: "mayfly" }, async (t) => {
  const promtool = process.env.PROMTOOL;
  assert.ok(promtool && fs.existsSync(promtool), "PROMTOOL names Prometheus' promtool; ./dev test fetches it");
  const { s } = await consuming(t);
  const empty = await t.server({ monitor: true });
  const js = await t.server({ monitor: true, config: 'jetstream { store_dir: "DIR/js" }' });
  for (const x of [s, empty, js]) {
    const text = (await x.page("/metrics")).text;
    parseMetrics(text);
    const r = spawnSync(promtool, ["check", "metrics"], { input: text, encoding: "utf8" });
    assert.deepEqual([r.status, r.stdout + r.stderr], [0, ""]);
  }
});

scenario("metrics: series of consumers are bounded, and say so", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true, config: 'jetstream { store_dir: "DIR/js" }' });
  const { nc } = await onServer(t, s);
  await api(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s"], storage: "memory" });
  await nc.request("s", "x", { timeout: LIMIT_MS });
  const config = (name) => ({ stream_name: "S", config: { name, ack_policy: "explicit", mem_storage: true, inactive_threshold: 600e9 } });
  await Promise.all(Array.from({ length: 1007 }, (_, i) => api(nc, `CONSUMER.CREATE.S.c${i}`, config(`c${i}`))));
  const value = await metrics(s);
  for (const f of words(FAMILIES)) assert.equal(value.all.get(`mayfly_consumer_${f}`).samples.length, 1000, f);
  assert.deepEqual(["consumers", "consumers_unlisted", "consumers_pending"].map((k) => value(`mayfly_jetstream_${k}`)), [1007, 7, 1007]);
});

// A page must not grow with what clients create.
scenario("metrics: series of streams are bounded, and say so", { only: "mayfly" }, async (t) => {
  const s = await t.server({ monitor: true, config: 'jetstream { store_dir: "DIR/js" }' });
  const { nc } = await onServer(t, s);
  await Promise.all(Array.from({ length: 1005 }, (_, i) => api(nc, `STREAM.CREATE.S${i}`, { name: `S${i}`, subjects: [`s${i}`], storage: "memory" })));
  const value = await metrics(s);
  assert.equal(value.all.get("mayfly_stream_messages").samples.length, 1000);
  assert.deepEqual([value("mayfly_jetstream_streams"), value("mayfly_jetstream_streams_unlisted")], [1005, 5]);
  assert.equal((await s.page("/jsz?streams=1")).json.account_details[0].stream_detail.length, 1005);
});

scenario("accountz: the API is an import of every account, and its domain a mapping", async (t) => {
  const users = (n) => `users: [{user: ${n}, password: p}]`;
  const config = `jetstream { store_dir: "DIR/js", domain: hub }
    accounts { A { jetstream: enabled, ${users("a")} }, B { ${users("b")} }, SYS { ${users("s")} } }
    system_account: SYS`;
  const s = await t.server({ config, monitor: true });
  const detail = async (name) => (await s.page(`/accountz?acc=${name}`)).json.account_detail;
  const API = { subject: "$JS.API.>", account: "SYS", to: "$JS.API.>", local_subject: "$JS.API.>", type: "service", invalid: false, share: true, tracking: false };
  for (const name of ["$G", "A", "B"]) {
    const { imports, mappings } = await detail(name);
    assert.deepEqual(imports.filter((x) => x.subject.startsWith("$JS")), [API], name);
    assert.deepEqual(Object.keys(mappings).sort(), ["$KV.>", "$OBJ.>", "ACCOUNT.>", "CONSUMER.>", "DIRECT.>", "INFO", "META.>", "SERVER.>", "STREAM.>"].map((x) => `$JS.hub.API.${x}`));
    assert.deepEqual(mappings["$JS.hub.API.$KV.>"], [{ subject: "$KV.>", weight: 100 }]);
    assert.deepEqual(mappings["$JS.hub.API.INFO"], [{ subject: "$JS.API.INFO", weight: 100 }]);
  }
  const { imports, exports, mappings } = await detail("SYS");
  assert.deepEqual(imports.filter((x) => x.subject.startsWith("$JS")), []);
  const out = exports.map((x) => `${x.subject} ${x.type} ${x.response_type}`);
  for (const subject of ["$JS.API.>", "$SYS.DEBUG.SUBSCRIBERS", "$SYS.REQ.USER.*.INFO"]) assert.ok(out.includes(`${subject} service Singleton`), subject);
  assert.deepEqual(mappings, { "$JS.hub.API.>": [{ subject: "$JS.API.>", weight: 100 }] });
});

scenario("accountz: without JetStream no account imports its API", async (t) => {
  const s = await t.server({ monitor: true });
  for (const name of ["$G", "$SYS"]) assert.doesNotMatch((await s.page(`/accountz?acc=${name}`)).text, /JS\.API/);
});
