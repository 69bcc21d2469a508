// consumers_api.mjs: the JSON API for consumers, request by request: exact answers, exact errors, and the
// order in which they are found.  Raw requests: what a client library would hide is the point here.
import assert from "node:assert/strict";
import crypto from "node:crypto";
import { headers } from "@nats-io/transport-node";
import { scenario } from "./lib/scenario.mjs";
import { isMayfly } from "./lib/server.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const JS = { config: 'server_name: one\njetstream { store_dir: "DIR" }\n' };
const TYPE = "io.nats.jetstream.api.v1.";
const ZERO = "0001-01-01T00:00:00Z";
const S = 1e9;
const SERVER = { "_nats.level": "5", "_nats.req.level": "0", "_nats.ver": "2.15.1" };

const encode = (body) => (typeof body === "string" ? body : JSON.stringify(body));

async function text(nc, subject, body = "", level) {
  const h = headers();
  if (level !== undefined) h.set("Nats-Required-Api-Level", level);
  const m = await nc.request(`$JS.API.${subject}`, encode(body), { timeout: LIMIT_MS, ...(level !== undefined && { headers: h }) });
  return m.string();
}
const ask = async (nc, subject, body, level) => JSON.parse(await text(nc, subject, body, level));

// Expects an error: its three members, and nothing else but type and `more`.
async function refused(nc, subject, body, code, errCode, description, more = {}, level) {
  const r = await ask(nc, subject, body, level);
  const { type, error, ...rest } = r;
  assert.deepEqual(error, { code, err_code: errCode, description }, `${subject} ${encode(body ?? "").slice(0, 300)}`);
  assert.deepEqual(rest, more);
  assert.ok(type.startsWith(`${TYPE}consumer_`));
  assert.deepEqual(Object.keys(r).slice(0, 2), ["type", "error"]);
}

const request = (stream, config, more = {}) => ({ stream_name: stream, config, ...more });

// Creates (or updates) `name` on `stream` and returns the answer.
async function put(nc, stream, name, config = {}, more = {}) {
  const r = await ask(nc, `CONSUMER.CREATE.${stream}.${name}`, request(stream, config, more));
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  assert.equal(r.type, `${TYPE}consumer_create_response`);
  return r;
}
const notPut = (nc, stream, name, config, error, more) =>
  refused(nc, `CONSUMER.CREATE.${stream}.${name}`, request(stream, config, more), ...error);

async function ready(t, streams, options = JS) {
  const s = await t.server(options);
  const nc = await t.connect(s);
  for (const [name, more] of Object.entries(streams)) {
    const r = await ask(nc, `STREAM.CREATE.${name}`, { name, subjects: [`${name.toLowerCase()}.>`], ...more });
    assert.equal(r.error, undefined, JSON.stringify(r.error));
  }
  return [s, nc];
}

const same = (got, r) => got.replaceAll(/"(created|ts)":"20[^"]*"/g, '"$1":"T"').replace(r?.name ?? "\0", "NAME");

// Where neither the stream nor its account says how many.
const caps = [["default_max_consumers: 3", "enabled", -1, 3], ["default_max_consumers: 3", "enabled", 5, 5],
  ["default_max_consumers: 3", "{ max_consumers: 4 }", -1, 4], ["default_max_consumers: 3", "{ max_consumers: 2 }", -1, 2]];
scenario("CREATE: jetstream { limits { default_max_consumers } }", async (t) => {
  for (const [limits, account, max_consumers, most] of caps) {
    const s = await t.server({ monitor: true, config: `jetstream { store_dir: "DIR/js", limits { ${limits} } }
      accounts { A { jetstream: ${account}, users: [ {user: a, password: p} ] } }` });
    const nc = await t.connect(s, { user: "a", pass: "p" });
    const api = async (op, body) => JSON.parse((await nc.request(`$JS.API.${op}`, JSON.stringify(body), { timeout: 60000 })).string());
    assert.equal((await api("STREAM.CREATE.S", { name: "S", subjects: ["s"], max_consumers })).error, undefined);
    const make = async (i) => (await api(`CONSUMER.CREATE.S.c${i}`, { stream_name: "S", config: { name: `c${i}`, ack_policy: "explicit" } })).error?.err_code;
    for (let i = 0; i < most; i++) assert.equal(await make(i), undefined);
    assert.equal(await make(most), 10026, `${limits} ${account} ${max_consumers}`);
    assert.equal((await s.page("/jsz")).json.limits.default_max_consumers, 3);
    await s.stop();
  }
});

