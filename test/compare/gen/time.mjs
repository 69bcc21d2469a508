// time.mjs: short histories in which time passes: what is due lies a second away, what is not an hour,
// and nothing is asked in between.
import { HOUR, SECOND } from "./streams.mjs";

const create = (c) => ({ op: "api", subj: `STREAM.CREATE.${c.name}`, body: c });
const pub = (subj, data, ...hdr) => ({ op: "pub", subj, data, ...(hdr.length ? { hdr } : {}) });
const consumer = (c) => ({ op: "api", subj: `CONSUMER.CREATE.T.${c.name ?? c.durable_name}`, body: { stream_name: "T", config: { inactive_threshold: HOUR, ...c } } });
const wait = (ms) => ({ op: "wait", ms });
const CHECK = { op: "check" };

const base = (r, more) => ({ name: "T", subjects: ["t.>"], allow_direct: true, ...(r.chance(30) ? { storage: "memory" } : {}), ...more });

const EPISODES = {
  // A TTL ends; with markers one takes its place (max_msgs_per_subject 1: no clamp).
  ttl: (r) => [
    create(base(r, { allow_msg_ttl: true, max_msgs_per_subject: 1, ...r.pick([{}, { subject_delete_marker_ttl: HOUR }]) })),
    pub("t.keep", "k", "Nats-TTL: 1h"),
    pub("t.a", "1", "Nats-TTL: 1s", ...(r.chance(30) ? ["KV-Operation: PURGE"] : []), ...(r.chance(30) ? ["Nats-Msg-Id: i"] : [])),
    ...(r.chance(30) ? [pub("t.stays", "s")] : []),
    wait(2600),
    CHECK,
    { op: "get", subj: "T.t.a" },
    { op: "get", subj: "T", body: { multi_last: ["t.>"] } },
    pub("t.a", "2", `Nats-Expected-Last-Subject-Sequence: ${r.pick([0, 0, 2, 3])}`, ...(r.chance(30) ? ["Nats-Msg-Id: i"] : [])),
    CHECK,
  ],
  // The same for a key of a bucket.
  key: (r) => [
    create(base(r, { subjects: ["$KV.t.>"], allow_msg_ttl: true, allow_rollup_hdrs: true, max_msgs_per_subject: 1, subject_delete_marker_ttl: HOUR })),
    pub("$KV.t.keep", "k"),
    pub("$KV.t.a", "1", "Nats-TTL: 1s", ...(r.chance(30) ? ["KV-Operation: PURGE"] : [])),
    wait(2600),
    { op: "get", subj: "T.$KV.t.a" },
    pub("$KV.t.a", "2", `Nats-Expected-Last-Subject-Sequence: ${r.pick([0, 2, 3])}`),
    CHECK,
  ],
  // The newest of a subject ends, an older one stays.
  older: (r) => [create(base(r, { allow_msg_ttl: true })), pub("t.a", "old"), pub("t.a", "new", "Nats-TTL: 1"), wait(2600), { op: "get", subj: "T.t.a" }, CHECK],
  // Marker and value both end.
  both: (r) => [create(base(r, { subject_delete_marker_ttl: SECOND })), pub("t.a", "1", "Nats-TTL: 1s"), wait(4200), CHECK, pub("t.a", "2", "Nats-Expected-Last-Subject-Sequence: 0"), CHECK],
  age: (r) => [create(base(r, { max_age: SECOND, ...(r.chance(30) ? { duplicate_window: SECOND / 2 } : {}) })), pub("t.a", "1"), pub("t.b", "2"), pub("t.a", "3"), wait(2600), CHECK, pub("t.c", "4"), { op: "api", subj: "STREAM.INFO.T" }],
  never: (r) => [create(base(r, { max_age: SECOND, allow_msg_ttl: true })), pub("t.a", "1", "Nats-TTL: never"), pub("t.b", "2"), wait(2600), CHECK],
  window: (r) => [create(base(r, { duplicate_window: SECOND / 2 })), pub("t.a", "1", "Nats-Msg-Id: i"), pub("t.a", "1", "Nats-Msg-Id: i"), wait(1500), pub("t.a", "2", "Nats-Msg-Id: i"), CHECK],
  // TTLs of stored messages begin to count.
  enable: (r) => [create(base(r, {})), pub("t.a", "1"), { op: "api", subj: "STREAM.UPDATE.T", body: base(r, { storage: undefined, max_age: SECOND }) }, wait(2600), CHECK],
  redeliver: (r) => [create(base(r, {})), consumer({ name: "C", ack_policy: "explicit", ack_wait: SECOND, max_deliver: r.pick([-1, 1, 2]) }), pub("t.a", "1"), pub("t.b", "2"), { op: "pull", s: "T", c: "C", body: { batch: 2, no_wait: true } }, ...(r.chance(50) ? [{ op: "ack", s: "T", c: "C", i: 0, data: r.pick(["+ACK", "+TERM"]) }] : []), wait(1900), { op: "pull", s: "T", c: "C", body: { batch: 2, no_wait: true } }, CHECK],
  nak: (r) => [create(base(r, {})), consumer({ name: "C", ack_policy: "explicit", ack_wait: HOUR }), pub("t.a", "1"), { op: "pull", s: "T", c: "C", body: { batch: 1 } }, { op: "ack", s: "T", c: "C", i: 0, data: r.pick(["-NAK 1s", '-NAK {"delay":1000000000}']) }, { op: "pull", s: "T", c: "C", body: { batch: 1, no_wait: true } }, wait(1900), { op: "pull", s: "T", c: "C", body: { batch: 1, no_wait: true } }, CHECK],
  expires: (r) => [create(base(r, {})), consumer({ name: "C", ack_policy: "explicit" }), pub("t.a", "1"), { op: "pull", s: "T", c: "C", open: true, body: { batch: 3, expires: SECOND, ...r.pick([{}, { max_bytes: 1000 }]) } }, wait(1500), CHECK, pub("t.b", "2"), CHECK],
  inactive: (r) => [create(base(r, {})), consumer({ name: "C", ack_policy: r.pick(["none", "explicit"]), inactive_threshold: SECOND }), wait(3600), { op: "api", subj: "CONSUMER.NAMES.T" }, CHECK],
  // A message that ends while somebody works on it.
  pending: (r) => [create(base(r, { allow_msg_ttl: true })), consumer({ name: "C", ack_policy: "explicit", ack_wait: HOUR }), pub("t.a", "1", "Nats-TTL: 1s"), pub("t.b", "2"), { op: "pull", s: "T", c: "C", body: { batch: 2 } }, wait(2600), CHECK, { op: "ack", s: "T", c: "C", i: 0, data: "+ACK" }, CHECK],
};

export function episode(r) {
  return EPISODES[r.pick(Object.keys(EPISODES))](r);
}
