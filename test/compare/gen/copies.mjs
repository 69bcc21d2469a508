// copies.mjs: histories of mirrors and sourcing streams: origins S1 and S2, and up to three streams that follow them.
//   Origins are there before their copies and stay: nats-server looks for a missing one every ten seconds only.
//   One origin feeds a copy once, of two that begin together one is empty, nothing grows full with discard new: what comes
//   first, and when a full copy goes on, is a matter of time.  Direct gets ask copies alone: for an origin its mirrors answer too.
import { HOUR, SECOND, bucket, listing, msgGet, directGet, info, purge, remove } from "./streams.mjs";
import { atomicBatch, publish } from "./publish.mjs";

const COPIES = ["C1", "C2", "C3"];

// field: [chance per hundred, values], for origins and for copies
const LIMITS = {
  storage: [30, ["memory", "file"]],
  max_msgs: [20, [3, 5, 10]],
  max_msgs_per_subject: [30, [1, 2, 3]],
  max_age: [6, [HOUR]],
  compression: [6, ["none", "s2"]],
  allow_direct: [75, [true]],
  allow_rollup_hdrs: [40, [true]],
  allow_msg_ttl: [40, [true]],
  deny_delete: [4, [true]],
  deny_purge: [4, [true]],
  description: [5, ["some words"]],
  metadata: [5, [{ a: "b" }]],
};
const ORIGIN = { ...LIMITS, first_seq: [10, [1, 10, 1000]], subject_delete_marker_ttl: [10, [HOUR]], allow_atomic: [30, [true]], duplicate_window: [8, [60 * SECOND]] };
const COPY = { ...LIMITS, duplicate_window: [6, [60 * SECOND, HOUR]], mirror_direct: [8, [true, false]], pedantic: [4, [true]] };

function drawn(r, fields) {
  const c = {};
  for (const [field, [p, values]] of Object.entries(fields)) if (r.chance(p)) c[field] = r.pick(values);
  return c;
}

// A stream of counters; sources may be added up in it.
function counter(r, name, subjects) {
  return { name, ...(subjects ? { subjects } : {}), allow_msg_counter: true, allow_direct: true, ...(r.chance(30) ? { storage: "memory" } : {}), ...(r.chance(30) ? { max_msgs_per_subject: r.pick([1, 2]) } : {}), ...(r.chance(10) ? { allow_atomic: true } : {}) };
}

export function origin(r, world, name) {
  const c = r.chance(8) ? counter(r, name, [`${name.toLowerCase()}.>`]) : r.chance(12) ? { ...bucket(r, name), name, subjects: [`${name.toLowerCase()}.>`] } : { name, subjects: [`${name.toLowerCase()}.>`], ...drawn(r, ORIGIN) };
  world.add(name, c);
  return { op: "api", subj: `STREAM.CREATE.${name}`, body: c };
}

// What a copy takes of stream S.
function taking(r, s, mirror) {
  const p = s.own;
  const from = { name: s.name };
  const some = [[{ src: `${p}.a`, dest: "" }, { src: `${p}.b`, dest: `t${p}.b` }], [{ src: `${p}.*`, dest: `t${p}.{{wildcard(1)}}.z` }], [{ src: `${p}.>`, dest: `t${p}.>` }], [{ src: `${p}.a.*`, dest: `t${p}.$1` }], [{ src: `${p}.*`, dest: "sum.{{wildcard(1)}}" }]];
  const how = r.weighted({ all: 6, filter: 3, transforms: 3 });
  if (how === "filter") from.filter_subject = r.pick([`${p}.a`, `${p}.>`, `${p}.*`, `${p}.a.*`, "zz.>"]);
  if (how === "transforms") from.subject_transforms = r.pick(some);
  if (r.chance(12)) from.opt_start_seq = r.pick([1, s.seq, s.seq + 1, Math.max(1, s.seq >> 1)]) || 1;
  else if (r.chance(5)) from.opt_start_time = r.pick(["2020-01-01T00:00:00Z", "2099-01-01T00:00:00Z"]);
  if (mirror && r.chance(3)) from.filter_subject = r.pick(["a..b", `${p}.>`]);
  return from;
}