scenario("create answers with the whole info, in order", async (t) => {
  const [, nc] = await ready(t, { S: {} });
  const state =
    '"delivered":{"consumer_seq":0,"stream_seq":0},"ack_floor":{"consumer_seq":0,"stream_seq":0},' +
    '"num_ack_pending":0,"num_redelivered":0,"num_waiting":0,"num_pending":0,"ts":"T"';
  const meta = '"metadata":{"_nats.level":"5","_nats.req.level":"0","_nats.ver":"2.15.1"}';
  const ephemeral = await text(nc, "CONSUMER.CREATE.S", request("S", {}));
  assert.match(JSON.parse(ephemeral).name, /^[0-9A-Za-z]{8}$/);
  assert.equal(
    same(ephemeral, JSON.parse(ephemeral)),
    `{"type":"${TYPE}consumer_create_response","stream_name":"S","name":"NAME","created":"T","config":{` +
      '"deliver_policy":"all","ack_policy":"none","max_deliver":-1,"replay_policy":"instant","max_waiting":512,' +
      `"inactive_threshold":5000000000,"num_replicas":0,${meta}},${state}}`,
  );
  const durable = '"durable_name":"D","name":"D","deliver_policy":"all","ack_policy":"explicit","ack_wait":30000000000,' +
    `"max_deliver":-1,"replay_policy":"instant","max_waiting":512,"max_ack_pending":1000,"num_replicas":0,${meta}`;
  const d = request("S", { durable_name: "D", ack_policy: "explicit" });
  for (const subject of ["CONSUMER.CREATE.S.D", "CONSUMER.DURABLE.CREATE.S.D"])
    assert.equal(
      same(await text(nc, subject, d)),
      `{"type":"${TYPE}consumer_create_response","stream_name":"S","name":"D","created":"T","config":{${durable}},${state}}`,
    );
  assert.equal(
    same(await text(nc, "CONSUMER.INFO.S.D")),
    `{"type":"${TYPE}consumer_info_response","stream_name":"S","name":"D","created":"T","config":{${durable}},${state}}`,
  );
  const g = await text(nc, "CONSUMER.CREATE.S.G", request("S", { priority_groups: ["a", "b"], priority_policy: "pinned_client" }));
  assert.ok(g.endsWith(`,"priority_groups":[{"group":"a","pinned_ts":"${ZERO}"}]}`), g);
  assert.equal(JSON.parse(g).config.priority_timeout, 120 * S);
  assert.equal(JSON.parse(g).config.metadata["_nats.req.level"], "1");
});

scenario("the subject of a create must agree with its body", async (t) => {
  const [, nc] = await ready(t, { T: {} });
  const mismatch = [400, 10131, "Consumer create request did not match filtered subject from create subject"];
  const many = [400, 10137, "consumer with multiple subject filters cannot use subject based API"];
  const other = [400, 10017, "consumer name in subject does not match durable name in request"];
  const replicas = [500, 10074, "replicas > 1 not supported in non-clustered mode"];
  const slash = [400, 10127, "Consumer name can not contain path separators"];
  const ephemeral = [400, 10020, "consumer expected to be ephemeral but a durable name was set in request"];
  const bad = (tail, config, error) => refused(nc, `CONSUMER.${tail}`, request("T", config), ...error);
  for (const [tail, filter] of [["a.b.c", "b.c"], ["a.>", ">"], ["a.*.c", "*.c"]]) {
    const subject = `CREATE.T.${tail}`;
    const r = await ask(nc, `CONSUMER.${subject}`, request("T", { name: "ignored", filter_subject: filter }));
    assert.deepEqual([r.name, r.config.name, r.config.filter_subject], ["a", "a", filter]);
    await bad(subject, {}, mismatch);
    await bad(subject, { filter_subject: "x" }, mismatch);
    await bad(subject, { filter_subjects: ["b.c"] }, many);
    await bad(subject, { filter_subjects: ["b.c"], filter_subject: filter }, many);
    await bad(subject, { durable_name: "d", filter_subjects: ["x"] }, other);
    await bad(subject, { filter_subject: filter, num_replicas: 2, ack_wait: -1 }, replicas);
  }
  await bad("CREATE.T.a\\b", { durable_name: "x" }, slash);
  await bad("CREATE.T.a/b.c", {}, slash);
  await bad("CREATE.T", { name: "a/b", durable_name: "x" }, slash);
  await bad("CREATE.T", { durable_name: "x", num_replicas: 2 }, ephemeral);
  await bad("CREATE.T", { name: "a.b" }, [500, 10052, "consumer name can not contain '.', '*', '>', '\\', '/'"]);
  await bad("DURABLE.CREATE.T.a/b", {}, slash);
  await bad("DURABLE.CREATE.T.d", {}, [400, 10018, "consumer expected to be durable but a durable name was not set"]);
  await bad("DURABLE.CREATE.T.d", { durable_name: "e" }, other);
  await bad("CREATE.DURABLE.x", {}, [400, 10056, "stream name in subject does not match request"]);
  assert.equal((await ask(nc, "CONSUMER.CREATE.T", request("T", { name: "n" }))).config.name, "n");
  assert.equal((await ask(nc, "CONSUMER.CREATE.T.DURABLE", request("T", {}))).name, "DURABLE");
});

