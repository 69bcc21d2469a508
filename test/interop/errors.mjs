// errors.mjs: each error that a single server can give about streams, given: status, code and text.
import assert from "node:assert/strict";
import { archive } from "./lib/archive.mjs";
import { SECOND, block, group, jetstreamBlock, onServer, ownServer, restore, snapshot } from "./lib/js.mjs";
import { collect, scenario } from "./lib/scenario.mjs";
import { errorTable, withoutSchemas } from "./lib/schema.mjs";
import { LIMIT_MS, until } from "./lib/wait.mjs";

const check = group({ block: 'limits { batch { max_inflight_per_stream: 2, max_msgs: 3, timeout: "60s" } }' });
const covered = new Map(); // code -> [constant, status]

// ASK makes the error happen and returns the answer, or a list of answers that all must say so.
function error(err_code, constant, code, description, ask) {
  covered.set(err_code, [constant, code]);
  check(`${err_code} ${constant}`, async (c) => {
    for (const a of [await ask(c)].flat()) {
      assert.ok(a.error, `no error: ${JSON.stringify(a).slice(0, 300)}`);
      const { description: text, ...rest } = a.error;
      assert.deepEqual(rest, { code, err_code }, text);
      if (description instanceof RegExp) assert.match(text, description);
      else assert.equal(text, description);
    }
  });
}

const each = async (list, fn) => {
  const out = [];
  for (const x of list) out.push(await fn(x));
  return out;
};
const creating = (over) => (c) => c.api(`STREAM.CREATE.${c.id}`, c.config(over));
const creatingEach = (...overs) => (c) => each(overs, (o) => creating(o)(c));
const mirror = (over, more = {}) => creating({ subjects: undefined, mirror: { name: "ORIGIN", ...over }, ...more });
const source = (over, more = {}) => creating({ sources: [{ name: "ORIGIN", ...over }], ...more });
const publishing = (over, hdr, data = "") => async (c) => {
  await c.create(over);
  return c.ack("a", data, hdr);
};
const asking = (op, body, over) => async (c) => {
  await c.create(over);
  await c.pub("a", "x");
  return each([body].flat(), (b) => c.api(`STREAM.${op}.${c.id}`, b));
};

// --- requests --------------------------------------------------------------------------------------------------

error(10003, "JSBadRequestErr", 400, "bad request", async (c) => [
  ...(await asking("MSG.GET", ["", {}, { batch: 1 }, { seq: 1, last_by_subj: "a" }, { last_by_subj: "a", next_by_subj: "a" }])(c)),
  ...(await asking("MSG.DELETE", ["", {}])(c)),
  await c.purge({ seq: 1, keep: 1 }),
]);
error(10010, "JSClusterRequiredErr", 503, "JetStream clustering support required", async (c) => {
  await c.create();
  return each(["LEADER.STEPDOWN", "PEER.REMOVE"], (op) => c.api(`STREAM.${op}.${c.id}`, { peer: "x" }));
});
error(10015, "JSSnapshotDeliverSubjectInvalidErr", 400, "deliver subject not valid", asking("SNAPSHOT", [{ deliver_subject: "a..b" }, { deliver_subject: "a b" }]));
error(10025, "JSInvalidJSONErr", 400, /^invalid JSON: ./, async (c) => {
  await c.create();
  const texts = ["{", '{"', "{]", '{"a":}', '{"seq":x}', '{"bogus":1}', '{"name":1}', '{"seq":"1"}', "[]", '{"seq":-1}', '{"seq":1.5}', '{"seq":1e99}'];
  const ops = ["CREATE", "MSG.GET", "MSG.DELETE", "PURGE", "SNAPSHOT"];
  return each(ops.flatMap((o) => texts.map((t) => [o, t])), ([o, t]) => c.api(`STREAM.${o}.${c.id}`, t));
});
error(10037, "JSNoMessageFoundErr", 404, "no message found", asking("MSG.GET", [{ seq: 2 }, { last_by_subj: "no" }, { next_by_subj: "no" }, { seq: 99, next_by_subj: ">" }, { start_time: "2099-01-01T00:00:00Z" }]));
error(10038, "JSNotEmptyRequestErr", 400, "expected an empty request payload", asking("DELETE", [{ a: 1 }, "x"]));
error(10043, "JSSequenceNotFoundErrF", 400, "sequence 2 not found", async (c) => {
  await c.create();
  for (let i = 0; i < 3; i++) await c.pub("a", "x");
  await c.remove(2);
  return c.remove(2);
});
error(10056, "JSStreamMismatchErr", 400, "stream name in subject does not match request", creatingEach({ name: "OTHER" }, { name: "" }, { name: undefined }));
error(10057, "JSStreamMsgDeleteFailedF", 500, /^(stream store EOF|no message found|message delete not permitted)$/, async (c) => [
  ...(await asking("MSG.DELETE", [{ seq: 99 }, { seq: 0 }])(c)),
  ...(await asking("MSG.DELETE", { seq: 1 }, { deny_delete: true })(c.another())),
]);
error(10059, "JSStreamNotFoundErr", 404, "stream not found", (c) =>
  each(["INFO", "UPDATE", "DELETE", "PURGE", "MSG.GET", "MSG.DELETE", "SNAPSHOT"], (op) => {
    const bodies = { UPDATE: { name: "NONE" }, "MSG.GET": { seq: 1 }, "MSG.DELETE": { seq: 1 }, SNAPSHOT: { deliver_subject: "x" } };
    return c.api(`STREAM.${op}.NONE`, bodies[op] ?? "");
  }));
