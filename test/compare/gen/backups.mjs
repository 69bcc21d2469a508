// backups.mjs: snapshots of a stream and what is restored from them, mostly in the place of the one that was deleted.

// Requests that are wrong on purpose.
function odd(r, s) {
  const api = (subj, body) => ({ op: "api", subj, body });
  return r.pick([
    api("STREAM.SNAPSHOT.NONE", { deliver_subject: "_INBOX.z" }),
    api(`STREAM.SNAPSHOT.${s.name}`, r.pick([undefined, {}, "{", "x", "[]", { deliver_subject: "" }, { deliver_subject: "a..b" }, { deliver_subject: "a.*" }, { deliver_subject: "zz", foo: 1 }, { deliver_subject: 1 }, { deliver_subject: "zz", chunk_size: "x" }])),
    api(`STREAM.RESTORE.${s.name}`, r.pick([undefined, {}, "{", "x", { config: { name: s.name } }, { config: { name: "OTHER" } }, { config: { name: s.name }, state: {}, foo: 1 }, { config: { name: s.name, subjects: ["x.>"] }, state: {} }])),
    api("STREAM.RESTORE.R9", r.pick([undefined, {}, "{", { config: {} }, { config: { name: "R8" } }, { config: { name: "R9", subjects: ["a..b"] }, state: {} }, { config: { name: "R9", subjects: [`${s.own}.a`] }, state: {} }, { config: { name: "R9", max_msgs: "x" } }, { config: { name: "R9", retention: "foo" } }, { config: { name: "R9", num_replicas: 3 } }])),
  ]);
}

export function take(r, w, s) {
  const as = `A${++w.names}`;
  const o = { op: "snapshot", s: s.name, as };
  const body = { ...r.pick([{}, {}, {}, { no_consumers: true }, { jsck: true }]), ...r.pick([{}, {}, { chunk_size: 1024 }, { chunk_size: 1 }, { chunk_size: 4096, window_size: 4096 }, { window_size: 1 }, { chunk_size: -1 }]) };
  if (Object.keys(body).length) o.body = body;
  s.snapshots = [...(s.snapshots ?? []), as].slice(-3);
  return o;
}

// The stream goes and comes back; now and then it is still there, or what comes is not what was taken.
function back(r, w, s) {
  const list = [];
  if (!s.snapshots?.length || r.chance(70)) list.push(take(r, w, s));
  const from = r.chance(85) ? s.snapshots.at(-1) : r.pick(s.snapshots);
  if (r.chance(60)) list.push({ op: "check" });
  if (r.chance(92)) list.push({ op: "api", subj: `STREAM.DELETE.${s.name}` });
  const o = { op: "restore", s: s.name, from };
  if (r.chance(50)) o.cross = true;
  if (r.chance(20)) o.step = r.pick([100, 1000, 60000]);
  if (r.chance(10)) o.config = changed(r, s);
  if (r.chance(5)) {
    list.push({ ...o, flaw: r.pick(["short", "noise", "empty"]) });
    if (r.chance(50)) return list;
  }
  list.push(o);
  if (r.chance(70)) list.push({ op: "check" });
  return list;
}

// Another configuration than it had.
function changed(r, s) {
  return r.pick([{ max_msgs: 3 }, { max_msgs_per_subject: 1 }, { storage: "memory" }, { storage: "file" }, { subjects: [`${s.own}.>`, "extra.>"] }, { description: "restored" }, { metadata: { a: "b" } }, { retention: "interest" }, { retention: "limits" }, { max_consumers: 1 }, { discard: "new", max_msgs: 2 }, { max_bytes: 200 }, { allow_msg_ttl: true }, { deny_delete: true }, { max_age: 3600e9 }, { name: "OTHER" }, { num_replicas: 3 }, { compression: "s2" }, { sealed: true }, { first_seq: 100 }]);
}

export function step(r, w, s) {
  switch (r.weighted({ back: 10, take: 4, odd: 2 })) {
    case "take":
      return take(r, w, s);
    case "odd":
      return odd(r, s);
    default:
      return back(r, w, s);
  }
}
