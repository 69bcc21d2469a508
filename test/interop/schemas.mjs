// schemas.mjs: every answer of a session that touches the whole stream API fits the published schemas.
import assert from "node:assert/strict";
import { Check, SECOND, jetstreamBlock, onServer, restore, snapshot } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { errorTable, faults, haveSchemas, schemaOf, withoutSchemas } from "./lib/schema.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const PUB_ACK = "io.nats.jetstream.api.v1.pub_ack_response";

// Where nats-server itself does not fit, and Mayfly does as it does.
const MISFITS = [
  [/stream_(names|list)_response$/, "/: fits 2 of 2 forms"], // an error comes with an empty list of streams
  [/advisory\.v1\.\w+$/, "/domain: has no place here"],
  [/snapshot_create$/, '/: lacks "blocks", lacks "block_size"'], // words of an older format
  [/snapshot_create$/, "/state: has no place here"],
];
const misfit = (type, fault) => MISFITS.some(([t, f]) => t.test(type) && f === fault);

// Collects the types that were seen, with or without an error in them, and fails at the first misfit.
class Judge {
  seen = new Set();

  take(answer, type = answer.type) {
    assert.equal(typeof type, "string", JSON.stringify(answer));
    this.seen.add(type.replace(/^io\.nats\.jetstream\.(api|advisory)\.v1\./, "") + (answer.error ? " error" : ""));
    if (!haveSchemas) return answer;
    const schema = schemaOf(type);
    assert.ok(schema, `no schema for ${type}`);
    const wrong = faults(answer, schema).filter((f) => !misfit(type, f));
    assert.deepEqual(wrong, [], `${type}: ${wrong.join("; ")}\n${JSON.stringify(answer)}`);
    return answer;
  }
}

// A stream whose answers are judged.
function judged(c, judge) {
  c.api = async (...args) => judge.take(await Check.prototype.api.apply(c, args));
  c.ack = async (...args) => judge.take(await Check.prototype.ack.apply(c, args), PUB_ACK);
  return c;
}

const note = () => haveSchemas || console.log(`# ${withoutSchemas}`);

const EVERYTHING = {
  description: "all there is", retention: "limits", max_consumers: 5, max_msgs: 1000, max_bytes: 1_000_000, max_age: 3600 * SECOND,
  max_msgs_per_subject: 10, max_msg_size: 10_000, discard: "old", storage: "file", num_replicas: 1, duplicate_window: 60 * SECOND,
  placement: { cluster: "", tags: [] }, compression: "s2", first_seq: 10, subject_transform: { src: "in.*", dest: "out.{{wildcard(1)}}" },
  republish: { src: "out.>", dest: "again.>", headers_only: true }, allow_direct: true, deny_delete: true, deny_purge: false,
  allow_rollup_hdrs: true, consumer_limits: { inactive_threshold: SECOND, max_ack_pending: 10 }, allow_msg_ttl: true,
  subject_delete_marker_ttl: 2 * SECOND, allow_atomic: true, allow_msg_schedules: true, allow_batched: true, metadata: { owner: "me" },
};

async function session(t, judge, block) {
  const s = await t.server({ config: `server_name: one\n${jetstreamBlock(block)}` });
  const { nc, stream } = await onServer(t, s);
  return { nc, on: (name) => judged(stream(name), judge) };
}

async function messages(c) {
  for (const name of ["a", "b", "b", "c"]) await c.ack(name, "x", ["H: v"]);
  await c.remove(2);
  await c.ack("a", "x", { "Nats-Msg-Id": "1" });
  await c.ack("a", "x", { "Nats-Msg-Id": "1" });
  await c.ack("a", "x", { "Nats-TTL": "never" });
  await c.ack("a", "x", { "Nats-Expected-Stream": "OTHER" });
}

async function questions(c) {
  const ops = {
    INFO: ["", { deleted_details: true }, { subjects_filter: ">" }, { subjects_filter: "none.here" }, { subjects_filter: ">", offset: 1 }, "{"],
    "MSG.GET": [{ seq: 1 }, { seq: 1, no_hdr: true }, { last_by_subj: c.subject("b") }, { next_by_subj: c.subject("*"), seq: 3 }, { seq: 99 }, "", "{"],
    "MSG.DELETE": [{ seq: 3 }, { seq: 3 }, { seq: 99 }, "", "{"],
    PURGE: [{ filter: c.subject("a") }, { seq: 2, keep: 1 }, { keep: 1 }, { seq: 3 }, "", "{"],
  };
  for (const [op, bodies] of Object.entries(ops)) {
    for (const body of bodies) await c.api(`STREAM.${op}.${c.id}`, body);
    await c.api(`STREAM.${op}.NONE`, op === "MSG.GET" || op === "MSG.DELETE" ? { seq: 1 } : "");
  }
  for (const op of ["NAMES", "LIST"])
    for (const body of ["", { subject: c.subject("a") }, { subject: "none.here" }, { offset: 100 }, "{"]) await c.api(`STREAM.${op}`, body);
  await c.api("INFO");
}

const ANSWERS = [
  "account_info_response", "api_audit", "pub_ack_response", "pub_ack_response error", "restore_complete", "restore_create",
  "snapshot_complete", "snapshot_create", "stream_action", "stream_create_response", "stream_create_response error",
  "stream_delete_response", "stream_delete_response error", "stream_info_response", "stream_info_response error",
  "stream_list_response", "stream_list_response error", "stream_msg_delete_response", "stream_msg_delete_response error",
  "stream_msg_get_response", "stream_msg_get_response error", "stream_names_response", "stream_names_response error",
  "stream_purge_response", "stream_purge_response error", "stream_restore_response", "stream_restore_response error",
  "stream_snapshot_response", "stream_snapshot_response error", "stream_update_response", "stream_update_response error",
];