error(10062, "JSStreamRestoreErrF", 500, /^restore failed: ./, async (c) => {
  await c.create();
  const { config, state } = await snapshot(c);
  await c.api(`STREAM.DELETE.${c.id}`);
  return restore(c, { config, state, bytes: Buffer.from("this is no snapshot") });
});
error(10110, "JSStreamPurgeFailedF", 500, "stream purge not permitted", asking("PURGE", "", { deny_purge: true }));
error(10130, "JSStreamNameExistRestoreFailedErr", 400, "stream name already in use, cannot restore", async (c) => {
  await c.create();
  return c.api(`STREAM.RESTORE.${c.id}`, { config: c.config(), state: {} });
});
error(10185, "JSRequiredApiLevelErr", 412, "JetStream minimum api level required", async (c) => {
  const ops = ["INFO", "STREAM.NAMES", "STREAM.LIST", ...["CREATE", "UPDATE", "INFO", "DELETE", "PURGE", "MSG.GET", "MSG.DELETE", "SNAPSHOT", "RESTORE"].map((o) => `STREAM.${o}.S`)];
  return each(ops.flatMap((o) => ["99", "x", "1.5"].map((l) => [o, l])), ([o, l]) => c.api(o, "", { "Nats-Required-Api-Level": l }));
});

// --- configurations ----------------------------------------------------------------------------------------------