scenario("create: errors in the order in which they are looked for", async (t) => {
  const [, nc] = await ready(t, { S: {} });
  const level = [412, 10185, "JetStream minimum api level required"];
  const create = (body, error, lvl) => refused(nc, "CONSUMER.CREATE.S.c", body, ...error, {}, lvl);
  await create("{", [400, 10025, "invalid JSON: unexpected EOF"], "9");
  await create({ config: { bogus: 1 } }, [400, 10025, 'invalid JSON: json: unknown field "bogus"'], "9");
  await create({ action: "zzz" }, [400, 10025, 'invalid JSON: unknown consumer action: "zzz"']);
  await create({ config: { ack_policy: "" } }, [400, 10025, 'invalid JSON: can not unmarshal "\\"\\""']);
  await create({ config: { backoff: ["1"] } }, [400, 10025, "invalid JSON: json: cannot unmarshal string into CreateConsumerRequest.config.backoff.0 of type time.Duration"]);
  await create("{}", level, "9");
  await create("{}", level, "x");
  await create("", [400, 10056, "stream name in subject does not match request"], "5");
  const gone = [404, 10059, "stream not found"];
  await refused(nc, "CONSUMER.CREATE.NO.c", request("NO", { ack_wait: -1 }), ...gone);
  await refused(nc, "CONSUMER.CREATE.NO.c", request("NO", { num_replicas: 2 }), 500, 10074, "replicas > 1 not supported in non-clustered mode");
  const chain = [
    [{ num_replicas: -1 }, [400, 10133, "replicas count cannot be negative"]],
    [{ backoff: [-1] }, [400, 10184, "consumer backoff needs to be positive"]],
    [{ ack_wait: -1 }, [400, 10183, "consumer ack wait needs to be positive"]],
    [{ description: "x".repeat(4097) }, [400, 10107, "consumer description is too long, maximum allowed is 4096"]],
    [{ rate_limit_bps: 1 }, [400, 10086, "consumer in pull mode can not have rate limit set"]],
    [{ idle_heartbeat: 1 }, [400, 10088, "consumer idle heartbeat requires a push based consumer"]],
    [{ flow_control: true }, [400, 10089, "consumer flow control requires a push based consumer"]],
    [{ max_expires: 1 }, [400, 10115, "consumer max request expires needs to be >= 1ms"]],
    [{ direct: true }, [400, 10090, "consumer direct requires a push based consumer"]],
    [{ filter_subjects: ["a", "a"] }, [400, 10138, "consumer subject filters cannot overlap"]],
    [{ opt_start_seq: 5 }, [400, 10094, "consumer delivery policy is deliver all, but optional start sequence is also set"]],
    [{ sample_freq: "abc" }, [400, 10095, 'failed to parse consumer sampling configuration: strconv.Atoi: parsing "abc": invalid syntax']],
    [{ metadata: { k: "x".repeat(131072) } }, [400, 10135, "consumer metadata exceeds maximum size of 128KB"]],
    [{ priority_groups: ["a"] }, [400, 10196, "consumer can not have priority groups when policy is none"]],
    [{ priority_timeout: 1 }, [400, 10197, "PinnedTTL cannot be set when PriorityPolicy is none"]],
  ];
  // Each alone, and all that come later with it: the earlier one is told.
  for (let i = 0; i < chain.length; i++) {
    const [config, error] = chain[i];
    const later = Object.assign({}, ...chain.slice(i).map(([c]) => c));
    if (config.backoff) delete later.ack_wait;
    await notPut(nc, "S", "c", config, error);
    await notPut(nc, "S", "c", later, error);
  }
  await notPut(nc, "S", "c", { priority_groups: ["a"], priority_policy: "overflow", deliver_subject: "q" }, [400, 10178, "priority groups can not be used with push consumers"]);
  await notPut(nc, "S", "c", { deliver_subject: "s.x", max_waiting: 1 }, [400, 10081, "consumer deliver subject forms a cycle"]);
  await notPut(nc, "S", "c", { ack_policy: "flow_control" }, [400, 10218, "flow control ack policy requires a push based consumer"]);
  await notPut(nc, "S", "c", { max_waiting: -1 }, [400, 10157, "pedantic mode: max_waiting must not be negative"], { pedantic: true });
  await notPut(nc, "S", "c", { durable_name: "d" }, [400, 10017, "consumer name in subject does not match durable name in request"]);
  const long = "y".repeat(256);
  await notPut(nc, "S", long, { durable_name: long }, [400, 10102, "consumer name is too long, maximum allowed is 255"]);
  assert.equal((await put(nc, "S", "y".repeat(255))).name.length, 255);
});

scenario("actions: create, update, and whichever fits", async (t) => {
  const [, nc] = await ready(t, { S: {} });
  const exists = [400, 10148, "consumer already exists"];
  const d = { durable_name: "D", ack_policy: "explicit", metadata: { a: "b" } };
  await notPut(nc, "S", "D", d, [400, 10149, "consumer does not exist"], { action: "update" });
  const one = await put(nc, "S", "D", d, { action: "create" });
  const again = await put(nc, "S", "D", d, { action: "create" });
  assert.deepEqual([again.created, again.config], [one.created, one.config]);
  // What a client read, it may send back.
  assert.deepEqual((await put(nc, "S", "D", one.config, { action: "create" })).config, one.config);
  await notPut(nc, "S", "D", { ...d, metadata: {} }, exists, { action: "create" });
  await notPut(nc, "S", "D", { ...d, description: "x" }, exists, { action: "create" });
  await notPut(nc, "S", "D", { ...d, ack_policy: "all" }, exists, { action: "create" });
  const changed = await put(nc, "S", "D", { ...d, description: "x", metadata: undefined }, { action: "update" });
  assert.deepEqual([changed.created, changed.config.description, changed.config.metadata], [one.created, "x", SERVER]);
  assert.equal((await put(nc, "S", "D", d)).config.description, undefined); // all of it is replaced
  assert.equal((await ask(nc, "CONSUMER.INFO.S.D")).config.metadata.a, "b");
  // An ephemeral gets its threshold after the comparison.
  await put(nc, "S", "E", {});
  await notPut(nc, "S", "E", {}, exists, { action: "create" });
  await put(nc, "S", "E", { inactive_threshold: 5 * S }, { action: "create" });
  assert.equal((await put(nc, "S", "E", { description: "x", inactive_threshold: 60 * S })).config.inactive_threshold, 60 * S);
  assert.equal((await put(nc, "S", "E", {})).config.inactive_threshold, 5 * S);
  assert.equal((await put(nc, "S", "D", { ...d, durable_name: undefined })).config.inactive_threshold, undefined);
});

