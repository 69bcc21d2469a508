// consumers.mjs: consumers of every kind, their requests, pulls and acks.
import { HOUR, SECOND } from "./streams.mjs";

// Times that matter lie an hour away, unless a history waits for them.
const FIELDS = {
  deliver_policy: [30, ["all", "last", "new", "by_start_sequence", "by_start_time", "last_per_subject", "undefined"], ["", "foo", 3]],
  ack_policy: [85, ["explicit", "explicit", "explicit", "all", "none"], ["", "Explicit", "flow_control"]],
  ack_wait: [15, [HOUR, 2 * HOUR], [-1, "1s"]],
  max_deliver: [20, [-1, 0, 1, 2, 3], [-4]],
  backoff: [4, [[HOUR], [HOUR, 2 * HOUR]], [[-1], [HOUR, HOUR, HOUR, HOUR, HOUR]]],
  replay_policy: [8, ["instant"], ["", "Original", "foo"]],
  sample_freq: [4, ["100", "100%", "0"], ["abc", "-1"]],
  max_waiting: [10, [0, 1, 2, 512], [-1]],
  max_ack_pending: [20, [0, 1, 2, 5, -1], [-2]],
  headers_only: [8, [true, false], []],
  max_batch: [6, [0, 2, 5], [-1]],
  max_expires: [4, [0, HOUR, SECOND], [-1, 1]],
  max_bytes: [4, [0, 500], [-1]],
  inactive_threshold: [100, [HOUR], [HOUR]],
  num_replicas: [4, [0, 1], [-1, 2, 3]],
  mem_storage: [10, [true, false], []],
  metadata: [5, [{}, { a: "b" }, { "_nats.ver": "1" }], [{ a: 1 }]],
  description: [4, ["d", ""], ["x".repeat(4097)]],
  pause_until: [3, ["2099-01-01T00:00:00Z", "2001-01-01T00:00:00Z"], ["soon"]],
  priority_policy: [2, ["none"], ["overflow", "foo"]],
  rate_limit_bps: [1.5, [0], [1000000000]],
  idle_heartbeat: [1.5, [0], [HOUR, 1]],
  flow_control: [1.5, [false], [true]],
  bogus: [0.4, [1], [1]],
};

function filters(r, s) {
  if (r.chance(45)) return {};
  if (r.chance(70)) return { filter_subject: r.pick([s.leaf(r), s.leaf(r), `${s.own}.>`, `${s.own}.*`, `${s.own}.a.*`, "zz.>", ""]) };
  return { filter_subjects: r.pick([[s.leaf(r), s.leaf(r)], [`${s.own}.a`, `${s.own}.b`], [`${s.own}.a.*`, `${s.own}.b`], [`${s.own}.>`], [`${s.own}.>`, `${s.own}.a`], [""], [], ["a..b"]]) };
}

function starts(r, s, c) {
  if (c.deliver_policy === "by_start_sequence" && r.chance(90)) c.opt_start_seq = r.between(1, s.seq + 2);
  if (c.deliver_policy === "by_start_time" && r.chance(90)) c.opt_start_time = r.pick(["2020-01-01T00:00:00Z", "2098-01-01T00:00:00Z"]);
  if (c.deliver_policy === "last_per_subject" && r.chance(70)) c.filter_subject = `${s.own}.>`;
  if (c.deliver_policy === "last_per_subject") delete c.filter_subjects;
  if (r.chance(1)) c.opt_start_seq = 3;
}

export function config(r, s, push) {
  const bad = r.chance(10);
  const c = filters(r, s);
  for (const [field, [p, good, wrong]] of Object.entries(FIELDS)) {
    if (!r.chance(p) || (push && /^max_(waiting|batch|expires|bytes)$/.test(field) && !bad)) continue;
    c[field] = bad && wrong.length && r.chance(15) ? r.pick(wrong) : r.pick(good);
  }
  if (s.config.retention === "workqueue" && r.chance(85)) {
    c.ack_policy = "explicit";
    delete c.deliver_policy;
  }
  starts(r, s, c);
  if (push) c.deliver_subject = push;
  if (push && c.ack_policy === "flow_control") c.ack_policy = "explicit"; // it beats once a second
  if (push && r.chance(15)) c.deliver_group = "q";
  if (push && r.chance(15)) Object.assign(c, { flow_control: true, idle_heartbeat: HOUR });
  return c;
}