error(10049, "JSStreamCreateErrF", 500, /^subject filter 'o\.\.a' for the (mirror invalid|source: invalid) subject$/, async (c) => [
  await mirror({ filter_subject: "o..a" })(c),
  await source({ filter_subject: "o..a" })(c),
]);
error(10052, "JSStreamInvalidConfigF", 500, /./, creatingEach(
  { sealed: true }, { mirror_direct: true }, { description: "x".repeat(4097) }, { metadata: { a: "x".repeat(131072) } }, { num_replicas: 6 },
  { max_age: -1 }, { max_age: 1 }, { duplicate_window: -1 }, { duplicate_window: 1 }, { max_age: SECOND, duplicate_window: 2 * SECOND },
  { deny_purge: true, allow_rollup_hdrs: true }, { discard_new_per_subject: true }, { discard: "new", discard_new_per_subject: true },
  { subject_delete_marker_ttl: 1 }, { subject_delete_marker_ttl: -1 }, { allow_msg_counter: true, discard: "new" },
  { allow_msg_counter: true, allow_msg_ttl: true }, { allow_msg_counter: true, allow_msg_schedules: true }, { allow_msg_counter: true, retention: "workqueue" },
  { allow_msg_schedules: true, discard: "new" }, { persist_mode: "async", storage: "memory" }, { persist_mode: "async", allow_atomic: true },
  { subjects: [""] }, { subjects: ["a..b"] }, { subjects: ["a b"] }, { subjects: ["a", "a"] }, { subjects: ["a.*", "a.b"] }, { subjects: [">"] },
  { subjects: ["*.>"] }, { subjects: ["$JS.API.>"] }, { subjects: ["$SYS.>"] }, { republish: { src: ">", dest: "{{wildcard(3)}}" } },
  { placement: { preferred: "x" } }, { subjects: undefined, mirror: { name: "O" }, subject_delete_marker_ttl: SECOND },
));
error(10055, "JSStreamMirrorNotUpdatableErr", 400, "stream mirror configuration can not be updated", async (c) => {
  await c.create();
  return c.api(`STREAM.UPDATE.${c.id}`, { name: c.id, mirror: { name: "ORIGIN" } });
});
error(10058, "JSStreamNameExistErr", 400, "stream name already in use with a different configuration", async (c) => {
  await c.create();
  return creatingEach({ max_msgs: 1 }, { subjects: [c.prefix] }, { metadata: { a: "b" } })(c);
});
error(10065, "JSStreamSubjectOverlapErr", 400, "subjects overlap with an existing stream", async (c) => {
  await c.create();
  const two = c.another();
  const first = await each([[`${c.prefix}.a`], ["x.y", `${c.prefix}.*.c`]], (subjects) => creating({ subjects })(two));
  await two.create();
  return [...first, await two.api(`STREAM.UPDATE.${two.id}`, two.config({ subjects: [`${c.prefix}.>`] }))];
});
error(10074, "JSStreamReplicasNotSupportedErr", 500, "replicas > 1 not supported in non-clustered mode", async (c) => {
  const first = await creating({ num_replicas: 3 })(c);
  await c.create();
  return [first, await c.api(`STREAM.UPDATE.${c.id}`, c.config({ num_replicas: 2 }))];
});
error(10128, "JSStreamNameContainsPathSeparatorsErr", 400, "Stream name can not contain path separators", (c) =>
  each(["a/b", "a\\b", "/etc/passwd", "/"], (name) => c.api(`STREAM.CREATE.${name}`, { name })));
error(10133, "JSReplicasCountCannotBeNegative", 400, "replicas count cannot be negative", creating({ num_replicas: -1 }));
error(10155, "JSStreamTransformInvalidSource", 400, "stream transform source: invalid subject a..b", creating({ subject_transform: { src: "a..b", dest: "x" } }));
error(10156, "JSStreamTransformInvalidDestination", 400, /^stream transform: invalid mapping destination: /, creating({ subject_transform: { src: "a.*", dest: "x.{{wildcard(2)}}" } }));
error(10157, "JSPedanticErrF", 400, /^pedantic mode: ./, creatingEach(
  ...["max_msgs", "max_msgs_per_subject", "max_bytes", "max_msg_size", "max_consumers"].map((k) => ({ pedantic: true, [k]: -2 })),
  { pedantic: true, max_age: SECOND }, { pedantic: true, republish: { src: "", dest: "x.>" } },
));

// --- mirrors and sources: what is refused, whether or not the origin exists ------------------------------------

