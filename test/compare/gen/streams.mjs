// streams.mjs: stream configurations, good ones and bad ones, and the requests of the stream API.
export const SECOND = 1e9;
export const HOUR = 3600 * SECOND;

export const LEAVES = ["a", "b", "c", "a.x", "a.y", "b.x.y"];

// field: [chance per hundred, values that are mostly fine, values that are mostly not]
const FIELDS = {
  retention: [25, ["limits", "interest", "workqueue"], ["foo", "Limits", 1, ""]],
  max_consumers: [10, [-1, 0, 1, 2, 3], [-5, "1"]],
  max_msgs: [25, [-1, 0, 3, 5, 10, 20], [-2, 1.5, "3"]],
  max_bytes: [15, [-1, 0, 200, 500, 1000], [-9, null]],
  max_age: [8, [0, HOUR], [-1, 5e7, 1]],
  max_msgs_per_subject: [35, [-1, 0, 1, 2, 3], [-3]],
  max_msg_size: [10, [-1, 0, 60, 100, 200], [-7, 2 ** 40]],
  discard: [25, ["old", "new", "New", "OLD"], ["both", "", 0]],
  storage: [30, ["memory", "file"], ["Memory", "disk"]],
  num_replicas: [5, [0, 1], [2, 3, 6, -1]],
  no_ack: [1, [true, false], ["yes"]],
  duplicate_window: [12, [0, 120 * SECOND, 60 * SECOND, HOUR], [-1, 1e7, 2 * HOUR]],
  compression: [8, ["none", "s2"], ["gzip", ""]],
  first_seq: [6, [0, 1, 10, 1000], [-1]],
  allow_direct: [75, [true], [1]],
  mirror_direct: [2, [false], [true]],
  discard_new_per_subject: [8, [true, false], []],
  sealed: [2, [false], [true]],
  deny_delete: [8, [true, false], []],
  deny_purge: [8, [true, false], []],
  allow_rollup_hdrs: [40, [true], []],
  allow_msg_ttl: [40, [true, false], ["x"]],
  subject_delete_marker_ttl: [15, [HOUR, 60 * SECOND, 0], [SECOND / 2, -1]],
  allow_msg_counter: [5, [true, false], []],
  allow_atomic: [20, [true], []],
  allow_msg_schedules: [8, [true, false], []],
  allow_batched: [15, [true], []],
  persist_mode: [4, ["default", "async", ""], ["sync"]],
  description: [5, ["some words", "<&>", ""], ["x".repeat(4097), 5]],
  metadata: [8, [{}, { a: "b" }, { z: "1", "_nats.ver": "9", k: "ü" }], [{ a: 1 }, "m"]],
  consumer_limits: [6, [{}, { max_ack_pending: 5 }, { inactive_threshold: HOUR }], [{ max_ack_pending: -2 }, { foo: 1 }]],
  placement: [2, [{}, { tags: ["t"] }, { cluster: "c" }], [{ preferred: "s" }]],
  bogus: [0.5, [1], [1]],
  pedantic: [4, [true, false], []],
};

function shaped(r, name, own, bad) {
  const p = own;
  switch (name) {
    case "subject_transform":
      return r.pick(bad ? [{ src: `${p}..a`, dest: "x" }, { src: `${p}.*`, dest: "x.{{wildcard(2)}}" }] : [{ src: `${p}.>`, dest: `${p}.>` }, { src: `${p}.a.*`, dest: `t${p}.{{wildcard(1)}}.z` }, { src: `${p}.b`, dest: `${p}.c` }]);
    default:
      return r.pick(bad ? [{ src: `${p}.>`, dest: `${p}.q` }, { src: "a..b", dest: "rp.x" }, { src: `${p}.*`, dest: "rp.{{wildcard(3)}}" }] : [{ src: `${p}.>`, dest: `rp.${p}.>` }, { src: "", dest: "rq.>" }, { src: `${p}.a`, dest: "rr", headers_only: true }]);
  }
}

// config(R, W, NAME): a configuration of stream NAME, whose subjects begin with its prefix.
export function config(r, world, name) {
  const own = name.startsWith("KV_") ? `$KV.${name.slice(3)}` : name.toLowerCase();
  const bad = r.chance(12);
  const c = { name };
  c.subjects = r.chance(80) || own[0] === "$" ? [`${own}.>`] : r.pick([[`${own}.a`, `${own}.b`, `${own}.a.*`], [`${own}.*`], [`${own}.*`, `${own}.*.*`], [own, `${own}.>`]]);
  for (const [field, [p, good, wrong]] of Object.entries(FIELDS)) {
    if (!r.chance(world.lean ? p / 3 : p)) continue;
    c[field] = bad && wrong.length && r.chance(15) ? r.pick(wrong) : good.length ? r.pick(good) : true;
  }
  if (r.chance(5)) c.subject_transform = shaped(r, "subject_transform", own, bad && r.chance(40));
  if (r.chance(6)) c.republish = shaped(r, "republish", own, bad && r.chance(40));
  if (bad && r.chance(15)) c.subjects = r.pick([[`${own}..a`], [">"], ["$JS.>"], [`${own}.a`, `${own}.a`], ["s1.a", `${own}.>`], [""], null, "x", [`${own}.*`, `${own}.>`], [], ["*"], ["$SYS.x"]]);
  if (c.subjects?.some?.((x) => /^(>|\$JS|\*)/.test(x))) delete c.no_ack; // it would store what the tester asks
  return c;
}