scenario("update: what cannot change, in order", async (t) => {
  const [, nc] = await ready(t, { S: {} });
  const no = (what) => [500, 10012, `${what} can not be updated`];
  await put(nc, "S", "D", { durable_name: "D" });
  const pull = [
    [{ deliver_policy: "new" }, no("deliver policy")],
    [{ mem_storage: true }, no("storage type")],
    [{ ack_policy: "explicit" }, no("ack policy")],
    [{ replay_policy: "original" }, no("replay policy")],
    [{ deliver_subject: "q" }, [500, 10012, "can not update pull consumer to push based"]],
    [{ max_waiting: 3 }, no("max waiting")],
  ];
  for (let i = 0; i < pull.length; i++) {
    await notPut(nc, "S", "D", { durable_name: "D", ...pull[i][0] }, pull[i][1]);
    const later = Object.assign({}, ...pull.slice(i, 5).map(([c]) => c), i > 4 && pull[i][0]);
    await notPut(nc, "S", "D", { durable_name: "D", ...later }, pull[i][1]);
  }
  await notPut(nc, "S", "D", { durable_name: "D", sourcing: true, ack_policy: "explicit" }, no("sourcing"));
  await put(nc, "S", "Q", { durable_name: "Q", deliver_policy: "by_start_sequence", opt_start_seq: 2 });
  await notPut(nc, "S", "Q", { durable_name: "Q", deliver_policy: "by_start_sequence", opt_start_seq: 3 }, no("start sequence"));
  const at = { durable_name: "T", deliver_policy: "by_start_time", opt_start_time: "2024-01-01T00:00:00Z" };
  await put(nc, "S", "T", at);
  await put(nc, "S", "T", { ...at, opt_start_time: "2024-01-01T01:00:00+01:00" });
  await notPut(nc, "S", "T", { ...at, opt_start_time: "2024-01-01T00:00:01Z" }, no("start time"));
  await put(nc, "S", "P", { durable_name: "P", deliver_subject: "q.1" });
  await notPut(nc, "S", "P", { durable_name: "P", deliver_subject: "q.1", idle_heartbeat: S, flow_control: true }, no("heart beats"));
  await notPut(nc, "S", "P", { durable_name: "P" }, [500, 10012, "can not update push consumer to pull based"]);
  assert.equal((await put(nc, "S", "P", { durable_name: "P", deliver_subject: "q.2" })).config.deliver_subject, "q.2");
  const sub = nc.subscribe("q.2");
  await nc.flush();
  await until("the consumer to be bound", async () => (await ask(nc, "CONSUMER.INFO.S.P")).push_bound);
  await notPut(nc, "S", "P", { durable_name: "P", deliver_subject: "q.3" }, [400, 10013, "consumer name already in use"]);
  await put(nc, "S", "P", { durable_name: "P", deliver_subject: "q.2", description: "d" });
  sub.unsubscribe();
  await nc.flush();
  assert.equal((await put(nc, "S", "P", { durable_name: "P", deliver_subject: "q.3" })).push_bound, undefined);
});

scenario("requests about one consumer: what must be empty, what is not there", async (t) => {
  const [, nc] = await ready(t, { S: {} });
  await put(nc, "S", "C", { durable_name: "C" });
  const level = [412, 10185, "JetStream minimum api level required"];
  const body = [400, 10038, "expected an empty request payload"];
  for (const op of ["INFO", "DELETE"]) {
    for (const b of ["x", " ", "[]", '{"a":1}']) await refused(nc, `CONSUMER.${op}.S.C`, b, ...body);
    await refused(nc, `CONSUMER.${op}.S.X`, "{ }", 404, 10014, "consumer not found");
    await refused(nc, `CONSUMER.${op}.X.X`, "", 404, 10059, "stream not found");
    await refused(nc, `CONSUMER.${op}.X.X`, "", ...level, {}, "6");
  }
  await refused(nc, "CONSUMER.INFO.S.C", "x", ...body, {}, "6");
  await refused(nc, "CONSUMER.DELETE.S.C", "x", ...level, {}, "6");
  await refused(nc, "CONSUMER.LEADER.STEPDOWN.S.C", "", 503, 10010, "JetStream clustering support required");
  assert.equal(await text(nc, "CONSUMER.DELETE.S.C", "{}"), `{"type":"${TYPE}consumer_delete_response","success":true}`);
  await refused(nc, "CONSUMER.DELETE.S.C", "", 404, 10014, "consumer not found");
});

scenario("names and lists come in pages, sorted", async (t) => {
  const [, nc] = await ready(t, { S: {} });
  const NO_PAGE = { total: 0, offset: 0, limit: 0, consumers: [] };
  for (const [op, limit] of [["NAMES", 1024], ["LIST", 256]]) {
    const type = `${TYPE}consumer_${op.toLowerCase()}_response`;
    assert.equal(await text(nc, `CONSUMER.${op}.S`, ""), `{"type":"${type}","total":0,"offset":0,"limit":${limit},"consumers":[]}`);
    await refused(nc, `CONSUMER.${op}.X`, "", 404, 10059, "stream not found", NO_PAGE);
    await refused(nc, `CONSUMER.${op}.X`, '{"limit":1}', 400, 10025, 'invalid JSON: json: unknown field "limit"', NO_PAGE);
    await refused(nc, `CONSUMER.${op}.X`, '{"limit":1}', 412, 10185, "JetStream minimum api level required", NO_PAGE, "6");
  }
  const names = [];
  for (let i = 0; i < 300; i++) names.push(`n${i}`);
  await Promise.all(names.map((n) => put(nc, "S", n, { mem_storage: true, inactive_threshold: 600 * S, metadata: { i: n } })));
  names.sort();
  assert.deepEqual((await ask(nc, "CONSUMER.NAMES.S", "x")).consumers, names);
  for (const [offset, first] of [[2, 2], [-2, 0], [299, 299], [1000, 300]]) {
    const r = await ask(nc, "CONSUMER.NAMES.S", { offset });
    assert.deepEqual([r.total, r.offset, r.consumers], [300, first, names.slice(first)]);
    const l = await ask(nc, "CONSUMER.LIST.S", { offset });
    assert.deepEqual([l.total, l.offset, l.consumers.map((c) => c.name)], [300, first, names.slice(first, first + 256)]);
  }
  const [one] = (await ask(nc, "CONSUMER.LIST.S")).consumers;
  assert.deepEqual(one.config.metadata, { "_nats.req.level": "0", i: "n0" }); // here without the server's own
  assert.equal(one.stream_name, "S");
  assert.equal((await ask(nc, "STREAM.INFO.S")).state.consumer_count, 300);
  assert.equal((await ask(nc, "INFO")).consumers, 300);
  // Those that copy the stream for another are not shown.
  const m = await nc.request("$JS.API.CONSUMER.CREATE.S.k", JSON.stringify(request("S", { direct: true, deliver_subject: "q" })));
  assert.equal(m.json().config.direct, true);
  assert.equal((await ask(nc, "CONSUMER.NAMES.S")).total, 300);
});