error(10021, "JSStreamExternalApiOverlapErrF", 400, "stream external api prefix $JS.API must not overlap with $JS.API", source({ external: { api: "$JS.API", deliver: "" } }));
error(10022, "JSStreamExternalDelPrefixOverlapsErrF", 400, /^stream external delivery prefix s\d+ overlaps with stream subject s\d+\.>$/, async (c) => {
  await c.create();
  return creating({ sources: [{ name: c.id }, { name: "X", external: { api: "$JS.x.API", deliver: c.prefix } }] })(c.another());
});
error(10024, "JSStreamInvalidExternalDeliverySubjErrF", 400, "stream external delivery prefix a.* must not contain wildcards", source({ external: { api: "$JS.x.API", deliver: "a.*" } }));
error(10030, "JSMirrorMaxMessageSizeTooBigErr", 400, "stream mirror must have max message size >= source", async (c) => {
  await c.create({ max_msg_size: 1000 });
  return mirror({ name: c.id }, { max_msg_size: 10 })(c.another());
});
error(10031, "JSMirrorWithSourcesErr", 400, "stream mirrors can not also contain other sources", mirror({}, { sources: [{ name: "X" }] }));
error(10034, "JSMirrorWithSubjectsErr", 400, "stream mirrors can not contain subjects", mirror({}, { subjects: ["mirrored"] }));
error(10046, "JSSourceMaxMessageSizeTooBigErr", 400, "stream source must have max message size >= target", async (c) => {
  await c.create({ max_msg_size: 1000 });
  return source({ name: c.id }, { max_msg_size: 10 })(c.another());
});
error(10140, "JSSourceDuplicateDetected", 400, "duplicate source configuration detected", creating({ sources: [{ name: "O" }, { name: "O" }] }));
error(10141, "JSSourceInvalidStreamName", 400, "sourced stream name is invalid", async (c) => each(["", "a.b", "a b", "*"], (name) => source({ name })(c)));
error(10142, "JSMirrorInvalidStreamName", 400, "mirrored stream name is invalid", async (c) => each(["", "a.b", "a b", "*"], (name) => mirror({ name })(c)));
error(10143, "JSMirrorWithFirstSeqErr", 400, "stream mirrors can not have first sequence configured", mirror({}, { first_seq: 5 }));
const twoFilters = { filter_subject: "a", subject_transforms: [{ src: "b", dest: "" }, { src: "c", dest: "" }] };
error(10144, "JSSourceMultipleFiltersNotAllowed", 400, /^source with multiple subject transforms cannot also have a single subject filter$/, source(twoFilters));
error(10150, "JSMirrorMultipleFiltersNotAllowed", 400, /^mirror with multiple subject transforms cannot also have a single subject filter$/, mirror(twoFilters));
const transform = (src, dest) => ({ subject_transforms: [{ src, dest }] });
error(10145, "JSSourceInvalidSubjectFilter", 400, "source transform source: invalid subject o..a", source(transform("o..a", "")));
error(10151, "JSMirrorInvalidSubjectFilter", 400, "mirror transform source: invalid subject o..a", mirror(transform("o..a", "")));
error(10146, "JSSourceInvalidTransformDestination", 400, /^source transform: ./, source(transform("a.*", "b.{{wildcard(2)}}")));
error(10154, "JSMirrorInvalidTransformDestination", 400, /^mirror transform: ./, mirror(transform("a.*", "b.{{wildcard(2)}}")));
const overlapping = { subject_transforms: [{ src: "a.*", dest: "" }, { src: "a.b", dest: "" }] };
error(10147, "JSSourceOverlappingSubjectFilters", 400, "source filters can not overlap", source(overlapping));
error(10152, "JSMirrorOverlappingSubjectFilters", 400, "mirror subject filters can not overlap", mirror(overlapping));
error(10173, "JSMirrorWithCountersErr", 400, "stream mirrors can not also calculate counters", mirror({}, { allow_msg_counter: true }));
error(10186, "JSMirrorWithMsgSchedulesErr", 400, "stream mirrors can not also schedule messages", mirror({}, { allow_msg_schedules: true }));
error(10187, "JSSourceWithMsgSchedulesErr", 400, "stream source can not also schedule messages", source({}, { allow_msg_schedules: true }));
error(10198, "JSMirrorWithAtomicPublishErr", 400, "stream mirrors can not also use atomic publishing", mirror({}, { allow_atomic: true }));
error(10209, "JSMirrorWithBatchPublishErr", 400, "stream mirrors can not also use batch publishing", mirror({}, { allow_batched: true }));
error(10213, "JSMirrorDurableConsumerCfgInvalid", 400, "stream mirror consumer config is invalid", mirror({ consumer: { name: "C", deliver_subject: "d" }, opt_start_seq: 5 }));
error(10215, "JSSourceDurableConsumerCfgInvalid", 400, "stream source consumer config is invalid", source({ consumer: { name: "C", deliver_subject: "d" }, filter_subject: "x" }));
error(10216, "JSSourceDurableConsumerDuplicateDetected", 400, "duplicate stream source consumer detected", creating({
  sources: ["a", "b"].map((src) => ({ name: "O", subject_transforms: [{ src, dest: "" }], consumer: { name: "C", deliver_subject: "d" } })),
}));

