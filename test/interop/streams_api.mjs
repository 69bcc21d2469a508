// streams_api.mjs: the JSON API for streams, request by request: exact answers, exact errors, and the
// order in which they are found.  Raw requests: what a client library would hide is the point here.
import assert from "node:assert/strict";
import { headers, nuid } from "@nats-io/transport-node";
import { collect, scenario } from "./lib/scenario.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const JS = { config: 'server_name: one\njetstream { store_dir: "DIR" }\n' };
const HUGE = { config: 'server_name: one\njetstream { store_dir: "DIR", max_file: 9223372036854775807 }\n' };
const TYPE = "io.nats.jetstream.api.v1.";
const ZERO = "0001-01-01T00:00:00Z";

const encode = (body) => (typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body));

async function text(nc, subject, body = "", level) {
  const h = headers();
  if (level !== undefined) h.set("Nats-Required-Api-Level", level);
  const m = await nc.request(subject, encode(body), { timeout: LIMIT_MS, ...(level !== undefined && { headers: h }) });
  return m.string();
}
const ask = async (nc, subject, body, level) => JSON.parse(await text(nc, `$JS.API.${subject}`, body, level));

// Expects an error: its three members, and nothing else but type and `more`.
async function refused(nc, subject, body, code, errCode, description, more = {}, level) {
  const r = await ask(nc, subject, body, level);
  const { type, error, ...rest } = r;
  assert.deepEqual(error, { code, err_code: errCode, description }, `${subject} ${encode(body ?? "")}`);
  assert.deepEqual(rest, more);
  assert.ok(type.startsWith(TYPE));
  assert.deepEqual(Object.keys(r).slice(0, 2), ["type", "error"]);
  return r;
}
const NO_PAGE = { total: 0, offset: 0, limit: 0 };

async function create(nc, name, more = {}) {
  const r = await ask(nc, `STREAM.CREATE.${name}`, { name, ...more });
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  return r;
}

async function publish(nc, subject, payload = "x", h) {
  const m = await nc.request(subject, payload, { timeout: LIMIT_MS, headers: h });
  const ack = m.json();
  assert.equal(ack.error, undefined, JSON.stringify(ack.error));
  return ack;
}

async function ready(t, options = JS, as) {
  const s = await t.server(options);
  const nc = await t.connect(s, as);
  return [s, nc];
}

scenario("account info of an account without limits", async (t) => {
  const [, nc] = await ready(t);
  assert.equal(
    await text(nc, "$JS.API.INFO"),
    '{"type":"io.nats.jetstream.api.v1.account_info_response","memory":0,"storage":0,"reserved_memory":0,' +
      '"reserved_storage":0,"streams":0,"consumers":0,"limits":{"max_memory":-1,"max_storage":-1,"max_streams":-1,' +
      '"max_consumers":-1,"max_ack_pending":-1,"memory_max_stream_bytes":-1,"storage_max_stream_bytes":-1,' +
      '"max_bytes_required":false},"api":{"level":5,"total":0,"errors":0}}',
  );
  await create(nc, "S", { max_bytes: 1000 });
  await create(nc, "M", { max_bytes: 500, storage: "memory" });
  await publish(nc, "S", "hello"); // 30 + 1 + 5 bytes
  await publish(nc, "M", "hello"); // 16 + 1 + 5
  await refused(nc, "STREAM.INFO.Q", "", 404, 10059, "stream not found", NO_PAGE);
  const r = await ask(nc, "INFO");
  assert.deepEqual([r.memory, r.storage, r.reserved_memory, r.reserved_storage, r.streams], [22, 36, 500, 1000, 2]);
  assert.deepEqual(r.api, { level: 5, total: 4, errors: 1 });
});

scenario("create answers with the whole configuration, in order", async (t) => {
  const [, nc] = await ready(t);
  const got = await text(nc, "$JS.API.STREAM.CREATE.S", { name: "S", subjects: ["s.>"], metadata: { a: "b" } });
  const stamp = /"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"/;
  const r = JSON.parse(got);
  assert.match(got, stamp);
  assert.equal(
    got.replace(r.created, "T").replace(r.ts, "T"),
    '{"type":"io.nats.jetstream.api.v1.stream_create_response","config":{"name":"S","subjects":["s.\\u003e"],' +
      '"retention":"limits","max_consumers":-1,"max_msgs":-1,"max_bytes":-1,"max_age":0,"max_msgs_per_subject":-1,' +
      '"max_msg_size":-1,"discard":"old","storage":"file","num_replicas":1,"duplicate_window":120000000000,' +
      '"compression":"none","allow_direct":false,"mirror_direct":false,"sealed":false,"deny_delete":false,' +
      '"deny_purge":false,"allow_rollup_hdrs":false,"consumer_limits":{},"allow_msg_ttl":false,"metadata":' +
      '{"_nats.level":"5","_nats.req.level":"0","_nats.ver":"2.15.1","a":"b"}},"created":"T","state":{"messages":0,' +
      `"bytes":0,"first_seq":0,"first_ts":"${ZERO}","last_seq":0,"last_ts":"${ZERO}","consumer_count":0},"ts":"T",` +
      '"did_create":true}',
  );
});