scenario("pause and resume", async (t) => {
  const [, nc] = await ready(t, { S: {} });
  const made = await put(nc, "S", "P", { durable_name: "P", pause_until: "2090-01-01T00:00:00Z" });
  assert.equal(made.paused, true);
  assert.ok(made.pause_remaining > 0);
  assert.deepEqual([made.config.pause_until, made.config.metadata["_nats.req.level"]], ["2090-01-01T00:00:00Z", "1"]);
  // Only PAUSE changes it.
  assert.equal((await put(nc, "S", "P", { durable_name: "P", description: "d" })).config.pause_until, "2090-01-01T00:00:00Z");
  const pause = async (body) => {
    const got = await text(nc, "CONSUMER.PAUSE.S.P", body);
    const info = await ask(nc, "CONSUMER.INFO.S.P");
    return [got.replace(/"pause_remaining":\d+/, '"pause_remaining":N'), info.config.pause_until, info.config.metadata["_nats.req.level"], info.paused];
  };
  const answer = (rest) => `{"type":"${TYPE}consumer_pause_response",${rest}}`;
  assert.deepEqual(await pause({ pause_until: "2091-01-01T02:00:00+02:00" }), [
    answer('"paused":true,"pause_until":"2091-01-01T00:00:00Z","pause_remaining":N'), "2091-01-01T00:00:00Z", "1", true]);
  assert.deepEqual(await pause({ pause_until: "2021-01-01T00:00:00Z" }), [
    answer('"paused":false,"pause_until":"2021-01-01T00:00:00Z"'), "2021-01-01T00:00:00Z", "1", undefined]);
  for (const b of ["", "{}", "xx", '{"pause_until":null}', { pause_until: ZERO }])
    assert.deepEqual(await pause(b), [answer(`"paused":false,"pause_until":"${ZERO}"`), undefined, "0", undefined]);
  assert.equal((await pause({ pause_until: "1970-01-01T00:00:00Z" }))[0], answer('"paused":false,"pause_until":"1970-01-01T00:00:00Z"'));
  const zeros = { paused: false, pause_until: ZERO };
  const bad = (tail, b, ...rest) => refused(nc, `CONSUMER.PAUSE.${tail}`, b, ...rest);
  await bad("X.X", "{", 400, 10025, "invalid JSON: unexpected EOF", zeros, "6");
  await bad("X.X", '{"x":1}', 400, 10025, 'invalid JSON: json: unknown field "x"', zeros);
  await bad("X.X", "{}", 412, 10185, "JetStream minimum api level required", zeros, "6");
  await bad("X.X", "{}", 404, 10059, "stream not found", zeros);
  await bad("S.X", "{}", 404, 10014, "consumer not found", zeros);
});

scenario("reset: where it may go", async (t) => {
  const [, nc] = await ready(t, { S: {} });
  for (let i = 0; i < 5; i++) await nc.request(`s.${i}`, "x", { timeout: LIMIT_MS });
  await put(nc, "S", "A", { durable_name: "A", ack_policy: "explicit" });
  const reset = (name, body, lvl) => ask(nc, `CONSUMER.RESET.S.${name}`, body, lvl);
  const to = async (name, body) => {
    const r = await reset(name, body);
    assert.equal(r.type, `${TYPE}consumer_reset_response`);
    assert.equal(Object.keys(r).at(-1), "reset_seq");
    return [r.reset_seq, r.delivered, r.ack_floor];
  };
  const place = (n) => [n, { consumer_seq: 0, stream_seq: n - 1 }, { consumer_seq: 0, stream_seq: n - 1 }];
  assert.deepEqual(await to("A", ""), place(1));
  assert.deepEqual(await to("A", '{"seq":3,"unknown":1}'), place(3));
  assert.deepEqual(await to("A", "{}"), place(3)); // the floor is where the last one put it
  assert.deepEqual(await to("A", '{"seq":50}'), place(50));
  const zero = { reset_seq: 0 };
  const bad = (name, body, ...rest) => refused(nc, `CONSUMER.RESET.S.${name}`, body, ...rest);
  await bad("A", "{", 412, 10185, "JetStream minimum api level required", zero, "6");
  await bad("A", "x", 400, 10025, "invalid JSON: invalid character 'x' looking for beginning of value", zero);
  await bad("A", '{"seq":-1}', 400, 10025, "invalid JSON: json: cannot unmarshal number -1 into Go struct field JSApiConsumerResetRequest.seq of type uint64", zero);
  const no = (why) => [400, 10204, `invalid reset: ${why}`, zero];
  await put(nc, "S", "B", { durable_name: "B", deliver_policy: "by_start_sequence", opt_start_seq: 3 });
  await bad("B", '{"seq":2}', ...no("below start seq"));
  assert.deepEqual(await to("B", '{"seq":4}'), place(4));
  await put(nc, "S", "C", { durable_name: "C", deliver_policy: "new" });
  await bad("C", '{"seq":2}', ...no("not allowed"));
  assert.deepEqual(await to("C", ""), place(6));
  await put(nc, "S", "D", { durable_name: "D", deliver_policy: "by_start_time", opt_start_time: "2090-01-01T00:00:00Z" });
  await bad("D", '{"seq":2}', ...no("below start time"));
  await put(nc, "S", "E", { durable_name: "E", deliver_policy: "by_start_time", opt_start_time: "2020-01-01T00:00:00Z" });
  assert.deepEqual(await to("E", '{"seq":2}'), place(2));
  // The consumer itself answers, so without one nobody does.
  await assert.rejects(nc.request("$JS.API.CONSUMER.RESET.S.X", "", { timeout: 300 }), /timeout/i);
});