// --- publishing ------------------------------------------------------------------------------------------------------

error(10054, "JSStreamMessageExceedsMaximumErr", 400, "message size exceeds maximum allowed", publishing({ max_msg_size: 10 }, undefined, "x".repeat(11)));
error(10060, "JSStreamNotMatchErr", 400, "expected stream does not match", publishing({}, ["Nats-Expected-Stream: OTHER"]));
error(10070, "JSStreamWrongLastMsgIDErrF", 400, "wrong last msg ID: ", publishing({}, ["Nats-Expected-Last-Msg-Id: x"]));
error(10071, "JSStreamWrongLastSequenceErrF", 400, "wrong last sequence: 0", async (c) => {
  await c.create();
  return each(["Nats-Expected-Last-Sequence: 7", "Nats-Expected-Last-Sequence: x", "Nats-Expected-Last-Subject-Sequence: 7"], (h) => c.ack("a", "", [h]));
});
error(10077, "JSStreamStoreFailedF", 503, /^maximum (messages|bytes|messages per subject) exceeded$/, async (c) =>
  each([{ max_msgs: 1 }, { max_bytes: 60 }, { max_msgs_per_subject: 1, discard_new_per_subject: true }], async (limit) => {
    const one = c.another();
    await one.create({ discard: "new", ...limit });
    await one.pub("a", "x");
    return one.ack("a", "x");
  }));
error(10097, "JSStreamHeaderExceedsMaximumErr", 400, "header size exceeds maximum allowed of 64k", publishing({}, [`H: ${"x".repeat(65536)}`]));
error(10109, "JSStreamSealedErr", 400, "invalid operation on sealed stream", async (c) => {
  await c.create();
  await c.pub("a", "x");
  await c.update({ sealed: true });
  return [await c.ack("a", "x"), await c.purge(), await c.remove(1)];
});
error(10111, "JSStreamRollupFailedF", 500, /^rollup (not permitted|value invalid: "x")$/, async (c) => [
  await publishing({}, ["Nats-Rollup: sub"])(c),
  await publishing({ allow_rollup_hdrs: true }, ["Nats-Rollup: x"])(c.another()),
]);
error(10165, "JSMessageTTLInvalidErr", 400, "invalid per-message TTL", async (c) => {
  await c.create({ allow_msg_ttl: true });
  return each(["-1", "x", "1d", "-1s", "1 s"], (v) => c.ack("a", "", [`Nats-TTL: ${v}`]));
});
error(10166, "JSMessageTTLDisabledErr", 400, "per-message TTL is disabled", publishing({}, ["Nats-TTL: 5"]));
error(10193, "JSStreamExpectedLastSeqPerSubjectInvalid", 400, "missing sequence for expected last sequence per subject", publishing({}, ["Nats-Expected-Last-Subject-Sequence-Subject: a"]));
error(10227, "JSMessageSourceHdrNotAllowedErr", 400, "message stream source header is not allowed", publishing({}, ["Nats-Stream-Source: O 1 > > o.a"]));

const COUNTER = { allow_msg_counter: true };
error(10168, "JSMessageIncrDisabledErr", 400, "message counters is disabled", publishing({}, ["Nats-Incr: 1"]));
error(10169, "JSMessageIncrMissingErr", 400, "message counter increment is missing", publishing(COUNTER));
error(10170, "JSMessageIncrPayloadErr", 400, "message counter has payload", publishing(COUNTER, ["Nats-Incr: 1"], "x"));
error(10171, "JSMessageIncrInvalidErr", 400, "message counter increment is invalid", async (c) => {
  await c.create(COUNTER);
  return each([["Nats-Incr: x"], ["Nats-Incr: 1.5"], ["Nats-Incr: 1", "Nats-Expected-Last-Sequence: 0"]], (h) => c.ack("a", "", h));
});
error(10172, "JSMessageCounterBrokenErr", 400, "message counter is broken", async (c) => {
  const broken = { subject: c.subject("a"), seq: 1, time: Date.now(), hdr: block("Nats-Incr: 1"), data: "no number" };
  const r = await restore(c, archive(c.config(COUNTER), [broken]));
  assert.equal(r.error, undefined, JSON.stringify(r.error));
  return c.ack("a", "", ["Nats-Incr: 1"]);
});

