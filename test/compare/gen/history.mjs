// history.mjs: draws a whole history from a seed.
import * as backups from "./backups.mjs";
import * as consumers from "./consumers.mjs";
import * as copies from "./copies.mjs";
import { episode as copiesEpisode } from "./copies_time.mjs";
import * as groups from "./groups.mjs";
import * as kv from "./kv.mjs";
import { episode } from "./time.mjs";
import { Random } from "./random.mjs";
import { LEAVES, bucket, create, directGet, info, listing, msgGet, purge, remove, update } from "./streams.mjs";
import { atomicBatch, fastBatch, publish } from "./publish.mjs";

// What the generator believes about a stream: enough to aim, never relied upon.
class Stream {
  constructor(name, config) {
    this.name = name;
    this.config = config;
    this.own = name.startsWith("KV_") ? `$KV.${name.slice(3)}` : name.toLowerCase();
    this.seq = config.first_seq > 0 ? config.first_seq - 1 : 0;
    this.consumers = [];
    this.last = new Map();
  }
  leaf(r) {
    return `${this.own}.${r.pick(LEAVES)}`;
  }
  lastOf(r) {
    return this.last.get(this.leaf(r)) ?? 0;
  }
  published(o) {
    this.seq++;
    this.last.set(o.subj, this.seq);
  }
}

export class World {
  constructor(r, options) {
    this.r = r;
    this.strict = options.strict;
    this.lean = r.chance(50); // few options at a time: histories that go deep
    this.consuming = options.topic === "streams" ? 0 : r.pick(options.topic === "consumers" ? [30, 50] : [0, 0, 30, 50]); // steps per hundred that are about consumers
    this.streams = new Map();
    this.batches = 0;
    this.names = 0;
  }
  add(name, config) {
    this.streams.set(name, new Stream(name, config));
  }
  stream() {
    const list = [...this.streams.values()];
    return list.length ? this.r.pick(list) : undefined;
  }
}

const NAMES = ["S1", "S2", "S3"];

// One or more operations.
function step(r, w) {
  const s = w.stream();
  if (!s) return firstStream(r, w);
  if (w.consuming && r.chance(w.consuming)) return consume(r, w, s);
  switch (r.weighted({ pub: 60, create: 2, update: 3, info: 4, list: 2, purge: 3, remove: 4, get: 6, direct: 10, drop: 0.6, atomic: 3, fast: 2, check: 2, level: 0.5, account: 1 })) {
    case "pub":
      return Array.from({ length: r.pick([1, 1, 2, 5, 12]) }, () => publish(r, w, s));
    case "create":
      return create(r, w, r.pick(NAMES));
    case "update":
      return update(r, w, s);
    case "info":
      return info(r, s);
    case "list":
      return listing(r);
    case "purge":
      return purge(r, s);
    case "remove":
      return remove(r, s);
    case "get":
      return Array.from({ length: r.between(1, 5) }, () => msgGet(r, s));
    case "direct":
      return Array.from({ length: r.between(1, 6) }, () => directGet(r, s));
    case "drop":
      w.streams.delete(s.name);
      return { op: "api", subj: `STREAM.DELETE.${s.name}`, body: r.pick([undefined, undefined, {}, "{\"a\":1}", "x"]) };
    case "atomic":
      return atomicBatch(r, w, s);
    case "fast":
      return fastBatch(r, w, s);
    case "account":
      return { op: "api", subj: "INFO", body: r.pick([undefined, "x", "{}", "{\"a\":1}"]) };
    case "level":
      return { op: "api", subj: r.pick(["INFO", `STREAM.INFO.${s.name}`, "STREAM.NAMES", `STREAM.PURGE.${s.name}`]), hdr: [`Nats-Required-Api-Level: ${r.pick([0, 5, 6, "x", -1])}`] };
    default:
      return { op: "check" };
  }
}

function consume(r, w, s) {
  const k = s.consumers.length ? r.pick(s.consumers) : undefined;
  if (!k) return consumers.create(r, w, s);
  switch (r.weighted({ create: 6, update: 4, info: 4, list: 2, manage: 4, pull: 30, ack: 30, odd: 1, sub: 4 })) {
    case "create":
      return consumers.create(r, w, s);
    case "update":
      return consumers.update(r, w, s, k);
    case "info":
      return consumers.info(r, s, k);
    case "list":
      return consumers.listing(r, s);
    case "manage":
      return consumers.manage(r, s, k);
    case "ack":
      return Array.from({ length: r.between(1, 4) }, () => consumers.ack(r, s, k));
    case "odd":
      return consumers.oddAck(r, s, k);
    case "sub":
      return consumers.subscribe(r, w, s, k);
    default:
      return k.push && r.chance(80) ? consumers.subscribe(r, w, s, k) : consumers.pull(r, s, k);
  }
}

function firstStream(r, w) {
  if (r.chance(15)) {
    const c = bucket(r, "b1");
    w.add(c.name, c);
    return { op: "api", subj: `STREAM.CREATE.${c.name}`, body: c };
  }
  return create(r, w, r.pick(NAMES));
}

// Histories of one kind of step.
const KINDS = { copies: copies.step, groups: groups.step };

// options.strict; options.topic: streams, consumers, or both; copies: mirrors and sources alone; groups: priority groups;
// backups: streams that are restored; audits: what is told of requests.  options.restarts: the servers are stopped or killed on the way.
// What a topic of the latter adds is drawn by itself: the rest of a seed stays what it was.
export function generate(seed, options) {
  const r = new Random(seed);
  const also = new Random(`${seed} also`);
  const topic = options.topic || also.weighted({ both: 85, groups: 3, backups: 7, audits: 5 });
  if (topic === "groups" && !options.restarts && also.chance(6)) return { seed, ops: groups.timeout(also) };
  if (topic === "copies" && !options.restarts && also.chance(3)) return { seed, ops: copiesEpisode(also) };
  const w = new World(r, { ...options, topic });
  const ops = [];
  const length = r.pick([20, 40, 80, 150]);
  const restart = () => (options.restarts && r.chance(4) ? [{ op: "restart", how: r.pick(["term", "kill"]) }] : []);
  while (KINDS[topic] && ops.length < length) ops.push(...[KINDS[topic](r, w)].flat(), ...restart());
  if (KINDS[topic]) return { seed, ops };
  if (topic === "audits") ops.push({ op: "audit" });
  if (!options.restarts && topic !== "consumers" && r.chance(1.5)) return { seed, ops: [...ops, ...episode(r)] };
  const bucket = topic !== "streams" && r.chance(18); // watchers are consumers
  if (bucket) ops.push(kv.open(r, w));
  while (ops.length < length) {
    const s = w.stream();
    ops.push(...[bucket && s && r.chance(90) ? kv.step(r, w, s) : step(r, w)].flat());
    if (s && (topic === "backups" ? also.chance(7) : topic === "audits" && also.chance(1))) ops.push(...[backups.step(also, w, s)].flat());
    ops.push(...restart());
  }
  if (options.restarts) ops.push({ op: "restart", how: r.pick(["term", "kill"]) });
  return { seed, ops };
}
