// copies_time.mjs: short histories of mirrors and sources in which time passes: origins that come late, go and come again, messages that
//   end on either side, work queues that are emptied by who follows them.  Operations with `later` leave the copies alone: nats-server
//   needs seconds then, and they are looked at when those have passed.
import { HOUR, SECOND } from "./streams.mjs";

const create = (c) => ({ op: "api", subj: `STREAM.CREATE.${c.name}`, body: c });
const update = (c) => ({ op: "api", subj: `STREAM.UPDATE.${c.name}`, body: c });
const pub = (subj, data, ...hdr) => ({ op: "pub", subj, data, ...(hdr.length ? { hdr } : {}) });
const wait = (ms) => ({ op: "wait", ms });
const later = (list) => list.map((o) => ({ ...o, later: true }));
const CHECK = { op: "check" };

const some = (r, more) => ({ ...(r.chance(40) ? { storage: "memory" } : {}), ...(r.chance(30) ? { allow_direct: true } : {}), ...more });
const origin = (r, more) => some(r, { name: "S1", subjects: ["s1.>"], ...more });
const feed = (r) => ({ name: "S1", ...r.pick([{}, {}, { filter_subject: "s1.*" }, { filter_subject: "s1.a" }, { subject_transforms: [{ src: "s1.*", dest: "t.{{wildcard(1)}}" }] }]) });
const copy = (r, more, name = "C1") => some(r, { name, ...(r.chance(50) ? { mirror: feed(r) } : { sources: [feed(r)], ...(r.chance(30) ? { subjects: ["c1.>"] } : {}) }), ...more });
const pubs = (r, n, ...hdr) => Array.from({ length: n }, (_, i) => pub(`s1.${r.pick(["a", "b", "c.d"])}`, `${i}`, ...hdr, ...(r.chance(15) ? [`Nats-Msg-Id: ${r.pick(["i", "j"])}`] : [])));
const looks = (r) => [CHECK, { op: "api", subj: "STREAM.MSG.GET.C1", body: { last_by_subj: r.pick(["s1.a", "t.a", ">"]) } }, { op: "api", subj: "STREAM.MSG.GET.C1", body: { seq: r.between(1, 4) } }];

const EPISODES = {
  // The copy is there first: nats-server looks again after two seconds, then after twelve.
  late: (r) => [...later([create(copy(r)), create(origin(r)), ...pubs(r, r.between(0, 3))]), wait(16000), ...looks(r), ...pubs(r, 2), ...looks(r)],
  // Deleted and made again: found out there after ten seconds of silence.
  again: (r) => [create(origin(r)), create(copy(r)), ...pubs(r, r.between(0, 4)), CHECK, ...later([{ op: "api", subj: "STREAM.DELETE.S1" }, create(origin(r, r.chance(30) ? { first_seq: 10 } : {})), ...pubs(r, r.between(0, 6))]), wait(26000), ...looks(r), ...pubs(r, 3), ...looks(r)],
  // It goes, and what was copied stays; promoted then, or without sources.
  alone: (r) => [create(origin(r)), create(copy(r, { max_age: r.pick([0, HOUR]) })), ...pubs(r, 3), CHECK, ...later([{ op: "api", subj: "STREAM.DELETE.S1" }]), ...later([update(some(r, { name: "C1", subjects: ["c1.>"], storage: undefined }))]), { op: "api", subj: "STREAM.INFO.C1" }, pub("c1.a", "own"), ...looks(r)],
  // TTLs are kept by who knows them.
  ttl: (r) => [
    create(origin(r, { allow_msg_ttl: true, ...r.pick([{}, {}, { subject_delete_marker_ttl: HOUR, max_msgs_per_subject: 1 }]) })),
    create(copy(r, r.pick([{}, { allow_msg_ttl: true }, { allow_msg_ttl: true, max_msgs_per_subject: 1 }]))),
    pub("s1.keep", "k", "Nats-TTL: 1h"),
    ...later([pub("s1.a", "1", "Nats-TTL: 1s"), pub("s1.b", "2", "Nats-TTL: 2"), pub("s1.c.d", "3")]),
    wait(4500),
    ...looks(r),
    pub("s1.a", "4"),
    ...looks(r),
  ],
  // A TTL that ends at the origin before the copy is made, or takes its turn there.
  ended: (r) => [create(origin(r, { allow_msg_ttl: true })), pub("s1.a", "1", "Nats-TTL: 1s"), pub("s1.b", "2"), pub("s1.a", "3", "Nats-TTL: 1s"), wait(3000), create(copy(r, r.pick([{}, { allow_msg_ttl: true }]))), ...looks(r), ...pubs(r, 2), ...looks(r)],
  // max_age on one side.
  age: (r) => [create(origin(r, r.chance(50) ? { max_age: SECOND, duplicate_window: SECOND } : {})), create(copy(r, r.chance(50) ? { max_age: SECOND, duplicate_window: SECOND } : {})), ...later(pubs(r, 3)), wait(3000), ...looks(r), ...later(pubs(r, 1)), wait(3000), ...looks(r)],
  // What a mirror is given was stored long ago: its own max_age counts from then.
  old: (r) => [create(origin(r)), ...pubs(r, 2), wait(1800), ...later([create(copy(r, { max_age: SECOND, duplicate_window: SECOND }))]), wait(1500), ...looks(r), ...later(pubs(r, 1)), wait(2600), ...looks(r)],
  // A queue that its copy empties, a heartbeat later.
  queue: (r) => [...later([create(origin(r, { retention: r.pick(["workqueue", "workqueue", "interest"]) })), ...pubs(r, r.between(0, 3))]), create(copy(r)), ...later(pubs(r, r.between(1, 4))), wait(3500), ...looks(r), ...later(pubs(r, r.between(1, 3))), wait(3500), ...looks(r)],
};

export function episode(r) {
  return EPISODES[r.weighted({ late: 3, again: 2, alone: 1, ttl: 3, ended: 2, age: 3, old: 2, queue: 3 })](r);
}