// What is mostly refused; should both take it, it goes at once.
function flawed(r, c) {
  const more = r.pick([
    { subjects: ["cc.>"], mirror: c.mirror ?? c.sources[0], sources: undefined }, { sources: [c.mirror ?? c.sources[0]], mirror: c.mirror ?? { name: "S1" } },
    { first_seq: 5 }, { allow_msg_counter: true }, { allow_atomic: true }, { allow_batched: true }, { allow_msg_schedules: true }, { subject_delete_marker_ttl: HOUR },
    { mirror: { name: "a.b" }, sources: undefined }, { sources: [{ name: "S1" }, { name: "S1" }], mirror: undefined }, { mirror: { name: "S1", external: { api: "$JS.API", deliver: "" } }, sources: undefined },
    { mirror: { name: "S1", external: { api: "$JS.*.API", deliver: "" } }, sources: undefined }, { mirror: { name: "S1", external: { api: "x", deliver: "s1.a" } }, sources: undefined },
    { mirror: { name: "S1", subject_transforms: [{ src: "s1.>", dest: "" }, { src: "s1.a", dest: "" }] }, sources: undefined }, { sources: [{ name: "S1", subject_transforms: [{ src: "s1.*", dest: "x.{{wildcard(2)}}" }] }], mirror: undefined },
    { sources: [null], mirror: undefined }, { sources: [{ name: "S1", filter_subject: "s1.a", subject_transforms: [{ src: "s1.b", dest: "" }] }], mirror: undefined }, { max_msg_size: 1 }, { mirror: "S1", sources: undefined }, { sources: {}, mirror: undefined },
  ]);
  return JSON.parse(JSON.stringify({ ...c, ...more }));
}

function copy(r, world, name) {
  const s = r.pick([...world.streams.values()].filter((x) => x.name !== name && !(x.config.sources && x.config.sources.length > 1)));
  const c = s.config.allow_msg_counter && r.chance(70) ? counter(r, name) : { name, ...drawn(r, COPY) };
  if (r.chance(55)) c.mirror = taking(r, s, true);
  else {
    const other = [...world.streams.values()].find((x) => x.name !== s.name && x.name.startsWith("S") && x.last.size === 0);
    c.sources = [taking(r, s), ...(other && !s.config.mirror && !s.config.sources && r.chance(40) ? [taking(r, other)] : [])];
    if (r.chance(40)) c.subjects = [`${name.toLowerCase()}.>`];
    delete c.mirror_direct;
    if (r.chance(10)) c.subject_delete_marker_ttl = HOUR;
  }
  if (r.chance(8)) c.subject_transform = r.pick([{ src: `${s.own}.a`, dest: "moved.a" }, { src: `${s.own}.>`, dest: `moved.${s.own}.>` }]);
  if (r.chance(5)) c.republish = { src: ">", dest: `rp.${name}.>` };
  if (r.chance(10)) return [{ op: "api", subj: "STREAM.CREATE.X", body: { ...flawed(r, c), name: "X" }, later: true }, { op: "api", subj: "STREAM.DELETE.X" }];
  world.add(name, c);
  const made = world.streams.get(name);
  made.own = s.own;
  made.seq = s.seq;
  return { op: "api", subj: `STREAM.CREATE.${name}`, body: c };
}

// The origins that feed a stream, by all ways; a circle, which is refused, has an end too.
function feeding(world, config, depth = 0) {
  const from = depth > 4 ? [] : [config.mirror, ...(config.sources ?? [])].filter((x) => world.streams.has(x?.name));
  return from.flatMap((x) => (x.name.startsWith("S") ? [x.name] : feeding(world, world.streams.get(x.name).config, depth + 1)));
}
// Does an origin feed a copy twice, once stream s has the configuration c?  Then what comes first is a matter of time.
function feedsTwice(world, s, c) {
  const now = { streams: new Map(world.streams).set(s.name, { config: c }) };
  return [...now.streams.values()].some((x) => {
    const all = feeding(now, x.config);
    return new Set(all).size < all.length;
  });
}