// The usual shape of what clients make for a bucket.
export function bucket(r, name) {
  const c = { name: `KV_${name}`, subjects: [`$KV.${name}.>`], max_msgs_per_subject: r.pick([1, 1, 2, 5]), discard: "new", allow_rollup_hdrs: true, allow_direct: true, deny_delete: true };
  if (r.chance(60)) c.allow_msg_ttl = true;
  if (r.chance(40)) Object.assign(c, { allow_msg_ttl: true, subject_delete_marker_ttl: r.pick([HOUR, 60 * SECOND]) });
  if (r.chance(15)) c.max_bytes = r.pick([400, 2000]);
  if (r.chance(15)) c.max_msg_size = 100;
  if (r.chance(10)) delete c.deny_delete;
  if (r.chance(30)) c.storage = "memory";
  return c;
}

export function create(r, world, name) {
  const c = config(r, world, name);
  world.add(name, c);
  const subj = `STREAM.CREATE.${r.chance(1) ? "OTHER" : name}`;
  if (r.chance(1.5)) return { op: "api", subj, body: r.pick(["", "{", "[]", "null", '{"name":"S1"}{"max_msgs":3}', '{"name":', "x", '{"name":"S1","subjects":["s1.>"],}', '{"name":"S1","max_msgs":1e400}', '"S1"', '{"NAME":"S1"}', '{"name":"S1","name":"S2"}']) };
  return { op: "api", subj, body: c };
}

export function update(r, world, s) {
  const c = { ...s.config };
  for (let i = r.between(1, 2); i > 0; i--) {
    const field = r.pick(Object.keys(FIELDS));
    const [p, good, wrong] = FIELDS[field];
    if (p < 3 && !r.chance(20)) continue;
    if (field === "retention" && c.retention !== "workqueue") {
      c.retention = r.pick([c.retention, "workqueue"]); // to interest and back: see scripts/
      continue;
    }
    if (r.chance(20)) delete c[field];
    else c[field] = wrong.length && r.chance(6) ? r.pick(wrong) : good.length ? r.pick(good) : true;
  }
  if (r.chance(5)) c.subjects = [`${s.own}.>`, "extra.x"]; // fewer: see docs/deviations.md
  if (r.chance(1)) c.name = "OTHER";
  s.config = c;
  return { op: "api", subj: `STREAM.UPDATE.${s.name}`, body: c };
}

export function info(r, s) {
  const body = r.weighted({ none: 4, subjects: 4, deleted: 2, odd: 2 });
  const odd = ["{", "x", '{"subjects_filter":1}', '{"deleted_details":"x"}', '{"offset":-1}', '{"subjects_filter":">","offset":1}', '{"subjects_filter":">","offset":99}', '{"foo":1}', "[]", " {}", '{"subjects_filter":"a..b"}', '{"subjects_filter":""}'];
  return { op: "api", subj: `STREAM.INFO.${s.name}`, body: { none: undefined, subjects: { subjects_filter: r.pick([">", `${s.own}.>`, `${s.own}.*`, `${s.own}.a`, "zz", "*.*.x"]) }, deleted: { deleted_details: true }, odd: r.pick(odd) }[body] };
}

export function listing(r) {
  const subj = r.pick(["STREAM.NAMES", "STREAM.LIST"]);
  return { op: "api", subj, body: r.pick([undefined, undefined, {}, { offset: 1 }, { offset: 100 }, { offset: -1 }, { subject: "s1.a" }, { subject: "s1.>" }, { subject: "$KV.*.>" }, { subject: ">" }, { subject: "s2.*" }, { subject: "" }, { subject: "a..b" }, { foo: 1 }, "x", "{", "[]", '{"offset":"x"}']) };
}

export function purge(r, s) {
  const seq = r.pick([0, 1, s.seq >> 1, s.seq, s.seq + 1, s.seq + 10]);
  const body = r.pick([undefined, undefined, {}, { filter: s.leaf(r) }, { filter: s.leaf(r) }, { filter: `${s.own}.*` }, { filter: `${s.own}.>` }, { filter: ">" }, { filter: "zz" }, { keep: r.below(4) }, { seq }, { seq, filter: s.leaf(r) }, { seq, filter: `${s.own}.>` }, { keep: r.below(4), filter: s.leaf(r) }, { keep: 2, filter: `${s.own}.>` }, { keep: 1, seq: 1 }, { filter: "a..b" }, { seq: -1 }, { no_markers: true }, "{", "x", { filter: "" }, { keep: "x" }]);
  return { op: "api", subj: `STREAM.PURGE.${s.name}`, body };
}