scenario("unpin: the group must be there", async (t) => {
  const [, nc] = await ready(t, { S: {} });
  await put(nc, "S", "G", { durable_name: "G", priority_groups: ["a", "b"], priority_policy: "pinned_client" });
  await put(nc, "S", "N", { durable_name: "N" });
  const json = (why) => [400, 10025, `invalid JSON: ${why}`];
  const bad = (tail, b, error, lvl) => refused(nc, `CONSUMER.UNPIN.${tail}`, b, ...error, {}, lvl);
  const name = [400, 10162, "Valid priority group name must match A-Z, a-z, 0-9, -_/=)+ and may not exceed 16 characters"];
  const none = [400, 10160, "Provided priority group does not exist for this consumer"];
  await bad("X.X", "{", [412, 10185, "JetStream minimum api level required"], "6");
  await bad("X.X", "", json("unexpected end of JSON input"));
  await bad("X.X", "{}", json("consumer group not specified"));
  await bad("X.X", "x", json("invalid character 'x' looking for beginning of value"));
  await bad("X.X", '{"group":1}', json("json: cannot unmarshal number into Go struct field JSApiConsumerUnpinRequest.group of type string"));
  for (const g of ["a b", "a+b", "x".repeat(17)]) await bad("X.X", { group: g }, name);
  await bad("X.X", { group: "a" }, [404, 10059, "stream not found"]);
  await bad("S.X", { group: "a" }, [404, 10014, "consumer not found"]);
  await bad("S.N", { group: "a" }, none);
  await bad("S.G", { group: "c" }, none);
  for (const b of [{ group: "a" }, { group: "b", other: 1 }])
    assert.equal(await text(nc, "CONSUMER.UNPIN.S.G", b), `{"type":"${TYPE}consumer_unpin_response"}`);
});

scenario("a work queue has one owner for each subject", async (t) => {
  const [, nc] = await ready(t, { W: { retention: "workqueue", max_consumers: 3 } });
  const ok = (name, filter, more) => put(nc, "W", name, { durable_name: name, ack_policy: "explicit", ...(filter && { filter_subject: filter }), ...more });
  const no = (name, filter, error, more = {}, how) =>
    notPut(nc, "W", name, { durable_name: name, ack_policy: "explicit", ...(filter && { filter_subject: filter }), ...more }, error, how);
  const unique = [400, 10100, "filtered consumer not unique on workqueue stream"];
  const full = [400, 10026, "maximum consumers limit reached"];
  await no("a", "", [400, 10084, "consumer in pull mode requires explicit ack policy on workqueue stream"], { ack_policy: "none" });
  await no("a", "", [400, 10098, "workqueue stream requires explicit ack"], { ack_policy: "all", deliver_policy: "new" });
  await no("a", "", [400, 10101, "consumer must be deliver all on workqueue stream"], { deliver_policy: "new" });
  await ok("a", "w.a");
  await no("b", "", [400, 10099, "multiple non-filtered consumers not allowed on workqueue stream"]);
  await no("b", "w.*", unique);
  await ok("b", "w.b");
  await no("b", "w.a", unique); // an update, too
  await no("a", "w.b", [400, 10148, "consumer already exists"], {}, { action: "create" });
  await ok("b", ""); // as nats-server has it: who asks for all collides with nobody
  await no("c", "w.c", unique);
  await ok("b", "w.b");
  await ok("c", "w.c");
  await no("d", "w.a", full);
  await no("d", "w.a", [400, 10183, "consumer ack wait needs to be positive"], { ack_wait: -1 });
  await no("d", "w.a", [400, 10149, "consumer does not exist"], {}, { action: "update" });
  await ok("c", "w.c.>", { description: "there is room for who is there" });
});

scenario("limits of the stream: defaults, bounds, and updates that would break them", async (t) => {
  const [, nc] = await ready(t, { L: {}, M: {}, C: { consumer_limits: { max_ack_pending: 10, inactive_threshold: 20 * S } }, N: { max_consumers: 1 } });
  const c = await put(nc, "C", "c", { ack_policy: "explicit" });
  assert.deepEqual([c.config.max_ack_pending, c.config.inactive_threshold], [10, 20 * S]);
  assert.equal((await put(nc, "C", "d", { durable_name: "d", ack_policy: "all", inactive_threshold: S })).config.inactive_threshold, S);
  await notPut(nc, "C", "e", { ack_policy: "explicit", max_ack_pending: 11 }, [400, 10121, "consumer max ack pending exceeds system limit of 10"]);
  await notPut(nc, "C", "e", { inactive_threshold: 21 * S }, [400, 10153, "consumer inactive threshold exceeds system limit of 20s"]);
  await notPut(nc, "C", "e", { ack_policy: "explicit", inactive_threshold: S }, [400, 10157, "pedantic mode: max_ack_pending must be set if it's configured in stream limits"], { pedantic: true });
  await put(nc, "N", "one");
  await notPut(nc, "N", "two", {}, [400, 10026, "maximum consumers limit reached"]);
  await put(nc, "L", "cc", { durable_name: "cc", ack_policy: "explicit" });
  await put(nc, "L", "dd", { inactive_threshold: 60 * S });
  const update = (limits, subjects = ["l.>"]) => ask(nc, "STREAM.UPDATE.L", { name: "L", subjects, consumer_limits: limits });
  const violates = async (limits, who) => {
    for (const subjects of [["l.>"], ["m.>"]])
      assert.deepEqual((await update(limits, subjects)).error, { code: 500, err_code: 10069, description: `change to limits violates consumers: ${who}` });
  };
  await violates({ max_ack_pending: 999 }, "cc");
  await violates({ inactive_threshold: 59 * S }, "dd");
  assert.equal((await update({ max_ack_pending: 1000, inactive_threshold: 60 * S })).error, undefined);
  assert.equal((await update({}, ["m.>"])).error.err_code, 10065);
});