const SCHEDULES = { allow_msg_schedules: true };
const AT = "Nats-Schedule: @at 2099-01-01T00:00:00Z";
const scheduling = (over, ...lines) => (c) => publishing(over, [...lines.map((l) => l.replaceAll("%", `${c.prefix}.`))])(c);
error(10188, "JSMessageSchedulesDisabledErr", 400, "message schedules is disabled", scheduling({}, AT, "Nats-Schedule-Target: %t"));
error(10189, "JSMessageSchedulesPatternInvalidErr", 400, "message schedules pattern is invalid", scheduling(SCHEDULES, "Nats-Schedule: x", "Nats-Schedule-Target: %t"));
error(10190, "JSMessageSchedulesTargetInvalidErr", 400, "message schedules target is invalid", scheduling(SCHEDULES, AT, "Nats-Schedule-Target: %*"));
error(10191, "JSMessageSchedulesTTLInvalidErr", 400, "message schedules invalid per-message TTL", scheduling({ ...SCHEDULES, allow_msg_ttl: true }, AT, "Nats-Schedule-Target: %t", "Nats-Schedule-TTL: x"));
error(10192, "JSMessageSchedulesRollupInvalidErr", 400, "message schedules invalid rollup", scheduling(SCHEDULES, AT, "Nats-Schedule-Target: %t", "Nats-Schedule-Rollup: all"));
error(10203, "JSMessageSchedulesSourceInvalidErr", 400, "message schedules source is invalid", scheduling(SCHEDULES, AT, "Nats-Schedule-Target: %t", "Nats-Schedule-Source: %*"));
error(10212, "JSMessageSchedulesSchedulerInvalidErr", 400, "message schedules invalid scheduler", scheduling(SCHEDULES, "Nats-Schedule-Next: purge"));
error(10223, "JSMessageSchedulesTimeZoneInvalidErr", 400, "message schedules time zone is invalid", scheduling(SCHEDULES, "Nats-Schedule: 0 0 0 1 1 *", "Nats-Schedule-Target: %t", "Nats-Schedule-Time-Zone: Nowhere/Land"));

// --- batches -----------------------------------------------------------------------------------------------------------

const ATOMIC = { allow_atomic: true };
const part = (id, seq, ...more) => [`Nats-Batch-Id: ${id}`, `Nats-Batch-Sequence: ${seq}`, ...more];
const COMMIT = "Nats-Batch-Commit: 1";
const batch = (...messages) => async (c) => {
  await c.create(ATOMIC);
  for (const m of messages.slice(0, -1)) assert.equal(await c.send("a", "", m), "");
  return c.ack("a", "", messages.at(-1));
};
error(10164, "JSStreamWrongLastSequenceConstantErr", 400, "wrong last sequence", batch(part("b", 1), part("b", 2, "Nats-Expected-Last-Subject-Sequence: 0", COMMIT)));
error(10174, "JSAtomicPublishDisabledErr", 400, "atomic publish is disabled", publishing({}, part("b", 1)));
error(10175, "JSAtomicPublishMissingSeqErr", 400, "atomic publish sequence is missing", batch(["Nats-Batch-Id: b"]));
error(10176, "JSAtomicPublishIncompleteBatchErr", 400, "atomic publish batch is incomplete", batch(part("b", 1), part("b", 3)));
error(10177, "JSAtomicPublishUnsupportedHeaderBatchErr", 400, "atomic publish unsupported header used: Nats-Expected-Last-Msg-Id", batch(part("b", 1, "Nats-Expected-Last-Msg-Id: x", COMMIT)));
error(10179, "JSAtomicPublishInvalidBatchIDErr", 400, "atomic publish batch ID is invalid", batch(part("b".repeat(65), 1)));
error(10199, "JSAtomicPublishTooLargeBatchErrF", 400, "atomic publish batch is too large: 3", batch(part("b", 1), part("b", 2), part("b", 3), part("b", 4, COMMIT)));
error(10200, "JSAtomicPublishInvalidBatchCommitErr", 400, "atomic publish batch commit is invalid", batch(part("b", 1, "Nats-Batch-Commit: yes")));
error(10201, "JSAtomicPublishContainsDuplicateMessageErr", 400, "atomic publish batch contains duplicate message id", batch(part("b", 1, "Nats-Msg-Id: i"), part("b", 2, "Nats-Msg-Id: i", COMMIT)));
error(10210, "JSAtomicPublishTooManyInflight", 429, "atomic publish too many inflight", batch(part("a", 1), part("b", 1), part("c", 1)));