export function remove(r, s) {
  const body = r.pick([{ seq: r.between(1, s.seq + 1) }, { seq: r.between(1, s.seq + 1) }, { seq: r.between(1, s.seq + 1) }, { seq: s.seq, no_erase: true }, { seq: s.seq + 5 }, r.chance(20) ? r.pick([{ seq: 0 }, {}, undefined, "{", { seq: -1 }, { seq: "1" }, { no_erase: true }, { seq: 1, foo: 2 }, "[]", { seq: 1.5 }]) : { seq: r.between(1, s.seq + 1) }]);
  return { op: "api", subj: `STREAM.MSG.DELETE.${s.name}`, body };
}

const PAST = "2020-01-01T00:00:00Z";
const FUTURE = "2099-01-01T00:00:00Z";

function selector(r, s) {
  const seq = r.between(1, s.seq + 2);
  return r.pick([{ seq }, { seq }, { seq }, { last_by_subj: s.leaf(r) }, { last_by_subj: s.leaf(r) }, { last_by_subj: `${s.own}.>` }, { next_by_subj: s.leaf(r) }, { next_by_subj: s.leaf(r), seq }, { next_by_subj: `${s.own}.*`, seq }, { next_by_subj: ">" }, { start_time: PAST }, { start_time: FUTURE }, { start_time: PAST, next_by_subj: s.leaf(r) }, { start_time: FUTURE, next_by_subj: s.leaf(r) }, { last_by_subj: ">" }, { last_by_subj: "zz.*" }]);
}
const ODD_GETS = [{}, undefined, "{", "x", "[]", { seq: 0 }, { seq: -1 }, { seq: 1, last_by_subj: "s1.a" }, { seq: 1, start_time: PAST }, { last_by_subj: "a", next_by_subj: "a" }, { last_by_subj: "" }, { last_by_subj: "a..b" }, { next_by_subj: "a..b" }, { start_time: "yesterday" }, { batch: 2 }, { seq: 1, batch: 2 }, { max_bytes: 3 }, { seq: "1" }, { seq: 1, foo: 1 }, { seq: 1.5 }, { start_time: PAST, last_by_subj: "s1.a" }, { multi_last: ["s1.a"] }, { up_to_seq: 4, seq: 1 }];

export function msgGet(r, s) {
  const body = r.chance(10) ? r.pick(ODD_GETS) : selector(r, s);
  return { op: "api", subj: `STREAM.MSG.GET.${s.name}`, body: body && typeof body === "object" && r.chance(5) ? { ...body, no_hdr: true } : body };
}

export function directGet(r, s) {
  const how = r.weighted({ json: 5, subject: 4, batch: 3, multi: 3, odd: 2 });
  const get = (tail, body) => ({ op: "get", subj: `${s.name}${tail}`, body });
  const up = () => r.pick([{}, {}, { up_to_seq: r.between(1, s.seq + 1) }, { up_to_time: FUTURE }, { up_to_time: PAST }, { up_to_seq: 0 }]);
  const extra = () => (r.chance(15) ? { no_hdr: true } : {});
  if (how === "subject") return get(`.${r.chance(90) ? s.leaf(r) : r.pick([`${s.own}.>`, `${s.own}.*`, "zz", `${s.own}.a.`, ""])}`, r.pick([undefined, undefined, undefined, { no_hdr: true }, { seq: 1 }, {}, "x", { batch: 1 }]));
  if (how === "batch") return get("", { ...r.pick([{ seq: r.between(1, s.seq + 1) }, { next_by_subj: `${s.own}.>`, seq: r.between(1, s.seq + 1) }, { start_time: PAST }, { next_by_subj: s.leaf(r) }, { seq: 1, next_by_subj: `${s.own}.*` }, {}]), batch: r.pick([1, 2, 3, 10]), ...r.pick([{}, {}, { max_bytes: 50 }, { max_bytes: 1 }]), ...extra() });
  if (how === "multi") return get("", { multi_last: r.pick([[`${s.own}.>`], [s.leaf(r), s.leaf(r)], [`${s.own}.*`, `${s.own}.a.*`], ["zz"], [">"], [`${s.own}.a`, `${s.own}.>`]]), ...up(), ...r.pick([{}, {}, { batch: 2 }, { seq: 2 }, { batch: 1, seq: 3 }]), ...extra() });
  if (how === "odd") return get("", r.pick([...ODD_GETS, { last_by_subj: "a", batch: 2 }, { last_by_subj: "a", multi_last: ["a"] }, { next_by_subj: "a", multi_last: ["a"] }, { multi_last: ["a"], up_to_seq: 1, up_to_time: PAST }, { multi_last: [] }, { multi_last: ["a..b"] }, { batch: -1, seq: 1 }]));
  return get("", { ...selector(r, s), ...extra() });
}