// A consumer under a name, durable, or of a name that the server finds.
export function create(r, w, s) {
  const push = r.chance(25) ? (r.chance(96) ? `d.${s.name}.${w.names}` : r.pick(["d.*", `${s.own}.a`, "d..x", ""])) : undefined;
  const c = config(r, s, push);
  const kind = r.weighted({ name: 6, durable: 6, legacy: 1, made: 2, filter: 1 });
  const id = r.chance(25) && s.consumers.length ? r.pick(s.consumers).id : `C${++w.names}`;
  const body = { stream_name: r.chance(98) ? s.name : "OTHER", config: c };
  if (r.chance(15)) body.action = r.pick(["create", "create", "update", "", "zzz"]);
  if (r.chance(5)) body.pedantic = true;
  let subj = `CONSUMER.CREATE.${s.name}.${id}`;
  const entry = { id, push, group: c.deliver_group, none: (c.ack_policy ?? "none") === "none", config: c };
  const out = { op: "api", subj, body };
  if (kind === "durable") c.durable_name = r.chance(98) ? id : "Z";
  else if (kind === "name") c.name = id;
  else if (kind === "legacy") {
    out.subj = `CONSUMER.DURABLE.CREATE.${s.name}.${id}`;
    c.durable_name = id;
  } else if (kind === "filter" && c.filter_subject) out.subj += `.${c.filter_subject}`;
  else if (kind === "made") {
    out.subj = `CONSUMER.CREATE.${s.name}`;
    out.as = `E${++w.names}`;
    entry.id = `%${out.as}%`;
  }
  s.consumers.push(entry);
  if (s.consumers.length > 6) s.consumers.shift();
  return out;
}

export function update(r, w, s, k) {
  if (k.id.startsWith("%")) return info(r, s, k);
  const c = { ...k.config };
  const field = r.pick(Object.keys(FIELDS));
  if (r.chance(20)) delete c[field];
  else c[field] = r.pick(FIELDS[field][r.chance(90) || !FIELDS[field][2].length ? 1 : 2]);
  if (r.chance(25)) {
    const next = filters(r, s);
    const empty = !next.filter_subject && !next.filter_subjects?.length;
    if (!empty) Object.assign(c, { filter_subject: undefined, filter_subjects: undefined }, next); // to none: see scripts/
  }
  c.inactive_threshold = HOUR;
  k.config = c;
  return { op: "api", subj: `CONSUMER.CREATE.${s.name}.${k.id}`, body: { stream_name: s.name, config: c, ...(r.chance(50) ? { action: "update" } : {}) } };
}

export function info(r, s, k) {
  return { op: "api", subj: `CONSUMER.INFO.${s.name}.${r.chance(96) ? k.id : "NONE"}`, body: r.pick([undefined, undefined, undefined, {}, "x", { a: 1 }]) };
}

export function listing(r, s) {
  return { op: "api", subj: `CONSUMER.${r.pick(["NAMES", "LIST"])}.${s.name}`, body: r.pick([undefined, undefined, {}, { offset: 1 }, { offset: 50 }, { offset: -1 }, "{", { foo: 1 }, "x"]) };
}