scenario("create twice: the same again is fine, another is not", async (t) => {
  const [, nc] = await ready(t);
  const one = await create(nc, "S", { subjects: ["s.>"], metadata: { a: "b" } });
  await publish(nc, "s.1");
  const two = await create(nc, "S", { subjects: ["s.>"], metadata: { a: "b" } });
  assert.equal(two.created, one.created);
  assert.equal(two.did_create, true);
  assert.equal(two.state.messages, 1);
  const inUse = [400, 10058, "stream name already in use with a different configuration"];
  await refused(nc, "STREAM.CREATE.S", { name: "S", subjects: ["q.>"] }, ...inUse);
  await refused(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"], max_msgs: 1 }, ...inUse);
  await refused(nc, "STREAM.CREATE.S", { name: "S", subjects: ["s.>"] }, ...inUse);
});

scenario("create: errors in the order in which they are looked for", async (t) => {
  const [, nc] = await ready(t);
  const bad = (body, ...rest) => refused(nc, "STREAM.CREATE.S", body, ...rest);
  await bad("{", 412, 10185, "JetStream minimum api level required", {}, "6");
  await bad("{", 400, 10025, "invalid JSON: unexpected EOF");
  await bad('{"name":"T","bogus":1}', 400, 10025, 'invalid JSON: json: unknown field "bogus"');
  await bad("", 400, 10056, "stream name in subject does not match request");
  await bad({ name: "T", sealed: true }, 400, 10056, "stream name in subject does not match request");
  const slash = "a\\b";
  const r = await ask(nc, `STREAM.CREATE.${slash}`, { name: slash, sealed: true });
  assert.deepEqual(r.error, { code: 400, err_code: 10128, description: "Stream name can not contain path separators" });
  await bad({ name: "S", sealed: true, mirror_direct: true }, 500, 10052, "stream configuration for create can not be sealed");
  await bad({ name: "S", mirror_direct: true, max_age: -1 }, 500, 10052, "stream has no mirror but does have mirror direct");
  await bad({ name: "S", max_age: -1, num_replicas: 3 }, 500, 10052, "max age can not be negative");
  await bad({ name: "S", num_replicas: 6 }, 500, 10052, "maximum replicas is 5");
  await create(nc, "O", { subjects: ["o.>"] });
  await bad({ name: "S", num_replicas: 3, subjects: ["o.a"] }, 500, 10074, "replicas > 1 not supported in non-clustered mode");
  await bad({ name: "S", sources: [{ name: "O", filter_subject: "o..a" }], subjects: ["o.a"] }, 500, 10049,
    "subject filter 'o..a' for the source: invalid subject");
  await bad({ name: "S", subjects: ["o.*"] }, 400, 10065, "subjects overlap with an existing stream");
  assert.deepEqual((await ask(nc, "STREAM.NAMES")).streams, ["O"]);
});

scenario("requests that are no JSON, or the wrong one", async (t) => {
  const [, nc] = await ready(t);
  const bad = (subject, body, why, more) => refused(nc, subject, body, 400, 10025, `invalid JSON: ${why}`, more);
  await create(nc, "S");
  await bad("STREAM.CREATE.S", '{"name":5}', "json: cannot unmarshal number into Go struct field StreamConfigRequest.name of type string");
  await bad("STREAM.CREATE.S", '{"name":"S"]', "invalid character ']' after object key:value pair at offset 12");
  await bad("STREAM.CREATE.S", '{"name":"S","storage":"tape"}', 'can not unmarshal "\\"tape\\""');
  await bad("STREAM.NAMES", '{"offset":"a"}', "json: cannot unmarshal string into Go struct field JSApiStreamNamesRequest.offset of type int",
    { ...NO_PAGE, streams: null });
  await bad("STREAM.LIST", "[]", "json: cannot unmarshal array into Go value of type server.JSApiStreamListRequest",
    { ...NO_PAGE, streams: [] });
  await bad("STREAM.LIST", '{"x":1}', 'json: unknown field "x"', { ...NO_PAGE, streams: [] });
  await bad("STREAM.INFO.S", '{"deleted_details":1}',
    "json: cannot unmarshal number into Go struct field JSApiStreamInfoRequest.deleted_details of type bool", NO_PAGE);
  await bad("STREAM.PURGE.S", '{"purge":1}', 'json: unknown field "purge"', { purged: 0 });
  await bad("STREAM.MSG.DELETE.S", "x", "invalid character 'x' looking for beginning of value at offset 1");
  await bad("STREAM.MSG.DELETE.S", '{"seq":-1}',
    "json: cannot unmarshal number -1 into Go struct field JSApiMsgDeleteRequest.seq of type uint64");
  await bad("STREAM.MSG.GET.S", '{"start_time":"x"}', 'parsing time "x" as "2006-01-02T15:04:05Z07:00": cannot parse "x" as "2006"');
  // What does not even begin like a document is ignored where the body is optional.
  assert.equal((await ask(nc, "STREAM.NAMES", "hello")).total, 1);
  assert.equal((await ask(nc, "STREAM.INFO.S", "hello")).error, undefined);
  assert.deepEqual(await ask(nc, "STREAM.PURGE.S", "hello"), { type: `${TYPE}stream_purge_response`, success: true, purged: 0 });
});

scenario("update replaces the whole configuration", async (t) => {
  const [, nc] = await ready(t);
  const one = await create(nc, "S", { subjects: ["s.>"], max_msgs: 7, description: "d" });
  await publish(nc, "s.1");
  const r = await ask(nc, "STREAM.UPDATE.S", { name: "S", subjects: ["s.>", "t"], description: "e" });
  assert.deepEqual(Object.keys(r), ["type", "config", "created", "state", "ts"]);
  assert.equal(r.type, `${TYPE}stream_update_response`);
  assert.equal(r.created, one.created);
  assert.equal(r.config.max_msgs, -1);
  assert.equal(r.config.description, "e");
  assert.deepEqual(r.config.metadata, { "_nats.level": "5", "_nats.req.level": "0", "_nats.ver": "2.15.1" });
  assert.equal(r.state.messages, 1);
  assert.deepEqual(await publish(nc, "t"), { stream: "S", seq: 2 }); // it listens there now
  await ask(nc, "STREAM.UPDATE.S", { name: "S", subjects: ["t"] });
  assert.equal((await ask(nc, "STREAM.INFO.S")).state.messages, 2);
  await assert.rejects(nc.request("s.1", "", { timeout: LIMIT_MS }), /no responders/i);
  const ttl = await ask(nc, "STREAM.UPDATE.S", { name: "S", subjects: ["t"], allow_msg_ttl: true });
  assert.equal(ttl.config.metadata["_nats.req.level"], "1");
});

scenario("update: errors in order", async (t) => {
  const [, nc] = await ready(t);
  const bad = (body, ...rest) => refused(nc, "STREAM.UPDATE.S", body, ...rest);
  await bad({ name: "S" }, 404, 10059, "stream not found");
  await create(nc, "S", { subjects: ["s"], deny_delete: true });
  await create(nc, "O", { subjects: ["o"] });
  await bad("{", 412, 10185, "JetStream minimum api level required", {}, "99");
  await bad("{", 400, 10025, "invalid JSON: unexpected EOF");
  await bad("", 500, 10052, "stream name is required and can not contain '.', '*', '>', '\\', '/'");
  await bad({ name: "T", max_age: -1 }, 500, 10052, "max age can not be negative");
  await bad({ name: "T" }, 400, 10056, "stream name in subject does not match request");
  await bad({ name: "S", num_replicas: 3, storage: "memory" }, 500, 10074, "replicas > 1 not supported in non-clustered mode");
  await bad({ name: "S", storage: "memory" }, 500, 10052, "stream configuration update can not change storage type");
  await bad({ name: "S", subjects: ["o"] }, 500, 10052, "stream configuration update can not cancel deny message deletes");
  await bad({ name: "S", subjects: ["o"], deny_delete: true }, 400, 10065, "subjects overlap with an existing stream");
  assert.deepEqual((await ask(nc, "STREAM.INFO.S")).config.subjects, ["s"]); // nothing changed
});

scenario("info: state, subjects page by page, deleted ones", async (t) => {
  const [, nc] = await ready(t);
  await create(nc, "S", { subjects: ["s.>"] });
  for (let i = 0; i < 5; i++) await publish(nc, `s.${i}`, "hello");
  await ask(nc, "STREAM.MSG.DELETE.S", { seq: 3 });
  const plain = await ask(nc, "STREAM.INFO.S");
  assert.deepEqual(Object.keys(plain),
    ["type", "total", "offset", "limit", "config", "created", "state", "cluster", "ts"]);
  assert.deepEqual(plain.cluster, { leader: "one" });
  assert.deepEqual(Object.keys(plain.state),
    ["messages", "bytes", "first_seq", "first_ts", "last_seq", "last_ts", "num_subjects", "num_deleted", "consumer_count"]);
  assert.deepEqual([plain.state.messages, plain.state.bytes, plain.state.first_seq, plain.state.last_seq], [4, 152, 1, 5]);
  const all = await ask(nc, "STREAM.INFO.S", { subjects_filter: ">", deleted_details: true });
  assert.deepEqual([all.total, all.offset, all.limit], [4, 0, 100000]);
  assert.deepEqual(all.state.subjects, { "s.0": 1, "s.1": 1, "s.3": 1, "s.4": 1 });
  assert.deepEqual(all.state.deleted, [3]);
  assert.deepEqual(Object.keys(all.state).slice(6), ["num_subjects", "subjects", "num_deleted", "deleted", "consumer_count"]);
  const page = await ask(nc, "STREAM.INFO.S", { subjects_filter: "s.*", offset: 2 });
  assert.deepEqual([page.total, page.offset, page.limit, page.state.subjects], [4, 2, 100000, { "s.3": 1, "s.4": 1 }]);
  const beyond = await ask(nc, "STREAM.INFO.S", { subjects_filter: ">", offset: 20 });
  assert.deepEqual([beyond.total, beyond.offset, beyond.limit, beyond.state.subjects], [4, 20, 100000, undefined]);
  for (const filter of ["zz", "s..", "s.2"]) {
    const none = await ask(nc, "STREAM.INFO.S", { subjects_filter: filter });
    assert.deepEqual([none.total, none.offset, none.limit, none.state.subjects], [0, 0, 0, undefined]);
  }
  const unasked = await ask(nc, "STREAM.INFO.S", { offset: 2 });
  assert.deepEqual([unasked.total, unasked.offset, unasked.limit], [0, 0, 0]);
  await refused(nc, "STREAM.INFO.Q", "", 404, 10059, "stream not found", NO_PAGE);
  await ask(nc, "STREAM.PURGE.S");
  const empty = (await ask(nc, "STREAM.INFO.S", { deleted_details: true })).state;
  assert.equal(empty.last_ts, plain.state.last_ts);
  assert.deepEqual({ ...empty, last_ts: "" },
    { messages: 0, bytes: 0, first_seq: 6, first_ts: ZERO, last_seq: 5, last_ts: "", consumer_count: 0 });
});

scenario("names and lists", async (t) => {
  const [, nc] = await ready(t);
  assert.equal(await text(nc, "$JS.API.STREAM.NAMES"),
    `{"type":"${TYPE}stream_names_response","total":0,"offset":0,"limit":1024,"streams":null}`);
  assert.equal(await text(nc, "$JS.API.STREAM.LIST"),
    `{"type":"${TYPE}stream_list_response","total":0,"offset":0,"limit":256,"streams":[]}`);
  for (const name of ["c", "a", "B"]) await create(nc, name, { subjects: [`${name}.*`], storage: "memory" });
  const names = async (body) => {
    const r = await ask(nc, "STREAM.NAMES", body);
    return [r.total, r.offset, r.streams];
  };
  assert.deepEqual(await names(""), [3, 0, ["B", "a", "c"]]);
  assert.deepEqual(await names({ offset: 1 }), [3, 1, ["a", "c"]]);
  assert.deepEqual(await names({ offset: 9 }), [3, 3, null]);
  assert.deepEqual(await names({ offset: -2 }), [3, 0, ["B", "a", "c"]]);
  assert.deepEqual(await names({ subject: "a.x" }), [1, 0, ["a"]]);
  assert.deepEqual(await names({ subject: ">" }), [3, 0, ["B", "a", "c"]]);
  assert.deepEqual(await names({ subject: "z" }), [0, 0, null]);
  assert.deepEqual(await names({ subject: "..." }), [0, 0, null]);
  const list = await ask(nc, "STREAM.LIST", { offset: 1 });
  assert.deepEqual([list.total, list.offset, list.limit, list.streams.length], [3, 1, 256, 2]);
  assert.deepEqual(Object.keys(list), ["type", "total", "offset", "limit", "streams"]);
  assert.deepEqual(Object.keys(list.streams[0]), ["config", "created", "state", "ts"]);
  assert.deepEqual(list.streams[0].config.metadata, { "_nats.req.level": "0" });
  assert.deepEqual((await ask(nc, "STREAM.LIST", { offset: 9 })).streams, []);
});

scenario("lists end after 256 streams", async (t) => {
  const [, nc] = await ready(t);
  const name = (i) => `S${String(i).padStart(3, "0")}`;
  await Promise.all(Array.from({ length: 260 }, (_, i) => create(nc, name(i), { storage: "memory" })));
  const page = await ask(nc, "STREAM.LIST");
  assert.deepEqual([page.total, page.streams.length, page.streams[255].config.name], [260, 256, name(255)]);
  const rest = await ask(nc, "STREAM.LIST", { offset: 256 });
  assert.deepEqual([rest.offset, rest.streams.map((s) => s.config.name)], [256, [256, 257, 258, 259].map(name)]);
  assert.equal((await ask(nc, "STREAM.NAMES")).streams.length, 260);
});

scenario("delete", async (t) => {
  const [, nc] = await ready(t);
  await create(nc, "S");
  await publish(nc, "S");
  for (const body of ['{"a":1}', "[]", "null", " ", "x"])
    await refused(nc, "STREAM.DELETE.S", body, 400, 10038, "expected an empty request payload");
  assert.equal(await text(nc, "$JS.API.STREAM.DELETE.S", " {} "), `{"type":"${TYPE}stream_delete_response","success":true}`);
  await refused(nc, "STREAM.DELETE.S", "", 404, 10059, "stream not found");
  await assert.rejects(nc.request("S", "", { timeout: LIMIT_MS }), /no responders/i);
  assert.equal((await create(nc, "S")).state.messages, 0); // nothing of the old one is left
});

scenario("requests that overtake each other: delete and create of one name", async (t) => {
  const [, nc] = await ready(t);
  await create(nc, "S");
  await publish(nc, "S");
  const both = await Promise.all([ask(nc, "STREAM.DELETE.S"), ask(nc, "STREAM.CREATE.S", { name: "S" }), ask(nc, "STREAM.INFO.S")]);
  assert.equal(both[0].success, true);
  // nats-server works on several at a time, so the others may come first; but each gets an answer.
  for (const r of both.slice(1)) assert.ok(r.state || r.error.err_code === 10059, JSON.stringify(r));
});

scenario("purge: all, by subject, by sequence, keeping some", async (t) => {
  const [, nc] = await ready(t);
  await create(nc, "S", { subjects: ["s.*"] });
  const fill = async () => {
    for (const s of ["a", "b", "a", "b", "a"]) await publish(nc, `s.${s}`);
  };
  const purged = async (body) => {
    const r = await ask(nc, "STREAM.PURGE.S", body);
    assert.deepEqual(Object.keys(r), ["type", "success", "purged"]);
    return r.purged;
  };
  const state = async () => (await ask(nc, "STREAM.INFO.S")).state;
  await fill();
  await refused(nc, "STREAM.PURGE.S", { seq: 1, keep: 1 }, 400, 10003, "bad request", { purged: 0 });
  await refused(nc, "STREAM.PURGE.Q", { seq: 1, keep: 1 }, 400, 10003, "bad request", { purged: 0 });
  await refused(nc, "STREAM.PURGE.Q", "", 404, 10059, "stream not found", { purged: 0 });
  assert.equal(await purged({ filter: "s.b" }), 2);
  assert.equal(await purged({ filter: "s.a", keep: 1 }), 2);
  assert.deepEqual([(await state()).first_seq, (await state()).last_seq], [5, 5]);
  assert.equal(await purged({ filter: "zz" }), 0);
  await fill();
  assert.equal(await purged({ seq: 7 }), 2);
  assert.equal((await state()).first_seq, 7);
  assert.equal(await purged({ filter: "s.*", seq: 9 }), 2);
  assert.equal((await state()).first_seq, 9);
  assert.equal(await purged({ keep: 1 }), 1);
  assert.equal(await purged({}), 1);
  assert.deepEqual([(await state()).first_seq, (await state()).last_seq], [11, 10]);
  assert.equal(await purged({ seq: 100 }), 0);
  assert.deepEqual([(await state()).first_seq, (await state()).last_seq], [100, 99]);
  assert.equal((await publish(nc, "s.a")).seq, 100);
});

scenario("get: by sequence, last, next and time", async (t) => {
  const [, nc] = await ready(t);
  await create(nc, "S", { subjects: ["s.>"] });
  const h = headers();
  h.set("K", "v");
  await publish(nc, "s.0", "hello");
  await publish(nc, "s.1", new Uint8Array([0, 255, 10]), h);
  await publish(nc, "s.2", "");
  await publish(nc, "s.1", "later");
  await ask(nc, "STREAM.MSG.DELETE.S", { seq: 3 });
  const got = async (body) => {
    const r = await ask(nc, "STREAM.MSG.GET.S", body);
    assert.equal(r.error, undefined, JSON.stringify(r.error));
    return r.message;
  };
  const raw = await text(nc, "$JS.API.STREAM.MSG.GET.S", { seq: 1 });
  const m = JSON.parse(raw).message;
  assert.equal(raw, `{"type":"${TYPE}stream_msg_get_response","message":{"subject":"s.0","seq":1,"data":"aGVsbG8=","time":"${m.time}"}}`);
  const binary = await got({ seq: 2 });
  assert.deepEqual(Object.keys(binary), ["subject", "seq", "hdrs", "data", "time"]);
  assert.equal(Buffer.from(binary.hdrs, "base64").toString(), "NATS/1.0\r\nK: v\r\n\r\n");
  assert.equal(binary.data, "AP8K");
  assert.deepEqual(Object.keys(await got({ seq: 2, no_hdr: true })), ["subject", "seq", "data", "time"]);
  await publish(nc, "s.9", "");
  assert.deepEqual(Object.keys(await got({ seq: 5 })), ["subject", "seq", "time"]);
  assert.equal((await got({ last_by_subj: "s.1" })).seq, 4);
  assert.equal((await got({ last_by_subj: "s.*" })).seq, 5);
  assert.equal((await got({ next_by_subj: "s.1" })).seq, 2);
  assert.equal((await got({ next_by_subj: "s.1", seq: 3 })).seq, 4);
  assert.equal((await got({ next_by_subj: "s.>", seq: 3 })).seq, 4);
  assert.equal((await got({ start_time: "2020-01-01T00:00:00Z" })).seq, 1);
  assert.equal((await got({ start_time: binary.time })).seq, 2);
  assert.equal((await got({ start_time: "2020-01-01T00:00:00Z", next_by_subj: "s.9" })).seq, 5);
  assert.equal((await got({ seq: 1, multi_last: ["x"], up_to_seq: 3 })).seq, 1);
  const missing = (body) => refused(nc, "STREAM.MSG.GET.S", body, 404, 10037, "no message found");
  for (const body of [{ seq: 3 }, { seq: 99 }, { last_by_subj: "s.2" }, { last_by_subj: "s..2" }, { next_by_subj: "s.0", seq: 2 },
    { start_time: "2090-01-01T00:00:00Z" }, { start_time: "2090-01-01T00:00:00Z", next_by_subj: "s.>" }])
    await missing(body);
  const bad = (body) => refused(nc, "STREAM.MSG.GET.Q", body, 400, 10003, "bad request");
  for (const body of ["", "{}", " { } ", { no_hdr: true }, { seq: 0 }, { seq: 1, last_by_subj: "x" }, { multi_last: ["a"] },
    { seq: 1, start_time: "2020-01-01T00:00:00Z" }, { last_by_subj: "x", start_time: "2020-01-01T00:00:00Z" },
    { last_by_subj: "x", next_by_subj: "x" }, { seq: 1, batch: 1 }, { seq: 1, max_bytes: 1 }])
    await bad(body);
  await refused(nc, "STREAM.MSG.GET.Q", { seq: 1 }, 404, 10059, "stream not found");
});

scenario("a get that succeeds is neither counted nor audited", async (t) => {
  const [, nc] = await ready(t);
  const audits = collect(nc, "$JS.EVENT.ADVISORY.API");
  await create(nc, "S");
  await publish(nc, "S");
  await ask(nc, "STREAM.MSG.GET.S", { seq: 1 });
  await ask(nc, "STREAM.MSG.GET.S", { seq: 9 });
  assert.deepEqual((await ask(nc, "INFO")).api, { level: 5, total: 2, errors: 1 });
  await until("three audits", () => audits.length === 3);
  assert.deepEqual(audits.map((m) => m.json().subject.slice(8)), ["STREAM.CREATE.S", "STREAM.MSG.GET.S", "INFO"]);
});

scenario("message delete", async (t) => {
  const [, nc] = await ready(t);
  await create(nc, "S", { subjects: ["s.*"] });
  for (let i = 0; i < 5; i++) await publish(nc, `s.${i}`);
  const del = (stream, body) => text(nc, `$JS.API.STREAM.MSG.DELETE.${stream}`, body);
  const done = `{"type":"${TYPE}stream_msg_delete_response","success":true}`;
  assert.equal(await del("S", { seq: 3 }), done);
  assert.equal(await del("S", { seq: 2, no_erase: true }), done);
  const bad = (body, ...rest) => refused(nc, "STREAM.MSG.DELETE.S", body, ...rest);
  await bad({ seq: 3 }, 400, 10043, "sequence 3 not found");
  await bad({ seq: 30 }, 500, 10057, "stream store EOF");
  await bad({ seq: 0 }, 500, 10057, "no message found");
  await bad({}, 400, 10003, "bad request");
  await bad("", 400, 10003, "bad request");
  await refused(nc, "STREAM.MSG.DELETE.Q", {}, 400, 10003, "bad request");
  await refused(nc, "STREAM.MSG.DELETE.Q", { seq: 1 }, 404, 10059, "stream not found");
  assert.equal((await ask(nc, "STREAM.INFO.S")).state.messages, 3);
});

scenario("sealed streams and denied deletes", async (t) => {
  const [, nc] = await ready(t);
  await create(nc, "D", { deny_delete: true, deny_purge: true });
  await publish(nc, "D");
  await refused(nc, "STREAM.MSG.DELETE.D", { seq: 1 }, 500, 10057, "message delete not permitted");
  await refused(nc, "STREAM.PURGE.D", "", 500, 10110, "stream purge not permitted", { purged: 0 });
  await create(nc, "S");
  await publish(nc, "S");
  const r = await ask(nc, "STREAM.UPDATE.S", { name: "S", sealed: true });
  assert.deepEqual([r.config.sealed, r.config.discard, r.config.deny_delete, r.config.deny_purge], [true, "new", true, true]);
  await refused(nc, "STREAM.MSG.DELETE.S", { seq: 1 }, 400, 10109, "invalid operation on sealed stream");
  await refused(nc, "STREAM.PURGE.S", "", 400, 10109, "invalid operation on sealed stream", { purged: 0 });
  await refused(nc, "STREAM.UPDATE.S", { name: "S" }, 500, 10052, "stream configuration update can not unseal a sealed stream");
  assert.equal((await ask(nc, "STREAM.DELETE.S")).success, true);
});

scenario("the API level a request needs", async (t) => {
  const [, nc] = await ready(t);
  for (const level of ["0", "5", "-1", "+5", "", " 5"])
    assert.equal((await ask(nc, "INFO", "", level)).error, undefined, `level "${level}"`);
  const error = [412, 10185, "JetStream minimum api level required"];
  for (const level of ["6", "x", "0x5", "5.0", "99999999999999999999"])
    await refused(nc, "INFO", "", ...error, {}, level);
  await refused(nc, "STREAM.NAMES", "", ...error, { ...NO_PAGE, streams: null }, "9");
  await refused(nc, "STREAM.LIST", "", ...error, { ...NO_PAGE, streams: [] }, "9");
  await refused(nc, "STREAM.INFO.S", "", ...error, NO_PAGE, "9");
  await refused(nc, "STREAM.PURGE.S", "", ...error, { purged: 0 }, "9");
  await refused(nc, "STREAM.MSG.GET.S", "", ...error, {}, "9");
  await refused(nc, "STREAM.MSG.DELETE.S", "", ...error, {}, "9");
  await refused(nc, "STREAM.DELETE.S", "x", ...error, {}, "9");
});

// A request that nobody answers; but somebody is there, so it is no 503 either.
async function unanswered(nc, subject) {
  const inbox = `_UNANSWERED.${nuid.next()}`;
  const got = collect(nc, inbox);
  nc.publish(subject, "", { reply: inbox });
  await nc.flush();
  await ask(nc, "INFO"); // served after it
  await nc.flush();
  assert.deepEqual(got.map((m) => m.headers?.code ?? m.string()), []);
}

scenario("what is no request is not answered, and what only clusters do is refused", async (t) => {
  const [, nc] = await ready(t);
  for (const s of ["BOGUS", "STREAM.BOGUS.S", "STREAM.CREATE", "STREAM.CREATE.a.b", "META.LEADER.STEPDOWN", "ACCOUNT.PURGE.S"])
    await unanswered(nc, `$JS.API.${s}`);
  const error = [503, 10010, "JetStream clustering support required"];
  await refused(nc, "STREAM.LEADER.STEPDOWN.S", "", ...error);
  await refused(nc, "STREAM.PEER.REMOVE.S", "", ...error);
  await refused(nc, "CONSUMER.LEADER.STEPDOWN.S.c", "", ...error);
});

scenario("a domain has its own name for the API", async (t) => {
  const [, nc] = await ready(t, { config: 'server_name: one\njetstream { store_dir: "DIR", domain: hub }\n' });
  assert.equal(JSON.parse(await text(nc, "$JS.hub.API.INFO")).domain, "hub");
  const made = JSON.parse(await text(nc, "$JS.hub.API.STREAM.CREATE.S", { name: "S" }));
  assert.equal(made.domain, undefined);
  const info = await ask(nc, "STREAM.INFO.S");
  assert.deepEqual(Object.keys(info).slice(6), ["state", "domain", "cluster", "ts"]);
  assert.equal(info.domain, "hub");
  assert.equal((await ask(nc, "STREAM.LIST")).streams[0].domain, "hub");
  assert.equal((await ask(nc, "STREAM.UPDATE.S", { name: "S" })).domain, "hub");
  for (const s of ["$JS.hubb.API.INFO", "$JS.hub.API.BOGUS"])
    await assert.rejects(nc.request(s, "", { timeout: LIMIT_MS }), /no responders/i);
  await unanswered(nc, "$JS.hub.API.STREAM.BOGUS");
  const audits = collect(nc, "$JS.EVENT.ADVISORY.API");
  await nc.flush();
  await text(nc, "$JS.hub.API.STREAM.NAMES");
  await until("the audit", () => audits.length === 1);
  assert.equal(audits[0].json().subject, "$JS.API.STREAM.NAMES");
  assert.equal(audits[0].json().domain, "hub");
  await create(nc, "KV_b", { subjects: ["$KV.b.>"] });
  assert.deepEqual(JSON.parse(await text(nc, "$JS.hub.API.$KV.b.k", "v")), { stream: "KV_b", domain: "hub", seq: 1 });
});

const ACCOUNTS = {
  config: `server_name: one
jetstream { store_dir: "DIR", max_mem: 1M, max_file: 10M }
accounts {
  A { jetstream: {max_mem: 1K, max_file: 5K, max_streams: 2, max_consumers: 3}, users: [{user: a, password: p}] }
  B { users: [{user: b, password: p}] }
  C { jetstream: enabled, users: [{user: c, password: p}] }
  E { jetstream: {max_mem: 1K, max_file: 10K, max_bytes_required: true, disk_max_stream_bytes: 2K}, users: [{user: e, password: p}] }
  $SYS { users: [{user: s, password: p}] }
}
`,
};
const as = (user) => ({ user, pass: "p" });
const NOT_ENABLED = [503, 10039, "JetStream not enabled for account"];

scenario("accounts without JetStream are told so", async (t) => {
  const [s, b] = await ready(t, ACCOUNTS, as("b"));
  await refused(b, "INFO", "", ...NOT_ENABLED);
  await refused(b, "STREAM.NAMES", "", ...NOT_ENABLED, { ...NO_PAGE, streams: null });
  await refused(b, "STREAM.CREATE.S", "{", ...NOT_ENABLED);
  await refused(b, "STREAM.INFO.S", "", ...NOT_ENABLED, NO_PAGE);
  await refused(b, "STREAM.MSG.GET.S", "", ...NOT_ENABLED);
  await refused(b, "STREAM.MSG.GET.S", "", 412, 10185, "JetStream minimum api level required", {}, "9");
  await assert.rejects(b.request("$JS.API.DIRECT.GET.S", '{"seq":1}', { timeout: LIMIT_MS }), /no responders/i);
  const sys = await t.connect(s, as("s"));
  assert.equal((await refused(sys, "INFO", "", ...NOT_ENABLED)).type, `${TYPE}account_info_response`);
  for (const r of ["STREAM.NAMES", "BOGUS"])
    assert.equal((await refused(sys, r, "", ...NOT_ENABLED)).type, `${TYPE}system_response`);
});

scenario("limits of an account", async (t) => {
  const [s, a] = await ready(t, ACCOUNTS, as("a"));
  const bad = (body, ...rest) => refused(a, `STREAM.CREATE.${body.name}`, body, ...rest);
  const disk = [500, 10047, "insufficient storage resources available"];
  await create(a, "S", { max_bytes: 4096 });
  await bad({ name: "T", max_bytes: 4096 }, ...disk);
  await bad({ name: "T", max_consumers: 5 }, 400, 10026, "maximum consumers limit reached");
  await bad({ name: "T", storage: "memory", max_bytes: 4096 }, 500, 10028, "insufficient memory resources available");
  await create(a, "T");
  await bad({ name: "U" }, 400, 10027, "maximum number of streams reached");
  await bad({ name: "U", num_replicas: 9 }, 400, 10027, "maximum number of streams reached"); // limits come first
  await create(a, "S", { max_bytes: 4096 }); // but the same again is no new one
  await bad({ name: "S", max_bytes: 4097 }, 400, 10058, "stream name already in use with a different configuration");
  await refused(a, "STREAM.UPDATE.S", { name: "S", max_bytes: 8000 }, ...disk);
  await refused(a, "STREAM.UPDATE.S", { name: "S", max_consumers: 9 }, 400, 10026, "maximum consumers limit reached");
  assert.equal((await ask(a, "STREAM.UPDATE.S", { name: "S", max_bytes: 5000 })).config.max_bytes, 5000);
  const info = await ask(a, "INFO");
  assert.deepEqual(info.limits, { max_memory: 1000, max_storage: 5000, max_streams: 2, max_consumers: 3, max_ack_pending: -1,
    memory_max_stream_bytes: -1, storage_max_stream_bytes: -1, max_bytes_required: false });
  assert.equal(info.reserved_storage, 5000);
  const e = await t.connect(s, as("e"));
  await refused(e, "STREAM.CREATE.S", { name: "S" }, 400, 10113, "account requires a stream config to have max bytes set");
  await refused(e, "STREAM.CREATE.S", { name: "S", max_bytes: 4096 }, 400, 10122, "stream max bytes exceeds account limit max stream bytes");
  await create(e, "S", { max_bytes: 1000, storage: "memory" }); // S of A is another stream
  const c = await t.connect(s, as("c"));
  await refused(c, "STREAM.CREATE.S", { name: "S", max_bytes: 10000000000 }, ...disk); // the server's limit
  assert.deepEqual((await ask(c, "STREAM.NAMES")).streams, null);
});

scenario("every request is audited", async (t) => {
  const [, nc] = await ready(t, { config: 'server_name: one\njetstream { store_dir: "DIR", domain: hub }\n' });
  const sub = collect(nc, "$JS.EVENT.ADVISORY.API");
  await nc.flush();
  const body = '{"name":"T\\u0000<"}';
  await ask(nc, "STREAM.CREATE.S", body);
  await ask(nc, "STREAM.NAMES");
  await until("two audits", () => sub.length === 2);
  const [one, two] = sub.map((m) => m.json());
  assert.deepEqual(Object.keys(one), ["type", "id", "timestamp", "server", "client", "subject", "request", "response", "domain"]);
  assert.deepEqual(Object.keys(two), ["type", "id", "timestamp", "server", "client", "subject", "response", "domain"]);
  assert.equal(one.type, "io.nats.jetstream.advisory.v1.api_audit");
  assert.match(one.id, /^[0-9A-Za-z]{22}$/);
  assert.equal(one.server, "one");
  assert.equal(one.subject, "$JS.API.STREAM.CREATE.S");
  assert.equal(one.request, body);
  assert.equal(JSON.parse(one.response).error.err_code, 10056);
  assert.equal(JSON.parse(two.response).type, `${TYPE}stream_names_response`);
  const { start, rtt, ver, ...client } = one.client;
  assert.deepEqual(client, { host: "127.0.0.1", id: client.id, acc: "$G", lang: client.lang, server: "one", kind: "Client", client_type: "nats" });
  assert.ok(start && ver && client.id > 0);
});

scenario("streams that come, change and go are announced", async (t) => {
  const [, nc] = await ready(t);
  const sub = collect(nc, "$JS.EVENT.ADVISORY.STREAM.>");
  await nc.flush();
  await create(nc, "S");
  await create(nc, "S"); // nothing new
  await ask(nc, "STREAM.UPDATE.S", { name: "S", max_msgs: 5 });
  await ask(nc, "STREAM.PURGE.S");
  await ask(nc, "STREAM.DELETE.S");
  await until("three events", () => sub.length === 3);
  assert.deepEqual(sub.map((m) => m.subject.slice(19)), ["STREAM.CREATED.S", "STREAM.UPDATED.S", "STREAM.DELETED.S"]);
  assert.deepEqual(sub.map((m) => m.json().action), ["create", "modify", "delete"]);
  assert.deepEqual(Object.keys(sub[0].json()), ["type", "id", "timestamp", "stream", "action"]);
  assert.equal(sub[0].json().type, "io.nats.jetstream.advisory.v1.stream_action");
});

scenario("a request without a reply is served all the same", async (t) => {
  const [, nc] = await ready(t);
  nc.publish("$JS.API.STREAM.CREATE.S", '{"name":"S"}');
  await until("the stream", async () => (await ask(nc, "STREAM.NAMES")).streams);
  nc.publish("$JS.API.STREAM.DELETE.S");
  await until("its end", async () => !(await ask(nc, "STREAM.NAMES")).streams);
});

scenario("consumers of a stream that has none", async (t) => {
  const [, nc] = await ready(t);
  await create(nc, "S");
  assert.equal(await text(nc, "$JS.API.CONSUMER.NAMES.S"),
    `{"type":"${TYPE}consumer_names_response","total":0,"offset":0,"limit":1024,"consumers":[]}`);
  assert.equal(await text(nc, "$JS.API.CONSUMER.LIST.S", { offset: 3 }),
    `{"type":"${TYPE}consumer_list_response","total":0,"offset":0,"limit":256,"consumers":[]}`);
  const none = { ...NO_PAGE, consumers: [] };
  await refused(nc, "CONSUMER.NAMES.Q", "", 404, 10059, "stream not found", none);
  await refused(nc, "CONSUMER.LIST.Q", "", 404, 10059, "stream not found", none);
  await refused(nc, "CONSUMER.NAMES.S", { x: 3 }, 400, 10025, 'invalid JSON: json: unknown field "x"', none);
});

scenario("streams are there again after a restart", async (t) => {
  const [s, nc] = await ready(t, HUGE);
  const made = await create(nc, "S", { subjects: ["s.>"], metadata: { k: "v" } });
  // More than a double can hold, so it is looked at as text.
  const large = '"first_seq":18446744073709551614,';
  assert.ok((await text(nc, "$JS.API.STREAM.CREATE.L", `{"name":"L",${large}"max_bytes":9007199254740993}`)).includes(large));
  await create(nc, "gone");
  await publish(nc, "s.1", "one");
  await publish(nc, "s.2", "two");
  await ask(nc, "STREAM.DELETE.gone");
  const before = await ask(nc, "STREAM.INFO.S");
  await nc.close();
  await s.restart();
  const again = await t.connect(s);
  const after = await ask(again, "STREAM.INFO.S");
  assert.deepEqual({ ...after, ts: "" }, { ...before, ts: "" });
  assert.equal(after.created, made.created);
  assert.deepEqual((await ask(again, "STREAM.NAMES")).streams, ["L", "S"]);
  const l = await text(again, "$JS.API.STREAM.INFO.L");
  assert.ok(l.includes(large) && l.includes('"max_bytes":9007199254740993,'), l);
  assert.equal((await ask(again, "STREAM.MSG.GET.S", { seq: 2 })).message.data, Buffer.from("two").toString("base64"));
  assert.equal((await publish(again, "s.3")).seq, 3);
});

scenario("each request is answered, then audited, one after the other", async (t) => {
  const [, nc] = await ready(t);
  const got = collect(nc, ">");
  const config = { name: "S", subjects: ["s"] };
  const requests = [["CREATE", config], ["UPDATE", { ...config, subjects: ["s", "u"] }], ["UPDATE", { ...config, storage: "memory" }], ["UPDATE", config], ["PURGE", ""], ["DELETE", ""]];
  for (const [op, body] of requests) {
    got.length = 0;
    nc.publish(`$JS.API.STREAM.${op}.S`, body && JSON.stringify(body), { reply: "answer" });
    await until(`the audit of ${op}`, () => got.some((m) => m.subject === "$JS.EVENT.ADVISORY.API"));
    const order = got.map((m) => m.subject).filter((x) => x === "answer" || x.endsWith(".API"));
    assert.deepEqual(order, ["answer", "$JS.EVENT.ADVISORY.API"], op);
  }
});

// Without waiting for the disk: a client that was not acknowledged, but sent its messages before it asks.
scenario("who asks finds what it published and acknowledged before", { only: "mayfly" }, async (t) => {
  const [s, nc] = await ready(t);
  await create(nc, "W", { subjects: ["w"], retention: "workqueue" });
  await ask(nc, "CONSUMER.CREATE.W.C", { stream_name: "W", config: { name: "C", durable_name: "C", ack_policy: "explicit" } });
  const r = await (await t.raw(s)).connect();
  let n = 0;
  const after = async (lines, op, body = "") => {
    r.send(`SUB in.${++n} ${n}`, ...lines, `PUB $JS.API.${op} in.${n} ${body.length}`, body);
    const m = await r.expect(new RegExp(`MSG in\\.${n} ${n} (\\d+)\r\n(.*)\r\n`));
    return JSON.parse(m[2]);
  };
  const pub = ["PUB w 1", "x"];
  assert.equal((await after(pub, "STREAM.INFO.W")).state.messages, 1);
  assert.equal((await after(pub, "CONSUMER.INFO.W.C")).num_pending, 2);
  assert.equal((await after(pub, "CONSUMER.LIST.W")).consumers[0].num_pending, 3);
  assert.equal((await after(pub, "STREAM.MSG.GET.W", '{"seq":4}')).message.seq, 4);
  const got = collect(nc, "next");
  nc.publish("$JS.API.CONSUMER.MSG.NEXT.W.C", "1", { reply: "next" });
  await until("a message", () => got.length === 1);
  assert.equal((await after([`PUB ${got[0].reply} 4`, "+ACK"], "STREAM.INFO.W")).state.messages, 3);
});