scenario("limits of the account and the server", async (t) => {
  const [, nc] = await ready(t, { S: {}, T: {} }, {
    config: 'server_name: one\njetstream { store_dir: "DIR", limits { max_ack_pending: 500, max_request_batch: 50 } }\n' +
      "accounts { A { jetstream { max_consumers: 2, max_ack_pending: 300 }, users [{ user: a, password: a }] } }\nno_auth_user: a\n",
  });
  const c = await put(nc, "S", "a", { ack_policy: "explicit" });
  assert.deepEqual([c.config.max_ack_pending, c.config.max_batch], [300, 50]);
  await notPut(nc, "S", "b", { ack_policy: "explicit", max_ack_pending: 501 }, [400, 10121, "consumer max ack pending exceeds system limit of 500"]);
  await notPut(nc, "S", "b", { ack_policy: "explicit", max_ack_pending: 301 }, [400, 10121, "consumer max ack pending exceeds system limit of 300"]);
  await notPut(nc, "S", "b", { max_batch: 51 }, [400, 10125, "consumer max request batch exceeds server limit of 50"]);
  await put(nc, "S", "b");
  await notPut(nc, "S", "c", {}, [400, 10026, "maximum consumers limit reached"]);
  await put(nc, "T", "c"); // of each stream, not of all together
});

scenario("a stream without a limit takes as many watchers as come", { only: "mayfly" }, async (t) => {
  const [, nc] = await ready(t, { S: {} });
  const config = (i) => ({ mem_storage: true, inactive_threshold: 600 * S, filter_subject: `s.${i}` });
  for (let i = 0; i < 2000; i += 200)
    await Promise.all(Array.from({ length: 200 }, (_, k) => put(nc, "S", `n${i + k}`, config(i + k))));
  assert.equal((await ask(nc, "CONSUMER.NAMES.S")).total, 2000);
});

scenario("strictly compatible: 1000 and no more", async (t) => {
  const strict = isMayfly ? ", compat: strict" : "";
  const [, nc] = await ready(t, { S: {}, T: { max_consumers: 1001 } }, { config: `server_name: one\njetstream { store_dir: "DIR"${strict} }\n` });
  const config = { mem_storage: true, inactive_threshold: 600 * S };
  for (const s of ["S", "T"])
    for (let i = 0; i < 1000; i += 200) await Promise.all(Array.from({ length: 200 }, (_, k) => put(nc, s, `n${i + k}`, config)));
  await notPut(nc, "S", "more", config, [400, 10026, "maximum consumers limit reached"]);
  await put(nc, "T", "more", config);
});

scenario("consumers are there after a restart, as they were", async (t) => {
  const [s, nc] = await ready(t, { S: {} });
  const full = {
    durable_name: "D", description: "d", deliver_policy: "by_start_time", opt_start_time: "2024-01-01T00:00:00.5Z", ack_policy: "explicit",
    max_deliver: 5, backoff: [S, 2 * S], filter_subjects: ["s.a", "s.b"], replay_policy: "original", sample_freq: "50%", max_waiting: 7,
    max_ack_pending: 9, headers_only: true, max_batch: 3, max_expires: S, max_bytes: 1000, inactive_threshold: 3600 * S, metadata: { k: "v" },
    pause_until: "2090-01-01T00:00:00Z", priority_groups: ["g"], priority_policy: "overflow",
  };
  await put(nc, "S", "D", full);
  await put(nc, "S", "P", { durable_name: "P", deliver_subject: "q", deliver_group: "g", rate_limit_bps: 1000000, idle_heartbeat: S, flow_control: true });
  await put(nc, "S", "gone", { durable_name: "gone" });
  await ask(nc, "CONSUMER.DELETE.S.gone");
  const before = (await ask(nc, "CONSUMER.LIST.S")).consumers.map((c) => [c.name, c.created, c.config]);
  await nc.close();
  await s.stop();
  await s.start();
  const again = await t.connect(s);
  const after = (await ask(again, "CONSUMER.LIST.S")).consumers.map((c) => [c.name, c.created, c.config]);
  assert.deepEqual(after, before);
  assert.equal(before.length, 2);
});

