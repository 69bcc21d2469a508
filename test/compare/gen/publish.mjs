// publish.mjs: messages with every header a stream knows, right and wrong, and batches.
import { Random } from "./random.mjs";

const TTLS = ["1h", "1h", "3600", "never", "2h30m", "NEVER", "+5m", "1000m", "90s"];
const BAD_TTLS = ["1.5", "-1", "-1s", "abc", "1d", "500ms", "5 ", "1e3s", "0x10", "s", "+5"];
const OWN_TTLS = ["0", "0s", "00", "99999999999999999999h"]; // a history of mayflyd's own way ends there

// header(R, W, S): one header line that means something to a stream.
function header(r, world, s) {
  const seq = () => r.pick([0, s.seq, s.seq, s.seq, s.seq + 1, s.seq - 1, 1]);
  switch (r.weighted({ id: 8, lastSeq: 4, lastSubj: 8, lastId: 2, stream: 2, rollup: 6, ttl: 8, ttlBad: 2, kv: 4, incr: 2, schedule: 2, other: 4, marker: 1, batch: 1, level: 1, source: 1, dup: 1 })) {
    case "id":
      return [`Nats-Msg-Id: ${r.pick(["m1", "m2", "m3", `u${r.below(50)}`, ""])}`];
    case "lastSeq":
      return [`Nats-Expected-Last-Sequence: ${r.chance(90) ? seq() : r.pick(["x", "-1", "", "1.0", "007"])}`];
    case "lastSubj":
      return [`Nats-Expected-Last-Subject-Sequence: ${r.chance(90) ? r.pick([0, s.lastOf(r), seq()]) : r.pick(["x", "-1", ""])}`, ...(r.chance(20) ? [`Nats-Expected-Last-Subject-Sequence-Subject: ${r.pick([s.leaf(r), `${s.own}.>`, `${s.own}.*`, "zz.a", "a..b"])}`] : [])];
    case "lastId":
      return [`Nats-Expected-Last-Msg-Id: ${r.pick(["m1", "m2", "", "zz"])}`];
    case "stream":
      return [`Nats-Expected-Stream: ${r.pick([s.name, s.name, "OTHER", ""])}`];
    case "rollup":
      return [`Nats-Rollup: ${r.pick(["sub", "sub", "all", "SUB", "All", "foo"])}`];
    case "ttl":
      return [`Nats-TTL: ${r.pick(TTLS)}`];
    case "ttlBad":
      return [`Nats-TTL: ${r.pick(world.strict ? [...BAD_TTLS, ...OWN_TTLS, "3600.9s"] : r.chance(5) ? OWN_TTLS : BAD_TTLS)}`];
    case "kv":
      return r.pick([["KV-Operation: DEL"], ["KV-Operation: PURGE", "Nats-Rollup: sub"], ["KV-Operation: PUT"]]);
    case "incr":
      return [`Nats-Incr: ${r.pick(["1", "+5", "-3", "0", "1.5", "x", "100000000000000000000"])}`];
    case "schedule":
      return r.pick([["Nats-Schedule: @at 2099-01-01T00:00:00Z", `Nats-Schedule-Target: ${s.leaf(r)}`], ["Nats-Schedule: @every 1h", `Nats-Schedule-Target: ${s.leaf(r)}`, "Nats-Schedule-TTL: 1h"], ["Nats-Schedule: @every 1ms", `Nats-Schedule-Target: ${s.leaf(r)}`], ["Nats-Schedule: 0 0 0 1 1 *", `Nats-Schedule-Target: ${s.leaf(r)}`, "Nats-Schedule-Time-Zone: Europe/Berlin"], ["Nats-Schedule: * * * * *", `Nats-Schedule-Target: ${s.leaf(r)}`], ["Nats-Schedule: @yearly", `Nats-Schedule-Target: ${s.own}.*`], ["Nats-Schedule: @yearly", "Nats-Schedule-Target: zz"], ["Nats-Schedule-Target: zz"], ["Nats-Schedule-Time-Zone: Mars/Base"], ["Nats-Schedule-Next: purge", `Nats-Scheduler: ${s.leaf(r)}`], ["Nats-Schedule-Next: purge"], ["Nats-Schedule: @yearly", `Nats-Schedule-Target: ${s.leaf(r)}`, `Nats-Schedule-Source: ${s.leaf(r)}`], ["Nats-Schedule: @yearly", `Nats-Schedule-Target: ${s.leaf(r)}`, "Nats-Schedule-Rollup: sub"], ["Nats-Schedule: @yearly", `Nats-Schedule-Target: ${s.leaf(r)}`, "Nats-Schedule-Rollup: all"]]);
    case "other":
      return [r.pick(["Own: h", "own:h", "X-Empty:", "Nats-Unknown: 1", "nats-ttl: 5x", "Nats-Msg-Size: 3", "Nats-Sequence: 9", "Nats-Time-Stamp: zz", "  Lead: x", "Nats-Subject: q"])];
    case "marker":
      return [`Nats-Marker-Reason: ${r.pick(["MaxAge", "Remove", "x"])}`];
    case "batch":
      return r.pick([["Nats-Batch-Id: zz"], ["Nats-Batch-Sequence: 1"], ["Nats-Batch-Commit: 1"], [`Nats-Batch-Id: ${"i".repeat(65)}`, "Nats-Batch-Sequence: 1"], ["Nats-Batch-Id: q", "Nats-Batch-Sequence: x"], ["Nats-Batch-Id: q", "Nats-Batch-Sequence: 7"]]);
    case "level":
      return [`Nats-Required-Api-Level: ${r.pick([1, 5, 9, "x"])}`];
    case "source":
      return ["Nats-Stream-Source: O 1 > > a"];
    default:
      return ["Nats-TTL: 1h", `Nats-TTL: ${r.pick(["x", "2h"])}`];
  }
}

