// groups.mjs: consumers with priority groups, and several clients who ask them: overflow, pinned_client, prioritized.
import { HOUR, SECOND } from "./streams.mjs";
import { ack, info } from "./consumers.mjs";

const POLICIES = ["overflow", "pinned_client", "prioritized"];

function stream(r, w) {
  const c = { name: "S1", subjects: ["s1.>"], ...r.pick([{}, {}, { storage: "memory" }, { retention: "workqueue" }, { retention: "interest" }, { max_msgs: 5 }]) };
  w.add("S1", c);
  return { op: "api", subj: "STREAM.CREATE.S1", body: c };
}

// Mostly fine; now and then what is refused.
function config(r, s, id) {
  const policy = r.pick(POLICIES);
  const c = { durable_name: id, ack_policy: "explicit", ack_wait: HOUR, priority_policy: policy, priority_groups: [r.pick(["g", "g", "h"])] };
  if (policy === "pinned_client") c.priority_timeout = HOUR;
  if (s.config.retention !== "workqueue" && r.chance(20)) c.ack_policy = r.pick(["none", "all"]);
  if (s.config.retention !== "workqueue" && r.chance(15)) c.filter_subject = s.leaf(r);
  if (r.chance(20)) c.max_ack_pending = r.pick([1, 2, 5]);
  if (r.chance(15)) c.max_waiting = r.pick([1, 2, 3]);
  if (r.chance(10)) c.max_deliver = r.pick([1, 2]);
  if (r.chance(6)) c.max_batch = 2;
  if (r.chance(6)) c.headers_only = true;
  if (r.chance(8)) Object.assign(c, r.pick([{ priority_groups: [] }, { priority_groups: ["g", "h"] }, { priority_groups: [""] }, { priority_groups: ["a b"] }, { priority_groups: ["x".repeat(17)] }, { priority_groups: undefined }, { priority_policy: "none" }, { priority_policy: "foo" }, { priority_policy: undefined }, { priority_timeout: SECOND }, { priority_timeout: -1 }, { priority_timeout: 0 }, { deliver_subject: "d.x" }, { priority_timeout: 2 * HOUR }]));
  return JSON.parse(JSON.stringify(c));
}

function create(r, w, s) {
  const id = r.chance(30) && s.consumers.length ? r.pick(s.consumers).id : `C${++w.names}`;
  const c = config(r, s, id);
  const old = s.consumers.find((k) => k.id === id);
  if (old) old.config = c;
  else s.consumers.push({ id, config: c });
  return { op: "api", subj: `CONSUMER.CREATE.S1.${id}`, body: { stream_name: "S1", config: c, ...(r.chance(8) ? { pedantic: true } : {}) } };
}

// One field of what it is.
function update(r, k) {
  const c = { ...k.config, ...r.pick([{ priority_policy: r.pick(POLICIES) }, { priority_groups: [r.pick(["g", "h"])] }, { priority_policy: "none", priority_groups: undefined, priority_timeout: undefined }, { priority_timeout: 2 * HOUR }, { priority_timeout: undefined }, { max_ack_pending: r.pick([1, 5]) }, { description: "d" }, { max_waiting: 2 }]) };
  k.config = JSON.parse(JSON.stringify(c));
  return { op: "api", subj: `CONSUMER.CREATE.S1.${k.id}`, body: { stream_name: "S1", config: k.config } };
}

function pull(r, k) {
  const c = k.config;
  const o = { op: "pull", s: "S1", c: k.id };
  const body = { batch: r.pick([1, 1, 2, 3, 5, 20]), group: c.priority_groups?.[0] };
  const policy = r.chance(94) ? c.priority_policy : r.pick(POLICIES);
  if (policy === "overflow" && r.chance(65)) Object.assign(body, r.pick([{ min_pending: r.pick([1, 2, 3, 5]) }, { min_pending: r.pick([1, 2, 3, 5]) }, { min_ack_pending: r.pick([1, 2, 3]) }, { min_pending: 3, min_ack_pending: 2 }, { min_pending: 0 }, { min_pending: -1 }]));
  if (policy === "pinned_client" && r.chance(60)) body.id = r.weighted({ now: 8, was: 1, wrong: 1, empty: 1 });
  if (body.id) body.id = { now: `%pin_S1_${k.id}_0%`, was: `%pin_S1_${k.id}_1%`, wrong: "xyz", empty: "" }[body.id];
  if (policy === "prioritized" && r.chance(75)) body.priority = r.pick([0, 1, 2, 2, 5, 9]);
  if (r.chance(6)) Object.assign(body, r.pick([{ priority: 10 }, { priority: -1 }, { group: undefined }, { group: "zz" }, { group: "" }, { priority: 3 }, { min_pending: 2 }, { id: "xyz" }]));
  if (r.chance(6)) body.max_bytes = r.pick([100, 300]);
  if (r.chance(30)) body.no_wait = true;
  else if (r.chance(4)) body.expires = 0.1 * SECOND;
  else Object.assign(o, { open: true }), (body.expires = HOUR);
  if (r.chance(3)) return { ...o, open: true, body: r.pick([undefined, "2"]) };
  if (r.chance(50)) o.by = r.pick([1, 2]);
  return { ...o, body: JSON.parse(JSON.stringify(body)) };
}