// The last answer to fast batches [id, seq, op].
const fast = (over, ...starts) => async (c) => {
  await c.create(over);
  const inbox = `fast.${c.id}`;
  const got = collect(c.nc, `${inbox}.>`);
  for (const [i, [id, seq, op]] of starts.entries()) {
    c.nc.publish(c.subject("a"), "", { reply: `${inbox}.${id}.10.ok.${seq}.${op}.$FI` });
    await until(`answer ${i + 1}`, () => got.filter((m) => m.subject.includes(`.${id}.`)).length > 0);
  }
  return got.at(-1).json();
};
const FAST = { allow_batched: true };
error(10205, "JSBatchPublishDisabledErr", 400, "batch publish is disabled", fast({}, ["id", 1, 0]));
error(10206, "JSBatchPublishInvalidPatternErr", 400, "batch publish pattern is invalid", fast(FAST, ["id", 2, 0]));
error(10207, "JSBatchPublishInvalidBatchIDErr", 400, "batch publish ID is invalid", fast(FAST, ["i".repeat(65), 1, 0]));
error(10208, "JSBatchPublishUnknownBatchIDErr", 400, "batch publish ID unknown", fast(FAST, ["id", 2, 1]));
error(10211, "JSBatchPublishTooManyInflight", 429, "batch publish too many inflight", fast(FAST, ["f", 1, 0], ["g", 1, 0], ["h", 1, 0]));

// --- accounts and the server's own limits ---------------------------------------------------------------------------

const user = (name, more) => `${name}: { users: [{ user: ${name}, password: ${name} }], ${more} }`;
const ACCOUNTS = `accounts {
  ${user("a", "jetstream: { max_mem: 1000, max_file: 100000, max_streams: 2, max_consumers: 3 }")}
  ${user("b", "")}
  ${user("e", "jetstream: { max_mem: 100000, max_file: 100000, max_bytes_required: true, disk_max_stream_bytes: 2000, mem_max_stream_bytes: 2000 }")}
}\n`;

for (const [code, constant, status] of [
  [10002, "JSAccountResourcesExceededErr", 400], [10023, "JSInsufficientResourcesErr", 503], [10026, "JSMaximumConsumersLimitErr", 400],
  [10027, "JSMaximumStreamsLimitErr", 400], [10028, "JSMemoryResourcesExceededErr", 500], [10039, "JSNotEnabledForAccountErr", 503],
  [10047, "JSStorageResourcesExceededErr", 500], [10113, "JSStreamMaxBytesRequired", 400], [10122, "JSStreamMaxStreamBytesExceeded", 400],
])
  covered.set(code, [constant, status]);