const BODIES = ["", "x", "hello", "0123456789".repeat(4), "{}", '{"a":1}', "\x00\xff", "y".repeat(90)];

export function publish(r, world, s) {
  const o = { op: "pub", subj: s.leaf(r) };
  if (r.chance(3)) o.subj = r.pick([`${s.own}`, `${s.own}.zz.q.r`, "nobody.home", `rp.${s.own}.a`]);
  const data = r.pick(BODIES);
  if (data) o.data = data;
  const hdr = [];
  if (r.chance(s.config.allow_msg_counter ? 85 : 0)) {
    delete o.data;
    hdr.push(`Nats-Incr: ${r.pick([1, 5, -2, "+7"])}`);
  }
  for (let n = r.weighted({ 0: 40, 1: 40, 2: 12, 3: 5 }); n > 0; n--) hdr.push(...header(r, world, s));
  if (hdr.length) o.hdr = hdr;
  s.published(o);
  return o;
}

// Now and then all messages of a batch have something that a server may keep in one place for all.  Drawn by itself: the rest of a seed stays what it was.
function inCommon(r, s) {
  if (!r.chance(12)) return () => [];
  const kind = r.weighted({ schedule: 4, ttl: 2, id: 2, incr: 1 });
  const lines = {
    schedule: (i) => [`Nats-Schedule: @every ${i}h`, `Nats-Schedule-Target: ${s.leaf(r)}`, ...(r.chance(40) ? ["Nats-TTL: 1h"] : [])],
    ttl: (i) => [`Nats-TTL: ${i}h`],
    id: (i) => [`Nats-Msg-Id: c${r.below(90)}-${i}`],
    incr: (i) => [`Nats-Incr: ${i}`],
  };
  return lines[kind];
}

// A batch of messages, all or nothing; now and then with a mistake in it.
export function atomicBatch(r, world, s) {
  const common = inCommon(new Random(`${r.state} in common`), s);
  const id = `b${world.batches++}`;
  const n = r.between(1, 5);
  const list = [];
  const flaw = r.chance(25) ? r.between(1, n) : 0;
  for (let i = 1; i <= n; i++) {
    const hdr = [`Nats-Batch-Id: ${id}`, `Nats-Batch-Sequence: ${i === flaw && r.chance(40) ? i + 1 : i}`];
    if (i === n && r.chance(93)) hdr.push(`Nats-Batch-Commit: ${r.pick(["1", "1", "1", "eob", "yes"])}`);
    if (i === flaw || r.chance(15)) hdr.push(...header(r, world, s));
    hdr.push(...common(i));
    const o = { op: "pub", subj: s.leaf(r), hdr };
    if (r.chance(80)) o.data = `b${i}`;
    list.push(o);
    s.published(o);
  }
  return list;
}

// Reply subjects carry the batch: id, flow, what to do about gaps, sequence, operation.
export function fastBatch(r, world, s) {
  const id = r.chance(95) ? `f${world.batches++}` : "f".repeat(65);
  const n = r.between(2, 6);
  const list = [];
  const flow = r.pick([1, 2, 10, 10, 0, "x"]);
  const gap = r.pick(["ok", "fail", "fail", "zz"]);
  for (let i = 1; i <= n; i++) {
    const seq = r.chance(4) ? i + 1 : i;
    const last = i === n;
    const kind = i === 1 ? 0 : last ? r.pick([2, 2, 3, 4]) : r.chance(5) ? 4 : 1;
    const o = { op: "pub", subj: s.leaf(r), suffix: `${id}.${flow}.${gap}.${seq}.${kind}.$FI`, data: `f${i}` };
    if (r.chance(8)) o.hdr = header(r, world, s);
    list.push(o);
    s.published(o);
  }
  return list;
}