export function manage(r, s, k) {
  const to = (verb, body) => ({ op: "api", subj: `CONSUMER.${verb}.${s.name}.${k.id}`, body });
  switch (r.weighted({ pause: 4, resume: 3, reset: 5, delete: 3, unpin: 1, step: 1 })) {
    case "pause":
      return to("PAUSE", r.pick([{ pause_until: "2099-01-01T00:00:00Z" }, { pause_until: "2099-01-01T00:00:00Z" }, { pause_until: "soon" }, { x: 1 }, "{"]));
    case "resume":
      return to("PAUSE", r.pick([undefined, {}, { pause_until: "1971-01-01T00:00:00Z" }, { pause_until: "0001-01-01T00:00:00Z" }]));
    case "reset":
      return to("RESET", r.pick([undefined, {}, { seq: r.between(1, s.seq + 2) }, { seq: r.between(1, s.seq + 2) }, { seq: 0 }, { seq: -1 }, "{", { foo: 1 }]));
    case "unpin":
      return to("UNPIN", r.pick([undefined, {}, { group: "g" }, "{"]));
    case "step":
      return to("LEADER.STEPDOWN");
    default:
      s.consumers = s.consumers.filter((x) => x !== k);
      return to("DELETE", r.pick([undefined, undefined, undefined, {}, { a: 1 }]));
  }
}

// Pulls that end by themselves, or (open) wait for what comes.
export function pull(r, s, k) {
  const o = { op: "pull", s: s.name, c: k.id };
  switch (r.weighted({ noWait: 12, some: 3, open: 3, expires: 0.3, plain: 2, number: 1, odd: 2, bytes: 2 })) {
    case "noWait":
      return { ...o, body: { batch: r.pick([1, 2, 3, 5, 10]), no_wait: true } };
    case "bytes":
      return { ...o, body: { batch: r.pick([2, 5]), max_bytes: r.pick([1, 120, 200, 400]), no_wait: true } };
    case "expires":
      return { ...o, body: { batch: r.pick([1, 3]), expires: 0.1 * SECOND, ...(r.chance(30) ? { no_wait: true } : {}) } };
    case "some":
      return { ...o, open: true, body: { batch: r.pick([1, 2, 5]), expires: HOUR } };
    case "open":
      return { ...o, open: true, body: { batch: r.pick([1, 2, 5, 100]), expires: HOUR, ...r.pick([{}, {}, { max_bytes: 500 }, { no_wait: true }]) } };
    case "plain":
      return { ...o, open: true };
    case "number":
      return { ...o, open: true, body: r.pick(["1", "3"]) };
    default:
      return { ...o, open: r.chance(50) || undefined, body: r.pick(["x", "{", "-1", { batch: -1, no_wait: true }, { batch: 0, no_wait: true }, { batch: 1, no_wait: true, foo: 1 }, { batch: "x" }, { batch: 1, expires: -1, no_wait: true }, { batch: 1, idle_heartbeat: HOUR, no_wait: true }, { batch: 1, group: "g", no_wait: true }, { batch: 1, min_pending: 1, no_wait: true }, { batch: 1, id: "zz", no_wait: true }, { batch: 1, priority: 3, no_wait: true }, { no_wait: true }]) };
  }
}

const ACKS = ["+ACK", "+ACK", "+ACK", "+ACK", "", "+OK", "-NAK", "-NAK", '-NAK {"delay":3600000000000}', "-NAK 1h", "-NAK x", "+WPI", "+TERM", "+TERM no good", "+ACKX", "ack", "+NXT", "+NXT 2", '+NXT {"batch":1,"no_wait":true}', "+TERM  x ", "-nak"];

export function ack(r, s, k) {
  const o = { op: "ack", s: s.name, c: k.id, i: r.below(40), data: r.pick(ACKS) };
  if (r.chance(8)) o.confirm = false;
  if (r.chance(1)) o.tail = r.pick(["x", "1.2"]);
  return o;
}

// Acks nobody waited for.
export function oddAck(r, s, k) {
  const n = () => r.pick([0, 1, 999999, "x", -1]);
  return { op: "raw", subj: `$JS.ACK.${s.name}.${k.id}.${n()}.${n()}.${n()}.1700000000000000000.${n()}`, data: r.pick(ACKS) };
}

export function subscribe(r, w, s, k) {
  if (!k.push) return pull(r, s, k);
  const id = `${k.push}`;
  if (r.chance(70)) return { op: "sub", id, subj: k.push, ...(k.group && r.chance(80) ? { queue: k.group } : {}) };
  return { op: "unsub", id };
}