scenario("limits of accounts: 10002, 10026, 10027, 10028, 10039, 10047, 10113, 10122", async (t) => {
  const s = await t.server({ config: ACCOUNTS + jetstreamBlock() });
  const as = async (name) => (await onServer(t, s, { user: name, pass: name })).stream;
  const [a, e] = [(await as("a"))("S"), await as("e")];
  const memory = { storage: "memory" };
  await a.refusedConfig({ max_bytes: 100001 }, [500, 10047, "insufficient storage resources available"]);
  await a.refusedConfig({ max_bytes: 1001, ...memory }, [500, 10028, "insufficient memory resources available"]);
  await a.refusedConfig({ max_consumers: 4 }, [400, 10026, "maximum consumers limit reached"]);
  await a.create(memory);
  const exceeded = [400, 10002, "resource limits exceeded for account"];
  await until("its memory to be full", async () => (await a.ack("x", "x".repeat(300))).error);
  await a.refused("x", exceeded, "x".repeat(300));
  await a.update({ ...memory, description: "still here" });
  const two = a.another();
  await two.create();
  await until("the account to be full", async () => (await two.ack("x", "x".repeat(20000))).error);
  await two.refused("x", exceeded, "x".repeat(20000));
  await a.another().refusedConfig({}, [400, 10027, "maximum number of streams reached"]);
  const b = await t.connect(s, { user: "b", pass: "b" });
  const none = (await b.request("$JS.API.STREAM.CREATE.S", '{"name":"S"}', { timeout: LIMIT_MS })).json();
  assert.deepEqual(none.error, { code: 503, err_code: 10039, description: "JetStream not enabled for account" });
  for (const over of [{}, memory]) {
    await e("S").refusedConfig(over, [400, 10113, "account requires a stream config to have max bytes set"]);
    await e("S").refusedConfig({ ...over, max_bytes: 2001 }, [400, 10122, "stream max bytes exceeds account limit max stream bytes"]);
  }
  await e("S").create({ max_bytes: 2000 });
});

scenario("limits of the server: 10023, 10028, 10047", async (t) => {
  const { stream } = await ownServer(t, { block: "max_file_store: 100000, max_memory_store: 100000" });
  const c = stream("FULL");
  await c.refusedConfig({ max_bytes: 100001 }, [500, 10047, "insufficient storage resources available"]);
  await c.refusedConfig({ max_bytes: 100001, storage: "memory" }, [500, 10028, "insufficient memory resources available"]);
  for (const storage of ["file", "memory"]) {
    const one = c.another();
    await one.create({ storage });
    await until("the server to be full", async () => (await one.ack("a", "x".repeat(20000))).error);
    await one.refused("a", [503, 10023, "insufficient resources"], "x".repeat(20000));
    await one.purge();
    await one.pub("a", "room again");
  }
});

// --- the whole list --------------------------------------------------------------------------------------------------------

// Codes that no request about streams to a single server brings about, and why.
const OTHERWISE = {
  "a cluster": [10004, 10005, 10006, 10007, 10008, 10009, 10011, 10036, 10040, 10041, 10044, 10048, 10061, 10075, 10118, 10123, 10124, 10129, 10158, 10163, 10202, 10224, 10226],
  "stream templates, which are gone": [10066, 10067, 10068, 10073],
  "no longer used": [10032, 10033, 10063, 10072, 10117, 10180],
  "a failing disk": [10042, 10050, 10051, 10053, 10064],
  "a server that shuts down or lost an account": [10035, 10076, 10096],
  "accounts by JWT, with tiers": [10120],
  "a stream of a later version": [10194],
  "a consumer that an update would violate": [10069],
  "a hundred thousand messages waiting": [10167],
  "replication under way": [10029, 10045, 10214, 10217],
};

scenario("no code is left out", async () => {
  const table = errorTable();
  if (!table) return console.log(`# ${withoutSchemas}`);
  const elsewhere = new Set(Object.values(OTHERWISE).flat());
  const streams = table.filter((e) => !/^JSConsumer/.test(e.constant));
  for (const e of streams) {
    const mine = covered.get(e.error_code);
    if (mine) assert.deepEqual(mine, [e.constant, e.code], String(e.error_code));
    assert.ok(Boolean(mine) !== elsewhere.has(e.error_code), `${e.error_code} ${e.constant}: ${mine ? "both here and elsewhere" : "nowhere"}`);
  }
  assert.equal(covered.size + elsewhere.size, streams.length);
  console.log(`# ${covered.size} codes: ${[...covered].sort().map(([n, [name]]) => `${n} ${name}`).join(", ")}`);
});