// Other limits, another list of sources, or no mirror any more.
function change(r, world, s) {
  const c = { ...s.config };
  const how = r.weighted({ field: 6, promote: 2, sources: 2 });
  if (how === "promote" && c.mirror && r.chance(15)) {
    c.mirror = taking(r, r.pick([...world.streams.values()].filter((x) => x !== s)), true); // mostly refused
    return { op: "api", subj: `STREAM.UPDATE.${s.name}`, body: c };
  } else if (how === "promote" && c.mirror) {
    delete c.mirror;
    delete c.mirror_direct;
    if (r.chance(60)) c.subjects = [`${s.name.toLowerCase()}.>`];
  } else if (how === "sources" && c.sources) {
    const others = [...world.streams.values()].filter((x) => !x.config.mirror && !x.config.sources);
    const kept = c.sources.filter(() => r.chance(70));
    const added = others.filter((x) => !feedsTwice(world, s, { ...c, sources: [...kept, { name: x.name }] }) && r.chance(50)).slice(0, 1);
    c.sources = [...kept, ...added.map((x) => taking(r, x))];
    if (!c.sources.length) delete c.sources;
  } else {
    const fields = c.mirror || c.sources ? COPY : LIMITS;
    const field = r.pick(Object.keys(fields).filter((f) => !(f === "mirror_direct" && !c.mirror) && f !== "duplicate_window"));
    if (r.chance(30)) delete c[field];
    else c[field] = r.pick(fields[field][1]);
  }
  s.config = c;
  return { op: "api", subj: `STREAM.UPDATE.${s.name}`, body: c };
}

export function step(r, w) {
  const all = [...w.streams.values()];
  const origins = all.filter((s) => s.name.startsWith("S"));
  const copies = all.filter((s) => s.name.startsWith("C"));
  if (!origins.length || (origins.length < 2 && r.chance(10))) return origin(r, w, origins.length ? "S2" : "S1");
  const s = r.pick(origins);
  const c = copies.length ? r.pick(copies) : undefined;
  if (!c) return r.chance(25) ? copy(r, w, COPIES[0]) : Array.from({ length: r.pick([1, 2, 5]) }, () => publish(r, w, s));
  const free = COPIES.find((n) => !w.streams.has(n));
  switch (r.weighted({ pub: 40, own: 4, batch: 3, copy: free ? 4 : 0, change: 4, removeFrom: 4, removeIn: 4, purgeFrom: 2, purgeIn: 2, get: 10, direct: 6, info: 3, list: 1, drop: 1, check: 3 })) {
    case "pub":
      return Array.from({ length: r.pick([1, 1, 2, 3]) }, () => publish(r, w, s));
    case "own":
      return { op: "pub", subj: `${c.name.toLowerCase()}.${r.pick(["a", "b"])}`, data: "own" };
    case "batch":
      return atomicBatch(r, w, s);
    case "copy":
      return copy(r, w, free);
    case "change":
      return change(r, w, r.chance(70) ? c : s);
    case "removeFrom":
      return remove(r, s);
    case "removeIn":
      return remove(r, c);
    case "purgeFrom":
      return purge(r, s);
    case "purgeIn":
      return purge(r, c);
    case "get":
      return Array.from({ length: r.between(1, 4) }, () => msgGet(r, r.chance(80) ? c : s));
    case "direct":
      return copies.some((x) => x.config.mirror?.name === c.name) ? msgGet(r, c) : Array.from({ length: r.between(1, 4) }, () => directGet(r, c));
    case "info":
      return info(r, c);
    case "list":
      return listing(r);
    case "drop":
      if (copies.some((x) => [x.config.mirror, ...(x.config.sources ?? [])].some((f) => f?.name === c.name))) return { op: "check" };
      w.streams.delete(c.name);
      return { op: "api", subj: `STREAM.DELETE.${c.name}` };
    default:
      return { op: "check" };
  }
}