scenario("advisories about consumers, each before its stream's", async (t) => {
  const [, nc] = await ready(t, {});
  const seen = [];
  nc.subscribe("$JS.EVENT.ADVISORY.*.*.>", { callback: (_, m) => seen.push([m.subject.replace("$JS.EVENT.ADVISORY.", ""), m.json()]) });
  await nc.flush();
  const told = (subject) => until(`${subject}`, () => seen.filter(([s]) => s === subject).length > 0 && seen.find(([s]) => s === subject)[1]);
  await ask(nc, "STREAM.CREATE.A", { name: "A" });
  await put(nc, "A", "one", { pause_until: "2090-01-01T00:00:00Z" });
  const created = await told("CONSUMER.CREATED.A.one");
  assert.deepEqual([created.type, created.stream, created.consumer, created.action], ["io.nats.jetstream.advisory.v1.consumer_action", "A", "one", "create"]);
  const paused = await told("CONSUMER.PAUSE.A.one");
  assert.deepEqual([paused.type, paused.paused, paused.pause_until], ["io.nats.jetstream.advisory.v1.consumer_pause", true, "2090-01-01T00:00:00Z"]);
  await put(nc, "A", "two");
  await put(nc, "A", "two", { description: "no word of an update" });
  await put(nc, "A", "three");
  await ask(nc, "CONSUMER.DELETE.A.two");
  assert.equal((await told("CONSUMER.DELETED.A.two")).action, "delete");
  await ask(nc, "STREAM.DELETE.A");
  await told("STREAM.DELETED.A");
  const subjects = seen.map(([s]) => s);
  for (const n of ["one", "three"]) {
    assert.ok(subjects.includes(`CONSUMER.DELETED.A.${n}`));
    assert.ok(subjects.indexOf(`CONSUMER.DELETED.A.${n}`) < subjects.indexOf("STREAM.DELETED.A"));
  }
  assert.equal(subjects.filter((s) => s.startsWith("CONSUMER.CREATED")).length, 3);
});

scenario("stream identity: told to who copies a stream, and a stranger's is refused", async (t) => {
  const [, nc] = await ready(t, { L: {}, I: { retention: "interest" } });
  const asks = async (subject, body, identity) => {
    const h = headers();
    if (identity !== undefined) h.set("Nats-Stream-Identity", identity);
    const m = await nc.request(`$JS.API.CONSUMER.${subject}`, encode(body), { timeout: LIMIT_MS, ...(identity !== undefined && { headers: h }) });
    return { ...m.json(), hdr: m.headers && [...m.headers] };
  };
  for (const stream of ["L", "I"]) {
    const { created } = await ask(nc, `STREAM.INFO.${stream}`);
    const digest = crypto.createHash("sha256").update(created).digest();
    const identity = [...digest.subarray(0, 8)].map((b) => "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"[b % 62]).join("");
    const told = [["Nats-Stream-Identity", [identity]]];
    const stranger = { code: 400, err_code: 10225, description: `consumer's stream identity does not match: ${identity}` };
    const copier = { deliver_subject: "d", ack_policy: "none", direct: true };
    const source = { ...copier, name: "A", sourcing: true, flow_control: true, idle_heartbeat: 5 * S };
    for (const [form, config] of [[stream, copier], [`${stream}.A`, source]]) {
      for (const known of [undefined, "", identity]) {
        const r = await asks(`CREATE.${form}`, request(stream, config), known);
        assert.deepEqual([r.error, r.hdr], [undefined, told], `${form} ${known}`);
      }
      const r = await asks(`CREATE.${form}`, request(stream, config), "stranger");
      assert.deepEqual([r.error, r.hdr], [stranger, undefined]);
    }
    // Nobody else is asked or told, but for a reset that asks.
    const r = await asks(`CREATE.${stream}.P`, request(stream, { durable_name: "P", ack_policy: "explicit" }), "stranger");
    assert.deepEqual([r.error, r.hdr], [undefined, undefined]);
    for (const [known, hdr] of [["stranger", told], ["", told], [undefined, undefined]]) assert.deepEqual((await asks(`RESET.${stream}.P`, "", known)).hdr, hdr, `reset ${known}`);
    assert.equal((await asks(`RESET.${stream}.P`, "x", identity)).hdr, undefined);
  }
});

scenario("a message that two filters match counts and comes once", async (t) => {
  const [, nc] = await ready(t, { A: {} });
  for (const x of ["a.b.c", "a.q.c", "a.b.q", "a.z.z"]) await nc.request(x, "1", { timeout: LIMIT_MS });
  const crossed = ["a.*.c", "a.b.*"];
  // With more filters than are walked one by one, too.
  for (const [name, filters] of [["FEW", crossed], ["MANY", [...crossed, ...Array.from({ length: 200 }, (_, i) => `a.*.none.${i}`)]]]) {
    const config = { durable_name: name, ack_policy: "explicit", filter_subjects: filters };
    assert.equal((await put(nc, "A", name, config)).num_pending, 3);
    assert.equal((await put(nc, "A", `L${name}`, { ...config, durable_name: `L${name}`, deliver_policy: "last_per_subject" })).num_pending, 3);
    const got = [];
    const sub = nc.subscribe(`in.${name}`, { callback: (_, m) => got.push(m.subject) });
    nc.publish(`$JS.API.CONSUMER.MSG.NEXT.A.${name}`, JSON.stringify({ batch: 4, no_wait: true }), { reply: `in.${name}` });
    await until("all that match", () => got.length === 4);
    assert.deepEqual(got, ["a.b.c", "a.q.c", "a.b.q", `in.${name}`]);
    sub.unsubscribe();
    assert.equal((await ask(nc, `CONSUMER.INFO.A.${name}`)).num_pending, 0);
  }
  await nc.request("a.b.c", "2", { timeout: LIMIT_MS });
  for (const name of ["FEW", "MANY"]) await until("one is pending", async () => (await ask(nc, `CONSUMER.INFO.A.${name}`)).num_pending === 1);
  await ask(nc, "STREAM.PURGE.A", { filter: "a.b.c" });
  for (const name of ["FEW", "MANY"]) await until("none is pending", async () => (await ask(nc, `CONSUMER.INFO.A.${name}`)).num_pending === 0);
});