for (const [where, block] of [["", ""], ["in a domain: ", "domain: hub"]])
  scenario(`${where}every answer and every advisory fits its schema`, async (t) => {
    note();
    const judge = new Judge();
    const { nc, on } = await session(t, judge, block);
    const advisories = collect(nc, "$JS.EVENT.ADVISORY.>");
    const c = on("ALL");
    await c.api("INFO");
    await c.api("STREAM.NAMES");
    await c.api("STREAM.LIST");
    await c.create({ allow_msg_ttl: true });
    await c.create({ allow_msg_ttl: true });
    await messages(c);
    await c.api("STREAM.CREATE.ALL", { name: "ALL", subjects: ["other"] });
    await c.api("STREAM.CREATE.ALL", { name: "OTHER" });
    await c.api("STREAM.CREATE.ALL", { name: "ALL", bogus: 1 });
    await c.update({ allow_msg_ttl: true, description: "new" });
    await c.api("STREAM.UPDATE.ALL", { name: "ALL", storage: "memory" });
    await c.api("STREAM.UPDATE.NONE", { name: "NONE" });
    const full = on("FULL");
    await full.create({ ...EVERYTHING, subjects: ["in.*", "out.>"] });
    await full.update({ ...EVERYTHING, subjects: ["in.*", "out.>"], max_msgs: 10 });
    await questions(c);
    await c.ack("a", "saved", ["H: v"]);
    const saved = await snapshot(c);
    await c.api("STREAM.SNAPSHOT.ALL", "");
    await c.api("STREAM.SNAPSHOT.NONE", { deliver_subject: "x" });
    await c.api("STREAM.RESTORE.ALL", { config: saved.config, state: saved.state });
    await c.api("STREAM.DELETE.ALL", { a: 1 });
    await c.api("STREAM.DELETE.ALL");
    await c.api("STREAM.DELETE.ALL");
    judge.take(await restore(c, saved));
    await until("the last advisory", () => advisories.some((m) => m.subject.includes("RESTORE_COMPLETE")));
    await nc.flush();
    for (const m of advisories) {
      const a = judge.take(m.json());
      if (a.type.endsWith("api_audit")) judge.take(JSON.parse(a.response));
    }
    assert.deepEqual([...judge.seen].sort(), ANSWERS);
  });

scenario("the answers to counters and batches fit too, and the advisory about a lost batch", async (t) => {
  note();
  const judge = new Judge();
  const { nc, on } = await session(t, judge, "domain: hub");
  const advisories = collect(nc, "$JS.EVENT.ADVISORY.STREAM.BATCH_ABANDONED.>");
  const counter = on("COUNTER");
  await counter.create({ allow_msg_counter: true });
  assert.equal((await counter.ack("a", "", { "Nats-Incr": "5" })).val, "5");
  await counter.ack("a", "", { "Nats-Incr": "x" });
  const c = on("BATCH");
  await c.create({ allow_atomic: true });
  const part = (seq, more = {}) => ({ "Nats-Batch-Id": "b", "Nats-Batch-Sequence": seq, ...more });
  await c.send("a", "1", part(1));
  assert.equal((await c.ack("a", "2", part(2, { "Nats-Batch-Commit": "1" }))).count, 2);
  await c.send("a", "1", part(1));
  await c.ack("a", "3", part(3));
  await until("the advisory", () => advisories.length > 0);
  assert.equal(judge.take(advisories[0].json()).batch, "b");
});

scenario("an account without JetStream: its errors fit as well", async (t) => {
  note();
  const judge = new Judge();
  const accounts = "accounts { A: { jetstream: enabled, users: [{user: a, password: a}] }, B: { users: [{user: b, password: b}] } }\n";
  const s = await t.server({ config: accounts + jetstreamBlock() });
  const nc = await t.connect(s, { user: "b", pass: "b" });
  const ops = ["INFO", "STREAM.NAMES", "STREAM.LIST", ...["CREATE", "UPDATE", "INFO", "DELETE", "PURGE", "MSG.GET", "MSG.DELETE", "SNAPSHOT", "RESTORE"].map((o) => `STREAM.${o}.S`)];
  for (const op of ops) {
    const m = await nc.request(`$JS.API.${op}`, JSON.stringify({ name: "S" }), { timeout: LIMIT_MS });
    assert.equal(judge.take(m.json()).error?.err_code, 10039, op);
  }
  assert.equal(judge.seen.size, ops.length);
});

// The table says which code, status and text belong together.
scenario("errors carry the status and the text of the published table", async (t) => {
  note();
  const table = new Map((errorTable() ?? []).map((e) => [e.error_code, e]));
  const judge = new Judge();
  const errors = [];
  const take = judge.take.bind(judge);
  judge.take = (a, ...more) => {
    if (a.error) errors.push(a.error);
    return take(a, ...more);
  };
  const { on } = await session(t, judge, "");
  const c = on("ALL");
  await c.create();
  await messages(c);
  await questions(c);
  assert.ok(errors.length > 15);
  for (const e of haveSchemas ? errors : []) {
    const known = table.get(e.err_code);
    assert.equal(e.code, known?.code, JSON.stringify(e));
    const text = known.description.split(/\{\w+\}/).map((x) => x.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    assert.match(e.description, new RegExp(`^${text.join(".*")}$`));
  }
});