function unpin(r, k) {
  const g = k.config.priority_groups?.[0];
  return { op: "api", subj: `CONSUMER.UNPIN.S1.${k.id}`, body: r.pick([{ group: g }, { group: g }, { group: g }, { group: "zz" }, {}, undefined, "{", { group: "" }, { group: g, foo: 1 }]) };
}

const pub = (r, s) => {
  const o = { op: "pub", subj: s.leaf(r), data: r.pick(["x", "hello", "y".repeat(60)]) };
  s.published(o);
  return o;
};

export function step(r, w) {
  const s = w.streams.get("S1");
  if (!s) return stream(r, w);
  if (!s.consumers.length) return [create(r, w, s), ...(r.chance(50) ? [pub(r, s), pub(r, s), pub(r, s)] : [])];
  const k = r.pick(s.consumers.slice(-2));
  switch (r.weighted({ pull: 40, pub: 25, ack: 16, unpin: 3, create: 2, update: 2, leave: 3, hangup: 2, info: 3, check: 3, purge: 1, remove: 1, pause: 1, reset: 1, drop: 0.5 })) {
    case "pub":
      return Array.from({ length: r.pick([1, 1, 2, 4]) }, () => pub(r, s));
    case "ack":
      return Array.from({ length: r.between(1, 3) }, () => ack(r, s, k));
    case "unpin":
      return unpin(r, k);
    case "create":
      return create(r, w, s);
    case "update":
      return update(r, k);
    case "leave":
      return { op: "leave", i: r.below(10) };
    case "hangup":
      return { op: "hangup", by: r.pick([1, 2]) };
    case "info":
      return info(r, s, k);
    case "check":
      return { op: "check" };
    case "purge":
      return { op: "api", subj: "STREAM.PURGE.S1" };
    case "remove":
      return { op: "api", subj: "STREAM.MSG.DELETE.S1", body: { seq: r.between(1, s.seq + 1) } };
    case "pause":
      return { op: "api", subj: `CONSUMER.PAUSE.S1.${k.id}`, body: r.pick([{ pause_until: "2099-01-01T00:00:00Z" }, {}]) };
    case "reset":
      return { op: "api", subj: `CONSUMER.RESET.S1.${k.id}`, body: r.pick([{}, { seq: 1 }]) };
    case "drop":
      s.consumers = s.consumers.filter((x) => x !== k);
      return { op: "api", subj: `CONSUMER.DELETE.S1.${k.id}` };
    default:
      return pull(r, k);
  }
}

// Whom it is pinned to is forgotten after a while without a request.
export function timeout(r) {
  const s = { own: "s1", config: {}, leaf: () => "s1.a", published() {} };
  const k = { id: "C1", config: { durable_name: "C1", ack_policy: "explicit", ack_wait: HOUR, priority_policy: "pinned_client", priority_groups: ["g"], priority_timeout: SECOND } };
  const ask = (more, o) => ({ op: "pull", s: "S1", c: "C1", open: true, body: { batch: 5, group: "g", expires: HOUR, ...more }, ...o });
  return [
    { op: "api", subj: "STREAM.CREATE.S1", body: { name: "S1", subjects: ["s1.>"], ...r.pick([{}, { storage: "memory" }]) } },
    { op: "api", subj: "CONSUMER.CREATE.S1.C1", body: { stream_name: "S1", config: k.config } },
    ...(r.chance(50) ? [pub(r, s)] : []),
    ask({ batch: r.pick([1, 2, 5]) }),
    ...(r.chance(70) ? [ask({}, { by: 1 })] : []),
    pub(r, s),
    ...(r.chance(40) ? [ask({ id: "%pin_S1_C1_0%" })] : []),
    { op: "wait", ms: 1900 },
    { op: "check" },
    ...(r.chance(50) ? [ask({ id: "%pin_S1_C1_0%" })] : []),
    pub(r, s),
    ...(r.chance(50) ? [ask({})] : []),
    pub(r, s),
    { op: "check" },
  ];
}
